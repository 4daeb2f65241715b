//! A whole memory as a value that is kept elsewhere, and back.

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use corkboard::{
    Error, ErrorKind, MemorySnapshot, Passphrase, PassphraseCost, Seal, SnapshotBytes, SnapshotError, SnapshotForm,
    SnapshotKey, Strict,
};
use data_encoding::BASE64;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::Server;
use crate::caller::Caller;
use crate::condition::SpaceConditions;
use crate::error::HttpError;
use crate::extract::{OptionalBody, Path, Raw};
use crate::openapi::Problems;
use crate::request_body::RequestBody;
use crate::response::{RevResponse, WithRev};
use crate::routing::{Routes, routes};

/// How long a request waits for its turn to open or seal a snapshot.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn routes() -> Routes {
    Routes::new().routes(routes!(create_agent_snapshot)).routes(routes!(restore_agent))
}

/// In which form a snapshot is wanted.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SnapshotBody {
    /// `json`, or `bytes`: compressed, with a checksum.
    format: Option<Form>,
    /// Seals the bytes.
    #[schema(value_type = Option<String>)]
    passphrase: Option<Secret>,
    /// Seals the bytes, too: 32 of them that nobody can guess, in base64.
    #[schema(value_type = Option<String>)]
    key: Option<Secret>,
}

/// What only the caller knows. It is never shown.
struct Secret(SecretString);

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(String::deserialize(deserializer)?.into()))
    }
}

/// The form of a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Form {
    /// One JSON document.
    Json,
    /// Compressed, and sealed where a secret is given.
    Bytes,
}

/// A snapshot in bytes, with what opens it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SealedBody {
    /// The bytes, in base64.
    sealed: String,
    /// The passphrase that they were sealed with.
    #[schema(value_type = Option<String>)]
    passphrase: Option<Secret>,
    /// The key that they were sealed with, in base64.
    #[schema(value_type = Option<String>)]
    key: Option<Secret>,
}

/// What can be restored.
#[derive(ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it is only described")]
enum RestoreBody {
    /// A snapshot as it was answered.
    Plain(Box<MemorySnapshot>),
    /// One in bytes, with what opens it.
    Sealed(SealedBody),
}

/// What restoring did.
#[derive(Serialize, ToSchema)]
struct RestoredBody {
    /// `true`.
    restored: bool,
}

/// Take a snapshot of an agent's memory.
///
/// All that is kept in the store: working memory and long-term memory. Without a secret it is JSON, unless bytes are asked for;
/// with one, bytes that only the same secret opens.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/snapshot",
    tag = "agents",
    params(("agent" = String, Path, description = "Whose memory")),
    request_body(
        content = Option<SnapshotBody>,
        example = json!({"format": "bytes", "passphrase": "correct horse battery staple"})
    ),
    responses(
        (status = 200, description = "The snapshot", content(
            (MemorySnapshot = "application/json"),
            (Vec<u8> = "application/octet-stream")
        )),
        Problems
    )
)]
async fn create_agent_snapshot(
    State(server): State<Server>,
    caller: Caller,
    Path(agent): Path<String>,
    OptionalBody(SnapshotBody { format, passphrase, key }): OptionalBody<SnapshotBody>,
) -> Result<Response, HttpError> {
    let seal = seal(passphrase, key)?;
    let is_sealed = !matches!(seal, Seal::Plain);
    let form = format.unwrap_or(if is_sealed { Form::Bytes } else { Form::Json });
    let snapshot = caller.agent(&agent)?.snapshot().await?;
    let rev = snapshot.rev;
    let response = match form {
        Form::Json if is_sealed => {
            return Err(HttpError::invalid("snapshot_form", "what is sealed is bytes: ask for no json"));
        }
        Form::Json => RevResponse::new(Json(snapshot), rev).whole().into_response(),
        Form::Bytes => {
            let bytes = in_turn(&server, move || snapshot.to_bytes(&seal)).await?;
            let mut response = bytes.into_response();
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
            headers.insert(crate::response::REV, HeaderValue::from(rev));
            response
        }
    };
    // Reading and sealing it may have taken long.
    caller.check_token().await?;
    Ok(response)
}

/// Replace an agent's memory by a snapshot.
///
/// Of the same agent. `if_rev` is the revision of its working memory. It takes what `snapshot` answered, JSON or bytes; what is sealed goes in base64 into a document with its
/// secret.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/restore",
    tag = "agents",
    params(("agent" = String, Path, description = "Whose memory"), SpaceConditions),
    request_body(content(
        (RestoreBody = "application/json", example = json!({
            "sealed": "iUNPUksNChoB…", "passphrase": "correct horse battery staple"
        })),
        (Vec<u8> = "application/octet-stream")
    )),
    responses((status = 200, description = "It was replaced", body = WithRev<RestoredBody>), Problems)
)]
async fn restore_agent(
    State(server): State<Server>,
    caller: Caller,
    request_body: RequestBody,
    Path(agent): Path<String>,
    conditions: SpaceConditions,
    Raw(body): Raw,
) -> Result<RevResponse<RestoredBody>, HttpError> {
    let memory = caller.agent(&agent)?;
    let limits = caller.corkboard().options().limits.clone();
    let (bytes, seal, form) = working(move || unpacked(body)).await?;
    if let SnapshotForm::Bytes { json_bytes, .. } = form {
        // It may say that it holds a thousand times its own size.
        request_body.charge(usize::try_from(json_bytes).unwrap_or(usize::MAX)).await?;
    }
    let read = move || MemorySnapshot::from_bytes(&bytes, &seal, &limits).map_err(sent);
    let snapshot = in_turn(&server, read).await?;
    let rev = memory.restore(snapshot).conditions(conditions).await.map_err(sent)?;
    Ok(RevResponse::new(RestoredBody { restored: true }, rev))
}

/// The snapshot in a request's body: its bytes, what opens them, and what they say about themselves.
fn unpacked(body: Bytes) -> Result<(Bytes, Seal, SnapshotForm), HttpError> {
    let (bytes, seal) = match serde_json::from_slice(&body) {
        Ok(Strict(SealedBody { sealed, passphrase, key })) => {
            let wrong = |_| HttpError::invalid("base64", "`sealed` is no base64");
            (Bytes::from(BASE64.decode(sealed.as_bytes()).map_err(wrong)?), seal(passphrase, key)?)
        }
        Err(_) => (body, Seal::Plain),
    };
    let form = SnapshotForm::of(&bytes).map_err(sent)?;
    Ok((bytes, seal, form))
}

/// Opens or seals a snapshot once no other is. The turn lasts until that is done, even if the client has gone.
async fn in_turn<T, E>(server: &Server, work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, HttpError>
where
    T: Send + 'static,
    E: Send + 'static,
    HttpError: From<E>,
{
    let turn = tokio::time::timeout(PATIENCE, server.snapshots().clone().acquire_owned()).await;
    let turn = turn.ok().and_then(Result::ok).ok_or_else(|| {
        let seconds = PATIENCE.as_secs();
        let detail = format!("the server opens and seals one snapshot at a time: retry in {seconds} s");
        HttpError::new("busy", ErrorKind::Unavailable, detail).retry_after(seconds)
    })?;
    let in_turn = move || {
        let _turn = turn;
        work()
    };
    working(in_turn).await
}

/// What is damaged or too new was sent so: that is the caller's doing, not the store's.
fn sent(error: Error) -> HttpError {
    let is_sent = matches!(
        error,
        Error::NewerFormat { .. } | Error::Snapshot(SnapshotError::Damaged(_) | SnapshotError::Newer { .. })
    );
    if is_sent { HttpError::invalid(error.code(), error.to_string()) } else { error.into() }
}

fn seal(passphrase: Option<Secret>, key: Option<Secret>) -> Result<Seal, HttpError> {
    match (passphrase, key) {
        (None, None) => Ok(Seal::Plain),
        (Some(Secret(passphrase)), None) => {
            // Whoever made a snapshot chose what it costs to open it; a server spends no more than it would itself.
            let passphrase = Passphrase::new(passphrase.expose_secret()).accept_up_to(PassphraseCost::default());
            Ok(Seal::Passphrase(passphrase))
        }
        (None, Some(Secret(key))) => {
            let bytes = BASE64.decode(key.expose_secret().as_bytes()).ok();
            let key = bytes.and_then(|bytes| <[u8; SnapshotKey::BYTES]>::try_from(bytes).ok());
            let wrong = || HttpError::invalid("snapshot_key", "a key is 32 bytes in base64");
            Ok(Seal::Key(SnapshotKey::new(key.ok_or_else(wrong)?)))
        }
        (Some(_), Some(_)) => Err(HttpError::invalid("snapshot_key", "give a passphrase or a key, not both")),
    }
}

/// Does what takes long where nobody else waits for it.
async fn working<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, HttpError>
where
    T: Send + 'static,
    E: Send + 'static,
    HttpError: From<E>,
{
    let failed = |error| Error::Panicked { message: format!("{error}") };
    Ok(tokio::task::spawn_blocking(work).await.map_err(failed)??)
}
