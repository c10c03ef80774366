//! `kq devices list`

use super::node::DeviceNodeArgs;
use super::unknown_pod::unknown_pod;
use crate::exit::{Code, Failure, note, tell, warn};
use crate::form::Form;
use crate::kubelet_node::KubeletNode;
use crate::write;
use anyhow::anyhow;
use clap::ValueEnum;
use kq::device::list::{
    Asked, DeviceList, FreeDevices, dropped, free, given, resources, table, wide,
};
use kq::device::pods::NodePods;
use kq::facts::pod_selector::{PodSelector, Selection};
use kq::node::Needs;

/// Show the devices of each container, and their state
///
/// kq compares the kubelet's checkpoint with its pod-resources API, the active
/// pods and the Node status. If several states apply to a device, the worst one
/// is shown:
///
///   DOUBLE     held by two containers that may not share it
///   ORPHAN     the pod exists, but nothing in it requests the device
///   MISSING    only one of the two sources has it, and both should
///   UNHEALTHY  the kubelet does not offer it any more
///   STALE      the pod is gone; normal until a pod requests devices again
///   INIT-HELD  an ended init container took it; kept until the pod ends
///   UNKNOWN    a source that decides the state is unavailable
///   OK         consistent
///
/// Below the devices, a table shows the totals of each resource; --free lists the
/// unused devices. -o wide also shows the settings that plugins gave to each
/// container: variables, mounts, device nodes, annotations and CDI names. They
/// may hold secrets, so snapshots omit them.
///
/// Exit code 0: answered, whatever the states other than UNKNOWN; use kq devices
/// verify as a check. 3: the state of a device is UNKNOWN, a source is
/// unavailable or damaged (the answer then uses the others), or the named pod is
/// unknown.
///
/// Examples:
///
///   kq devices list
///   kq devices list shop/train-0 -o wide
///   kq devices list -n shop
///   kq devices list --free
///   kq devices list --source checkpoint --checkpoint kubelet_internal_checkpoint
///   kq devices list -o json | jq '.items[] | select(.state != "OK") | .device'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// One pod: NAME, NAMESPACE/NAME or UID (default: all pods)
    #[arg(value_name = "POD")]
    pod: Option<String>,

    /// Only pods of this namespace
    #[arg(short, long)]
    namespace: Option<String>,

    /// Pods of all namespaces (the default)
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,

    /// Use only one source
    #[arg(long, value_enum, default_value = "both")]
    source: Source,

    /// Show only the healthy devices that no active pod holds
    #[arg(long, conflicts_with_all = ["pod", "namespace"])]
    free: bool,

    /// Output format
    #[arg(short, long, value_enum, default_value = "table")]
    output: Form,

    #[command(flatten)]
    node: DeviceNodeArgs,
}

/// The sources of allocations.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Source {
    /// The kubelet's checkpoint
    Checkpoint,
    /// The kubelet's pod-resources API
    #[value(name = "podresources")]
    PodResources,
    /// Both sources, compared
    Both,
}

impl Args {
    /// Gathers, puts together and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let asked = match self.source {
            Source::Checkpoint => Asked::Checkpoint,
            Source::PodResources => Asked::PodResources,
            Source::Both => Asked::Both,
        };
        let selection = self.selection()?;
        let mut needs = Needs::DEVICE_LIST;
        needs.devices.checkpoint = asked.checkpoint();
        needs.devices.pod_resources = asked.pod_resources();
        let node = self.node.gather(needs)?;
        let start = node.kubelet_start.as_ref().map(|start| start.at);
        let mut list = DeviceList::of(&node.snapshot, asked, start);
        // Without any source there is nothing to say.
        if !has_source(&node, asked) {
            return Err(no_source(&list));
        }
        list.basis.warn_all(node.odd().cloned());
        check_known(&node, &list, &selection)?;
        list.select(&selection);
        if self.output.is_for_people() {
            // It comes before all that it puts in doubt.
            list.damage.iter().for_each(|text| warn(text));
        }
        self.show(&list)?;
        if self.output.is_for_people() {
            list.resources.iter().for_each(|resource| {
                let name = &resource.resource;
                resource.notes.iter().for_each(|text| note("note", &format!("{name}: {text}")));
            });
            tell(&list.basis);
        }
        Ok(if list.is_complete() { Code::Answered } else { Code::Missing })
    }

    /// Returns which pods are meant.
    fn selection(&self) -> Result<Selection, Failure> {
        let selector = match (&self.pod, &self.namespace) {
            (Some(pod), _) if pod.trim().is_empty() => {
                return Err(Failure::usage(anyhow!("POD is empty"))
                    .hint("say NAME, NAMESPACE/NAME or a UID, or leave it out for all pods"));
            }
            (None, None) => return Ok(Selection::default()),
            (None, Some(namespace)) => PodSelector::of_namespace(namespace),
            (Some(pod), None) => PodSelector::new(pod),
            (Some(pod), Some(namespace)) => {
                PodSelector::new(pod).within(namespace).ok_or_else(|| {
                    Failure::usage(anyhow!(
                        "POD {pod} and --namespace {namespace} are two namespaces"
                    ))
                    .hint("say the namespace once")
                })?
            }
        };
        Ok(Selection(vec![selector]))
    }

    fn show(&self, list: &DeviceList) -> Result<(), Failure> {
        if self.free {
            let answer = FreeDevices::of(list);
            return self.output.write(&answer, free, free);
        }
        if !self.output.is_for_people() {
            return self.output.write(list, table, wide);
        }
        let is_wide = self.output == Form::Wide;
        match (list.items.is_empty(), &self.pod, &self.namespace) {
            (true, Some(pod), _) => write::lines([format!("{pod} has no devices")])?,
            (true, None, Some(namespace)) => {
                write::lines([format!("no container in namespace {namespace} has a device")])?;
            }
            (true, None, None) => write::lines(["no container has a device".to_owned()])?,
            (false, ..) if is_wide => write::text(wide(list))?,
            (false, ..) => write::text(table(list))?,
        }
        if is_wide && !list.given.is_empty() {
            write::text(format!("\n{}", given(&list.given)))?;
            if list.given.iter().any(|given| !given.dropped.is_empty()) {
                write::text(format!("\n{}", dropped(&list.given)))?;
            }
        }
        if !list.resources.is_empty() {
            write::text(format!("\n{}", resources(&list.resources)))?;
        }
        Ok(())
    }
}

fn has_source(node: &KubeletNode, asked: Asked) -> bool {
    node.snapshot.devices.as_ref().is_some_and(|facts| {
        (asked.checkpoint() && facts.checkpoint.found.is_some())
            || (asked.pod_resources() && facts.pod_resources.found.is_some())
    })
}

fn no_source(list: &DeviceList) -> Failure {
    let reasons: Vec<String> = list.basis.missing.iter().map(ToString::to_string).collect();
    let reasons = reasons.join("; ");
    Failure::missing(anyhow!("nobody tells who has which device: {reasons}"))
        .hint("run as root on the node, or take a snapshot there and pass it with --snapshot")
}

/// Refuses a pod that nobody knows.
fn check_known(
    node: &KubeletNode,
    list: &DeviceList,
    selection: &Selection,
) -> Result<(), Failure> {
    let pods = NodePods::of(&node.snapshot);
    let listed = pods.iter().map(|(uid, pod)| {
        let metadata = &pod.metadata;
        (metadata.namespace.as_str(), metadata.name.as_str(), uid)
    });
    let running = node.workloads.pods();
    let running = running.map(|(uid, pod)| (pod.namespace.as_str(), pod.name.as_str(), uid));
    let held = list.items.iter().map(|row| {
        let pod = &row.pod;
        (pod.namespace.as_str(), pod.name.as_str(), pod.uid.as_deref().unwrap_or_default())
    });
    let all: Vec<(&str, &str, &str)> = listed.chain(running).chain(held).collect();
    match selection.unmatched(all.iter().copied()).next() {
        None => Ok(()),
        // A namespace without pods has no devices, and nobody can tell it from one that is misspelt.
        Some(pod) if pod.is_namespace() => Ok(()),
        Some(pod) => Err(unknown_pod(node, pod, &all)),
    }
}
