//! Watches when streams must close. All streams with the same token share one task.

use std::collections::HashMap;
use std::sync::Arc;

use corkboard::tokens::TokenId;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::ended;
use crate::Server;
use crate::caller::Caller;

/// The status of all open streams, by token. Streams of the built-in admin and of open access have no token.
pub(crate) type StreamStatuses = Arc<Mutex<HashMap<Option<TokenId>, Arc<watch::Sender<StreamStatus>>>>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamStatus {
    Open,
    /// The token was revoked or has expired.
    TokenEnded,
    ServerEnding,
}

impl StreamStatus {
    /// Subscribes to the status of the caller's token.
    pub(crate) fn of(server: &Server, caller: &Caller) -> watch::Receiver<Self> {
        let mut statuses = server.stream_statuses().lock();
        if let Some(status) = statuses.get(&caller.token()) {
            return status.subscribe();
        }
        let (status, told) = watch::channel(Self::Open);
        let status = Arc::new(status);
        statuses.insert(caller.token(), status.clone());
        let task = StatusTask { statuses: server.stream_statuses().clone(), caller: caller.clone(), status };
        tokio::spawn(task.run(server.ending()));
        told
    }
}

struct StatusTask {
    statuses: StreamStatuses,
    caller: Caller,
    status: Arc<watch::Sender<StreamStatus>>,
}

impl StatusTask {
    async fn run(self, mut ending: watch::Receiver<bool>) {
        let last = loop {
            tokio::select! {
                () = ended(&mut ending) => break StreamStatus::ServerEnding,
                () = self.status.closed() => {
                    // `of` holds the same lock.
                    let mut statuses = self.statuses.lock();
                    if self.status.receiver_count() == 0 {
                        statuses.remove(&self.caller.token());
                        return;
                    }
                }
                () = self.caller.corkboard().token_ended() => break StreamStatus::TokenEnded,
            }
        };
        self.statuses.lock().remove(&self.caller.token());
        self.status.send_replace(last);
    }
}
