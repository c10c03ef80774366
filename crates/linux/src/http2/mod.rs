//! The parts of HTTP/2 that h2 does not expose: header blocks (HPACK, RFC 7541) as Go's client writes them, and as any
//! client may write them to a server that must read more than h2 does.
//!
//! h2 writes the pseudo-headers in an order of its own, and refuses an `:authority` that is not one of RFC 3986,
//! of which gRPC is full.

#[cfg(any(test, cri))]
mod decode;
mod hpack;
mod huffman;

#[cfg(any(test, cri))]
pub use decode::Decoder;
#[cfg(cri)]
pub use decode::plain_block;
pub use hpack::Encoder;
#[cfg(cri)]
pub use hpack::Field;

/// The type of a frame with headers.
pub const HEADERS: u8 = 1;

/// The type of a frame that continues headers.
pub const CONTINUATION: u8 = 9;

/// The flag of the last frame of a block of headers.
pub const END_HEADERS: u8 = 4;

/// Length, type, flags and stream: what comes before the payload of a frame.
pub const FRAME_HEAD_BYTES: usize = 9;

/// What a client says first (RFC 9113, 3.4), in bytes.
pub const PREFACE_BYTES: usize = 24;

/// Returns the length of the payload, the type, the flags and the stream that the head of a frame names.
pub fn frame_head(head: [u8; FRAME_HEAD_BYTES]) -> (usize, u8, u8, u32) {
    let [a, b, c, kind, flags, stream @ ..] = head;
    let length = usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap_or(usize::MAX);
    (length, kind, flags, u32::from_be_bytes(stream) & 0x7fff_ffff)
}

/// Appends a frame; its payload is below 16 MiB.
pub fn push_frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    out.extend(length.iter().skip(1));
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
}
