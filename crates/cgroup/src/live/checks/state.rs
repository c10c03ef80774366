//! Swap, values that drift, and the kubelet's own files.

use super::rule::{CheckId, CheckRule, Swap};
use super::{Check, CheckInput};
use crate::files::CgroupVersion;
use crate::live::difference::Verdict;
use kq_facts::host::Text;
use kq_k8s::feature_gates::Gate;
use serde_json::Value;

/// Checks that a machine with swap has a kubelet that starts there.
///
/// | swap | failSwapOn                 | |
/// |------|----------------------------|---------|
/// | none | any                        | OK      |
/// | some | false                      | OK, FAIL with LimitedSwap on cgroup v1 |
/// | some | true                       | FAIL    |
/// | some | unknown                    | UNKNOWN |
/// | ?    | any                        | UNKNOWN |
pub fn swap(examined: CheckInput<'_>) -> Check {
    let node = examined.node;
    let source = examined.said_by("swapCapacity");
    let Some((swap_bytes, source)) = node.swap_capacity.zip(source) else {
        let reason = examined.snapshot.host.swap_bytes().err();
        let reason = reason.map_or("not looked for".to_owned(), |reason| reason.to_string());
        return CheckRule::failed(CheckId::Swap, reason);
    };
    if swap_bytes <= 0 {
        return CheckRule::NoSwap { swap_bytes: 0 }.sourced(source);
    }
    let fail_swap_on = node.config.fail_swap_on;
    // A value other than the default comes from a source.
    if fail_swap_on && !examined.knows_config() {
        return CheckRule::SwapWithoutConfig { swap_bytes }.sourced(source);
    }
    let source = format!("{source}, {}", examined.config_source_or("--set"));
    if fail_swap_on {
        return CheckRule::SwapRefused { swap_bytes, fail_swap_on }.sourced(source);
    }
    let swap_behavior = match node.config.swap_behavior.as_str() {
        "" => "NoSwap",
        behavior => behavior,
    };
    let swap = Swap { swap_bytes, fail_swap_on, swap_behavior: swap_behavior.to_owned() };
    let is_on = node.rules.gates.enabled(Gate::NodeSwap);
    let rule = match (swap_behavior, node.cgroup_version) {
        ("LimitedSwap", CgroupVersion::V1) if is_on => CheckRule::LimitedSwapOnV1(swap),
        _ => CheckRule::SwapAllowed(swap),
    };
    rule.sourced(source)
}

/// Checks that the kernel has what the kubelet and the runtime write.
pub fn values(examined: CheckInput<'_>) -> Check {
    let verdicts = match examined.compared {
        Ok(summary) => summary.clone(),
        Err(reason) => return CheckRule::failed(CheckId::CgroupValues, reason.clone()),
    };
    // Before a kubelet has run, all is missing and nothing drifts.
    if examined.tree().is_ok_and(|tree| examined.present(tree).is_empty()) {
        return CheckRule::NoRoot { check: CheckId::CgroupValues }.sourced(examined.tree_source());
    }
    let of = |verdict: Verdict| verdicts.get(&verdict.to_string()).copied().unwrap_or(0);
    let drifting: usize =
        Verdict::ALL.into_iter().filter(|verdict| verdict.is_drift()).map(of).sum();
    let rule = if drifting > 0 {
        CheckRule::ValuesDrift { verdicts, drifting }
    } else if of(Verdict::Unknown) > 0 {
        CheckRule::ValuesUnknown { verdicts }
    } else {
        CheckRule::ValuesAsPlanned { verdicts }
    };
    rule.sourced(examined.tree_source())
}

/// Checks the state files. With a damaged one the kubelet does not start, or loses the allocations of CPUs and devices.
pub fn files(examined: CheckInput<'_>) -> Check {
    let Some(state) = &examined.snapshot.state_files else {
        return CheckRule::FilesNotLookedFor.into();
    };
    let (mut files, mut unreadable, mut broken) = (0, Vec::new(), Vec::new());
    let is_unread = |name: &str| examined.unread_files.iter().any(|it| it.name() == name);
    for (name, text) in state.files.iter().filter(|(name, _)| !is_unread(name)) {
        match text {
            Text::Absent => {}
            Text::Unreadable(reason) => unreadable.push(format!("{name}: {reason}")),
            Text::Read(text) => match serde_json::from_str::<Value>(text) {
                // What a kubelet makes of null is what it had before it read the file: its start decides.
                Ok(Value::Object(_) | Value::Null) => files += 1,
                Ok(_) => broken.push(format!("{name}: no JSON object")),
                Err(_) if text.trim().is_empty() => broken.push(format!("{name}: empty")),
                Err(error) => broken.push(format!("{name}: {error}")),
            },
        }
    }
    let devices = examined.snapshot.devices.as_ref();
    let checkpoint = devices.and_then(|devices| devices.checkpoint.value());
    let damage = checkpoint.and_then(|checkpoint| checkpoint.error.clone());
    let rule = if examined.start.refuses_state_file {
        CheckRule::FilesRefused
    } else if !broken.is_empty() {
        CheckRule::FilesBroken { files: broken }
    } else if let Some(reason) = damage {
        CheckRule::CheckpointDamaged { reason }
    } else if !unreadable.is_empty() {
        CheckRule::FilesUnreadable { files: unreadable }
    } else if files == 0 {
        CheckRule::NoFiles
    } else {
        CheckRule::FilesRead { files }
    };
    rule.sourced(&state.folder)
}

impl CheckInput<'_> {
    /// Returns where the configuration is from; what stands in for it where it is not known.
    fn config_source_or(&self, otherwise: &str) -> String {
        if self.knows_config() { self.config_source() } else { otherwise.to_owned() }
    }
}
