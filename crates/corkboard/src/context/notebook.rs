//! Lines of an agent's notebooks: learnings and snippets, which seldom change, and progress, which changes with every
//! step.

use std::borrow::Cow;
use std::collections::HashSet;

use corkboard_core::NotebookName;
use corkboard_core::notebook::{Notebook, NotebookItemId};

use super::SectionName;
use super::item::{self, Body};
use super::list::ItemRef;
use super::part::ShownItems;
use super::section::Section;

/// The lines of all notebooks, by notebook, each in its order.
#[derive(Default, Clone)]
pub(super) struct NotebookLines<'a> {
    pub(super) learnings: Vec<NotebookLine<'a>>,
    pub(super) snippets: Vec<NotebookLine<'a>>,
    pub(super) progress: Vec<NotebookLine<'a>>,
}

#[derive(Clone)]
pub(super) struct NotebookLine<'a> {
    /// The item's name in reports and search results. All bullets of a notebook share one name, its progress.
    pub(super) name: String,
    pub(super) label: String,
    pub(super) text: Cow<'a, str>,
}

impl<'a> NotebookLines<'a> {
    pub(super) fn of<N: AsRef<Notebook> + 'a>(notebooks: impl Iterator<Item = (&'a NotebookName, &'a N)>) -> Self {
        let mut lines = Self::default();
        for (name, notebook) in notebooks {
            lines.add(name, notebook.as_ref());
        }
        lines
    }

    fn add(&mut self, name: &NotebookName, notebook: &'a Notebook) {
        // Items of the main notebook do not name it.
        let which = if name.as_str() == Notebook::MAIN {
            String::new()
        } else {
            let mut which = " in ".to_owned();
            item::push_key(&mut which, name.as_str());
            which
        };
        self.learnings.extend(notebook.learnings.iter().map(|learning| NotebookLine {
            name: name_of(Some(learning.id.into()), name),
            label: format!("{}{which}: ", learning.id),
            text: (&*learning.text).into(),
        }));
        self.snippets.extend(notebook.snippets.iter().map(|snippet| {
            let mut label = format!("{}{which}, ", snippet.id);
            item::push_key(&mut label, &snippet.label);
            label.push_str(": ");
            NotebookLine { name: name_of(Some(snippet.id.into()), name), label, text: (&*snippet.text).into() }
        }));
        for (list, bullets) in notebook.progress.lists() {
            self.progress.extend(bullets.iter().map(|bullet| NotebookLine {
                name: name_of(None, name),
                label: format!("{list}{which}: "),
                text: (&**bullet).into(),
            }));
        }
    }
}

/// The name of a notebook's item, or of its progress if `item` is `None`.
pub(super) fn name_of(item: Option<NotebookItemId>, notebook: &NotebookName) -> String {
    let mut name = item.map_or_else(|| "progress".into(), |item| item.to_string());
    name.push_str(" in notebook ");
    item::push_key(&mut name, notebook.as_str());
    name
}

/// The newest lines that fit, in their order. Adds the items that it shows whole to `shown`.
pub(super) fn section<'m>(
    name: SectionName,
    lines: &'m [NotebookLine<'_>],
    room: u64,
    most: u64,
    shown: &mut ShownItems<'m>,
) -> Section {
    let mut section = Section::new(name, room);
    let (mut taken, mut tokens) = (Vec::new(), 0);
    for line in lines.iter().rev() {
        match item::listed(&line.label, Body::Text(&line.text), most) {
            Some(rendered) if tokens + rendered.tokens <= section.left() => {
                tokens += rendered.tokens;
                taken.push(rendered);
            }
            _ => break,
        }
    }
    let (left_out, kept) = lines.split_at(lines.len() - taken.len());
    // A notebook's progress is one item with many lines. It counts as shown if all of them are.
    let mut partly: HashSet<&str> = left_out.iter().map(|line| line.name.as_str()).collect();
    for (line, rendered) in kept.iter().zip(taken.into_iter().rev()) {
        if rendered.is_cut {
            partly.insert(&line.name);
        }
        section.push(ItemRef::Notebook(&line.name), Some(rendered), 0);
    }
    let whole = kept.iter().filter(|line| !partly.contains(line.name.as_str()));
    shown.extend(whole.map(|line| ItemRef::Notebook(&line.name)));
    section.leave_out_rest(left_out.len(), left_out.iter().rev().map(|line| ItemRef::Notebook(&line.name)));
    section
}
