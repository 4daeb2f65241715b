//! `cork serve` in a separate process that a test can kill.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use corkboard::tokens::Grants;
use corkboard::{ActorKind, Corkboard, Options, Role, ServerAddress, TokenRequest};
use secrecy::ExposeSecret;
use serde_json::Value;

use crate::support::CORK;

/// The admin's secret.
const ADMIN: &str = "the-admins-secret";

pub(crate) struct KillableServer {
    child: Child,
    /// The server's URL.
    pub(crate) url: String,
    /// The token for requests.
    pub(crate) secret: String,
}

impl KillableServer {
    /// Serves a store. The admin is called `admin`.
    pub(crate) fn start(store: &str, listen: &str) -> Self {
        Self::start_with(store, listen, &[])
    }

    /// Serves a store with settings, each given as an environment variable.
    pub(crate) fn start_with(store: &str, listen: &str, settings: &[(&str, &str)]) -> Self {
        let mut command = Command::new(CORK);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("CORK_TOKEN", ADMIN);
        command.envs(settings.iter().copied());
        command.args(["--store", store, "serve", "--listen", listen, "--json"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let started: Value = serde_json::from_str(&line).unwrap_or_else(|error| {
            let mut said = String::new();
            let _ = stderr.read_to_string(&mut said);
            panic!("{error}: {line} {said}")
        });
        // A full pipe would block the server.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Self { child, url: started["url"].as_str().unwrap().into(), secret: ADMIN.into() }
    }

    /// The same server, with a token for an admin of this name.
    pub(crate) fn with_token_of(mut self, principal: &str) -> Self {
        self.secret = self.token(principal, Role::Admin).1;
        self
    }

    /// The same server, with this secret.
    pub(crate) fn with_secret(mut self, secret: String) -> Self {
        self.secret = secret;
        self
    }

    /// Creates a token for a person. Returns its number and its secret.
    pub(crate) fn token(&self, principal: &str, role: Role) -> (corkboard::tokens::TokenId, String) {
        let (principal, label) = (principal.to_owned(), String::new());
        let grants = Grants::everything();
        let request = TokenRequest { principal, kind: ActorKind::Human, role, grants, expires_at: None, label };
        block_on(async {
            let corkboard = self.connect(ADMIN).await;
            let created = corkboard.tokens().create(request).await.unwrap();
            corkboard.close().await.unwrap();
            (created.id, created.secret.expose_secret().to_owned())
        })
    }

    /// Connects the library to this server.
    pub(crate) async fn connect(&self, secret: &str) -> Corkboard {
        Corkboard::connect(ServerAddress::new(&*self.url).token(secret.to_owned()), Options::default()).await.unwrap()
    }

    /// Kills the process, as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The server's address, so that another server can listen there.
    pub(crate) fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }
}

impl Drop for KillableServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(future)
}
