//! Whether a container may use swap.

use kq_cgroup::settings::{CgroupSettings, SwapBehavior};
use kq_cgroup::swap::swap_behavior;
use kq_facts::node_config::NodeConfig;
use kq_k8s::pod::{Container, Pod};
use kq_k8s::qos::effective_qos_class;

/// Returns true if a container of a node's pod may use swap (`GetContainerSwapBehavior`,
/// `pkg/kubelet/kuberuntime/kuberuntime_container_linux.go`, read in 1.36.2).
pub fn may_swap(node: &NodeConfig, pod: &Pod, container: &Container) -> bool {
    let class = effective_qos_class(pod, node.rules.gates);
    let (behavior, _) = swap_behavior(pod, class, &container.resources, &CgroupSettings::of(node));
    behavior == SwapBehavior::LimitedSwap
}
