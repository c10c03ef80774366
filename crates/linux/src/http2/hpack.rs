//! Blocks of header fields (RFC 7541), written as Go's `hpack.Encoder` writes them.

use super::huffman;
use std::collections::VecDeque;

/// A header field: its name and its value.
pub type Field = (Vec<u8>, Vec<u8>);

/// The size of the dynamic table that both sides begin with, and the largest that is read.
pub(super) const TABLE_BYTES: usize = 4_096;

/// The overhead of an entry in the dynamic table.
const ENTRY_BYTES: usize = 32;

/// The fields that both sides know.
#[rustfmt::skip]
pub(super) const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// The fields of one side of a connection that were sent before, the newest first.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) fields: VecDeque<Field>,
    pub(super) bytes: usize,
    most: usize,
}

impl Table {
    pub(super) fn new() -> Self {
        Self { fields: VecDeque::new(), bytes: 0, most: TABLE_BYTES }
    }

    pub(super) fn add(&mut self, field: Field) {
        self.bytes += size(&field.0, &field.1);
        self.fields.push_front(field);
        self.evict();
    }

    pub(super) fn resize(&mut self, most: usize) {
        self.most = most;
        self.evict();
    }

    fn evict(&mut self) {
        while self.bytes > self.most {
            let Some((name, value)) = self.fields.pop_back() else { return };
            self.bytes -= size(&name, &value);
        }
    }
}

pub(super) fn size(name: &[u8], value: &[u8]) -> usize {
    name.len() + value.len() + ENTRY_BYTES
}

/// Writes header blocks byte for byte as Go's client does (`hpack/encode.go` of golang.org/x/net).
#[derive(Debug)]
pub struct Encoder {
    pub(super) table: Table,
    /// The table became smaller, and the peer must be informed.
    shrunk: bool,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { table: Table::new(), shrunk: false }
    }
}

impl Encoder {
    /// Heeds the size of the table that the other side allows (`SetMaxDynamicTableSizeLimit`).
    pub fn limit(&mut self, bytes: usize) {
        if bytes < self.table.most {
            self.table.resize(bytes);
            self.shrunk = true;
        }
    }

    /// Returns the block of fields, in their order.
    pub fn block(&mut self, fields: &[(&str, String)]) -> Vec<u8> {
        let mut out = Vec::new();
        if std::mem::take(&mut self.shrunk) {
            push_number(&mut out, 0x20, 5, self.table.most);
        }
        for (name, value) in fields {
            self.push_field(&mut out, name.as_bytes(), value.as_bytes());
        }
        out
    }

    fn push_field(&mut self, out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
        let (index, whole) = self.find(name, value);
        if whole {
            return push_number(out, 0x80, 7, index);
        }
        // What does not fit in the table would only empty it.
        let (mark, bits) = match size(name, value) <= self.table.most {
            true => (0x40, 6),
            false => (0, 4),
        };
        if bits == 6 {
            self.table.add((name.to_vec(), value.to_vec()));
        }
        match index {
            0 => {
                out.push(mark);
                push_text(out, name);
            }
            index => push_number(out, mark, bits, index),
        }
        push_text(out, value);
    }

    /// Returns the index of a field, or of its name alone; 0: neither is known (`searchTable`).
    fn find(&self, name: &[u8], value: &[u8]) -> (usize, bool) {
        let known =
            STATIC.iter().position(|(of, text)| (of.as_bytes(), text.as_bytes()) == (name, value));
        if let Some(at) = known {
            return (at + 1, true);
        }
        let named = STATIC.iter().rposition(|(of, _)| of.as_bytes() == name).map_or(0, |at| at + 1);
        let added = |is: &dyn Fn(&Field) -> bool| {
            self.table.fields.iter().position(is).map(|at| at + 1 + STATIC.len())
        };
        match added(&|(of, text)| of == name && text == value) {
            Some(at) => (at, true),
            None if named == 0 => (added(&|(of, _)| of == name).unwrap_or(0), false),
            None => (named, false),
        }
    }
}

/// Appends a number behind a mark that leaves so many bits of its byte (RFC 7541, 5.1).
pub(super) fn push_number(out: &mut Vec<u8>, mark: u8, bits: u32, number: usize) {
    let most = (1_usize << bits) - 1;
    if number < most {
        return out.push(mark | number as u8);
    }
    out.push(mark | most as u8);
    let mut rest = number - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends a text, in the Huffman code where that is shorter.
fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    match huffman::encoded_len(text) {
        length if length < text.len() => {
            push_number(out, 0x80, 7, length);
            huffman::encode(text, out);
        }
        _ => {
            push_number(out, 0, 7, text.len());
            out.extend(text);
        }
    }
}
