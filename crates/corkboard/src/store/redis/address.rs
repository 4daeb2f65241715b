//! Parses `redis://USER:PASSWORD@HOST:PORT/DATABASE?prefix=NAME`.

use std::path::PathBuf;

use redis::io::tcp::TcpSettings;
use redis::{Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, TlsCertificates};

use crate::store::{ServerUrl, StoreError};

/// The default prefix of keys.
const PREFIX: &str = "cork";
const PREFIX_BYTES: usize = 64;

/// The server's address and credentials. The password is never displayed.
pub(super) struct Address {
    pub(super) client: Client,
    pub(super) prefix: String,
    pub(super) location: String,
    pub(super) tls: &'static str,
}

impl Address {
    pub(super) fn parse(url: &ServerUrl) -> Result<Self, StoreError> {
        parse(url.expose()).map_err(|reason| StoreError::Url { url: url.to_string(), reason })
    }
}

fn parse(text: &str) -> Result<Address, String> {
    let mut url = redis::parse_redis_url(text).ok_or("invalid Redis URL")?;
    let (mut prefix, mut ca) = (PREFIX.to_owned(), None);
    for (name, value) in url.query_pairs() {
        match &*name {
            "prefix" => prefix = value.into_owned(),
            "ca" => ca = Some(PathBuf::from(&*value)),
            other => return Err(format!("unknown parameter {other:?}; must be prefix or ca")),
        }
    }
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_.:".contains(character);
    if prefix.is_empty() || prefix.len() > PREFIX_BYTES || !prefix.chars().all(plain) {
        return Err(format!("invalid prefix; must be 1 to {PREFIX_BYTES} letters, digits or -_.:"));
    }
    url.set_query(None);
    if url.scheme() == "redis" && url.fragment().is_some() {
        return Err("a fragment (#…) is only valid with rediss://".into());
    }
    let said = |error: redis::RedisError| error.to_string();
    let info = url.into_connection_info().map_err(said)?;
    let login = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3).set_skip_set_lib_name();
    let info = info.set_redis_settings(login).set_tcp_settings(TcpSettings::default().set_nodelay(true));
    let location = location(&info);
    let tls = match info.addr() {
        ConnectionAddr::TcpTls { insecure: true, .. } => "rustls, the server's certificate is not checked",
        ConnectionAddr::TcpTls { .. } => "rustls",
        _ => "none",
    };
    if tls == "none" && ca.is_some() {
        return Err("ca is only valid with rediss://".into());
    }
    if tls != "none" {
        // Does nothing if the program has already installed a provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let client = match ca {
        None => Client::open(info).map_err(said)?,
        Some(file) => {
            let root = std::fs::read(&file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
            let certificates = TlsCertificates { client_tls: None, root_cert: Some(root) };
            Client::build_with_tls(info, certificates).map_err(said)?
        }
    };
    Ok(Address { client, prefix, location, tls })
}

fn location(info: &ConnectionInfo) -> String {
    let scheme = if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) { "rediss" } else { "redis" };
    let user = info.redis_settings().username().map(|user| format!("{user}@")).unwrap_or_default();
    format!("{scheme}://{user}{}/{}", info.addr(), info.redis_settings().db())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(url: &str) -> String {
        match Address::parse(&ServerUrl::new(url)).err() {
            Some(StoreError::Url { url, reason }) => {
                assert!(!url.contains("geheim") && !reason.contains("geheim"), "{url} {reason}");
                reason
            }
            other => panic!("{url}: {other:?}"),
        }
    }

    #[test]
    fn urls_contain_user_database_and_prefix() {
        let address = Address::parse(&ServerUrl::new("redis://ada:ge%2Fheim@cache:6380/3?prefix=team-1")).unwrap();
        assert_eq!((&*address.location, &*address.prefix), ("redis://ada@cache:6380/3", "team-1"));
        let login = address.client.get_connection_info().redis_settings();
        assert_eq!((login.username(), login.password(), login.db()), (Some("ada"), Some("ge/heim"), 3));
        let address = Address::parse(&ServerUrl::new("rediss://cache/#insecure")).unwrap();
        assert_eq!((&*address.location, &*address.prefix), ("rediss://cache:6379/0", "cork"));
        assert!(address.tls.contains("not checked"));
    }

    #[test]
    fn invalid_urls_are_rejected() {
        for (url, expected) in [
            ("redis://:geheim@cache?prefx=a", "unknown parameter \"prefx\""),
            ("redis://:geheim@cache?prefix=", "invalid prefix"),
            ("redis://:geheim@cache?prefix=a{b}", "invalid prefix"),
            ("redis://:geheim@cache?protocol=resp2", "unknown parameter"),
            ("redis://:geheim@cache/one", "Invalid database number"),
            ("redis://:geheim@cache/#insecure", "only valid with rediss://"),
            ("rediss://:geheim@cache/#secure", "only #insecure"),
            ("redis://:geheim@cache?ca=/a.pem", "only valid with rediss://"),
            ("rediss://:geheim@cache?ca=/no/such/file.pem", "cannot read /no/such/file.pem"),
            ("redis://:geheim@/0", "invalid Redis URL"),
            ("redis:cache", ""),
        ] {
            assert!(reason(url).contains(expected), "{url}: {}", reason(url));
        }
    }
}
