//! Parses the bytes of a response as Go's HTTP client does.
//!
//! The rules are those of `ReadResponse` (`net/http/response.go`), `readTransfer` (`net/http/transfer.go`)
//! and `persistConn.readLoop` (`net/http/transport.go`), read in Go 1.26. No library is used for this,
//! because Go's error for a malformed response is the kubelet's verdict, word for word.
//!
//! The owner of the connection feeds at most [`ResponseReader::room`] bytes at a time, and
//! [`ResponseReader::advance`] parses them. Memory is bounded by Go's limit for heads, and by the limit of
//! the body.

use super::body::{Body, Framing};
use super::buffer::{Buffer, End, Failure, Line};
use super::fields::{Field, Fields};
use kq_k8s::go_text::{atoi, quote_bytes};

/// How much of a head is kept to be shown.
const SHOWN_HEAD_BYTES: usize = 64 * 1024;

/// How much of the body of a redirect is read before it is followed (`maxBodySlurpSize`,
/// `net/http/client.go`).
const SLURPED_BYTES: usize = 2 << 10;

/// Reads an answer.
#[derive(Debug)]
pub struct ResponseReader {
    input: Buffer,
    state: State,
    /// What was fed of the head, as far as it is shown; then exactly the head.
    head_bytes: Vec<u8>,
    fed: usize,
    body: Vec<u8>,
}

#[derive(Debug)]
enum State {
    FirstByte,
    StatusLine(Line),
    Fields(u16, Version, Box<Fields>, Headers),
    Head(Head),
    Body(Body),
    Ended,
    Failed(ResponseError),
}

/// What the bytes so far amount to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Not enough: more must be fed, or the end.
    More,
    /// The head is complete: the body waits for [`ResponseReader::read_body`].
    Head,
    /// The body is complete, or enough of it came.
    End,
    /// No answer will come of it.
    Failed(ResponseError),
}

/// What is wrong with an answer; the text is Go's, and can quote bytes of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseError {
    /// What Go says.
    pub text: Vec<u8>,
    /// The head was fine, and it was found in the body.
    pub in_body: bool,
}

/// The parts of the head that a probe uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status code: any three digits.
    pub status: u16,
    /// The first `Location`.
    pub location: Option<Vec<u8>>,
    framing: Framing,
}

/// The version in a status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    major: u8,
    minor: u8,
}

/// The headers that say where the body ends and where to go.
#[derive(Debug, Default)]
struct Headers {
    content_length: Vec<Vec<u8>>,
    transfer_encoding: Vec<Vec<u8>>,
    trailer: Vec<Vec<u8>>,
    connection: Vec<Vec<u8>>,
    upgrade: Option<Vec<u8>>,
    location: Option<Vec<u8>>,
}

impl Default for ResponseReader {
    fn default() -> Self {
        Self::new()
    }
}

impl ResponseReader {
    /// Waits for the first byte.
    pub fn new() -> Self {
        Self {
            input: Buffer::new(),
            state: State::FirstByte,
            head_bytes: Vec::new(),
            fed: 0,
            body: Vec::new(),
        }
    }

    /// Returns how many bytes the next read should ask for; it is never 0 after [`Progress::More`].
    pub fn room(&self) -> usize {
        self.input.room()
    }

    /// Takes as many bytes as there is room for, and returns their number.
    pub fn feed(&mut self, bytes: &[u8]) -> usize {
        let taken = self.input.feed(bytes);
        let in_head =
            matches!(self.state, State::FirstByte | State::StatusLine(_) | State::Fields(..));
        if in_head {
            self.fed = self.fed.saturating_add(taken);
            let shown = taken.min(SHOWN_HEAD_BYTES.saturating_sub(self.head_bytes.len()));
            self.head_bytes.extend_from_slice(bytes.get(..shown).unwrap_or_default());
        }
        taken
    }

    /// Ends the input, with the reason.
    pub fn end(&mut self, end: End) {
        self.input.end(end);
    }

    /// Returns true if anything was received.
    pub fn is_empty(&self) -> bool {
        self.fed == 0
    }

    /// Parses the bytes fed so far.
    pub fn advance(&mut self) -> Progress {
        match self.step() {
            None => Progress::More,
            Some(Ok(progress)) => progress,
            Some(Err(error)) => {
                self.state = State::Failed(error.clone());
                Progress::Failed(error)
            }
        }
    }

    fn step(&mut self) -> Option<Result<Progress, ResponseError>> {
        loop {
            match &mut self.state {
                State::FirstByte => {
                    if self.input.unused().is_empty() {
                        return Some(Err(match self.input.failed_read()? {
                            Failure::Eof => ResponseError::head(b"EOF".to_vec()),
                            Failure::Text(text) => ResponseError::head(text),
                        }));
                    }
                    self.state = State::StatusLine(Line::default());
                }
                State::StatusLine(line) => {
                    let line = match line.read(&mut self.input, None)? {
                        Ok(line) => line,
                        Err(failure) => return Some(Err(ResponseError::broken(failure))),
                    };
                    match status_line(&line) {
                        Ok((status, version)) => {
                            let fields = Box::default();
                            self.state = State::Fields(status, version, fields, Headers::default());
                        }
                        Err(text) => return Some(Err(ResponseError::broken(text))),
                    }
                }
                State::Fields(status, version, fields, headers) => {
                    match fields.next(&mut self.input)? {
                        Ok(Field::Header { name, value }) => headers.add(&name, value),
                        Ok(Field::End) => {
                            let head = headers.head(*status, *version);
                            match head {
                                // Anything of the class but the change of protocols only announces.
                                Ok(head)
                                    if (100..200).contains(&head.status) && head.status != 101 =>
                                {
                                    self.state = State::StatusLine(Line::default());
                                }
                                Ok(head) => self.head_is_complete(head),
                                Err(text) => return Some(Err(ResponseError::broken(text))),
                            }
                        }
                        Err(failure) => return Some(Err(ResponseError::broken(failure))),
                    }
                }
                State::Head(_) => return Some(Ok(Progress::Head)),
                State::Body(body) => match body.read(&mut self.input)? {
                    Ok(()) => {
                        self.body = std::mem::take(&mut body.bytes);
                        self.state = State::Ended;
                    }
                    Err(failure) => {
                        self.body = std::mem::take(&mut body.bytes);
                        let text = failure.unexpected();
                        return Some(Err(ResponseError { text, in_body: true }));
                    }
                },
                State::Ended => return Some(Ok(Progress::End)),
                State::Failed(error) => return Some(Err(error.clone())),
            }
        }
    }

    fn head_is_complete(&mut self, head: Head) {
        let length = self.fed.saturating_sub(self.input.unused().len());
        self.head_bytes.truncate(length);
        self.input.lift_limit();
        self.state = State::Head(head);
    }

    /// Returns the head, until its body is read.
    pub fn head(&self) -> Option<&Head> {
        match &self.state {
            State::Head(head) => Some(head),
            _ => None,
        }
    }

    /// Goes on to the body, of which at most `limit` bytes are read.
    pub fn read_body(&mut self, limit: usize) {
        if let State::Head(head) = &self.state {
            self.state = State::Body(Body::new(head.framing, limit));
        }
    }

    /// Returns the bytes of the head that are shown: all, unless it is unusually long.
    pub fn head_bytes(&self) -> &[u8] {
        &self.head_bytes
    }

    /// Returns the received part of the body.
    pub fn body(&self) -> &[u8] {
        match &self.state {
            State::Body(body) => &body.bytes,
            _ => &self.body,
        }
    }
}

impl ResponseError {
    /// Nothing came.
    fn head(text: Vec<u8>) -> Self {
        Self { text, in_body: false }
    }

    /// Something came, but no head.
    fn broken(failure: Failure) -> Self {
        let prefix = b"net/http: HTTP/1.x transport connection broken: ";
        Self::head([prefix.as_slice(), &failure.unexpected()].concat())
    }
}

impl Head {
    /// Returns how much of the body Go reads before it follows this redirect: a short body makes a
    /// connection fit for another request, if it were kept. What goes wrong then does not matter.
    pub fn slurped(&self) -> usize {
        match self.framing {
            Framing::None => 0,
            Framing::Length(length) => slurped_bytes(Some(length)),
            Framing::Chunked | Framing::UntilClose => slurped_bytes(None),
        }
    }
}

/// Returns how much of the body of a redirect is read before it is followed, by its length, if
/// it is known.
pub fn slurped_bytes(length: Option<u64>) -> usize {
    match length {
        Some(length) if length > SLURPED_BYTES as u64 => 0,
        _ => SLURPED_BYTES,
    }
}

/// Reads a status line.
fn status_line(line: &[u8]) -> Result<(u16, Version), Failure> {
    let refuse = |what: &str, text: &[u8]| {
        Failure::text(format!("malformed HTTP {what} {}", quote_bytes(text)))
    };
    let (version, status) = cut(line, b' ').ok_or_else(|| refuse("response", line))?;
    let spaces = status.iter().take_while(|byte| **byte == b' ').count();
    let status = status.get(spaces..).unwrap_or_default();
    let code = cut(status, b' ').map_or(status, |(code, _)| code);
    let number = std::str::from_utf8(code).ok().filter(|code| code.len() == 3);
    let number = number.and_then(|code| atoi(code).ok()).and_then(|code| u16::try_from(code).ok());
    let number = number.ok_or_else(|| refuse("status code", code))?;
    match version {
        [b'H', b'T', b'T', b'P', b'/', major @ b'0'..=b'9', b'.', minor @ b'0'..=b'9'] => {
            Ok((number, Version { major: major - b'0', minor: minor - b'0' }))
        }
        _ => Err(refuse("version", version)),
    }
}

fn cut(text: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| *byte == separator)?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// Returns a list as Go's `%q` shows it: `["2" "3"]`.
fn quote_list(list: &[Vec<u8>]) -> String {
    let quoted: Vec<String> = list.iter().map(|bytes| quote_bytes(bytes)).collect();
    format!("[{}]", quoted.join(" "))
}

impl Headers {
    fn add(&mut self, name: &[u8], value: Vec<u8>) {
        match name.to_ascii_lowercase().as_slice() {
            b"content-length" => self.content_length.push(value),
            b"transfer-encoding" => self.transfer_encoding.push(value),
            b"trailer" => self.trailer.push(value),
            b"connection" => self.connection.push(value),
            b"upgrade" => {
                self.upgrade.get_or_insert(value);
            }
            b"location" => {
                self.location.get_or_insert(value);
            }
            _ => {}
        }
    }

    /// Puts the head together (`readTransfer`).
    fn head(&mut self, status: u16, version: Version) -> Result<Head, Failure> {
        let chunked = self.is_chunked(version)?;
        let length = self.length()?;
        let has_body = !matches!(status, 100..200 | 204 | 304);
        if chunked {
            self.check_trailer()?;
        }
        let framing = match length {
            // After a change of protocols, everything is the other protocol's.
            _ if status == 101 && self.switches_protocols() => Framing::UntilClose,
            _ if !has_body => Framing::None,
            _ if chunked => Framing::Chunked,
            Some(length) => Framing::Length(length),
            None => Framing::UntilClose,
        };
        Ok(Head { status, location: self.location.take(), framing })
    }

    /// Returns true if the body comes in chunks (`parseTransferEncoding`).
    fn is_chunked(&self, version: Version) -> Result<bool, Failure> {
        // HTTP/0.0 counts as 1.1.
        let knows_chunks = match version {
            Version { major: 0, minor } => minor == 0,
            Version { major: 1, minor } => minor >= 1,
            Version { .. } => true,
        };
        match self.transfer_encoding.as_slice() {
            [] => Ok(false),
            _ if !knows_chunks => Ok(false),
            [only] if only.eq_ignore_ascii_case(b"chunked") => Ok(true),
            [only] => {
                Err(Failure::text(format!("unsupported transfer encoding: {}", quote_bytes(only))))
            }
            several => {
                Err(Failure::text(format!("too many transfer encodings: {}", quote_list(several))))
            }
        }
    }

    /// Reads the length (`fixLength`, `parseContentLength`).
    fn length(&self) -> Result<Option<u64>, Failure> {
        let Some(first) = self.content_length.first() else { return Ok(None) };
        let first = first.trim_ascii();
        if self.content_length.iter().any(|other| other.trim_ascii() != first) {
            return Err(Failure::text(format!(
                "http: message cannot contain multiple Content-Length headers; got {}",
                quote_list(&self.content_length)
            )));
        }
        if first.is_empty() {
            return Err(Failure::text("invalid empty Content-Length \"\""));
        }
        let digits = std::str::from_utf8(first).ok();
        let digits = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let number = digits.and_then(|text| text.parse::<i64>().ok());
        match number.and_then(|number| u64::try_from(number).ok()) {
            Some(number) => Ok(Some(number)),
            None => Err(Failure::text(format!("bad Content-Length {}", quote_bytes(first)))),
        }
    }

    /// Refuses headers that must not come after the body (`fixTrailer`).
    fn check_trailer(&self) -> Result<(), Failure> {
        for name in self.trailer.iter().flat_map(|value| value.split(|byte| *byte == b',')) {
            for refused in ["Transfer-Encoding", "Trailer", "Content-Length"] {
                if name.trim_ascii().eq_ignore_ascii_case(refused.as_bytes()) {
                    return Err(Failure::text(format!("bad trailer key \"{refused}\"")));
                }
            }
        }
        Ok(())
    }

    fn switches_protocols(&self) -> bool {
        let has_token = |value: &Vec<u8>| {
            value
                .split(|byte| *byte == b',')
                .any(|token| token.trim_ascii().eq_ignore_ascii_case(b"upgrade"))
        };
        self.upgrade.as_ref().is_some_and(|upgrade| !upgrade.is_empty())
            && self.connection.iter().any(has_token)
    }
}

#[cfg(test)]
mod tests;
