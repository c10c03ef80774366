//! Replaces the header blocks of h2 by those of Go's client (other order, other indexes), and words the kernel's errors
//! as Go does.

use crate::http2::{
    CONTINUATION, END_HEADERS, Encoder, FRAME_HEAD_BYTES, HEADERS, PREFACE_BYTES, frame_head,
    push_frame,
};
use std::io;

/// The bytes of a client on their way out.
#[derive(Debug)]
pub(super) struct AsGo {
    preface_left: usize,
    head: Vec<u8>,
    payload_left: usize,
    /// The payload is that of headers, which are replaced.
    is_replaced: bool,
    encoder: Encoder,
}

impl AsGo {
    pub(super) fn new() -> Self {
        Self {
            preface_left: PREFACE_BYTES,
            head: Vec::with_capacity(FRAME_HEAD_BYTES),
            payload_left: 0,
            is_replaced: false,
            encoder: Encoder::default(),
        }
    }

    /// Heeds the size of the table of headers that the server allows.
    pub(super) fn limit(&mut self, bytes: u32) {
        self.encoder.limit(usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    /// Appends what is sent for these bytes of h2; each request has these fields.
    pub(super) fn push(&mut self, mut bytes: &[u8], fields: &[(&str, String)], out: &mut Vec<u8>) {
        while !bytes.is_empty() {
            let left = match (self.preface_left, self.payload_left) {
                (0, 0) => FRAME_HEAD_BYTES - self.head.len(),
                (0, payload) => payload,
                (preface, _) => preface,
            };
            let (part, rest) = bytes.split_at(left.min(bytes.len()));
            bytes = rest;
            if self.preface_left > 0 {
                self.preface_left -= part.len();
                out.extend(part);
            } else if self.payload_left > 0 {
                self.payload_left -= part.len();
                out.extend(part.iter().filter(|_| !self.is_replaced));
            } else {
                self.head.extend(part);
                if let Ok(head) = <[u8; FRAME_HEAD_BYTES]>::try_from(&self.head[..]) {
                    self.head.clear();
                    self.begin(head, fields, out);
                }
            }
        }
    }

    fn begin(
        &mut self,
        head: [u8; FRAME_HEAD_BYTES],
        fields: &[(&str, String)],
        out: &mut Vec<u8>,
    ) {
        let (length, kind, flags, stream) = frame_head(head);
        self.payload_left = length;
        self.is_replaced = kind == HEADERS || kind == CONTINUATION;
        match kind {
            HEADERS => {
                let block = self.encoder.block(fields);
                push_frame(out, HEADERS, flags | END_HEADERS, stream, &block);
            }
            CONTINUATION => {}
            _ => out.extend(head),
        }
    }
}

/// Returns the text that Go's `syscall.Errno` has for an error (`zerrors_linux_*.go`).
///
/// It is that of glibc without the capital at its start; the C library that kq is linked with may have
/// other words, and so those that a probe meets are listed.
pub fn errno_text(error: &io::Error) -> String {
    use rustix::io::Errno;
    let Some(code) = error.raw_os_error() else { return error.to_string() };
    let listed = match Errno::from_raw_os_error(code) {
        Errno::PERM => "operation not permitted",
        Errno::IO => "input/output error",
        Errno::AGAIN => "resource temporarily unavailable",
        Errno::NOMEM => "cannot allocate memory",
        Errno::ACCESS => "permission denied",
        Errno::INVAL => "invalid argument",
        Errno::NFILE => "too many open files in system",
        Errno::MFILE => "too many open files",
        Errno::PIPE => "broken pipe",
        Errno::PROTO => "protocol error",
        Errno::NOPROTOOPT => "protocol not available",
        Errno::PROTONOSUPPORT => "protocol not supported",
        Errno::AFNOSUPPORT => "address family not supported by protocol",
        Errno::ADDRINUSE => "address already in use",
        Errno::ADDRNOTAVAIL => "cannot assign requested address",
        Errno::NETDOWN => "network is down",
        Errno::NETUNREACH => "network is unreachable",
        Errno::NETRESET => "network dropped connection on reset",
        Errno::CONNABORTED => "software caused connection abort",
        Errno::CONNRESET => "connection reset by peer",
        Errno::NOBUFS => "no buffer space available",
        Errno::ISCONN => "transport endpoint is already connected",
        Errno::NOTCONN => "transport endpoint is not connected",
        Errno::TIMEDOUT => "connection timed out",
        Errno::CONNREFUSED => "connection refused",
        Errno::HOSTDOWN => "host is down",
        Errno::HOSTUNREACH => "no route to host",
        _ => return unlisted(&error.to_string()),
    };
    listed.to_owned()
}

/// Returns the text of Rust without its end, ` (os error 95)`, and without the capital.
fn unlisted(text: &str) -> String {
    let text = text.rsplit_once(" (os error ").map_or(text, |(text, _)| text);
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http2::Decoder;

    #[test]
    fn headers_are_replaced_and_nothing_else() {
        let fields = [(":method", "POST".to_owned()), ("te", "trailers".to_owned())];
        let mut sent = vec![b'p'; PREFACE_BYTES];
        push_frame(&mut sent, 4, 0, 0, &[]);
        let mut expected = sent.clone();
        push_frame(&mut sent, HEADERS, 0, 1, &[9; 100]);
        push_frame(&mut sent, CONTINUATION, END_HEADERS, 1, &[9; 100]);
        push_frame(&mut expected, HEADERS, END_HEADERS, 1, &Encoder::default().block(&fields));
        push_frame(&mut sent, 0, 1, 1, b"message");
        push_frame(&mut expected, 0, 1, 1, b"message");
        for size in [1, 7, 24, 1_000] {
            let (mut as_go, mut out) = (AsGo::new(), Vec::new());
            sent.chunks(size).for_each(|part| as_go.push(part, &fields, &mut out));
            assert_eq!(out, expected, "{size} at a time");
        }
    }

    #[test]
    fn the_second_request_refers_to_the_first() {
        let fields = [("x-a", "value".to_owned())];
        let (mut as_go, mut out) = (AsGo::new(), Vec::new());
        as_go.push(&[b'p'; PREFACE_BYTES], &fields, &mut out);
        out.clear();
        let mut decoder = Decoder::default();
        for (stream, length) in [(1, 10), (3, 1)] {
            let mut sent = Vec::new();
            push_frame(&mut sent, HEADERS, END_HEADERS, stream, &[0x88]);
            as_go.push(&sent, &fields, &mut out);
            let block = out.split_off(FRAME_HEAD_BYTES);
            assert!(block.len() == length || length > 1, "{block:x?}");
            let read = decoder.fields(&block, 1_000).expect("a block");
            assert_eq!(read, [(b"x-a".to_vec(), b"value".to_vec())]);
            out.clear();
        }
    }

    #[test]
    fn errors_are_in_the_words_of_go() {
        for (code, expected) in [
            (111, "connection refused"),
            (104, "connection reset by peer"),
            (101, "network is unreachable"),
            (113, "no route to host"),
            (110, "connection timed out"),
            (95, "operation not supported"),
        ] {
            assert_eq!(errno_text(&io::Error::from_raw_os_error(code)), expected, "{code}");
        }
        assert_eq!(errno_text(&io::Error::other("closed")), "closed");
    }
}
