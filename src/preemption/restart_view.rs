//! Who is taken in again when the kubelet starts anew, as tables.

use super::restart::{ComparedAnew, PodReadmission, ReadmissionResult, Readmitted, Taker};
use crate::admission::shown;
use crate::k8s::pod::ResourceName;
use crate::output::table::Table;

fn headings(names: &[&str]) -> Table {
    Table::new(names.iter().map(|name| (*name).to_owned()).collect())
}

/// Shows who is taken in again.
pub fn table(answer: &PodReadmission) -> String {
    let mut pods = headings(&["PLACE", "POD", "SOURCE", "CREATED", "RESULT", "BECAUSE"]);
    for (at, it) in answer.items.iter().enumerate() {
        pods.add(vec![
            (at + 1).to_string(),
            it.pod.clone(),
            if it.is_static { "static" } else { "api" }.to_owned(),
            it.created_at.map_or_else(|| "-".to_owned(), |at| at.to_string()),
            match it.result {
                ReadmissionResult::Admitted => "admitted",
                ReadmissionResult::Refused => "REFUSED",
                ReadmissionResult::Killed => "KILLED",
            }
            .to_owned(),
            because(it),
        ]);
    }
    pods.to_string()
}

/// Says what became of a pod: all parts of it are so, but of several refusals the kubelet says one.
fn because(it: &Readmitted) -> String {
    let mut parts = Vec::new();
    if !it.refusals.is_empty() {
        let said = it.refusals.iter().map(|it| format!("{}: {}", it.reason, it.message));
        parts.push(said.collect::<Vec<_>>().join(" or "));
    }
    if !it.kills.is_empty() {
        parts.push(format!("for it are killed: {}", it.kills.join(", ")));
    }
    if let Some(by) = &it.killed_for {
        let then = if parts.is_empty() { "" } else { "then killed " };
        parts.push(format!("{then}to take in {by}"));
    }
    if parts.is_empty() { "-".to_owned() } else { parts.join("; ") }
}

/// Shows what was compared at each turn, and who has what is missing, as well.
pub fn wide(answer: &PodReadmission) -> String {
    let mut compared = headings(&[
        "PLACE",
        "POD",
        "RESOURCE",
        "ALLOCATABLE",
        "USED",
        "FREE",
        "REQUESTED",
        "MISSING",
        "TAKEN BY",
    ]);
    for (at, it) in answer.items.iter().enumerate() {
        for line in &it.compared {
            let resource = ResourceName::from(&*line.resource);
            let show = |amount| shown(&resource, amount);
            compared.add(vec![
                (at + 1).to_string(),
                it.pod.clone(),
                line.resource.clone(),
                show(line.allocatable),
                show(line.used),
                show(line.free),
                show(line.requested),
                if line.missing == 0 { "-".to_owned() } else { show(line.missing) },
                takers(line, &resource),
            ]);
        }
    }
    format!("{}\n{compared}", table(answer))
}

fn takers(line: &ComparedAnew, resource: &ResourceName) -> String {
    let named = |it: &Taker| format!("{} {}", it.pod, shown(resource, it.amount));
    let named: Vec<String> = line.taken_by.iter().map(named).collect();
    match (named.is_empty(), line.more_takers) {
        (true, _) => "-".to_owned(),
        (false, 0) => named.join(", "),
        (false, 1) => format!("{} and one other", named.join(", ")),
        (false, more) => format!("{} and {more} others", named.join(", ")),
    }
}
