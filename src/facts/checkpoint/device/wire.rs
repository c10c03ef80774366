//! The wire format of protobuf, as strict as Go's library is: what the kubelet takes for a plugin's
//! answer and what it refuses (`protowire` and `impl/decode.go` of `google.golang.org/protobuf`).

use super::answer::DecodeError;

/// The largest number of a field.
const MAX_FIELD: u64 = (1 << 29) - 1;

/// The largest number of a field within a group, which nobody looks into.
const MAX_FIELD_IN_GROUP: u64 = i32::MAX as u64;

/// How deep groups may be nested.
const MAX_GROUPS: usize = 10_001;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A number.
    Varint(u64),
    /// A text, bytes, or a message.
    Bytes(&'a [u8]),
    /// Something that no field of ours has.
    Other,
}

/// Goes through the fields of a message.
pub(super) fn fields<'a>(
    message: &'a [u8],
    mut field: impl FnMut(u64, Value<'a>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let mut rest = message;
    while !rest.is_empty() {
        let (number, kind) = tag(&mut rest, MAX_FIELD)?;
        let value = match kind {
            0 => Value::Varint(varint(&mut rest)?),
            2 => Value::Bytes(bytes(&mut rest)?),
            3 => {
                skip_group(&mut rest, number)?;
                Value::Other
            }
            kind => {
                skip_plain(&mut rest, kind)?;
                Value::Other
            }
        };
        field(number, value)?;
    }
    Ok(())
}

/// Returns a text, which must be UTF-8.
pub(super) fn text(bytes: &[u8]) -> Result<String, DecodeError> {
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned).map_err(|_| refuse("a text that is not UTF-8"))
}

fn refuse(reason: &str) -> DecodeError {
    DecodeError(reason.to_owned())
}

fn tag(rest: &mut &[u8], max: u64) -> Result<(u64, u8), DecodeError> {
    let tag = varint(rest)?;
    let number = tag >> 3;
    if number == 0 || number > max {
        return Err(DecodeError(format!("field number {number}")));
    }
    Ok((number, (tag & 7) as u8))
}

fn varint(rest: &mut &[u8]) -> Result<u64, DecodeError> {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let (&byte, after) = rest.split_first().ok_or_else(|| refuse("it is cut"))?;
        *rest = after;
        if shift == 63 && byte > 1 {
            return Err(refuse("a number of more than 64 bits"));
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(refuse("a number of more than 64 bits"))
}

fn bytes<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let length = varint(rest)?;
    take(rest, length)
}

fn take<'a>(rest: &mut &'a [u8], length: u64) -> Result<&'a [u8], DecodeError> {
    let length = usize::try_from(length).ok().filter(|length| *length <= rest.len());
    let (taken, after) = rest.split_at(length.ok_or_else(|| refuse("it is cut"))?);
    *rest = after;
    Ok(taken)
}

/// Skips a value that is no group.
fn skip_plain(rest: &mut &[u8], kind: u8) -> Result<(), DecodeError> {
    match kind {
        0 => varint(rest).map(drop),
        1 => take(rest, 8).map(drop),
        2 => bytes(rest).map(drop),
        4 => Err(refuse("a group ends that has not begun")),
        5 => take(rest, 4).map(drop),
        kind => Err(DecodeError(format!("wire type {kind}"))),
    }
}

/// Skips a group up to its end, whatever is in it.
fn skip_group(rest: &mut &[u8], number: u64) -> Result<(), DecodeError> {
    let mut open = vec![number];
    while let Some(&innermost) = open.last() {
        let (number, kind) = tag(rest, MAX_FIELD_IN_GROUP)?;
        match kind {
            3 if open.len() == MAX_GROUPS => return Err(refuse("groups that are nested too deep")),
            3 => open.push(number),
            4 if number == innermost => drop(open.pop()),
            kind => skip_plain(rest, kind)?,
        }
    }
    Ok(())
}
