//! Where an entry came from, and how far it may be trusted.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::text::enum_text;
use crate::{Actor, ActorKind, BoardId, Refusal};

/// How far a text may be trusted. Whoever reads it is told; nobody can give more than they have themselves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// It came from outside: a web page, a tool's output, a stranger's words.
    Outside,
    /// An agent or a program wrote it.
    #[default]
    Agent,
    /// A person who works with this store wrote it or vouches for it.
    Own,
}

enum_text!(Trust {
    Outside => "outside",
    Agent => "agent",
    Own => "own",
});

impl Trust {
    /// What stands before every line of a text that came from outside, wherever it is shown; nothing before any other. No text
    /// gets rid of it: it stands before whatever the text says.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Outside => "[outside] ",
            Self::Agent | Self::Own => "",
        }
    }

    /// What was asked for, if the actor can give that much.
    pub(crate) fn granted(asked: Option<Self>, actor: &Actor) -> Result<Option<Self>, Refusal> {
        Self::granted_up_to(Self::most_of(actor.kind), asked, actor)
    }

    /// What was asked for, unless it is more than this.
    pub(crate) fn granted_up_to(most: Self, asked: Option<Self>, actor: &Actor) -> Result<Option<Self>, Refusal> {
        match asked {
            Some(asked) if asked > most => {
                Err(Refusal::TrustDenied { principal: actor.principal.clone(), asked, most })
            }
            asked => Ok(asked),
        }
    }

    /// The most that such an actor can give.
    pub fn most_of(kind: ActorKind) -> Self {
        match kind {
            ActorKind::Human => Self::Own,
            ActorKind::Agent | ActorKind::Service => Self::Agent,
        }
    }
}

/// Where an entry came from. An entry that was learned more than once has several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Provenance {
    /// Who said it.
    pub author: Arc<str>,
    pub trust: Trust,
    /// When it came into the core.
    pub at: Timestamp,
    /// Who brought it in, where that is not its author.
    #[serde(default)]
    pub promoted_by: Option<Arc<str>>,
    /// The board that it was learned on.
    #[serde(default)]
    pub board: Option<BoardId>,
    /// What on that board (or elsewhere) it was made of: `D-3`.
    #[serde(default)]
    pub item: Option<Arc<str>>,
    /// The revision of that board in which it was promoted. No two promotions have the same, so that one comes in once.
    #[serde(default)]
    pub board_rev: Option<u64>,
    /// Who else had a part in the text: their words are in it, or they changed it since.
    #[serde(default)]
    pub edited_by: Vec<Arc<str>>,
}

impl Provenance {
    /// Whether both tell of the same origin, whenever that was.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let Self { author, trust, at: _, promoted_by, board, item, board_rev, edited_by } = self;
        let same = (author, trust, promoted_by) == (&other.author, &other.trust, &other.promoted_by);
        let same = same && (board, item, board_rev) == (&other.board, &other.item, &other.board_rev);
        same && *edited_by == other.edited_by
    }

    /// What counts against the limits. Even an origin that says little takes room when it is written down.
    pub(super) fn bytes(&self) -> usize {
        const EACH: usize = 32;
        let names = [Some(&self.author), self.promoted_by.as_ref(), self.item.as_ref()];
        let names = names.into_iter().flatten().chain(&self.edited_by).map(|name| name.len()).sum::<usize>();
        EACH + names + self.board.as_ref().map_or(0, |board| board.as_str().len())
    }
}

/// Whose or which entries are to be taken out of a core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Withdrawal {
    /// What somebody said, brought in or edited.
    Author { name: String },
    /// What was learned on a board.
    Board { board: BoardId },
    /// What was made of one thing on a board.
    Item {
        board: BoardId,
        /// What on it: `D-3`.
        item: String,
    },
    /// What one promotion brought in.
    Promotion {
        /// The board that it was begun on.
        board: BoardId,
        /// What was promoted: `D-3`.
        item: String,
        /// The revision of the board in which it was begun.
        board_rev: u64,
    },
}

impl Withdrawal {
    /// Who only changed the words of an origin that is otherwise another's, if it is about them.
    pub fn editor(&self, origin: &Provenance) -> Option<&str> {
        let Self::Author { name } = self else { return None };
        let is_theirs = *origin.author == **name || origin.promoted_by.as_deref() == Some(name.as_str());
        (!is_theirs && self.concerns(origin)).then_some(name)
    }

    pub fn concerns(&self, origin: &Provenance) -> bool {
        match self {
            Self::Author { name } => {
                let mut names = [Some(&origin.author), origin.promoted_by.as_ref()].into_iter().flatten();
                names.any(|other| **other == **name) || origin.edited_by.iter().any(|other| **other == **name)
            }
            Self::Board { board } => origin.board.as_ref() == Some(board),
            Self::Item { board, item } => is_of(origin, board, item),
            Self::Promotion { board, item, board_rev } => {
                is_of(origin, board, item) && origin.board_rev == Some(*board_rev)
            }
        }
    }
}

fn is_of(origin: &Provenance, board: &BoardId, item: &str) -> bool {
    origin.board.as_ref() == Some(board) && origin.item.as_deref() == Some(item)
}
