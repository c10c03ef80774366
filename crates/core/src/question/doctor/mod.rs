//! The checks of a whole node, the worst result first.

mod chain;
mod devices;
mod disk;
mod ended;
mod node;
mod oom;
mod pod;
mod pod_fact;
mod pod_rule;
mod pods;
mod restart;
mod rule;
mod wording;

use self::rule::{NodeFinding, NodeRule};
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
use super::reclaim::node_reclaim;
use super::start::kubelet_start;
use kq_answer::{Failure, Finding, Rule, Severity, Subject};
use kq_cgroup::live::checks::NodeChecks;
use kq_cgroup::live::difference::Difference;
use kq_cgroup::live::repair::left;
use kq_facts::events::PodEvent;
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::pod_selector::Selection;
use kq_facts::snapshot::Snapshot;
use kq_image_gc::plan::Trigger;
use kq_managers::list::Asked;

/// Returns the facts that the checks need.
pub fn node_checks_needs() -> Needs {
    Needs::ALL.without(&[FactKey::FolderUsage, FactKey::WritableLayers])
}

/// Checks a node. `node_file`: the file with the Node
/// object, if one is named; `is_stored`: the facts are from a snapshot.
///
/// # Errors
///
/// Fails where the kubelet would not read its configuration.
pub fn node_checks(
    compared: &Compared,
    node_file: Option<&str>,
    is_stored: bool,
) -> Result<NodeChecks, Failure> {
    let node = &compared.live;
    let snapshot = &node.snapshot;
    let mut drifts = drifts(compared);
    let containers = containers(node);
    chain::link(&mut drifts, &containers);
    let probes = probes(node);
    // The questions, each answered where its command answers it.
    let start = kubelet_start(node);
    let of_cgroups = cgroup_checks(compared, &start, node_file, !drifts.is_empty());
    let collection = image_gc_plan(node, &ImageGcOptions::new(Trigger::Periodic));
    let settings = gc_lint(node).items.into_iter();
    let reclaim = node_reclaim(node).ok();
    let name = snapshot.node_name.value().map(String::as_str);
    let ranks = eviction_ranks(node, name, is_stored);
    let listed = device_list(node, Asked::Both, &Selection::default());
    let files = state_files(node, None).ok();
    let verified = files.map(|files| verify_files(node, &files, Some(&start)));
    let about = AdmissionNode::with_all_pods(node.clone());
    let restart = restart::restart(&about);
    let headroom = restart::headroom(&about);
    // The findings, in the order of the checks.
    let mut found: Vec<Finding> = written(node::start(node, &start)).collect();
    found.extend(of_cgroups);
    found.extend(written(drifts));
    found.extend(written(node::kubelet_age(node)));
    found.extend(written(node::conditions(snapshot, node.now)));
    found.extend(written(node::certificates(snapshot, node.now)));
    let runtime = snapshot.runtime.value().map(|runtime| runtime.endpoint.as_str());
    found.extend(written(told_by(runtime, vec![disk::image_gc(collection)])));
    found.extend(settings.filter(|finding| finding.severity < Severity::Info));
    let summary = stats(node).map(|found| found.source.as_str());
    found.extend(written(told_by(summary, disk::eviction(ranks, reclaim.as_ref()))));
    found.extend(written(told_by(devices_source(snapshot), devices::devices(listed))));
    found.extend(verified.into_iter().flat_map(devices::state_files));
    found.extend(written(containers));
    found.extend(probes);
    let object = snapshot.node.found.as_ref().map(|found| found.source.as_str());
    found.extend(written(told_by(object, restart)));
    let not_requested = headroom.not_requested();
    found.extend(written(told_by(object, vec![NodeRule::PreemptionHeadroom(headroom).of_node()])));
    // Stable: within a severity the checks stay in their order.
    found.sort_by_key(|finding| finding.severity);
    let mut warnings = node.notes_of_plan();
    warnings.extend(compared.settings.warnings.iter().cloned());
    Ok(NodeChecks { not_requested, ..NodeChecks::new(&compared.settings.facts, found, warnings) })
}

/// Returns the report of one pod, across all domains. The other arguments are those of [`node_checks`].
///
/// # Errors
///
/// Fails as [`node_checks`] does, and for a pod that the node does not have.
pub fn pod_report(
    compared: &Compared,
    pod: &str,
    node_file: Option<&str>,
    is_stored: bool,
) -> Result<PodReport, Failure> {
    let checks = node_checks(compared, node_file, is_stored)?;
    pod::report(compared, &compared.live, pod, &checks.items, is_stored)
}

/// Returns what is wrong with the probes of the pods.
fn probes(node: &Node) -> Vec<Finding> {
    let Some(pods) = &node.snapshot.pods.found else { return Vec::new() };
    let loaded = pods.value.pods.iter().map(|loaded| &loaded.pod);
    pods::probes(loaded, &node.kubelet.rules, &pods.source)
}

/// Returns what the kernel's counters and the statuses of the pods say of containers and pods.
fn containers(node: &Node) -> Vec<NodeFinding> {
    let snapshot = &node.snapshot;
    let cgroups = snapshot.cgroups.found.as_ref().map(|found| found.source.as_str());
    let mut found = told_by(cgroups, pods::counters(snapshot, &node.roots, &node.workloads));
    if let Some(pods) = &snapshot.pods.found {
        let loaded = pods.value.pods.iter().map(|loaded| &loaded.pod);
        let events = snapshot.events.value().map_or(&[] as &[PodEvent], Vec::as_slice);
        found.extend(pods::statuses(loaded, events, &pods.source));
        found.extend(ended::pods(node, &pods.source));
        found.extend(pods::passes(&found, &pods.source));
    }
    found
}

/// Writes the rules down, once all that is decided by them is.
fn written(found: impl IntoIterator<Item = NodeFinding>) -> impl Iterator<Item = Finding> {
    found.into_iter().map(NodeFinding::written)
}

/// Adds the source of the fact behind a check to findings that name none. The reason of an unknown result names the source that
/// failed.
fn told_by(source: Option<&str>, mut findings: Vec<NodeFinding>) -> Vec<NodeFinding> {
    for finding in &mut findings {
        if finding.source.is_none() && finding.rule.severity() != Severity::Unknown {
            finding.source = source.map(str::to_owned);
        }
    }
    findings
}

/// Returns where the devices are known from.
fn devices_source(snapshot: &Snapshot) -> Option<&str> {
    let devices = snapshot.devices.as_ref()?;
    let checkpoint = devices.checkpoint.found.as_ref().map(|it| it.source.as_str());
    checkpoint.or(devices.pod_resources.found.as_ref().map(|it| it.source.as_str()))
}

/// The most differences that are shown; `kq cgroup diff` lists all.
const SHOWN: usize = 10;

/// Returns the values that differ from the plan.
fn drifts(compared: &Compared) -> Vec<NodeFinding> {
    // `cgroup-values` reports why there is no comparison.
    let Ok(comparison) = compared.comparison() else { return Vec::new() };
    let drifting = comparison.differences.iter().filter(|it| it.verdict.is_drift()).take(SHOWN);
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
