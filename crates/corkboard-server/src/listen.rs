//! Connections are taken, encrypted or not, until the end is asked for, and what is under way is answered.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::Server;
use crate::metrics::Open;
use crate::patience::Patient;

/// How long a client may take to agree on keys.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How often a client that says nothing is asked whether it is still there, and how long it may take to say so (HTTP/2).
const PING: Duration = Duration::from_secs(30);
/// What HTTP/2 is called where keys are agreed on.
const HTTP2: &[u8] = b"h2";

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
    let taker = Taker { server: server.clone(), service: TowerToHyperService::new(crate::router(server.clone())) };
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    let mut upkeep = pin!(async {
        match &metrics {
            Some(metrics) => metrics.keep().await,
            None => std::future::pending().await,
        }
    });
    loop {
        let (stream, peer) = tokio::select! {
            // As axum's own listener does, this waits a moment when there are too many open files.
            connection = Listener::accept(&mut listener) => connection,
            Some(_) = connections.join_next() => continue,
            () = &mut upkeep => continue,
            () = &mut shutdown => break,
        };
        let (taker, acceptor, watcher) = (taker.clone(), acceptor.clone(), graceful.watcher());
        connections.spawn(async move {
            let _open = Open::connection();
            // What is small is sent at once. A socket that cannot do that is slower, and that is all.
            let _ = stream.set_nodelay(true);
            match acceptor {
                None => taker.answer(stream, Protocol::Http1, watcher).await,
                Some(acceptor) => match taker.agree(acceptor, stream).await {
                    Ok((stream, protocol)) => taker.answer(stream, protocol, watcher).await,
                    Err(reason) => tracing::debug!(%peer, reason, "no keys could be agreed on"),
                },
            }
        });
    }
    drop(listener);
    server.end_streams();
    let open = still_open(&mut connections);
    let mut cut = 0;
    if tokio::time::timeout(settings.drain_timeout, graceful.shutdown()).await.is_err() {
        cut = still_open(&mut connections);
        tracing::warn!(cut, "some connections did not end in time, and are cut");
    }
    connections.shutdown().await;
    tracing::info!(drained = open.saturating_sub(cut), cut, "ended");
    Ok(())
}

/// How many have not ended. Those that have are counted until somebody looks.
fn still_open(connections: &mut JoinSet<()>) -> usize {
    while connections.try_join_next().is_some() {}
    connections.len()
}

/// Which HTTP a connection speaks.
#[derive(Debug, Clone, Copy)]
enum Protocol {
    Http1,
    Http2,
}

/// Takes connections.
#[derive(Clone)]
struct Taker {
    server: Server,
    service: TowerToHyperService<Router>,
}

impl Taker {
    /// Agrees on keys. Whoever is slow at that keeps nobody waiting, not even the end.
    async fn agree(
        &self,
        acceptor: TlsAcceptor,
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

    /// Answers a connection's requests until it ends.
    async fn answer<S>(&self, stream: S, protocol: Protocol, watcher: Watcher)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let settings = self.server.settings();
        let mut builder = Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(settings.header_timeout);
        builder.http2().timer(TokioTimer::new()).keep_alive_interval(PING).keep_alive_timeout(PING);
        // To find out which it is would mean to wait for the first bytes, however long that takes.
        let builder = match protocol {
            Protocol::Http1 => builder.http1_only(),
            Protocol::Http2 => builder.http2_only(),
        };
        let connection =
            builder.serve_connection(TokioIo::new(Patient::new(stream, settings.stalled_after)), self.service.clone());
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(error, "a connection ended before its time");
        }
    }
}
