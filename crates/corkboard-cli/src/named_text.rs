//! Texts given by position, or by a flag with the same name as the HTTP field.

use clap::Args;

use crate::error::CliError;
use crate::text_input::text_or_stdin;
use crate::value_parsers::text_argument;

/// Arguments for one text. If the text is required, repeat the flag's name in brackets.
macro_rules! named_text {
    ($($(#[doc = $help:literal])* $type:ident($place:literal, $name:literal) $([$required:literal])?;)*) => {$(
        #[derive(Args)]
        pub(crate) struct $type {
            $(#[doc = $help])*
            #[arg(id = $place, value_name = $place, value_parser = text_argument, allow_hyphen_values = true)]
            #[arg(conflicts_with = $name $(, required_unless_present = $required)?)]
            at_place: Option<String>,

            #[arg(id = $name, long = $name, value_name = "TEXT", allow_hyphen_values = true)]
            #[arg(help = concat!($place, ", as a flag instead of an argument"))]
            by_name: Option<String>,
        }

        impl $type {
            /// The text, or all of stdin for `-`.
            pub(crate) fn text(self) -> Result<Option<String>, CliError> {
                self.at_place.or(self.by_name).map(text_or_stdin).transpose()
            }
        }
    )*};
}

named_text! {
    /// Comment; - reads stdin
    Comment("COMMENT", "comment");
    /// Comment; required for rework and reject; - reads stdin
    ReviewComment("COMMENT", "comment");
    /// Why; recorded on the board; - reads stdin
    Reason("REASON", "reason");
    /// Why it failed; - reads stdin
    FailureReason("REASON", "reason") ["reason"];
    /// Summary of the result; - reads stdin
    Summary("SUMMARY", "summary") ["summary"];
    /// What was learned; - reads stdin
    DiscoveryContent("CONTENT", "content") ["content"];
    /// Text; - reads stdin
    EntryContent("CONTENT", "content") ["content"];
}
