//! What answers say of faults that a patch release ends.

use kq_answer::{Assumption, Basis};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::patch_fixes::{PatchFault, PatchNote};

/// As many names as a reader can use.
const NAMED: usize = 5;

/// Says of a kubelet that it has a fault, or is taken for one without, which concerns these pods.
pub fn assume_patch(note: &PatchNote, names: &[String], basis: &mut Basis) {
    let mut assumption = Assumption::from(*note);
    if !names.is_empty() {
        let more = match names.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
        assumption.text = format!("{}: {}{more}", assumption.text, named.join(", "));
    }
    if !basis.assumptions.contains(&assumption) {
        basis.assume(assumption);
    }
}

/// Says the same where the kubelet has the fault, or its patch is not known, and it concerns pods.
pub fn assume_fault(
    rules: &KubeletRules,
    fault: PatchFault,
    concerned: impl FnOnce() -> Vec<String>,
    basis: &mut Basis,
) {
    if let Some(note) = rules.patch_note(fault) {
        let names = concerned();
        if !names.is_empty() {
            assume_patch(&note, &names, basis);
        }
    }
}
