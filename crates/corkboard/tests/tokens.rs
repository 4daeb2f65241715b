//! Tokens that were made elsewhere a moment ago: found at once, whatever becomes of others who look at the same time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "in a test, helpers included, a panic is the way to fail"
)]

use std::sync::Arc;
use std::time::Duration;

use corkboard::store::MemoryStore;
use corkboard::testing::{FaultPlan, FaultyStore};
use corkboard::tokens::Grants;
use corkboard::{ActorKind, Corkboard, Options, Role, TokenRequest, Tokens};
use secrecy::ExposeSecret;

/// Like a secret, and nobody's.
fn guess() -> String {
    format!("cork_{}", "a".repeat(52))
}

/// The tokens of one store at two servers, the second of which has a store that fails when it is told to.
fn two_servers() -> (Tokens, Tokens, Arc<FaultyStore>) {
    let store = Arc::new(MemoryStore::shared());
    let faulty = Arc::new(FaultyStore::new(store.clone(), FaultPlan::none()));
    // No call of the store but the tests' own.
    let options = Options { tick_interval: Duration::from_secs(3600), ..Options::default() };
    let there = Corkboard::with_store(store, options.clone()).tokens();
    (there, Corkboard::with_store(faulty.clone(), options).tokens(), faulty)
}

async fn made(tokens: &Tokens) -> String {
    let request = TokenRequest {
        principal: "ada".into(),
        kind: ActorKind::Agent,
        role: Role::Worker,
        grants: Grants::default(),
        expires_at: None,
        label: String::new(),
    };
    tokens.create(request).await.unwrap().secret.expose_secret().to_owned()
}

#[tokio::test]
async fn a_guesser_who_goes_away_keeps_no_good_token_out() {
    let (there, here, store) = two_servers();
    // The next look begins a moment after this one, so that the two who come now share it.
    assert_eq!(here.find(&guess()).await.unwrap(), None);
    let secret = made(&there).await;
    store.hold_after(0);
    let guessing = tokio::spawn({
        let here = here.clone();
        async move { here.find(&guess()).await }
    });
    tokio::task::yield_now().await;
    let finding = tokio::spawn({
        let (here, secret) = (here.clone(), secret.clone());
        async move { here.find(&secret).await }
    });
    store.held().await;
    guessing.abort();
    assert!(guessing.await.unwrap_err().is_cancelled());
    store.let_go();
    assert!(finding.await.unwrap().unwrap().is_some(), "it was there before it was looked for");
}

#[tokio::test]
async fn whoever_waits_for_a_look_that_fails_is_told_so() {
    let (there, here, store) = two_servers();
    assert_eq!(here.find(&guess()).await.unwrap(), None);
    let secret = made(&there).await;
    store.end_after(0);
    let guess = guess();
    let (guessed, found) = tokio::join!(here.find(&guess), here.find(&secret));
    assert!(guessed.unwrap_err().is_retryable());
    assert!(found.expect_err("nobody knows").is_retryable());
    store.end_after(u64::MAX);
    assert!(here.find(&secret).await.unwrap().is_some());
}
