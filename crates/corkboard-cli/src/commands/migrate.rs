//! `cork migrate`: copy everything from one store to another.

use clap::Args;
use corkboard::store::{self, Store, StoreError, StoreInfo, StoreUrl};
use corkboard::transfer::{
    MigrateMode, MigrateOptions, Migrated, MigratedSpace, MigrationProblem, TransferError, migrate,
};
use corkboard::{Creation, ErrorKind, Options};
use serde::Serialize;

use super::import::{ProblemView, expect_none, tell_left_out, tokens};
use crate::args::Global;
use crate::error::CliError;
use crate::output::{Fit, Output, Rest, bytes, count, json_object, one_line, table};
use crate::progress::{ProgressLine, unless_interrupted};

const SHOWN_NAMES: usize = 10;

/// Copy everything from one store to another, and compare both
///
/// Copies each space with all revisions that are kept, with the same commit IDs, times and snapshots. Deleted spaces are not
/// copied. Other processes can keep writing to FROM, but must not write to TO yet. A space with a different history in TO is
/// reported and left unchanged, and the migration continues with the others. You can interrupt it and run it again.
///
/// Access tokens are neither copied nor compared unless you pass --with-tokens. With them, everyone who has a token for FROM
/// can use TO.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork migrate sqlite:corkboard.db sqlite:/srv/corkboard.db
  cork migrate sqlite:corkboard.db sqlite:/srv/corkboard.db --with-tokens
  cork migrate sqlite:corkboard.db sqlite:/srv/corkboard.db --verify-only --list")]
pub(crate) struct Migrate {
    /// Store to copy from
    #[arg(value_name = "FROM")]
    from: String,

    /// Store to copy to
    #[arg(value_name = "TO")]
    to: String,

    /// Only compare, copy nothing
    #[arg(long)]
    verify_only: bool,

    /// Copy and compare access tokens too
    #[arg(long)]
    with_tokens: bool,

    /// List every space, not only totals
    #[arg(long)]
    list: bool,
}

impl Migrate {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CliError> {
        expect_kept(&self.from)?;
        expect_kept(&self.to)?;
        let existing = Options { creation: Creation::Nothing, ..global.options() };
        let creation = if self.verify_only { Creation::Nothing } else { Creation::Store };
        let target = Options { creation, ..global.options() };
        let from = store::open(&self.from, &existing).await.map_err(TransferError::Source)?;
        let to = store::open(&self.to, &target).await.map_err(TransferError::Target)?;
        let result = match is_same(&from.info(), &to.info()) {
            true => Err(CliError::invalid("same_store", "FROM and TO are the same store")),
            false => {
                let then = "run the same command to continue";
                unless_interrupted(then, self.migrate(global, &*from, &*to)).await
            }
        };
        if let Err(CliError::Interrupted { .. }) = result {
            // Exit at once after Ctrl-C, without waiting for the stores to close.
            return result;
        }
        let closed = (from.close().await, to.close().await);
        result?;
        Ok(closed.0.and(closed.1)?)
    }

    async fn migrate(&self, global: &Global, from: &dyn Store, to: &dyn Store) -> Result<(), CliError> {
        let output = Output::new(global.json);
        let mode = if self.verify_only { MigrateMode::VerifyOnly } else { MigrateMode::Copy };
        let options = MigrateOptions { mode, tokens: tokens(self.with_tokens), ..MigrateOptions::default() };
        let mut line = ProgressLine::new(output);
        let migrated = migrate(from, to, options, &mut |progress| line.tell(progress)).await?;
        drop(line);
        output.answer(&document(from.info(), to.info(), &migrated), || self.told(&migrated))?;
        tell_left_out(output, migrated.left_out_tokens);
        let errors = migrated.problems.iter().map(|problem| &problem.error);
        expect_none(errors, "log differs in the target", "logs differ in the target")?;
        expect_all(mode, &migrated)
    }

    fn told(&self, migrated: &Migrated) -> String {
        let spaces = count(migrated.spaces.len() as u64, "log", "logs");
        let revisions = |amount: fn(&MigratedSpace) -> u64| count(sum(migrated, amount), "revision", "revisions");
        let verified = revisions(|space| space.verified_revisions);
        let copied_bytes = bytes(sum(migrated, |space| space.copied_bytes));
        let copied = format!("{}, {copied_bytes}", revisions(|space| space.copied_revisions));
        let mut lines = Vec::new();
        if self.list {
            let header = [("SPACE", Rest), ("REVISION", Fit), ("COPIED", Fit), ("VERIFIED", Fit), ("BYTES", Fit)];
            let rows = migrated.spaces.iter().map(|space| {
                let revisions = [space.head.rev, space.copied_revisions, space.verified_revisions];
                let [rev, copied, verified] = revisions.map(|rev| rev.to_string());
                [one_line(space.space.as_str()), rev, copied, verified, bytes(space.verified_bytes)]
            });
            lines.push(table(header, rows));
        }
        if !self.verify_only {
            lines.push(format!("copied {copied}"));
        }
        if migrated.problems.is_empty() {
            lines.push(format!("identical in both stores: {spaces}, {verified}"));
        }
        let others = only_in_target(migrated);
        if !others.is_empty() {
            let number = count(others.len() as u64, "log", "logs");
            lines.push(format!("only in the target, left unchanged: {number}: {}", names(&others)));
        }
        lines.join("\n")
    }
}

fn expect_kept(given: &str) -> Result<(), CliError> {
    match given.parse() {
        Ok(StoreUrl::Memory) => {
            Err(CliError::invalid("store_url", "memory: exists only while this command runs; use a persistent store"))
        }
        Ok(_) => Ok(()),
        Err(StoreError::Url { .. }) if given.starts_with("http") => {
            let message = format!("cannot migrate from or to a server ({given})");
            Err(CliError::invalid("store_url", message)
                .hint("name the server's store, and run this where the store is"))
        }
        Err(error @ StoreError::Url { .. }) if !given.contains(':') => {
            Err(CliError::invalid("store_url", error.to_string()).hint(format!("did you mean sqlite:{given}?")))
        }
        Err(error) => Err(error.into()),
    }
}

fn is_same(one: &StoreInfo, other: &StoreInfo) -> bool {
    let place = |info: &StoreInfo| std::fs::canonicalize(&info.location).unwrap_or_else(|_| (&info.location).into());
    one.kind == other.kind && place(one) == place(other)
}

/// Fails if the source has revisions that were not copied.
fn expect_all(mode: MigrateMode, migrated: &Migrated) -> Result<(), CliError> {
    let behind: Vec<String> = migrated.behind().map(|space| space.space.to_string()).collect();
    if behind.is_empty() {
        return Ok(());
    }
    let number = count(behind.len() as u64, "log", "logs");
    let (message, hint) = match mode {
        MigrateMode::Copy => (
            format!("the source is still being written to; {number} behind: {}", names(&behind)),
            "the copy is correct so far; stop the writers, then run the same command to copy the rest",
        ),
        MigrateMode::VerifyOnly => (
            format!("the target lacks revisions of {number}: {}", names(&behind)),
            "run without --verify-only to copy them",
        ),
    };
    Err(CliError::Own { code: "behind", kind: ErrorKind::Unavailable, message, hint: Some(hint.into()) })
}

fn names(all: &[String]) -> String {
    let mut shown: Vec<String> = all.iter().take(SHOWN_NAMES).map(|name| one_line(name)).collect();
    if all.len() > SHOWN_NAMES {
        shown.push(format!("and {} more", all.len() - SHOWN_NAMES));
    }
    shown.join(", ")
}

fn document(from: StoreInfo, to: StoreInfo, migrated: &Migrated) -> impl Serialize {
    let location = |info: StoreInfo| json_object! { kind: info.kind, location: info.location };
    let total = json_object! {
        spaces: migrated.spaces.len(),
        copied_revisions: sum(migrated, |space| space.copied_revisions),
        copied_bytes: sum(migrated, |space| space.copied_bytes),
        verified_revisions: sum(migrated, |space| space.verified_revisions),
        verified_bytes: sum(migrated, |space| space.verified_bytes),
        behind: migrated.behind().count(),
    };
    let space = |migrated: &MigratedSpace| {
        json_object! {
            space: migrated.space.as_str(),
            rev: migrated.head.rev,
            copied_revisions: migrated.copied_revisions,
            copied_bytes: migrated.copied_bytes,
            verified_revisions: migrated.verified_revisions,
            verified_bytes: migrated.verified_bytes,
            checksum: migrated.checksum,
            caught_up: migrated.caught_up,
        }
    };
    let problem = |problem: &MigrationProblem| ProblemView::new(Some(problem.space.as_str()), &problem.error);
    json_object! {
        from: location(from),
        to: location(to),
        total,
        spaces: migrated.spaces.iter().map(space).collect::<Vec<_>>(),
        only_in_target: only_in_target(migrated),
        problems: migrated.problems.iter().map(problem).collect::<Vec<_>>(),
        left_out_tokens: migrated.left_out_tokens,
    }
}

fn sum(migrated: &Migrated, amount: fn(&MigratedSpace) -> u64) -> u64 {
    migrated.spaces.iter().map(amount).sum()
}

fn only_in_target(migrated: &Migrated) -> Vec<String> {
    migrated.only_in_target.iter().map(ToString::to_string).collect()
}
