//! The choice of devices for a container (`devicesToAllocate`), from the free devices on the NUMA nodes of the topology
//! manager (`filterByAffinity`).

use super::report::{AllocateError, AnyOf, Choice, Pool, Preference, Split};
use crate::manager::hints::NumaNodes;
use crate::manager::lifecycle::{Device, ManagerState, with_devices};
use crate::manager::plugins::Plugins;
use kq_facts::checkpoint::device::DeviceSet;
use std::collections::{BTreeMap, BTreeSet};

/// What is asked for.
pub struct Request<'a> {
    pub resource: &'a str,
    pub requested: i64,
    /// What ended init containers of the pod leave behind.
    pub reusable: &'a DeviceSet,
    pub affinity: Option<NumaNodes>,
    /// The plugin's options are unknown.
    pub unknown_options: bool,
    /// What else could be chosen is not named.
    pub brief: bool,
}

/// Devices that are being taken.
#[derive(Default)]
struct Taking<'a> {
    taken: DeviceSet,
    needed: i64,
    open: Option<Open<'a>>,
    brief: bool,
}

/// A choice that the kubelet has: what it has taken before, and how many it takes of which.
struct Open<'a> {
    certain: DeviceSet,
    count: usize,
    from: Vec<&'a str>,
    pool: Pool,
}

impl<'a> Taking<'a> {
    /// Takes from a pool until enough are taken, and returns true if they are. Takes the first by id where
    /// the kubelet takes any.
    fn take(&mut self, pool: Pool, ids: impl IntoIterator<Item = &'a str>) -> bool {
        let count = usize::try_from(self.needed).unwrap_or(usize::MAX);
        let free = ids.into_iter().filter(|id| !self.taken.contains(*id));
        let from: Vec<&str> = match self.brief {
            true => free.take(count).collect(),
            false => free.collect(),
        };
        let before = (count < from.len()).then(|| self.taken.clone());
        for id in from.iter().take(count) {
            self.taken.insert((*id).to_owned());
            self.needed -= 1;
        }
        if let Some(certain) = before {
            self.open = Some(Open { certain, count, from, pool });
        }
        self.needed == 0
    }
}

/// What says which of a pool are preferred, where some are taken already.
type Ask<'a> = dyn FnMut(&[&str], &DeviceSet) -> Result<Preference, AllocateError> + 'a;

/// Whether a plugin is asked which devices it prefers.
enum Offer {
    /// It is asked for so many.
    Call(usize),
    /// It is not.
    Settled(Preference),
}

impl ManagerState {
    /// Chooses devices, which are taken at once: also when it fails half-way.
    pub(super) fn choose(
        &mut self,
        request: &Request<'_>,
        plugins: &mut dyn Plugins,
    ) -> (Choice, Result<(), AllocateError>) {
        let mut choice = Choice::default();
        let copy;
        let (needed, brief) = (request.requested, request.brief);
        let mut taking = Taking { needed, brief, ..Taking::default() };
        let enough = taking.take(Pool::Reusable, request.reusable.iter().map(String::as_str));
        choice.reused = taking.taken.clone();
        let done = if enough {
            Ok(())
        } else {
            match self.offer(request) {
                // While the plugin is asked what is known may change: the choice is made from a copy, as in
                // the kubelet.
                Ok(Offer::Call(size)) => {
                    copy = self.of_resource(request.resource);
                    let ask = &mut |pool: &[&str], taken: &DeviceSet| {
                        self.ask(request.resource, pool, taken, size, plugins)
                    };
                    copy.take_free(request, &mut taking, &mut choice, ask)
                }
                Ok(Offer::Settled(preference)) => {
                    let ask = &mut |_: &[&str], _: &DeviceSet| Ok(preference.clone());
                    self.take_free(request, &mut taking, &mut choice, ask)
                }
                Err(error) => {
                    let ask = &mut |_: &[&str], _: &DeviceSet| Err(error.clone());
                    self.take_free(request, &mut taking, &mut choice, ask)
                }
            }
        };
        let Taking { taken, open, .. } = taking;
        choice.certain = open.as_ref().map_or_else(|| taken.clone(), |open| open.certain.clone());
        // The candidates may be all devices of the node, so they are copied only now.
        choice.any_of = open.map(|Open { count, from, pool, .. }| AnyOf {
            count,
            from: from.into_iter().map(str::to_owned).collect(),
            pool,
        });
        let used = self.allocated.entry(request.resource.to_owned()).or_default();
        used.extend(taken.iter().cloned());
        choice.devices = taken;
        self.describe(request.resource, &mut choice);
        (choice, done)
    }

    fn take_free<'a>(
        &'a self,
        request: &Request<'_>,
        taking: &mut Taking<'a>,
        choice: &mut Choice,
        ask: &mut Ask<'_>,
    ) -> Result<(), AllocateError> {
        let resource = request.resource;
        let used = self.allocated.get(resource).unwrap_or(const { &DeviceSet::new() });
        let healthy = self.healthy.get(resource).unwrap_or(const { &DeviceSet::new() });
        let devices = self.devices.get(resource).unwrap_or(const { &BTreeMap::new() });
        let free = healthy.difference(used).map(String::as_str);
        let available: Vec<&str> = free.filter(|id| !taking.taken.contains(*id)).collect();
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
        choice.preference = ask(pool, &taking.taken)?;
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
        if choice.preference == Preference::Unknown && !request.brief {
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

    /// Returns what is known of one resource.
    fn of_resource(&self, resource: &str) -> Self {
        let own = |sets: &BTreeMap<String, DeviceSet>| {
            sets.get(resource).map(|set| (resource.to_owned(), set.clone())).into_iter().collect()
        };
        let devices = self.devices.get(resource);
        Self {
            devices: devices.map(|it| (resource.to_owned(), it.clone())).into_iter().collect(),
            healthy: own(&self.healthy),
            allocated: own(&self.allocated),
            ..Self::default()
        }
    }

    /// Returns true if the plugin is called for its preference.
    fn offer(&self, request: &Request<'_>) -> Result<Offer, AllocateError> {
        let resource = request.resource;
        let endpoint = self.endpoints.get(resource);
        let endpoint = endpoint.ok_or_else(|| AllocateError::NoEndpoint(resource.to_owned()))?;
        if request.unknown_options {
            return Ok(Offer::Settled(Preference::Unknown));
        }
        if !endpoint.options.get_preferred_allocation_available {
            return Ok(Offer::Settled(Preference::NotOffered));
        }
        if endpoint.stopped_at.is_some() {
            return Err(AllocateError::Preferred(AllocateError::Stopped.to_string()));
        }
        // The API server lets no negative number pass, and what the kubelet would make of one is an error
        // in any case. A plugin is not asked for none instead.
        Ok(usize::try_from(request.requested)
            .map_or(Offer::Settled(Preference::NoNeed), Offer::Call))
    }

    /// Asks the plugin which devices it prefers (`callGetPreferredAllocationIfAvailable`).
    fn ask(
        &mut self,
        resource: &str,
        pool: &[&str],
        taken: &DeviceSet,
        size: usize,
        plugins: &mut dyn Plugins,
    ) -> Result<Preference, AllocateError> {
        let available: DeviceSet =
            pool.iter().map(|id| (*id).to_owned()).chain(taken.iter().cloned()).collect();
        let preferred = plugins
            .preferred_allocation(self, resource, &available, taken, size)
            .map_err(AllocateError::Preferred)?;
        let preferred = preferred.unwrap_or_default().into_iter().collect();
        Ok(Preference::Answered { preferred })
    }

    /// Adds the NUMA nodes of what was chosen, and what is not listed any more.
    pub(super) fn describe(&self, resource: &str, choice: &mut Choice) {
        let devices = self.devices.get(resource);
        choice.numa_nodes.clear();
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
        // Of thousands of candidates there are few different lists of NUMA nodes.
        let candidates = choice.any_of.iter().flat_map(|any_of| &any_of.from).map(String::as_str);
        let listed = devices.unwrap_or(const { &BTreeMap::new() });
        let nodes = with_devices(candidates, listed)
            .map(|(_, device)| device.and_then(|device| device.numa_nodes.as_deref()));
        let lists: BTreeSet<&[i64]> = nodes.map(Option::unwrap_or_default).collect();
        let set = |nodes: &[i64]| -> BTreeSet<i64> { nodes.iter().copied().collect() };
        let sets: BTreeSet<BTreeSet<i64>> = lists.into_iter().map(set).collect();
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

impl<'a> Taking<'a> {
    /// Makes the choice as wide as a plugin can make it whose preference is unknown.
    fn widen(&mut self, pool: &[&'a str], (certain, needed): (DeviceSet, i64)) {
        let from: Vec<&str> = pool.iter().copied().filter(|id| !certain.contains(*id)).collect();
        let count = usize::try_from(needed).unwrap_or_default();
        if count < from.len() {
            self.open = Some(Open { certain, count, from, pool: Pool::Unknown });
        }
    }
}

/// The key under which devices without NUMA node are recorded (`nodeWithoutTopology`).
pub const NO_NUMA_NODE: i64 = -1;

/// Free devices by how they lie to NUMA nodes, each in the order of the ids.
pub struct Sorted<'a> {
    pub aligned: Vec<&'a str>,
    pub unaligned: Vec<&'a str>,
    pub without_numa: Vec<&'a str>,
    /// NUMA nodes mattered.
    pub matters: bool,
}

impl Sorted<'_> {
    /// Returns the numbers, where NUMA nodes mattered.
    pub fn split(&self) -> Option<Split> {
        self.matters.then_some(Split {
            aligned: self.aligned.len(),
            unaligned: self.unaligned.len(),
            without_numa: self.without_numa.len(),
        })
    }
}

/// Returns true if a device of the resource, healthy or not, has a NUMA node
/// (`deviceHasTopologyAlignment`).
pub fn has_topology(devices: &BTreeMap<String, Device>) -> bool {
    devices.values().any(|device| device.numa_nodes.as_ref().is_some_and(|nodes| !nodes.is_empty()))
}

/// Sorts free devices, which come in the order of their ids.
pub fn sort<'a>(
    devices: &'a BTreeMap<String, Device>,
    available: &[&'a str],
    affinity: Option<NumaNodes>,
) -> Sorted<'a> {
    let mut sorted = Sorted {
        aligned: Vec::new(),
        unaligned: Vec::new(),
        without_numa: Vec::new(),
        matters: false,
    };
    let Some(affinity) = affinity.filter(|_| has_topology(devices)) else {
        sorted.without_numa = available.to_vec();
        return sorted;
    };
    sorted.matters = true;
    for (id, device) in with_devices(available.iter().copied(), devices) {
        let nodes = device.and_then(|device| device.numa_nodes.as_deref());
        let mut nodes = nodes.unwrap_or_default().iter().filter(|node| **node != NO_NUMA_NODE);
        let Some(first) = nodes.next() else {
            sorted.without_numa.push(id);
            continue;
        };
        if affinity.contains(*first) || nodes.any(|node| affinity.contains(*node)) {
            sorted.aligned.push(id);
        } else {
            sorted.unaligned.push(id);
        }
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::{Allocated, Device, HEALTHY, PluginOptions};

    /// A plugin that counts what it is asked.
    #[derive(Default)]
    struct Counting(Vec<usize>);

    impl Plugins for Counting {
        fn preferred_allocation(
            &mut self,
            _: &mut ManagerState,
            _resource: &str,
            _available: &DeviceSet,
            _must_include: &DeviceSet,
            size: usize,
        ) -> Result<Option<Vec<String>>, String> {
            self.0.push(size);
            Ok(None)
        }

        fn allocate(
            &mut self,
            _: &mut ManagerState,
            _: &str,
            _: &DeviceSet,
        ) -> Result<Allocated, String> {
            Ok(Allocated::NoContainer)
        }
    }

    #[test]
    fn a_plugin_is_asked_for_the_number_that_is_wanted_and_for_no_other() {
        for (requested, asked, error) in [
            (1, &[1][..], None),
            (-1, &[], Some("unexpectedly allocated less resources than required. Requested: -1")),
        ] {
            let mut state = ManagerState::default();
            let options =
                PluginOptions { get_preferred_allocation_available: true, ..Default::default() };
            state.register("r", options);
            let device = |id: &str| Device {
                id: id.to_owned(),
                health: HEALTHY.to_owned(),
                numa_nodes: None,
            };
            state.update("r", [device("a"), device("b")]);
            let request = Request {
                resource: "r",
                requested,
                reusable: &DeviceSet::new(),
                affinity: None,
                unknown_options: false,
                brief: false,
            };
            let mut plugin = Counting::default();
            let (_, done) = state.choose(&request, &mut plugin);
            assert_eq!(plugin.0, asked, "{requested}");
            let told = done.err().map(|error| error.to_string());
            let is_as_expected = match (&told, error) {
                (Some(told), Some(error)) => told.starts_with(error),
                (told, error) => told.is_none() && error.is_none(),
            };
            assert!(is_as_expected, "{requested}: {told:?}");
        }
    }
}
