//! The received, unparsed bytes of a response, as in Go's `bufio.Reader`.
//!
//! The size of Go's reads has visible effects: a line is parsed when it fills the buffer, and a chunk that
//! ends where the kubelet stops reading is checked only as far as it is already there.

/// The size of the buffer of a connection (`Transport.readBufferSize`, `net/http/transport.go`).
pub(super) const BUFFER_BYTES: usize = 4096;

/// The most that the heads of one answer may have together, those of 1xx answers included
/// (`Transport.maxHeaderResponseSize`).
pub(super) const MAX_HEAD_BYTES: usize = 10 << 20;

/// How reading ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The other side closed.
    Eof,
    /// Reading failed.
    Error {
        /// Go's text.
        text: String,
        /// The next read fails in the same way, as with TLS. The kernel reports a reset once, and then the end of
        /// the connection.
        repeats: bool,
    },
}

/// Why something could not be read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The other side closed.
    Eof,
    /// Anything else, as Go says it; such texts can quote what came.
    Text(Vec<u8>),
}

impl Failure {
    pub(super) fn text(text: impl Into<Vec<u8>>) -> Self {
        Self::Text(text.into())
    }

    /// Returns the text; where more should have come, Go calls the end unexpected.
    pub(super) fn unexpected(self) -> Vec<u8> {
        match self {
            Self::Eof => b"unexpected EOF".to_vec(),
            Self::Text(text) => text,
        }
    }
}

#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    /// How many of them are used.
    used: usize,
    end: Option<End>,
    /// How much may still be read; `None`: anything.
    allowance: Option<usize>,
}

impl Buffer {
    pub(super) fn new() -> Self {
        Self {
            bytes: Vec::with_capacity(BUFFER_BYTES),
            used: 0,
            end: None,
            allowance: Some(MAX_HEAD_BYTES),
        }
    }

    /// Returns how much the next read asks for.
    pub(super) fn room(&self) -> usize {
        let free = BUFFER_BYTES - self.unused().len();
        self.allowance.map_or(free, |allowance| free.min(allowance))
    }

    /// Takes as many bytes as there is room for, and returns their number.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.get(..self.room()).unwrap_or(bytes);
        self.bytes.drain(..self.used);
        self.used = 0;
        self.bytes.extend_from_slice(taken);
        if let Some(allowance) = &mut self.allowance {
            *allowance = allowance.saturating_sub(taken.len());
        }
        taken.len()
    }

    pub(super) fn end(&mut self, end: End) {
        self.end.get_or_insert(end);
    }

    /// From here on, any amount may be read.
    pub(super) fn lift_limit(&mut self) {
        self.allowance = None;
    }

    pub(super) fn unused(&self) -> &[u8] {
        self.bytes.get(self.used..).unwrap_or_default()
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.used = self.used.saturating_add(count).min(self.bytes.len());
    }

    pub(super) fn is_full(&self) -> bool {
        self.unused().len() >= BUFFER_BYTES
    }

    /// Returns what a read would fail with now, `None` where it would wait. Call it where Go reads: an
    /// error that does not repeat is returned once.
    pub(super) fn failed_read(&mut self) -> Option<Failure> {
        if self.allowance == Some(0) {
            let limit = "net/http: server response headers exceeded 10485760 bytes; aborted";
            return Some(Failure::text(limit));
        }
        match self.end.as_mut()? {
            End::Eof => Some(Failure::Eof),
            End::Error { text, repeats: true } => Some(Failure::text(text.as_bytes())),
            End::Error { text, repeats: false } => {
                let text = std::mem::take(text).into_bytes();
                self.end = Some(End::Eof);
                Some(Failure::Text(text))
            }
        }
    }
}

/// A line that is being read (`readLineSlice`, `net/textproto/reader.go`, over `bufio.Reader.ReadLine`).
#[derive(Debug, Default)]
pub(super) struct Line {
    /// What has left the buffer of a line that is longer than it.
    start: Vec<u8>,
}

impl Line {
    /// Returns the line without its end, or why there is none; `None` where more must come first.
    ///
    /// What has no line end before the end of everything counts as a line, unless nothing of it is left
    /// in the buffer. `limit` is the most it may have.
    pub(super) fn read(
        &mut self,
        input: &mut Buffer,
        limit: Option<usize>,
    ) -> Option<Result<Vec<u8>, Failure>> {
        loop {
            let here = input.unused();
            let (piece, taken, complete) = match here.iter().position(|byte| *byte == b'\n') {
                Some(end) => {
                    let line = here.get(..end).unwrap_or_default();
                    (line.strip_suffix(b"\r").unwrap_or(line), end + 1, true)
                }
                // Half of a line end stays for the next piece.
                None if input.is_full() => {
                    let piece = here.strip_suffix(b"\r").unwrap_or(here);
                    (piece, piece.len(), false)
                }
                None => {
                    let here = here.to_vec();
                    let failure = input.failed_read()?;
                    if here.is_empty() {
                        self.start.clear();
                        return Some(Err(failure));
                    }
                    input.consume(here.len());
                    return Some(self.add(&here, limit).map(|()| std::mem::take(&mut self.start)));
                }
            };
            let piece = piece.to_vec();
            input.consume(taken);
            if let Err(too_long) = self.add(&piece, limit) {
                return Some(Err(too_long));
            }
            if complete {
                return Some(Ok(std::mem::take(&mut self.start)));
            }
        }
    }

    fn add(&mut self, piece: &[u8], limit: Option<usize>) -> Result<(), Failure> {
        if limit.is_some_and(|limit| self.start.len().saturating_add(piece.len()) > limit) {
            return Err(Failure::text("message too large"));
        }
        self.start.extend_from_slice(piece);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_go_ends_them() {
        let long = [vec![b'a'; BUFFER_BYTES - 1], b"\r\nb\n".to_vec()].concat();
        let exact = vec![b'a'; BUFFER_BYTES];
        let cases = [
            ("both ends", b"one\r\ntwo\n\r\n".as_slice(), vec![b"one".as_slice(), b"two", b""]),
            ("cut", b"one\ntw", vec![b"one", b"tw"]),
            ("carriage return before the cut", b"one\r", vec![b"one\r"]),
            ("end across the buffer", &long[..], vec![&long[..BUFFER_BYTES - 1], b"b"]),
            ("nothing left of it in the buffer", &exact[..], vec![]),
        ];
        for (name, mut bytes, expected) in cases {
            let (mut input, mut line, mut got) = (Buffer::new(), Line::default(), Vec::new());
            loop {
                match line.read(&mut input, None) {
                    Some(Ok(line)) => got.push(line),
                    Some(Err(failure)) => break assert_eq!(failure, Failure::Eof, "{name}"),
                    None if bytes.is_empty() => input.end(End::Eof),
                    None => bytes = &bytes[input.feed(bytes)..],
                }
            }
            assert_eq!(got, expected, "{name}");
        }
    }

    #[test]
    fn a_reset_is_reported_once() {
        let mut input = Buffer::new();
        assert_eq!(input.failed_read(), None);
        input.end(End::Error { text: "reset".to_owned(), repeats: false });
        assert_eq!(input.failed_read(), Some(Failure::text("reset")));
        assert_eq!(input.failed_read(), Some(Failure::Eof));
        let mut input = Buffer::new();
        input.end(End::Error { text: "reset".to_owned(), repeats: true });
        assert_eq!(input.failed_read(), Some(Failure::text("reset")));
        assert_eq!(input.failed_read(), Some(Failure::text("reset")));
    }
}
