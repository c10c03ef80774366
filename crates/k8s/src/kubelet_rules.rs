//! Which of the kubelet's rules are in force: its version and its feature gates.
//!
//! Passed to every computation that depends on them. Where versions differ, a method here names the
//! difference, so that no computation compares versions.

use crate::feature_gates::{FeatureGates, Gate};
use crate::patch_fixes::{GATE_PATCHES, GatePatch, PATCHES, PatchFault, PatchNote, PatchRow, READ};
use crate::version::{KubeletVersion, VersionSupport};

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

    /// Returns true if the file of a pod's quota gets what systemd keeps of it (since 1.34). Before, `addCpuQuota`
    /// (`systemd/common.go` of runc 1.2.1 and of `opencontainers/cgroups` v0.0.1) rounds for systemd alone, and
    /// `UnifiedManager.Set` (`systemd/v2.go`; `v1.go` too) writes the file afterwards, as it was asked for. systemd's value is
    /// in the file from the next time that it applies the unit's properties on (`systemctl daemon-reload`).
    pub fn writes_rounded_quota(&self) -> bool {
        // 1.33.8 has `opencontainers/cgroups` v0.0.3.
        self.since(34) || self.has_patch(33, 8)
    }

    /// Returns true if a limit of no process is written, as 1 (since 1.36, where `PidsLimit` of `opencontainers/cgroups` is a
    /// pointer). Before, 0 is "not set" (`isPidsSet` in `fs2/pids.go`; `fs/pids.go` and `genV2ResourcesProperties` too), and
    /// the cgroup keeps the limit that it has.
    pub fn writes_limit_of_no_process(&self) -> bool {
        self.since(36)
    }

    /// Returns true if memory QoS throttles containers without request and limit too, and a pod with a memory limit of its
    /// own as a whole, its containers without a limit no longer (since 1.37).
    pub fn throttles_pods(&self) -> bool {
        self.since(37)
    }

    /// Returns true if memory QoS writes Burstable requests to the cgroup of all pods too (since 1.37):
    /// without it the kernel gives them no protection.
    pub fn protects_all_pods(&self) -> bool {
        self.since(37)
    }

    /// Returns true if each start takes back what memory QoS protected before, unless it protects by requests still (since
    /// 1.37): before, the values stayed where the gate went off, and were 0 each minute without `TieredReservation`.
    pub fn resets_protection(&self) -> bool {
        self.since(37)
    }

    /// Returns true if the limits of the pod's cgroup hang on the own limit of each container alone (since 1.37); before, an
    /// init container counts with the sidecars that run with it.
    pub fn counts_own_limits(&self) -> bool {
        self.since(37)
    }

    /// Returns true if requests with a status are the largest of three sums, of what is asked for, allocated and actuated
    /// (since 1.37); before, the sum of the largest of each container.
    pub fn takes_largest_sum(&self) -> bool {
        self.since(37)
    }

    /// Returns true if `memory.available` is less by the huge pages of the node (since 1.37, by a gate).
    pub fn subtracts_hugepages(&self) -> bool {
        self.gates.enabled(Gate::HugepageAwareEviction)
    }

    /// Returns true if a sidecar above its limit of ephemeral storage is a reason to evict its pod (since 1.37).
    pub fn limits_storage_of_sidecars(&self) -> bool {
        self.since(37)
    }

    /// Returns true if results of readiness probes that run a command are dropped once the pod ends (1.35 and 1.36): the
    /// probers run in a context that ends with the pod.
    pub fn drops_exec_readiness_of_ending_pods(&self) -> bool {
        self.since(35) && !self.since(37)
    }

    /// Returns true if the sysctls of TCP's slow start and of unsent data are safe (since 1.37).
    pub fn has_more_safe_sysctls(&self) -> bool {
        self.since(37)
    }

    /// Returns true if the kubelet reports why the image file system stays full (since 1.35); before, it only
    /// reported how little it freed.
    pub fn explains_full_image_filesystem(&self) -> bool {
        self.since(35)
    }

    /// Returns true if the event about an image without id has a reason of its own (since 1.36).
    pub fn names_invalid_image_ids(&self) -> bool {
        self.since(36)
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

    /// Returns true if host ports of sidecars count (since 1.34); before, those of the containers alone.
    pub fn counts_host_ports_of_sidecars(&self) -> bool {
        // #133390 in 1.33.6.
        self.since(34) || self.has_patch(33, 6)
    }

    /// Returns true if a pod with resources of its own is refused where the gate for them is off (since 1.34, where
    /// `podFeaturesAdmitHandler` of `pkg/kubelet/lifecycle/handlers.go` came); before, they are ignored.
    pub fn refuses_pod_level_resources(&self) -> bool {
        self.since(34)
    }

    /// Returns true if the kubelet reads the node again where only its labels refuse a pod (since 1.35).
    pub fn reads_node_again(&self) -> bool {
        self.since(35)
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

    /// Returns true if the command of a probe is expanded character by character (since 1.35); before, byte by byte
    /// (`tryReadVariableName` in `third_party/forked/golang/expansion/expand.go`).
    pub fn expands_by_characters(&self) -> bool {
        self.since(35)
    }

    /// Returns true if an event about the error of a prober names the accompanying result (since 1.33).
    pub fn names_state_of_probe_errors(&self) -> bool {
        self.since(33)
    }

    /// Returns true if hints of devices go through the NUMA nodes of the devices alone (since 1.36); before, through all
    /// of the machine.
    pub fn hints_of_device_nodes(&self) -> bool {
        self.since(36)
    }

    /// Returns true if a prober without a failure and without a result causes no event (since 1.33); 1.32 reported a failed
    /// probe.
    pub fn unknown_probes_are_no_event(&self) -> bool {
        self.since(33)
    }

    /// Returns true if the worker of a probe waits for its sidecar to start again where the pod's
    /// policy is `Never` (since 1.35, and patches of 1.33 and 1.34).
    pub fn workers_wait_for_sidecars(&self) -> bool {
        !self.has_fault(PatchFault::EndsProbesOfSidecars)
    }

    /// Returns true if a starting kubelet that keeps the status of containers also keeps that a sidecar has started (since
    /// 1.36, and a patch of 1.35).
    pub fn keeps_start_of_sidecars(&self) -> bool {
        !self.has_fault(PatchFault::ForgetsStartedSidecars)
    }

    /// Returns true if the kubelet has a fault that a patch release ended, and the gates with which it has an effect.
    pub fn has_fault(&self, fault: PatchFault) -> bool {
        self.gates.version().has_fault(fault) && self.meets(fault)
    }

    /// Returns what to say of a fault that concerns the answer; `None`: the kubelet does not have it.
    pub fn patch_note(&self, fault: PatchFault) -> Option<PatchNote> {
        self.gates.version().patch_note(fault).filter(|_| self.meets(fault))
    }

    /// Returns true if the gates are such that a fault has an effect.
    fn meets(&self, fault: PatchFault) -> bool {
        match fault {
            // With the gate the rules of the container decide.
            PatchFault::EndsProbesOfSidecars => !self.gates.enabled(Gate::ContainerRestartRules),
            PatchFault::ForgetsStartedSidecars => !self.forgets_status_on_restart(),
            PatchFault::WatchdogWhileWaiting => self.gates.enabled(Gate::SystemdWatchdog),
            _ => true,
        }
    }

    /// Returns true if a starting kubelet resets the started and ready states of running containers.
    /// All did before 1.35, which added the gate for it.
    pub fn forgets_status_on_restart(&self) -> bool {
        !self.since(35) || self.gates.enabled(Gate::ChangeContainerStatusOnKubeletRestart)
    }

    /// Returns true for a line from a patch on.
    fn has_patch(&self, minor: u32, patch: u32) -> bool {
        let is_of_line = self.since(minor) && !self.since(minor + 1);
        is_of_line && self.gates.version().patch.is_some_and(|it| it >= patch)
    }

    fn since(&self, minor: u32) -> bool {
        self.gates.version().known().used().at_least(minor)
    }
}

/// How far an option of the CPU manager's static policy is in a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionStage {
    /// It needs `CPUManagerPolicyAlphaOptions`.
    Alpha,
    /// It needs `CPUManagerPolicyBetaOptions`.
    Beta,
    /// It needs no gate.
    Stable,
}

/// A part of the kubelet whose rules were read, or not, in the source of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleArea {
    /// Flags, configuration, gates, and what else ends the start.
    Start,
    /// The values of cgroups.
    Cgroups,
    /// Admission and preemption.
    Admission,
    /// The ranking, the thresholds and the limits of eviction.
    Eviction,
    /// The managers of devices, CPUs, memory and topology.
    Managers,
    Probes,
    /// The collection of images.
    Images,
}

impl RuleArea {
    /// Every one of them.
    pub const ALL: [Self; 7] = [
        Self::Start,
        Self::Cgroups,
        Self::Admission,
        Self::Eviction,
        Self::Managers,
        Self::Probes,
        Self::Images,
    ];

    /// Returns what of the rules of 1.37 was read where, and what is taken from 1.36.
    fn of_1_37(self) -> &'static str {
        match self {
            Self::Start => {
                "start: gates, fields, their validation and removed flags by its source; other flags, defaults of fields \
                 and paths of the start as in 1.36"
            }
            Self::Cgroups => {
                "cgroups: memory QoS and totals of pods by its source of July 2026, memory.high of pods by a test alone; \
                 the rest as in 1.36"
            }
            Self::Admission => {
                "admission: totals of pods by its source of July 2026, safe sysctls by release notes; the rest, \
                 preemption too, as in 1.36"
            }
            Self::Eviction => {
                "eviction: huge pages by the enhancement proposal, sidecars by release notes; the rest as in 1.36"
            }
            Self::Managers => {
                "devices, CPUs, memory and topology: no file of the managers was read; as in 1.36"
            }
            Self::Probes => {
                "probes: no file was read; as in 1.36, but for exec probes of pods that end, by the text of a pull request"
            }
            Self::Images => {
                "images: no file was read, and no release note names the collection; as in 1.36"
            }
        }
    }
}

/// The options of the CPU manager's static policy, and the minor versions from which each is beta and stable
/// (`pkg/kubelet/cm/cpumanager/policy_options.go`).
const CPU_OPTIONS: [(&str, u32, u32); 6] = [
    ("align-by-socket", u32::MAX, u32::MAX),
    ("distribute-cpus-across-cores", u32::MAX, u32::MAX),
    ("distribute-cpus-across-numa", 33, u32::MAX),
    ("full-pcpus-only", 0, 33),
    ("prefer-align-cpus-by-uncorecache", 34, 36),
    ("strict-cpu-reservation", 33, 35),
];

/// Rules that depend on the version alone, also on one that kq does not know.
impl KubeletVersion {
    /// Returns true if the kubelet asks the runtime for its cgroup driver (since 1.31).
    pub fn asks_runtime_for_driver(self) -> bool {
        self.at_least(31)
    }

    /// Returns true if no gate keeps it from asking (since 1.34).
    pub fn locks_runtime_driver(self) -> bool {
        self.at_least(34)
    }

    /// Returns true if the kubelet starts on cgroup v1 only with `failCgroupV1: false` (since 1.35).
    pub fn refuses_cgroup_v1(self) -> bool {
        self.at_least(35)
    }

    /// Returns true if the start checks `imagePullCredentialsVerificationPolicy` (since 1.33).
    pub fn checks_pull_credentials(self) -> bool {
        self.at_least(33)
    }

    /// Returns true if names in `preloadedImagesVerificationAllowlist` are parsed as they are (since 1.36); before, they are
    /// completed as names on Docker Hub, and have to be whole (`getAllowlistImagePattern` in
    /// `pkg/kubelet/images/pullmanager/image_pull_policies.go`).
    pub fn parses_image_names_as_they_are(self) -> bool {
        self.at_least(36)
    }

    /// Returns true if the start checks `userNamespaces.idsPerPod` (since 1.33).
    pub fn checks_ids_per_pod(self) -> bool {
        self.at_least(33)
    }

    /// Returns true if the start checks `containerLogMaxFiles` (since 1.33).
    pub fn checks_log_files(self) -> bool {
        self.at_least(33)
    }

    /// Returns true if errors about the configuration show their numbers as JSON (since 1.34): before, unsigned ones have base 16
    /// (`ErrorBody` in `apimachinery/pkg/util/validation/field/errors.go`).
    pub fn shows_numbers_as_json(self) -> bool {
        self.at_least(34)
    }

    /// Returns true if `showHiddenMetricsForVersion` is refused as a field (since 1.36); before, as a flag
    /// (`ValidateShowHiddenMetricsVersion` in `component-base/metrics/options.go`).
    pub fn names_field_of_hidden_metrics(self) -> bool {
        self.at_least(36)
    }

    /// Returns true if the errors of `--reserved-memory` are spelled as they should be (since 1.35); before, they have
    /// "exptected" and "quantatity" (`ReservedMemoryVar.Set` in `pkg/util/flag/flags.go`).
    pub fn spells_reserved_memory(self) -> bool {
        self.at_least(35)
    }

    /// Returns true if errors about the length of names and labels speak of bytes (since 1.35: `MaxLenError` in
    /// `apimachinery/pkg/api/validate/content/errors.go`); before, of characters (`pkg/util/validation/validation.go`).
    pub fn counts_bytes_of_names(self) -> bool {
        self.at_least(35)
    }

    /// Returns true if `tracing` needs its gate (before 1.34).
    pub fn needs_gate_for_tracing(self) -> bool {
        !self.at_least(34)
    }

    /// Returns true if the start checks `memoryReservationPolicy` (since 1.36).
    pub fn checks_memory_reservation_policy(self) -> bool {
        self.at_least(36)
    }

    /// Returns true if `memoryThrottlingFactor` has no default, and is refused without the gate MemoryQoS (since 1.37).
    pub fn throttles_only_on_demand(self) -> bool {
        self.at_least(37)
    }

    /// Returns true if the start checks `defaultPodSysctls` (since 1.37).
    pub fn has_default_pod_sysctls(self) -> bool {
        self.at_least(37)
    }

    /// Returns true if the server of the kubelet loads its pair where one file of both is named (until 1.35).
    pub fn needs_both_of_a_pair(self) -> bool {
        !self.at_least(36)
    }

    /// Returns true if the refusal of `enableSystemLogQuery` without its gate names that field (since 1.35); before, it names
    /// `enableSystemLogHandler`.
    pub fn names_log_query(self) -> bool {
        self.at_least(35)
    }

    /// Returns true if a claim cache that cannot be read is reported in the words of 1.34 and later.
    pub fn creates_resource_claim_cache(self) -> bool {
        self.at_least(34)
    }

    /// Returns true if `mergeDefaultEvictionSettings` counts (since 1.33).
    pub fn merges_default_eviction_settings(self) -> bool {
        self.at_least(33)
    }

    /// Returns true if the kubelet records the resources of a pod as a whole when it creates it
    /// (`UpdateActuatedPodLevelResources`, read in 1.35.6).
    pub fn records_pod_level_resources(self) -> bool {
        self.at_least(35)
    }

    /// Returns true if the kubelet stores the allocated and the actuated resources of pods in a file each (since 1.33).
    pub fn has_two_files_of_pods(self) -> bool {
        self.at_least(33)
    }

    /// Returns true if the kubelet stores the resources of pods whatever the gate for resizing says, and a damaged file is an error of
    /// its start (since 1.35); before, it panicked.
    pub fn always_stores_pods(self) -> bool {
        self.at_least(35)
    }

    /// Returns true if static pods can be resized in place (since 1.36).
    pub fn resizes_static_pods(self) -> bool {
        self.at_least(36)
    }

    /// Returns true if a resize above what is allocatable is infeasible (before 1.36); later kubelets defer it.
    pub fn refuses_too_large_resizes(self) -> bool {
        !self.at_least(36)
    }

    /// Returns true if the size of a resize is compared with the capacity without reserved resources (since 1.34);
    /// before, with the allocatable resources of the Node object.
    pub fn compares_resizes_with_reservations(self) -> bool {
        self.at_least(34)
    }

    /// Returns true if a static manager makes a resize infeasible only where it changes the manager's own resource,
    /// and each has its gate (since 1.34).
    pub fn static_managers_refuse_own_resource(self) -> bool {
        self.at_least(34)
    }

    /// Returns true if the static memory manager makes a resize infeasible (since 1.33): 1.32 compares with a policy of
    /// another spelling.
    pub fn static_memory_manager_refuses_resizes(self) -> bool {
        self.at_least(33)
    }

    /// Returns true if a resize of memory is infeasible for a container that may swap (since 1.33:
    /// `disallowResizeForSwappableContainers` in `pkg/kubelet/kubelet.go`).
    pub fn refuses_resizes_with_swap(self) -> bool {
        self.at_least(33)
    }

    /// Returns true if sidecars can be resized (since 1.33).
    pub fn resizes_sidecars(self) -> bool {
        self.at_least(33)
    }

    /// Returns true if another memory request alone is a resize of the container (since 1.33): 1.32 compares with
    /// what the runtime reports, which has no memory request.
    pub fn resizes_memory_requests(self) -> bool {
        self.at_least(33)
    }

    /// Returns true if the kubelet compares each memory limit that a resize lowers with the usage (since 1.34);
    /// before, the limit of the pod at any resize of memory.
    pub fn compares_lowered_limits_with_usage(self) -> bool {
        self.at_least(34)
    }

    /// Returns true if an API server of this version forbids to lower or to add a memory limit without a restart (1.33:
    /// `validateContainerResize` in `pkg/apis/core/validation/validation.go`).
    pub fn forbids_lower_memory_limits(self) -> bool {
        self.at_least(33) && !self.at_least(34)
    }

    /// Returns true if an API server of this version forbids every resize of a pod with resources of its own (before
    /// 1.35); later ones have a gate.
    pub fn forbids_resizes_at_pod_level(self) -> bool {
        !self.at_least(35)
    }

    /// Returns true if an API server of this version forbids every resize of a pod with claims on what the node has to allocate
    /// (since 1.36).
    pub fn forbids_resizes_with_claims(self) -> bool {
        self.at_least(36)
    }

    /// Returns true if a container that was already running keeps its readiness over a restart of the kubelet (since 1.35).
    pub fn keeps_readiness(self) -> bool {
        self.at_least(35)
    }

    /// Returns true if the runtimes that were released with the kubelet turn CPU shares into weights by a curve (since 1.35).
    pub fn is_of_runtimes_with_curve(self) -> bool {
        self.at_least(35)
    }

    /// Returns true if a later version acts in a way that began with a minor version, and this one does not.
    pub fn is_before(self, minor: u32, later: Self) -> bool {
        !self.at_least(minor) && later.at_least(minor)
    }

    /// Returns the version of grpc-go in the kubelet's `go.mod`.
    pub fn grpc_go(self) -> &'static str {
        match self.known().used().minor {
            ..=32 => "1.65.0",
            33 => "1.68.1",
            34 => "1.72.1",
            35 => "1.72.2",
            36.. => "1.79.3",
        }
    }

    /// Returns true if the kubelet is announced not to start with containerd 1.x (from 1.38).
    pub fn ends_containerd_1(self) -> bool {
        self.at_least(38)
    }

    /// Returns true if the device plugin API is code that gogo made (before 1.34), which takes other bytes and prints
    /// messages with the names of their types (`deviceplugin/v1beta1/api.pb.go`).
    pub fn reads_plugins_by_gogo(self) -> bool {
        !self.at_least(34)
    }

    /// Returns true if the kubelet panics where it aligns an allocated device that its plugin no longer lists (since 1.34,
    /// whose devices are pointers).
    pub fn panics_at_unlisted_devices(self) -> bool {
        self.at_least(34)
    }

    /// Returns true if a static pod that references API objects can be refused (since 1.34).
    pub fn can_refuse_static_references(self) -> bool {
        self.at_least(34)
    }

    /// Returns true if more than 31 pulls at a time panic with the verification of credentials (1.33 to 1.36, whose
    /// `NewStripedLockSet` in `pkg/kubelet/images/pullmanager/locks.go` counts locks that it does not have).
    pub fn panics_on_parallel_pulls(self) -> bool {
        self.at_least(33) && !self.at_least(37)
    }

    /// Returns true if the line of the kubelet's source is known that errors about another kind name (1.32 to 1.36: 33 of
    /// `pkg/kubelet/apis/config/scheme/scheme.go`).
    pub fn has_known_lines(self) -> bool {
        self.at_least(32) && !self.at_least(37)
    }

    /// Returns true if the CPU and memory managers write a layout of their files whose checksums were not read
    /// (since 1.37).
    pub fn writes_unread_state_files(self) -> bool {
        self.at_least(37)
    }

    /// Returns how surely the rules of an area are those of this version; `None`: they were read in its source.
    pub fn certainty(self, area: RuleArea) -> Option<String> {
        let is_partly_read = self.at_least(37) && self.is_known();
        is_partly_read.then(|| format!("kubelet {self}, {}", area.of_1_37()))
    }

    /// Returns true if kq knows the rules of exactly this version.
    pub fn is_known(self) -> bool {
        matches!(self.known(), VersionSupport::Inside(_))
    }

    /// Returns the supported versions.
    pub fn supported() -> impl Iterator<Item = Self> {
        (Self::OLDEST.minor..=Self::NEWEST.minor).map(|minor| Self::new(1, minor))
    }

    /// Returns how far an option of the CPU manager's static policy is; `None`: there is none of this name.
    pub fn cpu_policy_option(self, name: &str) -> Option<OptionStage> {
        let (_, beta, stable) = CPU_OPTIONS.iter().find(|(known, ..)| *known == name)?;
        Some(match (self.at_least(*stable), self.at_least(*beta)) {
            (true, _) => OptionStage::Stable,
            (false, true) => OptionStage::Beta,
            (false, false) => OptionStage::Alpha,
        })
    }
}

/// Patch releases: the data is in `patch_fixes`.
impl KubeletVersion {
    /// Returns true if this version has a fault that a patch release ended. Of a version without a patch the newest one is
    /// meant, whose rules kq has.
    pub fn has_fault(self, fault: PatchFault) -> bool {
        self.patch_row(fault).is_some_and(|row| match row.fixed_in {
            Some(fixed) => self.patch.is_some_and(|patch| patch < fixed),
            None => true,
        })
    }

    /// Returns what to say of a fault: the version has it, or has no patch, which decides.
    pub fn patch_note(self, fault: PatchFault) -> Option<PatchNote> {
        let row = self.patch_row(fault)?;
        let line = Self::new(self.major, row.minor);
        let (last, fixed) = match row.fixed_in {
            Some(fixed) => (fixed.checked_sub(1)?, line.with_patch(fixed)),
            None => (self.newest_read()?, Self::new(self.major, fault.sound_since())),
        };
        let is_open = self.patch.is_none() && row.fixed_in.is_some();
        (is_open || self.has_fault(fault)).then(|| PatchNote {
            fault,
            version: self,
            first: line.with_patch(0),
            last: (last > 0).then(|| line.with_patch(last)),
            fixed,
            pull: row.pull,
            is_read_to_the_end: row.fixed_in.is_some(),
            is_assumed_fixed: is_open,
        })
    }

    /// Returns the patch that changed a gate in the line of this version.
    pub fn gate_patch(self, gate: &str) -> Option<&'static GatePatch> {
        let minor = self.is_known().then_some(self.minor)?;
        GATE_PATCHES.iter().find(|row| row.minor == minor && row.gate == gate)
    }

    /// Returns true if this version is of an earlier patch than the one that changed a gate of its line.
    pub fn precedes(self, change: &GatePatch) -> bool {
        self.patch.is_some_and(|patch| patch < change.patch)
    }

    /// Returns what to say of a gate that the first patches of the line do not have, and the kubelet's patch is not known.
    pub fn gate_note(self, gate: &str) -> Option<String> {
        let change =
            self.gate_patch(gate).filter(|it| self.patch.is_none() && it.before == b'.')?;
        let GatePatch { patch, pull, .. } = change;
        let (first, last) = (self.with_patch(0), self.with_patch(patch.checked_sub(1)?));
        let fixed = self.with_patch(*patch);
        Some(format!(
            "kubelet {self} is {fixed} or later: {first} to {last} do not start with {gate}, which they do not know (#{pull})"
        ))
    }

    /// Returns the newest patch of the line whose notes were read.
    pub fn newest_read(self) -> Option<u32> {
        READ.iter().find(|(minor, _)| *minor == self.minor).map(|(_, patch)| *patch)
    }

    fn patch_row(self, fault: PatchFault) -> Option<&'static PatchRow> {
        let minor = self.is_known().then_some(self.minor)?;
        PATCHES.iter().find(|row| row.minor == minor && row.fault == fault)
    }
}

/// Rules of the CPU, memory and topology managers (`pkg/kubelet/cm/cpumanager`, `memorymanager`, `topologymanager`), read in
/// 1.32 to 1.36.
impl KubeletRules {
    /// Returns true if a part of an uncore cache is taken by rounding up to whole cores, with one CPU less for an odd
    /// number (since 1.34); before, by rounding down. A distribution has it in its 1.33.
    pub fn rounds_up_cores_of_cache(&self) -> bool {
        self.since(34)
    }

    /// Returns true if exclusive CPUs and memory go by `allocatedResources` of the container's status while resizing in place
    /// is on (before 1.35); later by the spec, which the kubelet sets to what it allocated.
    pub fn exclusive_amounts_by_status(&self) -> bool {
        !self.since(35) && self.gates.enabled(Gate::InPlacePodVerticalScaling)
    }

    /// Returns true if the status of a sidecar counts too, where that of containers does (since 1.33).
    pub fn reads_status_of_sidecars(&self) -> bool {
        self.since(33)
    }

    /// Returns true if a pod with pod-level resources gets no exclusive CPUs: since 1.34 with the gate, since 1.36
    /// unless the managers allocate to pods as a whole.
    pub fn skips_pod_level_resources(&self) -> bool {
        if self.since(36) {
            return !self.manages_pod_level_resources();
        }
        self.since(34) && self.gates.enabled(Gate::PodLevelResources)
    }

    /// Returns true if the managers allocate to pods as a whole.
    pub fn manages_pod_level_resources(&self) -> bool {
        self.gates.enabled(Gate::PodLevelResourceManagers)
            && self.gates.enabled(Gate::PodLevelResources)
    }

    /// Returns true if the files of the CPU and memory managers can have allocations of pods as a whole (since 1.36). Earlier
    /// kubelets read the oldest layout of the CPU manager's file first and report the error of the newest, accept one name
    /// in the text of a checksum, and need the checksum in the memory manager's file.
    pub fn has_state_files_of_pods(&self) -> bool {
        self.since(36)
    }

    /// Returns true if `max-allowable-numa-nodes` of the topology manager is stable (since 1.35); before, it is beta.
    pub fn max_numa_nodes_is_stable(&self) -> bool {
        self.since(35)
    }

    /// Returns true if the topology manager's errors about the gates of options begin with a capital letter (1.32).
    pub fn topology_errors_are_capitalised(&self) -> bool {
        !self.since(33)
    }
}

impl Default for KubeletRules {
    /// The rules that are assumed where the version is not known.
    fn default() -> Self {
        Self::for_version(KubeletVersion::ASSUMED)
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

    fn version(text: &str) -> KubeletVersion {
        text.parse().expect("a version")
    }

    #[test]
    fn each_patch_ends_its_fault() {
        for row in &PATCHES {
            let line = KubeletVersion::new(1, row.minor);
            let has = |patch: u32| line.with_patch(patch).has_fault(row.fault);
            let notes = |patch: u32| line.with_patch(patch).patch_note(row.fault).is_some();
            let last = match row.fixed_in {
                Some(fixed) => {
                    assert!(!has(fixed) && !has(fixed + 1) && !notes(fixed), "{row:?}");
                    assert!(!line.has_fault(row.fault), "{row:?}: the newest patch");
                    assert!(line.patch_note(row.fault).is_some_and(|it| it.is_assumed_fixed));
                    fixed - 1
                }
                None => line.newest_read().expect("a patch"),
            };
            assert!(has(0) && has(last) && notes(0) && notes(last), "{row:?}");
            let sound = KubeletVersion::new(1, row.fault.sound_since());
            assert!(!sound.with_patch(0).has_fault(row.fault), "{row:?}: {sound}");
        }
        for fault in PatchFault::ALL {
            assert!(PATCHES.iter().any(|row| row.fault == fault), "{fault:?} is in no line");
            assert!(!version("1.30.1").has_fault(fault) && !version("1.40.0").has_fault(fault));
        }
    }

    #[test]
    fn a_note_names_the_patches() {
        let note = |text: &str, fault| version(text).patch_note(fault).map(|it| it.to_string());
        let fault = PatchFault::TakesStaticClaims;
        let what = "a static pod with resourceClaims is accepted, and does not run";
        let expected = format!("kubelet 1.32.5: {what} (1.32.0 to 1.32.5 only; #131875)");
        assert_eq!(note("1.32.5", fault), Some(expected));
        assert_eq!(note("1.32.6", fault), None);
        let expected =
            format!("kubelet 1.33 is 1.33.2 or later: {what} in 1.33.0 to 1.33.1 only (#131876)");
        assert_eq!(note("1.33", fault), Some(expected));
        let alone = note("1.32.2", PatchFault::LosesNodeStatus).expect("a note");
        assert!(
            alone.ends_with("(1.32.0 to 1.32.2 only; #130356, by the changelog alone)"),
            "{alone}"
        );
        let only = note("1.36.0", PatchFault::LacksZfs).expect("a note");
        assert!(only.ends_with("(1.36.0 only; #138590)"), "{only}");
        let read = note("1.33.4", PatchFault::ForgetsRestartedContainers).expect("a note");
        assert!(
            read.ends_with("(1.33.0 to 1.33.12, and perhaps later; not in 1.36; #135485)"),
            "{read}"
        );
    }

    #[test]
    fn rules_of_single_versions_begin_where_they_were_read() {
        // Reads the node again, hints of the devices' nodes, a reason for image IDs, caches rounded up, amounts of the spec.
        for (minor, expected) in [
            (32, [false, false, false, false, true]),
            (33, [false, false, false, false, false]),
            (34, [false, false, false, true, false]),
            (35, [true, false, false, true, true]),
            (36, [true, true, true, true, true]),
            (37, [true, true, true, true, true]),
        ] {
            let rules = KubeletRules::for_version(KubeletVersion::new(1, minor));
            let got = [
                rules.reads_node_again(),
                rules.hints_of_device_nodes(),
                rules.names_invalid_image_ids(),
                rules.rounds_up_cores_of_cache(),
                !rules.exclusive_amounts_by_status(),
            ];
            assert_eq!(got, expected, "1.{minor}");
        }
    }

    #[test]
    fn gates_follow_their_patch() {
        use crate::feature_gates::gate_state;
        for row in &GATE_PATCHES {
            let line = KubeletVersion::new(1, row.minor);
            let state = |version| gate_state(row.gate, version);
            assert_eq!(state(line), state(line.with_patch(row.patch)), "{row:?}");
            assert_ne!(state(line), state(line.with_patch(row.patch - 1)), "{row:?}");
        }
        assert!(gate_state("OrderedNamespaceDeletion", version("1.32.2")).is_none());
        assert!(gate_state("OrderedNamespaceDeletion", version("1.32.3")).is_some());
        assert!(gate_state("OrderedNamespaceDeletion", version("1.33.0")).is_some());
        let gate = gate_state("MaxUnavailableStatefulSet", version("1.35.3")).expect("a gate");
        assert!(gate.default);
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
