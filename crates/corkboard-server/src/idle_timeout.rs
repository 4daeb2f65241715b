//! Closes idle HTTP/2 connections. For HTTP/1.1, hyper has a timeout.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http_body_util::BodyExt;
use tokio::sync::watch;
use tower::{Service, ServiceExt};

/// Counts the requests of one connection.
#[derive(Clone, Default)]
pub(crate) struct ActiveRequests(Arc<watch::Sender<RequestCounts>>);

#[derive(Clone, Copy, Default)]
struct RequestCounts {
    begun: u64,
    /// Requests whose answers are not completely sent.
    in_progress: u64,
}

/// Counts a request as in progress until dropped.
struct ActiveRequest(ActiveRequests);

impl ActiveRequests {
    fn begin(&self) -> ActiveRequest {
        self.0.send_modify(|asked| {
            asked.begun += 1;
            asked.in_progress += 1;
        });
        ActiveRequest(self.clone())
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.0.borrow().begun == 0
    }

    /// Completes when no request was in progress for this long.
    pub(crate) async fn idle_for(&self, limit: Duration) {
        let mut asked = self.0.subscribe();
        loop {
            // `self` holds the sender, so waiting does not fail.
            let _ = asked.wait_for(|asked| asked.in_progress == 0).await;
            if tokio::time::timeout(limit, asked.changed()).await.is_err() {
                return;
            }
        }
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.0.send_modify(|asked| asked.in_progress -= 1);
    }
}

/// A service that counts requests until their answers are sent.
#[derive(Clone)]
pub(crate) struct CountingService<S> {
    service: S,
    requests: ActiveRequests,
}

impl<S> CountingService<S> {
    pub(crate) fn new(service: S, requests: ActiveRequests) -> Self {
        Self { service, requests }
    }
}

impl<S, R> Service<R> for CountingService<S>
where
    S: Service<R, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    R: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let (service, in_progress) = (self.service.clone(), self.requests.begin());
        Box::pin(async move {
            let response = service.oneshot(request).await?;
            Ok(response.map(|body| {
                Body::new(body.map_frame(move |frame| {
                    let _held_until_sent = &in_progress;
                    frame
                }))
            }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_only_while_no_request_is_in_progress() {
        let (requests, limit) = (ActiveRequests::default(), Duration::from_secs(30));
        assert!(requests.is_silent());
        requests.idle_for(limit).await;
        let (first, second) = (requests.begin(), requests.begin());
        assert!(!requests.is_silent());
        drop(first);
        let waits =
            |requests: ActiveRequests, wait| async move { tokio::time::timeout(wait, requests.idle_for(limit)).await };
        waits(requests.clone(), Duration::from_secs(3600)).await.unwrap_err();
        drop(second);
        // A request in between restarts the time.
        let idle = tokio::spawn(waits(requests.clone(), Duration::from_secs(45)));
        tokio::time::sleep(Duration::from_secs(20)).await;
        drop(requests.begin());
        idle.await.unwrap().unwrap_err();
        waits(requests, Duration::from_secs(31)).await.unwrap();
    }
}
