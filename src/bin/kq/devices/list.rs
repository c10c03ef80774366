//! `kq devices list`

use super::node_args::DeviceNodeArgs;
use crate::exit::{Code, Failure, note, tell, warn};
use crate::output_format::{OutputFormat, formats_with};
use crate::pod_args::{LabelArgs, NamespaceArgs};
use crate::source_args::WatchArgs;
use crate::write;
use anyhow::anyhow;
use clap::ValueEnum;
use kq_core::question::devices::list::{device_list, device_list_needs, device_list_of};
use kq_core::question::pod_selectors::PodSelectors;
use kq_facts::node::Node;
use kq_facts::pod_selector::{PodSelector, Selection};
use kq_managers::list::{
    Asked, DeviceList, FreeDevices, dropped, free, given, resources, table, wide,
};
use kq_output::doc::Doc;

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
///   kq devices list nvidia.com/gpu
///   kq devices list -n shop -l app=train
///   kq devices list --free
///   kq devices list --source checkpoint --checkpoint kubelet_internal_checkpoint
///   kq devices list -o json | jq '.items[] | select(.state != "OK") | .device'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// One pod: NAME, NAMESPACE/NAME or UID; or one resource: nvidia.com/gpu (default: all pods)
    #[arg(value_name = "POD")]
    pod: Option<String>,

    #[command(flatten)]
    namespace: NamespaceArgs,

    #[command(flatten)]
    labels: LabelArgs,

    /// Use only one source
    #[arg(long, value_enum, default_value = "both")]
    source: Source,

    /// Show only the healthy devices that no active pod holds
    #[arg(long, conflicts_with_all = ["pod", "namespace", "selector"])]
    free: bool,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The IDs of the devices"))]
    output: OutputFormat,

    #[command(flatten)]
    watch: WatchArgs,

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
    /// Shows once, or again and again.
    pub fn run(self) -> Result<Code, Failure> {
        self.watch.run(|| self.once())
    }

    /// Gathers, puts together and shows.
    fn once(&self) -> Result<Code, Failure> {
        let asked = match self.source {
            Source::Checkpoint => Asked::Checkpoint,
            Source::PodResources => Asked::PodResources,
            Source::Both => Asked::Both,
        };
        let selection = self.selection()?;
        let node = self.node.gather(None, device_list_needs(asked))?;
        let mut list = match &self.pod {
            Some(word) => device_list_of(&node, asked, &selection, word)?,
            None => device_list(&node, asked, &selection)?,
        };
        self.select_labels(&node, &mut list)?;
        if self.output.is_for_people() {
            // It comes before all that it puts in doubt.
            list.damage.iter().for_each(|damage| warn(&damage.to_string()));
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

    /// Keeps the pods with the labels.
    fn select_labels(&self, node: &Node, list: &mut DeviceList<'_>) -> Result<(), Failure> {
        if self.labels.selector.is_none() {
            return Ok(());
        }
        let named = self.pod.iter().filter(|word| !list.has_resource(word)).cloned().collect();
        let asked = PodSelectors { pods: named, ..PodSelectors::default() };
        let asked = asked.within(self.namespace.name(), self.labels.selector.as_ref())?;
        let holders = list.items.iter().map(|row| row.pod);
        let holders = holders.map(|it| {
            let uid = it.uid.unwrap_or_default();
            (it.namespace.to_owned(), it.name.to_owned(), uid.to_owned())
        });
        let selection = asked.selection_on(node, holders)?;
        list.select(&selection);
        list.basis.lack_all(selection.missing());
        Ok(())
    }

    /// Returns which pods are meant.
    fn selection(&self) -> Result<Selection, Failure> {
        let selector = match (&self.pod, self.namespace.name()) {
            (Some(pod), _) if pod.trim().is_empty() => {
                return Err(Failure::usage(anyhow!("POD is empty")).hint(
                    "use NAME, NAMESPACE/NAME, a UID or a resource, or omit POD for all pods",
                ));
            }
            (None, None) => return Ok(Selection::default()),
            (None, Some(namespace)) => PodSelector::of_namespace(namespace),
            (Some(pod), _) => PodSelector::new(&self.namespace.qualify(pod)?),
        };
        Ok(Selection::of(vec![selector]))
    }

    fn show(&self, list: &DeviceList<'_>) -> Result<(), Failure> {
        if self.free {
            let answer = FreeDevices::of(list);
            let names =
                |it: &FreeDevices| it.items.iter().map(|device| device.device.clone()).collect();
            return self.output.write_or_names(&answer, free, free, names);
        }
        if !matches!(self.output, OutputFormat::Table | OutputFormat::Wide) {
            let names = |it: &DeviceList<'_>| {
                it.items.iter().map(|device| device.device.to_owned()).collect()
            };
            return self.output.write_or_names(list, table, wide, names);
        }
        let is_wide = self.output == OutputFormat::Wide;
        let mut doc = match (list.items.is_empty(), &self.pod, self.namespace.name()) {
            (true, Some(resource), _) if list.has_resource(resource) => {
                Doc::of_line(format!("no container has a device of {resource}"))
            }
            (true, Some(pod), _) => Doc::of_line(format!("{pod} has no devices")),
            (true, None, Some(namespace)) => {
                Doc::of_line(format!("no container in namespace {namespace} has a device"))
            }
            (true, None, None) => Doc::of_line("no container has a device"),
            (false, ..) if is_wide => wide(list).into(),
            (false, ..) => table(list).into(),
        };
        if is_wide && !list.given.is_empty() {
            doc.add_apart(given(&list.given));
            if list.given.iter().any(|given| !given.dropped.is_empty()) {
                doc.add_apart(dropped(&list.given));
            }
        }
        if !list.resources.is_empty() {
            doc.add_apart(resources(&list.resources));
        }
        write::answered(list, doc)
    }
}
