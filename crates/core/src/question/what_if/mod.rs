//! The effect of changes on a node, in every domain: each domain's questions are answered for the node before and after
//! the change, and the answers compared.

mod actuation;
mod allocation;
pub(super) mod apply;
mod arrivals;
mod behaviours;
mod described;
mod devices;
mod eviction;
mod follows;
mod hugepages;
mod patches;
mod pods;
mod resizes;
mod start;
mod state;
mod values;

pub use allocation::restarts_for;
pub use apply::ChangeFiles;
pub use behaviours::reported as reported_behaviours;
pub use state::NodeState;

use self::described::Described;
use self::follows::{reports_other_amounts, with_allocatable};
use self::pods::{PodEffects, Transition};
use self::resizes::Resizes;
use crate::kubelet_start::StartFinding;
use crate::what_if::change::Change;
use crate::what_if::{
    Effect, PodFate, PodOutcome, PodResult, RestartCause, Step, WhatIf, WhatIfRule,
};
use kq_answer::{Assumption, Basis, Failure, Finding, Rule, Severity, Subject, WarningCode};
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_k8s::kubelet_rules::RuleArea;
use kq_output::units::counted;

/// Returns the facts that the question needs.
pub fn what_if_needs() -> Needs {
    Needs::ALL.without(&[FactKey::FolderUsage, FactKey::WritableLayers]).in_files()
}

/// Returns a node after a restart of its kubelet with the configuration on its disk; `None`: it is the one that it runs with,
/// it is not known, or the kubelet does not start with it.
pub fn restarted(node: &Node) -> Option<Node> {
    let reports_others = reports_other_amounts(node);
    let knows_files = node.snapshot.kubelet_config_on_disk.found.is_some();
    let knows_config = knows_files || node.snapshot.kubelet_config.found.is_some();
    // A node is large: it is copied for an answer only.
    if !knows_config || !knows_files && !reports_others {
        return None;
    }
    let before = NodeState::of(node.snapshot.clone(), node.overrides.clone()).ok()?;
    let mut after = before.clone();
    if knows_files && !after.start().problems.is_empty() {
        return None;
    }
    start::take_driver(&before, &mut after, &mut Basis::default());
    let started = after.node().ok()?;
    let is_same = after.snapshot.state_files == before.snapshot.state_files
        && started.kubelet.config == node.kubelet.config
        && started.kubelet.rules.gates == node.kubelet.rules.gates;
    if is_same && !reports_others {
        return None;
    }
    let settled = with_allocatable(&Described::new(&before), &Described::new(&after), true);
    settled.unwrap_or(after).node().ok()
}

/// Returns the effect of changes on a node.
///
/// # Errors
///
/// Fails for a change that the node cannot have, and where a necessary fact is missing.
pub fn what_if(
    before: &NodeState,
    changes: &[Change],
    files: &ChangeFiles,
) -> Result<WhatIf, Failure> {
    let mut basis = Basis::default();
    basis.warn_all(WarningCode::PodManifest.each(&files.notes));
    if before.elsewhere > 0 {
        basis.assume(format!("{} of other nodes: not counted", counted(before.elsewhere, "pod")));
    }
    let configured = before.with_defaults(&mut basis);
    let it_ran = configured.as_it_ran();
    let before = it_ran.as_ref().unwrap_or(&configured);
    let mut after = configured.clone();
    let mut resized = Vec::new();
    for change in changes {
        resized.extend(apply::apply(before, &mut after, change, files, &mut basis)?);
    }
    pods::take_back(before, &mut after);
    let restarts = changes.iter().any(Change::restarts_kubelet);
    let mut items = Vec::new();
    let start = match restarts {
        true => start::start(before, &mut after, changes.iter().any(Change::reboots), &mut basis),
        false => start::Start::default(),
    };
    let starts = start.starts;
    items.extend(start.findings);
    // The start makes the gates of the configuration those of the kubelet.
    hugepages::adjust(before, &mut after, changes, &mut basis);
    let before = Described::new(before);
    let (mut resizes, mut made) = (Resizes::default(), None);
    if starts != Some(false) {
        let unsettled = Described::new(&after);
        match with_allocatable(&before, &unsettled, restarts) {
            Some(settled) => after = settled,
            None => made = unsettled.into_node().filter(|_| resized.is_empty()),
        }
        resizes = Resizes::answered(before.state, &mut after, &resized)?;
        basis.assume_all(resizes.assumptions());
    }
    let after = Described::of(&after, made);
    let transition = Transition {
        resizes,
        before,
        after,
        changes,
        restarts,
        reboots: changes.iter().any(Change::reboots),
    };
    let panic = transition.topology_panic().filter(|_| starts != Some(false));
    let starts = if panic.is_some() { None } else { starts };
    items.extend(panic.map(|it| Effect::new(Subject::Node, WhatIfRule::KubeletStart(it))));
    if let (Some(true), Ok(node)) = (starts, transition.after.kubelet()) {
        let version = node.kubelet.version.to_string();
        let rule =
            WhatIfRule::KubeletStart(StartFinding::Starts { version, not_checked: Vec::new() });
        items.push(Effect::new(Subject::Node, rule));
    }
    let (mut pods, mut values, mut knows_pods) = (Vec::new(), Vec::new(), true);
    if starts != Some(false) {
        let lacking = basis.missing.len();
        match transition.pods(&mut basis) {
            Ok(PodEffects { outcomes, findings, .. }) => {
                items.extend(findings);
                items.extend(summary(&outcomes).filter(|_| basis.missing.len() == lacking));
                pods = outcomes;
            }
            Err(failure) => {
                knows_pods = false;
                items.push(missing("pods", &failure));
            }
        }
        match transition.values(&pods, &mut basis) {
            Ok(changed) => {
                items.extend(values::findings(&changed, &transition));
                values = changed;
            }
            Err(failure) => items.push(missing("values of cgroups", &failure)),
        }
        items.extend(transition.holders(&pods));
        items.extend(transition.follows(&pods));
    } else {
        values = values::before_end(&transition.before, &start.writes);
        items.extend(values::count(&values));
    }
    if let Ok(node) = transition.after.kubelet() {
        let version = node.kubelet.version;
        for certainty in RuleArea::ALL.into_iter().filter_map(|area| version.certainty(area)) {
            let assumption = Assumption::from(certainty);
            if !basis.assumptions.contains(&assumption) {
                basis.assume(assumption);
            }
        }
    }
    items.extend(behaviours::behaviours(&transition, &mut basis));
    if starts != Some(false) {
        items.extend(behaviours::expired_client(&transition));
        items.extend(patches::patches(&transition, &mut basis));
    }
    items.sort_by_key(|effect| effect.rule.severity());
    let steps = steps(&items);
    let facts = &transition.before.state.snapshot;
    let node = facts.node_name.value().cloned();
    let node = node.or_else(|| facts.node.value().map(|it| it.metadata.name.clone()));
    Ok(WhatIf {
        node,
        changes: changes.iter().map(ToString::to_string).collect(),
        kubelet_restarts: transition.restarts,
        kubelet_starts: starts,
        items: items.into_iter().map(Effect::written).collect(),
        pods,
        values,
        steps,
        knows_pods,
        basis,
    })
}

/// Returns the informational findings of an answer that a restart of the kubelet without the change has as well; none, where
/// the restart is the change.
pub fn at_any_restart(before: &NodeState, answer: &WhatIf, changes: &[Change]) -> Vec<Finding> {
    let is_restart = |it: &Change| matches!(it, Change::KubeletRestart { .. }) || it.reboots();
    let is_info = |it: &&Finding| it.severity == Severity::Info;
    if !answer.kubelet_restarts
        || changes.iter().all(is_restart)
        || answer.items.iter().filter(is_info).count() == 0
    {
        return Vec::new();
    }
    let restart = [Change::KubeletRestart { kill: false }];
    let unchanged = what_if(before, &restart, &ChangeFiles::default());
    let unchanged = unchanged.map(|it| it.items).unwrap_or_default();
    answer.items.iter().filter(is_info).filter(|it| unchanged.contains(it)).cloned().collect()
}

fn missing(about: &str, failure: &Failure) -> Effect {
    let rule = WhatIfRule::Missing { about: about.to_owned(), reason: failure.reason() };
    Effect::new(Subject::Node, rule)
}

/// Returns how many pods keep their containers. It is no good news where that is none of them.
fn summary(pods: &[PodOutcome]) -> Option<Effect> {
    let is_kept = |it: &&PodOutcome| it.result == PodResult::Kept && it.or_else.is_empty();
    let kept = pods.iter().filter(is_kept).count();
    let is_fine = |it: &&PodOutcome| {
        let is_harmless = it.cause.is_some_and(RestartCause::is_harmless);
        let starts = it.result == PodResult::Starts || is_harmless;
        is_kept(it) || starts && it.or_else.is_empty()
    };
    let others = pods.len() - pods.iter().filter(is_fine).count();
    let is_told = kept > 0 || others == 0;
    is_told.then(|| Effect::new(Subject::Node, WhatIfRule::Pods { kept, others }))
}

/// Returns the steps before the change, one for each danger.
fn steps(items: &[Effect]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut drained = Vec::new();
    for item in items.iter().filter(|it| it.rule.severity() <= Severity::Warning) {
        let command = match (&item.rule, &item.subject) {
            // A static pod does not move.
            (
                WhatIfRule::Pod(PodFate::Restarts {
                    cause: RestartCause::NewUid | RestartCause::Replaced,
                    ..
                }),
                _,
            ) => continue,
            // Its manifest is to be changed, as is said below.
            (WhatIfRule::Pod(fate), _) if fate.is_of_manifest() => None,
            (WhatIfRule::Pod(_), Subject::Pod { pod, .. }) => {
                drained.push(pod.clone());
                continue;
            }
            (WhatIfRule::NextStart { pods, .. }, _) => {
                drained.extend_from_slice(pods);
                continue;
            }
            (WhatIfRule::KubeletStart(StartFinding::Stops { command, .. }), _) => command.clone(),
            _ => None,
        };
        let Finding { id: rule, advice, .. } = item.clone().written();
        let step = advice.map(|text| Step { rule, text, command });
        steps.extend(step.filter(|step| !steps.contains(step)));
    }
    if !drained.is_empty() {
        let text = format!("move these pods before the change: {}", drained.join(" "));
        steps.insert(0, Step { rule: "pod".to_owned(), text, command: None });
    }
    steps
}
