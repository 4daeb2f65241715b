//! Connects to a Corkboard on a server. The handles are the same: what they read is copied here, and the server decides
//! their commands.

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

/// A server's address and how to connect to it.
#[derive(Debug, Clone)]
pub struct ServerAddress {
    /// The server's URL, such as `http://127.0.0.1:7117`.
    pub url: String,
    /// The access token; none for a server without authentication.
    pub token: Option<SecretString>,
    /// Timeout for an answer.
    pub timeout: Duration,
    /// Allows sending the token to another machine over plain http.
    pub allow_plain_http: bool,
}

impl ServerAddress {
    /// Creates an address without a token, with a timeout of 60 seconds.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), token: None, timeout: Duration::from_secs(60), allow_plain_http: false }
    }

    /// Sets the access token.
    pub fn token(self, token: impl Into<SecretString>) -> Self {
        Self { token: Some(token.into()), ..self }
    }
}

/// Health of a server, as it reports to everyone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerHealth {
    /// The server's version.
    pub version: String,
    /// How far the server's clock is ahead of the local one.
    pub ahead: SignedDuration,
    /// Duration of the request, including the network.
    pub took: Duration,
}

impl ServerAddress {
    /// Checks that a Corkboard server answers at this address. Needs no token.
    pub async fn health(&self) -> Result<ServerHealth> {
        #[derive(Deserialize)]
        struct Health {
            version: String,
            now: Timestamp,
        }
        let (http, asked) = (HttpClient::new(self.clone())?, Instant::now());
        let Health { version, now } = http.get("/healthz", &[]).await?;
        let took = asked.elapsed();
        // Assume that the server read its clock in the middle of the round trip.
        let then = Timestamp::now().checked_sub(took / 2).unwrap_or(Timestamp::UNIX_EPOCH);
        Ok(ServerHealth { version, ahead: now.duration_since(then), took })
    }

    /// Fails if the server takes no requests now, because its store does not answer or it is shutting down.
    pub async fn readiness(&self) -> Result<()> {
        let _: serde_json::Value = HttpClient::new(self.clone())?.get("/readyz", &[]).await?;
        Ok(())
    }

    /// Creates a link that signs a browser in as the token's holder. It works once, within an hour. Only for admins.
    pub async fn sign_in_link(&self) -> Result<String> {
        #[derive(Deserialize)]
        struct Made {
            path: String,
        }
        let http = HttpClient::new(self.clone())?;
        let Made { path } = http.post("/v1/sign-in-links", None, Vec::new(), Resend::No).await?;
        Ok(format!("{}{path}", self.url.trim_end_matches('/')))
    }

    /// Returns the identity that the server assigns to the token.
    pub async fn identity(&self) -> Result<Identity> {
        HttpClient::new(self.clone())?.identity().await
    }
}

/// The identity that a server assigns to a caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Identity {
    /// The principal's name.
    pub principal: String,
    /// Whether the principal is a person, an agent or a program.
    pub kind: ActorKind,
    /// The caller's role.
    pub role: Role,
    /// The spaces that the caller can access.
    pub grants: Grants,
    /// The server's tier, which determines its features.
    #[serde(default)]
    pub tier: Tier,
    /// The server's embedding model; null if none is configured.
    #[serde(default)]
    pub embedder: Option<String>,
}

impl Corkboard {
    /// Connects to a server. The handles act as the token's principal ([`Options::actor`] is ignored). If the token
    /// permits it, [`Corkboard::acting_as`] selects another actor.
    ///
    /// Spaces that are read are copied to this process and kept; later reads only ask for changes. The server decides
    /// commands, with its limits.
    pub async fn connect(address: ServerAddress, options: Options) -> Result<Self> {
        Ok(Self::connect_with_identity(address, options).await?.0)
    }

    /// Connects like [`connect`](Self::connect), and also returns the identity that the server assigns to the token.
    pub async fn connect_with_identity(address: ServerAddress, options: Options) -> Result<(Self, Identity)> {
        let http = HttpClient::new(address)?;
        let identity = http.identity().await?;
        let Identity { principal, kind, role, tier, embedder, .. } = identity.clone();
        // The server's tier also limits what this process computes from its copies.
        let tier = options.tier.min(tier);
        let actor = Actor::new(principal, kind, role);
        http.set_own(&actor, embedder.is_some());
        let http = Arc::new(http);
        let store = Arc::new(ServerStore::new(http.clone()));
        Ok((Self::with_remote_store(store, http, Options { actor, tier, ..options }), identity))
    }
}
