//! Entries of memory cores: add, read, search, update, forget and restore.

use std::sync::Arc;

use corkboard::cores::{Added, CoreEdit, CoreEntry, CoreEntryId, NewCoreEntry, Trust};
use corkboard::{CoreEntries, CoreEntryDocument, CorePage, ForgottenEntries, MemoryKind, Strict};

use crate::search_query::{HitsBody, SearchQuery};
use jiff::Timestamp;
use serde::Deserializer;
use serde::de::Error;
use serde_json::Value;

use super::cores::CorePath;
use crate::condition::{ItemConditions, Seen, SpaceConditions};
use crate::cursor::{PageQuery, Sort, SortField, share, time};
use crate::routes::prelude::*;

pub(super) fn routes() -> Routes {
    routes!(
        list_core_entries,
        add_core_entry,
        get_core_entry,
        edit_core_entry,
        forget_core_entry,
        restore_core_entry,
        search_core
    )
    .tag("cores")
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct EntryPath {
    /// Name of the core. An agent's own core is `agent:` and the agent's name.
    core: String,
    /// ID of the entry.
    #[param(value_type = String, pattern = "^[Ee]-[0-9]{1,18}$", example = "E-1")]
    id: CoreEntryId,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only entries with this tag.
    tag: Option<String>,
    /// Only entries of this kind.
    #[param(inline)]
    kind: Option<MemoryKind>,
    /// Only entries with exactly this trust level.
    #[param(inline)]
    trust: Option<Trust>,
    /// How to treat forgotten entries that can still be restored.
    #[serde(default)]
    #[param(inline)]
    forgotten: ForgottenEntries,
    /// Only entries that changed at or after this time.
    updated_since: Option<Timestamp>,
    /// Sort order [default: by ID].
    #[param(inline)]
    sort: Option<CoreEntryOrder>,
}

type CoreEntryOrder = Sort<CoreEntrySort>;

#[derive(Clone, Copy)]
enum CoreEntrySort {
    CreatedAt,
    UpdatedAt,
    Importance,
}

impl SortField for CoreEntrySort {
    const ALL: &'static [(&'static str, Self)] =
        &[("created_at", Self::CreatedAt), ("updated_at", Self::UpdatedAt), ("importance", Self::Importance)];
}

/// One entry, or several in one revision.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum AddBody {
    One(NewCoreEntry),
    Many(ManyEntries),
}

/// Entries to add in one revision: all of them, or none.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ManyEntries {
    entries: Vec<NewCoreEntry>,
}

impl<'de> Deserialize<'de> for AddBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Decides by the fields, so that an error is about the intended shape.
        let body = Value::deserialize(deserializer)?;
        match body.get("entries") {
            Some(_) => serde_json::from_value(body).map(|Strict(many)| Self::Many(many)).map_err(D::Error::custom),
            None => serde_json::from_value(body).map(|Strict(one)| Self::One(one)).map_err(D::Error::custom),
        }
    }
}

/// The added or updated entries.
#[derive(Serialize, ToSchema)]
#[schema(as = CoreAddedBody)]
struct AddedBody {
    /// ID of the entry that contains the first addition.
    id: CoreEntryId,
    /// The entries that contain the additions, in the order of the request.
    entries: Vec<Added>,
}

/// Why an entry is forgotten.
#[derive(Deserialize, Default, ToSchema)]
#[schema(as = CoreForgetBody)]
#[serde(deny_unknown_fields, default)]
struct ForgetBody {
    /// Recorded with the forgotten entry.
    reason: Option<String>,
}

/// List a core's entries.
///
/// Oldest first unless `sort` says otherwise.
#[utoipa::path(
    get,
    path = "/v1/cores/{core}/entries",
    params(CorePath, ListQuery, PageQuery),
    responses((status = 200, body = WithRev<ItemsBody<CoreEntryDocument>>), Problems)
)]
async fn list_core_entries(
    caller: Caller,
    Path(path): Path<CorePath>,
    Query(query): Query<ListQuery>,
    Query(page): Query<PageQuery>,
) -> RevResult<ItemsBody<CoreEntryDocument>> {
    let core = caller.core(&path.core)?;
    let ListQuery { tag, kind, trust, forgotten, updated_since, sort } = query;
    let mut entries = core.entries().forgotten(forgotten);
    if let Some(tag) = tag {
        entries = entries.tag(tag);
    }
    if let Some(kind) = kind {
        entries = entries.kind(kind);
    }
    if let Some(trust) = trust {
        entries = entries.trust(trust);
    }
    if let Some(since) = updated_since {
        entries = entries.updated_since(since);
    }
    let (page, rev) = match sort {
        Some(sort) => {
            let (items, rev) = all(entries).await?;
            let page = page.sorted(&sort, items.into_iter(), |entry, field| match field {
                CoreEntrySort::CreatedAt => (time(entry.created_at), entry.id),
                CoreEntrySort::UpdatedAt => (time(entry.updated_at), entry.id),
                CoreEntrySort::Importance => (share(entry.importance), entry.id),
            })?;
            (page, rev)
        }
        None => {
            if let Some((_, after)) = page.position::<CoreEntryId>("id")? {
                entries = entries.after(after);
            }
            // One more than fits on the page shows whether there is a next page.
            let CorePage { items, rev, .. } = entries.limit(page.size() + 1).await?;
            (page.indexed("id", |_| items.into_iter(), |entry| (0, entry.id))?, rev)
        }
    };
    Ok(RevResponse::new(ItemsBody::from(page).map(CoreEntryDocument::from), rev))
}

/// All requested entries, in order of ID.
async fn all(entries: CoreEntries<'_>) -> Result<(Vec<Arc<CoreEntry>>, u64), HttpError> {
    let mut rest = entries.limit(CoreEntries::MAX_LIMIT);
    let mut all = Vec::new();
    loop {
        let CorePage { items, next, rev } = rest.clone().await?;
        all.extend(items);
        match next {
            Some(last) => rest = rest.after(last),
            None => return Ok((all, rev)),
        }
    }
}

/// Add one or more entries to a core.
///
/// If an entry with the same text exists, ignoring white space, the new details are merged into it. Several entries are
/// added in one revision: all of them, or none.
#[utoipa::path(
    post,
    path = "/v1/cores/{core}/entries",
    params(CorePath, SpaceConditions),
    request_body(content = AddBody, examples(
        ("one" = (value = json!({"content": "Deployments go out on Tuesdays", "tags": ["release"], "importance": 0.8}))),
        ("several" = (value = json!({"entries": [{"content": "Test first"}, {"content": "Then ship"}]})))
    )),
    responses((status = 201, body = WithRev<AddedBody>), Problems)
)]
async fn add_core_entry(
    caller: Caller,
    Path(path): Path<CorePath>,
    conditions: SpaceConditions,
    Body(body): Body<AddBody>,
) -> RevResult<AddedBody> {
    let core = caller.core(&path.core)?;
    let entries = match body {
        AddBody::One(entry) => vec![entry],
        AddBody::Many(ManyEntries { entries }) => entries,
    };
    let entries = core.conditions(conditions).add_many(entries).await?;
    let nothing = || HttpError::invalid("nothing", "`entries` is empty; send at least one entry");
    let id = entries.first().ok_or_else(nothing)?.id;
    Ok(RevResponse::new(AddedBody { id, entries }, core.rev().await?).created())
}

/// Read an entry of a core, including forgotten ones.
#[utoipa::path(
    get,
    path = "/v1/cores/{core}/entries/{id}",
    params(EntryPath, Seen),
    responses(
        (status = 200, description = "`ETag` is its version", body = WithRev<CoreEntryDocument>),
        (status = 304, description = "The version has not changed"),
        Problems
    )
)]
async fn get_core_entry(caller: Caller, Path(path): Path<EntryPath>, seen: Seen) -> RevResult<CoreEntryDocument> {
    let core = caller.core(&path.core)?;
    let entry = core.get(path.id).await?;
    let entry = entry.ok_or_else(|| HttpError::not_found(format!("there is no entry {} in this core", path.id)))?;
    let version = entry.version;
    Ok(RevResponse::new(entry.into(), core.rev().await?).version(version).unless(&seen))
}

/// Update an entry of a core.
///
/// Omitted fields stay unchanged. A new text gets at most the trust level of its author. Only people can raise an
/// entry's trust level.
#[utoipa::path(
    patch,
    path = "/v1/cores/{core}/entries/{id}",
    params(EntryPath, ItemConditions),
    request_body(content = CoreEdit, example = json!({"content": "Deployments go out on Fridays", "importance": 0.9})),
    responses((status = 200, body = WithRev<VersionBody>), Problems)
)]
async fn edit_core_entry(
    caller: Caller,
    Path(path): Path<EntryPath>,
    conditions: ItemConditions,
    Body(body): Body<CoreEdit>,
) -> RevResult<VersionBody> {
    let core = caller.core(&path.core)?.conditions(conditions);
    Ok(changed(core.edit(path.id, body).await?))
}

/// Forget an entry of a core. It can be restored.
#[utoipa::path(
    post,
    path = "/v1/cores/{core}/entries/{id}/forget",
    params(EntryPath, ItemConditions),
    request_body(content = ForgetBody, example = json!({"reason": "now on Fridays"})),
    responses((status = 200, body = WithRev<VersionBody>), Problems)
)]
async fn forget_core_entry(
    caller: Caller,
    Path(path): Path<EntryPath>,
    conditions: ItemConditions,
    Body(body): Body<ForgetBody>,
) -> RevResult<VersionBody> {
    let core = caller.core(&path.core)?.conditions(conditions);
    Ok(changed(core.forget(path.id, body.reason.as_deref()).await?))
}

/// Restore a forgotten entry of a core.
#[utoipa::path(
    post,
    path = "/v1/cores/{core}/entries/{id}/restore",
    params(EntryPath, ItemConditions),
    responses((status = 200, body = WithRev<VersionBody>), Problems)
)]
async fn restore_core_entry(
    caller: Caller,
    Path(path): Path<EntryPath>,
    conditions: ItemConditions,
) -> RevResult<VersionBody> {
    let core = caller.core(&path.core)?.conditions(conditions);
    Ok(changed(core.restore(path.id).await?))
}

/// An item's version is the revision that last changed it.
fn changed(version: u64) -> RevResponse<VersionBody> {
    RevResponse::new(VersionBody { version }, version).version(version)
}

/// Search a core's entries.
///
/// Forgotten entries are not found. A search finds everything written before it.
#[utoipa::path(
    get,
    path = "/v1/cores/{core}/search",
    params(CorePath, SearchQuery),
    responses((status = 200, body = WithRev<HitsBody>), Problems)
)]
async fn search_core(
    caller: Caller,
    Path(path): Path<CorePath>,
    Query(query): Query<SearchQuery>,
) -> RevResult<HitsBody> {
    query.run(caller.core(&path.core)?.search(&query.q)).await
}
