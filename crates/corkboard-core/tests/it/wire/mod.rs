//! Commands, answers and refusals in the format between a server and its clients.

use std::fmt::Debug;

use corkboard_core::{Actor, Limits, Refusal, Request, RequestOutcome, Space};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The value after a round trip through JSON, which must not change its JSON.
pub(crate) fn arrived<T: Serialize + DeserializeOwned>(sent: &T) -> T {
    let json = serde_json::to_string(sent).unwrap();
    let read: T = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
    read
}

/// The request after a round trip. A valid command passes the checks for input from outside.
pub(crate) fn arrived_request<S: Space>(request: &Request<S::Command>) -> Request<S::Command> {
    let mut command = arrived(&request.command);
    S::check(&mut command, &Actor::local(), &Limits::default()).unwrap();
    Request { command, if_rev: request.if_rev, idempotency: request.idempotency.clone() }
}

/// The answer arrives unchanged.
pub(crate) fn check_answer<E, R>(decided: &Result<RequestOutcome<E, R>, Refusal>)
where
    R: Serialize + DeserializeOwned + Debug,
{
    match decided {
        Ok(RequestOutcome::Commit { reply, .. } | RequestOutcome::Unchanged { reply, .. }) => check_same(reply),
        Err(refusal) => check_same(refusal),
    }
}

/// Compared as text, because a refusal can contain NaN, which does not equal itself.
pub(crate) fn check_same<T: Serialize + DeserializeOwned + Debug>(sent: &T) {
    assert_eq!(format!("{:?}", arrived(sent)), format!("{sent:?}"));
}
