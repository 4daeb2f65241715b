//! Tokens created on another server a moment ago are found at once, even if other lookups are cancelled or fail. Tokens
//! that end during an operation stop it.

use std::sync::Arc;
use std::time::Duration;

use corkboard::store::{Append, Cursor, MemoryStore, Store};
use corkboard::tokens::{Grants, TokenId};
use corkboard::{
    Actor, ActorKind, Corkboard, Error, Head, Options, Refusal, Role, SpaceId, SpaceKind, TokenRequest, Tokens,
};
use corkboard_testing::{FaultPlan, FaultyStore};
use secrecy::ExposeSecret;

/// Has the form of a secret, but no token matches it.
fn guess() -> String {
    format!("cork_{}", "a".repeat(52))
}

/// Two servers with the tokens of one store. The second server's store fails on demand.
fn two_servers() -> (Tokens, Tokens, Arc<FaultyStore>) {
    let store = Arc::new(MemoryStore::shared());
    let faulty = Arc::new(FaultyStore::new(store.clone(), FaultPlan::none()));
    // Only the tests themselves call the store.
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
async fn a_cancelled_lookup_does_not_block_a_valid_token() {
    let (there, here, store) = two_servers();
    // The next refresh may start only a moment after this one, so the two lookups below share it.
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
    assert!(finding.await.unwrap().unwrap().is_some(), "the token existed before the lookup");
}

#[tokio::test]
async fn every_lookup_that_waits_for_a_failed_refresh_gets_the_error() {
    let (there, here, store) = two_servers();
    assert_eq!(here.find(&guess()).await.unwrap(), None);
    let secret = made(&there).await;
    store.end_after(0);
    let guess = guess();
    let (guessed, found) = tokio::join!(here.find(&guess), here.find(&secret));
    assert!(guessed.unwrap_err().is_retryable());
    assert!(found.expect_err("the lookup should fail with the refresh").is_retryable());
    store.end_after(u64::MAX);
    assert!(here.find(&secret).await.unwrap().is_some());
}

/// A Corkboard that acts with a token, the Corkboard that can end the token, and the token's ID.
async fn held() -> (Corkboard, Corkboard, TokenId) {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let secret = made(&corkboard.tokens()).await;
    let token = corkboard.tokens().find(&secret).await.unwrap().unwrap();
    let actor = Actor::new("ada", ActorKind::Agent, Role::Worker);
    (corkboard.clone(), corkboard.acting_as(actor).with_token(&token), token.id)
}

fn is_ended<T: std::fmt::Debug>(answered: corkboard::Result<T>) {
    assert!(matches!(answered, Err(Error::TokenEnded)), "{answered:?}");
}

#[tokio::test]
async fn writes_with_a_revoked_token_are_refused() {
    let (corkboard, holders, token) = held().await;
    let memory = holders.agent("ada").unwrap();
    let scope = memory.working().create_scope("ephemeral").await.unwrap();
    let talk = memory.conversation("c").unwrap();
    memory.working().set("k", &1).await.unwrap();
    scope.set("k", &1).await.unwrap();
    talk.set("k", &1).await.unwrap();
    holders.check_token().await.unwrap();
    corkboard.tokens().revoke(token).await.unwrap();
    is_ended(memory.working().set("k", &2).await);
    is_ended(scope.set("k", &2).await);
    is_ended(talk.set("k", &2).await);
    is_ended(memory.acting_as(Actor::local()).working().set("k", &2).await);
    is_ended(holders.log(SpaceKind::Agent, "ada").unwrap().command(br#"{"command": "clear_all"}"#).await);
    is_ended(holders.check_token().await);
    is_ended(holders.check_token_in_memory());
    holders.token_ended().await;
    assert_eq!(corkboard.agent("ada").unwrap().working().get::<i32>("k").await.unwrap(), Some(1));
}

#[tokio::test]
async fn a_write_whose_token_ends_during_its_closure_is_refused() {
    let (corkboard, holders, token) = held().await;
    let memory = holders.agent("ada").unwrap().working();
    let made = memory.get_or_set("k", || async {
        corkboard.tokens().revoke(token).await?;
        Ok::<_, Error>(1)
    });
    is_ended(made.await);
    assert_eq!(corkboard.agent("ada").unwrap().working().get::<i32>("k").await.unwrap(), None);
}

#[tokio::test]
async fn stored_names_with_invisible_characters_stay_readable_and_deletable() {
    let (store, options) = (Arc::new(MemoryStore::shared()), Options::default());
    let corkboard = Corkboard::with_store(store.clone(), options);
    corkboard.agent("ada").unwrap().working().set("k", &1).await.unwrap();
    // As an earlier version wrote it.
    let name = "a\u{200b}da";
    let written =
        store.read_after(&SpaceId::of(SpaceKind::Agent, "ada"), Cursor { rev: 0, commit: None }, 10).await.unwrap();
    let (space, expected) = (SpaceId::of(SpaceKind::Agent, name), Head::EMPTY);
    let append = Append { space, expected, records: written.records, next_due: None, summary: b"{}".to_vec() };
    store.append(append).await.unwrap();

    let memory = corkboard.agent(name).unwrap().working();
    assert_eq!(memory.get::<i32>("k").await.unwrap(), Some(1));
    memory.set("k", &2).await.unwrap();
    assert_eq!(corkboard.agents(None, 10).await.unwrap().len(), 2);
    assert!(corkboard.delete_agent(name).await.unwrap());
    let refused = memory.set("k", &3).await.unwrap_err();
    let expected = Refusal::ControlCharacter { what: "name".into(), character: '\u{200b}', at: 1 };
    assert!(matches!(&refused, Error::Refused(refusal) if *refusal == expected), "{refused:?}");
}
