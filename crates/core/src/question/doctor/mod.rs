//! The checks of a whole node, the worst result first.

mod chain;
mod ended;
mod node;
mod oom;
mod pod;
mod pod_fact;
mod pod_rule;
mod pods;
mod resources;
mod restart;
mod rule;
mod wording;

use self::pods::PodChecks;
use self::rule::{NodeFinding, NodeRule, Restart};
pub use pod::{PodReport, page};

use super::admission::AdmissionNode;
use super::cgroup::Compared;
use super::cgroup::checks::cgroup_checks;
use super::devices::list::device_list;
use super::devices::verify::{state_files, verify_files};
use super::eviction::eviction_ranks;
use super::image_gc::lint::gc_lint;
use super::image_gc::{ImageGcOptions, image_gc_plan};
use super::measured::stats;
use super::reclaim::NodeReclaim;
use super::start::kubelet_start;
use kq_answer::{Failure, Finding, Rule, Severity, Subject};
use kq_cgroup::live::checks::NodeChecks;
use kq_cgroup::live::difference::Difference;
use kq_cgroup::live::repair::left;
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::pod_selector::Selection;
use kq_image_gc::plan::Trigger;
use kq_managers::list::Asked;

/// Returns the facts that the checks need.
pub fn node_checks_needs() -> Needs {
    Needs::ALL.without(&[FactKey::FolderUsage, FactKey::WritableLayers])
}

/// Checks a node, as `kq doctor` does. `is_stored`: the facts are from a snapshot. [`node_checks_needs`] has the facts that
/// the node should be gathered with.
///
/// # Errors
///
/// Fails where the kubelet would not read its configuration.
pub fn doctor(node: Node, is_stored: bool) -> Result<NodeChecks, Failure> {
    node_checks(&Compared::of(node, Selection::default())?, is_stored)
}

/// Checks a node whose cgroups are compared. `is_stored`: the facts are from a snapshot.
///
/// # Errors
///
/// Fails where the kubelet would not read its configuration.
pub fn node_checks(compared: &Compared, is_stored: bool) -> Result<NodeChecks, Failure> {
    let node = &compared.live;
    let snapshot = &node.snapshot;
    let lacks_all = is_no_node(node);
    let mut drifts = drifts(compared);
    let lists_drift = !drifts.is_empty();
    // What is left of them, the kubelet removes.
    let ended = ended::ended_pods(node);
    drifts.retain(|it| !matches!(&it.subject, Subject::Pod { pod, .. } if ended.has_name(pod)));
    let PodChecks { mut containers, probes } = pods::checks(node, &ended);
    chain::link(&mut drifts, &mut containers);
    // The questions, each answered where its command answers it.
    let start = kubelet_start(node);
    let of_cgroups = cgroup_checks(compared, &start, lists_drift);
    let collection = image_gc_plan(node, &ImageGcOptions::new(Trigger::Periodic));
    let under_pressure = image_gc_plan(node, &ImageGcOptions::new(Trigger::Eviction));
    let reclaim = under_pressure.map(NodeReclaim::of).ok();
    let settings = gc_lint(node).items.into_iter();
    let name = snapshot.node_name.value().map(String::as_str);
    let ranks = eviction_ranks(node, stats(node), name, is_stored);
    let listed = device_list(node, Asked::Both, &Selection::default());
    let files = state_files(node, None).ok();
    let verified = files.map(|files| verify_files(node, &files, Some(&start)));
    let about = AdmissionNode::with_all_pods(node.clone());
    let restart = match start.starts {
        Some(true) => restart::restart(&about, |pods| Restart::Ok { pods }),
        Some(false) => vec![NodeRule::KubeletRestart(Restart::NoStart).of_node()],
        None => restart::restart(&about, |pods| Restart::IfStarts { pods }),
    };
    let headroom = restart::headroom(&about);
    let not_requested = headroom.not_requested();
    let runtime = snapshot.runtime.value().map(|runtime| runtime.endpoint.as_str());
    let object = snapshot.node.found.as_ref().map(|found| found.source.as_str());
    let of_start = node::start(node, &start);
    let of_object = node::object(node, &ranks);
    let of_images = resources::image_gc(collection).told_by(runtime);
    let of_eviction = resources::eviction(ranks, reclaim.as_ref(), node);
    let of_devices = resources::devices(listed, snapshot, &ended);
    let of_files = verified.into_iter().flat_map(resources::problems);
    let headroom = NodeRule::PreemptionHeadroom(headroom).of_node();
    let of_restart = restart.into_iter().chain([headroom]).map(|it| it.told_by(object));
    // In the order of the checks; what is decided by a rule is decided, and it is written down.
    let written = |finding: NodeFinding| named(finding.written());
    let (sick, of_object): (Vec<_>, Vec<_>) =
        of_object.into_iter().partition(|it| it.rule.severity() == Severity::Error);
    let mut found: Vec<Finding> = of_start.into_iter().chain(sick).map(written).collect();
    found.extend(of_cgroups);
    found.extend(drifts.into_iter().chain(of_object).chain([of_images]).map(written));
    found.extend(settings.filter(|finding| finding.severity < Severity::Info));
    found.extend(of_eviction.into_iter().chain(of_devices).map(written));
    found.extend(of_files);
    found.extend(containers.into_iter().map(written));
    found.extend(probes);
    found.extend(of_restart.map(written));
    // Stable: within a severity the checks stay in their order.
    found.sort_by_key(|finding| finding.severity);
    let mut warnings = node.notes_of_plan();
    warnings.extend(compared.settings.warnings.iter().cloned());
    let is_no_node = lacks_all && found.iter().all(|it| it.severity != Severity::Error);
    Ok(NodeChecks {
        not_requested,
        is_no_node,
        ..NodeChecks::new(&compared.settings.facts, found, warnings)
    })
}

/// Returns a finding whose command names the pod that it is about, so that it can be run as it stands.
fn named(finding: Finding) -> Finding {
    let Subject::Pod { pod, .. } = &finding.subject else { return finding };
    let (namespace, name) = pod.split_once('/').unwrap_or(("default", pod));
    let command = finding.command.as_ref().map(|line| {
        let words = line.split(' ').map(|word| match word {
            "POD" => pod,
            "NAMESPACE" => namespace,
            "NAME" => name,
            word => word,
        });
        words.collect::<Vec<_>>().join(" ")
    });
    Finding { command, ..finding }
}

/// Returns true if no source has anything of a node.
fn is_no_node(node: &Node) -> bool {
    let snapshot = &node.snapshot;
    let on_disk = node.config_on_disk();
    snapshot.kubelet.found.is_none()
        && snapshot.pods.found.is_none()
        && snapshot.runtime.found.is_none()
        && snapshot.node.found.is_none()
        && snapshot.kubelet_config.found.is_none()
        && on_disk.file.is_none()
        && on_disk.drop_ins.is_empty()
}

/// Returns the report of one pod, across all domains. The other arguments are those of [`node_checks`].
///
/// # Errors
///
/// Fails as [`node_checks`] does, and for a pod that the node does not have.
pub fn pod_report(compared: &Compared, pod: &str, is_stored: bool) -> Result<PodReport, Failure> {
    let checks = node_checks(compared, is_stored)?;
    pod::report(compared, &compared.live, pod, &checks.items, is_stored)
}

/// Returns the values that differ from the plan.
fn drifts(compared: &Compared) -> Vec<NodeFinding> {
    // `cgroup-values` reports why there is no comparison.
    let Ok(comparison) = compared.comparison() else { return Vec::new() };
    let drifting = comparison.differences.iter().filter(|it| it.verdict.is_drift());
    let cgroups = compared.live.snapshot.cgroups.value();
    let version = cgroups.and_then(|tree| tree.layout.version());
    let finding = |it: &Difference<'_>| {
        let rule = NodeRule::CgroupValues {
            cgroup: it.cgroup.clone(),
            file: it.file.clone(),
            planned: it.planned.clone(),
            actual: it.actual.clone(),
            reason: it.reason.clone(),
            set_by: it.set_by.clone(),
            follows: Vec::new(),
            verdict: it.verdict,
            left: version.and_then(|version| left(it, version)),
        };
        let subject = match (&it.namespace, &it.pod) {
            (Some(namespace), Some(pod)) => {
                Subject::Pod { pod: format!("{namespace}/{pod}"), container: it.container.clone() }
            }
            _ => Subject::File {
                path: it.cgroup.clone(),
                place: it.file.clone().unwrap_or_default(),
            },
        };
        NodeFinding::new(subject, rule)
    };
    drifting.map(finding).collect()
}
