//! The result of one attempt in a trace, and the changes around a probe between two steps.

use super::At;
use crate::attempt::{Attempt, ProbeResult};
use crate::worker::{PodFacts, State};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// The changes of a step; an omitted field does not change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The container was started again: it has another id, runs since this step and has not started
    /// unless it never had to.
    pub restarted: bool,
    pub container_id: Option<String>,
    /// What it does.
    pub state: Option<TraceState>,
    /// How it ended.
    pub exit_code: Option<i32>,
    /// Since when it runs.
    pub started_at: Option<At>,
    /// It has started, as its status says.
    pub started: Option<bool>,
    /// The phase of the pod.
    pub phase: Option<String>,
    /// The pod is being deleted.
    pub deleted: Option<bool>,
    /// The kubelet has no status of the pod.
    pub status_unknown: Option<bool>,
    /// The condition `AllContainersRestarting` is true.
    pub all_containers_restarting: Option<bool>,
}

/// What a container does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TraceState {
    /// It does not run yet, or not again.
    Waiting,
    Running,
    /// It ended.
    Terminated,
}

impl Changes {
    /// Returns true if nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns what makes a trace go by a status, as a kubelet holds it of a pod; `None`: it holds none.
    /// A step needs it only where the status is another than at the step before.
    ///
    /// A container with an unknown start runs since the step.
    pub fn to(status: Option<&PodFacts>, container: &str) -> Self {
        let Some(status) = status else {
            return Self { status_unknown: Some(true), ..Self::default() };
        };
        let found = status.container(container);
        let (state, exit_code, started_at) = match found.map(|it| it.state).unwrap_or_default() {
            State::Waiting => (TraceState::Waiting, None, None),
            State::Running { started_at } => (TraceState::Running, None, started_at.map(At::Time)),
            State::Terminated { exit_code } => (TraceState::Terminated, Some(exit_code), None),
        };
        Self {
            container_id: Some(found.map(|it| it.container_id.clone()).unwrap_or_default()),
            state: Some(state),
            exit_code,
            started_at,
            started: Some(found.is_some_and(|it| it.started == Some(true))),
            phase: (!status.phase.is_empty()).then(|| status.phase.clone()),
            status_unknown: Some(false),
            all_containers_restarting: Some(status.all_containers_restarting),
            ..Self::default()
        }
    }

    /// Writes what changed.
    pub(super) fn serialize_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        fn entry<M: SerializeMap, T: Serialize>(
            map: &mut M,
            name: &str,
            value: Option<&T>,
        ) -> Result<(), M::Error> {
            value.map_or(Ok(()), |value| map.serialize_entry(name, value))
        }
        entry(map, "restarted", self.restarted.then_some(&true))?;
        entry(map, "containerID", self.container_id.as_ref())?;
        entry(map, "state", self.state.as_ref())?;
        entry(map, "exitCode", self.exit_code.as_ref())?;
        entry(map, "startedAt", self.started_at.as_ref())?;
        entry(map, "started", self.started.as_ref())?;
        entry(map, "phase", self.phase.as_ref())?;
        entry(map, "deleted", self.deleted.as_ref())?;
        entry(map, "statusUnknown", self.status_unknown.as_ref())?;
        entry(map, "allContainersRestarting", self.all_containers_restarting.as_ref())
    }
}

/// One attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceAttempt {
    /// What the prober said.
    pub result: ProbeResult,
    /// The text of the event.
    pub message: String,
    /// The prober failed.
    pub error: Option<String>,
}

/// The word for an attempt without a result.
pub(super) const ERROR: &str = "error";

impl TraceAttempt {
    /// Writes the fields; an error that comes with nothing else is a result of its own.
    pub(super) fn serialize_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let (result, message, error) = self.written();
        map.serialize_entry("result", result)?;
        if !message.is_empty() {
            map.serialize_entry("message", message)?;
        }
        error.map_or(Ok(()), |error| map.serialize_entry("error", error))
    }

    fn written(&self) -> (&str, &str, Option<&str>) {
        let result = match self.result {
            ProbeResult::Success => "success",
            ProbeResult::Warning => "warning",
            ProbeResult::Failure => "failure",
            ProbeResult::Unknown => "unknown",
        };
        match &self.error {
            Some(error) if self.result == ProbeResult::Unknown && self.message.is_empty() => {
                (ERROR, error, None)
            }
            error => (result, &self.message, error.as_deref()),
        }
    }
}

impl Serialize for TraceAttempt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.written() {
            (result, "", None) => serializer.serialize_str(result),
            _ => {
                let mut map = serializer.serialize_map(None)?;
                self.serialize_fields(&mut map)?;
                map.end()
            }
        }
    }
}

impl From<&Attempt> for TraceAttempt {
    fn from(attempt: &Attempt) -> Self {
        let Attempt { result, output, error, .. } = attempt;
        Self { result: *result, message: output.text().into_owned(), error: error.clone() }
    }
}

impl From<&TraceAttempt> for Attempt {
    fn from(attempt: &TraceAttempt) -> Self {
        let TraceAttempt { result, message, error } = attempt;
        let output = message.as_str().into();
        Self { result: *result, output, error: error.clone(), ..Self::default() }
    }
}
