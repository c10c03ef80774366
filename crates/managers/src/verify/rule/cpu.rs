//! The rules for `cpu_manager_state`.

use super::{ASK_WRITER, DELETE};
use kq_answer::{Rule, Sentences, Severity, Wording};
use kq_k8s::cpuset::CpuSet;
use kq_k8s::go_text::quote;
use serde::Serialize;

/// A contradiction under a policy; with another policy than the static one the CPUs of the file do not matter.
#[derive(Clone, Debug, Serialize)]
pub(in super::super) struct CpuRule<'a> {
    /// `cpuManagerPolicy`, or that of the file.
    pub policy: &'a str,
    #[serde(flatten)]
    pub contradiction: CpuContradiction<'a>,
}

#[derive(Clone, Debug, Serialize, Wording)]
#[serde(tag = "id", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(in super::super) enum CpuContradiction<'a> {
    /// Containers have CPUs, and no CPU is shared.
    #[text("is empty, and containers have CPUs of their own")]
    EmptyDefault,
    /// A container has CPUs that are shared as well.
    #[text("{cpus}: {shared} is in defaultCpuSet {default_cpu_set} as well")]
    SharedCpus {
        /// The UID of its pod.
        pod: &'a str,
        container: &'a str,
        /// The CPUs of the container.
        cpus: &'a CpuSet,
        /// Those of them that are in `default_cpu_set`.
        shared: CpuSet,
        default_cpu_set: &'a CpuSet,
    },
    /// An entry has no CPUs.
    #[text("has no CPUs")]
    #[why("the kubelet makes an entry for containers with CPUs of their own only")]
    #[advice(ASK_WRITER)]
    NoCpus,
    /// Several pods have the same CPUs.
    #[text("{cpus} belong to {count} pods: {pods}", count = pods.len(), pods = pods.join(", "))]
    DoubleCpus {
        cpus: CpuSet,
        /// The UIDs.
        pods: Vec<&'a str>,
    },
    /// The machine has other CPUs.
    #[text("the file has {in_file}, the machine {of_machine}")]
    OtherCpus { in_file: CpuSet, of_machine: &'a CpuSet },
}

impl CpuRule<'_> {
    fn is_static(&self) -> bool {
        self.policy == "static"
    }

    /// Returns the error with which the kubelet does not start; `None`: it starts.
    pub fn kubelet_error(&self) -> Option<String> {
        if !self.is_static() {
            return None;
        }
        match &self.contradiction {
            CpuContradiction::EmptyDefault => Some("default cpuset cannot be empty".to_owned()),
            CpuContradiction::SharedCpus { pod, container, cpus, default_cpu_set, .. } => {
                Some(format!(
                    "pod: {pod}, container: {container} cpuset: {} overlaps with default cpuset {}",
                    quote(&cpus.to_string()),
                    quote(&default_cpu_set.to_string())
                ))
            }
            CpuContradiction::OtherCpus { in_file, of_machine } => Some(format!(
                "current set of available CPUs {} doesn't match with CPUs in state {}",
                quote(&of_machine.to_string()),
                quote(&in_file.to_string())
            )),
            CpuContradiction::NoCpus | CpuContradiction::DoubleCpus { .. } => None,
        }
    }
}

impl Rule for CpuRule<'_> {
    fn severity(&self) -> Severity {
        match self.contradiction {
            CpuContradiction::NoCpus => Severity::Warning,
            _ if self.is_static() => Severity::Error,
            _ => Severity::Warning,
        }
    }
}

impl Sentences for CpuRule<'_> {
    fn sentences(&self) -> Wording {
        let sentences = self.contradiction.sentences();
        if sentences.why.is_some() {
            return sentences;
        }
        let why = match self.kubelet_error() {
            Some(error) => format!("the static policy does not start: {error}"),
            None if self.is_static() => "CPUs that should be exclusive are not".to_owned(),
            None => "this policy does not use these CPUs".to_owned(),
        };
        sentences.because(why).advise(DELETE)
    }
}
