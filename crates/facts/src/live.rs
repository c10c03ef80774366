//! Turns the gathered facts of a node into its description.

use crate::cgroup_file::CgroupFile;
use crate::cgroup_mode::CgroupDriver;
use crate::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree};
use crate::describe::{ConfigSource, LiveSources};
use crate::devices::DeviceFacts;
use crate::lookup::{Lookup, Sourced};
use crate::runtime::RuntimeFacts;
use crate::settings::assign_flag;
use crate::snapshot::{PodSource, RecordedPods, Snapshot};
use crate::workloads::effective_uid;
use kq_answer::Failure;
use kq_answer::missing::{Missing, MissingFact};
use kq_answer::origin::Origin;
use kq_answer::warning::Warning;
use kq_k8s::duration::GoDuration;
use kq_k8s::pod::Pod;
use kq_output::units::{and_more, counted};
use serde_json::Value;
use std::collections::BTreeSet;

/// Returns the kubelet's configuration as it was found.
pub fn config_source(snapshot: &Snapshot) -> ConfigSource {
    let Some(Sourced { source, value: config }) = &snapshot.kubelet_config.found else {
        return ConfigSource::default();
    };
    let fields = config.value.as_object().into_iter().flatten();
    let origins = fields.map(|(field, _)| {
        let origin = config.origins.get(field).unwrap_or(source);
        (field.clone(), Origin::Source(origin.clone()))
    });
    let mut found = ConfigSource {
        origins: origins.collect(),
        value: config.value.clone(),
        source: config.read_as,
        by_flag: config.by_flag.clone(),
        ..ConfigSource::default()
    };
    let on_disk = snapshot.kubelet_config_on_disk.value();
    let process = snapshot.kubelet.value().or_else(|| on_disk?.process.as_ref());
    let flags = process.map(|process| process.interpreted().settings);
    for setting in flags.iter().flatten() {
        // What the kubelet says of its configuration leaves out a zero and an empty text.
        if found.value.get(setting.field).is_none() && is_zero(&setting.text) {
            let origin = Origin::Source(format!("{} of the kubelet", setting.flag));
            assign_flag(&mut found, setting, origin).unwrap_or_default();
        }
        found.by_flag.insert(setting.field);
    }
    found
}

/// Returns true for the text of an empty value, of a number or a duration of zero.
fn is_zero(text: &str) -> bool {
    text.is_empty() || text.parse() == Ok(0_i64) || text.parse() == Ok(GoDuration(0))
}

/// Returns the facts of the machine, the runtime and the tree. `roots` are where the cgroup of all pods is
/// under either driver.
pub fn live_sources(snapshot: &Snapshot, roots: &[(CgroupDriver, CgroupPath)]) -> LiveSources {
    let version = snapshot.kubelet_version.found.as_ref();
    let reported = snapshot.runtime.value().and_then(RuntimeFacts::driver_for_kubelet);
    let tree = snapshot.cgroups.value();
    let made: Vec<_> = roots
        .iter()
        .filter(|(_, root)| tree.is_some_and(|tree| tree.get(root).is_some()))
        .collect();
    LiveSources {
        host: snapshot.host.clone(),
        kubelet_version: version.map(|found| (found.value.clone(), found.source.clone())),
        runtime_driver: reported.map(|found| (found.value, found.source.clone())),
        tree_driver: match made.as_slice() {
            [(driver, root)] => Some((*driver, format!("the cgroup {}", root.as_str()))),
            // None, or one of each: that proves nothing.
            _ => None,
        },
        tree_swap: tree.and_then(swap_limit),
    }
}

/// Returns true if the kernel limits swap per cgroup: by a cgroup with the memory controller, other than
/// the root, which has no limits on cgroup v2.
fn swap_limit(tree: &CgroupTree) -> Option<(bool, String)> {
    let version = tree.layout.version()?;
    let has = |texts: &CgroupTexts, file: CgroupFile| {
        file.name_on(version).is_some_and(|name| texts.text(name).is_some())
    };
    let (path, texts) = tree.cgroups.iter().find(|(_, texts)| has(texts, CgroupFile::MemoryMax))?;
    let swap = [CgroupFile::MemorySwapMax, CgroupFile::MemoryMemswLimit];
    Some((swap.into_iter().any(|file| has(texts, file)), format!("the cgroup {}", path.as_str())))
}

/// Returns the reason why the defaults stand in for the kubelet's configuration; `None`: it was found, or was not
/// needed.
pub fn missing_config(snapshot: &Snapshot) -> Option<Missing> {
    let config = &snapshot.kubelet_config;
    config.has_failed().then(|| {
        let text = format!(
            "the kubelet's configuration is unknown, so kq uses the defaults of its version; \
             give it with --kubelet-config FILE ({})",
            config.reason()
        );
        Missing::new(MissingFact::KubeletConfig, text)
    })
}

/// Returns what could not be found out, each with the flag that supplies it. A configuration that is
/// given is not missed.
fn missing(snapshot: &Snapshot, has_config: bool) -> Vec<Missing> {
    let mut missing: Vec<Missing> =
        missing_config(snapshot).filter(|_| !has_config).into_iter().collect();
    if snapshot.pods.has_failed() {
        let text = format!(
            "the pods of the node are unknown; give them with --pods FILE ({})",
            snapshot.pods.reason()
        );
        missing.push(Missing::new(MissingFact::Pods, text));
    }
    match &snapshot.runtime {
        Lookup { found: None, tried } if !tried.is_empty() => {
            let text = format!(
                "the container runtime did not answer; name it with --runtime-endpoint ({})",
                snapshot.runtime.reason()
            );
            missing.push(Missing::new(MissingFact::Containers, text));
        }
        Lookup { found: Some(found), .. } => missing.extend(silent(&found.value)),
        Lookup { .. } => {}
    }
    missing
}

/// Returns the warnings of an answer that may depend on what could not be found out. A configuration that is
/// given is not missed.
pub fn unknown_facts(snapshot: &Snapshot, has_config: bool) -> Vec<Warning> {
    missing(snapshot, has_config).into_iter().map(Warning::from).collect()
}

/// Returns true if a snapshot has facts of a node, and not only of the machine.
pub fn has_node(snapshot: &Snapshot) -> bool {
    snapshot.kubelet.found.is_some()
        || snapshot.kubelet_config.found.is_some()
        || snapshot.kubelet_config_on_disk.found.is_some()
        || snapshot.node.found.is_some()
        || snapshot.pods.found.is_some()
        || snapshot.runtime.found.is_some()
}

/// Returns the missing facts of a whole snapshot: those of [`unknown_facts`], the cgroups, and the devices of a node
/// with a kubelet.
pub fn missing_of_snapshot(snapshot: &Snapshot, has_config: bool) -> Vec<Missing> {
    let mut missing = missing(snapshot, has_config);
    if snapshot.cgroups.found.is_none() {
        let reason = snapshot.cgroups.reason();
        let text = format!("the cgroup tree could not be read ({reason})");
        missing.push(Missing::new(MissingFact::CgroupTree, text));
    }
    if let Some(devices) = snapshot.devices.as_ref().filter(|_| snapshot.kubelet.found.is_some()) {
        let DeviceFacts { checkpoint, pod_resources, .. } = devices;
        let mut lacks = |fact, what: &str, reason: String| {
            missing.push(Missing::new(fact, format!("the {what} is unavailable ({reason})")));
        };
        if checkpoint.found.is_none() {
            lacks(MissingFact::DeviceCheckpoint, "device checkpoint", checkpoint.reason());
        }
        if pod_resources.found.is_none() {
            lacks(MissingFact::PodResources, "pod-resources API", pod_resources.reason());
        }
    }
    missing
}

/// Returns the facts that an answering runtime did not report.
fn silent(runtime: &RuntimeFacts) -> Vec<Missing> {
    let (sandboxes, containers) = (&runtime.sandboxes, &runtime.containers);
    let lists = [
        ("sandboxes", sandboxes.has_failed(), sandboxes.reason()),
        ("containers", containers.has_failed(), containers.reason()),
    ];
    let silent = lists.into_iter().filter(|(_, is_silent, _)| *is_silent);
    silent
        .map(|(what, _, reason)| {
            let text = format!("the container runtime does not report its {what} ({reason})");
            Missing::new(MissingFact::Containers, text)
        })
        .collect()
}

/// Why the pods that are known may not be all of the node; `None`: they are.
pub fn incomplete(
    pods: &Lookup<RecordedPods>,
    known: &[&Pod],
    runtime: Option<&RuntimeFacts>,
) -> Option<Missing> {
    let missing = |text: String| Some(Missing::new(MissingFact::Pods, text));
    let Some(found) = &pods.found else {
        return missing(
            "the pods of the node are not known: give them with --pods FILE".to_owned(),
        );
    };
    if !found.value.left_out.is_empty() {
        let problems = counted(found.value.left_out.len(), "problem");
        return missing(format!("some pods could not be read ({problems})"));
    }
    let source = found.value.source;
    if source == PodSource::Kubelet {
        // It runs the pods; there are no others.
        return None;
    }
    let Some(sandboxes) = runtime.and_then(|runtime| runtime.sandboxes.value()) else {
        if source.is_complete() {
            return None;
        }
        return missing(format!("{source} may not have all pods, and no runtime lists others"));
    };
    let known: BTreeSet<&str> = known.iter().map(|pod| effective_uid(pod)).collect();
    // Of the pods that it names, the runtime has no specification.
    let is_known = |uid: &str| source != PodSource::Runtime && known.contains(uid);
    let mut unknown = sandboxes.iter().filter(|sandbox| sandbox.ready && !is_known(&sandbox.uid));
    let first = unknown.next()?;
    let others = and_more(unknown.count());
    let why = match source {
        PodSource::Runtime => "the runtime has names only".to_owned(),
        source => format!("they are not in {source}"),
    };
    missing(format!(
        "the specifications of {}/{}{others} are not known: {why}",
        first.namespace, first.name
    ))
}

/// Returns the cgroup tree of a node.
/// Fails if it could not be read, because no answer is possible without it.
pub fn cgroup_tree(snapshot: &Snapshot) -> Result<&CgroupTree, Failure> {
    snapshot.cgroups.value().ok_or_else(|| tree_failure(&snapshot.cgroups))
}

/// Returns the failure of an answer that needs the cgroup tree.
pub fn tree_failure(cgroups: &Lookup<CgroupTree>) -> Failure {
    let reason = cgroups.reason();
    Failure::missing(anyhow::anyhow!("the cgroup tree could not be read: {reason}")).hint(
        "run kq on the node, name its root folder with --host-root, or take a snapshot there \
         and pass it with --snapshot",
    )
}

/// Returns `cgroupRoot` and `cgroupsPerQOS`: `cgroup_root` wins over the configuration.
pub fn kubelet_root(cgroup_root: Option<&str>, config: Option<&Value>) -> (String, bool) {
    let root = config.and_then(|config| config.get("cgroupRoot")?.as_str());
    let root = cgroup_root.or(root).filter(|root| !root.is_empty());
    let per_qos = config.and_then(|config| config.get("cgroupsPerQOS")?.as_bool());
    (root.unwrap_or("/").to_owned(), per_qos.unwrap_or(true))
}
