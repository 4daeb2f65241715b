//! The server's settings.

use std::fmt;
use std::net::Ipv6Addr;
use std::time::Duration;

use secrecy::SecretString;

use crate::metrics::Metrics;
use crate::rate::Rate;

/// How requests are authenticated.
#[derive(Debug, Clone)]
pub enum Authentication {
    /// A token is required: one from the store, or the admin token.
    Tokens {
        /// An admin token that is not in the store.
        admin: Option<SecretString>,
    },
    /// No token is required, and every caller is an admin. For servers that only this machine can reach.
    Open,
}

/// A setting with an invalid value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongSetting {
    pub setting: &'static str,
    /// Why the value is invalid, and what is expected.
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
    /// How requests are authenticated.
    pub access: Authentication,
    /// Host names of the server, besides `localhost` and loopback addresses. A request with another `Host` is refused,
    /// so that no web page can reach the server through its own domain (DNS rebinding).
    pub hosts: Vec<String>,
    /// Origins of web pages that may call the server, besides its own.
    pub origins: Vec<String>,
    /// Maximum number of connections. Further ones get 503 and are closed.
    pub connections: usize,
    pub body_bytes: usize,
    /// Maximum bytes of requests and answers held in memory. A request that does not fit is answered with 503 after a
    /// short wait. One principal may hold up to 7/16 of them.
    pub buffer_bytes: usize,
    /// Time limit for a request, in addition to waiting for an event or a task.
    pub request_timeout: Duration,
    /// Time limit for receiving a request's head, from its first byte or the end of the previous request.
    pub header_timeout: Duration,
    /// How long the server waits for requests in progress when it shuts down.
    pub drain_timeout: Duration,
    pub requests: Rate,
    pub written_bytes: Rate,
    /// Rate of wrong tokens per client: an IPv4 address, or the first 64 bits of an IPv6 address. Above it, only tokens
    /// that the server already knows are accepted from that client.
    pub wrong_tokens: Rate,
    /// Interval of heartbeats in event streams.
    pub heartbeat: Duration,
    /// Close a connection if the client reads nothing for this long.
    pub stalled_after: Duration,
    /// Maximum number of events buffered for streams of all spaces.
    pub events_held: usize,
    /// How long they are buffered after the last stream ended.
    pub events_linger: Duration,
    /// Whether clients connect with TLS. Cookies are then `Secure`.
    pub is_tls: bool,
    /// The process's metrics, for `/metrics`. Without them, the route does not exist.
    pub metrics: Option<Metrics>,
    /// Whether `/metrics` needs no token.
    pub are_metrics_public: bool,
}

impl Settings {
    pub fn new(access: Authentication) -> Self {
        Self {
            access,
            hosts: Vec::new(),
            origins: Vec::new(),
            // Each connection is an open file; processes can usually open at least 20,000.
            connections: 16_384,
            // A command may have 4 MiB; escaping in JSON adds to that.
            body_bytes: 8 * 1024 * 1024,
            buffer_bytes: 256 * 1024 * 1024,
            request_timeout: Duration::from_secs(60),
            header_timeout: Duration::from_secs(30),
            drain_timeout: Duration::from_secs(30),
            requests: Rate { burst: 2_000.0, per_second: 1_000.0 },
            // 1 GiB per hour, and a quarter of that at once.
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

    /// Normalizes hosts and origins to the form that browsers send. Refuses values that no browser would send.
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

/// Normalizes a host name or address to the form in the `Host` header, without the port.
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
    let taken = "a name or an address without scheme, port or path: memory.example.org, 192.0.2.7, [2001:db8::7]";
    Err(format!("invalid host {text:?}: expected {taken}"))
}

/// Normalizes a page's scheme, host and port to the form in the `Origin` header.
fn origin(text: &str) -> Result<String, String> {
    let taken = "scheme, host and, unless it is the default, port: https://app.example.org, http://localhost:3000";
    let wrong = || format!("invalid origin {text:?}: expected {taken}");
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
    fn hosts_are_normalized_or_refused() {
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
    fn origins_are_normalized_or_refused() {
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
        let settings = Settings { origins: vec!["evil".into()], ..Settings::new(Authentication::Open) };
        assert_eq!(settings.checked().map_err(|wrong| wrong.setting).err(), Some("origins"));
    }
}
