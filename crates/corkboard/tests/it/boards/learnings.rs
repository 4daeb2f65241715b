//! Promoting a board's learnings into memory cores, and rolling them back.

use std::sync::Arc;
use std::time::Duration;

use corkboard::boards::{
    LearningCandidate, LearningId, LearningStatus, NewDecision, NewDiscovery, NewTask, Unfinished, WhichLearnings,
};
use corkboard::cores::{CoreEntryId, NewCoreEntry, Provenance, Trust};
use corkboard::{
    Actor, ActorKind, Board, BoardRolledBack, Core, CoreRolledBack, Corkboard, ErrorKind, Limits, MemoryKind, Options,
    Refusal, Role,
};

use corkboard::store::{MemoryStore, Store};
use corkboard_testing::{Fault, FaultPlan, FaultyStore, Harness};

use super::{LEASE, done, new_board, worker};
use crate::common::{Home, in_time, on_every_store, refusal};

fn named(name: &str) -> LearningId {
    name.parse().unwrap()
}

fn reviewer(name: &str) -> Actor {
    Actor::new(name, ActorKind::Agent, Role::Reviewer)
}

/// A board with the given ID, a decision by ann, D-1, and an insight by bob, F-1.
async fn taught(corkboard: &Corkboard, id: &str) -> Board {
    let board = corkboard.create_board(new_board(id)).id(id).await.unwrap();
    let (question, choice, rationale) = ("Which hash?".into(), "argon2id".into(), "It is hard on memory".into());
    let decision = NewDecision { question, choice, rationale, ..NewDecision::default() };
    board.acting_as(worker("ann")).record_decision(decision).await.unwrap();
    let discovery = NewDiscovery { content: format!("{id}: users has no column"), ..NewDiscovery::default() };
    board.acting_as(worker("bob")).record_discovery(discovery).await.unwrap();
    board
}

async fn state(board: &Board, learning: &str) -> LearningStatus {
    let found = board.learnings().await.unwrap().into_iter().find(|found| found.id == named(learning));
    found.map(|found| found.status).unwrap()
}

async fn contents(core: &Core) -> Vec<String> {
    core.image().await.unwrap().entries.iter().map(|entry| entry.content.to_string()).collect()
}

async fn origins(core: &Core, entry: CoreEntryId) -> Vec<Provenance> {
    core.get(entry).await.unwrap().unwrap().provenance.clone()
}

#[tokio::test]
async fn a_learning_is_promoted_with_its_origin() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let (board, rules) = (taught(&corkboard, "login").await, corkboard.core("rules").unwrap());
        board.complete(None, Unfinished::Refuse).await.unwrap();
        let rita = board.acting_as(reviewer("rita"));
        let found = rita.extract_learning_candidates().await.unwrap();
        let names: Vec<String> = found.iter().map(|found: &LearningCandidate| found.id.to_string()).collect();
        assert_eq!(names, ["D-1", "F-1"]);
        let extracted = board.view().await.unwrap().info().unwrap().learnings_extracted.clone().unwrap();
        assert_eq!((&*extracted.by, extracted.candidates), ("rita", 2));

        let refused = refusal(rita.promote_learning(named("D-1")).await);
        assert_eq!(refused, Refusal::NoCore { learning: named("D-1") });
        let promoted = rita.promote_learning(named("D-1")).core("rules").importance(0.9).tags(["auth"]).await.unwrap();
        assert_eq!((promoted.core.as_str(), promoted.learning.clone()), ("rules", named("D-1")));
        let entry = rules.get(promoted.entry).await.unwrap().unwrap();
        assert_eq!(&*entry.content, "Which hash? argon2id\nBecause: It is hard on memory");
        assert_eq!((entry.kind, entry.importance, entry.trust()), (MemoryKind::Fact, 0.9, Trust::Agent));
        let origin = &entry.provenance[0];
        assert_eq!((&*origin.author, origin.promoted_by.as_deref()), ("ann", Some("rita")));
        assert_eq!((origin.board.as_ref(), origin.item.as_deref()), (Some(board.id()), Some("D-1")));
        let LearningStatus::Promoted { core, entry, decided_by: by, .. } = state(&board, "D-1").await else { panic!() };
        assert_eq!((core.as_str(), entry, &*by), ("rules", promoted.entry, "rita"));

        let told = board.diff(4, board.view().await.unwrap().rev()).await.unwrap().to_string();
        assert!(told.contains("rita extracted the board's learning candidates: 2.\n"), "{told}");
        assert!(told.contains(&format!("rita promoted D-1 into rules: {}.", promoted.entry)), "{told}");

        // A repeat gets the same answer and adds nothing.
        let (rev, core_rev) = (board.view().await.unwrap().rev(), rules.stats().await.unwrap().rev);
        assert_eq!(rita.promote_learning(named("D-1")).await.unwrap(), promoted);
        assert_eq!((board.view().await.unwrap().rev(), rules.stats().await.unwrap().rev), (rev, core_rev));
        let refused = refusal(rita.promote_learning(named("D-1")).core("other").await);
        assert!(matches!(refused, Refusal::LearningPromoted { .. }), "{refused}");
        assert!(corkboard.cores(None, 9).await.unwrap().iter().all(|core| core.id.as_str() == "rules"));
    })
    .await;
}

#[tokio::test]
async fn a_refused_learning_stays_refused_and_authors_cannot_promote_their_own() {
    let corkboard = Corkboard::open("memory:").await.unwrap();
    let board = taught(&corkboard, "login").await;
    board.refuse_learning(named("F-1"), Some("not true".into())).await.unwrap();
    let refused = refusal(board.promote_learning(named("F-1")).core("rules").await);
    assert_eq!(refused, Refusal::LearningRefused { learning: named("F-1"), by: "local".into() });
    let ann = board.acting_as(reviewer("ann"));
    let refused = ann.promote_learning(named("D-1")).core("rules").await.unwrap_err();
    assert_eq!((refused.code(), refused.kind()), ("own_learning", ErrorKind::Denied));
    let refused = board.acting_as(worker("eve")).promote_learning(named("D-1")).core("rules").await.unwrap_err();
    assert_eq!(refused.code(), "role_denied");
    assert!(contents(&corkboard.core("rules").unwrap()).await.is_empty());
}

#[tokio::test]
async fn a_roll_back_removes_an_entry_unless_another_origin_remains() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let (board, rules) = (taught(&corkboard, "login").await, corkboard.core("rules").unwrap());
        let other = taught(&corkboard, "tokens").await;
        let decided = board.promote_learning(named("D-1")).core("rules").await.unwrap();
        let found = board.promote_learning(named("F-1")).core("facts").await.unwrap();
        // Another board promotes the same text.
        let again = other.promote_learning(named("D-1")).core("rules").await.unwrap();
        assert_eq!(again.entry, decided.entry);
        assert_eq!(origins(&rules, decided.entry).await.len(), 2);

        let rolled_back = board.roll_back_learnings(WhichLearnings::All, Some("wrong".into())).await.unwrap();
        assert_eq!(rolled_back, [named("D-1"), named("F-1")]);
        assert_eq!(corkboard.core("facts").unwrap().get(found.entry).await.unwrap(), None);
        let left = origins(&rules, decided.entry).await;
        assert_eq!((left.len(), left[0].board.as_ref()), (1, Some(other.id())));
        for learning in ["D-1", "F-1"] {
            let LearningStatus::RolledBack { reason, .. } = state(&board, learning).await else { panic!("{learning}") };
            assert_eq!(reason.as_deref(), Some("wrong"));
        }
        let told = board.diff(1, board.view().await.unwrap().rev()).await.unwrap().to_string();
        assert!(told.contains("local rolled back F-1 from facts: wrong."), "{told}");
        assert!(board.roll_back_learnings(WhichLearnings::All, None).await.unwrap().is_empty());
        let refused = refusal(board.roll_back_learnings(WhichLearnings::These(vec![named("D-9")]), None).await);
        assert_eq!(refused, Refusal::NotOnBoard { what: "learning".into(), id: "D-9".into() });
        // An explicit promotion can add it again.
        board.promote_learning(named("F-1")).core("facts").await.unwrap();
        assert_eq!(contents(&corkboard.core("facts").unwrap()).await, ["login: users has no column"]);
        // A roll-back does not recreate a deleted core.
        corkboard.delete_core("facts").await.unwrap();
        board.roll_back_learnings(WhichLearnings::All, None).await.unwrap();
        assert_eq!(corkboard.cores(None, 9).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_promotion_that_the_core_refuses_stays_not_open() {
    let home = Home::sqlite();
    let limits = Limits { entries_per_core: 1, ..Limits::default() };
    let corkboard = home.open_with(Options { limits, ..home.options() }).await;
    let board = taught(&corkboard, "login").await;
    corkboard.core("rules").unwrap().add("first").await.unwrap();
    let refused = refusal(board.promote_learning(named("F-1")).core("rules").await);
    assert!(matches!(refused, Refusal::Limit { .. }), "{refused}");
    assert_eq!(state(&board, "F-1").await, LearningStatus::Open);
    assert!(!board.view().await.unwrap().state().has_open_promotion());
    // Another core has room.
    board.promote_learning(named("F-1")).core("facts").await.unwrap();
}

/// Starts promoting a learning into the core "rules" and stops after the first step.
async fn begin(store: &FaultyStore, board: &Board, learning: &str) {
    store.next_appends([Fault::Pass, Fault::Refuse]);
    let stopped = board.promote_learning(named(learning)).core("rules").await.unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::Unavailable, "{stopped}");
    assert_eq!(state(board, learning).await.as_str(), "begun");
}

/// A Corkboard on a store that fails on demand, and another one that uses the same store without failures.
async fn failing(store: Arc<dyn Store>, home: &Home) -> (Arc<FaultyStore>, Corkboard, Corkboard) {
    let faulty = Arc::new(FaultyStore::new(store.clone(), FaultPlan::none()));
    let corkboard = Corkboard::with_store(faulty.clone(), home.options());
    (faulty, corkboard, Corkboard::with_store(store, home.options()))
}

#[tokio::test]
async fn the_ticker_of_any_process_finishes_an_open_promotion() {
    let sqlite = Harness::sqlite("");
    for store in [Arc::new(MemoryStore::shared()) as Arc<dyn Store>, sqlite.open().await] {
        let home = Home::memory();
        let (faulty, corkboard, other) = failing(store, &home).await;
        let board = taught(&corkboard, "login").await;
        board.complete(None, Unfinished::Refuse).await.unwrap();
        for learning in ["D-1", "F-1"] {
            begin(&faulty, &board, learning).await;
            // Not at once: the process that started it gets time to finish.
            other.tick().await.unwrap();
            assert_eq!(state(&board, learning).await.as_str(), "begun");
            home.clock.advance(Duration::from_secs(31));
            assert_eq!(other.tick().await.unwrap(), 1);
            assert_eq!(state(&board, learning).await.as_str(), "promoted");
            assert_eq!(other.tick().await.unwrap(), 0, "nothing is due any more");
        }
        assert_eq!(contents(&other.core("rules").unwrap()).await.len(), 2);
        // A roll-back, too: the entry stays until the second step.
        faulty.next_appends([Fault::Pass, Fault::Refuse]);
        board.roll_back_learnings(WhichLearnings::All, None).await.unwrap_err();
        assert_eq!(state(&board, "D-1").await.as_str(), "rolling_back");
        home.clock.advance(Duration::from_secs(31));
        other.tick().await.unwrap();
        assert_eq!(state(&board, "D-1").await.as_str(), "rolled_back");
        assert!(contents(&other.core("rules").unwrap()).await.is_empty());
    }
}

#[tokio::test]
async fn the_next_caller_finishes_an_open_promotion() {
    let home = Home::memory();
    let (faulty, corkboard, _) = failing(Arc::new(MemoryStore::shared()), &home).await;
    let (board, rules) = (taught(&corkboard, "login").await, corkboard.core("rules").unwrap());
    // The next caller promotes the same or another learning, refuses one, or lists them.
    begin(&faulty, &board, "D-1").await;
    board.promote_learning(named("D-1")).await.unwrap();
    assert_eq!(contents(&rules).await.len(), 1);
    board.roll_back_learnings(WhichLearnings::All, None).await.unwrap();
    begin(&faulty, &board, "D-1").await;
    board.refuse_learning(named("F-1"), None).await.unwrap();
    assert_eq!(state(&board, "D-1").await.as_str(), "promoted");
    board.roll_back_learnings(WhichLearnings::All, None).await.unwrap();
    begin(&faulty, &board, "D-1").await;
    board.extract_learning_candidates().await.unwrap();
    assert_eq!(state(&board, "D-1").await.as_str(), "promoted");
    // An open promotion is finished, and then rolled back.
    board.roll_back_learnings(WhichLearnings::All, None).await.unwrap();
    begin(&faulty, &board, "D-1").await;
    assert_eq!(board.roll_back_learnings(WhichLearnings::All, None).await.unwrap(), [named("D-1")]);
    assert!(contents(&rules).await.is_empty());
    // An open roll-back is finished before the learning is promoted again.
    board.promote_learning(named("D-1")).core("rules").await.unwrap();
    faulty.next_appends([Fault::Pass, Fault::Refuse]);
    board.roll_back_learnings(WhichLearnings::All, None).await.unwrap_err();
    board.promote_learning(named("D-1")).core("other").await.unwrap();
    assert_eq!((contents(&rules).await.len(), state(&board, "D-1").await.as_str()), (0, "promoted"));
}

#[tokio::test]
async fn an_open_promotion_does_not_wake_waiting_claims() {
    let home = Home::memory();
    let (faulty, corkboard, _) = failing(Arc::new(MemoryStore::shared()), &home).await;
    let board = taught(&corkboard, "login").await;
    begin(&faulty, &board, "D-1").await;
    home.clock.advance(Duration::from_secs(60));
    // The promotion is overdue. A waiting claim asks the store a few times, not in a loop.
    faulty.end_after(50);
    let claimed = board.acting_as(worker("ann")).claim_task(None, LEASE).wait(Duration::from_millis(300)).await;
    assert_eq!(claimed.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_promotions_add_one_entry() {
    let home = Home::sqlite();
    let handles = [home.open().await, home.open().await];
    let boards =
        futures_util::future::join_all((0..12).map(async |at| taught(&handles[0], &format!("b{at}")).await)).await;
    for board in &boards {
        let promoting = handles.iter().flat_map(|corkboard| {
            let board = corkboard.board(board.id().as_str()).unwrap();
            [board.clone(), board].map(|board| {
                tokio::spawn(async move { board.promote_learning(named("F-1")).core("rules").await.unwrap() })
            })
        });
        let promoted = in_time(futures_util::future::join_all(promoting)).await;
        let promoted: Vec<_> = promoted.into_iter().map(Result::unwrap).collect();
        assert!(promoted.iter().all(|each| *each == promoted[0]), "{promoted:?}");
    }
    let rules = handles[1].core("rules").unwrap();
    assert_eq!(contents(&rules).await.len(), boards.len());
    // One promotes while the other rolls back: in the end, the core agrees with the board.
    let board = &boards[0];
    let (one, other) = (board.clone(), handles[1].board(board.id().as_str()).unwrap());
    let promoting = tokio::spawn(async move {
        for _ in 0..10 {
            one.promote_learning(named("F-1")).core("rules").await.unwrap();
        }
    });
    for _ in 0..10 {
        other.roll_back_learnings(WhichLearnings::All, None).await.unwrap();
    }
    in_time(promoting).await.unwrap();
    let is_in = contents(&rules).await.iter().any(|content| content.starts_with("b0:"));
    let said = state(board, "F-1").await;
    assert_eq!(is_in, matches!(said, LearningStatus::Promoted { .. }), "{said:?}");
    assert!(!board.view().await.unwrap().state().has_open_promotion());
}

#[tokio::test]
async fn one_command_rolls_back_everything_an_author_contributed() {
    on_every_store(async |home| {
        let corkboard = home.open_with(Options { tier: corkboard::Tier::WriterPro, ..home.options() }).await;
        let rules = corkboard.core("rules").unwrap();
        let (login, tokens) = (taught(&corkboard, "login").await, taught(&corkboard, "tokens").await);
        // Ann failed a task and bob completed it. The learning contains texts of both, and neither is its only author.
        let task = login.add_task(NewTask { retry_limit: 1, ..NewTask::new("Ship") }).await.unwrap();
        let (ann, bob) = (login.acting_as(worker("ann")), login.acting_as(worker("bob")));
        let claimed = ann.claim_task(Some(task), LEASE).await.unwrap().unwrap();
        ann.fail_task(task, "the door was shut", Some(claimed.epoch)).await.unwrap();
        bob.claim_task(Some(task), LEASE).await.unwrap().unwrap();
        bob.complete_task(task, done(), None).await.unwrap();
        login.promote_learning(named("rework:T-1")).core("rules").await.unwrap();
        login.promote_learning(named("F-1")).core("rules").await.unwrap();
        tokens.promote_learning(named("D-1")).core("facts").await.unwrap();
        let said = NewCoreEntry { author: Some("ann".into()), ..NewCoreEntry::new("never test") };
        rules.add(said.clone()).await.unwrap();
        corkboard.agent("carl").unwrap().long_term().unwrap().add(said).await.unwrap();
        // An entry that grace contributed as well stays. An entry that only names a board does no harm.
        let deploy = NewCoreEntry { author: Some("ann".into()), ..NewCoreEntry::new("deploy on Tuesdays") };
        let mention = NewCoreEntry { board: Some(tokens.id().clone()), item: Some("F-1".into()), ..deploy.clone() };
        rules.add(mention).await.unwrap();
        rules.add(NewCoreEntry { author: Some("grace".into()), ..deploy }).await.unwrap();

        let observer = Actor::new("otto", ActorKind::Human, Role::Worker);
        assert_eq!(corkboard.roll_back_author("ann").acting_as(observer).await.unwrap_err().code(), "role_denied");
        let done = corkboard.roll_back_author("ann").reason("a stranger").await.unwrap();
        let cores: Vec<(&str, u64, u64)> = done
            .cores
            .iter()
            .map(|CoreRolledBack { core, removed, kept, .. }| (core.as_str(), *removed, *kept))
            .collect();
        assert_eq!(cores, [("agent:carl", 1, 0), ("facts", 1, 0), ("rules", 2, 1)]);
        let boards: Vec<(&str, Vec<LearningId>)> = done
            .boards
            .iter()
            .map(|BoardRolledBack { board, learnings }| (board.as_str(), learnings.clone()))
            .collect();
        assert_eq!(boards, [("login", vec![named("rework:T-1")]), ("tokens", vec![named("D-1")])]);
        assert_eq!(contents(&rules).await, ["login: users has no column", "deploy on Tuesdays"]);
        assert_eq!(state(&tokens, "D-1").await.as_str(), "rolled_back");
        assert_eq!(state(&tokens, "F-1").await, LearningStatus::Open);
        let LearningStatus::RolledBack { reason, .. } = state(&login, "rework:T-1").await else { panic!() };
        assert_eq!(reason.as_deref(), Some("a stranger"));
        assert_eq!(corkboard.roll_back_author("ann").await.unwrap(), corkboard::CoresRolledBack::default());
    })
    .await;
}

#[tokio::test]
async fn an_authors_roll_back_includes_open_promotions_and_skips_deleted_boards() {
    let (home, sqlite) = (Home::memory(), Harness::sqlite(""));
    let (faulty, corkboard, _) = failing(sqlite.open().await, &home).await;
    let (board, gone) = (taught(&corkboard, "login").await, taught(&corkboard, "gone").await);
    gone.promote_learning(named("F-1")).core("rules").await.unwrap();
    corkboard.delete_board("gone").await.unwrap();
    begin(&faulty, &board, "F-1").await;
    let done = corkboard.roll_back_author("bob").await.unwrap();
    assert_eq!((done.boards.len(), done.cores[0].removed), (1, 2));
    assert!(contents(&corkboard.core("rules").unwrap()).await.is_empty());
    assert_eq!(state(&board, "F-1").await.as_str(), "rolled_back");
}

#[tokio::test]
async fn an_archived_board_is_purged_only_without_open_promotions() {
    let (home, sqlite) = (Home::memory(), Harness::sqlite(""));
    let (faulty, corkboard, _) = failing(sqlite.open().await, &home).await;
    let board = taught(&corkboard, "login").await;
    board.complete(None, Unfinished::Refuse).await.unwrap();
    begin(&faulty, &board, "F-1").await;
    board.archive(Some(Duration::ZERO)).await.unwrap();
    assert_eq!(board.purge().await.unwrap_err().code(), "board_kept", "its learnings were not extracted");
    assert_eq!(contents(&corkboard.core("rules").unwrap()).await.len(), 1, "the open promotion was finished");
    board.extract_learning_candidates().await.unwrap();
    assert_eq!(
        board.purge().await.unwrap_err().to_string(),
        "the board cannot be purged: 1 learning waits for a decision"
    );
    board.refuse_learning(named("D-1"), None).await.unwrap();
    board.purge().await.unwrap();
    // Its promoted learnings stay, and can be rolled back without the board.
    assert_eq!(corkboard.roll_back_author("bob").await.unwrap().cores[0].removed, 1);
}
