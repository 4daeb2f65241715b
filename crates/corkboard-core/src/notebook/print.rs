//! Prints a block as text that is parsed as the same block.

use core::fmt;

use super::line::{ListKind, SectionKind};
use super::{Block, NewLearning, NewSnippet, Notebook};

impl Notebook {
    /// The shown content as a block that would add all of it.
    pub fn as_block(&self) -> Block {
        let learnings = self.learnings.iter();
        let snippets = self.snippets.iter();
        Block {
            progress: (!self.progress.is_empty()).then(|| self.progress.clone()),
            learnings: learnings
                .map(|learning| NewLearning { text: learning.text.clone(), reason: learning.reason.clone() })
                .collect(),
            snippets: snippets
                .map(|snippet| NewSnippet {
                    label: snippet.label.clone(),
                    text: snippet.text.clone(),
                    reason: snippet.reason.clone(),
                })
                .collect(),
            ..Block::default()
        }
    }
}

impl fmt::Display for Notebook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.as_block(), f)
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(progress) = &self.progress {
            writeln!(f, "{}:", SectionKind::Progress.name())?;
            for (name, bullets) in progress.lists() {
                match (bullets.is_empty(), name == ListKind::InProgress.name()) {
                    (true, true) => writeln!(f, "  {name}: (none)")?,
                    (true, false) => {}
                    (false, _) => writeln!(f, "  {name}:")?,
                }
                bullets.iter().try_for_each(|bullet| writeln!(f, "    - {bullet}"))?;
            }
            writeln!(f)?;
        }
        writeln!(f, "{}:", SectionKind::Learnings.name())?;
        list(f, ListKind::Add, &self.learnings, |f, NewLearning { text, reason }| {
            writeln!(f, "    - because {reason}: {text}")
        })?;
        list(f, ListKind::Archive, &self.archived_learnings, |f, old| {
            writeln!(f, "    - {} because {}", old.id, old.reason)
        })?;
        writeln!(f, "\n{}:", SectionKind::Snippets.name())?;
        list(f, ListKind::Add, &self.snippets, snippet)?;
        list(f, ListKind::Archive, &self.archived_snippets, |f, old| {
            writeln!(f, "    - {} because {}", old.id, old.reason)
        })
    }
}

fn list<T>(
    f: &mut fmt::Formatter<'_>,
    list: ListKind,
    items: &[T],
    mut item: impl FnMut(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(f, "  {}:", list.name())?;
    items.iter().try_for_each(|found| item(f, found))
}

/// Prints the snippet below its label, line by line, so that any text is parsed back unchanged.
fn snippet(f: &mut fmt::Formatter<'_>, NewSnippet { label, text, reason }: &NewSnippet) -> fmt::Result {
    writeln!(f, "    - because {reason}: {label} =>")?;
    let with_text = text.trim_end().len();
    let mut at = 0;
    for line in text.split('\n') {
        // Blank lines at the end need indentation, or the parser would take them for layout.
        if line.is_empty() && at < with_text {
            writeln!(f)?
        } else {
            writeln!(f, "      {line}")?
        }
        at += line.len() + 1;
    }
    Ok(())
}
