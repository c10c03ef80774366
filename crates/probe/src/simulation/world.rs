//! The pod around a probe, as a trace changes it.

use crate::trace::{Changes, Trace, TraceState};
use crate::worker::{ContainerFacts, PodFacts, State};
use kq_facts::timestamp::Timestamp;
use kq_k8s::pod::ProbeType;

/// What a status says between two steps.
#[derive(Clone, Debug)]
pub(super) struct World {
    status: PodFacts,
    is_sidecar: bool,
    status_known: bool,
    deleted: bool,
    /// The container has started by itself, because a startup probe is not there or not this one.
    starts_by_itself: bool,
    generation: u64,
    kubelet_start: Timestamp,
    origin: Timestamp,
}

/// The default time between the start of the kubelet and `0s`.
const HOUR: i64 = 3_600_000_000_000;

impl World {
    /// Makes a pod whose one container runs since `0s`.
    pub fn new(trace: &Trace, origin: Timestamp) -> Self {
        let starts_by_itself = trace.probe_type != ProbeType::Startup;
        let container = ContainerFacts {
            name: trace.container.name.clone(),
            container_id: made_up_id(1),
            state: State::Running { started_at: Some(origin) },
            started: Some(starts_by_itself),
            ready: false,
        };
        let mut status = PodFacts { phase: "Running".to_owned(), ..PodFacts::default() };
        let is_sidecar = trace.container.sidecar;
        match is_sidecar {
            true => status.init_containers.push(container),
            false => status.containers.push(container),
        }
        let started = trace.kubelet.started_at;
        let kubelet_start =
            started.map_or(origin.plus(-HOUR), |at| origin.plus(at.offset(origin).0));
        Self {
            status,
            is_sidecar,
            status_known: true,
            deleted: false,
            starts_by_itself,
            generation: 1,
            kubelet_start,
            origin,
        }
    }

    /// Returns when the kubelet started.
    pub fn kubelet_start(&self) -> Timestamp {
        self.kubelet_start
    }

    /// Returns the status, if the kubelet has one.
    pub fn status(&self) -> Option<&PodFacts> {
        self.status_known.then_some(&self.status)
    }

    /// Returns true if the pod is being deleted.
    pub fn deleted(&self) -> bool {
        self.deleted
    }

    /// Notes that the startup probe has succeeded.
    pub fn has_started(&mut self) {
        if let Some(container) = self.container() {
            container.started = Some(true);
        }
    }

    /// Changes what a step says.
    pub fn change(&mut self, changes: &Changes, now: Timestamp) {
        if changes.is_empty() {
            return;
        }
        let other_id = changes.container_id.as_ref();
        let known_id = self.container().map(|container| container.container_id.clone());
        let restarted =
            changes.restarted || other_id.is_some_and(|id| Some(id) != known_id.as_ref());
        if restarted {
            self.generation = self.generation.saturating_add(1);
        }
        let (generation, starts_by_itself) = (self.generation, self.starts_by_itself);
        let started_at = changes.started_at.map(|at| self.origin.plus(at.offset(self.origin).0));
        if let Some(container) = self.container() {
            if restarted {
                container.container_id =
                    other_id.cloned().unwrap_or_else(|| made_up_id(generation));
                container.state = State::Running { started_at: Some(now) };
                container.started = Some(starts_by_itself);
            }
            container.state = match (changes.state, changes.exit_code, started_at) {
                (Some(TraceState::Waiting), _, _) => State::Waiting,
                (Some(TraceState::Terminated), exit_code, _) => {
                    State::Terminated { exit_code: exit_code.unwrap_or_default() }
                }
                (None, Some(exit_code), _) => State::Terminated { exit_code },
                (_, _, Some(started_at)) => State::Running { started_at: Some(started_at) },
                (Some(TraceState::Running), _, None) => match container.state {
                    running @ State::Running { .. } => running,
                    _ => State::Running { started_at: Some(now) },
                },
                (None, None, None) => container.state,
            };
            container.started = changes.started.or(container.started);
        }
        if let Some(phase) = &changes.phase {
            self.status.phase.clone_from(phase);
        }
        if let Some(restarting) = changes.all_containers_restarting {
            self.status.all_containers_restarting = restarting;
        }
        self.deleted = changes.deleted.unwrap_or(self.deleted);
        self.status_known = changes.status_unknown.map_or(self.status_known, |unknown| !unknown);
    }

    fn container(&mut self) -> Option<&mut ContainerFacts> {
        let status = &mut self.status;
        let list =
            if self.is_sidecar { &mut status.init_containers } else { &mut status.containers };
        list.first_mut()
    }
}

fn made_up_id(generation: u64) -> String {
    format!("containerd://{generation}")
}
