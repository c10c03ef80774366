//! The possible results of earlier choices. If the kubelet takes any device of a set, the results that depend on its
//! choice are uncertain.
//!
//! How many devices are free is certain, and with a topology policy how many on which NUMA
//! nodes, as long as all of a set are on the same. So what a later container can get is bounded by the ids
//! that may be there and those that surely are.

use super::choose::sort;
use super::container::{AllocationContext, ContainerKind, in_order};
use super::report::{AnyOf, Choice, Outcome, Pool, Preference};
use crate::manager::admit::PodAdmission;
use crate::manager::hints::NumaNodes;
use crate::manager::lifecycle::ManagerState;
use crate::manager::topology::{TopologyManager, TopologyPolicy, TopologyScope};
use kq_facts::checkpoint::device::DeviceSet;
use kq_k8s::pod::{Container, Pod};
use std::collections::{BTreeMap, BTreeSet};

/// Devices of which not all is certain.
#[derive(Clone, Debug, Default)]
struct Bounds {
    /// Those that may be among them.
    may: DeviceSet,
    /// Those that are, whatever was chosen before.
    sure: DeviceSet,
}

impl Bounds {
    fn add(&mut self, more: &Self) {
        self.may.extend(more.may.iter().cloned());
        self.sure.extend(more.sure.iter().cloned());
    }

    fn take(&mut self, taken: &Self) {
        self.may.retain(|id| !taken.sure.contains(id));
        self.sure.retain(|id| !taken.may.contains(id));
    }
}

/// Devices of which the kubelet takes what it needs before it goes on to the next.
#[derive(Default)]
struct Source<'a> {
    may: Vec<&'a str>,
    sure: Vec<&'a str>,
    count: usize,
}

/// What the choices for pods and containers leave open to those that come after.
#[derive(Clone, Debug, Default)]
pub struct PossibleAllocations {
    /// The free devices, by resource.
    free: BTreeMap<String, Bounds>,
    /// What init containers of the pod leave to the next, by resource.
    left: BTreeMap<String, Bounds>,
    /// The resources of which something was chosen that may be another.
    open: BTreeSet<String>,
    /// Those of them of which it is open on which NUMA nodes devices are left.
    numa_open: BTreeSet<String>,
}

impl PossibleAllocations {
    /// Returns that nothing was chosen yet.
    pub fn none(state: &ManagerState, circumstances: &AllocationContext) -> Self {
        let mut state = state.clone();
        state.reclaim(circumstances);
        let ManagerState { healthy, allocated, .. } = state;
        let free = healthy.into_iter().map(|(resource, mut ids)| {
            if let Some(used) = allocated.get(&resource) {
                ids.retain(|id| !used.contains(id));
            }
            (resource, Bounds { sure: ids.clone(), may: ids })
        });
        Self { free: free.collect(), ..Self::default() }
    }

    /// Widens what a pod gets by what was chosen before. `state` is that after its admission.
    /// Fails where it depends on earlier choices whether the topology manager lets the pod pass, with the
    /// resource of which they are.
    pub fn widen(
        &mut self,
        state: &ManagerState,
        pod: &Pod,
        admission: &mut PodAdmission,
        manager: &TopologyManager,
    ) -> Result<(), String> {
        self.left.clear();
        let by_pod = match manager.scope {
            TopologyScope::Pod => {
                let all: Vec<&Container> = in_order(pod).map(|(_, it)| it).collect();
                self.numa_depends(&all, manager)?
            }
            TopologyScope::Container => false,
        };
        let of_pod = admission.topology.as_ref().and_then(|decision| decision.numa_nodes);
        let mut left: BTreeMap<String, usize> = BTreeMap::new();
        for (step, (kind, container)) in admission.containers.iter_mut().zip(in_order(pod)) {
            let depends = match manager.scope {
                TopologyScope::Pod => by_pod,
                TopologyScope::Container => self.numa_depends(&[container], manager)?,
            };
            let of_container = step.topology.as_ref().and_then(|decision| decision.numa_nodes);
            let affinity = of_container.or(of_pod).filter(|_| !depends);
            for allocation in &mut step.allocation.resources {
                let resource = allocation.resource.as_str();
                let taken = match &mut allocation.outcome {
                    Outcome::Allocated(choice) | Outcome::Refused { choice: Some(choice) } => {
                        let left = left.get(resource).copied().unwrap_or_default();
                        self.widen_choice(state, resource, choice, (affinity, depends, left))
                    }
                    Outcome::Recorded { devices } => {
                        Bounds { may: devices.clone(), sure: devices.clone() }
                    }
                    _ => continue,
                };
                let of_resource = self.left.entry(resource.to_owned()).or_default();
                match kind {
                    ContainerKind::Init => of_resource.add(&taken),
                    ContainerKind::Sidecar | ContainerKind::App => of_resource.take(&taken),
                }
            }
            let counts = step.reusable_after.iter().map(|(name, ids)| (name.clone(), ids.len()));
            left = counts.collect();
        }
        Ok(())
    }

    /// Returns true if the NUMA nodes that are decided on depend on earlier choices.
    fn numa_depends(
        &self,
        containers: &[&Container],
        manager: &TopologyManager,
    ) -> Result<bool, String> {
        let limits = containers.iter().flat_map(|container| container.resources.limits.iter());
        let mut asked = limits.filter(|(_, amount)| amount.value() > 0).map(|(name, _)| name);
        let found = asked.find(|name| self.numa_open.contains(name.as_str()));
        match (manager.policy, found) {
            (TopologyPolicy::None, _) | (_, None) => Ok(false),
            (TopologyPolicy::BestEffort, Some(_)) => Ok(true),
            (TopologyPolicy::Restricted | TopologyPolicy::SingleNumaNode, Some(name)) => {
                Err(name.as_str().to_owned())
            }
        }
    }

    /// Widens one choice, and returns what it takes.
    fn widen_choice(
        &mut self,
        state: &ManagerState,
        resource: &str,
        choice: &mut Choice,
        (affinity, depends, left): (Option<NumaNodes>, bool, usize),
    ) -> Bounds {
        if depends || self.open.contains(resource) {
            if depends {
                choice.alignment = None;
            }
            let taken = self.reach(state, resource, choice, (affinity, left));
            let from: Vec<String> = taken.may.difference(&taken.sure).cloned().collect();
            let count = choice.devices.len().saturating_sub(taken.sure.len());
            choice.certain = taken.sure;
            choice.any_of = (!from.is_empty()).then_some(AnyOf {
                count,
                from,
                pool: if depends { Pool::AtMost } else { Pool::Left },
            });
            state.describe(resource, choice);
        }
        let mut taken = Bounds { may: choice.certain.clone(), sure: choice.certain.clone() };
        if let Some(any_of) = &choice.any_of {
            taken.may.extend(any_of.from.iter().cloned());
            self.open.insert(resource.to_owned());
            if !choice.numa_is_certain {
                self.numa_open.insert(resource.to_owned());
            }
        }
        if let Some(free) = self.free.get_mut(resource) {
            free.take(&taken);
        }
        taken
    }

    /// Returns what the kubelet can take, in its order: what is left by init containers, then what is free,
    /// first on the NUMA nodes that were decided on.
    fn reach(
        &self,
        state: &ManagerState,
        resource: &str,
        choice: &Choice,
        (affinity, left): (Option<NumaNodes>, usize),
    ) -> Bounds {
        let none = Bounds::default();
        let reusable = self.left.get(resource).unwrap_or(&none);
        let free = self.free.get(resource).unwrap_or(&none);
        let ids = |set| -> Vec<&str> { DeviceSet::iter(set).map(String::as_str).collect() };
        let (may, sure) = (ids(&free.may), ids(&free.sure));
        let mut sources =
            vec![Source { may: ids(&reusable.may), sure: ids(&reusable.sure), count: left }];
        let listed = state.devices.get(resource).filter(|_| choice.alignment.is_some());
        match (listed, choice.alignment) {
            (Some(devices), Some(split)) => {
                let may = sort(devices, &may, affinity);
                let sure = sort(devices, &sure, affinity);
                let aligned = Source { may: may.aligned, sure: sure.aligned, count: split.aligned };
                let unaligned =
                    Source { may: may.unaligned, sure: sure.unaligned, count: split.unaligned };
                let mut others = Source {
                    may: may.without_numa,
                    sure: sure.without_numa,
                    count: split.without_numa,
                };
                sources.push(aligned);
                match choice.preference {
                    Preference::NoNeed | Preference::NotOffered => sources.push(unaligned),
                    // A plugin may prefer either.
                    Preference::Unknown | Preference::Answered { .. } => {
                        others.may.extend(unaligned.may);
                        others.sure.extend(unaligned.sure);
                        others.count += unaligned.count;
                    }
                }
                sources.push(others);
            }
            _ => sources.push(Source { may, sure, count: choice.available }),
        }
        let mut needed = choice.devices.len();
        let mut taken = Bounds::default();
        for source in sources.iter().filter(|source| source.count > 0) {
            if needed == 0 {
                break;
            }
            taken.may.extend(source.may.iter().map(|id| (*id).to_owned()));
            if needed >= source.count {
                taken.sure.extend(source.sure.iter().map(|id| (*id).to_owned()));
            }
            needed = needed.saturating_sub(source.count);
        }
        if taken.may.len() <= choice.devices.len() {
            taken.sure.clone_from(&taken.may);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::hints::HintNodes;
    use crate::manager::{Affinities, Device, HEALTHY, SilentPlugins};
    use crate::objects;

    /// Returns every order of so many numbers.
    fn orders(count: usize) -> Vec<Vec<usize>> {
        let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
        let mut all = Vec::new();
        for order in orders(last) {
            for at in 0..count {
                let mut order = order.clone();
                order.insert(at, last);
                all.push(order);
            }
        }
        all
    }

    #[test]
    fn every_outcome_is_within_what_is_told() {
        use TopologyPolicy::{BestEffort, None, Restricted};
        // Devices by their NUMA nodes; the first by id is taken, so that each order of the ids is another
        // outcome of the kubelet.
        type Row<'a> = (&'a [i64], &'a [i64], &'a [i64], TopologyPolicy, bool);
        let rows: &[Row<'_>] = &[
            (&[], &[1, 1], &[0, 0, 1], None, true),
            (&[], &[1, 1, 1], &[0, 0, 1], None, true),
            (&[1], &[2, 1], &[0, 0, 1, 1], None, true),
            (&[2], &[1, 1, 1], &[0, 0, 1, 1], None, true),
            (&[2, 3], &[1, 4], &[0, 0, 0, 1, 1], None, true),
            (&[], &[1, 1, 1], &[0, 0, 1, 1], Restricted, true),
            (&[1], &[2, 1], &[0, 0, 0, 1], Restricted, true),
            (&[], &[3, 1, 1], &[0, 0, 1, 1, 1], BestEffort, true),
            (&[], &[3, 1], &[0, 0, 1, 1], BestEffort, true),
            (&[], &[3, 1], &[0, 0, 1, 1], Restricted, false),
        ];
        for (init, app, nodes, policy, known) in rows {
            let pod: Pod = objects::pod("u").limits_of("a/r", init, app).read();
            let name = format!("{init:?} {app:?} {nodes:?} {policy:?}");
            let manager = TopologyManager::new(
                *policy,
                TopologyScope::Container,
                vec![0, 1],
                HintNodes::OfDevices,
            );
            let circumstances = AllocationContext {
                sources_ready: true,
                active_pods: ["u".to_owned()].into(),
                unknown_options: ["a/r".to_owned()].into(),
                ..AllocationContext::default()
            };
            // Each device has a letter for its place among the nodes, and an id for its place in the order.
            let admit = |order: &[usize]| {
                let mut state = ManagerState::default();
                state.register("a/r", Default::default());
                state.update(
                    "a/r",
                    order.iter().zip(*nodes).map(|(id, node)| Device {
                        id: id.to_string(),
                        health: HEALTHY.to_owned(),
                        numa_nodes: Some(vec![*node]),
                    }),
                );
                let earlier = PossibleAllocations::none(&state, &circumstances);
                let affinities = Affinities::Decided(&manager);
                let admission = state.admit(&pod, &affinities, &circumstances, &mut SilentPlugins);
                (state, earlier, admission.expect("nothing vanishes"))
            };
            let same: Vec<usize> = (0..nodes.len()).collect();
            let (state, mut earlier, mut told) = admit(&same);
            let done = earlier.widen(&state, &pod, &mut told, &manager);
            assert_eq!(done, if *known { Ok(()) } else { Err("a/r".to_owned()) }, "{name}");
            if !known {
                continue;
            }
            let choices = |admission: &PodAdmission| -> Vec<Choice> {
                let steps = admission.containers.iter();
                let resources = steps.flat_map(|step| step.allocation.resources.clone());
                let choice = |outcome| match outcome {
                    Outcome::Allocated(choice) => *choice,
                    other => panic!("{name}: {other:?}"),
                };
                resources.map(|resource| choice(resource.outcome)).collect()
            };
            let told = choices(&told);
            let mut seen: Vec<Option<Bounds>> = vec![Option::None; told.len()];
            for order in orders(nodes.len()) {
                let (_, _, admission) = admit(&order);
                for (at, choice) in choices(&admission).into_iter().enumerate() {
                    let place = |id: &String| order.iter().position(|it| it.to_string() == *id);
                    let got = choice.devices.iter().filter_map(place);
                    let got: DeviceSet = got.map(|place| place.to_string()).collect();
                    let seen = seen[at]
                        .get_or_insert_with(|| Bounds { may: DeviceSet::new(), sure: got.clone() });
                    seen.sure.retain(|id| got.contains(id));
                    seen.may.extend(got);
                }
            }
            for (told, seen) in told.iter().zip(seen) {
                let seen = seen.expect("there are as many");
                let mut may = told.certain.clone();
                may.extend(told.any_of.iter().flat_map(|any_of| any_of.from.iter().cloned()));
                assert!(told.certain.is_subset(&seen.sure), "{name}: {told:?}, {seen:?}");
                assert!(seen.may.is_subset(&may), "{name}: {told:?}, {seen:?}");
                if *policy == None {
                    assert_eq!((&told.certain, &may), (&seen.sure, &seen.may), "{name}: {told:?}");
                }
            }
        }
    }
}
