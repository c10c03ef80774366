//! Who gets how much CPU when every container of a plan is busy.

use crate::answer::{Basis, answer};
use crate::cgroup::container::ContainerKind;
use crate::cgroup::cpu_share::{Division, Node as Competitor, Quota, Reason, cpu_shares};
use crate::cgroup::plan::{Owner, Plan, PlannedCgroup, last_element};
use crate::facts::cgroup_file::CgroupFile;
use crate::k8s::pod::{Container, Pod, ResourceName};
use crate::k8s::qos::QosClass;
use crate::k8s::quantity::Quantity;
use crate::output::bar::bar;
use crate::output::table::{Column, Rows, Table, or_dash};
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// A cgroup beside kubepods that wants CPU too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sibling {
    /// Its name, such as `system.slice`.
    pub name: String,
    /// Its weight, or its shares on cgroup v1.
    pub weight: u64,
}

/// How the CPUs are divided: what `-o json` and `-o yaml` print.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CpuShares<'p> {
    /// How many CPUs are divided.
    pub cpus: u64,
    /// One for each container and each sibling of kubepods.
    pub items: Vec<Share<'p>>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("CpuShares", CpuShares<'_>);

/// What one container or sibling gets.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Share<'p> {
    /// The pod's namespace.
    pub namespace: Option<&'p str>,
    pub pod: Option<Cow<'p, str>>,
    pub container: Option<&'p str>,
    /// The sibling of kubepods.
    pub sibling: Option<String>,
    /// The pod's class.
    pub qos_class: Option<QosClass>,
    /// The path below the root of the hierarchy; null for a sibling.
    pub cgroup: Option<&'p str>,
    /// The request in thousandths of a CPU; null without one.
    pub request_milli_cpu: Option<i64>,
    /// The CPUs that it gets, as an exact fraction.
    #[serde(serialize_with = "fraction")]
    #[schemars(with = "String")]
    pub cpus: BigRational,
    /// The same for reading.
    pub decimal: String,
    /// Gets at least what it requests; null without a request.
    pub meets_request: Option<bool>,
    /// Why it does not get more.
    pub limited_by: String,
    /// The cgroup at which that is decided, where it is not the container's own.
    pub at: Option<String>,
}

fn fraction<S: Serializer>(cpus: &BigRational, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{}/{}", cpus.numer(), cpus.denom()))
}

type Id<'p> = Option<&'p PlannedCgroup<'p>>;

/// Divides CPUs among the containers of a plan. Init containers that end are left out: they do not
/// run beside the others. A sandbox sleeps. Exclusive CPUs belong to their containers, and the others
/// divide the rest.
pub fn shares<'p>(
    plan: &'p Plan<'p>,
    cpus: u64,
    siblings: &[Sibling],
    mut basis: Basis,
) -> CpuShares<'p> {
    let kubepods = plan.roots.iter().filter(|root| !is_reserved(root));
    let pinned: Vec<(&PlannedCgroup<'p>, u64)> = kubepods.clone().flat_map(pinned_leaves).collect();
    let exclusive: u64 = pinned.iter().map(|(_, cpus)| cpus).sum();
    if exclusive > cpus {
        basis.warn(format!("{exclusive} exclusive CPUs are asked for, and there are {cpus}"));
    }
    let mut competitors: Vec<Competitor<Id<'p>>> = kubepods.flat_map(competitors).collect();
    for sibling in siblings {
        competitors.push(Competitor::new(None, sibling.name.clone(), sibling.weight));
    }
    if siblings.is_empty() {
        basis.warn_all(plan.roots.iter().filter(|root| is_reserved(root)).map(|root| {
            let weight = weight(root).map_or("?".to_owned(), |weight| weight.to_string());
            let name = last_element(&root.path);
            format!(
                "what runs in {} competes with the pods and is not counted: --sibling {name}={weight}",
                root.path
            )
        }));
    }
    let divided = cpu_shares(cpus.saturating_sub(exclusive), &competitors);
    let mut items: Vec<Share<'p>> = pinned
        .into_iter()
        .map(|(cgroup, own)| {
            let limited_by = format!("exclusive CPUs: {own}");
            share(cgroup, BigRational::from_integer(own.into()), limited_by, None)
        })
        .collect();
    items.extend(divided.leaves.iter().map(|leaf| {
        let (limited_by, at) = reason(&leaf.reason);
        match leaf.node.id {
            Some(cgroup) => share(cgroup, leaf.cpus.clone(), limited_by, at),
            None => sibling_share(&leaf.node.name, leaf.cpus.clone(), limited_by, at),
        }
    }));
    CpuShares { cpus, items, basis }
}

/// A reserved cgroup has no containers: what runs in it is given as a sibling.
fn is_reserved(cgroup: &PlannedCgroup<'_>) -> bool {
    matches!(cgroup.owner, Owner::Node { part } if part != "kubepods")
}

/// Returns the containers with exclusive CPUs, and how many.
fn pinned_leaves<'p>(cgroup: &'p PlannedCgroup<'p>) -> Vec<(&'p PlannedCgroup<'p>, u64)> {
    if let Some(cpus) = exclusive_cpus(cgroup) {
        return vec![(cgroup, cpus)];
    }
    cgroup.children.iter().flat_map(pinned_leaves).collect()
}

/// Returns how many CPUs a container has for itself. An init container gives its own back.
fn exclusive_cpus(cgroup: &PlannedCgroup<'_>) -> Option<u64> {
    match cgroup.owner {
        Owner::Container { kind: ContainerKind::InitContainer, .. } => None,
        Owner::Container { pod, name, pinned: true, .. } => {
            request_of(pod, name).and_then(|milli_cpu| u64::try_from(milli_cpu / 1000).ok())
        }
        _ => None,
    }
}

/// Returns a cgroup with everything below it that competes; nothing where nothing in it can run, and
/// what is below it where it does not exist (pods without cgroups per QoS).
fn competitors<'p>(cgroup: &'p PlannedCgroup<'p>) -> Vec<Competitor<Id<'p>>> {
    let children: Vec<_> = cgroup.children.iter().flat_map(competitors).collect();
    let is_container = matches!(cgroup.owner, Owner::Container { .. });
    let ends = matches!(cgroup.owner, Owner::Container { kind: ContainerKind::InitContainer, .. });
    if ends || exclusive_cpus(cgroup).is_some() || (!is_container && children.is_empty()) {
        return Vec::new();
    }
    if cgroup.path.is_empty() {
        return children;
    }
    // Only kubepods can lack a weight, without a capacity; nothing competes with it then.
    let name = last_element(&cgroup.path);
    let mut competitor = Competitor::new(Some(cgroup), name, weight(cgroup).unwrap_or(1));
    match cgroup.text(CgroupFile::CpuMax.v2_name()).and_then(|text| text.split_once(' ')) {
        Some((quota, period)) => {
            competitor.cpu_quota_us = quota.parse().ok();
            competitor.cpu_period_us = period.parse().ok();
        }
        None => {
            let signed = |file: &str| cgroup.text(file).and_then(|text| text.parse().ok());
            competitor.cpu_quota_us = signed(CgroupFile::CpuCfsQuota.v2_name());
            competitor.cpu_period_us = signed(CgroupFile::CpuCfsPeriod.v2_name());
        }
    }
    competitor.children = children;
    vec![competitor]
}

fn weight(cgroup: &PlannedCgroup<'_>) -> Option<u64> {
    let number = |file: &str| cgroup.text(file).and_then(|text| text.parse().ok());
    number(CgroupFile::CpuWeight.v2_name()).or_else(|| number(CgroupFile::CpuShares.v2_name()))
}

fn share<'p>(
    cgroup: &'p PlannedCgroup<'p>,
    cpus: BigRational,
    limited_by: String,
    at: Option<String>,
) -> Share<'p> {
    let Owner::Container { pod, class, name, .. } = cgroup.owner else {
        // A pod without containers was refused when it was read.
        return sibling_share(&cgroup.path, cpus, limited_by, at);
    };
    let requested = request_of(pod, name).filter(|milli_cpu| *milli_cpu > 0);
    let enough = |milli_cpu: i64| cpus >= BigRational::new(milli_cpu.into(), 1000.into());
    Share {
        namespace: Some(&pod.metadata.namespace),
        pod: Some(pod.display_name()),
        container: Some(name),
        sibling: None,
        qos_class: Some(class),
        cgroup: Some(&cgroup.path),
        request_milli_cpu: requested,
        decimal: decimal(&cpus),
        meets_request: requested.map(enough),
        cpus,
        limited_by,
        at,
    }
}

fn sibling_share<'p>(
    name: &str,
    cpus: BigRational,
    limited_by: String,
    at: Option<String>,
) -> Share<'p> {
    Share {
        namespace: None,
        pod: None,
        container: None,
        sibling: Some(name.to_owned()),
        qos_class: None,
        cgroup: None,
        request_milli_cpu: None,
        decimal: decimal(&cpus),
        meets_request: None,
        cpus,
        limited_by,
        at,
    }
}

fn decimal(cpus: &BigRational) -> String {
    format!("{:.6}", cpus.to_f64().unwrap_or_default())
}

fn request_of(pod: &Pod, name: &str) -> Option<i64> {
    let spec = &pod.spec;
    let mut all =
        spec.containers.iter().chain(&spec.init_containers).chain(&spec.ephemeral_containers);
    let container: &Container = all.find(|container| container.name == name)?;
    container.resources.requests.get(&ResourceName::Cpu).map(Quantity::milli_value)
}

/// Returns why a container gets no more, and the cgroup at which that is decided.
fn reason(reason: &Reason) -> (String, Option<String>) {
    let quota = |Quota { quota_us, period_us }: &Quota| format!("quota {quota_us} {period_us}");
    let weight = |Division { weight, competing_weights, .. }: &Division| {
        format!("weight {weight} of {competing_weights}")
    };
    match reason {
        Reason::Idle => ("idle".to_owned(), None),
        Reason::OwnQuota(own) => (format!("its {}", quota(own)), None),
        Reason::Threads(threads) => (format!("its {threads} threads"), None),
        Reason::AncestorQuota { path, quota: above, divided } => {
            let divided = divided.as_ref().map_or_else(String::new, |d| format!(", {}", weight(d)));
            (format!("{}{divided}", quota(above)), Some(path.clone()))
        }
        Reason::Weight(division) => (weight(division), Some(division.path.clone())),
        Reason::WholeNode => ("the node's CPUs".to_owned(), None),
    }
}

/// Returns the shares as a table with a bar for each: filled is what it gets, `|` is what it asked
/// for. `wide` adds the cgroups.
pub fn table(shares: &CpuShares<'_>, wide: bool) -> Table {
    let most =
        shares.items.iter().map(|share| gets(share).max(requested(share))).fold(0.0, f64::max);
    let rows: Vec<(f64, &Share<'_>)> = shares.items.iter().map(|share| (most, share)).collect();
    Rows::of(&rows).wide(wide).table(&[
        Column::new("POD", |(_, share)| match (&share.pod, share.namespace, &share.sibling) {
            (Some(pod), Some(namespace), _) => format!("{namespace}/{pod}"),
            (_, _, Some(sibling)) => format!("({sibling})"),
            _ => "-".to_owned(),
        }),
        Column::new("CONTAINER", |(_, share)| or_dash(share.container)),
        Column::new("QOS", |(_, share)| or_dash(share.qos_class)),
        Column::new("REQUEST", |(_, share)| {
            or_dash(share.request_milli_cpu.map(|milli| format!("{milli}m")))
        }),
        Column::new("GETS", |(_, share)| share.decimal.clone()),
        Column::new("MEETS REQUEST", |(_, share)| {
            or_dash(share.request_milli_cpu.map(|milli_cpu| {
                let percent = percent_down(&share.cpus, milli_cpu);
                let verdict = if share.meets_request == Some(true) { "yes" } else { "no" };
                format!("{verdict}, {percent}%")
            }))
        }),
        Column::new("CPU TIME", |(most, share)| drawn(share, *most)),
        Column::new("LIMITED BY", |(_, share)| share.limited_by.clone()),
        Column::wide("AT", |(_, share)| or_dash(share.at.as_ref())),
        Column::wide("CGROUP", |(_, share)| or_dash(share.cgroup)),
    ])
}

fn requested(share: &Share<'_>) -> f64 {
    share.request_milli_cpu.unwrap_or(0) as f64 / 1000.0
}

fn gets(share: &Share<'_>) -> f64 {
    share.cpus.to_f64().unwrap_or_default()
}

/// Returns the bar of a share; the longest one stands for `most`.
fn drawn(share: &Share<'_>, most: f64) -> String {
    const WIDTH: usize = 24;
    let mut drawn = bar(gets(share), most, WIDTH);
    if share.request_milli_cpu.is_some() && most > 0.0 {
        let at = ((requested(share) / most) * WIDTH as f64).round() as usize;
        let length = drawn.chars().count();
        drawn.push_str(&" ".repeat(at.saturating_sub(length)));
        drawn.push_str(if at >= length { "|" } else { "" });
    }
    drawn
}

/// Returns the tenths of a percent that a request is met by, cut, so that 100% is never claimed of
/// what is a little less.
fn percent_down(cpus: &BigRational, milli_cpu: i64) -> String {
    let request = BigRational::new(milli_cpu.into(), 1000.into());
    if request.is_zero() {
        return "-".to_owned();
    }
    let tenths = (cpus / request * BigRational::from_integer(1000.into())).floor().to_integer();
    let (whole, tenth) = (&tenths / 10, &tenths % 10);
    format!("{whole}.{tenth}")
}
