//! The set-up of the node: `setupNode` and `setupKernelTunables` in `pkg/kubelet/cm/container_manager_linux.go`,
//! `MakeUserNsManager` in `pkg/kubelet/userns/userns_manager.go`, and where cgroups are looked for.

use super::{Stage, Start, StartExamination, StartRule};
use kq_answer::Certainty;
use kq_facts::cgroup_mode::{CgroupDriver, CgroupVersion};
use kq_facts::cgroup_name::CgroupName;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq_facts::start_files::{KERNEL_SETTINGS, KubeletUser};
use kq_k8s::feature_gates::{Stage as GateStage, gate_state};
use kq_k8s::go_text::{self, aggregate};

/// Checks the kernel's settings, which `protectKernelDefaults` keeps the kubelet from changing.
pub(super) fn kernel(start: &Start<'_>, found: &mut StartExamination) {
    let Start { facts, read, .. } = start;
    if read.given.protect_kernel_defaults != Some(true) {
        return;
    }
    let known = facts.files.map(|files| &files.kernel_settings);
    let Some(known) = known.filter(|known| known.len() == KERNEL_SETTINGS.len()) else {
        let what = "kernel settings that protectKernelDefaults rejects";
        return found.skip_of(what, "the kernel's settings", ["protectKernelDefaults".to_owned()]);
    };
    let (mut settings, mut errors) = (Vec::new(), Vec::new());
    for (name, expected) in KERNEL_SETTINGS {
        if let Some(actual) = known.get(name).filter(|actual| **actual != expected) {
            settings.push(format!("{}={expected}", name.replace('/', ".")));
            errors.push(format!(
                "invalid kernel flag: {name}, expected value: {expected}, actual value: {actual}"
            ));
        }
    }
    if errors.is_empty() {
        return;
    }
    // The kubelet goes through them in random order.
    let certainty = if errors.len() == 1 { Certainty::Certain } else { Certainty::Likely };
    let rule = StartRule::KernelSettings { settings, error: aggregate(&errors) };
    found.stop(Stage::ContainerManager, (rule, certainty));
}

/// Checks the cgroup of the system's processes, into which all are moved that have none.
pub(super) fn system_cgroup(start: &Start<'_>, found: &mut StartExamination) {
    if start.read.given.system_cgroups.as_deref() == Some("/") {
        let error = "system container cannot be root (\"/\")";
        found.refuse(Stage::ContainerManager, "systemCgroups", error);
    }
}

const GATE: &str = "UserNamespacesSupport";
const UNIT: u32 = 65536;

/// Divides the IDs among the pods with user namespaces.
pub(super) fn user_namespaces(start: &Start<'_>, found: &mut StartExamination) {
    let Start { facts, read, .. } = start;
    let state = gate_state(GATE, facts.version());
    let default = state.as_ref().is_some_and(|state| state.default);
    let is_locked = state.is_some_and(|state| state.stage == GateStage::Ga && state.locked);
    let set = read.effective.feature_gates.get(GATE).copied().filter(|_| !is_locked);
    if !set.unwrap_or(default) {
        return;
    }
    let given = read.given.user_namespaces.as_ref().and_then(|it| it.ids_per_pod);
    let Some(files) = facts.files else { return };
    let Some(user) = &files.kubelet_user else {
        let (what, fact) = ("ranges of IDs that do not suit pods", "the user kubelet of the node");
        return found.skip_of(what, fact, given.map(|length| format!("idsPerPod={length}")));
    };
    // Other lengths were refused by the validation.
    let Ok(length) = u32::try_from(given.unwrap_or(UNIT.into())) else { return };
    if length == 0 {
        return;
    }
    let most_pods = read.given.max_pods.unwrap_or(DEFAULT_MAX_PODS);
    let Err(error) = ranges(user, length).and_then(|range| divide(range, length, most_pods)) else {
        return;
    };
    let error = format!("create user namespace manager: {error}");
    found.refuse(Stage::Create, "userNamespaces.idsPerPod", error);
}

/// The default of `maxPods`.
const DEFAULT_MAX_PODS: i32 = 110;

/// Returns the first ID and the number of IDs (`getKubeletMappings` in `pkg/kubelet/kubelet_pods.go`).
fn ranges(user: &KubeletUser, length: u32) -> Result<(u32, u32), String> {
    if !user.exists || !user.has_getsubids {
        return Ok((length, 0_u32.wrapping_sub(length)));
    }
    let words = "kubelet mappings: ";
    if user.user_ids.is_empty() {
        let why = "error retrieving additional uids for user \"kubelet\": exit status 1";
        return Err(format!("{words}{why}"));
    }
    if user.group_ids.is_empty() {
        return Err(format!("{words}error retrieving additional gids for user \"kubelet\""));
    }
    if user.user_ids != user.group_ids {
        return Err(format!("{words}mismatched subuids and subgids for user \"kubelet\""));
    }
    match user.user_ids.as_slice() {
        [only] => Ok(*only),
        several => {
            let lines = several.iter().enumerate();
            let lines: String = lines
                .map(|(at, (first, count))| format!("{at}: kubelet {first} {count}\\n"))
                .collect();
            Err(format!("{words}error parsing line \"{lines}\": it must contain only one line"))
        }
    }
}

fn divide((first, count): (u32, u32), length: u32, most_pods: i32) -> Result<(), String> {
    if first % length != 0 {
        return Err(format!("kubelet user assigned ID {first} is not a multiple of {length}"));
    }
    if first < length {
        return Err(format!(
            "kubelet user assigned ID {first} must be greater or equal to {length}"
        ));
    }
    if count % length != 0 {
        return Err(format!(
            "kubelet user assigned IDs length {count} is not a multiple of {length}"
        ));
    }
    // As Go turns the number of pods into one without a sign.
    if count / length < most_pods.cast_unsigned() {
        return Err(format!(
            "kubelet user assigned IDs are not enough to support {most_pods} pods"
        ));
    }
    Ok(())
}

/// Returns where `cgroupRoot` is below the hierarchy: the driver's way of writing it counts, although it is given as a path
/// (`buildCgroupPaths` in `cgroup_manager_linux.go`).
/// Fails with the kubelet's panic for a name that systemd has no slice for.
pub(super) fn root_cgroup(root: &str, driver: CgroupDriver) -> Result<String, String> {
    CgroupName::from_root(root).to_path(driver).map_err(|error| error.to_string())
}

/// Checks the gate of the CPU manager's options, which 1.32 alone has (`run` in `cmd/kubelet/app/server.go`).
pub(super) fn cpu_options(start: &Start<'_>, found: &mut StartExamination) {
    let Start { facts, read, .. } = start;
    let Some(options) = &read.given.cpu_manager_policy_options else { return };
    let gate = "CPUManagerPolicyOptions";
    let is_off = read.effective.feature_gates.get(gate) == Some(&false);
    if is_off && gate_state(gate, facts.version()).is_some_and(|state| !state.locked) {
        let options = go_text::map(options);
        let error = format!(
            "CPU Manager policy options {options} require feature gates \"CPUManager\", \"{gate}\" enabled"
        );
        found.refuse(Stage::Run, "cpuManagerPolicyOptions", error);
    }
}

/// Returns the paths at which a cgroup is missing; `None`: it is not known. The tree has the cgroups right below the root,
/// and no cgroup exists without the one above it.
pub fn missing_paths(
    tree: &CgroupTree,
    version: CgroupVersion,
    cgroup: &str,
) -> Option<Vec<String>> {
    let path = CgroupPath::new(cgroup);
    if tree.get(&path).is_some() {
        return Some(Vec::new());
    }
    tree.get(&CgroupPath::root())?;
    let first = path.as_str().trim_start_matches('/').split('/').next()?;
    let is_below = path.depth() > 1;
    if is_below && tree.get(&CgroupPath::new(first)).is_some() {
        return None;
    }
    let path = path.as_str();
    Some(match version {
        CgroupVersion::V2 => vec![format!("/sys/fs/cgroup{path}")],
        CgroupVersion::V1 => ["pids", "systemd", "cpu", "cpuacct", "cpuset", "memory"]
            .map(|name| format!("/sys/fs/cgroup/{name}{path}"))
            .to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_suffice_for_the_pods() {
        let none = KubeletUser::default();
        let of = |user: (u32, u32), group: (u32, u32)| KubeletUser {
            exists: true,
            has_getsubids: true,
            user_ids: vec![user],
            group_ids: vec![group],
        };
        for (name, user, length, pods, expected) in [
            ("the default", none.clone(), UNIT, 110, ""),
            ("as many as there are", none.clone(), UNIT, 65535, ""),
            ("one too many", none.clone(), UNIT, 65536, "are not enough to support 65536 pods"),
            ("large pods", none.clone(), 1 << 30, 110, "are not enough to support 110 pods"),
            ("odd pods", none, 3 * UNIT, 110, "length 4294770688 is not a multiple of 196608"),
            ("a range", of((65536, 7_208_960), (65536, 7_208_960)), UNIT, 110, ""),
            (
                "a short one",
                of((65536, 65536), (65536, 65536)),
                UNIT,
                110,
                "not enough to support 110",
            ),
            (
                "an odd start",
                of((100_000, 65536), (100_000, 65536)),
                UNIT,
                1,
                "ID 100000 is not a multiple",
            ),
            ("zero", of((0, 65536), (0, 65536)), UNIT, 1, "ID 0 must be greater or equal to 65536"),
            (
                "two ranges",
                of((65536, 65536), (131_072, 65536)),
                UNIT,
                1,
                "mismatched subuids and subgids",
            ),
        ] {
            let said = ranges(&user, length).and_then(|range| divide(range, length, pods)).err();
            match expected {
                "" => assert_eq!(said, None, "{name}"),
                expected => assert!(
                    said.as_ref().is_some_and(|it| it.contains(expected)),
                    "{name}: {said:?}"
                ),
            }
        }
    }

    #[test]
    fn the_root_cgroup_is_where_the_driver_puts_it() {
        for (driver, expected) in [
            (CgroupDriver::Cgroupfs, "/pods/of-kube"),
            (CgroupDriver::Systemd, "/pods.slice/pods-of_kube.slice"),
        ] {
            assert_eq!(root_cgroup("/pods/of-kube", driver).as_deref(), Ok(expected));
        }
    }
}
