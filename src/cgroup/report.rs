//! The plan as a value: what `-o json` and `-o yaml` print. Its shape is a contract, described in
//! `docs/json.md`.

use crate::cgroup::container::{RuntimeResources, sandbox_resources};
use crate::cgroup::derivation::{self, Step};
use crate::cgroup::files::CgroupVersion;
use crate::cgroup::plan::{
    Owner, Plan, PlannedCgroup, RuntimeFormula, SystemdUnit, controller, display_name,
    qualified_name,
};
use crate::facts::missing::MissingFact;
use crate::facts::node::{Node, NodeFacts};
use crate::facts::origin::Origin;
use crate::k8s::manifest::LoadedPod;
use crate::k8s::pod::Pod;
use crate::k8s::qos::QosClass;
use serde::ser::{Serialize, SerializeSeq, Serializer};
use std::borrow::Cow;

/// The version of every value that kq prints.
pub const API_VERSION: &str = "kq/v1";

/// A plan with everything that it rests on.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CgroupPlan<'a, 'p> {
    /// `kq/v1`
    pub api_version: &'static str,
    /// `CgroupPlan`
    pub kind: &'static str,
    /// The facts about the node, with their origins.
    pub node: &'a NodeFacts,
    /// What nobody said and was taken for granted.
    pub assumptions: Vec<Assumption>,
    /// What an operator should know.
    pub warnings: Vec<String>,
    /// Files whose text depends on a fact that is not known.
    pub missing: Vec<Missing<'p>>,
    /// One for each value.
    pub items: Items<'a, 'p>,
    /// What systemd is asked for, one for each cgroup that the kubelet creates through it.
    pub units: Vec<Unit<'a>>,
    /// What the kubelet tells the runtime about each pod's sandbox as a whole.
    pub sandboxes: Vec<Sandbox<'p>>,
}

/// A unit of systemd.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Unit<'a> {
    /// The cgroup's path.
    pub cgroup: &'a str,
    /// The unit and its properties.
    #[serde(flatten)]
    pub unit: &'a SystemdUnit,
}

/// What the runtime is told about a sandbox; runtimes that start a virtual machine size it by this.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Sandbox<'p> {
    /// The pod's namespace.
    pub namespace: &'p str,
    /// The pod.
    pub pod: Cow<'p, str>,
    /// The pod's totals without overhead.
    pub resources: SandboxResources,
    /// The overhead.
    pub overhead: SandboxResources,
}

/// `LinuxContainerResources` of the CRI; 0 is "not set".
#[derive(Clone, Debug, serde::Serialize)]
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

/// Something that was taken for granted.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Assumption {
    /// What it is about.
    pub fact: Cow<'static, str>,
    /// What was taken.
    pub value: String,
    /// `default`: the kubelet does so when nobody says otherwise. `assumed`: kq had to choose.
    pub origin: Origin,
    /// The flag that says otherwise, if there is one.
    pub flag: Option<String>,
}

/// A file whose text is not known.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Missing<'p> {
    /// Whose file it would be.
    #[serde(flatten)]
    pub place: Place<'p>,
    /// The file.
    pub file: Cow<'static, str>,
    /// Why it is not known.
    pub reason: String,
    /// The flag that supplies what is missing.
    pub flag: &'static str,
}

/// The cgroup that a value belongs to.
#[derive(Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Place<'p> {
    /// `node`, `qos`, `pod` or `container`.
    pub level: &'static str,
    /// The pod's namespace.
    pub namespace: Option<&'p str>,
    /// The pod.
    pub pod: Option<Cow<'p, str>>,
    /// The container.
    pub container: Option<&'p str>,
    /// The class, from the QoS level down.
    pub qos_class: Option<QosClass>,
    /// The path below the root of the hierarchy.
    pub cgroup: String,
}

/// One value.
#[derive(Clone, Debug, serde::Serialize)]
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
    #[serde(serialize_with = "because_of")]
    pub because: &'a [Step],
}

fn because_of<S: Serializer>(steps: &&[Step], serializer: S) -> Result<S::Ok, S::Error> {
    derivation::serialize_with_text(steps, serializer)
}

/// The values of a plan, made one after the other while they are printed.
#[derive(Clone, Debug)]
pub struct Items<'a, 'p>(&'a Plan<'p>);

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
    pub fn new(node: &'a Node, plan: &'a Plan<'p>, basis: Basis) -> Self {
        let (mut missing, mut units, mut sandboxes) = (Vec::new(), Vec::new(), Vec::new());
        for root in &plan.roots {
            root.walk(0, &mut |cgroup, _| {
                for (file, fact) in &cgroup.missing {
                    missing.push(Missing::new(Place::of(cgroup), file.clone(), *fact));
                }
                units.extend(cgroup.unit.as_ref().map(|unit| Unit { cgroup: &cgroup.path, unit }));
                if let Owner::Pod(pod, _) = cgroup.owner {
                    sandboxes.push(Sandbox::of(pod, plan));
                }
            });
        }
        Self {
            api_version: API_VERSION,
            kind: "CgroupPlan",
            node: &node.facts,
            assumptions: basis.assumptions,
            warnings: basis.warnings,
            missing,
            items: Items(plan),
            units,
            sandboxes,
        }
    }
}

impl<'p> Sandbox<'p> {
    fn of(pod: &'p Pod, plan: &Plan<'p>) -> Self {
        let pinned = plan.pinned_containers(pod).next().is_some();
        let (resources, overhead) = sandbox_resources(pod, pinned, &plan.settings);
        Self {
            namespace: &pod.metadata.namespace,
            pod: display_name(pod),
            resources: resources.into(),
            overhead: overhead.into(),
        }
    }
}

/// What an answer rests on, beside the facts.
#[derive(Clone, Debug, Default)]
pub struct Basis {
    /// What nobody said and was taken for granted.
    pub assumptions: Vec<Assumption>,
    /// What an operator should know.
    pub warnings: Vec<String>,
}

impl Basis {
    /// Collects what a plan rests on; `notes` are those of the files that were read.
    pub fn of(
        node: &Node,
        plan: &Plan<'_>,
        pods: &[LoadedPod],
        RuntimeFormula { formula, assumed, .. }: RuntimeFormula,
        notes: Vec<String>,
    ) -> Self {
        let mut assumptions = node_assumptions(node);
        if assumed && plan.settings.version == CgroupVersion::V2 {
            assumptions.push(Assumption {
                fact: "runtimeWeightFormula".into(),
                value: formula.to_string(),
                origin: Origin::Assumed,
                flag: Some("--runtime-weight-formula".to_owned()),
            });
        }
        assumptions.extend(pod_assumptions(pods));
        let mut warnings = notes;
        warnings.extend(node.warnings.iter().cloned());
        warnings.extend(plan.warnings.iter().cloned());
        warnings.extend(ended(&plan.ended));
        Self { assumptions, warnings }
    }
}

impl<'p> Missing<'p> {
    fn new(place: Place<'p>, file: Cow<'static, str>, fact: MissingFact) -> Self {
        Self { place, file, reason: fact.to_string(), flag: fact.flag() }
    }
}

impl<'p> Place<'p> {
    /// Returns the place of a cgroup.
    pub fn of(cgroup: &PlannedCgroup<'p>) -> Self {
        let (level, pod, container, qos_class): (_, Option<&'p Pod>, _, _) = match cgroup.owner {
            Owner::Node { .. } => ("node", None, None, None),
            Owner::Qos(class) => ("qos", None, None, Some(class)),
            Owner::Pod(pod, class) => ("pod", Some(pod), None, Some(class)),
            Owner::Container { pod, class, name, .. } => {
                ("container", Some(pod), Some(name), Some(class))
            }
        };
        Self {
            level,
            namespace: pod.map(|pod| pod.metadata.namespace.as_str()),
            pod: pod.map(display_name),
            container,
            qos_class,
            cgroup: cgroup.path.clone(),
        }
    }
}

/// Returns what was taken for granted about a node.
fn node_assumptions(node: &Node) -> Vec<Assumption> {
    let assumed = node.facts.assumptions().map(|fact| Assumption {
        fact: fact.name.into(),
        value: fact.text(),
        origin: fact.origin.clone(),
        flag: Some(fact.flag.clone()),
    });
    assumed.collect()
}

/// Returns what was taken for granted about pods that no API server has seen.
fn pod_assumptions(pods: &[LoadedPod]) -> Vec<Assumption> {
    let mut assumptions = Vec::new();
    for loaded in pods {
        if let Some(workload) = &loaded.source.workload
            && let Some(replicas) = workload.replicas.filter(|replicas| *replicas != 1)
        {
            assumptions.push(Assumption {
                fact: format!(
                    "pods of {} {}/{} on this node",
                    workload.kind, loaded.pod.metadata.namespace, workload.name
                )
                .into(),
                value: format!("1 of {replicas}"),
                origin: Origin::Assumed,
                flag: None,
            });
        }
    }
    let without_uid =
        pods.iter().filter(|loaded| crate::cgroup::pod::effective_uid(&loaded.pod).is_empty());
    let without_uid = without_uid.count();
    if without_uid > 0 {
        assumptions.push(Assumption {
            fact: format!("UID of {without_uid} of {} pods", pods.len()).into(),
            value: "not assigned yet; shown as <uid:NAMESPACE.NAME>".to_owned(),
            origin: Origin::Assumed,
            flag: None,
        });
    }
    assumptions
}

fn ended(pods: &[&Pod]) -> Option<String> {
    const SHOWN: usize = 3;
    if pods.is_empty() {
        return None;
    }
    let names: Vec<String> = pods.iter().take(SHOWN).map(|pod| qualified_name(pod)).collect();
    let more = if pods.len() > SHOWN { ", ..." } else { "" };
    let (noun, verb) = if pods.len() == 1 { ("pod has", "counts") } else { ("pods have", "count") };
    Some(format!("{} {noun} ended and {verb} no more: {}{more}", pods.len(), names.join(", ")))
}
