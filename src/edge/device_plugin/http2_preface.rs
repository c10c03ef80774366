//! Detects whether a server has sent its first frame, which must be SETTINGS (RFC 9113, 3.4).
//!
//! The kubelet's `grpc.WithBlock` waits for it; hyper is done as soon as the socket is open, and would accept a silent
//! listener as a plugin.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::sync::watch;

/// Length, type, flags, stream: what comes before what a frame holds.
const FRAME_HEADER: usize = 9;

/// The type of a frame with settings.
const SETTINGS: u8 = 4;

/// What is known of a greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Greeting {
    /// Nothing was said yet.
    Awaited,
    /// The server speaks HTTP/2.
    Given,
    /// It speaks something else.
    Wrong,
}

/// A connection that tells when the server has greeted.
#[derive(Debug)]
pub struct Greeted {
    stream: UnixStream,
    header: Vec<u8>,
    tell: watch::Sender<Greeting>,
}

impl Greeted {
    /// Watches a connection.
    pub fn new(stream: UnixStream, tell: watch::Sender<Greeting>) -> Self {
        Self { stream, header: Vec::with_capacity(FRAME_HEADER), tell }
    }

    fn look(&mut self, read: &[u8]) {
        let wanted = FRAME_HEADER - self.header.len();
        if wanted == 0 || read.is_empty() {
            return;
        }
        self.header.extend(read.iter().take(wanted));
        if self.header.len() == FRAME_HEADER {
            let is_settings = self.header[3] == SETTINGS;
            let greeting = if is_settings { Greeting::Given } else { Greeting::Wrong };
            self.tell.send_replace(greeting);
        }
    }
}

impl AsyncRead for Greeted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if matches!(polled, Poll::Ready(Ok(()))) {
            self.look(&buffer.filled()[before..]);
        }
        polled
    }
}

impl AsyncWrite for Greeted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(context, bytes) {
            // One that hung up may have said something before: reading comes to that, and to the end.
            Poll::Ready(Err(_)) if self.header.len() < FRAME_HEADER => Poll::Ready(Ok(bytes.len())),
            polled => polled,
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
