//! Checks of image garbage collection and of the distance to eviction.

use super::rule::{Eviction, ImageGc, NodeFinding, NodeRule};
use crate::question::image_gc::ImageGcAnswer;
use crate::question::reclaim::NodeReclaim;
use kq_answer::Failure;
use kq_eviction::EvictionRank;
use kq_image_gc::plan::names;
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

/// Returns the findings about the ranks of all signals. `reclaim`: what the kubelet removes before pods.
pub(super) fn eviction(
    ranks: Result<Vec<Result<EvictionRank, Failure>>, Failure>,
    reclaim: Option<&NodeReclaim>,
) -> Vec<NodeFinding> {
    let finding = |state| NodeRule::Eviction(state).of_node();
    let ranks = match ranks {
        Ok(ranks) => ranks,
        Err(failure) => {
            return vec![finding(Eviction::Unknown { signal: None, reason: failure.reason() })];
        }
    };
    let (mut findings, mut seen, mut reasons) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for rank in ranks {
        let rank = match rank {
            Ok(rank) => rank,
            Err(failure) => {
                if reasons.insert(failure.reason()) {
                    let reason = failure.reason();
                    findings.push(finding(Eviction::Unknown { signal: None, reason }));
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
            let reclaim = reclaim.and_then(|reclaim| reclaim.of(row.signal));
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
