//! Devices of containers, and the kubelet's state files.

use super::rule::{Devices, NodeFinding, NodeRule};
use kq_answer::{Failure, Finding, Severity, Subject};
use kq_managers::list::{DeviceList, DeviceRow, State};
use kq_managers::verify::Verification;

pub(super) fn devices(answer: Result<DeviceList<'_>, Failure>) -> Vec<NodeFinding> {
    let of_node = |state| NodeRule::Devices(state).of_node();
    let list = match answer {
        Ok(list) => list,
        Err(failure) => {
            // A node that never had a device plugin has neither source.
            let reason = failure.reason();
            return vec![of_node(Devices::Unknown { reason })];
        }
    };
    let mut findings: Vec<NodeFinding> = list.items.iter().filter_map(of_device).collect();
    for summary in &list.resources {
        if let (Some(capacity @ 1..), Some(0)) = (summary.capacity, summary.healthy) {
            let resource = summary.resource.clone();
            findings.push(of_node(Devices::NoneHealthy { resource, capacity }));
        }
    }
    if !list.is_complete() {
        let missing: Vec<String> = list.basis.missing.iter().map(ToString::to_string).collect();
        findings.push(of_node(Devices::Unknown { reason: missing.join("; ") }));
    }
    if findings.is_empty() {
        findings.push(of_node(Devices::Ok { devices: list.items.len() }));
    }
    findings
}

fn of_device(row: &DeviceRow<'_>) -> Option<NodeFinding> {
    let (resource, device) = (row.resource.to_owned(), row.device.to_owned());
    let reason = row.findings.first().map(|it| it.reason.to_string()).unwrap_or_default();
    let state = match row.state {
        State::Double => Devices::Double { resource, device, reason },
        State::Unhealthy => Devices::Unhealthy { resource, device, reason },
        State::Stale => Devices::Stale { resource, device, reason },
        State::Orphan | State::Missing => Devices::Inconsistent { resource, device, reason },
        State::Unknown => Devices::Unknown { reason: format!("{device} of {resource}: {reason}") },
        State::InitHeld | State::Ok => return None,
    };
    let subject = Subject::Pod {
        pod: row.pod.shown().into_owned(),
        container: Some(row.container.to_owned()),
    };
    Some(NodeFinding::new(subject, NodeRule::Devices(state)))
}

/// Returns the problems in the kubelet's state files.
pub(super) fn state_files(verified: Verification) -> impl Iterator<Item = Finding> {
    let problems = verified.findings.into_iter();
    let problems = problems.filter(|finding| finding.severity < Severity::Info);
    problems.map(|finding| Finding { command: Some("kq devices verify".to_owned()), ..finding })
}
