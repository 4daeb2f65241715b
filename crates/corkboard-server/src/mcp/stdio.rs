//! MCP over stdin and stdout, for a client that runs `cork mcp`. Nothing else may write to stdout.

use std::io;
use std::time::Duration;

use corkboard::Board;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;

use super::McpServer;
use super::workspace::{StdioWorkspace, WorkspaceSource};

/// How often to look for leases to renew if none is held.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);
/// Leases are not renewed more often.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// Serves one client until it closes stdin. Meanwhile, the leases that its agent holds on its board are renewed.
pub async fn serve_stdio(workspace: StdioWorkspace) -> io::Result<()> {
    let server = McpServer::new(WorkspaceSource::Stdio(workspace.clone()));
    let running = match server.serve(rmcp::transport::stdio()).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    };
    // The client has its answer to the handshake. The first call need not wait for the store then.
    let working = tokio::spawn(async move {
        match workspace.open().await {
            Ok(workspace) => match worker_board(workspace) {
                Some(board) => renew_leases(board).await,
                None => std::future::pending().await,
            },
            // The next request tries again and tells the client.
            Err(error) => tracing::warn!(error = error.0, "the store is not open yet"),
        }
    });
    let ended = running.waiting().await;
    working.abort();
    ended.map(drop).map_err(io::Error::other)
}

/// The board of the connection, as its agent.
fn worker_board(workspace: &super::Workspace) -> Option<Board> {
    let board = workspace.corkboard.board(workspace.context.board.as_deref()?).ok()?;
    let actor = workspace.context.actor.clone().unwrap_or_else(|| board.actor().clone());
    Some(board.acting_as(actor))
}

async fn renew_leases(board: Board) {
    loop {
        let pause = match board.renew_claims().await {
            Ok(shortest) => shortest.map_or(LOOK_INTERVAL, |lease| (lease / 3).min(LOOK_INTERVAL)),
            Err(error) => {
                tracing::debug!(board = %board.id(), %error, "leases were not renewed");
                SHORTEST_INTERVAL
            }
        };
        tokio::time::sleep(pause.max(SHORTEST_INTERVAL)).await;
    }
}
