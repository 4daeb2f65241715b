//! `cork serve`: the store over HTTP.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use clap::Args;
use corkboard::{Corkboard, Options};
use corkboard_server::{Access, Server, Settings, Tls};
use secrecy::SecretString;
use serde::Serialize;
use tokio::net::TcpListener;

use crate::args::Global;
use crate::exit::Failure;
use crate::output::Output;

/// Serve the store over HTTP
///
/// Prints the address, and a link that opens the dashboard signed in; the link works once. Programs come with a token
/// (`cork token create`) in the header `Authorization: Bearer …`. /docs shows all routes.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cork serve
  cork serve --listen 127.0.0.1:0
  CORK_TOKEN=… cork serve --listen 0.0.0.0:7117 --host memory.example.org --tls-cert cert.pem --tls-key key.pem")]
pub(crate) struct Serve {
    /// Where to listen; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", env = "CORK_LISTEN", default_value = "127.0.0.1:7117")]
    listen: String,

    /// A name by which it may be called, besides localhost; may be given many times
    #[arg(long, value_name = "NAME", env = "CORK_HOSTS", value_delimiter = ',')]
    host: Vec<String>,

    /// A web page that may call it, besides its own: https://app.example.org; may be given many times
    #[arg(long, value_name = "URL", env = "CORK_ORIGINS", value_delimiter = ',')]
    origin: Vec<String>,

    /// Let everybody on this machine in, as an admin
    #[arg(long)]
    no_auth: bool,

    /// A certificate with its chain, in a PEM file
    #[arg(long, value_name = "FILE", env = "CORK_TLS_CERT", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The certificate's key, in a PEM file
    #[arg(long, value_name = "FILE", env = "CORK_TLS_KEY", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

#[derive(Serialize)]
struct Started<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sign_in: Option<&'a str>,
}

impl Serve {
    pub(crate) async fn run(self, global: &Global) -> Result<(), Failure> {
        let address = address(&self.listen)?;
        let is_loopback = address.ip().is_loopback();
        if self.no_auth && !is_loopback {
            return Err(Failure::invalid(
                "no_auth",
                format!("--no-auth lets everybody who reaches {address} do everything"),
            )
            .hint("it works on 127.0.0.1 and [::1] alone"));
        }
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => {
                Some(Tls::from_files(certificate, key).map_err(|error| Failure::invalid("tls", error))?)
            }
            _ => None,
        };
        let admin = std::env::var("CORK_TOKEN").ok().filter(|token| !token.is_empty()).map(SecretString::from);
        let access = if self.no_auth { Access::Open } else { Access::Tokens { admin } };
        let Self { host: hosts, origin: origins, .. } = self;
        let settings = Settings { hosts, origins, is_tls: tls.is_some(), ..Settings::new(access) };
        let corkboard = Corkboard::open_with(&global.store_url()?, Options::default()).await?;
        let listening = TcpListener::bind(address).await;
        let listener = match listening {
            Ok(listener) => listener,
            Err(error) => {
                corkboard.close().await?;
                return Err(Failure::invalid("listen", format!("{address}: {error}")));
            }
        };
        let address = listener.local_addr().map_err(Failure::Output)?;
        let server = Server::new(corkboard.clone(), settings);
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{address}");
        let sign_in = (!self.no_auth).then(|| format!("{url}{}", server.sign_in_path()));
        let started = Started { url: &url, sign_in: sign_in.as_deref() };
        Output::new(global.json).answer(&started, || match &sign_in {
            Some(link) => format!("corkboard serves {} at {url} - open {link}", corkboard.store_info().kind),
            None => format!("corkboard serves {} at {url}, without authentication", corkboard.store_info().kind),
        })?;
        let served = corkboard_server::serve(listener, tls, server, end()).await;
        // What is under way was answered; what was acknowledged is written.
        corkboard.close().await?;
        served.map_err(Failure::Output)
    }
}

fn address(text: &str) -> Result<SocketAddr, Failure> {
    let found = text.to_socket_addrs().ok().and_then(|mut found| found.next());
    let wrong = || Failure::invalid("listen", format!("{text:?} is no address: 127.0.0.1:7117 is one"));
    found.ok_or_else(wrong)
}

/// Done when somebody asks the process to end.
async fn end() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminated) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}
