//! The last code fences of a text, computed once, so that the parser need not search the text repeatedly.

use alloc::vec::Vec;

use super::line::{Fence, LineShape, SourceLine};

/// For every length of a bare fence, the last line with a bare fence of at least that length.
pub(super) struct LastFences {
    back_ticks: Vec<usize>,
    tildes: Vec<usize>,
}

impl LastFences {
    pub(super) fn of(text: &str) -> Self {
        let mut last = Self { back_ticks: Vec::new(), tildes: Vec::new() };
        for (index, line) in text.split('\n').enumerate() {
            if let LineShape::Fence(fence) = SourceLine::new(index + 1, line).shape()
                && fence.bare
            {
                let lines = if fence.mark == b'`' { &mut last.back_ticks } else { &mut last.tildes };
                if lines.len() <= fence.len {
                    lines.resize(fence.len + 1, 0);
                }
                if let Some(place) = lines.get_mut(fence.len) {
                    *place = index + 1;
                }
            }
        }
        for lines in [&mut last.back_ticks, &mut last.tildes] {
            let mut newest = 0;
            for line in lines.iter_mut().rev() {
                newest = newest.max(*line);
                *line = newest;
            }
        }
        last
    }

    /// Whether a fence that opens in this line is closed in a later one.
    pub(super) fn closes_after(&self, fence: Fence, line: usize) -> bool {
        let lines = if fence.mark == b'`' { &self.back_ticks } else { &self.tildes };
        lines.get(fence.len).is_some_and(|last| *last > line)
    }
}
