//! A server's URL. It may hold a password, which is never shown.

use std::fmt;

/// The URL of a server. Shown, be it for people or for debugging, it has no password.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl(String);

impl ServerUrl {
    /// Takes a URL as it is.
    pub fn new(url: &str) -> Self {
        Self(url.into())
    }

    /// The whole URL, password included: for connecting, not for showing.
    #[cfg(any(feature = "postgres", feature = "redis"))]
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_password(&self.0))
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerUrl({:?})", without_password(&self.0))
    }
}

/// The URL without what may be a password: what follows the user's name up to the last `@`, even where a careless URL has
/// other signs in it, and parameters that are one or hold a URL.
pub(crate) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.into() };
    let (user, rest) = match rest.rsplit_once('@') {
        Some((user, rest)) => (Some(user.split([':', '/', '?']).next().unwrap_or_default()), rest),
        None => (None, rest),
    };
    let (place, parameters) = match rest.split_once('?') {
        Some((place, parameters)) => (place, Some(parameters)),
        None => (rest, None),
    };
    let mut shown = format!("{scheme}://");
    if let Some(user) = user {
        shown.push_str(user);
        shown.push('@');
    }
    shown.push_str(place);
    let harmless = |parameter: &&str| !parameter.starts_with("password=") && !parameter.starts_with("listen=");
    let parameters: Vec<_> = parameters.into_iter().flat_map(|all| all.split('&')).filter(harmless).collect();
    if !parameters.is_empty() {
        shown.push('?');
        shown.push_str(&parameters.join("&"));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_ever_shown() {
        for (url, shown) in [
            ("postgres://ada:secret@host:5432/db?schema=x", "postgres://ada@host:5432/db?schema=x"),
            ("postgres://ada:se@cr/e?t@host/db", "postgres://ada@host/db"),
            ("postgres://host/db?password=secret&schema=x", "postgres://host/db?schema=x"),
            ("postgres://host/db?listen=postgres%3A%2F%2Fa%3Asecret%40host%2Fdb", "postgres://host/db"),
            ("postgres://host/db?listen=postgres://a:secret@other/db", "postgres://host@other/db"),
            ("redis://:secret@host:6379/1", "redis://@host:6379/1"),
            ("sqlite:a:b@c.db", "sqlite:a:b@c.db"),
        ] {
            assert_eq!(without_password(url), shown);
            assert_eq!(ServerUrl::new(url).to_string(), shown);
            assert!(!format!("{:?}", ServerUrl::new(url)).contains("secret"));
        }
    }
}
