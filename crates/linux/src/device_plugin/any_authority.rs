//! Requests with an `:authority` that is not one of RFC 3986: h2 refuses them, and the kubelet's server does not.
//!
//! gRPC's C core, and so Python and C++, sends the path of the unix socket, percent-encoded; older clients of
//! Go send it as it is. Blocks of headers are read here, and written again with another authority, which is not
//! read. What cannot be read is passed on as it came: h2 knows what to answer.

use crate::http2::{
    CONTINUATION, Decoder, END_HEADERS, FRAME_HEAD_BYTES, Field, HEADERS, PREFACE_BYTES,
    frame_head, plain_block, push_frame,
};
use http::uri::Authority;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::UnixStream;

const END_STREAM: u8 = 1;
const PADDED: u8 = 8;
const PRIORITY: u8 = 0x20;

/// What a priority takes before the block of headers.
const PRIORITY_BYTES: usize = 5;

/// The largest frame where the server says nothing else.
const FRAME_BYTES: usize = 16_384;

/// The largest block, and the most that is made of one: h2 refuses less than that.
const BLOCK_BYTES: usize = 64 << 10;

/// A connection of a client that may send any authority.
#[derive(Debug)]
pub(super) struct AnyAuthority {
    stream: UnixStream,
    frames: Frames,
    /// What was read, and is still to be taken.
    read: Vec<u8>,
    taken: usize,
    spoke: Arc<AtomicBool>,
}

impl AnyAuthority {
    /// Reads from a connection, and notes when something has come.
    pub(super) fn new(stream: UnixStream, spoke: Arc<AtomicBool>) -> Self {
        Self { stream, frames: Frames::new(), read: Vec::new(), taken: 0, spoke }
    }
}

impl AsyncRead for AnyAuthority {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while this.taken == this.read.len() {
            this.read.clear();
            this.taken = 0;
            let mut bytes = [0; 4_096];
            let mut incoming = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut incoming))?;
            if incoming.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            this.spoke.store(true, Ordering::Relaxed);
            this.frames.push(incoming.filled(), &mut this.read);
        }
        let left = this.read.get(this.taken..).unwrap_or_default();
        let part = left.get(..buffer.remaining().min(left.len())).unwrap_or_default();
        buffer.put_slice(part);
        this.taken += part.len();
        Poll::Ready(Ok(()))
    }
}

write_through!(AnyAuthority);

/// The frames of a client.
#[derive(Debug)]
struct Frames {
    state: State,
    decoder: Decoder,
}

#[derive(Debug)]
enum State {
    /// So much of the preface is still to come.
    Preface(usize),
    /// The beginning of the head of a frame.
    Head(Vec<u8>),
    /// So much of a payload that is not inspected is still to come.
    Payload(usize),
    /// A HEADERS frame, before and after rewriting.
    Headers { open: Open, head: [u8; FRAME_HEAD_BYTES], left: usize, payload: Vec<u8> },
    /// Between the frames of a block: the beginning of the head of the next.
    Between { open: Open, head: Vec<u8> },
    /// All that comes is passed on.
    AsItComes,
}

/// A block of headers that has begun.
#[derive(Debug, Default)]
struct Open {
    stream: u32,
    flags: u8,
    block: Vec<u8>,
    /// Its frames as they came, for a block that cannot be read.
    came: Vec<u8>,
}

impl Frames {
    fn new() -> Self {
        Self { state: State::Preface(PREFACE_BYTES), decoder: Decoder::default() }
    }

    /// Appends what h2 is to read for these bytes.
    fn push(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while !bytes.is_empty() {
            let state = std::mem::replace(&mut self.state, State::AsItComes);
            self.state = self.step(state, &mut bytes, out);
        }
    }

    fn step(&mut self, state: State, bytes: &mut &[u8], out: &mut Vec<u8>) -> State {
        let mut take = |most: usize| {
            let (part, rest) = bytes.split_at(most.min(bytes.len()));
            *bytes = rest;
            part
        };
        match state {
            State::AsItComes => {
                out.extend(take(usize::MAX));
                State::AsItComes
            }
            State::Preface(left) => {
                let part = take(left);
                out.extend(part);
                match left - part.len() {
                    0 => State::Head(Vec::new()),
                    left => State::Preface(left),
                }
            }
            State::Payload(left) => {
                let part = take(left);
                out.extend(part);
                match left - part.len() {
                    0 => State::Head(Vec::new()),
                    left => State::Payload(left),
                }
            }
            State::Head(mut head) => {
                head.extend(take(FRAME_HEAD_BYTES - head.len()));
                let Ok(head) = <[u8; FRAME_HEAD_BYTES]>::try_from(&head[..]) else {
                    return State::Head(head);
                };
                let (length, kind, flags, stream) = frame_head(head);
                if kind == HEADERS && length <= FRAME_BYTES {
                    let open = Open { stream, flags, ..Open::default() };
                    return self.begin(open, head, length, out);
                }
                out.extend(head);
                if length == 0 { State::Head(Vec::new()) } else { State::Payload(length) }
            }
            State::Between { open, mut head } => {
                head.extend(take(FRAME_HEAD_BYTES - head.len()));
                let Ok(head) = <[u8; FRAME_HEAD_BYTES]>::try_from(&head[..]) else {
                    return State::Between { open, head };
                };
                let (length, kind, _, stream) = frame_head(head);
                let goes_on = kind == CONTINUATION && stream == open.stream;
                if goes_on && length <= FRAME_BYTES && open.came.len() + length <= BLOCK_BYTES {
                    return self.begin(open, head, length, out);
                }
                out.extend(open.came);
                out.extend(head);
                State::AsItComes
            }
            State::Headers { open, head, left, mut payload } => {
                let part = take(left);
                payload.extend(part);
                match left - part.len() {
                    0 => self.end(open, head, &payload, out),
                    left => State::Headers { open, head, left, payload },
                }
            }
        }
    }

    fn begin(
        &mut self,
        open: Open,
        head: [u8; FRAME_HEAD_BYTES],
        length: usize,
        out: &mut Vec<u8>,
    ) -> State {
        match length {
            0 => self.end(open, head, &[], out),
            left => State::Headers { open, head, left, payload: Vec::new() },
        }
    }

    /// Takes a whole frame of a block.
    fn end(
        &mut self,
        mut open: Open,
        head: [u8; FRAME_HEAD_BYTES],
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> State {
        let (_, kind, flags, _) = frame_head(head);
        open.came.extend(head);
        open.came.extend(payload);
        let part = if kind == HEADERS { fragment(flags, payload) } else { Some(payload) };
        open.block.extend(part.unwrap_or_default());
        if part.is_some() && flags & END_HEADERS == 0 {
            return State::Between { open, head: Vec::new() };
        }
        let fields = part.and_then(|_| self.decoder.fields(&open.block, BLOCK_BYTES).ok());
        let Some(mut fields) = fields else {
            out.extend(open.came);
            return State::AsItComes;
        };
        fields.iter_mut().for_each(replace_authority);
        let block = plain_block(&fields);
        let mut parts = block.chunks(FRAME_BYTES).peekable();
        let mut frame = (HEADERS, open.flags & END_STREAM);
        loop {
            let part = parts.next().unwrap_or_default();
            let is_last = parts.peek().is_none();
            let flags = if is_last { frame.1 | END_HEADERS } else { frame.1 };
            push_frame(out, frame.0, flags, open.stream, part);
            if is_last {
                return State::Head(Vec::new());
            }
            frame = (CONTINUATION, 0);
        }
    }
}

/// Returns the part of a block in a frame of headers, without padding and priority; `None`: it has none.
fn fragment(flags: u8, payload: &[u8]) -> Option<&[u8]> {
    let (mut part, mut padding) = (payload, 0);
    if flags & PADDED != 0 {
        let (first, rest) = part.split_first()?;
        (part, padding) = (rest, usize::from(*first));
    }
    if flags & PRIORITY != 0 {
        part = part.get(PRIORITY_BYTES..)?;
    }
    part.get(..part.len().checked_sub(padding)?)
}

fn replace_authority((name, value): &mut Field) {
    if name == b":authority" && Authority::try_from(&value[..]).is_err() {
        *value = b"localhost".to_vec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http2::Encoder;

    fn preface() -> Vec<u8> {
        let mut bytes = vec![b'p'; PREFACE_BYTES];
        push_frame(&mut bytes, 4, 0, 0, &[]);
        bytes
    }

    fn block(authority: &str) -> Vec<u8> {
        let text = str::to_owned;
        Encoder::default().block(&[
            (":method", text("POST")),
            (":authority", text(authority)),
            ("te", text("trailers")),
        ])
    }

    fn passed(sent: &[u8], size: usize) -> Vec<u8> {
        let (mut frames, mut out) = (Frames::new(), Vec::new());
        sent.chunks(size).for_each(|part| frames.push(part, &mut out));
        out
    }

    fn expected(authority: &str) -> Vec<u8> {
        let fields = [(":method", "POST"), (":authority", authority), ("te", "trailers")];
        let fields = fields.map(|(name, value)| (name.into(), value.into()));
        let mut out = preface();
        push_frame(&mut out, HEADERS, END_HEADERS, 1, &plain_block(&fields));
        push_frame(&mut out, 0, END_STREAM, 1, b"message");
        out
    }

    #[test]
    fn an_authority_that_is_none_is_replaced() {
        for (sent, passes) in [
            ("localhost", "localhost"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("%2Fvar%2Flib%2Fkubelet%2Fdevice-plugins%2Fkubelet.sock", "localhost"),
            ("/var/lib/kubelet/device-plugins/kubelet.sock", "localhost"),
            ("", "localhost"),
        ] {
            let mut bytes = preface();
            push_frame(&mut bytes, HEADERS, END_HEADERS, 1, &block(sent));
            push_frame(&mut bytes, 0, END_STREAM, 1, b"message");
            for size in [1, 9, 10_000] {
                assert_eq!(passed(&bytes, size), expected(passes), "{sent}, {size} at a time");
            }
        }
    }

    #[test]
    fn blocks_come_in_many_frames_with_padding_and_priority() {
        let block = block("%2Fsocket");
        let mut first = vec![3, 0, 0, 0, 0, 16];
        first.extend(&block[..4]);
        first.extend([0; 3]);
        let mut bytes = preface();
        push_frame(&mut bytes, HEADERS, PADDED | PRIORITY, 1, &first);
        push_frame(&mut bytes, CONTINUATION, 0, 1, &block[4..8]);
        push_frame(&mut bytes, CONTINUATION, END_HEADERS, 1, &block[8..]);
        push_frame(&mut bytes, 0, END_STREAM, 1, b"message");
        for size in [1, 7, 10_000] {
            assert_eq!(passed(&bytes, size), expected("localhost"), "{size} at a time");
        }
    }

    #[test]
    fn what_cannot_be_read_is_passed_on_as_it_came() {
        let rest = [7; 100];
        for (name, kind, flags, payload) in [
            ("no such index", HEADERS, END_HEADERS, &[0xfe][..]),
            ("padding beyond its end", HEADERS, END_HEADERS | PADDED, &[9, 1]),
            ("no priority", HEADERS, END_HEADERS | PRIORITY, &[1]),
        ] {
            let mut bytes = preface();
            push_frame(&mut bytes, kind, flags, 1, payload);
            bytes.extend(rest);
            assert_eq!(passed(&bytes, 5), bytes, "{name}");
        }
        // Something else in the middle of a block, and a block without end.
        let mut bytes = preface();
        push_frame(&mut bytes, HEADERS, 0, 1, &block("a"));
        push_frame(&mut bytes, 0, 0, 1, b"message");
        assert_eq!(passed(&bytes, 5), bytes);
        let mut bytes = preface();
        push_frame(&mut bytes, HEADERS, 0, 1, &[0; 16_000]);
        for _ in 0..10 {
            push_frame(&mut bytes, CONTINUATION, 0, 1, &[0; 16_000]);
        }
        assert_eq!(passed(&bytes, 1_000), bytes);
    }

    #[test]
    fn what_a_block_stands_for_is_bounded() {
        let mut block = vec![0x40, 1, b'a', 0x7f, 0xa0, 0x1e];
        block.extend([b'x'; 3_999]);
        block.extend([0xbe; 12_000]);
        let mut bytes = preface();
        push_frame(&mut bytes, HEADERS, END_HEADERS, 1, &block);
        let passed = passed(&bytes, 4_096);
        assert!(passed.len() > BLOCK_BYTES && passed.len() < 2 * BLOCK_BYTES, "{}", passed.len());
    }
}
