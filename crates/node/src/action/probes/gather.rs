//! Gathers the pods whose probes are sent, planned or checked, with their IPs, containers and sandboxes; prepares the chosen
//! probes, and runs each of them once.

use anyhow::anyhow;
use kq_answer::{Failure, WarningCode};
use kq_core::question::probes::{
    NOT_QUERIED, ProbeSelection, ProbedPod, ProbedPods, Purpose, RecordedProbes, Targets, fill_in,
    named, pod_of_container, prepare, recorded_probes,
};
use kq_facts::input_name::shown;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::pod_selector::{Selection, is_file};
use kq_facts::workloads::effective_uid;
use kq_io::clock::moment;
use kq_io::input::read_input;
use kq_k8s::manifest::{Note, NoteKind, load};
use kq_k8s::pod::{Pod, PodStatus, Probe};
use kq_linux::cri::CriSession;
use kq_linux::probe::run::run_probes;
use kq_probe::report::{ProbeReport, ProbeRun, ProbeVerdict};
use kq_probe::subject::subjects;
use kq_probe::wire::Sending;
use kq_probe::{Job, Target, predicted_statuses};
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

/// The placeholder for the IP of a pod in a file.
const NO_IP: &str = "POD_IP";

/// The source of a node's facts.
pub trait FactSource {
    /// Gathers facts and describes the kubelet.
    ///
    /// # Errors
    ///
    /// Fails as [`gather_node`](crate::gather_node) does.
    fn gather(&self, needs: Needs) -> Result<Node, Failure>;

    /// Describes the kubelet from its options alone, without querying the node.
    ///
    /// # Errors
    ///
    /// Fails as [`Node::of_files`] does.
    fn describe(&self) -> Result<Node, Failure>;
}

/// The node whose pods are probed.
#[derive(Clone, Copy)]
pub struct ProbeNode<'a> {
    pub facts: &'a dyn FactSource,
    /// The facts come from a snapshot.
    pub is_snapshot: bool,
    /// The time limit of a call to the container runtime.
    pub timeout: Duration,
    pub pod_ip: Option<IpAddr>,
}

/// Which pods to gather.
#[derive(Clone, Copy)]
pub enum PodChoice<'a> {
    /// `NAME`, `NAMESPACE/NAME` or a UID of a pod of the node, or a file.
    One(&'a str),
    /// All pods of the node.
    All {
        /// Only pods of this namespace.
        namespace: Option<&'a str>,
        /// Returns the pods with the labels; `None`: labels do not matter.
        labelled: &'a dyn Fn(&Node) -> Result<Option<Selection>, Failure>,
    },
}

/// The pods of a file.
struct PodFile {
    pods: Vec<Pod>,
    notes: Vec<Note>,
    /// Pods that could not be read.
    left_out: Vec<String>,
}

impl ProbeNode<'_> {
    /// Gathers pods with the facts that `purpose` needs. For a file to be planned or checked, only sources that are
    /// explicitly named are queried.
    ///
    /// # Errors
    ///
    /// Fails if a named pod does not exist, or if the pods of the node are unknown.
    pub fn pods(&self, choice: PodChoice<'_>, purpose: Purpose) -> Result<ProbedPods, Failure> {
        if let PodChoice::One(file) = choice
            && is_file(file)
        {
            return match purpose {
                Purpose::Plan | Purpose::Lint => self.manifest(file, purpose),
                Purpose::Send | Purpose::All => self.running_pods_of(file, purpose),
            };
        }
        let only_on_node = matches!(purpose, Purpose::Send | Purpose::All);
        let needs = if purpose == Purpose::Plan { Needs::PROBE_PLAN } else { Needs::PROBE };
        let node = self.facts.gather(Needs { only_on_node, ..needs })?;
        let RecordedProbes { mut pods, left_out } = recorded_probes(&node)?;
        let mut unlabelled = None;
        match choice {
            PodChoice::One(name) => {
                let unknown = node.unknown_pods().map(|it| it.text);
                pods = named(name, pods, unknown.as_deref(), Path::new(name).exists())?
            }
            PodChoice::All { namespace, labelled } => {
                pods.retain(|(pod, _)| namespace.is_none_or(|it| it == pod.metadata.namespace));
                if let Some(selection) = labelled(&node)? {
                    pods.retain(|(pod, _)| {
                        let metadata = &pod.metadata;
                        selection.has(&metadata.namespace, &metadata.name, effective_uid(pod))
                    });
                    unlabelled = selection.missing();
                }
            }
        }
        let pods = self.with_ips(&node, pods)?;
        Ok(ProbedPods { unlabelled, ..ProbedPods::new(node, pods, left_out, purpose) })
    }

    /// Reads the pods of a file as they are written; a plan adds the defaults of the API server.
    fn manifest(&self, file: &str, purpose: Purpose) -> Result<ProbedPods, Failure> {
        let mut node = self.facts.gather(Needs::KUBELET_OF_FILE)?;
        let PodFile { pods, notes, left_out } = PodFile::read(file)?;
        let is_finding = |note: &&Note| {
            purpose == Purpose::Lint && matches!(note.kind, NoteKind::UnknownField { .. })
        };
        let (findings, others): (Vec<&Note>, Vec<&Note>) = notes.iter().partition(is_finding);
        node.notes.extend(WarningCode::PodManifest.each(others));
        let source = shown(file).to_owned();
        let pods = pods.into_iter().map(|mut pod| {
            let ip = match (purpose, &self.pod_ip, pod.status.pod_ip.as_str()) {
                (Purpose::Lint, ..) => Err(NOT_QUERIED.to_owned()),
                (_, Some(ip), _) => Ok((ip.to_string(), "--pod-ip".to_owned())),
                (_, None, "") => Ok((NO_IP.to_owned(), "placeholder".to_owned())),
                (_, None, ip) => Ok((ip.to_owned(), source.clone())),
            };
            if purpose != Purpose::Lint {
                fill_in(&mut pod);
            }
            ProbedPod { pod, source: source.clone(), ip, sandbox: None }
        });
        let (pods, findings) = (pods.collect(), findings.into_iter().cloned().collect());
        let probed = ProbedPods::new(node, pods, left_out, purpose);
        Ok(ProbedPods { unknown_fields: findings, ..probed })
    }

    /// Reads the pods of a file, and gathers only what the node knows of them.
    fn running_pods_of(&self, file: &str, purpose: Purpose) -> Result<ProbedPods, Failure> {
        let PodFile { pods, notes, left_out } = PodFile::read(file)?;
        let runs_commands = pods.iter().flat_map(subjects).any(|it| it.probe.exec.is_some());
        // With --pod-ip, only commands need the runtime.
        let mut node = match self.pod_ip.is_some() && !runs_commands {
            true => self.facts.describe()?,
            false => self.facts.gather(Needs::PROBE_FILE)?,
        };
        node.notes.extend(WarningCode::PodManifest.each(&notes));
        let source = shown(file).to_owned();
        // The status in a file may be stale.
        let pods = pods.into_iter().map(|pod| Pod { status: PodStatus::default(), ..pod });
        let pods = self.with_ips(&node, pods.map(|pod| (pod, source.clone())).collect())?;
        Ok(ProbedPods::new(node, pods, left_out, purpose))
    }

    /// Adds the containers, sandboxes and IPs of pods.
    fn with_ips(&self, node: &Node, pods: Vec<(Pod, String)>) -> Result<Vec<ProbedPod>, Failure> {
        if self.pod_ip.is_some() && pods.len() != 1 {
            return Err(Failure::usage(anyhow!("--pod-ip needs one pod, found {}", pods.len())));
        }
        let mut session = None;
        Ok(prepare(node, pods, |probed| match &self.pod_ip {
            Some(ip) => Ok((ip.to_string(), "--pod-ip".to_owned())),
            None => self.ip(node, probed, &mut session),
        }))
    }

    /// Returns the IP of a pod from its status, else from the runtime, with its source.
    fn ip(
        &self,
        node: &Node,
        probed: &ProbedPod,
        session: &mut Option<Result<CriSession, String>>,
    ) -> Result<(String, String), String> {
        let pod = &probed.pod;
        if !pod.status.pod_ip.is_empty() {
            return Ok((pod.status.pod_ip.clone(), probed.source.clone()));
        }
        if pod.spec.host_network {
            return Err("the pod uses the host network, and so the node's IP".to_owned());
        }
        let runtime = node.snapshot.runtime.value();
        let Some(sandbox) = &probed.sandbox else {
            return Err(match runtime {
                Some(_) => "the runtime has no sandbox of the pod".to_owned(),
                None => "no container runtime answers (--runtime-endpoint names one)".to_owned(),
            });
        };
        if self.is_snapshot {
            return Err("the snapshot does not contain it".to_owned());
        }
        let endpoint = runtime.map(|facts| facts.endpoint.clone()).unwrap_or_default();
        let session = session.get_or_insert_with(|| {
            let root = Path::new(&node.snapshot.host_root.path);
            CriSession::connect(&endpoint, root, self.timeout).map_err(|error| error.to_string())
        });
        let session = session.as_ref().map_err(Clone::clone)?;
        match session.sandbox_status(&sandbox.id)? {
            Some(status) => match status.ips.first() {
                Some(ip) => Ok((ip.clone(), format!("{endpoint} sandbox {}", sandbox.id))),
                None => Err("the runtime reports no IP for the pod's sandbox".to_owned()),
            },
            None => Err("the pod's sandbox no longer exists".to_owned()),
        }
    }
}

impl PodFile {
    fn read(file: &str) -> Result<Self, Failure> {
        let content = read_input(file).map_err(Failure::missing)?;
        let loaded = load(shown(file), &content);
        if loaded.pods.is_empty() {
            if let Some(problem) = loaded.problems.first() {
                return Err(Failure::usage(anyhow!("{problem}")));
            }
            return Err(Failure::usage(anyhow!("{}: no pods", shown(file)))
                .hint("a Pod, a list of pods, or a workload with a pod template is expected"));
        }
        Ok(Self {
            pods: loaded.pods.into_iter().map(|loaded| loaded.pod.into_inner()).collect(),
            notes: loaded.notes,
            left_out: loaded.problems.iter().map(ToString::to_string).collect(),
        })
    }
}

/// Which probes to run.
pub enum ProbeChoice<'a> {
    /// A probe of no pod; `host` replaces the pod's IP.
    AdHoc {
        probe: Probe,
        /// The host, where the probe does not name it.
        host: String,
    },
    /// A command in a container of a pod, or of the pod that has the container.
    Command {
        /// The probe with the command.
        probe: Probe,
        /// `None`: the pod that has the container.
        pod: Option<&'a str>,
        /// Its name; without a pod, its ID as well.
        container: &'a str,
    },
    /// The probes of pods.
    Pods(PodChoice<'a>),
}

impl ProbeChoice<'_> {
    /// Gathers the facts that the probes need, and prepares them.
    ///
    /// # Errors
    ///
    /// Fails if a named object does not exist, and if the facts are unavailable.
    pub fn prepare(
        self,
        from: &ProbeNode<'_>,
        selection: &ProbeSelection<'_>,
    ) -> Result<Targets, Failure> {
        let timeout = from.timeout;
        match self {
            Self::AdHoc { probe, host } => {
                Targets::ad_hoc(&from.facts.describe()?, timeout, probe, &host, selection)
            }
            Self::Command { probe, pod: Some(name), container } => {
                let ProbedPods { node, pods, .. } =
                    from.pods(PodChoice::One(name), Purpose::Send)?;
                let [pod]: [_; 1] = pods.try_into().map_err(|_| {
                    Failure::usage(anyhow!("{name} has several pods, and --exec needs one"))
                })?;
                Targets::command(&node, timeout, probe, (pod, container), selection)
            }
            Self::Command { probe, pod: None, container } => {
                let node = from.facts.gather(Needs::PROBE_FILE)?;
                let (pod, name) = pod_of_container(&node, container)?;
                Targets::command(&node, timeout, probe, (pod, &name), selection)
            }
            Self::Pods(choice) => {
                let purpose = match choice {
                    PodChoice::One(_) => Purpose::Send,
                    PodChoice::All { .. } => Purpose::All,
                };
                Targets::of_pods(from.pods(choice, purpose)?, timeout, selection)
            }
        }
    }
}

/// Returns what to send for a target.
pub(super) fn sending<'a>(target: &Target, job: &'a Job) -> Sending<'a> {
    let (probe_type, timeout_seconds) = (target.probe_type, target.timing.timeout_seconds);
    Sending { job, probe_type, timeout_seconds }
}

/// Runs each probe once, concurrently.
///
/// # Errors
///
/// Fails if nothing can be sent.
pub fn run_once(all: &Targets, shows_wire: bool) -> Result<ProbeRun, Failure> {
    let at = moment();
    let sendable = all.sendable()?;
    let targets = || sendable.iter().filter_map(|at| all.targets.get(*at));
    let sendings: Vec<Sending<'_>> =
        targets().filter_map(|target| Some(sending(target, target.job.as_ref().ok()?))).collect();
    let ran = run_probes(&sendings, &all.wire).map_err(Failure::missing)?;
    let reports = sendable.iter().zip(ran).filter_map(|(at, ran)| {
        Some(all.report(all.targets.get(*at)?, all.places.get(*at)?, ran, shows_wire))
    });
    let reports: Vec<ProbeReport> = reports.collect();
    let verdicts = reports.iter().map(|report| report.outcome.verdict);
    let probed: Vec<(&Target, ProbeVerdict)> = targets().zip(verdicts).collect();
    let outlook = predicted_statuses(&probed, all.kubelet_start, at);
    Ok(ProbeRun { outlook, ..all.run_of(at, reports) })
}
