//! Conversations: scratchpads that begin with the first write and expire when unused.

use std::time::Duration;

use corkboard::{AgentMemory, Conversations, Corkboard, Limits, MemoryEvent, Options, ScopeId, WorkingMemory};

use crate::common::{Home, agent_a, drain, in_time, limit, on_every_store, refusal, start, texts};

/// Runs a test on every store, with conversations kept in the process and in the store.
async fn kept_everywhere(test: impl AsyncFn(&Home, Corkboard, AgentMemory, WorkingMemory)) {
    for conversations in [Conversations::Process, Conversations::Shared] {
        on_every_store(async |home: Home| {
            let corkboard = home.open_with(Options { conversations, ..home.options() }).await;
            let agent = corkboard.agent("A").unwrap();
            let memory = agent.working();
            test(&home, corkboard, agent, memory).await;
        })
        .await;
    }
}

/// Two Corkboards on one file with shared conversations, like two processes.
async fn two_processes(home: &Home) -> [Corkboard; 2] {
    let options = || Options { conversations: Conversations::Shared, ..home.options() };
    [home.open_with(options()).await, home.open_with(options()).await]
}

#[tokio::test]
async fn a_shared_conversation_is_one_for_all_processes_and_outlives_them() {
    let home = Home::sqlite();
    let [first, second] = two_processes(&home).await;
    let [here, there] =
        [&first, &second].map(|corkboard| corkboard.agent("team/a").unwrap().conversation("c/1").unwrap());
    first.agent("team/a").unwrap().working().set("of the agent", &1).await.unwrap();
    here.set("name", "Ada").await.unwrap();
    assert_eq!(there.get::<String>("name").await.unwrap().as_deref(), Some("Ada"));
    assert_eq!(there.get::<u8>("of the agent").await.unwrap(), None, "a conversation never falls back to the agent");
    there.add_note("prefers dark mode").await.unwrap();
    there.append("log", "one").on_new_line().await.unwrap();
    here.append("log", "two").on_new_line().await.unwrap();
    assert_eq!(there.contents().await.unwrap().get("log"), Some("one\ntwo"));
    assert_eq!(texts(&here.notes().await.unwrap()), ["prefers dark mode"]);
    let listed = second.agent("team/a").unwrap().conversations().await.unwrap();
    let [info] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!((info.id.as_str(), info.entries, info.notes, info.used_at), ("c/1", 2, 1, start()));
    // Other agents have separate conversations, and the agent's own memory does not contain them.
    for (agent, id) in [("team", "a/c/1"), ("team/a", "c"), ("team/a/c", "1"), ("team%2Fa", "c/1")] {
        assert!(second.agent(agent).unwrap().conversation(id).unwrap().contents().await.unwrap().is_empty());
    }
    assert_eq!(first.agent("team/a").unwrap().rev().await.unwrap(), 1);
    first.close().await.unwrap();
    second.close().await.unwrap();

    let [next, other] = two_processes(&home).await;
    let next = next.agent("team/a").unwrap().conversation("c/1").unwrap();
    assert_eq!(next.get::<String>("name").await.unwrap().as_deref(), Some("Ada"));
    assert!(other.agent("team/a").unwrap().conversation("c/1").unwrap().delete().await.unwrap());
    assert!(next.contents().await.unwrap().is_empty());
    next.set("name", "Grace").await.unwrap();
    assert_eq!(next.contents().await.unwrap().list_keys(), ["name"]);
}

#[tokio::test]
async fn a_shared_conversation_expires_24_hours_after_its_last_use_in_any_process() {
    let home = Home::sqlite();
    let [first, second] = two_processes(&home).await;
    let talks = ["used", "idle"].map(|id| first.agent("A").unwrap().conversation(id).unwrap());
    for talk in &talks {
        talk.set("k", &1).await.unwrap();
    }
    let used = second.agent("A").unwrap().conversation("used").unwrap();
    home.clock.advance(Duration::from_secs(23 * 3600));
    assert_eq!(used.get::<u8>("k").await.unwrap(), Some(1), "reading is a use");
    home.clock.advance(Duration::from_secs(3600));
    // An expired conversation is not shown, even before a tick removed it.
    assert_eq!(talks[1].get::<u8>("k").await.unwrap(), None);
    assert!(talks[1].contents().await.unwrap().is_empty());
    assert_eq!(
        first.agent("A").unwrap().conversations().await.unwrap().len(),
        1,
        "the expired one is removed from the store"
    );
    let mut events = second.subscribe();
    home.clock.advance(Duration::from_secs(22 * 3600));
    second.tick().await.unwrap();
    let names = async |corkboard: &Corkboard| {
        let listed = corkboard.agent("A").unwrap().conversations().await.unwrap();
        listed.into_iter().map(|info| (info.id.to_string(), info.entries)).collect::<Vec<_>>()
    };
    assert_eq!(names(&first).await.last(), Some(&("used".to_owned(), 1)));
    home.clock.advance(Duration::from_secs(3600));
    second.tick().await.unwrap();
    assert!(names(&first).await.iter().all(|(id, _)| id != "used"));
    let told = drain(&mut events);
    let ended = |event: &MemoryEvent| matches!(event, MemoryEvent::ScopeDisposed { scope_name, .. } if scope_name.as_str() == "used");
    assert!(told.iter().any(ended), "{told:?}");
    assert_eq!(talks[0].get::<u8>("k").await.unwrap(), None);
    // A write starts it again.
    talks[0].set("k", &2).await.unwrap();
    assert_eq!(used.get::<u8>("k").await.unwrap(), Some(2));
}

/// Forgetting and deleting an agent covers its stored conversations, too.
#[tokio::test]
async fn a_shared_conversation_is_not_in_a_snapshot_and_can_be_forgotten() {
    let home = Home::sqlite();
    let [corkboard, _] = two_processes(&home).await;
    let agent = corkboard.agent("A").unwrap();
    let talk = agent.conversation("c").unwrap();
    talk.set("secret", "xyzzy-plugh").await.unwrap();
    talk.set("kept", "frotz").await.unwrap();
    let snapshot = serde_json::to_string(&agent.snapshot().await.unwrap()).unwrap();
    assert!(!snapshot.contains("frotz"), "{snapshot}");
    let holds = |text: &str| {
        let files = std::fs::read_dir(home.folder()).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap());
        files.into_iter().any(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
    };
    assert!(holds("xyzzy-plugh") && holds("frotz"));
    assert_eq!(agent.forget("secret").await.unwrap().removed, 1);
    assert_eq!(talk.contents().await.unwrap().list_keys(), ["kept"]);
    assert!(!holds("xyzzy-plugh"), "forgotten for good");
    assert!(holds("frotz"));
    assert!(corkboard.delete_agent("A").hard().await.unwrap(), "the agent had nothing else");
    assert!(!holds("frotz"), "deleted with its agent");
}

/// Some processes open the store without the setting, for example `cork` on the command line.
#[tokio::test]
async fn a_process_with_private_conversations_forgets_and_expires_stored_ones() {
    let home = Home::sqlite();
    let [corkboard, _] = two_processes(&home).await;
    let own = home.open().await;
    let talk = corkboard.agent("A").unwrap().conversation("c").unwrap();
    let stored = async || corkboard.agent("A").unwrap().conversations().await.unwrap().len();
    talk.set("secret", &1).await.unwrap();
    talk.set("kept", &1).await.unwrap();
    assert_eq!(own.agent("A").unwrap().conversations().await.unwrap(), []);
    assert_eq!(own.agent("A").unwrap().forget("secret").await.unwrap().removed, 1);
    assert_eq!(talk.contents().await.unwrap().list_keys(), ["kept"]);
    own.delete_agent("A").await.unwrap();
    assert_eq!(stored().await, 0);
    talk.set("k", &1).await.unwrap();
    home.clock.advance(Duration::from_secs(24 * 3600));
    own.tick().await.unwrap();
    assert_eq!(stored().await, 0);
}

#[tokio::test]
async fn a_conversation_begins_with_its_first_write() {
    kept_everywhere(async |_, corkboard, agent, memory| {
        memory.set("of the agent", &1).await.unwrap();
        let mut events = corkboard.subscribe();
        let talk = agent.conversation("c-1").unwrap();
        assert!(talk.contents().await.unwrap().is_empty());
        // It never falls back to the agent's memory.
        assert_eq!(talk.get::<u8>("of the agent").await.unwrap(), None);
        assert_eq!((agent.conversations().await.unwrap(), drain(&mut events)), (vec![], vec![]));

        talk.set("name", "Alice").await.unwrap();
        talk.add_note("prefers dark mode").await.unwrap();
        let told = drain(&mut events);
        let [MemoryEvent::ScopeCreated { scope_name, scope_id, .. }, MemoryEvent::Set { scope_id: within, .. }, ..] =
            told.as_slice()
        else {
            panic!("{told:?}")
        };
        assert_eq!((scope_name.as_str(), Some(*scope_id)), ("c-1", *within));
        let listed = agent.conversations().await.unwrap();
        let [info] = listed.as_slice() else { panic!("{listed:?}") };
        assert_eq!((info.id.as_str(), info.entries, info.notes, info.used_at), ("c-1", 1, 1, start()));
        // Nothing was written to the agent's own memory.
        assert_eq!((memory.len().await.unwrap(), agent.rev().await.unwrap()), (1, 1));
        assert!(memory.active_scopes().await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_conversation_outlives_its_handles_but_not_its_process() {
    let home = Home::sqlite();
    let corkboard = home.open().await;
    corkboard.agent("A").unwrap().conversation("c").unwrap().set("k", &1).await.unwrap();
    assert_eq!(corkboard.agent("A").unwrap().conversation("c").unwrap().get::<u8>("k").await.unwrap(), Some(1));
    corkboard.close().await.unwrap();
    let next = home.open().await;
    assert_eq!(next.agent("A").unwrap().conversation("c").unwrap().get::<u8>("k").await.unwrap(), None);
}

#[tokio::test]
async fn dropping_a_corkboard_drops_its_conversations() {
    let home = Home::sqlite();
    let options = Options { save: corkboard::SavePolicy::Interval(Duration::from_secs(3600)), ..home.options() };
    let corkboard = home.open_with(options.clone()).await;
    corkboard.agent("A").unwrap().conversation("c").unwrap().set("k", &1).await.unwrap();
    drop(corkboard);
    // A store with exclusive access can be opened again only after everything of the first Corkboard is dropped.
    in_time(async {
        while corkboard::Corkboard::open_with(home.url(), options.clone()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_deleted_conversation_begins_empty() {
    kept_everywhere(async |_, _board, agent, _| {
        let talk = agent.conversation("c").unwrap();
        assert!(!talk.delete().await.unwrap());
        talk.set("k", &1).await.unwrap();
        assert!(talk.delete().await.unwrap());
        assert!(talk.contents().await.unwrap().is_empty());
        talk.add_note("again").await.unwrap();
        assert_eq!(texts(&talk.notes().await.unwrap()), ["again"]);
    })
    .await;
}

#[tokio::test]
async fn an_unused_conversation_expires() {
    let home = Home::memory();
    let idle = Duration::from_secs(3600);
    let corkboard = home.open_with(Options { conversation_idle: idle, ..home.options() }).await;
    {
        let agent = corkboard.agent("A").unwrap();
        for id in ["used", "idle"] {
            agent.conversation(id).unwrap().set("k", &1).await.unwrap();
        }
    }
    // No handle is left, and time passes.
    for _ in 0..3 {
        home.clock.advance(Duration::from_secs(59 * 60));
        let _read = corkboard.agent("A").unwrap().conversation("used").unwrap().contents().await.unwrap();
        corkboard.tick().await.unwrap();
    }
    let left = corkboard.agent("A").unwrap().conversations().await.unwrap();
    assert_eq!(left.iter().map(|info| info.id.as_str()).collect::<Vec<_>>(), ["used"]);
    home.clock.advance(Duration::from_secs(60 * 60));
    corkboard.tick().await.unwrap();
    assert_eq!(corkboard.agent("A").unwrap().conversations().await.unwrap(), []);
}

#[tokio::test]
async fn an_entry_of_a_conversation_expires() {
    let home = Home::memory();
    let (corkboard, agent, _) = agent_a(&home).await;
    let talk = agent.conversation("c").unwrap();
    talk.set("soon", &1).metadata(crate::common::days(1)).await.unwrap();
    talk.set("kept", &2).await.unwrap();
    home.clock.advance(Duration::from_secs(23 * 3600));
    corkboard.tick().await.unwrap();
    assert_eq!(talk.contents().await.unwrap().list_keys(), ["kept", "soon"]);
    home.clock.advance(Duration::from_secs(3600));
    assert_eq!(talk.contents().await.unwrap().list_keys(), ["kept"]);
    corkboard.tick().await.unwrap();
    assert_eq!(agent.conversations().await.unwrap()[0].entries, 1);
}

#[tokio::test]
async fn conversations_have_separate_limits() {
    let home = Home::memory();
    let limits = Limits { conversations_per_agent: 3, scopes_per_agent: 1, ..Limits::default() };
    let corkboard = home.open_with(Options { limits, ..home.options() }).await;
    let agent = corkboard.agent("A").unwrap();
    for id in ["a", "b", "c"] {
        agent.conversation(id).unwrap().set("k", &1).await.unwrap();
    }
    let _scope = agent.working().create_scope("the one scope").await.unwrap();
    let one_more = agent.conversation("d").unwrap();
    let too_many = refusal(one_more.set("k", &1).await);
    assert_eq!(too_many, limit(corkboard::LimitName::ConversationsPerAgent, 4, 3));
    // Another agent has a separate limit.
    corkboard.agent("B").unwrap().conversation("d").unwrap().set("k", &1).await.unwrap();
    agent.conversation("a").unwrap().delete().await.unwrap();
    one_more.set("k", &1).await.unwrap();

    for (id, what) in [("", "blank"), (" ", "blank"), ("a\nb", "control"), (&"x".repeat(513), "long")] {
        let refused = agent.conversation(id).err();
        assert!(matches!(refused, Some(corkboard::Error::Refused(_))), "{what}");
    }
}

#[tokio::test]
async fn clearing_or_forgetting_a_memory_covers_its_conversations() {
    kept_everywhere(async |_, corkboard, agent, memory| {
        let talk = agent.conversation("c").unwrap();
        let write = async || {
            memory.set("secret", &1).await.unwrap();
            talk.set("secret", &1).await.unwrap();
            talk.set("other", &1).await.unwrap();
        };
        write().await;
        assert_eq!(agent.forget("secret").await.unwrap().removed, 2);
        assert_eq!(talk.contents().await.unwrap().list_keys(), ["other"]);
        write().await;
        assert_eq!(agent.clear(Default::default()).await.unwrap(), 3);
        assert_eq!(agent.conversations().await.unwrap(), []);
        write().await;
        corkboard.delete_agent("A").await.unwrap();
        assert_eq!(agent.conversations().await.unwrap(), []);
    })
    .await;
}

/// A write that races with the end of its conversation comes either before it, and is deleted, or after it, and stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_write_concurrent_with_the_end_of_its_conversation_is_answered() {
    let home = Home::memory();
    let (_board, agent, _) = agent_a(&home).await;
    let ending = {
        let talk = agent.conversation("c").unwrap();
        tokio::spawn(async move {
            for _ in 0..2000 {
                talk.delete().await.unwrap();
                tokio::task::yield_now().await;
            }
        })
    };
    let writers = (0..3).map(|writer| {
        let talk = agent.conversation("c").unwrap();
        tokio::spawn(async move {
            for index in 0..2000 {
                talk.add_note(&format!("{writer}/{index}")).await.unwrap();
            }
        })
    });
    for task in writers.chain([ending]).collect::<Vec<_>>() {
        in_time(task).await.unwrap();
    }
    let talk = agent.conversation("c").unwrap();
    talk.set("last", &1).await.unwrap();
    assert_eq!(talk.get::<u8>("last").await.unwrap(), Some(1));
}

#[tokio::test]
async fn a_closed_corkboard_answers_closed() {
    let home = Home::memory();
    let (corkboard, agent, _) = agent_a(&home).await;
    let talk = agent.conversation("c").unwrap();
    talk.set("k", &1).await.unwrap();
    corkboard.close().await.unwrap();
    assert!(matches!(talk.set("k", &2).await, Err(corkboard::Error::Closed)));
    assert!(matches!(talk.delete().await, Err(corkboard::Error::Closed)));
}

#[tokio::test]
async fn a_conversations_scope_cannot_be_reached_as_one() {
    let home = Home::memory();
    let (corkboard, agent, memory) = agent_a(&home).await;
    let mut events = corkboard.subscribe();
    agent.conversation("c").unwrap().set("k", &1).await.unwrap();
    let told = drain(&mut events);
    let Some(MemoryEvent::ScopeCreated { scope_id, .. }) = told.first() else { panic!("{told:?}") };
    assert_ne!(*scope_id, ScopeId::ROOT);
    assert!(memory.scope(*scope_id).await.unwrap().is_none());
}

#[tokio::test]
async fn a_first_write_may_ask_for_a_conversation_that_has_not_begun() {
    kept_everywhere(async |_, _board, agent, _| {
        let talk = agent.conversation("c").unwrap();
        assert_eq!(talk.view().await.unwrap().rev(), 0);
        talk.set("k", &1).if_rev(0).idempotency_key("once").await.unwrap();
        talk.set("k", &1).if_rev(0).idempotency_key("once").await.unwrap();
        assert_eq!(talk.view().await.unwrap().rev(), 1);
        let late = refusal(talk.set("k", &2).if_rev(0).await);
        assert_eq!(late, corkboard::Refusal::RevConflict { expected: 0, current: 1 });
    })
    .await;
}
