//! A Corkboard that a server keeps: the same handles, with a copy of what is read here, and commands decided there.

mod connect_error;
mod http;
mod store;

use std::sync::Arc;
use std::time::{Duration, Instant};

use corkboard_core::tokens::Grants;
use corkboard_core::{Actor, ActorKind, Role};
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::{Corkboard, Options, Result, Tier};

use http::{HttpClient, Resend};
use store::ServerStore;

/// Where a server is, and how it is asked.
#[derive(Debug, Clone)]
pub struct ServerAddress {
    /// Its URL: `http://127.0.0.1:7117`.
    pub url: String,
    /// The token to come with; none for a server that lets everybody in.
    pub token: Option<SecretString>,
    /// How long to wait for an answer.
    pub timeout: Duration,
    /// Lets a token go to another machine by plain http.
    pub allow_plain_http: bool,
}

impl ServerAddress {
    /// A server by its URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), token: None, timeout: Duration::from_secs(60), allow_plain_http: false }
    }

    /// With a token.
    pub fn token(self, token: impl Into<SecretString>) -> Self {
        Self { token: Some(token.into()), ..self }
    }
}

/// What a server says of itself to whoever asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerHealth {
    /// Its version.
    pub version: String,
    /// By how much its clock is ahead of ours.
    pub ahead: SignedDuration,
    /// How long it took to answer, the way there included.
    pub took: Duration,
}

impl ServerAddress {
    /// Whether a server of Corkboard's answers there. That needs no token.
    pub async fn health(&self) -> Result<ServerHealth> {
        #[derive(Deserialize)]
        struct Health {
            version: String,
            now: Timestamp,
        }
        let (http, asked) = (HttpClient::new(self.clone())?, Instant::now());
        let Health { version, now } = http.get("/healthz", &[]).await?;
        let took = asked.elapsed();
        // It was said somewhere in the middle of the round trip.
        let then = Timestamp::now().checked_sub(took / 2).unwrap_or(Timestamp::UNIX_EPOCH);
        Ok(ServerHealth { version, ahead: now.duration_since(then), took })
    }

    /// Refused if the server takes no requests now: its store does not answer, or it is about to end.
    pub async fn readiness(&self) -> Result<()> {
        let _: serde_json::Value = HttpClient::new(self.clone())?.get("/readyz", &[]).await?;
        Ok(())
    }

    /// A new http that signs a browser in as the token's holder, once, within an hour. For admins.
    pub async fn sign_in_link(&self) -> Result<String> {
        #[derive(Deserialize)]
        struct Made {
            path: String,
        }
        let http = HttpClient::new(self.clone())?;
        let Made { path } = http.post("/v1/sign-in-links", None, Vec::new(), Resend::No).await?;
        Ok(format!("{}{path}", self.url.trim_end_matches('/')))
    }

    /// Whom the server takes the token for.
    pub async fn identity(&self) -> Result<Identity> {
        HttpClient::new(self.clone())?.identity().await
    }
}

/// Whom a server takes somebody for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Identity {
    /// Their name.
    pub principal: String,
    /// Whether that is a person, an agent or a program.
    pub kind: ActorKind,
    /// What they may do.
    pub role: Role,
    /// What they may touch.
    pub grants: Grants,
    /// Which features the server has.
    #[serde(default)]
    pub tier: Tier,
}

impl Corkboard {
    /// A Corkboard that a server keeps. Its handles act as whom the token names ([`Options::actor`] is passed over); with a
    /// token that may, [`Corkboard::acting_as`] names another.
    ///
    /// What is read is copied here, and kept: a later read asks only whether there is something new. What is written is
    /// decided by the server, with its limits.
    pub async fn connect(address: ServerAddress, options: Options) -> Result<Self> {
        Ok(Self::connect_with_identity(address, options).await?.0)
    }

    /// Like [`connect`](Self::connect), and tells what the server takes the token for.
    pub async fn connect_with_identity(address: ServerAddress, options: Options) -> Result<(Self, Identity)> {
        let http = HttpClient::new(address)?;
        let identity = http.identity().await?;
        let Identity { principal, kind, role, tier, .. } = identity.clone();
        // What this process computes from what it reads is held to the server's tier, too.
        let tier = options.tier.min(tier);
        let actor = Actor::new(principal, kind, role);
        http.set_own(&actor);
        let http = Arc::new(http);
        let store = Arc::new(ServerStore::new(http.clone()));
        Ok((Self::with_remote_store(store, http, Options { actor, tier, ..options }), identity))
    }
}
