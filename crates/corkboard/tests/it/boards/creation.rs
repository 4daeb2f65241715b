//! Creating, naming and deleting boards.

use corkboard::boards::{NewBoard, NewTask};

use super::{Actor, LEASE, Role, chain, new_board, worker};
use crate::common::on_every_store;

#[tokio::test]
async fn repeating_a_create_with_its_key_returns_the_same_board() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let make = |name: &str, key: &str| corkboard.create_board(new_board(name)).idempotency_key(key);
        let first = make("one", "k").await.unwrap();
        first.add_task(NewTask::new("task")).await.unwrap();
        let again = make("one", "k").await.unwrap();
        assert_eq!((again.id(), again.view().await.unwrap().rev()), (first.id(), 2));
        let other = make("other", "k").await.unwrap_err();
        assert_eq!(other.code(), "idempotency_mismatch");
        assert_ne!(make("one", "l").await.unwrap().id(), first.id());
        let bobs = make("one", "k").acting_as(Actor { role: Role::Orchestrator, ..worker("bob") }).await.unwrap();
        assert_ne!(bobs.id(), first.id(), "each principal has separate keys");
        assert_eq!(&*bobs.view().await.unwrap().info().unwrap().created_by, "bob");
        assert_eq!(bobs.actor().principal, "bob");
        if home.is_shared() {
            let elsewhere = home.open().await;
            let same = elsewhere.create_board(new_board("one")).idempotency_key("k").await.unwrap();
            assert_eq!(same.id(), first.id());
        }
        assert_eq!(make("", "m").await.unwrap_err().code(), "blank");
        assert_eq!(make("one", " ").await.unwrap_err().code(), "blank");
        assert_eq!(corkboard.boards(None, 10).await.unwrap().len(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_requested_id_is_given_once() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = corkboard.create_board(new_board("named")).id("release-7").await.unwrap();
        assert_eq!(board.id().as_str(), "release-7");
        let taken = corkboard.create_board(new_board("other")).id("release-7").await.unwrap_err();
        assert_eq!(taken.code(), "board_exists");
        let keyed = |name: &str| corkboard.create_board(new_board(name)).id("release-8").idempotency_key("k");
        let (first, again) = (keyed("named").await.unwrap(), keyed("named").await.unwrap());
        assert_eq!((first.id().as_str(), again.id()), ("release-8", first.id()));
        assert_eq!(keyed("other").await.unwrap_err().code(), "idempotency_mismatch");
        assert_eq!(corkboard.create_board(new_board("x")).id(" ").await.unwrap_err().code(), "blank");
        let own = corkboard.create_board(NewBoard { name: "Implement auth: JWT!".into(), ..Default::default() });
        let own = own.await.unwrap();
        assert!(own.id().as_str().starts_with("implement-auth-jwt-"), "{}", own.id());
    })
    .await;
}

#[tokio::test]
async fn a_recreated_board_continues_the_revisions_of_the_deleted_one() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = chain(&corkboard, 2).await;
        let id = board.id().as_str();
        let claim = board.acting_as(worker("ann")).work_on(None, LEASE).await.unwrap().unwrap();
        let rev = board.view().await.unwrap().rev();
        assert!(corkboard.delete_board(id).await.unwrap());
        assert!(!corkboard.delete_board(id).await.unwrap());
        assert_eq!(board.view().await.unwrap_err().code(), "no_board");
        assert_eq!(claim.complete(super::done()).await.unwrap_err().code(), "no_board");
        assert_eq!(board.at(1).await.unwrap_err().code(), "no_board");
        assert_eq!(board.watch(0).await.err().unwrap().code(), "compacted");
        assert!(corkboard.boards(None, 10).await.unwrap().is_empty());
        home.clock.advance(LEASE);
        assert_eq!(corkboard.tick().await.unwrap(), 0, "a deleted board has no due items");
        let again = corkboard.create_board(new_board("again")).id(id).await.unwrap();
        assert_eq!(again.view().await.unwrap().rev(), rev + 2);
        assert_eq!(
            again.at(rev).await.unwrap_err().to_string(),
            format!("revisions before {} are no longer available", rev + 2)
        );
        assert!(corkboard.delete_board(id).hard().await.unwrap());
        assert!(!corkboard.delete_board("never there").hard().await.unwrap());
        assert!(corkboard.check().await.unwrap().is_empty());
    })
    .await;
}
