//! The flags that the commands share: the node, the selected probes, and their changed fields.

use crate::exit::Failure;
use crate::node_args::KubeletNodeArgs;
use crate::pod_args::{LabelArgs, NamespaceArgs};
use kq_core::question::pod_selectors::PodSelectors;
use kq_core::question::probes::{ProbeChanges, ProbedPods, Purpose};
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::pod_selector::Selection;
use kq_k8s::pod::ProbeType;
use kq_node::action::probes::{FactSource, PodChoice, ProbeNode};
use std::net::IpAddr;

/// The flags that describe the node and its kubelet.
#[derive(Debug, clap::Args)]
pub struct ProbeNodeArgs {
    #[command(flatten)]
    pub kubelet: KubeletNodeArgs,

    /// The IP of the named pod (default: the IP reported by the kubelet, else by the runtime)
    #[arg(long, value_name = "IP", help_heading = "Data sources")]
    pub pod_ip: Option<IpAddr>,
}

impl FactSource for KubeletNodeArgs {
    fn gather(&self, needs: Needs) -> Result<Node, Failure> {
        Self::gather(self, needs)
    }

    fn describe(&self) -> Result<Node, Failure> {
        self.of_flags()
    }
}

impl ProbeNodeArgs {
    /// Returns the node whose pods are probed.
    pub fn node(&self) -> ProbeNode<'_> {
        ProbeNode {
            facts: &self.kubelet,
            is_snapshot: self.kubelet.sources.snapshot.is_some(),
            timeout: self.kubelet.sources.timeout,
            pod_ip: self.pod_ip,
        }
    }

    /// Gathers the named pod, else all pods with the namespace and the labels.
    pub fn pods(
        &self,
        name: Option<&str>,
        (namespace, labels): (&NamespaceArgs, &LabelArgs),
        purpose: Purpose,
    ) -> Result<ProbedPods, Failure> {
        let labelled = |node: &Node| labelled(node, namespace, labels);
        let all = PodChoice::All { namespace: namespace.name(), labelled: &labelled };
        self.node().pods(name.map_or(all, PodChoice::One), purpose)
    }
}

/// Returns the pods with the labels; `None`: no labels are given.
pub fn labelled(
    node: &Node,
    namespace: &NamespaceArgs,
    labels: &LabelArgs,
) -> Result<Option<Selection>, Failure> {
    if labels.selector.is_none() {
        return Ok(None);
    }
    PodSelectors::default()
        .within(namespace.name(), labels.selector.as_ref())?
        .selection_on(node, [])
        .map(Some)
}

/// The types of probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TypeArg {
    /// The startup probe
    Startup,
    /// The readiness probe
    Readiness,
    /// The liveness probe
    Liveness,
}

impl From<TypeArg> for ProbeType {
    fn from(arg: TypeArg) -> Self {
        match arg {
            TypeArg::Startup => Self::Startup,
            TypeArg::Readiness => Self::Readiness,
            TypeArg::Liveness => Self::Liveness,
        }
    }
}

/// The flags that change fields of a probe.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "What if the probe said")]
pub struct WhatIf {
    /// Override timeoutSeconds, the time limit of one attempt (--timeout is for data sources)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    timeout_seconds: Option<i32>,

    /// Override periodSeconds, the time between two probes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    period_seconds: Option<i32>,

    /// Override initialDelaySeconds, the time without probes after the container's start
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    initial_delay_seconds: Option<i32>,

    /// Override failureThreshold, the number of failures in a row that count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    failure_threshold: Option<i32>,

    /// Override successThreshold, the number of successes in a row that count
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    success_threshold: Option<i32>,
}

impl WhatIf {
    /// Returns the changed fields.
    pub fn changes(&self) -> ProbeChanges {
        ProbeChanges {
            timeout_seconds: self.timeout_seconds,
            period_seconds: self.period_seconds,
            initial_delay_seconds: self.initial_delay_seconds,
            failure_threshold: self.failure_threshold,
            success_threshold: self.success_threshold,
        }
    }
}
