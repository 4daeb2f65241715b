//! Routes that read and change boards, one file per area.

mod choices;
mod claims;
mod create;
mod garbage;
mod learnings;
mod lifetime;
mod list;
mod orchestrator;
mod people;
mod records;
mod review;
mod show;
mod tasks;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use corkboard::boards::{
    Approval, Artifact, ArtifactId, BoardRecord, Choice, ChoiceId, Decision, DecisionId, Discovery, DiscoveryId,
    LearningId, Nudge, NudgeId, TaskId, TaskStatus,
};
use corkboard::{Board, BoardView, Conditions, Refusal};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};

use crate::Server;
use crate::condition::{ItemConditions, Seen, idempotency_key, if_match, if_rev};
use crate::cursor::{PageQuery, Position, Sort, SortField, time};
use crate::extract::text;
use crate::routes::prelude::*;

/// Header with the epoch of the caller's orchestrator role.
const ORCHESTRATOR: &str = "cork-orchestrator";
/// Header with the claim that a request belongs to.
const CLAIM: &str = "cork-claim";

pub(super) fn routes() -> Routes {
    Routes::new()
        .merge(list::routes())
        .merge(create::routes())
        .merge(show::routes())
        .merge(lifetime::routes())
        .merge(garbage::routes())
        .merge(tasks::routes())
        .merge(claims::routes())
        .merge(review::routes())
        .merge(choices::routes())
        .merge(records::routes())
        .merge(people::routes())
        .merge(orchestrator::routes())
        .merge(learnings::routes())
}

/// Path parameters that name a board.
trait OnBoard: DeserializeOwned + Send {
    fn board(&self) -> &str;
}

/// Declares path parameters: a board, and optionally a record on it.
macro_rules! board_path {
    ($path:ident $(, $record:ident: $id:ty, $about:literal)?) => {
        #[derive(Deserialize, IntoParams)]
        #[into_params(parameter_in = Path)]
        struct $path {
            /// ID of the board.
            #[param(example = "add-login-1a2b3c4d")]
            board: String,
            $(
                #[doc = $about]
                #[param(inline)]
                $record: $id,
            )?
        }

        impl OnBoard for $path {
            fn board(&self) -> &str {
                &self.board
            }
        }
    };
}

board_path!(BoardPath);
board_path!(TaskPath, task: TaskId, "ID of the task.");
board_path!(ChoicePath, choice: ChoiceId, "ID of the choice.");
board_path!(DecisionPath, decision: DecisionId, "ID of the decision.");
board_path!(DiscoveryPath, discovery: DiscoveryId, "ID of the discovery.");
board_path!(ArtifactPath, artifact: ArtifactId, "ID of the artifact.");
board_path!(NudgePath, nudge: NudgeId, "ID of the nudge.");
board_path!(
    LearningPath,
    learning: LearningId,
    "ID of the learning: `D-1`, `F-1`, `rework:T-1`, `estimate:word` or `sequence:one.two`."
);

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct AtQuery {
    /// Revision to read [default: the latest].
    at: Option<u64>,
}

/// An optional comment.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"comment": "good enough"}))]
struct CommentBody {
    /// Shown to everyone who reads the board.
    comment: Option<String>,
}

/// An optional reason.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(example = json!({"reason": "that happens once"}))]
struct ReasonBody {
    /// Recorded with the change.
    reason: Option<String>,
}

/// An empty response: the request succeeded.
#[derive(Serialize, ToSchema)]
struct DoneBody {}

/// The task's new status.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"status": "completed", "rev": 12}))]
struct MovedBody {
    /// Status of the task after the request.
    status: TaskStatus,
}

/// IDs of tasks.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"tasks": ["T-3", "T-4"], "rev": 12}))]
struct TaskIdsBody {
    /// IDs of the tasks.
    tasks: Vec<TaskId>,
}

/// A request that reads the latest or an earlier revision of a board.
struct BoardRead<P = BoardPath> {
    caller: Caller,
    path: P,
    at: Option<u64>,
}

impl<P: OnBoard> BoardRead<P> {
    async fn view(&self) -> Result<BoardView, HttpError> {
        let board = self.caller.board(self.path.board())?;
        Ok(match self.at {
            Some(rev) => board.at(rev).await?,
            None => board.view().await?,
        })
    }

    /// Responds with a page of the board's records of one kind.
    async fn list<R: ListedRecord>(&self, records: &RecordsQuery, page: &PageQuery) -> RevResult<ItemsBody<Arc<R>>> {
        let view = self.view().await?;
        let page = records.page::<R>(&view, page)?;
        Ok(RevResponse::new(page.into(), view.rev()))
    }

    /// Responds with a record of the board, or with 304 if the caller already has this version.
    async fn get<R: VersionedRecord>(&self, id: R::Id, seen: &Seen) -> Result<Response, HttpError> {
        let view = self.view().await?;
        let not_found = || Refusal::NotOnBoard { what: R::KIND.into(), id: id.to_string() };
        let record = R::all(view.state()).get(&id).ok_or_else(not_found)?;
        Ok(RevResponse::new(record, view.rev()).version(record.version()).unless(seen).into_response())
    }
}

impl<P: OnBoard> FromRequestParts<Server> for BoardRead<P> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, HttpError> {
        let caller = Caller::from_request_parts(parts, server).await?;
        let Path(path) = Path::from_request_parts(parts, server).await?;
        let Query(AtQuery { at }) = Query::from_request_parts(parts, server).await?;
        Ok(Self { caller, path, at })
    }
}

/// A request that writes to a board.
struct BoardWrite<P = BoardPath> {
    caller: Caller,
    path: P,
    conditions: WriteConditions,
}

impl<P: OnBoard> BoardWrite<P> {
    /// The board under all conditions of the request. `If-Match` is refused, because the target has no version.
    fn board(&self) -> Result<Board, HttpError> {
        self.conditions.on(&self.caller, self.path.board())
    }

    /// The board under all conditions but `If-Match`, and the version that `If-Match` requires.
    fn versioned(&self) -> Result<(Board, Option<u64>), HttpError> {
        self.conditions.versioned(&self.caller, self.path.board())
    }
}

impl<P: OnBoard> FromRequestParts<Server> for BoardWrite<P> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Self, HttpError> {
        let caller = Caller::from_request_parts(parts, server).await?;
        let Path(path) = Path::from_request_parts(parts, server).await?;
        let conditions = WriteConditions::from_request_parts(parts, server).await?;
        Ok(Self { caller, path, conditions })
    }
}

/// Responds with the board's revision after the request.
fn respond<T>(board: &Board, body: T) -> RevResult<T> {
    Ok(RevResponse::new(body, board.last_rev()))
}

/// Responds with 201. The version of the new record is the board's revision.
fn created<T>(board: &Board, body: T) -> RevResult<T> {
    let rev = board.last_rev();
    Ok(RevResponse::new(body, rev).created().version(rev))
}

/// Which records of a board are listed, and in which order.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct RecordsQuery {
    /// Only records that changed at or after this time.
    updated_since: Option<Timestamp>,
    /// Sort order [default: by ID].
    #[param(inline)]
    sort: Option<RecordOrder>,
}

type RecordOrder = Sort<RecordSort>;

#[derive(Clone, Copy)]
enum RecordSort {
    CreatedAt,
    UpdatedAt,
}

impl SortField for RecordSort {
    const ALL: &'static [(&'static str, Self)] = &[("created_at", Self::CreatedAt), ("updated_at", Self::UpdatedAt)];
}

/// A record that appears in lists.
trait ListedRecord: BoardRecord<Id: FromStr + fmt::Display> {
    fn id(&self) -> Self::Id;
    fn created_at(&self) -> Timestamp;
    fn updated_at(&self) -> Timestamp;
}

macro_rules! listed_records {
    ($($record:ty),*) => {$(
        impl ListedRecord for $record {
            fn id(&self) -> Self::Id {
                self.id
            }

            fn created_at(&self) -> Timestamp {
                self.created_at
            }

            fn updated_at(&self) -> Timestamp {
                self.updated_at
            }
        }
    )*};
}

listed_records!(Decision, Discovery, Artifact, Choice, Approval, Nudge);

/// A record that can be read by itself.
trait VersionedRecord: ListedRecord + Serialize {
    /// What the record is, in errors.
    const KIND: &str;
    fn version(&self) -> u64;
}

macro_rules! versioned_records {
    ($($record:ty: $kind:literal),* $(,)?) => {$(
        impl VersionedRecord for $record {
            const KIND: &str = $kind;

            fn version(&self) -> u64 {
                self.version
            }
        }
    )*};
}

versioned_records!(
    Decision: "decision",
    Discovery: "discovery",
    Artifact: "artifact",
    Choice: "choice",
    Nudge: "nudge",
);

impl RecordsQuery {
    /// One page of a board's records of one kind.
    fn page<R: ListedRecord>(
        &self,
        view: &BoardView,
        page: &PageQuery,
    ) -> Result<(Vec<Arc<R>>, Option<String>), HttpError> {
        let records = |after| {
            let records = view.state().records_after::<R>(after);
            records.filter(|record| self.updated_since.is_none_or(|since| record.updated_at() >= since))
        };
        match &self.sort {
            Some(sort) => page.sorted(sort, records(None), |record, field| match field {
                RecordSort::CreatedAt => (time(record.created_at()), record.id()),
                RecordSort::UpdatedAt => (time(record.updated_at()), record.id()),
            }),
            None => {
                let rest = |after: Option<Position<R::Id>>| records(after.map(|(_, id)| id));
                page.indexed("id", rest, |record| (0, record.id()))
            }
        }
    }
}

/// The conditions of a request that writes to a board.
struct WriteConditions {
    conditions: Conditions,
    /// Epoch of the caller's orchestrator role.
    orchestrator: Option<u64>,
    /// The claim that the request belongs to, with its epoch.
    claim: Option<(TaskId, u64)>,
}

impl WriteConditions {
    fn on(&self, caller: &Caller, board: &str) -> Result<Board, HttpError> {
        Ok(self.versioned(caller, board)?.0)
    }

    fn versioned(&self, caller: &Caller, board: &str) -> Result<(Board, Option<u64>), HttpError> {
        let Self { conditions, orchestrator, claim } = self;
        let mut board = caller.board(board)?.conditions(conditions.clone());
        if let Some(epoch) = orchestrator {
            board = board.as_orchestrator(*epoch);
        }
        if let Some((task, epoch)) = claim {
            board = board.under_claim(*task, *epoch);
        }
        Ok((board, conditions.if_version))
    }

    fn idempotency_key(self) -> Option<String> {
        self.conditions.idempotency_key
    }
}

impl<S: Send + Sync> FromRequestParts<S> for WriteConditions {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpError> {
        let ItemConditions(conditions) = ItemConditions::from_request_parts(parts, state).await?;
        let no_epoch = || {
            HttpError::invalid("orchestrator", "invalid Cork-Orchestrator: expected the epoch of your role, a number")
        };
        let no_claim = || HttpError::invalid("claim", "invalid Cork-Claim: expected a task and an epoch like T-3@7");
        let orchestrator = text(&parts.headers, ORCHESTRATOR)?.map(|epoch| epoch.parse().map_err(|_| no_epoch()));
        let claim = text(&parts.headers, CLAIM)?.map(|claim| {
            let (task, epoch) = claim.split_once('@').ok_or_else(no_claim)?;
            Ok::<_, HttpError>((task.parse().map_err(|_| no_claim())?, epoch.parse().map_err(|_| no_claim())?))
        });
        Ok(Self { conditions, orchestrator: orchestrator.transpose()?, claim: claim.transpose()? })
    }
}

/// OpenAPI parameters of [`WriteConditions`].
struct WriteParameters;

impl IntoParams for WriteParameters {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let parameter = |name: &str, place: ParameterIn, of: Type, words: &str| {
            let least = matches!(of, Type::Integer).then_some(0);
            let schema = ObjectBuilder::new().schema_type(SchemaType::Type(of)).minimum(least).build();
            let described = ParameterBuilder::new().name(name).parameter_in(place).description(Some(words));
            described.schema(Some(schema)).build()
        };
        vec![
            if_rev("Revision that the board must have"),
            idempotency_key(),
            parameter(
                "Cork-Orchestrator",
                ParameterIn::Header,
                Type::Integer,
                "Epoch of the caller's orchestrator role. Refused as `fenced` if another caller has taken over the role",
            ),
            parameter(
                "Cork-Claim",
                ParameterIn::Header,
                Type::String,
                "The claim that the request belongs to, such as `T-3@7`. Refused as `fenced` if another caller has claimed the task",
            ),
        ]
    }
}

/// OpenAPI parameter for a required version.
struct IfMatchParameter;

impl IntoParams for IfMatchParameter {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![if_match()]
    }
}

/// OpenAPI parameter of a request that only takes an idempotency key.
struct IdempotencyParameter;

impl IntoParams for IdempotencyParameter {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![idempotency_key()]
    }
}
