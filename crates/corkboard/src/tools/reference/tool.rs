//! The nine tools. Names, schemas, descriptions and answers are those of the reference server.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{AddedObservations, EntityObservations, Graph, GraphEntity, GraphRelation, KnowledgeGraph};
use crate::Corkboard;
use crate::tools::definition::{TypedTool, schema_of, tool};
use crate::tools::{ToolContext, ToolEffect, ToolError, ToolOutput};

tool!(
    /// `create_entities`: adds entities to the knowledge graph.
    CreateEntitiesTool
);
tool!(
    /// `create_relations`: adds relations to the knowledge graph.
    CreateRelationsTool
);
tool!(
    /// `add_observations`: adds observations to entities.
    AddObservationsTool
);
tool!(
    /// `delete_entities`: deletes entities with their observations and relations.
    DeleteEntitiesTool
);
tool!(
    /// `delete_observations`: deletes observations of entities.
    DeleteObservationsTool
);
tool!(
    /// `delete_relations`: deletes relations.
    DeleteRelationsTool
);
tool!(
    /// `read_graph`: the whole knowledge graph.
    ReadGraphTool
);
tool!(
    /// `search_nodes`: entities that contain a text.
    SearchNodesTool
);
tool!(
    /// `open_nodes`: entities by name.
    OpenNodesTool
);

#[derive(Deserialize, Serialize, JsonSchema)]
pub(in crate::tools) struct CreateEntitiesInput {
    entities: Vec<GraphEntity>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub(in crate::tools) struct CreateRelationsInput {
    relations: Vec<GraphRelation>,
}

#[derive(Deserialize, JsonSchema)]
pub(in crate::tools) struct AddObservationsInput {
    observations: Vec<NewObservations>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct NewObservations {
    /// The name of the entity to add the observations to
    entity_name: String,
    /// An array of observation contents to add
    contents: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::tools) struct DeleteEntitiesInput {
    /// An array of entity names to delete
    entity_names: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(in crate::tools) struct DeleteObservationsInput {
    deletions: Vec<OldObservations>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct OldObservations {
    /// The name of the entity containing the observations
    entity_name: String,
    /// An array of observations to delete
    observations: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
pub(in crate::tools) struct DeleteRelationsInput {
    /// An array of relations to delete
    relations: Vec<GraphRelation>,
}

#[derive(Deserialize, JsonSchema)]
pub(in crate::tools) struct ReadGraphInput {}

#[derive(Deserialize, JsonSchema)]
pub(in crate::tools) struct SearchNodesInput {
    /// The search query to match against entity names, types, and observation content
    query: String,
}

#[derive(Deserialize, JsonSchema)]
pub(in crate::tools) struct OpenNodesInput {
    /// An array of entity names to retrieve
    names: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct AddedOutput {
    results: Vec<AddedObservations>,
}

#[derive(Serialize, JsonSchema)]
pub(in crate::tools) struct DeletedOutput {
    success: bool,
    message: &'static str,
}

impl DeletedOutput {
    fn new(message: &'static str) -> Self {
        Self { success: true, message }
    }
}

/// The whole answer of a tool.
pub(in crate::tools) trait Answer: Serialize + JsonSchema {
    fn text(&self) -> String;
}

impl Answer for CreateEntitiesInput {
    fn text(&self) -> String {
        pretty(&self.entities)
    }
}

impl Answer for CreateRelationsInput {
    fn text(&self) -> String {
        pretty(&self.relations)
    }
}

impl Answer for AddedOutput {
    fn text(&self) -> String {
        pretty(&self.results)
    }
}

impl Answer for DeletedOutput {
    fn text(&self) -> String {
        self.message.into()
    }
}

impl Answer for Graph {
    fn text(&self) -> String {
        pretty(self)
    }
}

fn pretty(answer: &impl Serialize) -> String {
    // Strings and lists can always be written.
    serde_json::to_string_pretty(answer).unwrap_or_default()
}

/// What differs between the nine tools.
pub(in crate::tools) trait ReferenceTool: Send + Sync {
    type Input: DeserializeOwned + JsonSchema + Send;
    type Output: Answer;
    const NAME: &'static str;
    const DESCRIPTION: &'static str;
    const EFFECT: ToolEffect;

    fn example() -> Value;

    fn corkboard(&self) -> &Corkboard;

    fn run(graph: KnowledgeGraph, input: Self::Input) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

impl<T: ReferenceTool> TypedTool for T {
    type Input = T::Input;
    const NAME: &'static str = T::NAME;
    const DESCRIPTION: &'static str = T::DESCRIPTION;
    const EFFECT: ToolEffect = T::EFFECT;

    fn example() -> Value {
        T::example()
    }

    fn output_schema() -> Option<Value> {
        Some(closed(schema_of::<T::Output>()))
    }

    /// The reference server ignores unknown properties.
    fn admitted(input: Value) -> Value {
        known(input, &schema_of::<T::Input>())
    }

    async fn run(&self, input: T::Input, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let graph = KnowledgeGraph::of(&context.memory(self.corkboard())?)?;
        let answer = T::run(graph, input).await?;
        Ok(ToolOutput::new(answer.text(), json!(answer)))
    }
}

/// The input without properties that its schema does not have.
fn known(input: Value, schema: &Value) -> Value {
    let part = |name: &str| schema.get("properties").and_then(|properties| properties.get(name));
    match (input, schema.get("items")) {
        (Value::Object(properties), _) => {
            let known = |(name, value): (String, Value)| part(&name).map(|schema| (name, known(value, schema)));
            properties.into_iter().filter_map(known).collect::<Map<_, _>>().into()
        }
        (Value::Array(all), Some(items)) => all.into_iter().map(|item| known(item, items)).collect(),
        (other, _) => other,
    }
}

/// An object without additional properties, at every depth.
fn closed(mut schema: Value) -> Value {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(|property| *property = closed(property.take()));
        if let Some(object) = schema.as_object_mut() {
            object.insert("additionalProperties".into(), false.into());
        }
    }
    if let Some(items) = schema.get_mut("items") {
        *items = closed(items.take());
    }
    schema
}

impl ReferenceTool for CreateEntitiesTool {
    type Input = CreateEntitiesInput;
    type Output = CreateEntitiesInput;
    const NAME: &'static str = "create_entities";
    const DESCRIPTION: &'static str = "Create multiple new entities in the knowledge graph";
    const EFFECT: ToolEffect = ToolEffect::Adds;

    fn example() -> Value {
        json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["likes tea"]}]})
    }

    fn corkboard(&self) -> &Corkboard {
        &self.corkboard
    }

    async fn run(graph: KnowledgeGraph, input: CreateEntitiesInput) -> Result<CreateEntitiesInput, ToolError> {
        Ok(CreateEntitiesInput { entities: graph.create_entities(input.entities).await? })
    }
}

impl ReferenceTool for CreateRelationsTool {
    type Input = CreateRelationsInput;
    type Output = CreateRelationsInput;
    const NAME: &'static str = "create_relations";
    const DESCRIPTION: &'static str =
        "Create multiple new relations between entities in the knowledge graph. Relations should be in active voice";
    const EFFECT: ToolEffect = ToolEffect::Adds;

    fn example() -> Value {
        json!({"relations": [{"from": "Ada", "to": "Acme", "relationType": "works_at"}]})
    }

    fn corkboard(&self) -> &Corkboard {
        &self.corkboard
    }

    async fn run(graph: KnowledgeGraph, input: CreateRelationsInput) -> Result<CreateRelationsInput, ToolError> {
        Ok(CreateRelationsInput { relations: graph.create_relations(input.relations).await? })
    }
}

impl ReferenceTool for AddObservationsTool {
    type Input = AddObservationsInput;
    type Output = AddedOutput;
    const NAME: &'static str = "add_observations";
    const DESCRIPTION: &'static str = "Add new observations to existing entities in the knowledge graph";
    const EFFECT: ToolEffect = ToolEffect::Adds;

    fn example() -> Value {
        json!({"observations": [{"entityName": "Ada", "contents": ["likes tea"]}]})
    }

    fn corkboard(&self) -> &Corkboard {
        &self.corkboard
    }

    async fn run(graph: KnowledgeGraph, input: AddObservationsInput) -> Result<AddedOutput, ToolError> {
        let new = input.observations.into_iter();
        let new = new.map(|NewObservations { entity_name, contents }| EntityObservations {
            entity_name,
            observations: contents,
        });
        let added = graph.add_observations(new.collect()).await?;
        let missing = |name| ToolError::Failed { message: format!("Entity with name {name} not found") };
        Ok(AddedOutput { results: added.map_err(missing)? })
    }
}

impl ReferenceTool for DeleteEntitiesTool {
    type Input = DeleteEntitiesInput;
    type Output = DeletedOutput;
    const NAME: &'static str = "delete_entities";
    const DESCRIPTION: &'static str =
        "Delete multiple entities and their associated relations from the knowledge graph";
    const EFFECT: ToolEffect = ToolEffect::Replaces;

    fn example() -> Value {
        json!({"entityNames": ["Ada"]})
    }

    fn corkboard(&self) -> &Corkboard {
        &self.corkboard
    }

    async fn run(graph: KnowledgeGraph, input: DeleteEntitiesInput) -> Result<DeletedOutput, ToolError> {
        graph.delete_entities(input.entity_names).await?;
        Ok(DeletedOutput::new("Entities deleted successfully"))
    }
}

impl ReferenceTool for DeleteObservationsTool {
    type Input = DeleteObservationsInput;
    type Output = DeletedOutput;
    const NAME: &'static str = "delete_observations";
    const DESCRIPTION: &'static str = "Delete specific observations from entities in the knowledge graph";
    const EFFECT: ToolEffect = ToolEffect::Replaces;

    fn example() -> Value {
        json!({"deletions": [{"entityName": "Ada", "observations": ["likes tea"]}]})
    }

    fn corkboard(&self) -> &Corkboard {
        &self.corkboard
    }

    async fn run(graph: KnowledgeGraph, input: DeleteObservationsInput) -> Result<DeletedOutput, ToolError> {
        let old = input.deletions.into_iter();
        let old =
            old.map(|OldObservations { entity_name, observations }| EntityObservations { entity_name, observations });
        graph.delete_observations(old.collect()).await?;
        Ok(DeletedOutput::new("Observations deleted successfully"))
    }
}

impl ReferenceTool for DeleteRelationsTool {
    type Input = DeleteRelationsInput;
    type Output = DeletedOutput;
    const NAME: &'static str = "delete_relations";
    const DESCRIPTION: &'static str = "Delete multiple relations from the knowledge graph";
    const EFFECT: ToolEffect = ToolEffect::Replaces;

    fn example() -> Value {
        json!({"relations": [{"from": "Ada", "to": "Acme", "relationType": "works_at"}]})
    }

    fn corkboard(&self) -> &Corkboard {
        &self.corkboard
    }

    async fn run(graph: KnowledgeGraph, input: DeleteRelationsInput) -> Result<DeletedOutput, ToolError> {
        graph.delete_relations(input.relations).await?;
        Ok(DeletedOutput::new("Relations deleted successfully"))
    }
}

impl ReferenceTool for ReadGraphTool {
    type Input = ReadGraphInput;
    type Output = Graph;
    const NAME: &'static str = "read_graph";
    const DESCRIPTION: &'static str = "Read the entire knowledge graph";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    fn example() -> Value {
        json!({})
    }

    fn corkboard(&self) -> &Corkboard {
        &self.corkboard
    }

    async fn run(graph: KnowledgeGraph, _: ReadGraphInput) -> Result<Graph, ToolError> {
        Ok(graph.read().await?)
    }
}

impl ReferenceTool for SearchNodesTool {
    type Input = SearchNodesInput;
    type Output = Graph;
    const NAME: &'static str = "search_nodes";
    const DESCRIPTION: &'static str = "Search for nodes in the knowledge graph based on a query";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    fn example() -> Value {
        json!({"query": "tea"})
    }

    fn corkboard(&self) -> &Corkboard {
        &self.corkboard
    }

    async fn run(graph: KnowledgeGraph, input: SearchNodesInput) -> Result<Graph, ToolError> {
        Ok(graph.search(&input.query).await?)
    }
}

impl ReferenceTool for OpenNodesTool {
    type Input = OpenNodesInput;
    type Output = Graph;
    const NAME: &'static str = "open_nodes";
    const DESCRIPTION: &'static str = "Open specific nodes in the knowledge graph by their names";
    const EFFECT: ToolEffect = ToolEffect::Reads;

    fn example() -> Value {
        json!({"names": ["Ada"]})
    }

    fn corkboard(&self) -> &Corkboard {
        &self.corkboard
    }

    async fn run(graph: KnowledgeGraph, input: OpenNodesInput) -> Result<Graph, ToolError> {
        Ok(graph.open(&input.names).await?)
    }
}
