//! A CPU quota below the plan, and what follows from it in the same container: throttling, and kills for a probe that
//! times out.

use super::pod_rule::{Follows, ProbeKills, Restarts, Throttling};
use super::rule::{NodeFinding, NodeRule};
use kq_answer::Subject;
use std::collections::BTreeMap;

/// Adds to each quota below the plan what follows from it, and to the throttling that it is the cause.
pub(super) fn link(drifts: &mut [NodeFinding], containers: &mut [NodeFinding]) {
    let mut of_container: BTreeMap<(&str, &str), Vec<Follows>> = BTreeMap::new();
    for finding in containers.iter() {
        let follows = match &finding.rule {
            NodeRule::CpuThrottling(Throttling::Throttled { percent, .. }) => {
                Follows::Throttled { percent: *percent }
            }
            NodeRule::Restarts(Restarts::Restarted { probe_kills: Some(kills), .. }) => {
                let ProbeKills { probe, times } = kills;
                Follows::ProbeKills { probe: probe.clone(), times: *times }
            }
            _ => continue,
        };
        if let Subject::Pod { pod, container: Some(container) } = &finding.subject {
            of_container.entry((pod, container)).or_default().push(follows);
        }
    }
    let mut below_plan = Vec::new();
    for finding in drifts {
        let Subject::Pod { pod, container: Some(container) } = &finding.subject else { continue };
        let Some(found) = of_container.get(&(pod.as_str(), container.as_str())) else { continue };
        if let NodeRule::CgroupValues { file: Some(file), planned, actual, follows, .. } =
            &mut finding.rule
            && is_less_cpu(file, planned.as_deref(), actual.as_deref())
            && found.iter().any(|it| matches!(it, Follows::Throttled { .. }))
        {
            follows.clone_from(found);
            below_plan.push(finding.subject.clone());
        }
    }
    for finding in containers {
        if let NodeRule::CpuThrottling(Throttling::Throttled { is_below_plan, .. }) =
            &mut finding.rule
        {
            *is_below_plan = below_plan.contains(&finding.subject);
        }
    }
}

/// Returns what follows, in one sentence.
pub(super) fn sentence(follows: &[Follows]) -> String {
    let parts: Vec<String> = follows
        .iter()
        .map(|it| match it {
            Follows::Throttled { percent } => {
                format!("the container is throttled in {percent}% of its periods")
            }
            Follows::ProbeKills { probe, times } => {
                let times = match times {
                    1 => "once".to_owned(),
                    times => format!("{times} times"),
                };
                format!("its {probe} probe fails, and the kubelet killed it {times}")
            }
        })
        .collect();
    parts.join(", ")
}

/// Returns true if a container has less CPU time than planned.
fn is_less_cpu(file: &str, planned: Option<&str>, actual: Option<&str>) -> bool {
    let quota = |text: Option<&str>| -> Option<f64> {
        let mut words = text?.split_whitespace();
        let quota = words.next()?;
        let period: f64 = words.next().map_or(Some(100_000.0), |period| period.parse().ok())?;
        match quota {
            "max" | "-1" => Some(f64::INFINITY),
            quota => Some(quota.parse::<f64>().ok()? / period),
        }
    };
    matches!(file, "cpu.max" | "cpu.cfs_quota_us")
        && quota(actual).zip(quota(planned)).is_some_and(|(actual, planned)| actual < planned)
}
