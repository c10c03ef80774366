//! Which of the kubelet's rules are in force: its version and its feature gates.
//!
//! Passed to every computation that depends on them. Where versions differ, a method here names the
//! difference, so that no computation compares versions.

use crate::k8s::feature_gates::{FeatureGates, Gate};
use crate::k8s::version::KubeletVersion;

#[derive(Clone, Copy, Debug)]
pub struct KubeletRules {
    /// Its feature gates, which know its version.
    pub gates: FeatureGates,
}

impl KubeletRules {
    /// Returns the rules of a version with every gate at its default.
    pub fn for_version(version: KubeletVersion) -> Self {
        Self { gates: FeatureGates::for_version(version) }
    }

    /// Tells whether huge pages can be given for the pod as a whole (since 1.33).
    pub fn pod_level_hugepages(&self) -> bool {
        self.since(33)
    }

    /// Tells whether a container without huge pages of its own gets the pod's limit (since 1.34).
    pub fn container_takes_pod_level_hugepages(&self) -> bool {
        self.since(34)
    }

    /// Tells whether memory QoS asks `memoryReservationPolicy` what to protect (since 1.36);
    /// kubelets before protect every request.
    pub fn memory_reservation_policies(&self) -> bool {
        self.since(36)
    }

    /// Tells whether the kubelet says why the image file system stays full (since 1.35); before, it only
    /// said how little it found.
    pub fn explains_full_image_filesystem(&self) -> bool {
        self.since(35)
    }

    /// Tells whether the event about an image without id has a reason of its own (1.36; not in 1.32).
    pub fn names_invalid_image_ids(&self) -> bool {
        self.since(35)
    }

    /// Tells whether a negative `imageMinimumGCAge` is refused (since 1.36); kubelets before take it,
    /// and then no image is too young.
    pub fn refuses_negative_image_minimum_age(&self) -> bool {
        self.since(36)
    }

    /// Tells whether the kubelet counts resources of the pod as a whole, and sidecars, when it picks
    /// whom to evict or to preempt (since 1.34).
    pub fn ranks_by_pod_level_resources(&self) -> bool {
        self.since(34)
    }

    /// Tells whether the kubelet asks for the node once more where only its labels refuse a pod (1.36; not
    /// in 1.32; assumed since 1.33).
    pub fn looks_at_fresh_node(&self) -> bool {
        self.since(33)
    }

    /// Tells whether the kubelet keeps what it allocated to pods and counts with that, and tells of resizes
    /// by conditions (since 1.33).
    pub fn counts_by_allocations(&self) -> bool {
        self.since(33)
    }

    /// Tells whether a pod with strict supplemental groups is refused where the node does not support
    /// them: since the gate for it is beta (1.33), be it on or off.
    pub fn refuses_strict_groups(&self) -> bool {
        self.since(33)
    }

    /// Tells whether conditions of pods name the generation that the kubelet saw (by default since 1.34).
    pub fn conditions_tell_generation(&self) -> bool {
        self.since(34)
    }

    /// Returns whether a condition that had the generation of the pod has it again when the kubelet writes it anew,
    /// whatever it does with others (since 1.33).
    pub fn conditions_keep_telling_generation(&self) -> bool {
        self.since(33)
    }

    /// Tells whether an event about the error of a prober names the result that came with it
    /// (1.36; not in 1.32; assumed since 1.33).
    pub fn names_state_of_probe_errors(&self) -> bool {
        self.since(33)
    }

    /// Tells whether hints of devices go through the NUMA nodes of the devices alone
    /// (1.36; 1.32 went through all of the machine; assumed since 1.33).
    pub fn hints_of_device_nodes(&self) -> bool {
        self.since(33)
    }

    /// Tells whether a prober that neither failed nor could tell anything is kept out of the events
    /// (1.36; 1.32 wrote of a failed probe; assumed since 1.33).
    pub fn unknown_probes_are_no_event(&self) -> bool {
        self.since(33)
    }

    /// Tells whether the worker of a probe waits for its sidecar to start again where the pod's
    /// policy is `Never` (1.36; not in 1.32; assumed since 1.33).
    pub fn workers_wait_for_sidecars(&self) -> bool {
        self.since(33)
    }

    /// Tells whether a kubelet that starts forgets what it knew of containers that run: that they had
    /// started, and were ready. All did so before 1.35, which brought the gate to ask for it.
    pub fn forgets_status_on_restart(&self) -> bool {
        !self.since(35) || self.gates.enabled(Gate::ChangeContainerStatusOnKubeletRestart)
    }

    fn since(&self, minor: u32) -> bool {
        self.gates.version().known().used().at_least(minor)
    }
}

impl Default for KubeletRules {
    /// The newest rules that kq knows.
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
