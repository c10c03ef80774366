//! The cgroup values that change, and when each is written.

use super::described::Described;
use super::pods::Transition;
use crate::kubelet_start::StartWrite;
use crate::question::admission::AdmissionNode;
use crate::question::admission::{CpuSets, KubeletStart};
use crate::question::cgroup::plan::PlanInput;
use crate::question::cgroup::{FirstHugePages, first_hugepages};
use crate::question::devices::admission::PluginStart;
use crate::question::measured::stats;
use crate::question::start::first_weight;
use crate::what_if::{Effect, PodOutcome, ValueChange, WhatIfRule, Written};
use kq_admission::qualified;
use kq_answer::cgroup_fact::CgroupFact;
use kq_answer::{Basis, Failure, Subject};
use kq_cgroup::node::NodePart;
use kq_cgroup::plan::{Owner, PlannedCgroup};
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_mode::CgroupDriver;
use kq_facts::cgroup_tree::CgroupPath;
use kq_k8s::duration::GoDuration;
use kq_k8s::feature_gates::Gate;
use kq_k8s::pod::Pod;
use kq_k8s::qos::QosClass;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The owner of a cgroup, before the change and after it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Node(NodePart),
    Qos(QosClass),
    Pod(String),
    /// The pod, and the name of the container.
    Container(String, String),
}

impl Place {
    pub(super) fn pod(&self) -> Option<&str> {
        match self {
            Self::Node(_) | Self::Qos(_) => None,
            Self::Pod(pod) | Self::Container(pod, _) => Some(pod),
        }
    }

    pub(super) fn container(&self) -> Option<&str> {
        match self {
            Self::Container(_, name) => Some(name),
            _ => None,
        }
    }
}

/// The values of a cgroup.
pub(super) struct Values {
    pub(super) cgroup: String,
    level: Level,
    files: Vec<Value>,
}

/// The value of a file.
pub(super) struct Value {
    file: Cow<'static, str>,
    pub(super) value: String,
    /// The fact that it takes for known, and why that is not known.
    guess: Option<(CgroupFact, String)>,
}

impl Values {
    fn value(&self, file: &str) -> Option<&Value> {
        self.files.iter().find(|it| it.file == file)
    }

    /// Returns the limit of memory.
    pub(super) fn memory_limit(&self) -> Option<&Value> {
        let is_limit = |it: &&Value| it.file == CgroupFile::MemoryMax.v2_name();
        self.files.iter().find(is_limit)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Node,
    Qos,
    Pod,
    /// A container that runs, or starts again.
    Container,
    /// An init container that ends.
    Init,
}

/// What the values after a boot rest on.
const SAME_MEMORY: &str = "after the boot, the kernel leaves as much memory as before: a real node had 8 KiB less, and so had \
                           memory.max of kubepods";

/// The cgroup of all pods, as a part of the node.
const KUBEPODS: &str = "kubepods";

impl Transition<'_> {
    /// Returns the values that change, except for pods that exist only before or only after.
    ///
    /// # Errors
    ///
    /// Fails where one of the kubelets would set no cgroups.
    pub fn values(
        &self,
        pods: &[PodOutcome],
        basis: &mut Basis,
    ) -> Result<Vec<ValueChange>, Failure> {
        let may_end =
            |it: &&PodOutcome| it.result.is_lost() || it.or_else.iter().any(|it| it.is_lost());
        let ends = |it: &&PodOutcome| {
            it.result.is_lost() && it.or_else.iter().all(|other| other.is_lost())
        };
        let names = |is_one: &dyn Fn(&&PodOutcome) -> bool| -> BTreeSet<&str> {
            pods.iter().filter(is_one).map(|it| it.pod.as_str()).collect()
        };
        let (least, most) = (names(&ends), names(&may_end));
        let before = planned(self.before.cgroups()?)?;
        let after = self.planned_without(&least)?;
        let emptier = if least == most { None } else { Some(self.planned_without(&most)?) };
        let (mut changes, mut assumed) = (Vec::new(), BTreeSet::new());
        let (old_pods, new_pods) = (pods_of(&before), pods_of(&after));
        // On the other version of cgroups, there is no file of before.
        let keeps_version = self.before.node()?.cgroup_version == self.after.node()?.cgroup_version;
        // A file of the node and of a class that is no longer written keeps its value.
        let both = after.iter().filter(|(place, _)| {
            place.pod().is_none_or(|pod| old_pods.contains(pod) && new_pods.contains(pod))
        });
        for (place, new) in both {
            let (pod, cgroup) = (place.pod(), &new.cgroup);
            let old_values = before.get(place);
            let emptier = emptier.as_ref().and_then(|it| it.get(place)).filter(|_| pod.is_none());
            for Value { file, value, guess } in &new.files {
                let old = old_values.and_then(|it| it.value(file));
                // What the kubelet did not write has the kernel's value. That of a recreated cgroup is known.
                let is_anew = pod.is_some() && keeps_version;
                let anew = || CgroupFile::named(file).filter(|_| is_anew)?.row().untouched;
                let kernel = match old {
                    None => self.kernel_value(cgroup, file).or_else(|| anew().map(str::to_owned)),
                    Some(_) => None,
                };
                let other = emptier.and_then(|it| it.value(file));
                let other = other.filter(|other| other.value != *value);
                let known = old.map(|old| &*old.value).or(kernel.as_deref());
                if other.is_none() && known.is_some_and(|known| known == value) {
                    continue;
                }
                if let Some((fact, guess)) = old.and_then(|it| it.guess.as_ref()).or(guess.as_ref())
                {
                    // A guess of the formula on one side alone is no change; a page is as large before as after.
                    let is_of_resize = pod.is_some_and(|pod| self.resizes.pods.contains_key(pod));
                    if *fact == CgroupFact::RuntimeFormula && !(is_of_resize && old.is_some()) {
                        continue;
                    }
                    assumed.insert(match fact {
                        CgroupFact::PageSize => format!("{file}: pages of 4096 bytes: {guess}"),
                        _ => format!("{file} of containers: {guess}"),
                    });
                }
                changes.push(ValueChange {
                    cgroup: cgroup.clone(),
                    pod: pod.map(str::to_owned),
                    container: place.container().map(str::to_owned),
                    file: file.to_string(),
                    before: known.map(str::to_owned),
                    after: Some(value.clone()).filter(|_| other.is_none()),
                    between: other.map(|other| [other.value.clone(), value.clone()]),
                    written: self.written(place, new.level, file),
                    within: None,
                });
            }
        }
        if keeps_version {
            changes.extend(self.no_longer_written(&before, &after, &mut assumed));
        }
        if self.reboots {
            basis.assume(SAME_MEMORY);
        }
        basis.assume_all(assumed);
        changes.extend(self.cpusets(&after, &most));
        changes.sort_by(|one, other| {
            (one.written, &one.cgroup, &one.file).cmp(&(other.written, &other.cgroup, &other.file))
        });
        Ok(changes)
    }

    /// Returns the value that a file of the node before the change has, where it was read.
    fn kernel_value(&self, cgroup: &str, file: &str) -> Option<String> {
        let tree = self.before.state.snapshot.cgroups.value()?;
        let text = tree.get(&CgroupPath::new(cgroup))?.text(file)?;
        Some(text.trim_end().to_owned())
    }

    /// Returns the files of pods and containers that get no value any more: the cgroup of the next one has the kernel's.
    fn no_longer_written(
        &self,
        before: &BTreeMap<Place, Values>,
        after: &BTreeMap<Place, Values>,
        assumed: &mut BTreeSet<String>,
    ) -> Vec<ValueChange> {
        let mut changes = Vec::new();
        let of_pods = before.iter().filter(|(place, _)| place.pod().is_some());
        let kept = of_pods.filter_map(|(place, old)| Some((place, old, after.get(place)?)));
        for (place, Values { cgroup, level, files }, new) in kept {
            for Value { file, value, guess } in files {
                let Some(untouched) = CgroupFile::named(file).and_then(|it| it.row().untouched)
                else {
                    continue;
                };
                if new.value(file).is_some() || value == untouched {
                    continue;
                }
                match guess {
                    None => {}
                    Some((CgroupFact::PageSize, guess)) => {
                        assumed.insert(format!("{file}: pages of 4096 bytes: {guess}"));
                    }
                    Some(_) => continue,
                }
                changes.push(ValueChange {
                    cgroup: cgroup.clone(),
                    pod: place.pod().map(str::to_owned),
                    container: place.container().map(str::to_owned),
                    file: file.to_string(),
                    before: Some(value.clone()),
                    after: Some(untouched.to_owned()),
                    between: None,
                    written: self.written(place, *level, file),
                    within: None,
                });
            }
        }
        changes
    }

    /// Returns the CPUs of containers that the static CPU manager moves (`reconcileState`,
    /// `pkg/kubelet/cm/cpumanager/cpu_manager.go`): a policy that becomes static gives every container its CPUs, and one that
    /// ends leaves them. `may_end`: the pods that are left out.
    fn cpusets(
        &self,
        after: &BTreeMap<Place, Values>,
        may_end: &BTreeSet<&str>,
    ) -> Vec<ValueChange> {
        let Some((before, sets)) = self.cpu_sets() else { return Vec::new() };
        // The first look comes a period after the start (`wait.Until(reconcileState, reconcilePeriod)`), and takes a moment.
        let period = self.after.node().map(|node| node.config.cpu_manager_reconcile_period);
        let within = GoDuration(period.unwrap_or_default().0.saturating_add(GoDuration::SECOND.0));
        let Ok(node) = self.after.kubelet() else { return Vec::new() };
        let pods: BTreeMap<String, &Pod> =
            node.allocated_pods().into_iter().map(|pod| (qualified(pod), pod)).collect();
        let moved = |(place, values): (&Place, &Values)| {
            let Place::Container(pod, container) = place else { return None };
            let object = pods.get(pod).filter(|_| !may_end.contains(pod.as_str()))?;
            if values.level != Level::Container {
                return None;
            }
            let old = before.as_ref().map(|before| before.of(object, container).to_string());
            let new = sets.of(object, container).to_string();
            (old.as_ref() != Some(&new)).then(|| ValueChange {
                cgroup: values.cgroup.clone(),
                pod: Some(pod.clone()),
                container: Some(container.clone()),
                file: "cpuset.cpus".to_owned(),
                before: old,
                after: Some(new),
                between: None,
                written: Written::WithReconcile,
                within: Some(within),
            })
        };
        after.iter().filter_map(moved).collect()
    }

    /// Returns the CPUs of containers before, if a static CPU manager set them, and after the start.
    fn cpu_sets(&self) -> Option<(Option<CpuSets>, CpuSets)> {
        let is_static = self.after.node().ok()?.config.cpu_manager_policy == "static";
        if !self.restarts || self.reboots || !is_static {
            return None;
        }
        let about = AdmissionNode::with_all_pods(self.after.kubelet().ok()?.clone());
        let start = KubeletStart::of(&about, PluginStart::AfterPods).ok()?;
        let after = start.cpu_sets(&start.order())?;
        let before = self
            .before
            .kubelet()
            .ok()
            .and_then(|node| AdmissionNode::with_all_pods(node.clone()).cpu_sets());
        Some((before, after))
    }

    /// Plans the cgroups after the change, without some pods.
    fn planned_without(&self, lost: &BTreeSet<&str>) -> Result<BTreeMap<Place, Values>, Failure> {
        let mut after = match (&self.resizes.written, lost.is_empty()) {
            (Some(written), _) => planned(&written.cgroups_without(lost)?)?,
            (None, true) => planned(self.after.cgroups()?)?,
            (None, false) => planned(&self.after.cgroups_without(lost)?)?,
        };
        // The sums of the levels above pods are of what pods ask for, also while a resize waits.
        if let Some(asked) = &self.resizes.asked {
            after.retain(|place, _| place.pod().is_some());
            let sums = planned(&asked.cgroups_without(lost)?)?;
            after.extend(sums.into_iter().filter(|(place, _)| place.pod().is_none()));
        }
        Ok(after)
    }

    /// Returns when a value is written. The kubelet writes the cgroups of a pod when it creates them, and those of a
    /// container at its start (`syncPod`, `pkg/kubelet/kubelet.go`); those of the QoS classes with every new pod and
    /// once a minute (`qosContainerManagerImpl.Start`, `pkg/kubelet/cm/qos_container_manager_linux.go`). With a
    /// resize, it writes what CPU and memory decide (`doPodResizeAction`).
    fn written(&self, place: &Place, level: Level, file: &str) -> Written {
        let (pod, container) = (place.pod(), place.container());
        let restarted = pod.and_then(|pod| self.resizes.restarted(pod));
        let file = CgroupFile::named(file);
        let resized = pod.and_then(|pod| self.resizes.pods.get(pod));
        // The kubelet writes a pod's cgroup with the files of its containers (`doPodResizeAction`).
        let writes_pod = resized.is_some_and(|it| it.is_of_pod || !it.updated.is_empty());
        let is_updated = |name: &str| {
            resized.is_some_and(|it| it.is_of_pod || it.updated.iter().any(|own| own == name))
        };
        match (level, restarted) {
            _ if self.reboots => Written::AtStart,
            (Level::Node | Level::Qos, _)
                if file.is_some_and(|it| {
                    matches!(it, CgroupFile::MemoryMin | CgroupFile::MemoryLow)
                }) && self.resets_protection() =>
            {
                Written::AtStart
            }
            // The classes write these on the cgroup of all pods.
            (Level::Node, _)
                if *place == Place::Node(NodePart::Kubepods)
                    && file.is_some_and(|it| {
                        it.has_size() || matches!(it, CgroupFile::MemoryMin | CgroupFile::MemoryLow)
                    }) =>
            {
                Written::WithinAMinute
            }
            (Level::Node, _) => Written::AtStart,
            (Level::Qos, _) => Written::WithinAMinute,
            (Level::Pod, Some(_)) if writes_pod && file.is_some_and(is_resized_of_pod) => {
                Written::AtResize
            }
            (Level::Container, Some(_)) if !container.is_some_and(is_updated) => {
                Written::AtContainerStart
            }
            (Level::Container, Some(restarted))
                if file != Some(CgroupFile::OomScoreAdj)
                    || container.is_some_and(|it| restarted.contains(&it)) =>
            {
                Written::AtResize
            }
            (Level::Pod, _) => Written::WithPod,
            (Level::Container | Level::Init, _) => Written::AtContainerStart,
        }
    }

    /// The start takes memory protection back, and no update writes it.
    fn resets_protection(&self) -> bool {
        self.after.kubelet().is_ok_and(|node| {
            node.kubelet.rules.resets_protection()
                && !(node.kubelet.rules.gates.enabled(Gate::MemoryQos)
                    && node.kubelet.config.memory_reservation_policy == "TieredReservation")
        })
    }
}

/// Returns true if the kubelet writes a file of a pod with a resize (`setPodCgroupConfig` in `doPodResizeAction`). Of a
/// container, runtimes write all but `oom_score_adj`: no runtime changes that of running processes (`WithResources` of
/// containerd, `UpdateContainerResources` of CRI-O).
fn is_resized_of_pod(file: CgroupFile) -> bool {
    matches!(
        file,
        CgroupFile::CpuShares
            | CgroupFile::CpuWeight
            | CgroupFile::CpuMax
            | CgroupFile::CpuCfsQuota
            | CgroupFile::CpuCfsPeriod
            | CgroupFile::MemoryMax
    )
}

fn pods_of(side: &BTreeMap<Place, Values>) -> BTreeSet<&str> {
    side.keys().filter_map(Place::pod).collect()
}

/// Plans the cgroups of a node.
pub(super) fn planned(input: &PlanInput) -> Result<BTreeMap<Place, Values>, Failure> {
    let (plan, _) = input.answer()?;
    let mut places = BTreeMap::new();
    for root in &plan.roots {
        root.walk(0, &mut |cgroup: &PlannedCgroup<'_>, _| {
            let (place, level) = match cgroup.owner {
                Owner::Node(part) => (Place::Node(part), Level::Node),
                Owner::Qos(class) => (Place::Qos(class), Level::Qos),
                Owner::Pod(pod, _) => (Place::Pod(qualified(pod)), Level::Pod),
                Owner::Container { pod, name, .. } => {
                    let mut init = pod.spec.init_containers.iter();
                    let level = match init.any(|it| it.name == *name && !it.restarts_always()) {
                        true => Level::Init,
                        false => Level::Container,
                    };
                    (Place::Container(qualified(pod), name.to_owned()), level)
                }
            };
            let known = cgroup.files.iter().map(|it| (it, None));
            let guessed = cgroup.missing.iter().filter_map(|(name, fact)| {
                let is_guess = matches!(fact, CgroupFact::RuntimeFormula | CgroupFact::PageSize);
                let file = cgroup.withheld.iter().find(|it| it.file == *name && is_guess)?;
                Some((file, Some((*fact, plan.knowledge.reason(*fact)))))
            });
            let values = known.chain(guessed).map(|(it, guess)| Value {
                file: it.file.clone(),
                value: it.value.clone(),
                guess,
            });
            let files: Vec<Value> = values.collect();
            if !files.is_empty() {
                let cgroup = cgroup.path.clone();
                places.insert(place, Values { cgroup, level, files });
            }
        });
    }
    Ok(places)
}

/// Returns the values that change although the kubelet does not start: what it writes before its end.
pub fn before_end(before: &Described<'_>, writes: &[StartWrite]) -> Vec<ValueChange> {
    let planned = before.cgroups().and_then(planned).unwrap_or_default();
    let old = |write: &StartWrite| {
        let mut own = planned
            .iter()
            .filter(|(place, values)| place.pod().is_none() && values.cgroup == write.cgroup);
        own.find_map(|(_, values)| Some(values.value(&write.file)?.value.clone()))
    };
    let changed = writes.iter().filter_map(|write| {
        let before = old(write);
        let is_same = before.as_ref() == Some(&write.value) && write.or.is_none();
        (!is_same).then(|| ValueChange {
            cgroup: write.cgroup.clone(),
            pod: None,
            container: None,
            file: write.file.clone(),
            before,
            after: Some(write.value.clone()).filter(|_| write.or.is_none()),
            between: write.or.clone().map(|or| [write.value.clone(), or]),
            written: match write.is_certain {
                true => Written::AtStart,
                false => Written::PerhapsAtStart,
            },
            within: None,
        })
    });
    changed.collect()
}

/// Returns how many values change; `None`: none does.
pub fn count(changes: &[ValueChange]) -> Option<Effect> {
    let is_now =
        |it: &&ValueChange| !matches!(it.written, Written::AtContainerStart | Written::WithPod);
    let now = changes.iter().filter(is_now).count();
    let rule = WhatIfRule::CgroupValues { now, later: changes.len() - now };
    (!changes.is_empty()).then(|| Effect::new(Subject::Node, rule))
}

/// Returns the findings about the values.
pub fn findings(changes: &[ValueChange], transition: &Transition<'_>) -> Vec<Effect> {
    let finding = |rule| Effect::new(Subject::Node, rule);
    let mut findings: Vec<Effect> = count(changes).into_iter().collect();
    findings.extend(limit_below_use(changes, transition).map(finding));
    if transition.restarts
        && !transition.reboots
        && let Ok(node) = transition.after.node()
        && node.config.cgroups_per_qos
    {
        let (file, value) = first_weight(node.cgroup_version);
        findings.push(finding(WhatIfRule::QosCgroupsReset {
            file: file.to_owned(),
            value: value.to_owned(),
        }));
        if node.cgroup_driver == CgroupDriver::Systemd {
            findings.extend(first_hugepages(node).map(
                |FirstHugePages { file, reserved, value }| {
                    finding(WhatIfRule::HugePagesReset { file, reserved, value })
                },
            ));
        }
    }
    findings
}

/// Returns a limit of all pods that is written below their working set. A reboot ends the pods first.
fn limit_below_use(changes: &[ValueChange], transition: &Transition<'_>) -> Option<WhatIfRule> {
    let is_limit = |it: &&ValueChange| {
        let is_root = it.cgroup.trim_end_matches(".slice").ends_with(KUBEPODS);
        is_root
            && it.pod.is_none()
            && it.file == CgroupFile::MemoryMax.v2_name()
            && it.written == Written::AtStart
    };
    let change = changes.iter().find(is_limit).filter(|_| !transition.reboots)?;
    let limit_bytes: u64 = change.after.as_ref()?.parse().ok()?;
    let measured = stats(transition.before.kubelet().ok()?)?;
    let pods = measured.value.node.system_containers.iter().find(|it| it.name == "pods")?;
    let used_bytes = pods.memory.as_ref()?.working_set_bytes?;
    let cgroup = change.cgroup.clone();
    (used_bytes > limit_bytes).then_some(WhatIfRule::LimitBelowUse {
        cgroup,
        limit_bytes,
        used_bytes,
    })
}
