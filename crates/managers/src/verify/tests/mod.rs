//! Findings in files that a kubelet would write, and in files that no kubelet writes.

mod cpu;
mod devices;
mod memory;

use super::{Content, StateFileContent, Verification, VerifyContext};
use crate::verify::damage::{Damage, FlippedBit};
use kq_facts::checkpoint::StateFile;
use std::borrow::Cow;

/// Judges the content of one file.
fn judge(file: StateFile, bytes: &[u8], known: &VerifyContext<'_>) -> Verification {
    let file = StateFileContent {
        file: Some(file),
        path: "state".to_owned(),
        folder: "/var/lib/kubelet".to_owned(),
        content: Content::Bytes(Cow::Borrowed(bytes)),
    };
    Verification::of(&[file], known)
}

/// Returns the verdict, and the findings: severity and rule, in their order.
fn told(answer: &Verification) -> String {
    let mut told = answer.files[0].verdict.to_string();
    for finding in &answer.findings {
        told += &format!(", {} {}", finding.severity, finding.id);
    }
    told
}

/// Returns the findings of one file: `PLACE: FOUND`.
fn places(answer: &Verification) -> Vec<String> {
    answer
        .findings
        .iter()
        .map(|it| format!("{}: {}", it.subject.place().unwrap_or_default(), it.found))
        .collect()
}

/// What the kubelet wrote.
const SOUND: &[u8] = br#"{"policyName":"none","defaultCpuSet":"","checksum":1353318690}"#;

/// Returns the damage of a CPU file, whose only right content is the sound one.
fn damage(bytes: &[u8], error: Option<&str>) -> Damage {
    Damage::of(StateFile::Cpu, bytes, error.map(str::to_owned), |bytes| bytes == SOUND)
}

fn with(at: usize, byte: u8) -> Vec<u8> {
    let mut bytes = SOUND.to_vec();
    bytes[at] = byte;
    bytes
}

#[test]
fn each_kind_is_told_from_the_others() {
    let size = SOUND.len();
    let zeros = [&SOUND[..10], &[0; 5]].concat();
    let memory: &[u8] = br#"{"policyName":"None","machineState":{},"entries":{},"checksum":1}"#;
    let edited: &[u8] = br#"{"policyName":"static","defaultCpuSet":"","checksum":1353318690}"#;
    let rows: [(&[u8], Damage); 13] = [
        (b"", Damage::Empty),
        (b" \n", Damage::Empty),
        (&[0; 4], Damage::Zeros { offset: 0, size: 4 }),
        (&zeros, Damage::Zeros { offset: 10, size: 15 }),
        (&SOUND[..1], Damage::Cut { offset: 1 }),
        (&SOUND[..size - 1], Damage::Cut { offset: size - 1 }),
        // A bit in a text, and one in what makes it JSON.
        (&with(15, b'o'), Damage::Bit(FlippedBit { offset: 15, is: b'o', was: b'n' })),
        (&with(1, b'#'), Damage::Bit(FlippedBit { offset: 1, is: b'#', was: b'"' })),
        (&with(15, 0xff), Damage::Edited),
        (memory, Damage::AnotherFile { file: "memory_manager_state" }),
        (b"{\xff}", Damage::Binary { offset: 1 }),
        (b"{]}", Damage::Syntax { offset: 1 }),
        (edited, Damage::Edited),
    ];
    for (bytes, expected) in rows {
        assert_eq!(damage(bytes, None), expected, "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn what_has_another_type_is_named() {
    let told = damage(br#"{"policyName":1,"defaultCpuSet":""}"#, Some("policyName is a number"));
    assert_eq!(told, Damage::of_type("policyName is a number"));
    let text = "JSON with something else in it than belongs there: policyName is a number";
    assert_eq!(told.to_string(), text);
}

#[test]
fn bits_of_a_large_file_are_not_tried_one_by_one() {
    let right = format!(r#"{{"defaultCpuSet":"{}"}}"#, "0".repeat(4_000)).into_bytes();
    let mut bytes = right.clone();
    bytes[3_000] ^= 1;
    let tried = std::cell::Cell::new(0);
    let told = Damage::of(StateFile::Cpu, &bytes, None, |bytes| {
        tried.set(tried.get() + 1);
        bytes == right
    });
    assert_eq!((told, tried.get()), (Damage::Edited, 0));
}

#[test]
fn a_large_file_is_not_read_again_for_each_bit() {
    let mut bytes = format!(r#"{{"defaultCpuSet":"{}"}}"#, "0".repeat(2_000_000)).into_bytes();
    bytes.truncate(1_500_000);
    let cut = bytes.len();
    let told = Damage::of(StateFile::Cpu, &bytes, None, |_| panic!("it is read again"));
    assert_eq!(told, Damage::Cut { offset: cut });
}
