//! The end of a board's life: archived, discarded, purged; which boards of a store are garbage.

use std::sync::Arc;
use std::time::Duration;

use corkboard::boards::{BoardStatus, KeptBy, NewDecision, NewTask, Unfinished};
use corkboard::store::{MemoryStore, Store};
use corkboard::{Actor, ActorKind, Board, Corkboard, Garbage, GarbageFate, Options, Role};
use corkboard_testing::{FaultPlan, FaultyStore};

use super::{LEASE, chain, done, new_board, worker};
use crate::common::{Home, on_every_store, refusal, start};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn human(role: Role) -> Actor {
    Actor::new("hugo", ActorKind::Human, role)
}

/// A board with the given ID that has ended.
async fn ended(corkboard: &Corkboard, id: &str) -> Board {
    let board = corkboard.create_board(new_board(id)).id(id).await.unwrap();
    board.complete(None, Unfinished::Cancel).await.unwrap();
    board
}

/// The fate of each board.
async fn fates(corkboard: &Corkboard) -> Vec<(String, GarbageFate, Vec<KeptBy>)> {
    let Garbage { boards, .. } = corkboard.garbage().await.unwrap();
    boards.into_iter().map(|board| (board.id.to_string(), board.fate, board.kept_by)).collect()
}

async fn fate(corkboard: &Corkboard) -> (GarbageFate, Vec<KeptBy>) {
    let mut fates = fates(corkboard).await;
    assert_eq!(fates.len(), 1, "{fates:?}");
    let (_, fate, kept_by) = fates.remove(0);
    (fate, kept_by)
}

#[tokio::test]
async fn a_board_lives_until_its_time_is_over_and_nothing_keeps_it() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = corkboard.create_board(new_board("life")).id("life").await.unwrap();
        assert_eq!(corkboard.garbage().await.unwrap().active, 1);
        assert!(corkboard.garbage().await.unwrap().boards.is_empty());
        assert_eq!(board.archive(None).await.unwrap_err().code(), "board_active");
        assert_eq!(board.discard(None).await.unwrap_err().code(), "board_active");
        assert_eq!(board.purge().await.unwrap_err().code(), "board_kept");
        board.complete(None, Unfinished::Refuse).await.unwrap();
        assert_eq!(fate(&corkboard).await, (GarbageFate::Ended, vec![KeptBy::NotArchived, KeptBy::Learnings]));

        // Without a duration, the default applies.
        let until = board.archive(None).await.unwrap();
        assert_eq!(until, start() + DAY * 30);
        let kept_by = vec![KeptBy::Retention { retain_until: until }, KeptBy::Learnings];
        assert_eq!(fate(&corkboard).await, (GarbageFate::Keep, kept_by.clone()));
        assert_eq!(refusal(board.purge().await), corkboard::Refusal::BoardKept { by: kept_by });
        assert_eq!(board.add_task(NewTask::new("more")).await.unwrap_err().code(), "board_ended");
        let view = board.view().await.unwrap();
        assert_eq!(
            (view.info().unwrap().status, view.document().unwrap().retain_until),
            (BoardStatus::Archived, Some(until))
        );
        // A shorter duration applies. Omitting it again changes nothing.
        assert_eq!(board.archive(Some(DAY)).await.unwrap(), start() + DAY);
        assert_eq!(board.archive(None).await.unwrap(), start() + DAY);
        home.clock.advance(DAY);
        assert_eq!(fate(&corkboard).await, (GarbageFate::Keep, vec![KeptBy::Learnings]));
        assert_eq!(corkboard.purge("life").await.unwrap_err().code(), "board_kept");

        board.discard(Some("it was a try".into())).await.unwrap();
        assert_eq!(fate(&corkboard).await, (GarbageFate::Purge, vec![]));
        let waived = board.view().await.unwrap().info().unwrap().waived.clone().unwrap();
        assert_eq!((&*waived.by, waived.reason.as_deref()), ("local", Some("it was a try")));
        corkboard.purge("life").await.unwrap();
        assert_eq!(board.view().await.unwrap_err().code(), "no_board");
        assert_eq!(corkboard.purge("life").await.unwrap_err().code(), "no_board");
        assert_eq!(corkboard.garbage().await.unwrap(), Garbage::default());
        assert!(corkboard.boards(None, 9).await.unwrap().is_empty());
        assert!(corkboard.check().await.unwrap().is_empty());
        // Its name is free again.
        ended(&corkboard, "life").await;
    })
    .await;
}

#[tokio::test]
async fn garbage_is_found_in_the_summaries_of_many_boards() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let old = chain(&corkboard, 1).await;
        ended(&corkboard, "ended").await;
        ended(&corkboard, "kept").await.archive(Some(DAY * 365)).await.unwrap();
        let given_up = corkboard.create_board(new_board("given up")).id("given up").await.unwrap();
        given_up.cancel(None).await.unwrap();
        given_up.discard(None).await.unwrap();
        home.clock.advance(DAY * 7);
        let young = corkboard.create_board(new_board("young")).id("young").await.unwrap();
        let list = async |corkboard: &Corkboard| {
            let boards = corkboard.boards(None, 9).await.unwrap();
            let idle = boards.iter().filter_map(|board| board.idle_since.map(|since| (board.id.clone(), since)));
            idle.collect::<Vec<_>>()
        };
        assert_eq!(list(&corkboard).await, [], "idle for exactly a week is not longer than a week");
        home.clock.advance(Duration::from_secs(1));
        assert_eq!(list(&corkboard).await, [(old.id().clone(), start())]);
        // Another process reads the same.
        let other = if home.is_shared() { home.open().await } else { corkboard.clone() };
        let until = start() + DAY * 365;
        let expected = [
            (old.id().to_string(), GarbageFate::Idle, vec![KeptBy::Active]),
            ("ended".into(), GarbageFate::Ended, vec![KeptBy::NotArchived, KeptBy::Learnings]),
            ("given up".into(), GarbageFate::Purge, vec![]),
            ("kept".into(), GarbageFate::Keep, vec![KeptBy::Retention { retain_until: until }, KeptBy::Learnings]),
        ];
        assert_eq!(fates(&other).await, expected);
        let garbage = other.garbage().await.unwrap();
        assert_eq!((garbage.active, garbage.boards[2].name.as_str()), (1, "given up"));
        assert_eq!(garbage.boards[0].updated_at, Some(start()));
        if home.is_shared() {
            assert_eq!(other.resident().0, 0, "listing garbage loads no board");
        }
        // An idle board is never purged. Any change makes it busy again.
        assert_eq!(corkboard.purge(old.id().as_str()).await.unwrap_err().code(), "board_kept");
        let ann = old.acting_as(worker("ann"));
        let claimed = ann.claim_task(None, LEASE).await.unwrap().unwrap();
        ann.complete_task(claimed.task, done(), None).await.unwrap();
        assert_eq!(list(&corkboard).await, []);
        assert_eq!(corkboard.garbage().await.unwrap().active, 2);
        young.complete(None, Unfinished::Refuse).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn how_long_boards_are_kept_and_when_they_are_idle_is_an_option() {
    let home = Home::memory();
    let options = Options { board_retention: DAY * 2, idle_after: DAY, ..home.options() };
    let corkboard = home.open_with(options).await;
    corkboard.create_board(new_board("idle")).id("idle").await.unwrap();
    assert_eq!(ended(&corkboard, "over").await.archive(None).await.unwrap(), start() + DAY * 2);
    home.clock.advance(DAY + Duration::from_secs(1));
    assert_eq!(fates(&corkboard).await[0], ("idle".into(), GarbageFate::Idle, vec![KeptBy::Active]));
    let forever = Options { idle_after: Duration::MAX, board_retention: Duration::MAX, ..home.options() };
    let corkboard = home.open_with(forever).await;
    corkboard.create_board(new_board("busy")).await.unwrap();
    assert_eq!(ended(&corkboard, "over").await.archive(None).await.unwrap(), jiff::Timestamp::MAX);
    home.clock.advance(DAY * 365 * 100);
    let garbage = corkboard.garbage().await.unwrap();
    assert_eq!((garbage.active, garbage.boards[0].fate), (1, GarbageFate::Keep));
}

#[tokio::test]
async fn memory_cores_and_agents_are_no_garbage() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        corkboard.agent("ann").unwrap().working().set("key", "value").await.unwrap();
        corkboard.core("shared").unwrap().add("what was learned").await.unwrap();
        corkboard.agent("ann").unwrap().long_term().unwrap().add("what ann learned").await.unwrap();
        home.clock.advance(DAY * 1000);
        assert_eq!(corkboard.garbage().await.unwrap(), Garbage::default());
    })
    .await;
}

#[tokio::test]
async fn only_people_discard_a_board() {
    let corkboard = Home::memory().open().await;
    let board = ended(&corkboard, "over").await;
    let olga = board.acting_as(Actor { role: Role::Orchestrator, ..worker("olga") });
    for role in [Role::Worker, Role::Reviewer, Role::Observer] {
        let other = board.acting_as(Actor { role, ..worker("ann") });
        assert_eq!(other.archive(None).await.unwrap_err().code(), "role_denied");
        assert_eq!(other.discard(None).await.unwrap_err().code(), "role_denied");
        assert_eq!(other.purge().await.unwrap_err().code(), "role_denied");
    }
    olga.archive(None).await.unwrap();
    olga.discard(None).await.unwrap();
    assert_eq!(olga.purge().await.unwrap_err().code(), "role_denied");
    board.acting_as(human(Role::Human)).purge().await.unwrap();
}

#[tokio::test]
async fn an_orchestrator_puts_its_board_away_by_the_handle_that_ended_it() {
    let corkboard = Home::memory().open().await;
    let board = chain(&corkboard, 1).await.acting_as(Actor { role: Role::Orchestrator, ..worker("olga") });
    let role = board.acquire_orchestrator(LEASE).await.unwrap();
    role.board().complete(None, Unfinished::Cancel).await.unwrap();
    role.board().archive(Some(DAY)).await.unwrap();
    role.board().discard(None).await.unwrap();
    // Conditions that still make sense are checked.
    let rev = board.view().await.unwrap().rev();
    assert_eq!(board.if_rev(rev - 1).archive(Some(DAY)).await.unwrap_err().code(), "rev_conflict");
    let keyed = board.idempotency_key("away");
    let until = keyed.archive(Some(DAY)).await.unwrap();
    assert_eq!(keyed.archive(Some(DAY)).await.unwrap(), until, "the same answer");
}

#[tokio::test]
async fn changes_of_a_boards_life_are_described() {
    let corkboard = Home::memory().open().await;
    let board = corkboard.create_board(new_board("told")).await.unwrap();
    board.complete(None, Unfinished::Refuse).await.unwrap();
    board.archive(Some(DAY)).await.unwrap();
    board.archive(Some(DAY * 2)).await.unwrap();
    board.discard(Some("no use".into())).await.unwrap();
    let told = async |from, to| board.diff(from, to).await.unwrap().to_string();
    assert_eq!(told(1, 2).await, "The board has ended; outcome: success.\n");
    assert_eq!(told(2, 3).await, "The board is archived, and kept until 2026-02-05T12:00:00Z.\n");
    assert_eq!(told(3, 4).await, "The board is archived, and kept until 2026-02-06T12:00:00Z.\n");
    let discarded = "The board is archived, and kept until 2026-02-04T12:00:00Z.\n\
                     local discarded the board and waived its learnings: no use.\n";
    assert_eq!(told(2, 5).await, discarded);
    assert!(told(1, 3).await.starts_with("The board is archived; outcome: success.\n"));
}

/// A board that has ended and has something to teach.
async fn taught(corkboard: &Corkboard) -> Board {
    let board = corkboard.create_board(new_board("over")).id("over").await.unwrap();
    let (question, choice, rationale) = ("Which?".into(), "this".into(), "it was measured twice".into());
    let decision = NewDecision { question, choice, rationale, ..NewDecision::default() };
    board.acting_as(worker("ann")).record_decision(decision).await.unwrap();
    board.complete(None, Unfinished::Refuse).await.unwrap();
    board
}

#[tokio::test]
async fn a_board_is_purged_once_its_learnings_are_extracted_and_decided() {
    on_every_store(async |home| {
        let corkboard = home.open().await;
        let board = taught(&corkboard).await;
        board.archive(Some(Duration::ZERO)).await.unwrap();
        assert_eq!(refusal(board.purge().await), corkboard::Refusal::BoardKept { by: vec![KeptBy::Learnings] });
        assert_eq!(fate(&corkboard).await, (GarbageFate::Keep, vec![KeptBy::Learnings]));
        assert_eq!(board.extract_learning_candidates().await.unwrap().len(), 1);
        let by = vec![KeptBy::Undecided { learnings: 1 }];
        assert_eq!(fate(&corkboard).await, (GarbageFate::Keep, by.clone()));
        assert_eq!(refusal(board.purge().await), corkboard::Refusal::BoardKept { by });
        board.refuse_learning("D-1".parse().unwrap(), None).await.unwrap();
        assert_eq!(fate(&corkboard).await, (GarbageFate::Purge, vec![]));
        assert_eq!(board.view().await.unwrap().document().unwrap().learnings_extracted.unwrap().candidates, 1);
        corkboard.purge("over").await.unwrap();
        assert_eq!(corkboard.garbage().await.unwrap(), Garbage::default());
    })
    .await;
}

/// A new store in memory, or another opening of the file.
async fn open_store(home: &Home) -> Arc<dyn Store> {
    match home.is_shared() {
        true => corkboard::store::open(home.url(), &home.options()).await.unwrap(),
        false => Arc::new(MemoryStore::shared()),
    }
}

/// A board that only an open promotion keeps: a crash interrupted the promotion after `calls` calls. None if the
/// promotion was not started by then, or was finished.
async fn half_promoted(store: &Arc<dyn Store>, home: &Home, calls: u64) -> Option<Corkboard> {
    let corkboard = Corkboard::with_store(store.clone(), home.options());
    let board = taught(&corkboard).await;
    board.extract_learning_candidates().await.unwrap();
    let faulty = Arc::new(FaultyStore::new(store.clone(), FaultPlan::none()));
    let ending = Corkboard::with_store(faulty.clone(), Options { busy_timeout: Duration::ZERO, ..home.options() });
    faulty.end_after(calls);
    let learning = "D-1".parse().unwrap();
    let _ = ending.board("over").unwrap().promote_learning(learning).core("house").await;
    board.archive(Some(Duration::ZERO)).await.unwrap();
    let view = board.view().await.unwrap();
    let is_open = view.state().has_open_promotion();
    let expected = match (is_open, view.state().undecided_learnings()) {
        (true, _) => (GarbageFate::Keep, vec![KeptBy::Promotion]),
        (false, 0) => (GarbageFate::Purge, vec![]),
        (false, learnings) => (GarbageFate::Keep, vec![KeptBy::Undecided { learnings }]),
    };
    assert_eq!(fate(&corkboard).await, expected);
    is_open.then_some(corkboard)
}

/// Number of entries in the core.
async fn learned(corkboard: &Corkboard) -> u64 {
    corkboard.core("house").unwrap().stats().await.unwrap().entries
}

#[tokio::test]
async fn an_open_promotion_is_finished_before_its_board_is_purged_after_any_crash() {
    // For the file, one interruption point represents all.
    for (home, points) in [(Home::memory as fn() -> Home, usize::MAX), (Home::sqlite, 1)] {
        let (mut halves, mut crashes, mut seen) = (0, 0, 0);
        for calls in 0..12 {
            if seen == points {
                break;
            }
            // The purge is interrupted at every point, too, until it completes.
            for later_calls in 0.. {
                let home = home();
                let store = open_store(&home).await;
                let Some(corkboard) = half_promoted(&store, &home, calls).await else { break };
                halves += 1;
                let is_through = purge_and_end(&store, &home, later_calls).await;
                let left = corkboard.garbage().await.unwrap().boards;
                match left.first().map(|board| board.status) {
                    Some(BoardStatus::Archived) => {}
                    Some(BoardStatus::Purged) | None => assert_eq!(learned(&corkboard).await, 1),
                    Some(status) => panic!("{status}"),
                }
                crashes += u64::from(!is_through);
                if !left.is_empty() {
                    corkboard.purge("over").await.unwrap();
                }
                assert_eq!(learned(&corkboard).await, 1, "after {calls} and {later_calls} calls");
                assert_eq!(corkboard.garbage().await.unwrap(), Garbage::default());
                if is_through {
                    seen += 1;
                    break;
                }
            }
        }
        assert!(halves > 2 && crashes > 2, "{halves} half promoted, {crashes} crashed again");
    }
}

/// Purges on a store that stops after `calls` calls. Returns whether the purge completed.
async fn purge_and_end(store: &Arc<dyn Store>, home: &Home, calls: u64) -> bool {
    let faulty = Arc::new(FaultyStore::new(store.clone(), FaultPlan::none()));
    let corkboard = Corkboard::with_store(faulty.clone(), Options { busy_timeout: Duration::ZERO, ..home.options() });
    faulty.end_after(calls);
    corkboard.purge("over").await.is_ok()
}

#[tokio::test]
async fn a_purge_interrupted_by_a_crash_is_found_and_finished() {
    for home in [Home::memory(), Home::sqlite()] {
        let (mut calls, mut halves) = (0, 0);
        loop {
            let store = open_store(&home).await;
            let corkboard = Corkboard::with_store(store.clone(), home.options());
            ended(&corkboard, "over").await.discard(None).await.unwrap();
            let is_through = purge_and_end(&store, &home, calls).await;

            // A later process finds the board whole, half purged or gone.
            let later = Corkboard::with_store(store.clone(), home.options());
            let board = later.board("over").unwrap();
            let found = later.garbage().await.unwrap().boards;
            match found.first().map(|board| board.status) {
                Some(BoardStatus::Purged) => {
                    halves += 1;
                    assert_eq!(board.view().await.unwrap_err().code(), "board_purged");
                    assert_eq!(board.at(1).await.unwrap_err().code(), "board_purged");
                    assert_eq!(board.search("done").await.unwrap_err().code(), "board_purged");
                    assert_eq!(board.archive(None).await.unwrap_err().code(), "board_purged");
                    assert_eq!(board.fork().await.unwrap_err().code(), "board_purged");
                    let taken = later.create_board(new_board("again")).id("over").await.unwrap_err();
                    assert_eq!(taken.code(), "board_purged");
                    assert_eq!(later.tick().await.unwrap(), 0);
                }
                Some(status) => assert_eq!(status, BoardStatus::Archived),
                None => assert_eq!(board.view().await.unwrap_err().code(), "no_board"),
            }
            for garbage in found {
                assert_eq!((garbage.fate, garbage.kept_by), (GarbageFate::Purge, vec![]));
                later.purge(garbage.id.as_str()).await.unwrap();
            }
            assert_eq!(later.garbage().await.unwrap(), Garbage::default());
            assert!(later.check().await.unwrap().is_empty());
            if is_through {
                break;
            }
            calls += 1;
        }
        assert!(halves > 0, "no crash happened between the two steps");
    }
}

#[tokio::test]
async fn concurrent_purges_spare_the_next_board_with_that_name() {
    let home = Home::sqlite();
    let (one, two) = (home.open().await, home.open().await);
    for round in 0..20 {
        ended(&one, "over").await.discard(None).await.unwrap();
        let again = async {
            // Either can be first. Then the board is gone.
            if let Err(error) = one.purge("over").await {
                assert_eq!(error.code(), "no_board");
            }
            one.create_board(new_board("the next")).id("over").await.unwrap()
        };
        let (next, other) = tokio::join!(again, two.purge("over"));
        // The second one finds no board, or the next board, which is active.
        if let Err(error) = other {
            assert!(matches!(error.code(), "no_board" | "board_kept"), "{error}");
        }
        assert_eq!(next.view().await.unwrap().info().unwrap().name, "the next", "round {round}");
        assert!(one.delete_board("over").await.unwrap());
    }
}
