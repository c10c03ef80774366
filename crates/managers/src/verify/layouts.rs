//! Sound files of a kubelet with other gates, or of another version: they were not edited.

use super::file::VerifyContext;
use super::report::{FileVerdict, NextStart, Verdict};
use kq_k8s::feature_gates::gate_state;
use kq_k8s::go_json::{Kind, Reader};
use kq_k8s::version::KubeletVersion;
use std::collections::BTreeMap;
use std::fmt::Display;

/// Says of a file, which a kubelet refuses, that one with the gate PodLevelResourceManagers wrote it in this layout.
/// Where the gates are not known, the verdict is not known either.
pub(super) fn written_with_gate(
    verdict: &mut FileVerdict,
    layout: Option<impl Display>,
    known: &VerifyContext<'_>,
) {
    let Some(layout) = layout else { return };
    verdict.layout = Some(layout.to_string());
    verdict.derivation.push(format!(
        "read as {layout}, as with the gate PodLevelResourceManagers: the checksum is right"
    ));
    let has_gate =
        |version: KubeletVersion| gate_state("PodLevelResourceManagers", version).is_some();
    if known.version.is_none_or(has_gate) {
        verdict.at_next_start = NextStart::DependsOnGate.into();
    }
    if !known.knows_gates {
        verdict.verdict = Verdict::Unknown;
        verdict.kubelet_error = None;
    }
}

/// Returns true for the layout that kubelets since 1.37 write: its fields, and a text of them with a checksum of its own.
pub(super) fn is_newer(bytes: &[u8]) -> bool {
    let fields = kinds(bytes);
    fields.get("data") == Some(&Kind::String) && fields.contains_key("datachecksum")
}

/// Returns true for the layout of claims that kubelets up to 1.30 wrote: without a text in the text.
pub(super) fn is_older_claims(bytes: &[u8]) -> bool {
    let fields = kinds(bytes);
    fields.get("entries") == Some(&Kind::Array) && !fields.contains_key("data")
}

/// Says that a newer kubelet wrote a file, which a known one refuses.
pub(super) fn newer(verdict: &mut FileVerdict, known: &VerifyContext<'_>) {
    verdict.layout = Some("newer".to_owned());
    verdict.derivation.push("has the fields data and dataChecksum, as since 1.37".to_owned());
    if !known.knows_version {
        verdict.verdict = Verdict::Unknown;
        verdict.kubelet_error = None;
        verdict.at_next_start = NextStart::NewerLayout.into();
    }
}

/// Returns the kinds of a file's fields.
fn kinds(bytes: &[u8]) -> BTreeMap<String, Kind> {
    let mut fields = BTreeMap::new();
    let mut reader = Reader::new(bytes);
    if !matches!(reader.kind(), Ok(Kind::Object)) {
        return fields;
    }
    let read = reader.object(|reader, key| {
        let kind = reader.kind()?;
        if fields.len() < 16 {
            fields.insert(key.to_ascii_lowercase(), kind);
        }
        reader.skip()
    });
    // What is not whole has no layout.
    if read.is_ok() { fields } else { BTreeMap::new() }
}
