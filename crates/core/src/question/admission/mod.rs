//! Admission and preemption: a new pod, a node, and its other pods.

mod answers;
mod existing_pods;
mod order;
mod placement;
mod plan;
mod removals;
mod restarted_containers;
mod settled;
mod start_ends;
mod start_pressure;
mod sysctls;

pub use answers::{KubeletStart, admit, preempt};
pub use order::{random_order, sort};
pub use placement::{CpuSets, Placement, gets_exclusive_cpus};
pub use plan::{Detail, Planned, plan};
pub use removals::{PreemptionPlan, plan_removals};
pub use restarted_containers::{ACTUATED, RestartedContainers, lasting_containers, moves_cgroups};
pub use settled::{Settled, settled};
pub use start_ends::{StartEnd, StartEnds, by_name, readmit_all};
pub use start_pressure::start_pressure;

use super::devices::admission::DeviceQuestion;
use super::what_if::restarted;
use anyhow::anyhow;
use kq_admission::{CheckName, CheckReason, EarlierCheck, NodePod, PressureException, Refusal};
use kq_answer::{Basis, Failure, Missing, MissingFact, Warning, WarningCode};
use kq_eviction::{Admission, admit_under_pressure};
use kq_facts::kubelet_config::PressureCondition;
use kq_facts::node::Node;
use kq_facts::node_object::NodeObject;
use kq_k8s::kubelet_rules::RuleArea;
use kq_k8s::pod::{Pod, ResourceName};
use kq_k8s::quantity::{Format, Quantity};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What supplies a whole Node object.
const HINT: &str = "kubectl get node NAME -o json > node.json; --node-file node.json";

/// The node of the question.
pub struct AdmissionNode {
    pub node: Arc<Node>,
    /// The pods that do not count.
    pub(super) without: Vec<String>,
    /// The flags with the sources of devices; `None`: the question has none.
    device_flags: Option<&'static str>,
    /// The basis of the answer.
    pub basis: Basis,
    /// What its managers have given away since; `None`: what their state files say.
    given: Option<Placement>,
    /// The node until its kubelet starts; `None`: the same.
    before: Option<Arc<Node>>,
}

impl AdmissionNode {
    /// Wraps a described node, with all of its pods.
    pub fn with_all_pods(node: impl Into<Arc<Node>>) -> Self {
        Self::with_flags(node, Vec::new(), None)
    }

    /// Wraps a gathered node. `without`: pods that do not count; `device_flags`: the flags with the sources of devices.
    pub fn with_flags(
        node: impl Into<Arc<Node>>,
        without: Vec<String>,
        device_flags: Option<&'static str>,
    ) -> Self {
        let node = node.into();
        let mut basis = Basis::default();
        basis.warn_all(node.pod_notes.iter().cloned());
        basis.assume_all(node.assumed());
        basis.assume_all(node.kubelet.version.certainty(RuleArea::Admission));
        basis.assume_all(node.assumed_allocations());
        let known: Vec<Warning> = node.fatal_config().map(Warning::from).collect();
        basis.warn_all(node.notes.iter().filter(|note| !known.contains(note)).cloned());
        basis.lack_all(node.fatal_config());
        Self { node, without, device_flags, basis, given: None, before: None }
    }

    /// Returns the node with the configuration that its kubelet reads at its next start; `None`: it is the one that it runs
    /// with, or is not known.
    pub fn at_next_start(&self) -> Option<Self> {
        let node = restarted(&self.node)?;
        let next = Self::with_flags(node, self.without.clone(), self.device_flags);
        let mut next = next.start_after(self.node.clone());
        next.basis.assume(
            "the kubelet starts with the configuration on its disk, which is not the one that it runs with"
                .to_owned(),
        );
        Some(next)
    }

    /// Warns where other amounts than those of the Node object follow from the configuration that was given: the kubelet
    /// admits by those that it reports.
    pub fn compare_amounts(&mut self) {
        let (Ok(settings), Some(object)) = (self.node.settings(), self.node.snapshot.node.value())
        else {
            return;
        };
        if self.node.overrides.config_file.is_none() && !settings.asks_for_amounts {
            return;
        }
        let pods = (
            ResourceName::from("pods"),
            Quantity::from_units(settings.most_pods(), Format::DecimalSi),
        );
        let counts = |name: &ResourceName| {
            matches!(name, ResourceName::Cpu | ResourceName::Memory)
                || name.hugepage_size().is_some()
        };
        let computed = settings.allocatable.status.iter().filter(|(name, _)| counts(name));
        let differing: Vec<String> = computed
            .chain([(&pods.0, &pods.1)])
            .filter_map(|(name, computed)| {
                let reported = object.status.allocatable.get(name)?;
                let differs = reported.compare(computed).is_ne();
                differs.then(|| format!("{reported} of {name}, and not {computed}"))
            })
            .collect();
        if !differing.is_empty() {
            let text = format!(
                "the Node object counts, not the amounts that follow from the flags: {}; kq what-if set \
                 FIELD=VALUE add FILE asks about a node with other reservations",
                differing.join("; ")
            );
            self.basis.warn(Warning::new(WarningCode::AllocatableDiffers, text));
        }
    }

    /// Sets the pods that do not count.
    pub fn leave_out(&mut self, pods: Vec<String>) {
        self.without = pods;
    }

    /// Wraps a node that was gathered elsewhere, with all of its pods, and without its own files.
    pub fn of(node: Node, mut basis: Basis) -> Self {
        basis.assume_all(node.assumed_allocations());
        Self {
            node: node.into(),
            without: Vec::new(),
            device_flags: None,
            basis,
            given: None,
            before: None,
        }
    }

    /// Sets the node until its kubelet starts.
    pub fn start_after(mut self, before: Arc<Node>) -> Self {
        self.before = Some(before);
        self
    }

    /// Returns the node until its kubelet starts.
    fn before(&self) -> &Node {
        self.before.as_ref().unwrap_or(&self.node)
    }

    /// Goes on with what the managers have given away; `None`: with what their state files say.
    pub fn go_on(&mut self, given: Option<Placement>) {
        self.given = given;
    }

    /// Returns the managers as they are once the pods that are left out have gone.
    ///
    /// # Errors
    ///
    /// Fails where the pods are unknown.
    pub fn managers(&self) -> Result<Placement, Failure> {
        let others = self.others(None, &mut Basis::default())?.pods;
        Ok(self.placement(Some(&others)))
    }

    /// Returns the CPUs of the containers that run; `None`: no static CPU manager sets any, or it is not known which.
    pub fn cpu_sets(&self) -> Option<CpuSets> {
        self.placement(None).cpu_sets()
    }

    /// Returns the question for the device manager, with these pods.
    pub fn device_question<'q>(
        &'q self,
        others: &'q [NodePod<'q>],
    ) -> Result<DeviceQuestion<'q>, Failure> {
        Ok(DeviceQuestion {
            node: &self.node,
            object: self.object()?,
            others,
            flags: self.device_flags,
        })
    }

    /// Returns the Node object, which must have a name and allocatable resources.
    pub fn object(&self) -> Result<&NodeObject, Failure> {
        let lookup = &self.node.snapshot.node;
        let Some(found) = &lookup.found else {
            let reason = match lookup.was_not_queried() {
                true => "no kubeconfig was named or found".to_owned(),
                false => lookup.reason(),
            };
            let error = anyhow!("the Node object is unknown: {reason}");
            return Err(Failure::missing(error).hint(HINT));
        };
        let (source, status) = (&found.source, &found.value.status);
        if found.value.metadata.name.is_empty() {
            let error =
                anyhow!("{source}: metadata.name is not set, so the pods of the node are unknown");
            return Err(Failure::missing(error).hint(HINT));
        }
        self.node.check_system()?;
        if status.allocatable.is_empty() {
            let error = anyhow!(
                "{source}: status.allocatable is empty, so the amounts for pods are unknown"
            );
            return Err(Failure::missing(error).hint(HINT));
        }
        for (field, list) in [("capacity", &status.capacity), ("allocatable", &status.allocatable)]
        {
            if let Some((name, amount)) = list.iter().find(|(_, amount)| amount.sign() < 0) {
                return Err(Failure::missing(anyhow!(
                    "{source}: status.{field}.{name} is {amount}: no kubelet reports less than 0, so the amount is unknown"
                ))
                .hint(HINT));
            }
        }
        if !status.allocatable.contains(&ResourceName::from("pods")) {
            let error = anyhow!("{source}: status.allocatable.pods is not set");
            return Err(Failure::missing(error).hint(HINT));
        }
        Ok(&found.value)
    }

    /// Returns the kubelet's first check: pressure on the node.
    pub fn pressure(&self, pod: &Pod, basis: &mut Basis) -> Result<EarlierCheck, Failure> {
        let status = &self.object()?.status;
        let (short, unknown) = status.pressure();
        let names = |conditions: &[PressureCondition]| {
            conditions.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", ")
        };
        let mut missing = Vec::new();
        if !unknown.is_empty() {
            match start_pressure::undetermined(status) {
                Some(undetermined) if !start_pressure::are_measured(&self.node)? => {
                    missing.push(undetermined);
                }
                Some(_) => {}
                None => {
                    basis.assume(format!("no {}: not in the Node object", names(&unknown)));
                }
            }
        }
        missing.extend(start_pressure::unreported(self, pod, &short));
        let admission = admit_under_pressure(&short, pod, &self.node.kubelet.rules);
        let exception = match &admission {
            Admission::NoPressure | Admission::Refused(_) => None,
            Admission::Critical => Some(PressureException::Critical),
            Admission::RequestsMemory(class) => Some(PressureException::RequestsMemory {
                qos_class: class.map_or(&*pod.status.qos_class, |class| class.as_str()).to_owned(),
            }),
            Admission::ToleratesMemoryPressure => Some(PressureException::ToleratesTaint),
        };
        let conditions = || short.iter().map(|it| it.as_str().to_owned()).collect();
        let check = EarlierCheck {
            check: CheckName::Pressure,
            because: match (&admission, missing.first()) {
                (Admission::NoPressure, Some(missing)) => {
                    CheckReason::PressureUnknown { error: missing.text.clone() }
                }
                (Admission::NoPressure, None) => CheckReason::NoPressure,
                _ => CheckReason::Pressure { conditions: conditions(), exception },
            },
            refusals: admission
                .messages()
                .into_iter()
                .map(|message| Refusal::new(CheckName::Pressure, admission.reason(), message))
                .collect(),
        };
        basis.lack_all(missing);
        Ok(check)
    }

    /// Adds the assumptions of every answer about these pods.
    ///
    /// # Errors
    ///
    /// Fails where they request CPU or memory of which the Node object does not have an amount.
    pub fn assume<'p>(
        &self,
        pods: impl Iterator<Item = &'p Pod>,
        basis: &mut Basis,
    ) -> Result<(), Failure> {
        basis.assume(
            "not checked, taken as passed: AppArmor, declared features and node shutdown"
                .to_owned(),
        );
        basis.assume("the kubelet sees the same node and pods as kq".to_owned());
        let containers = |pod: &'p Pod| pod.spec.containers_and_init();
        let names: BTreeSet<&ResourceName> = pods
            .flat_map(containers)
            .flat_map(|it| it.resources.requests.iter())
            .map(|(name, _)| name)
            .collect();
        let Some(found) = &self.node.snapshot.node.found else { return Ok(()) };
        let allocatable = &found.value.status.allocatable;
        let lacks = |name: &ResourceName| names.contains(name) && !allocatable.contains(name);
        // Every kubelet reports them. The predicates count what is not there as 0, and would refuse each of the pods.
        if let Some(name) = ["cpu", "memory"].map(ResourceName::from).into_iter().find(lacks) {
            let source = &found.source;
            let error = anyhow!("{source}: status.allocatable.{name} is not set");
            return Err(Failure::missing(error).hint(HINT));
        }
        let name = ResourceName::from("ephemeral-storage");
        if lacks(&name) {
            let text = format!("status.allocatable.{name} of the Node object, which counts as 0");
            let missing = Missing::new(MissingFact::Allocatable, text);
            basis.lack(missing.with_flags(["--node-file"]).about(name.as_str()));
        }
        Ok(())
    }
}
