//! The origins of an entry and how far they can be trusted.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::text::enum_text;
use crate::{Actor, ActorKind, BoardId, Refusal};

/// How far a text can be trusted. Readers are shown the trust, and writers cannot give more than they have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// From outside: a web page, the output of a tool, a stranger.
    Outside,
    /// Written by an agent or a program.
    #[default]
    Agent,
    /// Written or confirmed by a person who works with this store.
    Own,
}

enum_text!(Trust {
    Outside => "outside",
    Agent => "agent",
    Own => "own",
});

impl Trust {
    /// The prefix of every line of a text from outside, wherever the text is shown. Empty for all other texts. A text
    /// cannot remove the prefix, because it comes before the text's own content.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Outside => "[outside] ",
            Self::Agent | Self::Own => "",
        }
    }

    /// The requested trust, or a refusal if it is more than the actor can give.
    pub(crate) fn granted(asked: Option<Self>, actor: &Actor) -> Result<Option<Self>, Refusal> {
        Self::granted_up_to(Self::most_of(actor.kind), asked, actor)
    }

    /// The requested trust, or a refusal if it is more than `most`.
    pub(crate) fn granted_up_to(most: Self, asked: Option<Self>, actor: &Actor) -> Result<Option<Self>, Refusal> {
        match asked {
            Some(asked) if asked > most => {
                Err(Refusal::TrustDenied { principal: actor.principal.clone(), asked, most })
            }
            asked => Ok(asked),
        }
    }

    /// The most trust that an actor of this kind can give.
    pub fn most_of(kind: ActorKind) -> Self {
        match kind {
            ActorKind::Human => Self::Own,
            ActorKind::Agent | ActorKind::Service => Self::Agent,
        }
    }
}

/// An origin of an entry. An entry that was learned more than once has several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Provenance {
    /// Who learned it.
    pub author: Arc<str>,
    pub trust: Trust,
    /// When the text was added to the core.
    pub at: Timestamp,
    /// Who added the text to the core, if not the author.
    #[serde(default)]
    pub promoted_by: Option<Arc<str>>,
    /// The board that it was learned on, if any.
    #[serde(default)]
    pub board: Option<BoardId>,
    /// The item, usually on that board, that it was made from, such as `D-3`.
    #[serde(default)]
    pub item: Option<Arc<str>>,
    /// The board revision of the promotion. It is unique per promotion, so a promotion adds its entry only once.
    #[serde(default)]
    pub board_rev: Option<u64>,
    /// Other contributors to the text: it contains their words, or they changed it.
    #[serde(default)]
    pub edited_by: Vec<Arc<str>>,
}

impl Provenance {
    /// Whether both are the same origin, regardless of their times.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let Self { author, trust, at: _, promoted_by, board, item, board_rev, edited_by } = self;
        let same = (author, trust, promoted_by) == (&other.author, &other.trust, &other.promoted_by);
        let same = same && (board, item, board_rev) == (&other.board, &other.item, &other.board_rev);
        same && *edited_by == other.edited_by
    }

    /// The size that counts against the limits. It includes a fixed size for the stored form.
    pub(super) fn bytes(&self) -> usize {
        const EACH: usize = 32;
        let names = [Some(&self.author), self.promoted_by.as_ref(), self.item.as_ref()];
        let names = names.into_iter().flatten().chain(&self.edited_by).map(|name| name.len()).sum::<usize>();
        EACH + names + self.board.as_ref().map_or(0, |board| board.as_str().len())
    }
}

/// Selects the origins to withdraw from a core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Withdrawal {
    /// Everything that this name wrote, added or edited.
    Author { name: String },
    /// Everything learned on a board.
    Board { board: BoardId },
    /// Everything made from one item on a board.
    Item {
        board: BoardId,
        /// The item, such as `D-3`.
        item: String,
    },
    /// The entry that one promotion added.
    Promotion {
        /// The board of the promotion.
        board: BoardId,
        /// The promoted item, such as `D-3`.
        item: String,
        /// The board revision at which the promotion began.
        board_rev: u64,
    },
}

impl Withdrawal {
    /// The withdrawn author, if they only edited this origin's text and did not write or add it.
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
