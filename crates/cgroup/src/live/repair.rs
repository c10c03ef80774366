//! The steps that bring the kernel to the plan.
//!
//! A limit is raised from the top down and lowered from the bottom up, so that at no moment a cgroup
//! has more than the one that it is in. Everything is judged here, before anything is written. Quota and
//! period of cgroup v1 are one limit in two files: see [`bandwidth`](super::bandwidth).

use crate::files::CgroupVersion;
use crate::live::bandwidth::Bandwidth;
use crate::live::difference::{Difference, Verdict};
use crate::live::unit_change::UnitChange;
use crate::report::PlaceLevel;
use kq_answer::plan_digest;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq_facts::cgroup_value::Value;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// One text to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The cgroup, below the root of the hierarchy.
    pub cgroup: String,
    /// The owner: `default/web`, `default/web web`.
    pub owner: String,
    pub file: String,
    /// What has to be there before; without the line end.
    pub from: String,
    /// What is written.
    pub to: String,
    /// The program that may overwrite it: `kubelet` or `runtime`.
    pub writer: String,
    /// What is set in systemd, which then writes the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<UnitChange>,
}

impl Step {
    /// Returns true if this is a step of a file.
    pub fn is(&self, file: CgroupFile) -> bool {
        CgroupFile::named(&self.file) == Some(file)
    }
}

/// Something that differs and is not touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Left {
    pub cgroup: String,
    /// The file; null: the cgroup as a whole.
    pub file: Option<String>,
    /// Why it is not touched.
    pub reason: String,
    /// It keeps the kernel from being as planned.
    #[serde(skip)]
    pub is_drift: bool,
}

/// Something for which nothing at all is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema, thiserror::Error)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Refusal {
    /// A limit would be below what is in use: processes would be killed, or the kernel refuses.
    #[error("{cgroup}/{file}: {to} is below the current usage, {usage}")]
    BelowUse {
        cgroup: String,
        file: String,
        /// What would be written.
        to: String,
        /// What is in use.
        usage: u64,
    },
    /// The path leads out of what the kubelet manages.
    #[error("{cgroup:?} leads out of {root}, where the kubelet's cgroups are")]
    Outside {
        /// The path.
        cgroup: String,
        /// The kubelet's root.
        root: String,
    },
    /// No such file is written by a kubelet or a runtime.
    #[error("{cgroup}: kq does not write {file:?}")]
    File { cgroup: String, file: String },
}

/// What there is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// What is not touched.
    pub left: Vec<Left>,
    /// Why nothing is to be written.
    pub refusals: Vec<Refusal>,
}

impl Repair {
    /// Returns the digest of the steps.
    pub fn digest(&self) -> String {
        plan_digest(&self.steps)
    }
}

/// What a repair is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// The kernel's interface.
    pub version: CgroupVersion,
    /// The cgroup of all pods, which is never left.
    pub root: &'a CgroupPath,
    /// Limits below what is in use are meant.
    pub allow_oom: bool,
}

/// Returns the steps for what differs.
pub fn repair(differences: &[Difference<'_>], tree: &CgroupTree, ground: Ground<'_>) -> Repair {
    let mut repair = Repair::default();
    for found in differences {
        match step(found, ground.version) {
            Ok(Some(step)) => match check(&step, ground) {
                Ok(()) => {
                    let usage = counted_in(&step.file)
                        .and_then(|file| tree.get(&CgroupPath::new(&step.cgroup))?.number(file));
                    if let Some(usage) = usage.filter(|usage| {
                        !ground.allow_oom
                            && lowers_below_usage(&step.file, &step.from, &step.to, *usage)
                    }) {
                        let Step { cgroup, file, to, .. } = step.clone();
                        repair.refusals.push(Refusal::BelowUse { cgroup, file, to, usage });
                    }
                    repair.steps.push(step);
                }
                // What is reserved for the system is the kubelet's to write, and not below its root.
                Err(Refusal::Outside { root, .. }) if found.level == PlaceLevel::Node => {
                    repair.left.push(Left {
                        cgroup: step.cgroup,
                        file: Some(step.file),
                        reason: format!("it is outside {root}, which kq never leaves"),
                        is_drift: true,
                    });
                }
                Err(refusal) => repair.refusals.push(refusal),
            },
            Ok(None) => {}
            Err(left) => repair.left.push(left),
        }
    }
    repair.steps = in_order(repair.steps, tree);
    repair
}

/// Puts steps in the order in which the kernel takes them.
fn in_order(steps: Vec<Step>, tree: &CgroupTree) -> Vec<Step> {
    let mut groups: Vec<(Place, Vec<Step>)> = Vec::new();
    let bandwidths = Bandwidth::of(&steps, tree);
    for step in &steps {
        let of_bandwidth = step.is(CgroupFile::CpuCfsQuota) || step.is(CgroupFile::CpuCfsPeriod);
        match bandwidths.get(step.cgroup.as_str()).filter(|_| of_bandwidth) {
            // Its steps are taken together, in the place of the first.
            Some(own) if !own.is_first(step) => {}
            Some(own) => {
                let below = bandwidths.values().filter(|other| own.is_above(other));
                groups.push((place(step, own.lowers()), own.steps(tree, below)));
            }
            None => {
                let lowers = lowers(&step.file, &step.from, &step.to);
                groups.push((place(step, lowers), vec![step.clone()]));
            }
        }
    }
    groups.sort_by(|(one, _), (other, _)| one.cmp(other));
    groups.into_iter().flat_map(|(_, steps)| steps).collect()
}

/// Returns why a difference is left as it is; `None`: a step ends it, or there is none.
pub fn left(found: &Difference<'_>, version: CgroupVersion) -> Option<String> {
    step(found, version).err().map(|left| left.reason)
}

/// Returns what has to be written, if anything; or why it is left.
fn step(found: &Difference<'_>, version: CgroupVersion) -> Result<Option<Step>, Left> {
    let left = |reason: &str| {
        Err(Left {
            cgroup: found.cgroup.clone(),
            file: found.file.clone(),
            reason: reason.to_owned(),
            is_drift: found.verdict.is_drift(),
        })
    };
    match found.verdict {
        Verdict::Match | Verdict::Rounded => return Ok(None),
        Verdict::Unknown => return left("the planned value is unknown"),
        Verdict::ResizePending
            if found.file.as_deref().and_then(CgroupFile::named)
                == Some(CgroupFile::OomScoreAdj) =>
        {
            return left("it belongs to each process; restart the container");
        }
        Verdict::ResizePending => return left("the kubelet is resizing the pod"),
        Verdict::Changing => return left("it is changing: run kq again"),
        Verdict::Drift | Verdict::Missing | Verdict::Extra | Verdict::OlderConfig => {}
    }
    let (Some(file), Some(actual)) = (&found.file, &found.actual) else {
        return left(match (found.verdict, &found.file) {
            (Verdict::Missing, Some(_)) => "the kernel has no such file here",
            (Verdict::Missing, None) => "the kubelet and the runtime create cgroups",
            _ => "cgroups are removed by the kubelet",
        });
    };
    if found.is_resizing {
        return left("the kubelet is resizing the pod");
    }
    let is_extra = found.planned.is_none() && found.verdict != Verdict::Missing;
    if is_extra && found.level == PlaceLevel::Container {
        return left("the runtime may have its own reason for it");
    }
    let known = CgroupFile::named(file);
    if known == Some(CgroupFile::OomScoreAdj) {
        return left("it belongs to each process; restart the container");
    }
    let to = match &found.planned {
        Some(planned) => planned.clone(),
        None => match known.and_then(|known| Some((known, known.row().untouched?))) {
            Some((known, "max")) => known.no_limit(version).to_owned(),
            Some((_, untouched)) => untouched.to_owned(),
            None => return left("the planned value is unknown"),
        },
    };
    Ok(Some(Step {
        cgroup: found.cgroup.clone(),
        owner: owner(found),
        file: file.clone(),
        from: actual.clone(),
        to,
        writer: found.writer.unwrap_or("kubelet").to_owned(),
        unit: None,
    }))
}

fn owner(found: &Difference<'_>) -> String {
    match (&found.namespace, &found.pod, &found.container) {
        (Some(namespace), Some(pod), Some(container)) => format!("{namespace}/{pod} {container}"),
        (Some(namespace), Some(pod), None) => format!("{namespace}/{pod}"),
        _ => found.level.to_string(),
    }
}

/// Checks that a step stays on the kubelet's ground.
/// Fails for a path or a file that kq does not write to.
pub fn check(step: &Step, ground: Ground<'_>) -> Result<(), Refusal> {
    let path = CgroupPath::new(&step.cgroup);
    let leaves = step.cgroup.split('/').any(|part| matches!(part, "." | ".."))
        || step.cgroup.contains(['\0', '<', '>'])
        || path.as_str() != step.cgroup
        // Without a cgroup of their own, pods are everywhere; kq writes nothing there.
        || ground.root.depth() == 0
        || !path.is_within(ground.root);
    if leaves {
        let root = ground.root.as_str().to_owned();
        return Err(Refusal::Outside { cgroup: step.cgroup.clone(), root });
    }
    if step.file.contains('/') || CgroupFile::setting(ground.version, &step.file).is_none() {
        return Err(Refusal::File { cgroup: step.cgroup.clone(), file: step.file.clone() });
    }
    Ok(())
}

/// Returns the file that counts what a limit limits.
pub fn counted_in(file: &str) -> Option<CgroupFile> {
    CgroupFile::named(file)?.row().counted_in
}

fn is_below(file: &str, limit: &str, usage: u64) -> bool {
    CgroupFile::named(file)
        .is_some_and(|file| matches!(file.value(limit), Value::Number(limit) if limit < usage))
}

/// Returns true if a step takes a limit below the current usage; loosening one is harmless.
pub fn lowers_below_usage(file: &str, from: &str, to: &str, usage: u64) -> bool {
    is_below(file, to, usage) && lowers(file, from, to)
}

type Place = (bool, Reverse<usize>, usize, String, (bool, u8), String);

/// Returns the place of a step: first what is raised, top down; then what is lowered, bottom up.
fn place(step: &Step, lowers: bool) -> Place {
    let depth = CgroupPath::new(&step.cgroup).depth();
    let (down, up) = if lowers { (Reverse(depth), 0) } else { (Reverse(0), depth) };
    // Memory and swap together are never less than memory alone.
    let inside = match (step.is(CgroupFile::MemoryMemswLimit), lowers) {
        (true, true) => 2,
        (true, false) => 0,
        (false, _) => 1,
    };
    (lowers, down, up, step.cgroup.clone(), (lowers, inside), step.file.clone())
}

fn lowers(file: &str, from: &str, to: &str) -> bool {
    CgroupFile::named(file).is_some_and(|file| file.value(to).is_below(&file.value(from)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(cgroup: &str, file: &str, from: &str, to: &str) -> Step {
        Step {
            cgroup: cgroup.to_owned(),
            owner: String::new(),
            file: file.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            writer: "kubelet".to_owned(),
            unit: None,
        }
    }

    #[test]
    fn raises_go_down_and_lowerings_go_up() {
        let steps = [
            step("/k/p/c", "memory.max", "100", "50"),
            step("/k/p", "memory.max", "100", "50"),
            step("/k", "memory.max", "50", "max"),
            step("/k/p", "cpu.max", "1000 100000", "max 100000"),
            step("/k/p/c", "cpu.max", "1000 100000", "2000 100000"),
            step("/k/p/c", "memory.memsw.limit_in_bytes", "100", "50"),
            step("/k/p/c", "memory.limit_in_bytes", "100", "50"),
        ];
        let steps = in_order(steps.to_vec(), &CgroupTree::default());
        let order: Vec<String> =
            steps.iter().map(|step| format!("{} {}", step.cgroup, step.file)).collect();
        assert_eq!(
            order,
            [
                "/k memory.max",
                "/k/p cpu.max",
                "/k/p/c cpu.max",
                "/k/p/c memory.limit_in_bytes",
                "/k/p/c memory.max",
                "/k/p/c memory.memsw.limit_in_bytes",
                "/k/p memory.max",
            ]
        );
    }

    #[test]
    fn nothing_leaves_the_kubelets_ground() {
        let root = CgroupPath::new("/kubepods");
        let ground = Ground { version: CgroupVersion::V2, root: &root, allow_oom: false };
        for (name, cgroup, file, allowed) in [
            ("a pod", "/kubepods/pod1", "memory.max", true),
            ("kubepods itself", "/kubepods", "cpu.weight", true),
            ("up and away", "/kubepods/../system.slice", "memory.max", false),
            ("up within", "/kubepods/pod1/../pod2", "memory.max", false),
            ("beside", "/system.slice", "memory.max", false),
            ("the root", "/", "memory.max", false),
            ("not from the root", "kubepods/pod1", "memory.max", false),
            ("no end", "/kubepods//pod1", "memory.max", false),
            ("a container that does not run", "/kubepods/pod1/<web>", "memory.max", false),
            ("another file", "/kubepods/pod1", "cgroup.procs", false),
            ("a count", "/kubepods/pod1", "memory.current", false),
            ("a switch of the kernel", "/kubepods/pod1", "cgroup.kill", false),
            ("a file elsewhere", "/kubepods/pod1", "../memory.max", false),
            ("a file of v1", "/kubepods/pod1", "cpu.shares", false),
        ] {
            let step = step(cgroup, file, "1", "2");
            assert_eq!(check(&step, ground).is_ok(), allowed, "{name}");
        }
    }

    #[test]
    fn limits_below_use_are_seen() {
        for (file, limit, usage, expected) in [
            ("memory.max", "4096", 8192, true),
            ("memory.max", "8192", 8192, false),
            ("memory.max", "max", 8192, false),
            ("memory.limit_in_bytes", "-1", 8192, false),
            ("pids.max", "3", 4, true),
        ] {
            assert_eq!(is_below(file, limit, usage), expected, "{file} {limit}");
        }
    }
}
