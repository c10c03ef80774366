//! The checks of a node: sources, kubelet, runtime, cgroups.

use super::Compared;
use crate::question::start::KubeletStart;
use kq_answer::{Finding, WarningCode};
use kq_cgroup::live::checks::{CheckInput, NextStart, checks};
use kq_cgroup::live::difference::{Verdict, summary};
use std::collections::{BTreeMap, BTreeSet};

/// Checks the sources and the cgroups of a node. `lists_drift`: each value that drifts is a finding of its own, so that no check counts them.
pub fn cgroup_checks(compared: &Compared, start: &KubeletStart, lists_drift: bool) -> Vec<Finding> {
    let (counted, changing) = match count(compared) {
        Ok((summary, changing)) => (Ok(summary), changing),
        Err(reason) => (Err(reason), BTreeSet::new()),
    };
    let live = &compared.live;
    let incomplete = live.unknown_pods().map(|it| it.text);
    let ignored = live.kubelet.warnings.iter().filter(|it| it.code == WarningCode::IgnoredField);
    let ignored: Vec<&str> = ignored.map(|it| it.text.as_str()).collect();
    checks(CheckInput {
        start: NextStart {
            fails: start.starts == Some(false),
            refuses_config: start.refuses_config,
            refuses_state_file: !start.refused_files.is_empty(),
        },
        unread_files: &start.unread_files,
        ignored: &ignored,
        snapshot: &live.snapshot,
        node: &compared.settings,
        config: &live.config,
        node_file: live.overrides.node_file.as_ref().map(|it| it.file.as_str()),
        low_level: live.overrides.runtime.as_deref(),
        roots: &live.roots,
        pods: &live.allocated_pods(),
        workloads: &live.workloads,
        incomplete: incomplete.as_deref(),
        compared: &counted,
        changing: &changing,
        lists_drift,
    })
}

/// How many values compare how, and the UIDs of the pods that come or go.
type Counted = (BTreeMap<String, usize>, BTreeSet<String>);

/// Compares with the plan and counts; fails with the reason.
fn count(compared: &Compared) -> Result<Counted, String> {
    compared.live.tree().map_err(|failure| failure.reason())?;
    let differences = &compared.comparison().map_err(|failure| failure.reason())?.differences;
    let changing = differences.iter().filter(|it| it.verdict == Verdict::Changing);
    let changing = changing.filter_map(|it| it.pod_uid.clone()).collect();
    Ok((summary(differences), changing))
}
