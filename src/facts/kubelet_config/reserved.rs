//! The lists of reserved resources, which the configuration holds as text.
//!
//! Rules and texts: `parseResourceList` in `cmd/kubelet/app/server.go`, `ParseQOSReserved` in
//! `pkg/kubelet/cm/container_manager.go`. The kubelet looks at a list in random order, kq in the order
//! of the names.

use crate::k8s::go_text::quote;
use crate::k8s::pod::{ResourceList, ResourceName};
use crate::k8s::quantity::{ParseQuantityError, Quantity};
use std::collections::BTreeMap;

/// Why a list of reserved resources is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("--{flag} value failed to parse: {problem}")]
pub struct ReservedError {
    /// The flag that the kubelet names: `kube-reserved` or `system-reserved`.
    pub flag: String,
    /// What is wrong.
    pub problem: ReservedProblem,
}

/// What is wrong with a list of reserved resources.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReservedProblem {
    /// A resource that cannot be reserved.
    #[error("cannot reserve {} resource", quote(.0))]
    Resource(String),
    /// An amount that is no quantity.
    #[error("failed to parse quantity {} for {} resource: {error}", quote(text), quote(name))]
    Quantity {
        /// The resource.
        name: String,
        /// The amount.
        text: String,
        /// Why it is none.
        error: ParseQuantityError,
    },
    /// An amount below zero.
    #[error("resource quantity for {} cannot be negative: {text}", quote(name))]
    Negative {
        /// The resource.
        name: String,
        /// The amount.
        text: String,
    },
}

/// Reads `kubeReserved` or `systemReserved`; an empty list counts as absent.
///
/// `flag` is `kube-reserved` or `system-reserved`, for the error.
pub fn parse_reserved_list(
    flag: &str,
    list: &BTreeMap<String, String>,
) -> Result<ResourceList, ReservedError> {
    let refuse = |problem| ReservedError { flag: flag.to_owned(), problem };
    let mut parsed = ResourceList::default();
    for (name, text) in list {
        let (name, text) = (name.clone(), text.clone());
        if !matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage" | "pid") {
            return Err(refuse(ReservedProblem::Resource(name)));
        }
        match text.parse::<Quantity>() {
            Err(error) => return Err(refuse(ReservedProblem::Quantity { name, text, error })),
            Ok(amount) if amount.sign() < 0 => {
                return Err(refuse(ReservedProblem::Negative { name, text }));
            }
            Ok(amount) => parsed.insert(ResourceName::from(name.as_str()), amount),
        }
    }
    Ok(parsed)
}

/// Why `qosReserved` is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QosReservedError {
    /// A resource other than memory.
    #[error("cannot reserve {} resource", quote(.0))]
    Resource(String),
    /// Not a percentage.
    #[error("failed to parse percentage {} for \"memory\" resource: percentage expected, got '{}'", quote(.0), .0)]
    NoPercent(String),
    /// Not a number.
    #[error("failed to parse percentage {} for \"memory\" resource: invalid number in percentage '{}'", quote(.0), .0)]
    Number(String),
    /// Not from 0 to 100.
    #[error("failed to parse percentage {} for \"memory\" resource: percentage must be between 0 and 100", quote(.0))]
    Range(String),
}

impl QosReservedError {
    /// Returns the text with which the kubelet refuses to start.
    pub fn startup_text(&self) -> String {
        format!("--qos-reserved value failed to parse: {self}")
    }
}

/// Reads `qosReserved`: the percentage of memory, if there is one.
pub fn parse_qos_reserved(list: &BTreeMap<String, String>) -> Result<Option<u8>, QosReservedError> {
    let mut percentage = None;
    for (name, text) in list {
        if name != "memory" {
            return Err(QosReservedError::Resource(name.clone()));
        }
        if !text.ends_with('%') {
            return Err(QosReservedError::NoPercent(text.clone()));
        }
        let number: i64 = text
            .trim_end_matches('%')
            .parse()
            .map_err(|_| QosReservedError::Number(text.clone()))?;
        let in_range = u8::try_from(number).ok().filter(|number| *number <= 100);
        percentage = Some(in_range.ok_or_else(|| QosReservedError::Range(text.clone()))?);
    }
    Ok(percentage)
}
