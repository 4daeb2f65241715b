//! Permissions in a memory core: every role sends every command to a shared core, another agent's core and its own
//! core.

use crate::core_support::*;
use corkboard_core::knowledge::{
    CoreAction, CoreCommand, CoreEdit, CoreEntryId, CoreForget, CoreImage, NewCoreEntry, Trust, Withdrawal,
};
use corkboard_core::{Actor, ActorKind, AgentId, CoreId, Limits, Refusal, Role, SpaceId};

/// The permissions, written a second time by hand: orchestrator, worker, reviewer, observer, human, admin. First for a
/// shared core, then for another agent's core, for one's own, and for the core `user`.
const ALLOWED: [(CoreAction, [[u8; 6]; 4]); 11] = [
    (CoreAction::Add, [[1, 0, 1, 0, 1, 1], [0, 0, 0, 0, 1, 1], [1, 1, 1, 0, 1, 1], [1, 1, 1, 0, 1, 1]]),
    (CoreAction::Edit, [[0, 0, 1, 0, 1, 1], [0, 0, 0, 0, 1, 1], [1, 1, 1, 0, 1, 1], [1, 1, 1, 0, 1, 1]]),
    (CoreAction::Vouch, [[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1]]),
    (CoreAction::Forget, [[0, 0, 1, 0, 1, 1], [0, 0, 0, 0, 1, 1], [1, 1, 1, 0, 1, 1], [1, 1, 1, 0, 1, 1]]),
    (CoreAction::ForgetHard, [[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1], [1, 1, 1, 0, 1, 1], [0, 0, 0, 0, 1, 1]]),
    (CoreAction::Restore, [[0, 0, 1, 0, 1, 1], [0, 0, 0, 0, 1, 1], [1, 1, 1, 0, 1, 1], [1, 1, 1, 0, 1, 1]]),
    (CoreAction::Withdraw, [[1, 0, 1, 0, 1, 1], [1, 0, 1, 0, 1, 1], [1, 1, 1, 0, 1, 1], [1, 0, 1, 0, 1, 1]]),
    (CoreAction::Clear, [[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1], [1, 1, 1, 0, 1, 1], [0, 0, 0, 0, 1, 1]]),
    (CoreAction::Replace, [[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1], [1, 1, 1, 0, 1, 1], [0, 0, 0, 0, 1, 1]]),
    (CoreAction::Delete, [[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1], [1, 1, 1, 0, 1, 1], [0, 0, 0, 0, 1, 1]]),
    (CoreAction::Tick, [[1, 1, 1, 0, 1, 1], [1, 1, 1, 0, 1, 1], [1, 1, 1, 0, 1, 1], [1, 1, 1, 0, 1, 1]]),
];

/// The core: a shared one, another agent's, one of "eve", who sends the commands, and `user`.
const CORES: [&str; 4] = ["rules", "agent:ada", "agent:eve", "user"];

fn is_allowed(action: CoreAction, core: usize, role: Role) -> bool {
    let roles = ALLOWED.iter().find(|(named, _)| *named == action).unwrap().1[core];
    roles[Role::ALL.iter().position(|known| *known == role).unwrap()] == 1
}

/// A person, so that only the role restricts her.
fn eve(role: Role) -> Actor {
    Actor::new("eve", ActorKind::Human, role)
}

fn core(number: usize) -> CoreId {
    let limits = Limits::default();
    match CORES[number].strip_prefix(CoreId::PRIVATE) {
        Some(agent) => CoreId::of_agent(&AgentId::new(agent, &limits).unwrap()),
        None => CoreId::new(CORES[number], &limits).unwrap(),
    }
}

#[test]
fn the_permissions_match_the_table() {
    assert_eq!(CoreAction::all().collect::<Vec<_>>(), ALLOWED.map(|(action, _)| action));
    for action in CoreAction::all() {
        for (number, role) in (0..CORES.len()).flat_map(|number| Role::ALL.map(|role| (number, role))) {
            let (core, expected) = (core(number), is_allowed(action, number, role));
            assert_eq!(action.is_allowed_to(&eve(role), Some(&core)), expected, "{action:?} by a {role}: {core}");
            assert_eq!(action.check(&eve(role), Some(&core)).is_ok(), expected);
        }
    }
}

#[test]
fn the_documentation_shows_the_table() {
    let documented = include_str!("../../../../docs/cores.md");
    let table = CoreAction::table();
    assert!(documented.contains(&table), "docs/cores.md should have\n{table}");
}

/// A core with a target for every command.
fn shelf(number: usize) -> Shelf {
    let mut shelf = Shelf { space: Some(SpaceId::core(&core(number))), ..Shelf::new() };
    shelf.add(&human("ann"), "one");
    shelf.add(&human("ann"), NewCoreEntry { trust: Some(Trust::Outside), .."two".into() });
    shelf.add(&human("ann"), "three");
    shelf.tell(CoreCommand::Forget { entry: CoreEntryId(3), reason: None, if_version: None });
    shelf
}

fn edit(entry: u64, edit: CoreEdit) -> CoreCommand {
    CoreCommand::Edit { entry: CoreEntryId(entry), edit: Box::new(edit), if_version: None }
}

fn trust(trust: Trust) -> CoreEdit {
    CoreEdit { trust: Some(trust), ..CoreEdit::default() }
}

/// Every command, in each of its meanings, with the action that it needs.
fn commands(shelf: &Shelf) -> Vec<(CoreAction, CoreCommand)> {
    use CoreAction as Does;
    let if_version = None;
    let content = |text: &str| CoreEdit { content: Some(text.into()), ..CoreEdit::default() };
    vec![
        (Does::Add, add("four")),
        (Does::Add, add("one")),
        (Does::Edit, edit(1, content("another"))),
        (Does::Edit, CoreCommand::Exchange { remove: vec![CoreEntryId(1)], add: vec!["four".into()] }),
        (Does::Edit, edit(1, trust(Trust::Outside))),
        (Does::Edit, edit(1, trust(Trust::Own))),
        (Does::Vouch, edit(2, trust(Trust::Agent))),
        (Does::Vouch, edit(2, CoreEdit { trust: Some(Trust::Own), ..content("another") })),
        (Does::Forget, CoreCommand::Forget { entry: CoreEntryId(1), reason: None, if_version }),
        (Does::Restore, CoreCommand::Restore { entry: CoreEntryId(3), if_version }),
        (Does::Withdraw, CoreCommand::Withdraw { of: Withdrawal::Author { name: "ann".into() } }),
        (Does::ForgetHard, CoreCommand::ForgetHard { forget: CoreForget::Entry { id: CoreEntryId(1) } }),
        (Does::Clear, CoreCommand::Clear),
        (Does::Replace, CoreCommand::Replace { image: Box::new(CoreImage::of(shelf.state(), shelf.now)) }),
        (Does::Tick, CoreCommand::Tick),
    ]
}

#[test]
fn every_role_may_send_exactly_what_the_table_says() {
    for (number, place) in CORES.into_iter().enumerate() {
        let shelf = shelf(number);
        for (action, command) in commands(&shelf) {
            let named = if action == CoreAction::Vouch { CoreAction::Edit } else { action };
            assert_eq!(command.action(), named);
            for role in Role::ALL {
                let mut shelf = shelf.clone();
                let before = shelf.live.clone();
                let answer = shelf.ask(&eve(role), command.clone());
                let is_denied = matches!(&answer, Err(Refusal::RoleDenied { role: said, .. }) if *said == role);
                assert_eq!(is_denied, answer.is_err(), "{command:?} by a {role} in {place:?}: {answer:?}");
                assert_eq!(is_denied, !is_allowed(action, number, role), "{command:?} by a {role} in {place:?}");
                if is_denied {
                    assert_eq!(shelf.live, before, "{command:?} by a {role} was denied but changed something");
                }
            }
        }
    }
}

/// An agent never raises a text's trust, with any role and in any core.
#[test]
fn an_agent_vouches_for_nothing_even_as_admin() {
    for (number, role) in (0..CORES.len()).flat_map(|number| Role::ALL.map(|role| (number, role))) {
        let mut shelf = shelf(number);
        let actor = Actor { kind: ActorKind::Agent, ..eve(role) };
        let refusal = shelf.refused(&actor, edit(2, trust(Trust::Agent)));
        match role {
            Role::Human | Role::Admin => assert!(matches!(refusal, Refusal::TrustDenied { .. }), "{refusal}"),
            _ => assert!(matches!(refusal, Refusal::RoleDenied { .. }), "{refusal}"),
        }
    }
}

#[test]
fn a_denial_says_which_roles_may() {
    let told = |number: usize, role, command| shelf(number).refused(&eve(role), command).to_string();
    assert_eq!(
        told(0, Role::Worker, add("four")),
        "eve is a worker and may not add entries to the core: only orchestrators, reviewers, humans and admins may"
    );
    assert_eq!(
        told(1, Role::Reviewer, add("four")),
        "eve is a reviewer and may not add entries to the core: only ada itself, humans and admins may"
    );
    assert_eq!(
        told(2, Role::Worker, edit(2, trust(Trust::Own))),
        "eve is a worker and may not vouch for entries of the core: only humans and admins may"
    );
    assert_eq!(told(2, Role::Observer, add("four")), "eve is an observer and may not change anything");
}
