//! Connections are taken, encrypted or not, until the end is asked for, and what is under way is answered.

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

/// How long a client may take to agree on keys.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How often a client that says nothing is asked whether it is still there, and how long it may take to say so (HTTP/2).
const PING: Duration = Duration::from_secs(30);
/// So many are told at a time that there is no room for them; whoever comes after them waits outside.
const REFUSALS: usize = 64;
/// How long that may take.
const REFUSING: Duration = Duration::from_secs(5);
/// When those for whom there is no room may come back, in seconds.
const COME_BACK: u64 = 5;
/// The most bytes of a request's head, and of what a connection reads ahead (HTTP/1.1).
const BUFFERED: usize = 128 * 1024;
/// What HTTP/2 is called where keys are agreed on.
const HTTP2: &[u8] = b"h2";

/// The routes, with the address that requests come from.
type Routed = AddExtension<Router, Peer>;

/// A certificate and its key, in PEM files.
pub struct Tls(Arc<ServerConfig>);

impl Tls {
    /// Reads them. What is wrong is said of the file in which it is.
    pub fn from_files(certificates: &Path, key: &Path) -> Result<Self, String> {
        let (certificate_file, key_file) = (certificates.display(), key.display());
        let chain = CertificateDer::pem_file_iter(certificates).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = match chain {
            Ok(chain) if chain.is_empty() => {
                let holds_key = PrivateKeyDer::from_pem_file(certificates).is_ok();
                let what =
                    if holds_key { "there is a key in it, and no certificate" } else { "no certificate is in it" };
                return Err(format!("{certificate_file}: {what}"));
            }
            chain => chain.map_err(|error| format!("{certificate_file}: {error}"))?,
        };
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| match error {
            pem::Error::NoItemsFound => format!("{key_file}: no key is in it that is not encrypted"),
            other => format!("{key_file}: {other}"),
        })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
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

/// Answers requests until `shutdown` is done. Then no connection is taken any more, streams of events end, and what is
/// under way is answered, for as long as [`Settings::drain_timeout`](crate::Settings) allows.
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
            // As axum's own listener does, this waits a moment when there are too many open files.
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
            // What is small is sent at once. A socket that cannot do that is slower, and that is all.
            let _ = stream.set_nodelay(true);
            let taken = if is_own {
                handler.take(stream, router, limit).await
            } else {
                refused_connection();
                let refused = tokio::time::timeout(REFUSING, handler.take(stream, router, limit)).await;
                refused.unwrap_or_else(|_| Err("there was no room for it, and it took long to hear of it".into()))
            };
            if let Err(reason) = taken {
                tracing::debug!(%peer, reason, "a connection ended before its time");
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
        tracing::warn!(cut, "some connections did not end in time, and are cut");
    }
    connections.shutdown().await;
    tracing::info!(drained = open.saturating_sub(cut), cut, "ended");
    Ok(())
}

/// Room for so many connections, and for a few who are told that there is none.
struct ConnectionSlots {
    own: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
}

/// A place that is free again when this is dropped.
struct ConnectionSlot {
    is_own: bool,
    permit: Option<OwnedSemaphorePermit>,
}

impl ConnectionSlots {
    fn new(most: usize) -> Self {
        let own = Semaphore::new(most.clamp(1, Semaphore::MAX_PERMITS));
        Self { own: Arc::new(own), refusals: Arc::new(Semaphore::new(REFUSALS)) }
    }

    /// A place for whoever comes next, as soon as there is one.
    async fn next(&self) -> ConnectionSlot {
        // Neither is ever closed.
        tokio::select! {
            biased;
            own = self.own.clone().acquire_owned() => ConnectionSlot { is_own: true, permit: own.ok() },
            refusal = self.refusals.clone().acquire_owned() => ConnectionSlot { is_own: false, permit: refusal.ok() },
        }
    }

    /// The place of whoever came: one of their own if there is one by now.
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

/// How many have not ended. Those that have are counted until somebody looks.
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
    /// Told when connections are to end once what is under way is answered.
    close: watch::Receiver<bool>,
}

impl ConnectionHandler {
    /// Answers a connection's requests until it ends. What only some connections need has a place of its own, so that the
    /// others, of which there are many, do not keep one free for it.
    async fn take(&self, stream: TcpStream, router: Routed, limit: Duration) -> Result<(), String> {
        let Some(acceptor) = &self.acceptor else { return self.answer_http1(stream, router, limit).await };
        let (stream, protocol) = Box::pin(self.agree(acceptor, stream)).await?;
        match protocol {
            Protocol::Http1 => Box::pin(self.answer_http1(stream, router, limit)).await,
            Protocol::Http2 => Box::pin(self.answer_http2(stream, router, limit)).await,
        }
    }

    /// Agrees on keys. Whoever is slow at that keeps nobody waiting, not even the end.
    async fn agree(
        &self,
        acceptor: &TlsAcceptor,
        stream: TcpStream,
    ) -> Result<(TlsStream<TcpStream>, Protocol), String> {
        let stream = tokio::select! {
            agreed = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)) => match agreed {
                Ok(agreed) => agreed.map_err(|error| error.to_string())?,
                Err(_) => return Err("it took too long".into()),
            },
            () = self.server.ended() => return Err("the server ends".into()),
        };
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(HTTP2);
        Ok((stream, if is_http2 { Protocol::Http2 } else { Protocol::Http1 }))
    }

    /// Answers what is asked on a connection until it ends, or until nothing was asked for so long. To find out which HTTP it
    /// speaks would mean to wait for the first bytes, however long that takes.
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
        // Whoever never asked is not waited for.
        if requests.is_silent() {
            return Err("nothing was asked".into());
        }
        connection.as_mut().graceful_shutdown();
        if !is_idle {
            return connection.await.map_err(|error| error.to_string());
        }
        let late = |_| "nothing was asked any more, and no end agreed on".to_owned();
        tokio::time::timeout(limit, connection).await.map_err(late)?.map_err(|error| error.to_string())
    }

    /// Done when connections are to end.
    async fn closing(&self) {
        // Whoever closes lives as long as the connections.
        let _ = self.close.clone().wait_for(|is_closing| *is_closing).await;
    }

    fn with_write_timeout<S>(&self, stream: S) -> TokioIo<WriteTimeout<S>> {
        TokioIo::new(WriteTimeout::new(stream, self.server.settings().stalled_after))
    }
}

/// The answer to those for whom there is no room.
fn no_room(most: usize, settings: &Settings) -> Response {
    let detail = format!("{most} connections are open, and no more are taken: come back in {COME_BACK} s");
    let refused = HttpError::new("too_many_connections", ErrorKind::Unavailable, detail).retry_after(COME_BACK);
    let mut response = refused.into_response();
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    protect(&mut response, settings);
    response
}
