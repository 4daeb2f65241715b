//! What every request passes on its way to a route: it is observed, limited in size and time, and
//! guarded. What comes back is compressed if that was asked for.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

use crate::observe::Observed;
use crate::{Server, compress, cross_origin, guard, time_limit};

/// Lets a request through, or answers it.
pub(crate) async fn pass(State(server): State<Server>, request: Request, next: Next) -> Response {
    let observed = Observed::new(&request);
    let (page, accepted) = (cross_origin::page(&request, server.settings()), compress::accepted(&request));
    let answered = time_limit::limit(&server, request, |request| guard::guard(&server, request, next));
    let mut response = answered.instrument(observed.span()).await;
    cross_origin::show(&mut response, page, server.settings());
    compress::compress(server.budget(), observed.answered(&server, response), accepted).await
}
