//! Where a list goes on. Whoever asks for the rest passes it back as it is.

use std::str::FromStr;

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

    pub(crate) fn name(&self) -> Result<String, HttpError> {
        let bytes = BASE64URL_NOPAD.decode(self.0.as_bytes()).ok();
        bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(wrong)
    }

    pub(crate) fn number(&self) -> Result<u64, HttpError> {
        self.name()?.parse().map_err(|_| wrong())
    }
}

fn missing(last: &str) -> HttpError {
    let detail = format!("{last:?}, which the page before ended with, is no longer in this list: begin anew");
    HttpError::invalid("cursor", detail)
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
    /// The page of a list that has no index, and the cursor of the next one if there is more. Fails if the item that the cursor
    /// names is no longer in the list: nothing tells what came after it.
    pub(crate) fn of<T>(
        &self,
        mut items: impl Iterator<Item = T>,
        name: impl Fn(&T) -> String,
    ) -> Result<(Vec<T>, Option<String>), HttpError> {
        if let Some(cursor) = &self.cursor {
            let last = cursor.name()?;
            if !items.any(|item| name(&item) == last) {
                return Err(missing(&last));
            }
        }
        Ok(page(items, self.limit, name))
    }

    /// The page of a list that can start after any of its items: `rest` gives the items after that one, or None if it is not
    /// in the list.
    pub(crate) fn from<T, Id: FromStr + ToString, Items: Iterator<Item = T>>(
        &self,
        rest: impl FnOnce(Option<Id>) -> Option<Items>,
        name: impl Fn(&T) -> String,
    ) -> Result<(Vec<T>, Option<String>), HttpError> {
        let last = self.cursor.as_ref().map(Cursor::name).transpose()?;
        let after = match &last {
            Some(last) => {
                let id = last.parse().ok().filter(|id: &Id| id.to_string() == *last);
                Some(id.ok_or_else(|| missing(last))?)
            }
            None => None,
        };
        let items = rest(after).ok_or_else(|| missing(last.as_deref().unwrap_or_default()))?;
        Ok(page(items, self.limit, name))
    }

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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A page of the numbers up to 20,000, and how many of them were visited.
    fn numbers(cursor: Option<&str>) -> Result<(Vec<u64>, Option<String>, usize), HttpError> {
        let (visited, limit) = (Cell::new(0), Some(10));
        let page = PageQuery { cursor: cursor.map(|name| Cursor(Cursor::after(name))), limit };
        let rest = |after: Option<u64>| {
            let start = after.map_or(0, |after| after + 1);
            (start <= 20_000).then(|| (start..20_000).inspect(|_| visited.set(visited.get() + 1)))
        };
        let (items, next) = page.from(rest, u64::to_string)?;
        Ok((items, next, visited.get()))
    }

    #[test]
    fn a_page_visits_its_own_items_and_one_more() {
        for (cursor, first) in [(None, 0), (Some("9"), 10), (Some("19000"), 19_001)] {
            let (items, next, visited) = numbers(cursor).map_err(drop).unwrap();
            assert_eq!((items, visited), ((first..first + 10).collect(), 11));
            assert_eq!(next, Some(Cursor::after(&(first + 9).to_string())));
        }
        assert_eq!(numbers(Some("19989")).map_err(drop).unwrap().1, None, "the last page");
        for gone in ["20000", "007", "x"] {
            assert!(numbers(Some(gone)).is_err(), "{gone}");
        }
    }
}
