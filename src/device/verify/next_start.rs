//! The effect of a file on the next start of the kubelet.

use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "code", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum NextStart {
    /// It takes the file.
    Takes,
    /// It does not start.
    DoesNotStart,
    /// It panics.
    Panics,
    /// It panics, because the table of an amount of memory is null.
    PanicsAtNull {
        /// `memory`, or a size of huge pages.
        memory_type: String,
        /// The NUMA node.
        node: i64,
    },
    /// There is no file, and it writes one later.
    StartsWithNothing,
    /// There is no device checkpoint.
    StartsWithoutDevices,
    /// It starts as if there were no device checkpoint.
    ForgetsDevices,
    /// It starts if the runtime still has the containers of the file.
    DependsOnContainers,
    /// It does not read the file, which is of Kubernetes 1.32.
    Ignores,
    /// Unknown.
    Unknown,
}

impl fmt::Display for NextStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Takes => "takes it",
            Self::DoesNotStart => "does not start",
            Self::Panics => "does not start: it panics",
            Self::PanicsAtNull { memory_type, node } => {
                return write!(
                    f,
                    "does not start: it panics, because {memory_type} of NUMA node {node} is null"
                );
            }
            Self::StartsWithNothing => {
                "starts with nothing, and writes it when there is something to remember"
            }
            Self::StartsWithoutDevices => "starts with nothing",
            Self::ForgetsDevices => {
                "logs that device allocation info may not be up to date, and starts with no \
                 allocations; the next write replaces the file"
            }
            Self::DependsOnContainers => {
                "depends on whether the runtime still has the containers of this file of layout v1"
            }
            Self::Ignores => "does not read it: only a kubelet 1.32 does",
            Self::Unknown => "is not known",
        })
    }
}
