//! The settings as values.

use std::path::PathBuf;

use super::embedder::EmbedderSettings;
use corkboard::Options;
use corkboard_server::{Authentication, Rate, Settings};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// The effective value of every setting.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedSettings {
    pub(crate) store: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) agent: String,
    pub(crate) board: Option<String>,
    pub(crate) log: Option<String>,
    pub(crate) log_format: LogFormat,
    pub(crate) listen: String,
    pub(crate) no_auth: bool,
    pub(crate) tls_cert: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
    pub(crate) connections: u64,
    pub(crate) body_bytes: u64,
    pub(crate) buffer_bytes: u64,
    pub(crate) events_held: u64,
    pub(crate) requests_per_second: u64,
    pub(crate) requests_at_once: u64,
    pub(crate) bytes_per_hour: u64,
    pub(crate) bytes_at_once: u64,
    pub(crate) wrong_tokens_per_minute: u64,
    pub(crate) wrong_tokens_at_once: u64,
    /// Settings that the server takes in the same form. The field `access` is not used.
    pub(crate) server: Settings,
    pub(crate) embedder: EmbedderSettings,
    /// The embedder is loaded only for commands that use it.
    pub(crate) options: Options,
}

const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;

impl Default for ResolvedSettings {
    fn default() -> Self {
        let usual = Settings::new(Authentication::Open);
        Self {
            store: None,
            url: None,
            agent: "default".into(),
            board: None,
            log: None,
            log_format: LogFormat::default(),
            listen: "127.0.0.1:7117".into(),
            no_auth: false,
            tls_cert: None,
            tls_key: None,
            connections: usual.connections as u64,
            body_bytes: usual.body_bytes as u64,
            buffer_bytes: usual.buffer_bytes as u64,
            events_held: usual.events_held as u64,
            requests_per_second: usual.requests.per_second.round() as u64,
            requests_at_once: usual.requests.burst.round() as u64,
            bytes_per_hour: (usual.written_bytes.per_second * HOUR).round() as u64,
            bytes_at_once: usual.written_bytes.burst.round() as u64,
            wrong_tokens_per_minute: (usual.wrong_tokens.per_second * MINUTE).round() as u64,
            wrong_tokens_at_once: usual.wrong_tokens.burst.round() as u64,
            server: usual,
            embedder: EmbedderSettings::default(),
            options: Options::default(),
        }
    }
}

impl ResolvedSettings {
    pub(crate) fn server_settings(&self, access: Authentication) -> Settings {
        Settings {
            connections: usize::try_from(self.connections).unwrap_or(usize::MAX),
            body_bytes: usize::try_from(self.body_bytes).unwrap_or(usize::MAX),
            buffer_bytes: usize::try_from(self.buffer_bytes).unwrap_or(usize::MAX),
            events_held: usize::try_from(self.events_held).unwrap_or(usize::MAX),
            requests: Rate { burst: self.requests_at_once as f64, per_second: self.requests_per_second as f64 },
            written_bytes: Rate { burst: self.bytes_at_once as f64, per_second: self.bytes_per_hour as f64 / HOUR },
            wrong_tokens: Rate {
                burst: self.wrong_tokens_at_once as f64,
                per_second: self.wrong_tokens_per_minute as f64 / MINUTE,
            },
            access,
            ..self.server.clone()
        }
    }
}
