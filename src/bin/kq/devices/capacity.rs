//! `kq devices capacity`

use super::node_args::DeviceNodeArgs;
use crate::exit::{Code, Failure, tell};
use crate::output_format::{OutputFormat, formats_with};
use crate::source_args::GivenDevicesArgs;
use kq_core::question::devices::capacity::{device_capacity, device_capacity_needs};
use kq_managers::capacity::{CapacityReport, table, wide};

/// Show the node's device capacity as the kubelet counts it
///
/// The answer lists capacity and allocatable of each plugin resource with the
/// reason: healthy devices, a plugin that has not registered yet, or a removed
/// resource. Healthy devices are those listed by the kubelet's pod-resources API.
/// That API omits unhealthy devices, so the capacity may be larger unless the
/// Node object states it: >=4 means four or more. kq compares the counts with the
/// Node object; -o wide shows both.
///
/// A starting kubelet reports 0 of 0 until the plugin registers, and forgets the
/// resource after five minutes; the Node object then keeps it at 0. The time at
/// which a plugin stopped is not visible outside the kubelet.
///
/// With --devices alone, kq reads no node.
///
/// Exit code 1: the Node object reports other counts. 3: no source reports the
/// devices, or the devices in use; unknown counts are null in JSON.
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
    #[command(flatten)]
    devices: GivenDevicesArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The names of the resources"))]
    output: OutputFormat,

    #[command(flatten)]
    node: DeviceNodeArgs,
}

impl Args {
    /// Gathers, counts and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let needs =
            self.node.needs_with_given(self.devices.devices.is_some(), device_capacity_needs());
        let node = self.node.gather(Some(&self.devices), needs)?;
        let report = device_capacity(&node)?;
        let names = |report: &CapacityReport| report.resources.keys().cloned().collect();
        self.output.write_or_names(&report, table, wide, names)?;
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
