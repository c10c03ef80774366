//! The kernel's cgroup interface, the cgroup driver, and leftovers in the tree.

use super::{
    Check, CheckInput, GIVE_CONFIG, GIVE_PODS, NO_CONFIG, NO_PODS, NO_ROOT, OTHER_ROOT, READ_TREE,
    first_of,
};
use super::{fail, ok, unknown, warn};
use crate::files::{CgroupDriver, CgroupVersion};
use crate::live::place::{LiveCgroup, LiveOwner, LivePod, live_cgroups};
use kq_answer::Severity;
use kq_answer::origin::Origin;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq_facts::lookup::Sourced;
use kq_output::units::counted;
use serde_json::json;

/// Checks that the kubelet starts on the kernel's cgroup interface.
///
/// | mounted     | kubelet                              |         |
/// |-------------|--------------------------------------|---------|
/// | v2          | any                                  | OK      |
/// | v1, hybrid  | before 1.35, or failCgroupV1 false   | WARN    |
/// | v1, hybrid  | 1.35 or later, failCgroupV1 true     | FAIL    |
/// | v1, hybrid  | 1.35 or later, unknown               | UNKNOWN |
/// | v1, hybrid  | of unknown version                   | UNKNOWN |
/// | none        | any                                  | UNKNOWN |
pub fn version(examined: CheckInput<'_>) -> Check {
    const NAME: &str = "cgroup-version";
    const SAY: &str = "set it with --cgroup-version VERSION";
    const MOVE: &str = "move the node to cgroup v2 (systemd.unified_cgroup_hierarchy=1 on the \
                        kernel's command line)";
    let node = examined.node;
    let flag = examined.fact("cgroupVersion").map(|fact| &fact.origin);
    let by_hand = matches!(flag, Some(Origin::Flag(_)));
    let layout = examined.snapshot.host.cgroup_layout();
    let (shown, source) = match (by_hand, layout) {
        (true, _) => (format!("v{}", node.cgroup_version), "--cgroup-version".to_owned()),
        (false, Err(error)) => return unknown(NAME, error.to_string(), SAY),
        (false, Ok(layout)) => {
            let shown = match layout.version() {
                None => return unknown(NAME, "no cgroup hierarchy is mounted", SAY),
                Some(_) if layout.is_hybrid() => {
                    let unified = layout.unified.unwrap_or_default();
                    format!("v1, hybrid: the unified hierarchy is at {unified}")
                }
                Some(version) => format!("v{version}"),
            };
            (shown, "the mounted cgroup hierarchies".to_owned())
        }
    };
    if node.cgroup_version == CgroupVersion::V2 {
        return ok(NAME, shown).with(json!({ "cgroupVersion": 2 })).from(source);
    }
    let Some(kubelet) = examined.said_by("kubeletVersion") else {
        return unknown(
            NAME,
            format!("{shown}; whether the kubelet starts there depends on its version"),
            "set it with --kubelet-version VERSION",
        )
        .from(source);
    };
    let source = format!("{source}, {kubelet}");
    let refuses = node.kubelet_version.refuses_cgroup_v1();
    if !refuses || !node.config.fail_cgroup_v1 {
        return warn(NAME, format!("{shown}, which newer kubelets no longer support"), MOVE)
            .with(json!({ "state": "deprecated", "cgroupVersion": 1 }))
            .from(source);
    }
    if !examined.knows_config() {
        return unknown(
            NAME,
            format!("{shown}; {}", NO_CONFIG),
            format!("{GIVE_CONFIG}, or use --set failCgroupV1=false"),
        )
        .from(source);
    }
    fail(
        NAME,
        format!(
            "{shown}, and failCgroupV1 is true: kubelet {} does not start",
            node.kubelet_version
        ),
        format!("{MOVE}, or set failCgroupV1: false"),
    )
    .with(json!({
        "state": "refused",
        "cgroupVersion": 1,
        "kubeletVersion": node.kubelet_version.to_string(),
    }))
    .from(source)
}

/// What one of them says about the driver, and where.
type Voice = (CgroupDriver, String);

/// Checks that the kubelet, the runtime and the tree have the same driver.
///
/// A kubelet since 1.31 uses the runtime's driver from `RuntimeConfig`; its own field has no effect
/// then, and a difference is a warning. Otherwise a kubelet and a runtime with different drivers create
/// the cgroups of one pod in two trees. The one to change is the one that differs from the tree;
/// without a tree, the one that is not systemd, where systemd runs the machine.
pub fn driver(examined: CheckInput<'_>) -> Check {
    const NAME: &str = "cgroup-driver";
    let (configured, by_hand) = configured(examined);
    let runtime = runtime(examined);
    let tree = examined.tree();
    let made: Option<Voice> = match tree.as_ref().map(|tree| examined.present(tree)) {
        Ok(present) => match present.as_slice() {
            [(driver, root)] if root.depth() > 0 => Some((*driver, root.as_str().to_owned())),
            // None, or one of each, which is a finding of its own: the driver stays unknown.
            _ => None,
        },
        Err(_) => None,
    };
    let follows = !by_hand
        && examined.node.kubelet_version.asks_runtime_for_driver()
        && examined.snapshot.runtime.value().is_some_and(|it| it.driver_for_kubelet().is_some());
    let used = if follows { runtime.as_ref().ok().cloned() } else { configured.clone().ok() };

    let voices = [
        ("kubelet", configured.as_ref().ok()),
        ("runtime", runtime.as_ref().ok()),
        ("tree", made.as_ref()),
    ];
    let shown: Vec<String> = voices
        .iter()
        .filter_map(|(who, voice)| voice.map(|(driver, _)| format!("{who} {driver}")))
        .collect();
    let sources: Vec<&str> =
        voices.iter().filter_map(|(_, voice)| voice.map(|(_, source)| source.as_str())).collect();
    let (shown, source) = (shown.join(", "), sources.join(", "));
    let shown = if shown.is_empty() { "unknown".to_owned() } else { shown };

    let check = match (&used, &runtime, &made) {
        (Some((kubelet, _)), Ok((runtime, _)), made) if kubelet != runtime => {
            let made = made.as_ref().map(|(driver, _)| *driver);
            let advice = which_to_change(*kubelet, *runtime, made, runs_systemd(&tree));
            fail(NAME, shown, advice)
        }
        (Some((used, _)), _, Some((made, root))) if used != made => fail(
            NAME,
            shown,
            format!(
                "{root} was created by {made} and the next start of the kubelet uses {used}: drain the \
                 node, change the kubelet to {used} for good and reboot, or set the kubelet and the \
                 runtime back to {made}"
            ),
        ),
        (_, Ok((runtime, _)), Some((made, root))) if runtime != made => fail(
            NAME,
            shown,
            format!(
                "{root} was created by {made}: {}, or drain the node and reboot",
                set_runtime(*made)
            ),
        ),
        _ => match (&configured, &runtime, &tree) {
            // A kubelet that follows the runtime needs no change.
            (Err(reason), ..) if !follows => unknown(
                NAME,
                format!("{shown}; {reason}"),
                format!("{GIVE_CONFIG}, or use --cgroup-driver DRIVER"),
            ),
            (_, Err(reason), _) => unknown(
                NAME,
                format!("{shown}; {reason}"),
                "name the runtime with --runtime-endpoint ENDPOINT",
            ),
            (.., Err(reason)) => unknown(NAME, format!("{shown}; {reason}"), READ_TREE),
            (Ok((configured, _)), Ok((runtime, _)), Ok(_)) if configured != runtime => warn(
                NAME,
                format!("{shown}; the kubelet uses the runtime's"),
                format!(
                    "set cgroupDriver: {runtime} in the kubelet's configuration: it counts again \
                     when a runtime does not report its driver"
                ),
            ),
            _ => ok(NAME, shown),
        },
    };
    let of = |voice: Option<&Voice>| voice.map(|(driver, _)| driver.to_string());
    let [kubelet, runtime, tree] = voices.map(|(_, voice)| of(voice));
    let check = check.with(json!({ "kubelet": kubelet, "runtime": runtime, "tree": tree }));
    let check = match check.severity {
        Severity::Error => check.with(json!({ "state": "differs" })),
        Severity::Warning => check.with(json!({ "state": "followsRuntime" })),
        Severity::Unknown | Severity::Info | Severity::Ok => check,
    };
    if source.is_empty() { check } else { check.from(source) }
}

/// Returns what the kubelet's own configuration says, and whether a flag of kq said so.
fn configured(examined: CheckInput<'_>) -> (Result<Voice, String>, bool) {
    let fact = examined.fact("cgroupDriver");
    if let Some(Origin::Flag(flag)) = fact.map(|fact| &fact.origin) {
        return (Ok((examined.node.cgroup_driver, (*flag).to_owned())), true);
    }
    if !examined.knows_config() {
        return (Err(NO_CONFIG.to_owned()), false);
    }
    let field = examined.config.value.get("cgroupDriver").and_then(|field| field.as_str());
    let voice = match field.filter(|text| !text.is_empty()).map(str::parse) {
        Some(Ok(driver)) => {
            let origin = examined.config.origins.get("cgroupDriver");
            let source = origin.map_or_else(|| examined.config_source(), ToString::to_string);
            Ok((driver, source))
        }
        Some(Err(error)) => Err(format!("cgroupDriver: {error}")),
        // What is not set is cgroupfs to the kubelet.
        None => Ok((
            CgroupDriver::Cgroupfs,
            format!("{} (not set, so cgroupfs)", examined.config_source()),
        )),
    };
    (voice, false)
}

fn runtime(examined: CheckInput<'_>) -> Result<Voice, String> {
    let runtime = &examined.snapshot.runtime;
    let facts = runtime.value().ok_or("the container runtime does not answer")?;
    match &facts.cgroup_driver.found {
        Some(Sourced { source, value }) => Ok((*value, source.clone())),
        None => Err(format!("the runtime's driver: {}", facts.cgroup_driver.reason())),
    }
}

/// Returns true if systemd has cgroups of its own.
fn runs_systemd(tree: &Result<&CgroupTree, String>) -> bool {
    let names = ["/init.scope", "/system.slice"].map(CgroupPath::new);
    tree.as_ref().is_ok_and(|tree| names.iter().any(|name| tree.get(name).is_some()))
}

/// Says which of two that differ is to change.
fn which_to_change(
    kubelet: CgroupDriver,
    runtime: CgroupDriver,
    tree: Option<CgroupDriver>,
    systemd: bool,
) -> String {
    let goal = match tree {
        Some(made) => made,
        None if systemd => CgroupDriver::Systemd,
        None => runtime,
    };
    match goal == runtime && goal != kubelet {
        true => format!("set cgroupDriver: {goal} in the kubelet's configuration and restart it"),
        false => format!("{} and restart it", set_runtime(goal)),
    }
}

fn set_runtime(driver: CgroupDriver) -> String {
    format!(
        "set the container runtime to {driver} (containerd: SystemdCgroup = {}; CRI-O: \
         cgroup_manager = \"{driver}\")",
        driver == CgroupDriver::Systemd
    )
}

/// Checks that there is one cgroup of all pods, and that it could be read.
pub fn tree(examined: CheckInput<'_>) -> Check {
    const NAME: &str = "cgroup-tree";
    let tree = match examined.tree() {
        Ok(tree) => tree,
        Err(reason) => return unknown(NAME, reason, READ_TREE),
    };
    let source =
        examined.snapshot.cgroups.found.as_ref().map_or("-", |found| found.source.as_str());
    let present = examined.present(tree);
    let shown: Vec<String> = present
        .iter()
        .map(|(driver, root)| {
            let pods = pods_in(examined, tree, root, *driver).count();
            format!("{} with {}", root.as_str(), counted(pods, "pod"))
        })
        .collect();
    let check = match present.as_slice() {
        [] => {
            let wanted: Vec<&str> = examined.roots.iter().map(|(_, root)| root.as_str()).collect();
            warn(NAME, format!("neither {} is there", wanted.join(" nor ")), OTHER_ROOT)
                .with(json!({ "state": "absent", "wanted": wanted }))
        }
        [(_, root)] if tree.problems.is_empty() => {
            ok(NAME, shown.join(", ")).with(json!({ "cgroup": root.as_str() }))
        }
        [_] => {
            let problems: Vec<String> = tree.problems.iter().map(ToString::to_string).collect();
            unknown(
                NAME,
                format!("{}; not readable: {}", shown.join(", "), first_of(&problems)),
                "run kq as root",
            )
        }
        several => {
            let own = examined.node.cgroup_driver;
            let stale: Vec<_> = several.iter().filter(|(driver, _)| *driver != own).collect();
            let has_pods = |(driver, root): &&&(CgroupDriver, &CgroupPath)| {
                pods_in(examined, tree, root, *driver).next().is_some()
            };
            let names: Vec<&str> = stale.iter().map(|(_, root)| root.as_str()).collect();
            let facts =
                json!({ "state": "stale", "stale": names, "cgroupDriver": own.to_string() });
            let names = names.join(", ");
            let advice = format!(
                "the kubelet uses {own}: drain the node and reboot it, so that {names} goes away"
            );
            match stale.iter().find(has_pods) {
                Some(_) => fail(NAME, shown.join(", "), advice),
                // Nothing runs in it; it only misleads who measures there.
                None => warn(NAME, shown.join(", "), advice),
            }
            .with(facts)
        }
    };
    check.from(source)
}

/// Walks over the cgroups of pods, with their paths.
fn pods_in<'t>(
    examined: CheckInput<'t>,
    tree: &'t CgroupTree,
    root: &'t CgroupPath,
    driver: CgroupDriver,
) -> impl Iterator<Item = (&'t CgroupPath, LivePod<'t>)> {
    let cgroups = live_cgroups(tree, root, driver, examined.workloads);
    cgroups.into_iter().filter_map(|LiveCgroup { path, owner, .. }| match owner {
        LiveOwner::Pod(pod) => Some((path, pod)),
        _ => None,
    })
}

/// Checks that each pod's cgroup has a pod.
///
/// | the pod of the cgroup          | processes | pods known | |
/// |--------------------------------|-----------|------------|---------|
/// | is known                       |           |            | OK      |
/// | is not                         | some      | all        | FAIL    |
/// | is not                         | none      | all        | WARN    |
/// | is not                         |           | some       | UNKNOWN |
pub fn orphans(examined: CheckInput<'_>) -> Check {
    const NAME: &str = "orphaned-pods";
    let tree = match examined.tree() {
        Ok(tree) => tree,
        Err(reason) => return unknown(NAME, reason, READ_TREE),
    };
    let source = format!(
        "{}, {}",
        examined.snapshot.cgroups.found.as_ref().map_or("-", |found| &found.source),
        examined.snapshot.pods.found.as_ref().map_or("no pods", |found| &found.source)
    );
    if !examined.node.config.cgroups_per_qos {
        let reason = "cgroupsPerQOS is false: pods have no cgroups of their own";
        return unknown(NAME, reason, "kq cgroup show lists the cgroups").from(source);
    }
    if examined.present(tree).is_empty() {
        return unknown(NAME, NO_ROOT, OTHER_ROOT).from(source);
    }
    let (mut known, mut busy, mut empty, mut changing) = (0, Vec::new(), Vec::new(), 0);
    for (driver, root) in examined.present(tree) {
        for (path, pod) in pods_in(examined, tree, root, driver) {
            // That the runtime has its sandbox does not make it a pod of this node.
            if pod.name.is_some_and(|name| name.known) {
                known += 1;
                continue;
            }
            if examined.changing.contains(&pod.uid) {
                changing += 1;
                continue;
            }
            let processes: usize = tree.within(path).map(|(_, texts)| texts.pids().count()).sum();
            match processes {
                0 => empty.push(pod.label()),
                some => busy.push(format!("{} ({})", pod.label(), processes_text(some))),
            }
        }
    }
    let all: Vec<String> = busy.iter().chain(&empty).cloned().collect();
    if all.is_empty() {
        let check = match known {
            // The tree was not read.
            0 if examined.snapshot.pods.found.is_none() => unknown(NAME, NO_PODS, GIVE_PODS),
            known if changing > 0 => {
                let (among, moving) = (counted(known, "cgroup"), format!("{changing} more"));
                let found = format!("none among {among}; {moving} came or went meanwhile");
                unknown(NAME, found, "look again when no pods start or end")
            }
            known => ok(NAME, format!("none among {}", counted(known, "cgroup")))
                .with(json!({ "cgroups": known })),
        };
        return check.from(source);
    }
    let found = format!("{} without a pod: {}", counted(all.len(), "cgroup"), first_of(&all));
    match (examined.incomplete, busy.is_empty()) {
        (Some(reason), _) => unknown(NAME, format!("{found}; {reason}"), GIVE_PODS),
        (None, false) => fail(
            NAME,
            found,
            "look again in a minute; what is still there then, stop with crictl stopp SANDBOX and \
             see the kubelet's log for why it does not",
        )
        .with(json!({ "state": "running", "cgroups": all })),
        (None, true) => {
            warn(NAME, found, "nothing runs there; the kubelet removes it, or rmdir does")
                .with(json!({ "state": "empty", "cgroups": all }))
        }
    }
    .from(source)
}

fn processes_text(number: usize) -> String {
    if number == 1 { "1 process".to_owned() } else { format!("{number} processes") }
}
