//! Messages that a server has compressed with gzip (RFC 1952), as Go's `compress/gzip` reads them for grpc-go
//! (`encoding/gzip` and `decompress` of `rpc_util.go`).

use super::{GrpcCode, GrpcStatus};
use kq_facts::checkpoint::go_dump::crc32;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

const HEADER_CRC: u8 = 1 << 1;
const EXTRA: u8 = 1 << 2;
const NAME: u8 = 1 << 3;
const COMMENT: u8 = 1 << 4;

/// The longest name or comment that Go reads, with the zero that ends it.
const LONGEST_TEXT: usize = 512;

const INVALID_HEADER: &str = "gzip: invalid header";
const CUT_OFF: &str = "unexpected EOF";

/// Returns what was compressed, of which there may be so many bytes.
/// Fails with the status with which grpc-go ends the call.
pub(super) fn gunzip(message: &[u8], most: usize) -> Result<Vec<u8>, GrpcStatus> {
    let internal = |what: &str, why: &str| {
        GrpcStatus::of(GrpcCode::Internal, format!("grpc: failed to {what}: {why}"))
    };
    let mut rest = message;
    // What has no header is not begun with; everything after it is found while reading.
    skip_header(&mut rest).map_err(|why| internal("decompress the message", why))?;
    let mut plain = Vec::new();
    loop {
        let begin = plain.len();
        inflate(&mut rest, &mut plain, most).map_err(|error| match error {
            InflateError::TooLarge => {
                let text =
                    format!("grpc: received message after decompression larger than max {most}");
                GrpcStatus::of(GrpcCode::ResourceExhausted, text)
            }
            InflateError::Broken(why) => internal("read decompressed data", &why),
        })?;
        let reading = |why: &str| internal("read decompressed data", why);
        let (sum, length) = (take(&mut rest, 4), take(&mut rest, 4));
        let (Some(sum), Some(length)) = (sum, length) else { return Err(reading(CUT_OFF)) };
        let member = plain.get(begin..).unwrap_or_default();
        let expected = [crc32(member).to_le_bytes(), (member.len() as u32).to_le_bytes()].concat();
        if [sum, length].concat() != expected {
            return Err(reading("gzip: invalid checksum"));
        }
        // More of the kind may follow.
        if rest.is_empty() {
            return Ok(plain);
        }
        skip_header(&mut rest).map_err(reading)?;
    }
}

/// Skips the header of a member.
fn skip_header(rest: &mut &[u8]) -> Result<(), &'static str> {
    let whole = *rest;
    let head = match take(rest, 10) {
        Some(head) => head,
        None if whole.is_empty() => return Err("EOF"),
        None => return Err(CUT_OFF),
    };
    let [0x1f, 0x8b, 8, flags, ..] = *head else { return Err(INVALID_HEADER) };
    if flags & EXTRA != 0 {
        let length = take(rest, 2).and_then(|length| length.try_into().ok()).ok_or(CUT_OFF)?;
        take(rest, usize::from(u16::from_le_bytes(length))).ok_or(CUT_OFF)?;
    }
    for text in [NAME, COMMENT] {
        if flags & text == 0 {
            continue;
        }
        let length = rest.iter().take(LONGEST_TEXT).position(|byte| *byte == 0);
        let length = length.ok_or(match rest.len() < LONGEST_TEXT {
            true => CUT_OFF,
            false => INVALID_HEADER,
        })?;
        take(rest, length + 1).ok_or(CUT_OFF)?;
    }
    if flags & HEADER_CRC != 0 {
        let header = whole.get(..whole.len() - rest.len()).unwrap_or_default();
        let sum = take(rest, 2).ok_or(CUT_OFF)?;
        if sum != crc32(header).to_le_bytes().get(..2).unwrap_or_default() {
            return Err(INVALID_HEADER);
        }
    }
    Ok(())
}

fn take<'m>(rest: &mut &'m [u8], count: usize) -> Option<&'m [u8]> {
    let (taken, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(taken)
}

enum InflateError {
    TooLarge,
    Broken(String),
}

/// Appends what a deflated stream holds; no more memory is taken than there may be bytes.
fn inflate(rest: &mut &[u8], plain: &mut Vec<u8>, most: usize) -> Result<(), InflateError> {
    let mut state = DecompressorOxide::new();
    let (begin, length) = (plain.len(), rest.len());
    // A stream refers to itself alone.
    let mut out = vec![0; length.saturating_mul(2).max(64).min(most + 1)];
    let mut written = 0;
    loop {
        let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (status, read, more) = decompress(&mut state, rest, &mut out, written, flags);
        *rest = rest.get(read..).unwrap_or_default();
        written += more;
        if begin + written > most {
            return Err(InflateError::TooLarge);
        }
        match status {
            TINFLStatus::Done => {
                plain.extend(out.iter().take(written));
                return Ok(());
            }
            TINFLStatus::HasMoreOutput => {
                let size = out.len().saturating_mul(2).min(most + 1);
                out.resize(size, 0);
            }
            TINFLStatus::NeedsMoreInput | TINFLStatus::FailedCannotMakeProgress => {
                return Err(InflateError::Broken(CUT_OFF.to_owned()));
            }
            _ => {
                let offset = length - rest.len();
                let why = format!("flate: corrupt input before offset {offset}");
                return Err(InflateError::Broken(why));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

    /// Compresses without compression: one stored block for each 65,535 bytes.
    fn stored(plain: &[u8]) -> Vec<u8> {
        let mut out = HEAD.to_vec();
        let parts: Vec<&[u8]> = plain.chunks(65_535).collect();
        for (at, part) in parts.iter().enumerate() {
            out.push(u8::from(at + 1 == parts.len()));
            out.extend((part.len() as u16).to_le_bytes());
            out.extend((!(part.len() as u16)).to_le_bytes());
            out.extend(*part);
        }
        out.extend(crc32(plain).to_le_bytes());
        out.extend((plain.len() as u32).to_le_bytes());
        out
    }

    #[test]
    fn members_are_read_one_after_the_other() {
        assert_eq!(gunzip(&stored(b"abc"), 3), Ok(b"abc".to_vec()));
        let two = [stored(b"abc"), stored(b"def")].concat();
        assert_eq!(gunzip(&two, 6), Ok(b"abcdef".to_vec()));
        let mut named = stored(b"abc");
        named[3] = NAME | EXTRA;
        named.splice(10..10, [2, 0, 1, 1, b'n', 0]);
        assert_eq!(gunzip(&named, 3), Ok(b"abc".to_vec()));
        // Written by zlib: an answer of the health service.
        let deflated =
            [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0xe3, 0x60, 4, 0, 0x61, 0xa8, 7, 0xfe, 2, 0, 0, 0];
        assert_eq!(gunzip(&deflated, 2), Ok(vec![8, 1]));
    }

    #[test]
    fn what_is_broken_ends_in_the_words_of_go() {
        let good = stored(b"abc");
        let changed = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        let read = "grpc: failed to read decompressed data: ";
        let begun = "grpc: failed to decompress the message: ";
        for (name, bytes, expected) in [
            ("empty", Vec::new(), format!("{begun}EOF")),
            ("a short head", good[..5].to_vec(), format!("{begun}unexpected EOF")),
            ("no gzip", changed(0, b'x'), format!("{begun}gzip: invalid header")),
            ("cut off", good[..16].to_vec(), format!("{read}unexpected EOF")),
            ("no sum", good[..20].to_vec(), format!("{read}unexpected EOF")),
            ("changed", changed(16, b'x'), format!("{read}gzip: invalid checksum")),
            (
                "followed",
                [&good[..], b"0123456789"].concat(),
                format!("{read}gzip: invalid header"),
            ),
        ] {
            let status = gunzip(&bytes, 100).expect_err(name);
            assert_eq!(String::from_utf8_lossy(&status.message), expected, "{name}");
        }
        let status = gunzip(&changed(10, 7), 100).expect_err("no such block");
        let text = String::from_utf8_lossy(&status.message).into_owned();
        assert!(text.starts_with(&format!("{read}flate: corrupt input before offset ")), "{text}");
    }

    #[test]
    fn no_more_is_unpacked_than_may_be() {
        let large = stored(&vec![0; 200_000]);
        assert!(gunzip(&large, 200_000).is_ok());
        let status = gunzip(&large, 199_999).expect_err("too large");
        let expected = "grpc: received message after decompression larger than max 199999";
        assert_eq!(String::from_utf8_lossy(&status.message), expected);
        assert_eq!(status.code, GrpcCode::ResourceExhausted as u32);
    }
}
