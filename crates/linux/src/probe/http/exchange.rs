//! A request and its answer in HTTP/1 (`persistConn`, `net/http/transport.go`).

use super::socket::Socket;
use super::{Hop, Run, Stage, tls};
use kq_probe::http::{End, Progress};
use kq_probe::{MAX_OUTPUT_BYTES, Phase};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

/// A connection, encrypted or not.
pub(super) trait Wire: AsyncRead + AsyncWrite + Unpin {
    /// Returns what Go says to an error.
    fn end_of(&self, error: &io::Error) -> End;
}

impl Wire for Socket {
    fn end_of(&self, error: &io::Error) -> End {
        let unnamed = || End::Error { text: error.to_string(), repeats: false };
        self.broken().end().unwrap_or_else(unnamed)
    }
}

impl Wire for TlsStream<Socket> {
    fn end_of(&self, error: &io::Error) -> End {
        tls::end(error, self.get_ref().0)
    }
}

/// Sends a request and reads the answer, both at once: a server may answer before it has read all.
pub(super) async fn exchange(run: &mut Run, stream: impl Wire, request: &[u8]) -> Hop {
    let mut line = Line { stream, unsent: request, is_flushed: false, refused: None };
    let mut bytes = vec![0; 4096];
    let mut status = 0;
    loop {
        match run.reader.advance() {
            Progress::More => {
                let room = run.reader.room().min(bytes.len());
                let buffer = bytes.get_mut(..room).unwrap_or_default();
                match line.read(buffer).await {
                    Ok(0) => run.reader.end(line.refused.take().unwrap_or(End::Eof)),
                    Ok(read) => {
                        if run.reader.is_empty() {
                            run.watch.enter(Phase::Body);
                        }
                        run.reader.feed(bytes.get(..read).unwrap_or_default());
                    }
                    Err(error) => {
                        let end = line.stream.end_of(&error);
                        run.reader.end(end);
                    }
                }
            }
            Progress::Head => {
                let Some(head) = run.reader.head().cloned() else { continue };
                status = head.status;
                match run.decide(head.status, head.location.as_deref()) {
                    None => run.reader.read_body(MAX_OUTPUT_BYTES),
                    Some(Hop::Next) if head.slurped() > 0 => run.reader.read_body(head.slurped()),
                    Some(hop) => return hop,
                }
            }
            Progress::End if run.stage == Stage::Slurp => return Hop::Next,
            Progress::End => {
                run.watch.finish();
                return run.verdict(status, run.reader.body());
            }
            Progress::Failed(error) => return run.malformed(&error),
        }
    }
}

/// A connection with a request that is on its way.
struct Line<'r, W> {
    stream: W,
    unsent: &'r [u8],
    is_flushed: bool,
    /// The rest of the request could not be sent. A response still counts.
    refused: Option<End>,
}

impl<W: Wire> Line<'_, W> {
    /// Reads while it sends.
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut buffer = ReadBuf::new(buffer);
        poll_fn(|context| {
            self.send(context);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
            Poll::Ready(io::Result::Ok(()))
        })
        .await?;
        Ok(buffer.filled().len())
    }

    /// Sends what can be sent now.
    fn send(&mut self, context: &mut Context<'_>) {
        while !self.unsent.is_empty() {
            match Pin::new(&mut self.stream).poll_write(context, self.unsent) {
                Poll::Pending => return,
                Poll::Ready(Ok(0)) => self.refuse(&io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(sent)) => self.unsent = self.unsent.get(sent..).unwrap_or_default(),
                Poll::Ready(Err(error)) => self.refuse(&error),
            }
        }
        if !self.is_flushed {
            match Pin::new(&mut self.stream).poll_flush(context) {
                Poll::Pending => {}
                Poll::Ready(Ok(())) => self.is_flushed = true,
                Poll::Ready(Err(error)) => self.refuse(&error),
            }
        }
    }

    fn refuse(&mut self, error: &io::Error) {
        self.unsent = &[];
        self.is_flushed = true;
        let end = self.stream.end_of(error);
        self.refused.get_or_insert(end);
    }
}
