//! Access from outside. `tokens.rs` finds the token of a secret. `allowed_spaces.rs` holds the spaces that the token
//! opens. `authenticated_actor.rs` checks that the token is still valid. `promotion_check.rs` refuses entries that
//! claim a promotion which their board has not begun. The core's tables define what each role may do.

mod allowed_spaces;
mod authenticated_actor;
mod promotion_check;
mod tokens;

pub(crate) use allowed_spaces::AllowedSpaces;
pub(crate) use authenticated_actor::AuthenticatedActor;
pub(crate) use tokens::TokenLookups;

pub use tokens::{CreatedToken, TokenDocument, TokenRequest, Tokens};
