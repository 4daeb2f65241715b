//! `cork config`: the effective settings and where they come from.

use clap::Subcommand;
use serde::Serialize;

use crate::args::Global;
use crate::config::{Origin, SETTINGS};
use crate::error::CliError;
use crate::output::{Fit, Output, Rest, one_line, table};

/// Show the effective settings
#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  cork config show
  cork --config corkboard.toml config show --json")]
pub(crate) enum ConfigCommand {
    /// Show every setting with its value and source
    ///
    /// Flags override the environment, the environment overrides the settings file, and the file overrides the defaults.
    /// The file is named by --config or CORK_CONFIG, or is corkboard/config.toml in your configuration folder. Passwords
    /// and tokens are not shown.
    #[command(after_help = "\
Examples:
  cork config show
  CORK_LISTEN=127.0.0.1:0 cork config show --changed
  cork --setting limits.entries_per_agent=500 config show --json")]
    Show {
        /// Only settings that differ from their defaults
        #[arg(long)]
        changed: bool,
    },
}

#[derive(Serialize)]
struct Document<'a> {
    file: Option<String>,
    items: Vec<SettingLine<'a>>,
    /// The list has one page.
    next: Option<String>,
}

#[derive(Serialize)]
struct SettingLine<'a> {
    key: &'a str,
    value: Option<String>,
    origin: &'a Origin,
    default: Option<String>,
    variable: String,
    flag: Option<&'a str>,
    allowed: String,
    about: &'a str,
}

impl ConfigCommand {
    pub(crate) fn run(self, global: &Global) -> Result<(), CliError> {
        let Self::Show { changed } = self;
        let config = &global.config;
        let (mut settings, mut usual) = (config.settings.clone(), crate::config::ResolvedSettings::default());
        let token = Origin::Environment { variable: TOKEN.into() };
        let is_token_set = std::env::var_os(TOKEN).is_some_and(|token| !token.is_empty());
        let shown = SETTINGS.iter().map(|setting| SettingLine {
            key: setting.key,
            value: setting.field.shown(&mut settings),
            origin: config.origin(setting),
            default: setting.field.shown(&mut usual),
            variable: setting.variable(),
            flag: setting.flag,
            allowed: setting.field.allowed(),
            about: setting.about,
        });
        let token = SettingLine {
            key: "token",
            value: is_token_set.then(|| format!("set by {TOKEN}")),
            origin: if is_token_set { &token } else { &Origin::Default },
            default: None,
            variable: TOKEN.into(),
            flag: None,
            allowed: "a token; environment only".into(),
            about: "token to send to a server; for `cork serve`, the admin token",
        };
        let mut settings: Vec<SettingLine<'_>> = shown.chain([token]).collect();
        // Without a setting, the store is in the user's data folder.
        for store in settings.iter_mut().filter(|shown| shown.key == "store" && shown.value.is_none()) {
            store.value = global.store_url().ok();
        }
        settings.retain(|shown| !changed || *shown.origin != Origin::Default);
        let file = config.file.as_ref().map(|path| path.display().to_string());
        let document = Document { file, items: settings, next: None };
        Output::new(global.json).answer(&document, || told(&document))
    }
}

const TOKEN: &str = "CORK_TOKEN";

fn told(document: &Document<'_>) -> String {
    let rows = document.items.iter().map(|shown| {
        let value = shown.value.as_deref().map_or_else(|| "-".into(), one_line);
        [shown.key.to_owned(), value, one_line(&shown.origin.to_string())]
    });
    let header = [("SETTING", Fit), ("VALUE", Rest), ("FROM", Fit)];
    let file = document.file.as_deref().map_or_else(|| "none".into(), one_line);
    format!("{}\nfile: {file}", table(header, rows))
}
