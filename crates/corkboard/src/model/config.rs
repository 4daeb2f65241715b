//! Settings of a model: provider, name, server, key, timeouts and retries.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use super::{AnthropicModel, Model, ModelError, ModelRetries, OpenAiModel};

/// A provider of models, which decides the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    /// OpenAI's Chat Completions, which many servers support.
    OpenAi,
    /// Anthropic's Messages API.
    Anthropic,
}

impl Provider {
    /// The provider's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// Base URL of the provider's own server.
    pub fn url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
        }
    }

    /// Environment variable with the key for the provider's own server.
    pub fn key_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Provider {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, ModelError> {
        match text {
            "openai" => Ok(Self::OpenAi),
            "anthropic" => Ok(Self::Anthropic),
            other => Err(ModelError::Config(format!("unknown provider {other:?}; expected openai or anthropic"))),
        }
    }
}

/// Timeouts of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelTimeouts {
    /// Maximum time to connect.
    pub connect: Duration,
    /// Maximum time until the next part of the answer. For the first part this includes the connection.
    pub idle: Duration,
    /// Maximum time until the answer is complete, including all attempts and the waits between them.
    pub total: Duration,
}

impl Default for ModelTimeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_secs(120), total: Duration::from_secs(10 * 60) }
    }
}

/// Settings of a model: provider, name, server, key, timeouts and retries.
///
/// ```no_run
/// # async fn ask() -> corkboard::Result<()> {
/// use corkboard::model::{ModelConfig, ModelRequest};
///
/// let model = ModelConfig::from_env()?.build()?; // CORK_MODEL=anthropic:… and ANTHROPIC_API_KEY
/// let answer = model.complete(ModelRequest::new("Say hello.")).await?;
/// println!("{}", answer.text);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelConfig {
    /// The protocol.
    pub provider: Provider,
    /// The model's name, as its server knows it.
    pub model: String,
    /// Base URL of the server, without the protocol's path (`/chat/completions`, `/v1/messages`). Default: the
    /// provider's own server.
    pub url: Option<String>,
    /// The key, if the server needs one.
    pub key: Option<SecretString>,
    /// Whether to send a key to another machine over plain HTTP. To this machine it is always allowed.
    pub allow_plain_http: bool,
    /// Timeouts of a request.
    pub timeouts: ModelTimeouts,
    /// How often to retry a request.
    pub retries: ModelRetries,
    /// Maximum bytes of an answer.
    pub max_answer_bytes: usize,
}

impl ModelConfig {
    /// The variable that names the model: `openai:NAME` or `anthropic:NAME`.
    pub const MODEL_VARIABLE: &str = "CORK_MODEL";
    /// The variable with the server's base URL.
    pub const URL_VARIABLE: &str = "CORK_MODEL_URL";
    /// The variable that names the variable with the key.
    pub const KEY_VARIABLE: &str = "CORK_MODEL_KEY_ENV";
    /// The variable with the maximum number of seconds for an answer.
    pub const TIMEOUT_VARIABLE: &str = "CORK_MODEL_TIMEOUT";
    /// The variable that allows sending a key to another machine over plain HTTP, if it is `1`.
    pub const PLAIN_HTTP_VARIABLE: &str = "CORK_MODEL_PLAIN_HTTP";

    /// A model at its provider's own server, without a key yet.
    pub fn new(provider: Provider, model: impl Into<String>) -> Self {
        Self {
            provider,
            model: model.into(),
            url: None,
            key: None,
            allow_plain_http: false,
            timeouts: ModelTimeouts::default(),
            retries: ModelRetries::default(),
            max_answer_bytes: 1024 * 1024,
        }
    }

    /// Sets the server's base URL.
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.url = Some(url.into());
        self
    }

    /// Sets the key.
    pub fn key(mut self, key: impl Into<SecretString>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Reads the environment variables `CORK_MODEL`, `CORK_MODEL_URL`, `CORK_MODEL_KEY_ENV`, `CORK_MODEL_TIMEOUT` and
    /// `CORK_MODEL_PLAIN_HTTP`.
    ///
    /// The provider's key (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`) is sent only to the provider's own server. With
    /// another URL, a key is sent only if `CORK_MODEL_KEY_ENV` names its variable.
    pub fn from_env() -> Result<Self, ModelError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Like [`ModelConfig::from_env`], with another source of variables.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ModelError> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let chosen = variable(Self::MODEL_VARIABLE).ok_or_else(|| {
            let form = "openai:NAME or anthropic:NAME";
            ModelError::Config(format!("no model is chosen: set {} to {form}", Self::MODEL_VARIABLE))
        })?;
        let mut config: Self = chosen.parse()?;
        config.url = variable(Self::URL_VARIABLE);
        let named = variable(Self::KEY_VARIABLE);
        let key_variable = match (&named, &config.url) {
            (Some(named), _) => Some(named.as_str()),
            (None, None) => Some(config.provider.key_variable()),
            (None, Some(_)) => None,
        };
        if let Some(name) = key_variable {
            let key = variable(name).ok_or_else(|| ModelError::NoKey { variable: name.into() })?;
            config.key = Some(key.trim().into());
        }
        if let Some(seconds) = variable(Self::TIMEOUT_VARIABLE) {
            let total = seconds.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            config.timeouts.total = total.filter(|total| !total.is_zero()).ok_or_else(|| {
                ModelError::Config(format!("{} is {seconds:?}; expected a number of seconds", Self::TIMEOUT_VARIABLE))
            })?;
        }
        config.allow_plain_http = variable(Self::PLAIN_HTTP_VARIABLE).is_some_and(|value| value.trim() == "1");
        Ok(config)
    }

    /// Creates the client.
    pub fn build(self) -> Result<Arc<dyn Model>, ModelError> {
        Ok(match self.provider {
            Provider::OpenAi => Arc::new(OpenAiModel::new(self)?),
            Provider::Anthropic => Arc::new(AnthropicModel::new(self)?),
        })
    }
}

impl FromStr for ModelConfig {
    type Err = ModelError;

    /// `openai:NAME` or `anthropic:NAME`.
    fn from_str(text: &str) -> Result<Self, ModelError> {
        let wrong = || ModelError::Config(format!("invalid model {text:?}; expected openai:NAME or anthropic:NAME"));
        let (provider, model) = text.trim().split_once(':').ok_or_else(wrong)?;
        let provider = provider.parse()?;
        if model.trim().is_empty() { Err(wrong()) } else { Ok(Self::new(provider, model.trim())) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    fn read(variables: &[(&str, &str)]) -> Result<ModelConfig, ModelError> {
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
        ModelConfig::from_variables(value)
    }

    fn key(config: &ModelConfig) -> Option<&str> {
        config.key.as_ref().map(ExposeSecret::expose_secret)
    }

    #[test]
    fn the_environment_chooses_the_model() {
        let config = read(&[("CORK_MODEL", "anthropic:some-model"), ("ANTHROPIC_API_KEY", "k-1\n")]).unwrap();
        assert_eq!(
            (config.provider, config.model.as_str(), key(&config)),
            (Provider::Anthropic, "some-model", Some("k-1"))
        );
        assert!(!format!("{config:?}").contains("k-1"), "{config:?}");
        // Names of models can contain colons.
        let config =
            read(&[("CORK_MODEL", "openai:llama3:8b"), ("CORK_MODEL_URL", "http://localhost:11434/v1")]).unwrap();
        assert_eq!((config.model.as_str(), config.url.as_deref()), ("llama3:8b", Some("http://localhost:11434/v1")));
        let timed =
            read(&[("CORK_MODEL", "openai:m"), ("OPENAI_API_KEY", "k"), ("CORK_MODEL_TIMEOUT", "2.5")]).unwrap();
        assert_eq!(timed.timeouts.total, Duration::from_millis(2500));
    }

    #[test]
    fn a_providers_key_goes_to_the_provider_alone() {
        let elsewhere =
            [("CORK_MODEL", "openai:m"), ("CORK_MODEL_URL", "https://example.org/v1"), ("OPENAI_API_KEY", "k-1")];
        assert_eq!(key(&read(&elsewhere).unwrap()), None);
        let named = [&elsewhere[..], &[("CORK_MODEL_KEY_ENV", "MY_KEY"), ("MY_KEY", "k-2")]].concat();
        assert_eq!(key(&read(&named).unwrap()), Some("k-2"));
    }

    #[test]
    fn errors_name_missing_or_invalid_variables() {
        for (variables, message) in [
            (&[][..], "no model is chosen: set CORK_MODEL to openai:NAME or anthropic:NAME"),
            (&[("CORK_MODEL", "m")], "invalid model \"m\"; expected openai:NAME or anthropic:NAME"),
            (&[("CORK_MODEL", "openai: ")], "invalid model"),
            (&[("CORK_MODEL", "other:m")], "unknown provider \"other\"; expected openai or anthropic"),
            (&[("CORK_MODEL", "openai:m")], "set OPENAI_API_KEY"),
            (&[("CORK_MODEL", "openai:m"), ("CORK_MODEL_KEY_ENV", "MY_KEY"), ("OPENAI_API_KEY", "k")], "set MY_KEY"),
            (
                &[("CORK_MODEL", "openai:m"), ("OPENAI_API_KEY", "k"), ("CORK_MODEL_TIMEOUT", "-1")],
                "CORK_MODEL_TIMEOUT",
            ),
        ] {
            let error = read(variables).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
