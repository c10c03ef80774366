//! The body of an answer: where it ends, and how much of it counts.
//!
//! The rules are those of `transferReader` and `body` of Go's `net/http/transfer.go`, of `chunkedReader` of
//! `net/http/internal/chunked.go`, and of `ReadAtMost` of `k8s.io/utils/io`, which reads no further than
//! its limit.

use super::buffer::{BUFFER_BYTES, Buffer, Failure};
use super::fields::{Field, Fields};

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is none.
    None,
    /// After so many bytes.
    Length(u64),
    /// After the last chunk and its trailer.
    Chunked,
    /// With the connection.
    UntilClose,
}

/// Reads a body.
#[derive(Debug)]
pub(super) struct Body {
    /// What was read of it.
    pub(super) bytes: Vec<u8>,
    limit: usize,
    /// How much more the chunks cost than is granted them (`chunkedReader.excess`).
    excess: i64,
    state: State,
}

#[derive(Debug)]
enum State {
    /// So much is left.
    Length(u64),
    UntilClose,
    /// The line before a chunk.
    ChunkLine,
    /// So much of a chunk is left.
    Chunk(u64),
    /// The line end after a chunk.
    ChunkEnd,
    /// What comes after the last chunk.
    Trailer,
    /// Headers after the last chunk; they are ignored.
    TrailerFields(Box<Fields>),
}

/// The most that chunks may cost beyond what is granted them.
const MAX_EXCESS: i64 = 16 * 1024;

impl Body {
    /// Reads at most `limit` bytes.
    pub(super) fn new(framing: Framing, limit: usize) -> Self {
        let state = match framing {
            Framing::None => State::Length(0),
            Framing::Length(length) => State::Length(length),
            Framing::Chunked => State::ChunkLine,
            Framing::UntilClose => State::UntilClose,
        };
        Self { bytes: Vec::new(), limit, excess: 0, state }
    }

    fn is_enough(&self) -> bool {
        self.bytes.len() >= self.limit
    }

    /// Returns how it ended; `None` where more must come first.
    pub(super) fn read(&mut self, input: &mut Buffer) -> Option<Result<(), Failure>> {
        loop {
            let enough = self.is_enough();
            let here = input.unused();
            self.state = match &mut self.state {
                State::Length(0) => return Some(Ok(())),
                State::Length(_) | State::UntilClose | State::Chunk(_) if enough => {
                    return Some(Ok(()));
                }
                State::Length(left) => {
                    let left = *left;
                    match self.take(left, input) {
                        0 => return Some(Err(unexpected(input.failed_read()?))),
                        taken => State::Length(left.saturating_sub(taken)),
                    }
                }
                State::UntilClose => {
                    if self.take(u64::MAX, input) == 0 {
                        return Some(match input.failed_read()? {
                            Failure::Eof => Ok(()),
                            failure => Err(failure),
                        });
                    }
                    State::UntilClose
                }
                State::Chunk(left) => {
                    let left = *left;
                    match self.take(left, input) {
                        0 => return Some(Err(unexpected(input.failed_read()?))),
                        taken if taken == left => State::ChunkEnd,
                        taken => State::Chunk(left.saturating_sub(taken)),
                    }
                }
                State::ChunkEnd => match here {
                    [b'\r', b'\n', ..] => {
                        input.consume(2);
                        State::ChunkLine
                    }
                    [_, _, ..] => return Some(Err(Failure::text("malformed chunked encoding"))),
                    // With enough bytes, nothing more is waited for.
                    _ if enough => return Some(Ok(())),
                    _ => return Some(Err(unexpected(input.failed_read()?))),
                },
                State::ChunkLine => {
                    let Some(end) = here.iter().position(|byte| *byte == b'\n') else {
                        if enough {
                            return Some(Ok(()));
                        }
                        if input.is_full() {
                            return Some(Err(Failure::text("header line too long")));
                        }
                        return Some(Err(unexpected(input.failed_read()?)));
                    };
                    let size = chunk_size(here.get(..end).unwrap_or_default(), &mut self.excess);
                    input.consume(end + 1);
                    match size {
                        Err(text) => return Some(Err(Failure::text(text))),
                        Ok(0) => State::Trailer,
                        Ok(size) => State::Chunk(size),
                    }
                }
                State::Trailer => match here {
                    [b'\r', b'\n', ..] => {
                        input.consume(2);
                        return Some(Ok(()));
                    }
                    [_, _, ..] => {
                        if !here.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
                            if here.len() < BUFFER_BYTES {
                                input.failed_read()?;
                            }
                            let text = "http: suspiciously long trailer after chunked body";
                            return Some(Err(Failure::text(text)));
                        }
                        State::TrailerFields(Box::default())
                    }
                    _ => {
                        input.failed_read()?;
                        return Some(Err(no_trailer()));
                    }
                },
                State::TrailerFields(fields) => match fields.next(input)? {
                    Ok(Field::End) => return Some(Ok(())),
                    Ok(Field::Header { .. }) => continue,
                    Err(Failure::Eof) => return Some(Err(no_trailer())),
                    Err(failure) => return Some(Err(failure)),
                },
            };
        }
    }

    /// Takes what is there of the next `most` bytes.
    fn take(&mut self, most: u64, input: &mut Buffer) -> u64 {
        let room = self.limit.saturating_sub(self.bytes.len());
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(room);
        let here = input.unused();
        let taken = here.get(..most).unwrap_or(here);
        self.bytes.extend_from_slice(taken);
        let count = taken.len();
        input.consume(count);
        count as u64
    }
}

fn unexpected(failure: Failure) -> Failure {
    Failure::Text(failure.unexpected())
}

fn no_trailer() -> Failure {
    Failure::text("http: unexpected EOF reading trailer")
}

/// Reads the line before a chunk, without its line feed (`readChunkLine` and `beginChunk`).
fn chunk_size(line: &[u8], excess: &mut i64) -> Result<u64, &'static str> {
    let line = match line.iter().position(|byte| *byte == b'\r') {
        None => return Err("chunked line ends with bare LF"),
        Some(at) if at + 1 != line.len() => return Err("invalid CR in chunked line"),
        Some(at) => line.get(..at).unwrap_or_default(),
    };
    let cost = i64::try_from(line.len()).unwrap_or(i64::MAX).saturating_add(2);
    let blanks = line.iter().rev().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let line = line.get(..line.len() - blanks).unwrap_or_default();
    let size = hexadecimal(line.split(|byte| *byte == b';').next().unwrap_or_default())?;
    // Sixteen bytes and twice the data are granted; Go's numbers wrap.
    let granted = size.wrapping_mul(2).wrapping_add(16).cast_signed();
    *excess = excess.saturating_add(cost).wrapping_sub(granted).max(0);
    match size {
        0 => Ok(0),
        _ if *excess > MAX_EXCESS => Err("chunked encoding contains too much non-data"),
        size => Ok(size),
    }
}

/// Reads the size of a chunk (`parseHexUint`).
fn hexadecimal(digits: &[u8]) -> Result<u64, &'static str> {
    if digits.is_empty() {
        return Err("empty hex number for chunk length");
    }
    let mut number: u64 = 0;
    for (at, digit) in digits.iter().enumerate() {
        let digit = char::from(*digit).to_digit(16).ok_or("invalid byte in chunk length")?;
        if at == 16 {
            return Err("http chunk length too large");
        }
        number = (number << 4) | u64::from(digit);
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::super::buffer::End;
    use super::*;

    /// Reads a body out of bytes that come `step` at a time and then end; `None`: it waits.
    fn read(framing: Framing, limit: usize, mut bytes: &[u8], step: usize, ends: bool) -> String {
        let mut body = Body::new(framing, limit);
        let mut input = Buffer::new();
        loop {
            match body.read(&mut input) {
                Some(Ok(())) => return String::from_utf8_lossy(&body.bytes).into_owned(),
                Some(Err(failure)) => {
                    return format!("! {}", String::from_utf8_lossy(&failure.unexpected()));
                }
                None if !bytes.is_empty() => {
                    bytes = &bytes[input.feed(&bytes[..step.min(bytes.len())])..];
                }
                None if ends => input.end(End::Eof),
                None => return "waits".to_owned(),
            }
        }
    }

    #[test]
    fn bodies_end_where_go_ends_them() {
        use Framing::{Chunked, Length, UntilClose};
        for (name, framing, bytes, expected) in [
            ("none", Framing::None, "abc", ""),
            ("length", Length(3), "abcd", "abc"),
            ("short", Length(5), "abcd", "! unexpected EOF"),
            ("close", UntilClose, "abcd", "abcd"),
            ("chunks", Chunked, "2\r\nok\r\n3\r\nabc\r\n0\r\n\r\n", "okabc"),
            ("upper and lower case", Chunked, "A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
            ("leading zeros", Chunked, "002\r\nok\r\n000\r\n\r\n", "ok"),
            ("extension", Chunked, "2;a=\"b\"\r\nok\r\n0;x\r\n\r\n", "ok"),
            ("spaces after the size", Chunked, "2 \t\r\nok\r\n0\r\n\r\n", "ok"),
            ("space before extension", Chunked, "2 ;a\r\nok\r\n", "! invalid byte in chunk length"),
            ("space before the size", Chunked, " 2\r\nok\r\n", "! invalid byte in chunk length"),
            ("no size", Chunked, "\r\nok", "! empty hex number for chunk length"),
            ("no number", Chunked, "zz\r\nok", "! invalid byte in chunk length"),
            ("too large", Chunked, "10000000000000000\r\n", "! http chunk length too large"),
            ("largest", Chunked, "ffffffffffffffff\r\nok", "! unexpected EOF"),
            ("bare line feed", Chunked, "2\nok\r\n", "! chunked line ends with bare LF"),
            ("carriage return inside", Chunked, "2\r;\r\nok", "! invalid CR in chunked line"),
            ("longer than it says", Chunked, "2\r\nokk\r\n", "! malformed chunked encoding"),
            ("cut in the size", Chunked, "2", "! unexpected EOF"),
            ("cut in the data", Chunked, "5\r\nok", "! unexpected EOF"),
            ("cut after the data", Chunked, "2\r\nok\r", "! unexpected EOF"),
            ("no last chunk", Chunked, "2\r\nok\r\n", "! unexpected EOF"),
            ("no trailer", Chunked, "2\r\nok\r\n0\r\n", "! http: unexpected EOF reading trailer"),
            ("half a line", Chunked, "0\r\n\r", "! http: unexpected EOF reading trailer"),
            ("trailer", Chunked, "2\r\nok\r\n0\r\nA: b\r\nC: d\r\n\r\n", "ok"),
            (
                "cut in the trailer",
                Chunked,
                "0\r\nA: b\r\n",
                "! http: suspiciously long trailer after chunked body",
            ),
            (
                "trailer without colon",
                Chunked,
                "0\r\nA\r\n\r\n",
                "! malformed MIME header: missing colon: \"A\"",
            ),
        ] {
            for step in [1, 4096] {
                let got = read(framing, 100, bytes.as_bytes(), step, true);
                assert_eq!(got, expected, "{name}, {step} at a time");
            }
        }
    }

    #[test]
    fn what_is_beyond_the_limit_is_not_waited_for() {
        use Framing::{Chunked, Length, UntilClose};
        for (name, framing, bytes, expected) in [
            ("length", Length(9), "abcd", "abcd"),
            ("close", UntilClose, "abcd", "abcd"),
            ("inside a chunk", Chunked, "5\r\nabcd", "abcd"),
            ("end of a chunk", Chunked, "4\r\nabcd", "abcd"),
            ("half a line end", Chunked, "4\r\nabcd\r", "abcd"),
            // Bytes that are already there are still checked.
            ("wrong end", Chunked, "4\r\nabcdef", "! malformed chunked encoding"),
            ("next chunk", Chunked, "4\r\nabcd\r\n5\r\n", "abcd"),
            ("half a size", Chunked, "4\r\nabcd\r\nzz", "abcd"),
            ("wrong size", Chunked, "4\r\nabcd\r\nzz\r\n", "! invalid byte in chunk length"),
            ("last chunk", Chunked, "4\r\nabcd\r\n0\r\n", "waits"),
            ("all", Chunked, "4\r\nabcd\r\n0\r\n\r\n", "abcd"),
            ("too little", Length(9), "abc", "waits"),
        ] {
            assert_eq!(read(framing, 4, bytes.as_bytes(), 4096, false), expected, "{name}");
        }
    }

    #[test]
    fn noise_around_the_data_is_limited() {
        let one_byte_each = "1\r\nX\r\n".repeat(9000) + "0\r\n\r\n";
        assert_eq!(read(Framing::Chunked, 10240, one_byte_each.as_bytes(), 4096, true).len(), 9000);
        let extension = "a".repeat(3000);
        let noisy = format!("1;{extension}\r\nX\r\n").repeat(9);
        let got = read(Framing::Chunked, 10240, noisy.as_bytes(), 4096, true);
        assert_eq!(got, "! chunked encoding contains too much non-data");
        let endless = format!("1;{}", "a".repeat(5000));
        let got = read(Framing::Chunked, 10240, endless.as_bytes(), 4096, true);
        assert_eq!(got, "! header line too long");
        let trailer = "0\r\n".to_owned() + &"A: b\r\n".repeat(1000);
        let got = read(Framing::Chunked, 10240, trailer.as_bytes(), 4096, true);
        assert_eq!(got, "! http: suspiciously long trailer after chunked body");
    }
}
