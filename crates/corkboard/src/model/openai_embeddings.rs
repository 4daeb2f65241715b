//! The protocol of OpenAI's embeddings, which Ollama, vLLM, TEI and other servers support.

use serde::Deserialize;
use serde_json::{Value, json};

use super::http::Client;
use super::{ModelConfig, ModelError, Provider};
use crate::embed::{EmbedError, EmbedFuture, Embedder, TextKind};

/// Maximum bytes of an answer per text: 8,192 dimensions with 24 characters each.
const MAX_BYTES_PER_TEXT: usize = 192 * 1024;

/// An embedding model behind OpenAI's embeddings, or a compatible server.
#[derive(Debug)]
pub struct OpenAiEmbedder {
    client: Client,
    name: String,
    /// Identifies the model: its name, and the prefix of documents if there is one.
    identity: String,
    query_prefix: String,
    document_prefix: String,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    index: Option<usize>,
    /// NaN and infinity are not JSON; some servers send null instead.
    embedding: Vec<Option<f32>>,
}

impl OpenAiEmbedder {
    /// Creates the client. It sends nothing yet. [`ModelConfig::url`] is the base URL, such as
    /// `http://localhost:11434/v1`.
    pub fn new(config: ModelConfig) -> Result<Self, ModelError> {
        if config.provider != Provider::OpenAi {
            return Err(ModelError::Config(format!("{} has no embeddings", config.provider)));
        }
        let name = config.model.clone();
        let client = Client::new(config, "embeddings")?;
        let (query_prefix, document_prefix) = Default::default();
        Ok(Self { client, identity: name.clone(), name, query_prefix, document_prefix })
    }

    /// Sets texts to put before every query and every document, as some models need, such as `search_query: ` and
    /// `search_document: `.
    pub fn prefixes(self, query: impl Into<String>, document: impl Into<String>) -> Self {
        let (query_prefix, document_prefix) = (query.into(), document.into());
        let identity = match document_prefix.is_empty() {
            true => self.name.clone(),
            false => format!("{}, {document_prefix:?}", self.name),
        };
        Self { query_prefix, document_prefix, identity, ..self }
    }
}

impl Embedder for OpenAiEmbedder {
    fn model(&self) -> &str {
        &self.identity
    }

    fn embed<'a>(&'a self, texts: &'a [String], kind: TextKind) -> EmbedFuture<'a> {
        let prefix = match kind {
            TextKind::Query => &self.query_prefix,
            TextKind::Document => &self.document_prefix,
        };
        let texts: Vec<String> = texts.iter().map(|text| format!("{prefix}{text}")).collect();
        Box::pin(async move {
            let headers = self.client.key().map(|key| ("authorization", format!("Bearer {key}")));
            let body = json!({"model": self.name, "input": texts, "encoding_format": "float"});
            let limit = MAX_BYTES_PER_TEXT * texts.len().max(1);
            vectors(self.client.ask(headers.into_iter().collect(), &body, limit).await?)
        })
    }
}

/// The vectors of an answer, in the order of the texts.
fn vectors(answer: Value) -> Result<Vec<Vec<f32>>, EmbedError> {
    let malformed = |error: serde_json::Error| ModelError::Malformed(error.to_string());
    let Answer { mut data } = serde_json::from_value(answer).map_err(malformed)?;
    data.sort_by_key(|embedding| embedding.index);
    let values =
        |embedding: Embedding| embedding.embedding.into_iter().map(|value| value.unwrap_or(f32::NAN)).collect();
    Ok(data.into_iter().map(values).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_in_the_order_of_the_texts() {
        let answer = json!({"data": [{"index": 1, "embedding": [3, 4e0]}, {"index": 0, "embedding": [1, -2.5]}]});
        assert_eq!(vectors(answer).unwrap(), [[1.0, -2.5], [3.0, 4.0]]);
        let unnumbered = json!({"data": [{"embedding": [1]}, {"embedding": [2]}], "usage": {}});
        assert_eq!(vectors(unnumbered).unwrap(), [[1.0], [2.0]]);
        let without_number = vectors(json!({"data": [{"embedding": [null, 1]}]})).unwrap();
        assert!(without_number[0][0].is_nan());
        for answer in [json!({}), json!({"data": [{"embedding": "AAAA"}]}), json!([])] {
            assert!(matches!(vectors(answer), Err(EmbedError::Model(ModelError::Malformed(_)))));
        }
    }
}
