//! The pods that the kubelet kills, as tables.

use super::report::{
    CandidateExplained, Missing, PodPreemption, PreemptionResult, RoundExplained, Spared,
    StageExplained, Victim,
};
use super::victims::VisitResult;
use crate::{Check, CheckReason, CheckResult, shown};
use kq_output::doc::Doc;
use kq_output::table::{Column, Rows, Table, listed, or_dash};
use kq_output::units::first_few;
use std::sync::Arc;

/// How many pods that could go in a victim's place are named.
const NAMED: usize = 10;

const SPARED: &[Column<Spared>] = &[
    Column::new("SPARED", |it| it.pod.clone()),
    Column::text("BECAUSE", |it| it.because.to_string()),
];

/// Shows the result for the pod, and the victims.
pub fn table(answer: &PodPreemption) -> Doc {
    let explanation = &answer.preemption;
    let mut doc = Doc::headed(&answer.headline().with(&answer.basis).text);
    match explanation.refusals.as_slice() {
        [] | [_] => {}
        _ => doc.line("it reports one of these, at random:"),
    }
    for refusal in &explanation.refusals {
        doc.line(format!("{}: {}", refusal.reason, refusal.message));
    }
    if explanation.result == PreemptionResult::Refused {
        let fails = |it: &&Check| {
            it.result == CheckResult::Fail && !matches!(it.because.0, CheckReason::Short { .. })
        };
        for it in answer.admission.checks.iter().filter(fails) {
            doc.line(format!("because: {}", it.because));
        }
    }
    let critical = &explanation.critical;
    let is = if critical.value { "critical" } else { "not critical" };
    doc.line(format!("{is}: {}", critical.because));
    for it in &explanation.requirements {
        let sum = answer.admission.resources.iter().find(|sum| sum.resource == it.resource);
        let sum = sum.map(|sum| {
            let show = |amount| shown(&it.resource, amount);
            let [requested, has, used] = [sum.requested, sum.allocatable, sum.used].map(show);
            let free = match sum.free < 0 {
                true => format!("+ {} overcommitted", show(sum.free.saturating_neg())),
                false => format!("- {} free", show(sum.free)),
            };
            format!(" = {requested} requested {free} ({has} allocatable - {used} used)")
        });
        let missing = amounts(std::slice::from_ref(it));
        doc.line(format!("lacks: {missing}{}", sum.unwrap_or_default()));
    }
    if !explanation.not_enough.is_empty() {
        let left = amounts(&explanation.not_enough);
        doc.line(format!("lacks still when all of them are killed: {left}"));
    }
    if !explanation.victims.is_empty() {
        doc.add_apart(victims(&explanation.victims));
    }
    doc
}

fn victims(victims: &[Victim]) -> Table {
    let rows: Vec<(usize, &Victim)> = victims.iter().enumerate().collect();
    Rows::of(&rows).table(&[
        Column::new("KILL", |(at, _)| (at + 1).to_string()),
        Column::name("POD", |(_, it)| it.pod.clone()),
        Column::new("QOS", |(_, it)| it.qos_class.to_owned()),
        Column::new("PRIORITY", |(_, it)| or_dash(it.priority)),
        Column::new("GIVES", |(_, it)| amounts(&it.gives)),
        Column::new("STILL MISSING", |(_, it)| amounts(&it.remaining)),
        Column::new("GRACE", |(_, it)| format!("{}s", it.grace_period_seconds)),
        Column::new("WAITS", |(_, it)| format!("{}s", it.waits_seconds)),
        Column::text("NOTE", |(_, it)| note(it)),
    ])
}

fn note(victim: &Victim) -> String {
    let mut notes = Vec::new();
    if victim.unneeded {
        notes.push("not needed in hindsight: the others are enough".to_owned());
    }
    notes.extend(named_ties(&victim.ties));
    if victim.more_ties > 0 {
        notes.push(format!("equal to {} others at its turn, too many to name", victim.more_ties));
    }
    listed(notes, "; ")
}

/// Returns which pods could go in a victim's place; of many, the first.
pub(super) fn named_ties(ties: &[Arc<str>]) -> Option<String> {
    (!ties.is_empty()).then(|| format!("or, as equal: {}", first_few(NAMED, ties)))
}

/// Shows every round, who is spared, and what is written to the victims, as well.
pub fn wide(answer: &PodPreemption) -> Doc {
    let mut doc = rounds(answer);
    if let Some(victim) = answer.preemption.victims.first() {
        let status = &victim.status;
        let condition = &status.condition;
        doc.blank();
        doc.line(format!(
            "written to each victim: phase {}, reason {}, message {:?}; condition {} {}, reason {}, \
             message {:?}",
            status.phase,
            status.reason,
            status.message,
            condition.kind,
            condition.status,
            condition.reason,
            condition.message
        ));
    }
    doc
}

/// Shows every round, and who is spared, as well.
pub fn rounds(answer: &PodPreemption) -> Doc {
    let mut doc = table(answer);
    let explanation = &answer.preemption;
    for StageExplained { qos_class, requirements, rounds } in &explanation.stages {
        doc.blank();
        doc.line(match requirements.as_slice() {
            [] => format!("{qos_class}: nothing is needed of this class"),
            some => format!("{qos_class}: has to give {}", amounts(some)),
        });
        for (at, round) in rounds.iter().enumerate() {
            doc.add(candidates(at + 1, round));
            doc.line(format!("still missing: {}", amounts(&round.remaining)));
        }
    }
    if !explanation.spared.is_empty() {
        doc.add_apart(Rows::of(&explanation.spared).table(SPARED));
    }
    doc
}

fn compared(result: VisitResult) -> &'static str {
    match result {
        VisitResult::Nearer => "nearer",
        VisitResult::Farther => "farther",
        VisitResult::TieNoMore => "same distance, no larger memory request",
        VisitResult::TieMore => "same distance, larger memory request",
    }
}

fn candidates(number: usize, round: &RoundExplained) -> Table {
    let row = |candidate| (number, candidate, &*round.chosen);
    let rows: Vec<(usize, &CandidateExplained, &str)> = round.candidates.iter().map(row).collect();
    Rows::of(&rows).table(&[
        Column::new("ROUND", |(number, ..)| number.to_string()),
        Column::new("CANDIDATE", |(_, it, _)| it.pod.to_string()),
        Column::new("DISTANCE", |(_, it, _)| it.distance.to_string()),
        Column::text("COMPARED", |(_, it, chosen)| {
            let mark = if *it.pod == **chosen { ": killed" } else { "" };
            format!("{}{mark}", compared(it.result))
        }),
    ])
}

/// Writes requirements as users do: `cpu 250m, pods 1`.
pub(super) fn amounts(missing: &[Missing]) -> String {
    let one = |it: &Missing| format!("{} {}", it.resource, shown(&it.resource, it.quantity));
    listed(missing.iter().map(one), ", ")
}
