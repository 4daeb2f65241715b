//! Forgotten parts of a notebook are in no revision, in any of their fields. Everything else stays.

use corkboard_core::agent::{AgentCommand, AgentImage, AgentState, Forget};
use corkboard_core::notebook::NotebookItemId;
use corkboard_core::{Limits, Revisioned, Space};

use crate::support::{AgentCommit, Memory, notebook_name, replay, update_notebook};

/// A history in which all texts of KL-1 and VC-1 contain the secret. KL-2, VC-2 and the progress do not.
fn history(secret: &str) -> Memory {
    let mut memory = Memory::new(Limits::default());
    let text = format!(
        "CURRENT_PROGRESS:\n  In Progress:\n    - kept bullet\nKEY_LEARNINGS:\n  ADD:\n    - because {secret} came up: {secret} learned\n    - because kept reason: kept insight\nVERBATIM_CONTEXT:\n  ADD:\n    - because {secret} needs it: {secret} label =>\n      {secret}\n    - because kept reason: kept label => kept snippet\n"
    );
    memory.tell(update_notebook("main", &text));
    let shown = memory.state().notebook("main").unwrap().content(1);
    let archive = format!(
        "KEY_LEARNINGS:\n  ARCHIVE:\n    - KL-1 because {secret} is old\nVERBATIM_CONTEXT:\n  ARCHIVE:\n    - VC-1 because {secret} is old\n"
    );
    memory.tell(update_notebook("main", &archive));
    let image = Box::new(AgentImage::from(memory.state().clone()));
    memory.tell(AgentCommand::Restore { image });
    let (notebook, content) = (notebook_name("main"), Box::new(shown));
    memory.tell(AgentCommand::RestoreNotebook { notebook, content, if_version: None });
    memory
}

fn forget(memory: &mut Memory, mut what: Forget) -> String {
    memory.tell(AgentCommand::Forget { forget: what.clone() });
    AgentState::begin_redaction(&mut what);
    let without = memory.log.iter().map(|line| {
        let mut commit = AgentCommit::decode(line).unwrap();
        for event in &mut commit.events {
            AgentState::redact(event, &mut what);
        }
        commit.encode().unwrap()
    });
    let without: Vec<Vec<u8>> = without.collect();
    assert_eq!(replay(Revisioned::default(), &without, &memory.limits), memory.live);
    let state = String::from_utf8(memory.live.encode().unwrap()).unwrap();
    String::from_utf8(without.concat()).unwrap() + &state
}

#[test]
fn an_item_is_forgotten_with_its_reasons() {
    for id in ["KL-1", "VC-1"] {
        let id: NotebookItemId = id.parse().unwrap();
        let mut memory = history("hunter2");
        let before = forget(&mut history("hunter2"), Forget::notebook(notebook_name("other"), Some(id)));
        let left = forget(&mut memory, Forget::notebook(notebook_name("main"), Some(id)));
        assert!(!memory.state().notebook("main").unwrap().has(id));
        // The other of the two items still contains it.
        assert!(left.matches("hunter2").count() < before.matches("hunter2").count());
        let other = if id.to_string() == "KL-1" { "VC-1" } else { "KL-1" };
        memory.log = memory.log.iter().map(|line| redacted(line, id)).collect();
        let left = forget(&mut memory, Forget::notebook(notebook_name("main"), Some(other.parse().unwrap())));
        assert!(!left.contains("hunter2"), "{left}");
        for kept in ["kept bullet", "kept insight", "kept snippet", "kept label", "kept reason"] {
            assert!(left.contains(kept), "{kept}: {left}");
        }
    }
}

fn redacted(line: &[u8], id: NotebookItemId) -> std::sync::Arc<[u8]> {
    let mut commit = AgentCommit::decode(line).unwrap();
    let mut what = Forget::notebook(notebook_name("main"), Some(id));
    for event in &mut commit.events {
        AgentState::redact(event, &mut what);
    }
    commit.encode().unwrap().into()
}

#[test]
fn a_whole_notebook_is_forgotten_with_its_progress_and_its_ids_stay_used() {
    let mut memory = history("hunter2");
    let left = forget(&mut memory, Forget::notebook(notebook_name("main"), None));
    for gone in ["hunter2", "kept bullet", "kept insight", "kept snippet", "kept label", "kept reason"] {
        assert!(!left.contains(gone), "{gone}: {left}");
    }
    assert_eq!(memory.state().notebooks().count(), 0);
    memory.tell(update_notebook("main", "KEY_LEARNINGS:\n  ADD:\n    - because r: new\n"));
    assert_eq!(memory.state().notebook("main").unwrap().learnings[0].id.to_string(), "KL-3");
}
