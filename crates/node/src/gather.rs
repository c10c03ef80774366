//! Gathers a node: the sources, their order, and the dependencies between facts.

use super::config::{self, KubeletConfig, KubeletProcesses, KubeletServer};
use super::pods::{self, PodsQuestion};
use super::readers::{self, Below};
use super::source_order::NodeInQuestion;
use super::spec::NodeSpec;
use super::{folders, remote, runtime, stats, version};
use kq_answer::Failure;
use kq_facts::cgroup_layout::CgroupLayout;
use kq_facts::cgroup_name::named_cgroup;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTree};
use kq_facts::fact_key::FactKey;
use kq_facts::host::HostFacts;
use kq_facts::input_name::shown;
use kq_facts::kubelet_process::KubeletProcess;
use kq_facts::lookup::{FailedSource, Lookup, Sourced};
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::node_object::NodeObject;
use kq_facts::overrides::Overrides;
use kq_facts::snapshot::{API_VERSION, HostRoot, KIND, Snapshot};
use kq_io::cgroup_tree::{TreeNeeds, read_tree};
use kq_io::clock::after_now;
use kq_io::host::{LIMIT, host_root, read_beneath, read_host, read_state_files};
use kq_io::kubelet_process::stopped_kubelet;
use kq_io::kubelet_process::{KubeletSearch, find_kubelet};
use kq_io::no_live_node;
use kq_io::snapshot_file::{SnapshotFileError, read_snapshot};
use kq_io::watchdog::{self, reading};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Gathers the needed facts, from a stored snapshot or from the node. `config` is the kubelet's
/// configuration, if given.
pub fn gather(spec: &NodeSpec, config: Option<&Value>, needs: Needs) -> Result<Snapshot, Failure> {
    let mut snapshot = match &spec.snapshot {
        Some(path) => {
            let mut snapshot = stored(path)?;
            put_given(&mut snapshot, spec, config.is_some(), needs)?;
            // The snapshot of a command that did not need it: unknown is not the default one.
            if needs.has(FactKey::KubeletConfig)
                && config.is_none()
                && snapshot.kubelet_config.was_not_queried()
            {
                snapshot.kubelet_config = Lookup::failed(shown(path), "has no configuration");
            }
            snapshot
        }
        None => live(spec, config, needs)?,
    };
    let found = snapshot.kubelet_config.value().map(|config| &*config.value);
    let roots = spec.kubelet_roots(config.or(found));
    needs.restrict(&mut snapshot, &roots);
    Ok(snapshot)
}

fn stored(path: &str) -> Result<Snapshot, Failure> {
    read_snapshot(path).map_err(|error| match error {
        SnapshotFileError::Content { .. }
        | SnapshotFileError::Value { .. }
        | SnapshotFileError::Damaged { .. } => {
            Failure::usage(error).hint("a snapshot is made by kq snapshot -o FILE")
        }
        SnapshotFileError::Gzip { .. } => Failure::usage(error),
        SnapshotFileError::NoSnapshot { .. } => {
            Failure::usage(error).hint("kq report --with-snapshot stores one in its page")
        }
        other => Failure::missing(other),
    })
}

/// Puts facts from the command line over stored ones, as over gathered ones.
fn put_given(
    snapshot: &mut Snapshot,
    spec: &NodeSpec,
    has_config: bool,
    needs: Needs,
) -> Result<(), Failure> {
    if !spec.pods.is_empty() && needs.needs_pods(&snapshot.runtime) {
        let found = Some(pods::of_files(spec)?);
        snapshot.pods = Lookup { found, tried: Vec::new() };
    }
    if has_config {
        // It would not have been queried.
        snapshot.kubelet_config = Lookup::default();
    }
    Ok(())
}

/// Gathers from the node. Only an indispensable fact is a failure; any other missing fact is recorded with its
/// reason.
fn live(spec: &NodeSpec, config: Option<&Value>, needs: Needs) -> Result<Snapshot, Failure> {
    watchdog::begin(spec.timeout.saturating_mul(3));
    let (root, because) = host_root(spec.host_root.as_deref());
    let root = std::path::absolute(&root).unwrap_or(root);
    let is_folder = {
        let _reading = reading(&root.to_string_lossy());
        root.is_dir()
    };
    if !is_folder {
        let failure = anyhow::anyhow!("--host-root {}: folder not found", root.display());
        return Err(Failure::usage(failure));
    }
    check_named(spec)?;
    let node = spec.node_in_question(needs.files, needs.only_on_node);
    let (host, search) = match node.has_root() {
        true => (read_host(&root), find(&root)),
        false => (HostFacts::default(), KubeletSearch { may_run: true, ..Default::default() }),
    };
    let KubeletSearch { process: kubelet, may_run } = search;
    let machine = own_name(&root, kubelet.value());
    if node.runs_here()
        && let Some(name) = remote::node(spec, &host, machine.value())
    {
        return remote::gather(spec, config, needs, name);
    }
    if node.has_root() {
        check_live()?;
    }
    let is_stopped = !may_run || node == NodeInQuestion::Copied;
    let stopped = match kubelet.found.is_none() && is_stopped {
        true => stopped_kubelet(&root),
        false => None,
    };
    let process = kubelet.value().or(stopped.as_ref().map(|stopped| &stopped.process));
    // The configuration may locate the runtime and the kubelet's static pods.
    let asks_for_pods = needs.needs_any_pods() && spec.pods.is_empty();
    let kubelet_config =
        match needs.has(FactKey::KubeletConfig) || needs.needs_runtime() || asks_for_pods {
            true => {
                let process = KubeletProcesses {
                    kubelet: process,
                    stopped: stopped.as_ref(),
                    tried: &kubelet.tried,
                };
                config::gather(spec, node, config.is_some(), &root, process)
            }
            false => Lookup::default(),
        };
    let found = kubelet_config.value().map(|config| &*config.value);
    let settings = KubeletConfig::of(config.or(found), process);
    let node_name = match node.has_root() {
        true => node_name(spec, &root, process),
        false => named_node(spec).unwrap_or_default(),
    };
    let version = match kubelet.value() {
        Some(process) if needs.has(FactKey::Node) => {
            let config = settings.value();
            version::gather(&KubeletServer {
                spec,
                node,
                root: &root,
                process: Some(process),
                config,
            })
        }
        _ => Lookup::default(),
    };
    let runtime = match needs.needs_runtime() {
        true => runtime::gather(spec, node, &root, &settings, needs.runtime())?,
        false => Lookup::default(),
    };
    let question = PodsQuestion {
        spec,
        node,
        root: &root,
        host: &host,
        process,
        runs: kubelet.value().is_some(),
        settings: &settings,
        has_node_file: needs.has_node_file,
        node_name: node_name.value().map(String::as_str),
    };
    let of_server = pods::gather(&question, needs, &runtime)?;
    let stats_summary = match needs.has(FactKey::StatsSummary) {
        true => stats::gather(spec, node, &root, kubelet.value(), &settings),
        false => Lookup::default(),
    };
    let mut snapshot = Snapshot {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        taken_at: after_now().to_string(),
        taken_by: concat!("kq ", env!("CARGO_PKG_VERSION")).to_owned(),
        host_root: HostRoot { path: root.display().to_string(), because },

        node_name,
        kubelet,
        kubelet_version: version,
        kubelet_config,
        node: of_server.node,
        pods: of_server.pods,
        events: of_server.events,
        runtime,
        stats_summary,
        ..Snapshot::default()
    };
    let below = Below { spec, root: &root, host: &host, settings: &settings };
    match node.has_root() {
        true => {
            let time = spec.timeout;
            snapshot.folders =
                folders::gather(needs, (node, &root), &host, &snapshot.runtime, &settings, time);
            snapshot.state_files =
                needs.has(FactKey::StateFiles).then(|| read_state_files(&root, &settings.root_dir));
            readers::read(&below, needs, &mut snapshot);
        }
        false => not_queried(node, needs, &mut snapshot),
    }
    snapshot.host = host;
    Ok(snapshot)
}

/// Fails where this build cannot read a live node.
///
/// # Errors
///
/// Fails on other systems than Linux.
pub fn check_live() -> Result<(), Failure> {
    match no_live_node() {
        None => Ok(()),
        Some(reason) => Err(Failure::missing(anyhow::anyhow!(reason))),
    }
}

/// Records why no source below the node's root was queried.
fn not_queried(node: NodeInQuestion, needs: Needs, snapshot: &mut Snapshot) {
    let reason = node.not_queried().unwrap_or_default();
    if needs.has(FactKey::DeviceCheckpoint) {
        snapshot.devices.get_or_insert_default().checkpoint =
            Lookup::failed("the device checkpoint", reason);
    }
    if needs.has(FactKey::PodResources) {
        snapshot.devices.get_or_insert_default().pod_resources =
            Lookup::failed("the pod-resources API", reason);
    }
    if needs.has(FactKey::CgroupTree) {
        snapshot.cgroups = Lookup::failed("the cgroups", reason);
    }
}

/// Rejects named files that do not exist: kq does not fall back to another source.
fn check_named(spec: &NodeSpec) -> Result<(), Failure> {
    for (flag, file) in [
        ("--kubeconfig", &spec.kubeconfig),
        ("--kubelet-token-file", &spec.kubelet_token_file),
        ("--kubelet-client-certificate", &spec.kubelet_client_certificate),
        ("--kubelet-client-key", &spec.kubelet_client_key),
        ("--kubelet-certificate-authority", &spec.kubelet_certificate_authority),
    ] {
        let is_missing = |file: &&PathBuf| {
            let _reading = reading(&file.to_string_lossy());
            !file.exists()
        };
        if let Some(file) = file.as_ref().filter(is_missing) {
            let missing = anyhow::anyhow!("{flag} {}: no such file", file.display());
            return Err(Failure::missing(missing));
        }
    }
    Ok(())
}

fn find(root: &Path) -> KubeletSearch {
    // Where the processes cannot be listed, one may run.
    find_kubelet(root).unwrap_or_else(|error| KubeletSearch {
        process: Lookup::failed("/proc", error.to_string()),
        may_run: true,
    })
}

/// Returns true for a Node object of this machine: by the machine's number, else by its name.
pub fn is_of_this_machine(object: &NodeObject, spec: &NodeSpec) -> bool {
    let (root, _) = host_root(None);
    let by_name = || {
        let kubelet = find(&root).process;
        node_name(spec, &root, kubelet.value()).value() == Some(&object.metadata.name)
    };
    object.is_of_machine(&read_host(&root)).unwrap_or_else(by_name)
}

fn named_node(spec: &NodeSpec) -> Option<Lookup<String>> {
    spec.node_name.as_ref().map(|name| Lookup::found("--node-name", name.clone()))
}

/// Returns the name under which the kubelet registers its node.
fn node_name(spec: &NodeSpec, root: &Path, process: Option<&KubeletProcess>) -> Lookup<String> {
    named_node(spec).unwrap_or_else(|| own_name(root, process))
}

/// The same for the machine at a root, whichever node is in question.
fn own_name(root: &Path, process: Option<&KubeletProcess>) -> Lookup<String> {
    if let Some(name) = process.and_then(|process| process.interpreted().hostname_override) {
        return Lookup::found("--hostname-override of the kubelet", name);
    }
    let mut tried = Vec::new();
    for path in ["/proc/sys/kernel/hostname", "/etc/hostname"] {
        match read_beneath(root, path, LIMIT) {
            Ok(bytes) => {
                let name = String::from_utf8_lossy(&bytes).trim().to_lowercase();
                if !name.is_empty() {
                    return Lookup {
                        found: Some(Sourced { source: path.to_owned(), value: name }),
                        tried,
                    };
                }
                tried.push(FailedSource { source: path.to_owned(), reason: "is empty".to_owned() });
            }
            Err(error) => {
                tried.push(FailedSource { source: path.to_owned(), reason: error.to_string() })
            }
        }
    }
    Lookup { found: None, tried }
}

/// Returns where the cgroups are that the configuration reserves for the system.
fn reserved(config: Option<&Value>) -> Vec<CgroupPath> {
    let fields = ["systemReservedCgroup", "kubeReservedCgroup"];
    let named = fields.iter().filter_map(|field| config?.get(field)?.as_str());
    named.filter(|path| !path.is_empty()).flat_map(named_cgroup).collect()
}

/// Reads the cgroup tree below the root of a node.
pub(super) fn tree(below: &Below<'_>, needs: Needs) -> Lookup<CgroupTree> {
    let settings = below.settings.value();
    let tree = TreeNeeds {
        roots: below.spec.kubelet_roots(settings),
        beside: reserved(settings),
        usage: needs.has(FactKey::CgroupUsage),
        statistics: needs.has(FactKey::CgroupStatistics),
        processes: needs.has(FactKey::Processes),
    };
    gather_tree(below.root, &below.host.cgroup_layout(), &tree)
}

fn gather_tree(
    root: &Path,
    layout: &Result<CgroupLayout, kq_facts::host::HostFactError>,
    needs: &TreeNeeds,
) -> Lookup<CgroupTree> {
    let layout = match layout {
        Ok(layout) => layout,
        Err(error) => return Lookup::failed("the cgroup hierarchies", error.to_string()),
    };
    let source = layout.unified.as_deref().filter(|_| !layout.is_hybrid());
    let source = source.unwrap_or("/sys/fs/cgroup").to_owned();
    if layout.version().is_none() {
        return Lookup::failed(source, "no cgroup hierarchy is mounted");
    }
    Lookup::found(source, read_tree(root, layout, needs))
}

/// Gathers a node and describes its kubelet.
///
/// # Errors
///
/// Fails as [`gather`] and [`Node::of`] do.
pub fn gather_node(spec: &NodeSpec, overrides: Overrides, needs: Needs) -> Result<Node, Failure> {
    gather_node_with(spec, overrides, needs, |_| {})
}

/// Gathers a node, replaces gathered facts with those from elsewhere, and describes the kubelet.
///
/// # Errors
///
/// Fails as [`gather`] and [`Node::of`] do.
pub fn gather_node_with(
    spec: &NodeSpec,
    overrides: Overrides,
    needs: Needs,
    put: impl FnOnce(&mut Snapshot),
) -> Result<Node, Failure> {
    let config = overrides.config.as_ref().map(|given| &*given.config.value);
    let mut snapshot = gather(spec, config, needs)?;
    put(&mut snapshot);
    let runs_here = spec.snapshot.is_none()
        && spec.node_in_question(needs.files, needs.only_on_node).runs_here();
    let ignores_config = !needs.has(FactKey::KubeletConfig);
    let mut node = Node::of(snapshot, Overrides { ignores_config, ..overrides })?.checked()?;
    node.runs_here = runs_here;
    Ok(node)
}
