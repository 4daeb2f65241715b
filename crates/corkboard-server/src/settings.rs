//! What a server is told when it starts.

use std::fmt;
use std::net::Ipv6Addr;
use std::time::Duration;

use secrecy::SecretString;

use crate::metrics::Metrics;
use crate::rate::Rate;

/// Who is let in.
#[derive(Debug, Clone)]
pub enum Access {
    /// Whoever comes with a token: one of the store's, or this one, which may do everything.
    Tokens {
        /// The token that may do everything, if there is one besides the store's.
        admin: Option<SecretString>,
    },
    /// Everybody, as an admin. For servers that only this machine can reach.
    Open,
}

/// A setting by which nothing could ever work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongSetting {
    pub setting: &'static str,
    /// What is wrong, and what is taken.
    pub message: String,
}

impl fmt::Display for WrongSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, self.message)
    }
}

impl std::error::Error for WrongSetting {}

#[derive(Debug, Clone)]
pub struct Settings {
    /// Who is let in.
    pub access: Access,
    /// The names by which it may be called, besides `localhost` and loopback addresses: a request with another `Host` is
    /// refused, so that no web page can reach it by a name of its own.
    pub hosts: Vec<String>,
    /// The web pages that may call it, besides its own.
    pub origins: Vec<String>,
    /// The most connections at a time. Whoever comes when there are as many is told to come back.
    pub connections: usize,
    pub body_bytes: usize,
    /// The most bytes of requests and answers that are held in memory at a time. A request that does not fit is answered with
    /// 503 after a short wait. One principal may hold up to 7/16 of it.
    pub buffer_bytes: usize,
    /// How long a request may take, waiting for a task aside.
    pub request_timeout: Duration,
    /// How long a client may take to say what it wants: a request's head, from its first byte or the end of the one before.
    pub header_timeout: Duration,
    /// How long a server that is to end waits for what is under way.
    pub drain_timeout: Duration,
    pub requests: Rate,
    pub written_bytes: Rate,
    /// How many wrong tokens each client address may send: an IPv4 address, or the first 64 bits of an IPv6 address. Beyond
    /// that only tokens that the server already knows are accepted from there.
    pub wrong_tokens: Rate,
    /// How often a stream of events shows that it is there.
    pub heartbeat: Duration,
    /// A connection to which nothing could be written for so long is given up.
    pub stalled_after: Duration,
    /// The most events of all spaces that are held for those who follow them all.
    pub events_held: usize,
    /// For how long they are held when nobody follows.
    pub events_linger: Duration,
    /// Whether connections are encrypted: cookies are then kept from others.
    pub is_tls: bool,
    /// What is counted in this process, for `/metrics`. Nothing: there is no such route.
    pub metrics: Option<Metrics>,
    /// Whether `/metrics` is for everybody who reaches the server. Otherwise it needs a token, as everything does.
    pub are_metrics_public: bool,
}

impl Settings {
    pub fn new(access: Access) -> Self {
        Self {
            access,
            hosts: Vec::new(),
            origins: Vec::new(),
            // A connection is an open file, of which a process may seldom have less than 20,000.
            connections: 16_384,
            // A command may have 4 MiB; JSON escapes take room too.
            body_bytes: 8 * 1024 * 1024,
            buffer_bytes: 256 * 1024 * 1024,
            request_timeout: Duration::from_secs(60),
            header_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(30),
            requests: Rate { burst: 2_000.0, per_second: 1_000.0 },
            // A gigabyte an hour, and a quarter of that at once.
            written_bytes: Rate { burst: 256.0 * 1024.0 * 1024.0, per_second: 1024.0 * 1024.0 * 1024.0 / 3600.0 },
            wrong_tokens: Rate { burst: 100.0, per_second: 1.0 },
            heartbeat: Duration::from_secs(15),
            stalled_after: Duration::from_secs(60),
            events_held: 1024,
            events_linger: Duration::from_secs(60),
            is_tls: false,
            metrics: None,
            are_metrics_public: false,
        }
    }

    /// The same with hosts and origins as browsers write them. What no browser would ever write is refused.
    pub fn checked(self) -> Result<Self, WrongSetting> {
        let all = |setting, texts: &[String], read: fn(&str) -> Result<String, String>| {
            let read: Result<Vec<_>, _> = texts.iter().map(|text| read(text)).collect();
            read.map_err(|message| WrongSetting { setting, message })
        };
        let hosts = all("hosts", &self.hosts, host)?;
        let origins = all("origins", &self.origins, origin)?;
        Ok(Self { hosts, origins, ..self })
    }
}

/// A name or an address, as it stands in the header `Host`, its port aside.
fn host(text: &str) -> Result<String, String> {
    let name = text.trim().to_ascii_lowercase();
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&name);
    if let Ok(address) = bare.parse::<Ipv6Addr>() {
        return Ok(format!("[{address}]"));
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_plain);
    if name.split('.').all(is_label) {
        return Ok(name);
    }
    let taken =
        "a name or an address alone, without scheme, port or path: memory.example.org, 192.0.2.7, [2001:db8::7]";
    Err(format!("{text:?} is not what a server is called by: it takes {taken}"))
}

/// A page's scheme, name and port, as they stand in the header `Origin`.
fn origin(text: &str) -> Result<String, String> {
    let taken = "scheme, name and, if it is not the usual one, port: https://app.example.org, http://localhost:3000";
    let wrong = || format!("{text:?} is not where a web page comes from: it takes {taken}");
    let (scheme, rest) = text.trim().split_once("://").ok_or_else(wrong)?;
    let scheme = scheme.to_ascii_lowercase();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    if !scheme.starts_with(|first: char| first.is_ascii_alphabetic()) || !scheme.bytes().all(is_plain) {
        return Err(wrong());
    }
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            (name, Some(port.parse::<u16>().map_err(|_| wrong())?))
        }
        _ => (authority, None),
    };
    let name = host(name).map_err(|_| wrong())?;
    let usual = match scheme.as_str() {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    };
    Ok(match port.filter(|port| Some(*port) != usual) {
        Some(port) => format!("{scheme}://{name}:{port}"),
        None => format!("{scheme}://{name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_as_browsers_write_them_or_refused() {
        let taken = [
            ("Memory.Example.ORG", "memory.example.org"),
            ("memory", "memory"),
            ("192.0.2.7", "192.0.2.7"),
            ("2001:DB8:0::7", "[2001:db8::7]"),
            ("[2001:db8::7]", "[2001:db8::7]"),
        ];
        for (text, written) in taken {
            assert_eq!(host(text).as_deref(), Ok(written), "{text}");
        }
        for wrong in
            ["", "http://foo", "foo:7117", "*", "*.example.org", "foo/", "foo.", "a b", "bücher.example", "[foo]"]
        {
            assert!(host(wrong).is_err_and(|message| message.contains(&format!("{wrong:?}"))), "{wrong}");
        }
    }

    #[test]
    fn origins_are_as_browsers_write_them_or_refused() {
        let taken = [
            ("https://two.example/", "https://two.example"),
            ("HTTPS://THREE.example", "https://three.example"),
            ("https://x:443", "https://x"),
            ("http://x:80/", "http://x"),
            ("http://x:443", "http://x:443"),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://[::1]:3000", "http://[::1]:3000"),
            ("chrome-extension://abcdef", "chrome-extension://abcdef"),
        ];
        for (text, written) in taken {
            assert_eq!(origin(text).as_deref(), Ok(written), "{text}");
        }
        let wrong = [
            "",
            "evil",
            "*",
            "null",
            "https://",
            "https://x/path",
            "https://x?q",
            "https://a@b",
            "https://*.x",
            "://x",
        ];
        for wrong in wrong.into_iter().chain(["https://x:", "https://x:99999", "1://x"]) {
            assert!(origin(wrong).is_err_and(|message| message.contains(&format!("{wrong:?}"))), "{wrong}");
        }
        let settings = Settings { origins: vec!["evil".into()], ..Settings::new(Access::Open) };
        assert_eq!(settings.checked().map_err(|wrong| wrong.setting).err(), Some("origins"));
    }
}
