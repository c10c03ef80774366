//! A plugin's answer to Allocate for one container: `ContainerAllocateResponse` of the device
//! plugin API v1beta1, in protobuf.
//!
//! The wire format of protobuf, as strict as Go's library is: what the kubelet takes for a plugin's
//! answer and what it refuses (`protowire` and `impl/decode.go` of `google.golang.org/protobuf`).
//! `gogo` has what kubelets before 1.34 take.

use super::gogo;
use kq_k8s::version::KubeletVersion;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The effects of devices on a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerAllocateResponse {
    /// Variables.
    pub envs: BTreeMap<String, String>,
    pub mounts: Vec<Mount>,
    /// Device nodes.
    pub devices: Vec<DeviceSpec>,
    /// Annotations for the runtime.
    pub annotations: BTreeMap<String, String>,
    /// Fully qualified CDI names: `vendor.com/class=name`.
    pub cdi_devices: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Mount {
    pub container_path: String,
    /// The path on the node.
    pub host_path: String,
    /// It cannot be written.
    pub read_only: bool,
}

/// A device node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DeviceSpec {
    pub container_path: String,
    /// The path on the node.
    pub host_path: String,
    /// Some of `r`, `w`, `m`.
    pub permissions: String,
}

/// Why bytes are no such message: a lowercase fragment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(pub String);

impl ContainerAllocateResponse {
    /// Decodes a message as a version of the kubelet does.
    pub fn decode_by(message: &[u8], version: KubeletVersion) -> Result<Self, DecodeError> {
        match version.reads_plugins_by_gogo() {
            true => gogo::decode(message),
            false => Self::decode(message),
        }
    }

    /// Decodes a message. A field that is not known, or has another type than it should, is skipped.
    /// Fails where the kubelet cannot decode it either.
    pub fn decode(message: &[u8]) -> Result<Self, DecodeError> {
        let mut answer = Self::default();
        fields(message, |number, value| {
            let Value::Bytes(value) = value else { return Ok(()) };
            match number {
                1 => insert(&mut answer.envs, value)?,
                2 => answer.mounts.push(mount(value)?),
                3 => answer.devices.push(device(value)?),
                4 => insert(&mut answer.annotations, value)?,
                5 => answer.cdi_devices.push(cdi_device(value)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(answer)
    }

    /// Encodes the message: fields by their numbers, maps by their keys.
    pub fn encode(&self) -> Vec<u8> {
        let mut message = Vec::new();
        let map = |number: u8, map: &BTreeMap<String, String>, message: &mut Vec<u8>| {
            for (key, value) in map {
                // Go writes both of an entry, even when they are empty.
                let mut entry = Vec::new();
                push_bytes(1, key.as_bytes(), &mut entry);
                push_bytes(2, value.as_bytes(), &mut entry);
                push_bytes(number, &entry, message);
            }
        };
        map(1, &self.envs, &mut message);
        for mount in &self.mounts {
            let mut inner = Vec::new();
            push_text(1, &mount.container_path, &mut inner);
            push_text(2, &mount.host_path, &mut inner);
            if mount.read_only {
                inner.extend([3 << 3, 1]);
            }
            push_bytes(2, &inner, &mut message);
        }
        for device in &self.devices {
            let mut inner = Vec::new();
            push_text(1, &device.container_path, &mut inner);
            push_text(2, &device.host_path, &mut inner);
            push_text(3, &device.permissions, &mut inner);
            push_bytes(3, &inner, &mut message);
        }
        map(4, &self.annotations, &mut message);
        for name in &self.cdi_devices {
            let mut inner = Vec::new();
            push_text(1, name, &mut inner);
            push_bytes(5, &inner, &mut message);
        }
        message
    }
}

/// Adds an entry of a map; of equal keys the last one counts.
fn insert(map: &mut BTreeMap<String, String>, entry: &[u8]) -> Result<(), DecodeError> {
    let (mut key, mut value) = (String::new(), String::new());
    fields(entry, |number, field| {
        match (number, field) {
            (1, Value::Bytes(bytes)) => key = text(bytes)?,
            (2, Value::Bytes(bytes)) => value = text(bytes)?,
            _ => {}
        }
        Ok(())
    })?;
    map.insert(key, value);
    Ok(())
}

fn mount(message: &[u8]) -> Result<Mount, DecodeError> {
    let mut mount = Mount::default();
    fields(message, |number, field| {
        match (number, field) {
            (1, Value::Bytes(bytes)) => mount.container_path = text(bytes)?,
            (2, Value::Bytes(bytes)) => mount.host_path = text(bytes)?,
            (3, Value::Varint(value)) => mount.read_only = value != 0,
            _ => {}
        }
        Ok(())
    })?;
    Ok(mount)
}

fn device(message: &[u8]) -> Result<DeviceSpec, DecodeError> {
    let mut device = DeviceSpec::default();
    fields(message, |number, field| {
        match (number, field) {
            (1, Value::Bytes(bytes)) => device.container_path = text(bytes)?,
            (2, Value::Bytes(bytes)) => device.host_path = text(bytes)?,
            (3, Value::Bytes(bytes)) => device.permissions = text(bytes)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(device)
}

fn cdi_device(message: &[u8]) -> Result<String, DecodeError> {
    let mut name = String::new();
    fields(message, |number, field| {
        if let (1, Value::Bytes(bytes)) = (number, field) {
            name = text(bytes)?;
        }
        Ok(())
    })?;
    Ok(name)
}

/// Adds a text, unless it is empty: proto3 leaves that out.
fn push_text(number: u8, text: &str, message: &mut Vec<u8>) {
    if !text.is_empty() {
        push_bytes(number, text.as_bytes(), message);
    }
}

fn push_bytes(number: u8, bytes: &[u8], message: &mut Vec<u8>) {
    message.push(number << 3 | 2);
    let mut length = bytes.len();
    while length >= 0x80 {
        message.push(length as u8 | 0x80);
        length >>= 7;
    }
    message.push(length as u8);
    message.extend_from_slice(bytes);
}

/// The largest number of a field.
const MAX_FIELD: u64 = (1 << 29) - 1;

/// The largest number of a field within a group, whose contents are ignored.
const MAX_FIELD_IN_GROUP: u64 = i32::MAX as u64;

/// The largest nesting of groups.
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

/// Skips a value other than a group.
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An answer with something in each field.
    pub(in super::super) fn sound_answer() -> ContainerAllocateResponse {
        let text = |text: &str| text.to_owned();
        ContainerAllocateResponse {
            envs: [(text("B"), text("")), (text("A"), "x".repeat(300))].into(),
            mounts: vec![
                Mount { container_path: text("/a"), host_path: text("/b"), read_only: true },
                Mount::default(),
            ],
            devices: vec![DeviceSpec {
                container_path: text("/dev/a"),
                host_path: text("/dev/b"),
                permissions: text("mrw"),
            }],
            annotations: [(text(""), text("é"))].into(),
            cdi_devices: vec![text("vendor.com/class=1"), text("")],
        }
    }

    fn decoded(message: &[u8]) -> Result<ContainerAllocateResponse, String> {
        ContainerAllocateResponse::decode(message).map_err(|error| error.to_string())
    }

    #[test]
    fn what_the_kubelet_cannot_decode_is_refused() {
        let deep = |depth: usize| [vec![0x7b; depth], vec![0x7c; depth]].concat();
        let cases: &[(&str, &[u8], &str)] = &[
            ("cut tag", b"\x80", "it is cut"),
            ("cut length", b"\x0a", "it is cut"),
            ("cut bytes", b"\x0a\x05A", "it is cut"),
            ("cut number", b"\x78\xff", "it is cut"),
            ("cut fixed", b"\x7d\0\0\0", "it is cut"),
            ("length of 64 bits", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "it is cut"),
            ("field 0", b"\0\x05", "field number 0"),
            ("field beyond", b"\x80\x80\x80\x80\x10\0", "field number 536870912"),
            (
                "number too long",
                b"\x78\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
                "a number of more than 64 bits",
            ),
            ("wire type 6", b"\x7e", "wire type 6"),
            ("end without begin", b"\x7c", "a group ends that has not begun"),
            ("end of another group", b"\x7b\x74", "a group ends that has not begun"),
            ("group without end", b"\x7b\x08\x01", "it is cut"),
            ("key that is no text", b"\x0a\x03\x0a\x01\xff", "a text that is not UTF-8"),
            ("name that is no text", b"\x2a\x03\x0a\x01\xff", "a text that is not UTF-8"),
            ("group end in an entry", b"\x0a\x01\x0c", "a group ends that has not begun"),
            ("groups too deep", &deep(10_002), "groups that are nested too deep"),
        ];
        for (name, message, reason) in cases {
            assert_eq!(decoded(message), Err((*reason).to_owned()), "{name}");
        }
        assert_eq!(decoded(&deep(10_001)), Ok(ContainerAllocateResponse::default()));
    }

    #[test]
    fn what_is_not_known_is_skipped() {
        let empty = ContainerAllocateResponse::default();
        let cases: &[(&str, &[u8])] = &[
            ("nothing", b""),
            ("another wire type", b"\x08\x05"),
            ("unknown field", b"\x7a\x02hi"),
            ("fixed", b"\x79\0\0\0\0\0\0\0\0\x7d\0\0\0\0"),
            ("group", b"\x7b\x08\x01\x73\x74\x7c"),
            ("known number as a group", b"\x0b\x0c"),
            ("number of ten bytes", b"\x78\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        ];
        for (name, message) in cases {
            assert_eq!(decoded(message), Ok(empty.clone()), "{name}");
        }
        let long_tag = decoded(b"\x8a\x80\x00\x03\x0a\x01A").expect("it decodes");
        assert_eq!(long_tag.envs, [("A".to_owned(), String::new())].into());
        let twice =
            decoded(b"\x0a\x06\x12\x011\x0a\x01A\x0a\x06\x0a\x01A\x12\x012").expect("it decodes");
        assert_eq!(twice.envs, [("A".to_owned(), "2".to_owned())].into());
        let mount = decoded(b"\x12\x08\x18\x02\x0a\x01a\x0a\x01b").expect("it decodes").mounts;
        assert_eq!(
            mount,
            [Mount { container_path: "b".into(), host_path: "".into(), read_only: true }]
        );
    }

    #[test]
    fn what_is_encoded_decodes_to_the_same() {
        let answer = sound_answer();
        assert_eq!(ContainerAllocateResponse::decode(&answer.encode()), Ok(answer));
        assert!(ContainerAllocateResponse::default().encode().is_empty());
    }
}
