//! Swap, values that drift, and the kubelet's own files.

use super::{Check, CheckInput, GIVE_CONFIG, NO_CONFIG, NO_ROOT, OTHER_ROOT, READ_TREE, first_of};
use super::{fail, ok, unknown, warn};
use crate::files::CgroupVersion;
use crate::live::diff_view::counts;
use crate::live::difference::Verdict;
use kq_facts::host::Text;
use kq_k8s::feature_gates::Gate;
use kq_output::units;
use kq_output::units::counted;
use serde_json::{Value, json};

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
    const NAME: &str = "swap";
    let node = examined.node;
    let source = examined.said_by("swapCapacity");
    let Some((bytes, source)) = node.swap_capacity.zip(source) else {
        let reason = examined.snapshot.host.swap_bytes().err();
        let reason = reason.map_or("not looked for".to_owned(), |reason| reason.to_string());
        return unknown(NAME, reason, "set it with --swap-capacity AMOUNT");
    };
    if bytes <= 0 {
        return ok(NAME, "no swap").with(json!({ "swapBytes": 0 })).from(source);
    }
    let amount = format!("{} of swap", units::bytes(u64::try_from(bytes).unwrap_or(u64::MAX)));
    // A value other than the default comes from a source.
    if node.config.fail_swap_on && !examined.knows_config() {
        return unknown(
            NAME,
            format!("{amount}; {NO_CONFIG}"),
            format!("{GIVE_CONFIG}, or use --set failSwapOn=false"),
        )
        .from(source);
    }
    let source = format!("{source}, {}", examined.config_source_or("--set"));
    let facts = json!({ "swapBytes": bytes, "failSwapOn": node.config.fail_swap_on });
    if node.config.fail_swap_on {
        return fail(
            NAME,
            format!("{amount}, and failSwapOn is true: the kubelet does not start"),
            "turn swap off (swapoff -a, and in /etc/fstab), or set failSwapOn: false",
        )
        .with(facts)
        .with(json!({ "state": "refused" }))
        .from(source);
    }
    let behavior = match node.config.swap_behavior.as_str() {
        "" => "NoSwap",
        behavior => behavior,
    };
    let found = format!("{amount}, failSwapOn is false, swapBehavior {behavior}");
    let is_on = node.rules.gates.enabled(Gate::NodeSwap);
    match (behavior, node.cgroup_version) {
        ("LimitedSwap", CgroupVersion::V1) if is_on => fail(
            NAME,
            format!("{found}, which needs cgroup v2: the kubelet does not start"),
            "set swapBehavior: NoSwap, or move the node to cgroup v2",
        )
        .with(json!({ "state": "refused" })),
        _ => ok(NAME, found),
    }
    .with(facts)
    .with(json!({ "swapBehavior": behavior }))
    .from(source)
}

/// Checks that the kernel has what the kubelet and the runtime write.
pub fn values(examined: CheckInput<'_>) -> Check {
    const NAME: &str = "cgroup-values";
    let summary = match examined.compared {
        Ok(summary) => summary,
        Err(reason) => return unknown(NAME, reason, READ_TREE),
    };
    let source =
        examined.snapshot.cgroups.found.as_ref().map_or("-", |found| found.source.as_str());
    // Before a kubelet has run, all is missing and nothing drifts.
    if examined.tree().is_ok_and(|tree| examined.present(tree).is_empty()) {
        return unknown(NAME, NO_ROOT, OTHER_ROOT).from(source);
    }
    let of = |verdict: Verdict| summary.get(&verdict.to_string()).copied().unwrap_or(0);
    let drifting: usize =
        Verdict::ALL.into_iter().filter(|verdict| verdict.is_drift()).map(of).sum();
    let found = counts(summary);
    let check = if drifting > 0 {
        fail(NAME, format!("{drifting} not as planned; {found}"), "see which: kq cgroup diff")
            .with(json!({ "state": "drift" }))
    } else if of(Verdict::Unknown) > 0 {
        unknown(NAME, found, "see why: kq cgroup diff -o wide")
    } else {
        ok(NAME, found)
    };
    check.with(json!({ "verdicts": summary })).from(source)
}

/// Checks the state files. With a damaged one the kubelet does not start, or loses the allocations of CPUs and devices.
pub fn files(examined: CheckInput<'_>) -> Check {
    const NAME: &str = "state-files";
    let Some(state) = &examined.snapshot.state_files else {
        return unknown(NAME, "not looked for", "run kq on the node as root");
    };
    let (mut read, mut unreadable, mut broken) = (0, Vec::new(), Vec::new());
    let is_unread = |name: &str| examined.unread_files.iter().any(|it| it.name() == name);
    for (name, text) in state.files.iter().filter(|(name, _)| !is_unread(name)) {
        match text {
            Text::Absent => {}
            Text::Unreadable(reason) => unreadable.push(format!("{name}: {reason}")),
            Text::Read(text) => match serde_json::from_str::<Value>(text) {
                // What a kubelet makes of null is what it had before it read the file: its start decides.
                Ok(Value::Object(_) | Value::Null) => read += 1,
                Ok(_) => broken.push(format!("{name}: no JSON object")),
                Err(_) if text.trim().is_empty() => broken.push(format!("{name}: empty")),
                Err(error) => broken.push(format!("{name}: {error}")),
            },
        }
    }
    let devices = examined.snapshot.devices.as_ref();
    let checkpoint = devices.and_then(|devices| devices.checkpoint.value());
    let damage = checkpoint.and_then(|checkpoint| checkpoint.error.as_deref());
    let check = if examined.start.refuses_state_file {
        fail(
            NAME,
            "the kubelet does not start with one of them (check kubelet-start)",
            "see kq devices verify, before the kubelet starts again",
        )
        .with(json!({ "state": "refused" }))
    } else if !broken.is_empty() {
        fail(
            NAME,
            format!("{} not readable by the kubelet: {}", broken.len(), first_of(&broken)),
            "drain the node, stop the kubelet, move the file away and start it again",
        )
        .with(json!({ "state": "broken", "files": broken }))
    } else if let Some(damage) = damage {
        warn(
            NAME,
            format!(
                "the device checkpoint is damaged ({damage}): a kubelet that starts forgets who has \
                 which device"
            ),
            "see kq devices verify, before the kubelet starts again",
        )
        .with(json!({ "state": "damagedCheckpoint", "reason": damage }))
    } else if !unreadable.is_empty() {
        unknown(
            NAME,
            format!("{} not readable: {}", unreadable.len(), first_of(&unreadable)),
            "run kq as root, or check the disk",
        )
    } else if read == 0 {
        unknown(
            NAME,
            "none is there",
            "run kq on the node; a kubelet with another --root-dir is recognised while it runs",
        )
    } else {
        ok(NAME, counted(read, "file")).with(json!({ "files": read }))
    };
    check.from(&state.folder)
}

impl CheckInput<'_> {
    /// Returns where the configuration is from; what stands in for it where it is not known.
    fn config_source_or(&self, otherwise: &str) -> String {
        if self.knows_config() { self.config_source() } else { otherwise.to_owned() }
    }
}
