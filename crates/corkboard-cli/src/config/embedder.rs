//! The settings of the embedding model.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use corkboard::embed::Embedder;

use crate::error::CliError;

/// The settings that begin with `embedder.`.
#[derive(Debug, Clone)]
pub(crate) struct EmbedderSettings {
    pub(crate) url: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) key_env: Option<String>,
    pub(crate) plain_http: bool,
    pub(crate) timeout: Duration,
    pub(crate) query_prefix: Option<String>,
    pub(crate) document_prefix: Option<String>,
    pub(crate) path: Option<PathBuf>,
}

impl Default for EmbedderSettings {
    fn default() -> Self {
        Self {
            url: None,
            model: None,
            key_env: None,
            plain_http: false,
            timeout: Duration::from_secs(60),
            query_prefix: None,
            document_prefix: None,
            path: None,
        }
    }
}

impl EmbedderSettings {
    /// The configured model; `None` without one. Sends nothing yet.
    pub(crate) fn build(&self) -> Result<Option<Arc<dyn Embedder>>, CliError> {
        let invalid = |message: &str| Err(CliError::invalid("config", message));
        match (&self.model, &self.path) {
            (Some(_), Some(_)) => invalid("embedder.model and embedder.path cannot be used together"),
            (None, Some(path)) => local(path).map(Some),
            (Some(model), None) => self.client(model).map(Some),
            (None, None) if self.url.is_some() => invalid("embedder.url needs embedder.model"),
            (None, None) => Ok(None),
        }
    }

    #[cfg(feature = "model")]
    fn client(&self, model: &str) -> Result<Arc<dyn Embedder>, CliError> {
        use corkboard::model::{ModelConfig, ModelRetries, OpenAiEmbedder, Provider};
        let mut config = ModelConfig::new(Provider::OpenAi, model);
        config.url.clone_from(&self.url);
        config.allow_plain_http = self.plain_http;
        // What fails is tried again in the background.
        config.retries = ModelRetries::NONE;
        (config.timeouts.idle, config.timeouts.total) = (self.timeout, self.timeout);
        // The provider's key goes only to the provider.
        let usual = Some(Provider::OpenAi.key_variable()).filter(|_| self.url.is_none());
        if let Some(variable) = self.key_env.as_deref().or(usual) {
            let key = std::env::var(variable).ok().filter(|key| !key.trim().is_empty());
            let missing = || CliError::invalid("config", format!("the embedding model needs a key: set {variable}"));
            config = config.key(key.ok_or_else(missing)?.trim().to_owned());
        }
        let prefix = |prefix: &Option<String>| prefix.clone().unwrap_or_default();
        let embedder = OpenAiEmbedder::new(config).map_err(corkboard::Error::from)?;
        Ok(Arc::new(embedder.prefixes(prefix(&self.query_prefix), prefix(&self.document_prefix))))
    }

    #[cfg(not(feature = "model"))]
    fn client(&self, _model: &str) -> Result<Arc<dyn Embedder>, CliError> {
        Err(CliError::invalid("config", "embedder.model needs a cork that was built with the feature `model`"))
    }
}

#[cfg(feature = "local-embedder")]
fn local(path: &std::path::Path) -> Result<Arc<dyn Embedder>, CliError> {
    let loaded = corkboard::embed::LocalEmbedder::load(path);
    let failed = |error| CliError::invalid("config", format!("cannot load the model in {}: {error}", path.display()));
    Ok(Arc::new(loaded.map_err(failed)?))
}

#[cfg(not(feature = "local-embedder"))]
fn local(_path: &std::path::Path) -> Result<Arc<dyn Embedder>, CliError> {
    let message = "embedder.path needs a cork that was built with the feature `local-embedder`";
    Err(CliError::invalid("config", message)
        .hint("or serve the model over HTTP, and set embedder.url and embedder.model"))
}
