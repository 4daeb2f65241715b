//! Tokens that were made elsewhere a moment ago: found at once, whatever becomes of others who look at the same time. And
//! tokens that end while something is done with them.

use std::sync::Arc;
use std::time::Duration;

use corkboard::store::{Append, Cursor, MemoryStore, Store};
use corkboard::tokens::{Grants, TokenId};
use corkboard::{
    Actor, ActorKind, Corkboard, Error, Head, Options, Refusal, Role, SpaceId, SpaceKind, TokenRequest, Tokens,
};
use corkboard_testing::{FaultPlan, FaultyStore};
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

/// A Corkboard in the hands of a token's holder, and the tokens to end it by.
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
async fn what_a_revoked_tokens_handle_writes_is_refused() {
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
async fn a_write_whose_token_ends_while_its_value_is_made_is_refused() {
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
async fn stored_names_that_cannot_be_seen_stay_readable_and_deletable() {
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
