//! Facts in the frames of a server that the HTTP/2 library does not report: whether the connection began with
//! its settings, why it went away, why a stream was reset.

/// The largest frame that grpc-go reads (`http2MaxFrameLen`).
const MAX_FRAME_BYTES: usize = 16_384;

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GO_AWAY: u8 = 7;
const CONTINUATION: u8 = 9;

/// SETTINGS_HEADER_TABLE_SIZE.
const HEADER_TABLE_SIZE: [u8; 2] = [0, 1];

const ACK: u8 = 1;
const END_STREAM: u8 = 1;

/// What the bytes of a server were, up to now.
#[derive(Clone, Debug, Default)]
pub struct FrameScan {
    /// What the first frame was.
    pub preface: Preface,
    /// What the last frame of that kind said.
    pub go_away: Option<GoAway>,
    /// The code with which each stream was reset, the last one.
    pub reset: Option<(u32, u32)>,
    /// The stream on which headers came again and did not end it.
    pub headers_again: Option<u32>,
    /// How many bytes of headers came, as they are sent.
    pub header_bytes: u64,
    /// The size of the table of headers that the server allows, where it says one.
    pub header_table: Option<u32>,
    /// A frame was larger than may be.
    pub too_large: bool,
    head: Vec<u8>,
    payload: Vec<u8>,
    payload_left: usize,
    in_payload: bool,
    headers_of: Option<u32>,
}

/// What the first frame of a server was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preface {
    /// It has not come.
    #[default]
    Awaited,
    /// Its settings, as must be.
    Settings,
    /// Something else.
    Other,
}

/// The GOAWAY frame of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoAway {
    /// The last stream that it cares for.
    pub last_stream: u32,
    pub code: u32,
    /// In its own words.
    pub debug: Vec<u8>,
}

impl FrameScan {
    /// Reads on.
    pub fn read(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.too_large && self.preface != Preface::Other {
            if self.in_payload {
                let (part, rest) = bytes.split_at(self.payload_left.min(bytes.len()));
                self.payload.extend_from_slice(part);
                self.payload_left -= part.len();
                bytes = rest;
            } else {
                let (part, rest) = bytes.split_at((9 - self.head.len()).min(bytes.len()));
                self.head.extend_from_slice(part);
                bytes = rest;
                if self.head.len() == 9 {
                    self.begin();
                }
            }
            if self.in_payload && self.payload_left == 0 {
                self.end();
            }
        }
    }

    /// Returns the text of Go's reader where the bytes end here.
    pub fn text_at_end(&self) -> &'static str {
        // It sees an end before the first byte of a header or of what follows it as a plain one.
        let between = if self.in_payload { self.payload.is_empty() } else { self.head.is_empty() };
        if between { "EOF" } else { "unexpected EOF" }
    }

    fn number(&self, at: usize) -> u32 {
        number(&self.head, at)
    }

    fn begin(&mut self) {
        self.payload_left = usize::try_from(number(&self.head, 0) >> 8).unwrap_or(usize::MAX);
        self.payload.clear();
        if self.payload_left > MAX_FRAME_BYTES {
            self.too_large = true;
            if self.preface == Preface::Awaited {
                self.preface = Preface::Other;
            }
            return;
        }
        self.in_payload = true;
    }

    fn end(&mut self) {
        let kind = self.head.get(3).copied().unwrap_or_default();
        let flags = self.head.get(4).copied().unwrap_or_default();
        let stream = self.number(5) & 0x7fff_ffff;
        let length = self.payload.len() as u64;
        if self.preface == Preface::Awaited {
            let good = kind == SETTINGS
                && stream == 0
                && self.payload.len().is_multiple_of(6)
                && (flags & ACK == 0 || self.payload.is_empty());
            self.preface = if good { Preface::Settings } else { Preface::Other };
        }
        match kind {
            HEADERS => {
                self.header_bytes = self.header_bytes.saturating_add(length);
                if self.headers_of == Some(stream) && flags & END_STREAM == 0 {
                    self.headers_again = Some(stream);
                }
                self.headers_of = Some(stream);
            }
            SETTINGS if flags & ACK == 0 => {
                let settings = self.payload.chunks_exact(6);
                let mut sizes = settings.filter(|setting| setting.starts_with(&HEADER_TABLE_SIZE));
                self.header_table = sizes.next_back().map(|of| number(of, 2)).or(self.header_table);
            }
            CONTINUATION => self.header_bytes = self.header_bytes.saturating_add(length),
            RST_STREAM if length >= 4 => self.reset = Some((stream, number(&self.payload, 0))),
            GO_AWAY if length >= 8 => {
                self.go_away = Some(GoAway {
                    last_stream: number(&self.payload, 0) & 0x7fff_ffff,
                    code: number(&self.payload, 4),
                    debug: self.payload.get(8..).unwrap_or_default().to_vec(),
                });
            }
            _ => {}
        }
        self.head.clear();
        self.payload.clear();
        self.in_payload = false;
    }
}

/// Returns the four bytes at a place as a number.
fn number(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    four.map_or(0, |four| u32::from_be_bytes(*four))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, payload.len() as u8, kind, flags, 0, 0, 0, stream];
        bytes.extend_from_slice(payload);
        bytes
    }

    #[test]
    fn frames_are_seen_however_they_are_cut() {
        let mut bytes = frame(4, 0, 0, &[0, 3, 0, 0, 0, 100]);
        bytes.extend(frame(4, 1, 0, &[]));
        bytes.extend(frame(1, 4, 1, &[0x88]));
        bytes.extend(frame(3, 0, 1, &[0, 0, 0, 8]));
        bytes.extend(frame(7, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 11, b'c', b'a', b'l', b'm']));
        for size in [1, 2, 7, 9, 100] {
            let mut scan = FrameScan::default();
            bytes.chunks(size).for_each(|part| scan.read(part));
            assert_eq!(scan.preface, Preface::Settings, "{size}");
            assert_eq!(scan.reset, Some((1, 8)), "{size}");
            let go_away = GoAway { last_stream: 1, code: 11, debug: b"calm".to_vec() };
            assert_eq!(scan.go_away, Some(go_away), "{size}");
            assert_eq!(scan.headers_again, None, "{size}");
            assert_eq!(scan.text_at_end(), "EOF", "{size}");
        }
    }

    #[test]
    fn only_settings_begin_a_connection() {
        for (name, bytes, expected) in [
            ("nothing", vec![], Preface::Awaited),
            ("cut", vec![0, 0, 0, 4], Preface::Awaited),
            ("empty settings", frame(4, 0, 0, &[]), Preface::Settings),
            ("settings of a stream", frame(4, 0, 1, &[]), Preface::Other),
            ("settings of odd length", frame(4, 0, 0, &[1]), Preface::Other),
            ("a ping", frame(6, 0, 0, &[0; 8]), Preface::Other),
            ("HTTP/1.1", b"HTTP/1.1 400 Bad Request\r\n".to_vec(), Preface::Other),
        ] {
            let mut scan = FrameScan::default();
            scan.read(&bytes);
            assert_eq!(scan.preface, expected, "{name}");
        }
    }

    #[test]
    fn ends_are_distinguished() {
        for (name, bytes, expected) in [
            ("between frames", frame(4, 0, 0, &[]), "EOF"),
            ("in a header", vec![0, 0], "unexpected EOF"),
            ("after a header", vec![0, 0, 8, 6, 0, 0, 0, 0, 0], "EOF"),
            ("in a payload", vec![0, 0, 8, 6, 0, 0, 0, 0, 0, 1], "unexpected EOF"),
        ] {
            let mut scan = FrameScan::default();
            scan.read(&bytes);
            assert_eq!(scan.text_at_end(), expected, "{name}");
        }
    }

    #[test]
    fn headers_in_the_middle_are_seen() {
        let mut scan = FrameScan::default();
        for (flags, again) in [(4, None), (4, Some(1))] {
            scan.read(&frame(4, 0, 0, &[]));
            scan.read(&frame(1, flags, 1, &[0x88]));
            assert_eq!(scan.headers_again, again);
        }
        let mut scan = FrameScan::default();
        scan.read(&frame(4, 0, 0, &[]));
        scan.read(&frame(1, 4, 1, &[0x88]));
        scan.read(&frame(1, 5, 1, &[0x88]));
        assert_eq!(scan.headers_again, None, "trailers");
    }
}
