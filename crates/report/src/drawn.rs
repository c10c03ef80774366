//! What sections draw of answers that live no longer than the node that they are about.

use kq_cgroup::live::show::{CgroupUsage, Usage, UsedCgroup};
use kq_cgroup::shares::{CpuShares, Share};
use kq_k8s::qos::QosClass;
use kq_managers::list::{DeviceList, DeviceRow, Health, ResourceSummary, State};
use std::collections::BTreeMap;

/// A cgroup of `kq cgroup show`. What it has no name of is empty.
#[derive(Clone, Debug, Default)]
pub struct Cgroup {
    pub is_container: bool,
    pub namespace: String,
    pub pod: String,
    pub container: String,
    pub qos_class: Option<QosClass>,
    /// The path below the root of the hierarchy.
    pub path: String,
    /// The texts of its files.
    pub settings: BTreeMap<String, String>,
    pub usage: Usage,
}

impl Cgroup {
    /// Returns the cgroups of an answer, in its order.
    pub fn all(answer: &CgroupUsage<'_>) -> Vec<Self> {
        answer.items.iter().map(Self::of).collect()
    }

    fn of(cgroup: &UsedCgroup<'_>) -> Self {
        let (place, settings) = (&cgroup.place, cgroup.settings.iter());
        let name = |name: Option<&str>| name.unwrap_or_default().to_owned();
        Self {
            is_container: place.is_container,
            namespace: name(place.namespace),
            pod: name(place.pod),
            container: name(place.container),
            qos_class: place.qos_class,
            path: place.cgroup.to_owned(),
            settings: settings.map(|(file, text)| ((*file).into(), (*text).into())).collect(),
            usage: cgroup.usage.clone(),
        }
    }

    /// Returns the text of a file; the empty one where there is none.
    pub fn setting(&self, file: &str) -> &str {
        self.settings.get(file).map(String::as_str).unwrap_or_default()
    }
}

/// How `kq cgroup shares` divides the CPUs.
#[derive(Clone, Debug)]
pub struct CpuTime {
    pub cpus: u64,
    /// Weights and quotas are the kernel's; else they are the planned ones.
    pub is_by_kernel: bool,
    pub items: Vec<CpuPart>,
}

/// What a container or a sibling of the pods gets. What it has no name of is empty.
#[derive(Clone, Debug, Default)]
pub struct CpuPart {
    pub namespace: String,
    pub pod: String,
    pub container: String,
    pub sibling: Option<String>,
    pub qos_class: Option<QosClass>,
    /// The path below the root of the hierarchy; `None`: a sibling.
    pub cgroup: Option<String>,
    pub request_milli_cpu: Option<i64>,
    /// `None`: a value that decides is unknown.
    pub cpus: Option<f64>,
    /// The same as the answer writes it.
    pub decimal: Option<String>,
    pub meets_request: Option<bool>,
    pub limited_by: String,
}

impl CpuTime {
    /// Returns what is drawn of an answer.
    pub fn of(answer: &CpuShares<'_>, is_by_kernel: bool) -> Self {
        let items = answer.items.iter().map(CpuPart::of).collect();
        Self { cpus: answer.cpus, is_by_kernel, items }
    }
}

impl CpuPart {
    fn of(share: &Share<'_>) -> Self {
        let name = |name: Option<&str>| name.unwrap_or_default().to_owned();
        Self {
            namespace: name(share.namespace),
            pod: name(share.pod.as_deref()),
            container: name(share.container),
            sibling: share.sibling.clone(),
            qos_class: share.qos_class,
            cgroup: share.cgroup.map(str::to_owned),
            request_milli_cpu: share.request_milli_cpu,
            cpus: share.as_f64(),
            decimal: share.decimal.clone(),
            meets_request: share.meets_request,
            limited_by: share.limited_by.clone(),
        }
    }
}

/// The devices of `kq devices list`.
#[derive(Clone, Debug, Default)]
pub struct Devices {
    pub held: Vec<HeldDevice>,
    pub resources: Vec<ResourceSummary>,
}

/// A device that a container has.
#[derive(Clone, Debug)]
pub struct HeldDevice {
    pub namespace: String,
    pub pod: String,
    pub container: String,
    pub resource: String,
    pub device: String,
    pub numa_nodes: Vec<i64>,
    pub health: Health,
    pub state: State,
    /// Why, a sentence each.
    pub findings: Vec<String>,
}

impl Devices {
    /// Returns what is drawn of an answer.
    pub fn of(answer: &DeviceList<'_>) -> Self {
        let held = answer.items.iter().map(HeldDevice::of).collect();
        Self { held, resources: answer.resources.clone() }
    }
}

impl HeldDevice {
    fn of(row: &DeviceRow<'_>) -> Self {
        Self {
            namespace: row.pod.namespace.to_owned(),
            pod: row.pod.name.to_owned(),
            container: row.container.to_owned(),
            resource: row.resource.to_owned(),
            device: row.device.to_owned(),
            numa_nodes: row.numa_nodes.clone(),
            health: row.health,
            state: row.state,
            findings: row.findings.iter().map(|it| it.reason.to_string()).collect(),
        }
    }
}
