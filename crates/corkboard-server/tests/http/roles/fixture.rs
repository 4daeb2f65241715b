//! Test data for every route: an agent's memory, a board and two memory cores, named as in the description's examples.

use std::time::Duration;

use corkboard::boards::{
    LearningId, NewArtifact, NewBoard, NewBranch, NewChoice, NewDecision, NewDiscovery, NewNudge, NewTask,
    NudgePriority, NudgeTarget,
};
use corkboard::cores::{CoreEntryId, NewCoreEntry, Trust};
use corkboard::tokens::Grants;
use corkboard::{
    Actor, ActorKind, ConversationInfo, Corkboard, Head, Role, ScopeId, SpaceKind, TokenRequest, scratchpad,
};

pub(crate) const AGENT: &str = "ada";
pub(crate) const BOARD: &str = "login";
pub(crate) const CORE: &str = "house-rules";
/// The agent's private core.
pub(crate) const OWN_CORE: &str = "agent:ada";
const CONVERSATION: &str = "c-1";
const LEASE: Duration = Duration::from_secs(600);

/// The test data, and the names that requests use.
pub(crate) struct Fixture {
    corkboard: Corkboard,
    /// Values of the placeholders in paths, queries and bodies.
    names: Vec<(&'static str, String)>,
    before: Contents,
}

/// The heads of all spaces: equal if nothing was written.
#[derive(Debug, PartialEq)]
pub(crate) struct Contents {
    heads: Vec<(&'static str, String, Head)>,
    conversation: scratchpad::ScratchpadContents,
}

impl Contents {
    /// The head of the shared core, if it exists.
    pub(crate) fn core(&self) -> Option<Head> {
        let core = self.heads.iter().find(|(kind, name, _)| (*kind, name.as_str()) == ("core", CORE));
        core.map(|(.., head)| *head)
    }
}

impl Fixture {
    /// Creates all test data.
    pub(crate) async fn new(corkboard: &Corkboard) -> Self {
        empty(corkboard).await;
        let mut names = vec![
            ("{agent}", AGENT.to_owned()),
            ("{board}", BOARD.to_owned()),
            ("{core}", CORE.to_owned()),
            ("{conversation}", CONVERSATION.to_owned()),
            ("{key}", "plan".to_owned()),
            ("{note}", "1".to_owned()),
            ("{id}", "E-1".to_owned()),
            ("{task}", "T-1".to_owned()),
            ("{choice}", "C-1".to_owned()),
            ("{decision}", "D-1".to_owned()),
            ("{learning}", "D-1".to_owned()),
            ("{discovery}", "F-1".to_owned()),
            ("{artifact}", "A-1".to_owned()),
            ("{nudge}", "N-1".to_owned()),
        ];
        let (scope, notebook) = remember(corkboard).await;
        names.push(("{scope}", scope.to_string()));
        let conversation = corkboard.agent(AGENT).unwrap().conversation(CONVERSATION).unwrap();
        names.push(("{conversation scope}", conversation.scope_id().to_string()));
        names.push(("\"{notebook}\"", notebook.to_string()));
        names.push(("{notebook}", notebook.to_string()));
        for core in [CORE, OWN_CORE] {
            learn(corkboard, core).await;
        }
        plan(corkboard).await;
        let snapshot = corkboard.agent(AGENT).unwrap().snapshot().await.unwrap();
        names.push(("\"{snapshot}\"", serde_json::to_string(&snapshot).unwrap()));
        // The snapshot to restore differs from the current state.
        corkboard.agent(AGENT).unwrap().long_term().unwrap().add(NewCoreEntry::new("Later")).await.unwrap();
        names.push(("{token}", spare_token(corkboard).await));
        let (agent, board, core) = (SpaceKind::Agent, SpaceKind::Board, SpaceKind::Core);
        // The old data was deleted, and revisions continue.
        for (at, head, kind, space) in [
            ("{agent rev}", "{agent head}", agent, AGENT),
            ("{board rev}", "{board head}", board, BOARD),
            ("{core rev}", "{core head}", core, CORE),
            ("{own core rev}", "{own core head}", core, OWN_CORE),
            ("{conversation rev}", "{conversation head}", SpaceKind::Conversation, "ada/c-1"),
        ] {
            let Head { rev, commit } = corkboard.log(kind, space).unwrap().head().await.unwrap();
            names.push((head, format!("at={rev}&commit={commit}")));
            names.push((at, rev.to_string()));
        }
        Self { corkboard: corkboard.clone(), names, before: contents(corkboard).await }
    }

    /// Replaces the placeholders in a text.
    pub(crate) fn named(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// The heads at creation, and the current ones.
    pub(crate) async fn contents(&self) -> (&Contents, Contents) {
        (&self.before, contents(&self.corkboard).await)
    }

    /// Returns itself if nothing was written, otherwise new test data.
    pub(crate) async fn renewed(self) -> Self {
        let (before, now) = self.contents().await;
        if *before == now { self } else { Self::new(&self.corkboard).await }
    }
}

async fn contents(corkboard: &Corkboard) -> Contents {
    let mut heads = Vec::new();
    for kind in [SpaceKind::Agent, SpaceKind::Board, SpaceKind::Core, SpaceKind::Tokens] {
        let listed = corkboard.logs(kind, None, 1000).await.unwrap();
        heads.extend(listed.into_iter().map(|listed| (kind.as_str(), listed.space.name().to_owned(), listed.head)));
    }
    let conversation = corkboard.agent(AGENT).unwrap().conversation(CONVERSATION).unwrap();
    Contents { heads, conversation: conversation.contents().await.unwrap() }
}

/// Deletes everything except the tokens.
async fn empty(corkboard: &Corkboard) {
    for (kind, name, head) in contents(corkboard).await.heads {
        let kind = match kind {
            "agent" => SpaceKind::Agent,
            "board" => SpaceKind::Board,
            "core" => SpaceKind::Core,
            _ => continue,
        };
        corkboard.log(kind, &name).unwrap().delete(head).await.unwrap();
    }
    let agent = corkboard.agent(AGENT).unwrap();
    for ConversationInfo { id, .. } in agent.conversations().await.unwrap() {
        agent.conversation(id.as_str()).unwrap().delete().await.unwrap();
    }
}

/// Fills an agent's memory. Returns its scope, and the revision of its notebook.
async fn remember(corkboard: &Corkboard) -> (ScopeId, u64) {
    let agent = corkboard.agent(AGENT).unwrap();
    let memory = agent.working();
    memory.set("plan", "draft").await.unwrap();
    memory.set("password", "secret").await.unwrap();
    memory.add_note("Prefers short answers").await.unwrap();
    memory.set(corkboard::SESSION_HANDOFF_KEY, "The parser is done").await.unwrap();
    memory.set(corkboard::SCRATCHPAD_KEY, "Try B").await.unwrap();
    let scope = memory.create_durable_scope("task-0").await.unwrap();
    scope.set("plan", "draft").await.unwrap();
    scope.add_note("Prefers short answers").await.unwrap();
    let conversation = agent.conversation(CONVERSATION).unwrap();
    conversation.set("plan", "draft").await.unwrap();
    conversation.add_note("Prefers short answers").await.unwrap();
    let learned = "KEY_LEARNINGS:\n  ADD:\n    - because it bit us: tabs count as two\n";
    let notebook = agent.notebook("default").unwrap().apply(learned).await.unwrap();
    (scope.id(), notebook.rev)
}

/// Fills a memory core: an entry, a forgotten one, one from outside, and a task pattern.
async fn learn(corkboard: &Corkboard, name: &str) {
    let core = match name {
        OWN_CORE => corkboard::Core::clone(&corkboard.agent(AGENT).unwrap().long_term().unwrap()),
        name => corkboard.core(name).unwrap(),
    };
    let outside = NewCoreEntry { trust: Some(Trust::Outside), ..NewCoreEntry::new("Deploy at night") };
    let pattern = "How a login is added\n1. Design the schema\n2. Write the routes (after 1)";
    let pattern = NewCoreEntry { tags: vec!["task-pattern".into(), "login".into()], ..NewCoreEntry::new(pattern) };
    let entries = vec![NewCoreEntry::new("Deploy on Tuesdays"), NewCoreEntry::new("Deploy daily"), outside, pattern];
    core.add_many(entries).await.unwrap();
    let second: CoreEntryId = "E-2".parse().unwrap();
    core.forget(second, None).await.unwrap();
}

/// Creates a board that uses the shared core. F-1 is to be promoted, and F-2 was. Someone other than the callers holds
/// T-1 and made D-1.
async fn plan(corkboard: &Corkboard) {
    let (name, goal, cores) = ("Add login".into(), "Users sign in".into(), vec![CORE.to_owned()]);
    let new = NewBoard { name, goal, cores, ..NewBoard::default() };
    let board = corkboard.create_board(new).id(BOARD).await.unwrap();
    let waits = NewTask { depends_on: vec!["T-1".into()], ..NewTask::new("waits") };
    for task in [NewTask::new("held"), waits, NewTask::new("cookie"), NewTask::new("token")] {
        board.add_task(task).await.unwrap();
    }
    let holder = board.acting_as(Actor::new("holder", ActorKind::Agent, Role::Worker));
    holder.claim_task(None, LEASE).await.unwrap();
    let decision = NewDecision { question: "Which hash?".into(), choice: "argon2id".into(), ..NewDecision::default() };
    holder.record_decision(decision).await.unwrap();
    for found in ["users has no tokens", "sessions has no users"] {
        let (content, core) = (found.into(), Some(CORE.to_owned()));
        let found = NewDiscovery { content, promote_to_core: core, ..NewDiscovery::default() };
        holder.record_discovery(found).await.unwrap();
    }
    let second: LearningId = "F-2".parse().unwrap();
    board.promote_learning(second).await.unwrap();
    let made = NewArtifact { path: "schema.sql".into(), ..NewArtifact::default() };
    holder.record_artifact(made).await.unwrap();
    let branch = |name: &str, task: &str| NewBranch { name: name.into(), tasks: vec![task.into()] };
    let options = vec![branch("cookie", "T-3"), branch("token", "T-4")];
    board.add_choice(NewChoice { question: "Where do sessions live?".into(), options }).await.unwrap();
    let (to, message, priority) = (NudgeTarget::All, "Faster".to_owned(), NudgePriority::Normal);
    board.send_nudge(NewNudge { to, message, priority, expires_at: None }).await.unwrap();
}

/// Creates an unused token. Returns its number.
async fn spare_token(corkboard: &Corkboard) -> String {
    let (principal, label, grants) = ("spare".to_owned(), String::new(), Grants::default());
    let (kind, role) = (ActorKind::Agent, Role::Worker);
    let spare = TokenRequest { principal, kind, role, grants, expires_at: None, label };
    corkboard.tokens().create(spare).await.unwrap().id.to_string()
}
