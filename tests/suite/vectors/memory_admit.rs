//! `memory_admit`: a pod through the topology manager, with the memory manager and a stand-in for another one before it.

use super::cpu_admit::{show_refusal, topology_manager};
use super::cpu_input::{hint, shown_hint};
use super::input;
use super::memory_allocate::reusable;
use super::memory_input::{self, active, add_state};
use kq_k8s::pod::{Container, Pod};
use kq_managers::manager::allocate::in_order;
use kq_managers::memory_manager::MemoryProvider;
use kq_managers::topology_manager::{
    HintProvider, NotComputed, ProviderHints, Stop, TopologyHint, TopologyManager,
};
use serde_json::{Value, json};

/// Has the hints that the case says, and always enough.
struct Other<'c>(&'c Value);

impl HintProvider for Other<'_> {
    fn name(&self) -> &'static str {
        "other"
    }

    fn container_hints(
        &mut self,
        _: &Pod,
        container: &Container,
    ) -> Result<ProviderHints, NotComputed> {
        Ok(super::topology_merge::hints(&self.0["container_hints"][&container.name]))
    }

    fn pod_hints(&mut self, _: &Pod) -> Result<ProviderHints, NotComputed> {
        Ok(super::topology_merge::hints(&self.0["pod_hints"]))
    }

    fn allocate(&mut self, _: &Pod, _: &Container, _: TopologyHint) -> Result<(), Stop> {
        Ok(())
    }

    fn allocate_pod(&mut self, _: &Pod, _: TopologyHint) -> Result<(), Stop> {
        Ok(())
    }
}

pub fn answer(case: &Value) -> Value {
    let mut topology_manager = match topology_manager(case, input::rules(case)) {
        Ok(manager) => manager,
        Err(error) => return json!({ "new_topology_manager_error": error }),
    };
    let pod = input::pod(&case["pod"]);
    store(case, &pod, &mut topology_manager);
    let memory = memory_input::manager(case);
    let active = active(case, &memory);
    let mut memory = MemoryProvider::new(Some(memory));
    memory.set_active(Some(active));
    let mut other = Other(&case["other_hints"]);
    let providers: &mut [&mut dyn HintProvider] = &mut [&mut other, &mut memory];
    // Where the kubelet panics, kq says that it does.
    let Ok(admission) = topology_manager.admit(&pod, providers) else {
        return json!({ "not_computed": true });
    };
    let containers = admission.containers.iter();
    let containers =
        containers.map(|it| json!({ "name": it.name, "affinity": shown_hint(it.affinity) }));
    let mut out = json!({ "containers": containers.collect::<Vec<_>>() });
    show_refusal(&admission, &mut out);
    let memory = memory.memory().expect("a manager with the static policy");
    out["init_containers_reusable_after"] = reusable(memory);
    add_state(&mut out, memory);
    out
}

/// Stores what an earlier admission of the pod left.
fn store(case: &Value, pod: &Pod, topology_manager: &mut TopologyManager) {
    for (_, container) in in_order(pod) {
        let stored = &case["stored_hints"][&container.name];
        if !stored.is_null() {
            topology_manager.store(&pod.metadata.uid, &container.name, hint(stored));
        }
    }
}
