//! The numbers of a probe in the kubelet, and the status of a pod for the worker, read from `v1.PodStatus`; an absent field is `None`.

use kq_facts::timestamp::Timestamp;
use kq_k8s::pod::{ContainerState, ContainerStatus, PodStatus, Probe};
use serde::Serialize;

/// The parts of a pod's status that matter to probes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodFacts {
    /// `Pending`, `Running`, `Succeeded`, `Failed`; empty: unknown.
    pub phase: String,
    /// The regular containers.
    pub containers: Vec<ContainerFacts>,
    /// Init containers and sidecars.
    pub init_containers: Vec<ContainerFacts>,
    /// The condition `AllContainersRestarting` is true.
    pub all_containers_restarting: bool,
    /// The condition `Ready` is true.
    pub ready: bool,
}

/// The status of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerFacts {
    pub name: String,
    /// `RUNTIME://ID`; empty before it was created.
    pub container_id: String,
    /// What it does.
    pub state: State,
    /// It has started; `None`: unknown.
    pub started: Option<bool>,
    /// It may get requests.
    pub ready: bool,
}

/// What a container does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It does not run yet, or not again.
    #[default]
    Waiting,
    Running {
        /// Since when; `None`: the status does not say.
        started_at: Option<Timestamp>,
    },
    /// It ended.
    Terminated {
        /// How.
        exit_code: i32,
    },
}

impl PodFacts {
    /// Returns the status of a container: of a regular one, or else of an init container; one without
    /// an id is not there yet.
    pub fn container(&self, name: &str) -> Option<&ContainerFacts> {
        [&self.containers, &self.init_containers].into_iter().find_map(|statuses| {
            let first = statuses.iter().find(|status| status.name == name);
            first.filter(|status| !status.container_id.is_empty())
        })
    }

    /// Returns all statuses.
    pub fn all(&self) -> impl Iterator<Item = &ContainerFacts> {
        self.init_containers.iter().chain(&self.containers)
    }
}

impl From<&PodStatus> for PodFacts {
    fn from(status: &PodStatus) -> Self {
        let is_true = |kind: &str| {
            let condition = status.conditions.iter().find(|condition| condition.kind == kind);
            condition.is_some_and(|condition| condition.status == "True")
        };
        Self {
            phase: status.phase.clone(),
            containers: status.container_statuses.iter().map(ContainerFacts::from).collect(),
            init_containers: status.init_container_statuses.iter().map(Into::into).collect(),
            all_containers_restarting: is_true("AllContainersRestarting"),
            ready: is_true("Ready"),
        }
    }
}

impl From<&ContainerStatus> for ContainerFacts {
    fn from(status: &ContainerStatus) -> Self {
        Self {
            name: status.name.clone(),
            container_id: status.container_id.clone(),
            state: State::from(&status.state),
            started: status.started,
            ready: status.ready,
        }
    }
}

impl From<&ContainerState> for State {
    /// A start that is no time is as good as none: the kubelet would not have written it.
    fn from(state: &ContainerState) -> Self {
        match (&state.running, &state.terminated) {
            (Some(running), _) => {
                let text = running.started_at.as_deref();
                Self::Running { started_at: text.and_then(|text| text.parse().ok()) }
            }
            (None, Some(terminated)) => Self::Terminated { exit_code: terminated.exit_code },
            (None, None) => Self::Waiting,
        }
    }
}

/// Returns true if a container runs since before the kubelet started: more than ten seconds before.
pub(crate) fn started_before_kubelet(state: State, kubelet_start: Timestamp) -> bool {
    const MARGIN: i64 = -10_000_000_000;
    match state {
        State::Running { started_at: Some(started) } => started < kubelet_start.plus(MARGIN),
        _ => false,
    }
}

/// When and how often it is probed, and what counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeTiming {
    /// How long after the start of the container nothing is probed.
    pub initial_delay_seconds: i32,
    /// How long one attempt may take.
    pub timeout_seconds: i32,
    /// How often it is probed.
    pub period_seconds: i32,
    /// How many successes in a row count.
    pub success_threshold: i32,
    /// How many failures in a row count.
    pub failure_threshold: i32,
}

impl ProbeTiming {
    /// Returns the numbers of a probe; 0 is the default, but for the delay (`SetDefaults_Probe`,
    /// `pkg/apis/core/v1/defaults.go`). Pods of every source have them before a kubelet probes.
    pub fn of(probe: &Probe) -> Self {
        let or = |value: i32, default| if value == 0 { default } else { value };
        Self {
            initial_delay_seconds: probe.initial_delay_seconds,
            timeout_seconds: or(probe.timeout_seconds, 1),
            period_seconds: or(probe.period_seconds, 10),
            success_threshold: or(probe.success_threshold, 1),
            failure_threshold: or(probe.failure_threshold, 3),
        }
    }
}

impl Default for ProbeTiming {
    fn default() -> Self {
        Self::of(&Probe::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_become_facts() {
        let status: PodStatus = serde_json::from_str(
            r#"{"phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"},
                               {"type": "AllContainersRestarting", "status": "False"}],
                "containerStatuses": [
                  {"name": "a", "containerID": "containerd://1", "started": true, "ready": true,
                   "state": {"running": {"startedAt": "1970-01-01T00:00:05Z"}}},
                  {"name": "b", "containerID": "", "state": {"waiting": {}}},
                  {"name": "c", "containerID": "containerd://3", "state": {"running": {}}}],
                "initContainerStatuses": [
                  {"name": "b", "containerID": "containerd://2",
                   "state": {"terminated": {"exitCode": 3}}}]}"#,
        )
        .expect("a status");
        let facts = PodFacts::from(&status);
        assert!(facts.ready && !facts.all_containers_restarting);
        let state = |name: &str| facts.container(name).map(|container| container.state);
        let five = Some(Timestamp::from_seconds(5));
        assert_eq!(state("a"), Some(State::Running { started_at: five }));
        assert_eq!(
            state("b"),
            Some(State::Terminated { exit_code: 3 }),
            "no id, so the other list"
        );
        assert_eq!(state("c"), Some(State::Running { started_at: None }));
        assert_eq!(state("d"), None);
    }

    #[test]
    fn ten_seconds_are_allowed_for() {
        let kubelet = Timestamp::from_seconds(100);
        for (name, started, expected) in [
            ("long before", Some(Timestamp::from_seconds(80)), true),
            ("just before", Some(Timestamp(89_999_999_999)), true),
            ("ten seconds", Some(Timestamp::from_seconds(90)), false),
            ("after", Some(Timestamp::from_seconds(101)), false),
            ("unknown", None, false),
        ] {
            let state = State::Running { started_at: started };
            assert_eq!(started_before_kubelet(state, kubelet), expected, "{name}");
        }
        assert!(!started_before_kubelet(State::Waiting, kubelet));
        let first = State::Running { started_at: Some(Timestamp(i64::MIN)) };
        assert!(!started_before_kubelet(first, Timestamp(i64::MIN)), "no overflow");
    }

    #[test]
    fn zero_is_the_default_but_for_the_delay() {
        let timing = ProbeTiming::default();
        let all = [
            timing.initial_delay_seconds,
            timing.timeout_seconds,
            timing.period_seconds,
            timing.success_threshold,
            timing.failure_threshold,
        ];
        assert_eq!(all, [0, 1, 10, 1, 3]);
        let probe = Probe { failure_threshold: 5, initial_delay_seconds: 7, ..Probe::default() };
        let timing = ProbeTiming::of(&probe);
        assert_eq!((timing.failure_threshold, timing.initial_delay_seconds), (5, 7));
    }
}
