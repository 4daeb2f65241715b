//! A TCP proxy on loopback that cuts, delays and refuses connections on demand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Forwards a free port to another port. It works in the runtime in which it was started, until it is dropped.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

/// The direction of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    ToServer,
    ToClient,
}

struct Shared {
    target: u16,
    /// Counts the cuts. A connection lives until this changes.
    cuts: watch::Sender<u64>,
    manners: watch::Sender<Manners>,
    /// Bytes that still pass before everything is cut, to the server and to the clients.
    left: Mutex<[Option<u64>; 2]>,
    open: AtomicUsize,
}

/// How the proxy treats connections.
#[derive(Debug, Clone, Copy, Default)]
struct Manners {
    refuses: bool,
    delays: [Duration; 2],
}

impl Proxy {
    pub async fn start(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port should be free");
        let port = listener.local_addr().expect("the listener should have an address").port();
        let shared = Arc::new(Shared {
            target,
            cuts: watch::channel(0).0,
            manners: watch::channel(Manners::default()).0,
            left: Mutex::default(),
            open: AtomicUsize::new(0),
        });
        let accepting = tokio::spawn(accept(listener, shared.clone()));
        Self { port, shared, accepting }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Number of connections open through the proxy.
    pub fn connections(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// Cuts all connections now. New ones are served.
    pub fn cut(&self) {
        self.shared.cut();
    }

    /// Cuts all connections after this many more bytes in that direction, over all connections. New ones are served
    /// then.
    pub fn cut_after(&self, direction: Direction, bytes: u64) {
        self.shared.left.lock()[direction as usize] = Some(bytes);
    }

    /// Whether a cut requested by [`cut_after`](Self::cut_after) is still pending.
    pub fn cut_is_pending(&self) -> bool {
        self.shared.left.lock().iter().any(Option::is_some)
    }

    /// Delays bytes in that direction. Bytes that are held now follow the new delay.
    pub fn delay(&self, direction: Direction, delay: Duration) {
        self.shared.manners.send_modify(|manners| manners.delays[direction as usize] = delay);
    }

    /// Refuses new connections. Open ones stay.
    pub fn refuse(&self) {
        self.shared.manners.send_modify(|manners| manners.refuses = true);
    }

    pub fn accept(&self) {
        self.shared.manners.send_modify(|manners| manners.refuses = false);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.shared.cut();
    }
}

impl Shared {
    fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// How many of these bytes may pass, and whether everything is cut after them.
    fn let_pass(&self, direction: Direction, bytes: usize) -> (usize, bool) {
        let left = &mut self.left.lock()[direction as usize];
        let Some(rest) = *left else { return (bytes, false) };
        let passing = bytes.min(usize::try_from(rest).unwrap_or(usize::MAX));
        let used_up = passing as u64 == rest;
        *left = (!used_up).then_some(rest - passing as u64);
        (passing, used_up)
    }

    /// Waits for the delay of that direction.
    async fn dawdle(&self, direction: Direction) {
        let arrived = tokio::time::Instant::now();
        let mut manners = self.manners.subscribe();
        loop {
            let delay = manners.borrow_and_update().delays[direction as usize];
            let waited = arrived.elapsed();
            if delay <= waited {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(delay - waited) => return,
                _ = manners.changed() => {}
            }
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        if shared.manners.borrow().refuses {
            continue;
        }
        // Before the task starts, so that a later cut applies to this connection, too.
        let cuts = shared.cuts.subscribe();
        tokio::spawn(carry(client, cuts, shared.clone()));
    }
}

async fn carry(client: TcpStream, mut cuts: watch::Receiver<u64>, shared: Arc<Shared>) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", shared.target)).await else { return };
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    shared.open.fetch_add(1, Ordering::SeqCst);
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        _ = cuts.changed() => {}
        _ = futures_util::future::join(
            pump(from_client, to_server, Direction::ToServer, &shared),
            pump(from_server, to_client, Direction::ToClient, &shared),
        ) => {}
    }
    shared.open.fetch_sub(1, Ordering::SeqCst);
}

/// Forwards until one side ends, and then ends the other side.
async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, direction: Direction, shared: &Shared) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        shared.dawdle(direction).await;
        let (passing, cut) = shared.let_pass(direction, read);
        let written = to.write_all(&buffer[..passing]).await;
        if cut {
            shared.cut();
        }
        if written.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that echoes its input.
    async fn echo() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        port
    }

    async fn connect(proxy: &Proxy) -> TcpStream {
        TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap()
    }

    async fn exchange(stream: &mut TcpStream, text: &[u8]) -> std::io::Result<Vec<u8>> {
        stream.write_all(text).await?;
        let mut back = vec![0; text.len()];
        stream.read_exact(&mut back).await.map(|_| back)
    }

    #[tokio::test]
    async fn it_forwards_until_a_cut() {
        let proxy = Proxy::start(echo().await).await;
        let (mut one, mut two) = (connect(&proxy).await, connect(&proxy).await);
        assert_eq!(exchange(&mut one, b"hello").await.unwrap(), b"hello");
        assert_eq!(exchange(&mut two, b"there").await.unwrap(), b"there");
        assert_eq!(proxy.connections(), 2);
        proxy.cut();
        assert!(exchange(&mut one, b"gone").await.is_err());
        assert!(exchange(&mut two, b"gone").await.is_err());
        assert_eq!(exchange(&mut connect(&proxy).await, b"again").await.unwrap(), b"again");
    }

    #[tokio::test]
    async fn it_cuts_after_the_requested_number_of_bytes() {
        for direction in [Direction::ToServer, Direction::ToClient] {
            let proxy = Proxy::start(echo().await).await;
            let mut stream = connect(&proxy).await;
            proxy.cut_after(direction, 7);
            assert_eq!(exchange(&mut stream, b"five!").await.unwrap(), b"five!");
            assert!(proxy.cut_is_pending());
            stream.write_all(b"five!").await.unwrap();
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            // In the direction to the server, the cut may overtake the echo.
            assert!(b"fi".starts_with(&rest), "{rest:?}");
            assert!(direction == Direction::ToServer || rest == b"fi");
            assert!(!proxy.cut_is_pending());
            assert_eq!(exchange(&mut connect(&proxy).await, b"again").await.unwrap(), b"again");
        }
    }

    #[tokio::test]
    async fn it_refuses_and_accepts_again() {
        let proxy = Proxy::start(echo().await).await;
        let mut open = connect(&proxy).await;
        assert_eq!(exchange(&mut open, b"a").await.unwrap(), b"a");
        proxy.refuse();
        assert!(exchange(&mut connect(&proxy).await, b"b").await.is_err());
        assert_eq!(exchange(&mut open, b"c").await.unwrap(), b"c");
        proxy.accept();
        assert_eq!(exchange(&mut connect(&proxy).await, b"d").await.unwrap(), b"d");
    }

    #[tokio::test]
    async fn held_bytes_continue_when_the_delay_ends() {
        let proxy = Proxy::start(echo().await).await;
        let mut stream = connect(&proxy).await;
        proxy.delay(Direction::ToClient, Duration::from_secs(3600));
        {
            let waiting = exchange(&mut stream, b"late");
            tokio::pin!(waiting);
            let early = tokio::time::timeout(Duration::from_millis(50), &mut waiting).await;
            assert!(early.is_err());
            proxy.delay(Direction::ToClient, Duration::ZERO);
            assert_eq!(waiting.await.unwrap(), b"late");
        }
    }
}
