//! `cork board artifact`: files and other results of the work.

use std::path::Path;

use clap::builder::TypedValueParser;
use clap::{Args, Subcommand};
use corkboard::boards::{ArtifactType, NewArtifact, TaskId};
use corkboard::{LimitName, Limits, NoChecksum};

use super::show::{artifacts, newest_artifacts};
use crate::board_args::RevisionArgument;
use crate::command_session::Session;
use crate::conditions::RequestConditions;
use crate::core_args::TrustArguments;
use crate::error::{CliError, say};
use crate::output::one_line;
use crate::page::Page;
use crate::text_input::{expect_within, read_one_more};
use crate::value_parsers::one_of;

/// Record an artifact: a file or another result of the work
///
/// Prints its ID. Recording the same path again creates its next version; ./a, x/../a and the absolute path of a file in
/// the current folder count as the same path. Size and SHA-256 are recorded if the file is below the current folder. The
/// board stores a copy of the text only with --inline.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  cork board artifact src/schema.sql --type code --task T-1 --description 'two tables'
  cork board artifact notes.md --inline
  cork board artifact https://example.org/build/17.tar --size 1048576
  cork board artifact list"
)]
pub(crate) struct Artifact {
    #[command(subcommand)]
    command: Option<ArtifactSubcommand>,

    /// Path or URL
    #[arg(required = true)]
    path: Option<String>,

    /// Type of artifact
    #[arg(long = "type", value_name = "TYPE", default_value = "file", value_parser = artifact_type())]
    kind: ArtifactType,

    /// Description
    #[arg(long, short, value_name = "TEXT")]
    description: Option<String>,

    /// Task that produced it
    #[arg(long, value_name = "TASK")]
    task: Option<TaskId>,

    /// Store the file's text on the board
    #[arg(long)]
    inline: bool,

    /// Expected SHA-256; fails if the file has another one
    #[arg(long, value_name = "SHA-256")]
    checksum: Option<String>,

    /// Expected size in bytes; fails if the file has another one
    #[arg(long, value_name = "BYTES")]
    size: Option<u64>,

    #[command(flatten)]
    trust: TrustArguments,

    #[command(flatten)]
    conditions: RequestConditions,
}

/// Words that are more likely a mistaken subcommand than a file name.
const VERBS: [&str; 12] =
    ["add", "create", "delete", "edit", "forget", "get", "ls", "record", "remove", "rm", "search", "show"];

#[derive(Subcommand)]
enum ArtifactSubcommand {
    List(List),
}

/// List artifacts: the newest version of each path
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork board artifact list
  cork board artifact list --json | jq -r '.items[].path'")]
struct List {
    #[command(flatten)]
    moment: RevisionArgument,
}

fn artifact_type() -> impl TypedValueParser<Value = ArtifactType> {
    one_of([
        ("file", ArtifactType::File, "Any file"),
        ("code", ArtifactType::Code, "Source code"),
        ("document", ArtifactType::Document, "Text for people"),
        ("config", ArtifactType::Config, "Settings"),
        ("test", ArtifactType::Test, "A test"),
    ])
}

impl Artifact {
    pub(crate) async fn run(self, session: &Session) -> Result<(), CliError> {
        match (self.command, self.path) {
            (Some(ArtifactSubcommand::List(list)), _) => list.run(session).await,
            (None, Some(path)) => Self { command: None, path: None, ..self }.record(path, session).await,
            // Not reached: without a command the path is required.
            (None, None) => Err(CliError::invalid("usage", "an artifact needs a path")),
        }
    }

    async fn record(self, path: String, session: &Session) -> Result<(), CliError> {
        expect_path(&path)?;
        let board = self.conditions.open(session)?;
        let content = self.inline.then(|| read(&path)).transpose()?;
        let shown = one_line(&path);
        let artifact = NewArtifact {
            kind: self.kind,
            path,
            description: self.description.unwrap_or_default(),
            task: self.task,
            checksum: self.checksum,
            size: self.size,
            content,
            trust: self.trust.said(),
        };
        let recorded = board.record_artifact(artifact).in_folder(".").recorded().await?;
        // With --json, the answer has the reason.
        let unread = recorded.no_checksum.filter(|_| !session.output.is_json());
        if let Some(why) = unread.and_then(|why| why_unread(&shown, why)) {
            say(&format!("note: no checksum was recorded: {why}"));
        }
        session.output.answer(&recorded, || recorded.id.to_string())
    }
}

impl List {
    async fn run(self, session: &Session) -> Result<(), CliError> {
        let view = self.moment.view(&session.open_board()?).await?;
        let made = Page::whole(newest_artifacts(view.state()).collect());
        session.output.list(&made, || {
            artifacts(view.state()).unwrap_or_else(|| "no artifacts; record one with `cork board artifact PATH`".into())
        })
    }
}

/// Refuses a word that is most likely a mistaken subcommand, unless a file has that name.
fn expect_path(path: &str) -> Result<(), CliError> {
    if !VERBS.contains(&path) || Path::new(path).exists() {
        return Ok(());
    }
    let message = format!("no file {path:?} and no command `cork board artifact {path}`");
    Err(CliError::invalid("not_a_path", message).hint(format!(
        "list artifacts with `cork board artifact list`; to record a file with this name, write ./{path}"
    )))
}

/// Why a path has no checksum. The path can be a typo or exist only on another machine. URLs are never read.
fn why_unread(path: &str, why: NoChecksum) -> Option<String> {
    match why {
        NoChecksum::Url => None,
        NoChecksum::NotFound => Some(format!("{path} does not exist here")),
        NoChecksum::NotAFile => Some(format!("{path} is not a file")),
        NoChecksum::OutsideFolder => Some(format!("{path} is outside the current folder")),
        why => Some(why.to_string()),
    }
}

fn read(path: &str) -> Result<String, CliError> {
    let unreadable = |error| CliError::invalid("unreadable", format!("cannot read {path}: {error}"));
    let allowed = Limits::default().inline_bytes;
    let bytes = std::fs::File::open(path).and_then(|file| read_one_more(file, allowed)).map_err(unreadable)?;
    let used = bytes.len() as u64;
    if used > allowed {
        let used = std::fs::metadata(path).map_or(used, |file| file.len().max(used));
        expect_within(LimitName::InlineBytes, used, allowed)?;
    }
    String::from_utf8(bytes).map_err(|_| {
        CliError::invalid("unreadable", format!("{path} is not UTF-8 text")).hint("record it without --inline")
    })
}
