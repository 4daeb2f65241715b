//! `cork serve`: serve the store over HTTP.

use std::io::{self, IsTerminal};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use corkboard::store::StoreInfo;
use corkboard::{Corkboard, Creation};
use corkboard_server::{Authentication, Metrics, Server, Settings, Tls};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::Global;
use crate::config::{FlagValue, RawSetting, ResolvedSettings};
use crate::error::{CliError, say};
use crate::open_files;
use crate::output::Output;

/// Print progress if opening the store takes longer than this.
const PATIENCE: Duration = Duration::from_secs(1);
/// Warn about an admin token with fewer characters.
const SHORTEST_ADMIN: usize = 16;
/// Exit code of a program that a signal ended: this plus the signal's number.
const BY_SIGNAL: i32 = 128;

/// Serve the store over HTTP
///
/// Prints the address, the location of the store, and a link that signs a browser in and opens the API reference (/docs).
/// The link works once, within an hour. If stdout is not a terminal and CORK_TOKEN is set, prints the command that creates a
/// link instead, because other people can read logs. Programs send a token (`cork token create`) in the header `Authorization: Bearer …`.
/// After Ctrl-C or SIGTERM, the server answers open requests and exits; a second signal stops it at once. `cork config show`
/// lists all settings.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork serve
  cork serve --listen 127.0.0.1:0
  CORK_LOG=info cork serve --log-format json
  CORK_TOKEN=… cork serve --listen 0.0.0.0:443 --host example.org --tls-cert a.pem --tls-key b.pem")]
pub(crate) struct Serve {
    /// Address to listen on; port 0 picks a free port [env: CORK_LISTEN] [default: 127.0.0.1:7117]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,

    /// Host name or address in clients' URLs, besides localhost and the address of --listen; repeatable. A request to any
    /// other name gets 403, so clients on other machines need it if --listen is 0.0.0.0 [env: CORK_HOSTS]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    host: Vec<String>,

    /// Origin of web pages that may call the server, such as `https://app.example.org`; repeatable [env: CORK_ORIGINS]
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    origin: Vec<String>,

    /// Disable authentication: everyone on this machine is an admin [env: CORK_NO_AUTH]
    #[arg(long)]
    no_auth: bool,

    /// TLS certificate with its chain, a PEM file [env: CORK_TLS_CERT]
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,

    /// Key of the TLS certificate, a PEM file [env: CORK_TLS_KEY]
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,

    /// Log format on stderr: text or json [env: CORK_LOG_FORMAT] [default: text]
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"], hide_possible_values = true)]
    log_format: Option<String>,
}

#[derive(Serialize)]
struct Started<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sign_in: Option<&'a str>,
    store: &'a str,
}

impl Serve {
    pub(crate) fn flags(&self) -> Vec<FlagValue> {
        let text = |value: &Option<String>| value.clone().map(RawSetting::Text);
        let path = |value: &Option<PathBuf>| value.as_ref().map(|path| RawSetting::Text(path.display().to_string()));
        let list = |value: &Vec<String>| (!value.is_empty()).then(|| RawSetting::List(value.clone()));
        let given = [
            ("listen", "--listen", text(&self.listen)),
            ("hosts", "--host", list(&self.host)),
            ("origins", "--origin", list(&self.origin)),
            ("no_auth", "--no-auth", self.no_auth.then_some(RawSetting::Switch(true))),
            ("tls_cert", "--tls-cert", path(&self.tls_cert)),
            ("tls_key", "--tls-key", path(&self.tls_key)),
            ("log_format", "--log-format", text(&self.log_format)),
        ];
        let flagged = |(key, flag, given): (&str, _, Option<RawSetting>)| {
            Some(FlagValue { key: key.into(), flag, given: given? })
        };
        given.into_iter().filter_map(flagged).collect()
    }

    pub(crate) async fn run(self, global: &Global) -> Result<(), CliError> {
        let resolved = &global.config.settings;
        let output = Output::new(global.json);
        global.expect_no_server("`cork serve` needs a store, but --url names a server")?;
        let address = address(&resolved.listen)?;
        let access = access(resolved, address)?;
        let tls = tls(resolved)?;
        let settings = Settings { is_tls: tls.is_some(), ..resolved.server_settings(access) };
        let mut settings = settings.checked().map_err(|wrong| CliError::invalid(wrong.setting, wrong.message))?;
        // Install the handlers first, so that an early signal is not missed.
        let signals = Signals::new()?;
        let not_listening = |error| not_listening(address, &error);
        let listener = TcpListener::bind(address).await.map_err(not_listening)?;
        let address = listener.local_addr().map_err(CliError::Output)?;
        let metrics = Metrics::install().map_err(|error| CliError::invalid("metrics", error))?;
        let corkboard = open(global, output).await?;
        for warning in warnings(&settings, address) {
            say(&warning);
        }
        let room = open_files::raise();
        if settings.connections > room {
            if !output.is_json() {
                say(&format!("warning: the system's limit of open files allows only {room} connections"));
            }
            settings.connections = room;
        }
        let url = url(&settings, address);
        settings.metrics = Some(metrics);
        if !address.ip().is_unspecified() {
            // A literal address is safe to allow: DNS rebinding needs a name.
            settings.hosts.push(literal(address.ip()));
        }
        let browser_access = BrowserAccess::of(&settings.access);
        let server = Server::new(corkboard.clone(), settings);
        let sign_in = (browser_access == BrowserAccess::Link).then(|| format!("{url}{}", server.sign_in_path()));
        let store = corkboard.store_info();
        let (kind, lies) = (store.kind, location(&store));
        let started = Started { url: &url, sign_in: sign_in.as_deref(), store: &lies };
        output.answer(&started, || {
            let how = match (browser_access, &sign_in) {
                (BrowserAccess::Open, _) => ", without authentication".into(),
                (_, Some(link)) => format!("\nto sign in with a browser, open {link}"),
                (_, None) => format!("\nto sign in with a browser: `cork token link --url {url}`, with CORK_TOKEN set"),
            };
            format!("corkboard serves {kind} at {url}{how}\nstore: {lies}\nCtrl-C stops the server after it has answered open requests")
        })?;
        let served = corkboard_server::serve(listener, tls, server, signals.ended(output)).await;
        // Open requests were answered. Closing flushes acknowledged writes.
        corkboard.close().await?;
        served.map_err(CliError::Output)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BrowserAccess {
    Open,
    Link,
    /// With a link that holders of the admin token can request.
    Token,
}

impl BrowserAccess {
    fn of(access: &Authentication) -> Self {
        match access {
            Authentication::Open => Self::Open,
            // Output that is not on a terminal is probably logged, where other people can read it.
            Authentication::Tokens { admin: Some(_) } if !io::stdout().is_terminal() => Self::Token,
            Authentication::Tokens { .. } => Self::Link,
        }
    }
}

/// Opens the store, with progress lines if it is slow.
async fn open(global: &Global, output: Output) -> Result<Corkboard, CliError> {
    let url = global.store_url()?;
    let mut opening = std::pin::pin!(Corkboard::open_with(&url, global.options_to(Creation::Store)));
    loop {
        match tokio::time::timeout(PATIENCE, &mut opening).await {
            Ok(opened) => return Ok(opened?),
            Err(_) if output.is_json() => {}
            Err(_) => say("… still opening the store"),
        }
    }
}

/// The location of the store. Files are given as absolute paths.
fn location(store: &StoreInfo) -> String {
    match (store.kind, std::path::absolute(&store.location)) {
        ("sqlite" | "file", Ok(path)) => path.display().to_string(),
        _ => store.location.clone(),
    }
}

fn access(settings: &ResolvedSettings, address: SocketAddr) -> Result<Authentication, CliError> {
    if settings.no_auth && !address.ip().is_loopback() {
        let message = format!(
            "refusing to serve {address} without authentication: everyone who can reach it could do everything"
        );
        return Err(CliError::invalid("no_auth", message).hint("use --no-auth only with 127.0.0.1 or [::1]"));
    }
    let admin = std::env::var("CORK_TOKEN").ok().filter(|token| !token.is_empty()).map(SecretString::from);
    Ok(if settings.no_auth { Authentication::Open } else { Authentication::Tokens { admin } })
}

fn tls(settings: &ResolvedSettings) -> Result<Option<Tls>, CliError> {
    match (&settings.tls_cert, &settings.tls_key) {
        (Some(certificate), Some(key)) => {
            Tls::from_files(certificate, key).map(Some).map_err(|error| CliError::invalid("tls", error))
        }
        (None, None) => Ok(None),
        (Some(_), None) => {
            Err(CliError::invalid("tls", "a certificate is set, but no key").hint("name its key with --tls-key"))
        }
        (None, Some(_)) => {
            Err(CliError::invalid("tls", "a key is set, but no certificate")
                .hint("name its certificate with --tls-cert"))
        }
    }
}

/// Warnings about settings that are probably a mistake.
fn warnings(settings: &Settings, address: SocketAddr) -> Vec<String> {
    let mut warnings = Vec::new();
    if !settings.is_tls && !address.ip().is_loopback() {
        warnings.push(format!(
            "warning: {address} is served without TLS: anyone on the network path can read tokens and data. Use \
             --tls-cert and --tls-key, or listen on 127.0.0.1 behind a proxy with a certificate"
        ));
    }
    if let Authentication::Tokens { admin: Some(admin) } = &settings.access {
        let length = admin.expose_secret().chars().count();
        if length < SHORTEST_ADMIN {
            warnings.push(format!(
                "warning: the admin token in CORK_TOKEN is shorter than {SHORTEST_ADMIN} characters and can be guessed. \
                 Use a longer, random one"
            ));
        }
    }
    warnings
}

/// The server's URL: with its first host name, which a certificate covers, or with its address. On loopback without a
/// certificate, host names are not used.
fn url(settings: &Settings, address: SocketAddr) -> String {
    let (scheme, usual) = if settings.is_tls { ("https", 443) } else { ("http", 80) };
    let named = settings.hosts.first().filter(|_| settings.is_tls || !address.ip().is_loopback());
    let host = match (named, address.ip()) {
        (Some(host), _) => host.clone(),
        (None, IpAddr::V4(ip)) if ip.is_unspecified() => "127.0.0.1".into(),
        (None, IpAddr::V6(ip)) if ip.is_unspecified() => "[::1]".into(),
        (None, ip) => literal(ip),
    };
    match address.port() {
        port if port == usual => format!("{scheme}://{host}"),
        port => format!("{scheme}://{host}:{port}"),
    }
}

fn literal(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

fn address(text: &str) -> Result<SocketAddr, CliError> {
    let unresolved = |why: &str| {
        let message = format!("cannot resolve {text:?}: {why}");
        CliError::invalid("listen", message)
            .hint("use an address of this machine, such as 127.0.0.1:7117, or 0.0.0.0:7117 for all addresses")
    };
    match text.to_socket_addrs() {
        Ok(mut found) => found.next().ok_or_else(|| unresolved("the name has no address")),
        // The text is not of the form HOST:PORT.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            let port = text.rsplit_once(':').map_or("", |(_, port)| port);
            let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
            let why = match is_number && port.parse::<u16>().is_err() {
                true => format!("port {port} is too large: the maximum is {}", u16::MAX),
                false => "expected a form like 127.0.0.1:7117".into(),
            };
            Err(CliError::invalid("listen", format!("invalid address {text:?}: {why}")))
        }
        Err(error) => Err(unresolved(&error.to_string())),
    }
}

fn not_listening(address: SocketAddr, error: &io::Error) -> CliError {
    match error.kind() {
        io::ErrorKind::AddrInUse => CliError::unavailable("listen", format!("{address} is in use by another process"))
            .hint("stop the other server, or pick a free port with --listen 127.0.0.1:0"),
        io::ErrorKind::AddrNotAvailable => CliError::invalid("listen", format!("{address}: {error}"))
            .hint("use an address of this machine, or 0.0.0.0 for all addresses"),
        io::ErrorKind::PermissionDenied => CliError::invalid("listen", format!("{address}: {error}"))
            .hint("ports below 1024 need privileges; choose another port with --listen"),
        _ => CliError::invalid("listen", format!("{address}: {error}")),
    }
}

struct Signals {
    interrupted: Signal,
    terminated: Signal,
}

impl Signals {
    fn new() -> Result<Self, CliError> {
        let interrupted = signal(SignalKind::interrupt()).map_err(CliError::Output)?;
        Ok(Self { interrupted, terminated: signal(SignalKind::terminate()).map_err(CliError::Output)? })
    }

    /// Resolves at the first signal. The second signal ends the process.
    async fn ended(mut self, output: Output) {
        self.next().await;
        output.aside("… stopping after open requests are answered; press Ctrl-C again to stop at once");
        tokio::spawn(async move {
            let number = self.next().await;
            std::process::exit(BY_SIGNAL + number);
        });
    }

    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.interrupted.recv() => SignalKind::interrupt().as_raw_value(),
            _ = self.terminated.recv() => SignalKind::terminate().as_raw_value(),
        }
    }
}
