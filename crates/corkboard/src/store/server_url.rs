//! A server's URL. It may contain a password, which is never displayed.

use std::fmt;

/// The URL of a server. `Display` and `Debug` omit the password.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl(String);

impl ServerUrl {
    /// Wraps a URL without checking it.
    pub fn new(url: &str) -> Self {
        Self(url.into())
    }

    /// The complete URL including the password: for connecting, never for display.
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

/// Removes possible passwords from a URL: everything from the end of the user name up to the last `@`, even if an
/// invalid URL has other characters there, and parameters that are or may contain a password.
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
