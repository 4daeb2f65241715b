//! What every request passes on its way to a route: it is observed, limited in size and time, and guarded.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

use crate::observe::Observed;
use crate::{Server, guard, time_limit};

/// Lets a request through, or answers it.
pub(crate) async fn pass(State(server): State<Server>, request: Request, next: Next) -> Response {
    let observed = Observed::new(&request);
    let answered = time_limit::limit(&server, request, |request| guard::guard(&server, request, next));
    let response = answered.instrument(observed.span()).await;
    observed.answered(&server, response)
}
