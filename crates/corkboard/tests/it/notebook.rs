//! Notebooks, on every store.

use corkboard::notebook::{NotebookItemId, NotebookLearningId, NotebookProblemKind};
use corkboard::store::StoreError;
use corkboard::{AgentMemory, Error, ErrorKind, FoundItem, Limits, Options, Refusal, Retention, SnapshotPolicy};

use crate::common::{agent_a, on_every_store, refused};

const FIRST: &str = "CURRENT_PROGRESS:\n  In Progress:\n    - one\nKEY_LEARNINGS:\n  ADD:\n    - because it came up: a\n    - because it came up: b\nVERBATIM_CONTEXT:\n  ADD:\n    - because it is needed: l => x\n        y\n";
const SECOND: &str = "CURRENT_PROGRESS:\n  Completed:\n    - one\n  In Progress:\n    - two\nKEY_LEARNINGS:\n  ADD:\n    - because it came up: c\n  ARCHIVE:\n    - KL-1 because old\n";

async fn texts(agent: &AgentMemory) -> Vec<String> {
    let notebook = agent.notebook("main").unwrap().get().await.unwrap();
    notebook.learnings.iter().map(|learning| format!("{} {}", learning.id, learning.text)).collect()
}

#[tokio::test]
async fn a_text_is_one_revision_and_the_report_says_what_it_did() {
    on_every_store(async |home| {
        let (_board, agent, _) = agent_a(&home).await;
        let notebook = agent.notebook("main").unwrap();
        let applied = notebook.apply(FIRST).await.unwrap();
        assert_eq!((applied.rev, applied.changed), (1, true));
        assert_eq!(applied.learnings, [NotebookLearningId(1), NotebookLearningId(2)]);
        assert_eq!(applied.changes.to_line(), "In Progress: + one; KL-1 added: a (because it came up); KL-2 added: b (because it came up); VC-1 added: l, 2 lines, 5 bytes (because it is needed)");
        let applied = notebook.apply(SECOND).await.unwrap();
        assert_eq!((applied.rev, applied.learnings), (2, vec![NotebookLearningId(3)]));
        assert_eq!(texts(&agent).await, ["KL-2 b", "KL-3 c"]);
        let state = notebook.get().await.unwrap();
        assert_eq!((state.version, &*state.snippets[0].text), (2, "x\n  y"));
        assert_eq!(&*state.archived_learnings[0].archived_because, "old");
        // Applying the same progress again changes nothing.
        let same = notebook.apply("CURRENT_PROGRESS:\n  Completed:\n    - one\n  In Progress:\n    - two\n").await.unwrap();
        assert_eq!((same.rev, same.changed), (2, false));
        assert_eq!(agent.notebooks().await.unwrap().len(), 1);
        if home.is_shared() {
            let (_other, other, _) = agent_a(&home).await;
            assert_eq!(*other.notebook("main").unwrap().get().await.unwrap(), *state);
        }
    })
    .await;
}

#[tokio::test]
async fn a_text_with_an_error_leaves_no_trace() {
    on_every_store(async |home| {
        let (corkboard, agent, _) = agent_a(&home).await;
        let notebook = agent.notebook("main").unwrap();
        notebook.apply(FIRST).await.unwrap();
        let wrong =
            notebook.apply("KEY_LEARNINGS:\n  ADD:\n    - because r: fine\n    - no reason\n").await.unwrap_err();
        assert_eq!((wrong.code(), wrong.kind()), ("notebook_problems", ErrorKind::Invalid));
        let Error::NotebookProblems { problems } = wrong else { panic!("{wrong}") };
        assert_eq!((problems[0].line, problems[0].column, problems[0].kind), (4, 7, NotebookProblemKind::NoReason));
        let unknown = notebook.apply("KEY_LEARNINGS:\n  ARCHIVE:\n    - KL-2 because old\n    - KL-9 because old\n");
        let Error::NotebookProblems { problems } = unknown.await.unwrap_err() else { panic!("no problems") };
        assert_eq!((problems[0].line, problems[0].kind), (4, NotebookProblemKind::UnknownId));
        assert_eq!(problems[0].message, "there is no KL-9 to archive; there are KL-1, KL-2");
        let conflict = refused(&corkboard, &agent, notebook.apply(SECOND).if_version(7)).await;
        assert!(matches!(conflict, Refusal::NotebookConflict { expected: 7, current: 1, .. }), "{conflict:?}");
        assert_eq!((texts(&agent).await, agent.rev().await.unwrap()), (vec!["KL-1 a".into(), "KL-2 b".into()], 1));
        let skipped = notebook.apply("KEY_LEARNINGS:\n  ARCHIVE:\n    - KL-2 because old\n    - KL-9 because old\n");
        let skipped = skipped.ignore_unknown().await.unwrap();
        assert_eq!(skipped.skipped, [NotebookItemId::Learning(NotebookLearningId(9))]);
        assert_eq!(skipped.warnings[0].kind, NotebookProblemKind::UnknownId);
        assert_eq!(texts(&agent).await, ["KL-1 a"]);
    })
    .await;
}

#[tokio::test]
async fn history_goes_back_and_old_revisions_can_be_shown() {
    on_every_store(async |home| {
        let (_board, agent, memory) = agent_a(&home).await;
        let notebook = agent.notebook("main").unwrap();
        notebook.apply(FIRST).await.unwrap();
        memory.set("k", &1).await.unwrap();
        notebook.apply(SECOND).await.unwrap();
        let then = notebook.at(2).await.unwrap();
        assert_eq!(then, notebook.at(1).await.unwrap());
        let (rev, changes) = notebook.restore(2).await.unwrap();
        assert_eq!(rev, 4);
        assert!(changes.to_line().contains("KL-1 restored: a; KL-3 archived: c (because revision 2 was restored)"));
        assert_eq!(texts(&agent).await, ["KL-1 a", "KL-2 b"]);
        // An ID is never used twice.
        let next = notebook.apply("KEY_LEARNINGS:\n  ADD:\n    - because r: d\n").await.unwrap();
        assert_eq!(next.learnings, [NotebookLearningId(4)]);
        let history = notebook.history().await.unwrap();
        assert_eq!(history.from_rev, 0);
        let revisions: Vec<_> = history.revisions.iter().map(|revision| revision.rev).collect();
        assert_eq!(revisions, [1, 3, 4, 5]);
        assert_eq!(history.revisions[2].changes, changes);
        assert_eq!(notebook.diff(1, 3).await.unwrap(), history.revisions[1].changes);
        let future = notebook.at(9).await.unwrap_err();
        assert!(matches!(future, Error::Store(StoreError::Future { asked: 9, head: 5 })), "{future:?}");
        assert_eq!(notebook.clear().await.unwrap(), 5);
        assert!(notebook.get().await.unwrap().is_empty());
        assert_eq!(agent.notebooks().await.unwrap(), []);
        notebook.restore(5).await.unwrap();
        assert_eq!(texts(&agent).await, ["KL-1 a", "KL-2 b", "KL-4 d"]);
    })
    .await;
}

#[tokio::test]
async fn a_trimmed_log_reports_its_oldest_revision() {
    let home = crate::common::Home::sqlite();
    let often = SnapshotPolicy { events: 10, bytes: u64::MAX };
    let options = Options { retention: Some(Retention::Revisions(1)), snapshots: often, ..home.options() };
    let corkboard = home.open_with(options).await;
    let notebook = corkboard.agent("A").unwrap().notebook("main").unwrap();
    for round in 0..25 {
        notebook.apply(&format!("CURRENT_PROGRESS:\n  In Progress:\n    - round {round}\n")).await.unwrap();
    }
    corkboard.close().await.unwrap();
    let corkboard = home.open().await;
    let notebook = corkboard.agent("A").unwrap().notebook("main").unwrap();
    {
        let history = notebook.history().await.unwrap();
        assert!(history.from_rev > 0, "{history:?}");
        let gone = notebook.at(0).await.unwrap_err();
        assert!(
            matches!(gone, Error::Store(StoreError::Compacted { oldest }) if oldest == history.from_rev),
            "{gone:?}"
        );
        let oldest = notebook.at(history.from_rev).await.unwrap();
        assert_eq!(&*oldest.progress.in_progress[0], format!("round {}", history.from_rev - 1));
        assert_eq!(history.revisions.last().unwrap().rev, 25);
        assert_eq!(notebook.at(25).await.unwrap(), notebook.get().await.unwrap());
        let then = notebook.restore(history.from_rev).await.unwrap();
        assert_eq!(then.0, 26);
    }
}

#[tokio::test]
async fn a_snapshot_of_the_agent_contains_its_notebooks() {
    on_every_store(async |home| {
        let (corkboard, agent, _) = agent_a(&home).await;
        let notebook = agent.notebook("main").unwrap();
        notebook.apply(FIRST).await.unwrap();
        let snapshot = agent.snapshot().await.unwrap();
        notebook.apply(SECOND).await.unwrap();
        agent.notebook("other").unwrap().apply(FIRST).await.unwrap();
        agent.restore(snapshot.clone()).await.unwrap();
        assert_eq!(texts(&agent).await, ["KL-1 a", "KL-2 b"]);
        assert_eq!(agent.notebooks().await.unwrap().len(), 1);
        let next = notebook.apply("KEY_LEARNINGS:\n  ADD:\n    - because r: d\n").await.unwrap();
        assert_eq!(next.learnings, [NotebookLearningId(4)], "KL-3 was given before");
        let mut wrong = snapshot;
        let name = wrong.memory.notebooks.keys().next().unwrap().clone();
        let twice = wrong.memory.notebooks[&name].learnings[0].clone();
        wrong.memory.notebooks.get_mut(&name).unwrap().learnings.insert(0, twice);
        let rev = agent.rev().await.unwrap();
        assert!(matches!(agent.restore(wrong).await, Err(Error::Refused(Refusal::MemoryContradicts { .. }))));
        assert_eq!(agent.rev().await.unwrap(), rev);
        agent.clear(Default::default()).await.unwrap();
        assert_eq!(agent.notebooks().await.unwrap(), []);
        drop(corkboard);
    })
    .await;
}

#[tokio::test]
async fn search_finds_what_a_notebook_shows_and_nothing_else() {
    on_every_store(async |home| {
        let (_board, agent, _) = agent_a(&home).await;
        let notebook = agent.notebook("main").unwrap();
        let found = async |query: &str| {
            let hits = agent.search(query).await.unwrap();
            let items = hits.into_iter().map(|hit| match hit.item {
                FoundItem::Notebook { notebook, item } => (notebook.to_string(), item.map(|item| item.to_string())),
                other => panic!("{other:?}"),
            });
            items.collect::<Vec<_>>()
        };
        let part = |item: &str| ("main".to_owned(), Some(item.to_owned()));
        assert_eq!(found("walrus").await, []);
        notebook.apply("CURRENT_PROGRESS:\n  In Progress:\n    - feed the walrus\nKEY_LEARNINGS:\n  ADD:\n    - because it came up: penguins bite\nVERBATIM_CONTEXT:\n  ADD:\n    - because it is needed: zoo.toml => opening = 9\n").await.unwrap();
        assert_eq!(found("walruses").await, [("main".to_owned(), None)]);
        assert_eq!(found("penguin").await, [part("KL-1")]);
        assert_eq!(found("opening zoo").await, [part("VC-1")]);
        notebook.apply("CURRENT_PROGRESS:\n  In Progress:\n    - close the gate\nKEY_LEARNINGS:\n  ARCHIVE:\n    - KL-1 because old\n").await.unwrap();
        assert_eq!((found("walrus").await, found("penguin").await), (vec![], vec![]));
        assert_eq!(found("gate").await, [("main".to_owned(), None)]);
        notebook.clear().await.unwrap();
        assert_eq!((found("gate").await, found("zoo").await), (vec![], vec![]));
    })
    .await;
}

#[tokio::test]
async fn limits_are_kept() {
    on_every_store(async |home| {
        let limits =
            Limits { snippet_bytes: 4, notebook_line_bytes: 20, learnings_per_notebook: 1, ..Limits::default() };
        let corkboard = home.open_with(Options { limits, ..home.options() }).await;
        let agent = corkboard.agent("A").unwrap();
        let notebook = agent.notebook("main").unwrap();
        for text in [
            "VERBATIM_CONTEXT:\n  ADD:\n    - because r: l => 12345\n",
            "KEY_LEARNINGS:\n  ADD:\n    - because r: a\n    - because r: b\n",
            "CURRENT_PROGRESS:\n  In Progress:\n    - a bullet of more than twenty\n",
        ] {
            let refusal = refused(&corkboard, &agent, notebook.apply(text)).await;
            assert!(matches!(refusal, Refusal::Limit { .. }), "{refusal:?}");
        }
        assert!(notebook.get().await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_writers_get_different_ids() {
    let home = crate::common::Home::sqlite();
    let (_board, agent, _) = agent_a(&home).await;
    let (_other_board, other, _) = agent_a(&home).await;
    let tasks: Vec<_> = (0..40)
        .map(|number| {
            let agent = if number % 2 == 0 { agent.clone() } else { other.clone() };
            tokio::spawn(async move {
                let text = format!("KEY_LEARNINGS:\n  ADD:\n    - because r: learning {number}\n");
                let applied = agent.notebook("main").unwrap().apply(&text).await.unwrap();
                (applied.learnings[0], number)
            })
        })
        .collect();
    let mut given = Vec::new();
    for task in tasks {
        given.push(task.await.unwrap());
    }
    given.sort();
    let notebook = agent.notebook("main").unwrap().get().await.unwrap();
    let there: Vec<_> = notebook.learnings.iter().map(|it| (it.id, it.text.to_string())).collect();
    assert_eq!(there, given.iter().map(|(id, n)| (*id, format!("learning {n}"))).collect::<Vec<_>>());
    assert_eq!(given.iter().map(|(id, _)| id.0).collect::<Vec<_>>(), (1..=40).collect::<Vec<_>>());
}
