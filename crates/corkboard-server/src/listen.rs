//! Connections are taken, encrypted or not, until the end is asked for, and what is under way is answered.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::Server;
use crate::patience::PatientListener;

/// How long a client may take to agree on keys.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Connections that have agreed on keys and wait to be taken.
const AGREED: usize = 64;

/// A certificate and its key, in PEM files.
pub struct Tls(Arc<ServerConfig>);

impl Tls {
    /// Reads them.
    pub fn from_files(certificates: &Path, key: &Path) -> Result<Self, String> {
        let unreadable = |path: &Path, error| format!("{}: {error}", path.display());
        let chain = CertificateDer::pem_file_iter(certificates).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = chain.map_err(|error| unreadable(certificates, error))?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
        let mut config = config.map_err(|error| error.to_string())?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }
}

/// Answers requests until `shutdown` is done, then those that are under way. Streams of events end with it.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    server: Server,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let router = crate::router(server.clone());
    let (patience, ending) = (server.settings().stalled_after, server.ending());
    let shutdown = async move {
        shutdown.await;
        // Streams of events would go on for ever.
        server.end_streams();
    };
    match tls {
        None => {
            let listener = PatientListener { listener, patience, ending };
            axum::serve(listener, router).with_graceful_shutdown(shutdown).await
        }
        Some(Tls(config)) => {
            let listener = PatientListener { listener: TlsListener::new(listener, config)?, patience, ending };
            axum::serve(listener, router).with_graceful_shutdown(shutdown).await
        }
    }
}

/// Gives connections that have agreed on keys. Whoever is slow at that keeps nobody waiting.
struct TlsListener {
    agreed: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
    accepting: tokio::task::JoinHandle<()>,
}

impl TlsListener {
    fn new(mut listener: TcpListener, config: Arc<ServerConfig>) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (sender, agreed) = mpsc::channel(AGREED);
        let acceptor = TlsAcceptor::from(config);
        let accepting = tokio::spawn(async move {
            loop {
                // As axum's own listener does, this waits a moment when there are too many open files.
                let (stream, peer) = Listener::accept(&mut listener).await;
                let (acceptor, sender) = (acceptor.clone(), sender.clone());
                tokio::spawn(async move {
                    match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                        Ok(Ok(stream)) => drop(sender.send((stream, peer)).await),
                        Ok(Err(error)) => tracing::debug!(%peer, %error, "no keys could be agreed on"),
                        Err(_) => tracing::debug!(%peer, "it took too long to agree on keys"),
                    }
                });
            }
        });
        Ok(Self { agreed, address, accepting })
    }
}

impl Drop for TlsListener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.agreed.recv().await {
            Some(connection) => connection,
            // The sender lives as long as the task, and the task as long as this.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}
