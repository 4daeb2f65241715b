//! Authority: random commands and images, many of them forged, by actors of every kind and role. A model records who
//! gave which trust, approval and authorship. After every step, no board, memory core or agent memory shows more than
//! was given.
//!
//! All commands cross the wire format, as if they came from another machine. The seed is fixed, unless `PROPTEST_CASES`
//! asks for more than the few histories that keep the suite fast.

mod boards;
mod cores;
mod memories;

use corkboard_core::knowledge::Trust;
use corkboard_core::{
    Actor, ActorKind, CommitId, Context, Limits, Refusal, Request, RequestOutcome, Revisioned, Role, Space, SpaceId,
};
use jiff::Timestamp;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use uuid::Uuid;

const NAMES: [&str; 4] = ["grace", "hugo", "eve", "bob"];

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_board_shows_no_more_than_was_given(steps in boards::steps()) {
        boards::run(&steps);
    }

    #[test]
    fn a_core_shows_no_more_than_was_given(steps in cores::steps()) {
        cores::run(&steps);
    }

    #[test]
    fn a_memory_shows_no_more_than_was_given(steps in memories::steps()) {
        memories::run(&steps);
    }
}

/// The histories must contain enough of each kind for the properties above to mean something.
#[test]
fn the_histories_cover_every_kind_of_event() {
    let mut runner = TestRunner::deterministic();
    let (mut boards, mut cores, mut memories) = Default::default();
    for _ in 0..100 {
        boards += boards::run(&boards::steps().new_tree(&mut runner).unwrap().current());
        cores += cores::run(&cores::steps().new_tree(&mut runner).unwrap().current());
        memories += memories::run(&memories::steps().new_tree(&mut runner).unwrap().current());
    }
    for (what, Reached { admitted, limited, refused }) in [("board", boards), ("core", cores), ("memory", memories)] {
        assert!(admitted > 20 && limited > 20 && refused > 20, "{what}: {admitted}, {limited}, {refused}");
    }
}

/// Counts of events in a history.
#[derive(Default)]
struct Reached {
    /// An image was accepted unchanged.
    admitted: u32,
    /// An image lost some claims.
    limited: u32,
    /// A command was refused.
    refused: u32,
}

impl std::ops::AddAssign for Reached {
    fn add_assign(&mut self, other: Self) {
        self.admitted += other.admitted;
        self.limited += other.limited;
        self.refused += other.refused;
    }
}

fn config() -> Config {
    let config = Config { failure_persistence: None, max_shrink_iters: 4_096, ..Config::default() };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config,
        None => Config { cases: 80, ..config },
    }
}

fn actors() -> impl Strategy<Value = Actor> {
    let kind = prop_oneof![Just(ActorKind::Human), Just(ActorKind::Agent), Just(ActorKind::Service)];
    let role = prop_oneof![
        4 => Just(Role::Orchestrator),
        1 => Just(Role::Worker),
        1 => Just(Role::Reviewer),
        1 => Just(Role::Observer),
        2 => Just(Role::Human),
        1 => Just(Role::Admin),
    ];
    (names(), kind, role).prop_map(|(name, kind, role)| Actor::new(name, kind, role))
}

fn names() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(&NAMES[..])
}

fn trusts() -> impl Strategy<Value = Option<Trust>> {
    prop_oneof![
        2 => Just(None),
        2 => Just(Some(Trust::Own)),
        1 => Just(Some(Trust::Agent)),
        1 => Just(Some(Trust::Outside)),
    ]
}

fn is_person(actor: &Actor) -> bool {
    actor.kind == ActorKind::Human
}

/// Sends a command as a client does, and decides it as a server does. `complete` adds the parts that the server reads
/// itself.
fn send<S: Space>(
    live: &mut Revisioned<S>,
    space: Option<&SpaceId>,
    actor: &Actor,
    command: &S::Command,
    complete: impl FnOnce(&mut S::Command),
) -> Result<S::Reply, Refusal> {
    let limits = Limits::default();
    let mut arrived = crate::wire::arrived(command);
    S::check(&mut arrived, actor, &limits)?;
    complete(&mut arrived);
    let mut context = Context::new(now(), actor, &limits, Uuid::from_u128(u128::from(live.head.rev) << 64));
    context.space = space;
    match live.decide(&Request::new(arrived), &context)? {
        RequestOutcome::Unchanged { reply, .. } => Ok(reply),
        RequestOutcome::Commit { commit, reply, .. } => {
            let id = CommitId(Uuid::from_u128(u128::from(live.head.rev) + 1));
            live.apply(&commit, id, &limits).unwrap();
            Ok(reply)
        }
    }
}

fn now() -> Timestamp {
    Timestamp::from_second(1_000).unwrap()
}
