//! The best of many, without sorting them all.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub(crate) struct Top<T> {
    limit: usize,
    /// The least of those kept is on top.
    kept: BinaryHeap<Reverse<T>>,
}

impl<T: Ord> Top<T> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, kept: BinaryHeap::with_capacity(limit.min(64) + 1) }
    }

    /// The least of those kept, if there is no room for more.
    pub(crate) fn least(&self) -> Option<&T> {
        self.kept.peek().filter(|_| self.kept.len() >= self.limit).map(|Reverse(least)| least)
    }

    pub(crate) fn takes(&self, candidate: &T) -> bool {
        self.kept.len() < self.limit || self.kept.peek().is_some_and(|Reverse(least)| candidate > least)
    }

    pub(crate) fn offer(&mut self, candidate: T) {
        if self.limit > 0 && self.takes(&candidate) {
            self.kept.push(Reverse(candidate));
            if self.kept.len() > self.limit {
                self.kept.pop();
            }
        }
    }

    pub(crate) fn into_sorted(self) -> Vec<T> {
        self.kept.into_sorted_vec().into_iter().map(|Reverse(kept)| kept).collect()
    }
}
