//! Checks of disks, of the distance to eviction, of devices and of the kubelet's state files.

use super::ended::EndedPods;
use super::node::EvictionRanks;
use super::rule::{Devices, Eviction, ImageGc, NodeFinding, NodeRule};
use crate::question::image_gc::ImageGcAnswer;
use crate::question::reclaim::NodeReclaim;
use kq_answer::{Failure, Finding, Severity, Subject};
use kq_facts::node::Node;
use kq_facts::snapshot::Snapshot;
use kq_image_gc::plan::names;
use kq_managers::list::{DeviceList, DeviceRow, State};
use kq_managers::verify::Verification;
use std::collections::BTreeSet;

/// An eviction is near where less than this share of the capacity is left above the threshold.
const NEAR_PERCENT: i64 = 5;

pub(super) fn image_gc(answer: Result<ImageGcAnswer, Failure>) -> NodeFinding {
    let finding = |state| NodeRule::ImageGc(state).of_node();
    let plan = match answer {
        Ok(answer) => answer.plan,
        Err(failure) => return finding(ImageGc::Unknown { reason: failure.reason() }),
    };
    let run = &plan.run;
    let usage_percent = run.usage.as_ref().map(|usage| usage.percent);
    let error = plan.outcome.error.as_ref().filter(|_| run.wants_space != Some(true));
    if let Some(error) = error {
        return finding(ImageGc::Fails { error: error.clone() });
    }
    if plan.lacks_settings() {
        return finding(ImageGc::NoThresholds);
    }
    let found = match (run.wants_space, usage_percent) {
        (None, _) | (Some(true), None) => ImageGc::Unknown { reason: run.unknown().to_owned() },
        (Some(true), Some(usage_percent)) => match &plan.outcome.error {
            Some(error) => ImageGc::FallsShort {
                usage_percent,
                wanted_bytes: run.amount_to_free_bytes.unwrap_or_default(),
                freed_bytes: plan.freed.counted_bytes,
                error: error.clone(),
            },
            None => ImageGc::Due {
                usage_percent,
                high_threshold_percent: run.high_threshold_percent,
                images: plan.freed.images,
                freed_bytes: plan.freed.counted_bytes,
                first: plan
                    .items
                    .first()
                    .map(|it| names(&it.tags, &it.digests))
                    .unwrap_or_default(),
                is_certain: plan.freed.at_least_bytes == plan.freed.at_most_bytes,
            },
        },
        (Some(false), _) if plan.freed.images > 0 => ImageGc::TooOld {
            images: plan.freed.images,
            freed_bytes: plan.freed.counted_bytes,
            first: plan.items.first().map(|it| names(&it.tags, &it.digests)).unwrap_or_default(),
            is_certain: plan.freed.at_least_bytes == plan.freed.at_most_bytes,
        },
        (Some(false), usage_percent) => {
            ImageGc::Ok { usage_percent, high_threshold_percent: run.high_threshold_percent }
        }
    };
    let finding = finding(found);
    run.image_filesystem.iter().fold(finding, NodeFinding::from)
}

/// Returns the findings about the ranks of all signals. `reclaim`: what the kubelet removes before pods.
pub(super) fn eviction(
    ranks: EvictionRanks,
    reclaim: Option<&NodeReclaim>,
    node: &Node,
) -> Vec<NodeFinding> {
    let finding = |state| NodeRule::Eviction(state).of_node();
    if node.lacks_config() {
        let is_refused = node.fatal_config().next().is_some();
        return vec![finding(Eviction::NoThresholds { is_refused })];
    }
    let lacks_pods = node.snapshot.known_pods().is_err();
    let ranks = match ranks {
        Ok(ranks) => ranks,
        Err(failure) => {
            return vec![finding(Eviction::Unknown {
                signal: None,
                reason: failure.reason(),
                lacks_pods,
            })];
        }
    };
    let (mut findings, mut seen, mut reasons) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let (mut source, mut over) = (None, BTreeSet::new());
    for rank in ranks {
        let rank = match rank {
            Ok(rank) => rank,
            Err(failure) => {
                if reasons.insert(failure.reason()) {
                    let reason = failure.reason();
                    findings.push(finding(Eviction::Unknown { signal: None, reason, lacks_pods }));
                }
                continue;
            }
        };
        for pod in rank.over_own_limits().iter().map(ToString::to_string) {
            if !over.insert(pod.clone()) {
                continue;
            }
            let subject = Subject::Pod { pod, container: None };
            let rule = NodeRule::Eviction(Eviction::OverOwnLimits);
            findings.push(NodeFinding::new(subject, rule).from(&rank.usage.source));
        }
        source = Some(rank.usage.source);
        let first = || {
            let pods = rank.first.one_of.iter();
            pods.map(ToString::to_string).collect::<Vec<_>>()
        };
        for row in
            rank.thresholds.iter().filter(|row| seen.insert((row.signal, row.configured.clone())))
        {
            let reclaim = reclaim.filter(|_| !rank.first.over_own_limits);
            let reclaim = reclaim.and_then(|reclaim| reclaim.ahead(row.signal));
            let signal = row.signal;
            let (Some(available), Some(threshold), Some(margin)) =
                (row.available, row.threshold, row.margin)
            else {
                let reason = "was not measured".to_owned();
                findings.push(finding(Eviction::Unknown {
                    signal: Some(signal),
                    reason,
                    lacks_pods: false,
                }));
                continue;
            };
            let near = row.capacity.unwrap_or_default() / 100 * NEAR_PERCENT;
            let found = match margin {
                ..0 => Eviction::Crossed { signal, available, threshold, first: first(), reclaim },
                margin if margin < near => {
                    Eviction::Near { signal, available, threshold, margin, first: first(), reclaim }
                }
                _ => continue,
            };
            findings.push(source.iter().fold(finding(found), |it, source| it.from(source)));
        }
    }
    if findings.is_empty() {
        let ok = finding(Eviction::Ok { signals: seen.len() });
        findings.push(source.iter().fold(ok, |it, source| it.from(source)));
    }
    findings
}

/// Returns the findings about the devices and their holders.
pub(super) fn devices(
    answer: Result<DeviceList<'_>, Failure>,
    snapshot: &Snapshot,
    ended: &EndedPods<'_>,
) -> Vec<NodeFinding> {
    let source = source(snapshot);
    let of_node = |state| NodeRule::Devices(state).of_node().told_by(source);
    let list = match answer {
        Ok(list) => list,
        Err(failure) => {
            // A node that never had a device plugin has neither source.
            let reason = failure.reason();
            return vec![of_node(Devices::Unknown { reason })];
        }
    };
    let mut findings: Vec<NodeFinding> = list
        .items
        .iter()
        .filter_map(|row| of_device(row, ended))
        .map(|it| it.told_by(source))
        .collect();
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

fn of_device(row: &DeviceRow<'_>, ended: &EndedPods<'_>) -> Option<NodeFinding> {
    let (resource, device) = (row.resource.to_owned(), row.device.to_owned());
    let reason = row.findings.first().map(|it| it.reason.to_string()).unwrap_or_default();
    let has_ended = row.pod.uid.is_some_and(|uid| ended.has(uid));
    let state = match row.state {
        State::Stale => Devices::Stale { resource, device, reason },
        _ if has_ended => Devices::OfEnded { resource, device },
        State::Double => Devices::Double { resource, device, reason },
        State::Unhealthy => Devices::Unhealthy { resource, device, reason },
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
pub(super) fn problems(verified: Verification) -> impl Iterator<Item = Finding> {
    let problems = verified.findings.into_iter();
    let problems = problems.filter(|finding| finding.severity < Severity::Info);
    problems.map(|finding| Finding { command: Some("kq devices verify".to_owned()), ..finding })
}

/// Returns where the devices are known from.
fn source(snapshot: &Snapshot) -> Option<&str> {
    let devices = snapshot.devices.as_ref()?;
    let checkpoint = devices.checkpoint.found.as_ref().map(|it| it.source.as_str());
    checkpoint.or(devices.pod_resources.found.as_ref().map(|it| it.source.as_str()))
}
