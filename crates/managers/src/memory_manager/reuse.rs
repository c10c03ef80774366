//! Memory that init containers leave to later containers of their pod: `updatePodReusableMemory`,
//! `updateInitContainersMemoryBlocks` and `getPodReusableMemory` in `policy_static.go`.

use super::{Amounts, MemoryCrash, StaticMemory};
use crate::manager::hints::NumaNodes;
use crate::topology_manager::has_bit;
use kq_facts::checkpoint::memory_manager::Block;
use kq_k8s::pod::{Container, Pod};
use std::collections::BTreeMap;

/// What the containers of one pod may reuse, by NUMA nodes and type.
pub type Reusable = BTreeMap<NumaNodes, Amounts>;

/// What may be reused, by pod.
pub type ReusableMemory = BTreeMap<String, Reusable>;

/// Returns the NUMA nodes of a block, if the kubelet's masks have bits for them.
pub(super) fn mask(block: &Block) -> Result<NumaNodes, MemoryCrash> {
    let nodes = block.numa_affinity.as_deref().unwrap_or_default();
    match nodes.iter().find(|node| !has_bit(**node)) {
        Some(node) => Err(MemoryCrash::NoBit { node: *node }),
        None => Ok(NumaNodes::of(nodes.iter().copied())),
    }
}

/// Returns true if a container is an init container that ends.
fn is_regular_init(pod: &Pod, container: &Container) -> bool {
    let mut init = pod.spec.init_containers.iter();
    init.find(|it| it.name == container.name).is_some_and(|it| !it.restarts_always())
}

impl StaticMemory {
    /// Returns how much of a type a pod may reuse on NUMA nodes.
    pub(super) fn reusable(&self, pod: &Pod, nodes: NumaNodes, memory_type: &str) -> u64 {
        let of_pod = self.reusable.get(&pod.metadata.uid);
        let amount = of_pod.and_then(|sets| sets.get(&nodes)?.get(memory_type));
        amount.copied().unwrap_or_default()
    }

    /// Counts the blocks of a container: an init container leaves them, another one uses up what is left. What other pods
    /// left is forgotten.
    pub(super) fn update_reusable(
        &mut self,
        pod: &Pod,
        container: &Container,
        blocks: &[Block],
    ) -> Result<(), MemoryCrash> {
        let uid = &pod.metadata.uid;
        self.reusable.retain(|of, _| of == uid);
        let is_init = is_regular_init(pod, container);
        if is_init {
            self.reusable.entry(uid.clone()).or_default();
        }
        let Some(sets) = self.reusable.get_mut(uid) else { return Ok(()) };
        for block in blocks {
            let nodes = mask(block)?;
            if is_init {
                let amounts = sets.entry(nodes).or_default();
                let largest = amounts.get(&block.memory_type).copied().unwrap_or_default();
                // A block that later containers took whole leaves nothing, not an amount of 0.
                if block.size > largest {
                    amounts.insert(block.memory_type.clone(), block.size);
                }
            } else if let Some(amounts) = sets.get_mut(&nodes)
                && let Some(amount) = amounts.get_mut(&block.memory_type)
            {
                *amount = amount.saturating_sub(block.size);
            }
        }
        Ok(())
    }

    /// Shrinks the blocks of earlier init containers by what a container takes of them, so that the sizes add up to what is
    /// reserved.
    pub(super) fn shrink_init_blocks(
        &mut self,
        pod: &Pod,
        container: &Container,
        blocks: &[Block],
    ) {
        let Some(of_pod) = self.state.containers.get_mut(&pod.metadata.uid) else { return };
        for block in blocks {
            let mut left = block.size;
            for init in &pod.spec.init_containers {
                if init.name == container.name || left == 0 {
                    break;
                }
                if init.restarts_always() {
                    continue;
                }
                for earlier in of_pod.get_mut(&init.name).into_iter().flatten() {
                    if earlier.memory_type == block.memory_type
                        && mask(earlier).is_ok_and(|nodes| mask(block) == Ok(nodes))
                    {
                        let used = earlier.size.min(left);
                        earlier.size -= used;
                        left -= used;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_facts::checkpoint::memory_manager::MemoryState;
    use kq_k8s::feature_gates::FeatureGates;
    use kq_k8s::version::KubeletVersion;

    fn block(size: u64) -> Block {
        Block { numa_affinity: Some(vec![0]), memory_type: "memory".to_owned(), size }
    }

    /// Returns what a pod may reuse after its init container counted with blocks of these sizes.
    fn left_by_init(sizes: &[u64]) -> Reusable {
        let gates = FeatureGates::for_version(KubeletVersion::ASSUMED);
        let mut memory = StaticMemory::new(MemoryState::default(), gates);
        let init = Container { name: "init".to_owned(), ..Container::default() };
        let mut pod = Pod::default();
        pod.metadata.uid = "pod".to_owned();
        pod.spec.init_containers = vec![init.clone()];
        for size in sizes {
            memory.update_reusable(&pod, &init, &[block(*size)]).expect("no crash");
        }
        memory.reusable["pod"].clone()
    }

    #[test]
    fn an_init_container_leaves_its_largest_block() {
        let node = NumaNodes::of([0]);
        let amounts = |size| Amounts::from([("memory".to_owned(), size)]);
        assert_eq!(left_by_init(&[4096, 8192, 1]), [(node, amounts(8192))].into());
        // As after a restart, where later containers have taken its block.
        assert_eq!(left_by_init(&[0]), [(node, Amounts::new())].into());
    }
}
