//! The traces of a pod that may be gone: pods, events and the kubelet's log, from files, a snapshot, the API server
//! or the node.

use super::gather::gather;
use super::pods::of_files;
use super::spec::NodeSpec;
use anyhow::anyhow;
use kq_answer::{Basis, Failure, Missing, MissingFact, WarningCode};
use kq_api::api_server::{ApiError, ApiServer};
use kq_facts::events::{PodEvent, read_events};
use kq_facts::fact_key::FactKey;
use kq_facts::input_name::shown;
use kq_facts::kubelet_log::KubeletLog;
use kq_facts::needs::Needs;
use kq_facts::pod_selector::{PodSelector, is_uid};
use kq_facts::pod_traces::PodTraces;
use kq_facts::snapshot::{PodSource, RecordedPods, Snapshot};
use kq_facts::workloads::effective_uid;
use kq_io::clock::after_now;
use kq_io::input::{read_input, read_input_within};
use kq_k8s::manifest::{LoadedPod, load};
use std::collections::BTreeSet;
use std::time::Duration;

/// The most that is read of a log: a week of a busy kubelet at verbosity 2.
const LONGEST_LOG: u64 = 256 << 20;

/// The facts needed from the node itself: its pods.
const NEEDS: Needs = Needs { only_on_node: false, ..Needs::of(&[FactKey::Pods, FactKey::Events]) };

/// Files with traces of pods; `-` is standard input.
#[derive(Clone, Debug, Default)]
pub struct TraceFiles {
    /// Lists of events; if empty, the other sources are queried for events.
    pub events: Vec<String>,
    /// Parts of the kubelet's log.
    pub kubelet_log: Vec<String>,
}

/// Gathers the traces of a pod. `show` is called with the snapshot of a node that is gathered for it.
///
/// # Errors
///
/// Fails for a file that cannot be read, where the API server that is named cannot be reached, and for names that
/// cannot exist.
pub fn gather_traces(
    spec: &NodeSpec,
    pod: &PodSelector,
    files: &TraceFiles,
    show: &dyn Fn(&Snapshot),
) -> Result<PodTraces, Failure> {
    let log = read_logs(&files.kubelet_log)?;
    let events = events_of_files(&files.events)?;
    let has_files = events.is_some() || !spec.pods.is_empty();
    let is_named =
        spec.kubeconfig.is_some() || (!has_files && spec.environment.kubeconfig.is_some());
    let asks_server = is_named
        && spec.snapshot.is_none()
        && spec.pods_from.is_none_or(|from| from == PodSource::ApiServer);
    let node = spec.node_in_question(events.is_some(), false);
    let traces = if asks_server {
        of_server(spec, pod, events)?
    } else if spec.snapshot.is_none() && !node.has_root() {
        of_named_files(spec, events)?
    } else {
        of_node(spec, events, show)?
    };
    Ok(PodTraces { log, ..traces })
}

fn read_logs(files: &[String]) -> Result<Option<KubeletLog>, Failure> {
    let mut whole: Option<KubeletLog> = None;
    for file in files {
        let bytes = read_input_within(file, LONGEST_LOG).map_err(|error| {
            Failure::missing(error)
                .hint("journalctl -u kubelet --since and --until write a part of the log")
        })?;
        let log = KubeletLog::read(&bytes).map_err(|error| {
            Failure::usage(anyhow!("--kubelet-log {}: {error}", shown(file)))
                .hint("journalctl -u kubelet -o cat > kubelet.log")
        })?;
        let whole = whole.get_or_insert_default();
        whole.lines.extend(log.lines);
        whole.read += log.read;
    }
    Ok(whole)
}

fn events_of_files(files: &[String]) -> Result<Option<Vec<PodEvent>>, Failure> {
    let mut events = Vec::new();
    for file in files {
        let bytes = read_input(file).map_err(Failure::missing)?;
        events.extend(read_events(&bytes).map_err(|error| {
            Failure::usage(anyhow!("--events {}: {error}", shown(file)))
                .hint("kubectl get events -A -o json > events.json")
        })?);
    }
    Ok((!files.is_empty()).then_some(events))
}

/// Reads the named files, and queries nothing.
fn of_named_files(spec: &NodeSpec, events: Option<Vec<PodEvent>>) -> Result<PodTraces, Failure> {
    let not_given = |what: &str| format!("no file with {what} was given");
    let mut basis = Basis::default();
    let pods = match spec.pods.is_empty() {
        true => Err(not_given("pods")),
        false => Ok(recorded(of_files(spec)?.value, &mut basis)),
    };
    let events = events.ok_or_else(|| not_given("events"));
    Ok(PodTraces { pods, events, log: None, now: after_now(), are_current: false, basis })
}

/// Reads the pods of a snapshot, or those of this machine.
fn of_node(
    spec: &NodeSpec,
    events: Option<Vec<PodEvent>>,
    show: &dyn Fn(&Snapshot),
) -> Result<PodTraces, Failure> {
    let snapshot = gather(spec, None, NEEDS)?;
    show(&snapshot);
    spec.check_stored(&snapshot)?;
    let now = snapshot.taken_at.parse().map_err(|error| {
        Failure::usage(error).hint("takenAt of the snapshot is the time of all its facts")
    })?;
    let mut basis = Basis::default();
    let pods = match snapshot.pods.found {
        Some(found) => Ok(recorded(found.value, &mut basis)),
        None => Err(snapshot.pods.reason()),
    };
    let recorded_events = snapshot.events;
    let events = match (events, recorded_events.found) {
        (Some(events), _) => Ok(events),
        (None, Some(found)) => Ok(found.value),
        (None, None) if !recorded_events.tried.is_empty() => {
            let tried = recorded_events.tried.iter().map(ToString::to_string);
            Err(tried.collect::<Vec<_>>().join("; "))
        }
        (None, None) => Err(match spec.snapshot {
            Some(_) => "the snapshot has none".to_owned(),
            None => "a kubelet's own credentials may not list them".to_owned(),
        }),
    };
    Ok(PodTraces { pods, events, log: None, now, are_current: spec.pods.is_empty(), basis })
}

fn recorded(found: RecordedPods, basis: &mut Basis) -> Vec<LoadedPod> {
    basis.warn_all(WarningCode::PodManifest.each(found.notes));
    basis.lack_all(found.left_out.iter().map(unread));
    found.pods
}

fn unread(problem: impl std::fmt::Display) -> Missing {
    Missing::new(MissingFact::UnreadPod, format!("a pod that could not be read: {problem}"))
}

/// Queries the API server: events first, which identify a deleted pod better.
fn of_server(
    spec: &NodeSpec,
    selector: &PodSelector,
    events: Option<Vec<PodEvent>>,
) -> Result<PodTraces, Failure> {
    let server = &spec.connect()?;
    let mut asked = Asked { server, timeout: spec.timeout, basis: Basis::default() };
    let (namespace, name) = (selector.namespace(), selector.name().unwrap_or_default());
    let mut events = match events {
        Some(events) => Ok(events),
        None => asked.events(|server, time| server.events_of_pod(namespace, name, time))?,
    };
    if let Ok(events) = &mut events
        && is_uid(name)
    {
        let more = asked.events(|server, time| server.events_of_uid(name, time))?;
        events.extend(more.unwrap_or_default());
    }
    let known = events.as_ref().map_or(&[] as &[PodEvent], |events| events);
    let mut names: BTreeSet<(Option<&str>, &str)> = known
        .iter()
        .map(|event| &event.pod)
        .filter(|pod| selector.matches(&pod.namespace, &pod.name, &pod.uid))
        .map(|pod| (Some(pod.namespace.as_str()), pod.name.as_str()))
        .collect();
    // Events about several pods make the name ambiguous, so no more is needed.
    if names.len() > 1 {
        names.clear();
    }
    names.insert((namespace, name));
    let mut pods: Result<Vec<LoadedPod>, String> = Ok(Vec::new());
    for (namespace, name) in names {
        let more = asked.pods(|server, time| server.pods_of_name(namespace, name, time))?;
        pods = pods.and_then(|pods| Ok(joined(pods, more?)));
    }
    // Without a pod in this namespace, a pod of the name in another one is probably meant.
    if namespace.is_some() && known.is_empty() && pods.as_ref().is_ok_and(Vec::is_empty) {
        let more = asked.pods(|server, time| server.pods_of_name(None, name, time))?;
        pods = pods.map(|pods| joined(pods, more.unwrap_or_default()));
    }
    let hosts = known.iter().filter(|it| it.reporter == "kubelet").map(|it| it.host.as_str());
    let own = pods.iter().flatten().map(|loaded| loaded.pod.spec.node_name.as_str());
    let node = own.chain(spec.node_name.as_deref()).chain(hosts).find(|it| !it.is_empty());
    if let Some(node) = node.map(str::to_owned) {
        let more = asked.pods(|server, time| server.pods_of_node(&node, time))?;
        match (&mut pods, more) {
            (Ok(pods), Ok(more)) => *pods = joined(std::mem::take(pods), more),
            (Ok(_), Err(reason)) => {
                let text = format!("the other pods of node {node}: {reason}");
                asked.basis.lack(Missing::new(MissingFact::Pods, text).with_flags(["--pods"]));
            }
            (Err(_), _) => {}
        }
    }
    // A pod that the scheduler's event names only by UID may have events with its name. Only the
    // last one counts.
    let named = known.iter().filter(|event| event.preemptor_uid().is_some());
    let unnamed = named.max_by_key(|event| event.at).and_then(PodEvent::preemptor_uid);
    let is_known = |uid: &str| pods.iter().flatten().any(|loaded| loaded.pod.metadata.uid == uid);
    let unnamed = unnamed.filter(|uid| !is_known(uid)).map(str::to_owned);
    if let (Ok(events), Some(uid)) = (&mut events, unnamed) {
        let more = asked.events(|server, time| server.events_of_uid(&uid, time))?;
        events.extend(more.unwrap_or_default());
    }
    let basis = asked.basis;
    Ok(PodTraces { pods, events, log: None, now: after_now(), are_current: true, basis })
}

/// The API server, and the facts that it did not return.
struct Asked<'a> {
    server: &'a ApiServer,
    timeout: Duration,
    basis: Basis,
}

impl Asked<'_> {
    /// Requests events; if refused, the fact is missing.
    fn events(
        &self,
        ask: impl FnOnce(&ApiServer, Duration) -> Result<Vec<Vec<u8>>, ApiError>,
    ) -> Result<Result<Vec<PodEvent>, String>, Failure> {
        let pages = match ask(self.server, self.timeout) {
            Ok(pages) => pages,
            Err(error @ ApiError::PodName { .. }) => return Err(Failure::usage(error)),
            Err(error) => return Ok(Err(error.reason())),
        };
        let mut events = Vec::new();
        for page in pages {
            match read_events(&page) {
                Ok(more) => events.extend(more),
                Err(error) => {
                    return Ok(Err(format!("{}: {error}", self.server.source())));
                }
            }
        }
        Ok(Ok(events))
    }

    /// Requests pods; if refused, the fact is missing.
    fn pods(
        &mut self,
        ask: impl FnOnce(&ApiServer, Duration) -> Result<Vec<Vec<u8>>, ApiError>,
    ) -> Result<Result<Vec<LoadedPod>, String>, Failure> {
        let pages = match ask(self.server, self.timeout) {
            Ok(pages) => pages,
            Err(error @ (ApiError::PodName { .. } | ApiError::NodeName { .. })) => {
                return Err(error.into());
            }
            Err(error) => return Ok(Err(error.reason())),
        };
        let mut pods = Vec::new();
        for page in pages {
            let loaded = load("the API server", &page);
            self.basis.lack_all(loaded.problems.iter().map(unread));
            pods.extend(loaded.pods);
        }
        Ok(Ok(pods))
    }
}

/// Adds pods that are not there yet.
fn joined(mut pods: Vec<LoadedPod>, more: Vec<LoadedPod>) -> Vec<LoadedPod> {
    let known: BTreeSet<String> = pods.iter().map(|it| effective_uid(&it.pod).to_owned()).collect();
    pods.extend(more.into_iter().filter(|it| !known.contains(effective_uid(&it.pod))));
    pods
}
