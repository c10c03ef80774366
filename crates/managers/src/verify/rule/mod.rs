//! The rules for state files, and their sentences.
//!
//! * `devices`, `cpu`, `memory`: contradictions in the file of each manager;
//! * here: the other files, and what is common.

mod cpu;
mod devices;
mod memory;

pub(super) use cpu::{CpuContradiction, CpuRule};
pub(super) use devices::{DeviceRule, Holders};
pub(super) use memory::MemoryRule;

use kq_answer::{Finding, Rule, Severity, Wording};
use kq_facts::checkpoint::StateFile;
use kq_facts::node_pods::StandingReason;
use kq_k8s::quantity::Quantity;
use serde::Serialize;

/// What to do with a file of state that the kubelet rejects.
pub(super) const DELETE: &str =
    "drain the node, stop the kubelet, move the file away, start the kubelet";

const ASK_WRITER: &str = "ask who wrote the file";

/// What can be found in any file, in those of pods and of claims, and between them.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum StateFileRule<'a> {
    /// A file that the kubelet takes has no checksum.
    NoChecksum,
    /// It has something of a pod that is gone or ended.
    Stale {
        file: StateFile,
        /// The UID.
        pod: &'a str,
        /// How it is known that the pod is gone.
        why: StandingReason,
    },
    /// The resources that were granted are not those in effect.
    Resize,
    /// The file of granted resources has the layout of Kubernetes 1.32.
    OldLayout,
    /// A request is larger than the limit.
    RequestAboveLimit { request: &'a Quantity, limit: &'a Quantity },
    /// A device of a claim has no CDI name.
    CdiName {
        driver: &'a str,
        /// The name in the file.
        name: &'a str,
    },
    /// A claim is in the file several times.
    DuplicateClaim {
        /// How many times.
        count: usize,
    },
}

impl Rule for StateFileRule<'_> {
    fn severity(&self) -> Severity {
        match self {
            Self::DuplicateClaim { .. } => Severity::Error,
            Self::NoChecksum
            | Self::OldLayout
            | Self::RequestAboveLimit { .. }
            | Self::CdiName { .. } => Severity::Warning,
            Self::Stale { .. } | Self::Resize => Severity::Info,
        }
    }

    fn wording(&self) -> Wording {
        match self {
            Self::NoChecksum => Wording::new("is 0 or not there")
                .because("the kubelet takes the file unchecked; it never writes such a file itself")
                .advise(ASK_WRITER),
            Self::Stale { file, why, .. } => Wording::new(why.to_string())
                .because(match file {
                    StateFile::Devices => {
                        "normal: its devices are freed when the next pod requests devices"
                    }
                    StateFile::Cpu | StateFile::Memory => {
                        "normal for some seconds: a kubelet that runs takes it out soon"
                    }
                    StateFile::Dra => "normal until the claim is unprepared",
                    StateFile::AllocatedPods | StateFile::ActuatedPods | StateFile::PodStatus => {
                        "normal: it stays until the file is written for another reason"
                    }
                })
                .advise("nothing"),
            Self::Resize => Wording::new("is not what actuated_pods_state has")
                .because("normal while a pod is resized: granted, and not in effect yet")
                .advise("nothing"),
            Self::OldLayout => Wording::new("is what Kubernetes 1.32 wrote")
                .because(
                    "the kubelet reads it as a file without pods, and forgets which resources it granted",
                )
                .advise("ask who put the file there"),
            Self::RequestAboveLimit { request, limit } => {
                Wording::new(format!("{request} is more than the limit {limit}"))
                    .because(
                        "the API server refuses such a pod, so that the kubelet cannot have had it",
                    )
                    .advise(ASK_WRITER)
            }
            Self::CdiName { name, .. } => {
                Wording::new(format!("{name} is not the name of a CDI device (vendor.com/class=name)"))
                    .because("the runtime refuses a container with it")
                    .advise("check the driver")
            }
            Self::DuplicateClaim { count } => {
                Wording::new(format!("stands {count} times in the file"))
                    .because("the kubelet keeps one of them only: the last")
                    .advise(ASK_WRITER)
            }
        }
    }
}

/// Makes a finding a thing that may follow from damage: the bytes that say so are not what the kubelet wrote.
pub(super) fn doubt(finding: &mut Finding) {
    finding.severity = Severity::Info;
    finding.why = Some("may follow from the damage".to_owned());
    finding.advice = Some("nothing: the content of the file is not certain".to_owned());
}
