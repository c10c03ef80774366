//! Warnings about single pods whose values an operator may not expect.

use crate::plan::qualified_name;
use crate::pod::pod_options;
use crate::qos::QosSums;
use crate::resource_config::ResourceConfig;
use crate::settings::CgroupSettings;
use kq_answer::warning::{Warning, WarningCode};
use kq_facts::node_config::NodeConfig;
use kq_facts::resize::{Allocation, RecordedResources, is_resizing, put_allocated};
use kq_k8s::feature_gates::Gate;
use kq_k8s::pod::{OsRefusal, Pod, ResourceName};
use kq_k8s::qos::{QosClass, computed_qos_class};
use kq_k8s::quantity::{Format, Quantity};
use kq_k8s::resources::{Side, pod_total};

/// Returns the warnings about one pod.
pub fn pod_warnings(
    pod: &Pod,
    class: QosClass,
    config: &ResourceConfig,
    node: &NodeConfig,
    settings: &CgroupSettings,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |code, text| warnings.push((code, text));
    if let Some(refusal) = OsRefusal::of(pod) {
        warn(WarningCode::RefusedOs, refusal.warning());
    }
    let unsupported = config.unsupported_hugepage_sizes(settings);
    if !unsupported.is_empty() {
        let sizes = unsupported.join(", ");
        let assumed = node.facts.assumptions().any(|fact| fact.name == "capacity.hugepages");
        let text = if assumed {
            format!(
                "it asks for huge pages of {sizes}, and which the node has is not known: its hugetlb \
                 files are left out (--capacity hugepages-SIZE=AMOUNT)"
            )
        } else {
            format!(
                "the node has no huge pages of {sizes}: the kubelet logs the failed write, and the \
                 hugetlb and unified files are left out"
            )
        };
        warn(WarningCode::HugePages, text);
    }
    let computed = computed_qos_class(pod, settings.rules.gates);
    if computed != class {
        let text = format!(
            "status.qosClass {class} counts, though the spec is {computed}: remove the status to plan \
             it as new"
        );
        warn(WarningCode::QosClassDiffers, text);
    }
    if pod.spec.resources.is_some() && !settings.rules.gates.enabled(Gate::PodLevelResources) {
        let text = "spec.resources has no effect: the feature gate PodLevelResources is off";
        warn(WarningCode::NoEffect, text.to_owned());
    }
    // The admission plugin RuntimeClass sets it when the pod is created: a pod of the API server has it.
    if !pod.spec.runtime_class_name.is_empty()
        && pod.spec.overhead.is_none()
        && pod.status.phase.is_empty()
    {
        let text = format!(
            "its RuntimeClass {} may have overhead, which the API server adds to the pod's own cgroup: write \
             overhead.podFixed of the class into spec.overhead",
            pod.spec.runtime_class_name
        );
        warn(WarningCode::UnknownOverhead, text);
    }
    if is_resizing(pod) {
        let text = "resize pending: the plan uses the requested resources, the cgroup has the allocated ones";
        warn(WarningCode::Resizing, text.to_owned());
    }
    for text in lost_amounts(pod, settings) {
        warn(WarningCode::AmountOverflow, text);
    }
    let of_pod = |(code, text)| {
        let name = qualified_name(pod);
        Warning::new(code, format!("pod {name}: {text}")).about(name)
    };
    warnings.into_iter().map(of_pod).collect()
}

/// Names the amounts that do not fit the kubelet's 64 bits.
fn lost_amounts(pod: &Pod, settings: &CgroupSettings) -> Vec<String> {
    let mut lost = Vec::new();
    if all_amounts(pod).all(Quantity::is_modest) {
        // Their sums fit too.
        return lost;
    }
    let options = pod_options(settings);
    for side in [Side::Requests, Side::Limits] {
        let total = pod_total(pod, side, &options).total;
        for (name, amount) in total.iter() {
            let (exact, got) = match name {
                ResourceName::Cpu => {
                    (amount.milli_value_is_exact(), format!("{}m", amount.milli_value()))
                }
                _ => (amount.value_is_exact(), amount.value().to_string()),
            };
            if !exact {
                lost.push(format!(
                    "{}.{name} {amount} does not fit 64 bits: the kubelet computes with {got}",
                    side.as_str()
                ));
            }
        }
    }
    lost
}

fn all_amounts(pod: &Pod) -> impl Iterator<Item = &Quantity> {
    let spec = &pod.spec;
    let containers = spec.containers_and_init();
    let resources = containers.map(|container| &container.resources).chain(&spec.resources);
    let lists = resources.flat_map(|resources| [&resources.requests, &resources.limits]);
    lists.chain(&spec.overhead).flat_map(|list| list.iter().map(|(_, amount)| amount))
}

/// Warns if pods request more than the node's allocatable amounts: the kubelet would refuse some. It counts
/// allocated resources, so a pending resize refuses no pod. `sums` are those of the specs.
pub fn overcommitment(pods: &[&Pod], sums: &QosSums, settings: &CgroupSettings) -> Vec<Warning> {
    let allocated = match pods.iter().any(|pod| is_resizing(pod)) {
        true => allocated_sums(pods, settings),
        false => Some(*sums),
    };
    // What a pod has until its resize is not known, and so is the sum.
    let Some(sums) = allocated else { return Vec::new() };
    let milli_cpu = sums.guaranteed_milli_cpu.wrapping_add(sums.burstable_milli_cpu);
    let memory = sums.guaranteed_memory.wrapping_add(sums.burstable_memory);
    let asked = [
        (ResourceName::Cpu, Quantity::from_milli(milli_cpu, Format::DecimalSi)),
        (ResourceName::Memory, Quantity::from_units(memory, Format::BinarySi)),
    ];
    let over = asked.into_iter().filter_map(|(name, asked)| {
        let there_is = settings.node_allocatable.get(&name)?;
        asked.compare(there_is).is_gt().then(|| {
            let text = format!(
                "the pods request {asked} of {name} and the node has {there_is} for them: its kubelet \
                 would refuse some"
            );
            Warning::new(WarningCode::Overcommitted, text).about(name.to_string())
        })
    });
    over.collect()
}

/// Adds up what the kubelet has allocated to pods; `None`: of a pod it is not known.
fn allocated_sums(pods: &[&Pod], settings: &CgroupSettings) -> Option<QosSums> {
    let mut sums = QosSums::default();
    for pod in pods {
        if !is_resizing(pod) {
            sums.add(pod, settings);
            continue;
        }
        let mut allocated = (*pod).clone();
        match put_allocated(&mut allocated, &RecordedResources::default(), &settings.rules) {
            Allocation::Unknown => return None,
            Allocation::AsAsked | Allocation::Recorded | Allocation::Reported => {
                sums.add(&allocated, settings);
            }
        }
    }
    Some(sums)
}
