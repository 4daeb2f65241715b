//! The tool set `reference`: the same answers as the reference memory server, and no lost writes.

use std::collections::BTreeSet;

use corkboard::Corkboard;
use corkboard::tools::{
    GraphEntity, KnowledgeGraph, MergedGraph, ToolContext, ToolFormat, ToolOutput, ToolRegistry, ToolSet, parse_graph,
};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::common::{Home, in_time, on_every_store};

const CALLS: &str = include_str!("../../../corkboard-server/tests/mcp/reference_calls.json");
/// Recorded by `record_reference.mjs`.
const ANSWERS: &str = include_str!("../../../corkboard-server/tests/mcp/reference_answers.json");

async fn call(corkboard: &Corkboard, tool: &str, input: Value) -> Result<ToolOutput, String> {
    let tools = ToolRegistry::with_sets(corkboard, &[ToolSet::Reference]);
    tools.call(tool, input, &ToolContext::agent("ada")).await.map_err(|error| error.to_string())
}

async fn graph(corkboard: &Corkboard) -> Value {
    call(corkboard, "read_graph", json!({})).await.unwrap().data
}

/// The structured answer that belongs to a text.
fn data_of(tool: &str, text: &str) -> Value {
    let parsed = || serde_json::from_str::<Value>(text).unwrap();
    match tool {
        "create_entities" => json!({"entities": parsed()}),
        "create_relations" => json!({"relations": parsed()}),
        "add_observations" => json!({"results": parsed()}),
        "delete_entities" | "delete_observations" | "delete_relations" => json!({"success": true, "message": text}),
        _ => parsed(),
    }
}

#[tokio::test]
async fn every_answer_is_that_of_the_reference_server() {
    let calls: Vec<Value> = serde_json::from_str(CALLS).unwrap();
    let recorded: Value = serde_json::from_str(ANSWERS).unwrap();
    let answers = recorded["answers"].as_array().unwrap();
    assert_eq!(calls.len(), answers.len(), "record the answers again");
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        for (number, (asked, expected)) in calls.iter().zip(answers).enumerate() {
            let (tool, text) = (asked["tool"].as_str().unwrap(), expected["text"].as_str().unwrap());
            let answer = call(&corkboard, tool, asked["input"].clone()).await;
            assert_eq!(answer.is_err(), expected["is_error"] == true, "call {number}, {asked}: {answer:?}");
            match answer {
                Ok(answer) => {
                    assert_eq!(answer.text, text, "call {number}, {asked}");
                    assert_eq!(answer.data, data_of(tool, text), "call {number}, {asked}");
                }
                Err(error) => assert_eq!(error, text, "call {number}, {asked}"),
            }
        }
    })
    .await;
}

/// Removes what only describes: models need no more of it here than there.
fn bare(mut schema: Value) -> Value {
    for name in ["$schema", "description"] {
        if schema[name].is_string() {
            schema.as_object_mut().unwrap().remove(name);
        }
    }
    if let Some(parts) = schema.as_object_mut() {
        parts.values_mut().for_each(|part| *part = bare(part.take()));
    }
    schema
}

#[tokio::test]
async fn the_definitions_are_those_of_the_reference_server() {
    let corkboard = Home::memory().open().await;
    let ours = ToolRegistry::with_sets(&corkboard, &[ToolSet::Reference]).tool_definitions(ToolFormat::Mcp);
    let recorded: Value = serde_json::from_str(ANSWERS).unwrap();
    let theirs = recorded["tools"].as_array().unwrap();
    assert_eq!(ours.len(), theirs.len());
    for (own, its) in ours.iter().zip(theirs) {
        for same in ["name", "title", "annotations"] {
            assert_eq!(own[same], its[same], "{}", its["name"]);
        }
        for schema in ["inputSchema", "outputSchema"] {
            assert_eq!(bare(own[schema].clone()), bare(its[schema].clone()), "{}", its["name"]);
        }
        assert!(own["description"].as_str().unwrap().starts_with(its["description"].as_str().unwrap()));
    }
    // The text of every answer is the whole answer, so programs can parse it.
    let fact = "long ".repeat(3_000);
    let entity = |number| json!({"name": format!("n{number}"), "entityType": "t", "observations": [fact]});
    let entities: Vec<Value> = (0..8).map(entity).collect();
    call(&corkboard, "create_entities", json!({"entities": entities})).await.unwrap();
    let read = call(&corkboard, "read_graph", json!({})).await.unwrap();
    assert!(read.text.len() > 100_000);
    assert_eq!(serde_json::from_str::<Value>(&read.text).unwrap(), read.data);
}

/// An invalid input changes nothing and shows a correct one.
#[tokio::test]
async fn invalid_inputs_are_refused() {
    let corkboard = Home::memory().open().await;
    for (tool, input, message) in [
        ("create_entities", json!({}), "missing field `entities`"),
        ("search_nodes", json!({"query": 5}), "query: expected a string, found 5"),
        ("open_nodes", json!({"names": "Ada"}), "names: expected an array"),
        ("create_entities", json!({"entities": [["a", "t", []]]}), "entities[0]: expected a JSON object"),
        ("create_entities", json!({"entities": [{"name": "a", "entityType": null, "observations": []}]}), "entityType"),
    ] {
        let error = call(&corkboard, tool, input).await.unwrap_err();
        let example = format!("Example of a correct call: {tool} {{");
        assert!(error.contains(message) && error.contains(&example), "{error}");
    }
    assert_eq!(graph(&corkboard).await, json!({"entities": [], "relations": []}));
}

/// Corkboards on one file, like processes, write to one entity at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn parallel_writers_lose_nothing() {
    const WRITERS: usize = 10;
    const FACTS: usize = 12;
    in_time(async {
        let home = Home::sqlite();
        let mut corkboards = Vec::new();
        for _ in 0..WRITERS {
            corkboards.push(home.open().await);
        }
        let entity = json!({"entities": [{"name": "Ada", "entityType": "person", "observations": []}]});
        let created = join_all(corkboards.iter().map(|corkboard| call(corkboard, "create_entities", entity.clone())));
        let created =
            created.await.into_iter().filter(|answer| !answer.as_ref().unwrap().data["entities"][0].is_null());
        assert_eq!(created.count(), 1, "one writer creates the entity");
        let write = async |(writer, corkboard): (usize, &Corkboard)| {
            for fact in 0..FACTS {
                let own = format!("fact {fact} of {writer}");
                let facts = json!([{"entityName": "Ada", "contents": [own, format!("shared fact {fact}")]}]);
                call(corkboard, "add_observations", json!({"observations": facts})).await.unwrap();
                let relation = json!({"from": "Ada", "to": format!("{writer}"), "relationType": format!("{fact}")});
                call(corkboard, "create_relations", json!({"relations": [relation]})).await.unwrap();
            }
            let gone = json!([{"entityName": "Ada", "observations": [format!("fact 0 of {writer}")]}]);
            call(corkboard, "delete_observations", json!({"deletions": gone})).await.unwrap();
        };
        join_all(corkboards.iter().enumerate().map(write)).await;
        let graph = graph(&home.open().await).await;
        let facts = graph["entities"][0]["observations"].as_array().unwrap();
        let distinct: BTreeSet<&str> = facts.iter().map(|fact| fact.as_str().unwrap()).collect();
        assert_eq!((facts.len(), distinct.len()), (WRITERS * (FACTS - 1) + FACTS, facts.len()));
        assert_eq!(graph["relations"].as_array().unwrap().len(), WRITERS * FACTS);
        assert_eq!(graph["entities"].as_array().unwrap().len(), 1);
    })
    .await;
}

/// The graph and other entries of the same core leave each other alone, even with the same text.
#[tokio::test]
async fn the_graph_is_readable_in_its_core_and_ignores_other_entries() {
    let corkboard = Home::memory().open().await;
    let core = corkboard.agent("ada").unwrap().long_term().unwrap();
    for text in ["Ada (person)", "Ada:  likes tea", "Ada: is a note"] {
        core.add(text).await.unwrap();
    }
    let ada = json!([{"name": "Ada", "entityType": "person", "observations": ["likes tea"]}]);
    call(&corkboard, "create_entities", json!({"entities": ada})).await.unwrap();
    let relation = json!([{"from": "Ada", "to": "Acme", "relationType": "works_at"}]);
    call(&corkboard, "create_relations", json!({"relations": relation})).await.unwrap();
    assert_eq!(graph(&corkboard).await, json!({"entities": ada, "relations": relation}));
    let texts = async || -> Vec<String> {
        core.entries().await.unwrap().items.iter().map(|entry| entry.content.to_string()).collect()
    };
    let own = ["Ada (person)", "Ada:  likes tea", "Ada: is a note"];
    let all = [&own[..], &["Ada (person) (2)", "Ada: likes tea (2)", "Ada → works_at → Acme"]].concat();
    assert_eq!(texts().await, all);
    call(&corkboard, "delete_entities", json!({"entityNames": ["Ada"]})).await.unwrap();
    assert_eq!(texts().await, own);

    // What a person forgets in the core is gone from the graph, and is there once when it is added again.
    call(&corkboard, "create_entities", json!({"entities": ada})).await.unwrap();
    let page = core.entries().tag("observation:4:3:0").await.unwrap();
    core.forget(page.items[0].id, None).await.unwrap();
    assert_eq!(graph(&corkboard).await["entities"][0]["observations"], json!([]));
    let again = json!([{"entityName": "Ada", "contents": ["likes tea"]}]);
    let added = call(&corkboard, "add_observations", json!({"observations": again})).await.unwrap();
    assert_eq!(added.data["results"][0]["addedObservations"], json!(["likes tea"]));
    assert_eq!(graph(&corkboard).await["entities"], ada);
}

#[tokio::test]
async fn each_agent_has_a_graph_of_its_own() {
    let corkboard = Home::memory().open().await;
    let tools = ToolRegistry::with_sets(&corkboard, &[ToolSet::Reference]);
    let entities = json!({"entities": [{"name": "Ada", "entityType": "person", "observations": []}]});
    tools.call("create_entities", entities, &ToolContext::agent("one")).await.unwrap();
    for (agent, expected) in [("one", 1), ("two", 0)] {
        let read = tools.call("read_graph", json!({}), &ToolContext::agent(agent)).await.unwrap();
        assert_eq!(read.data["entities"].as_array().unwrap().len(), expected, "{agent}");
    }
}

#[tokio::test]
async fn a_file_is_merged_once() {
    let corkboard = Home::memory().open().await;
    let tools = KnowledgeGraph::of(&corkboard.agent("ada").unwrap()).unwrap();
    let entity = |name: &str, observations: &[&str]| GraphEntity {
        name: name.into(),
        entity_type: "person".into(),
        observations: observations.iter().map(|&text| text.into()).collect(),
    };
    tools.create_entities(vec![entity("Ada", &["likes tea", "is here"])]).await.unwrap();
    let lines = [
        r#"{"type":"entity","name":"Ada","entityType":"robot","observations":["likes tea","plays chess"]}"#,
        r#"{"type":"entity","name":"Grace","entityType":"person","observations":["a","a"]}"#,
        r#"{"type":"entity","name":"Grace","entityType":"person","observations":["b"]}"#,
        r#"{"type":"relation","from":"Grace","to":"Ada","relationType":"knows"}"#,
        r#"{"type":"relation","from":"Grace","to":"Ada","relationType":"knows"}"#,
    ];
    let mut file = parse_graph(lines.join("\n").as_bytes()).unwrap();
    file.entities.extend((0..3_000).map(|number| entity(&format!("n{number}"), &["x"])));
    let mut steps = Vec::new();
    let merged = tools.merge(&file, |done| steps.push(done)).await.unwrap();
    assert_eq!(merged, MergedGraph { entities: 3_001, observations: 3_003, relations: 1 });
    assert!(steps.len() > 5 && steps.is_sorted() && steps.last() == Some(&3_005), "{steps:?}");
    assert_eq!(tools.merge(&file, |_| {}).await.unwrap(), MergedGraph::default());
    let read = tools.open(&["Ada".into(), "Grace".into()]).await.unwrap();
    assert_eq!(read.entities, [entity("Ada", &["likes tea", "is here", "plays chess"]), entity("Grace", &["a", "b"])]);
    assert_eq!(read.relations.len(), 1);
}
