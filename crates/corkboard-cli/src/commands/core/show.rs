use clap::Args;
use corkboard::ForgottenEntries;
use corkboard::boards::{NewTask, TASK_PATTERN_TAG, TaskRef};
use corkboard::cores::{CoreEntry, CoreEntryId, Trust};
use corkboard::{CoreEntries, CoreEntryDocument, CorePage, MemoryKind, Refusal};

use crate::board_view::written;
use crate::command_session::Session;
use crate::core_args::CoreArgument;
use crate::core_view::{emptiness, entry_table, origin};
use crate::error::CliError;
use crate::output::{count, fields, json_object, one_line, shown, time};
use crate::value_parsers::{memory_kind, trust};

/// Show the entries of a core, or one entry in full
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork core show house-rules
  cork core show house-rules E-7
  cork core show house-rules --tag release --kind insight
  cork core show house-rules --forgotten
  cork core show house-rules --limit 50 --json")]
pub(crate) struct Show {
    #[command(flatten)]
    core: CoreArgument,

    /// Entry to show in full, even if it is forgotten
    #[arg(value_name = "ENTRY", conflicts_with_all = ["tag", "kind", "trust", "forgotten", "cursor", "limit"])]
    entry: Option<CoreEntryId>,

    /// Only entries with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,

    /// Only entries of this kind
    #[arg(long, value_name = "KIND", value_parser = memory_kind())]
    kind: Option<MemoryKind>,

    /// Only entries with exactly this trust level
    #[arg(long, value_name = "TRUST", value_parser = trust())]
    trust: Option<Trust>,

    /// Only forgotten entries
    #[arg(long)]
    forgotten: bool,

    /// Continue after this entry: `next` of the previous page
    #[arg(long, alias = "after", value_name = "ENTRY")]
    cursor: Option<CoreEntryId>,

    /// Maximum number of entries, up to 10000
    #[arg(long, value_name = "N", default_value_t = CoreEntries::LIMIT)]
    limit: usize,
}

impl Show {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        let core = self.core.open(session)?;
        if let Some(id) = self.entry {
            let Some(entry) = core.get(id).await? else {
                emptiness(&core).await?;
                return Err(corkboard::Error::from(Refusal::NotInCore { entry: id }).into());
            };
            return session.output.answer(&CoreEntryDocument::from(entry.clone()), || text(&entry));
        }
        let mut entries = core.entries().limit(self.limit);
        if let Some(after) = self.cursor {
            entries = entries.after(after);
        }
        if let Some(tag) = self.tag {
            entries = entries.tag(tag);
        }
        if let Some(kind) = self.kind {
            entries = entries.kind(kind);
        }
        if let Some(trust) = self.trust {
            entries = entries.trust(trust);
        }
        if self.forgotten {
            entries = entries.forgotten(ForgottenEntries::Only);
        }
        let page = entries.await?;
        let documents: Vec<_> = page.items.iter().cloned().map(CoreEntryDocument::from).collect();
        let answer = json_object! { items: documents, next: page.next, rev: page.rev };
        let empty = if page.items.is_empty() { emptiness(&core).await? } else { None };
        session.output.answer(&answer, || empty.unwrap_or_else(|| listing(&page)))
    }
}

fn listing(page: &CorePage) -> String {
    if page.items.is_empty() {
        return "no entries match".into();
    }
    let table = entry_table(page.items.iter().map(|entry| &**entry));
    match page.next {
        Some(next) => format!("{table}\nmore entries: --cursor {next}"),
        None => table,
    }
}

fn text(entry: &CoreEntry) -> String {
    let mut facts = vec![
        ("entry", format!("{}, version {}", entry.id, entry.version)),
        ("kind", written(&entry.kind)),
        ("trust", trust_text(entry)),
        ("importance", format!("{:.2}", entry.importance)),
        ("tags", one_line(&entry.tags.join(", "))),
        ("added", time(entry.created_at)),
        ("changed", time(entry.updated_at)),
    ];
    if let Some(at) = entry.expires_at {
        facts.push(("expires", time(at)));
    }
    if let Some(mark) = &entry.forgotten {
        let reason = mark.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", one_line(reason)));
        facts.push(("forgotten", format!("{} by {}{reason}", time(mark.at), one_line(&mark.by))));
    }
    facts.retain(|(_, fact)| !fact.is_empty());
    let origins: Vec<String> = entry.provenance.iter().map(|known| format!("  {}", origin(known))).collect();
    let heading = count(origins.len() as u64, "origin", "origins");
    let pattern = pattern(entry).map_or_else(String::new, |pattern| format!("\n\n{pattern}"));
    format!("{}\n\n{}\n\n{heading}:\n{}{pattern}", fields(&facts), shown(&entry.content), origins.join("\n"))
}

fn trust_text(entry: &CoreEntry) -> String {
    let trust = entry.trust();
    match &entry.vouched {
        Some(vouched) => format!("{trust}, vouched for by {} on {}", one_line(&vouched.by), time(vouched.at)),
        None => trust.to_string(),
    }
}

/// The tasks that a board would start with, if the entry is a task pattern.
fn pattern(entry: &CoreEntry) -> Option<String> {
    if !entry.tags.iter().any(|tag| **tag == *TASK_PATTERN_TAG) {
        return None;
    }
    let tasks = match NewTask::from_pattern(&entry.content) {
        Ok(tasks) => tasks,
        Err(problem) => return Some(format!("not a valid task pattern: {}", one_line(&problem.to_string()))),
    };
    let lines = tasks.iter().map(|task| {
        let key = task.key.as_deref().unwrap_or_default();
        let after = task.depends_on.iter().map(TaskRef::to_string).collect::<Vec<_>>().join(", ");
        let after = if after.is_empty() { String::new() } else { format!(" (after {after})") };
        let review = if task.needs_review { ", needs review" } else { "" };
        let minutes = task.estimate_minutes.map_or_else(String::new, |minutes| format!(", {minutes} min"));
        format!("  {key}. {}{after}{review}{minutes}", one_line(&task.title))
    });
    let heading = count(tasks.len() as u64, "task", "tasks");
    Some(format!("{heading} for a board:\n{}", lines.collect::<Vec<_>>().join("\n")))
}
