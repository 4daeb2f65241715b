//! Writes of entries and notes.

use corkboard::{EntryChange, MemoryHandle, NoteId, Separator, WrittenEntry};

use super::body::{AppendBody, ChangedBody, EntryBody, NoteBody};
use crate::condition::{ItemConditions, SpaceConditions};
use crate::response::{ClearedBody, DeletedBody, IdBody, RevResponse, RevResult};

pub(super) async fn put_entry(
    memory: &MemoryHandle,
    key: &str,
    EntryBody { value, metadata }: EntryBody,
    conditions: ItemConditions,
) -> RevResult<WrittenEntry> {
    let set = memory.set(key, &value).metadata(metadata).type_name("json");
    Ok(written(set.conditions(conditions).await?))
}

pub(super) async fn append_to_entry(
    memory: &MemoryHandle,
    key: &str,
    AppendBody { text, separator }: AppendBody,
    conditions: ItemConditions,
) -> RevResult<WrittenEntry> {
    let append = memory.append(key, &text);
    let append = match separator {
        Separator::None => append,
        Separator::Line => append.on_new_line(),
    };
    Ok(written(append.conditions(conditions).await?))
}

pub(in crate::routes) async fn remove_entry(
    memory: &MemoryHandle,
    key: &str,
    conditions: ItemConditions,
) -> RevResult<DeletedBody> {
    let (rev, deleted) = memory.remove(key).conditions(conditions).with_rev().await?;
    Ok(RevResponse::new(DeletedBody { deleted }, rev))
}

pub(super) async fn change_entries(
    memory: &MemoryHandle,
    changes: Vec<EntryChange>,
    conditions: SpaceConditions,
) -> RevResult<ChangedBody> {
    let count = changes.len() as u64;
    let batch = changes.into_iter().fold(memory.batch(), |batch, change| batch.change(change));
    let version = batch.conditions(conditions).await?;
    Ok(RevResponse::new(ChangedBody { version, changes: count }, version))
}

pub(super) async fn add_note(
    memory: &MemoryHandle,
    NoteBody { text, trust }: NoteBody,
    conditions: SpaceConditions,
) -> RevResult<IdBody<NoteId>> {
    let add = memory.add_note(&text);
    let add = if let Some(trust) = trust { add.trust(trust) } else { add };
    let (rev, id) = add.conditions(conditions).with_rev().await?;
    Ok(RevResponse::new(IdBody { id }, rev).created())
}

pub(super) async fn delete_note(
    memory: &MemoryHandle,
    id: NoteId,
    conditions: SpaceConditions,
) -> RevResult<DeletedBody> {
    let (rev, deleted) = memory.remove_note(id).conditions(conditions).with_rev().await?;
    Ok(RevResponse::new(DeletedBody { deleted }, rev))
}

pub(in crate::routes) async fn clear(memory: &MemoryHandle, conditions: SpaceConditions) -> RevResult<ClearedBody> {
    let (rev, removed) = memory.clear().conditions(conditions).with_rev().await?;
    Ok(RevResponse::new(ClearedBody { removed }, rev))
}

/// Responds with 201 if the key is new.
pub(in crate::routes) fn written(written: WrittenEntry) -> RevResponse<WrittenEntry> {
    let answer = RevResponse::new(written, written.version).version(written.version);
    if written.is_update { answer } else { answer.created() }
}
