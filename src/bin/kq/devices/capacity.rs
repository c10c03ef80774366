//! `kq devices capacity`

use super::given::read_devices;
use super::node::DeviceNodeArgs;
use crate::exit::{Code, Failure, tell};
use crate::form::Form;
use kq::device::capacity::{Around, capacity, table, wide};
use kq::device::pods::NodePods;
use kq::device::reconstruct::assemble;
use kq::edge::cri::RuntimeNeeds;
use kq::facts::basis::Basis;
use kq::node::{Needs, PodNeeds};

/// Show which devices the node offers, as the kubelet counts them
///
/// Capacity and allocatable of each resource of plugins, as the kubelet counts them, with the reason:
/// healthy devices, a plugin that is waited for, a resource that was removed. The healthy devices are those
/// that the kubelet lists on its pod-resources socket; unhealthy ones it does not list, so that the
/// capacity may be larger, unless the Node object says how large: >=4 is four or more. What the Node
/// object says is held against it; -o wide shows it.
///
/// A kubelet that starts says 0 of 0 until the plugin registers, and forgets the resource after five
/// minutes; the node then keeps it at 0. When a plugin stopped is not known from outside.
///
/// With --devices alone no node is looked at.
///
/// Exit code 1: the Node object says something else. 3: nobody tells of devices, or of those in use;
/// what is not known is unknown, in JSON null.
///
/// Examples:
///
///   kq devices capacity
///   kq devices capacity -o wide --node-file node.json
///   kq devices capacity --snapshot node-snapshot.json -o json
///   kq devices capacity --devices devices.yaml
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The devices: a list of {resource, id, health, numaNodes} in JSON or YAML; they are all of their
    /// resources
    #[arg(long, value_name = "FILE", help_heading = "Where the facts come from")]
    devices: Option<String>,

    /// How to show the answer
    #[arg(short, long, value_enum, default_value = "table")]
    output: Form,

    #[command(flatten)]
    node: DeviceNodeArgs,
}

impl Args {
    /// Gathers, counts and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let given = self.devices.as_deref().map(read_devices).transpose()?.unwrap_or_default();
        // Whose the devices are does not matter.
        let needs =
            Needs { pods: PodNeeds::None, runtime: RuntimeNeeds::default(), ..Needs::DEVICE_LIST };
        let node = self.node.gather(self.node.beside_given(!given.is_empty(), needs))?;
        let pods = NodePods::of(&node.snapshot);
        let mut basis = Basis::default();
        let assembled = assemble(node.snapshot.devices.as_ref(), &given, &pods, &mut basis)
            .map_err(|error| {
                Failure::missing(error).hint(
                    "run as root on the node, or take a snapshot there and pass it with --snapshot",
                )
            })?;
        let around = Around {
            node: node.snapshot.node.value(),
            kubelet_start: node.kubelet_start.as_ref().map(|start| start.at),
            now: node.now,
        };
        basis.warnings.splice(0..0, node.notes.iter().cloned());
        if let Some(reason) = &assembled.unknown_devices {
            let flags = "(--pod-resources, --devices)";
            basis.missing.push(format!("which devices there are: {reason} {flags}"));
        }
        let report = capacity(&assembled, around, basis);
        self.output.write(&report, table, wide)?;
        if self.output.is_for_people() {
            tell(&report.basis);
        }
        Ok(match () {
            () if report.has_contradictions() => Code::No,
            () if !report.basis.missing.is_empty() => Code::Missing,
            () => Code::Answered,
        })
    }
}
