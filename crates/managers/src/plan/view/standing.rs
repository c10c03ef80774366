//! Table rows for the pods that are on the node already.

use super::{Row, container_of, ids, name, refusal};
use crate::plan::{DevicePlan, Fate, HeldDevices, NotOffered, PlannedPod, RestartEffect, Verdict};
use crate::reconstruct::some;
use kq_output::doc::Doc;
use kq_output::table::listed;

/// Puts what a container has into its row, and what becomes of it.
pub(super) fn with_held(pod: &PlannedPod, restart: bool, row: &mut Row, wide: bool) {
    let Some(outlook) = &pod.outlook else { return };
    let Row { container, resource, devices, numa, reason, .. } = row;
    let same = |held: &&HeldDevices| {
        container_of(&held.container, held.kind) == *container && held.resource == *resource
    };
    let Some(held) = outlook.held.iter().find(same) else {
        if restart && outlook.verdict == Verdict::Refused && pod.admission.message.is_some() {
            *reason = refused(pod, outlook);
        }
        return;
    };
    *devices = ids(&held.devices, wide);
    *numa = listed(&held.numa_nodes, ",");
    let last = pod.admission.containers.last();
    let is_refused = last.is_some_and(|step| {
        step.allocation.error.is_some() && step.allocation.container == held.container
    });
    let runs = if held.runs { "runs" } else { "does not run" };
    *reason = match (held.fate, outlook.verdict) {
        (Fate::Forgotten, _) => format!(
            "{runs}; forgotten: a kubelet that starts does not find them in its checkpoint, and hands \
             them out again"
        ),
        (Fate::Lost, _) if is_refused => format!("{runs}; {}", refused(pod, outlook)),
        (Fate::Lost, _) if held.runs => "runs, and is stopped: its pod is refused".to_owned(),
        (Fate::Lost, _) => "does not run; its pod is refused".to_owned(),
        (Fate::Keeps, Verdict::Survives | Verdict::Forgotten) if held.runs => {
            "its container runs and is left alone".to_owned()
        }
        (Fate::Keeps, Verdict::RefusedAnew) if is_refused || !held.unhealthy.is_empty() => {
            let keeps = match held.unhealthy.is_empty() {
                true => "keeps them while its pod is there".to_owned(),
                false => format!(
                    "keeps them while its pod is there, {} unhealthy",
                    ids(&held.unhealthy, wide)
                ),
            };
            format!(
                "{runs}, {keeps}; if it is admitted again (a container with devices does not run \
                 when the kubelet starts, as after a reboot), it is refused: {}",
                refusal(pod).unwrap_or_default()
            )
        }
        (Fate::Keeps, Verdict::RefusedAnew | Verdict::CrashesAnew | Verdict::Unknown) => {
            format!("{runs}, keeps them while its pod is there")
        }
        (Fate::Keeps, _) => std::mem::take(reason),
    };
}

/// Returns how a kubelet that starts refuses a pod.
fn refused(pod: &PlannedPod, outlook: &RestartEffect) -> String {
    let mut running: Vec<&str> =
        outlook.held.iter().filter(|held| held.runs).map(|held| &*held.container).collect();
    running.dedup();
    let stopped = match &running[..] {
        [] => String::new(),
        running => format!("; {} stopped with it", running.join(", ")),
    };
    let why = refusal(pod).unwrap_or_default();
    format!("its pod is refused, phase Failed, {why}{stopped}")
}

/// Returns rows for what containers have that the admission does not get to.
pub(super) fn not_reached(pod: &PlannedPod, wide: bool) -> Vec<Row> {
    let reached = |held: &&HeldDevices| {
        let mut steps = pod.admission.containers.iter();
        steps.any(|step| {
            step.allocation.container == held.container
                && step.allocation.resources.iter().any(|it| it.resource == held.resource)
        })
    };
    let held = pod.outlook.iter().flat_map(|outlook| &outlook.held);
    held.filter(|held| !reached(held))
        .map(|held| Row {
            pod: name(pod),
            container: container_of(&held.container, held.kind),
            resource: held.resource.clone(),
            need: held.devices.len().to_string(),
            devices: ids(&held.devices, wide),
            numa: listed(&held.numa_nodes, ","),
            reason: String::new(),
        })
        .collect()
}

/// Returns rows for devices that are taken to be unhealthy and that no pod of the plan has.
pub(super) fn without_pod(plan: &DevicePlan) -> impl Iterator<Item = Row> {
    let is_planned = |uid: &String| plan.pods.iter().any(|pod| pod.uid == *uid);
    let devices = plan.unhealthy.iter();
    devices.filter(move |device| !device.pods.iter().any(is_planned)).map(|device| {
        let pods: Vec<&String> = device.pods.iter().collect();
        let who = match &pods[..] {
            [] => "no pod holds it".to_owned(),
            pods => format!("recorded for pod {}, which is not known to be active", some(pods)),
        };
        Row {
            resource: device.resource.clone(),
            devices: device.device.clone(),
            numa: listed(&device.numa_nodes, ","),
            ..Row::of("-".to_owned(), who)
        }
    })
}

/// Returns the state of a resource that no plugin offers.
pub(super) fn not_offered(resource: &NotOffered) -> String {
    if resource.in_node_status {
        return "no plugin offers it, and the Node object has it: the kubelet starts the container \
                without a device"
            .to_owned();
    }
    let guess = resource.did_you_mean.as_ref();
    let guess = guess.map_or(String::new(), |it| format!("; did you mean {it}?"));
    format!(
        "no plugin offers it: the scheduler does not place the pod here; if the pod came here, \
         the kubelet would start the container without{guess}"
    )
}

/// Returns the rows of each pod, and of the node.
pub(super) fn after(plan: &DevicePlan) -> Doc {
    let mut doc = Doc::default();
    for change in &plan.changes {
        doc.line(format!(
            "{}: allocatable {} -> {}, the capacity stays",
            change.resource, change.allocatable_before, change.allocatable_after
        ));
    }
    for pod in &plan.pods {
        let Some(outlook) = &pod.outlook else {
            if pod.admission.message.is_some() {
                doc.line(format!("pod {} is refused, phase Failed{}", name(pod), or_else(pod)));
            }
            continue;
        };
        let verdict = match outlook.verdict {
            Verdict::Keeps => continue,
            Verdict::RefusedAnew => "keeps its devices; a new admission would fail",
            Verdict::Survives => "survives",
            Verdict::Forgotten => "survives, and its devices are allocated again",
            Verdict::Refused => "is refused for good, phase Failed",
            Verdict::CrashesAnew => {
                "keeps its devices; it is not admitted again: the kubelet crashes"
            }
            Verdict::Unknown => "keeps its devices; the result of a new admission is unknown",
        };
        doc.line(format!("pod {} {verdict}{}", name(pod), or_else(pod)));
    }
    doc
}

fn or_else(pod: &PlannedPod) -> String {
    let Some(other) = &pod.otherwise else { return String::new() };
    let result = if other.admitted { "survives" } else { "is refused" };
    format!(", or {result}: {}", other.depends_on)
}
