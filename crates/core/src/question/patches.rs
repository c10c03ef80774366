//! What answers say of faults that a patch release ends.

use kq_answer::{Assumption, Basis};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::patch_fixes::{PatchFault, PatchNote};
use kq_output::units::first_few;

/// As many names as a reader can use.
const NAMED: usize = 5;

/// Says of a kubelet that it has a fault, or is taken for one without, which concerns these pods.
pub fn assume_patch(note: &PatchNote, names: &[String], basis: &mut Basis) {
    let mut assumption = Assumption::from(*note);
    if !names.is_empty() {
        assumption.text = format!("{}: {}", assumption.text, first_few(NAMED, names));
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
