//! Parses a URL: the server's address, and how to talk to it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::tls::{Tls, TlsTrust};
use crate::error::error_chain;
use crate::store::StoreError;
use crate::store::server_url::{ServerUrl, without_password};

/// Default maximum number of connections per process for reading and writing. One for heads and one for listening are
/// added.
const CONNECTIONS: usize = 8;
/// Maximum length of a schema's name. With its prefix it is a channel name, which has at most 63 bytes.
const SCHEMA_BYTES: usize = 48;

/// How long sent data may stay unacknowledged by the network.
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

pub(super) struct Settings {
    pub(super) server: Server,
    pub(super) schema: Schema,
    pub(super) prepare: Prepare,
    pub(super) listen: Listen,
    pub(super) connections: usize,
}

/// A server, and how to connect to it.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) config: Config,
    pub(super) tls: Tls,
    pub(super) location: String,
    /// Warning about missing protection, if the connection leaves this machine.
    pub(super) warning: Option<&'static str>,
}

/// The schema that holds the tables.
#[derive(Debug, Clone)]
pub(super) struct Schema(String);

/// Whether to use named prepared statements, which saves the server from planning each call. A proxy that assigns a
/// connection per transaction would mix up the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prepare {
    /// If there is no proxy in between.
    Auto,
    /// Always; for a proxy that separates the names of its clients.
    On,
    Off,
}

/// Whether to listen for notifications, which needs a connection without such a proxy.
#[derive(Clone)]
pub(super) enum Listen {
    /// If there is no proxy in between.
    Auto,
    On,
    Off,
    /// Through another address of the same server.
    At(Box<Server>),
}

impl Schema {
    fn new(name: &str) -> Result<Self, String> {
        let is_first = |sign: char| sign.is_ascii_alphabetic() || sign == '_';
        let is_name = name.starts_with(is_first) && name.chars().all(|sign| is_first(sign) || sign.is_ascii_digit());
        if !is_name || name.len() > SCHEMA_BYTES || name.starts_with("pg_") {
            return Err(format!(
                "schema must be at most {SCHEMA_BYTES} letters, digits or underscores, not starting with a digit or pg_"
            ));
        }
        Ok(Self(name.into()))
    }

    pub(super) fn name(&self) -> &str {
        &self.0
    }

    /// Replaces `{schema}` in SQL by the schema's quoted name.
    pub(super) fn fill(&self, sql: &str) -> String {
        sql.replace("{schema}", &format!("\"{}\"", self.0))
    }

    pub(super) fn channel(&self) -> String {
        format!("corkboard:{}", self.0)
    }
}

impl Settings {
    /// Parses a URL. `patience` limits connecting and waiting for the network's acknowledgements.
    pub(super) fn parse(url: &ServerUrl, patience: Duration) -> Result<Self, StoreError> {
        let read = || {
            let (server, mut own) = Server::parse(url.expose(), patience)?;
            let schema = Schema::new(own.take("schema").as_deref().unwrap_or("corkboard"))?;
            let prepare = match own.take("prepare").as_deref() {
                None | Some("auto") => Prepare::Auto,
                Some("on") => Prepare::On,
                Some("off") => Prepare::Off,
                Some(_) => return Err("prepare must be auto, on or off".into()),
            };
            let listen = match own.take("listen").as_deref() {
                None | Some("auto") => Listen::Auto,
                Some("on") => Listen::On,
                Some("off") => Listen::Off,
                Some(url) if url.starts_with("postgres") => {
                    let (server, own) = Server::parse(url, patience).map_err(|reason| format!("listen: {reason}"))?;
                    own.expect_none().map_err(|reason| format!("listen: {reason}"))?;
                    Listen::At(Box::new(server))
                }
                Some(_) => return Err("listen must be auto, on, off or a percent-encoded postgres:// URL".into()),
            };
            let connections = match own.take("connections").as_deref().map(str::parse) {
                None => CONNECTIONS,
                Some(Ok(connections @ 2..=1000)) => connections,
                Some(_) => return Err("connections must be a number from 2 to 1000".into()),
            };
            own.expect_none()?;
            Ok(Self { server, schema, prepare, listen, connections })
        };
        read().map_err(|reason: String| StoreError::Url { url: url.to_string(), reason })
    }

    pub(super) fn location(&self) -> String {
        format!("{}?schema={}", self.server.location, self.schema.name())
    }
}

impl Server {
    /// Parses the parameters of the connection. Returns the others.
    fn parse(url: &str, patience: Duration) -> Result<(Self, Parameters), String> {
        let (address, parameters) = url.split_once('?').unwrap_or((url, ""));
        let mut own = Parameters::parse(parameters)?;
        let root = own.take("sslrootcert").map(PathBuf::from);
        let requested = own.take("sslmode");
        let mut address = address.to_owned();
        for (sign, (name, value)) in std::iter::once('?').chain(std::iter::repeat('&')).zip(&own.others) {
            address.extend([sign.to_string().as_str(), name, "=", value]);
        }
        let mut config: Config = address.parse().map_err(|error| error_chain(&error))?;
        if config.get_application_name().is_none() {
            config.application_name("corkboard");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(patience);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(patience.min(UNACKNOWLEDGED));
        }
        if config.get_keepalives_idle() == Config::new().get_keepalives_idle() {
            config.keepalives_idle(Duration::from_secs(30));
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err("the host is missing".into());
        }
        let is_local = is_local(&config);
        let (mode, trust) = match requested.as_deref().unwrap_or(if is_local { "prefer" } else { "verify-full" }) {
            "disable" => (SslMode::Disable, None),
            "prefer" => (SslMode::Prefer, Some(TlsTrust::Anyone)),
            "no-verify" => (SslMode::Require, Some(TlsTrust::Anyone)),
            "require" if !is_local => (SslMode::Require, Some(TlsTrust::AuthorityAndName)),
            // As in libpq: with a root certificate, check it.
            "require" if root.is_some() => (SslMode::Require, Some(TlsTrust::Authority)),
            "require" => (SslMode::Require, Some(TlsTrust::Anyone)),
            "verify-ca" => (SslMode::Require, Some(TlsTrust::Authority)),
            "verify-full" => (SslMode::Require, Some(TlsTrust::AuthorityAndName)),
            _ => return Err("sslmode must be disable, prefer, no-verify, require, verify-ca or verify-full".into()),
        };
        config.ssl_mode(mode);
        let warning = match (trust, mode) {
            _ if is_local => None,
            (None, _) => Some("sslmode=disable: the connection to PostgreSQL is neither encrypted nor verified"),
            (Some(TlsTrust::Anyone), SslMode::Prefer) => {
                Some("sslmode=prefer: the connection to PostgreSQL is not verified, and perhaps not encrypted")
            }
            (Some(TlsTrust::Anyone), _) => {
                Some("sslmode=no-verify: PostgreSQL's certificate is not verified, so another server could pose as it")
            }
            (Some(TlsTrust::Authority | TlsTrust::AuthorityAndName), _) => None,
        };
        let tls = trust.map_or(Ok(Tls::Off), |trust| Tls::new(trust, root.as_deref()))?;
        let location = location(&config);
        Ok((Self { config, tls, location, warning }, own))
    }
}

/// Whether every host is this machine, both by name and by address.
fn is_local(config: &Config) -> bool {
    let is_local = |host: &Host| match host {
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(is_local) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

fn location(config: &Config) -> String {
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(index, host)| {
        let host = match host {
            Host::Tcp(host) if host.contains(':') => format!("[{host}]"),
            Host::Tcp(host) => host.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        };
        format!("{host}:{}", ports.get(index).or(ports.first()).unwrap_or(&5432))
    });
    let hosts = hosts.collect::<Vec<_>>().join(",");
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    without_password(&format!("postgres://{user}{hosts}/{}", config.get_dbname().unwrap_or_default()))
}

/// The parameters of a URL: Corkboard's own, and unchanged those of the driver.
struct Parameters {
    own: Vec<(String, String)>,
    others: Vec<(String, String)>,
}

impl Parameters {
    const OWN: [&str; 6] = ["schema", "prepare", "listen", "connections", "sslmode", "sslrootcert"];

    fn parse(parameters: &str) -> Result<Self, String> {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').ok_or("each parameter must have the form NAME=VALUE")?;
            if !Self::OWN.contains(&name) {
                others.push((name.into(), value.into()));
            } else if own.iter().any(|(known, _)| known == name) {
                return Err(format!("{name} is given twice"));
            } else {
                let value = percent_decode_str(value).decode_utf8().map_err(|_| format!("{name} is not UTF-8"))?;
                own.push((name.to_owned(), value.into_owned()));
            }
        }
        Ok(Self { own, others })
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let found = self.own.iter().position(|(known, _)| known == name)?;
        Some(self.own.swap_remove(found).1)
    }

    fn expect_none(self) -> Result<(), String> {
        match self.own.first() {
            Some((name, _)) => Err(format!("{name} is not allowed here")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Settings, String> {
        Settings::parse(&ServerUrl::new(url), Duration::from_secs(5)).map_err(|error| error.to_string())
    }

    #[test]
    fn all_parts_of_a_url_are_parsed() {
        let settings = parse(
            "postgresql://ada:secret@db.example:6000/memory?schema=mine&connect_timeout=3&prepare=off&connections=3\
             &listen=postgres%3A%2F%2Fada%3Asecret%40direct%3A5433%2Fmemory%3Fsslmode%3Ddisable&sslmode=disable",
        )
        .unwrap();
        assert_eq!(settings.location(), "postgres://ada@db.example:6000/memory?schema=mine");
        assert_eq!((settings.prepare, settings.connections), (Prepare::Off, 3));
        assert_eq!(settings.server.config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        assert!(
            matches!(settings.listen, Listen::At(server) if server.location == "postgres://ada@direct:5433/memory")
        );
        let local = parse("postgres://localhost/db").unwrap();
        assert_eq!(local.location(), "postgres://localhost:5432/db?schema=corkboard");
    }

    #[test]
    fn only_connections_within_this_machine_are_unverified_unless_asked_for() {
        for (address, local) in [
            ("localhost/db", true),
            ("127.0.0.2:5433/db", true),
            ("[::1]/db", true),
            ("%2Frun%2Fpostgresql/db", true),
            ("localhost,127.0.0.1/db", true),
            ("localhost/db?hostaddr=127.0.0.1", true),
            ("localhost/db?hostaddr=10.0.0.5", false),
            ("db.example/db?hostaddr=127.0.0.1", false),
            ("localhost,db.example/db", false),
            ("localhost.example/db", false),
            ("10.0.0.5/db", false),
        ] {
            let config = format!("postgres://{address}").parse().unwrap();
            assert_eq!(is_local(&config), local, "{address}");
        }
        let warning = |url: &str| parse(url).unwrap().server.warning.unwrap_or_default().to_owned();
        for mode in ["disable", "prefer", "no-verify"] {
            let warned = warning(&format!("postgres://db.example/db?sslmode={mode}"));
            assert!(warned.starts_with(&format!("sslmode={mode}: ")), "{warned}");
            assert_eq!(warning(&format!("postgres://localhost/db?sslmode={mode}")), "");
        }
    }

    #[test]
    fn invalid_urls_are_explained_without_the_password() {
        for (wrong, why) in [
            ("postgres://ada:secret@localhost/db?colour=red", "unknown option `colour`"),
            ("postgres://ada:secret@localhost/db?schema=a-b", "schema must be"),
            ("postgres://ada:secret@localhost/db?schema=pg_mine", "schema must be"),
            ("postgres://ada:secret@localhost/db?schema=a&schema=b", "given twice"),
            ("postgres://ada:secret@localhost/db?prepare=maybe", "prepare must be"),
            ("postgres://ada:secret@localhost/db?listen=maybe", "listen must be"),
            (
                "postgres://ada:secret@localhost/db?listen=postgres://ada:secret@localhost/db%3Fschema=x",
                "listen: schema",
            ),
            ("postgres://ada:secret@localhost/db?connections=1", "connections must be"),
            ("postgres://ada:secret@localhost/db?sslmode=always", "sslmode must be"),
            ("postgres://ada:secret@localhost/db?sslmode=verify-full&sslrootcert=/nowhere", "/nowhere"),
            ("postgres://ada:secret@host:port/db", "port"),
            ("postgres:///db", "host is missing"),
        ] {
            let error = parse(wrong).err().expect(wrong);
            assert!(error.contains(why) && !error.contains("secret"), "{wrong}: {error}");
        }
    }
}
