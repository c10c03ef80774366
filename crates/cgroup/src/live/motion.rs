//! Pods that start or end while kq reads the node.
//!
//! Facts are gathered one after the other, so a pod that starts or ends meanwhile is half there. Two things
//! distinguish it from drift: the state of the pod itself ([`Motion`]), and a second comparison ([`DriftSet`]).
//! A difference that is the same twice, with the same containers, is not in motion.

use crate::live::difference::{Difference, Verdict};
use crate::live::place::LiveCgroup;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::runtime::{ContainerState, RuntimeFacts};
use kq_facts::timestamp::Timestamp;
use kq_facts::workloads::effective_uid;
use kq_k8s::pod::Pod;
use std::collections::{BTreeMap, BTreeSet};

/// How long what is added up over all pods can lag behind them: the kubelet writes it when it makes the
/// cgroup of a pod, and once a minute (`periodicQOSCgroupUpdateInterval`,
/// `pkg/kubelet/cm/qos_container_manager_linux.go`).
const REFRESH_NS: i64 = 60_000_000_000;

/// How long after its process began the kubelet writes the QoS classes for the first time, on a slow machine.
const START_NS: i64 = 30_000_000_000;

/// What the sources say of pods that come and go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Motion {
    /// A pod that came or went within the last minute, in words.
    recent: Option<String>,
    /// Pods that are being removed.
    removed: BTreeSet<String>,
    /// The ids of containers that are made and not started.
    created: BTreeSet<String>,
    /// The kubelet has just started.
    is_first_minute: bool,
    /// Pods of which the runtime lists no sandbox that runs.
    without_sandbox: BTreeSet<String>,
}

impl Motion {
    /// Collects what moves at a moment.
    pub fn of<'p>(
        pods: impl IntoIterator<Item = &'p Pod>,
        runtime: Option<&RuntimeFacts>,
        kubelet_started: Option<Timestamp>,
        now: Option<Timestamp>,
    ) -> Self {
        let mut motion = Self::default();
        let mut known = BTreeSet::new();
        let is_recent = |moment: Option<Timestamp>| {
            now.zip(moment).is_some_and(|(now, moment)| now.since(moment) < REFRESH_NS)
        };
        if let (Some(now), Some(started)) = (now, kubelet_started)
            && now.since(started) < REFRESH_NS + START_NS
        {
            // It begins with a sum over no pods, and with what node allocatable has of huge pages.
            motion.recent = Some("the kubelet started within the last minute".to_owned());
            motion.is_first_minute = true;
        }
        let parse = |text: &Option<String>| text.as_ref().and_then(|text| text.parse().ok());
        for pod in pods {
            let uid = effective_uid(pod).to_owned();
            let name = pod.metadata.qualified_name();
            let ended = pod.status.has_ended();
            let start = parse(&pod.status.start_time);
            if is_recent(start) {
                // The status of a static pod starts again with the kubelet.
                let is_older =
                    running_since(pod).any(|running| start.is_some_and(|it| running < it));
                let what = match is_older {
                    true => format!(
                        "the kubelet was restarted, and took up pod {name} within the last minute"
                    ),
                    false => format!("pod {name} started within the last minute"),
                };
                motion.recent.get_or_insert(what);
            }
            let last = ends(pod).filter_map(|text| text.parse::<Timestamp>().ok()).max();
            if ended && is_recent(last) {
                motion.recent.get_or_insert(format!("pod {name} ended within the last minute"));
                motion.removed.insert(uid.clone());
            }
            let resizes =
                pod.status.conditions.iter().filter(|it| it.kind.starts_with("PodResize"));
            if resizes.map(|it| parse(&it.last_transition_time)).any(is_recent) {
                motion
                    .recent
                    .get_or_insert(format!("pod {name} was resized within the last minute"));
            }
            if pod.metadata.deletion_timestamp.is_some() {
                motion.removed.insert(uid.clone());
            }
            known.insert(uid);
        }
        let Some(runtime) = runtime else { return motion };
        for sandbox in runtime.sandboxes.value().into_iter().flatten() {
            let name = format!("{}/{}", sandbox.namespace, sandbox.name);
            if is_recent(Some(Timestamp(sandbox.created_at))) {
                motion.recent.get_or_insert(format!("pod {name} started within the last minute"));
            } else if !sandbox.ready && !known.contains(&sandbox.uid) {
                // The kubelet forgets the sandboxes of pods that are gone once a minute.
                motion.recent.get_or_insert(format!("pod {name} is gone, and its sandbox is not"));
            }
        }
        if let Some(sandboxes) = runtime.sandboxes.value() {
            let running: BTreeSet<&str> =
                sandboxes.iter().filter(|it| it.ready).map(|it| it.uid.as_str()).collect();
            motion.without_sandbox =
                known.iter().filter(|uid| !running.contains(uid.as_str())).cloned().collect();
        }
        let containers = runtime.containers.value().into_iter().flatten();
        let created = containers.filter(|container| container.state == ContainerState::Created);
        motion.created = created.map(|container| container.id.clone()).collect();
        motion
    }

    /// Adds pods that the kubelet's records still have, and that are gone: what is added up over all pods can have them.
    pub fn with_gone(mut self, uids: impl IntoIterator<Item = String>) -> Self {
        if let Some(uid) = uids.into_iter().next() {
            self.recent.get_or_insert(format!(
                "pod {uid} is gone, and the kubelet's records have it still"
            ));
        }
        self
    }

    /// Returns true if a pod is known and the runtime lists no sandbox of it that runs.
    pub(super) fn awaits_sandbox(&self, uid: &str) -> bool {
        self.without_sandbox.contains(uid)
    }

    /// Returns the reason why a difference can be due to a pod or container that starts or ends.
    fn reason(&self, found: &Difference<'_>) -> Option<String> {
        if found.is_sum {
            let recent = self.recent.as_ref()?;
            let lag = match found.file.as_deref().and_then(CgroupFile::named) {
                Some(CgroupFile::CpusetCpus) => "the CPU manager gives out CPUs every 10 seconds",
                _ => "the kubelet writes this level once a minute",
            };
            return Some(format!("{recent}, and {lag}"));
        }
        if self.is_first_minute && found.planned.is_some() && found.is_refreshed {
            let reason = "the kubelet started within the last minute, and writes this again a minute after its \
                          first time";
            return Some(reason.to_owned());
        }
        if found.pod_uid.as_ref().is_some_and(|uid| self.removed.contains(uid)) {
            return Some("the pod is being removed".to_owned());
        }
        let is_created =
            self.created.iter().any(|id| !id.is_empty() && found.cgroup.contains(id.as_str()));
        is_created.then(|| "the container is being created".to_owned())
    }

    /// Calls changing what can be explained by something that comes or goes.
    pub(super) fn excuse(&self, differences: &mut [Difference<'_>]) {
        for found in differences.iter_mut().filter(|found| found.verdict.is_drift()) {
            if let Some(reason) = self.reason(found) {
                found.set_changing(reason);
            }
        }
    }
}

/// Returns when the running containers of a pod started.
fn running_since(pod: &Pod) -> impl Iterator<Item = Timestamp> {
    let statuses = pod.status.container_statuses.iter();
    statuses.filter_map(|status| status.state.running.as_ref()?.started_at.as_ref()?.parse().ok())
}

fn ends(pod: &Pod) -> impl Iterator<Item = &String> {
    let status = &pod.status;
    let statuses = status.containers_and_init();
    statuses.filter_map(|status| status.state.terminated.as_ref()?.finished_at.as_ref())
}

/// What there is of each pod, by UID: its cgroups, and its containers with their states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census(BTreeMap<String, BTreeSet<String>>);

impl Census {
    /// Counts.
    pub fn of<'p>(
        pods: impl IntoIterator<Item = &'p Pod>,
        runtime: Option<&RuntimeFacts>,
        live: &[LiveCgroup<'_>],
    ) -> Self {
        let mut census: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut add = |uid: &str, what: String| {
            census.entry(uid.to_owned()).or_default().insert(what);
        };
        for pod in pods {
            let is_deleted = pod.metadata.deletion_timestamp.is_some();
            add(effective_uid(pod), format!("{} {is_deleted}", pod.status.phase));
        }
        if let Some(runtime) = runtime {
            for sandbox in runtime.sandboxes.value().into_iter().flatten() {
                add(&sandbox.uid, format!("{} {}", sandbox.id, sandbox.ready));
            }
            for container in runtime.containers.value().into_iter().flatten() {
                add(&container.pod_uid, format!("{} {:?}", container.id, container.state));
            }
        }
        for cgroup in live {
            if let Some(pod) = cgroup.owner.pod() {
                add(&pod.uid, cgroup.path.as_str().to_owned());
            }
        }
        Self(census)
    }

    /// Returns true if there is the same of a pod in another census; of no pod, whether there are the same
    /// pods.
    fn agrees(&self, other: &Self, uid: Option<&str>) -> bool {
        match uid {
            Some(uid) => self.0.get(uid) == other.0.get(uid),
            None => self.0.keys().eq(other.0.keys()),
        }
    }
}

/// What a difference is known by from one look to the next.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sighting {
    cgroup: String,
    file: Option<String>,
    planned: Option<String>,
    actual: Option<String>,
    verdict: Verdict,
}

impl Sighting {
    fn of(found: &Difference<'_>) -> Self {
        Self {
            cgroup: found.cgroup.clone(),
            file: found.file.clone(),
            planned: found.planned.clone(),
            actual: found.actual.clone(),
            verdict: found.verdict,
        }
    }
}

/// The differences of one comparison, with their pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriftSet {
    drift: BTreeMap<Sighting, Option<String>>,
    census: Census,
}

/// What differed in the same way in two looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confirmed(BTreeSet<Sighting>);

impl DriftSet {
    /// Remembers what drifts.
    pub fn of(differences: &[Difference<'_>], census: Census) -> Self {
        let drift = differences.iter().filter(|found| found.verdict.is_drift());
        let drift = drift.map(|found| (Sighting::of(found), found.pod_uid.clone()));
        Self { drift: drift.collect(), census }
    }

    /// Returns true if nothing drifts.
    pub fn is_clean(&self) -> bool {
        self.drift.is_empty()
    }

    /// Returns what drifts now as it did in an earlier look.
    pub fn confirmed(&self, earlier: &Self) -> Confirmed {
        let same = self.drift.iter().filter(|(sighting, uid)| {
            earlier.drift.contains_key(sighting)
                && self.census.agrees(&earlier.census, uid.as_deref())
        });
        Confirmed(same.map(|(sighting, _)| sighting.clone()).collect())
    }

    /// Returns true if all that drifts is confirmed.
    pub fn is_settled(&self, confirmed: &Confirmed) -> bool {
        self.drift.len() == confirmed.0.len()
    }
}

impl Confirmed {
    /// Calls changing what drifts in one look only.
    pub fn demote(&self, differences: &mut [Difference<'_>]) {
        for found in differences.iter_mut().filter(|found| found.verdict.is_drift()) {
            if !self.0.contains(&Sighting::of(found)) {
                let was = format!(
                    "{}, or something about its pod, changed between two looks",
                    found.verdict
                );
                found.set_changing(was);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::PlaceLevel;
    use kq_facts::lookup::Lookup;
    use kq_facts::runtime::{Container, Sandbox};

    fn difference(uid: Option<&str>, cgroup: &str, actual: &str) -> Difference<'static> {
        Difference {
            level: PlaceLevel::Pod,
            namespace: None,
            pod: None,
            container: None,
            cgroup: cgroup.to_owned(),
            file: Some("pids.max".to_owned()),
            planned: Some("100".to_owned()),
            actual: Some(actual.to_owned()),
            verdict: Verdict::Drift,
            reason: None,
            writer: None,
            set_by: None,
            is_resizing: false,
            pod_uid: uid.map(str::to_owned),
            is_sum: false,
            is_refreshed: false,
            because: std::borrow::Cow::Borrowed(&[]),
        }
    }

    fn runtime(state: ContainerState) -> RuntimeFacts {
        let container = Container {
            id: "c1".to_owned(),
            pod_uid: "u1".to_owned(),
            state,
            ..Container::default()
        };
        RuntimeFacts {
            containers: Lookup::found("runtime", vec![container].into()),
            ..RuntimeFacts::default()
        }
    }

    #[test]
    fn only_what_is_seen_twice_with_the_same_containers_drifts() {
        use ContainerState::{Exited, Running};
        let look = |state, actual: &str| {
            let census = Census::of([], Some(&runtime(state)), &[]);
            DriftSet::of(&[difference(Some("u1"), "/k/podu1", actual)], census)
        };
        for (name, first, second, expected) in [
            ("the same", look(Running, "7"), look(Running, "7"), Verdict::Drift),
            ("another text", look(Running, "7"), look(Running, "8"), Verdict::Changing),
            ("a container ended", look(Running, "7"), look(Exited, "7"), Verdict::Changing),
            ("not before", DriftSet::default(), look(Running, "7"), Verdict::Changing),
        ] {
            let actual = if name == "another text" { "8" } else { "7" };
            let mut found = [difference(Some("u1"), "/k/podu1", actual)];
            let confirmed = second.confirmed(&first);
            confirmed.demote(&mut found);
            assert_eq!(found[0].verdict, expected, "{name}");
            assert_eq!(second.is_settled(&confirmed), expected == Verdict::Drift, "{name}");
        }
    }

    #[test]
    fn the_sources_say_what_comes_and_goes() {
        let pod = |extra: &str| -> Pod {
            let text = format!(
                r#"{{"metadata":{{"name":"web","namespace":"n","uid":"u1"{}}},"spec":{{"containers":[]}},"status":{extra}}}"#,
                if extra.contains("deleted") {
                    r#","deletionTimestamp":"2026-01-01T00:00:30Z""#
                } else {
                    ""
                }
            );
            serde_json::from_str(&text).expect("a pod")
        };
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().expect("a time");
        let terminated = |at: &str| {
            format!(
                r#"{{"phase":"Succeeded","containerStatuses":[{{"name":"c","state":{{"terminated":{{"finishedAt":"{at}"}}}}}}]}}"#
            )
        };
        let sandbox = |uid: &str, ready, created_at: &str| Sandbox {
            uid: uid.to_owned(),
            ready,
            created_at: created_at.parse::<Timestamp>().expect("a time").0,
            ..Sandbox::default()
        };
        let old = "2025-12-31T00:00:00Z";
        // What the pod says, what the runtime has, is its own drift excused, is that of a sum.
        for (name, status, sandboxes, own, sum) in [
            ("at rest", r#"{"phase":"Running"}"#.to_owned(), vec![], false, false),
            ("started long ago", format!(r#"{{"startTime":"{old}"}}"#), vec![], false, false),
            (
                "started just now",
                r#"{"startTime":"2026-01-01T00:00:30Z"}"#.to_owned(),
                vec![],
                false,
                true,
            ),
            ("deleted", r#"{"message":"deleted"}"#.to_owned(), vec![], true, false),
            ("ended just now", terminated("2026-01-01T00:00:30Z"), vec![], true, true),
            ("ended long ago", terminated(old), vec![], false, false),
            (
                "a young sandbox",
                "{}".to_owned(),
                vec![sandbox("u1", true, "2026-01-01T00:00:30Z")],
                false,
                true,
            ),
            ("an old sandbox", "{}".to_owned(), vec![sandbox("u1", false, old)], false, false),
            ("a sandbox of no pod", "{}".to_owned(), vec![sandbox("u2", false, old)], false, true),
        ] {
            let runtime = RuntimeFacts {
                sandboxes: Lookup::found("runtime", sandboxes.into()),
                ..RuntimeFacts::default()
            };
            let motion = Motion::of([&pod(&status)], Some(&runtime), None, Some(now));
            let total = Difference { is_sum: true, ..difference(None, "/k/burstable", "2") };
            let mut found = [difference(Some("u1"), "/k/podu1", "7"), total];
            motion.excuse(&mut found);
            let excused = found.map(|found| found.verdict == Verdict::Changing);
            assert_eq!(excused, [own, sum], "{name}");
        }
        let motion = Motion::of([], None, Some(now.plus(-1)), Some(now));
        let mut found = [Difference { is_sum: true, ..difference(None, "/k/burstable", "2") }];
        motion.excuse(&mut found);
        assert_eq!(found[0].verdict, Verdict::Changing, "a kubelet that has just started");
        let motion = Motion::of([], Some(&runtime(ContainerState::Created)), None, Some(now));
        let mut found = [
            difference(Some("u1"), "/k/podu1/c1", "7"),
            difference(Some("u1"), "/k/podu1/c2", "7"),
        ];
        motion.excuse(&mut found);
        assert_eq!(found.map(|found| found.verdict), [Verdict::Changing, Verdict::Drift]);
    }

    #[test]
    fn a_kubelet_that_has_just_started_writes_the_classes_again() {
        let now: Timestamp = "2026-01-01T00:02:00Z".parse().expect("a time");
        let of = |is_refreshed, planned: Option<&str>| Difference {
            is_refreshed,
            planned: planned.map(str::to_owned),
            ..difference(None, "/k", "0")
        };
        for (name, is_refreshed, planned, seconds, is_excused) in [
            ("just now", true, Some("4"), 50, true),
            ("on a slow machine", true, Some("4"), 80, true),
            ("long ago", true, Some("4"), 100, false),
            ("written once", false, Some("4"), 50, false),
            ("not planned", true, None, 50, false),
        ] {
            let motion = Motion::of([], None, Some(now.plus(-seconds * 1_000_000_000)), Some(now));
            let mut found = [of(is_refreshed, planned)];
            motion.excuse(&mut found);
            assert_eq!(found[0].verdict == Verdict::Changing, is_excused, "{name}");
        }
        let motion = Motion::default().with_gone(["u9".to_owned()]);
        let mut found = [Difference { is_sum: true, ..difference(None, "/k/burstable", "2") }];
        motion.excuse(&mut found);
        assert_eq!(found[0].verdict, Verdict::Changing, "a pod that is gone is in the records");
    }
}
