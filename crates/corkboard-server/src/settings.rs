//! What a server is told when it starts.

use std::time::Duration;

use secrecy::SecretString;

use crate::metrics::Metrics;
use crate::rate::Rate;

/// Who is let in.
#[derive(Debug, Clone)]
pub enum Access {
    /// Whoever comes with a token: one of the store's, or this one, which may do everything.
    Tokens {
        /// The token that may do everything, if there is one besides the store's.
        admin: Option<SecretString>,
    },
    /// Everybody, as an admin. For servers that only this machine can reach.
    Open,
}

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who is let in.
    pub access: Access,
    /// The names by which it may be called, besides `localhost` and loopback addresses: a request with another `Host` is
    /// refused, so that no web page can reach it by a name of its own.
    pub hosts: Vec<String>,
    /// The web pages that may call it, besides its own.
    pub origins: Vec<String>,
    /// The most connections at a time. Whoever comes when there are as many is told to come back.
    pub connections: usize,
    /// The most bytes of a request's body.
    pub body_bytes: usize,
    /// How long a request may take, waiting for a task aside.
    pub request_timeout: Duration,
    /// How long a client may take to say what it wants: a request's head, from its first byte or the end of the one before.
    pub header_timeout: Duration,
    /// How long a server that is to end waits for what is under way.
    pub drain_timeout: Duration,
    /// How often each caller may ask.
    pub requests: Rate,
    /// How many bytes each caller may send.
    pub written_bytes: Rate,
    /// How often a stream of events shows that it is there, and whether its token still is.
    pub heartbeat: Duration,
    /// A connection to which nothing could be written for so long is given up.
    pub stalled_after: Duration,
    /// The most events of all spaces that are held for those who follow them all.
    pub events_held: usize,
    /// For how long they are held when nobody follows.
    pub events_linger: Duration,
    /// Whether connections are encrypted: cookies are then kept from others.
    pub is_tls: bool,
    /// What is counted in this process, for `/metrics`. Nothing: there is no such route.
    pub metrics: Option<Metrics>,
    /// Whether `/metrics` is for everybody who reaches the server. Otherwise it needs a token, as everything does.
    pub are_metrics_public: bool,
}

impl Settings {
    /// The usual settings.
    pub fn new(access: Access) -> Self {
        Self {
            access,
            hosts: Vec::new(),
            origins: Vec::new(),
            // A connection is an open file, of which a process may seldom have less than 20,000.
            connections: 16_384,
            // A command may have 4 MiB; JSON escapes take room too.
            body_bytes: 8 * 1024 * 1024,
            request_timeout: Duration::from_secs(60),
            header_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(30),
            requests: Rate { burst: 2_000.0, per_second: 1_000.0 },
            // A gigabyte an hour, and a quarter of that at once.
            written_bytes: Rate { burst: 256.0 * 1024.0 * 1024.0, per_second: 1024.0 * 1024.0 * 1024.0 / 3600.0 },
            heartbeat: Duration::from_secs(15),
            stalled_after: Duration::from_secs(60),
            events_held: 1024,
            events_linger: Duration::from_secs(60),
            is_tls: false,
            metrics: None,
            are_metrics_public: false,
        }
    }
}
