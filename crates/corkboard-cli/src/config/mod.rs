//! What holds for a command: flags before the environment, the environment before the file, the file before the defaults.

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
    /// Whoever has more is heard first.
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
    /// Finds out what holds. `file` is what the command line says about the file.
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

    /// Whether nobody said what this setting is to be.
    pub(crate) fn is_default(&self, key: &str) -> bool {
        !self.origins.iter().any(|(said, _)| *said == key)
    }

    pub(crate) fn is_flagged(&self, key: &str) -> bool {
        self.origins.iter().any(|(said, origin)| *said == key && matches!(origin, Origin::Flag { .. }))
    }

    /// The server to talk to, unless a store was named nearer to the command: a flag counts more than a file.
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
            let message = format!("{origin}: {key} cannot be {}", setting.field.quoted(given));
            return Err(CliError::invalid("config", message).hint(format!("{key} takes {}", setting.field.allowed())));
        }
        self.origins.push((setting.key, origin));
        Ok(())
    }
}

fn unknown(key: &str, origin: &Origin) -> CliError {
    let failure = CliError::invalid("config", format!("{origin}: there is no setting {key:?}"));
    if key == "token" {
        return failure.hint("a token is not kept in a file of settings: it comes from CORK_TOKEN");
    }
    let meant = similar_names(key, SETTINGS.iter().map(|setting| setting.key));
    failure.hint(did_you_mean(&meant).unwrap_or_else(|| format!("{ALL_SETTINGS} shows those there are")))
}

const ALL_SETTINGS: &str = "`cork config show`, without it,";

fn did_you_mean(names: &[&str]) -> Option<String> {
    match names.split_last()? {
        (last, []) => Some(format!("did you mean {last}?")),
        (last, others) => Some(format!("did you mean {} or {last}?", others.join(", "))),
    }
}

/// The names that are most like what was given, if any is like it: one that goes on where it ends, one that is the same
/// without what stands before its last dot, or those with the fewest letters changed.
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

/// A shorter beginning says too little.
const SHORTEST_BEGINNING: usize = 3;
/// More names are no help.
const MOST: usize = 4;

const VARIABLES: &str = "CORK_";
const OTHER_VARIABLES: [&str; 9] = [
    FILE_VARIABLE,
    "CORK_TOKEN",
    "CORK_CONVERSATION",
    "CORK_SNAPSHOT_PASSPHRASE",
    "CORK_MODEL",
    "CORK_MODEL_URL",
    "CORK_MODEL_KEY_ENV",
    "CORK_MODEL_PLAIN_HTTP",
    "CORK_MODEL_TIMEOUT",
];
/// How variables begin that are not for `cork`, but for what tests and measures it.
const OF_TESTS: [&str; 5] = ["CORK_TEST_", "CORK_SOAK_", "CORK_BENCH_", "CORK_CORE_ENTRIES", "CORK_WRITE_FIXTURES"];

/// A variable with a slip in its name would be passed over, and what it says with it.
fn expect_known_variables() -> Result<(), CliError> {
    let of_settings: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
    let known = || of_settings.iter().map(String::as_str).chain(OTHER_VARIABLES);
    // Where a model's key is, people say by a name of their own.
    let key = variable_of("CORK_MODEL_KEY_ENV")?;
    // By their names, so that the same one is named every time.
    let given: std::collections::BTreeMap<_, _> = std::env::vars_os().collect();
    for (name, value) in given {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        let Some(rest) = name.strip_prefix(VARIABLES).filter(|_| !value.is_empty()) else { continue };
        let is_for_others =
            OF_TESTS.iter().any(|beginning| name.starts_with(beginning)) || is_of_cluster(&name, &value);
        if is_for_others || known().chain(key.as_deref()).any(|known| known == name) {
            continue;
        }
        let names = known().filter_map(|name| name.strip_prefix(VARIABLES));
        let meant: Vec<String> =
            similar_names(rest, names).into_iter().map(|name| format!("{VARIABLES}{name}")).collect();
        let meant: Vec<&str> = meant.iter().map(String::as_str).collect();
        let hint = did_you_mean(&meant);
        let failure = CliError::invalid("config", format!("the environment has {name}, and there is no such setting"));
        return Err(failure.hint(hint.unwrap_or_else(|| format!("{ALL_SETTINGS} shows those there are"))));
    }
    Ok(())
}

/// Whether a cluster put it there because one of its services is called `cork` or `cork-…`: Kubernetes tells every process
/// so where its neighbours are.
fn is_of_cluster(name: &str, value: &str) -> bool {
    let is_address = value.starts_with("tcp://") || value.starts_with("udp://");
    ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT_"].iter().any(|part| name.contains(part))
        || (name.ends_with("_PORT") && is_address)
}

/// The file that is read: the one that is named, which must be there, or the user's, if there is one.
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

/// A variable's value. One that is set to nothing is not set.
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
    fn what_is_alike_is_found_and_nothing_else() {
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
