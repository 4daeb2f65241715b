//! One connection to the server.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::future::{Ready, ready};
use futures_util::stream::{StreamExt, poll_fn};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};
use tokio::sync::{OnceCell, mpsc};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, Row, SimpleQueryMessage, Socket, Statement};

use super::clock::ServerClock;
use super::error::{PostgresCallError, cannot_connect};
use super::queries::{Queries, Query};
use super::settings::{Prepare, Server};
use super::tls::Tls;
use crate::store::StoreError;

/// How long to wait for the end of a cancelled call.
const GRACE: Duration = Duration::from_secs(2);

pub(super) type Parameter<'a> = &'a (dyn ToSql + Sync);

/// A connection. Calls on it may overlap: the server answers them in order.
pub(super) struct Connection {
    client: Client,
    tls: Tls,
    driver: AbortHandle,
    /// Whether there is no proxy in between that could run the next transaction on another connection.
    is_direct: bool,
    prepares: bool,
    prepared: [OnceCell<Statement>; Query::COUNT],
    /// Whether the connection must not be used any more: an answer is outstanding, or it is cut.
    is_spoiled: AtomicBool,
}

impl Connection {
    /// Connects and sets the clock. Notifications are sent to `notified`.
    pub(super) async fn connect(
        server: &Server,
        prepare: Prepare,
        queries: &Queries,
        clock: &ServerClock,
        patience: Duration,
        notified: Option<mpsc::UnboundedSender<String>>,
    ) -> Result<Self, StoreError> {
        let connected = timeout(patience, async {
            match &server.tls {
                Tls::Off => drive(&server.config, NoTls, notified).await,
                Tls::On(tls) => drive(&server.config, tls.clone(), notified).await,
            }
        });
        let late = |_| StoreError::Unavailable(format!("{}: no answer for {} s", server.location, patience.as_secs()));
        let (client, driver) =
            connected.await.map_err(late)?.map_err(|error| cannot_connect(&server.location, &error))?;
        let mut connection = Self {
            client,
            tls: server.tls.clone(),
            driver,
            is_direct: false,
            prepares: false,
            prepared: std::array::from_fn(|_| OnceCell::new()),
            is_spoiled: AtomicBool::new(false),
        };
        let backend = connection.set_clock(queries, clock, patience).await.map_err(PostgresCallError::reading)?;
        connection.is_direct = given_backend(&connection.client).await == Some(backend);
        connection.prepares = match prepare {
            Prepare::Auto => connection.is_direct,
            Prepare::On => true,
            Prepare::Off => false,
        };
        Ok(connection)
    }

    pub(super) fn is_direct(&self) -> bool {
        self.is_direct
    }

    pub(super) fn prepares(&self) -> bool {
        self.prepares
    }

    pub(super) fn is_usable(&self) -> bool {
        !self.client.is_closed() && !self.is_spoiled.load(Ordering::Relaxed)
    }

    /// Sets the clock from the server's time. Returns the ID of the server process that answered.
    pub(super) async fn set_clock(
        &self,
        queries: &Queries,
        clock: &ServerClock,
        patience: Duration,
    ) -> Result<i32, PostgresCallError> {
        let asked = Instant::now();
        let rows = self.query(queries, Query::Clock, &[], patience).await?;
        let answered = Instant::now();
        let row = rows.first().ok_or_else(|| PostgresCallError::Lost("no time".into()))?;
        let read = |error: tokio_postgres::Error| PostgresCallError::Lost(error.to_string());
        clock.set(asked, answered, row.try_get(1).map_err(read)?);
        row.try_get(0).map_err(read)
    }

    /// Runs a statement to completion; for a write, this includes the commit.
    pub(super) async fn query(
        &self,
        queries: &Queries,
        query: Query,
        parameters: &[Parameter<'_>],
        patience: Duration,
    ) -> Result<Vec<Row>, PostgresCallError> {
        let started = Instant::now();
        let call = self.call(queries.text(query), query, parameters);
        tokio::pin!(call);
        let answer = match timeout(patience, &mut call).await {
            Ok(answer) => answer,
            Err(_) => {
                // The statement may still succeed, be cancelled, or never be answered.
                let _ = timeout(GRACE, self.cancel()).await;
                let lost = || PostgresCallError::Lost(format!("no answer for {} s", started.elapsed().as_secs()));
                match timeout(GRACE, call).await.unwrap_or_else(|_| Err(lost())) {
                    Err(PostgresCallError::Refused { code, .. }) if code.code() == "57014" => {
                        Err(PostgresCallError::Cancelled { waited: started.elapsed() })
                    }
                    answer => answer,
                }
            }
        };
        if answer.as_ref().is_err_and(PostgresCallError::spoils_connection) {
            self.is_spoiled.store(true, Ordering::Relaxed);
        }
        answer
    }

    async fn call(
        &self,
        text: &str,
        query: Query,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, PostgresCallError> {
        let unsent = || PostgresCallError::NotSent(StoreError::Unavailable("the connection was closed".into()));
        if self.client.is_closed() {
            return Err(unsent());
        }
        let cell = self.prepared.get(query as usize).filter(|_| self.prepares);
        let Some(cell) = cell else {
            let typed: Vec<_> = parameters.iter().copied().zip(query.types().iter().cloned()).collect();
            return self.client.query_typed(text, &typed).await.map_err(|error| PostgresCallError::of(&error));
        };
        let prepare = || self.client.prepare_typed(text, query.types());
        let statement = cell.get_or_try_init(prepare).await.map_err(|error| match PostgresCallError::of(&error) {
            PostgresCallError::Lost(text) => PostgresCallError::NotSent(StoreError::Unavailable(text)),
            refused => refused,
        })?;
        self.client.query(statement, parameters).await.map_err(|error| PostgresCallError::of(&error))
    }

    /// Runs SQL without a prepared statement or a timeout: migrations, VACUUM and LISTEN. Returns the last value of the
    /// result.
    pub(super) async fn execute(&self, sql: &str) -> Result<Option<String>, PostgresCallError> {
        let answer = self.client.simple_query(sql).await.map_err(|error| PostgresCallError::of(&error));
        if answer.is_err() {
            self.is_spoiled.store(true, Ordering::Relaxed);
        }
        Ok(answer?.into_iter().rev().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.try_get(0).ok().flatten().map(str::to_owned),
            _ => None,
        }))
    }

    async fn cancel(&self) -> Result<(), tokio_postgres::Error> {
        match &self.tls {
            Tls::Off => self.client.cancel_token().cancel_query(NoTls).await,
            Tls::On(tls) => self.client.cancel_token().cancel_query(tls.clone()).await,
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // A connection in good order closes itself properly.
        if self.is_spoiled.load(Ordering::Relaxed) {
            self.driver.abort();
        }
    }
}

async fn drive<T>(
    config: &Config,
    tls: T,
    notified: Option<mpsc::UnboundedSender<String>>,
) -> Result<(Client, AbortHandle), tokio_postgres::Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, mut connection) = config.connect(tls).await?;
    let driver = tokio::spawn(async move {
        let mut messages = poll_fn(move |context| connection.poll_message(context));
        while let Some(message) = messages.next().await {
            match message {
                Ok(AsyncMessage::Notification(notification)) => {
                    if let Some(notified) = &notified {
                        let _ = notified.send(notification.payload().into());
                    }
                }
                Ok(AsyncMessage::Notice(notice)) => tracing::debug!(message = notice.message(), "PostgreSQL's notice"),
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "a connection to PostgreSQL ended");
                    // Ending the task fails the calls that wait for an answer.
                    return;
                }
            }
        }
    });
    Ok((client, driver.abort_handle()))
}

/// Returns the server process ID that the connection was opened with; a proxy makes up a number. The client reveals it
/// only in a cancel request, so this writes one to a buffer and does not send it.
async fn given_backend(client: &Client) -> Option<i32> {
    let (near, mut far) = tokio::io::duplex(64);
    // Answer "yes" to the TLS request; no TLS follows.
    far.write_all(b"S").await.ok()?;
    client.cancel_token().cancel_query_raw(near, WithoutTls).await.ok()?;
    let mut written = Vec::new();
    far.read_to_end(&mut written).await.ok()?;
    const CANCEL: [u8; 4] = 80_877_102_u32.to_be_bytes();
    let code = written.windows(4).position(|bytes| bytes == CANCEL)?;
    let backend = written.get(code + 4..code + 8)?;
    Some(i32::from_be_bytes(backend.try_into().ok()?))
}

struct WithoutTls;

impl TlsConnect<DuplexStream> for WithoutTls {
    type Stream = Plain;
    type Error = std::convert::Infallible;
    type Future = Ready<Result<Plain, Self::Error>>;

    fn connect(self, stream: DuplexStream) -> Self::Future {
        ready(Ok(Plain(stream)))
    }
}

struct Plain(DuplexStream);

impl TlsStream for Plain {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Plain {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Plain {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
