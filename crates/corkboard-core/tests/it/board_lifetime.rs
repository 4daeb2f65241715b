//! The end of a board's life: archived, retained, discarded, purged.

use crate::board_support::*;
use corkboard_core::board::{
    BoardCommand, BoardEdit, BoardImage, BoardInfo, BoardReply, BoardStatus, ForkedFrom, KeptBy, LearningChanges,
    Learnings, Lifetime, NewBoard, NewDecision, NewNudge, NewTask, NudgePriority, NudgeTarget, RetainFor, Unfinished,
    WhichLearnings,
};
use corkboard_core::{LimitName, Limits, Refusal, Space};
use jiff::{SignedDuration, Timestamp};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn archive(retain: RetainFor) -> BoardCommand {
    BoardCommand::Archive { retain }
}

fn unsaid() -> BoardCommand {
    archive(RetainFor::Unsaid { ms: 30 * DAY_MS })
}

fn discard(reason: &str) -> BoardCommand {
    BoardCommand::Discard { reason: Some(reason.into()) }
}

fn complete() -> BoardCommand {
    BoardCommand::Complete { reason: None, unfinished: Unfinished::Cancel }
}

/// A board with a task that has ended.
fn ended() -> Desk {
    let mut desk = Desk::new();
    desk.add(NewTask::new("task"));
    desk.complete(id(1));
    desk.tell(complete());
    desk
}

fn info(desk: &Desk) -> &BoardInfo {
    desk.state().info().unwrap()
}

fn retained(reply: &BoardReply) -> Timestamp {
    match reply {
        BoardReply::Retained { until } => *until,
        other => panic!("{other:?}"),
    }
}

/// Commands that a purged board refuses.
fn everything() -> Vec<BoardCommand> {
    vec![
        BoardCommand::Edit { edit: BoardEdit::default(), if_version: None },
        add_tasks(vec![NewTask::new("more")]),
        claim_next(),
        complete_task(id(1), None),
        BoardCommand::RecordDiscovery(Default::default()),
        BoardCommand::RetryFailed,
        BoardCommand::AcquireOrchestrator { lease: LEASE },
        BoardCommand::AsOrchestrator { epoch: 1, command: Box::new(unsaid()) },
        BoardCommand::Pause { reason: None },
        BoardCommand::Resume,
        BoardCommand::DeliverNudges { nudges: Vec::new() },
        complete(),
        BoardCommand::Cancel { reason: None },
    ]
}

#[test]
fn only_an_ended_board_is_archived_or_discarded() {
    for end in [complete(), BoardCommand::Cancel { reason: None }] {
        let mut desk = Desk::new();
        desk.add(NewTask::new("task"));
        assert_eq!(desk.refused(unsaid()), Refusal::BoardActive);
        assert_eq!(desk.refused(discard("no use")), Refusal::BoardActive);
        assert_eq!(desk.refused(BoardCommand::Purge), Refusal::BoardKept { by: vec![KeptBy::Active] });
        desk.tell(end);
        let outcome = info(&desk).outcome;
        desk.tell(unsaid());
        let info = info(&desk);
        assert_eq!((info.status, info.archived_at, info.outcome), (BoardStatus::Archived, Some(desk.now), outcome));
        assert_eq!(info.version, desk.rev());
    }
    for command in [unsaid(), discard("no use"), BoardCommand::Purge] {
        assert_eq!(Desk::empty(Limits::default()).refused(command), Refusal::NoBoard);
    }
}

#[test]
fn a_retention_holds_until_another_one_is_given() {
    let mut desk = ended();
    let (archived, day) = (desk.now, SignedDuration::from_hours(24));
    assert_eq!(retained(&desk.tell(unsaid())), archived + day * 30);
    let rev = desk.rev();
    desk.pass(5_000);
    assert_eq!(retained(&desk.tell(unsaid())), archived + day * 30);
    assert_eq!(desk.rev(), rev, "nothing changed");
    let said = desk.tell(archive(RetainFor::Said { ms: 2 * DAY_MS }));
    assert_eq!(retained(&said), desk.now + day * 2);
    assert_eq!((info(&desk).archived_at, info(&desk).retain_until), (Some(archived), Some(desk.now + day * 2)));
    // Forever, and not at all.
    assert_eq!(retained(&desk.tell(archive(RetainFor::Said { ms: u64::MAX }))), Timestamp::MAX);
    assert_eq!(retained(&desk.tell(archive(RetainFor::Said { ms: 0 }))), desk.now);
}

#[test]
fn an_archived_board_is_read_only() {
    let mut desk = ended();
    desk.tell(unsaid());
    for command in everything() {
        let refusal = desk.refused(command.clone());
        assert_eq!(refusal, Refusal::BoardEnded { status: BoardStatus::Archived }, "{command:?}");
    }
    let create = BoardCommand::Create(NewBoard { name: "again".into(), ..NewBoard::default() });
    assert_eq!(desk.refused(create), Refusal::BoardExists);
}

#[test]
fn a_board_is_kept_until_it_expires_and_its_learnings_are_settled() {
    let mut desk = ended();
    let kept = |by: &[KeptBy]| Refusal::BoardKept { by: by.to_vec() };
    assert_eq!(desk.refused(BoardCommand::Purge), kept(&[KeptBy::NotArchived, KeptBy::Learnings]));
    let until = retained(&desk.tell(archive(RetainFor::Said { ms: 1_000 })));
    assert_eq!(
        desk.refused(BoardCommand::Purge),
        kept(&[KeptBy::Retention { retain_until: until }, KeptBy::Learnings])
    );
    desk.pass(999);
    assert_eq!(
        desk.refused(BoardCommand::Purge),
        kept(&[KeptBy::Retention { retain_until: until }, KeptBy::Learnings])
    );
    desk.pass(1);
    assert_eq!(desk.refused(BoardCommand::Purge), kept(&[KeptBy::Learnings]));
    let mut waived = desk.clone();
    waived.tell(discard("a try"));
    desk.tell(BoardCommand::ExtractLearnings);
    for mut desk in [desk, waived] {
        assert_eq!(desk.tell(BoardCommand::Purge), BoardReply::Done);
        assert_eq!(info(&desk).status, BoardStatus::Purged);
    }
}

#[test]
fn extracting_learnings_before_the_end_does_not_count() {
    let mut desk = Desk::new();
    desk.tell(BoardCommand::ExtractLearnings);
    desk.tell(complete());
    desk.tell(archive(RetainFor::Said { ms: 0 }));
    assert_eq!(desk.refused(BoardCommand::Purge), Refusal::BoardKept { by: vec![KeptBy::Learnings] });
    // Extraction after archiving is late, but counts.
    desk.tell(BoardCommand::ExtractLearnings);
    let extracted = info(&desk).learnings_extracted.clone().unwrap();
    assert_eq!((&*extracted.by, extracted.at, extracted.candidates), ("hugo", desk.now, 0));
    desk.tell(BoardCommand::Purge);
    assert_eq!(desk.refused(BoardCommand::ExtractLearnings), Refusal::BoardPurged);
}

#[test]
fn learnings_that_nobody_decided_on_keep_the_board_unless_they_are_waived() {
    let mut desk = Desk::new();
    for choice in ["this", "that", "both"] {
        let (question, rationale) = (format!("{choice}?"), "it was measured twice".into());
        let decision = NewDecision { question, choice: choice.into(), rationale, ..NewDecision::default() };
        desk.ask(&worker("ann"), BoardCommand::RecordDecision(decision)).unwrap();
    }
    desk.tell(complete());
    desk.tell(archive(RetainFor::Said { ms: 0 }));
    assert_eq!(desk.refused(BoardCommand::Purge), Refusal::BoardKept { by: vec![KeptBy::Learnings] });
    assert_eq!(desk.state().undecided_learnings(), 3, "undecided learnings count before extraction, too");
    desk.tell(BoardCommand::ExtractLearnings);
    let kept = |desk: &mut Desk| match desk.refused(BoardCommand::Purge) {
        Refusal::BoardKept { by } => by.iter().map(ToString::to_string).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(kept(&mut desk), ["3 learnings wait for a decision"]);
    let mut waived = desk.clone();
    waived.tell(discard("a try"));
    waived.tell(BoardCommand::Purge);

    // One learning is promoted, one refused, one promoted and rolled back. All three count as decided.
    let promote = |desk: &mut Desk, name: &str| {
        let (learning, changes) = (name.parse().unwrap(), Box::new(LearningChanges::default()));
        desk.tell(BoardCommand::PromoteLearning { learning, core: Some("house".into()), changes });
        let (learning, begun_rev, entry) = (name.parse().unwrap(), desk.rev(), "E-1".parse().unwrap());
        desk.tell(BoardCommand::FinishPromotion { learning, begun_rev, entry });
    };
    promote(&mut desk, "D-1");
    assert_eq!(desk.state().lifetime(None).unwrap().undecided, 2, "the summary should count them");
    desk.tell(BoardCommand::RefuseLearning { learning: "D-2".parse().unwrap(), reason: None });
    assert_eq!(kept(&mut desk), ["1 learning waits for a decision"]);
    promote(&mut desk, "D-3");
    desk.tell(BoardCommand::RollBackLearnings {
        which: WhichLearnings::These(vec!["D-3".parse().unwrap()]),
        reason: None,
    });
    let begun_rev = desk.rev();
    desk.tell(BoardCommand::FinishRollBack { begun_rev });
    desk.tell(BoardCommand::Purge);
}

#[test]
fn an_open_promotion_or_roll_back_keeps_even_a_discarded_board() {
    let mut desk = Desk::new();
    let (question, choice, rationale) = ("Which?".into(), "this".into(), "it was measured twice".into());
    let decision = NewDecision { question, choice, rationale, ..NewDecision::default() };
    desk.ask(&worker("ann"), BoardCommand::RecordDecision(decision)).unwrap();
    desk.tell(complete());
    let (learning, core) = ("D-1".parse().unwrap(), Some("house".into()));
    let changes = Box::new(LearningChanges::default());
    desk.tell(BoardCommand::PromoteLearning { learning, core, changes });
    let begun_rev = desk.rev();
    desk.tell(discard("a try"));
    let kept = Refusal::BoardKept { by: vec![KeptBy::Promotion] };
    assert_eq!(desk.refused(BoardCommand::Purge), kept);
    assert!(desk.state().lifetime(None).unwrap().promotion_open, "the summary should show the open promotion");
    let (learning, entry) = ("D-1".parse().unwrap(), "E-1".parse().unwrap());
    desk.tell(BoardCommand::FinishPromotion { learning, begun_rev, entry });
    let mut rolled_back = desk.clone();
    desk.tell(BoardCommand::Purge);
    rolled_back.tell(BoardCommand::RollBackLearnings { which: WhichLearnings::All, reason: None });
    let begun_rev = rolled_back.rev();
    assert_eq!(rolled_back.refused(BoardCommand::Purge), kept);
    rolled_back.tell(BoardCommand::FinishRollBack { begun_rev });
    rolled_back.tell(BoardCommand::Purge);
}

#[test]
fn discarding_a_board_waives_its_learnings_and_its_retention() {
    let (mut ended, mut archived) = (ended(), ended());
    archived.tell(unsaid());
    ended.pass(3_000);
    archived.pass(3_000);
    for desk in [&mut ended, &mut archived] {
        assert_eq!(retained(&desk.tell(discard("a try"))), desk.now);
        let waived = info(desk).waived.clone().unwrap();
        assert_eq!((&*waived.by, waived.at, waived.reason.as_deref()), ("hugo", desk.now, Some("a try")));
        assert_eq!((info(desk).status, info(desk).retain_until), (BoardStatus::Archived, Some(desk.now)));
        let (rev, at) = (desk.rev(), desk.now);
        desk.pass(1_000);
        assert_eq!(retained(&desk.tell(discard("again"))), at);
        assert_eq!(desk.rev(), rev, "discarding again changes nothing");
    }
    assert_eq!(archived.state().info().unwrap().archived_at, Some(archived.now - SignedDuration::from_secs(4)));
    // Archiving a discarded board keeps it again. Discarding it once more releases it.
    let until = retained(&ended.tell(archive(RetainFor::Said { ms: 1_000 })));
    assert_eq!(
        ended.refused(BoardCommand::Purge),
        Refusal::BoardKept { by: vec![KeptBy::Retention { retain_until: until }] }
    );
    ended.tell(discard("after all"));
    assert_eq!(info(&ended).waived.as_ref().unwrap().reason.as_deref(), Some("after all"));
    ended.tell(BoardCommand::Purge);
}

#[test]
fn a_reason_is_checked_like_other_texts() {
    let mut desk = ended();
    let bytes = desk.state().usage().bytes;
    let long = "x".repeat(desk.limits.board_text_bytes as usize + 1);
    let refusal = desk.refused(discard(&long));
    assert!(matches!(refusal, Refusal::Limit { limit: LimitName::BoardTextBytes, .. }), "{refusal:?}");
    desk.tell(discard("seven b"));
    assert_eq!(desk.state().usage().bytes, bytes + 7);
}

#[test]
fn a_purged_board_refuses_everything_else() {
    let mut desk = Desk::new();
    let expires_at = Some(desk.now + SignedDuration::from_secs(60));
    let (message, priority) = ("look".into(), NudgePriority::Normal);
    desk.tell(BoardCommand::SendNudge(NewNudge { to: NudgeTarget::All, message, priority, expires_at }));
    desk.tell(complete());
    desk.tell(discard("a try"));
    assert_eq!(desk.state().next_due(), expires_at, "an expiry should be due on ended boards, too");
    desk.tell(BoardCommand::Purge);
    let rev = desk.rev();
    desk.pass(60_000);
    assert_eq!((desk.state().next_due(), desk.state().expire(desk.now)), (None, vec![]));
    let image = Box::new(BoardImage::from(desk.state().clone()));
    let fork = BoardCommand::Fork { name: None, image, from: ForkedFrom { board: "b".into(), rev: 1 } };
    let create = BoardCommand::Create(NewBoard { name: "again".into(), ..NewBoard::default() });
    for command in everything().into_iter().chain([create, fork, unsaid(), discard("again")]) {
        assert_eq!(desk.refused(command.clone()), Refusal::BoardPurged, "{command:?}");
    }
    // A purged board always accepts these two, because its rest still has to be deleted.
    assert_eq!(desk.tell(BoardCommand::Purge), BoardReply::Done);
    assert_eq!(desk.tell(BoardCommand::Tick), BoardReply::Done);
    assert_eq!(desk.rev(), rev);
}

#[test]
fn a_fork_of_an_archived_board_starts_a_new_life() {
    let mut desk = ended();
    desk.tell(discard("a try"));
    desk.tell(BoardCommand::ExtractLearnings);
    let (mut copy, from) = (Desk::empty(Limits::default()), ForkedFrom { board: "b".into(), rev: desk.rev() });
    copy.tell(BoardCommand::Fork { name: None, image: Box::new(BoardImage::from(desk.state().clone())), from });
    let info = info(&copy);
    assert_eq!((info.status, info.archived_at, info.retain_until), (BoardStatus::Active, None, None));
    assert_eq!((&info.learnings_extracted, &info.waived), (&None, &None));
    copy.tell(complete());
    let by = vec![KeptBy::NotArchived, KeptBy::Learnings];
    assert_eq!(copy.refused(BoardCommand::Purge), Refusal::BoardKept { by });
}

#[test]
fn a_lifetime_lists_all_reasons_that_keep_a_board() {
    let now = at(1_000);
    let (soon, over) = (Some(at(1_001)), Some(now));
    let by = |status, retain_until, learnings, promotion_open| {
        let lifetime = Lifetime { status, updated_at: None, retain_until, learnings, undecided: 0, promotion_open };
        lifetime.kept_by(now)
    };
    let (status, learnings) = (BoardStatus::Archived, Learnings::Extracted);
    let promotion_open = true;
    let undecided =
        Lifetime { status, updated_at: None, retain_until: None, learnings, undecided: 2, promotion_open }.kept_by(now);
    assert_eq!(undecided, [KeptBy::Undecided { learnings: 2 }, KeptBy::Promotion]);
    use BoardStatus::*;
    let retention = KeptBy::Retention { retain_until: at(1_001) };
    let all = [KeptBy::NotArchived, KeptBy::Learnings, KeptBy::Promotion];
    assert_eq!(by(Active, None, Learnings::Extracted, false), [KeptBy::Active]);
    assert_eq!(by(Completed, None, Learnings::Open, true), all);
    assert_eq!(by(Cancelled, None, Learnings::Waived, false), [KeptBy::NotArchived]);
    assert_eq!(by(Archived, soon, Learnings::Extracted, true), [retention, KeptBy::Promotion]);
    assert_eq!(by(Archived, over, Learnings::Open, false), [KeptBy::Learnings]);
    assert_eq!(by(Archived, over, Learnings::Extracted, true), [KeptBy::Promotion]);
    assert_eq!(by(Archived, over, Learnings::Extracted, false), []);
    assert_eq!(by(Archived, over, Learnings::Waived, false), []);
    assert_eq!(by(Purged, soon, Learnings::Open, true), []);
}

#[test]
fn only_an_active_board_is_idle_and_only_after_a_while() {
    let week = SignedDuration::from_hours(7 * 24);
    let of = |status, updated_at| Lifetime {
        status,
        updated_at,
        retain_until: None,
        learnings: Learnings::Open,
        undecided: 0,
        promotion_open: false,
    };
    let then = at(1_000);
    let active = of(BoardStatus::Active, Some(then));
    assert_eq!(active.idle_since(then + week, week), None);
    assert_eq!(active.idle_since(then + week + SignedDuration::from_nanos(1), week), Some(then));
    assert_eq!(active.idle_since(then - week, week), None, "a clock that is behind should not make boards idle");
    assert_eq!(
        of(BoardStatus::Active, None).idle_since(then + week * 2, week),
        None,
        "a board without a known last change should not be idle"
    );
    for status in [BoardStatus::Completed, BoardStatus::Cancelled, BoardStatus::Archived, BoardStatus::Purged] {
        assert_eq!(of(status, Some(then)).idle_since(then + week * 2, week), None);
    }
}

#[test]
fn an_old_summary_is_read_as_completely_unsettled() {
    let read: Lifetime = serde_json::from_str(r#"{"name":"b","goal":"","status":"completed","bytes":1}"#).unwrap();
    assert_eq!(read.kept_by(at(1_000)), [KeptBy::NotArchived, KeptBy::Learnings]);
    assert_eq!(read.updated_at, None);
    assert!(serde_json::from_str::<Lifetime>("{}").is_err(), "an empty object should not be read as a board");
    assert!(serde_json::from_str::<Lifetime>(r#"{"status":"of another version"}"#).is_err());
}
