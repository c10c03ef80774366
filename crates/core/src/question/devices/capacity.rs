//! The device capacity of a node.

use kq_answer::{Basis, Failure, Missing, MissingFact};
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::node_pods::NodePods;
use kq_managers::capacity::{Around, CapacityReport, State, capacity};
use kq_managers::reconstruct::assemble;

/// Returns the facts that the capacity needs; the pods that hold the devices are not among them.
pub fn device_capacity_needs() -> Needs {
    Needs::DEVICE_LIST.without(&[FactKey::Pods, FactKey::Sandboxes, FactKey::Containers])
}

/// Counts the devices of a node.
///
/// # Errors
///
/// Fails if no source reports devices.
pub fn device_capacity(node: &Node) -> Result<CapacityReport, Failure> {
    let pods = NodePods::of(&node.snapshot);
    let mut basis = Basis::default();
    let assembled =
        assemble(node.snapshot.devices.as_ref(), &pods, &mut basis).map_err(|error| {
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
        let text = format!("the devices of the node: {reason}");
        let missing = Missing::new(MissingFact::Devices, text);
        basis.lack(missing.with_flags(["--pod-resources", "--devices"]));
    }
    let mut report = capacity(&assembled, around, basis);
    let recorded = report.resources.iter().filter(|(_, it)| it.state == State::AsRecorded);
    let recorded: Vec<&str> = recorded.map(|(resource, _)| resource.as_str()).collect();
    if !recorded.is_empty() {
        let text = format!("how many devices are healthy now: {}", recorded.join(", "));
        let missing = Missing::new(MissingFact::Devices, text);
        report.basis.lack(missing.with_flags(["--pod-resources"]));
    }
    Ok(report)
}
