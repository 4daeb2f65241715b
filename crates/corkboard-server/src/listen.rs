//! Accepts connections, with or without TLS, until shutdown, and then answers the requests in progress.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use axum::middleware::AddExtension;
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use axum::{Extension, Router};
use corkboard::ErrorKind;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tower::Layer;

use crate::error::HttpError;
use crate::idle_timeout::{ActiveRequests, CountingService};
use crate::metrics::{OpenConnection, refused_connection};
use crate::middleware::protect;
use crate::peer::Peer;
use crate::write_timeout::WriteTimeout;
use crate::{Server, Settings};

/// Time limit for the TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Interval of pings to a silent client, and time limit for its reply (HTTP/2).
const PING: Duration = Duration::from_secs(30);
/// Maximum number of connections that are answered with 503 at a time. Further ones wait to be accepted.
const REFUSALS: usize = 64;
/// Time limit for refusing a connection.
const REFUSING: Duration = Duration::from_secs(5);
/// `Retry-After` of a refused connection, in seconds.
const REFUSED_RETRY_AFTER: u64 = 5;
/// Maximum bytes of a request's head, and of a connection's read buffer (HTTP/1.1).
const BUFFERED: usize = 128 * 1024;
/// The ALPN name of HTTP/2.
const HTTP2: &[u8] = b"h2";

/// The routes, with the client address of the connection.
type Routed = AddExtension<Router, Peer>;

/// A certificate and its key, in PEM files.
pub struct Tls(Arc<ServerConfig>);

impl Tls {
    /// Reads the files. Errors name the file they are about.
    pub fn from_files(certificates: &Path, key: &Path) -> Result<Self, String> {
        let (certificate_file, key_file) = (certificates.display(), key.display());
        let chain = CertificateDer::pem_file_iter(certificates).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = match chain {
            Ok(chain) if chain.is_empty() => {
                let holds_key = PrivateKeyDer::from_pem_file(certificates).is_ok();
                let what =
                    if holds_key { "it contains a key but no certificate" } else { "it contains no certificate" };
                return Err(format!("{certificate_file}: {what}"));
            }
            chain => chain.map_err(|error| unreadable("certificate", certificates, &error))?,
        };
        let private_key = PrivateKeyDer::from_pem_file(key).map_err(|error| match error {
            pem::Error::NoItemsFound => format!("{key_file}: it contains no unencrypted key"),
            other => unreadable("key", key, &other),
        })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, private_key));
        let mut config = config.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                format!("{key_file}: this is not the key of the certificate in {certificate_file}")
            }
            other => format!("{certificate_file}, {key_file}: {other}"),
        })?;
        config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }
}

/// Why a PEM file could not be read.
fn unreadable(what: &str, file: &Path, error: &pem::Error) -> String {
    match error {
        pem::Error::Io(error) => format!("cannot read the TLS {what} {}: {error}", file.display()),
        error => format!("{}: {error}", file.display()),
    }
}

/// Serves requests until `shutdown` completes. Then it accepts no more connections, ends event streams, and finishes
/// the requests in progress within [`Settings::drain_timeout`](crate::Settings).
pub async fn serve(
    mut listener: TcpListener,
    tls: Option<Tls>,
    server: Server,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let (settings, metrics) = (server.settings().clone(), server.settings().metrics.clone());
    let acceptor = tls.map(|Tls(config)| TlsAcceptor::from(config));
    let (store, version) = (server.inner.corkboard.store_info().kind, env!("CARGO_PKG_VERSION"));
    tracing::info!(address = %listener.local_addr()?, store, version, tls = acceptor.is_some(), "serving");
    let close = watch::Sender::new(false);
    let handler = ConnectionHandler { server: server.clone(), acceptor, close: close.subscribe() };
    let most = settings.connections;
    let full = settings.clone();
    let refusing = Router::new().fallback(async move || no_room(most, &full));
    let router = crate::router(server.clone());
    let slots = ConnectionSlots::new(most);
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    let mut upkeep = pin!(async {
        match &metrics {
            Some(metrics) => metrics.keep().await,
            None => std::future::pending().await,
        }
    });
    loop {
        let next = async {
            let slot = slots.next().await;
            // Like axum's own listener, this pauses briefly after "too many open files".
            (slot, Listener::accept(&mut listener).await)
        };
        let (slot, (stream, peer)) = tokio::select! {
            next = next => next,
            Some(_) = connections.join_next() => continue,
            () = &mut upkeep => continue,
            () = &mut shutdown => break,
        };
        let (handler, limit, ConnectionSlot { is_own, permit }) =
            (handler.clone(), settings.header_timeout, slots.settle(slot));
        let router = Extension(Peer(peer.ip())).layer(if is_own { router.clone() } else { refusing.clone() });
        connections.spawn(async move {
            let (_open, _permit) = (OpenConnection::new(), permit);
            // Sends small packets at once. If the socket does not support that, it is only slower.
            let _ = stream.set_nodelay(true);
            let taken = if is_own {
                handler.take(stream, router, limit).await
            } else {
                refused_connection();
                let refused = tokio::time::timeout(REFUSING, handler.take(stream, router, limit)).await;
                refused.unwrap_or_else(|_| Err("too many connections, and refusing this one took too long".into()))
            };
            if let Err(reason) = taken {
                tracing::debug!(%peer, reason, "a connection failed");
            }
        });
    }
    drop(listener);
    server.end_streams();
    close.send_replace(true);
    let open = still_open(&mut connections);
    let all_end = async { while connections.join_next().await.is_some() {} };
    let mut cut = 0;
    if tokio::time::timeout(settings.drain_timeout, all_end).await.is_err() {
        cut = still_open(&mut connections);
        tracing::warn!(cut, "drain_timeout expired; closing the remaining connections");
    }
    connections.shutdown().await;
    tracing::info!(drained = open.saturating_sub(cut), cut, "ended");
    Ok(())
}

/// Permits for connections, and for a few more that are refused with 503.
struct ConnectionSlots {
    own: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
}

/// A permit that is returned when this is dropped.
struct ConnectionSlot {
    is_own: bool,
    permit: Option<OwnedSemaphorePermit>,
}

impl ConnectionSlots {
    fn new(most: usize) -> Self {
        let own = Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS));
        Self { own: Arc::new(own), refusals: Arc::new(Semaphore::new(REFUSALS)) }
    }

    /// Waits for a permit for the next connection.
    async fn next(&self) -> ConnectionSlot {
        // The semaphores are never closed.
        tokio::select! {
            biased;
            own = self.own.clone().acquire_owned() => ConnectionSlot { is_own: true, permit: own.ok() },
            refusal = self.refusals.clone().acquire_owned() => ConnectionSlot { is_own: false, permit: refusal.ok() },
        }
    }

    /// Upgrades the permit of an accepted connection to a regular one if one is free by now.
    fn settle(&self, slot: ConnectionSlot) -> ConnectionSlot {
        if slot.is_own {
            return slot;
        }
        match self.own.clone().try_acquire_owned() {
            Ok(own) => ConnectionSlot { is_own: true, permit: Some(own) },
            Err(_) => slot,
        }
    }
}

/// Counts the connections that have not ended, after removing finished tasks from the set.
fn still_open(connections: &mut JoinSet<()>) -> usize {
    while connections.try_join_next().is_some() {}
    connections.len()
}

#[derive(Debug, Clone, Copy)]
enum Protocol {
    Http1,
    Http2,
}

#[derive(Clone)]
struct ConnectionHandler {
    server: Server,
    acceptor: Option<TlsAcceptor>,
    /// Becomes true when connections must close after the requests in progress.
    close: watch::Receiver<bool>,
}

impl ConnectionHandler {
    /// Answers a connection's requests until it ends. State that only TLS connections need is boxed, so that the many
    /// others do not reserve memory for it.
    async fn take(&self, stream: TcpStream, router: Routed, limit: Duration) -> Result<(), String> {
        let Some(acceptor) = &self.acceptor else { return self.answer_http1(stream, router, limit).await };
        let (stream, protocol) = Box::pin(self.agree(acceptor, stream)).await?;
        match protocol {
            Protocol::Http1 => Box::pin(self.answer_http1(stream, router, limit)).await,
            Protocol::Http2 => Box::pin(self.answer_http2(stream, router, limit)).await,
        }
    }

    /// Performs the TLS handshake. A slow client delays neither other connections nor the shutdown.
    async fn agree(
        &self,
        acceptor: &TlsAcceptor,
        stream: TcpStream,
    ) -> Result<(TlsStream<TcpStream>, Protocol), String> {
        let stream = tokio::select! {
            agreed = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)) => match agreed {
                Ok(agreed) => agreed.map_err(|error| error.to_string())?,
                Err(_) => return Err("the TLS handshake timed out".into()),
            },
            () = self.server.ended() => return Err("the server is shutting down".into()),
        };
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(HTTP2);
        Ok((stream, if is_http2 { Protocol::Http2 } else { Protocol::Http1 }))
    }

    /// Answers the requests of a connection until it ends or is idle for too long. The protocol is fixed in advance: to
    /// detect it, hyper would wait for the first bytes without a time limit.
    async fn answer_http1<S>(&self, stream: S, router: Routed, limit: Duration) -> Result<(), String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut builder = Builder::new(TokioExecutor::new()).http1_only();
        builder.http1().timer(TokioTimer::new()).header_read_timeout(limit).max_buf_size(BUFFERED);
        let mut connection =
            pin!(builder.serve_connection(self.with_write_timeout(stream), TowerToHyperService::new(router)));
        tokio::select! {
            ended = connection.as_mut() => return ended.map_err(|error| error.to_string()),
            () = self.closing() => connection.as_mut().graceful_shutdown(),
        }
        connection.await.map_err(|error| error.to_string())
    }

    async fn answer_http2<S>(&self, stream: S, router: Routed, limit: Duration) -> Result<(), String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (mut builder, requests) = (Builder::new(TokioExecutor::new()).http2_only(), ActiveRequests::default());
        builder.http2().timer(TokioTimer::new()).keep_alive_interval(PING).keep_alive_timeout(PING);
        let service = TowerToHyperService::new(CountingService::new(router, requests.clone()));
        let mut connection = pin!(builder.serve_connection(self.with_write_timeout(stream), service));
        let is_idle = tokio::select! {
            ended = connection.as_mut() => return ended.map_err(|error| error.to_string()),
            () = self.closing() => false,
            () = requests.idle_for(limit) => true,
        };
        // A client that never sent a request is not waited for.
        if requests.is_silent() {
            return Err("no request was sent".into());
        }
        connection.as_mut().graceful_shutdown();
        if !is_idle {
            return connection.await.map_err(|error| error.to_string());
        }
        let late = |_| "idle, and the client did not close the connection".to_owned();
        tokio::time::timeout(limit, connection).await.map_err(late)?.map_err(|error| error.to_string())
    }

    /// Completes when connections must close.
    async fn closing(&self) {
        // The sender lives as long as the connections.
        let _ = self.close.clone().wait_for(|is_closing| *is_closing).await;
    }

    fn with_write_timeout<S>(&self, stream: S) -> TokioIo<WriteTimeout<S>> {
        TokioIo::new(WriteTimeout::new(stream, self.server.settings().stalled_after))
    }
}

/// The answer to a connection above the maximum.
fn no_room(most: usize, settings: &Settings) -> Response {
    let detail = format!("all {most} connections are in use (connections): retry in {REFUSED_RETRY_AFTER} s");
    let refused =
        HttpError::new("too_many_connections", ErrorKind::Unavailable, detail).retry_after(REFUSED_RETRY_AFTER);
    let mut response = refused.into_response();
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    protect(&mut response, settings);
    response
}
