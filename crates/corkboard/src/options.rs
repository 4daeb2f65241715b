//! The settings of a Corkboard.

use std::sync::Arc;
use std::time::Duration;

use corkboard_core::{Actor, Limits};

use crate::clock::{Clock, SystemClock};
use crate::embed::Embedder;

/// The settings of a [`Corkboard`](crate::Corkboard). Start from the default and change what you need.
#[derive(Debug, Clone)]
pub struct Options {
    /// Limits on sizes and counts.
    pub limits: Limits,
    /// Which features are on.
    pub tier: Tier,
    /// Features that can be disabled in every tier.
    pub features: Features,
    /// When a change is acknowledged.
    pub save: SavePolicy,
    /// How current a read is where others write to the store too.
    pub consistency: Consistency,
    /// How often a snapshot of a space's state is written, so that it loads without its whole log.
    pub snapshots: SnapshotPolicy,
    /// How much of the old log to keep. By default, the store decides: a day on Redis, everything elsewhere.
    pub retention: Option<Retention>,
    /// Approximate maximum of bytes of loaded states. The least recently used are unloaded first.
    pub memory_budget: u64,
    /// What may be created when a store in a file or folder is opened.
    pub creation: Creation,
    /// How long to wait for a store that another process has locked.
    pub busy_timeout: Duration,
    /// How often to check for expired items.
    pub tick_interval: Duration,
    /// Where to keep the scratchpads of conversations. Clients of a server ignore this, because the server decides.
    pub conversations: Conversations,
    /// An unused conversation's scratchpad expires after this time.
    pub conversation_idle: Duration,
    /// Default retention time of an archived board.
    pub board_retention: Duration,
    /// An active board without changes for this long is shown as idle. This has no other effect.
    pub idle_after: Duration,
    /// Interval after which an idle watcher gets a bookmark.
    pub bookmark_interval: Duration,
    /// How many revisions a live watcher may fall behind before it gets `lagged`.
    pub max_watch_lag: u64,
    /// Default token budget of a context window. Values below 64 count as 64.
    pub context_tokens: u64,
    /// Default actor of handles: the author of their changes.
    pub actor: Actor,
    /// Embedding model for searches, beside the built-in one. Clients of a server ignore this, because the server searches.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// How long a search waits for the vector of its query. After that, it uses the built-in model.
    pub embedder_query_timeout: Duration,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            tier: Tier::default(),
            features: Features::default(),
            save: SavePolicy::default(),
            consistency: Consistency::default(),
            snapshots: SnapshotPolicy::default(),
            retention: None,
            memory_budget: 512 * 1024 * 1024,
            creation: Creation::default(),
            busy_timeout: Duration::from_secs(30),
            tick_interval: Duration::from_secs(1),
            conversations: Conversations::default(),
            conversation_idle: Duration::from_secs(24 * 60 * 60),
            board_retention: Duration::from_secs(30 * 24 * 60 * 60),
            idle_after: Duration::from_secs(7 * 24 * 60 * 60),
            bookmark_interval: Duration::from_secs(15),
            max_watch_lag: 10_000,
            context_tokens: 8_000,
            actor: Actor::local(),
            embedder: None,
            embedder_query_timeout: Duration::from_secs(2),
            clock: Arc::new(SystemClock),
        }
    }
}

/// Features that can be disabled in every tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// Agents' memories: entries, notes, scopes, notebooks, conversations and context windows. If disabled, every call
    /// except deleting an agent returns [`Error::FeatureDisabled`](crate::Error::FeatureDisabled). Boards and shared
    /// memory cores are not affected.
    pub working_memory: bool,
}

impl Default for Features {
    fn default() -> Self {
        Self { working_memory: true }
    }
}

/// Which features are available. Each tier includes the previous one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Working memory.
    Core,
    /// Also long-term memory and embeddings.
    WriterPro,
    /// Everything.
    #[default]
    Teams,
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Core => "core",
            Self::WriterPro => "writer_pro",
            Self::Teams => "teams",
        })
    }
}

/// Where the scratchpads of conversations are kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Conversations {
    /// In the memory of this process. They are lost when it ends.
    #[default]
    Process,
    /// In the store, for all processes and servers that share it.
    Shared,
}

/// What may be created when a store in a file or folder is opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Creation {
    /// The store, and the folders around it.
    #[default]
    WithFolders,
    /// The store. The folder around it must exist.
    Store,
    /// Nothing. The store must exist.
    Nothing,
}

/// When a change is acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SavePolicy {
    /// When it is durable (`save_on_change`).
    #[default]
    OnChange,
    /// At once, before it is durable (`save_interval`). Changes are written at this interval, and at
    /// [`Corkboard::close`](crate::Corkboard::close). A crash can lose changes that were not written yet. The process
    /// opens the store exclusively.
    Interval(Duration),
}

impl SavePolicy {
    pub(crate) fn is_on_change(self) -> bool {
        self == Self::OnChange
    }
}

/// How current reads are if other processes write to the store too. On a store that only this process uses, every read
/// is current.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Consistency {
    /// Each read first asks the store for the log's head. It sees everything that was acknowledged to anyone before it
    /// began.
    #[default]
    Current,
    /// A read uses the loaded state if that was current within this time. The process's own writes are visible at once.
    /// Writes are always decided on the current state.
    Cached(Duration),
}

impl Consistency {
    /// Default maximum age of a cached read.
    pub const CACHED_AGE: Duration = Duration::from_secs(1);
}

impl std::str::FromStr for Consistency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "current" => Ok(Self::Current),
            "cached" => Ok(Self::Cached(Self::CACHED_AGE)),
            other => Err(format!("invalid consistency {other:?}: must be one of current, cached")),
        }
    }
}

/// When to write a snapshot: at whichever limit is reached first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotPolicy {
    /// Events since the last snapshot.
    pub events: u64,
    /// Bytes of log since the last snapshot.
    pub bytes: u64,
}

impl Default for SnapshotPolicy {
    fn default() -> Self {
        Self { events: 10_000, bytes: 10 * 1024 * 1024 }
    }
}

/// How much of the old log to keep once a snapshot covers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// All of it.
    Everything,
    /// The last revisions, up to this number.
    Revisions(u64),
    /// Revisions not older than this.
    Age(Duration),
}
