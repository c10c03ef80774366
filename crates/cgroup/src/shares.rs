//! The CPU time of each container of a plan when all are busy, by planned values or the kernel's.

mod competitors;

use self::competitors::Competitors;
pub use self::competitors::Values;
use crate::cpu_share::{Division, Node as Competitor, Quota, Reason, cpu_shares};
use crate::live::checks::first_of;
use crate::node::NodePart;
use crate::plan::{Owner, Plan, PlannedCgroup, last_element};
use kq_answer::{Basis, Missing, MissingFact, Warning, WarningCode, answer};
use kq_facts::cgroup_tree::CgroupPath;
use kq_facts::workloads::effective_uid;
use kq_k8s::pod::{Container, ResourceName};
use kq_k8s::qos::QosClass;
use kq_k8s::quantity::Quantity;
use kq_output::metrics::{Labels, Metrics, number};
use kq_output::screen::Tone;
use kq_output::table::{Column, Rows, Table, or_dash};
use kq_output::units::bar;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// A busy sibling of kubepods.
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

answer!("CpuShares", CpuShares<'_>, CpuShares::metrics);

impl CpuShares<'_> {
    fn metrics(&self, metrics: &mut Metrics) {
        let rows = || {
            self.items.iter().map(|share| {
                let labels: Labels = [
                    ("namespace", share.namespace),
                    ("pod", share.pod.as_deref()),
                    ("container", share.container),
                    ("sibling", share.sibling.as_deref()),
                    ("cgroup", share.cgroup),
                ]
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?.to_owned())))
                .collect();
                (labels, share)
            })
        };
        metrics.gauge(
            "kq_cpu_share_cpus",
            "CPUs that a container gets when every container is busy",
            rows().map(|(labels, share)| (labels, share.as_f64())),
        );
        metrics.gauge(
            "kq_cpu_share_request_cpus",
            "CPUs that a container requests",
            rows().map(|(labels, share)| {
                (labels, share.request_milli_cpu.map(|milli| number(milli) / 1000.0))
            }),
        );
    }
}

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
    /// The CPUs that it gets, as an exact fraction; null: a value that decides is unknown.
    #[serde(serialize_with = "fraction")]
    #[schemars(with = "Option<String>")]
    pub cpus: Option<BigRational>,
    /// The same for reading.
    pub decimal: Option<String>,
    /// Gets at least what it requests; null without a request, or where the CPUs are unknown.
    pub meets_request: Option<bool>,
    /// Why it does not get more.
    pub limited_by: String,
    /// The cgroup at which that is decided, where it is not the container's own.
    pub at: Option<String>,
}

impl Share<'_> {
    /// Returns the same without the CPUs where something is missing that decides them.
    fn unless(self, missing: Option<&Missing>) -> Self {
        let Some(missing) = missing else { return self };
        let limited_by = format!("unknown: {}", missing.text);
        Self { cpus: None, decimal: None, meets_request: None, limited_by, at: None, ..self }
    }

    /// Returns the CPUs that it gets; `None`: a value that decides is unknown.
    pub fn as_f64(&self) -> Option<f64> {
        self.cpus.as_ref()?.to_f64()
    }
}

fn fraction<S: Serializer>(cpus: &Option<BigRational>, serializer: S) -> Result<S::Ok, S::Error> {
    match cpus {
        Some(cpus) => serializer.collect_str(&format_args!("{}/{}", cpus.numer(), cpus.denom())),
        None => serializer.serialize_none(),
    }
}

/// Divides CPUs among the containers of a plan. Planned init containers that end are left out: they do not
/// run with the others. A sandbox sleeps. Exclusive CPUs belong to their containers, and the others
/// divide the rest without `kept`, on which no container runs.
pub fn shares<'p>(
    plan: &'p Plan<'p>,
    values: Values<'p>,
    (cpus, kept): (u64, u64),
    siblings: &[Sibling],
    mut basis: Basis,
) -> CpuShares<'p> {
    values.tell(&mut basis);
    let (reserved, kubepods): (Vec<_>, Vec<_>) = plan.roots.iter().partition(|it| is_reserved(it));
    let all = Competitors::of(&kubepods, values, !siblings.is_empty());
    let exclusive = all.pinned.iter().map(|(_, cpus)| cpus).sum::<u64>().max(all.held);
    let too_many = (exclusive > cpus).then(|| {
        let text = format!("{exclusive} exclusive CPUs are requested, and the node has {cpus}");
        Missing::new(
            MissingFact::Placement,
            format!("{text}: the kubelet refuses some of these pods"),
        )
    });
    basis.lack_all(too_many.clone());
    let mut competitors = all.roots.clone();
    for sibling in siblings {
        competitors.push(Competitor::new(None, sibling.name.clone(), sibling.weight));
    }
    if siblings.is_empty() {
        basis.warn_all(reserved.into_iter().map(|root| {
            let weight = values.weight(root).map_or("?".to_owned(), |weight| weight.to_string());
            let name = last_element(&root.path);
            let text = format!(
                "processes in {} compete with the pods and are not counted: --sibling {name}={weight}",
                root.path
            );
            Warning::new(WarningCode::UncountedProcesses, text).about(&root.path)
        }));
    }
    let named = |what: &str, names: &[String]| {
        (!names.is_empty()).then(|| format!("{what}: {}", first_of(names)))
    };
    let absent = named("no cgroup in the kernel, and no CPU time", &all.absent);
    basis.warn_all(absent.map(|text| Warning::new(WarningCode::NoCgroup, text)));
    // What is left of a pod that has ended needs no CPU time.
    let is_left = |path: &CgroupPath| {
        let mut uids = plan.ended.iter().map(|pod| effective_uid(pod)).filter(|it| !it.is_empty());
        uids.any(|uid| path.name().replace('_', "-").contains(uid))
    };
    let strangers = all.strangers.iter().filter(|path| !is_left(path));
    let strangers: Vec<String> = strangers.map(|path| path.as_str().to_owned()).collect();
    let strangers = named("no known pod, and CPU time that is not counted", &strangers);
    let running = named("it runs without a cgroup, and its CPU time is not counted", &all.running);
    let lacks = |fact| move |text| Missing::new(fact, text);
    basis.lack_all(strangers.map(lacks(MissingFact::Pods)));
    basis.lack_all(running.map(lacks(MissingFact::CgroupTree)));
    basis.lack_all(all.gaps.iter().map(|gap| gap.missing.clone()));
    let left = cpus.saturating_sub(exclusive).saturating_sub(kept);
    let shared = all.shared.filter(|_| plan.settings.static_cpu_manager).unwrap_or(left);
    let divided = cpu_shares(shared.min(cpus), &competitors);
    let mut items: Vec<Share<'p>> = Vec::new();
    for (cgroup, own) in &all.pinned {
        let limited_by = format!("exclusive CPUs: {own}");
        let own = share(cgroup, BigRational::from_integer((*own).into()), limited_by, None);
        items.push(own.unless(too_many.as_ref()));
    }
    // Siblings are where kubepods is.
    let top = kubepods.first().and_then(|root| CgroupPath::new(&root.path).parent());
    let top = top.unwrap_or_else(CgroupPath::root);
    for leaf in &divided.leaves {
        let (limited_by, at) = reason(&leaf.reason);
        let (path, own) = match leaf.node.id {
            Some(cgroup) => {
                let own = share(cgroup, leaf.cpus.clone(), limited_by, at);
                (CgroupPath::new(&cgroup.path), own)
            }
            None => {
                let own = sibling_share(&leaf.node.name, leaf.cpus.clone(), limited_by, at);
                (top.child(&leaf.node.name), own)
            }
        };
        let gap = too_many.as_ref().or_else(|| Some(&all.gap(&path)?.missing));
        items.push(own.unless(gap));
    }
    CpuShares { cpus, items, basis }
}

/// A reserved cgroup has no containers: what runs in it is given as a sibling.
fn is_reserved(cgroup: &PlannedCgroup<'_>) -> bool {
    matches!(cgroup.owner, Owner::Node(part) if part != NodePart::Kubepods)
}

fn share<'p>(
    cgroup: &'p PlannedCgroup<'p>,
    cpus: BigRational,
    limited_by: String,
    at: Option<String>,
) -> Share<'p> {
    let Owner::Container { pod, class, name, container, .. } = cgroup.owner else {
        // A pod without containers was refused when it was read.
        return sibling_share(&cgroup.path, cpus, limited_by, at);
    };
    let requested = request_of(container).filter(|milli_cpu| *milli_cpu > 0);
    let enough = |milli_cpu: i64| cpus >= BigRational::new(milli_cpu.into(), 1000.into());
    Share {
        namespace: Some(&pod.metadata.namespace),
        pod: Some(pod.display_name()),
        container: Some(name),
        sibling: None,
        qos_class: Some(class),
        cgroup: Some(&cgroup.path),
        request_milli_cpu: requested,
        decimal: Some(decimal(&cpus)),
        meets_request: requested.map(enough),
        cpus: Some(cpus),
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
        decimal: Some(decimal(&cpus)),
        meets_request: None,
        cpus: Some(cpus),
        limited_by,
        at,
    }
}

fn decimal(cpus: &BigRational) -> String {
    format!("{:.6}", cpus.to_f64().unwrap_or_default())
}

fn request_of(container: &Container) -> Option<i64> {
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

/// Returns the line that names the values.
pub fn values_line(values: Values<'_>) -> String {
    match values {
        Values::Planned => "weights and quotas: planned".to_owned(),
        Values::Kernel(_) => "weights and quotas: the kernel's".to_owned(),
    }
}

/// Returns the shares as a table with a bar for each: filled is what it gets, `|` is what it asked
/// for. `wide` adds the cgroups.
pub fn table(shares: &CpuShares<'_>, wide: bool) -> Table {
    let most =
        shares.items.iter().map(|share| gets(share).max(requested(share))).fold(0.0, f64::max);
    let rows: Vec<(f64, &Share<'_>)> = shares.items.iter().map(|share| (most, share)).collect();
    Rows::of(&rows).wide(wide).table(&[
        Column::name("POD", |(_, share)| match (&share.pod, share.namespace, &share.sibling) {
            (Some(pod), Some(namespace), _) => format!("{namespace}/{pod}"),
            (_, _, Some(sibling)) => format!("({sibling})"),
            _ => "-".to_owned(),
        }),
        Column::name("CONTAINER", |(_, share)| or_dash(share.container)),
        Column::new("QOS", |(_, share)| or_dash(share.qos_class)),
        Column::new("REQUEST", |(_, share)| {
            or_dash(share.request_milli_cpu.map(|milli| format!("{milli}m")))
        }),
        Column::new("GETS", |(_, share)| or_dash(share.decimal.as_ref())),
        Column::state(
            "MEETS REQUEST",
            |(_, share)| or_dash(met(share)),
            |(_, share)| share.meets_request.map(|met| if met { Tone::Good } else { Tone::Bad }),
        ),
        Column::new("CPU TIME", |(most, share)| drawn(share, *most)),
        Column::text("LIMITED BY", |(_, share)| share.limited_by.clone()),
        Column::wide(Column::new("AT", |(_, share)| or_dash(share.at.as_ref()))),
        Column::wide(Column::name("CGROUP", |(_, share)| or_dash(share.cgroup))),
    ])
}

fn met(share: &Share<'_>) -> Option<String> {
    let percent = percent_down(share.cpus.as_ref()?, share.request_milli_cpu?);
    let verdict = if share.meets_request == Some(true) { "yes" } else { "no" };
    Some(format!("{verdict}, {percent}%"))
}

fn requested(share: &Share<'_>) -> f64 {
    share.request_milli_cpu.unwrap_or(0) as f64 / 1000.0
}

fn gets(share: &Share<'_>) -> f64 {
    share.cpus.as_ref().and_then(BigRational::to_f64).unwrap_or_default()
}

/// Returns the bar of a share; the longest one stands for `most`.
fn drawn(share: &Share<'_>, most: f64) -> String {
    const WIDTH: usize = 24;
    if share.cpus.is_none() {
        return "-".to_owned();
    }
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
