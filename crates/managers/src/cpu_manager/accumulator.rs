//! Taking CPUs unit by unit (`cpuAccumulator` in `cpu_assignment.go`), pinned by `cpu_allocate.jsonl`.
//!
//! The kubelet sorts units of every kind by their number of free CPUs, the fewest first, then by their number. Lists are made
//! when a step begins and not again while it runs. Units that are taken whole are taken with all CPUs that the machine has
//! there, be they free or not: where sizes are averages, a unit can look free and not be.

use super::topology::{CpuTopology, Details, Place, count};
use kq_k8s::cpuset::CpuSet;
use std::collections::{BTreeMap, BTreeSet};

/// How single CPUs are sorted (`CPUSortingStrategy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sorting {
    /// Core by core.
    Packed,
    /// Over the cores of a socket.
    Spread,
}

/// How CPUs are taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taking {
    pub sorting: Sorting,
    /// `prefer-align-cpus-by-uncorecache`
    pub by_cache: bool,
    /// Parts of caches are rounded up to whole cores.
    pub rounds_up_cores: bool,
}

/// Why CPUs were not taken, in the kubelet's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TakeError {
    #[error(
        "not enough cpus available to satisfy request: requested={requested}, available={available}"
    )]
    NotEnough {
        /// What this take was asked for.
        requested: i64,
        /// What this take was offered.
        available: i64,
    },
    #[error("failed to allocate cpus")]
    Failed,
    #[error("accounting error, not enough CPUs allocated, remaining: {0}")]
    TooFewTaken(i64),
    #[error("accounting error, too many CPUs allocated, remaining: {0}")]
    TooManyTaken(i64),
}

/// Free CPUs, and what is taken of them.
pub(super) struct Accumulator<'t> {
    topology: &'t CpuTopology,
    /// The free CPUs.
    free: Details,
    /// How many are still needed; the kubelet counts below zero where it takes a CPU twice.
    needed: i64,
    taken: CpuSet,
    sorting: Sorting,
}

/// The free CPUs of one kind of unit.
type Units = BTreeMap<i64, BTreeSet<i64>>;

/// The unit of a kind in which a CPU lies.
type UnitOf = fn(&Place) -> i64;

impl<'t> Accumulator<'t> {
    pub fn new(topology: &'t CpuTopology, free: &CpuSet, needed: i64, sorting: Sorting) -> Self {
        let free = topology.details().iter().filter(|(cpu, _)| free.contains(**cpu));
        let free = free.map(|(cpu, place)| (*cpu, *place)).collect();
        Self { topology, free, needed, taken: CpuSet::default(), sorting }
    }

    pub fn needed(&self) -> i64 {
        self.needed
    }

    pub fn into_taken(self) -> CpuSet {
        self.taken
    }

    pub fn is_satisfied(&self) -> bool {
        self.needed < 1
    }

    pub fn is_failed(&self) -> bool {
        self.needed > i64::try_from(self.free.len()).unwrap_or(i64::MAX)
    }

    fn needs_at_least(&self, cpus: i64) -> bool {
        self.needed >= cpus
    }

    /// Takes CPUs, also such as are not free.
    pub fn take(&mut self, cpus: &CpuSet) {
        for cpu in cpus.iter() {
            self.free.remove(&cpu);
        }
        self.needed -= count(cpus);
        self.taken = self.taken.union(cpus);
    }

    fn units(&self, by: impl Fn(&Place) -> i64) -> Units {
        let mut units = Units::new();
        for (cpu, place) in &self.free {
            units.entry(by(place)).or_default().insert(*cpu);
        }
        units
    }

    fn sockets(&self) -> Units {
        self.units(|place| place.socket)
    }

    fn nodes(&self) -> Units {
        self.units(|place| place.node)
    }

    fn cores(&self) -> Units {
        self.units(|place| place.core)
    }

    /// Returns the free CPUs of a NUMA node.
    pub fn free_in_node(&self, node: i64) -> CpuSet {
        self.free.iter().filter(|(_, place)| place.node == node).map(|(cpu, _)| *cpu).collect()
    }

    /// Returns how many NUMA nodes have free CPUs.
    pub fn count_free_nodes(&self) -> usize {
        self.nodes().len()
    }

    /// Returns true if NUMA nodes are the first level, and sockets the second.
    fn nodes_first(&self) -> bool {
        self.topology.count_sockets() >= self.topology.count_nodes()
    }

    /// Sorts the units of a lower level within each of a sorted upper level. A unit that lies in several is there several
    /// times.
    fn within(
        &self,
        upper: &[i64],
        (of_upper, of_lower): (UnitOf, UnitOf),
        lower: &Units,
    ) -> Vec<i64> {
        let mut inside: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
        for place in self.free.values() {
            inside.entry(of_upper(place)).or_default().insert(of_lower(place));
        }
        let sorted_in = |unit: &i64| {
            let here = inside.get(unit).into_iter().flatten().copied();
            sorted(here, lower)
        };
        upper.iter().flat_map(sorted_in).collect()
    }

    /// Returns the NUMA nodes with free CPUs, sorted (`sortAvailableNUMANodes`).
    pub fn sorted_nodes(&self) -> Vec<i64> {
        let nodes = self.nodes();
        match self.nodes_first() {
            true => sorted(nodes.keys().copied(), &nodes),
            false => {
                let by = (socket as UnitOf, node as UnitOf);
                self.within(&self.sorted_sockets(), by, &nodes)
            }
        }
    }

    fn sorted_sockets(&self) -> Vec<i64> {
        let sockets = self.sockets();
        match self.nodes_first() {
            true => {
                let by = (node as UnitOf, socket as UnitOf);
                self.within(&self.sorted_nodes(), by, &sockets)
            }
            false => sorted(sockets.keys().copied(), &sockets),
        }
    }

    fn sorted_cores(&self) -> Vec<i64> {
        let cores = self.cores();
        match self.nodes_first() {
            true => self.within(&self.sorted_sockets(), (socket, |place| place.core), &cores),
            false => self.within(&self.sorted_nodes(), (node, |place| place.core), &cores),
        }
    }

    fn sorted_caches(&self) -> Vec<i64> {
        let caches = self.units(|place| place.cache);
        self.within(&self.sorted_nodes(), (node, |place| place.cache), &caches)
    }

    /// Returns the free CPUs in the order in which single ones are taken.
    fn sorted_cpus(&self) -> Vec<i64> {
        let (units, order) = match self.sorting {
            Sorting::Packed => (self.cores(), self.sorted_cores()),
            Sorting::Spread => (self.sockets(), self.sorted_sockets()),
        };
        order.iter().filter_map(|unit| units.get(unit)).flatten().copied().collect()
    }

    /// Takes units whole, as long as so many are needed.
    fn take_whole(&mut self, units: Vec<i64>, cpus_of: impl Fn(i64) -> CpuSet) {
        for unit in units {
            let cpus = cpus_of(unit);
            if self.needs_at_least(count(&cpus)) {
                self.take(&cpus);
            }
        }
    }

    fn take_nodes(&mut self) {
        let (topology, free) = (self.topology, self.nodes());
        let is_free = |node: &i64| size(&free, *node) == count(&topology.cpus_in_numa_node(*node));
        let whole = self.sorted_nodes().into_iter().filter(is_free).collect();
        self.take_whole(whole, |node| topology.cpus_in_numa_node(node));
    }

    fn take_sockets(&mut self) {
        let (topology, free) = (self.topology, self.sockets());
        let is_free = |socket: &i64| size(&free, *socket) == topology.cpus_per_socket();
        let whole = self.sorted_sockets().into_iter().filter(is_free).collect();
        self.take_whole(whole, |socket| topology.socket(socket));
    }

    pub fn take_levels(&mut self) {
        let nodes_first = self.nodes_first();
        if nodes_first {
            self.take_nodes()
        } else {
            self.take_sockets()
        }
        if self.is_satisfied() {
            return;
        }
        if nodes_first { self.take_sockets() } else { self.take_nodes() }
    }

    pub fn take_cores(&mut self) {
        let (topology, free) = (self.topology, self.cores());
        let is_free = |core: &i64| size(&free, *core) == topology.cpus_per_core();
        let whole = self.sorted_cores().into_iter().filter(is_free).collect();
        self.take_whole(whole, |core| topology.core(core));
    }

    /// Takes whole caches, then a part of one that holds exactly the rest (`takeUncoreCache`). The kubelet tries the
    /// whole ones again before each part; the need has not changed until then, so that it takes none.
    pub fn take_caches(&mut self, rounds_up: bool) {
        let order = self.sorted_caches();
        if !order.is_empty() && self.needs_at_least(self.topology.cpus_per_uncore_cache()) {
            let (topology, free) = (self.topology, self.units(|place| place.cache));
            let is_free = |cache: &i64| size(&free, *cache) == count(&topology.cache(*cache));
            let whole = order.iter().copied().filter(is_free).collect();
            self.take_whole(whole, |cache| topology.cache(cache));
        }
        if self.is_satisfied() {
            return;
        }
        let mut cores_in: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
        for place in self.free.values() {
            cores_in.entry(place.cache).or_default().insert(place.core);
        }
        let cores = self.cores();
        for cache in order {
            let Some(in_cache) = cores_in.get(&cache) else { continue };
            if let Some(cpus) = self.part_of_cache(in_cache, &cores, rounds_up) {
                self.take(&cpus);
                return;
            }
        }
    }

    /// Returns free CPUs of the first cores of a cache, if they are exactly as many as needed (`takePartialUncore`).
    fn part_of_cache(
        &self,
        in_cache: &BTreeSet<i64>,
        cores: &Units,
        rounds_up: bool,
    ) -> Option<CpuSet> {
        let per_core = self.topology.cpus_per_core();
        let more = if rounds_up { per_core - 1 } else { 0 };
        let cores_needed = usize::try_from((self.needed + more).checked_div(per_core)?).ok()?;
        let of_cores = in_cache.iter().take(cores_needed).filter_map(|core| cores.get(core));
        let mut cpus: BTreeSet<i64> = of_cores.flatten().copied().collect();
        let is_odd = self.needed % 2 != 0 && per_core > 1;
        if rounds_up && is_odd && size_of(&cpus) > self.needed {
            cpus.pop_last();
        }
        (size_of(&cpus) == self.needed).then(|| cpus.into_iter().collect())
    }

    pub fn take_single(&mut self) {
        for cpu in self.sorted_cpus() {
            self.take(&[cpu].into_iter().collect());
            if self.is_satisfied() {
                return;
            }
        }
    }
}

fn socket(place: &Place) -> i64 {
    place.socket
}

fn node(place: &Place) -> i64 {
    place.node
}

fn size(units: &Units, unit: i64) -> i64 {
    units.get(&unit).map_or(0, size_of)
}

fn size_of(cpus: &BTreeSet<i64>) -> i64 {
    i64::try_from(cpus.len()).unwrap_or(i64::MAX)
}

/// Sorts units by their free CPUs, then by their numbers.
fn sorted(units: impl Iterator<Item = i64>, free: &Units) -> Vec<i64> {
    let mut units: Vec<i64> = units.collect();
    units.sort_by_key(|unit| (free.get(unit).map_or(0, BTreeSet::len), *unit));
    units
}

/// Takes CPUs as close together as possible (`takeByTopologyNUMAPacked`).
pub(super) fn take_packed(
    topology: &CpuTopology,
    free: &CpuSet,
    wanted: i64,
    taking: Taking,
) -> Result<CpuSet, TakeError> {
    let mut all = Accumulator::new(topology, free, wanted, taking.sorting);
    if all.is_satisfied() {
        return Ok(all.into_taken());
    }
    if all.is_failed() {
        return Err(TakeError::NotEnough { requested: wanted, available: count(free) });
    }
    all.take_levels();
    if !all.is_satisfied() && taking.by_cache {
        all.take_caches(taking.rounds_up_cores);
    }
    if !all.is_satisfied() && taking.sorting == Sorting::Packed {
        all.take_cores();
    }
    if !all.is_satisfied() {
        all.take_single();
    }
    match all.is_satisfied() {
        true => Ok(all.into_taken()),
        false => Err(TakeError::Failed),
    }
}
