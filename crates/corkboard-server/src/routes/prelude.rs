//! Imports that nearly every route needs.

pub(crate) use serde::{Deserialize, Serialize};
pub(crate) use utoipa::{IntoParams, ToSchema};

pub(crate) use crate::caller::Caller;
pub(crate) use crate::error::HttpError;
pub(crate) use crate::extract::{Body, OptionalBody, Path, Query};
pub(crate) use crate::openapi::Problems;
pub(crate) use crate::response::{
    ClearedBody, DeletedBody, IdBody, ItemsBody, RevResponse, RevResult, VersionBody, WithRev,
};
pub(crate) use crate::routing::{Routes, routes};
