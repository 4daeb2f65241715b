//! Snapshots: export a whole memory, and restore it.

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use corkboard::{
    Error, ErrorKind, MemorySnapshot, Passphrase, PassphraseCost, Seal, SnapshotBytes, SnapshotError, SnapshotForm,
    SnapshotFormat, SnapshotKey, Strict,
};
use data_encoding::BASE64;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserializer;

use crate::Server;
use crate::condition::SpaceConditions;
use crate::extract::Raw;
use crate::request_body::RequestBody;
use crate::routes::prelude::*;

/// How long a request waits for its turn to open or seal a snapshot.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn routes() -> Routes {
    routes!(create_agent_snapshot, restore_agent).tag("agents")
}

/// Format of a new snapshot.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SnapshotBody {
    /// `json`, or `bytes` for a compressed file with a checksum.
    format: Option<SnapshotFormat>,
    /// Passphrase to encrypt the bytes with.
    #[schema(value_type = Option<String>)]
    passphrase: Option<Secret>,
    /// Key to encrypt the bytes with, instead of a passphrase: 32 random bytes in base64.
    #[schema(value_type = Option<String>)]
    key: Option<Secret>,
}

/// A passphrase or key, which is never shown.
struct Secret(SecretString);

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(String::deserialize(deserializer)?.into()))
    }
}

/// A snapshot as bytes, with the secret to decrypt it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SealedBody {
    /// The bytes, in base64.
    sealed: String,
    /// The passphrase used for encryption.
    #[schema(value_type = Option<String>)]
    passphrase: Option<Secret>,
    /// The key used for encryption, in base64.
    #[schema(value_type = Option<String>)]
    key: Option<Secret>,
}

/// A snapshot to restore.
#[derive(ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only for the OpenAPI description")]
enum RestoreBody {
    /// A snapshot as JSON, unchanged.
    Plain(Box<MemorySnapshot>),
    /// A snapshot as bytes, with the secret to decrypt it.
    Sealed(SealedBody),
}

/// Result of restoring a snapshot.
#[derive(Serialize, ToSchema)]
struct RestoredBody {
    /// Always `true`.
    restored: bool,
}

/// Export a snapshot of an agent's memory.
///
/// Contains working memory and long-term memory. By default it is JSON. With a secret, it is bytes that only the same
/// secret can decrypt.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/snapshot",
    params(("agent" = String, Path, description = "Name of the agent")),
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
    let form = format.unwrap_or(if is_sealed { SnapshotFormat::Bytes } else { SnapshotFormat::Json });
    let snapshot = caller.agent(&agent)?.snapshot().await?;
    let rev = snapshot.rev;
    let response = match form {
        SnapshotFormat::Json if is_sealed => {
            return Err(HttpError::invalid(
                "snapshot_form",
                "an encrypted snapshot cannot be JSON: leave out `format`, or send \"bytes\"",
            ));
        }
        SnapshotFormat::Json => RevResponse::new(Json(snapshot), rev).whole().into_response(),
        SnapshotFormat::Bytes => {
            let bytes = in_turn(&server, move || snapshot.to_bytes(&seal)).await?;
            let mut response = bytes.into_response();
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
            headers.insert(crate::response::REV, HeaderValue::from(rev));
            response
        }
    };
    // Reading and encrypting it may have taken long.
    caller.check_token().await?;
    Ok(response)
}

/// Restore an agent's memory from a snapshot.
///
/// Replaces the memory. The snapshot must come from the same agent. `if_rev` is the revision of its working memory. The
/// body is a snapshot as exported, JSON or bytes. To restore encrypted bytes, send them in base64 in a JSON document
/// together with the secret.
#[utoipa::path(
    post,
    path = "/v1/agents/{agent}/restore",
    params(("agent" = String, Path, description = "Name of the agent"), SpaceConditions),
    request_body(content(
        (RestoreBody = "application/json", example = json!({
            "sealed": "iUNPUksNChoB…", "passphrase": "correct horse battery staple"
        })),
        (Vec<u8> = "application/octet-stream", example = "CORKSNAP…")
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
) -> RevResult<RestoredBody> {
    let memory = caller.agent(&agent)?;
    let limits = caller.corkboard().options().limits.clone();
    let (bytes, seal, form) = working(move || unpacked(body)).await?;
    if let SnapshotForm::Bytes { json_bytes, .. } = form {
        // The bytes may claim to decompress to a thousand times their size.
        request_body.charge(usize::try_from(json_bytes).unwrap_or(usize::MAX)).await?;
    }
    let read = move || MemorySnapshot::from_bytes(&bytes, &seal, &limits).map_err(sent);
    let snapshot = in_turn(&server, read).await?;
    let rev = memory.restore(snapshot).conditions(conditions).await.map_err(sent)?;
    Ok(RevResponse::new(RestoredBody { restored: true }, rev))
}

/// Takes a request body apart: the snapshot's bytes, its secret, and its header.
fn unpacked(body: Bytes) -> Result<(Bytes, Seal, SnapshotForm), HttpError> {
    let (bytes, seal) = match serde_json::from_slice(&body) {
        Ok(Strict(SealedBody { sealed, passphrase, key })) => {
            let wrong = |_| HttpError::invalid("base64", "invalid `sealed`: expected base64");
            (Bytes::from(BASE64.decode(sealed.as_bytes()).map_err(wrong)?), seal(passphrase, key)?)
        }
        Err(_) => (body, Seal::Plain),
    };
    let form = SnapshotForm::of(&bytes).map_err(sent)?;
    Ok((bytes, seal, form))
}

/// Opens or seals one snapshot at a time. The turn lasts until the work is done, even if the client disconnects.
async fn in_turn<T, E>(server: &Server, work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, HttpError>
where
    T: Send + 'static,
    E: Send + 'static,
    HttpError: From<E>,
{
    let turn = tokio::time::timeout(PATIENCE, server.snapshots().clone().acquire_owned()).await;
    let turn = turn.ok().and_then(Result::ok).ok_or_else(|| {
        let seconds = PATIENCE.as_secs();
        let detail = format!("the server opens and seals one snapshot at a time; retry in {seconds} s");
        HttpError::new("busy", ErrorKind::Unavailable, detail).retry_after(seconds)
    })?;
    let in_turn = move || {
        let _turn = turn;
        work()
    };
    working(in_turn).await
}

/// A damaged or too new snapshot in a request is the client's error, not damage in the store.
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
            // The snapshot's author chose the cost of decryption. A server spends no more than on its own snapshots.
            let passphrase = Passphrase::new(passphrase.expose_secret()).accept_up_to(PassphraseCost::default());
            Ok(Seal::Passphrase(passphrase))
        }
        (None, Some(Secret(key))) => {
            let bytes = BASE64.decode(key.expose_secret().as_bytes()).ok();
            let key = bytes.and_then(|bytes| <[u8; SnapshotKey::BYTES]>::try_from(bytes).ok());
            let wrong = || HttpError::invalid("snapshot_key", "invalid `key`: expected 32 bytes in base64");
            Ok(Seal::Key(SnapshotKey::new(key.ok_or_else(wrong)?)))
        }
        (Some(_), Some(_)) => {
            Err(HttpError::invalid("snapshot_key", "send either a `passphrase` or a `key`, not both"))
        }
    }
}

/// Runs slow work on a blocking thread.
async fn working<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, HttpError>
where
    T: Send + 'static,
    E: Send + 'static,
    HttpError: From<E>,
{
    let failed = |error| Error::Panicked { message: format!("{error}") };
    Ok(tokio::task::spawn_blocking(work).await.map_err(failed)??)
}
