//! The allocatable resources of a node, from its capacity and the kubelet's configuration.

use kq_answer::reason::Reason;
use kq_answer::{Basis, Failure, Headline, Missing, MissingFact, Worded, answer};
use kq_facts::allocatable::{Reservations, reserved};
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::node_config::NodeConfig;
use kq_k8s::kubelet_rules::RuleArea;
use kq_k8s::pod::{ResourceList, ResourceName};
use kq_k8s::quantity::{Format, Quantity};
use kq_output::doc::Doc;
use kq_output::table::{Column, Rows, Table};
use serde::Serialize;

/// The allocatable resources of a node.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllocatableReport {
    /// The node; null: it has no name.
    pub node: Option<String>,
    /// The resources.
    pub items: Vec<AllocatableRow>,
    /// What holds the system and Kubernetes to what is reserved for them.
    pub reservations: Vec<Worded<Enforcement>>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("NodeAllocatable", AllocatableReport; AllocatableReport::headline);

impl AllocatableReport {
    /// Returns what pods may request.
    fn headline(&self) -> Headline {
        let of = |name: &str| self.items.iter().find(|it| it.resource == name);
        let told = ["cpu", "memory", "pods"].into_iter().filter_map(|name| {
            of(name).map(|row| match name {
                "pods" => format!("{} pods", row.allocatable),
                name => format!("{} of {name}", row.allocatable),
            })
        });
        let told: Vec<String> = told.collect();
        match told.is_empty() {
            true => Headline::new("unknown", "what pods may request is unknown"),
            false => {
                Headline::new("allocatable", format!("for pods there are {}", told.join(", ")))
            }
        }
    }
}

/// One resource: `allocatable` is `capacity` less the other amounts, and not less than 0.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllocatableRow {
    pub resource: String,
    /// What the node has.
    pub capacity: String,
    /// `kubeReserved`
    pub kube_reserved: String,
    /// `systemReserved`, which `reservedSystemCPUs` replaces for CPUs.
    pub system_reserved: String,
    /// What `evictionHard` keeps free.
    pub eviction_hard: String,
    /// The huge pages, which are taken out of the memory.
    pub huge_pages: String,
    /// What the scheduler has for pods.
    pub allocatable: String,
    /// What the Node object reports; null: it is not known.
    pub reported: Option<String>,
}

/// The effects of a reservation besides its subtraction (`enforceNodeAllocatableCgroups`,
/// `pkg/kubelet/cm/node_container_manager_linux.go`).
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum Enforcement {
    #[text("{list} is subtracted, and limits no process: {field} names no cgroup")]
    NoCgroup { list: &'static str, field: &'static str },
    #[text(
        "{list} is subtracted, and {cgroup} is not limited to it: enforceNodeAllocatable does not list {key}"
    )]
    NotListed { list: &'static str, cgroup: String, key: &'static str },
    #[text("{list} is subtracted, and limits {cgroup} ({key} in enforceNodeAllocatable)")]
    Enforced { list: &'static str, cgroup: String, key: String },
}

/// Returns what holds processes to the reservations that there are.
fn enforcement(node: &NodeConfig) -> impl Iterator<Item = Enforcement> {
    let config = &node.config;
    let lists = [
        ("kubeReserved", "kubeReservedCgroup", "kube-reserved", &config.kube_reserved_cgroup),
        (
            "systemReserved",
            "systemReservedCgroup",
            "system-reserved",
            &config.system_reserved_cgroup,
        ),
    ];
    let amounts = [&node.reservations.kube, &node.reservations.system];
    let listed = lists.into_iter().zip(amounts).filter(|(_, list)| !list.is_empty());
    listed.map(|((list, field, key, cgroup), _)| {
        let keys = config.enforce_node_allocatable.iter();
        let set = keys.clone().find(|it| {
            it.strip_prefix(key).is_some_and(|rest| matches!(rest, "" | "-compressible"))
        });
        match (cgroup.is_empty(), set) {
            (true, _) => Enforcement::NoCgroup { list, field },
            (false, None) => Enforcement::NotListed { list, cgroup: cgroup.clone(), key },
            (false, Some(set)) => {
                Enforcement::Enforced { list, cgroup: cgroup.clone(), key: set.clone() }
            }
        }
    })
}

/// Returns the facts that the question needs.
pub fn allocatable_needs() -> Needs {
    Needs::GC_POLICY
}

/// Computes the allocatable resources (`GetNodeAllocatableReservation` and `getNodeAllocatableInternalAbsolute`,
/// `pkg/kubelet/cm/node_container_manager_linux.go`; `MachineInfo`, `pkg/kubelet/nodestatus/setters.go`, which takes huge
/// pages out of the memory and counts pods).
///
/// # Errors
///
/// Fails where the kubelet would not start with its reservations.
pub fn node_allocatable(node: &Node) -> Result<AllocatableReport, Failure> {
    let settings = node.settings()?;
    let mut basis = Basis::default();
    basis.warn_all(node.warnings());
    // Both have what is said of the version.
    let known = basis.warnings.clone();
    basis.warn_all(settings.warnings.iter().filter(|it| !known.contains(it)).cloned());
    basis.assume_all(node.assumed());
    basis.assume_all(node.kubelet.version.certainty(RuleArea::Cgroups));
    basis.lack_all(node.missing_config());
    let storage = ResourceName::from("ephemeral-storage");
    let Reservations { kube, system, .. } = &settings.reservations;
    let is_reserved = kube.contains(&storage) || system.contains(&storage);
    let storage = is_reserved.then_some(storage);
    for name in [ResourceName::Cpu, ResourceName::Memory].into_iter().chain(storage) {
        if !settings.capacity.contains(&name) {
            let text = format!("the node's capacity of {name}");
            let missing = Missing::new(MissingFact::Allocatable, text);
            basis.lack(missing.with_flags(["--capacity", "--node-file"]).about(name.as_str()));
        }
    }
    let status = node.snapshot.node.value().map(|object| &object.status.allocatable);
    let mut items: Vec<AllocatableRow> =
        settings.capacity.iter().filter_map(|(name, _)| row(name, settings, status)).collect();
    items.push(pods(settings, status));
    let reservations = enforcement(settings).map(Worded).collect();
    Ok(AllocatableReport { node: settings.name.clone(), items, reservations, basis })
}

fn row(
    name: &ResourceName,
    node: &NodeConfig,
    reported: Option<&ResourceList>,
) -> Option<AllocatableRow> {
    // The kubelet reports neither; `pods` is a row of its own.
    if matches!(name.as_str(), "pid" | "pods") {
        return None;
    }
    let capacity = node.capacity.get(name)?;
    let zero = || Quantity::from_units(0, Format::DecimalSi);
    let of = |list: &ResourceList| list.get(name).cloned().unwrap_or_else(zero);
    let (kube, system) = (of(&node.reservations.kube), of(&node.reservations.system));
    let mut eviction = reserved(name, capacity, &node.reservations);
    eviction -= &kube;
    eviction -= &system;
    let mut huge_pages = zero();
    if *name == ResourceName::Memory {
        let pages = node.capacity.iter().filter(|(name, _)| name.hugepage_size().is_some());
        pages.for_each(|(_, amount)| huge_pages += amount);
    }
    Some(AllocatableRow {
        resource: name.to_string(),
        capacity: capacity.to_string(),
        kube_reserved: kube.to_string(),
        system_reserved: system.to_string(),
        eviction_hard: eviction.to_string(),
        huge_pages: huge_pages.to_string(),
        allocatable: node.allocatable.status.get(name)?.to_string(),
        reported: reported.and_then(|list| list.get(name)).map(Quantity::to_string),
    })
}

fn pods(node: &NodeConfig, reported: Option<&ResourceList>) -> AllocatableRow {
    let count = Quantity::from_units(node.most_pods(), Format::DecimalSi).to_string();
    let none = || "0".to_owned();
    let name = ResourceName::from("pods");
    AllocatableRow {
        resource: name.to_string(),
        capacity: count.clone(),
        kube_reserved: none(),
        system_reserved: none(),
        eviction_hard: none(),
        huge_pages: none(),
        allocatable: count,
        reported: reported.and_then(|list| list.get(&name)).map(Quantity::to_string),
    }
}

fn or_dash(amount: &str) -> String {
    if amount == "0" { "-".to_owned() } else { amount.to_owned() }
}

/// Returns a line for each resource.
pub fn table(report: &AllocatableReport) -> Doc {
    of(report, false)
}

/// Returns a line for each resource, with what the Node object reports.
pub fn wide(report: &AllocatableReport) -> Doc {
    of(report, true)
}

fn of(report: &AllocatableReport, is_wide: bool) -> Doc {
    let mut doc = Doc::from(columns(report, is_wide));
    for effect in &report.reservations {
        doc.line(effect.to_string());
    }
    doc
}

fn columns(report: &AllocatableReport, is_wide: bool) -> Table {
    Rows::of(&report.items).wide(is_wide).table(&[
        Column::new("RESOURCE", |row: &AllocatableRow| row.resource.clone()),
        Column::new("CAPACITY", |row| row.capacity.clone()),
        Column::new("KUBE-RESERVED", |row| or_dash(&row.kube_reserved)),
        Column::new("SYSTEM-RESERVED", |row| or_dash(&row.system_reserved)),
        Column::new("EVICTION-HARD", |row| or_dash(&row.eviction_hard)),
        Column::new("HUGE-PAGES", |row| or_dash(&row.huge_pages)),
        Column::new("ALLOCATABLE", |row| row.allocatable.clone()),
        Column::wide(Column::new("REPORTED", |row| {
            row.reported.clone().unwrap_or_else(|| "-".to_owned())
        })),
    ])
}
