//! The connection of a probe, and what Go says when it breaks (`net.OpError`, and `readRecordOrCCS` of
//! `crypto/tls/conn.go` for what does not look like TLS).

use crate::probe::as_go::errno_text;
use crate::probe::dial::close;
use kq_probe::http::End;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A connection. It is closed outside of the async runtime, because the kernel may linger over it.
#[derive(Debug)]
pub(super) struct Socket {
    stream: Option<TcpStream>,
    ends: String,
    broken: Broken,
    records: Option<Records>,
}

/// Go's text for the failure of a connection, for callers that no longer have the connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Broken(Arc<Mutex<Option<End>>>);

impl Broken {
    /// Returns how the connection ended, if it did.
    pub(super) fn end(&self) -> Option<End> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, end: End) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(end);
    }
}

impl Socket {
    /// Takes over a connection.
    pub(super) fn new(stream: TcpStream) -> Self {
        let show = |address: io::Result<SocketAddr>| match address {
            Ok(address) => SocketAddr::new(address.ip().to_canonical(), address.port()).to_string(),
            Err(_) => String::new(),
        };
        let ends = format!("{}->{}", show(stream.local_addr()), show(stream.peer_addr()));
        Self { stream: Some(stream), ends, broken: Broken::default(), records: None }
    }

    /// Expects TLS from here on.
    pub(super) fn expect_tls(&mut self) {
        self.records = Some(Records::default());
    }

    /// Returns where to look for what Go says to a failure.
    pub(super) fn broken(&self) -> Broken {
        self.broken.clone()
    }

    /// Returns the version in the first message of the server, where it is a `ServerHello`.
    pub(super) fn version_of_hello(&self) -> Option<u16> {
        match self.first_bytes() {
            [22, _, _, _, _, 2, _, _, _, major, minor, ..] => {
                Some(u16::from_be_bytes([*major, *minor]))
            }
            _ => None,
        }
    }

    /// Returns the length that the last record announced.
    pub(super) fn length_of_record(&self) -> usize {
        self.records.as_ref().map_or(0, |records| records.announced)
    }

    /// Remembers what Go says to an error of the kernel.
    fn failed(&self, call: &str, error: &io::Error) {
        let text = format!("{call} tcp {}: {call}: {}", self.ends, errno_text(error));
        // An error of a connection with TLS stays; without, the kernel reports it once.
        self.broken.set(End::Error { text, repeats: self.records.is_some() });
    }

    fn is_awaiting_first_record(&self) -> bool {
        self.records.as_ref().is_some_and(|records| !records.has_one)
    }

    /// Reads what there is.
    fn poll_read_some(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(self.stream()?.poll_read(context, buffer))?;
        let read = buffer.filled().get(before..).unwrap_or_default();
        let Some(records) = &mut self.records else { return Poll::Ready(Ok(())) };
        if read.is_empty() && buffer.remaining() > 0 {
            self.broken.set(records.end());
        } else if let Err(text) = records.follow(read) {
            self.broken.set(End::Error { text, repeats: true });
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "no record")));
        }
        Poll::Ready(Ok(()))
    }

    /// Reads the header of the first record as a whole: Go does not judge half of it, rustls does.
    fn poll_read_first(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.is_awaiting_first_record() {
            let mut bytes = [0; HEADER_BYTES];
            let missing = HEADER_BYTES.saturating_sub(self.first_bytes().len());
            let mut header = ReadBuf::new(bytes.get_mut(..missing).unwrap_or_default());
            ready!(self.poll_read_some(context, &mut header))?;
            if header.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
        let header = self.first_bytes().to_vec();
        if buffer.remaining() < header.len() {
            return Poll::Ready(Err(io::Error::other("no room for the header of a record")));
        }
        buffer.put_slice(&header);
        Poll::Ready(Ok(()))
    }

    fn first_bytes(&self) -> &[u8] {
        self.records.as_ref().map_or(&[], |records| &records.first)
    }

    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        self.stream.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            close(stream);
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let done = match self.is_awaiting_first_record() {
            false => self.poll_read_some(context, buffer),
            true => self.poll_read_first(context, buffer),
        };
        if let Poll::Ready(Err(error)) = &done
            && error.get_ref().is_none()
        {
            self.failed("read", error);
        }
        done
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = self.stream()?.poll_write(context, bytes);
        if let Poll::Ready(Err(error)) = &done {
            // Go reads all the time, and reports a reset there.
            let is_reset = error.kind() == io::ErrorKind::ConnectionReset;
            self.failed(if is_reset { "read" } else { "write" }, error);
        }
        done
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream()?.poll_shutdown(context)
    }
}

/// The length of the header of a record, the longest record, and how much of the first one is kept.
const HEADER_BYTES: usize = 5;
const MAX_RECORD_BYTES: usize = 16_384 + 2_048;
const FIRST_BYTES: usize = 11;

/// Follows the records of TLS, to detect invalid ones and the expected end.
#[derive(Debug, Default)]
struct Records {
    first: Vec<u8>,
    header: Vec<u8>,
    announced: usize,
    left: usize,
    has_one: bool,
}

impl Records {
    /// Returns what the end of everything means here: between records, Go treats it as a proper end.
    fn end(&self) -> End {
        if self.left == 0 && self.header.is_empty() {
            End::Eof
        } else {
            End::Error { text: "unexpected EOF".to_owned(), repeats: true }
        }
    }

    fn follow(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        let kept = FIRST_BYTES.saturating_sub(self.first.len()).min(bytes.len());
        self.first.extend_from_slice(bytes.get(..kept).unwrap_or_default());
        while !bytes.is_empty() {
            if self.left > 0 {
                let (_, rest) = bytes.split_at(self.left.min(bytes.len()));
                self.left -= bytes.len() - rest.len();
                bytes = rest;
                continue;
            }
            let missing = (HEADER_BYTES - self.header.len()).min(bytes.len());
            let (start, rest) = bytes.split_at(missing);
            self.header.extend_from_slice(start);
            bytes = rest;
            if let [kind, major, minor, high, low] = *self.header {
                self.check_first(kind, u16::from_be_bytes([major, minor]))?;
                self.left = usize::from(u16::from_be_bytes([high, low]));
                self.announced = self.left;
                if self.left > MAX_RECORD_BYTES {
                    let left = self.left;
                    return Err(format!("tls: oversized record received with length {left}"));
                }
                self.has_one = true;
                self.header.clear();
            }
        }
        Ok(())
    }

    /// Refuses a first record that is no TLS.
    fn check_first(&self, kind: u8, version: u16) -> Result<(), String> {
        const ALERT: u8 = 21;
        const HANDSHAKE: u8 = 22;
        if self.has_one {
            return Ok(());
        }
        if self.header == b"HTTP/" {
            return Err("http: server gave HTTP response to HTTPS client".to_owned());
        }
        if kind == 0x80 {
            return Err("tls: unsupported SSLv2 handshake received".to_owned());
        }
        if !matches!(kind, ALERT | HANDSHAKE) || version >= 0x1000 {
            return Err("tls: first record does not look like a TLS handshake".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_followed() {
        let no_tls = "tls: first record does not look like a TLS handshake";
        let cut = End::Error { text: "unexpected EOF".to_owned(), repeats: true };
        let cases: [(&str, &[u8], Result<End, &str>); 10] = [
            ("nothing", b"", Ok(End::Eof)),
            ("alert", &[21, 3, 3, 0, 2, 2, 40], Ok(End::Eof)),
            ("two", &[22, 3, 1, 0, 1, 9, 23, 3, 3, 0, 0], Ok(End::Eof)),
            ("half a header", b"hi\n", Ok(cut.clone())),
            ("half a record", &[22, 3, 1, 0, 2, 9], Ok(cut)),
            ("HTTP", b"HTTP/1.1 400", Err("http: server gave HTTP response to HTTPS client")),
            ("mail", b"220 mail", Err(no_tls)),
            ("odd version", &[22, 0x10, 0, 0, 0], Err(no_tls)),
            ("old", &[0x80, 0, 0, 0, 0], Err("tls: unsupported SSLv2 handshake received")),
            (
                "long",
                &[22, 3, 3, 0xff, 0xff],
                Err("tls: oversized record received with length 65535"),
            ),
        ];
        for (name, bytes, expected) in cases {
            for step in [1, 100] {
                let mut records = Records::default();
                let got = bytes.chunks(step).try_for_each(|bytes| records.follow(bytes));
                let got = got.map(|()| records.end());
                assert_eq!(got, expected.clone().map_err(str::to_owned), "{name}, {step}");
            }
        }
    }
}
