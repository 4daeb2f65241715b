//! Reads logs and lists of spaces, page by page.

use std::vec;

use corkboard_core::{Head, SpaceId, SpaceKind};

use super::TokenCopying;
use crate::store::{Cursor, ListedSpace, Record, Store, StoreError};

const LISTED: usize = 256;
/// Page size of the list when searching for one space.
const NEAR: usize = 16;
/// Records read or written at a time, unless their bytes fill a page first.
pub(super) const PAGE: usize = 512;

/// Lists all spaces of a store, with or without its tokens: kind by kind, in the order of their IDs.
pub(super) struct Listing<'a> {
    store: &'a dyn Store,
    tokens: TokenCopying,
    kinds: &'static [SpaceKind],
    last: Option<SpaceId>,
    page: vec::IntoIter<ListedSpace>,
}

impl<'a> Listing<'a> {
    pub(super) fn new(store: &'a dyn Store, tokens: TokenCopying) -> Self {
        Self { store, tokens, kinds: SpaceKind::ALL, last: None, page: Vec::new().into_iter() }
    }

    pub(super) async fn next(&mut self) -> Result<Option<ListedSpace>, StoreError> {
        loop {
            if let Some(listed) = self.page.next() {
                self.last = Some(listed.space.clone());
                return Ok(Some(listed));
            }
            let Some((kind, others)) = self.kinds.split_first() else { return Ok(None) };
            let page = match self.tokens.leave_out(*kind) {
                true => Vec::new(),
                false => self.store.list(*kind, self.last.as_ref(), LISTED).await?,
            };
            if page.is_empty() {
                (self.kinds, self.last) = (others, None);
            }
            self.page = page.into_iter();
        }
    }
}

pub(super) async fn count(store: &dyn Store, tokens: TokenCopying) -> Result<u64, StoreError> {
    let (mut listing, mut count) = (Listing::new(store, tokens), 0);
    while listing.next().await?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// Finds one space in a store's list.
pub(super) async fn find(store: &dyn Store, space: &SpaceId) -> Result<Option<ListedSpace>, StoreError> {
    let Some(kind) = space.kind() else { return Ok(None) };
    // The list can continue after any ID, even one that does not exist. The ID without its last character is just
    // before it.
    let mut before = space.as_str().to_owned();
    before.pop();
    let mut after = SpaceId::from_stored(&before);
    loop {
        let page = store.list(kind, Some(&after), NEAR).await?;
        match page.last() {
            Some(last) if last.space < *space => after = last.space.clone(),
            _ => return Ok(page.into_iter().find(|listed| listed.space == *space)),
        }
    }
}

/// The oldest held revision of a space, or the first one that would be held.
pub(super) async fn oldest(store: &dyn Store, space: &SpaceId, born: Head) -> Result<u64, StoreError> {
    match store.read_after(space, Cursor { rev: born.rev, commit: None }, 1).await {
        Ok(_) => Ok(born.rev + 1),
        Err(StoreError::Compacted { oldest }) => Ok(oldest),
        Err(error) => Err(error),
    }
}

/// The records of a space in order, up to a revision.
pub(super) struct LogReader<'a> {
    store: &'a dyn Store,
    space: &'a SpaceId,
    cursor: Cursor,
    end: u64,
    page: vec::IntoIter<Record>,
}

impl<'a> LogReader<'a> {
    /// Reads the records after the cursor, up to and including revision `end`.
    pub(super) fn new(store: &'a dyn Store, space: &'a SpaceId, cursor: Cursor, end: u64) -> Self {
        Self { store, space, cursor, end, page: Vec::new().into_iter() }
    }

    pub(super) async fn next(&mut self) -> Result<Option<Record>, StoreError> {
        let missing = self.end.saturating_sub(self.cursor.rev);
        if missing == 0 {
            return Ok(None);
        }
        if self.page.len() == 0 {
            let limit = usize::try_from(missing).map_or(PAGE, |missing| missing.min(PAGE));
            self.page = self.store.read_after(self.space, self.cursor, limit).await?.records.into_iter();
        }
        let expected = self.cursor.rev + 1;
        let record = self.page.next().filter(|record| record.rev == expected);
        let record =
            record.ok_or_else(|| StoreError::Corrupt(format!("space {}: no revision {expected}", self.space)))?;
        self.cursor = Cursor { rev: record.rev, commit: Some(record.commit) };
        Ok(Some(record))
    }
}
