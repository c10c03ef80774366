//! The messages of `grpc.health.v1.Health/Check` on the wire: the five bytes before each of gRPC, and the
//! Protocol Buffers in them, read as Go's `protowire` does.

use kq_k8s::go_text::quote;

/// The path of the method.
pub const CHECK_PATH: &str = "/grpc.health.v1.Health/Check";

/// How deep groups may be within each other (`protowire.DefaultRecursionLimit`).
const MAX_DEPTH: usize = 10_000;

/// Returns the request for a service, ready to be sent.
pub fn encode_request(service: &str) -> Vec<u8> {
    let mut message = Vec::new();
    if !service.is_empty() {
        message.push(1 << 3 | 2);
        push_varint(service.len() as u64, &mut message);
        message.extend_from_slice(service.as_bytes());
    }
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut framed = vec![0];
    framed.extend_from_slice(&length.to_be_bytes());
    framed.append(&mut message);
    framed
}

fn push_varint(mut value: u64, into: &mut Vec<u8>) {
    while value >= 0x80 {
        into.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

/// Returns the serving status of an answer; `None`: it is no message.
pub fn decode_response(message: &[u8]) -> Option<i32> {
    let mut rest = message;
    let mut status = 0;
    while !rest.is_empty() {
        let (number, kind) = take_tag(&mut rest)?;
        match (number, kind) {
            // Go takes the lower half of what is too large for the enumeration.
            (1, 0) => status = take_varint(&mut rest)? as u32 as i32,
            (number, kind) => skip(number, kind, &mut rest)?,
        }
    }
    Some(status)
}

/// Returns the number and the type of the next field.
fn take_tag(rest: &mut &[u8]) -> Option<(u32, u8)> {
    let tag = take_varint(rest)?;
    let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number))?;
    Some((number, (tag & 7) as u8))
}

fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for at in 0..10 {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        if at == 9 && *byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn take(count: u64, rest: &mut &[u8]) -> Option<()> {
    *rest = rest.get(usize::try_from(count).ok()?..)?;
    Some(())
}

/// Leaves out the value of a field, with all that is in it where it is a group.
fn skip(number: u32, kind: u8, rest: &mut &[u8]) -> Option<()> {
    let mut groups: Vec<u32> = Vec::new();
    let (mut number, mut kind) = (number, kind);
    loop {
        match kind {
            0 => take_varint(rest).map(drop)?,
            1 => take(8, rest)?,
            2 => {
                let length = take_varint(rest)?;
                take(length, rest)?;
            }
            3 if groups.len() < MAX_DEPTH => groups.push(number),
            4 if groups.pop() == Some(number) => {}
            5 => take(4, rest)?,
            _ => return None,
        }
        if groups.is_empty() {
            return Some(());
        }
        (number, kind) = take_tag(rest)?;
    }
}

/// Returns a serving status as Go's `%q` shows it.
pub(super) fn serving_status(status: i32) -> String {
    match status {
        0 => quote("UNKNOWN"),
        1 => quote("SERVING"),
        2 => quote("NOT_SERVING"),
        3 => quote("SERVICE_UNKNOWN"),
        other => quote(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_name_the_service() {
        assert_eq!(encode_request(""), [0, 0, 0, 0, 0]);
        assert_eq!(encode_request("ab"), [0, 0, 0, 0, 4, 10, 2, b'a', b'b']);
        let long = encode_request(&"x".repeat(300));
        assert_eq!(long.get(..8), Some(&[0, 0, 0, 1, 47, 10, 0xac, 2][..]));
    }

    #[test]
    fn answers_are_read_as_go_reads_them() {
        let minus_one = [8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        let too_long = [8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2];
        let rows: [(&str, &[u8], Option<i32>); 20] = [
            ("nothing", &[], Some(0)),
            ("serving", &[8, 1], Some(1)),
            ("the last counts", &[8, 1, 8, 2], Some(2)),
            ("negative", &minus_one, Some(-1)),
            ("too large for the type", &[8, 129, 128, 128, 128, 16], Some(1)),
            ("a varint too long", &too_long, None),
            ("cut in a varint", &[8, 129], None),
            ("cut before the value", &[8], None),
            ("unknown varint", &[16, 5, 8, 1], Some(1)),
            ("unknown fixed64", &[17, 1, 2, 3, 4, 5, 6, 7, 8, 8, 1], Some(1)),
            ("unknown bytes", &[18, 2, 8, 2, 8, 1], Some(1)),
            ("unknown fixed32", &[21, 1, 2, 3, 4, 8, 1], Some(1)),
            ("the field with another type", &[10, 1, 2, 8, 1], Some(1)),
            ("a group", &[19, 8, 2, 27, 28, 20, 8, 1], Some(1)),
            ("a group without end", &[19, 8, 2], None),
            ("an end without group", &[20], None),
            ("another end", &[19, 28], None),
            ("bytes that are not there", &[18, 9, 1], None),
            ("an unknown type", &[22, 1], None),
            ("field 0", &[0, 1], None),
        ];
        for (name, message, expected) in rows {
            assert_eq!(decode_response(message), expected, "{name}");
        }
        assert_eq!(decode_response(&[19; 20_000]), None, "groups without end");
    }
}
