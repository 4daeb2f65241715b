//! A static embedding model in a folder, in the format of model2vec.

use std::fmt;
use std::path::Path;

use model2vec_rs::model::StaticModel;

use super::{EmbedError, EmbedFuture, Embedder, TextKind};

/// A static embedding model that was loaded from a folder. It needs no network and takes microseconds per text.
pub struct LocalEmbedder {
    model: StaticModel,
    /// The folder's name, and a hash of the model's files.
    identity: String,
}

impl LocalEmbedder {
    /// Loads `tokenizer.json`, `model.safetensors` and, if there is one, `config.json`.
    pub fn load(folder: &Path) -> Result<Self, EmbedError> {
        let read = |name: &str| {
            let failed = |error| EmbedError::Failed(format!("cannot read {}: {error}", folder.join(name).display()));
            std::fs::read(folder.join(name)).map_err(failed)
        };
        let (tokenizer, weights) = (read("tokenizer.json")?, read("model.safetensors")?);
        let config = if folder.join("config.json").exists() { read("config.json")? } else { b"{}".to_vec() };
        let mut hasher = blake3::Hasher::new();
        for file in [&tokenizer, &weights, &config] {
            hasher.update(blake3::hash(file).as_bytes());
        }
        let hash = hasher.finalize().to_hex();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let model = StaticModel::from_bytes(&tokenizer, &weights, &config, None);
        let model = model.map_err(|error| EmbedError::Failed(format!("{error:#}")))?;
        Ok(Self { model, identity: format!("{name} {}", hash.get(..16).unwrap_or_default()) })
    }
}

impl fmt::Debug for LocalEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LocalEmbedder").field(&self.identity).finish()
    }
}

impl Embedder for LocalEmbedder {
    fn model(&self) -> &str {
        &self.identity
    }

    fn embed<'a>(&'a self, texts: &'a [String], _kind: TextKind) -> EmbedFuture<'a> {
        let (model, texts) = (self.model.clone(), texts.to_vec());
        Box::pin(async move {
            let encoded = tokio::task::spawn_blocking(move || model.encode(&texts)).await;
            encoded.map_err(|error| EmbedError::Failed(error.to_string()))
        })
    }
}
