//! The part of a node's resources that is available to pods.
//!
//! Mirrors `GetNodeAllocatableReservation`, `getNodeAllocatableAbsolute` and `validateNodeAllocatable`
//! of `pkg/kubelet/cm/node_container_manager_linux.go`, `hardEvictionReservation` of
//! `pkg/kubelet/cm/helpers.go`, `MachineInfo` of `pkg/kubelet/nodestatus/setters.go` and the part of
//! `cmd/kubelet/app/server.go` that reads reservations, all read in 1.36.2; pinned by the vectors
//! `node_allocatable.jsonl`.

use crate::kubelet_config::{
    EffectiveConfiguration, EvictionError, EvictionThreshold, QosReservedError, ReservedError,
    Signal, ThresholdValue, parse_hard_thresholds, parse_qos_reserved, parse_reserved_list,
};
use kq_k8s::cpuset::CpuSet;
use kq_k8s::pod::{ResourceList, ResourceName};
use kq_k8s::quantity::{Format, Quantity};

/// The reservations of a kubelet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reservations {
    /// `systemReserved`
    pub system: ResourceList,
    /// `kubeReserved`
    pub kube: ResourceList,
    /// `evictionHard`
    pub hard: Vec<EvictionThreshold>,
    /// The memory of `qosReserved` in percent.
    pub qos_memory_percent: Option<i64>,
}

impl Reservations {
    /// Returns true if no reserved memory is a share of the machine's.
    pub fn has_absolute_memory(&self) -> bool {
        let mut hard = self.hard.iter().filter(|it| it.signal == Signal::MemoryAvailable);
        hard.all(|it| matches!(it.value, ThresholdValue::Quantity(_)))
    }
}

/// Why a kubelet with such reservations does not start; the texts are its own.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReservationError {
    /// `reservedSystemCPUs` names CPUs that are not there.
    #[error("reserved-cpus: {reserved} is not a subset of online-cpus: {online}")]
    ReservedCpus {
        /// The text of the configuration.
        reserved: String,
        /// The CPUs that are there.
        online: CpuSet,
    },
    /// A list of reserved resources.
    #[error(transparent)]
    Reserved(#[from] ReservedError),
    /// A hard threshold.
    #[error(transparent)]
    Eviction(#[from] EvictionError),
    /// `qosReserved`
    #[error("{}", .0.startup_text())]
    Qos(QosReservedError),
}

impl ReservationError {
    /// Returns the field of the configuration that is refused.
    pub fn field(&self) -> &'static str {
        match self {
            Self::ReservedCpus { .. } => "reservedSystemCPUs",
            Self::Reserved(error) if error.flag == "kube-reserved" => "kubeReserved",
            Self::Reserved(_) => "systemReserved",
            Self::Eviction(_) => "evictionHard",
            Self::Qos(_) => "qosReserved",
        }
    }
}

/// Reads what a configuration reserves. The CPUs of `reservedSystemCPUs` become `systemReserved`
/// in the configuration, as the kubelet does it; `online` is `None` when the CPUs are not known.
/// The first problem on which the kubelet would stop.
pub fn reservations(
    config: &mut EffectiveConfiguration,
    online: Option<&CpuSet>,
) -> Result<Reservations, ReservationError> {
    if let Ok(reserved) = config.reserved_system_cpus.parse::<CpuSet>()
        && !reserved.is_empty()
    {
        if let Some(online) = online.filter(|online| !reserved.is_subset(online)) {
            let reserved = config.reserved_system_cpus.clone();
            return Err(ReservationError::ReservedCpus { reserved, online: online.clone() });
        }
        config.kube_reserved.remove("cpu");
        config.system_reserved.insert("cpu".to_owned(), reserved.len().to_string());
    }
    let kube = parse_reserved_list("kube-reserved", &config.kube_reserved)?;
    let system = parse_reserved_list("system-reserved", &config.system_reserved)?;
    let hard = parse_hard_thresholds(&config.eviction_hard)?;
    let qos = parse_qos_reserved(&config.qos_reserved).map_err(ReservationError::Qos)?;
    Ok(Reservations { system, kube, hard, qos_memory_percent: qos.map(i64::from) })
}

/// The amounts available to pods, in the kubelet's three ways of counting.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeAllocatable {
    /// Reserved, and below the eviction thresholds: not available to the scheduler.
    pub reservation: ResourceList,
    /// Capacity without reserved resources; eviction thresholds are not taken off.
    pub absolute: ResourceList,
    /// As in the node's status.
    pub status: ResourceList,
}

/// Reservations above the capacity, on which the kubelet stops.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("invalid Node Allocatable configuration. {}", self.sentences())]
pub struct OverReserved {
    /// Resource, reservation and capacity.
    pub resources: Vec<(ResourceName, Quantity, Quantity)>,
}

impl OverReserved {
    /// The kubelet prints the innards of its quantities here; these are the amounts.
    fn sentences(&self) -> String {
        let sentence = |(name, reservation, capacity): &(ResourceName, Quantity, Quantity)| {
            over_reserved_sentence(name, &reservation.to_string(), &capacity.to_string())
        };
        self.resources.iter().map(sentence).collect::<Vec<_>>().join(" ")
    }

    /// Returns the line in the kubelet's log, to search for; `None` where it differs from run to run.
    pub fn log_line(&self) -> Option<String> {
        let [(name, reservation, capacity)] = self.resources.as_slice() else {
            return None;
        };
        let sentence =
            over_reserved_sentence(name, &reservation.go_struct()?, &capacity.go_struct()?);
        Some(format!("invalid Node Allocatable configuration. {sentence}"))
    }
}

fn over_reserved_sentence(name: &ResourceName, reservation: &str, capacity: &str) -> String {
    format!(
        "Resource \"{name}\" has a reservation of {reservation} but capacity of {capacity}. \
         Expected capacity >= reservation."
    )
}

/// Returns what of a capacity is for pods. A resource that the capacity does not name is not
/// computed.
/// Fails when more is reserved than there is.
pub fn node_allocatable(
    capacity: &ResourceList,
    reservations: &Reservations,
) -> Result<NodeAllocatable, OverReserved> {
    let mut allocatable = NodeAllocatable::default();
    let mut over = Vec::new();
    for (name, there_is) in capacity.iter() {
        let reserved = reserved(name, there_is, reservations);
        if reserved.compare(there_is).is_gt() && name.as_str() != "pid" {
            over.push((name.clone(), reserved.clone(), there_is.clone()));
        }
        let mut status = there_is.clone();
        if !reserved.is_zero() {
            status -= &reserved;
            allocatable.reservation.insert(name.clone(), reserved);
        }
        allocatable.status.insert(name.clone(), at_least_zero(status));
        allocatable.absolute.insert(name.clone(), without_reserved(name, there_is, reservations));
    }
    if !over.is_empty() {
        return Err(OverReserved { resources: over });
    }
    for (_, hugepages) in capacity.iter().filter(|(name, _)| name.hugepage_size().is_some()) {
        if let Some(mut memory) = allocatable.status.remove(&ResourceName::Memory) {
            memory -= hugepages;
            allocatable.status.insert(ResourceName::Memory, at_least_zero(memory));
        }
    }
    Ok(allocatable)
}

/// Returns what is reserved of one resource, together with what hard thresholds keep free.
pub fn reserved(name: &ResourceName, capacity: &Quantity, reservations: &Reservations) -> Quantity {
    let mut reserved = Quantity::from_units(0, Format::DecimalSi);
    for list in [&reservations.system, &reservations.kube] {
        if let Some(amount) = list.get(name) {
            reserved += amount;
        }
    }
    if let Some(amount) = eviction_reservation(name, capacity, &reservations.hard) {
        reserved += &amount;
    }
    reserved
}

/// Returns what is reserved of a machine's resources, together with what hard thresholds keep free; not of ephemeral
/// storage. Of what nothing is reserved is left out.
pub fn reserved_but_storage(capacity: &ResourceList, reservations: &Reservations) -> ResourceList {
    let mut reservation = ResourceList::default();
    for (name, there_is) in capacity.iter() {
        let amount = reserved(name, there_is, reservations);
        if name.as_str() != "ephemeral-storage" && !amount.is_zero() {
            reservation.insert(name.clone(), amount);
        }
    }
    reservation
}

/// Returns one resource without what is reserved of it.
fn without_reserved(
    name: &ResourceName,
    capacity: &Quantity,
    reservations: &Reservations,
) -> Quantity {
    let mut left = capacity.clone();
    for list in [&reservations.system, &reservations.kube] {
        left -= list.get(name).unwrap_or(&Quantity::default());
    }
    at_least_zero(left)
}

/// Returns what the hard eviction thresholds keep free.
fn eviction_reservation(
    name: &ResourceName,
    capacity: &Quantity,
    hard: &[EvictionThreshold],
) -> Option<Quantity> {
    let signal = match name.as_str() {
        "memory" => Signal::MemoryAvailable,
        "ephemeral-storage" => Signal::NodeFsAvailable,
        _ => return None,
    };
    let threshold = hard.iter().find(|threshold| threshold.signal == signal)?;
    Some(threshold.value.quantity(capacity))
}

fn at_least_zero(amount: Quantity) -> Quantity {
    if amount.sign() < 0 { Quantity::from_units(0, amount.format()) } else { amount }
}
