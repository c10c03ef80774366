//! The plan as a value: what `-o json` and `-o yaml` print. Its shape is a contract, described in
//! `docs/json.md`.

use crate::container::{RuntimeResources, sandbox_resources};
use crate::derivation::{self, Step};
use crate::files::CgroupVersion;
use crate::plan::{
    Owner, Plan, PlannedCgroup, RuntimeFormula, SystemdUnit, controller, qualified_name,
};
use crate::pod::has_pinned_pod;
use kq_answer::cgroup_fact::CgroupFact;
use kq_answer::origin::Origin;
use kq_answer::{Assumption, Basis, Warning, WarningCode, Worded, answer};
use kq_facts::node_config::NodeConfig;
use kq_k8s::kubelet_rules::RuleArea;
use kq_k8s::manifest::LoadedPod;
use kq_k8s::pod::Pod;
use kq_k8s::qos::QosClass;
use serde::ser::{Serialize, SerializeSeq, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A plan with everything that it rests on.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CgroupPlan<'a, 'p> {
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
    /// Files whose text depends on a fact that is not known.
    pub unknown: Vec<UnknownFile<'p>>,
    /// One for each value.
    pub items: Items<'a, 'p>,
    /// The properties requested from systemd, one for each cgroup that the kubelet creates through it.
    pub units: Vec<Unit<'a>>,
    /// The kubelet's request to the runtime for each pod's sandbox as a whole.
    pub sandboxes: Vec<Sandbox<'p>>,
}

answer!("CgroupPlan", CgroupPlan<'_, '_>);

/// A unit of systemd.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct Unit<'a> {
    /// The cgroup's path.
    pub cgroup: &'a str,
    /// The unit and its properties.
    #[serde(flatten)]
    pub unit: &'a SystemdUnit,
}

/// The kubelet's request for a sandbox; runtimes that start a virtual machine size it by this.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct Sandbox<'p> {
    /// The pod's namespace.
    pub namespace: &'p str,
    pub pod: Cow<'p, str>,
    /// The pod's totals without overhead.
    pub resources: SandboxResources,
    pub overhead: SandboxResources,
}

/// `LinuxContainerResources` of the CRI; 0 is "not set".
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of the CRI")]
pub struct SandboxResources {
    pub cpu_shares: i64,
    pub cpu_quota: i64,
    pub cpu_period: i64,
    pub memory_limit_in_bytes: i64,
}

impl From<RuntimeResources> for SandboxResources {
    fn from(resources: RuntimeResources) -> Self {
        Self {
            cpu_shares: resources.cpu_shares.value,
            cpu_quota: resources.cpu_quota_us.value,
            cpu_period: resources.cpu_period_us,
            memory_limit_in_bytes: resources.memory_limit.value,
        }
    }
}

/// A file whose text is not known.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct UnknownFile<'p> {
    /// The owner of the file.
    #[serde(flatten)]
    pub place: Place<'p>,
    pub file: Cow<'static, str>,
    /// Why it is not known.
    pub reason: String,
    /// The flag that supplies what is missing.
    pub flag: &'static str,
}

/// How far down the tree a cgroup is, and what for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum PlaceLevel {
    /// All pods, or what is reserved for the system.
    Node,
    /// The pods of a QoS class.
    Qos,
    Pod,
    Container,
    /// The sandbox of a pod.
    Sandbox,
    /// Made by a program in a container.
    Inside,
    /// Nothing that a kubelet or a runtime makes for a pod.
    Other,
}

impl fmt::Display for PlaceLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Node => "node",
            Self::Qos => "qos",
            Self::Pod => "pod",
            Self::Container => "container",
            Self::Sandbox => "sandbox",
            Self::Inside => "inside",
            Self::Other => "other",
        })
    }
}

/// The cgroup that a value belongs to.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Place<'p> {
    pub level: PlaceLevel,
    /// The pod's namespace.
    pub namespace: Option<&'p str>,
    pub pod: Option<Cow<'p, str>>,
    pub container: Option<&'p str>,
    /// The class, from the QoS level down.
    pub qos_class: Option<QosClass>,
    /// The path below the root of the hierarchy.
    pub cgroup: String,
}

/// One value.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct Item<'a, 'p> {
    /// Where it is written.
    #[serde(flatten)]
    pub place: &'a Place<'p>,
    /// The controller that the file belongs to.
    pub controller: &'a str,
    /// The kernel's name of the file.
    pub file: &'a str,
    /// The exact text that is written.
    pub value: &'a str,
    /// `kubelet` or `runtime`.
    pub writer: &'static str,
    /// The steps to the value.
    #[serde(serialize_with = "derivation::serialize_with_text")]
    #[schemars(with = "Vec<Worded<Step>>")]
    pub because: &'a [Step],
}

/// The values of a plan, made one after the other while they are printed.
#[derive(Clone, Debug)]
pub struct Items<'a, 'p>(&'a Plan<'p>);

kq_k8s::schema_as!(Items<'_, '_>, Vec<Item<'static, 'static>>);

impl Serialize for Items<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(None)?;
        let mut failed = Ok(());
        for root in &self.0.roots {
            root.walk(0, &mut |cgroup, _| {
                let place = Place::of(cgroup);
                for file in &cgroup.files {
                    if failed.is_ok() {
                        failed = sequence.serialize_element(&Item {
                            place: &place,
                            controller: controller(&file.file),
                            file: &file.file,
                            value: &file.value,
                            writer: cgroup.owner.writer(),
                            because: &file.because,
                        });
                    }
                }
            });
        }
        failed?;
        sequence.end()
    }
}

impl<'a, 'p> CgroupPlan<'a, 'p> {
    /// Puts a plan together with what it rests on.
    pub fn new(plan: &'a Plan<'p>, basis: Basis) -> Self {
        let (mut unknown, mut units, mut sandboxes) = (Vec::new(), Vec::new(), Vec::new());
        for root in &plan.roots {
            root.walk(0, &mut |cgroup, _| {
                for (file, fact) in &cgroup.missing {
                    unknown.push(UnknownFile::new(Place::of(cgroup), file.clone(), *fact));
                }
                units.extend(cgroup.unit.as_ref().map(|unit| Unit { cgroup: &cgroup.path, unit }));
                if let Owner::Pod(pod, _) = cgroup.owner {
                    sandboxes.push(Sandbox::of(pod, plan));
                }
            });
        }
        Self { basis, unknown, items: Items(plan), units, sandboxes }
    }
}

impl<'p> Sandbox<'p> {
    fn of(pod: &'p Pod, plan: &Plan<'p>) -> Self {
        let pinned = has_pinned_pod(pod, &plan.settings);
        let (resources, overhead) = sandbox_resources(pod, pinned, &plan.settings);
        Self {
            namespace: &pod.metadata.namespace,
            pod: pod.display_name(),
            resources: resources.into(),
            overhead: overhead.into(),
        }
    }
}

/// Collects the basis of a plan; `notes` are those of the files that were read.
pub fn basis_of(
    node: &NodeConfig,
    plan: &Plan<'_>,
    pods: &[LoadedPod],
    RuntimeFormula { formula, assumed, .. }: RuntimeFormula,
    notes: Vec<Warning>,
) -> Basis {
    let mut basis = Basis { facts: (&node.facts).into(), ..Basis::default() };
    basis.assume_all(node.facts.assumptions().map(|fact| {
        Assumption::of_fact(fact.name, fact.text(), fact.origin.clone(), Some(fact.flag.clone()))
    }));
    if assumed && plan.settings.version == CgroupVersion::V2 {
        basis.assume(Assumption::of_fact(
            "runtimeWeightFormula",
            formula.to_string(),
            Origin::Assumed,
            Some("--runtime-weight-formula".to_owned()),
        ));
    }
    basis.assume_all(pod_assumptions(pods));
    basis.assume_all(plan.settings.rules.gates.version().certainty(RuleArea::Cgroups));
    basis.warn_all(notes);
    basis.warn_all(node.warnings.iter().cloned());
    basis.warn_all(plan.warnings.iter().cloned());
    basis.warn_all(ended(&plan.ended));
    basis
}

impl<'p> UnknownFile<'p> {
    fn new(place: Place<'p>, file: Cow<'static, str>, fact: CgroupFact) -> Self {
        Self { place, file, reason: fact.to_string(), flag: fact.flag() }
    }
}

impl<'p> Place<'p> {
    /// Returns the place of a cgroup.
    pub fn of(cgroup: &PlannedCgroup<'p>) -> Self {
        let (level, pod, container, qos_class): (_, Option<&'p Pod>, _, _) = match cgroup.owner {
            Owner::Node(_) => (PlaceLevel::Node, None, None, None),
            Owner::Qos(class) => (PlaceLevel::Qos, None, None, Some(class)),
            Owner::Pod(pod, class) => (PlaceLevel::Pod, Some(pod), None, Some(class)),
            Owner::Container { pod, class, name, .. } => {
                (PlaceLevel::Container, Some(pod), Some(name), Some(class))
            }
        };
        Self {
            level,
            namespace: pod.map(|pod| pod.metadata.namespace.as_str()),
            pod: pod.map(Pod::display_name),
            container,
            qos_class,
            cgroup: cgroup.path.clone(),
        }
    }
}

/// Returns what was taken for granted about pods that no API server has seen.
fn pod_assumptions(pods: &[LoadedPod]) -> Vec<Assumption> {
    let mut assumptions = Vec::new();
    for loaded in pods {
        if let Some(workload) = &loaded.source.workload
            && let Some(replicas) = workload.replicas.filter(|replicas| *replicas != 1)
        {
            let fact = format!(
                "pods of {} {}/{} on this node",
                workload.kind, loaded.pod.metadata.namespace, workload.name
            );
            let value = match replicas {
                0 => format!("1 ({}: 0 makes none)", workload.field()),
                _ => format!("1 of {replicas}"),
            };
            assumptions.push(Assumption::of_fact(fact, value, Origin::Assumed, None));
        }
    }
    let without_uid =
        pods.iter().filter(|loaded| crate::pod::effective_uid(&loaded.pod).is_empty());
    let without_uid = without_uid.count();
    if without_uid > 0 {
        let fact = format!("UID of {without_uid} of {} pods", pods.len());
        let value = "not assigned yet; shown as <uid:NAMESPACE.NAME>";
        assumptions.push(Assumption::of_fact(fact, value, Origin::Assumed, None));
    }
    assumptions
}

fn ended(pods: &[&Pod]) -> Option<Warning> {
    const SHOWN: usize = 3;
    if pods.is_empty() {
        return None;
    }
    let names: Vec<String> = pods.iter().take(SHOWN).map(|pod| qualified_name(pod)).collect();
    let more = if pods.len() > SHOWN { ", ..." } else { "" };
    let (noun, verb) = if pods.len() == 1 { ("pod has", "counts") } else { ("pods have", "count") };
    let names = names.join(", ");
    let text = format!("{} {noun} ended and {verb} no more: {names}{more}", pods.len());
    Some(Warning::new(WarningCode::EndedPods, text))
}
