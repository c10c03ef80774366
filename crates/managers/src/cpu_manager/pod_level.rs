//! Pods with pod-level resources whose CPUs are managed as a whole: 1.36 with the gate `PodLevelResourceManagers`
//! and the scope `pod` (`AllocatePod` and `validatePodScopeResources` in `policy_static.go`).
//!
//! Followed is the source alone: no recorded answer of a kubelet pins it.

use super::eligible::{exclusive_cpus, exclusive_cpus_of_pod};
use super::errors::{AllocateError, EmptySharedPool};
use super::static_policy::StaticPolicy;
use crate::manager::allocate::{ContainerKind, in_order};
use crate::topology_manager::{NotComputed, NumaNodes};
use kq_facts::checkpoint::cpu_manager::CpuState;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::pod::Pod;
use std::collections::BTreeMap;

/// The CPUs of a pod as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodCpus {
    pub cpus: CpuSet,
    /// Those of each container; containers without exclusive ones share what is left.
    pub containers: BTreeMap<String, CpuSet>,
}

impl StaticPolicy {
    /// Checks that containers without exclusive CPUs have some left.
    pub(super) fn check_shared_pool(&self, pod: &Pod) -> Result<(), EmptySharedPool> {
        let all = exclusive_cpus_of_pod(self.rules, pod);
        let (mut exclusive, mut others_share) = (0_i64, false);
        for (kind, container) in in_order(pod) {
            let cpus = exclusive_cpus(self.rules, pod, container).unwrap_or(0);
            match (kind, cpus) {
                (ContainerKind::Init, 0) if exclusive >= all => return Err(EmptySharedPool::Init),
                (ContainerKind::Init, _) => {}
                (_, 0) => others_share = true,
                (_, cpus) => exclusive = exclusive.saturating_add(cpus),
            }
        }
        match others_share && exclusive >= all {
            true => Err(EmptySharedPool::LongRunning),
            false => Ok(()),
        }
    }

    /// Takes the CPUs of a pod as a whole, and parts them among its containers. `None`: it runs on the shared CPUs. What was
    /// taken for the pod stays if a container gets too few.
    pub(super) fn allocate_pod(
        &mut self,
        state: &mut CpuState,
        pod: &Pod,
        on: Option<NumaNodes>,
    ) -> Result<Result<Option<PodCpus>, AllocateError>, NotComputed> {
        let wanted = exclusive_cpus_of_pod(self.rules, pod);
        if wanted == 0 {
            return Ok(Ok(None));
        }
        let shared_pool = self.check_shared_pool(pod).map_err(AllocateError::EmptySharedPool);
        if let Err(error) = shared_pool.and_then(|()| self.check_cores(state, wanted)) {
            return Ok(Err(error));
        }
        let of_pod = match self.allocate_cpus(state, wanted, on, &CpuSet::default())? {
            Ok(got) => got.cpus,
            Err(error) => return Ok(Err(error.into())),
        };
        let uid = &pod.metadata.uid;
        state.pods.get_or_insert_default().insert(uid.clone(), of_pod.clone());
        let containers = match self.part(pod, &of_pod)? {
            Ok(containers) => containers,
            Err(error) => return Ok(Err(error)),
        };
        let of_containers = state.containers.entry(uid.clone()).or_default();
        of_containers.extend(containers.clone());
        Ok(Ok(Some(PodCpus { cpus: of_pod, containers })))
    }

    /// Parts the CPUs of a pod: sidecars keep theirs, init containers leave theirs to all that follow.
    fn part(
        &self,
        pod: &Pod,
        of_pod: &CpuSet,
    ) -> Result<Result<BTreeMap<String, CpuSet>, AllocateError>, NotComputed> {
        let mut parts = BTreeMap::new();
        let mut left = of_pod.clone();
        let mut sharing = Vec::new();
        for (kind, container) in in_order(pod) {
            let wanted = exclusive_cpus(self.rules, pod, container).unwrap_or(0);
            let name = container.name.clone();
            if wanted <= 0 {
                match kind {
                    ContainerKind::Init => {
                        parts.insert(name, left.clone());
                    }
                    ContainerKind::Sidecar | ContainerKind::App => sharing.push(name),
                }
                continue;
            }
            let cpus = match self.take(&left, wanted)? {
                Ok(cpus) => cpus,
                Err(error) => return Ok(Err(error.into())),
            };
            if kind != ContainerKind::Init {
                left = left.difference(&cpus);
            }
            parts.insert(name, cpus);
        }
        parts.extend(sharing.into_iter().map(|name| (name, left.clone())));
        Ok(Ok(parts))
    }
}
