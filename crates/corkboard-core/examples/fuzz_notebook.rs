//! Mutates a corpus of texts and checks rules that hold for every text: nothing panics, problems lie inside the text,
//! snippets keep their bytes, accepted text prints and parses to itself, and the work grows linearly with the length.
//!
//! ```text
//! cargo run --release -p corkboard-core --example fuzz_notebook -- [seconds] [seed]
//! ```
//!
//! Runs on stable Rust and prints its seed. Stops at the first text that breaks a rule and prints it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a broken rule stops the program"
)]

#[path = "../tests/it/notebook/laws.rs"]
mod laws;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use corkboard_core::notebook::parse;
use laws::check_laws;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments.next().map_or(10, |argument| argument.parse().unwrap());
    let seed: u64 = arguments.next().map_or(1, |argument| argument.parse().unwrap());
    let mut corpus = corpus();
    let seeds = corpus.len();
    let mut random = Random(seed.wrapping_mul(2).wrapping_add(1));
    let (began, limit) = (Instant::now(), Duration::from_secs(seconds));
    let (mut runs, mut accepted, mut bytes) = (0_u64, 0_u64, 0_u64);
    println!("seed {seed}, {seeds} texts, {seconds} s");
    while began.elapsed() < limit {
        let text = mutate(&corpus, &mut random);
        let checked = catch_unwind(AssertUnwindSafe(|| {
            let parsed = check_laws(&text);
            (!parsed.has_errors(), parsed.problems.len())
        }));
        let Ok((is_accepted, _)) = checked else {
            eprintln!("run {runs} of seed {seed} broke a rule:\n{text:?}");
            std::process::exit(1);
        };
        (runs, bytes, accepted) = (runs + 1, bytes + text.len() as u64, accepted + u64::from(is_accepted));
        // Accepted texts are mutated further. The corpus stays small.
        if is_accepted && text.len() < 4_000 {
            let place = seeds + random.below(2_000);
            if place < corpus.len() { corpus[place] = text } else { corpus.push(text) }
        }
        if runs.is_multiple_of(20_000) {
            check_growth(&corpus[random.below(corpus.len())]);
        }
    }
    println!("{runs} texts, {bytes} bytes, {accepted} accepted: no rule was broken");
}

fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/notebook");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Repeating a text must cost in proportion. The measure is the result's allocations and characters, not time.
fn check_growth(text: &str) {
    let size = |times: usize| {
        let parsed = parse(&text.repeat(times));
        let texts: usize = parsed.block.snippets.iter().map(|snippet| snippet.text.len()).sum();
        texts + parsed.problems.iter().map(|problem| problem.message.len() + problem.excerpt.len()).sum::<usize>()
    };
    let (some, more) = (size(64), size(128));
    assert!(more <= 2 * some + 64 * text.len() + 4_096, "{some} became {more}: {text:?}");
}

/// Pseudo-random numbers from a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

const PIECES: [&str; 40] = [
    "\n",
    "\r\n",
    "\r",
    "\t",
    "  ",
    "    ",
    "      ",
    "- ",
    "* ",
    "because ",
    ": ",
    " => ",
    "=>",
    "KL-1",
    "VC-2",
    "(none)",
    "CURRENT_PROGRESS:\n",
    "KEY_LEARNINGS:\n",
    "VERBATIM_CONTEXT:\n",
    "  ADD:\n",
    "  ARCHIVE:\n",
    "  In Progress:\n",
    "Completed:",
    "Remaining:",
    "```\n",
    "```rust\n",
    "~~~\n",
    "\"",
    "'",
    "`",
    "(",
    ")",
    "[",
    "]",
    "\u{a0}",
    "\u{feff}",
    "é🗝",
    "---\n",
    "    - because r: l => x\n",
    "\n\n",
];

/// Some mutations of a text of the corpus, most of them to its lines.
fn mutate(corpus: &[String], random: &mut Random) -> String {
    let mut text = corpus[random.below(corpus.len())].clone();
    for _ in 0..1 + random.below(6) {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let at = random.below(lines.len() + 1);
        let other: Vec<&str> = corpus[random.below(corpus.len())].split_inclusive('\n').collect();
        text = match random.below(9) {
            0 => [&lines[..at], &lines[(at + 1).min(lines.len())..]].concat().concat(),
            1 => {
                let line = other.get(random.below(other.len())).copied().unwrap_or("\n");
                [&lines[..at], &[line], &lines[at..]].concat().concat()
            }
            2 => [&lines[..at], &lines[at..], &lines[..at]].concat().concat(),
            3 => [&lines[..at], &other[random.below(other.len() + 1)..]].concat().concat(),
            4 => {
                let indent = [" ", "  ", "\t", "      "][random.below(4)];
                let from = random.below(lines.len() + 1).min(at);
                let indented = |(index, line): (usize, &&str)| {
                    if (from..at).contains(&index) { format!("{indent}{line}") } else { (*line).to_owned() }
                };
                lines.iter().enumerate().map(indented).collect()
            }
            5 => {
                let outdented = |line: &&str| line.strip_prefix([' ', '\t']).unwrap_or(line).to_owned();
                lines.iter().map(outdented).collect()
            }
            6 => text.replace('\n', "\r\n"),
            _ => {
                let characters: Vec<char> = text.chars().collect();
                let (from, piece) = (random.below(characters.len() + 1), PIECES[random.below(PIECES.len())]);
                let to = (from + random.below(4)).min(characters.len());
                let (before, after): (String, String) =
                    (characters[..from].iter().collect(), characters[to..].iter().collect());
                format!("{before}{piece}{after}")
            }
        };
        if text.len() > 20_000 {
            text = text.chars().take(5_000).collect();
        }
    }
    text
}
