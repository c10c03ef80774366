//! The graceful shutdown of a node: how long each pod gets, by its priority.

use kq_facts::kubelet_config::read;
use kq_facts::node::Node;
use kq_k8s::feature_gates::Gate;
use kq_k8s::pod::Pod;
use kq_k8s::priority::SYSTEM_CRITICAL_PRIORITY;
use serde_json::Value;

/// The reason in the status of a pod that ends with its node (`nodeshutdown_manager.go`).
pub const REASON: &str = "Terminated";

/// The message in the status of such a pod.
pub const MESSAGE: &str = "Pod was terminated in response to imminent node shutdown.";

/// An assumption about a shutdown.
pub const BY_SYSTEMD: &str = "the machine is shut down by systemd, which lets the kubelet end its pods first (an inhibitor); \
                              after a power loss they start again";

/// The groups of pods, from the lowest priority to the highest; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShutdownGroups(Vec<Group>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    priority: i64,
    seconds: i64,
}

impl ShutdownGroups {
    /// Returns the groups of a node's kubelet; `None`: it does not end its pods as the node shuts down (`newPodManager`
    /// and `newManagerImpl`, `pkg/kubelet/nodeshutdown`, read in 1.36.2).
    pub fn of(node: &Node) -> Option<Self> {
        let gates = node.kubelet.rules.gates;
        if !gates.enabled(Gate::GracefulNodeShutdown) {
            return None;
        }
        let config = &node.config;
        let given = read(&config.value, config.source?, node.kubelet.version).ok()?.config;
        let listed = given.shutdown_grace_period_by_pod_priority.unwrap_or_default();
        let by_priority = gates.enabled(Gate::GracefulNodeShutdownBasedOnPodPriority);
        let mut groups: Vec<Group> = match by_priority && !listed.is_empty() {
            true => listed.iter().map(Group::of).collect(),
            false => {
                let whole = given.shutdown_grace_period.unwrap_or_default().seconds();
                let critical =
                    given.shutdown_grace_period_critical_pods.unwrap_or_default().seconds();
                vec![
                    Group { priority: 0, seconds: whole.saturating_sub(critical) },
                    Group { priority: i64::from(SYSTEM_CRITICAL_PRIORITY), seconds: critical },
                ]
            }
        };
        groups.sort_by_key(|group| group.priority);
        let is_refused = groups.iter().any(|group| group.seconds < 0);
        let all: i64 = groups.iter().map(|group| group.seconds).sum();
        (all > 0 && !is_refused).then_some(Self(groups))
    }

    /// Returns the seconds that a pod gets: those of its group, or fewer by its own grace period (`groupByPriority` and
    /// `killPods`).
    pub fn seconds(&self, pod: &Pod) -> i64 {
        let priority = i64::from(pod.spec.priority.unwrap_or(0));
        let at = self.0.partition_point(|group| group.priority < priority);
        let group = match self.0.get(at) {
            Some(group) if group.priority > priority && at > 0 => &self.0[at - 1],
            Some(group) => group,
            None => &self.0[self.0.len() - 1],
        };
        let own = pod.spec.termination_grace_period_seconds.unwrap_or(30);
        group.seconds.min(own)
    }
}

impl Group {
    fn of(value: &Value) -> Self {
        let number = |field: &str| value.get(field).and_then(Value::as_i64).unwrap_or(0);
        Self { priority: number("priority"), seconds: number("shutdownGracePeriodSeconds") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_belongs_to_the_group_at_or_below_its_priority() {
        let groups = ShutdownGroups(vec![
            Group { priority: 100, seconds: 10 },
            Group { priority: 1000, seconds: 20 },
            Group { priority: 2_000_000_000, seconds: 60 },
        ]);
        for (priority, grace, expected) in [
            (None, None, 10),
            (Some(100), None, 10),
            (Some(999), None, 10),
            (Some(1000), None, 20),
            (Some(1001), None, 20),
            (Some(2_000_000_000), None, 30),
            (Some(2_000_001_000), Some(90), 60),
            (Some(1000), Some(5), 5),
        ] {
            let mut pod = Pod::default();
            pod.spec.priority = priority;
            pod.spec.termination_grace_period_seconds = grace;
            assert_eq!(groups.seconds(&pod), expected, "{priority:?} {grace:?}");
        }
    }
}
