//! What h2 sends, with the header blocks of Go's client in the place of its own: other order, other indexes.

use crate::edge::http2::{
    CONTINUATION, END_HEADERS, Encoder, FRAME_HEAD_BYTES, HEADERS, PREFACE_BYTES, frame_head,
    push_frame,
};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::http2::Decoder;

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
}
