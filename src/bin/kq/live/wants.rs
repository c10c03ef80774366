//! What a command needs to know. What it does not need is not looked for, and not looked at in a
//! snapshot that has more: so an answer is the same from both.

use kq::edge::cri::{RuntimeWants, StatusWants};
use kq::facts::cgroup_tree::CgroupPath;
use kq::facts::runtime::RuntimeFacts;
use kq::facts::snapshot::Snapshot;
use kq::facts::sought::Sought;

/// What a command needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Wants {
    /// The pods.
    pub pods: PodsWanted,
    /// The kubelet's version and the Node object.
    pub node: bool,
    /// A Node object is given, so that none is asked for.
    pub has_node_file: bool,
    /// What the runtime says.
    pub runtime: RuntimeWants,
    /// The cgroup tree.
    pub tree: Option<TreeDetail>,
    /// The kubelet's own files.
    pub state_files: bool,
}

/// What is needed of the pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodsWanted {
    /// Their specifications.
    Specifications,
    /// Their names, which the runtime may know as well.
    Names,
}

/// How much of the cgroup tree is read, beside what is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeDetail {
    /// What the kernel counts.
    pub usage: bool,
    /// The processes.
    pub processes: bool,
}

impl Wants {
    /// Everything that any command needs.
    pub const ALL: Self = Self {
        pods: PodsWanted::Specifications,
        node: true,
        has_node_file: false,
        runtime: RuntimeWants::ALL,
        tree: Some(TreeDetail { usage: true, processes: true }),
        state_files: true,
    };

    /// What planning needs: no images, and of the tree what tells the driver and the limit of swap.
    pub const PLAN: Self = Self {
        pods: PodsWanted::Specifications,
        node: true,
        has_node_file: false,
        runtime: RuntimeWants {
            images: false,
            image_filesystems: false,
            container_statuses: StatusWants::None,
            writable_layers: false,
            image_storage: false,
            ..RuntimeWants::ALL
        },
        tree: Some(TreeDetail { usage: false, processes: false }),
        state_files: false,
    };

    /// What a plan of garbage collection needs.
    pub const GC_PLAN: Self = Self {
        pods: PodsWanted::Specifications,
        node: true,
        has_node_file: false,
        runtime: RuntimeWants {
            cgroup_driver: false,
            low_level: false,
            sandboxes: true,
            containers: true,
            images: true,
            image_filesystems: true,
            container_statuses: StatusWants::ImageVolumes,
            writable_layers: false,
            image_storage: true,
        },
        tree: None,
        state_files: false,
    };

    /// What the policy of garbage collection needs: the kubelet alone.
    pub const GC_POLICY: Self = Self {
        pods: PodsWanted::Names,
        runtime: RuntimeWants {
            cgroup_driver: false,
            low_level: false,
            sandboxes: false,
            containers: false,
            images: false,
            image_filesystems: false,
            container_statuses: StatusWants::None,
            writable_layers: false,
            image_storage: false,
        },
        ..Self::GC_PLAN
    };

    /// What a list of images needs.
    pub const GC_IMAGES: Self = Self {
        pods: PodsWanted::Names,
        runtime: RuntimeWants {
            image_filesystems: false,
            container_statuses: StatusWants::All,
            image_storage: false,
            ..Self::GC_PLAN.runtime
        },
        ..Self::GC_PLAN
    };

    /// What names need.
    pub const NAMES: Self = Self {
        pods: PodsWanted::Names,
        node: false,
        has_node_file: false,
        runtime: RuntimeWants {
            cgroup_driver: false,
            low_level: false,
            sandboxes: true,
            containers: true,
            images: false,
            image_filesystems: false,
            container_statuses: StatusWants::None,
            writable_layers: false,
            image_storage: false,
        },
        tree: None,
        state_files: false,
    };

    /// Tells whether the list of pods is needed beside what the runtime said.
    pub fn needs_pods(self, runtime: &Sought<RuntimeFacts>) -> bool {
        let named = runtime.value().is_some_and(|facts| {
            facts.sandboxes.found.is_some() && facts.containers.found.is_some()
        });
        self.pods == PodsWanted::Specifications || !named
    }

    /// Forgets what is not needed.
    pub fn restrict(self, snapshot: &mut Snapshot, roots: &[CgroupPath]) {
        if !self.node {
            snapshot.node = Sought::default();
            snapshot.kubelet_version = Sought::default();
        }
        if !self.needs_pods(&snapshot.runtime) {
            snapshot.pods = Sought::default();
        }
        if !self.state_files {
            snapshot.state_files = None;
        }
        if let Some(found) = &mut snapshot.runtime.found {
            restrict_statuses(self.runtime, &mut found.value);
            restrict_runtime(self.runtime, &mut found.value);
        }
        match (self.tree, &mut snapshot.cgroups.found) {
            (None, _) => snapshot.cgroups = Sought::default(),
            (Some(_), None) => {}
            (Some(TreeDetail { usage, processes }), Some(found)) => {
                found.value.restrict(roots, usage, processes);
            }
        }
    }
}

fn restrict_runtime(wants: RuntimeWants, facts: &mut RuntimeFacts) {
    if !wants.cgroup_driver {
        facts.cgroup_driver = Sought::default();
    }
    if !wants.low_level {
        facts.low_level = Sought::default();
    }
    if !wants.sandboxes {
        facts.sandboxes = Sought::default();
    }
    if !wants.containers {
        facts.containers = Sought::default();
    }
    if !wants.images {
        facts.images = Sought::default();
    }
    if !wants.image_filesystems {
        facts.image_filesystems = Sought::default();
    }
    if !wants.writable_layers {
        facts.writable_layers = Sought::default();
    }
    if !wants.image_storage {
        facts.image_storage = Sought::default();
    }
}

/// Keeps the statuses that would have been asked for, with what is needed of them. It comes before
/// anything else is forgotten: which are needed depends on the states of their containers.
fn restrict_statuses(wants: RuntimeWants, facts: &mut RuntimeFacts) {
    let wanted = wants.container_statuses;
    if !wants.containers || !wanted.applies_to(&facts.version) {
        facts.container_statuses = Sought::default();
        return;
    }
    let Some(found) = &mut facts.container_statuses.found else { return };
    match wanted {
        StatusWants::All | StatusWants::None => {}
        StatusWants::ImageVolumes => {
            found.value.iter_mut().for_each(|status| status.finished_at = None);
        }
        StatusWants::Ended => {
            let containers = facts.containers.value().map(Vec::as_slice).unwrap_or_default();
            // Statuses stand in the order of their containers, all of them or only those that ended.
            if found.value.len() == containers.len() {
                let mut states =
                    containers.iter().map(|container| wanted.includes(container.state));
                found.value.retain(|_| states.next().unwrap_or(true));
            }
        }
    }
}
