//! The table of all settings.

use std::time::Duration;

use corkboard::{Consistency, Conversations, Retention, SavePolicy, Tier};
use tracing_subscriber::EnvFilter;

use super::LogFormat;
use super::field::{SettingField, duration, in_time};

pub(crate) struct Setting {
    pub(crate) key: &'static str,
    pub(crate) flag: Option<&'static str>,
    pub(crate) about: &'static str,
    pub(crate) field: SettingField,
}

impl Setting {
    pub(crate) fn variable(&self) -> String {
        format!("CORK_{}", self.key.replace('.', "_").to_ascii_uppercase())
    }
}

const fn setting(key: &'static str, about: &'static str, field: SettingField) -> Setting {
    Setting { key, flag: None, about, field }
}

const fn flagged(key: &'static str, flag: &'static str, about: &'static str, field: SettingField) -> Setting {
    Setting { key, flag: Some(flag), about, field }
}

/// The type and the minimum of the setting in this field.
macro_rules! field {
    ($kind:ident $(($least:expr))?, $($path:ident).+) => {
        SettingField::$kind($($least,)? |settings| &mut settings.$($path).+)
    };
}

macro_rules! limit {
    ($name:ident, $about:literal) => {
        setting(concat!("limits.", stringify!($name)), $about, field!(Count(0), options.limits.$name))
    };
}

const NO_TIME: Duration = Duration::ZERO;
const MOMENT: Duration = Duration::from_millis(1);

pub(crate) const SETTINGS: &[Setting] = &[
    flagged("store", "--store", "URL of the store", field!(Url, store)),
    flagged("url", "--url", "server to use instead of a store", field!(Url, url)),
    flagged("agent", "--agent", "agent whose memory to use", field!(Text, agent)),
    flagged("board", "--board", "board for commands about boards and tasks", field!(OptionalText, board)),
    flagged("log", "-v", "log level or filters, in the syntax of RUST_LOG", LOG),
    flagged("log_format", "--log-format", "log format of the server", LOG_FORMAT),
    flagged("listen", "--listen", "address that the server listens on", field!(Address, listen)),
    flagged("hosts", "--host", "host names that the server answers to", field!(List, server.hosts)),
    flagged("origins", "--origin", "origins of web pages that may call the server", field!(List, server.origins)),
    flagged("no_auth", "--no-auth", "disable authentication (loopback only)", field!(Switch, no_auth)),
    flagged("tls_cert", "--tls-cert", "TLS certificate of the server (PEM file)", field!(Path, tls_cert)),
    flagged("tls_key", "--tls-key", "key of the TLS certificate (PEM file)", field!(Path, tls_key)),
    setting("public_metrics", "serve /metrics without a token", field!(Switch, server.are_metrics_public)),
    setting("connections", "maximum number of connections", field!(Count(1), connections)),
    setting("body_bytes", "maximum size of a request body", field!(Size(1024), body_bytes)),
    setting("buffer_bytes", "maximum memory for requests and answers", field!(Size(1024 * 1024), buffer_bytes)),
    setting("request_timeout", "timeout of a request", field!(Time(MOMENT), server.request_timeout)),
    setting("header_timeout", "timeout for receiving a request's headers", field!(Time(MOMENT), server.header_timeout)),
    setting(
        "drain_timeout",
        "how long a stopping server waits for open requests",
        field!(Time(NO_TIME), server.drain_timeout),
    ),
    setting("heartbeat", "interval of keep-alives on an event stream", field!(Time(MOMENT), server.heartbeat)),
    setting(
        "stalled_after",
        "close a connection if the client reads nothing for this long",
        field!(Time(MOMENT), server.stalled_after),
    ),
    setting("events_held", "events of all spaces to buffer for event streams", field!(Count(1), events_held)),
    setting(
        "events_linger",
        "how long to keep these events after the last stream ended",
        field!(Time(NO_TIME), server.events_linger),
    ),
    setting(
        "requests_per_second",
        "requests per second that each caller may send",
        field!(Count(1), requests_per_second),
    ),
    setting("requests_at_once", "requests that each caller may send in one burst", field!(Count(1), requests_at_once)),
    setting("bytes_per_hour", "bytes per hour that each caller may send", field!(Size(1), bytes_per_hour)),
    setting("bytes_at_once", "bytes that each caller may send in one burst", field!(Size(1), bytes_at_once)),
    setting(
        "wrong_tokens_per_minute",
        "wrong tokens per minute that a client address may send",
        field!(Count(1), wrong_tokens_per_minute),
    ),
    setting(
        "wrong_tokens_at_once",
        "wrong tokens that a client address may send in one burst",
        field!(Count(1), wrong_tokens_at_once),
    ),
    setting("tier", "tier, which enables features", TIER),
    setting(
        "features.working_memory",
        "enable agents' memories; if off, calls return feature_disabled",
        field!(Switch, options.features.working_memory),
    ),
    setting("save", "acknowledge a change once it is durable (on_change), or at once and flush at this interval", SAVE),
    setting("consistency", "how current reads are if other processes write too", CONSISTENCY),
    setting("retention", "how much of the log's history to keep", RETENTION),
    setting("snapshot_events", "events between snapshots", field!(Count(1), options.snapshots.events)),
    setting("snapshot_bytes", "bytes of log between snapshots", field!(Size(1024), options.snapshots.bytes)),
    setting("memory_budget", "memory for cached states of spaces", field!(Size(0), options.memory_budget)),
    setting("busy_timeout", "how long to wait for a busy store", field!(Time(MOMENT), options.busy_timeout)),
    setting("tick_interval", "how often to check for expired items", field!(Time(MOMENT), options.tick_interval)),
    setting(
        "conversations",
        "where to keep conversations' scratchpads: in the process's memory, or shared in the store",
        CONVERSATIONS,
    ),
    setting(
        "conversation_idle",
        "time without use after which a conversation's scratchpad expires",
        field!(Time(MOMENT), options.conversation_idle),
    ),
    setting("board_retention", "how long to keep an archived board", field!(Time(NO_TIME), options.board_retention)),
    setting("idle_after", "time without changes after which a board is idle", field!(Time(MOMENT), options.idle_after)),
    setting(
        "bookmark_interval",
        "interval of bookmarks for a watcher without new events",
        field!(Time(MOMENT), options.bookmark_interval),
    ),
    setting("max_watch_lag", "revisions that a watcher may fall behind", field!(Count(1), options.max_watch_lag)),
    setting("context_tokens", "default token budget of a context window", field!(Count(64), options.context_tokens)),
    setting("embedder.model", "embedding model of an OpenAI-compatible server", field!(OptionalText, embedder.model)),
    setting("embedder.url", "base URL of that server, such as http://localhost:11434/v1", field!(Url, embedder.url)),
    setting("embedder.key_env", "environment variable with that server's key", field!(OptionalText, embedder.key_env)),
    setting(
        "embedder.plain_http",
        "send the key to another machine over plain HTTP",
        field!(Switch, embedder.plain_http),
    ),
    setting("embedder.timeout", "timeout of a request to that server", field!(Time(MOMENT), embedder.timeout)),
    setting(
        "embedder.query_timeout",
        "how long a search waits for the embedding model",
        field!(Time(MOMENT), options.embedder_query_timeout),
    ),
    setting("embedder.query_prefix", "text before every query", field!(OptionalText, embedder.query_prefix)),
    setting("embedder.document_prefix", "text before every document", field!(OptionalText, embedder.document_prefix)),
    setting("embedder.path", "folder with a local embedding model", field!(Path, embedder.path)),
    limit!(agent_id_bytes, "bytes of an agent's ID"),
    limit!(key_bytes, "bytes of a key"),
    limit!(scope_name_bytes, "bytes of a scope's name"),
    limit!(conversation_id_bytes, "bytes of a conversation's ID"),
    limit!(conversations_per_agent, "conversations of an agent that have a scratchpad"),
    limit!(entry_bytes, "bytes of an entry"),
    limit!(json_depth, "depth of nested arrays and objects in a value; at most 100"),
    limit!(type_name_bytes, "bytes of the name of a value's type"),
    limit!(tags_per_entry, "tags on an entry"),
    limit!(tag_bytes, "bytes of a tag"),
    limit!(note_bytes, "bytes of a note"),
    limit!(notes_per_agent, "notes of an agent"),
    limit!(entries_per_agent, "entries of an agent"),
    limit!(scopes_per_agent, "scopes of an agent"),
    limit!(command_bytes, "bytes of a command"),
    limit!(state_bytes, "bytes of a space's state"),
    limit!(idempotency_key_bytes, "bytes of an idempotency key"),
    limit!(idempotency_keys, "idempotency keys that a space remembers"),
    limit!(idempotency_hours, "hours for which a space remembers an idempotency key"),
    limit!(query_bytes, "bytes of a search query"),
    limit!(notebook_name_bytes, "bytes of a notebook's name"),
    limit!(notebooks_per_agent, "notebooks of an agent"),
    limit!(progress_bullets, "bullets of a notebook's progress"),
    limit!(learnings_per_notebook, "learnings that a notebook shows"),
    limit!(snippets_per_notebook, "snippets that a notebook shows"),
    limit!(archived_per_notebook, "archived learnings and snippets of a notebook"),
    limit!(notebook_line_bytes, "bytes of a line in a notebook"),
    limit!(snippet_bytes, "bytes of a snippet"),
    limit!(board_id_bytes, "bytes of a board's ID"),
    limit!(board_line_bytes, "bytes of a line on a board"),
    limit!(board_text_bytes, "bytes of a text on a board"),
    limit!(lines_per_list, "lines in a list on a board"),
    limit!(tasks_per_board, "tasks of a board"),
    limit!(dependencies_per_board, "dependencies between a board's tasks"),
    limit!(records_per_board, "records of a board, of each kind"),
    limit!(inline_bytes, "bytes of an artifact's content that a board stores"),
    limit!(core_id_bytes, "bytes of a memory core's name"),
    limit!(core_text_bytes, "bytes of a text in a memory core"),
    limit!(entries_per_core, "entries of a memory core"),
    limit!(entries_per_addition, "entries added to a memory core at once"),
    limit!(origins_per_entry, "origins of an entry in a memory core"),
    limit!(tokens_per_store, "valid tokens of a store"),
];

const LOG: SettingField = SettingField::Words {
    allowed: "a level (off, error, warn, info, debug, trace) or filters: corkboard=debug,warn",
    set: |settings, text| {
        let is_filter = EnvFilter::try_new(text).is_ok();
        settings.log = Some(text.into()).filter(|_| is_filter);
        is_filter
    },
    shown: |settings| settings.log.clone(),
};

const LOG_FORMAT: SettingField = SettingField::Words {
    allowed: "text or json",
    set: |settings, text| {
        let format = match text {
            "text" => LogFormat::Text,
            "json" => LogFormat::Json,
            _ => return false,
        };
        settings.log_format = format;
        true
    },
    shown: |settings| Some(if settings.log_format == LogFormat::Json { "json" } else { "text" }.into()),
};

const TIER: SettingField = SettingField::Words {
    allowed: "core, writer_pro or teams",
    set: |settings, text| {
        let tier = [Tier::Core, Tier::WriterPro, Tier::Teams].into_iter().find(|tier| tier.to_string() == text);
        tier.map(|tier| settings.options.tier = tier).is_some()
    },
    shown: |settings| Some(settings.options.tier.to_string()),
};

const CONVERSATIONS: SettingField = SettingField::Words {
    allowed: "process or shared",
    set: |settings, text| {
        settings.options.conversations = match text {
            "process" => Conversations::Process,
            "shared" => Conversations::Shared,
            _ => return false,
        };
        true
    },
    shown: |settings| {
        Some(if settings.options.conversations == Conversations::Shared { "shared" } else { "process" }.into())
    },
};

const SAVE: SettingField = SettingField::Words {
    allowed: "on_change, or a duration such as 500ms",
    set: |settings, text| {
        let save = match text {
            "on_change" => Some(SavePolicy::OnChange),
            time => duration(time).filter(|time| !time.is_zero()).map(SavePolicy::Interval),
        };
        save.map(|save| settings.options.save = save).is_some()
    },
    shown: |settings| match settings.options.save {
        SavePolicy::OnChange => Some("on_change".into()),
        SavePolicy::Interval(time) => Some(in_time(time)),
    },
};

const CONSISTENCY: SettingField = SettingField::Words {
    allowed: "current, cached, or the maximum age of a read, such as 500ms",
    set: |settings, text| {
        let consistency = text.parse().ok().or_else(|| duration(text).map(Consistency::Cached));
        consistency.map(|consistency| settings.options.consistency = consistency).is_some()
    },
    shown: |settings| match settings.options.consistency {
        Consistency::Current => Some("current".into()),
        Consistency::Cached(age) => Some(in_time(age)),
    },
};

const RETENTION: SettingField = SettingField::Words {
    allowed: "usual (a day on Redis, everything elsewhere), everything, a duration (30d) or a number of revisions (1000 revisions)",
    set: |settings, text| {
        let retention = match text {
            "usual" => Some(None),
            "everything" => Some(Some(Retention::Everything)),
            text => match text.strip_suffix(REVISIONS) {
                Some(number) => number.parse().ok().map(|number| Some(Retention::Revisions(number))),
                None => duration(text).map(|age| Some(Retention::Age(age))),
            },
        };
        retention.map(|retention| settings.options.retention = retention).is_some()
    },
    shown: |settings| match settings.options.retention {
        None => Some("usual".into()),
        Some(Retention::Everything) => Some("everything".into()),
        Some(Retention::Revisions(number)) => Some(format!("{number}{REVISIONS}")),
        Some(Retention::Age(age)) => Some(in_time(age)),
    },
};

const REVISIONS: &str = " revisions";

#[cfg(test)]
mod tests {
    use super::super::{RawSetting, ResolvedSettings};
    use super::*;

    /// The names of a struct's own fields, from its `Debug` output.
    fn fields(debugged: &str) -> Vec<String> {
        let lines = debugged.lines().filter_map(|line| line.strip_prefix("    "));
        let own = lines.filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()));
        own.filter_map(|line| line.split_once(':').map(|(name, _)| name.to_owned())).collect()
    }

    #[test]
    fn every_limit_and_every_option_can_be_set() {
        let settings = ResolvedSettings::default();
        let keys: Vec<&str> = SETTINGS.iter().map(|setting| setting.key).collect();
        let limits = fields(&format!("{:#?}", settings.options.limits));
        assert!(limits.len() > 30, "{limits:?}");
        for limit in limits {
            assert!(keys.contains(&format!("limits.{limit}").as_str()), "{limit}");
        }
        // Both snapshot options have their own settings. Commands choose actor, clock and creation.
        let named_otherwise =
            ["limits", "features", "snapshots", "actor", "clock", "creation", "embedder", "embedder_query_timeout"];
        for option in fields(&format!("{:#?}", settings.options)) {
            assert!(named_otherwise.contains(&option.as_str()) || keys.contains(&option.as_str()), "{option}");
        }
    }

    #[test]
    fn names_are_unique_and_displayed_values_can_be_set() {
        for (at, setting) in SETTINGS.iter().enumerate() {
            assert!(SETTINGS.iter().skip(at + 1).all(|other| other.key != setting.key), "{}", setting.key);
            let mut settings = ResolvedSettings::default();
            let Some(shown) = setting.field.shown(&mut settings) else { continue };
            assert!(setting.field.set(&mut settings, &RawSetting::Text(shown.clone())), "{} = {shown}", setting.key);
            assert_eq!(setting.field.shown(&mut settings), Some(shown), "{}", setting.key);
        }
    }
}
