//! The kernel's cgroup interface, the cgroup driver, and leftovers in the tree.

use super::rule::{CheckId, CheckRule, Drivers, Mounted, NO_CONFIG, PodTree};
use super::{Check, CheckInput};
use crate::files::{CgroupDriver, CgroupVersion};
use crate::live::place::{LiveCgroup, LiveOwner, LivePod, live_cgroups};
use kq_answer::origin::Origin;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq_facts::lookup::Sourced;

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
    let node = examined.node;
    let cgroup_version = node.cgroup_version;
    let flag = examined.fact("cgroupVersion").map(|fact| &fact.origin);
    let by_hand = matches!(flag, Some(Origin::Flag(_)));
    let layout = examined.snapshot.host.cgroup_layout();
    let (shown, unified, source) = match (by_hand, layout) {
        (true, _) => (cgroup_version, None, "--cgroup-version"),
        (false, Err(error)) => {
            return CheckRule::failed(CheckId::CgroupVersion, error.to_string());
        }
        (false, Ok(layout)) => {
            let Some(shown) = layout.version() else { return CheckRule::NoHierarchy.into() };
            let unified = layout.is_hybrid().then_some(layout.unified).flatten();
            (shown, unified, "the mounted cgroup hierarchies")
        }
    };
    let mounted = Mounted { cgroup_version, shown, unified };
    if cgroup_version == CgroupVersion::V2 {
        return CheckRule::CgroupV2(mounted).sourced(source);
    }
    let Some(kubelet) = examined.said_by("kubeletVersion") else {
        return CheckRule::CgroupV1WithoutVersion { mounted }.sourced(source);
    };
    let refuses = node.kubelet_version.refuses_cgroup_v1();
    let rule = if !refuses || !node.config.fail_cgroup_v1 {
        CheckRule::CgroupV1Deprecated(mounted)
    } else if !examined.knows_config() {
        CheckRule::CgroupV1WithoutConfig { mounted }
    } else {
        let kubelet_version = node.kubelet_version.to_string();
        CheckRule::CgroupV1Refused { mounted, kubelet_version }
    };
    rule.sourced(format!("{source}, {kubelet}"))
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

    let voices = [configured.as_ref().ok(), runtime.as_ref().ok(), made.as_ref()];
    let sources: Vec<&str> = voices.iter().flatten().map(|(_, source)| source.as_str()).collect();
    let source = sources.join(", ");
    let of = |voice: Option<&Voice>| voice.map(|(driver, _)| *driver);
    let drivers = Drivers { kubelet: of(voices[0]), runtime: of(voices[1]), tree: of(voices[2]) };

    let rule = match (&used, &runtime, &made) {
        (Some((kubelet, _)), Ok((runtime, _)), _) if kubelet != runtime => {
            // The one to change is the one that differs from it.
            let goal = match drivers.tree {
                Some(made) => made,
                None if runs_systemd(&tree) => CgroupDriver::Systemd,
                None => *runtime,
            };
            let is_of_kubelet = goal == *runtime && goal != *kubelet;
            CheckRule::DriversDiffer { drivers, goal, is_of_kubelet }
        }
        (Some((used, _)), _, Some((made, root))) if used != made => {
            let (root, made, used) = (root.clone(), *made, *used);
            CheckRule::KubeletLeavesTree { drivers, root, made, used }
        }
        (_, Ok((runtime, _)), Some((made, root))) if runtime != made => {
            CheckRule::RuntimeLeavesTree { drivers, root: root.clone(), made: *made }
        }
        _ => match (&configured, &runtime, &tree) {
            // A kubelet that follows the runtime needs no change.
            (Err(reason), ..) if !follows => {
                CheckRule::KubeletDriverUnknown { drivers, reason: reason.clone() }
            }
            (_, Err(reason), _) => {
                CheckRule::RuntimeDriverUnknown { drivers, reason: reason.clone() }
            }
            (.., Err(reason)) => CheckRule::TreeDriverUnknown { drivers, reason: reason.clone() },
            (Ok((configured, _)), Ok((used, _)), Ok(_)) if configured != used => {
                CheckRule::KubeletFollowsRuntime { drivers, used: *used }
            }
            _ => CheckRule::DriversAgree(drivers),
        },
    };
    match source.is_empty() {
        true => rule.into(),
        false => rule.sourced(source),
    }
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

/// Checks that there is one cgroup of all pods, and that it could be read.
pub fn tree(examined: CheckInput<'_>) -> Check {
    let tree = match examined.tree() {
        Ok(tree) => tree,
        Err(reason) => return CheckRule::TreeUnread { check: CheckId::CgroupTree, reason }.into(),
    };
    let present = examined.present(tree);
    let trees = present.iter().map(|(driver, root)| PodTree {
        cgroup: root.as_str().to_owned(),
        pods: pods_in(examined, tree, root, *driver).count(),
    });
    let mut trees: Vec<PodTree> = trees.collect();
    let rule = match (trees.pop(), trees.is_empty()) {
        (None, _) => {
            let wanted = examined.roots.iter().map(|(_, root)| root.as_str().to_owned());
            CheckRule::TreeAbsent { wanted: wanted.collect() }
        }
        (Some(only), true) => match tree.problems.as_slice() {
            [] => CheckRule::TreeKnown(only),
            problems => {
                let problems = problems.iter().map(ToString::to_string).collect();
                CheckRule::TreeInPart { tree: only, problems }
            }
        },
        (Some(last), false) => {
            trees.push(last);
            let own = examined.node.cgroup_driver;
            let stale = present.iter().zip(&trees).filter(|((driver, _), _)| *driver != own);
            let stale: Vec<&PodTree> = stale.map(|(_, tree)| tree).collect();
            CheckRule::TreesOfBoth {
                has_pods: stale.iter().any(|tree| tree.pods > 0),
                stale: stale.into_iter().map(|tree| tree.cgroup.clone()).collect(),
                cgroup_driver: own,
                trees,
            }
        }
    };
    rule.sourced(examined.tree_source())
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
    const ID: CheckId = CheckId::OrphanedPods;
    let tree = match examined.tree() {
        Ok(tree) => tree,
        Err(reason) => return CheckRule::TreeUnread { check: ID, reason }.into(),
    };
    let pods = examined.snapshot.pods.found.as_ref();
    let source =
        format!("{}, {}", examined.tree_source(), pods.map_or("no pods", |found| &found.source));
    if !examined.node.config.cgroups_per_qos {
        return CheckRule::NoPodCgroups.sourced(source);
    }
    if examined.present(tree).is_empty() {
        return CheckRule::NoRoot { check: ID }.sourced(source);
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
    let runs = !busy.is_empty();
    busy.append(&mut empty);
    let rule = match (busy.is_empty(), examined.incomplete) {
        // The tree was not read.
        (true, _) if known == 0 && pods.is_none() => CheckRule::NoPods { check: ID },
        (true, _) if changing > 0 => CheckRule::PodCgroupsMove { cgroups: known, changing },
        (true, _) => CheckRule::NoOrphans { cgroups: known },
        (false, Some(reason)) => {
            CheckRule::PerhapsOrphans { cgroups: busy, reason: reason.to_owned() }
        }
        (false, None) if runs => CheckRule::RunningOrphans { cgroups: busy },
        (false, None) => CheckRule::EmptyOrphans { cgroups: busy },
    };
    rule.sourced(source)
}

fn processes_text(number: usize) -> String {
    if number == 1 { "1 process".to_owned() } else { format!("{number} processes") }
}
