//! The pods whose probes are asked about, and what is known of each: its IP, its containers.

use super::node::ProbeNodeArgs;
use crate::exit::Failure;
use crate::kubelet_node::KubeletNode;
use crate::pod_args::{LabelArgs, NamespaceArgs};
use crate::pod_selectors::PodSelectors;
use anyhow::anyhow;
use kq::answer::Missing;
use kq::edge::cri::CriSession;
use kq::edge::input::{read_input, shown};
use kq::facts::pod_selector::is_file;
use kq::facts::workloads::effective_uid;
use kq::k8s::manifest::{Note, NoteKind, load};
use kq::k8s::pod::{Pod, PodStatus};
use kq::node::Needs;
use kq::probe::subject::subjects;
use kq::question::probes::{ProbedPod, RecordedProbes, fill_in, named, prepare, recorded_probes};
use std::path::Path;

/// Which pods are wanted.
pub enum Wanted<'a> {
    /// One: `NAME`, `NAMESPACE/NAME` or a UID of this node, or a file.
    One(&'a str),
    /// All of the node, or those of a namespace and with labels.
    All { namespace: &'a NamespaceArgs, labels: &'a LabelArgs },
}

/// What was found.
pub struct Probed {
    pub node: KubeletNode,
    pub pods: Vec<ProbedPod>,
    /// Pods that could not be read.
    pub left_out: Vec<String>,
    /// The labels that are unknown, and decide which pods are wanted.
    pub unlabelled: Option<Missing>,
}

/// Gathers pods and what is known of them, to send their probes.
///
/// # Errors
///
/// Fails when a pod that is named is not there, or the pods of the node are not known.
pub fn gather(args: &ProbeNodeArgs, wanted: &Wanted<'_>) -> Result<Probed, Failure> {
    gather_of(args, wanted, true)
}

/// Gathers pods and what is known of them. What is sent, is sent on the node.
fn gather_of(
    args: &ProbeNodeArgs,
    wanted: &Wanted<'_>,
    only_on_node: bool,
) -> Result<Probed, Failure> {
    let (node, mut found, left_out) = match wanted {
        Wanted::One(file) if is_file(file) => of_file(args, file)?,
        Wanted::One(_) | Wanted::All { .. } => of_node(args, only_on_node)?,
    };
    if let Wanted::One(name) = wanted
        && !is_file(name)
    {
        found = named(name, found, node.unknown_pods().as_deref())?;
    }
    let mut unlabelled = None;
    if let Wanted::All { namespace, labels } = wanted {
        found.retain(|(pod, _)| namespace.has(&pod.metadata.namespace));
        unlabelled = keep_labelled(&mut found, &node, namespace, labels)?;
    }
    if args.pod_ip.is_some() && found.len() != 1 {
        let failure = anyhow!("--pod-ip is the IP of one pod, and {} are meant", found.len());
        return Err(Failure::usage(failure));
    }
    let mut session = None;
    let pods = prepare(&node, found, |probed| match &args.pod_ip {
        Some(ip) => Ok((ip.to_string(), "--pod-ip".to_owned())),
        None => ip_of(args, &node, probed, &mut session),
    });
    Ok(Probed { node, pods, left_out, unlabelled })
}

/// Keeps the pods with the labels, and returns what is unknown of labels.
fn keep_labelled(
    found: &mut Vec<(Pod, String)>,
    node: &KubeletNode,
    namespace: &NamespaceArgs,
    labels: &LabelArgs,
) -> Result<Option<Missing>, Failure> {
    if labels.selector.is_none() {
        return Ok(None);
    }
    let asked = PodSelectors::default().within(namespace, labels)?;
    let selection = asked.selection_on(node, [])?;
    found.retain(|(pod, _)| {
        let metadata = &pod.metadata;
        selection.has(&metadata.namespace, &metadata.name, effective_uid(pod))
    });
    Ok(Missing::of_selection(&selection))
}

/// What stands for the IP of a pod of a file.
const NO_IP: &str = "POD_IP";

/// Gathers what a plan needs; for a file no node is asked that is not named.
///
/// # Errors
///
/// Fails as [`gather`] does.
pub fn gather_for_plan(args: &ProbeNodeArgs, wanted: &Wanted<'_>) -> Result<Probed, Failure> {
    let Wanted::One(file) = wanted else { return gather_of(args, wanted, false) };
    if !is_file(file) {
        return gather_of(args, wanted, false);
    }
    let mut node = args.kubelet.gather(Needs::KUBELET_OF_FILE)?;
    let (pods, notes, left_out) = read_file(file)?;
    node.notes.extend(notes.iter().map(Note::to_string));
    let pods = pods.into_iter().map(|mut pod| {
        fill_in(&mut pod);
        let ip = match (&args.pod_ip, pod.status.pod_ip.as_str()) {
            (Some(ip), _) => (ip.to_string(), "--pod-ip".to_owned()),
            (None, "") => (NO_IP.to_owned(), "nobody".to_owned()),
            (None, ip) => (ip.to_owned(), shown(file).to_owned()),
        };
        ProbedPod { pod, source: shown(file).to_owned(), ip: Ok(ip), sandbox: None }
    });
    Ok(Probed { pods: pods.collect(), node, left_out, unlabelled: None })
}

/// A field that Kubernetes does not have: whose it is, where it is, what may have been meant.
type UnknownField = (String, String, Option<&'static str>);

/// Gathers pods as they were written, without what the API server fills in, and the fields that are none.
///
/// # Errors
///
/// Fails as [`gather`] does.
pub fn gather_for_lint(
    args: &ProbeNodeArgs,
    wanted: &Wanted<'_>,
) -> Result<(Probed, Vec<UnknownField>), Failure> {
    let of_node = || Ok((gather_of(args, wanted, false)?, Vec::new()));
    let Wanted::One(file) = wanted else { return of_node() };
    if !is_file(file) {
        return of_node();
    }
    let mut node = args.kubelet.gather(Needs::KUBELET_OF_FILE)?;
    let (pods, notes, left_out) = read_file(file)?;
    node.notes
        .extend(notes.iter().filter(|note| unknown_field(note).is_none()).map(Note::to_string));
    let unknown = notes.iter().filter_map(unknown_field).collect();
    let pods = pods.into_iter().map(|pod| ProbedPod {
        pod,
        source: shown(file).to_owned(),
        ip: Err("not asked".to_owned()),
        sandbox: None,
    });
    Ok((Probed { pods: pods.collect(), node, left_out, unlabelled: None }, unknown))
}

/// Returns a field that Kubernetes does not have: whose it is, where it is, what may have been meant.
fn unknown_field(note: &Note) -> Option<UnknownField> {
    match &note.kind {
        NoteKind::UnknownField { object, path, nearest } => {
            Some((object.to_string(), path.to_string(), *nearest))
        }
        _ => None,
    }
}

type Found = (KubeletNode, Vec<(Pod, String)>, Vec<String>);

/// Reads the one pod of a file; the node is asked only for what it knows of it.
fn of_file(args: &ProbeNodeArgs, file: &str) -> Result<Found, Failure> {
    let (pods, notes, left_out) = read_file(file)?;
    let runs_commands = pods.iter().flat_map(subjects).any(|it| it.probe.exec.is_some());
    // With the IP there is nothing left to ask, unless a command is to be run.
    let mut node = match args.pod_ip.is_some() && !runs_commands {
        true => args.kubelet.of_flags()?,
        false => args.kubelet.gather(Needs::PROBE_FILE)?,
    };
    node.notes.extend(notes.iter().map(Note::to_string));
    let source = shown(file).to_owned();
    // What a status in a file says was true once.
    let pods = pods.into_iter().map(|pod| Pod { status: PodStatus::default(), ..pod });
    Ok((node, pods.map(|pod| (pod, source.clone())).collect(), left_out))
}

/// The pods of a file, what is odd, and what could not be read.
type ReadFile = (Vec<Pod>, Vec<Note>, Vec<String>);

/// Reads the pods of a file; returns what is odd, and what could not be read, as well.
fn read_file(file: &str) -> Result<ReadFile, Failure> {
    let content = read_input(file).map_err(Failure::missing)?;
    let loaded = load(shown(file), &content);
    if loaded.pods.is_empty() {
        if let Some(problem) = loaded.problems.first() {
            return Err(Failure::usage(anyhow!("{problem}")));
        }
        return Err(Failure::usage(anyhow!("{}: no pods", shown(file)))
            .hint("a Pod, a list of pods, or a workload with a pod template is expected"));
    }
    let left_out = loaded.problems.iter().map(ToString::to_string).collect();
    let pods = loaded.pods.into_iter().map(|loaded| loaded.pod).collect();
    Ok((pods, loaded.notes, left_out))
}

fn of_node(args: &ProbeNodeArgs, only_on_node: bool) -> Result<Found, Failure> {
    let node = args.kubelet.gather(Needs { only_on_node, ..Needs::PROBE })?;
    let RecordedProbes { pods, left_out } = recorded_probes(&node)?;
    Ok((node, pods, left_out))
}

/// Returns a pod's IP: as the kubelet reported it, else as the runtime has it.
fn ip_of(
    args: &ProbeNodeArgs,
    node: &KubeletNode,
    probed: &ProbedPod,
    session: &mut Option<Result<CriSession, String>>,
) -> Result<(String, String), String> {
    let pod = &probed.pod;
    if !pod.status.pod_ip.is_empty() {
        return Ok((pod.status.pod_ip.clone(), probed.source.clone()));
    }
    if pod.spec.host_network {
        return Err("it has the node's network, and so the node's IP".to_owned());
    }
    let Some(sandbox) = &probed.sandbox else {
        return Err(match node.snapshot.runtime.value() {
            Some(_) => "the runtime has no sandbox of it".to_owned(),
            None => "no container runtime answers (--runtime-endpoint names one)".to_owned(),
        });
    };
    if args.kubelet.sources.snapshot.is_some() {
        return Err("the snapshot does not tell it".to_owned());
    }
    let endpoint = node.snapshot.runtime.value().map(|facts| facts.endpoint.clone());
    let endpoint = endpoint.unwrap_or_default();
    let session = session.get_or_insert_with(|| {
        let root = Path::new(&node.snapshot.host_root.path);
        CriSession::connect(&endpoint, root, args.kubelet.sources.timeout)
            .map_err(|error| error.to_string())
    });
    let session = session.as_ref().map_err(Clone::clone)?;
    match session.sandbox_status(&sandbox.id)? {
        Some(status) => match status.ips.first() {
            Some(ip) => Ok((ip.clone(), format!("{endpoint} sandbox {}", sandbox.id))),
            None => Err("the runtime names no IP of its sandbox".to_owned()),
        },
        None => Err("its sandbox is gone".to_owned()),
    }
}
