//! Who reaches a Corkboard from outside: `tokens.rs` whom a secret stands for, `granted.rs` what is open to them,
//! `acting.rs` whether their token can still be used,
//! `promoted.rs` what they cannot say for a board. What they may do with what is open is said by their role, in the core's
//! tables.

mod acting;
mod granted;
mod promoted;
mod tokens;

pub(crate) use acting::Acting;
pub(crate) use granted::Granted;
pub(crate) use tokens::{Looks, TokensObserver};

pub use tokens::{CreatedToken, TokenDocument, TokenRequest, Tokens};
