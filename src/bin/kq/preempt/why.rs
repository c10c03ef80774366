//! `kq preempt why`

use crate::exit::{Code, Failure, tell};
use crate::form::Form;
use crate::node_args::RootArgs;
use crate::source_args::{SourceArgs, gather};
use anyhow::anyhow;
use kq::answer::Certainty;
use kq::answer::{Basis, Missing};
use kq::edge::api_server::{ApiError, ApiServer};
use kq::edge::clock::after_now;
use kq::edge::input::{read_input, read_input_within, shown};
use kq::facts::events::{PodEvent, read_events};
use kq::facts::kubelet_log::KubeletLog;
use kq::facts::pod_selector::{PodSelector, is_uid};
use kq::facts::snapshot::PodSource;
use kq::facts::timestamp::Timestamp;
use kq::facts::workloads::effective_uid;
use kq::k8s::manifest::{LoadedPod, load};
use kq::node::{FactKey, Needs, of_files};
use kq::preemption::why::view::{table, wide};
use kq::preemption::why::{NoTraces, Traces, why_killed};
use std::collections::BTreeSet;

/// Show which component killed a pod, and for which other pod
///
/// The component is the scheduler, the kubelet, or another one. kq reads the
/// remaining evidence: the pod's status and conditions, its events, and the
/// kubelet's log. Each piece of evidence is a line with its text and its meaning,
/// followed by the answer and its certainty. An answer is certain if the evidence
/// forces it, likely if the evidence leaves another explanation, and possible if
/// an announced end has not happened. The answer names the evidence that would
/// make it more certain. The scheduler's event names the preempting pod. The
/// kubelet names it only in its log; without the log, kq lists the critical pods
/// that may have caused the preemption.
///
/// kq distinguishes a running pod from one whose container was restarted: by a
/// probe, for lack of memory, or because it exited.
///
/// With a kubeconfig (--kubeconfig, $KUBECONFIG), kq reads the pod, its events
/// and the pods of its node from the API server, on any machine. On the node
/// without a kubeconfig, kq reads the pods from the kubelet; the kubelet's own
/// credentials may not list events. With --pods or --events, kq reads only files
/// and reports the data they lack. Events are kept for an hour by default, and
/// snapshots hold none.
///
/// POD is NAME, NAMESPACE/NAME or a UID. Nothing is changed.
///
/// Exit code 0: the pod was preempted, and the component is known or announced.
/// 1: it was not preempted. 3: the evidence does not decide.
///
/// Examples:
///
///   kq preempt why shop/web-7d4b9 --kubeconfig ~/.kube/config
///   journalctl -u kubelet -o cat > kubelet.log
///   kq preempt why shop/web-7d4b9 --kubelet-log kubelet.log
///   kq preempt why web-0 --pods pods.json --events events.json -o wide
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct WhyArgs {
    /// The pod: NAME, NAMESPACE/NAME or UID
    #[arg(value_name = "POD", value_parser = PodSelector::parse)]
    pod: PodSelector,

    /// Events: kubectl get events -A -o json; - reads standard input (can be repeated)
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    events: Vec<String>,

    /// The kubelet's log: journalctl -u kubelet -o cat, or in another journalctl format (can be
    /// repeated)
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    kubelet_log: Vec<String>,

    #[command(flatten)]
    sources: SourceArgs,

    /// Output format
    #[arg(short, long, value_enum, default_value = "table")]
    output: Form,
}

/// The most that is read of a log: a week of a busy kubelet at verbosity 2.
const LONGEST_LOG: u64 = 256 << 20;

/// What was gathered.
struct Gathered {
    pods: Result<Vec<LoadedPod>, String>,
    events: Result<Vec<PodEvent>, String>,
    now: Timestamp,
    /// The pods were read at that moment.
    are_current: bool,
}

impl WhyArgs {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        let selector = self.pod.clone();
        let mut basis = Basis::default();
        let log = self.log()?;
        let of_files = self.events_of_files()?;
        let Gathered { pods, events, now, are_current } =
            self.gather(&selector, of_files, &mut basis)?;
        let pods = pods.as_ref().map(|pods| pods.iter().map(|loaded| &loaded.pod).collect());
        let traces = Traces {
            pods: pods.map_err(Clone::clone),
            events: events.as_deref().map_err(Clone::clone),
            log: log.as_ref(),
            now,
            are_current,
        };
        let answer = why_killed(&selector, &traces, basis).map_err(|error| match &error {
            NoTraces::Ambiguous { .. } => Failure::usage(error).hint("say NAMESPACE/NAME"),
            NoTraces::Nothing { near: Some(near), .. } => {
                let hint = format!("did you mean {near}?");
                Failure::missing(error).hint(hint)
            }
            NoTraces::Nothing { near: None, .. } => Failure::missing(error).hint(
                "name a kubeconfig with --kubeconfig, or give what is left: --pods, --events, \
                 --kubelet-log; events are kept for an hour by default",
            ),
        })?;
        self.output.write(&answer, table, wide)?;
        if self.output.is_for_people() {
            tell(&answer.basis);
        }
        Ok(match answer.cause {
            cause if cause.is_preemption() => Code::Answered,
            cause if cause.is_open() || answer.certainty == Certainty::Possible => Code::Missing,
            _ => Code::No,
        })
    }

    fn log(&self) -> Result<Option<KubeletLog>, Failure> {
        let mut whole: Option<KubeletLog> = None;
        for file in &self.kubelet_log {
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

    fn events_of_files(&self) -> Result<Option<Vec<PodEvent>>, Failure> {
        if self.events.is_empty() {
            return Ok(None);
        }
        let mut events = Vec::new();
        for file in &self.events {
            let bytes = read_input(file).map_err(Failure::missing)?;
            events.extend(read_events(&bytes).map_err(|error| {
                Failure::usage(anyhow!("--events {}: {error}", shown(file)))
                    .hint("kubectl get events -A -o json > events.json")
            })?);
        }
        Ok(Some(events))
    }

    /// Gathers what is left of the pod, from files, a snapshot, the API server or the node.
    fn gather(
        &self,
        selector: &PodSelector,
        events: Option<Vec<PodEvent>>,
        basis: &mut Basis,
    ) -> Result<Gathered, Failure> {
        let sources = &self.sources;
        let has_files = events.is_some() || !sources.pods.is_empty();
        let named = sources.kubeconfig.is_some()
            || (!has_files && sources.spec().environment.kubeconfig.is_some());
        let is_asked = named
            && sources.snapshot.is_none()
            && sources.pods_from.is_none_or(|from| from == PodSource::ApiServer);
        if is_asked {
            return self.of_server(selector, events, basis);
        }
        let not_given = |what: &str| format!("no file with {what} was given");
        let node = sources.node_in_question(events.is_some(), false);
        if sources.snapshot.is_none() && !node.has_root() {
            let pods = match sources.pods.is_empty() {
                true => Err(not_given("pods")),
                false => Ok(self.pods_of_files(basis)?),
            };
            let events = events.ok_or_else(|| not_given("events"));
            return Ok(Gathered { pods, events, now: after_now(), are_current: false });
        }
        let snapshot = gather(sources, &RootArgs::default(), None, WANTS)?;
        kq::node::check_stored(&snapshot, &sources.spec())?;
        let now = snapshot.taken_at.parse().map_err(|error| {
            Failure::usage(error).hint("takenAt of the snapshot says when everything was so")
        })?;
        let pods = match snapshot.pods.found {
            Some(found) => {
                basis.warn_all(found.value.notes);
                basis.lack_all(
                    found
                        .value
                        .left_out
                        .iter()
                        .map(|it| format!("a pod that could not be read: {it}")),
                );
                Ok(found.value.pods)
            }
            None => Err(snapshot.pods.reason()),
        };
        let events = events.ok_or_else(|| match sources.snapshot {
            Some(_) => "a snapshot keeps none".to_owned(),
            None => "a kubelet's own credentials may not list them".to_owned(),
        });
        Ok(Gathered { pods, events, now, are_current: sources.pods.is_empty() })
    }

    fn pods_of_files(&self, basis: &mut Basis) -> Result<Vec<LoadedPod>, Failure> {
        let found = of_files(&self.sources.spec())?.value;
        basis.warn_all(found.notes);
        basis.lack_all(
            found.left_out.iter().map(|it| format!("a pod that could not be read: {it}")),
        );
        Ok(found.pods)
    }

    /// Asks the API server: for events first, which tell more of a pod that is gone.
    fn of_server(
        &self,
        selector: &PodSelector,
        given: Option<Vec<PodEvent>>,
        basis: &mut Basis,
    ) -> Result<Gathered, Failure> {
        let sources = &self.sources;
        let server = sources.spec().connect()?;
        let asked = Asked { server: &server, sources };
        let (namespace, name) = (selector.namespace(), selector.name().unwrap_or_default());
        let mut events = match given {
            Some(events) => Ok(events),
            None => asked.events(|server, time| server.events_of_pod(namespace, name, time))?,
        };
        if let Ok(events) = &mut events
            && is_uid(name)
        {
            events.extend(
                asked.events(|server, time| server.events_of_uid(name, time))?.unwrap_or_default(),
            );
        }
        let known = events.as_ref().map_or(&[] as &[PodEvent], |events| events);
        let mut names: BTreeSet<(Option<&str>, &str)> = known
            .iter()
            .map(|event| &event.pod)
            .filter(|pod| selector.matches(&pod.namespace, &pod.name, &pod.uid))
            .map(|pod| (Some(pod.namespace.as_str()), pod.name.as_str()))
            .collect();
        // Events about several pods make the name ambiguous; nothing more needs to be known of them.
        if names.len() > 1 {
            names.clear();
        }
        names.insert((namespace, name));
        let mut pods: Result<Vec<LoadedPod>, String> = Ok(Vec::new());
        for (namespace, name) in names {
            let more =
                asked.pods(basis, |server, time| server.pods_of_name(namespace, name, time))?;
            pods = pods.and_then(|pods| Ok(joined(pods, more?)));
        }
        // A pod of the name in another namespace is probably meant where there is none in this one.
        if namespace.is_some() && known.is_empty() && pods.as_ref().is_ok_and(Vec::is_empty) {
            let more = asked.pods(basis, |server, time| server.pods_of_name(None, name, time))?;
            pods = pods.map(|pods| joined(pods, more.unwrap_or_default()));
        }
        let hosts = known.iter().filter(|it| it.reporter == "kubelet").map(|it| it.host.as_str());
        let own = pods.iter().flatten().map(|loaded| loaded.pod.spec.node_name.as_str());
        let node = own.chain(sources.node_name.as_deref()).chain(hosts).find(|it| !it.is_empty());
        if let Some(node) = node.map(str::to_owned) {
            let more = asked.pods(basis, |server, time| server.pods_of_node(&node, time))?;
            match (&mut pods, more) {
                (Ok(pods), Ok(more)) => *pods = joined(std::mem::take(pods), more),
                (Ok(_), Err(reason)) => {
                    basis.lack(Missing::new(
                        format!("the other pods of node {node}: {reason}"),
                        ["--pods"],
                    ));
                }
                (Err(_), _) => {}
            }
        }
        // Whom the scheduler's event names by UID alone may have events of its own, with its name. Only the
        // last one counts.
        let named = known.iter().filter(|event| event.preemptor_uid().is_some());
        let unnamed = named.max_by_key(|event| event.at).and_then(PodEvent::preemptor_uid);
        let is_known =
            |uid: &str| pods.iter().flatten().any(|loaded| loaded.pod.metadata.uid == uid);
        let unnamed = unnamed.filter(|uid| !is_known(uid)).map(str::to_owned);
        if let (Ok(events), Some(uid)) = (&mut events, unnamed) {
            let more = asked.events(|server, time| server.events_of_uid(&uid, time));
            events.extend(more?.unwrap_or_default());
        }
        Ok(Gathered { pods, events, now: after_now(), are_current: true })
    }
}

/// What is needed of the node itself: its pods.
const WANTS: Needs = Needs { only_on_node: false, ..Needs::of(&[FactKey::Pods]) };

/// The API server, and how long it may take.
struct Asked<'a> {
    server: &'a ApiServer,
    sources: &'a SourceArgs,
}

impl Asked<'_> {
    /// Asks for events; a refusal is a fact that is missing.
    fn events(
        &self,
        ask: impl FnOnce(&ApiServer, std::time::Duration) -> Result<Vec<Vec<u8>>, ApiError>,
    ) -> Result<Result<Vec<PodEvent>, String>, Failure> {
        let pages = match ask(self.server, self.sources.timeout) {
            Ok(pages) => pages,
            Err(error @ ApiError::PodName { .. }) => return Err(Failure::usage(error)),
            Err(error) => return Ok(Err(error.reason())),
        };
        let mut events = Vec::new();
        for page in pages {
            match read_events(&page) {
                Ok(more) => events.extend(more),
                Err(error) => {
                    return Ok(Err(format!("the API server {}: {error}", self.server.url())));
                }
            }
        }
        Ok(Ok(events))
    }

    /// Asks for pods.
    fn pods(
        &self,
        basis: &mut Basis,
        ask: impl FnOnce(&ApiServer, std::time::Duration) -> Result<Vec<Vec<u8>>, ApiError>,
    ) -> Result<Result<Vec<LoadedPod>, String>, Failure> {
        let pages = match ask(self.server, self.sources.timeout) {
            Ok(pages) => pages,
            Err(error @ (ApiError::PodName { .. } | ApiError::NodeName { .. })) => {
                return Err(error.into());
            }
            Err(error) => return Ok(Err(error.reason())),
        };
        let mut pods = Vec::new();
        for page in pages {
            let loaded = load("the API server", &page);
            let unread = loaded.problems.iter();
            basis.lack_all(unread.map(|it| format!("a pod that could not be read: {it}")));
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
