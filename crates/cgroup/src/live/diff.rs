//! Compares the plan with the kernel, value by value.

use crate::container::ContainerKind;
use crate::derivation::Step;
use crate::live::compare::{KernelValue, Rounding, compare};
use crate::live::difference::{Difference, Verdict};
use crate::live::motion::Motion;
use crate::live::place::LiveCgroup;
use crate::live::set_by::{SetBy, Writers};
use crate::plan::{Owner, Plan, PlannedCgroup, controller};
use crate::resource_config::ExplainedFile;
use crate::rule::Rule;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::cgroup_name::CRUN_SUBGROUP;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq_facts::pod_selector::Selection;
use kq_facts::workloads::{Workloads, effective_uid};
use kq_k8s::pod::{Container, Pod, ResourceName};
use kq_k8s::qos::QosClass;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The input of a comparison besides the plan and the tree.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The names.
    pub workloads: &'a Workloads,
    /// How the kernel and systemd round.
    pub rounding: Rounding,
    /// Every pod of the node is in the plan; else the reason why that is not known. What is added up
    /// over all pods is withheld from the plan then.
    pub incomplete: Option<&'a str>,
    /// The runtime said which containers there are.
    pub runtime_known: bool,
    /// The runtime does not lower `oom_score_adj` below its own; `None`: no runtime could be asked.
    pub restricts_oom_score: Option<bool>,
    /// The pods that another runtime runs than the default one, with its name, by UID.
    pub handlers: &'a BTreeMap<String, String>,
    /// The pods that Kata Containers runs in virtual machines, by UID.
    pub in_machines: &'a BTreeSet<String>,
    /// The pods whose runtime lets their annotations change the quota and the CPUs of whole CPUs, by UID.
    pub annotated: &'a BTreeSet<String>,
    /// The workloads of CRI-O, which give the containers of their pods other CPUs and shares.
    pub workloads_of_runtime: &'a BTreeSet<String>,
    /// What comes and goes.
    pub motion: &'a Motion,
    /// The pods that are asked about.
    pub selection: &'a Selection,
    /// The facts that show the writer of a value.
    pub writers: Writers<'a>,
    /// Plans for what was allocated and what is in effect, with their names, where they differ.
    pub resizing: &'a [(&'static str, &'a Plan<'a>)],
}

/// Compares a plan with the tree. The order is that of the plan, then the unplanned values.
pub fn diff<'a>(
    plan: &'a Plan<'a>,
    tree: &'a CgroupTree,
    live: &[LiveCgroup<'a>],
    context: Context<'a>,
) -> Vec<Difference<'a>> {
    let resizing =
        context.resizing.iter().map(|(name, plan)| (*name, by_path(plan))).collect::<Vec<_>>();
    let mut comparison = Comparison {
        plan,
        tree,
        context,
        resizing,
        absent_controllers: absent_controllers(plan, tree),
        found: Vec::new(),
        planned_paths: BTreeSet::new(),
    };
    for root in &plan.roots {
        root.walk(0, &mut |cgroup, _| comparison.planned(cgroup));
    }
    // Without cgroups per class, pods are wherever the runtime puts them, among everything else.
    if plan.settings.cgroups_per_qos {
        comparison.unplanned(live, &plan.ended);
    }
    context.motion.excuse(&mut comparison.found);
    comparison.found
}

/// Returns the controllers whose files are planned and of which the machine has none at all.
pub fn absent_controllers(plan: &Plan<'_>, tree: &CgroupTree) -> BTreeSet<String> {
    let mut planned = BTreeSet::new();
    for root in &plan.roots {
        root.walk(0, &mut |cgroup, _| {
            let missing = cgroup.missing.iter().map(|(file, _)| file);
            let files = cgroup.files.iter().map(|file| &file.file).chain(missing);
            planned.extend(files.map(|file| controller(file).to_owned()));
        });
    }
    planned.remove(CgroupFile::OomScoreAdj.row().controller);
    let Some(version) = tree.layout.version() else { return planned };
    for name in tree.cgroups.values().flat_map(|texts| texts.0.keys()) {
        if planned.is_empty() {
            break;
        }
        // A kernel can count for a controller that is off.
        if let Some(file) = CgroupFile::setting(version, name) {
            planned.remove(file.row().controller);
        }
    }
    planned
}

pub(super) fn by_path<'a>(plan: &'a Plan<'a>) -> BTreeMap<&'a str, &'a PlannedCgroup<'a>> {
    let mut all = BTreeMap::new();
    for root in &plan.roots {
        root.walk(0, &mut |cgroup, _| {
            all.insert(cgroup.path.as_str(), cgroup);
        });
    }
    all
}

pub(super) struct Comparison<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) tree: &'a CgroupTree,
    pub(super) context: Context<'a>,
    pub(super) resizing: Vec<(&'static str, BTreeMap<&'a str, &'a PlannedCgroup<'a>>)>,
    pub(super) absent_controllers: BTreeSet<String>,
    pub(super) found: Vec<Difference<'a>>,
    pub(super) planned_paths: BTreeSet<CgroupPath>,
}

impl<'a> Comparison<'a> {
    fn planned(&mut self, cgroup: &'a PlannedCgroup<'a>) {
        if let Owner::Container { status, .. } = cgroup.owner
            && !self.plan.settings.cgroups_per_qos
        {
            return self.unplaced_container(cgroup, status);
        }
        let path = CgroupPath::new(&cgroup.path);
        self.planned_paths.insert(path.clone());
        if !self.is_selected(cgroup) || cgroup.path.is_empty() {
            return;
        }
        let Some(texts) = self.tree.get(&path) else {
            return self.absent(cgroup);
        };
        for file in &cgroup.files {
            if self.absent_controllers.contains(controller(&file.file)) {
                continue;
            }
            if let Some(found) = self.value_in_subgroup(cgroup, &path, file) {
                self.found.push(found);
                continue;
            }
            let actual = match CgroupFile::named(&file.file) {
                Some(CgroupFile::OomScoreAdj) => self.score(&path, Some(&file.value)),
                _ => texts.text(&file.file).map(str::to_owned),
            };
            let found = self.value(cgroup, &file.file, &file.value, actual, &file.because);
            self.found.push(found);
        }
        for (file, fact) in &cgroup.missing {
            if self.absent_controllers.contains(controller(file)) {
                continue;
            }
            let actual = match CgroupFile::named(file) {
                Some(CgroupFile::OomScoreAdj) => self.score(&path, None),
                _ => texts.text(file).map(str::to_owned),
            };
            let reason = self.plan.knowledge.reason(*fact);
            let guess = cgroup.withheld.iter().find(|withheld| withheld.file == *file);
            let found = Difference {
                planned: guess.map(|guess| guess.value.clone()),
                actual,
                reason: Some(reason),
                because: Cow::Borrowed(guess.map_or(&[], |guess| &guess.because)),
                ..Difference::of(cgroup, Some(file), Verdict::Unknown)
            };
            self.found.push(found);
        }
        self.unplanned_values(cgroup, &path);
    }

    pub(super) fn is_selected(&self, cgroup: &PlannedCgroup<'_>) -> bool {
        match cgroup.owner {
            Owner::Node(_) | Owner::Qos(_) => self.context.selection.is_all(),
            Owner::Pod(pod, _) | Owner::Container { pod, .. } => {
                let (namespace, uid) = (&pod.metadata.namespace, effective_uid(pod));
                self.context.selection.has(namespace, &pod.display_name(), uid)
            }
        }
    }

    /// Judges a value that crun writes below the container's scope; `None`: this is in the container's own cgroup.
    ///
    /// crun hands systemd the limits that systemd knows, and writes all of them into a cgroup in the scope
    /// (`libcrun_cgroup_enter_systemd`, `src/libcrun/cgroup-systemd.c`). What systemd gets is not always the same:
    /// `MemorySwapMax` is memory and swap together (`get_memory_swap_max`), and `memory.oom.group` has no property.
    fn value_in_subgroup(
        &self,
        cgroup: &'a PlannedCgroup<'a>,
        path: &CgroupPath,
        file: &'a ExplainedFile,
    ) -> Option<Difference<'a>> {
        let known = CgroupFile::named(&file.file)?;
        let is_below = matches!(
            known,
            CgroupFile::MemoryOomGroup
                | CgroupFile::MemorySwapMax
                | CgroupFile::MemoryMin
                | CgroupFile::MemoryHigh
                | CgroupFile::HugetlbMax
        );
        if !is_below || !matches!(cgroup.owner, Owner::Container { .. }) {
            return None;
        }
        let below = path.child(CRUN_SUBGROUP);
        let subgroup = self.tree.get(&below).filter(|_| path.name().ends_with(".scope"))?;
        let above = self.tree.get(path)?.text(&file.file);
        let found = match subgroup.text(&file.file) {
            Some(actual) => {
                let actual = Some(actual.to_owned());
                self.value(cgroup, &file.file, &file.value, actual, &file.because)
            }
            None if above == Some(&file.value) => return None,
            None => {
                let reason = format!(
                    "crun keeps it in {CRUN_SUBGROUP} below the scope, which was not read: take the snapshot again"
                );
                Difference {
                    planned: Some(file.value.clone()),
                    reason: Some(reason),
                    because: Cow::Borrowed(&file.because),
                    ..Difference::of(cgroup, Some(&file.file), Verdict::Unknown)
                }
            }
        };
        let mut found = Difference { cgroup: below.as_str().to_owned(), ..found };
        // systemd writes no file of this cgroup.
        if found.verdict == Verdict::Drift {
            let actual = found.actual.as_deref().unwrap_or_default();
            found.set_by = self.context.writers.of(&found.cgroup, &file.file, actual, true);
            found.reason = found.set_by.as_ref().map(ToString::to_string);
        }
        Some(found)
    }

    fn value(
        &self,
        cgroup: &'a PlannedCgroup<'a>,
        file: &str,
        planned: &str,
        actual: Option<String>,
        because: &'a [Step],
    ) -> Difference<'a> {
        let mut found = Difference {
            planned: Some(planned.to_owned()),
            because: Cow::Borrowed(because),
            ..Difference::of(cgroup, Some(file), Verdict::Match)
        };
        let Some(actual) = actual else {
            (found.verdict, found.reason) = self.no_text(cgroup, file);
            return found;
        };
        match compare(file, planned, &actual, self.context.rounding) {
            KernelValue::Equal => {}
            KernelValue::Rounded(reason) => {
                (found.verdict, found.reason) = (Verdict::Rounded, Some(reason));
            }
            KernelValue::Different => {
                found.is_resizing = self.is_resizing(cgroup, file, planned);
                found.is_sum = self.plan.is_sum(cgroup, file);
                (found.verdict, found.reason) = self.other_text(cgroup, file, planned, &actual);
                if found.verdict == Verdict::Drift {
                    found.set_by = self.set_by(cgroup, file, &actual, found.reason.is_some());
                    let reasons = [found.set_by.as_ref().map(ToString::to_string), found.reason];
                    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
                    found.reason = Some(reasons.join("; ")).filter(|reason| !reason.is_empty());
                }
            }
        }
        found.actual = Some(actual);
        found
    }

    /// Returns who wrote a value; of one that the kubelet itself can have left behind, only what a drop-in says.
    pub(super) fn set_by(
        &self,
        cgroup: &PlannedCgroup<'_>,
        file: &str,
        actual: &str,
        is_explained: bool,
    ) -> Option<SetBy> {
        let is_of_pod = matches!(cgroup.owner, Owner::Pod(..) | Owner::Container { .. });
        self.context.writers.of(&cgroup.path, file, actual, is_of_pod && !is_explained)
    }

    fn is_resizing(&self, cgroup: &PlannedCgroup<'_>, file: &str, planned: &str) -> bool {
        self.earlier(cgroup, file).any(|(_, text)| text != planned)
    }

    /// Returns what a file had before an unfinished resize. What is added up over all pods is of what they
    /// ask for (`setCPUCgroupConfig`, `pkg/kubelet/cm/qos_container_manager_linux.go`): no resize delays it.
    fn earlier<'s>(
        &'s self,
        cgroup: &PlannedCgroup<'_>,
        file: &'s str,
    ) -> impl Iterator<Item = (&'static str, &'a str)> + use<'a, 's> {
        let of_pods = matches!(cgroup.owner, Owner::Pod(..) | Owner::Container { .. });
        let path = cgroup.path.clone();
        let plans = self.resizing.iter().filter(move |_| of_pods);
        plans.filter_map(move |(name, plan)| Some((*name, plan.get(path.as_str())?.text(file)?)))
    }

    /// Returns the reason why the kernel has no text where one is planned.
    fn no_text(&self, cgroup: &PlannedCgroup<'_>, file: &str) -> (Verdict, Option<String>) {
        if CgroupFile::named(file) == Some(CgroupFile::OomScoreAdj) {
            let reason = "no process was found in the container";
            return (Verdict::Unknown, Some(reason.to_owned()));
        }
        let at = format!("{}/{file}", cgroup.path);
        if let Some(problem) = self.tree.problem_at(&at) {
            return (Verdict::Unknown, Some(format!("cannot be read: {}", problem.reason)));
        }
        let reason =
            format!("the cgroup has no such file: is the controller {} on here?", controller(file));
        (Verdict::Missing, Some(reason))
    }

    /// Returns the reason why the kernel may have another text than the one that is planned.
    fn other_text(
        &self,
        cgroup: &PlannedCgroup<'_>,
        file: &str,
        planned: &str,
        actual: &str,
    ) -> (Verdict, Option<String>) {
        for (name, earlier) in self.earlier(cgroup, file) {
            let is_kept = !matches!(
                compare(file, earlier, actual, self.context.rounding),
                KernelValue::Different
            );
            if earlier != planned && is_kept {
                let reason = format!("desired {planned}; {name} and in the kernel {earlier}");
                return (Verdict::ResizePending, Some(reason));
            }
        }
        let known = CgroupFile::named(file);
        if let Owner::Container { pod, .. } = cgroup.owner
            && known == Some(CgroupFile::CpuWeight)
            && let Some(handler) = self.context.handlers.get(effective_uid(pod))
        {
            let reason = format!(
                "how runtime {handler} of its RuntimeClass computes it is not known (--runtime NAME=VERSION,{handler}=VERSION)"
            );
            return (Verdict::Unknown, Some(reason));
        }
        if let Some(reason) = known.and_then(|file| self.by_annotation(cgroup, file)) {
            return (Verdict::Unknown, Some(reason));
        }
        if known == Some(CgroupFile::OomScoreAdj) {
            if is_score_before_resize(cgroup, planned, actual) {
                let reason = format!(
                    "desired {planned}; no runtime changes the score of running processes when it resizes a \
                     container: it is {planned} from the container's next start"
                );
                return (Verdict::ResizePending, Some(reason));
            }
            if let Some((verdict, reason)) = self.raised_score(planned, actual) {
                return (verdict, Some(reason.to_owned()));
            }
        }
        if matches!(cgroup.owner, Owner::Qos(_))
            && known == Some(CgroupFile::MemoryMax)
            && self.plan.settings.version == CgroupVersion::V1
            && is_above(actual, planned)
        {
            let reason = format!("desired {planned}; {}", Rule::LimitRaisedToUsage);
            return (Verdict::Unknown, Some(reason));
        }
        let reason = match cgroup.owner {
            Owner::Qos(_) => Some("the kubelet rewrites this level once a minute"),
            _ => left_behind(cgroup, file, actual),
        };
        (Verdict::Drift, reason.map(str::to_owned))
    }

    /// Returns why an annotation of the pod may be the reason for another text: kq does not read them.
    fn by_annotation(&self, cgroup: &PlannedCgroup<'_>, file: CgroupFile) -> Option<String> {
        let (pod, class, container) = match cgroup.owner {
            Owner::Container { pod, class, container, .. } => (pod, class, Some(container)),
            Owner::Pod(pod, class) => (pod, class, None),
            Owner::Node(_) | Owner::Qos(_) => return None,
        };
        let is_quota =
            matches!(file, CgroupFile::CpuMax | CgroupFile::CpuCfsQuota | CgroupFile::CpuCfsPeriod);
        let is_of_container = container.is_some()
            && matches!(
                file,
                CgroupFile::CpusetCpus | CgroupFile::CpuWeight | CgroupFile::CpuShares
            );
        let has_whole_cpus = match container {
            Some(container) => requests_whole_cpus(container),
            None => pod.spec.containers.iter().any(requests_whole_cpus),
        };
        let is_exclusive = is_quota || is_of_container && file == CgroupFile::CpusetCpus;
        if is_exclusive
            && class == QosClass::Guaranteed
            && has_whole_cpus
            && self.context.annotated.contains(effective_uid(pod))
        {
            let reason = "the runtime of its RuntimeClass lets annotations of the pod change it (cpu-quota.crio.io, \
                          cpu-shared.crio.io), which kq does not read";
            return Some(reason.to_owned());
        }
        let workloads = self.context.workloads_of_runtime;
        let is_of_workload = container.is_some() && (is_quota || is_of_container);
        (is_of_workload && !workloads.is_empty()).then(|| {
            let names: Vec<&str> = workloads.iter().map(String::as_str).collect();
            format!(
                "an annotation of the pod may put it into a workload of CRI-O ({}) with other CPUs and shares, and kq \
                 does not read annotations",
                names.join(", ")
            )
        })
    }

    /// Judges a score that is higher than planned: some runtimes raise it to their own.
    fn raised_score(&self, planned: &str, actual: &str) -> Option<(Verdict, &'static str)> {
        let (planned, actual): (i64, i64) = (planned.parse().ok()?, actual.parse().ok()?);
        match self.context.restricts_oom_score {
            _ if planned >= actual => None,
            Some(true) => Some((
                Verdict::Rounded,
                "the runtime may not go below its own (restrict_oom_score_adj)",
            )),
            Some(false) => None,
            None => Some((
                Verdict::Unknown,
                "unknown whether the runtime restricts it (--runtime-set restrict_oom_score_adj=BOOL)",
            )),
        }
    }

    /// Returns `oom_score_adj` of a container: what is planned, if one of its processes has that (a
    /// program may change the score of those that it starts), else that of the first one.
    fn score(&self, path: &CgroupPath, planned: Option<&str>) -> Option<String> {
        let within = self.tree.within(path);
        let pids: Vec<i32> = within.flat_map(|(_, texts)| texts.pids()).collect();
        let scores = || pids.iter().filter_map(|pid| self.tree.oom_score_adj.get(pid));
        let as_planned = scores().find(|score| Some(score.as_str()) == planned);
        let first = || self.tree.oom_score_adj.get(pids.iter().min()?);
        as_planned.or_else(first).cloned()
    }
}

/// The scores that depend on memory requests, those of Burstable pods (`GetContainerOOMScoreAdjust`,
/// `pkg/kubelet/qos/policy.go`).
const SCORES_BY_REQUEST: std::ops::RangeInclusive<i64> = 2..=999;

/// Returns true if a container can have the score of the memory requests from before a resize: the pod was changed
/// since it was created, and a change of its memory restarts no container. Runtimes set the score when they start a
/// container (`WithResources` of containerd and `UpdateContainerResources` of CRI-O leave it out, as `runc update`
/// does).
fn is_score_before_resize(cgroup: &PlannedCgroup<'_>, planned: &str, actual: &str) -> bool {
    let Owner::Container { pod, container, .. } = cgroup.owner else { return false };
    let by_request = |score: &str| score.parse().is_ok_and(|it| SCORES_BY_REQUEST.contains(&it));
    let restarts = container.resize_policy.iter().any(|policy| {
        policy.resource_name == "memory" && policy.restart_policy == "RestartContainer"
    });
    was_resized(pod) && !restarts && by_request(planned) && by_request(actual)
}

/// Returns true for a container that CRI-O takes for one with whole CPUs (`isContainerRequestWholeCPU`,
/// `internal/runtimehandlerhooks/high_performance_hooks_linux.go`).
fn requests_whole_cpus(container: &Container) -> bool {
    let asked = container.resources.requests.get(&ResourceName::Cpu);
    let asked = asked.or_else(|| container.resources.limits.get(&ResourceName::Cpu));
    asked.is_some_and(|cpu| cpu.milli_value() > 0 && cpu.milli_value() % 1000 == 0)
}

/// Returns true if a pod can have been resized in place, by its status: its spec was changed, or, of API servers that
/// do not count changes, its kubelet reports the resources of containers.
fn was_resized(pod: &Pod) -> bool {
    let mut statuses = pod.status.containers_and_init();
    match pod.metadata.generation {
        Some(generation) => generation > 1,
        None => statuses.any(|it| it.resources.is_some() || it.allocated_resources.is_some()),
    }
}

/// Returns true for a limit above another one. Without a limit, cgroup v1 has a number that no machine reaches.
fn is_above(actual: &str, planned: &str) -> bool {
    let [actual, planned] = [actual, planned].map(|text| text.trim().parse::<u64>().unwrap_or(0));
    actual > planned && actual < 1 << 62
}

/// Says how the kubelet itself can have left a value behind when it resized the pod (`doPodResizeAction`
/// and `updatePodContainerResources`, `pkg/kubelet/kuberuntime/kuberuntime_manager.go`, read in 1.36.2).
fn left_behind(cgroup: &PlannedCgroup<'_>, file: &str, actual: &str) -> Option<&'static str> {
    // The API server counts the changes of a spec from 1 on.
    let was_never_resized = |pod: &Pod| pod.metadata.generation == Some(1);
    let file = CgroupFile::named(file)?;
    match cgroup.owner {
        Owner::Container { kind: ContainerKind::EphemeralContainer, .. } => None,
        // Measured with systemd 257: whatever property is set, it applies the policy of the scope (`OOMPolicy=`) again.
        Owner::Container { .. }
            if file == CgroupFile::MemoryOomGroup
                && actual == "0"
                && cgroup.path.ends_with(".scope") =>
        {
            Some(
                "systemd sets it to 0 when a property of the scope is set (systemctl set-property), and by its \
                 default; the runtime writes it when it starts or resizes the container",
            )
        }
        Owner::Container { pod, container, .. } => {
            let (spec, own) = (&pod.spec, &container.resources);
            let least = matches!(
                (file, actual),
                (CgroupFile::CpuShares, "2") | (CgroupFile::CpuWeight, "1")
            );
            let takes_from_pod =
                spec.resources.is_some() && !own.requests.contains(&ResourceName::Cpu);
            (least && takes_from_pod).then_some(
                "the kubelet writes the least shares for a container without a CPU request when it resizes \
                 it, or does not know any more what it wrote; a new container gets what is planned",
            )
        }
        Owner::Pod(pod, _) if was_never_resized(pod) => None,
        Owner::Pod(..) if matches!(file, CgroupFile::MemoryMin | CgroupFile::MemoryLow) => {
            Some("when the kubelet resizes a pod, it does not write this file again")
        }
        Owner::Pod(..) if file.has_size() && actual == "0" => {
            Some("when the kubelet resizes a pod, it closes the pod's huge pages")
        }
        Owner::Pod(..) | Owner::Node(_) | Owner::Qos(_) => None,
    }
}
