//! All answers about a node, gathered once: what `kq report` makes its page of.
//!
//! Each question gets the facts that its command needs, and no others, so its answer is that of the command. A question
//! that fails is a reason on the page, and not the end of the report.

use crate::admission::AdmissionOptions;
use kq_admission::preemption::Trace;
use kq_answer::{Answer, Failure};
use kq_cgroup::live::show::show;
use kq_cgroup::shares::CpuShares;
use kq_core::question::admission::{AdmissionNode, Detail, preempt, readmit_all};
use kq_core::question::cgroup::plan::PlanInput;
use kq_core::question::cgroup::{SharesOptions, tree_of_pods, tree_warnings};
use kq_core::question::devices::list::{device_list, device_list_needs};
use kq_core::question::doctor::{doctor, node_checks_needs};
use kq_core::question::eviction::{
    EvictionOptions, crossed_thresholds, eviction_needs, eviction_rank_after_reclaim,
};
use kq_core::question::image_gc::explain::{image_disk, image_disk_needs};
use kq_core::question::image_gc::{
    ImageGcOptions, Trigger, image_gc_needs, image_gc_plan, image_list, image_list_needs,
};
use kq_core::question::kinds::{
    EvictionRank, ImageDisk, ImageGcAnswer, ImageList, NodeChecks, PodPreemption, PodReadmission,
    ProbePlan, WhatIf,
};
use kq_core::question::probes::{
    ProbeSelection, ProbedPod, ProbedPods, Purpose, Targets, prepare, recorded_probes,
};
use kq_core::question::what_if::{ChangeFiles, NodeState, what_if, what_if_needs};
use kq_core::what_if::change::Change;
use kq_facts::cgroup_tree::CgroupPath;
use kq_facts::fact_key::FactKey;
use kq_facts::fact_table::summary;
use kq_facts::kubelet_config::Signal;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::overrides::Overrides;
use kq_facts::pod_selector::Selection;
use kq_facts::snapshot::Snapshot;
use kq_k8s::pod::ResourceName;
use kq_managers::list::Asked;
use kq_output::shell::quoted;
use kq_probe::subject::subjects;
use kq_report::{Answered, Cgroup, CpuTime, Devices, NoAnswer, NodeAnswers, Reply, names};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long a probe of a plan would wait for the runtime; a plan sends none.
const TIMEOUT: Duration = Duration::from_secs(3);

/// What is said of the node over its facts, and what is asked besides.
#[derive(Clone, Debug, Default)]
pub struct ReportOptions {
    /// What overrides the facts of the node.
    pub overrides: Overrides,
    /// The name of the node, where one is given.
    pub node_name: Option<String>,
    /// The facts are those of a snapshot.
    pub is_stored: bool,
    /// The flags that name the node, as the commands on the page have them.
    pub flags: String,
    /// The changes to ask about.
    pub changes: Vec<ReportChange>,
    /// The pod to make room for.
    pub critical_pod: Option<CriticalPod>,
}

/// A change to ask about.
#[derive(Clone, Debug)]
pub struct ReportChange {
    /// As it was typed.
    pub text: String,
    /// What it means.
    pub changes: Vec<Change>,
    /// The files that it names.
    pub files: ChangeFiles,
}

/// A pod that comes to the node.
#[derive(Clone, Debug)]
pub struct CriticalPod {
    /// The manifest.
    pub file: String,
    pub is_static: bool,
}

/// Returns the facts that the questions need.
pub fn report_needs() -> Needs {
    Needs::ALL
}

/// Asks all questions about a node. Possible secrets are removed from its facts first: a page is passed on, and says what
/// the page of a stored snapshot says.
pub fn node_answers(snapshot: &mut Snapshot, options: &mut ReportOptions) -> NodeAnswers {
    snapshot.redact();
    options.overrides.redact();
    let (snapshot, options) = (&*snapshot, &*options);
    let roots = options.overrides.roots(snapshot).into_iter().map(|(_, root)| root).collect();
    let report = Report { snapshot, roots, options };
    let mut evictions = BTreeMap::new();
    let crossed = report.crossed();
    for (at, (name, text)) in names::EVICTION.into_iter().enumerate() {
        let is_asked = |it: &Signal| at < names::EVICTION_ALWAYS || crossed.contains(it);
        if let Some(signal) = Signal::from_text(text).filter(is_asked) {
            let command = format!("evict rank --signal {text}");
            evictions.insert(name, report.answered(&command, report.rank(signal)));
        }
    }
    let preemption = options.critical_pod.as_ref().map(|pod| {
        let flag = if pod.is_static { " --static" } else { "" };
        let command = format!("preempt explain {}{flag}", quoted(&pod.file));
        report.answered(&command, report.preempt(pod))
    });
    let changes = options.changes.iter().map(|change| {
        let answered = report.answered(&format!("what-if {}", change.text), report.what_if(change));
        (change.text.clone(), answered)
    });
    let object = snapshot.node.value().map(|object| object.metadata.name.clone());
    let name =
        object.filter(|name| !name.is_empty()).or_else(|| snapshot.node_name.value().cloned());
    NodeAnswers {
        name: name.unwrap_or_else(|| "this node".to_owned()),
        at: snapshot.taken_at.clone(),
        title: title(snapshot),
        sources: summary(snapshot),
        doctor: Some(report.answered("doctor", report.doctor())),
        usage: Some(report.answered("cgroup show", report.usage())),
        shares: Some(report.shares()),
        images: Some(report.answered("gc images", report.images())),
        collection: Some(report.answered("gc dry-run", report.gc())),
        disk: Some(report.answered("gc explain --disk", report.disk())),
        devices: Some(report.answered("devices list", report.devices())),
        probes: Some(report.answered("probe plan POD", report.probes())),
        restart: Some(report.answered("admit explain --kubelet-restart", report.restart())),
        preemption,
        evictions,
        changes: changes.collect(),
        snapshot: None,
    }
}

/// Returns a node about which nothing can be asked, with the reason.
pub fn no_node(name: &str, failure: &Failure) -> NodeAnswers {
    let answered = Answered {
        command: "kq doctor".to_owned(),
        note: String::new(),
        answer: Err(no_answer(failure)),
    };
    NodeAnswers { name: name.to_owned(), doctor: Some(answered), ..NodeAnswers::default() }
}

fn no_answer(failure: &Failure) -> NoAnswer {
    NoAnswer { reason: failure.reason(), hints: failure.hints().to_vec() }
}

fn title(snapshot: &Snapshot) -> Vec<(&'static str, String)> {
    let mut title = Vec::new();
    let object = snapshot.node.value();
    title.extend(snapshot.kubelet_build().map(|version| ("kubelet", version.to_owned())));
    if let Some(runtime) = snapshot.runtime.value() {
        let version = &runtime.version;
        title.push(("runtime", format!("{} {}", version.runtime_name, version.runtime_version)));
    }
    let capacity = |name: &str| {
        let amount = object?.status.capacity.get(&ResourceName::from(name))?;
        Some(amount.to_string())
    };
    title.extend(capacity("cpu").map(|cpus| ("CPUs", cpus)));
    title.extend(capacity("memory").map(|memory| ("memory", memory)));
    title.extend(snapshot.pods.value().map(|pods| ("pods", pods.pods.len().to_string())));
    title
}

/// Returns flags as a shell reads them: `--snapshot FILE`.
pub fn flags<'f>(flags: impl IntoIterator<Item = (&'f str, &'f str)>) -> String {
    let one = |(flag, value): (&str, &str)| format!(" {flag} {}", quoted(value));
    flags.into_iter().map(one).collect()
}

struct Report<'a> {
    snapshot: &'a Snapshot,
    /// Where the cgroup of all pods may be.
    roots: Vec<CgroupPath>,
    options: &'a ReportOptions,
}

/// An answer, or what is drawn of it.
type Asking<A> = Result<Reply<A>, Failure>;

fn reply<A: Answer>(answer: A) -> Asking<A> {
    Reply::of(answer).map_err(Failure::missing)
}

fn drawing<A>(answer: &impl Answer, part: A) -> Asking<A> {
    Reply::drawing(answer, part).map_err(Failure::missing)
}

impl Report<'_> {
    /// Returns an answer with its command.
    fn answered<A>(&self, command: &str, answer: Asking<A>) -> Answered<A> {
        let command = format!("kq {command}{}", self.options.flags);
        Answered {
            command,
            note: String::new(),
            answer: answer.map_err(|failure| no_answer(&failure)),
        }
    }

    /// Returns the facts that a question needs.
    fn facts(&self, needs: Needs) -> Snapshot {
        let mut snapshot = self.snapshot.clone();
        needs.restrict(&mut snapshot, &self.roots);
        snapshot
    }

    /// Returns the node with the facts that a question needs.
    fn node(&self, needs: Needs) -> Result<Node, Failure> {
        let overrides = self.options.overrides.clone();
        let needs = Needs { has_node_file: overrides.node_file.is_some(), ..needs };
        let ignores_config = !needs.has(FactKey::KubeletConfig);
        Node::of(self.facts(needs), Overrides { ignores_config, ..overrides })
    }

    /// The same, for questions that need the kubelet's configuration.
    fn kubelet(&self, needs: Needs) -> Result<Node, Failure> {
        self.node(needs)?.checked()
    }

    fn doctor(&self) -> Asking<NodeChecks> {
        reply(doctor(self.kubelet(node_checks_needs())?, self.options.is_stored)?)
    }

    fn usage(&self) -> Asking<Vec<Cgroup>> {
        let facts = [FactKey::CgroupTree, FactKey::CgroupUsage];
        let node = self.node(Needs::NAMES.with(&facts))?;
        let tree = tree_of_pods(&node)?;
        let warnings = tree_warnings(&node, tree);
        let answer = show(tree, &node.roots, &node.workloads, &Selection::default(), warnings);
        drawing(&answer, Cgroup::all(&answer))
    }

    /// Divides the CPU time by the kernel's values, else by the planned ones.
    fn shares(&self) -> Answered<CpuTime> {
        const COMMAND: &str = "cgroup shares";
        let failed = |failure| self.answered(COMMAND, Err(failure));
        let input = self.kubelet(Needs::PLAN);
        let input = input.and_then(|node| PlanInput::of_live(&node, Selection::default(), false));
        let input = match input {
            Ok(input) => input,
            Err(failure) => return failed(failure),
        };
        let plan = match input.plan() {
            Ok(plan) => plan,
            Err(failure) => return failed(failure),
        };
        let divided = |are_planned| {
            let options = SharesOptions { cpus: None, siblings: Vec::new(), are_planned };
            Ok(options.divide(&input, &plan, options.cpus(&input)?)?.0)
        };
        let drawn = |answer: CpuShares<'_>, is_by_kernel| {
            drawing(&answer, CpuTime::of(&answer, is_by_kernel))
        };
        let by_kernel: Result<CpuShares<'_>, Failure> = divided(false);
        let why = match &by_kernel {
            Ok(shares) => shares
                .items
                .iter()
                .find(|share| share.cpus.is_none())
                .map(|it| it.limited_by.to_string()),
            Err(failure) => Some(failure.reason()),
        };
        match (why, by_kernel) {
            (None, by_kernel) => self.answered(COMMAND, by_kernel.and_then(|it| drawn(it, true))),
            (Some(why), _) => {
                let planned = divided(true).and_then(|it| drawn(it, false));
                let note = format!(
                    "By the planned weights and quotas, as the kernel's do not give an answer: {why}"
                );
                Answered { note, ..self.answered(&format!("{COMMAND} --planned"), planned) }
            }
        }
    }

    fn gc(&self) -> Asking<ImageGcAnswer> {
        let node = self.kubelet(image_gc_needs(Trigger::Periodic))?;
        reply(image_gc_plan(&node, &ImageGcOptions::new(Trigger::Periodic))?)
    }

    fn images(&self) -> Asking<ImageList> {
        reply(image_list(&self.kubelet(image_list_needs())?)?)
    }

    fn disk(&self) -> Asking<ImageDisk> {
        reply(image_disk(&self.kubelet(image_disk_needs())?))
    }

    fn devices(&self) -> Asking<Devices> {
        let node = self.kubelet(device_list_needs(Asked::Both))?;
        let answer = device_list(&node, Asked::Both, &Selection::default())?;
        drawing(&answer, Devices::of(&answer))
    }

    /// Plans the probes of all pods that have any.
    fn probes(&self) -> Asking<ProbePlan> {
        let node = self.kubelet(Needs { only_on_node: false, ..Needs::PROBE_PLAN })?;
        let recorded = recorded_probes(&node)?;
        let probed = recorded.pods.into_iter().filter(|(pod, _)| subjects(pod).next().is_some());
        let address = |probed: &ProbedPod| match probed.pod.status.pod_ip.as_str() {
            "" if probed.pod.spec.host_network => {
                Err("it has the node's network, and so the node's IP".to_owned())
            }
            "" => Err("the pod's status does not have it".to_owned()),
            ip => Ok((ip.to_owned(), probed.source.clone())),
        };
        let pods = prepare(&node, probed.collect(), address);
        let probed = ProbedPods::new(node, pods, recorded.left_out, Purpose::Plan);
        let targets = Targets::of_pods(probed, TIMEOUT, &ProbeSelection::default())?;
        reply(targets.plan())
    }

    /// Returns the signals of which a threshold is crossed; none where that is unknown.
    fn crossed(&self) -> BTreeSet<Signal> {
        let node = self.kubelet(eviction_needs(None));
        let crossed = node.ok().and_then(|node| crossed_thresholds(&node).ok());
        crossed.into_iter().flatten().map(|it| it.threshold.signal).collect()
    }

    fn rank(&self, signal: Signal) -> Asking<EvictionRank> {
        let options = EvictionOptions {
            signal,
            node_name: self.options.node_name.clone(),
            stats_file: None,
            is_stored: self.options.is_stored,
        };
        reply(eviction_rank_after_reclaim(&self.kubelet(eviction_needs(Some(signal)))?, &options)?)
    }

    fn about(&self) -> Result<AdmissionNode, Failure> {
        let flags = Some("--checkpoint, --pod-resources");
        Ok(AdmissionNode::with_flags(self.kubelet(Needs::ADMISSION)?, Vec::new(), flags))
    }

    fn restarting(&self) -> Result<AdmissionNode, Failure> {
        let flags = Some("--checkpoint, --pod-resources");
        Ok(AdmissionNode::with_flags(self.kubelet(Needs::READMISSION)?, Vec::new(), flags))
    }

    fn restart(&self) -> Asking<PodReadmission> {
        reply(readmit_all(&self.restarting()?)?)
    }

    fn preempt(&self, pod: &CriticalPod) -> Asking<PodPreemption> {
        let options = AdmissionOptions { is_static: pod.is_static, ..AdmissionOptions::default() };
        let (about, mut pod) = options.pod_on(&pod.file, self.about()?)?;
        pod.redact();
        let detail = Detail { trace: Trace::Visits, ledger: true };
        reply(preempt(&about, &pod, &[], detail)?)
    }

    fn what_if(&self, change: &ReportChange) -> Asking<WhatIf> {
        let before = NodeState::of(self.facts(what_if_needs()), self.options.overrides.clone())?;
        reply(what_if(&before, &change.changes, &change.files)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_written_for_a_shell() {
        assert_eq!(flags([("--snapshot", "a b"), ("--set", "x=1")]), " --snapshot 'a b' --set x=1");
    }
}
