//! Header lines, as `textproto.Reader.ReadMIMEHeader` of Go reads them (`net/textproto/reader.go`).
//!
//! Go is lenient where servers are sloppy (bare line feeds, lines that continue, names with a space) and
//! strict where they are dangerous; its words are part of the kubelet's verdict.

use super::buffer::{Buffer, Failure, Line};
use kq_k8s::go_text::quote_bytes;

/// The length that Go reads of a first line that starts with a space.
const INITIAL_LINE_BYTES: usize = 80;

/// Reads header lines, one after the other.
#[derive(Debug, Default)]
pub(super) struct Fields {
    state: State,
    line: Line,
    /// The line so far, with those that continue it.
    field: Vec<u8>,
}

#[derive(Debug, Default)]
enum State {
    /// Go looks ahead to count the headers; a failure to is forgotten.
    #[default]
    LookAhead,
    /// The first line must not start with a space.
    First,
    /// It does.
    Initial,
    Line,
    /// Whether the next line continues this one.
    Continues,
    /// It does: after that many spaces.
    Spaces,
    /// The rest of the line that continues.
    Continuation,
}

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Field {
    Header {
        /// The name, in the case it came in.
        name: Vec<u8>,
        value: Vec<u8>,
    },
    /// The empty line after the last one.
    End,
}

impl Fields {
    /// Returns the next header, or why there is none; `None` where more must come first.
    pub(super) fn next(&mut self, input: &mut Buffer) -> Option<Result<Field, Failure>> {
        loop {
            match self.state {
                State::LookAhead => {
                    if input.unused().is_empty() {
                        input.failed_read()?;
                    }
                    self.state = State::First;
                }
                State::First => {
                    let first = match input.unused().first() {
                        Some(byte) => Some(*byte),
                        None => input.failed_read().map(|_| b'\n'),
                    }?;
                    self.state = if is_blank(first) { State::Initial } else { State::Line };
                }
                State::Initial => {
                    let line = self.line.read(input, Some(INITIAL_LINE_BYTES))?;
                    return Some(line.and_then(|line| {
                        let text = b"malformed MIME header initial line: ";
                        Err(Failure::Text([text.as_slice(), &line].concat()))
                    }));
                }
                State::Line => {
                    let mut line = match self.line.read(input, None)? {
                        Ok(line) => line,
                        Err(failure) => return Some(Err(failure)),
                    };
                    if line.is_empty() {
                        return Some(Ok(Field::End));
                    }
                    if !line.contains(&b':') {
                        return Some(Err(Failure::text(format!(
                            "malformed MIME header: missing colon: {}",
                            quote_bytes(&line)
                        ))));
                    }
                    // In place: a line can be as long as a head may be.
                    line.truncate(line.len() - blanks_at_end(&line));
                    line.drain(..blanks(&line));
                    self.field = line;
                    self.state = State::Continues;
                }
                State::Continues => {
                    let next = match input.unused().first() {
                        Some(byte) => Some(*byte),
                        None => input.failed_read().map(|_| b'\n'),
                    }?;
                    if !is_blank(next) {
                        self.state = State::Line;
                        return Some(split(std::mem::take(&mut self.field)));
                    }
                    self.field.push(b' ');
                    self.state = State::Spaces;
                }
                State::Spaces => {
                    let here = input.unused();
                    let blanks = blanks(here);
                    let more = blanks == here.len();
                    input.consume(blanks);
                    if more {
                        input.failed_read()?;
                    }
                    self.state = State::Continuation;
                }
                State::Continuation => {
                    self.state = match self.line.read(input, None)? {
                        Ok(line) => {
                            self.field.extend_from_slice(trim(&line));
                            State::Continues
                        }
                        Err(_) => {
                            self.state = State::Line;
                            return Some(split(std::mem::take(&mut self.field)));
                        }
                    };
                }
            }
        }
    }
}

/// Splits a line into name and value.
fn split(mut field: Vec<u8>) -> Result<Field, Failure> {
    let colon = field.iter().position(|byte| *byte == b':');
    let (name, value) = colon
        .and_then(|colon| Some((field.get(..colon)?, field.get(colon + 1..)?)))
        .unwrap_or((&[], &[]));
    let is_name = !name.is_empty() && name.iter().all(|byte| *byte == b' ' || is_token(*byte));
    if !is_name || !value.iter().all(|byte| is_value(*byte)) {
        let text = b"malformed MIME header line: ";
        return Err(Failure::Text([text.as_slice(), &field].concat()));
    }
    let name = name.to_vec();
    field.drain(..name.len().saturating_add(1).saturating_add(blanks(value)));
    Ok(Field::Header { name, value: field })
}

/// Returns true if a byte may stand in the name of a header (`validHeaderFieldByte`).
pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Returns true if a byte may stand in the value of a header (`validHeaderValueByte`).
fn is_value(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn blanks(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_blank(**byte)).count()
}

fn blanks_at_end(text: &[u8]) -> usize {
    text.iter().rev().take_while(|byte| is_blank(**byte)).count()
}

fn trim(text: &[u8]) -> &[u8] {
    let text = text.get(blanks(text)..).unwrap_or_default();
    text.get(..text.len() - blanks_at_end(text)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::buffer::End;
    use super::*;

    /// Reads headers out of bytes that come one by one and then end.
    fn read(mut bytes: &[u8]) -> String {
        let (mut input, mut fields, mut shown) = (Buffer::new(), Fields::default(), String::new());
        loop {
            let next = match fields.next(&mut input) {
                Some(next) => next,
                None if bytes.is_empty() => {
                    input.end(End::Eof);
                    continue;
                }
                None => {
                    input.feed(&bytes[..1]);
                    bytes = &bytes[1..];
                    continue;
                }
            };
            match next {
                Ok(Field::End) => return shown + "end",
                Ok(Field::Header { name, value }) => {
                    let (name, value) =
                        (String::from_utf8_lossy(&name), String::from_utf8_lossy(&value));
                    shown += &format!("{name}={value}|");
                }
                Err(Failure::Eof) => return shown + "EOF",
                Err(Failure::Text(text)) => {
                    return shown + &String::from_utf8_lossy(&text);
                }
            }
        }
    }

    #[test]
    fn headers_are_read_as_go_reads_them() {
        for (name, bytes, expected) in [
            ("none", "\r\n", "end"),
            ("some", "A: 1\r\nb:2\r\n\r\n", "A=1|b=2|end"),
            ("bare line feeds", "A: 1\nB: 2\n\n", "A=1|B=2|end"),
            ("space in a name", "A B: c\r\n\r\n", "A B=c|end"),
            ("space before the colon", "A : c\r\n\r\n", "A =c|end"),
            ("tab in a name", "A\tB: c\r\n\r\n", "malformed MIME header line: A\tB: c"),
            ("no name", ": c\r\n\r\n", "malformed MIME header line: : c"),
            ("no value", "A:\r\n\r\n", "A=|end"),
            ("colons in a value", "A: b:c\r\n\r\n", "A=b:c|end"),
            ("continued", "A: 1\r\n  2\r\n\t3 \r\n\r\n", "A=1 2 3|end"),
            ("continued by nothing", "A: 1\r\n \r\n\r\n", "A=1 |end"),
            ("first continues nothing", " A: 1\r\n", "malformed MIME header initial line:  A: 1"),
            ("no colon", "A\"\r\n\r\n", "malformed MIME header: missing colon: \"A\\\"\""),
            ("control character", "A: \u{1}\r\n\r\n", "malformed MIME header line: A: \u{1}"),
            ("delete", "A: \u{7f}\r\n\r\n", "malformed MIME header line: A: \u{7f}"),
            ("not ASCII in a value", "A: \u{e9}\r\n\r\n", "A=\u{e9}|end"),
            ("not ASCII in a name", "\u{e9}: 1\r\n\r\n", "malformed MIME header line: \u{e9}: 1"),
            ("cut before", "", "EOF"),
            ("cut between", "A: 1\r\n", "A=1|EOF"),
            ("cut in a value", "A: 1", "A=1|EOF"),
            ("cut in a name", "Con", "malformed MIME header: missing colon: \"Con\""),
            ("cut in a continuation", "A: 1\r\n 2", "A=1 2|EOF"),
            ("cut in the spaces before one", "A: 1\r\n  ", "A=1 |EOF"),
        ] {
            assert_eq!(read(bytes.as_bytes()), expected, "{name}");
        }
        let long = format!(" {}\r\n", "a".repeat(80));
        assert_eq!(read(long.as_bytes()), "message too large");
    }
}
