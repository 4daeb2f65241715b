//! Which documents are folded into one hit: those with nearly the same words.

use super::Occurrence;

/// Documents are alike if they share this much of their words.
const ALIKE: f32 = 0.9;
const MIN_ALIKE_TERMS: usize = 4;

/// Whether the bodies of two documents have nearly the same words. Short texts are never alike: `5` may be the value of
/// two keys.
pub(super) fn are_alike(mine: &[Occurrence], its: &[Occurrence]) -> bool {
    let in_body = |terms: &[Occurrence]| terms.iter().filter(|term| term.is_in_body).count();
    let (all_mine, all_its) = (in_body(mine), in_body(its));
    let (fewer, more) = (all_mine.min(all_its), all_mine.max(all_its));
    if fewer < MIN_ALIKE_TERMS || (fewer as f32) < ALIKE * more as f32 {
        return false;
    }
    let mut its = its.iter().filter(|term| term.is_in_body).peekable();
    let mut shared = 0;
    for term in mine.iter().filter(|term| term.is_in_body) {
        while its.next_if(|other| other.number < term.number).is_some() {}
        shared += usize::from(its.next_if(|other| other.number == term.number).is_some());
    }
    shared as f32 >= ALIKE * (all_mine + all_its - shared) as f32
}
