//! Who killed a pod, and for which other: from what is left of it.
//!
//! * `evidence`: what one piece of evidence says, and what it means: status, condition, events, log.
//! * `sequel`: the state of the pod after an announcement.
//! * `termination`: how a pod ended when no piece of evidence names the cause.
//! * `preemptor`: for which pod it was.
//! * `meaning`, `reason`: the facts of each meaning and each conclusion, and the sentences made of them.
//! * `report`: the answer in the fields of its JSON; `view`: as a table.
//!
//! Who writes what, read in Kubernetes 1.36.2: `pkg/kubelet/preemption`, `pkg/kubelet/eviction`,
//! `pkg/kubelet/nodeshutdown`, `pkg/scheduler/framework/preemption`, `pkg/controller/tainteviction`,
//! `pkg/controller/podgc`, `pkg/registry/core/pod/storage/eviction.go`.

mod event_evidence;
mod evidence;
pub mod meaning;
mod preemptor;
pub mod reason;
mod report;
mod sequel;
mod termination;
#[cfg(test)]
mod tests;
pub mod view;

pub use evidence::probe_kill;
pub use report::{Cause, Evidence, EvidenceSource, PreemptionCause, Preemptor};

use crate::qualified;
use evidence::Clue;
use kq_answer::{Basis, Certainty, Missing, MissingFact, Warning, WarningCode};
use kq_facts::events::PodEvent;
use kq_facts::kubelet_log::{KubeletLog, LogLine};
use kq_facts::pod_selector::PodSelector;
use kq_facts::timestamp::Timestamp;
use kq_facts::workloads::effective_uid;
use kq_k8s::nearest::nearest;
use kq_k8s::pod::Pod;
use reason::CauseReason;
use sequel::Observations;
use std::collections::{BTreeMap, BTreeSet};
use termination::TerminationCause;

/// What is left of a pod's end. What is unknown says why, and which flag supplies it.
#[derive(Clone, Debug)]
pub struct Traces<'t> {
    /// The pods that are known, of its node and others.
    pub pods: Result<Vec<&'t Pod>, String>,
    /// The events about pods that are known.
    pub events: Result<&'t [PodEvent], String>,
    /// The kubelet's log.
    pub log: Option<&'t KubeletLog>,
    /// The moment of everything.
    pub now: Timestamp,
    /// The pods were read at that moment; else they are from files, which may be older.
    pub are_current: bool,
}

/// The reason for which there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTraces {
    /// The name is that of several pods.
    #[error("{name} means more than one pod: {}", .pods.join(", "))]
    Ambiguous {
        name: String,
        /// The pods, as NAMESPACE/NAME.
        pods: Vec<String>,
        /// Their UIDs, where they have one name.
        uids: Vec<String>,
    },
    /// There is no such pod, and nothing is left of one.
    #[error("no pod {name}, and no trace of one: {looked}")]
    Nothing {
        name: String,
        /// Where was looked.
        looked: String,
        /// The pod that was probably meant, as NAMESPACE/NAME.
        near: Option<String>,
    },
}

/// One pod, as far as it is known: it may be gone, and another may have its name.
#[derive(Clone, Debug, Default)]
struct Subject<'t> {
    name: String,
    uid: String,
    pod: Option<&'t Pod>,
    events: Vec<&'t PodEvent>,
    lines: Vec<&'t LogLine>,
    /// The place of its last line in the log.
    last_line: Option<usize>,
}

/// Returns the component that killed a pod.
/// Fails where nothing is known of the pod, and where the name means several.
pub fn why_killed(
    selector: &PodSelector,
    traces: &Traces<'_>,
    mut basis: Basis,
) -> Result<PreemptionCause, NoTraces> {
    let subjects = subjects(selector, traces)?;
    let mut judged: Vec<(Subject<'_>, Verdict)> = subjects
        .into_iter()
        .map(|subject| {
            let verdict = classify(&subject, traces);
            (subject, verdict)
        })
        .collect();
    // The pod that has the name now comes first; one before it that was killed is explained too.
    let at =
        judged.iter().position(|(_, verdict)| verdict.termination.cause.is_an_end()).unwrap_or(0);
    if at > 0
        && let Some((now, _)) = judged.first()
    {
        let text = format!(
            "{} has another UID now, {}, and was not killed: this is about the one before it",
            now.name, now.uid
        );
        basis.warn(Warning::new(WarningCode::OtherUid, text).about(&now.name));
    }
    let (subject, verdict) = judged.swap_remove(at);
    let Verdict { termination, evidence } = verdict;
    let node = node_of(&subject);
    let preemptors = preemptor::preemptors(&subject, termination.cause, node.as_deref(), traces);
    add_missing(&termination, &preemptors, traces, &mut basis);
    let TerminationCause { cause, certainty, because } = termination;
    if let (Ok(events), Cause::Unknown | Cause::NotKilled, None) =
        (&traces.events, cause, subject.pod)
    {
        let kept = if events.is_empty() { "no" } else { "only these" };
        basis.assume(format!("{kept} events are left: they are kept for an hour by default"));
    }
    Ok(PreemptionCause {
        pod: subject.name.clone(),
        uid: (!subject.uid.is_empty()).then(|| subject.uid.clone()),
        exists: subject.pod.is_some(),
        node,
        cause,
        certainty,
        container: because.container().map(str::to_owned),
        probe: because.probe(),
        because: because.into(),
        preemptors,
        evidence,
        basis,
        status_message: subject.pod.map(|pod| pod.status.message.clone()).unwrap_or_default(),
        now: traces.now,
    })
}

/// What is about the pods that are meant.
struct Meant<'t> {
    pods: Vec<&'t Pod>,
    events: Vec<&'t PodEvent>,
    lines: Vec<&'t LogLine>,
}

/// Picks what is about the pods that are meant.
fn meant<'t>(selector: &PodSelector, traces: &Traces<'t>) -> Meant<'t> {
    let is_meant = |pod: &&Pod| {
        let metadata = &pod.metadata;
        let uids = [effective_uid(pod), &metadata.uid];
        uids.iter().any(|uid| selector.matches(&metadata.namespace, &metadata.name, uid))
    };
    let is_told = |it: &&PodEvent| selector.matches(&it.pod.namespace, &it.pod.name, &it.pod.uid);
    let is_logged = |it: &&LogLine| {
        let (namespace, name) = it.pod.split_once('/').unwrap_or(("", &it.pod));
        selector.matches(namespace, name, &it.uid)
    };
    let events = traces.events.as_ref().map_or(&[] as &[PodEvent], |events| events);
    let lines = traces.log.map_or(&[] as &[LogLine], |log| &log.lines);
    Meant {
        pods: traces.pods.iter().flatten().copied().filter(is_meant).collect(),
        events: events.iter().filter(is_told).collect(),
        lines: lines.iter().filter(is_logged).collect(),
    }
}

/// Finds the pods that are meant, the one that exists first, then those of the latest events.
fn subjects<'t>(selector: &PodSelector, traces: &Traces<'t>) -> Result<Vec<Subject<'t>>, NoTraces> {
    let meant = meant(selector, traces);
    let Meant { pods, events, lines } = &meant;
    let names: BTreeSet<String> = pods
        .iter()
        .map(|pod| qualified(pod))
        .chain(events.iter().map(|it| it.pod.qualified()))
        .chain(lines.iter().map(|it| it.pod.clone()))
        .collect();
    if names.len() > 1 || pods.len() > 1 {
        let uid_of = |pod: &&Pod| effective_uid(pod).to_owned();
        let uids = match names.len() {
            1 => pods.iter().map(uid_of).collect(),
            _ => Vec::new(),
        };
        let (name, pods) = (selector.to_string(), names.into_iter().collect());
        return Err(NoTraces::Ambiguous { name, pods, uids });
    }
    let Some(name) = names.into_iter().next() else {
        let (name, looked) = (selector.to_string(), searched(traces));
        return Err(NoTraces::Nothing { name, looked, near: near(selector, traces) });
    };
    let mut subjects = by_uid(meant);
    subjects.iter_mut().for_each(|subject| subject.name.clone_from(&name));
    subjects.sort_by_key(|subject| {
        let last = subject.events.iter().filter_map(|it| it.at).max();
        (subject.pod.is_none(), std::cmp::Reverse(last), std::cmp::Reverse(subject.last_line))
    });
    Ok(subjects)
}

/// Separates the pods of one name by their UIDs.
fn by_uid<'t>(Meant { pods, events, lines }: Meant<'t>) -> Vec<Subject<'t>> {
    let mut of_uid: BTreeMap<&str, Subject<'t>> = BTreeMap::new();
    let pod = pods.first().copied();
    let own_uids = pod.map(|pod| [effective_uid(pod), pod.metadata.uid.as_str()]);
    // What does not name a UID is about the one pod that is known, or about the only one.
    let known = |uid: &'t str| match own_uids {
        Some([effective, own]) if uid.is_empty() || uid == own => effective,
        _ => uid,
    };
    if let Some(pod) = pod {
        of_uid.entry(effective_uid(pod)).or_default().pod = Some(pod);
    }
    for event in events {
        of_uid.entry(known(&event.pod.uid)).or_default().events.push(event);
    }
    for line in &lines {
        if !line.uid.is_empty() {
            of_uid.entry(known(&line.uid)).or_default();
        }
    }
    // Some clients write events without the UID, and some lines have none.
    let mut uids = of_uid.keys().copied().filter(|uid| !uid.is_empty());
    let only = match (uids.next(), uids.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    };
    if let Some(only) = only
        && let Some(nameless) = of_uid.remove("")
    {
        of_uid.entry(only).or_default().events.extend(nameless.events);
    }
    let mut last_named = None;
    for (at, line) in lines.into_iter().enumerate() {
        // Only some lines say the UID; the others follow the one that did.
        let uid = match line.uid.as_str() {
            "" => last_named.or(only).unwrap_or_default(),
            uid => known(uid),
        };
        last_named = (!uid.is_empty()).then_some(uid).or(last_named);
        let subject = of_uid.entry(uid).or_default();
        subject.lines.push(line);
        subject.last_line = Some(at);
    }
    let named = |(uid, subject): (&str, _)| Subject { uid: uid.to_owned(), ..subject };
    of_uid.into_iter().map(named).collect()
}

/// Returns the pod that was probably meant: one of the name in another namespace, or the nearest name.
fn near(selector: &PodSelector, traces: &Traces<'_>) -> Option<String> {
    let pods = traces.pods.iter().flatten().map(|pod| qualified(pod));
    let events = traces.events.iter().copied().flatten().map(|event| event.pod.qualified());
    let lines = traces.log.iter().flat_map(|log| &log.lines).map(|line| line.pod.clone());
    let known: BTreeSet<String> = pods.chain(events).chain(lines).collect();
    let bare = |pod: &'_ String| pod.rsplit('/').next().unwrap_or_default().to_owned();
    let name = selector.name()?;
    let same_name = known.iter().find(|pod| bare(pod) == name);
    let nearest_of = || match selector.namespace() {
        Some(namespace) => {
            nearest(&format!("{namespace}/{name}"), known.iter().map(String::as_str))
                .map(str::to_owned)
        }
        None => {
            let names: Vec<String> = known.iter().map(bare).collect();
            let near = nearest(name, names.iter().map(String::as_str))?;
            known.iter().find(|pod| bare(pod) == near).cloned()
        }
    };
    same_name.cloned().or_else(nearest_of)
}

fn searched(traces: &Traces<'_>) -> String {
    let pods = match &traces.pods {
        Ok(pods) => format!("{} pods", pods.len()),
        Err(reason) => format!("pods: {reason}"),
    };
    let events = match &traces.events {
        Ok(events) => format!("{} events about pods", events.len()),
        Err(reason) => format!("events: {reason}"),
    };
    let log = traces.log.map(|log| format!("; {} lines of the kubelet's log", log.read));
    format!("{pods}; {events}{}", log.unwrap_or_default())
}

/// The end of one pod, and the evidence.
struct Verdict {
    termination: TerminationCause,
    evidence: Vec<Evidence>,
}

/// Judges by the surest clue; of equally sure ones, the status before the condition before the log before events.
///
/// What is only possible counts where the pod is gone or lives: how it ended says more.
fn classify(subject: &Subject<'_>, traces: &Traces<'_>) -> Verdict {
    let log_names_uid = subject.lines.iter().any(|line| !line.uid.is_empty());
    let read_at = traces.are_current.then_some(traces.now);
    let observed = Observations::new(subject.pod, log_names_uid, read_at);
    let clues = evidence::clues(&observed, &subject.events, &subject.lines, traces.now);
    // Of a pod that is gone, what came before its last start is not what ended it: a static pod that was refused runs later.
    let starts = subject.events.iter().filter(|it| matches!(&*it.reason, "Started"));
    let last_start = starts.filter_map(|event| event.at).max().filter(|_| subject.pod.is_none());
    let is_over = |at: Option<Timestamp>| at.zip(last_start).is_some_and(|(at, start)| at < start);
    let decides = |wanted: Certainty| {
        clues.iter().filter(|clue| !is_over(clue.evidence.at)).find_map(|clue| {
            let (cause, certainty) =
                clue.points_to.filter(|(_, certainty)| *certainty == wanted)?;
            let Evidence { source, means, .. } = &clue.evidence;
            let because = CauseReason::Evidence { source: *source, means: means.clone() };
            Some(TerminationCause::new(cause, certainty, because))
        })
    };
    let decided = decides(Certainty::Certain).or_else(|| decides(Certainty::Likely));
    let termination = decided.unwrap_or_else(|| {
        let mut alone = termination::classify(&observed, &subject.events, &subject.lines);
        if matches!(alone.cause, Cause::Unknown | Cause::NotKilled)
            && let Some(possible) = decides(Certainty::Possible)
        {
            return possible;
        }
        let is_unfulfilled = clues.iter().any(|clue| clue.is_unfulfilled);
        if alone.cause == Cause::NotKilled && is_unfulfilled {
            alone.certainty = Certainty::Likely;
        }
        alone
    });
    let mut evidence: Vec<Evidence> =
        clues.into_iter().map(|Clue { evidence, .. }| evidence).collect();
    // What has no comparable time comes last, as it stands in its source.
    evidence.sort_by_key(|it| (it.at.is_none(), it.at));
    Verdict { termination, evidence }
}

/// Returns the node on which the pod was.
fn node_of(subject: &Subject<'_>) -> Option<String> {
    let bound_to = subject.pod.map(|pod| pod.spec.node_name.clone());
    let mut events = subject.events.iter().rev();
    bound_to.filter(|name| !name.is_empty()).or_else(|| {
        events.find_map(|event| {
            let host = (matches!(&*event.reporter, "kubelet" | "") && !event.host.is_empty())
                .then_some(&*event.host);
            host.or_else(|| preemptor::node_of_message(event)).map(str::to_owned)
        })
    })
}

/// Names the evidence that would make the answer surer.
fn add_missing(
    termination: &TerminationCause,
    preemptors: &[Preemptor],
    traces: &Traces<'_>,
    basis: &mut Basis,
) {
    const HOW: &str = "journalctl -u kubelet -o cat > kubelet.log; --kubelet-log kubelet.log";
    let is_named = preemptors.iter().any(|it| it.certainty == Certainty::Certain);
    let is_sure =
        termination.certainty == Certainty::Certain && termination.cause != Cause::Unknown;
    let is_open = !is_sure || (termination.cause.is_preemption() && !is_named);
    if !is_open {
        return;
    }
    if let Err(reason) = &traces.pods {
        let text = format!("the pods: {reason}");
        basis.lack(Missing::new(MissingFact::Pods, text).with_flags(["--pods", "--kubeconfig"]));
    }
    if let Err(reason) = &traces.events {
        let text = format!("the events: {reason}");
        basis
            .lack(Missing::new(MissingFact::Events, text).with_flags(["--events", "--kubeconfig"]));
    }
    if let CauseReason::ContainerUnknown { container } = &termination.because {
        let text = format!("how container {container} ended: the kubelet did not find out");
        basis.lack(Missing::new(MissingFact::Containers, text));
    }
    match (termination.cause, traces.log) {
        (Cause::PreemptedByKubelet, None) => basis.lack(Missing::new(
            MissingFact::Preemptor,
            format!("for which pod: only the kubelet's log has it, from verbosity 2 on ({HOW})"),
        )),
        (Cause::PreemptedByKubelet, Some(_)) if !is_named => basis.lack(Missing::new(
            MissingFact::Preemptor,
            "for which pod: the log does not name it (verbosity below 2, an older kubelet, or another stretch of \
             time)",
        )),
        (cause, None) if !is_sure && cause.may_be_the_kubelets() => {
            let text = format!("the kubelet's log, which shows the kubelet's actions on the pod ({HOW})");
            basis.lack(Missing::new(MissingFact::KubeletLog, text));
        }
        _ => {}
    }
}
