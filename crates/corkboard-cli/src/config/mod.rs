//! Effective settings: flags override the environment, the environment the settings file, and the file the defaults.

mod embedder;
mod field;
mod file;
mod resolved;
mod setting;

use std::path::{Path, PathBuf};

use serde::Serialize;
use strsim::levenshtein;

pub(crate) use field::RawSetting;
pub(crate) use resolved::{LogFormat, ResolvedSettings};
pub(crate) use setting::{SETTINGS, Setting};

use crate::error::CliError;

const FILE_VARIABLE: &str = "CORK_CONFIG";
const USER_FILE: &str = "corkboard/config.toml";

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub(crate) enum Origin {
    Default,
    File { path: String, line: usize },
    Environment { variable: String },
    Flag { flag: String },
}

impl Origin {
    /// A higher rank overrides a lower one.
    fn rank(&self) -> u8 {
        match self {
            Self::Default => 0,
            Self::File { .. } => 1,
            Self::Environment { .. } => 2,
            Self::Flag { .. } => 3,
        }
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{path}:{line}"),
            Self::Environment { variable } => f.write_str(variable),
            Self::Flag { flag } => f.write_str(flag),
        }
    }
}

pub(crate) struct FlagValue {
    pub(crate) key: String,
    pub(crate) flag: &'static str,
    pub(crate) given: RawSetting,
}

#[derive(Debug, Default)]
pub(crate) struct Config {
    pub(crate) settings: ResolvedSettings,
    pub(crate) file: Option<PathBuf>,
    origins: Vec<(&'static str, Origin)>,
}

impl Config {
    /// Resolves all settings. `file` is the settings file from the command line.
    pub(crate) fn load(file: Option<&Path>, flags: Vec<FlagValue>) -> Result<Self, CliError> {
        let mut config = Self::default();
        if let Some(path) = found(file)? {
            for entry in file::read(&path)? {
                let origin = Origin::File { path: path.display().to_string(), line: entry.line };
                config.set(&entry.key, &entry.given, origin)?;
            }
            config.file = Some(path);
        }
        expect_known_variables()?;
        for setting in SETTINGS {
            let variable = setting.variable();
            if let Some(text) = variable_of(&variable)? {
                config.set(setting.key, &RawSetting::Text(text), Origin::Environment { variable })?;
            }
        }
        for FlagValue { key, flag, given } in flags {
            config.set(&key, &given, Origin::Flag { flag: flag.into() })?;
        }
        Ok(config)
    }

    pub(crate) fn origin(&self, setting: &Setting) -> &Origin {
        let said = self.origins.iter().rev().find(|(key, _)| *key == setting.key);
        said.map_or(&Origin::Default, |(_, origin)| origin)
    }

    /// Whether the setting has no value from a flag, the environment or the file.
    pub(crate) fn is_default(&self, key: &str) -> bool {
        !self.origins.iter().any(|(said, _)| *said == key)
    }

    pub(crate) fn is_flagged(&self, key: &str) -> bool {
        self.origins.iter().any(|(said, origin)| *said == key && matches!(origin, Origin::Flag { .. }))
    }

    /// Whether a flag or the environment sets it. Programs that clients start have neither.
    pub(crate) fn is_given(&self, key: &str) -> bool {
        let is_here = |origin: &Origin| matches!(origin, Origin::Environment { .. } | Origin::Flag { .. });
        self.origins.iter().any(|(said, origin)| *said == key && is_here(origin))
    }

    /// The server to use, unless a store was set with a higher rank, such as --store over a URL from the file.
    pub(crate) fn server_url(&self) -> Option<&str> {
        let rank = |key: &str| {
            let said = self.origins.iter().filter(|(said, _)| *said == key);
            said.map(|(_, origin)| origin.rank()).max().unwrap_or_default()
        };
        self.settings.url.as_deref().filter(|_| rank("url") >= rank("store"))
    }

    fn set(&mut self, key: &str, given: &RawSetting, origin: Origin) -> Result<(), CliError> {
        let Some(setting) = SETTINGS.iter().find(|setting| setting.key == key) else {
            return Err(unknown(key, &origin));
        };
        if !setting.field.set(&mut self.settings, given) {
            let message = format!("{origin}: invalid value for {key}: {}", setting.field.quoted(given));
            return Err(
                CliError::invalid("config", message).hint(format!("{key} expects {}", setting.field.expected(given)))
            );
        }
        self.origins.push((setting.key, origin));
        Ok(())
    }
}

fn unknown(key: &str, origin: &Origin) -> CliError {
    let failure = CliError::invalid("config", format!("{origin}: unknown setting {key:?}"));
    if key == "token" {
        return failure.hint("a token does not belong in a settings file; set it in CORK_TOKEN");
    }
    let meant = similar_names(key, SETTINGS.iter().map(|setting| setting.key));
    failure.hint(did_you_mean(&meant).unwrap_or_else(|| all_settings("setting")))
}

/// The hint that leads to the names of all settings. Every command fails as long as the unknown one is set.
fn all_settings(without: &str) -> String {
    format!("run `cork config show` without this {without} to list all settings")
}

fn did_you_mean(names: &[&str]) -> Option<String> {
    match names.split_last()? {
        (last, []) => Some(format!("did you mean {last}?")),
        (last, others) => Some(format!("did you mean {} or {last}?", others.join(", "))),
    }
}

/// The names most similar to the given one, if any: names with the same last part after a dot, or else those with the
/// fewest changed letters, or else those that start with it.
fn similar_names<'a>(given: &str, names: impl Iterator<Item = &'a str> + Clone) -> Vec<&'a str> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let same: Vec<&str> = names.clone().filter(|name| last(name) == last(given)).collect();
    if !same.is_empty() {
        return same;
    }
    let near = |name: &&str| levenshtein(given, name) * 3 <= given.chars().count();
    let fewest = names.clone().filter(near).map(|name| levenshtein(given, name)).min();
    if let Some(fewest) = fewest {
        return names.filter(|name| levenshtein(given, name) == fewest).collect();
    }
    names.filter(|name| given.len() >= SHORTEST_BEGINNING && name.starts_with(given)).take(MOST).collect()
}

/// Minimum length of a prefix to suggest names for.
const SHORTEST_BEGINNING: usize = 3;
/// Maximum number of suggestions for a prefix.
const MOST: usize = 4;

const VARIABLES: &str = "CORK_";
const OTHER_VARIABLES: [&str; 11] = [
    FILE_VARIABLE,
    "CORK_PROJECT",
    "CORK_TOOLS",
    "CORK_TOKEN",
    "CORK_CONVERSATION",
    "CORK_SNAPSHOT_PASSPHRASE",
    "CORK_MODEL",
    "CORK_MODEL_URL",
    "CORK_MODEL_KEY_ENV",
    "CORK_MODEL_PLAIN_HTTP",
    "CORK_MODEL_TIMEOUT",
];
/// Prefixes of variables for tests and benchmarks.
const OF_TESTS: [&str; 5] = ["CORK_TEST_", "CORK_SOAK_", "CORK_BENCH_", "CORK_CORE_ENTRIES", "CORK_WRITE_FIXTURES"];

/// Fails on an unknown CORK_ variable. Otherwise a typo in its name would silently disable the setting.
fn expect_known_variables() -> Result<(), CliError> {
    let of_settings: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
    let known = || of_settings.iter().map(String::as_str).chain(OTHER_VARIABLES);
    // The user chooses the name of the variable with the model's key.
    let keys = [variable_of("CORK_MODEL_KEY_ENV")?, variable_of("CORK_EMBEDDER_KEY_ENV")?];
    // Sorted, so that the error always names the same one.
    let given: std::collections::BTreeMap<_, _> = std::env::vars_os().collect();
    for (name, value) in given {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        let Some(rest) = name.strip_prefix(VARIABLES).filter(|_| !value.is_empty()) else { continue };
        let is_for_others =
            OF_TESTS.iter().any(|beginning| name.starts_with(beginning)) || is_of_cluster(&name, &value);
        if is_for_others || known().chain(keys.iter().flatten().map(String::as_str)).any(|known| known == name) {
            continue;
        }
        let names = known().filter_map(|name| name.strip_prefix(VARIABLES));
        let meant: Vec<String> =
            similar_names(rest, names).into_iter().map(|name| format!("{VARIABLES}{name}")).collect();
        let meant: Vec<&str> = meant.iter().map(String::as_str).collect();
        let hint = did_you_mean(&meant);
        let failure = CliError::invalid(
            "config",
            format!("unknown environment variable {name}: there is no setting of this name"),
        );
        return Err(failure.hint(hint.unwrap_or_else(|| all_settings("variable"))));
    }
    Ok(())
}

/// Whether Kubernetes set the variable: it gives each process the addresses of services, and a service can be called `cork`
/// or `cork-…`.
fn is_of_cluster(name: &str, value: &str) -> bool {
    let is_address = value.starts_with("tcp://") || value.starts_with("udp://");
    ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT_"].iter().any(|part| name.contains(part))
        || (name.ends_with("_PORT") && is_address)
}

/// The settings file: the named one, which must exist, or the user's if it exists.
fn found(named: Option<&Path>) -> Result<Option<PathBuf>, CliError> {
    if let Some(path) = named {
        return Ok(Some(path.into()));
    }
    if let Some(path) = variable_of(FILE_VARIABLE)? {
        return Ok(Some(path.into()));
    }
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
    let settings = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
    Ok(settings.map(|settings| settings.join(USER_FILE)).filter(|path| path.exists()))
}

/// The value of a variable. An empty one counts as not set.
fn variable_of(name: &str) -> Result<Option<String>, CliError> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(CliError::invalid("config", format!("{name} is not UTF-8 text"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        let names = ["hosts", "listen", "tls_cert", "tls_key", "limits.note_bytes", "limits.notes_per_agent"];
        for (given, expected) in [
            ("host", &["hosts"][..]),
            ("tls_crt", &["tls_cert"]),
            ("tls", &["tls_cert", "tls_key"]),
            ("serve.listen", &["listen"]),
            ("note_bytes", &["limits.note_bytes"]),
            ("limits.note", &["limits.note_bytes", "limits.notes_per_agent"]),
            ("limits.foo", &[]),
            ("nothing", &[]),
            ("", &[]),
        ] {
            assert_eq!(similar_names(given, names.into_iter()), expected, "{given}");
        }
    }
}
