//! Learnings are promoted, refused or rolled back. A promotion or roll-back stays open until it is finished in the
//! core.

use crate::board_support::*;
use corkboard_core::board::{
    BoardCommand, BoardEvent, BoardImage, BoardReply, BoardState, BoardStatus, ForkedFrom, KeptBy, LearningChanges,
    LearningId, LearningStatus, NewBoard, NewDiscovery, NewTask, Promotion, RetainFor, RollBack, Unfinished,
    WhichLearnings,
};
use corkboard_core::knowledge::{CoreEntryId, Trust};
use corkboard_core::{Actor, ActorKind, CoreId, LimitName, Limits, MemoryKind, OwnPart, Refusal, Role, Space};

const ENTRY: CoreEntryId = CoreEntryId(7);

fn core(name: &str) -> CoreId {
    CoreId::new(name, &Limits::default()).unwrap()
}

fn named_learning(name: &str) -> LearningId {
    name.parse().unwrap()
}

fn f1() -> LearningId {
    named_learning("F-1")
}

/// A board that draws on the core "rules", with the insights F-1 (by ann), F-2 (by a person) and F-3 (by ann, from
/// outside).
fn desk() -> Desk {
    let cores = vec!["rules".into()];
    let mut desk = Desk::with(NewBoard { name: "b".into(), cores, ..NewBoard::default() });
    for (actor, trust) in [(worker("ann"), None), (human(), None), (worker("ann"), Some(Trust::Outside))] {
        let discovery = NewDiscovery { content: "users has no column".into(), trust, ..NewDiscovery::default() };
        desk.ask(&actor, BoardCommand::RecordDiscovery(discovery)).unwrap();
    }
    desk
}

fn promote(learning: LearningId) -> BoardCommand {
    BoardCommand::PromoteLearning { learning, core: None, changes: Box::default() }
}

fn promote_into(learning: LearningId, core: &str) -> BoardCommand {
    BoardCommand::PromoteLearning { learning, core: Some(core.into()), changes: Box::default() }
}

fn changed(changes: LearningChanges) -> BoardCommand {
    BoardCommand::PromoteLearning { learning: f1(), core: None, changes: Box::new(changes) }
}

fn refuse(learning: LearningId) -> BoardCommand {
    BoardCommand::RefuseLearning { learning, reason: Some("not true".into()) }
}

fn finish(learning: LearningId, begun_rev: u64) -> BoardCommand {
    BoardCommand::FinishPromotion { learning, begun_rev, entry: ENTRY }
}

fn roll_back(learnings: &[&str]) -> BoardCommand {
    let these = learnings.iter().map(|name| named_learning(name)).collect();
    BoardCommand::RollBackLearnings { which: WhichLearnings::These(these), reason: Some("wrong".into()) }
}

fn roll_back_all() -> BoardCommand {
    BoardCommand::RollBackLearnings { which: WhichLearnings::All, reason: None }
}

fn state(desk: &Desk, learning: &str) -> LearningStatus {
    desk.state().learning_status(&named_learning(learning))
}

fn begun(desk: &Desk, learning: &str) -> Promotion {
    match state(desk, learning) {
        LearningStatus::Begun(promotion) => promotion,
        other => panic!("{other:?}"),
    }
}

fn rolling_back(desk: &Desk, learning: &str) -> RollBack {
    match state(desk, learning) {
        LearningStatus::RollingBack(roll_back) => roll_back,
        other => panic!("{other:?}"),
    }
}

/// Promotes a learning and finishes the promotion.
fn promoted(desk: &mut Desk, learning: &str) {
    desk.tell(promote(named_learning(learning)));
    let begun_rev = begun(desk, learning).begun_rev;
    desk.tell(finish(named_learning(learning), begun_rev));
}

#[test]
fn a_promotion_is_started_finished_and_repeated_with_the_same_answer() {
    let mut desk = desk();
    let reply = desk.tell(promote(f1()));
    assert_eq!(reply, BoardReply::Promotion { core: core("rules"), entry: None });
    let promotion = begun(&desk, "F-1");
    assert_eq!((promotion.begun_rev, &promotion.actor, promotion.begun_at), (desk.rev(), &human(), desk.now));
    let entry = &promotion.entry;
    assert_eq!((entry.content.as_str(), entry.kind), ("users has no column", MemoryKind::Insight));
    assert_eq!((entry.author.as_deref(), entry.trust), (Some("ann"), Some(Trust::Agent)));
    assert_eq!((entry.item.as_deref(), &entry.board), (Some("F-1"), &None));

    // Starting it twice has one effect.
    let rev = desk.rev();
    assert_eq!(desk.tell(promote(f1())), reply);
    assert_eq!(desk.tell(promote_into(f1(), "rules")), reply);
    assert_eq!(
        (desk.rev(), desk.refused(promote_into(f1(), "other"))),
        (rev, Refusal::PromotionOpen { learning: f1() })
    );
    assert_eq!(desk.refused(refuse(f1())), Refusal::PromotionOpen { learning: f1() });
    assert_eq!(desk.refused(roll_back_all()), Refusal::PromotionOpen { learning: f1() });

    desk.tell(finish(f1(), promotion.begun_rev));
    let (decided_by, decided_at) = ("hugo".into(), promotion.begun_at);
    let promoted = LearningStatus::Promoted { core: core("rules"), entry: ENTRY, decided_by, decided_at };
    assert_eq!(state(&desk, "F-1"), promoted);
    let rev = desk.rev();
    assert_eq!(desk.tell(promote(f1())), BoardReply::Promotion { core: core("rules"), entry: Some(ENTRY) });
    // A late finish finds it finished already.
    assert_eq!(desk.tell(finish(f1(), promotion.begun_rev)), BoardReply::Done);
    assert_eq!(desk.rev(), rev);
    let refusal = Refusal::LearningPromoted { learning: f1(), core: core("rules") };
    assert_eq!(desk.refused(promote_into(f1(), "other")), refusal);
    assert_eq!(desk.refused(refuse(f1())), refusal);
}

#[test]
fn only_candidates_are_promoted() {
    let mut desk = desk();
    for name in ["F-9", "D-1", "rework:T-1", "estimate:test", "sequence:design.build"] {
        let refusal = Refusal::NotOnBoard { what: "learning".into(), id: name.into() };
        assert_eq!(desk.refused(promote(named_learning(name))), refusal);
        assert_eq!(desk.refused(refuse(named_learning(name))), refusal);
    }
    let no_core = NewBoard { name: "b".into(), ..NewBoard::default() };
    let mut bare = Desk::with(no_core);
    let discovery = NewDiscovery { content: "x".into(), ..NewDiscovery::default() };
    bare.tell(BoardCommand::RecordDiscovery(discovery.clone()));
    assert_eq!(bare.refused(promote(f1())), Refusal::NoCore { learning: f1() });
    assert!(matches!(bare.refused(promote_into(f1(), "agent:ann")), Refusal::ReservedName { .. }));
    assert!(matches!(bare.refused(promote_into(f1(), " ")), Refusal::Blank { .. }));
    // The core that a discovery suggests is checked in the same way.
    let marked = NewDiscovery { promote_to_core: Some("agent:ann".into()), ..discovery };
    bare.tell(BoardCommand::RecordDiscovery(marked));
    assert!(matches!(bare.refused(promote(named_learning("F-2"))), Refusal::ReservedName { .. }));
}

#[test]
fn changes_must_be_valid_for_the_core() {
    let mut desk = desk();
    let content = |content: &str| LearningChanges { content: Some(content.into()), ..LearningChanges::default() };
    assert_eq!(desk.refused(changed(content(" "))), Refusal::Blank { what: "content".into() });
    let long = desk.refused(changed(content(&"x".repeat(65_537))));
    assert!(matches!(long, Refusal::Limit { limit: LimitName::CoreTextBytes, .. }), "{long:?}");
    let importance = LearningChanges { importance: Some(f32::NAN), ..LearningChanges::default() };
    assert!(matches!(desk.refused(changed(importance)), Refusal::Importance { .. }));
    let tags = LearningChanges { tags: Some(vec!["".into()]), ..LearningChanges::default() };
    assert!(matches!(desk.refused(changed(tags)), Refusal::Blank { .. }));
    let tags = LearningChanges { tags: Some(vec!["x".into(); 65]), ..LearningChanges::default() };
    assert!(matches!(desk.refused(changed(tags)), Refusal::Limit { limit: LimitName::TagsPerEntry, .. }));

    let (kind, trust) = (Some(MemoryKind::Fact), Some(Trust::Own));
    let changes =
        LearningChanges { kind, importance: Some(1.0), tags: Some(vec!["schema".into()]), trust, ..content("no") };
    desk.tell(changed(changes));
    let entry = begun(&desk, "F-1").entry;
    assert_eq!((entry.content.as_str(), entry.kind, entry.importance), ("no", MemoryKind::Fact, Some(1.0)));
    assert_eq!((entry.tags, entry.trust), (vec!["schema".into()], Some(Trust::Own)));
    assert_eq!((entry.author.as_deref(), entry.contributors), (Some("ann"), vec!["hugo".to_string()]));
}

#[test]
fn no_agent_promotes_its_own_text() {
    let mut desk = desk();
    let (ann, rita) = (named("ann", Role::Reviewer), named("rita", Role::Reviewer));
    let own =
        |principal: &str, own_part| Refusal::OwnLearning { learning: f1(), principal: principal.into(), own_part };
    assert_eq!(desk.refused_to(&ann, promote(f1())), own("ann", OwnPart::Author));
    // Nor may an agent replace the text with its own.
    let changes = LearningChanges { content: Some("mine".into()), ..LearningChanges::default() };
    assert_eq!(desk.refused_to(&rita, changed(changes)), own("rita", OwnPart::NewContent));
    desk.ask(&rita, promote(f1())).unwrap();
    assert_eq!(begun(&desk, "F-1").actor, rita);
    // A person may.
    desk.tell(promote(named_learning("F-2")));
}

#[test]
fn nobody_lends_a_learning_more_trust_than_they_have() {
    let (rita, service) = (named("rita", Role::Reviewer), Actor::system());
    let asked = |learning: &str, trust| BoardCommand::PromoteLearning {
        learning: named_learning(learning),
        core: None,
        changes: Box::new(LearningChanges { trust, ..LearningChanges::default() }),
    };
    for actor in [&rita, &service] {
        let denied = |asked, most| Refusal::TrustDenied { principal: actor.principal.clone(), asked, most };
        let mut desk = desk();
        let refused = desk.refused_to(actor, asked("F-1", Some(Trust::Own)));
        assert_eq!(refused, denied(Trust::Own, Trust::Agent));
        let refused = desk.refused_to(actor, asked("F-3", Some(Trust::Agent)));
        assert_eq!(refused, denied(Trust::Agent, Trust::Outside));
        for (learning, trust, given) in [
            ("F-1", Some(Trust::Outside), Trust::Outside),
            // A person's text has an agent's trust once an agent passes it on.
            ("F-2", None, Trust::Agent),
            ("F-3", None, Trust::Outside),
        ] {
            desk.ask(actor, asked(learning, trust)).unwrap();
            assert_eq!(begun(&desk, learning).entry.trust, Some(given), "{learning}");
        }
    }
    let mut desk = desk();
    desk.tell(asked("F-3", Some(Trust::Own)));
    assert_eq!(begun(&desk, "F-3").entry.trust, Some(Trust::Own), "a person can vouch for it");
    assert_eq!(human().kind, ActorKind::Human);
}

#[test]
fn a_refused_learning_stays_refused() {
    let mut desk = desk();
    desk.tell(refuse(f1()));
    let refusal = Refusal::LearningRefused { learning: f1(), by: "hugo".into() };
    assert_eq!(desk.refused(promote(f1())), refusal);
    let rev = desk.rev();
    desk.tell(BoardCommand::RefuseLearning { learning: f1(), reason: None });
    assert_eq!((desk.rev(), state(&desk, "F-1").as_str()), (rev, "refused"));
    let refused = desk.refused(roll_back(&["F-1"]));
    assert_eq!(refused, Refusal::NotPromoted { learning: f1(), status: "refused".into() });
    assert!(
        desk.state().learning_candidates().iter().any(|candidate| candidate.id == f1()),
        "a refused learning should still be listed"
    );
    // Even in a fork of this board. Promotions of the source do not count in the fork.
    promoted(&mut desk, "F-2");
    let image = Box::new(BoardImage::from(desk.state().clone()));
    let mut copy = Desk::empty(Limits::default());
    copy.tell(BoardCommand::Fork { name: None, image, from: ForkedFrom { board: "b".into(), rev: desk.rev() } });
    assert_eq!(copy.refused(promote(f1())), refusal);
    assert_eq!(state(&copy, "F-2"), LearningStatus::Open);
}

#[test]
fn a_rolled_back_learning_can_be_promoted_again() {
    let mut desk = desk();
    promoted(&mut desk, "F-1");
    promoted(&mut desk, "F-2");
    assert_eq!(
        desk.refused(roll_back(&["F-1", "F-3"])),
        Refusal::NotPromoted { learning: named_learning("F-3"), status: "open".into() }
    );
    for unknown in ["F-99", "sequence:sing.dance"] {
        let refused = desk.refused(roll_back(&[unknown]));
        assert_eq!(refused, Refusal::NotOnBoard { what: "learning".into(), id: unknown.into() });
    }
    let reply = desk.tell(roll_back(&["F-1", "F-1"]));
    assert_eq!(reply, BoardReply::RollBack(vec![f1()]));
    let begun_rev = rolling_back(&desk, "F-1").begun_rev;
    assert_eq!((begun_rev, rolling_back(&desk, "F-1").entry), (desk.rev(), ENTRY));
    assert_eq!(desk.refused(promote(f1())), Refusal::PromotionOpen { learning: f1() });
    assert_eq!(desk.refused(refuse(f1())), Refusal::PromotionOpen { learning: f1() });
    // A repeated roll-back finds nothing to do.
    assert_eq!(desk.tell(roll_back(&["F-1"])), BoardReply::RollBack(vec![]));
    desk.tell(BoardCommand::FinishRollBack { begun_rev: begun_rev + 1 });
    assert_eq!(state(&desk, "F-1").as_str(), "rolling_back", "finishing another roll-back should not finish this one");
    desk.tell(BoardCommand::FinishRollBack { begun_rev });
    let LearningStatus::RolledBack { core: from, entry, decided_by: by, reason, .. } = state(&desk, "F-1") else {
        panic!()
    };
    assert_eq!((from, entry, &*by, reason.as_deref()), (core("rules"), ENTRY, "hugo", Some("wrong")));
    assert_eq!(desk.tell(roll_back(&["F-1"])), BoardReply::RollBack(vec![]));
    desk.tell(promote_into(f1(), "other"));
    assert_eq!(begun(&desk, "F-1").core, core("other"));
    let begun_rev = begun(&desk, "F-1").begun_rev;
    desk.tell(finish(f1(), begun_rev));
    assert_eq!(desk.tell(roll_back_all()), BoardReply::RollBack(vec![f1(), named_learning("F-2")]));
    let begun_rev = desk.rev();
    desk.tell(BoardCommand::FinishRollBack { begun_rev });
    assert_eq!(desk.tell(roll_back_all()), BoardReply::RollBack(vec![]));
    desk.tell(refuse(f1()));
    assert_eq!(state(&desk, "F-1").as_str(), "refused", "a rolled-back learning can be refused");
}

#[test]
fn a_promotion_that_the_core_refuses_has_no_effect() {
    let mut desk = desk();
    desk.tell(promote(f1()));
    let begun_rev = begun(&desk, "F-1").begun_rev;
    let abandon =
        |begun_rev| BoardCommand::AbandonPromotion { learning: f1(), begun_rev, reason: "the core is full".into() };
    desk.tell(abandon(begun_rev - 1));
    assert_eq!(state(&desk, "F-1").as_str(), "begun", "abandoning another promotion should not abandon this one");
    let give_up = |begun_rev| BoardCommand::FinishAbandonment { learning: f1(), begun_rev };
    desk.tell(give_up(begun_rev));
    assert_eq!(begun(&desk, "F-1").refused, None, "the core has not refused it");
    desk.tell(abandon(begun_rev));
    // Another process may have added the entry, so the promotion stays open until somebody has checked.
    assert_eq!(begun(&desk, "F-1").refused.as_deref(), Some("the core is full"));
    assert!(desk.state().has_open_promotion());
    let rev = desk.rev();
    desk.tell(abandon(begun_rev));
    desk.tell(give_up(begun_rev - 1));
    assert_eq!(desk.rev(), rev);
    assert_eq!(
        desk.refused(finish(f1(), begun_rev)),
        Refusal::PromotionOver { learning: f1(), status: "abandoned".into() }
    );
    for command in [promote(f1()), refuse(f1()), roll_back(&["F-1"])] {
        assert_eq!(desk.refused(command), Refusal::PromotionOpen { learning: f1() });
    }
    desk.tell(give_up(begun_rev));
    assert_eq!((state(&desk, "F-1"), desk.state().learning_verdicts().len()), (LearningStatus::Open, 0));
    assert_eq!(desk.refused(finish(f1(), begun_rev)), Refusal::PromotionOver { learning: f1(), status: "open".into() });
    // A new promotion: finishing the old one does not finish it.
    desk.tell(promote(f1()));
    desk.tell(finish(f1(), begun_rev));
    assert_eq!(state(&desk, "F-1").as_str(), "begun");
}

#[test]
fn an_open_promotion_becomes_due_on_ended_boards_too() {
    let mut desk = desk();
    desk.tell(BoardCommand::Complete { reason: None, unfinished: Unfinished::Cancel });
    assert_eq!((desk.state().next_due(), desk.state().has_open_promotion()), (None, false));
    desk.tell(promote(f1()));
    let due = desk.now + BoardState::LEARNING_PATIENCE;
    assert_eq!((desk.state().next_due(), desk.state().has_open_promotion()), (Some(due), true));
    assert_eq!(desk.state().next_expiry(), None, "nothing expires");
    desk.tell(BoardCommand::Archive { retain: RetainFor::Said { ms: 0 } });
    desk.tell(BoardCommand::ExtractLearnings);
    let by = vec![KeptBy::Undecided { learnings: 2 }, KeptBy::Promotion];
    assert_eq!(desk.refused(BoardCommand::Purge), Refusal::BoardKept { by });
    // A tick alone finishes nothing and writes nothing.
    desk.pass(60_000);
    let rev = desk.rev();
    desk.tell(BoardCommand::Tick);
    assert_eq!((desk.rev(), desk.state().next_due()), (rev, Some(due)));
    let begun_rev = begun(&desk, "F-1").begun_rev;
    desk.tell(finish(f1(), begun_rev));
    assert_eq!(desk.state().next_due(), None);
    // On a paused board, too.
    let mut desk = self::desk();
    desk.tell(BoardCommand::Pause { reason: None });
    desk.tell(promote(f1()));
    assert_eq!(desk.state().next_due(), Some(desk.now + BoardState::LEARNING_PATIENCE));
}

#[test]
fn extraction_is_recorded_once_and_only_after_the_end() {
    let mut desk = desk();
    let rev = desk.rev();
    desk.tell(BoardCommand::ExtractLearnings);
    assert_eq!((desk.rev(), desk.state().info().unwrap().learnings_extracted.clone()), (rev, None));
    desk.tell(BoardCommand::Complete { reason: None, unfinished: Unfinished::Cancel });
    desk.pass(1_000);
    desk.ask(&named("rita", Role::Reviewer), BoardCommand::ExtractLearnings).unwrap();
    let extracted = desk.state().info().unwrap().learnings_extracted.clone().unwrap();
    assert_eq!((&*extracted.by, extracted.at, extracted.candidates), ("rita", desk.now, 3));
    let rev = desk.rev();
    desk.tell(BoardCommand::ExtractLearnings);
    assert_eq!(desk.rev(), rev);
}

#[test]
fn learnings_of_an_archived_board_can_be_decided_until_it_is_purged() {
    let mut desk = desk();
    promoted(&mut desk, "F-1");
    desk.tell(BoardCommand::Cancel { reason: None });
    promoted(&mut desk, "F-2");
    desk.tell(BoardCommand::Archive { retain: RetainFor::Said { ms: 1 } });
    desk.tell(BoardCommand::ExtractLearnings);
    desk.tell(refuse(named_learning("F-3")));
    desk.tell(roll_back_all());
    let begun_rev = desk.rev();
    desk.tell(BoardCommand::FinishRollBack { begun_rev });
    assert_eq!((state(&desk, "F-1").as_str(), state(&desk, "F-2").as_str()), ("rolled_back", "rolled_back"));
    desk.pass(10);
    desk.tell(BoardCommand::Purge);
    assert_eq!(desk.refused(BoardCommand::ExtractLearnings), Refusal::BoardPurged);
}

#[test]
fn the_former_orchestrator_can_decide_on_learnings_after_the_end() {
    let (olga, mut desk) = (orchestrator("olga"), desk());
    desk.ask(&olga, BoardCommand::AcquireOrchestrator { lease: LEASE }).unwrap();
    let as_olga = |command| BoardCommand::AsOrchestrator { epoch: 1, command: Box::new(command) };
    desk.ask(&olga, as_olga(promote(f1()))).unwrap();
    let other = desk.refused_to(&orchestrator("otto"), promote(named_learning("F-2")));
    assert!(matches!(other, Refusal::Fenced { .. }), "{other:?}");
    desk.ask(&olga, as_olga(BoardCommand::Complete { reason: None, unfinished: Unfinished::Cancel })).unwrap();
    desk.ask(&olga, as_olga(BoardCommand::ExtractLearnings)).unwrap();
    desk.ask(&olga, as_olga(promote(named_learning("F-2")))).unwrap();
    let ended = desk.refused_to(&olga, as_olga(add_tasks(vec![NewTask::new("more")])));
    assert_eq!(ended, Refusal::BoardEnded { status: BoardStatus::Completed });
}

#[test]
fn a_full_board_can_still_be_rolled_back() {
    let mut desk = desk();
    promoted(&mut desk, "F-1");
    desk.limits.state_bytes = desk.state().usage().bytes;
    let full = desk.refused(promote(named_learning("F-2")));
    assert!(matches!(full, Refusal::Limit { limit: LimitName::StateBytes, .. }), "{full:?}");
    let reason = Some("it was wrong from the beginning".into());
    desk.tell(BoardCommand::RollBackLearnings { which: WhichLearnings::All, reason });
    let begun_rev = desk.rev();
    desk.tell(BoardCommand::FinishRollBack { begun_rev });
    assert_eq!(state(&desk, "F-1").as_str(), "rolled_back");
}

#[test]
fn a_former_candidate_with_a_verdict_is_still_listed() {
    use corkboard_core::board::{DecisionId, NewDecision};
    let mut desk = desk();
    let decision = |supersedes| NewDecision {
        question: "Which hash?".into(),
        choice: "argon2id".into(),
        rationale: "it is memory-hard".into(),
        supersedes,
        ..NewDecision::default()
    };
    desk.tell(BoardCommand::RecordDecision(decision(None)));
    promoted(&mut desk, "D-1");
    desk.tell(BoardCommand::RecordDecision(decision(Some(DecisionId(1)))));
    let shown = desk.state().learning_candidates();
    let shown = shown.iter().find(|candidate| candidate.id.to_string() == "D-1").unwrap();
    assert_eq!((shown.status.as_str(), shown.content.lines().next()), ("promoted", Some("Which hash? argon2id")));
    desk.tell(roll_back(&["D-1"]));
    let begun_rev = desk.rev();
    desk.tell(BoardCommand::FinishRollBack { begun_rev });
    let refusal = Refusal::NotOnBoard { what: "learning".into(), id: "D-1".into() };
    assert_eq!(
        desk.refused(promote(named_learning("D-1"))),
        refusal,
        "a decision that no longer holds cannot be promoted"
    );
}

#[test]
fn events_that_do_not_fit_are_misfits() {
    let mut desk = desk();
    promoted(&mut desk, "F-2");
    let stamp = corkboard_core::Stamp { rev: 9, at: desk.now, principal: "ann", role: Role::Admin };
    let misfits = [
        BoardEvent::LearningPromoted { learning: f1(), entry: ENTRY },
        BoardEvent::PromotionRefused { learning: named_learning("F-2"), reason: "full".into() },
        BoardEvent::PromotionAbandoned { learning: named_learning("F-2"), reason: "full".into() },
        BoardEvent::RollBackBegun { learnings: vec![f1()], reason: None, kind: ActorKind::Human },
        BoardEvent::LearningsRolledBack { learnings: vec![named_learning("F-2")] },
    ];
    for event in misfits {
        assert!(desk.state().clone().apply(&event, stamp).is_err(), "{event:?}");
    }
}

#[test]
fn an_inconsistent_image_is_refused() {
    let mut desk = desk();
    desk.tell(refuse(f1()));
    let mut image = BoardImage::from(desk.state().clone());
    let twice = image.learnings[0].clone();
    image.learnings.push(twice);
    let mut copy = Desk::empty(Limits::default());
    let from = ForkedFrom { board: "b".into(), rev: 1 };
    let refused = copy.refused(BoardCommand::Fork { name: None, image: Box::new(image), from });
    assert_eq!(refused, Refusal::BoardContradicts { reason: "F-1 is listed twice".into() });
}
