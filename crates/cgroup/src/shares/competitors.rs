//! The cgroups that compete for CPU time, with the planned values or those of the kernel.

use crate::container::ContainerKind;
use crate::cpu_share::Node as Competitor;
use crate::plan::{Owner, PlannedCgroup, last_element};
use kq_answer::origin::Origin;
use kq_answer::{Basis, Missing, MissingFact};
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree};
use kq_facts::lookup::Sourced;
use kq_k8s::cpuset::CpuSet;

/// The weights and quotas that divide the CPU time.
#[derive(Clone, Copy, Debug)]
pub enum Values<'t> {
    /// What the kubelet and the runtime write.
    Planned,
    /// What the kernel has.
    Kernel(&'t Sourced<CgroupTree>),
}

impl Values<'_> {
    /// The fact of the answer that names them.
    pub const FACT: &'static str = "weightsAndQuotas";

    /// Returns the name of the values.
    pub fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Kernel(_) => "kernel",
        }
    }

    /// Returns the weight of a cgroup, where it is known.
    pub(super) fn weight(self, cgroup: &PlannedCgroup<'_>) -> Option<u64> {
        let texts = match self {
            Self::Planned => None,
            Self::Kernel(tree) => Some(tree.value.get(&CgroupPath::new(&cgroup.path))?),
        };
        Found { cgroup, texts }.weight()
    }

    /// Records whose values they are.
    pub(super) fn tell(self, basis: &mut Basis) {
        let source = match self {
            Self::Planned => "plan",
            Self::Kernel(tree) => &tree.source,
        };
        basis.know(Self::FACT, self.name(), Origin::Source(source.to_owned()));
    }
}

/// A competitor; `None` is a sibling of kubepods.
pub(super) type Id<'p> = Option<&'p PlannedCgroup<'p>>;

/// A value of the kernel that is not known, and the CPU times that depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    /// What is missing, and why.
    pub missing: Missing,
    /// The cgroup in which CPU time cannot be divided: the root where that is all of it.
    pub within: CgroupPath,
}

/// The competing cgroups.
pub(super) struct Competitors<'p> {
    values: Values<'p>,
    /// Something competes with the cgroups of all pods.
    siblings: bool,
    /// The trees of competitors.
    pub roots: Vec<Competitor<Id<'p>>>,
    /// The containers with CPUs of their own, and how many.
    pub pinned: Vec<(&'p PlannedCgroup<'p>, u64)>,
    /// How many CPUs pods hold: of init containers that have ended, too, as long as the pod is there.
    pub held: u64,
    /// How many CPUs the kernel gives to a container without CPUs of its own; `None`: not known.
    pub shared: Option<u64>,
    /// Values that are not known.
    pub gaps: Vec<Gap>,
    /// Containers that the kernel does not have.
    pub absent: Vec<String>,
    /// Those of which the status says that they run.
    pub running: Vec<String>,
    /// Cgroups of the kernel besides those of known pods, in which processes may run.
    pub strangers: Vec<CgroupPath>,
}

/// One planned cgroup with the texts of its values.
struct Found<'p> {
    cgroup: &'p PlannedCgroup<'p>,
    /// The kernel's texts, where its values count.
    texts: Option<&'p CgroupTexts>,
}

impl<'p> Found<'p> {
    fn text(&self, file: CgroupFile) -> Option<&'p str> {
        match self.texts {
            Some(texts) => texts.text_of(file),
            None => self.cgroup.text(file.v2_name()),
        }
    }

    fn weight(&self) -> Option<u64> {
        let number = |file| self.text(file).and_then(|text| text.trim().parse().ok());
        number(CgroupFile::CpuWeight).or_else(|| number(CgroupFile::CpuShares))
    }

    /// Returns quota and period. No quota is a text of the kernel, too.
    fn quota(&self) -> Option<(Option<i64>, Option<i64>)> {
        let (quota, period) = match self.text(CgroupFile::CpuMax) {
            Some(text) => text.trim().split_once(' ')?,
            None => (self.text(CgroupFile::CpuCfsQuota)?, self.text(CgroupFile::CpuCfsPeriod)?),
        };
        let quota = match quota.trim() {
            "max" => None,
            quota => Some(quota.parse().ok()?),
        };
        Some((quota, Some(period.trim().parse().ok()?)))
    }
}

impl<'p> Competitors<'p> {
    /// Collects the competing cgroups below the cgroups of all pods, which may have `siblings`.
    pub fn of(kubepods: &[&'p PlannedCgroup<'p>], values: Values<'p>, siblings: bool) -> Self {
        let mut all = Self {
            values,
            siblings,
            roots: Vec::new(),
            pinned: Vec::new(),
            held: 0,
            shared: None,
            gaps: Vec::new(),
            absent: Vec::new(),
            running: Vec::new(),
            strangers: Vec::new(),
        };
        for root in kubepods {
            let roots = all.competitors(root);
            all.roots.extend(roots);
        }
        all
    }

    /// Returns why the CPU time of a cgroup is not known.
    pub fn gap(&self, path: &CgroupPath) -> Option<&Gap> {
        self.gaps.iter().find(|gap| path != &gap.within && path.is_within(&gap.within))
    }

    /// Returns a cgroup with everything below it that competes; nothing where nothing in it can run, and
    /// what is below it where it does not exist (pods without cgroups per QoS).
    fn competitors(&mut self, cgroup: &'p PlannedCgroup<'p>) -> Vec<Competitor<Id<'p>>> {
        let Some(found) = self.find(cgroup) else { return Vec::new() };
        let is_container = matches!(cgroup.owner, Owner::Container { .. });
        if matches!(cgroup.owner, Owner::Pod(..)) {
            self.held = self.held.saturating_add(held(cgroup));
        }
        if is_container && (self.ends(cgroup) || self.has_own_cpus(&found)) {
            return Vec::new();
        }
        if let (Owner::Container { pinned: false, .. }, Values::Kernel(_)) =
            (cgroup.owner, self.values)
        {
            self.shared = self.shared.or_else(|| count(found.text(CgroupFile::CpusetCpus)?));
        }
        let children: Vec<_> =
            cgroup.children.iter().flat_map(|child| self.competitors(child)).collect();
        self.find_strangers(cgroup);
        if !is_container && children.is_empty() {
            return Vec::new();
        }
        if cgroup.path.is_empty() {
            return children;
        }
        // Of planned values, only the weight of kubepods can be unknown, without a capacity; nothing competes
        // with it then.
        let weight = found.weight();
        let mut competitor =
            Competitor::new(Some(cgroup), last_element(&cgroup.path), weight.unwrap_or(1));
        let quota = found.quota();
        if let Some((quota, period)) = quota {
            (competitor.cpu_quota_us, competitor.cpu_period_us) = (quota, period);
        }
        if let Values::Kernel(tree) = self.values {
            let path = CgroupPath::new(&cgroup.path);
            let is_alone = matches!(cgroup.owner, Owner::Node(_)) && !self.siblings;
            if weight.is_none() && !is_alone {
                let parent = path.parent().unwrap_or_else(CgroupPath::root);
                let files = [CgroupFile::CpuWeight, CgroupFile::CpuShares];
                self.gaps.push(Gap { missing: unread(&tree.value, cgroup, files), within: parent });
            }
            if quota.is_none() {
                // CPU time above a quota goes to any sibling.
                let files = [CgroupFile::CpuMax, CgroupFile::CpuCfsQuota];
                let missing = unread(&tree.value, cgroup, files);
                self.gaps.push(Gap { missing, within: CgroupPath::root() });
            }
        }
        competitor.children = children;
        vec![competitor]
    }

    /// Returns a cgroup, unless the kernel does not have it.
    fn find(&mut self, cgroup: &'p PlannedCgroup<'p>) -> Option<Found<'p>> {
        let Values::Kernel(tree) = self.values else { return Some(Found { cgroup, texts: None }) };
        let path = CgroupPath::new(&cgroup.path);
        if let Some(texts) = tree.value.get(&path) {
            return Some(Found { cgroup, texts: Some(texts) });
        }
        let at = cgroup.path.as_str();
        if let Some(problem) = tree.value.problem_at(at) {
            let text = format!("cgroup {at}: {}", problem.reason);
            let missing = Missing::new(MissingFact::CgroupTree, text).about(at);
            self.gaps.push(Gap { missing, within: CgroupPath::root() });
        } else if self.is_unnamed(cgroup, &path) {
            let text = format!("cgroup {at}: the ID of the container is unknown");
            let missing = Missing::new(MissingFact::Containers, text).about(at);
            self.gaps.push(Gap { missing, within: CgroupPath::root() });
        } else if let Owner::Container { pod, name, kind, status, .. } = cgroup.owner
            && kind != ContainerKind::InitContainer
        {
            let runs = status.is_some_and(|status| status.state.running.is_some());
            let list = if runs { &mut self.running } else { &mut self.absent };
            list.push(format!("{}/{} {name}", pod.metadata.namespace, pod.display_name()));
        } else {
            for child in &cgroup.children {
                self.find(child);
            }
        }
        None
    }

    /// Returns true if a container may run in a cgroup of which the name is unknown.
    fn is_unnamed(&self, cgroup: &PlannedCgroup<'_>, path: &CgroupPath) -> bool {
        let (Values::Kernel(tree), Owner::Container { kind, status, .. }) =
            (self.values, cgroup.owner)
        else {
            return false;
        };
        let has_pod = path.parent().is_some_and(|pod| tree.value.get(&pod).is_some());
        let status = status.filter(|_| kind != ContainerKind::EphemeralContainer);
        let state = status.map(|status| &status.state);
        let is_still = state.is_some_and(|it| it.waiting.is_some() || it.terminated.is_some());
        path.name().starts_with('<') && has_pod && !is_still
    }

    /// Returns true if a container ends before the others run. What the kernel has runs.
    fn ends(&self, cgroup: &PlannedCgroup<'_>) -> bool {
        let is_init =
            matches!(cgroup.owner, Owner::Container { kind: ContainerKind::InitContainer, .. });
        is_init && matches!(self.values, Values::Planned)
    }

    /// Keeps a container with CPUs of its own apart from the others.
    fn has_own_cpus(&mut self, found: &Found<'p>) -> bool {
        let Owner::Container { kind, container, pinned: true, .. } = found.cgroup.owner else {
            return false;
        };
        // An init container gives its own back.
        if kind == ContainerKind::InitContainer {
            return false;
        }
        let own = match self.values {
            Values::Planned => super::request_of(container)
                .and_then(|milli_cpu| u64::try_from(milli_cpu / 1000).ok()),
            Values::Kernel(tree) => {
                let own = found.text(CgroupFile::CpusetCpus).and_then(count);
                if own.is_none() {
                    let missing = unread(&tree.value, found.cgroup, [CgroupFile::CpusetCpus]);
                    self.gaps.push(Gap { missing, within: CgroupPath::root() });
                }
                own
            }
        };
        self.pinned.extend(own.map(|own| (found.cgroup, own)));
        own.is_some()
    }

    /// Finds what the kernel has in a cgroup of the node or of a class, and no known pod is.
    fn find_strangers(&mut self, cgroup: &PlannedCgroup<'_>) {
        let Values::Kernel(tree) = self.values else { return };
        if !matches!(cgroup.owner, Owner::Node(_) | Owner::Qos(_)) || cgroup.path.is_empty() {
            return;
        }
        let known: Vec<CgroupPath> =
            cgroup.children.iter().map(|child| CgroupPath::new(&child.path)).collect();
        let path = CgroupPath::new(&cgroup.path);
        let unknown = tree.value.children(&path).filter(|(path, _)| !known.contains(path));
        let busy = unknown.filter(|(_, texts)| texts.is_populated() != Some(false));
        self.strangers.extend(busy.map(|(path, _)| path.clone()));
    }
}

/// Returns the number of CPUs of a set; `None`: it names none.
fn count(set: &str) -> Option<u64> {
    let set = set.parse::<CpuSet>().ok().filter(|set| !set.is_empty())?;
    u64::try_from(set.len()).ok()
}

/// Returns how many CPUs of their own the containers of a pod have at most at a time. Those of an init container stay with
/// its pod, for the containers after it (`cpusToReuse` in `policy_static.go`).
fn held(pod: &PlannedCgroup<'_>) -> u64 {
    let (mut init, mut sidecars, mut apps) = (0_u64, 0_u64, 0_u64);
    for cgroup in &pod.children {
        let Owner::Container { kind, container, pinned: true, .. } = cgroup.owner else { continue };
        let own = super::request_of(container).and_then(|milli| u64::try_from(milli / 1000).ok());
        let own = own.unwrap_or_default();
        match kind {
            ContainerKind::InitContainer => init = init.max(sidecars.saturating_add(own)),
            ContainerKind::Sidecar => sidecars = sidecars.saturating_add(own),
            _ => apps = apps.saturating_add(own),
        }
    }
    init.max(apps.saturating_add(sidecars))
}

/// Returns which value of the kernel is missing, and why.
fn unread<const N: usize>(
    tree: &CgroupTree,
    cgroup: &PlannedCgroup<'_>,
    files: [CgroupFile; N],
) -> Missing {
    let version = tree.layout.version();
    let mut names =
        files.iter().filter_map(|file| version.map_or(Some(file.v2_name()), |it| file.name_on(it)));
    let file = names.next().unwrap_or_else(|| files[0].v2_name());
    let at = format!("{}/{file}", cgroup.path);
    let problem = tree.problem_at(&at);
    let reason = problem.map_or("no such file, or no number in it", |it| it.reason.as_str());
    let text = format!("{file} of {}: {reason}", cgroup.path);
    Missing::new(MissingFact::CgroupTree, text).about(at)
}
