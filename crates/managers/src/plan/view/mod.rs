//! A plan as tables.

mod standing;

use super::{DevicePlan, PlannedPod, ResourceBefore};
use crate::manager::Step;
use crate::manager::allocate::{
    AnyOf, Choice, ContainerKind, Outcome, Pool, Preference, ResourceAllocation,
};
use crate::manager::hints::Hint;
use crate::manager::topology::TopologyDecision;
use crate::reconstruct::some;
use kq_output::doc::Doc;
use kq_output::table::{Column, Rows, Table, listed};
use std::collections::BTreeSet;

/// Shows what each container gets.
pub fn table(plan: &DevicePlan) -> Doc {
    shown(plan, false)
}

fn shown(plan: &DevicePlan, is_wide: bool) -> Doc {
    let mut doc = Doc::from(lines(plan, is_wide));
    if let Some(why) = &plan.prevented {
        doc.blank();
        doc.line(why.clone());
        return doc;
    }
    let after = standing::after(plan);
    if !after.is_empty() {
        doc.add_apart(after);
    }
    doc
}

/// Shows the derivation as well.
pub fn wide(plan: &DevicePlan) -> Doc {
    let mut doc = shown(plan, true);
    let rows: Vec<(&String, &ResourceBefore)> = plan.resources.iter().collect();
    let before = Rows::of(&rows).table(&[
        Column::new("RESOURCE", |(name, _)| (*name).clone()),
        Column::new("HEALTHY", |(_, before)| before.healthy.to_string()),
        Column::new("UNHEALTHY", |(_, before)| before.unhealthy.to_string()),
        Column::new("IN USE", |(_, before)| before.allocated.to_string()),
        Column::new("FREE", |(_, before)| before.free.to_string()),
    ]);
    doc.blank();
    doc.line("before");
    doc.add(before);
    let topology = &plan.topology;
    doc.blank();
    doc.line(format!(
        "topology manager: policy {}, scope {}, NUMA nodes {}",
        topology.policy,
        topology.scope,
        listed(&topology.numa_nodes, ",")
    ));
    for pod in &plan.pods {
        if let Some(decision) = &pod.admission.topology {
            doc.add(decided(&name(pod), decision));
        }
        let mut open = BTreeSet::new();
        for step in &pod.admission.containers {
            let title = format!("{} {}", name(pod), step.allocation.container);
            if let Some(decision) = &step.topology {
                doc.add(decided(&title, decision));
            }
            for uid in &step.allocation.reclaimed_pods {
                let why = "are taken back, it is not active";
                doc.line(format!("{title}: the devices of pod {uid} {why}"));
            }
            let hands_on = step.kind == ContainerKind::Init && step.allocation.checkpoint_written;
            let chosen = step.allocation.resources.iter().filter(|resource| {
                matches!(&resource.outcome, Outcome::Allocated(choice) if choice.any_of.is_some())
            });
            open.extend(chosen.map(|resource| resource.resource.as_str()));
            for (resource, left) in step.reusable_after.iter().filter(|_| hands_on) {
                let ids: Vec<&String> = left.iter().collect();
                let which = match open.contains(resource.as_str()) {
                    true => ids.len().to_string(),
                    false => list(&ids),
                };
                doc.line(format!("{title}: leaves {which} of {resource} to the next container"));
            }
        }
    }
    doc
}

/// Returns what was decided, with the hints.
fn decided(title: &str, decision: &TopologyDecision) -> Doc {
    let nodes = match decision.numa_nodes {
        None => "any NUMA node".to_owned(),
        Some(nodes) => format!("NUMA {}", listed(nodes.iter(), ",")),
    };
    let verdict = match (decision.preferred, decision.admitted) {
        (true, _) => "preferred",
        (false, true) => "not preferred, but allocated",
        (false, false) => "not preferred: refused",
    };
    let mut doc = Doc::of_line(format!("{title}: {nodes}, {verdict}"));
    for (resource, hints) in &decision.hints {
        let hint = |hint: &Hint| {
            let star = if hint.preferred { "*" } else { "" };
            format!("{}{star}", listed(hint.numa_nodes.iter(), ","))
        };
        let hints = match hints.as_deref() {
            None => "has no NUMA nodes".to_owned(),
            Some([]) => "impossible".to_owned(),
            Some(hints) => hints.iter().map(hint).collect::<Vec<_>>().join(" "),
        };
        doc.line(format!("  {resource}: {hints}"));
    }
    doc
}

/// What a container gets of a resource.
struct Row {
    pod: String,
    container: String,
    resource: String,
    need: String,
    devices: String,
    numa: String,
    reason: String,
}

impl Row {
    /// Returns a row that has only a reason.
    fn of(pod: String, reason: String) -> Self {
        let [container, resource, need, devices, numa] = ["-"; 5].map(str::to_owned);
        Self { pod, container, resource, need, devices, numa, reason }
    }
}

fn lines(plan: &DevicePlan, wide: bool) -> Table {
    // The columns do not depend on what is found, only on what is asked.
    let many = plan.of_node || plan.kubelet_restart || plan.pods.len() != 1;
    let mut rows = Vec::new();
    for pod in &plan.pods {
        let mut of_pod = rows_of(plan, pod, wide);
        for row in &mut of_pod {
            standing::with_held(pod, plan.kubelet_restart, row, wide);
        }
        rows.extend(of_pod);
    }
    if plan.of_node {
        rows.extend(standing::without_pod(plan));
    }
    Rows::of(&rows).table(&[
        Column::when(many, Column::name("POD", |row| row.pod.clone())),
        Column::name("CONTAINER", |row| row.container.clone()),
        Column::new("RESOURCE", |row| row.resource.clone()),
        Column::new("NEED", |row| row.need.clone()),
        Column::text("DEVICES", |row| row.devices.clone()),
        Column::new("NUMA", |row| row.numa.clone()),
        Column::text("REASON", |row| row.reason.clone()),
    ])
}

fn rows_of(plan: &DevicePlan, pod: &PlannedPod, wide: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    if let Some(failure) = &pod.failure {
        rows.push(Row::of(name(pod), failure.message.clone()));
        rows.extend(standing::not_reached(pod, wide));
        return rows;
    }
    let mut told = false;
    for step in &pod.admission.containers {
        for resource in &step.allocation.resources {
            let refused = matches!(resource.outcome, Outcome::Refused { .. });
            told |= refused;
            let error = refused.then(|| refusal(pod)).flatten();
            let mut row = row(pod, step, resource, error, wide);
            let unknown = plan.not_offered.get(&resource.resource);
            if let Some(unknown) = unknown.filter(|_| resource.requested > 0) {
                row.reason = standing::not_offered(unknown);
            }
            rows.push(row);
        }
    }
    if let Some(why) = refusal(pod).filter(|_| !told) {
        let last = pod.admission.containers.last();
        let mut row = Row::of(name(pod), why);
        let decision = last.and_then(|step| step.topology.as_ref());
        if let Some(decision) = decision.or(pod.admission.topology.as_ref()) {
            let resources: Vec<&String> = decision.hints.keys().collect();
            row.resource = some(&resources);
        }
        if let Some(step) = last {
            row.container = container(step);
        }
        rows.push(row);
    } else if rows.is_empty() && pod.outlook.is_none() {
        rows.push(Row::of(name(pod), "no container requests devices".to_owned()));
    }
    rows.extend(standing::not_reached(pod, wide));
    rows
}

/// Returns the reason why a pod is refused, as its status does.
fn refusal(pod: &PlannedPod) -> Option<String> {
    let admission = &pod.admission;
    let message = admission.message.as_ref()?;
    Some(format!("{}: {message}", admission.reason.unwrap_or_default()))
}

fn name(pod: &PlannedPod) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

fn container(step: &Step) -> String {
    container_of(&step.allocation.container, step.kind)
}

fn container_of(name: &str, kind: ContainerKind) -> String {
    let kind = match kind {
        ContainerKind::Init => " (init)",
        ContainerKind::Sidecar => " (sidecar)",
        ContainerKind::App => "",
    };
    format!("{name}{kind}")
}

fn row(
    pod: &PlannedPod,
    step: &Step,
    resource: &ResourceAllocation,
    error: Option<String>,
    wide: bool,
) -> Row {
    let (devices, numa, reason) = match &resource.outcome {
        Outcome::NotOfPlugin => (
            "-".to_owned(),
            "-".to_owned(),
            "no plugin is known for it: the kubelet starts the container without".to_owned(),
        ),
        Outcome::ResourceClaim => {
            ("-".to_owned(), "-".to_owned(), "a resource claim provides it".to_owned())
        }
        Outcome::Recorded { devices } => {
            (ids(devices, wide), "-".to_owned(), "recorded already".to_owned())
        }
        Outcome::RunningAtStart { devices } => {
            (ids(devices, wide), "-".to_owned(), "its container runs and is left alone".to_owned())
        }
        Outcome::Nothing => ("-".to_owned(), "-".to_owned(), "none requested".to_owned()),
        Outcome::Allocated(choice) => {
            (devices(choice, wide), numa(choice), reasons(choice).join("; "))
        }
        Outcome::Refused { .. } => ("-".to_owned(), "-".to_owned(), error.unwrap_or_default()),
    };
    Row {
        pod: name(pod),
        container: container(step),
        resource: resource.resource.clone(),
        need: resource.requested.to_string(),
        devices,
        numa,
        reason,
    }
}

/// Returns the devices that are sure, and how many of which others.
fn devices(choice: &Choice, wide: bool) -> String {
    let Some(any_of) = &choice.any_of else { return ids(&choice.devices, wide) };
    let from: Vec<&String> = any_of.from.iter().collect();
    let from = if wide { list(&from) } else { some(&from) };
    let any = format!("{} of ({from})", any_of.count);
    if choice.certain.is_empty() { any } else { format!("{} + {any}", ids(&choice.certain, wide)) }
}

fn ids(set: &kq_facts::checkpoint::device::DeviceSet, wide: bool) -> String {
    let ids: Vec<&String> = set.iter().collect();
    match (ids.is_empty(), wide) {
        (true, _) => "-".to_owned(),
        (false, true) => list(&ids),
        (false, false) => some(&ids),
    }
}

fn list(ids: &[&String]) -> String {
    ids.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(", ")
}

fn numa(choice: &Choice) -> String {
    // Which nodes it will be may be open as long as the devices are.
    let nodes = &choice.possible_numa_nodes;
    let all = listed(nodes, ",");
    let is_one = choice.any_of.as_ref().is_some_and(|any_of| any_of.count == 1);
    match () {
        () if choice.numa_is_certain || nodes.is_empty() => all,
        () if is_one && choice.certain.is_empty() && nodes.len() > 1 => {
            let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
            nodes.join(" or ")
        }
        () => format!("{all}?"),
    }
}

/// Returns how a choice came about.
fn reasons(choice: &Choice) -> Vec<String> {
    let mut reasons = Vec::new();
    if !choice.reused.is_empty() {
        reasons.push(format!("{} left by init containers", choice.reused.len()));
    }
    if choice.reused.len() < choice.devices.len() {
        reasons.push(match &choice.alignment {
            None => format!("{} free", choice.available),
            Some(split) => format!(
                "{} free: {} aligned, {} not, {} without NUMA node",
                choice.available, split.aligned, split.unaligned, split.without_numa
            ),
        });
    }
    if let Some(any_of) = &choice.any_of {
        reasons.push(
            match any_of.pool {
                Pool::Reusable => "any of those that are left",
                Pool::Preferred => "any of those that the plugin prefers",
                Pool::Aligned => "any of the aligned ones",
                Pool::Unaligned => "any of those that are not aligned",
                Pool::WithoutNuma => "any of them",
                Pool::Unknown => "the plugin's preference is unknown",
                Pool::Left => "an earlier choice decides which of them are left",
                Pool::AtMost => {
                    "no others; the NUMA nodes depend on what was chosen before, so it may be fewer"
                }
            }
            .to_owned(),
        );
    }
    match &choice.preference {
        Preference::Answered { preferred } if !preferred.is_empty() => {
            let preferred: Vec<&String> = preferred.iter().collect();
            let chosen = match &choice.any_of {
                Some(AnyOf { pool: Pool::Left | Pool::AtMost, .. }) => {
                    "with the first by id taken before, the plugin prefers"
                }
                _ => "the plugin prefers",
            };
            reasons.push(format!("{chosen} {}", some(&preferred)));
        }
        Preference::Answered { .. } => reasons.push("the plugin prefers none".to_owned()),
        Preference::NoNeed | Preference::NotOffered | Preference::Unknown => {}
    }
    if !choice.vanished.is_empty() {
        let ids: Vec<&String> = choice.vanished.iter().collect();
        reasons.push(format!("its plugin does not list {} any more", some(&ids)));
    }
    reasons
}
