//! Which devices a container gets (`devicesToAllocate`).

use super::affinity::{Sorted, sort};
use super::report::{AllocateError, AnyOf, Choice, Pool, Preference};
use crate::device::manager::numa::NumaNodes;
use crate::device::manager::plugins::Plugins;
use crate::device::manager::state::ManagerState;
use crate::facts::checkpoint::device::DeviceSet;
use std::collections::{BTreeMap, BTreeSet};

/// What is asked for.
pub struct Request<'a> {
    pub resource: &'a str,
    pub requested: i64,
    /// What ended init containers of the pod leave behind.
    pub reusable: &'a DeviceSet,
    pub affinity: Option<NumaNodes>,
    /// Nobody knows what the plugin offers.
    pub unknown_options: bool,
}

/// Devices that are being taken.
struct Taking {
    taken: DeviceSet,
    needed: i64,
    certain: DeviceSet,
    any_of: Option<AnyOf>,
}

impl Taking {
    /// Takes from a pool until enough are taken, and tells whether they are. Takes the first by id where
    /// the kubelet takes any.
    fn take<'i>(&mut self, pool: Pool, ids: impl IntoIterator<Item = &'i str>) -> bool {
        let new: Vec<&str> = ids.into_iter().filter(|id| !self.taken.contains(*id)).collect();
        let wanted = usize::try_from(self.needed).unwrap_or(usize::MAX);
        if wanted < new.len() {
            self.certain = self.taken.clone();
            let from = new.iter().map(|id| (*id).to_owned()).collect();
            self.any_of = Some(AnyOf { count: wanted, from, pool });
        }
        for id in new.iter().take(wanted) {
            self.taken.insert((*id).to_owned());
            self.needed -= 1;
        }
        self.needed == 0
    }
}

impl ManagerState {
    /// Chooses devices, which are taken at once: also when it fails half-way.
    pub(super) fn choose(
        &mut self,
        request: &Request<'_>,
        plugins: &mut dyn Plugins,
    ) -> (Choice, Result<(), AllocateError>) {
        let mut choice = Choice::default();
        let mut taking = Taking {
            taken: DeviceSet::new(),
            needed: request.requested,
            certain: DeviceSet::new(),
            any_of: None,
        };
        let enough = taking.take(Pool::Reusable, request.reusable.iter().map(String::as_str));
        choice.reused = taking.taken.clone();
        let done = if enough {
            Ok(())
        } else {
            self.take_free(request, &mut taking, &mut choice, plugins)
        };
        let used = self.allocated.entry(request.resource.to_owned()).or_default();
        used.extend(taking.taken.iter().cloned());
        choice.certain =
            if taking.any_of.is_some() { taking.certain } else { taking.taken.clone() };
        choice.any_of = taking.any_of;
        choice.devices = taking.taken;
        self.describe(request.resource, &mut choice);
        (choice, done)
    }

    fn take_free(
        &self,
        request: &Request<'_>,
        taking: &mut Taking,
        choice: &mut Choice,
        plugins: &mut dyn Plugins,
    ) -> Result<(), AllocateError> {
        let resource = request.resource;
        let (none, no_devices) = (DeviceSet::new(), BTreeMap::new());
        let used = self.allocated.get(resource).unwrap_or(&none);
        let healthy = self.healthy.get(resource).unwrap_or(&none);
        let devices = self.devices.get(resource).unwrap_or(&no_devices);
        let available: Vec<&str> = healthy
            .iter()
            .map(String::as_str)
            .filter(|id| !used.contains(*id) && !taking.taken.contains(*id))
            .collect();
        choice.available = available.len();
        if i64::try_from(available.len()).is_ok_and(|free| free < taking.needed) {
            return Err(AllocateError::Unavailable {
                resource: resource.to_owned(),
                requested: taking.needed,
                available: available.len(),
            });
        }
        let sorted = sort(devices, &available, request.affinity);
        choice.alignment = sorted.split();
        let Sorted { aligned, unaligned, without_numa, .. } = sorted;
        let within = i64::try_from(aligned.len()).is_ok_and(|aligned| taking.needed < aligned);
        let pool = if within { &aligned } else { &available };
        if !within && taking.take(Pool::Aligned, aligned.iter().copied()) {
            return Ok(());
        }
        let before = (taking.taken.clone(), taking.needed);
        choice.preference = self.ask(request, pool, &taking.taken, plugins)?;
        let mut enough = false;
        if let Preference::Answered { preferred } = &choice.preference {
            let preferred = pool.iter().copied().filter(|id| preferred.contains(*id));
            enough = taking.take(Pool::Preferred, preferred);
        }
        enough = enough
            || if within {
                taking.take(Pool::Aligned, aligned.iter().copied())
            } else {
                taking.take(Pool::Unaligned, unaligned.iter().copied())
                    || taking.take(Pool::WithoutNuma, without_numa.iter().copied())
            };
        if choice.preference == Preference::Unknown {
            taking.widen(pool, before);
        }
        match enough {
            true => Ok(()),
            false => Err(AllocateError::TooFew {
                requested: request.requested,
                got: request.requested.saturating_sub(taking.needed),
            }),
        }
    }

    /// Asks the plugin which devices it prefers (`callGetPreferredAllocationIfAvailable`).
    fn ask(
        &self,
        request: &Request<'_>,
        pool: &[&str],
        taken: &DeviceSet,
        plugins: &mut dyn Plugins,
    ) -> Result<Preference, AllocateError> {
        let resource = request.resource;
        let endpoint = self.endpoints.get(resource);
        let endpoint = endpoint.ok_or_else(|| AllocateError::NoEndpoint(resource.to_owned()))?;
        if request.unknown_options {
            return Ok(Preference::Unknown);
        }
        if !endpoint.options.get_preferred_allocation_available {
            return Ok(Preference::NotOffered);
        }
        if endpoint.stopped_at.is_some() {
            return Err(AllocateError::Preferred(AllocateError::Stopped.to_string()));
        }
        let available: DeviceSet =
            pool.iter().map(|id| (*id).to_owned()).chain(taken.iter().cloned()).collect();
        let size = usize::try_from(request.requested).unwrap_or_default();
        let preferred = plugins
            .preferred_allocation(resource, &available, taken, size)
            .map_err(AllocateError::Preferred)?;
        let preferred = preferred.unwrap_or_default().into_iter().collect();
        Ok(Preference::Answered { preferred })
    }

    /// Adds the NUMA nodes of what was chosen, and what is not listed any more.
    fn describe(&self, resource: &str, choice: &mut Choice) {
        let devices = self.devices.get(resource);
        for id in &choice.devices {
            match devices.and_then(|devices| devices.get(id)) {
                Some(device) => choice.numa_nodes.extend(device.numa_nodes.iter().flatten()),
                None => {
                    choice.vanished.insert(id.clone());
                }
            }
        }
        choice.numa_nodes.sort_unstable();
        choice.numa_nodes.dedup();
        let nodes_of = |id: &String| -> BTreeSet<i64> {
            let device = devices.and_then(|devices| devices.get(id));
            device
                .iter()
                .filter_map(|device| device.numa_nodes.as_ref())
                .flatten()
                .copied()
                .collect()
        };
        let candidates = choice.any_of.iter().flat_map(|any_of| &any_of.from);
        let sets: BTreeSet<BTreeSet<i64>> = candidates.map(nodes_of).collect();
        let certain = choice.numa_nodes.iter().copied();
        choice.numa_is_certain = sets.len() <= 1;
        choice.possible_numa_nodes = sets
            .into_iter()
            .flatten()
            .chain(certain)
            .collect::<BTreeSet<i64>>()
            .into_iter()
            .collect();
    }
}

impl Taking {
    /// Makes the choice as wide as a plugin can make it of which nobody knows what it prefers.
    fn widen(&mut self, pool: &[&str], (taken, needed): (DeviceSet, i64)) {
        let from: Vec<String> =
            pool.iter().filter(|id| !taken.contains(**id)).map(|id| (*id).to_owned()).collect();
        let count = usize::try_from(needed).unwrap_or_default();
        if count < from.len() {
            self.certain = taken;
            self.any_of = Some(AnyOf { count, from, pool: Pool::Unknown });
        }
    }
}
