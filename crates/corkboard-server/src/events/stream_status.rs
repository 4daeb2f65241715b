//! Until when streams go on. It is looked once for all that came with the same token, however many they are.

use std::collections::HashMap;
use std::sync::Arc;

use corkboard::tokens::TokenId;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::ended;
use crate::Server;
use crate::caller::Caller;

/// Where a server keeps how those stand who follow: by their token, or as the admin or everybody, who need none of the
/// store's.
pub(crate) type StreamStatuses = Arc<Mutex<HashMap<Option<TokenId>, Arc<watch::Sender<StreamStatus>>>>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamStatus {
    Open,
    /// Their token is revoked or has expired.
    TokenEnded,
    ServerEnding,
}

impl StreamStatus {
    /// How those with the caller's token stand, from now on.
    pub(super) fn of(server: &Server, caller: &Caller) -> watch::Receiver<Self> {
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
                    // Whoever joins does so while they hold the statuses.
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
