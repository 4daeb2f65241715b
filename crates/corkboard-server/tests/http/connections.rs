//! Limits on the number and idle time of connections, through real sockets.

use std::sync::Arc;
use std::time::Duration;

use corkboard::{Corkboard, Options};
use corkboard_server::{Server, Settings, Tls};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::{ADMIN, PATIENCE, Running, in_memory, settings};

/// Waits for the end of a connection. Returns what was received before.
async fn end<C: AsyncReadExt + Unpin>(connection: &mut C) -> Vec<u8> {
    let mut said = Vec::new();
    // A reset counts as the end too.
    let _ = tokio::time::timeout(PATIENCE, connection.read_to_end(&mut said)).await.expect("it ends");
    said
}

#[tokio::test]
async fn a_connection_above_the_maximum_is_refused_at_once() {
    let server = Running::with(in_memory(Options::default()), Settings { connections: 2, ..settings() }).await;
    let admin = server.admin();
    let mut one = admin.events("/v1/agents/ada/events", None).await;
    let two = admin.events("/v1/agents/ada/events", None).await;
    for _ in 0..3 {
        let refused = admin.get("/v1/me").await;
        refused.problem(503, "too_many_connections");
        let header = |name: &str| refused.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!((header("retry-after").as_deref(), header("connection").as_deref()), (Some("5"), Some("close")));
    }
    // Existing connections are served.
    server.corkboard.agent("ada").unwrap().working().set("key", &1).await.unwrap();
    assert_eq!(one.revision().await.rev(), 1);
    drop(two);
    let room = tokio::time::timeout(PATIENCE, async {
        while !admin.get("/v1/me").await.status.is_success() {
            tokio::task::yield_now().await;
        }
    });
    room.await.expect("a free slot after a connection ended");
    server.stop().await;
}

#[tokio::test]
async fn silent_refused_connections_do_not_block_others() {
    let (header_timeout, connections) = (Duration::from_millis(100), 1);
    let server =
        Running::with(in_memory(Options::default()), Settings { header_timeout, connections, ..settings() }).await;
    let admin = server.admin();
    let mut stream = admin.events("/v1/agents/ada/events", None).await;
    // More connections than are refused at a time, all silent.
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(server.url.strip_prefix("http://").unwrap()).await.unwrap());
    }
    admin.get("/v1/me").await.problem(503, "too_many_connections");
    server.corkboard.agent("ada").unwrap().working().set("key", &1).await.unwrap();
    assert_eq!(stream.revision().await.rev(), 1);
    for mut silent in silent {
        end(&mut silent).await;
    }
    server.stop().await;
}

/// A server with TLS, and clients that trust it.
struct Encrypted {
    address: std::net::SocketAddr,
    server: Server,
    corkboard: Corkboard,
    config: ClientConfig,
    end: oneshot::Sender<()>,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Encrypted {
    async fn start(settings: Settings) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let tls = Tls::from_files(&certificate, &key).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(made.cert.der().to_vec())).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let mut config = config.with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (end, ended) = oneshot::channel::<()>();
        let corkboard = in_memory(Options::default());
        let server = Server::new(corkboard.clone(), settings);
        let serving = tokio::spawn(corkboard_server::serve(listener, Some(tls), server.clone(), async {
            let _ = ended.await;
        }));
        Self { address, server, corkboard, config, end, serving }
    }

    /// Performs the TLS handshake and negotiates HTTP/2.
    async fn connect(&self) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let connector = TlsConnector::from(Arc::new(self.config.clone()));
        let stream = connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        stream
    }

    async fn stop(self) {
        drop(self.end);
        tokio::time::timeout(PATIENCE, self.serving).await.expect("it ends").unwrap().unwrap();
    }
}

/// The preface of an HTTP/2 client, with empty settings.
fn greeting() -> Vec<u8> {
    [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(4, 0, 0, &[])].concat()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The head of a request for a path, encoded with HPACK's table where possible.
fn head(stream: u32, path: &str) -> Vec<u8> {
    head_with(stream, path, &[])
}

/// A header field in HPACK: the bytes of its name, and its value.
type Field<'a> = (&'a [u8], &'a str);

/// The same with additional fields.
fn head_with(stream: u32, path: &str, more: &[Field<'_>]) -> Vec<u8> {
    let token = format!("Bearer {ADMIN}");
    let mut fields = vec![0x82, 0x87];
    let texts = [(&[0x04][..], path), (&[0x01], "localhost"), (&[0x0f, 8], &token), (&[0x0f, 4], "text/event-stream")];
    for (name, value) in texts.iter().chain(more) {
        fields.extend_from_slice(name);
        fields.push(u8::try_from(value.len()).unwrap());
        fields.extend_from_slice(value.as_bytes());
    }
    // END_HEADERS and END_STREAM.
    frame(1, 0x4 | 0x1, stream, &fields)
}

/// The head of a request with a JSON body that follows.
fn head_of_post(stream: u32, path: &str) -> Vec<u8> {
    let token = format!("Bearer {ADMIN}");
    let mut fields = vec![0x83, 0x87];
    for (name, value) in
        [(&[0x04][..], path), (&[0x01], "localhost"), (&[0x0f, 8], &token), (&[0x0f, 16], "application/json")]
    {
        fields.extend_from_slice(name);
        fields.push(u8::try_from(value.len()).unwrap());
        fields.extend_from_slice(value.as_bytes());
    }
    frame(1, 0x4, stream, &fields)
}

/// Waits until a condition holds.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let holding = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(PATIENCE, holding).await.unwrap_or_else(|_| panic!("{what}"));
}

/// Reads a frame. Returns its kind.
async fn next_frame(client: &mut TlsStream<TcpStream>) -> u8 {
    let mut head = [0; 9];
    tokio::time::timeout(PATIENCE, client.read_exact(&mut head)).await.expect("a frame").unwrap();
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    client.read_exact(&mut vec![0; length as usize]).await.unwrap();
    head[3]
}

const HEADERS: u8 = 1;
const WINDOW_UPDATE: u8 = 8;
const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn answers_on_http2_streams_without_a_window_stay_within_the_byte_budget() {
    const STREAMS: u32 = 100;
    let server = Encrypted::start(Settings { buffer_bytes: 8 * MIB, ..settings() }).await;
    let big = server.corkboard.agent("big").unwrap().working();
    for key in ["a", "b", "c"] {
        big.set(key, &"x".repeat(1000 * 1024)).await.unwrap();
    }
    let mut client = server.connect().await;
    // A zero window: the server can send only heads.
    let no_window = frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]);
    let mut sent = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &no_window].concat();
    for stream in 0..STREAMS {
        sent.extend(head(2 * stream + 1, "/v1/agents/big/entries"));
    }
    client.write_all(&sent).await.unwrap();
    let mut answered = 0;
    while answered < STREAMS {
        answered += u32::from(next_frame(&mut client).await == HEADERS);
    }
    let (held, peak) = (server.server.buffered_bytes(), server.server.buffered_bytes_peak());
    assert!((3_000_000..=8 * MIB).contains(&held) && peak <= 8 * MIB, "{held} bytes are held, {peak} were");
    drop(client);
    until("the release of all bytes", || server.server.buffered_bytes() == 0).await;
    server.stop().await;
}

#[tokio::test]
async fn bodies_on_http2_streams_that_do_not_end_stay_within_the_byte_budget() {
    const STREAMS: u32 = 100;
    let server = Encrypted::start(Settings { buffer_bytes: MIB, ..settings() }).await;
    let mut client = server.connect().await;
    client.write_all(&greeting()).await.unwrap();
    // The server grants a window for the following frames.
    while next_frame(&mut client).await != WINDOW_UPDATE {}
    let mut sent = Vec::new();
    for stream in 0..STREAMS {
        sent.extend(head_of_post(2 * stream + 1, "/v1/spaces/agent/ada/commands"));
        sent.extend(frame(0, 0, 2 * stream + 1, &[b' '; 8 * 1024]));
    }
    client.write_all(&sent).await.unwrap();
    client.flush().await.unwrap();
    // One principal may hold half a MiB in small messages.
    until("half a MiB", || server.server.buffered_bytes() >= MIB / 2 - 8 * 1024).await;
    assert!(server.server.buffered_bytes_peak() <= MIB / 2, "{}", server.server.buffered_bytes_peak());
    drop(client);
    until("the release of all bytes", || server.server.buffered_bytes() == 0).await;
    server.stop().await;
}

#[tokio::test]
async fn a_silent_connection_is_closed_after_the_tls_handshake() {
    let server = Encrypted::start(Settings { header_timeout: Duration::from_millis(200), ..settings() }).await;
    let mut silent = server.connect().await;
    end(&mut silent).await;
    let mut greeted = server.connect().await;
    greeted.write_all(&greeting()).await.unwrap();
    end(&mut greeted).await;
    server.stop().await;
}

#[tokio::test]
async fn an_event_stream_over_http2_is_not_idle() {
    let (header_timeout, heartbeat) = (Duration::from_millis(100), Duration::from_millis(20));
    let server = Encrypted::start(Settings { header_timeout, heartbeat, ..settings() }).await;
    let mut following = server.connect().await;
    following.write_all(&[greeting(), head(1, "/v1/agents/ada/events")].concat()).await.unwrap();
    // This many heartbeats take several times the idle timeout.
    let (mut said, mut buffer) = (Vec::new(), [0; 4096]);
    while said.windows(6).filter(|window| window == b": beat").count() < 30 {
        let count = tokio::time::timeout(PATIENCE, following.read(&mut buffer)).await.expect("heartbeats").unwrap();
        assert!(count > 0, "the stream ended: {}", String::from_utf8_lossy(&said));
        said.extend_from_slice(&buffer[..count]);
    }
    drop(following);
    server.stop().await;
}

#[tokio::test]
async fn a_silent_connection_does_not_delay_the_shutdown() {
    let server = Encrypted::start(settings()).await;
    let mut silent = server.connect().await;
    server.stop().await;
    end(&mut silent).await;
}

#[tokio::test]
async fn connections_above_the_maximum_are_refused_over_http2() {
    let server = Encrypted::start(Settings { connections: 1, ..settings() }).await;
    let mut first = server.connect().await;
    first.write_all(&[greeting(), head(1, "/v1/agents/ada/events")].concat()).await.unwrap();
    let mut second = server.connect().await;
    second.write_all(&[greeting(), head(1, "/v1/me")].concat()).await.unwrap();
    let said = end(&mut second).await;
    assert!(String::from_utf8_lossy(&said).contains("too_many_connections"), "{}", String::from_utf8_lossy(&said));
    drop(first);
    server.stop().await;
}

#[tokio::test]
async fn two_hosts_or_origins_are_refused_over_http2_too() {
    // Names that are not in HPACK's table are written out.
    let (host, origin): (&[u8], &[u8]) = (&[0x0f, 23], b"\x00\x06origin");
    let cases: [(&[Field<'_>], &str); 4] = [
        (&[(host, "evil.example")], "\"host\""),
        (&[(host, "localhost"), (host, "evil.example")], "\"header\""),
        (&[(origin, "https://localhost"), (origin, "https://evil.example")], "\"header\""),
        (&[(host, "localhost")], "\"principal\":\"admin\""),
    ];
    let server = Encrypted::start(settings()).await;
    for (fields, expected) in cases {
        let mut connection = server.connect().await;
        connection.write_all(&[greeting(), head_with(1, "/v1/me", fields)].concat()).await.unwrap();
        let (mut said, mut buffer) = (Vec::new(), [0; 4096]);
        // The last frame of the answer ends its stream.
        while !ends_stream(&said, 1) {
            let count = tokio::time::timeout(PATIENCE, connection.read(&mut buffer)).await.expect("an answer").unwrap();
            assert!(count > 0, "no answer: {}", String::from_utf8_lossy(&said));
            said.extend_from_slice(&buffer[..count]);
        }
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains(expected), "{expected}: {said}");
        assert_eq!(said.contains("\"status\":400"), !expected.contains("admin"), "{said}");
    }
    server.stop().await;
}

/// Whether the data contains a frame of the stream with `END_STREAM`.
fn ends_stream(mut said: &[u8], stream: u32) -> bool {
    while let Some((head, rest)) = said.split_at_checked(9) {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let is_end = [0, 1].contains(&head[3]) && head[4] & 1 == 1 && head[5..9] == stream.to_be_bytes();
        let Some((_, rest)) = rest.split_at_checked(length) else { return false };
        if is_end {
            return true;
        }
        said = rest;
    }
    false
}
