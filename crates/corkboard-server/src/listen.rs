//! Connections are taken until the end is asked for, and what is under way is answered.

use std::future::Future;
use std::io;

use axum::Router;
use tokio::net::TcpListener;

/// Answers requests until `shutdown` is done, then those that are under way.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    axum::serve(listener, router).with_graceful_shutdown(shutdown).await
}
