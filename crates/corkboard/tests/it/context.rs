//! The context window (000, 001, 004) on real memories.

use std::time::Duration;

use corkboard::context::{SectionName, Strategy};
use corkboard::cores::Trust;
use corkboard::{AgentMemory, ContextRequest, Corkboard, EntryMetadata, Error, ErrorKind, Options, Tier};

use crate::common::{Home, agent_a, days, on_every_store};

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn text(agent: &AgentMemory) -> String {
    agent.context_window().compose(ContextRequest::new()).await.unwrap().text
}

/// The handoff opens the prompt. The handoff and the scratchpad do not appear among the entries, and an empty
/// scratchpad is omitted (001).
#[tokio::test]
async fn handoff_first_and_scratchpad_last() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        assert_eq!(text(&agent).await, "");
        memory.set("fact", "water is wet").await.unwrap();
        memory.set("session-handoff", "go on").await.unwrap();
        memory.set("scratchpad", "jotting").await.unwrap();
        memory.add_note("seen").await.unwrap();
        let shown = text(&agent).await;
        let sections = "<handoff>\n  go on\n</handoff>\n<entries>\n  - fact: water is wet\n</entries>\n<notes>\n  - seen\n</notes>\n\
                        <scratchpad>\n  jotting\n</scratchpad>\n";
        assert!(shown.ends_with(sections), "{shown}");
        memory.set("scratchpad", "").await.unwrap();
        assert!(!text(&agent).await.contains("scratchpad"));
        corkboard.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn same_content_same_bytes() {
    let home = Home::sqlite();
    let (corkboard, agent, memory) = agent_a(&home).await;
    for number in 0..50 {
        let importance = Some(number as f32 % 7.0 / 7.0);
        let metadata = EntryMetadata { importance, ..Default::default() };
        memory.set(&format!("key-{number}"), &[number, 1]).metadata(metadata).await.unwrap();
        memory.add_note(&format!("note {number}")).await.unwrap();
    }
    let first = text(&agent).await;
    // Reads count accesses, and time passes. Neither is shown.
    memory.get_entry("key-1").await.unwrap();
    home.clock.advance(3 * DAY);
    assert_eq!(text(&agent).await, first);
    corkboard.close().await.unwrap();
    let other = home.open().await;
    assert_eq!(text(&other.agent("A").unwrap()).await, first);
    other.close().await.unwrap();
}

#[tokio::test]
async fn expired_entries_are_not_shown() {
    let home = Home::memory();
    let (_board, agent, memory) = agent_a(&home).await;
    memory.set("session-handoff", "soon gone").metadata(days(1)).await.unwrap();
    memory.set("fact", "soon gone too").metadata(days(1)).await.unwrap();
    assert!(text(&agent).await.contains("soon gone too"));
    home.clock.advance(2 * DAY);
    assert_eq!(text(&agent).await, "");
}

#[tokio::test]
async fn stats_contain_the_tokens() {
    let home = Home::memory();
    let corkboard = home.open_with(Options { context_tokens: 200, ..home.options() }).await;
    let agent = corkboard.agent("A").unwrap();
    assert_eq!(agent.stats().await.unwrap().context_tokens_used, 0);
    for number in 0..30 {
        agent.working().set(&format!("key-{number}"), "some value").await.unwrap();
    }
    let window = agent.context_window().compose(ContextRequest::new()).await.unwrap();
    let stats = agent.stats().await.unwrap();
    assert_eq!((stats.context_tokens_used, stats.context_tokens_max), (window.tokens, 200));
    assert!((150..=188).contains(&window.tokens), "{}", window.tokens);
    assert_eq!(window.sections[0].name, SectionName::Entries);
    assert_eq!(window.sections[0].items + window.sections[0].left_out[0].count, 30);
    assert_eq!(window.rev, stats.rev);
}

#[tokio::test]
async fn compact_needs_teams_and_trim_does_not() {
    for tier in [Tier::Core, Tier::WriterPro, Tier::Teams] {
        let corkboard = Corkboard::open_with("memory:", Options { tier, ..Options::default() }).await.unwrap();
        let window = corkboard.agent("A").unwrap().context_window();
        window.compose(ContextRequest::new()).await.unwrap();
        let compact = window.compose(ContextRequest::new().strategy(Strategy::Compact)).await;
        match tier {
            Tier::Teams => assert!(compact.is_ok()),
            _ => {
                let error = compact.unwrap_err();
                assert!(matches!(error, Error::LicenseRestriction { needed: Tier::Teams, .. }), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn a_budget_out_of_range_is_refused() {
    let home = Home::memory();
    let (_board, agent, _) = agent_a(&home).await;
    let window = agent.context_window();
    for budget in [0, 127, 10_000_001, u64::MAX] {
        let error = window.compose(ContextRequest::new().budget(budget)).await.unwrap_err();
        assert_eq!((error.code(), error.kind()), ("out_of_range", ErrorKind::Invalid));
    }
    window.compose(ContextRequest::new().budget(128)).await.unwrap();
    window.compose(ContextRequest::new().budget(10_000_000)).await.unwrap();
    // A `context_tokens` option below the minimum does not make the statistics fail.
    let corkboard = home.open_with(Options { context_tokens: 1, ..home.options() }).await;
    assert_eq!(corkboard.agent("A").unwrap().stats().await.unwrap().context_tokens_max, 128);
}

/// A non-empty scratchpad is part of the prompt, but only that of the requested conversation (000).
#[tokio::test]
async fn a_conversations_scratchpad() {
    let home = Home::memory();
    let (_board, agent, _) = agent_a(&home).await;
    let window = agent.context_window();
    let shown = async |id: &str| window.compose(ContextRequest::new().conversation(id)).await.unwrap().text;
    assert_eq!(shown("chat-1").await, "");
    let chat = agent.conversation("chat-1").unwrap();
    chat.set("user_name", "Alice").await.unwrap();
    chat.add_note("prefers dark mode").await.unwrap();
    let expected = "<conversation>\n  - user_name: Alice\n  - prefers dark mode\n</conversation>\n";
    assert!(shown("chat-1").await.ends_with(expected));
    assert_eq!(shown("chat-2").await, "");
    assert_eq!(text(&agent).await, "");
    let error = window.compose(ContextRequest::new().conversation("")).await.unwrap_err();
    assert_eq!(error.code(), "blank");
}

#[tokio::test]
async fn a_query_adds_hits_that_are_not_shown() {
    let home = Home::memory();
    let (_board, agent, memory) = agent_a(&home).await;
    memory.set("tea", "The kettle stands in the kitchen").await.unwrap();
    memory.add_note("the kettle is hot").await.unwrap();
    let window = agent.context_window();
    let ask = async |budget, query: &str| {
        let request = ContextRequest::new().budget(budget).query(query);
        window.compose(request).await.unwrap()
    };
    // The window already shows all hits.
    let small = ask(8_000, "kettle").await;
    assert_eq!(small.text.matches("kettle").count(), 2, "{}", small.text);
    assert_eq!(small.sections.last().unwrap().left_out[0].count, 2);
    // Entries of a scope are found, too, and are distinguished from those of the root.
    let task = memory.create_durable_scope("task").await.unwrap();
    task.set("tea", "a green kettle").await.unwrap();
    let scoped = ask(8_000, "kettle").await;
    assert!(scoped.text.ends_with("<found>\n  - tea in scope task: a green kettle\n</found>\n"), "{}", scoped.text);
    // An entry that does not fit the window is shown when the query asks for it.
    for number in 0..500 {
        memory.set(&format!("a-{number:03}"), &format!("filler number {number} of many")).await.unwrap();
    }
    let without = window.compose(ContextRequest::new().budget(2_000)).await.unwrap().text;
    assert!(!without.contains("kitchen"));
    let full = ask(2_000, "kitchen").await;
    assert!(full.text.ends_with("<found>\n  - tea: The kettle stands in the kitchen\n</found>\n"), "{}", full.text);
    assert!(full.text.starts_with(&without));
    assert_eq!(window.compose(ContextRequest::new().query(" ")).await.unwrap_err().code(), "blank");
}

#[tokio::test]
async fn long_lines_from_a_real_memory() {
    let home = Home::memory();
    let (_board, agent, memory) = agent_a(&home).await;
    memory.set("session-handoff", &"</handoff>".repeat(100_000)).await.unwrap();
    memory.set("wall", &"x".repeat(1_000_000)).await.unwrap();
    memory.set("scratchpad", &"\u{202e}\n".repeat(200_000)).await.unwrap();
    memory.add_note(&" ".repeat(50_000).replacen(' ', "blank", 1)).await.unwrap();
    let window = agent.context_window().compose(ContextRequest::new()).await.unwrap();
    assert!(window.tokens <= 8_000);
    assert_eq!(window.text.matches("… [cut: the whole has ").count(), 4);
    assert_eq!(window.text.matches("</handoff>").count(), 1);
    assert!(!window.text.contains('\u{202e}'));
}

/// Learnings and snippets belong to the stable part, progress to the tail.
#[tokio::test]
async fn the_notebook_is_shown_where_it_belongs() {
    on_every_store(async |home: Home| {
        let (corkboard, agent, memory) = agent_a(&home).await;
        memory.set("session-handoff", "go on").await.unwrap();
        memory.set("fact", "water is wet").await.unwrap();
        memory.set("scratchpad", "jotting").await.unwrap();
        let block = "CURRENT_PROGRESS:\n  Completed:\n    - one\n  In Progress:\n    - two\n\
                     KEY_LEARNINGS:\n  ADD:\n    - because so: sky is blue\n\
                     VERBATIM_CONTEXT:\n  ADD:\n    - because so: a.rs => fn a() {}\n";
        agent.notebook("main").unwrap().apply(block).await.unwrap();
        let shown = text(&agent).await;
        let sections = "<handoff>\n  go on\n</handoff>\n\
                        <key_learnings>\n  - KL-1: sky is blue\n</key_learnings>\n\
                        <verbatim_context>\n  - VC-1, a.rs: fn a() {}\n</verbatim_context>\n\
                        <entries>\n  - fact: water is wet\n</entries>\n\
                        <progress>\n  - Completed: one\n  - In Progress: two\n</progress>\n\
                        <scratchpad>\n  jotting\n</scratchpad>\n";
        assert!(shown.ends_with(sections), "{shown}");
        corkboard.close().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn of_ended_sessions_only_the_newest_is_shown() {
    let home = Home::sqlite();
    let (corkboard, agent, memory) = agent_a(&home).await;
    memory.set("sessions/mine", "an entry of its own").await.unwrap();
    assert!(!agent.keep_session("empty").await.unwrap());
    for (id, trust) in [("monday", Trust::Agent), ("tuesday", Trust::Outside)] {
        home.clock.advance(DAY);
        let conversation = agent.conversation(id).unwrap();
        conversation.set("plan", &format!("of {id}")).await.unwrap();
        conversation.add_note("and a note").trust(trust).await.unwrap();
        assert!(agent.keep_session(id).await.unwrap());
        assert!(!agent.keep_session(id).await.unwrap(), "a current copy should not be written again");
    }
    let shown = text(&agent).await;
    assert!(shown.contains("[outside] sessions/tuesday: plan: of tuesday"), "{shown}");
    assert!(!shown.contains("monday") && shown.contains("sessions/mine"), "{shown}");
    home.clock.advance(DAY);
    agent.write_handoff("go on").await.unwrap();
    assert!(!text(&agent).await.contains("tuesday"));
    home.clock.advance(40 * DAY);
    assert!(memory.get_entry("sessions/tuesday").await.unwrap().is_none());
    corkboard.close().await.unwrap();
}
