//! A Corkboard that a server keeps: the same handles, with a copy of what is read here, and commands decided there.

mod link;
mod store;

use std::sync::Arc;
use std::time::Duration;

use corkboard_core::tokens::Grants;
use corkboard_core::{Actor, ActorKind, Role};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::{Corkboard, Options, Result};

use link::Link;
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
}

impl Corkboard {
    /// A Corkboard that a server keeps. Its handles act as whom the token names ([`Options::actor`] is passed over); with a
    /// token that may, [`Corkboard::acting_as`] names another.
    ///
    /// What is read is copied here, and kept: a later read asks only whether there is something new. What is written is
    /// decided by the server, with its limits.
    pub async fn connect(address: ServerAddress, options: Options) -> Result<Self> {
        let link = Link::new(address)?;
        let Identity { principal, kind, role, .. } = link.identity().await?;
        let actor = Actor::new(principal, kind, role);
        link.set_own(&actor);
        let link = Arc::new(link);
        let store = Arc::new(ServerStore::new(link.clone()));
        Ok(Self::with_store_elsewhere(store, link, Options { actor, ..options }))
    }
}
