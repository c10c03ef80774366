//! What the nodes of a cluster would do, as tables.

use super::cluster::{ClusterPreemption, NodeAnswer, NodeResult, NodeVictim};
use super::view::{amounts, named_ties};
use kq_output::doc::Doc;
use kq_output::screen::Tone;
use kq_output::table::{Column, Rows, listed, or_dash};

const NODES: &[Column<NodeAnswer>] = &[
    Column::name("NODE", |node| node.node.clone()),
    Column::state("RESULT", result, |node| tone(node.result)),
    Column::new("VICTIMS", |node| or_dash(node.cost.map(|_| by_class(node)))),
    Column::new("HIGHEST PRIORITY", |node| or_dash(node.cost.map(|cost| cost.highest_priority))),
    Column::new("WAITS", |node| or_dash(node.cost.map(|_| format!("{}s", node.waits_seconds)))),
    Column::text("REASON", reason),
];

/// Shows a line for each node, the cheapest first.
pub fn table(answer: &ClusterPreemption) -> Doc {
    let critical = &answer.critical;
    let is = if critical.value { "critical" } else { "not critical" };
    let counts = &answer.summary;
    let mut doc = Doc::from(Rows::of(&answer.nodes).table(NODES));
    doc.blank();
    doc.line(format!("{is}: {}", critical.because));
    let told = [
        ("without victims", counts.fits),
        ("with victims", counts.preempts),
        ("not enough to kill", counts.not_enough),
        ("refused", counts.refused),
        ("not known", counts.missing),
    ];
    let told = told.into_iter().filter(|(_, count)| *count > 0);
    let told: Vec<String> = told.map(|(what, count)| format!("{count} {what}")).collect();
    let nodes = if answer.nodes.len() == 1 { "node" } else { "nodes" };
    doc.line(format!("of {} {nodes}: {}", answer.nodes.len(), told.join(", ")));
    doc
}

/// Shows the victims of each node as well.
pub fn wide(answer: &ClusterPreemption) -> Doc {
    let mut doc = table(answer);
    let mut rows: Vec<(&NodeAnswer, usize, &NodeVictim)> = Vec::new();
    for node in &answer.nodes {
        rows.extend(node.victims.iter().enumerate().map(|(at, it)| (node, at, it)));
    }
    if !rows.is_empty() {
        doc.add_apart(Rows::of(&rows).table(&[
            Column::name("NODE", |(node, ..)| node.node.clone()),
            Column::new("KILL", |(_, at, _)| (at + 1).to_string()),
            Column::name("POD", |(_, _, it)| it.pod.clone()),
            Column::new("QOS", |(_, _, it)| it.qos_class.to_owned()),
            Column::new("PRIORITY", |(_, _, it)| or_dash(it.priority)),
            Column::new("GIVES", |(_, _, it)| amounts(&it.gives)),
            Column::new("STARTED", |(_, _, it)| or_dash(it.started_at)),
            Column::new("GRACE", |(_, _, it)| format!("{}s", it.grace_period_seconds)),
            Column::new("WAITS", |(_, _, it)| format!("{}s", it.waits_seconds)),
            Column::text("NOTE", |(_, _, it)| note(it)),
        ]));
    }
    doc
}

fn note(victim: &NodeVictim) -> String {
    let unneeded = "not needed in hindsight: the others are enough";
    let mut notes: Vec<String> = victim.unneeded.then(|| unneeded.to_owned()).into_iter().collect();
    notes.extend(named_ties(&victim.ties));
    listed(notes, "; ")
}

fn result(node: &NodeAnswer) -> String {
    match node.result {
        NodeResult::Fits => "fits".to_owned(),
        NodeResult::Preempts => format!("kills {}", node.victims.len()),
        NodeResult::NotEnough => "not enough".to_owned(),
        NodeResult::Refused => "refused".to_owned(),
        NodeResult::Missing => "MISSING".to_owned(),
    }
}

fn tone(result: NodeResult) -> Option<Tone> {
    match result {
        NodeResult::Fits => Some(Tone::Good),
        NodeResult::Refused | NodeResult::Missing => Some(Tone::Bad),
        NodeResult::Preempts | NodeResult::NotEnough => None,
    }
}

fn by_class(node: &NodeAnswer) -> String {
    let of = |class: &str| {
        let count = node.victims.iter().filter(|victim| victim.qos_class == class).count();
        (count > 0).then(|| format!("{count} {class}"))
    };
    let classes = ["BestEffort", "Burstable", "Guaranteed"].into_iter().filter_map(of);
    classes.collect::<Vec<_>>().join(", ")
}

fn reason(node: &NodeAnswer) -> String {
    let refusals = || {
        let said = node.refusals.iter().map(|it| format!("{}: {}", it.reason, it.message));
        said.collect::<Vec<_>>().join(" or ")
    };
    let mut reasons = match node.result {
        NodeResult::Fits => Vec::new(),
        NodeResult::Preempts => vec![format!("lacks {}", amounts(&node.requirements))],
        NodeResult::NotEnough => {
            vec![format!("still missing without all of them: {}", amounts(&node.not_enough))]
        }
        NodeResult::Refused => vec![refusals()],
        NodeResult::Missing => vec![node.because.to_string()],
    };
    reasons.extend(node.unschedulable.then(|| "cordoned: the scheduler passes it over".to_owned()));
    reasons.extend(match node.ready {
        Some(true) => None,
        Some(false) => Some("not ready: the scheduler passes it over".to_owned()),
        None => Some("whether it is ready is unknown".to_owned()),
    });
    listed(reasons, "; ")
}
