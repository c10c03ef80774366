//! The removal of a pod by the API server: what is asked of it, and what it answers.

use serde::Serialize;
use std::time::Duration;

/// A victim of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// NAMESPACE/NAME.
    pub pod: String,
    pub namespace: String,
    pub name: String,
    /// Its UID: another pod of the same name is another pod.
    pub uid: String,
    /// Its own grace period.
    pub grace_period_seconds: i64,
}

/// The request to the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Removal {
    /// To evict it, which disruption budgets can forbid.
    Eviction,
    /// To delete it, which they cannot.
    Deletion,
}

/// The API server's response to a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvictionResponse {
    Accepted,
    /// There is no such pod.
    NotFound {
        /// What it said.
        reason: String,
    },
    /// It is not that pod, or was changed meanwhile.
    Conflict {
        /// What it said.
        reason: String,
    },
    /// A disruption budget does not allow it now.
    Budget {
        /// What it said.
        message: String,
        /// Which budgets, and why.
        causes: Vec<String>,
        /// When to ask again.
        retry_after: Option<Duration>,
    },
    Refused {
        /// What it said.
        reason: String,
    },
    /// The result is unknown.
    Unclear {
        /// The error instead of a response.
        reason: String,
        /// The request is over; else it may still be under way.
        is_over: bool,
    },
    /// It did not get the request.
    Unsent {
        /// Why not.
        reason: String,
    },
}

impl EvictionResponse {
    /// Returns what a budget said, in one line.
    pub fn of_budget(message: &str, causes: &[String]) -> String {
        match causes {
            [] => message.to_owned(),
            _ => format!("{message} {}", causes.join("; ")),
        }
    }

    /// Returns why it would not be done; `None`: it would, or there is nothing to do.
    pub fn objection(&self) -> Option<String> {
        match self {
            Self::Accepted | Self::NotFound { .. } => None,
            Self::Budget { message, causes, .. } => Some(Self::of_budget(message, causes)),
            Self::Conflict { reason } => Some(format!("it is not the pod of the plan: {reason}")),
            Self::Refused { reason } | Self::Unclear { reason, .. } | Self::Unsent { reason } => {
                Some(reason.clone())
            }
        }
    }
}

/// Whether a pod is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodPresence {
    /// No pod has the name.
    Gone,
    /// Another pod has it.
    Other { uid: String },
    /// It is.
    There {
        /// It was deleted, and is being stopped.
        is_going: bool,
        /// Its phase is final.
        has_ended: bool,
    },
}
