//! Pagination: sort orders and cursors.
//!
//! A cursor is a position in an order: the sort value and the ID of the last item. It stays valid if that item is
//! deleted.

use std::fmt::Display;
use std::str::FromStr;

use data_encoding::BASE64URL_NOPAD;
use jiff::Timestamp;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::error::HttpError;

/// The maximum number of items on a page.
pub(crate) const MOST: usize = 1000;

/// The default number of items on a page.
const USUAL: usize = 100;

/// A cursor from a request.
#[derive(Debug, Clone)]
pub(crate) struct Cursor(String);

/// A position in a list: the sort value, then the ID.
pub(crate) type Position<Id> = (i64, Id);

impl Cursor {
    /// The cursor after a name, in a list sorted by name.
    pub(crate) fn after(name: &str) -> String {
        BASE64URL_NOPAD.encode(name.as_bytes())
    }

    /// The cursor after a position in an order.
    fn at<Id: Display>(order: &str, (value, id): &Position<Id>) -> String {
        Self::after(&format!("{order};{value};{id}"))
    }

    pub(crate) fn name(&self) -> Result<String, HttpError> {
        let bytes = BASE64URL_NOPAD.decode(self.0.as_bytes()).ok();
        bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(wrong)
    }

    pub(crate) fn number(&self) -> Result<u64, HttpError> {
        self.name()?.parse().map_err(|_| wrong())
    }

    fn position<Id: FromStr>(&self, order: &str) -> Result<Position<Id>, HttpError> {
        let text = self.name()?;
        let mut parts = text.splitn(3, ';');
        let (Some(of), Some(value), Some(id)) = (parts.next(), parts.next(), parts.next()) else { return Err(wrong()) };
        if of != order {
            let detail = "the cursor belongs to another view or sort order: repeat the first page's parameters, or omit \
                          the cursor";
            return Err(HttpError::invalid("cursor", detail));
        }
        Ok((value.parse().map_err(|_| wrong())?, id.parse().map_err(|_| wrong())?))
    }
}

fn wrong() -> HttpError {
    HttpError::invalid("cursor", "invalid cursor: pass `next` of the previous page unchanged, or omit the cursor")
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

/// The fields by which a list can be sorted.
pub(crate) trait SortField: Copy + 'static {
    /// All fields with their names.
    const ALL: &'static [(&'static str, Self)];
}

/// `sort=`: a field's name, with a minus sign in front for descending order.
#[derive(Debug, Clone)]
pub(crate) struct Sort<F> {
    text: String,
    field: F,
    is_descending: bool,
}

impl<F: SortField> Sort<F> {
    /// All values of `sort=`.
    fn names() -> impl Iterator<Item = String> {
        F::ALL.iter().flat_map(|(name, _)| [(*name).to_owned(), format!("-{name}")])
    }
}

impl<'de, F: SortField> Deserialize<'de> for Sort<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let name = text.strip_prefix('-').unwrap_or(&text);
        let found = F::ALL.iter().find(|(known, _)| *known == name).map(|(_, field)| *field);
        let unknown = || {
            D::Error::custom(format!(
                "unknown sort {text:?}: must be one of {}",
                Self::names().collect::<Vec<_>>().join(", ")
            ))
        };
        let field = found.ok_or_else(unknown)?;
        Ok(Self { is_descending: name.len() < text.len(), field, text })
    }
}

impl<F: SortField> PartialSchema for Sort<F> {
    fn schema() -> RefOr<Schema> {
        // Names for generators, which cannot make one of `-created_at`.
        let names = F::ALL.iter().flat_map(|(name, _)| [name.to_uppercase(), name.to_uppercase() + "_DESCENDING"]);
        let names = ExtensionsBuilder::new().add("x-enum-varnames", names.collect::<Vec<_>>()).build();
        let values = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(Self::names()));
        values.extensions(Some(names)).into()
    }
}

impl<F: SortField> ToSchema for Sort<F> {}

/// A time as a sort value.
pub(crate) fn time(at: Timestamp) -> i64 {
    at.as_microsecond()
}

/// A number from 0 to 1 as a sort value.
pub(crate) fn share(share: f32) -> i64 {
    // The bits of non-negative floats have the same order as their values.
    share.max(0.0).to_bits().into()
}

/// Which page of a list to return.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// `next` of the previous page. Omit it for the first page.
    #[param(value_type = Option<String>)]
    pub(crate) cursor: Option<Cursor>,
    /// The maximum number of items [default: 100].
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<usize>,
}

impl PageQuery {
    /// The maximum number of items on the page.
    pub(crate) fn size(&self) -> usize {
        size(self.limit)
    }

    /// The position after which the page begins.
    pub(crate) fn position<Id: FromStr>(&self, order: &str) -> Result<Option<Position<Id>>, HttpError> {
        self.cursor.as_ref().map(|cursor| cursor.position(order)).transpose()
    }

    /// A page of a list with an index in this order. `rest` iterates over the items after a position.
    pub(crate) fn indexed<T, Id: FromStr + Display, Items: Iterator<Item = T>>(
        &self,
        order: &str,
        rest: impl FnOnce(Option<Position<Id>>) -> Items,
        position: impl Fn(&T) -> Position<Id>,
    ) -> Result<(Vec<T>, Option<String>), HttpError> {
        let after = self.position(order)?;
        Ok(page(rest(after), self.limit, |last| Cursor::at(order, &position(last))))
    }

    /// A page of a list without an index in this order. This visits all items.
    pub(crate) fn ordered<T, Id: FromStr + Display + Ord>(
        &self,
        order: &str,
        items: impl Iterator<Item = T>,
        position: impl Fn(&T) -> Position<Id>,
    ) -> Result<(Vec<T>, Option<String>), HttpError> {
        let after = self.position(order)?;
        let placed = items.map(|item| (position(&item), item));
        let mut rest: Vec<_> = placed.filter(|(at, _)| after.as_ref().is_none_or(|after| at > after)).collect();
        rest.sort_by(|(one, _), (other, _)| one.cmp(other));
        let (rest, next) = page(rest.into_iter(), self.limit, |(last, _)| Cursor::at(order, last));
        Ok((rest.into_iter().map(|(_, item)| item).collect(), next))
    }

    /// A page of a list in the requested order, ascending or descending.
    pub(crate) fn sorted<T, Id: FromStr + Display + Ord, F: SortField>(
        &self,
        sort: &Sort<F>,
        items: impl Iterator<Item = T>,
        position: impl Fn(&T, F) -> Position<Id>,
    ) -> Result<(Vec<T>, Option<String>), HttpError> {
        let position = |item: &T| {
            let (value, id) = position(item, sort.field);
            (if sort.is_descending { -value } else { value }, id)
        };
        self.ordered(&sort.text, items, position)
    }
}

/// The page size: `limit`, or the default.
pub(crate) fn size(limit: Option<usize>) -> usize {
    limit.unwrap_or(USUAL)
}

/// Takes the items of a page, and creates the cursor of the next page if there are more.
pub(crate) fn page<T>(
    items: impl Iterator<Item = T>,
    limit: Option<usize>,
    cursor: impl Fn(&T) -> String,
) -> (Vec<T>, Option<String>) {
    let limit = size(limit);
    let mut items: Vec<T> = items.take(limit + 1).collect();
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(cursor);
    (items, next)
}

/// A page of a list sorted by name, of which the caller sees only a part, and the last name if there are more. `list`
/// returns up to [`MOST`] items after a name.
pub(crate) async fn visible_page<T, Listed: Future<Output = Result<Vec<T>, corkboard::Error>>>(
    limit: usize,
    mut after: Option<String>,
    list: impl Fn(Option<String>) -> Listed,
    name: fn(&T) -> &str,
    is_visible: impl Fn(&str) -> bool,
) -> Result<(Vec<T>, Option<String>), HttpError> {
    let mut visible = Vec::new();
    // One more than fits on the page shows whether there is a next page.
    while visible.len() <= limit {
        let listed = list(after).await?;
        let is_last = listed.len() < MOST;
        after = listed.last().map(|last| name(last).to_owned());
        visible.extend(listed.into_iter().filter(|listed| is_visible(name(listed))));
        if is_last {
            break;
        }
    }
    Ok(page(visible.into_iter(), Some(limit), |last| name(last).to_owned()))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    type Numbers = (Vec<u64>, Option<String>);

    fn query(after: Option<(&str, i64)>) -> PageQuery {
        let cursor = after.map(|(order, number)| Cursor(Cursor::at(order, &(number, number))));
        PageQuery { cursor, limit: Some(10) }
    }

    /// A page of the even numbers up to 20,000, and how many of them were visited.
    fn even(after: Option<(&str, i64)>) -> Result<(Numbers, usize), HttpError> {
        let visited = Cell::new(0);
        let rest = |after: Option<Position<u64>>| {
            let start = after.map_or(0, |(_, number)| number + 1);
            (start..20_000).filter(|number| number % 2 == 0).inspect(|_| visited.set(visited.get() + 1))
        };
        let page = query(after).indexed("", rest, |number| (i64::try_from(*number).unwrap(), *number))?;
        Ok((page, visited.get()))
    }

    #[test]
    fn a_page_visits_its_own_items_and_one_more() {
        // Odd numbers are not in the list: a page after one starts with the next even number.
        for (after, first) in [(None, 0), (Some(("", 8)), 10), (Some(("", 9)), 10), (Some(("", 19_001)), 19_002)] {
            let ((items, next), visited) = even(after).map_err(drop).unwrap();
            assert_eq!((items, visited), ((0..10).map(|step| first + 2 * step).collect(), 11));
            let last = first + 18;
            assert_eq!(next, Some(Cursor::at("", &(i64::try_from(last).unwrap(), last))));
        }
        assert_eq!(even(Some(("", 19_979))).map_err(drop).unwrap().0.1, None, "the last page");
        assert!(even(Some(("ready", 8))).is_err(), "a cursor of another order");
    }

    #[tokio::test]
    async fn a_page_of_visible_items_reads_on_until_it_is_full() {
        let names: Vec<String> = (0..3 * MOST).map(|number| format!("{number:05}")).collect();
        let calls = Cell::new(0);
        let (names, counted) = (&names, &calls);
        let list = |after: Option<String>| async move {
            counted.set(counted.get() + 1);
            let rest = names.iter().filter(|name| after.as_ref().is_none_or(|after| *name > after));
            Ok(rest.take(MOST).cloned().collect())
        };
        let is_visible = |name: &str| name >= "01998";
        let page = visible_page(3, None, list, String::as_str, is_visible).await.map_err(drop).unwrap();
        let expected = ["01998", "01999", "02000"].map(str::to_owned).to_vec();
        assert_eq!((page, calls.take()), ((expected, Some("02000".into())), 3));
        let after = Some("02996".to_owned());
        let page = visible_page(3, after, list, String::as_str, is_visible).await.map_err(drop).unwrap();
        let expected = ["02997", "02998", "02999"].map(str::to_owned).to_vec();
        assert_eq!((page, calls.take()), ((expected, None), 1), "the last page");
    }

    #[test]
    fn equal_values_are_ordered_by_id() {
        let items = || [(1, "b"), (0, "c"), (1, "a")].into_iter();
        let position = |(value, id): &(i64, &str)| (*value, (*id).to_owned());
        let limit = Some(2);
        let (first, next) = PageQuery { cursor: None, limit }.ordered("x", items(), position).map_err(drop).unwrap();
        assert_eq!(first, [(0, "c"), (1, "a")]);
        let cursor = next.map(Cursor);
        let (second, next) = PageQuery { cursor, limit }.ordered("x", items(), position).map_err(drop).unwrap();
        assert_eq!((second, next), (vec![(1, "b")], None));
    }
}
