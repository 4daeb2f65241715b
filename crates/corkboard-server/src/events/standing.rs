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
pub(crate) type Standings = Arc<Mutex<HashMap<Option<TokenId>, Arc<watch::Sender<Standing>>>>>;

/// Whether streams go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// They do.
    Good,
    /// Their token is revoked or has expired.
    Revoked,
    /// The server ends.
    Ending,
}

impl Standing {
    /// How those with the caller's token stand, from now on.
    pub(super) fn of(server: &Server, caller: &Caller) -> watch::Receiver<Self> {
        let mut standings = server.standings().lock();
        if let Some(standing) = standings.get(&caller.token()) {
            return standing.subscribe();
        }
        let (standing, told) = watch::channel(Self::Good);
        let standing = Arc::new(standing);
        standings.insert(caller.token(), standing.clone());
        let looking = Looking { standings: server.standings().clone(), caller: caller.clone(), standing };
        tokio::spawn(looking.run(server.ending()));
        told
    }
}

/// The task that looks.
struct Looking {
    standings: Standings,
    caller: Caller,
    standing: Arc<watch::Sender<Standing>>,
}

impl Looking {
    async fn run(self, mut ending: watch::Receiver<bool>) {
        let last = loop {
            tokio::select! {
                () = ended(&mut ending) => break Standing::Ending,
                () = self.standing.closed() => {
                    // Whoever joins does so while they hold the standings.
                    let mut standings = self.standings.lock();
                    if self.standing.receiver_count() == 0 {
                        standings.remove(&self.caller.token());
                        return;
                    }
                }
                () = self.caller.corkboard().token_ended() => break Standing::Revoked,
            }
        };
        self.standings.lock().remove(&self.caller.token());
        self.standing.send_replace(last);
    }
}
