//! A plugin's answer as kubelets before 1.34 decode it.
//!
//! The code that gogo made of the device plugin API (`ContainerAllocateResponse.Unmarshal` and `skipApi` in
//! `staging/src/k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1/api.pb.go`), read in 1.32.5, the same in 1.33.5; pinned by
//! `tests/vectors/checkpoint.jsonl`. It differs from Google's library, see `answer`:
//!
//! | bytes                                        | gogo                       | Google's library |
//! |----------------------------------------------|----------------------------|------------------|
//! | a text that is not UTF-8                     | taken                      | refused          |
//! | a known field with another wire type         | refused                    | skipped          |
//! | the same in an entry of a map                | taken for a text           | skipped          |
//! | a text in an entry that is longer than it    | read beyond the entry      | refused          |
//! | a number of more than 64 bits                | its highest bits are lost  | refused          |
//! | the number of a field                        | its lowest 32 bits, signed | up to 2^29 - 1   |
//! | the end of another group within a group      | taken                      | refused          |

use super::answer::{ContainerAllocateResponse, DecodeError, DeviceSpec, Mount};
use kq_k8s::go_text::characters;
use std::collections::BTreeMap;

/// Decodes a message.
pub(super) fn decode(message: &[u8]) -> Result<ContainerAllocateResponse, DecodeError> {
    let mut answer = ContainerAllocateResponse::default();
    let mut beyond = 0;
    fields(message, |number, field| {
        match number {
            1 => entry(&mut answer.envs, field, &mut beyond)?,
            2 => answer.mounts.push(mount(field.bytes()?)?),
            3 => answer.devices.push(device(field.bytes()?)?),
            4 => entry(&mut answer.annotations, field, &mut beyond)?,
            5 => answer.cdi_devices.push(cdi_device(field.bytes()?)?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(answer)
}

fn mount(message: &[u8]) -> Result<Mount, DecodeError> {
    let mut mount = Mount::default();
    fields(message, |number, field| {
        match number {
            1 => mount.container_path = characters(field.bytes()?),
            2 => mount.host_path = characters(field.bytes()?),
            3 => mount.read_only = field.number()? != 0,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(mount)
}

fn device(message: &[u8]) -> Result<DeviceSpec, DecodeError> {
    let mut device = DeviceSpec::default();
    fields(message, |number, field| {
        match number {
            1 => device.container_path = characters(field.bytes()?),
            2 => device.host_path = characters(field.bytes()?),
            3 => device.permissions = characters(field.bytes()?),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(device)
}

fn cdi_device(message: &[u8]) -> Result<String, DecodeError> {
    let mut name = String::new();
    fields(message, |number, field| {
        if number == 1 {
            name = characters(field.bytes()?);
        }
        Ok(number == 1)
    })?;
    Ok(name)
}

/// The most bytes that entries may take from what follows them: with many such entries, a small message would become a
/// large answer.
const MOST_BEYOND: usize = 1 << 20;

/// Adds an entry of a map. Its texts are looked for up to the end of the message around it. `beyond`: the bytes that entries took
/// from what follows them.
fn entry(
    map: &mut BTreeMap<String, String>,
    field: &mut Field<'_, '_>,
    beyond: &mut usize,
) -> Result<(), DecodeError> {
    field.is_of_type(2)?;
    let length = length(field.rest)?;
    let message = *field.rest;
    let after = message.get(length..).ok_or_else(cut)?;
    let (mut key, mut value) = (String::new(), String::new());
    let mut rest = message;
    while message.len() - rest.len() < length {
        let start = rest;
        let tag = varint(&mut rest)?;
        match number_of(tag) {
            1 => key = characters(bytes(&mut rest)?),
            2 => value = characters(bytes(&mut rest)?),
            _ => {
                rest = start;
                skip(&mut rest)?;
                if message.len() - rest.len() > length {
                    return Err(cut());
                }
            }
        }
    }
    *beyond += (message.len() - rest.len()).saturating_sub(length);
    if *beyond > MOST_BEYOND {
        return Err(refuse("the entries of its maps overlap by more than 1 MiB"));
    }
    map.insert(key, value);
    *field.rest = after;
    Ok(())
}

/// A field whose tag was read.
struct Field<'f, 'm> {
    kind: u8,
    /// What follows the tag.
    rest: &'f mut &'m [u8],
}

impl<'m> Field<'_, 'm> {
    fn is_of_type(&self, kind: u8) -> Result<(), DecodeError> {
        match self.kind == kind {
            true => Ok(()),
            false => Err(DecodeError(format!("wire type {} of a field", self.kind))),
        }
    }

    fn bytes(&mut self) -> Result<&'m [u8], DecodeError> {
        self.is_of_type(2)?;
        bytes(self.rest)
    }

    fn number(&mut self) -> Result<u64, DecodeError> {
        self.is_of_type(0)?;
        varint(self.rest)
    }
}

/// Goes through the fields of a message. `known` takes a field that it knows; others are skipped.
fn fields<'m>(
    message: &'m [u8],
    mut known: impl FnMut(i32, &mut Field<'_, 'm>) -> Result<bool, DecodeError>,
) -> Result<(), DecodeError> {
    let mut rest = message;
    while !rest.is_empty() {
        let start = rest;
        let tag = varint(&mut rest)?;
        let (number, kind) = (number_of(tag), (tag & 7) as u8);
        if kind == 4 {
            return Err(refuse("a group ends that has not begun"));
        }
        if number <= 0 {
            return Err(DecodeError(format!("field number {number}")));
        }
        if !known(number, &mut Field { kind, rest: &mut rest })? {
            rest = start;
            skip(&mut rest)?;
        }
    }
    Ok(())
}

/// Returns the number of a field, as `int32(wire >> 3)`.
fn number_of(tag: u64) -> i32 {
    ((tag >> 3) as u32).cast_signed()
}

/// Skips a field with its tag (`skipApi`).
fn skip(rest: &mut &[u8]) -> Result<(), DecodeError> {
    let mut depth = 0_usize;
    loop {
        let kind = varint(rest)? & 7;
        match kind {
            0 => drop(varint(rest)?),
            1 => drop(take(rest, 8)?),
            2 => drop(bytes(rest)?),
            3 => depth += 1,
            4 => {
                depth = depth
                    .checked_sub(1)
                    .ok_or_else(|| refuse("a group ends that has not begun"))?;
            }
            5 => drop(take(rest, 4)?),
            kind => return Err(DecodeError(format!("wire type {kind}"))),
        }
        if depth == 0 {
            return Ok(());
        }
    }
}

fn bytes<'m>(rest: &mut &'m [u8]) -> Result<&'m [u8], DecodeError> {
    let length = length(rest)?;
    take(rest, length)
}

fn length(rest: &mut &[u8]) -> Result<usize, DecodeError> {
    usize::try_from(varint(rest)?).map_err(|_| cut())
}

fn take<'m>(rest: &mut &'m [u8], length: usize) -> Result<&'m [u8], DecodeError> {
    let (taken, after) = rest.split_at_checked(length).ok_or_else(cut)?;
    *rest = after;
    Ok(taken)
}

/// Reads a number of at most ten bytes. What is beyond 64 bits is lost.
fn varint(rest: &mut &[u8]) -> Result<u64, DecodeError> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first().ok_or_else(cut)?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(refuse("a number of more than 64 bits"))
}

fn cut() -> DecodeError {
    refuse("it is cut")
}

fn refuse(reason: &str) -> DecodeError {
    DecodeError(reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::answer::tests::sound_answer;
    use super::*;

    #[test]
    fn entries_that_overlap_are_bounded() {
        // Each entry is four bytes long and has much of the message for its key.
        let mut message = Vec::new();
        let size = 400_000_usize;
        while message.len() < size {
            let rest = size - message.len();
            let length =
                [0x80 | (rest & 0x7f) as u8, 0x80 | (rest >> 7 & 0x7f) as u8, (rest >> 14) as u8];
            message.extend([0x0a, 0x04, 0x0a]);
            message.extend(length);
        }
        message.resize(2 * size, b'x');
        let refused = decode(&message).expect_err("it would be 13 GB");
        assert_eq!(refused, refuse("the entries of its maps overlap by more than 1 MiB"));
    }

    #[test]
    fn a_sound_answer_is_the_same_by_both_libraries() {
        let answer = sound_answer();
        assert_eq!(decode(&answer.encode()), Ok(answer));
    }

    #[test]
    fn odd_answers_are_read_as_gogo_reads_them() {
        let env = |key: &str, value: &str| ContainerAllocateResponse {
            envs: [(key.to_owned(), value.to_owned())].into(),
            ..Default::default()
        };
        let name = |name: &str| ContainerAllocateResponse {
            cdi_devices: vec![name.to_owned()],
            ..Default::default()
        };
        let empty = ContainerAllocateResponse::default();
        let cases: &[(&str, &[u8], Option<ContainerAllocateResponse>)] = &[
            ("nothing", b"", Some(empty.clone())),
            ("no UTF-8", b"\x2a\x03\x0a\x01\xff", Some(name("\u{fffd}"))),
            ("another wire type", b"\x08\x05", None),
            ("another wire type inside", b"\x2a\x02\x08\x05", None),
            ("another wire type in an entry", b"\x0a\x02\x08\x00", Some(env("", ""))),
            ("text beyond its entry", b"\x0a\x02\x0a\x01\x78\x00", Some(env("x", ""))),
            ("unknown field", b"\x7a\x02hi", Some(empty.clone())),
            ("end of another group", b"\x7b\x74", Some(empty.clone())),
            ("end without begin", b"\x7c", None),
            ("group without end", b"\x7b\x08\x01", None),
            ("field 0", b"\0\x05", None),
            ("field beyond", b"\x80\x80\x80\x80\x10\0", Some(empty.clone())),
            ("number with lost bits", b"\x78\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", Some(empty)),
            ("number too long", b"\x78\xff\xff\xff\xff\xff\xff\xff\xff\xff\x80", None),
            ("cut", b"\x0a\x05A", None),
            ("wire type 6", b"\x7e", None),
        ];
        for (name, message, expected) in cases {
            assert_eq!(&decode(message).ok(), expected, "{name}");
        }
    }
}
