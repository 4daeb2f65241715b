//! Closes connections whose client reads nothing, so that a vanished client does not hold resources forever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A connection whose writes fail if the client reads nothing for longer than `limit`.
pub(crate) struct WriteTimeout<C> {
    connection: C,
    limit: Duration,
    /// Runs while bytes wait to be written.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<C> WriteTimeout<C> {
    pub(crate) fn new(connection: C, limit: Duration) -> Self {
        Self { connection, limit, stalled: None }
    }
}

impl<C: AsyncWrite + Unpin> WriteTimeout<C> {
    /// Writes, or fails if no write succeeded within the limit.
    fn write<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut C>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(written) = write(Pin::new(&mut self.connection), context) {
            self.stalled = None;
            return Poll::Ready(written);
        }
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(self.limit)));
        ready!(stalled.as_mut().poll(context));
        self.stalled = None;
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client reads nothing")))
    }
}

impl<C: AsyncRead + Unpin> AsyncRead for WriteTimeout<C> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection).poll_read(context, buffer)
    }
}

impl<C: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<C> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().write(context, |connection, context| connection.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().write(context, |connection, context| connection.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().write(context, |connection, context| connection.poll_shutdown(context))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().write(context, |connection, context| connection.poll_write_vectored(context, parts))
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_write_fails_only_if_the_client_reads_nothing_within_the_limit() {
        let (near, mut far) = tokio::io::duplex(8);
        let mut connection = WriteTimeout::new(near, Duration::from_millis(20));
        for _ in 0..3 {
            connection.write_all(&[1; 8]).await.unwrap();
            let error = connection.write_all(&[2; 8]).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            far.read_exact(&mut [0; 8]).await.unwrap();
        }
        connection.limit = Duration::from_secs(3600);
        let reading = tokio::spawn(async move { far.read_exact(&mut [0; 64]).await.map(|_| far) });
        connection.write_all(&[3; 64]).await.unwrap();
        assert!(reading.await.unwrap().is_ok() && connection.stalled.is_none());
    }
}
