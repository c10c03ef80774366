//! Findings in files that a kubelet would write, and in files that no kubelet writes.

mod cpu;
mod damage;
mod devices;
mod memory;

use super::{Content, StateFileContent, Verification, VerifyContext};
use crate::facts::checkpoint::StateFile;
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
