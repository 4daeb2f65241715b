//! How a Corkboard behaves.

use std::sync::Arc;
use std::time::Duration;

use corkboard_core::{Actor, Limits};

use crate::clock::{Clock, SystemClock};

/// The settings of a [`Corkboard`](crate::Corkboard). Start from the default and change what you need.
#[derive(Debug, Clone)]
pub struct Options {
    /// What may be used of everything.
    pub limits: Limits,
    /// Which features are on.
    pub tier: Tier,
    /// Features that can be disabled, whatever the tier.
    pub features: Features,
    /// When a change is acknowledged.
    pub save: SavePolicy,
    /// How current a read is where others write to the store too.
    pub consistency: Consistency,
    /// When a space's state is written down whole, so that it loads without its whole log.
    pub snapshots: SnapshotPolicy,
    /// How much of the old log is kept. Nothing said: what the store takes for right, which is a day on Redis and everything
    /// elsewhere.
    pub retention: Option<Retention>,
    /// About how many bytes of states are held in memory. What was least recently used goes first.
    pub memory_budget: u64,
    /// What may be created when a store in a file or folder is opened.
    pub creation: Creation,
    /// How long to wait for a store that others hold.
    pub busy_timeout: Duration,
    /// How often it is looked for what is due.
    pub tick_interval: Duration,
    /// Where the scratchpads of conversations are kept. A client of a server passes this over: the server decides.
    pub conversations: Conversations,
    /// An unused conversation's scratchpad expires after this time.
    pub conversation_idle: Duration,
    /// For how long an archived board is kept at least, unless it is said otherwise.
    pub board_retention: Duration,
    /// An active board on which nothing has happened for so long is idle. That is shown, and nothing else follows.
    pub idle_after: Duration,
    /// How long a watcher hears nothing before it gets a bookmark.
    pub bookmark_interval: Duration,
    /// How far a live watcher may fall behind before it is cut off.
    pub max_watch_lag: u64,
    /// How many tokens a context window may have unless its request says otherwise. Less than 64 counts as 64.
    pub context_tokens: u64,
    /// In whose name handles act unless they are told otherwise.
    pub actor: Actor,
    /// Where time comes from.
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
            clock: Arc::new(SystemClock),
        }
    }
}

/// Features that can be disabled, whatever the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// Agents' memories: entries, notes, scopes, notebooks, conversations and context windows. While it is off, every call
    /// returns [`Error::FeatureDisabled`](crate::Error::FeatureDisabled), except those that delete an agent. Boards and shared
    /// memory cores are not affected.
    pub working_memory: bool,
}

impl Default for Features {
    fn default() -> Self {
        Self { working_memory: true }
    }
}

/// Which features are on. Each tier has all of the one before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Working memory.
    Core,
    /// Long-term memory and embeddings too.
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
    /// In the memory of this process: they end with it.
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
    /// At once; it is written at least that often, and at [`Corkboard::close`](crate::Corkboard::close)
    /// (`save_interval`). A crash may lose what was not written yet. The store is opened for this process alone.
    Interval(Duration),
}

impl SavePolicy {
    pub(crate) fn is_on_change(self) -> bool {
        self == Self::OnChange
    }
}

/// How current a read is where others write to the store too. On a store that is this process's alone, every read is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Consistency {
    /// A read asks the store for the log's head first: it sees all that was acknowledged to anyone before it began.
    #[default]
    Current,
    /// A read takes what is in memory, if that was current no longer ago than this; own writes are seen at once. Writes,
    /// and what they are decided on, are always current.
    Cached(Duration),
}

impl Consistency {
    /// How old a cached read may be unless it is said otherwise.
    pub const CACHED_AGE: Duration = Duration::from_secs(1);
}

impl std::str::FromStr for Consistency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "current" => Ok(Self::Current),
            "cached" => Ok(Self::Cached(Self::CACHED_AGE)),
            other => Err(format!("{other:?} is no consistency: current or cached")),
        }
    }
}

/// When a snapshot is due: whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotPolicy {
    /// Events since the last one.
    pub events: u64,
    /// Bytes of log since the last one.
    pub bytes: u64,
}

impl Default for SnapshotPolicy {
    fn default() -> Self {
        Self { events: 10_000, bytes: 10 * 1024 * 1024 }
    }
}

/// How much of the old log is kept once a snapshot covers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// All of it.
    Everything,
    /// The last so many revisions.
    Revisions(u64),
    /// What is not older than this.
    Age(Duration),
}
