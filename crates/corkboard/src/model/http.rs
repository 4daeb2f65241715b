//! The HTTP client for a model's server, with timeouts, retries and a maximum answer size.

use std::fmt;

use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::timeout;

use super::protocol::{self, PartialAnswer, Protocol};
use super::sse::Events;
use super::{ModelAnswer, ModelConfig, ModelError, ModelRequest, ModelRetries, ModelTimeouts, TimedOut};
use crate::error::error_chain;
use crate::net::{is_loopback, is_refused, tls};

/// Maximum characters of a server's error message.
const MESSAGE: usize = 500;
/// Maximum bytes read of a failed answer.
const ERROR_BODY: usize = 64 * 1024;

pub(super) struct Client {
    http: reqwest::Client,
    url: Url,
    key: Option<SecretString>,
    timeouts: ModelTimeouts,
    retries: ModelRetries,
    max_answer_bytes: usize,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = (self.url.host_str(), self.url.path());
        f.debug_struct("Client").field("url", &url).field("timeouts", &self.timeouts).finish_non_exhaustive()
    }
}

impl Client {
    pub(super) fn new(config: ModelConfig, path: &str) -> Result<Self, ModelError> {
        let url = endpoint(config.url.as_deref().unwrap_or(config.provider.url()), path)?;
        let is_here = is_loopback(&url);
        let is_safe = url.scheme() == "https" || is_here || config.allow_plain_http;
        if config.key.is_some() && !is_safe {
            return Err(ModelError::Config(
                "refusing to send a key to another machine over plain http: use https".into(),
            ));
        }
        let mut http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(&url).map_err(ModelError::Config)?)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(config.timeouts.connect)
            .user_agent(concat!("corkboard/", env!("CARGO_PKG_VERSION")));
        if is_here {
            // A proxy on another machine cannot reach this one's loopback.
            http = http.no_proxy();
        }
        let http = http.build().map_err(|error| ModelError::Config(error_chain(&error.without_url())))?;
        let ModelConfig { key, timeouts, retries, max_answer_bytes, .. } = config;
        Ok(Self { http, url, key, timeouts, retries, max_answer_bytes })
    }

    /// Sends the request, with retries, until there is an answer, an error that a retry cannot fix, or a timeout.
    pub(super) async fn complete<P: Protocol>(
        &self,
        protocol: &P,
        request: &ModelRequest,
    ) -> Result<ModelAnswer, ModelError> {
        let body = protocol.body(request).to_string();
        self.with_retries(|| self.attempt(protocol, body.clone())).await
    }

    /// Sends JSON and returns JSON, with retries. The answer may have up to `limit` bytes.
    pub(super) async fn ask(
        &self,
        headers: Vec<(&'static str, String)>,
        body: &Value,
        limit: usize,
    ) -> Result<Value, ModelError> {
        let body = body.to_string();
        self.with_retries(|| async { self.json(self.send(headers.clone(), body.clone()).await?, limit).await }).await
    }

    pub(super) fn key(&self) -> Option<&str> {
        self.key.as_ref().map(ExposeSecret::expose_secret)
    }

    async fn with_retries<T, F>(&self, mut attempt: impl FnMut() -> F) -> Result<T, ModelError>
    where
        F: Future<Output = Result<T, ModelError>>,
    {
        let total = self.timeouts.total;
        let mut last = None;
        let attempts = async {
            let mut attempts = 0;
            loop {
                attempts += 1;
                let error = match attempt().await {
                    Ok(answer) => return Ok(answer),
                    Err(error) => error,
                };
                let Some(wait) = self.retries.wait(attempts, &error, fastrand::f64()) else { return Err(error) };
                tracing::warn!(attempts, ?wait, %error, "retrying the request to the model");
                last = Some(error);
                tokio::time::sleep(wait).await;
            }
        };
        match timeout(total, attempts).await {
            Ok(answer) => answer,
            // The error of the last attempt tells more than the timeout.
            Err(_) => Err(last.unwrap_or(ModelError::TimedOut { what: TimedOut::Total, after: total })),
        }
    }

    async fn attempt<P: Protocol>(&self, protocol: &P, body: String) -> Result<ModelAnswer, ModelError> {
        let response = self.send(protocol.headers(self.key()), body).await?;
        if is_stream(&response) { self.stream(protocol, response).await } else { self.whole(protocol, response).await }
    }

    /// Sends a request once. An answer without a success status is an error.
    async fn send(&self, named: Vec<(&'static str, String)>, body: String) -> Result<Response, ModelError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in named {
            let unusable = |_| ModelError::Config("the key has characters that a header must not contain".into());
            let mut value = HeaderValue::try_from(value).map_err(unusable)?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        let request = self.http.post(self.url.clone()).headers(headers).body(body);
        let response = self.within_idle(request.send()).await?;
        if response.status().is_success() { Ok(response) } else { Err(self.failure(response).await) }
    }

    async fn stream<P: Protocol>(&self, protocol: &P, mut response: Response) -> Result<ModelAnswer, ModelError> {
        let mut events = Events::new(self.body_limit());
        let mut answer = PartialAnswer::default();
        while !answer.is_ended {
            let bytes = match self.within_idle(response.chunk()).await {
                Ok(bytes) => bytes,
                // The text is complete; only the token counts are missing.
                Err(_) if answer.stop.is_some() => break,
                Err(error) => return Err(cut(error)),
            };
            let Some(bytes) = bytes else { break };
            for event in events.push(&bytes)? {
                protocol.part(&event, &mut answer).map_err(|error| self.tidy(error))?;
                if answer.text.len() > self.max_answer_bytes {
                    return Err(self.too_long());
                }
            }
        }
        answer.finish()
    }

    /// Reads a whole answer, from servers that do not stream.
    async fn whole<P: Protocol>(&self, protocol: &P, response: Response) -> Result<ModelAnswer, ModelError> {
        let body = self.json(response, self.body_limit()).await?;
        let answer = protocol.whole(&body).map_err(|error| self.tidy(error))?;
        if answer.text.len() > self.max_answer_bytes { Err(self.too_long()) } else { Ok(answer) }
    }

    async fn json(&self, response: Response, limit: usize) -> Result<Value, ModelError> {
        let (body, is_all) = self.read(response, limit).await.map_err(cut)?;
        if !is_all {
            return Err(self.too_long());
        }
        serde_json::from_slice(&body).map_err(|error| match error.is_eof() && !body.is_empty() {
            true => ModelError::Cut("its JSON ends too early".into()),
            false => ModelError::Malformed(format!("it is not JSON: {error}")),
        })
    }

    /// The error for an answer without a success status.
    async fn failure(&self, response: Response) -> ModelError {
        let status = response.status();
        let header = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let retry_after =
            header(RETRY_AFTER).and_then(|value| super::retry::retry_after(value, header(DATE), Timestamp::now()));
        let body = self.read(response, ERROR_BODY).await.map(|(body, _)| body).unwrap_or_default();
        let said = serde_json::from_slice(&body).ok().as_ref().and_then(protocol::error_message);
        let message = said.unwrap_or_else(|| String::from_utf8_lossy(&body).into_owned());
        let message = self.tidy_text(&message);
        let message = if message.is_empty() { "it gives no reason".into() } else { message };
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ModelError::Denied { status: status.as_u16(), message },
            // The providers' own clients retry these too.
            StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => {
                ModelError::Busy { status: status.as_u16(), retry_after, message }
            }
            _ if status.is_server_error() => ModelError::Busy { status: status.as_u16(), retry_after, message },
            _ if status.is_redirection() => ModelError::Redirected { status: status.as_u16() },
            _ => ModelError::Rejected { status: status.as_u16(), message },
        }
    }

    /// Reads a body up to a limit. Also returns whether that is all of it.
    async fn read(&self, mut response: Response, limit: usize) -> Result<(Vec<u8>, bool), ModelError> {
        let mut body = Vec::new();
        while let Some(bytes) = self.within_idle(response.chunk()).await? {
            if body.len() + bytes.len() > limit {
                return Ok((body, false));
            }
            body.extend_from_slice(&bytes);
        }
        Ok((body, true))
    }

    async fn within_idle<T>(&self, next: impl Future<Output = reqwest::Result<T>>) -> Result<T, ModelError> {
        let idle = self.timeouts.idle;
        match timeout(idle, next).await {
            Ok(Ok(next)) => Ok(next),
            Ok(Err(error)) if error.is_connect() && error.is_timeout() => {
                Err(ModelError::TimedOut { what: TimedOut::Connect, after: self.timeouts.connect })
            }
            Ok(Err(error)) if error.is_connect() => {
                let server = self.url.origin().ascii_serialization();
                let why = match is_refused(&error) {
                    true => "connection refused".into(),
                    false => error_chain(&error.without_url()),
                };
                Err(ModelError::Unreachable(format!("{server}: {why}")))
            }
            Ok(Err(error)) => Err(ModelError::Unreachable(error_chain(&error.without_url()))),
            Err(_) => Err(ModelError::TimedOut { what: TimedOut::Idle, after: idle }),
        }
    }

    /// JSON needs at most six bytes per byte of text, and little around the text.
    fn body_limit(&self) -> usize {
        self.max_answer_bytes.saturating_mul(6).saturating_add(64 * 1024)
    }

    fn too_long(&self) -> ModelError {
        ModelError::TooLong { limit: self.max_answer_bytes as u64 }
    }

    /// Tidies an error with a message from the server.
    fn tidy(&self, error: ModelError) -> ModelError {
        match error {
            ModelError::Cut(message) => ModelError::Cut(self.tidy_text(&message)),
            other => other,
        }
    }

    /// Shortens a server's message to one line, and removes the key if the message repeats it.
    fn tidy_text(&self, text: &str) -> String {
        let text = match self.key.as_ref().map(ExposeSecret::expose_secret).filter(|key| !key.is_empty()) {
            Some(key) => text.replace(key, "[key]"),
            None => text.to_owned(),
        };
        let plain = text.split(|character: char| character.is_whitespace() || character.is_control());
        let words: Vec<&str> = plain.filter(|word| !word.is_empty()).collect();
        words.join(" ").chars().take(MESSAGE).collect()
    }
}

/// Turns a connection that broke during the answer into [`ModelError::Cut`].
fn cut(error: ModelError) -> ModelError {
    match error {
        ModelError::Unreachable(message) => ModelError::Cut(message),
        other => other,
    }
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.trim().to_ascii_lowercase().starts_with("text/event-stream")
}

/// The base URL with the protocol's path appended. A query stays at the end.
fn endpoint(base: &str, path: &str) -> Result<Url, ModelError> {
    // The message does not show the URL, which may contain a password.
    let wrong =
        |why| ModelError::Config(format!("the URL of the model's server ({}) {why}", ModelConfig::URL_VARIABLE));
    let invalid = || wrong("is invalid; expected a URL like http://localhost:11434/v1");
    let mut url = Url::parse(base.trim()).map_err(|_| invalid())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(invalid());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("must not contain a user or a password: put the key into an environment variable"));
    }
    let path = format!("{}/{path}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn urls_get_the_protocols_path() {
        for (base, whole) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            ("http://localhost:11434/v1/", "http://localhost:11434/v1/chat/completions"),
            ("https://h.example", "https://h.example/chat/completions"),
            ("https://h.example/a?api-version=1#x", "https://h.example/a/chat/completions?api-version=1"),
        ] {
            assert_eq!(endpoint(base, "chat/completions").unwrap().as_str(), whole);
        }
        for base in ["", "api.openai.com", "ftp://h/", "https://user:secret@h/v1", "https://user@h/v1"] {
            let error = endpoint(base, "x").unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn this_machine_is_known() {
        for (url, is_here) in [
            ("http://localhost/", true),
            ("http://127.0.0.2:1/", true),
            ("http://[::1]:1/", true),
            ("http://localhost.example/", false),
            ("http://10.0.0.1/", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), is_here, "{url}");
        }
    }
}
