//! What is missing, and how far a pod is from giving it.

use crate::k8s::kubelet_rules::KubeletRules;
use crate::k8s::pod::{Pod, ResourceName};
use crate::k8s::quantity::Quantity;
use crate::k8s::resources::kubelet_request;
use std::fmt;

/// What is missing of a resource: thousandths of a CPU, pods, bytes or whole units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Of what.
    pub resource: ResourceName,
    /// How much.
    pub quantity: i64,
}

/// Requirements in the order of the failures that they come from; printed as the kubelet does in its
/// errors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements(pub Vec<Requirement>);

impl fmt::Display for Requirements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for Requirement { resource, quantity } in &self.0 {
            write!(f, "(res: {resource}, q: {quantity}), ")?;
        }
        f.write_str("]")
    }
}

/// Returns what a pod gives back of a resource when it is killed (`GetResourceRequest`,
/// `pkg/api/v1/resource/helpers.go`): one pod, thousandths of a CPU, else whole units.
pub fn preemption_request(pod: &Pod, resource: &ResourceName, rules: &KubeletRules) -> i64 {
    if resource.as_str() == "pods" {
        return 1;
    }
    rounded(resource, &kubelet_request(pod, resource, rules))
}

/// Returns an amount in the units of requirements.
pub(super) fn rounded(resource: &ResourceName, amount: &Quantity) -> i64 {
    match resource {
        ResourceName::Cpu => amount.milli_value(),
        _ => amount.value(),
    }
}

/// Returns how far amounts are from the requirements, which they stand beside
/// (`admissionRequirementList.distance`): the sum of the squares of the parts that stay missing. 0 is near
/// enough; more than enough is no nearer.
pub fn distance(requirements: &[Requirement], gives: &[i64]) -> f64 {
    shortfall(requirements.iter().map(|it| it.quantity).zip(gives.iter().copied()))
}

/// The same of pairs: what is missing, and what is given of it.
pub(super) fn shortfall(pairs: impl Iterator<Item = (i64, i64)>) -> f64 {
    let mut sum = 0.0;
    for (quantity, gives) in pairs {
        let stays = quantity.wrapping_sub(gives);
        if stays > 0 {
            let part = stays as f64 / quantity as f64;
            sum += part * part;
        }
    }
    sum
}

/// Returns what is still missing of a quantity when amounts are given one after the other
/// (`admissionRequirementList.subtract`); `None` when nothing is. Once it is met, later amounts do not
/// count, not even negative ones.
pub fn subtract(quantity: i64, gives: impl IntoIterator<Item = i64>) -> Option<i64> {
    let mut stays = quantity;
    for gives in gives {
        stays = stays.wrapping_sub(gives);
        if stays <= 0 {
            return None;
        }
    }
    (stays > 0).then_some(stays)
}

/// Returns true if of two pods that are equally near the first asks for no more than the second
/// (`smallerResourceRequest`): of memory, then of CPU. Given as memory and CPU of each.
pub fn requests_no_more(first: (i64, i64), second: (i64, i64)) -> bool {
    first <= second
}
