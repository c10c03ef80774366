//! What the nodes of a cluster would do, as tables.

use super::cluster::{ClusterPreemption, NodeAnswer, NodeResult};
use super::view::{amounts, headings, named_ties};
use crate::output::terminal::plain;
use std::fmt::Write as _;

/// Shows a line for each node, the cheapest first.
pub fn table(answer: &ClusterPreemption) -> String {
    let mut nodes = headings(&["NODE", "RESULT", "VICTIMS", "HIGHEST PRIORITY", "WAITS", "REASON"]);
    for node in &answer.nodes {
        let of_cost = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        nodes.add(vec![
            node.node.clone(),
            result(node),
            of_cost(node.cost.map(|_| by_class(node))),
            of_cost(node.cost.map(|cost| cost.highest_priority.to_string())),
            of_cost(node.cost.map(|_| format!("{}s", node.waits_seconds))),
            reason(node),
        ]);
    }
    let critical = &answer.critical;
    let is = if critical.value { "critical" } else { "not critical" };
    let counts = &answer.summary;
    let mut text = nodes.to_string();
    let mut line = |line: String| text += &(plain(line) + "\n");
    line(String::new());
    line(format!("{is}: {}", critical.because));
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
    line(format!("of {} {nodes}: {}", answer.nodes.len(), told.join(", ")));
    text
}

/// Shows the victims of each node as well.
pub fn wide(answer: &ClusterPreemption) -> String {
    let mut text = table(answer);
    let mut victims = headings(&[
        "NODE", "KILL", "POD", "QOS", "PRIORITY", "GIVES", "STARTED", "GRACE", "WAITS", "NOTE",
    ]);
    let mut is_any = false;
    for node in &answer.nodes {
        for (at, victim) in node.victims.iter().enumerate() {
            is_any = true;
            let mut notes = Vec::new();
            if victim.unneeded {
                notes.push("not needed in hindsight: the others are enough".to_owned());
            }
            notes.extend(named_ties(&victim.ties));
            let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            victims.add(vec![
                node.node.clone(),
                (at + 1).to_string(),
                victim.pod.clone(),
                victim.qos_class.to_owned(),
                or_none(victim.priority.map(|it| it.to_string())),
                amounts(&victim.gives),
                or_none(victim.started_at.map(|it| it.to_string())),
                format!("{}s", victim.grace_period_seconds),
                format!("{}s", victim.waits_seconds),
                if notes.is_empty() { "-".to_owned() } else { notes.join("; ") },
            ]);
        }
    }
    if is_any {
        let _ = write!(text, "\n{victims}");
    }
    text
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
        NodeResult::Missing => vec![node.because.clone()],
    };
    reasons.extend(node.unschedulable.then(|| "cordoned: the scheduler passes it over".to_owned()));
    reasons.extend(match node.ready {
        Some(true) => None,
        Some(false) => Some("not ready: the scheduler passes it over".to_owned()),
        None => Some("nobody knows whether it is ready".to_owned()),
    });
    if reasons.is_empty() { "-".to_owned() } else { reasons.join("; ") }
}
