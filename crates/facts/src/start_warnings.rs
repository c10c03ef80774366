//! Warnings about settings with which a kubelet would not start or not run as described: the answer is
//! still computed.

use crate::allocatable::{NodeAllocatable, Reservations};
use crate::cgroup_mode::CgroupVersion;
use crate::kubelet_config::EffectiveConfiguration;
use crate::node_object::NodeObject;
use kq_answer::warning::{Warning, WarningCode};
use kq_k8s::feature_gates::{FeatureGates, Gate};
use kq_k8s::pod::ResourceName;
use kq_k8s::quantity::{Format, Quantity};

/// Returns what a kubelet with this configuration would stop on.
pub fn start_warnings(
    config: &EffectiveConfiguration,
    reservations: &Reservations,
    swap_capacity: Option<i64>,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut stops = |field: &str, because: &str| warnings.push(does_not_start(field, because));
    let lists = [&reservations.system, &reservations.kube];
    let reserves_cpu = lists
        .iter()
        .any(|list| list.get(&ResourceName::Cpu).is_some_and(|amount| amount.sign() > 0));
    match config.cpu_manager_policy.as_str() {
        "none" => {}
        "static" if reserves_cpu => {}
        "static" => stops(
            "cpuManagerPolicy",
            "the static CPU manager policy needs CPUs in systemReserved, kubeReserved or \
             reservedSystemCPUs",
        ),
        other => stops(
            "cpuManagerPolicy",
            &format!("cpuManagerPolicy {other:?} is neither none nor static"),
        ),
    }
    if config.fail_swap_on && swap_capacity.is_some_and(|bytes| bytes > 0) {
        stops("failSwapOn", "the machine has swap and failSwapOn is true (--set failSwapOn=false)");
    }
    warnings
}

fn does_not_start(field: &str, because: &str) -> Warning {
    let text = format!("this kubelet does not start: {because}; computed as if it did");
    Warning::new(WarningCode::KubeletDoesNotStart, text).about(field)
}

/// Returns the warning of a kubelet that does not start on cgroup v1.
pub(super) fn no_start_on_v1() -> Warning {
    let text = "this kubelet does not start on cgroup v1 unless failCgroupV1 is false (--set failCgroupV1=false); \
                computed as if it were";
    Warning::new(WarningCode::KubeletDoesNotStart, text).about("failCgroupV1")
}

/// Returns what is configured and has no effect, or none that kq plans.
pub fn effect_warnings(
    config: &EffectiveConfiguration,
    reservations: &Reservations,
    gates: FeatureGates,
    cgroup_version: CgroupVersion,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let no_effect =
        |field: &str, text: &str| Warning::new(WarningCode::NoEffect, text).about(field);
    if cgroup_version == CgroupVersion::V1 {
        if gates.enabled(Gate::MemoryQos) {
            warnings.push(no_effect("featureGates", "memory QoS has no effect on cgroup v1"));
        }
        if config.swap_behavior == "LimitedSwap" {
            const FIELD: &str = "memorySwap.swapBehavior";
            warnings.push(match gates.enabled(Gate::NodeSwap) {
                true => {
                    does_not_start(FIELD, "memorySwap.swapBehavior LimitedSwap needs cgroup v2")
                }
                false => {
                    no_effect(FIELD, "LimitedSwap has no effect without the feature gate NodeSwap")
                }
            });
        }
    }
    if reservations.qos_memory_percent.is_some() && !gates.enabled(Gate::QosReserved) {
        warnings.push(no_effect(
            "qosReserved",
            "qosReserved has no effect without the feature gate QOSReserved, which is off \
             (--feature-gates QOSReserved=true)",
        ));
    }
    for gate in [Gate::DraNodeAllocatableResources, Gate::PodLevelResourceManagers] {
        if gates.enabled(gate) {
            let text = format!("the effect of the feature gate {} is not planned", gate.name());
            warnings.push(Warning::new(WarningCode::UnplannedGate, text).about(gate.name()));
        }
    }
    if !config.reserved_system_cpus.is_empty() {
        let text =
            "reservedSystemCPUs sets the cpu of systemReserved and removes that of kubeReserved";
        let warning = Warning::new(WarningCode::OverridingField, text);
        warnings.push(warning.about("reservedSystemCPUs"));
    }
    warnings
}

/// How much of the disk may differ: its amount is measured again, and rounded.
const ROUNDED_BYTES: i64 = 1 << 20;

/// Returns where the node's own status contradicts what follows from the configuration: then the
/// configuration that was given is not that of the node. `most_pods`: the pods and the disk count too; cgroups follow from neither.
pub fn status_warnings(
    file: &str,
    object: &NodeObject,
    allocatable: &NodeAllocatable,
    most_pods: Option<i64>,
) -> Vec<Warning> {
    let is_close = |one: &Quantity, other: &Quantity| {
        one.value().abs_diff(other.value()) < ROUNDED_BYTES.unsigned_abs()
    };
    let differing = object.status.allocatable.iter().filter_map(|(name, reported)| {
        let known = allocatable.status.get(name);
        let (computed, differs) = match (name.as_str(), most_pods) {
            ("pods", most_pods) => {
                let most = Quantity::from_units(most_pods?, Format::DecimalSi);
                let differs = reported.compare(&most).is_ne();
                (most, differs)
            }
            ("ephemeral-storage", Some(_)) => {
                let computed = known?.clone();
                let differs = !is_close(reported, &computed);
                (computed, differs)
            }
            _ => {
                let counts = matches!(name, ResourceName::Cpu | ResourceName::Memory)
                    || name.hugepage_size().is_some();
                let computed = known?.clone();
                let differs = counts && reported.compare(&computed).is_ne();
                (computed, differs)
            }
        };
        differs.then(|| {
            let text = format!(
                "{file} reports {reported} of {name} as allocatable, and {computed} follow from the input: \
                 its kubelet reserves something else (--kubelet-config FILE)"
            );
            Warning::new(WarningCode::AllocatableDiffers, text).about(name.to_string())
        })
    });
    differing.collect()
}
