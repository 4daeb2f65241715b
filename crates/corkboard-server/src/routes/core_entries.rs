//! The entries of memory cores: added, read, found, changed, forgotten and restored.

use std::sync::Arc;

use corkboard::cores::{Added, CoreEdit, CoreEntry, CoreEntryId, NewCoreEntry, Trust};
use corkboard::{CoreEntries, CoreHit, CorePage, ForgottenEntries, MemoryKind, Search, Strict};
use jiff::Timestamp;
use serde::Deserializer;
use serde::de::Error;
use serde_json::Value;

use super::cores::CorePath;
use crate::condition::{ItemConditions, SpaceConditions};
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

/// Which entry.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct EntryPath {
    /// The core's name. An agent's own core is `agent:` and its name.
    core: String,
    /// The entry's number.
    #[param(value_type = String, pattern = "^[Ee]-[0-9]{1,18}$", example = "E-1")]
    id: CoreEntryId,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only those with this tag.
    tag: Option<String>,
    /// Only those of this kind.
    #[param(inline)]
    kind: Option<MemoryKind>,
    /// Only those that are trusted just so far.
    #[param(inline)]
    trust: Option<Trust>,
    /// What to do about entries that are forgotten and can be restored.
    #[serde(default)]
    #[param(inline)]
    forgotten: ForgottenEntries,
    /// Only those that changed at this time or later.
    updated_since: Option<Timestamp>,
    /// The order [default: by id].
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

/// Entries that are added in one revision: all of them, or none.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ManyEntries {
    entries: Vec<NewCoreEntry>,
}

impl<'de> Deserialize<'de> for AddBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // By hand, so that what is wrong with it is said of the one that is meant.
        let body = Value::deserialize(deserializer)?;
        match body.get("entries") {
            Some(_) => serde_json::from_value(body).map(|Strict(many)| Self::Many(many)).map_err(D::Error::custom),
            None => serde_json::from_value(body).map(|Strict(one)| Self::One(one)).map_err(D::Error::custom),
        }
    }
}

/// What became of what was added.
#[derive(Serialize, ToSchema)]
#[schema(as = CoreAddedBody)]
struct AddedBody {
    /// The entry that says the first of them now.
    id: CoreEntryId,
    /// The entries that say it now, in the order of what was added.
    entries: Vec<Added>,
}

/// Why something is forgotten.
#[derive(Deserialize, Default, ToSchema)]
#[schema(as = CoreForgetBody)]
#[serde(deny_unknown_fields, default)]
struct ForgetBody {
    /// Why.
    reason: Option<String>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SearchQuery {
    /// What is looked for, in words.
    q: String,
    /// How many at most.
    #[serde(default = "hits")]
    #[param(minimum = 1, maximum = 50, default = 10)]
    limit: usize,
}

fn hits() -> usize {
    Search::LIMIT
}

/// What was found.
#[derive(Serialize, ToSchema)]
#[schema(as = CoreHitsBody)]
struct HitsBody {
    /// The best first.
    hits: Vec<CoreHit>,
}

/// List a core's entries.
///
/// Oldest first if `sort` does not say otherwise, a page at a time.
#[utoipa::path(
    get,
    path = "/v1/cores/{core}/entries",
    params(CorePath, ListQuery, PageQuery),
    responses((status = 200, body = WithRev<ItemsBody<CoreEntry>>), Problems)
)]
async fn list_core_entries(
    caller: Caller,
    Path(path): Path<CorePath>,
    Query(query): Query<ListQuery>,
    Query(page): Query<PageQuery>,
) -> RevResult<ItemsBody<Arc<CoreEntry>>> {
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
            // One more shows whether there is a next page.
            let CorePage { items, rev, .. } = entries.limit(page.size() + 1).await?;
            (page.indexed("id", |_| items.into_iter(), |entry| (0, entry.id))?, rev)
        }
    };
    Ok(RevResponse::new(page.into(), rev))
}

/// All entries that are asked for, in the order of their ids.
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

/// Add an entry to a core, or several.
///
/// If an entry says the same already, white space aside, that one takes in what is new. Several are added in one revision:
/// all of them, or none.
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
    let nothing = || HttpError::invalid("nothing", "there are no entries in it");
    let id = entries.first().ok_or_else(nothing)?.id;
    Ok(RevResponse::new(AddedBody { id, entries }, core.rev().await?).created())
}

/// Read an entry of a core, forgotten or not.
#[utoipa::path(
    get,
    path = "/v1/cores/{core}/entries/{id}",
    params(EntryPath),
    responses((status = 200, body = WithRev<CoreEntry>), Problems)
)]
async fn get_core_entry(caller: Caller, Path(path): Path<EntryPath>) -> RevResult<Arc<CoreEntry>> {
    let core = caller.core(&path.core)?;
    let entry = core.get(path.id).await?;
    let entry = entry.ok_or_else(|| HttpError::not_found(format!("there is no entry {} in it", path.id)))?;
    let version = entry.version;
    Ok(RevResponse::new(entry, core.rev().await?).version(version))
}

/// Change an entry of a core.
///
/// What is not given stays. A new text is trusted no further than whoever wrote it; only people raise an entry's trust.
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

/// Forget an entry of a core, so that it can be restored.
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

/// Bring back an entry of a core that was forgotten.
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

/// Look for entries of a core by their words.
///
/// What is forgotten is not found; what was written is found by the next search.
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
    let core = caller.core(&path.core)?;
    let rev = core.rev().await?;
    let hits = core.search(&query.q).limit(query.limit).await?;
    Ok(RevResponse::new(HitsBody { hits }, rev))
}
