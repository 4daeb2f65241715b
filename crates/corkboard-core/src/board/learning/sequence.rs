//! Chains of dependent tasks that occur more than once. The work is bounded: each task continues at most `MOST_CHAINS`
//! chains.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::super::BoardState;
use super::LearningId;
use super::patterns::{LEAST_REPEATS, Patterns};

/// How many dependencies of a task are followed.
const MOST_BEFORE: usize = 8;
/// How many chains of one length that end at the same task are followed.
const MOST_CHAINS: usize = 8;
/// How many sequences are returned.
const MOST_SEQUENCES: usize = 64;

/// Tasks that depend on one another, by their index in [`Patterns::tasks`], in order of work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chain {
    tasks: [u32; LearningId::MOST],
    words: [u32; LearningId::MOST],
    length: usize,
}

impl Chain {
    fn of(task: u32, word: u32) -> Self {
        Self { tasks: [0; LearningId::MOST], words: [0; LearningId::MOST], length: 0 }.then(task, word)
    }

    fn then(mut self, task: u32, word: u32) -> Self {
        if let (Some(last), Some(last_word)) = (self.tasks.get_mut(self.length), self.words.get_mut(self.length)) {
            (*last, *last_word) = (task, word);
            self.length += 1;
        }
        self
    }

    pub(super) fn tasks(&self) -> &[u32] {
        self.tasks.get(..self.length).unwrap_or_default()
    }

    fn words(&self) -> &[u32] {
        self.words.get(..self.length).unwrap_or_default()
    }
}

/// Every sequence of words that occurs at least twice without sharing a task, with its occurrences. Sequences that are
/// part of a longer one are left out.
pub(super) fn frequent_chains(patterns: &Patterns, state: &BoardState) -> Vec<(Vec<u32>, Vec<Chain>)> {
    let before = before(patterns, state);
    let mut ending: Vec<Vec<Chain>> = Vec::with_capacity(patterns.tasks.len());
    ending.extend((0..).zip(&patterns.tasks).map(|(at, (_, word))| Vec::from([Chain::of(at, *word)])));
    let mut found: Vec<(Vec<u32>, Vec<Chain>)> = Vec::new();
    for length in 1..=LearningId::MOST {
        let frequent = apart(&ending);
        // Every part of a frequent sequence is frequent, so rare ones need not be followed.
        for chains in &mut ending {
            chains.retain(|chain| frequent.contains_key(chain.words()));
        }
        if length >= LearningId::FEWEST {
            found.extend(frequent.into_iter().filter(|(words, _)| is_varied(words)));
        }
        ending = longer(&ending, &before, patterns);
    }
    let mut found = longest(found);
    found.sort_by(|(one, chains), (other, more)| {
        let weight = |words: &[u32], chains: &[Chain]| Reverse(words.len() * chains.len());
        weight(one, chains).cmp(&weight(other, more)).then_with(|| one.cmp(other))
    });
    found.truncate(MOST_SEQUENCES);
    found
}

/// For each task, the indices of the completed tasks that it depends on.
fn before(patterns: &Patterns, state: &BoardState) -> Vec<Vec<u32>> {
    let before = patterns.tasks.iter().map(|(task, _)| {
        let depends_on = state.task(*task).map(|task| &*task.depends_on).unwrap_or_default();
        let places = depends_on.iter().filter_map(|on| {
            let place = patterns.tasks.binary_search_by_key(on, |(task, _)| *task).ok()?;
            u32::try_from(place).ok()
        });
        places.take(MOST_BEFORE).collect()
    });
    before.collect()
}

/// The sequences that occur often enough, counting only occurrences that share no task.
fn apart(ending: &[Vec<Chain>]) -> BTreeMap<Vec<u32>, Vec<Chain>> {
    let mut groups: BTreeMap<&[u32], Vec<Chain>> = BTreeMap::new();
    for chain in ending.iter().flatten() {
        groups.entry(chain.words()).or_default().push(*chain);
    }
    let mut frequent = BTreeMap::new();
    for (words, chains) in groups {
        let mut used = BTreeSet::new();
        let mut apart = Vec::new();
        for chain in chains {
            if chain.tasks().iter().all(|task| !used.contains(task)) {
                used.extend(chain.tasks().iter().copied());
                apart.push(chain);
            }
        }
        if apart.len() >= LEAST_REPEATS {
            frequent.insert(words.to_vec(), apart);
        }
    }
    frequent
}

fn longer(ending: &[Vec<Chain>], before: &[Vec<u32>], patterns: &Patterns) -> Vec<Vec<Chain>> {
    let longer = (0..).zip(&patterns.tasks).zip(before).map(|((at, (_, word)), before)| {
        let mut chains: Vec<Chain> = Vec::new();
        let ending = before.iter().filter_map(|place| ending.get(*place as usize)).flatten();
        for chain in ending.map(|chain| chain.then(at, *word)) {
            if chains.len() == MOST_CHAINS {
                break;
            }
            if chains.iter().all(|other| other.words() != chain.words()) {
                chains.push(chain);
            }
        }
        chains
    });
    longer.collect()
}

/// Whether it contains different words.
fn is_varied(words: &[u32]) -> bool {
    words.iter().any(|word| Some(word) != words.first())
}

/// The sequences that are not part of a longer one.
fn longest(mut found: Vec<(Vec<u32>, Vec<Chain>)>) -> Vec<(Vec<u32>, Vec<Chain>)> {
    found.sort_by_key(|(words, _)| Reverse(words.len()));
    let mut covered: BTreeSet<Vec<u32>> = BTreeSet::new();
    found.retain(|(words, _)| {
        if covered.contains(words) {
            return false;
        }
        for length in LearningId::FEWEST..words.len() {
            covered.extend(words.windows(length).map(Into::into));
        }
        true
    });
    found
}
