//! The file of the reference server: JSON lines, one per entity and relation.

use serde::Deserialize;

use super::{Graph, GraphEntity, GraphRelation};
use crate::json_error;

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", expecting = "an object")]
enum Line {
    Entity(GraphEntity),
    Relation(GraphRelation),
}

/// Reads the file of the reference server, or says what is wrong with each of its faulty lines. Unknown properties are
/// ignored.
pub fn parse_graph(file: &[u8]) -> Result<Graph, Vec<String>> {
    let (mut graph, mut faulty) = (Graph::default(), Vec::new());
    let file = file.strip_prefix("\u{feff}".as_bytes()).unwrap_or(file);
    for (number, line) in (1..).zip(file.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(Line::Entity(entity)) => graph.entities.push(entity),
            Ok(Line::Relation(relation)) => graph.relations.push(relation),
            Err(error) => faulty.push(json_error::describe_line(number, line, &error)),
        }
    }
    if faulty.is_empty() { Ok(graph) } else { Err(faulty) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_no_final_newline_and_more_properties() {
        let file = concat!(
            "\u{feff}",
            r#"{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea"],"since":3}"#,
            "\r\n\n",
            r#"{"relationType":"works_at","to":"Acme","from":"Ada","type":"relation"}"#
        );
        let graph = parse_graph(file.as_bytes()).unwrap();
        assert_eq!((graph.entities[0].name.as_str(), graph.entities[0].observations.len()), ("Ada", 1));
        assert_eq!(graph.relations[0].to, "Acme");
        assert_eq!(parse_graph(b"").unwrap(), Graph::default());
    }

    #[test]
    fn faulty_lines_are_named() {
        let file = concat!(
            r#"{"type":"entity","name":"Ada","entityType":"person"}"#,
            "\n",
            r#"{"type":"relation","from":"a","to":"b","relationType":"c"}"#,
            "\n{\"type\":\"ent\n",
            r#"{"type":"node","name":"x"}"#,
            "\n\"\u{1f600}\"\n",
        );
        let faulty = parse_graph(file.as_bytes()).unwrap_err();
        assert_eq!(
            faulty,
            [
                "line 1: missing field `observations`",
                "line 3 is not JSON",
                "line 4, column 14: unknown value `node`: must be `entity` or `relation`",
                "line 5, column 6: expected an object, found the string \"\u{1f600}\"",
            ]
        );
    }
}
