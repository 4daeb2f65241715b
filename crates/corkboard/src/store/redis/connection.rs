//! A connection that many calls share and that reconnects automatically.
//!
//! Concurrent calls are pipelined: the connection writes all waiting commands at once, and the server answers them in
//! order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, Pipeline, PushInfo, PushKind, RedisError, RedisResult, ServerError};
use redis::{ServerErrorKind, Value};
use tokio::runtime::Handle;

use super::address::Address;
use super::answer::cannot_connect;
use crate::backoff::{Backoff, jitter};

/// How long calls wait for a server that has gone away. After a longer outage, a call only waits for the next attempt.
const PATIENCE: Duration = Duration::from_secs(3);
const CONNECT: Duration = Duration::from_secs(3);
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(10), Duration::from_millis(500));
/// Maximum number of calls waiting to be sent.
const WAITING: usize = 1024;

/// Why a call failed.
#[derive(Debug, Clone)]
pub(super) enum RedisCallError {
    NotSent(String),
    /// Nothing was sent, and a retry will not help.
    Denied(String),
    /// It was sent, and the connection was lost before the answer.
    Cut(String),
    /// It was sent, and the answer timed out.
    Late(String),
    Refused(ServerError),
    Closed,
}

/// One connection to the server, opened when it is needed.
pub(super) struct Connection {
    address: Arc<Address>,
    answer_within: Duration,
    /// Runs the connection's task, independent of the caller's runtime.
    runtime: Handle,
    live: Mutex<Option<OpenConnection>>,
    /// Held while connecting, so that only one caller connects.
    connecting: tokio::sync::Mutex<Option<Outage>>,
    attempts: AtomicU64,
    last_failure: Mutex<String>,
    closed: AtomicBool,
    connects: AtomicU64,
}

struct Outage {
    since: Instant,
    backoff: Backoff,
    next: Instant,
}

/// An open connection, as far as known.
#[derive(Clone)]
pub(super) struct OpenConnection {
    pub(super) connection: MultiplexedConnection,
    ended: Arc<AtomicBool>,
}

impl Connection {
    pub(super) fn new(address: Arc<Address>, answer_within: Duration, runtime: Handle) -> Self {
        Self {
            address,
            answer_within,
            runtime,
            live: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
            attempts: AtomicU64::new(0),
            last_failure: Mutex::new("Redis cannot be reached".into()),
            closed: AtomicBool::new(false),
            connects: AtomicU64::new(0),
        }
    }

    pub(super) async fn ask(&self, command: &Cmd) -> Result<Value, RedisCallError> {
        let mut live = self.live().await?;
        let answer = live.connection.send_packed_command(command).await;
        match answer {
            Ok(Value::ServerError(error)) => {
                self.refused(&live, &error);
                Err(RedisCallError::Refused(error))
            }
            Ok(value) => Ok(value),
            Err(error) => Err(self.lost(&live, &error)),
        }
    }

    /// Sends commands that the server runs one after the other. Each has its own answer or refusal.
    pub(super) async fn ask_all(&self, commands: &Pipeline) -> Result<Vec<Result<Value, ServerError>>, RedisCallError> {
        let mut live = self.live().await?;
        let answers = live.connection.send_packed_commands(commands, 0, commands.len()).await;
        let answers = answers.map_err(|error| self.lost(&live, &error))?;
        if answers.len() != commands.len() {
            return Err(RedisCallError::Cut("Redis did not answer every command".into()));
        }
        let answer = |value| match value {
            Value::ServerError(error) => {
                self.refused(&live, &error);
                Err(error)
            }
            value => Ok(value),
        };
        Ok(answers.into_iter().map(answer).collect())
    }

    /// Sends a command that may be repeated, and repeats it once if the connection is lost.
    pub(super) async fn ask_again(&self, command: &Cmd) -> Result<Value, RedisCallError> {
        match self.ask(command).await {
            Err(RedisCallError::Cut(_)) => self.ask(command).await,
            answered => answered,
        }
    }

    /// Like [`Connection::ask_again`], for several commands. Returns the first refusal, if any.
    pub(super) async fn ask_all_again(&self, commands: &Pipeline) -> Result<Vec<Value>, RedisCallError> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let answers = match self.ask_all(commands).await {
            Err(RedisCallError::Cut(_)) => self.ask_all(commands).await?,
            answered => answered?,
        };
        answers.into_iter().collect::<Result<_, _>>().map_err(RedisCallError::Refused)
    }

    /// Sends a command without waiting for the answer. The command may get lost.
    pub(super) async fn tell(&self, mut command: Cmd) {
        if let Some(mut live) = self.held() {
            let _ = live.connection.send_packed_command(command.set_no_response(true)).await;
        }
    }

    /// Returns the open connection, or opens a new one within [`PATIENCE`].
    async fn live(&self) -> Result<OpenConnection, RedisCallError> {
        if let Some(live) = self.held() {
            return Ok(live);
        }
        let connected = tokio::time::timeout(PATIENCE, self.connect_patiently()).await;
        connected.unwrap_or_else(|_| Err(RedisCallError::NotSent(self.last_failure.lock().clone())))
    }

    fn held(&self) -> Option<OpenConnection> {
        self.live.lock().clone().filter(|live| !live.ended.load(Ordering::Acquire))
    }

    async fn connect_patiently(&self) -> Result<OpenConnection, RedisCallError> {
        let entered = self.attempts.load(Ordering::Relaxed);
        let mut outage = self.connecting.lock().await;
        loop {
            // Another caller may have connected in the meantime.
            if let Some(live) = self.held() {
                return Ok(live);
            }
            if let Some(known) = &*outage {
                // During a long outage each call only waits for one attempt, its own or another caller's.
                if known.since.elapsed() > PATIENCE && self.attempts.load(Ordering::Relaxed) != entered {
                    return Err(RedisCallError::NotSent(self.last_failure.lock().clone()));
                }
                tokio::time::sleep_until(known.next.into()).await;
            }
            let connected = self.connect().await;
            self.attempts.fetch_add(1, Ordering::Relaxed);
            match connected {
                Ok(live) => {
                    *outage = None;
                    return Ok(live);
                }
                Err(RedisCallError::NotSent(why)) => *self.last_failure.lock() = why,
                Err(failure) => return Err(failure),
            }
            let now = Instant::now();
            let known = outage.get_or_insert(Outage { since: now, backoff: BACKOFF, next: now });
            known.next = now + jitter(known.backoff.next_pause(), fastrand::f64());
        }
    }

    pub(super) async fn connect(&self) -> Result<OpenConnection, RedisCallError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(RedisCallError::Closed);
        }
        let connected = self.runtime.spawn(connect(self.address.clone(), self.answer_within, |_| {})).await;
        let live = connected.unwrap_or_else(|error| Err(RedisCallError::NotSent(error.to_string())))?;
        *self.live.lock() = Some(live.clone());
        if self.closed.load(Ordering::Acquire) {
            self.live.lock().take();
            return Err(RedisCallError::Closed);
        }
        if self.connects.fetch_add(1, Ordering::Relaxed) > 0 {
            tracing::info!(server = self.address.location, "connected to Redis again");
        }
        Ok(live)
    }

    /// Refuses new calls. Calls in progress get their answers.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.live.lock().take();
    }

    fn refused(&self, live: &OpenConnection, error: &ServerError) {
        if error.kind() == Some(ServerErrorKind::ReadOnly) {
            // After a failover the address may lead to another server, so reconnect.
            self.retire(live);
        }
    }

    fn lost(&self, live: &OpenConnection, error: &RedisError) -> RedisCallError {
        self.retire(live);
        if error.is_timeout() {
            return RedisCallError::Late(format!("Redis did not answer within {} s", self.answer_within.as_secs()));
        }
        RedisCallError::Cut(format!("the connection to Redis was lost: {error}"))
    }

    /// Makes the next call open a new connection. Calls in progress keep waiting on the old one.
    fn retire(&self, live: &OpenConnection) {
        let mut held = self.live.lock();
        if held.as_ref().is_some_and(|held| Arc::ptr_eq(&held.ended, &live.ended)) {
            held.take();
        }
    }
}

/// Connects and checks that the server is ready. `pushed` receives the server's push messages.
pub(super) async fn connect(
    address: Arc<Address>,
    answer_within: Duration,
    pushed: impl Fn(PushInfo) + Send + Sync + 'static,
) -> Result<OpenConnection, RedisCallError> {
    let ended = Arc::new(AtomicBool::new(false));
    let told = ended.clone();
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT))
        .set_response_timeout(Some(answer_within))
        .set_pipeline_buffer_size(WAITING)
        .set_push_sender(move |push: PushInfo| {
            // The connection's task reports its end here, so that later calls do not use it.
            if push.kind == PushKind::Disconnection {
                told.store(true, Ordering::Release);
            }
            pushed(push);
            Ok::<(), std::convert::Infallible>(())
        });
    let connection = address.client.get_multiplexed_async_connection_with_config(&config).await;
    let mut connection = connection.map_err(|error| cannot_connect(&error, &address.location))?;
    // A server that has just started accepts connections before it accepts commands.
    let answer: RedisResult<Value> = connection.send_packed_command(&redis::cmd("PING")).await;
    match answer {
        Ok(Value::ServerError(error)) if error.kind() == Some(ServerErrorKind::BusyLoading) => {
            Err(RedisCallError::NotSent("Redis is still reading its data after a start".into()))
        }
        Ok(_) => Ok(OpenConnection { connection, ended }),
        Err(error) => Err(cannot_connect(&error, &address.location)),
    }
}
