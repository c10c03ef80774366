//! Checks of image garbage collection and of the distance to eviction.

use super::rule::{Eviction, ImageGc, NodeFinding, NodeRule};
use crate::question::eviction::{EvictionOptions, eviction_rank};
use crate::question::image_gc::lint::gc_lint;
use crate::question::image_gc::{ImageGcOptions, image_gc_plan};
use crate::question::measured::stats;
use crate::question::reclaim::node_reclaim;
use kq_answer::{Finding, Severity};
use kq_facts::kubelet_config::Signal;
use kq_facts::node::Node;
use kq_image_gc::plan::Trigger;
use kq_image_gc::plan::names;
use std::collections::BTreeSet;

/// An eviction is near where less than this share of the capacity is left above the threshold.
const NEAR_PERCENT: i64 = 5;

pub(super) fn image_gc(node: &Node) -> NodeFinding {
    let finding = |state| NodeRule::ImageGc(state).of_node();
    let plan = match image_gc_plan(node, &ImageGcOptions::new(Trigger::Periodic)) {
        Ok(answer) => answer.plan,
        Err(failure) => return finding(ImageGc::Unknown { reason: failure.reason() }),
    };
    let run = &plan.run;
    let usage_percent = run.usage.as_ref().map(|usage| usage.percent);
    let error = plan.outcome.error.as_ref().filter(|_| run.wants_space != Some(true));
    if let Some(error) = error {
        return finding(ImageGc::Fails { error: error.clone() });
    }
    let found = match (run.wants_space, usage_percent) {
        (None, _) | (Some(true), None) => {
            ImageGc::Unknown { reason: "the usage of the image file system is unknown".to_owned() }
        }
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
            },
        },
        (Some(false), usage_percent) => {
            ImageGc::Ok { usage_percent, high_threshold_percent: run.high_threshold_percent }
        }
    };
    let finding = finding(found);
    run.image_filesystem.iter().fold(finding, NodeFinding::from)
}

/// Returns the problems of the settings and of the pinned images.
pub(super) fn settings(node: &Node) -> Vec<Finding> {
    let problems = gc_lint(node).items.into_iter();
    problems.filter(|finding| finding.severity < Severity::Info).collect()
}

pub(super) fn eviction(node: &Node, node_name: Option<&str>, is_stored: bool) -> Vec<NodeFinding> {
    let finding = |state| NodeRule::Eviction(state).of_node();
    let thresholds = match node.eviction_thresholds() {
        Ok(thresholds) => thresholds,
        Err(failure) => {
            return vec![finding(Eviction::Unknown { signal: None, reason: failure.reason() })];
        }
    };
    let signals: BTreeSet<Signal> = thresholds.iter().map(|it| it.signal).collect();
    let reclaim = node_reclaim(node).ok();
    let (mut findings, mut seen, mut reasons) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for signal in signals {
        let options = EvictionOptions {
            signal,
            node_name: node_name.map(str::to_owned),
            stats_file: None,
            is_stored,
        };
        let rank = match eviction_rank(node, &options) {
            Ok(rank) => rank,
            Err(failure) => {
                if reasons.insert(failure.reason()) {
                    let reason = failure.reason();
                    findings.push(finding(Eviction::Unknown { signal: None, reason }));
                }
                // Without any measurement the others fail alike.
                if stats(node).is_none() {
                    break;
                }
                continue;
            }
        };
        let first = || {
            let pods = rank.first.one_of.iter();
            pods.map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect::<Vec<_>>()
        };
        for row in
            rank.thresholds.iter().filter(|row| seen.insert((row.signal, row.configured.clone())))
        {
            let reclaim = reclaim.as_ref().and_then(|reclaim| reclaim.of(row.signal));
            let signal = row.signal.as_str().to_owned();
            let (Some(available), Some(threshold), Some(margin)) =
                (row.available, row.threshold, row.margin)
            else {
                let reason = "was not measured".to_owned();
                findings.push(finding(Eviction::Unknown { signal: Some(signal), reason }));
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
            findings.push(finding(found).from(&rank.usage.source));
        }
    }
    if findings.is_empty() {
        findings.push(finding(Eviction::Ok { signals: seen.len() }));
    }
    findings
}
