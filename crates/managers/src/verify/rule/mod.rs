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
#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(super) enum StateFileRule<'a> {
    /// A file that the kubelet takes has no checksum.
    #[text("is 0 or not there")]
    #[why("the kubelet takes the file unchecked; it never writes such a file itself")]
    #[advice(ASK_WRITER)]
    NoChecksum,
    /// It has something of a pod that is gone or ended.
    #[text("{why}")]
    #[why(
        file: StateFile::Devices =>
        "normal: its devices are freed when the next pod requests devices"
    )]
    #[why(
        file: StateFile::Cpu | StateFile::Memory =>
        "normal for some seconds: a kubelet that runs takes it out soon"
    )]
    #[why(file: StateFile::Dra => "normal until the claim is unprepared")]
    #[why("normal: it stays until the file is written for another reason")]
    #[advice("nothing")]
    Stale {
        file: StateFile,
        /// The UID.
        pod: &'a str,
        /// How it is known that the pod is gone.
        why: StandingReason,
    },
    /// The resources that were granted are not those in effect.
    #[text("is not what actuated_pods_state has")]
    #[why("normal while a pod is resized: granted, and not in effect yet")]
    #[advice("nothing")]
    Resize,
    /// The file of granted resources has the layout of Kubernetes 1.32.
    #[text("is what Kubernetes 1.32 wrote")]
    #[why("the kubelet reads it as a file without pods, and forgets which resources it granted")]
    #[advice("ask who put the file there")]
    OldLayout,
    /// A request is larger than the limit.
    #[text("{request} is more than the limit {limit}")]
    #[why("the API server refuses such a pod, so that the kubelet cannot have had it")]
    #[advice(ASK_WRITER)]
    RequestAboveLimit { request: &'a Quantity, limit: &'a Quantity },
    /// A device of a claim has no CDI name.
    #[text("{name} is not the name of a CDI device (vendor.com/class=name)")]
    #[why("the runtime refuses a container with it")]
    #[advice("check the driver")]
    CdiName {
        driver: &'a str,
        /// The name in the file.
        name: &'a str,
    },
    /// A claim is in the file several times.
    #[text("stands {count} times in the file")]
    #[why("the kubelet keeps one of them only: the last")]
    #[advice(ASK_WRITER)]
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
}

/// Makes a finding a thing that may follow from damage: the bytes that say so are not what the kubelet wrote.
pub(super) fn doubt(finding: &mut Finding) {
    finding.severity = Severity::Info;
    finding.why = Some("may follow from the damage".to_owned());
    finding.advice = Some("nothing: the content of the file is not certain".to_owned());
}
