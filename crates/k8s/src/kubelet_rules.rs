//! Which of the kubelet's rules are in force: its version and its feature gates.
//!
//! Passed to every computation that depends on them. Where versions differ, a method here names the
//! difference, so that no computation compares versions.

use crate::feature_gates::{FeatureGates, Gate};
use crate::version::KubeletVersion;

#[derive(Clone, Copy, Debug)]
pub struct KubeletRules {
    /// Its feature gates, by its version.
    pub gates: FeatureGates,
}

impl KubeletRules {
    /// Returns the rules of a version with every gate at its default.
    pub fn for_version(version: KubeletVersion) -> Self {
        Self { gates: FeatureGates::for_version(version) }
    }

    /// Returns true if huge pages can be set for the pod as a whole (since 1.33).
    pub fn pod_level_hugepages(&self) -> bool {
        self.since(33)
    }

    /// Returns true if a container without huge pages of its own gets the pod's limit (since 1.34).
    pub fn container_takes_pod_level_hugepages(&self) -> bool {
        self.since(34)
    }

    /// Returns true if `memoryReservationPolicy` decides about the protection of memory QoS (since 1.36);
    /// kubelets before protect every request.
    pub fn memory_reservation_policies(&self) -> bool {
        self.since(36)
    }

    /// Returns true if the kubelet reports why the image file system stays full (since 1.35); before, it only
    /// reported how little it freed.
    pub fn explains_full_image_filesystem(&self) -> bool {
        self.since(35)
    }

    /// Returns true if the event about an image without id has a reason of its own (1.36; not in 1.32).
    pub fn names_invalid_image_ids(&self) -> bool {
        self.since(35)
    }

    /// Returns true if a negative `imageMinimumGCAge` is refused (since 1.36); earlier kubelets accept it,
    /// and then no image is too young.
    pub fn refuses_negative_image_minimum_age(&self) -> bool {
        self.since(36)
    }

    /// Returns true if the kubelet counts pod-level resources and sidecars for eviction and
    /// preemption (since 1.34).
    pub fn ranks_by_pod_level_resources(&self) -> bool {
        self.since(34)
    }

    /// Returns true if the kubelet reads the node again where only its labels refuse a pod (1.36; not
    /// in 1.32; assumed since 1.33).
    pub fn reads_node_again(&self) -> bool {
        self.since(33)
    }

    /// Returns true if the kubelet stores the resources that it allocated to pods and counts with them, and
    /// reports resizes by conditions (since 1.33).
    pub fn counts_by_allocations(&self) -> bool {
        self.since(33)
    }

    /// Returns true if a pod with strict supplemental groups is refused where the node does not support
    /// them: since the gate for it is beta (1.33), be it on or off.
    pub fn refuses_strict_groups(&self) -> bool {
        self.since(33)
    }

    /// Returns true if conditions of pods name the generation that the kubelet observed (by default since 1.34).
    pub fn conditions_have_generation(&self) -> bool {
        self.since(34)
    }

    /// Returns true if a condition with the pod's generation keeps it when the kubelet writes it again,
    /// independent of other conditions (since 1.33).
    pub fn conditions_keep_generation(&self) -> bool {
        self.since(33)
    }

    /// Returns true if an event about the error of a prober names the accompanying result
    /// (1.36; not in 1.32; assumed since 1.33).
    pub fn names_state_of_probe_errors(&self) -> bool {
        self.since(33)
    }

    /// Returns true if hints of devices go through the NUMA nodes of the devices alone
    /// (1.36; 1.32 went through all of the machine; assumed since 1.33).
    pub fn hints_of_device_nodes(&self) -> bool {
        self.since(33)
    }

    /// Returns true if a prober without a failure and without a result causes no event
    /// (1.36; 1.32 reported a failed probe; assumed since 1.33).
    pub fn unknown_probes_are_no_event(&self) -> bool {
        self.since(33)
    }

    /// Returns true if the worker of a probe waits for its sidecar to start again where the pod's
    /// policy is `Never` (1.36; not in 1.32; assumed since 1.33).
    pub fn workers_wait_for_sidecars(&self) -> bool {
        self.since(33)
    }

    /// Returns true if a starting kubelet resets the started and ready states of running containers.
    /// All did before 1.35, which added the gate for it.
    pub fn forgets_status_on_restart(&self) -> bool {
        !self.since(35) || self.gates.enabled(Gate::ChangeContainerStatusOnKubeletRestart)
    }

    fn since(&self, minor: u32) -> bool {
        self.gates.version().known().used().at_least(minor)
    }
}

impl Default for KubeletRules {
    /// The newest supported rules.
    fn default() -> Self {
        Self::for_version(KubeletVersion::NEWEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubelet_that_starts_forgets_by_version_and_gate() {
        let gate = Gate::ChangeContainerStatusOnKubeletRestart;
        for (version, on, expected) in [
            ("1.32", false, true),
            ("1.34", false, true),
            ("1.35", false, false),
            ("1.35", true, true),
            ("1.36", false, false),
            ("1.36", true, true),
        ] {
            let rules = KubeletRules::for_version(version.parse().expect("a version"));
            let rules = KubeletRules { gates: rules.gates.with(gate, on) };
            assert_eq!(rules.forgets_status_on_restart(), expected, "{version} {on}");
        }
    }

    #[test]
    fn rules_follow_the_version() {
        // Version: pod-level huge pages, handed on to containers, reservation policies, pod level on.
        for (version, expected) in [
            ("1.30", [false, false, false, false]),
            ("1.32", [false, false, false, false]),
            ("1.33", [true, false, false, false]),
            ("1.34", [true, true, false, true]),
            ("1.35", [true, true, false, true]),
            ("1.36", [true, true, true, true]),
            ("1.40", [true, true, true, true]),
        ] {
            let rules = KubeletRules::for_version(version.parse().expect("a version"));
            let got = [
                rules.pod_level_hugepages(),
                rules.container_takes_pod_level_hugepages(),
                rules.memory_reservation_policies(),
                rules.gates.enabled(Gate::PodLevelResources),
            ];
            assert_eq!(got, expected, "{version}");
        }
    }
}
