//! The parts of a pod's total, for its derivation.

use crate::derivation::Step;
use kq_k8s::pod::{Container, Pod, ResourceName};
use kq_k8s::quantity::Quantity;
use kq_k8s::resources::{
    PodTotal, ResourceOptions, Seen, Side, is_pod_level_set, is_supported_at_pod_level,
};
use std::fmt;

/// The parts of a pod's total.
#[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Total {
    /// `requests` or `limits`
    pub side: &'static str,
    pub resource: ResourceName,
    /// What runs at the same time: regular containers, then sidecars.
    pub containers: Vec<Part>,
    /// The init container that, with the sidecars before it, needs more than all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init_peak: Option<Box<InitPeak>>,
    /// `spec.resources`, which replaces the sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_level: Option<Quantity>,
    /// `spec.overhead`, which is added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Quantity>,
    /// The result.
    pub total: Quantity,
}

/// What one container adds to a total.
#[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Part {
    pub container: String,
    pub amount: Quantity,
}

/// What an init container needs while it runs.
#[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct InitPeak {
    pub container: String,
    /// Its own amount.
    pub amount: Quantity,
    /// What the sidecars need that were started before it.
    #[serde(skip_serializing_if = "Quantity::is_zero")]
    pub sidecars: Quantity,
}

impl fmt::Display for InitPeak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.container, self.amount)?;
        if !self.sidecars.is_zero() {
            write!(f, " + sidecars {}", self.sidecars)?;
        }
        f.write_str(" (init, the peak)")
    }
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { side, resource, containers, init_peak, pod_level, overhead, total } = self;
        write!(f, "{side}.{resource} ")?;
        let mut plain = overhead.is_none();
        if let Some(amount) = pod_level {
            write!(f, "of the pod {amount}")?;
        } else if let Some(peak) = init_peak {
            write!(f, "{peak}")?;
            plain = false;
        } else {
            plain &= containers.len() == 1;
            if plain {
                return write!(f, "{total}");
            }
            for (index, part) in containers.iter().enumerate() {
                let plus = if index == 0 { "" } else { " + " };
                write!(f, "{plus}{} {}", part.container, part.amount)?;
            }
        }
        if let Some(amount) = overhead {
            let first = containers.is_empty() && pod_level.is_none() && init_peak.is_none();
            let plus = if first { "" } else { " + " };
            write!(f, "{plus}overhead {amount}")?;
        }
        if plain { Ok(()) } else { write!(f, " = {total}") }
    }
}

/// Returns the parts of a pod's total of one resource.
pub fn explain_total(
    pod: &Pod,
    side: Side,
    name: &ResourceName,
    sum: &PodTotal<'_>,
    options: &ResourceOptions,
) -> Step {
    let own = |container: &Container| side.of(&container.resources).get(name).cloned();
    // What runs at the same time, and the largest moment before that.
    let (mut at_once, mut largest) = (Quantity::default(), Quantity::default());
    let mut sidecars = Quantity::default();
    let mut containers = Vec::new();
    let mut peak = None;
    // Sums are needed for comparison with an init container alone.
    let is_init = |seen: &Seen<'_>| seen.init && !seen.container.restarts_always();
    let has_init = sum.seen.iter().any(is_init);
    for seen in &sum.seen {
        let container = seen.container.name.clone();
        let amount = own(seen.container);
        if is_init(seen) {
            if let Some(moment) = sum.amount(seen, name).filter(|m| m.compare(&largest).is_gt()) {
                largest = moment;
                let (amount, sidecars) = (amount.unwrap_or_default(), sidecars.clone());
                peak = Some(Box::new(InitPeak { container, amount, sidecars }));
            }
        } else if let Some(amount) = amount {
            if has_init {
                at_once += &amount;
            }
            if has_init && seen.init {
                sidecars += &amount;
            }
            containers.push(Part { container, amount });
        }
    }
    let peak = peak.filter(|_| largest.compare(&at_once).is_gt());
    let pod_level = pod.spec.resources.as_ref().filter(|resources| {
        !options.skip_pod_level_resources
            && is_supported_at_pod_level(name, options.skip_pod_level_hugepages)
            && is_pod_level_set(resources, side == Side::Requests, options.skip_pod_level_hugepages)
    });
    let counts = |amount: &Quantity| side == Side::Requests || !amount.is_zero();
    let total = sum.total.get(name).cloned().unwrap_or_default();
    Step::Total(Box::new(Total {
        side: side.as_str(),
        resource: name.clone(),
        containers,
        init_peak: peak,
        pod_level: pod_level.and_then(|resources| side.of(resources).get(name).cloned()),
        overhead: pod
            .spec
            .overhead
            .as_ref()
            .filter(|_| counts(&total) && !options.exclude_overhead)
            .and_then(|overhead| overhead.get(name).cloned()),
        total,
    }))
}
