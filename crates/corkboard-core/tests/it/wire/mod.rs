//! Commands, answers and refusals as a server and its clients send them to one another.

use std::fmt::Debug;

use corkboard_core::{Actor, Limits, Refusal, Request, RequestOutcome, Space};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What arrives when a value is sent as JSON. It is written as what was sent was.
pub(crate) fn arrived<T: Serialize + DeserializeOwned>(sent: &T) -> T {
    let json = serde_json::to_string(sent).unwrap();
    let read: T = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
    read
}

/// A request as it arrives. What a command made here says passes the checks of what comes from outside.
pub(crate) fn arrived_request<S: Space>(request: &Request<S::Command>) -> Request<S::Command> {
    let mut command = arrived(&request.command);
    S::check(&mut command, &Actor::local(), &Limits::default()).unwrap();
    Request { command, if_rev: request.if_rev, idempotency: request.idempotency.clone() }
}

/// What was decided arrives as it was said.
pub(crate) fn check_answer<E, R>(decided: &Result<RequestOutcome<E, R>, Refusal>)
where
    R: Serialize + DeserializeOwned + Debug,
{
    match decided {
        Ok(RequestOutcome::Commit { reply, .. } | RequestOutcome::Unchanged { reply, .. }) => check_same(reply),
        Err(refusal) => check_same(refusal),
    }
}

/// Compared as text: a refusal may name what is no number, which does not equal itself.
pub(crate) fn check_same<T: Serialize + DeserializeOwned + Debug>(sent: &T) {
    assert_eq!(format!("{:?}", arrived(sent)), format!("{sent:?}"));
}
