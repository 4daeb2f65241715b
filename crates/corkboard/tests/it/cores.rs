//! Memory cores through the library: on every store, from several Corkboards.

mod keeping;
mod large;
mod long_term;

use std::time::Duration;

use corkboard::cores::{AddedHow, CoreEdit, CoreEntryId, CoreEvent, NewCoreEntry, Trust, Withdrawal};
use corkboard::{Actor, ActorKind, Core, ForgottenEntries, MemoryKind, Options, Refusal, Role, Watched};

use crate::common::{Home, in_time, on_every_store, refusal};

/// An agent with all the rights that agents can have on a shared core.
pub(crate) fn agent(name: &str) -> Actor {
    Actor::new(name, ActorKind::Agent, Role::Reviewer)
}

pub(crate) fn id(number: u64) -> CoreEntryId {
    CoreEntryId(number)
}

fn tagged(content: &str, tag: &str) -> NewCoreEntry {
    NewCoreEntry { tags: vec![tag.into()], ..content.into() }
}

/// The numbers of the hits, best first.
pub(crate) async fn found(core: &Core, query: &str) -> Vec<u64> {
    let hits = core.search(query).words_only(true).await.unwrap();
    hits.iter().map(|hit| hit.item.name().trim_start_matches("E-").parse().unwrap()).collect()
}

#[tokio::test]
async fn entries_are_added_read_changed_and_still_there_after_a_restart() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let core = corkboard.core("rules").unwrap();
        assert_eq!(core.get(id(1)).await.unwrap(), None);
        assert_eq!(core.add("Deploy on Tuesdays").await.unwrap().how, AddedHow::New);
        let many = vec![tagged("Tests first", "work"), "Deploy  on Tuesdays".into()];
        let added = core.acting_as(agent("bob")).add_many(many).await.unwrap();
        assert_eq!(added.iter().map(|added| added.id.0).collect::<Vec<_>>(), [2, 1]);
        let edit = CoreEdit { importance: Some(1.0), ..CoreEdit::default() };
        let stale = refusal(core.if_version(1).edit(id(2), edit.clone()).await);
        assert!(matches!(stale, Refusal::CoreConflict { expected: 1, current } if current.version == 2));
        assert_eq!(core.if_version(2).edit(id(2), edit).await.unwrap(), 3);
        assert_eq!(core.forget(id(1), Some("moved to Fridays")).await.unwrap(), 4);
        let stats = core.stats().await.unwrap();
        assert_eq!((stats.entries, stats.forgotten, stats.rev), (1, 1, 4));
        assert_eq!(stats.oldest_entry, Some(crate::common::start()));
        let core = if home.is_shared() {
            corkboard.close().await.unwrap();
            home.open().await.core("rules").unwrap()
        } else {
            core
        };
        let entry = core.get(id(2)).await.unwrap().unwrap();
        assert_eq!((&*entry.content, entry.importance, entry.trust()), ("Tests first", 1.0, Trust::Agent));
        let entry = core.get(id(1)).await.unwrap().unwrap();
        let authors: Vec<_> = entry.provenance.iter().map(|origin| &*origin.author).collect();
        assert_eq!(authors, ["local", "bob"]);
        assert_eq!(entry.forgotten.as_ref().unwrap().reason.as_deref(), Some("moved to Fridays"));
        assert_eq!(core.restore(id(1)).await.unwrap(), 5);
        assert_eq!(refusal(core.restore(id(7)).await), Refusal::NotInCore { entry: id(7) });
        let gone = core.withdraw(Withdrawal::Author { name: "bob".into() }).await.unwrap();
        assert_eq!((gone.removed, gone.kept), (1, 1));
        assert_eq!(core.clear().await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn entries_are_listed_by_pages_and_filters() {
    let corkboard = Home::memory().open().await;
    let core = corkboard.core("many").unwrap();
    let entries = (1..=25u64).map(|number| NewCoreEntry {
        kind: if number.is_multiple_of(5) { MemoryKind::Insight } else { MemoryKind::Fact },
        trust: number.is_multiple_of(10).then_some(Trust::Outside),
        ..tagged(&format!("entry {number}"), if number > 20 { "late" } else { "early" })
    });
    core.add_many(entries.collect()).await.unwrap();
    core.forget(id(22), None).await.unwrap();
    let numbers = |page: &corkboard::CorePage| page.items.iter().map(|entry| entry.id.0).collect::<Vec<_>>();
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let mut page = core.entries().limit(8);
        if let Some(after) = after {
            page = page.after(after);
        }
        let page = page.await.unwrap();
        assert!(page.items.len() <= 8 && !page.items.is_empty());
        seen.extend(numbers(&page));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, (1..=25).filter(|number| *number != 22).collect::<Vec<_>>());
    assert_eq!(numbers(&core.entries().tag("late").await.unwrap()), [21, 23, 24, 25]);
    assert_eq!(numbers(&core.entries().kind(MemoryKind::Insight).await.unwrap()), [5, 10, 15, 20, 25]);
    assert_eq!(numbers(&core.entries().trust(Trust::Outside).await.unwrap()), [10, 20]);
    assert_eq!(numbers(&core.entries().forgotten(ForgottenEntries::Only).await.unwrap()), [22]);
    assert_eq!(core.entries().forgotten(ForgottenEntries::Include).await.unwrap().items.len(), 25);
    // The last page says that it is the last.
    assert_eq!(core.entries().after(id(20)).limit(4).await.unwrap().next, None);
}

#[tokio::test]
async fn a_search_follows_every_change() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let core = corkboard.core("rules").unwrap();
        core.add("Deployments go out on Tuesdays").await.unwrap();
        core.add(tagged("Coffee is in the kitchen", "deployment")).await.unwrap();
        assert_eq!(found(&core, "when do we deploy?").await, [1, 2]);
        core.forget(id(1), None).await.unwrap();
        assert_eq!(found(&core, "deployments").await, [2]);
        core.restore(id(1)).await.unwrap();
        let edit = CoreEdit { content: Some("Releases go out on Fridays".into()), ..CoreEdit::default() };
        core.edit(id(1), edit).await.unwrap();
        assert_eq!(found(&core, "Tuesdays").await, [0; 0]);
        assert_eq!(found(&core, "Fridays").await, [1]);
        let image = core.image().await.unwrap();
        core.clear().await.unwrap();
        assert_eq!(found(&core, "Fridays").await, [0; 0]);
        core.replace(image).await.unwrap();
        assert_eq!(found(&core, "Fridays").await, [1]);
        let outside = NewCoreEntry { trust: Some(Trust::Outside), .."Fridays are cancelled".into() };
        if home.is_shared() {
            home.open().await.core("rules").unwrap().acting_as(agent("bob")).add(outside).await.unwrap();
        } else {
            core.acting_as(agent("bob")).add(outside).await.unwrap();
        }
        let hits = core.search("Fridays cancelled").limit(1).await.unwrap();
        assert_eq!((hits[0].item.name(), hits[0].trust, &*hits[0].author), (id(3).to_string(), Trust::Outside, "bob"));
        assert_eq!(hits[0].snippet, "Fridays are cancelled");
        assert_eq!(refusal(core.search(" ").await), Refusal::Blank { what: "query".into() });
    })
    .await;
}

#[tokio::test]
async fn an_expired_entry_is_gone_swept_or_not() {
    on_every_store(async |home: Home| {
        let corkboard = home.open().await;
        let core = corkboard.core("rules").unwrap();
        let expires_at = Some(home.clock_now() + Duration::from_secs(60));
        core.add(NewCoreEntry { expires_at, .."The build is red".into() }).await.unwrap();
        core.add("The build is slow").await.unwrap();
        assert_eq!(found(&core, "red").await, [1]);
        home.clock.advance(Duration::from_secs(60));
        assert_eq!(found(&core, "red").await, [0; 0]);
        assert_eq!(core.get(id(1)).await.unwrap(), None);
        assert_eq!(core.entries().await.unwrap().items.len(), 1);
        assert_eq!((core.stats().await.unwrap().entries, core.stats().await.unwrap().rev), (1, 2));
        assert_eq!(corkboard.tick().await.unwrap(), 1);
        assert_eq!(core.stats().await.unwrap().rev, 3);
        assert_eq!(corkboard.tick().await.unwrap(), 0);
    })
    .await;
}

/// Two Corkboards, like two processes, add the same entries at the same time.
#[tokio::test]
async fn concurrent_additions_of_one_text_are_one_entry() {
    let home = Home::sqlite();
    let (ours, theirs) = (home.open().await, home.open().await);
    let learn = async |corkboard: &corkboard::Corkboard, name: &str| {
        let core = corkboard.core("shared").unwrap().acting_as(agent(name));
        for number in 0..20 {
            core.add(format!("lesson {number}")).await.unwrap();
        }
    };
    in_time(async { tokio::join!(learn(&ours, "ann"), learn(&theirs, "bob")) }).await;
    for corkboard in [&ours, &theirs] {
        let entries = corkboard.core("shared").unwrap().entries().await.unwrap().items;
        assert_eq!(entries.len(), 20);
        assert!(entries.iter().all(|entry| entry.provenance.len() == 2), "each entry has both origins");
    }
}

#[tokio::test]
async fn idempotency_keys_and_revision_conditions_are_checked() {
    let core = Home::memory().open().await.core("rules").unwrap();
    let named = core.idempotency_key("lesson-1");
    let first = named.add("one").await.unwrap();
    core.clear().await.unwrap();
    assert_eq!(named.add("one").await.unwrap(), first);
    assert_eq!(core.stats().await.unwrap().entries, 0);
    assert!(matches!(refusal(named.add("two").await), Refusal::IdempotencyMismatch { .. }));
    assert_eq!(refusal(core.if_rev(1).add("two").await), Refusal::RevConflict { expected: 1, current: 2 });
}

#[tokio::test]
async fn a_watcher_sees_every_revision() {
    let core = Home::memory().open().await.core("rules").unwrap();
    core.add("one").await.unwrap();
    let mut watch = core.watch(0).await.unwrap();
    core.forget(id(1), None).await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < 2 {
        if let Watched::Revision { commit, .. } = in_time(watch.next()).await.unwrap() {
            seen.extend(commit.events);
        }
    }
    assert!(matches!(seen[0], CoreEvent::EntryAdded { .. }));
    assert_eq!(seen[1], CoreEvent::EntryForgotten { id: id(1), reason: None });
}

#[tokio::test]
async fn only_people_delete_a_core() {
    let home = Home::sqlite();
    home.open().await.core("rules").unwrap().add("one").await.unwrap();
    for role in [Role::Orchestrator, Role::Worker, Role::Reviewer, Role::Observer] {
        let actor = Actor { role, ..agent("olga") };
        let corkboard = home.open_with(Options { actor, ..home.options() }).await;
        for refused in [corkboard.delete_core("rules").await, corkboard.delete_core("rules").hard().await] {
            assert!(matches!(refusal(refused), Refusal::RoleDenied { role: said, .. } if said == role));
        }
        assert_eq!(corkboard.core("rules").unwrap().stats().await.unwrap().entries, 1);
    }
    let actor = Actor { role: Role::Human, ..agent("olga") };
    assert!(home.open_with(Options { actor, ..home.options() }).await.delete_core("rules").await.unwrap());
}

#[tokio::test]
async fn an_observer_reads_and_writes_nothing() {
    let home = Home::memory();
    let observer = Actor { role: Role::Observer, ..agent("olga") };
    let core = home.open_with(Options { actor: observer, ..home.options() }).await.core("rules").unwrap();
    assert!(matches!(refusal(core.add("one").await), Refusal::RoleDenied { .. }));
    assert_eq!(core.stats().await.unwrap().rev, 0);
}
