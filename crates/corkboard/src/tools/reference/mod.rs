//! The tools of the public MCP reference memory server, `@modelcontextprotocol/server-memory`: the same inputs, outputs
//! and errors, with the knowledge graph in the agent's long-term memory.

mod file;
mod item;
mod tool;

use std::collections::{BTreeSet, HashMap, HashSet};

use corkboard_core::knowledge::{CoreCommand, CoreEntryId, CoreState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use file::parse_graph;
pub use tool::{
    AddObservationsTool, CreateEntitiesTool, CreateRelationsTool, DeleteEntitiesTool, DeleteObservationsTool,
    DeleteRelationsTool, OpenNodesTool, ReadGraphTool, SearchNodesTool,
};

use self::item::{Item, NewItems, entities};
use crate::knowledge::Core;
use crate::{AgentMemory, Result};

/// A node of a knowledge graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct GraphEntity {
    /// The name of the entity
    pub name: String,
    /// The type of the entity
    pub entity_type: String,
    /// An array of observation contents associated with the entity
    pub observations: Vec<String>,
}

/// An edge of a knowledge graph. Its ends need not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct GraphRelation {
    /// The name of the entity where the relation starts
    pub from: String,
    /// The name of the entity where the relation ends
    pub to: String,
    /// The type of the relation
    pub relation_type: String,
}

impl GraphRelation {
    fn item(&self) -> Item<'_> {
        Item::Relation { from: &self.from, relation_type: &self.relation_type, to: &self.to }
    }
}

/// A knowledge graph, or a part of it, in the order of insertion.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Graph {
    /// The nodes.
    pub entities: Vec<GraphEntity>,
    /// The edges.
    pub relations: Vec<GraphRelation>,
}

/// Observations that were added to an entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct AddedObservations {
    /// The name of the entity.
    pub entity_name: String,
    /// The observations that it did not have before.
    pub added_observations: Vec<String>,
}

/// Observations of an entity, to add or to delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityObservations {
    /// The name of the entity.
    pub entity_name: String,
    /// The observations.
    pub observations: Vec<String>,
}

/// What [`KnowledgeGraph::merge`] added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct MergedGraph {
    /// Number of added entities.
    pub entities: u64,
    /// Number of added observations.
    pub observations: u64,
    /// Number of added relations.
    pub relations: u64,
}

/// The knowledge graph in an agent's long-term memory.
///
/// Every change is one revision, all or nothing, and is decided on the current state: parallel writers lose nothing.
///
/// ```
/// # use corkboard::{Corkboard, tools::{GraphEntity, KnowledgeGraph}};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> corkboard::Result<()> {
/// let graph = KnowledgeGraph::of(&Corkboard::open("memory:").await?.agent("ada")?)?;
/// let (name, entity_type) = ("Acme".into(), "company".into());
/// graph.create_entities(vec![GraphEntity { name, entity_type, observations: vec!["makes anvils".into()] }]).await?;
/// assert_eq!(graph.search("ANVIL").await?.entities[0].name, "Acme");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct KnowledgeGraph {
    core: Core,
}

/// Maximum cost of one revision of [`KnowledgeGraph::merge`], unless one entity costs more. An entry costs 1, and 1 for
/// each KiB.
const MERGED_AT_ONCE: usize = 1_000;

impl KnowledgeGraph {
    /// The graph of an agent. Requires the tier `writer_pro`.
    pub fn of(memory: &AgentMemory) -> Result<Self> {
        Ok(Self { core: Core::clone(&*memory.long_term()?) })
    }

    /// Creates entities whose names do not exist yet, and returns them.
    pub async fn create_entities(&self, new: Vec<GraphEntity>) -> Result<Vec<GraphEntity>> {
        let make = move |state: &CoreState| {
            let is_new = |entity: &&GraphEntity| entities(state, &entity.name).next().is_none();
            let created: Vec<GraphEntity> = new.iter().filter(is_new).cloned().collect();
            let (mut items, mut same_name) = (NewItems::new(state), HashMap::new());
            for entity in &created {
                let count = same_name.entry(entity.name.as_str()).or_insert(0);
                push_entity(&mut items, entity, *count);
                *count += 1;
            }
            (CoreCommand::Add { entries: items.into_entries() }, created)
        };
        self.core.compute(make).await
    }

    /// Creates relations that do not exist yet, and returns them.
    pub async fn create_relations(&self, new: Vec<GraphRelation>) -> Result<Vec<GraphRelation>> {
        let make = move |state: &CoreState| {
            let is_new = |relation: &&GraphRelation| relation.item().find(state).next().is_none();
            let created: Vec<GraphRelation> = new.iter().filter(is_new).cloned().collect();
            let mut items = NewItems::new(state);
            created.iter().for_each(|relation| items.push(relation.item()));
            (CoreCommand::Add { entries: items.into_entries() }, created)
        };
        self.core.compute(make).await
    }

    /// Adds observations that their entities do not have yet, and returns them. If an entity does not exist, nothing is
    /// added, and the answer is its name.
    pub async fn add_observations(
        &self,
        new: Vec<EntityObservations>,
    ) -> Result<std::result::Result<Vec<AddedObservations>, String>> {
        let make = move |state: &CoreState| {
            let (mut items, mut added, mut pushed) = (NewItems::new(state), Vec::new(), HashSet::new());
            for EntityObservations { entity_name, observations } in &new {
                if entities(state, entity_name).next().is_none() {
                    return (CoreCommand::Add { entries: Vec::new() }, Err(entity_name.clone()));
                }
                let all = observations.iter().map(|text| Item::Observation { entity: entity_name, nth: 0, text });
                let is_new = |item: &Item<'_>| !pushed.contains(item) && item.find(state).next().is_none();
                let new: Vec<Item<'_>> = all.filter(is_new).collect();
                new.iter().for_each(|item| items.push(*item));
                let text = |item: &Item<'_>| match item {
                    Item::Observation { text, .. } => Some((*text).into()),
                    _ => None,
                };
                let added_observations = new.iter().filter_map(text).collect();
                pushed.extend(new);
                added.push(AddedObservations { entity_name: entity_name.clone(), added_observations });
            }
            (CoreCommand::Add { entries: items.into_entries() }, Ok(added))
        };
        self.core.compute(make).await
    }

    /// Deletes entities with their observations, and all relations from and to these names.
    pub async fn delete_entities(&self, names: Vec<String>) -> Result<()> {
        let names: HashSet<String> = names.into_iter().collect();
        self.remove(move |state| {
            let is_meant = |item| match item {
                Item::Entity { name, .. } | Item::Observation { entity: name, .. } => names.contains(name),
                Item::Relation { from, to, .. } => names.contains(from) || names.contains(to),
            };
            let all = state.entries().values().filter(|entry| entry.forgotten.is_none());
            all.filter(|entry| Item::of(entry).is_some_and(is_meant)).map(|entry| entry.id).collect()
        })
        .await
    }

    /// Deletes these observations.
    pub async fn delete_observations(&self, deletions: Vec<EntityObservations>) -> Result<()> {
        self.remove(move |state| {
            let existing = deletions.iter().filter(|deletion| entities(state, &deletion.entity_name).next().is_some());
            let items = existing.flat_map(|EntityObservations { entity_name, observations }| {
                observations.iter().map(move |text| Item::Observation { entity: entity_name, nth: 0, text })
            });
            items.flat_map(|item| item.find(state)).map(|entry| entry.id).collect()
        })
        .await
    }

    /// Deletes these relations.
    pub async fn delete_relations(&self, relations: Vec<GraphRelation>) -> Result<()> {
        self.remove(move |state| {
            relations.iter().flat_map(|relation| relation.item().find(state)).map(|entry| entry.id).collect()
        })
        .await
    }

    async fn remove(&self, find: impl Fn(&CoreState) -> BTreeSet<CoreEntryId> + Send + 'static) -> Result<()> {
        let make = move |state: &CoreState| {
            let remove = find(state).into_iter().collect();
            (CoreCommand::Exchange { remove, add: Vec::new() }, ())
        };
        self.core.compute(make).await
    }

    /// Adds what a graph has and this one lacks, in several revisions. Duplicates are added once, and an existing entity
    /// keeps its type. Doing it again adds nothing.
    pub async fn merge(&self, graph: &Graph, mut tell: impl FnMut(u64)) -> Result<MergedGraph> {
        let (mut merged, mut done) = (MergedGraph::default(), 0);
        let cost = |entity: &GraphEntity| {
            let observations = entity.observations.iter().map(|text| 1 + text.len() / 1024);
            1 + observations.sum::<usize>()
        };
        for entities in chunks(&graph.entities, cost) {
            done += entities.len() as u64;
            let added = self.merge_entities(entities.to_vec()).await?;
            merged.entities += added.entities;
            merged.observations += added.observations;
            tell(done);
        }
        for relations in chunks(&graph.relations, |_| 1) {
            done += relations.len() as u64;
            let mut seen = HashSet::new();
            let distinct = relations.iter().filter(|relation| seen.insert(relation.item())).cloned().collect();
            merged.relations += self.create_relations(distinct).await?.len() as u64;
            tell(done);
        }
        Ok(merged)
    }

    async fn merge_entities(&self, new: Vec<GraphEntity>) -> Result<MergedGraph> {
        let make = move |state: &CoreState| {
            let (mut items, mut merged, mut pushed) = (NewItems::new(state), MergedGraph::default(), HashSet::new());
            for GraphEntity { name, entity_type, observations } in &new {
                // Entities are compared by name alone.
                let named = Item::Entity { name, entity_type: "" };
                if entities(state, name).next().is_none() && pushed.insert(named) {
                    items.push(Item::Entity { name, entity_type });
                    merged.entities += 1;
                }
                for text in observations {
                    let item = Item::Observation { entity: name, nth: 0, text };
                    if item.find(state).next().is_none() && pushed.insert(item) {
                        items.push(item);
                        merged.observations += 1;
                    }
                }
            }
            (CoreCommand::Add { entries: items.into_entries() }, merged)
        };
        self.core.compute(make).await
    }

    /// The whole graph.
    pub async fn read(&self) -> Result<Graph> {
        let (current, _) = self.core.current().await?;
        let GraphView { entities, relations } = GraphView::of(&current.state);
        Ok(Graph { entities: entities.iter().map(EntityView::entity).collect(), relations })
    }

    /// Entities whose name, type or observations contain the text in any case, and all relations from and to them.
    pub async fn search(&self, text: &str) -> Result<Graph> {
        let text = text.to_lowercase();
        let contains = |part: &str| part.to_lowercase().contains(&text);
        self.select(|EntityView { name, entity_type, observations }| {
            contains(name) || contains(entity_type) || observations.iter().any(|text| contains(text))
        })
        .await
    }

    /// Entities with these names, and all relations from and to them.
    pub async fn open(&self, names: &[String]) -> Result<Graph> {
        let names: HashSet<&str> = names.iter().map(String::as_str).collect();
        self.select(|entity| names.contains(entity.name)).await
    }

    async fn select(&self, is_meant: impl Fn(&EntityView<'_>) -> bool) -> Result<Graph> {
        let (current, _) = self.core.current().await?;
        let GraphView { mut entities, mut relations } = GraphView::of(&current.state);
        entities.retain(is_meant);
        let names: HashSet<&str> = entities.iter().map(|entity| entity.name).collect();
        relations.retain(|relation| names.contains(relation.from.as_str()) || names.contains(relation.to.as_str()));
        Ok(Graph { entities: entities.iter().map(EntityView::entity).collect(), relations })
    }
}

fn push_entity(items: &mut NewItems<'_>, entity: &GraphEntity, nth: usize) {
    items.push(Item::Entity { name: &entity.name, entity_type: &entity.entity_type });
    let observations = entity.observations.iter();
    observations.for_each(|text| items.push(Item::Observation { entity: &entity.name, nth, text }));
}

/// Splits a list into parts that cost at most [`MERGED_AT_ONCE`] each, or have one item.
fn chunks<T>(mut all: &[T], cost: impl Fn(&T) -> usize) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let mut used = 0;
        let fits = all.iter().take_while(|item| {
            used += cost(item);
            used <= MERGED_AT_ONCE
        });
        let (part, rest) = all.split_at_checked(fits.count().max(1))?;
        all = rest;
        Some(part)
    })
}

struct EntityView<'s> {
    name: &'s str,
    entity_type: &'s str,
    observations: Vec<&'s str>,
}

impl EntityView<'_> {
    fn entity(&self) -> GraphEntity {
        let observations = self.observations.iter().map(|&text| text.into()).collect();
        GraphEntity { name: self.name.into(), entity_type: self.entity_type.into(), observations }
    }
}

struct GraphView<'s> {
    entities: Vec<EntityView<'s>>,
    relations: Vec<GraphRelation>,
}

impl<'s> GraphView<'s> {
    fn of(state: &'s CoreState) -> Self {
        let (mut entities, mut relations, mut observed) = (Vec::new(), Vec::new(), Vec::new());
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for entry in state.entries().values().filter(|entry| entry.forgotten.is_none()) {
            match Item::of(entry) {
                Some(Item::Entity { name, entity_type }) => {
                    places.entry(name).or_default().push(entities.len());
                    entities.push(EntityView { name, entity_type, observations: Vec::new() });
                }
                Some(Item::Observation { entity, nth, text }) => observed.push((entity, nth, text)),
                Some(Item::Relation { from, relation_type, to }) => {
                    let (from, to, relation_type) = (from.into(), to.into(), relation_type.into());
                    relations.push(GraphRelation { from, to, relation_type });
                }
                None => {}
            }
        }
        for (entity, nth, text) in observed {
            let place = places.get(entity).and_then(|places| places.get(nth));
            if let Some(entity) = place.and_then(|place| entities.get_mut(*place)) {
                entity.observations.push(text);
            }
        }
        Self { entities, relations }
    }
}
