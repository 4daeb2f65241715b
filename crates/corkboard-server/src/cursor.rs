//! Where a list goes on. Whoever asks for the rest passes it back as it is.

use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::error::HttpError;

/// The most things of one page.
pub(crate) const MOST: usize = 1000;

/// How many things there are on a page if nobody says.
const USUAL: usize = 100;

/// The name or number after which the rest begins, as it was passed back.
#[derive(Debug, Clone)]
pub(crate) struct Cursor(String);

impl Cursor {
    /// A cursor that stands after this name.
    pub(crate) fn after(name: &str) -> String {
        BASE64URL_NOPAD.encode(name.as_bytes())
    }

    /// The name that it stands after.
    pub(crate) fn name(&self) -> Result<String, HttpError> {
        let bytes = BASE64URL_NOPAD.decode(self.0.as_bytes()).ok();
        bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(wrong)
    }

    /// The number that it stands after.
    pub(crate) fn number(&self) -> Result<u64, HttpError> {
        self.name()?.parse().map_err(|_| wrong())
    }
}

fn wrong() -> HttpError {
    HttpError::invalid("cursor", "that is no cursor of this list: pass back `next` as it came, or begin without one")
}

impl<'de> Deserialize<'de> for Cursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(String::deserialize(deserializer)?))
    }
}

impl PartialSchema for Cursor {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::String).into()
    }
}

impl ToSchema for Cursor {}

/// Which page of a list.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// Where to go on: `next` of the page before.
    #[param(value_type = Option<String>)]
    cursor: Option<Cursor>,
    /// How many at most; 100 if it is not said.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl PageQuery {
    /// That page of a list that is in memory as a whole, and the cursor of the next one if there is more. A list in which what
    /// came last is not found any more is not passed over: what came after it could be anywhere.
    pub(crate) fn of<T>(
        &self,
        mut items: impl Iterator<Item = T>,
        name: impl Fn(&T) -> String,
    ) -> Result<(Vec<T>, Option<String>), HttpError> {
        if let Some(cursor) = &self.cursor {
            let last = cursor.name()?;
            if !items.any(|item| name(&item) == last) {
                let detail =
                    format!("{last:?}, which the page before ended with, is no longer in this list: begin anew");
                return Err(HttpError::invalid("cursor", detail));
            }
        }
        Ok(page(items, self.limit, name))
    }

    /// That everything is asked for.
    pub(crate) fn is_everything(&self) -> bool {
        self.cursor.is_none() && self.limit.is_none()
    }
}

/// How many things a page has at most, if so many were asked for.
pub(crate) fn size(limit: Option<usize>) -> usize {
    limit.unwrap_or(USUAL).clamp(1, MOST)
}

/// What fits on a page, and the cursor of the next one if there is more.
pub(crate) fn page<T>(
    items: impl Iterator<Item = T>,
    limit: Option<usize>,
    name: impl Fn(&T) -> String,
) -> (Vec<T>, Option<String>) {
    let limit = size(limit);
    let mut items: Vec<T> = items.take(limit + 1).collect();
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| Cursor::after(&name(last)));
    (items, next)
}
