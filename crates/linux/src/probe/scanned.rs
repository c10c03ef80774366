//! A connection whose incoming bytes are scanned before the HTTP/2 library gets them, and whose outgoing
//! bytes are those of grpc-go.

use super::as_go::{AsGo, errno_text};
use super::dial::close;
use kq_probe::FrameScan;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What was seen of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) frames: FrameScan,
    /// How reading ended, in the words of Go.
    pub(super) end: Option<String>,
    /// The headers of the request that is sent next.
    pub(super) request: Vec<(&'static str, String)>,
}

/// A scanned connection; closing it does not block the async runtime.
#[derive(Debug)]
pub(super) struct Scanned {
    /// There until it is dropped.
    stream: Option<TcpStream>,
    /// Both ends; the kernel no longer reports them after a reset.
    ends: String,
    seen: Arc<Mutex<Seen>>,
    as_go: AsGo,
    /// What is still to be sent.
    unsent: Vec<u8>,
}

impl Scanned {
    pub(super) fn new(stream: TcpStream) -> (Self, Arc<Mutex<Seen>>) {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let ends = match (stream.local_addr(), stream.peer_addr()) {
            (Ok(local), Ok(peer)) => format!(" {local}->{peer}"),
            _ => String::new(),
        };
        let shared = Arc::clone(&seen);
        let as_go = AsGo::new();
        (Self { stream: Some(stream), ends, seen: shared, as_go, unsent: Vec::new() }, seen)
    }

    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        self.stream.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Sends what is still to be sent.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unsent.is_empty() {
            let unsent = std::mem::take(&mut self.unsent);
            let polled = self.stream()?.poll_write(context, &unsent);
            self.unsent = unsent;
            match ready!(polled)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                sent => drop(self.unsent.drain(..sent)),
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// Returns what was seen up to now.
pub(super) fn seen_now(seen: &Mutex<Seen>) -> std::sync::MutexGuard<'_, Seen> {
    // Nothing that holds the lock can panic half-way.
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AsyncRead for Scanned {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = self.stream()?.poll_read(context, buffer);
        let Poll::Ready(done) = &polled else { return Poll::Pending };
        let mut seen = seen_now(&self.seen);
        match done {
            Ok(()) => match buffer.filled().get(before..) {
                Some(bytes) if !bytes.is_empty() => seen.frames.read(bytes),
                _ => seen.end = Some(seen.frames.text_at_end().to_owned()),
            },
            Err(error) => {
                seen.end = Some(format!("read tcp{}: read: {}", self.ends, errno_text(error)));
            }
        }
        drop(seen);
        polled
    }
}

impl AsyncWrite for Scanned {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // One that does not read gets no more than what one call has made.
        ready!(self.poll_send(context))?;
        let this = &mut *self;
        let seen = seen_now(&this.seen);
        if let Some(bytes) = seen.frames.header_table {
            this.as_go.limit(bytes);
        }
        this.as_go.push(bytes, &seen.request, &mut this.unsent);
        drop(seen);
        match this.poll_send(context) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(bytes.len())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send(context))?;
        self.stream()?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send(context))?;
        self.stream()?.poll_shutdown(context)
    }
}

impl Drop for Scanned {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            close(stream);
        }
    }
}
