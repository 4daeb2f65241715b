//! Tells clients when a resource changes, whoever changed it: this process, another one, or another server.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use corkboard::store::Cursor;
use corkboard::{Corkboard, Followed, LogWatch, SpaceKind, SpaceLog};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use jiff::Timestamp;
use parking_lot::Mutex;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use tokio::sync::broadcast::error::RecvError;
use tokio::task::AbortHandle;

use super::address::Address;
use super::resources::{broken, refused, text};
use super::workspace::Workspace;

/// Resources that one subscription may watch.
const WATCHED: usize = 100;

/// What a client may listen to: known resources, and new boards and cores. Tools and prompts never change.
pub(super) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let resources = requested.resource_subscriptions.iter().flatten();
    let known = resources.filter(|uri| Address::from_str(uri).is_ok()).take(WATCHED).cloned();
    let accepted = SubscriptionFilter::builder().resource_subscriptions(known);
    match requested.resources_list_changed {
        Some(true) => accepted.resources_list_changed().build(),
        _ => accepted.build(),
    }
}

/// Sends the changes of one `subscriptions/listen` request until the client ends it or its token ends. The SDK
/// acknowledged the request at `acknowledged` or later, before this function began.
pub(super) async fn listen(
    workspace: &Workspace,
    context: &SubscriptionContext,
    acknowledged: Timestamp,
) -> Result<(), ErrorData> {
    let mut changes = FuturesUnordered::new();
    for uri in context.accepted().resource_subscriptions.iter().flatten() {
        let mut resource = WatchedResource::new(workspace, uri).await?;
        let has_changed = resource.has_changed_since(acknowledged).await;
        let watch = async move {
            let mut has_changed = has_changed;
            while has_changed || resource.changed().await {
                has_changed = false;
                if context.sink().notify_resource_updated(&resource.uri).await.is_err() {
                    return;
                }
            }
        };
        changes.push(watch.boxed());
    }
    if context.accepted().resources_list_changed == Some(true) {
        let corkboard = workspace.corkboard.clone();
        let watch = async move {
            let mut lists = Lists::of(&corkboard).await;
            while lists.changed(&corkboard).await {
                if context.sink().notify_resource_list_changed().await.is_err() {
                    return;
                }
            }
        };
        changes.push(watch.boxed());
    }
    tokio::select! {
        () = context.cancelled() => {}
        () = workspace.corkboard.token_ended() => {}
        () = async {
            while changes.next().await.is_some() {}
            // Without anything to watch, the stream still stays open.
            std::future::pending::<()>().await
        } => {}
    }
    Ok(())
}

/// The resources that a client with a session subscribed to. Dropping the last clone ends the subscriptions.
#[derive(Clone, Default)]
pub(super) struct Subscriptions {
    watching: Arc<Mutex<Watching>>,
}

#[derive(Default)]
struct Watching {
    by_uri: HashMap<String, AbortHandle>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.by_uri.values().for_each(AbortHandle::abort);
    }
}

impl Subscriptions {
    pub(super) async fn add(&self, workspace: Workspace, uri: String, peer: Peer<RoleServer>) -> Result<(), ErrorData> {
        if self.watching.lock().by_uri.len() >= WATCHED {
            let message = format!("too many subscriptions: the maximum is {WATCHED}; unsubscribe from one first");
            return Err(ErrorData::invalid_params(message, None));
        }
        let mut resource = WatchedResource::new(&workspace, &uri).await?;
        let task = tokio::spawn(async move {
            while resource.changed().await {
                let update = ResourceUpdatedNotificationParam::new(&resource.uri);
                if peer.notify_resource_updated(update).await.is_err() {
                    return;
                }
            }
        });
        if let Some(replaced) = self.watching.lock().by_uri.insert(uri, task.abort_handle()) {
            replaced.abort();
        }
        Ok(())
    }

    pub(super) fn remove(&self, uri: &str) {
        if let Some(watching) = self.watching.lock().by_uri.remove(uri) {
            watching.abort();
        }
    }
}

/// A resource whose text is compared after every change of its space.
struct WatchedResource {
    uri: String,
    address: Address,
    workspace: Workspace,
    log: SpaceLog,
    watch: LogWatch,
    shown: u64,
}

impl WatchedResource {
    async fn new(workspace: &Workspace, uri: &str) -> Result<Self, ErrorData> {
        let address: Address = uri.parse()?;
        let corkboard = &workspace.corkboard;
        let space = address.space(&corkboard.options().limits).map_err(broken)?;
        let kind = space.kind().unwrap_or(SpaceKind::Agent);
        let log = corkboard.log(kind, space.name()).map_err(refused)?;
        let watch = log.watch(None).await.map_err(broken)?;
        let (uri, workspace) = (uri.to_owned(), workspace.clone());
        let shown = text_hash(&workspace, &address).await;
        Ok(Self { uri, address, workspace, log, watch, shown })
    }

    /// Whether its space changed at this time or later: perhaps before it was watched, but after the client was told that
    /// it is.
    async fn has_changed_since(&mut self, time: Timestamp) -> bool {
        let last = async {
            let head = self.log.head().await?;
            let before = Cursor { rev: head.rev.saturating_sub(1), commit: None };
            Ok::<_, corkboard::Error>(self.log.after(before, 1).await?.records.into_iter().next())
        };
        match last.await {
            Ok(last) => last.is_some_and(|record| record.at >= time),
            // An unnecessary notification is better than none.
            Err(_) => true,
        }
    }

    /// Waits until the text differs. Returns false if the space cannot be watched any longer.
    async fn changed(&mut self) -> bool {
        loop {
            match self.watch.next().await {
                // A client whose token ended hears nothing more.
                _ if self.workspace.corkboard.check_token().await.is_err() => return false,
                Ok(Followed::Bookmark { .. }) => {}
                Ok(_) => {
                    let now = text_hash(&self.workspace, &self.address).await;
                    if now != std::mem::replace(&mut self.shown, now) {
                        return true;
                    }
                }
                Err(error) => {
                    tracing::debug!(uri = self.uri, %error, "a subscription ended");
                    return false;
                }
            }
        }
    }
}

/// The hash of a resource's text; of a missing resource, the hash of nothing.
async fn text_hash(workspace: &Workspace, address: &Address) -> u64 {
    let mut hasher = DefaultHasher::new();
    text(workspace, address).await.unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

/// The boards and cores that a client can list.
struct Lists {
    changes: tokio::sync::broadcast::Receiver<(corkboard::SpaceId, u64)>,
    known: u64,
}

impl Lists {
    async fn of(corkboard: &Corkboard) -> Self {
        let changes = corkboard.changes();
        Self { changes, known: names(corkboard).await }
    }

    /// Waits until a board or core appears or goes. Returns false if the store is closed.
    async fn changed(&mut self, corkboard: &Corkboard) -> bool {
        loop {
            match self.changes.recv().await {
                Ok((space, _)) if !matches!(space.kind(), Some(SpaceKind::Board | SpaceKind::Core)) => continue,
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return false,
            }
            let now = names(corkboard).await;
            if now != std::mem::replace(&mut self.known, now) {
                return true;
            }
        }
    }
}

/// A hash of the names of all boards and cores that the client has access to.
async fn names(corkboard: &Corkboard) -> u64 {
    let mut hasher = DefaultHasher::new();
    for kind in [SpaceKind::Board, SpaceKind::Core] {
        let mut after: Option<String> = None;
        while let Ok(page) = corkboard.logs(kind, after.as_deref(), 1_000).await {
            let names = page.iter().map(|listed| listed.space.name()).filter(|name| corkboard.opens(kind, name));
            names.for_each(|name| name.hash(&mut hasher));
            match page.last() {
                Some(last) => after = Some(last.space.name().to_owned()),
                None => break,
            }
        }
    }
    hasher.finish()
}
