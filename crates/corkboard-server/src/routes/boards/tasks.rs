//! Tasks and their dependencies.

use axum::Json;
use corkboard::boards::{
    ChoiceId, NewChoice, NewTask, Task, TaskEdit, TaskId, TaskList, TaskPosition, TaskStatus, TaskView,
};
use corkboard::{Composition, Strict, TaskDocument};
use jiff::Timestamp;
use serde::Deserializer;
use serde::de::Error;
use serde_json::Value;

use super::*;
use crate::comma_list::CommaList;
use crate::cursor::{PageQuery, Position, Sort, SortField, time};

pub(super) fn routes() -> Routes {
    routes!(
        list_tasks,
        add_tasks,
        get_task,
        edit_task,
        get_task_context,
        receive_task_context,
        add_dependencies,
        remove_dependency
    )
    .tag("tasks")
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct TasksQuery {
    /// Only tasks in this view, in the view's order. `needs_review` has the tasks with the status `review`. `blocked` has
    /// those with the status `blocked`, and also those with the status `pending` or `assigned` that wait for something.
    #[param(inline)]
    view: Option<TaskView>,
    /// Only tasks with one of these statuses, separated by commas.
    #[param(value_type = Option<String>, example = "in_progress,review")]
    status: Option<CommaList<TaskStatus>>,
    /// Only tasks assigned to or worked on by this agent.
    assigned_to: Option<String>,
    /// Only tasks that changed at or after this time.
    updated_since: Option<Timestamp>,
    /// Sort order [default: by ID; with `view=ready`, highest priority first].
    #[param(inline)]
    sort: Option<TaskOrder>,
    /// Revision to read [default: the latest].
    at: Option<u64>,
}

type TaskOrder = Sort<TaskSort>;

#[derive(Clone, Copy)]
enum TaskSort {
    CreatedAt,
    UpdatedAt,
    Priority,
}

impl SortField for TaskSort {
    const ALL: &'static [(&'static str, Self)] =
        &[("created_at", Self::CreatedAt), ("updated_at", Self::UpdatedAt), ("priority", Self::Priority)];
}

impl TasksQuery {
    fn is_for(&self, task: &Task) -> bool {
        self.status.as_ref().is_none_or(|CommaList(statuses)| statuses.contains(&task.status))
            && self.updated_since.is_none_or(|since| task.updated_at >= since)
            && self
                .assigned_to
                .as_deref()
                .is_none_or(|agent| task.assigned_to.as_ref().is_some_and(|assigned| assigned.as_str() == agent))
    }

    /// The shortest list that contains all requested tasks, or `None` if no task with this status can be in the view.
    fn list(&self) -> Option<TaskList> {
        use TaskStatus::{Assigned, Blocked, InProgress, Pending, Review};
        // Several statuses only filter.
        Some(match (self.view, self.status.as_ref().and_then(CommaList::only).copied()) {
            (None, None) => TaskList::All,
            (None, Some(status)) => TaskList::Status(status),
            (Some(TaskView::Ready), None | Some(Pending)) => TaskList::Ready,
            (Some(TaskView::Blocked), None | Some(Pending | Assigned)) => TaskList::Blocked,
            (Some(TaskView::Blocked), Some(Blocked)) => TaskList::Status(Blocked),
            (Some(TaskView::InProgress), None | Some(InProgress)) => TaskList::Status(InProgress),
            (Some(TaskView::NeedsReview), None | Some(Review)) => TaskList::Status(Review),
            (Some(_), Some(_)) => return None,
        })
    }
}

/// Tasks with dependencies, and choices between them. All are added, or none.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"tasks": [{"key": "schema", "title": "Design the schema", "priority": 10},
    {"key": "cookies", "title": "Sessions in cookies", "depends_on": ["schema"]},
    {"key": "tokens", "title": "Sessions in tokens", "depends_on": ["schema"]}],
    "choices": [{"question": "Where do sessions live?", "options": [{"name": "cookie", "tasks": ["cookies"]},
    {"name": "token", "tasks": ["tokens"]}]}]}))]
struct TaskBatch {
    /// The tasks. They refer to one another by `key`.
    #[serde(default)]
    tasks: Vec<NewTask>,
    /// The choices. They refer to tasks by `key` or ID.
    #[serde(default)]
    choices: Vec<NewChoice>,
}

/// One task, or a batch.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum AddTasksBody {
    /// One task.
    One(NewTask),
    /// A batch.
    Batch(TaskBatch),
}

impl<'de> Deserialize<'de> for AddTasksBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let body = Value::deserialize(deserializer)?;
        // Decides by the fields, so that an error is about the intended shape.
        let is_batch = body.get("tasks").or(body.get("choices")).is_some();
        let read = match is_batch {
            true => serde_json::from_value(body).map(|Strict(batch)| Self::Batch(batch)),
            false => serde_json::from_value(body).map(|Strict(task)| Self::One(task)),
        };
        read.map_err(D::Error::custom)
    }
}

/// What was added.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"id": null, "tasks": ["T-1", "T-2", "T-3"], "choices": [], "rev": 2}))]
struct TasksAddedBody {
    /// ID of the added task; null for a batch.
    id: Option<TaskId>,
    /// IDs of the tasks, in the order of the batch.
    tasks: Vec<TaskId>,
    /// IDs of the choices, in the order of the batch.
    choices: Vec<ChoiceId>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ContextQuery {
    /// The maximum number of tokens [default: the server's `context_tokens`].
    #[param(minimum = 128, maximum = 10_000_000)]
    budget: Option<u64>,
}

/// Options for a worker's prompt.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = TaskContextBody, example = json!({"budget": 8000}))]
struct ContextBody {
    /// The maximum number of tokens [default: the server's `context_tokens`].
    #[schema(minimum = 128, maximum = 10_000_000)]
    budget: Option<u64>,
}

/// A dependency to add.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"depends_on": "T-2"}))]
struct DependencyBody {
    /// Task that must finish first.
    depends_on: TaskId,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct DependencyQuery {
    /// Task to stop waiting for.
    #[param(inline)]
    depends_on: TaskId,
}

/// List tasks.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/tasks",
    params(BoardPath, TasksQuery, PageQuery),
    responses((status = 200, body = WithRev<ItemsBody<TaskDocument>>), Problems)
)]
async fn list_tasks(
    caller: Caller,
    Path(path): Path<BoardPath>,
    Query(query): Query<TasksQuery>,
    Query(page): Query<PageQuery>,
) -> Result<Response, HttpError> {
    let view = BoardRead { caller, path, at: query.at }.view().await?;
    let state = view.state();
    let list = query.list();
    let tasks =
        |after| list.map(|list| state.list(list, after)).into_iter().flatten().filter(|task| query.is_for(task));
    let page = match &query.sort {
        Some(sort) => page.sorted(sort, tasks(None), |task, field| {
            let value = match field {
                TaskSort::CreatedAt => time(task.created_at),
                TaskSort::UpdatedAt => time(task.updated_at),
                TaskSort::Priority => task.priority.into(),
            };
            (value, task.id)
        })?,
        None => {
            let is_by_priority = list == Some(TaskList::Ready);
            let order = if is_by_priority { "ready" } else { "id" };
            let rest = |after: Option<Position<TaskId>>| {
                tasks(after.map(|(value, id)| TaskPosition { priority: i32::try_from(-value).unwrap_or_default(), id }))
            };
            page.indexed(order, rest, |task| (if is_by_priority { -i64::from(task.priority) } else { 0 }, task.id))?
        }
    };
    let page = ItemsBody::from(page).map(|task| view.task_document(task));
    Ok(RevResponse::new(page, view.rev()).into_response())
}

/// Add a task or a whole plan.
///
/// Tasks of a plan refer to one another by `key`. A plan with circular dependencies is refused with the cycle
/// (`cycle`), and nothing is added.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks",
    params(BoardPath, WriteParameters),
    request_body(content = AddTasksBody, example = json!({"tasks": [
        {"key": "schema", "title": "Design the schema"},
        {"key": "cookie", "title": "Sessions in a cookie", "depends_on": ["schema"]},
        {"key": "token", "title": "Sessions by tokens", "depends_on": ["schema"], "needs_review": true}]})),
    responses((status = 201, body = WithRev<TasksAddedBody>), Problems)
)]
async fn add_tasks(write: BoardWrite, Body(body): Body<AddTasksBody>) -> RevResult<TasksAddedBody> {
    let board = write.board()?;
    let added = match body {
        AddTasksBody::One(task) => {
            let id = board.add_task(task).await?;
            TasksAddedBody { id: Some(id), tasks: vec![id], choices: Vec::new() }
        }
        AddTasksBody::Batch(TaskBatch { tasks, choices }) => {
            let (tasks, choices) = board.add_tasks(tasks, choices).await?;
            TasksAddedBody { id: None, tasks, choices }
        }
    };
    let (one, rev) = (added.id, board.last_rev());
    let answer = RevResponse::new(added, rev).created();
    Ok(if one.is_some() { answer.version(rev) } else { answer })
}

/// Read a task.
///
/// `ETag` is its version and a hash, because `blocks`, `hindrances` and the deadline of its claim can change without a new
/// version. `If-Match` ignores the hash.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/tasks/{task}",
    params(TaskPath, AtQuery, Seen),
    responses(
        (status = 200, description = "`ETag` is its version and a hash", body = WithRev<TaskDocument>),
        (status = 304, description = "Nothing has changed"),
        Problems
    )
)]
async fn get_task(read: BoardRead<TaskPath>, seen: Seen) -> Result<Response, HttpError> {
    let view = read.view().await?;
    let task = view.task(read.path.task)?;
    let document = view.task_document(task);
    Ok(RevResponse::new(document, view.rev()).version_with_hash(task.version).unless(&seen).into_response())
}

/// Update a task.
#[utoipa::path(
    patch,
    path = "/v1/boards/{board}/tasks/{task}",
    params(TaskPath, IfMatchParameter, WriteParameters),
    request_body(content = TaskEdit, example = json!({"priority": 20, "estimate_minutes": 45})),
    responses((status = 200, body = WithRev<VersionBody>), Problems)
)]
async fn edit_task(write: BoardWrite<TaskPath>, Body(edit): Body<TaskEdit>) -> RevResult<VersionBody> {
    let (board, if_version) = write.versioned()?;
    let version = board.edit_task(write.path.task, edit, if_version).await?;
    Ok(RevResponse::new(VersionBody { version }, version).version(version))
}

/// Preview a worker's prompt for a task.
///
/// The prompt that `POST` on the same path returns. Read-only: no nudge counts as delivered, and no claim is renewed.
#[utoipa::path(
    get,
    path = "/v1/boards/{board}/tasks/{task}/context",
    params(TaskPath, ContextQuery),
    responses((status = 200, body = Composition), Problems)
)]
async fn get_task_context(
    caller: Caller,
    Path(path): Path<TaskPath>,
    Query(ContextQuery { budget }): Query<ContextQuery>,
) -> Result<impl IntoResponse, HttpError> {
    let composition = caller.board(&path.board)?.preview_for_task(path.task, budget).await?;
    let rev = composition.rev;
    Ok(RevResponse::new(Json(composition), rev).whole())
}

/// Get a worker's prompt for a task.
///
/// The prompt fits a token budget. It contains goal, constraints, results of the task's dependencies, decisions,
/// discoveries, artifacts, entries from memory cores, and nudges for the caller. The nudges count as delivered, and the
/// caller's claim on the task is renewed. A repeat is safe.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/context",
    params(TaskPath),
    request_body = Option<ContextBody>,
    responses((status = 200, body = Composition), Problems)
)]
async fn receive_task_context(
    caller: Caller,
    Path(path): Path<TaskPath>,
    OptionalBody(ContextBody { budget }): OptionalBody<ContextBody>,
) -> Result<impl IntoResponse, HttpError> {
    let composition = caller.board(&path.board)?.context_for_task(path.task, budget).await?;
    let rev = composition.rev;
    Ok(RevResponse::new(Json(composition), rev).whole())
}

/// Add a dependency: make a task wait for another.
///
/// A circular dependency is refused with the cycle (`cycle`).
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/tasks/{task}/dependencies",
    params(TaskPath, WriteParameters),
    request_body = DependencyBody,
    responses((status = 200, body = WithRev<DoneBody>), Problems)
)]
async fn add_dependencies(write: BoardWrite<TaskPath>, Body(body): Body<DependencyBody>) -> RevResult<DoneBody> {
    let board = write.board()?;
    board.add_dependency(write.path.task, body.depends_on).await?;
    respond(&board, DoneBody {})
}

/// Remove a dependency.
///
/// The task no longer waits for the other and may become ready. Refused once work on it has started (`already_begun`).
#[utoipa::path(
    delete,
    path = "/v1/boards/{board}/tasks/{task}/dependencies",
    params(TaskPath, DependencyQuery, WriteParameters),
    responses((status = 200, body = WithRev<DeletedBody>), Problems)
)]
async fn remove_dependency(
    write: BoardWrite<TaskPath>,
    Query(query): Query<DependencyQuery>,
) -> RevResult<DeletedBody> {
    let board = write.board()?;
    let deleted = board.remove_dependency(write.path.task, query.depends_on).await?;
    respond(&board, DeletedBody { deleted })
}
