//! Expected permissions of the routes of whole spaces: the same as for the routes that they correspond to.

use std::time::Duration;

use corkboard::boards::{
    BoardAction, BoardCommand, BoardEdit, NewNudge, NudgePriority, NudgeTarget, Unfinished, WhichLearnings,
};
use corkboard::cores::{CoreAction, CoreCommand, NewCoreEntry, Withdrawal};
use corkboard::tokens::TokensCommand;
use serde::Serialize;
use serde_json::json;

use super::expected::{Asks, Expected, Reach, admins, lists, reads};
use super::fixture::{AGENT, BOARD, CORE, OWN_CORE};

const COMMANDS: &str = "POST /v1/spaces/{kind}/{name}/commands";
/// The conversation `c-1` with the agent.
const TALK: &str = "ada%2Fc-1";
const DELETE: &str = "DELETE /v1/spaces/{kind}/{name}";

pub(crate) fn expected() -> Vec<Expected> {
    let mut all = Vec::new();
    for kind in ["agent", "board", "core", "tokens", "conversation"] {
        all.push(lists("GET /v1/spaces/{kind}").naming("{kind}", kind));
    }
    for (kind, name, after) in [
        ("agent", AGENT, "?from_rev={agent rev}"),
        ("board", BOARD, "?from_rev={board rev}"),
        ("core", CORE, "?from_rev={core rev}"),
        ("core", OWN_CORE, "?from_rev={own core rev}"),
        ("tokens", "all", ""),
        ("conversation", TALK, "?from_rev={conversation rev}"),
    ] {
        all.push(of("GET /v1/spaces/{kind}/{name}/head", kind, name));
        all.push(of("GET /v1/spaces/{kind}/{name}/state", kind, name));
        all.push(of("GET /v1/spaces/{kind}/{name}/log", kind, name).query(after));
    }
    for (kind, name) in [("agent", AGENT), ("board", BOARD), ("core", CORE), ("core", OWN_CORE), ("tokens", "all")] {
        let trim = admins("POST /v1/spaces/{kind}/{name}/trim").naming("{kind}", kind).naming("{name}", name);
        all.push(trim.sending(json!({"up_to": 1, "dry_run": true})));
    }
    for (kind, name) in [("agent", AGENT), ("board", BOARD), ("core", CORE), ("core", OWN_CORE)] {
        all.push(of("GET /v1/spaces/{kind}/{name}/vectors", kind, name));
        let reindex = admins("POST /v1/spaces/{kind}/{name}/reindex").naming("{kind}", kind).naming("{name}", name);
        all.push(reindex.sending(json!({"missing": true})));
    }
    for command in ["clear_all", "tick"] {
        all.push(commanding("agent", AGENT, &command, Asks::ToWrite));
    }
    let clear = json!({"clear": {"scope": "{conversation scope}"}});
    all.push(commanding("conversation", TALK, &clear, Asks::ToWrite));
    for command in boards() {
        let action = command.action().expect("a command in the table");
        all.push(commanding("board", BOARD, &command, Asks::OnBoard(action)));
    }
    for command in reaching_core() {
        let action = command.action().expect("a command in the table");
        all.push(commanding("board", BOARD, &command, Asks::OnBoard(action)).reaching_core());
    }
    for command in cores() {
        all.push(commanding("core", CORE, &command, Asks::InCore(command.action())));
        all.push(commanding("core", OWN_CORE, &command, Asks::InOwnCore(command.action())));
    }
    all.push(of(COMMANDS, "tokens", "all").sending(json!({"command": {"revoke": {"token": "{token}"}}})));
    all.push(of(COMMANDS, "tokens", "all").sending(json!({"command": TokensCommand::Tick})));
    let delete = [
        (of(DELETE, "agent", AGENT).query("?{agent head}"), Asks::ToWrite),
        (of(DELETE, "conversation", TALK).query("?{conversation head}"), Asks::ToWrite),
        (of(DELETE, "board", BOARD).query("?{board head}"), Asks::OnBoard(BoardAction::Delete)),
        (of(DELETE, "core", CORE).query("?{core head}"), Asks::InCore(CoreAction::Delete)),
        (of(DELETE, "core", OWN_CORE).query("?{own core head}"), Asks::InOwnCore(CoreAction::Delete)),
    ];
    all.extend(delete.map(|(delete, asks)| delete.asking(asks)));
    let forget = json!({"forget": {"entry": {"key": "password", "ids": []}}});
    all.push(reads("POST /v1/spaces/agent/{agent}/forget").sending(forget).asking(Asks::ToWrite));
    let delete = json!({"hard": false});
    let delete = reads("POST /v1/spaces/agent/{agent}/delete").sending(delete).asking(Asks::ToWrite);
    all.push(delete.asking(Asks::InOwnCore(CoreAction::Delete)));
    all
}

fn of(operation: &'static str, kind: &'static str, name: &'static str) -> Expected {
    let reach = if kind == "tokens" { Reach::Admins } else { Reach::Named };
    Expected { reach, ..reads(operation).naming("{kind}", kind).naming("{name}", name) }
}

fn commanding(kind: &'static str, name: &'static str, command: &impl Serialize, asks: Asks) -> Expected {
    of(COMMANDS, kind, name).sending(json!({"command": command})).asking(asks)
}

/// A command for most rows of the table.
fn boards() -> Vec<BoardCommand> {
    let (to, message, priority) = (NudgeTarget::All, "Faster".to_owned(), NudgePriority::Normal);
    vec![
        BoardCommand::Edit { edit: BoardEdit::default(), if_version: None },
        BoardCommand::RetryFailed,
        BoardCommand::AcquireOrchestrator { lease: Duration::from_secs(1) },
        BoardCommand::Complete { reason: None, unfinished: Unfinished::Cancel },
        BoardCommand::Discard { reason: None },
        BoardCommand::Purge,
        BoardCommand::Pause { reason: None },
        BoardCommand::SendNudge(NewNudge { to, message, priority, expires_at: None }),
        BoardCommand::ExtractLearnings,
        BoardCommand::Tick,
    ]
}

/// Commands that access the shared core.
fn reaching_core() -> Vec<BoardCommand> {
    let learning = |id: &str| id.parse().expect("a learning");
    let promote = |id: &str, core: Option<&str>| {
        let core = core.map(str::to_owned);
        BoardCommand::PromoteLearning { learning: learning(id), core, changes: Box::default() }
    };
    let edit = BoardEdit { cores: Some(vec![CORE.into()]), ..BoardEdit::default() };
    vec![
        BoardCommand::Edit { edit, if_version: None },
        promote("D-1", Some(CORE)),
        promote("F-1", None),
        BoardCommand::RollBackLearnings { which: WhichLearnings::All, reason: None },
    ]
}

fn cores() -> Vec<CoreCommand> {
    let of = Withdrawal::Author { name: "mallory".into() };
    vec![
        CoreCommand::Add { entries: vec![NewCoreEntry::new("Ship small")] },
        CoreCommand::Withdraw { of },
        CoreCommand::Clear,
        CoreCommand::Tick,
    ]
}
