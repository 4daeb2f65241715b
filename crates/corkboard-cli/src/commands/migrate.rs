//! `cork migrate`: everything in one store, to another.

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
/// Every space with its whole held log: the same revisions, commit ids, times and snapshots. May be ended at any moment and run
/// again: it goes on where the target is. Others may go on writing to FROM; nobody should write to TO yet. Where TO
/// has another history of a space, that space is left alone and told, and the others go on. Deleted spaces leave no
/// trace in the copy.
///
/// Access tokens are neither copied nor compared unless --with-tokens is given: with them, everyone who has a token for FROM
/// could use TO.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork migrate sqlite:corkboard.db sqlite:/srv/corkboard.db
  cork migrate sqlite:corkboard.db sqlite:/srv/corkboard.db --with-tokens
  cork migrate sqlite:corkboard.db sqlite:/srv/corkboard.db --verify-only --list")]
pub(crate) struct Migrate {
    /// The store to copy from
    #[arg(value_name = "FROM")]
    from: String,

    /// The store to copy to
    #[arg(value_name = "TO")]
    to: String,

    /// Copy nothing, only compare
    #[arg(long)]
    verify_only: bool,

    /// Copy and compare access tokens too
    #[arg(long)]
    with_tokens: bool,

    /// Show every space, not the totals alone
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
            true => Err(CliError::invalid("same_store", "both are the same store")),
            false => {
                let then = "the same command goes on where it stopped";
                unless_interrupted(then, self.migrate(global, &*from, &*to)).await
            }
        };
        if let Err(CliError::Interrupted { .. }) = result {
            // Whoever wants to leave is not kept waiting.
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
        expect_none(errors, "space is not the same in the target", "spaces are not the same in the target")?;
        expect_all(mode, &migrated)
    }

    fn told(&self, migrated: &Migrated) -> String {
        let spaces = count(migrated.spaces.len() as u64, "space", "spaces");
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
        lines.push(match self.verify_only {
            true => format!("compared {spaces}, {verified}"),
            false => format!("copied {copied}; compared {spaces}, {verified}"),
        });
        let others = only_in_target(migrated);
        if !others.is_empty() {
            let number = count(others.len() as u64, "space", "spaces");
            lines.push(format!("left alone {number} that only the target has: {}", names(&others)));
        }
        lines.join("\n")
    }
}

fn expect_kept(given: &str) -> Result<(), CliError> {
    match given.parse() {
        Ok(StoreUrl::Memory) => Err(CliError::invalid(
            "store_url",
            "memory: begins and ends with this command: there is nothing to keep there",
        )),
        Ok(_) => Ok(()),
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

/// Fails if the source has more than what was copied.
fn expect_all(mode: MigrateMode, migrated: &Migrated) -> Result<(), CliError> {
    let behind: Vec<String> = migrated.behind().map(|space| space.space.to_string()).collect();
    if behind.is_empty() {
        return Ok(());
    }
    let number = count(behind.len() as u64, "space", "spaces");
    let (message, hint) = match mode {
        MigrateMode::Copy => (
            format!("still being written to: {number} behind: {}", names(&behind)),
            "what was copied is right; when nobody writes to the source any more, the same command brings the rest",
        ),
        MigrateMode::VerifyOnly => (
            format!("the target lacks revisions of {number}: {}", names(&behind)),
            "without --verify-only, they are copied",
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
