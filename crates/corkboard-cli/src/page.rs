//! Pages of lists, with cursors.

use clap::Args;
use corkboard::Limits;
use data_encoding::BASE64URL_NOPAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::CliError;

/// Arguments that select a page of a list.
#[derive(Args)]
pub(crate) struct PageArguments {
    /// Maximum number of items [default: all]
    #[arg(long, value_name = "NUMBER")]
    limit: Option<u64>,

    /// Continue after the previous page: its `next`
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// The value of --limit, which has the same range as over HTTP.
pub(crate) fn page_size(limit: Option<u64>) -> Result<Option<usize>, CliError> {
    let Some(limit) = limit else { return Ok(None) };
    Limits::check_range("limit", limit, 1..=1_000).map_err(corkboard::Error::from)?;
    Ok(usize::try_from(limit).ok())
}

/// A page of a list, as JSON.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    /// The cursor of the next page, or None on the last one.
    pub(crate) next: Option<String>,
}

impl PageArguments {
    /// The page of a list sorted by a key. The cursor contains the key of the last item, so it stays valid when that item
    /// leaves the list.
    pub(crate) fn of<T, K: Ord + Serialize + DeserializeOwned>(
        &self,
        items: impl IntoIterator<Item = T>,
        key: impl Fn(&T) -> K,
    ) -> Result<Page<T>, CliError> {
        let last: Option<K> = self.cursor.as_deref().map(decode).transpose()?;
        let limit = page_size(self.limit)?.unwrap_or(usize::MAX - 1);
        let rest = items.into_iter().filter(|item| last.as_ref().is_none_or(|last| key(item) > *last));
        let mut items: Vec<T> = rest.take(limit + 1).collect();
        let more = items.len() > limit;
        items.truncate(limit);
        let next = items.last().filter(|_| more).map(|last| encode(&key(last)));
        Ok(Page { items, next })
    }
}

impl<T> Page<T> {
    /// A list without pages.
    pub(crate) fn whole(items: Vec<T>) -> Self {
        Self { items, next: None }
    }

    pub(crate) fn map<'a, U>(&'a self, view: impl Fn(&'a T) -> U) -> Page<U> {
        Page { items: self.items.iter().map(view).collect(), next: self.next.clone() }
    }

    /// Adds the cursor of the next page to a text.
    pub(crate) fn text(&self, text: String) -> String {
        match &self.next {
            Some(next) => format!("{text}\nmore items: --cursor {next}"),
            None => text,
        }
    }
}

fn encode(key: &impl Serialize) -> String {
    BASE64URL_NOPAD.encode(&serde_json::to_vec(key).unwrap_or_default())
}

fn decode<K: DeserializeOwned>(cursor: &str) -> Result<K, CliError> {
    let key = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    key.ok_or_else(|| {
        CliError::invalid("cursor", format!("invalid cursor {cursor:?}"))
            .hint("use `next` of the previous page of the same list, or leave out --cursor")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_cover_the_list_even_if_items_leave_it() {
        let mut list: Vec<u64> = (1..=7).collect();
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = PageArguments { limit: Some(3), cursor }.of(list.clone(), |item| *item).unwrap();
            list.retain(|item| !page.items.contains(item));
            seen.extend(page.items);
            match page.next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7]);
        let all = PageArguments { limit: None, cursor: None }.of([1, 2], |item: &u64| *item).unwrap();
        assert_eq!(all, Page { items: vec![1, 2], next: None });
        let wrong = PageArguments { limit: None, cursor: Some("E-1".into()) };
        assert!(wrong.of([1, 2], |item: &u64| *item).is_err());
    }
}
