//! The state files of a kubelet.

use crate::kubelet_start::Machine;
use crate::question::start::KubeletStart;
use anyhow::anyhow;
use kq_answer::origin::Origin;
use kq_answer::{Failure, Warning, WarningCode};
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::cpu_manager::KnownContainers;
use kq_facts::checkpoint::layout::KnownLayouts;
use kq_facts::devices::{CHECKPOINT_NAME, PLUGIN_FOLDER};
use kq_facts::host::Text;
use kq_facts::kubelet_process::DEFAULT_ROOT_DIR;
use kq_facts::node::Node;
use kq_facts::node_pods::NodePods;
use kq_facts::read_error::ReadError;
use kq_facts::snapshot::Snapshot;
use kq_k8s::feature_gates::gate_state;
use kq_managers::memory_manager::KnownMemory;
use kq_managers::verify::{Content, StateFileContent, Verification, VerifyContext};
use std::borrow::Cow;

/// The kubelet's folder unless a source names another.
pub const KUBELET_FOLDER: &str = DEFAULT_ROOT_DIR;

/// Verifies files of a kubelet against each other and against the node. `start`: that of the node's kubelet, if the files are
/// its own.
pub fn verify_files(
    node: &Node,
    files: &[StateFileContent<'_>],
    start: Option<&KubeletStart>,
) -> Verification {
    let pods = NodePods::of(&node.snapshot);
    let mut answer = Verification::of(files, &known(node, &pods, start));
    if let Some(start) = start {
        for (file, error) in &start.refused_files {
            answer.refused_at_start(*file, error.clone());
        }
        answer.basis.warn_all(node.notes.iter().cloned());
        answer.basis.assume_all(node.assumed());
    } else {
        let is_version = |it: &&Warning| it.code == WarningCode::UnknownRules;
        answer.basis.warn_all(node.kubelet.warnings.iter().filter(is_version).cloned());
    }
    answer
}

/// Reads the file at a path of a live node.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, ReadError>;

/// Collects the state files of a node's kubelet. `read` reads a file of a live node byte for byte: a snapshot has
/// texts only.
///
/// # Errors
///
/// Fails for a snapshot without files of the kubelet.
pub fn state_files<'n>(
    node: &'n Node,
    read: Option<ReadFile<'_>>,
) -> Result<Vec<StateFileContent<'n>>, Failure> {
    let snapshot = &node.snapshot;
    if snapshot.state_files.is_none() && snapshot.devices.is_none() {
        return Err(Failure::missing(anyhow!("the snapshot has no files of the kubelet"))
            .hint("take a new one with kq snapshot"));
    }
    let stored = snapshot.state_files.as_ref();
    let folder = stored.map_or(KUBELET_FOLDER, |state| state.folder.as_str());
    let beneath = |name: &str| format!("{}/{name}", folder.trim_end_matches('/'));
    let mut files = Vec::new();
    for file in StateFile::ALL {
        let path = match file {
            StateFile::Devices => format!("{PLUGIN_FOLDER}/{CHECKPOINT_NAME}"),
            file => beneath(file.name()),
        };
        let content = match read {
            Some(read) => of_bytes(read(&path)),
            None if file == StateFile::Devices => stored_devices(snapshot),
            None => match stored.and_then(|state| state.get(file.name())) {
                Some(Text::Read(text)) => Content::Bytes(Cow::Borrowed(text.as_bytes())),
                Some(Text::Absent) => Content::Absent,
                Some(Text::Unreadable(reason)) => Content::Unreadable(reason.clone()),
                None => Content::Unrecorded,
            },
        };
        // Of both ways to remember pods, a kubelet has one.
        let is_other = match file {
            StateFile::PodStatus => !has_one_file_of_pods(node),
            StateFile::AllocatedPods | StateFile::ActuatedPods => has_one_file_of_pods(node),
            _ => false,
        };
        if !is_other || matches!(content, Content::Bytes(_)) {
            let folder = folder.to_owned();
            files.push(StateFileContent { file: Some(file), path, folder, content });
        }
    }
    Ok(files)
}

fn of_bytes(read: Result<Vec<u8>, ReadError>) -> Content<'static> {
    match read {
        Ok(bytes) => Content::Bytes(Cow::Owned(bytes)),
        Err(ReadError::Absent) => Content::Absent,
        Err(error) => Content::Unreadable(error.to_string()),
    }
}

fn stored_devices(snapshot: &Snapshot) -> Content<'_> {
    let Some(devices) = &snapshot.devices else {
        return Content::Unrecorded;
    };
    match devices.checkpoint.value() {
        Some(fact) => Content::Stored(fact),
        None if devices.checkpoint.was_not_queried() => Content::Unrecorded,
        // A file in a folder that is not there is not there either.
        None if devices.lacks_folder => Content::Absent,
        None => Content::Unreadable(devices.checkpoint.reason()),
    }
}

/// Until 1.32 the kubelet remembers pods in one file.
fn has_one_file_of_pods(node: &Node) -> bool {
    !node.kubelet.version.has_two_files_of_pods()
}

/// Collects the facts other than the files.
fn known<'n>(
    node: &'n Node,
    pods: &'n NodePods<'n>,
    start: Option<&KubeletStart>,
) -> VerifyContext<'n> {
    let is_of_node = start.is_some();
    let config = &node.kubelet.config;
    let knows = node.knows_config && !node.lacks_whole_config();
    let says = |field: &str| knows || node.kubelet.origins.contains_key(field);
    // With the option, reserved CPUs are in no set.
    let options = node.kubelet.given.cpu_manager_policy_options.as_ref();
    let strict = options.and_then(|options| options.get("strict-cpu-reservation"));
    // Without the configuration the stricter case is taken, which finds fewer contradictions.
    let strict = strict.is_some_and(|on| on != "false") || !node.knows_config;
    let containers = node.snapshot.runtime.value().and_then(|runtime| {
        let containers = runtime.containers.value()?.iter();
        let known = containers.map(|it| (it.id.clone(), (it.pod_uid.clone(), it.name.clone())));
        Some(known.collect::<KnownContainers>())
    });
    let machine = Machine::of_host(&node.snapshot.host);
    VerifyContext {
        cpu_policy: says("cpuManagerPolicy").then_some(config.cpu_manager_policy.as_str()),
        strict_cpu_reservation: strict,
        memory_policy: says("memoryManagerPolicy").then_some(config.memory_manager_policy.as_str()),
        layouts: KnownLayouts::of(&node.kubelet.rules),
        unread: start.map(|start| start.unread_files.clone()).unwrap_or_default(),
        removed: start.map(|start| start.removed_files.clone()).unwrap_or_default(),
        // Before 1.36 there is no gate that could be on.
        knows_gates: says("featureGates")
            || node.kubelet.version_origin != Origin::Assumed
                && gate_state("PodLevelResourceManagers", node.kubelet.version).is_none(),
        knows_version: node.kubelet.version_origin != Origin::Assumed
            && node.kubelet.version.is_known()
            && !node.kubelet.version.writes_unread_state_files(),
        version: Some(node.kubelet.version),
        is_1_32: has_one_file_of_pods(node),
        containers,
        memory: memory(node, is_of_node),
        cpus: machine.cpus.filter(|_| is_of_node),
        is_of_machine: is_of_node,
        knows_reserved_cpus: !config.reserved_system_cpus.is_empty()
            || machine.cpu_topology.is_some(),
        supports_version: node.kubelet.version.is_known(),
        pods: Some(pods),
    }
}

/// Collects what the memory manager compares its state with.
fn memory(node: &Node, is_of_node: bool) -> KnownMemory {
    let given = &node.kubelet.given.reserved_memory;
    let reserved_memory = node.knows_config.then(|| given.clone().unwrap_or_default());
    let machine = match is_of_node {
        true => KnownMemory::of_host(&node.snapshot.host),
        false => KnownMemory::default(),
    };
    KnownMemory { reserved_memory, ..machine }
}
