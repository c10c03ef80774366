//! The content of one refresh of the live view, made of the answers of other questions.

use super::cgroup::plan::PlanInput;
use super::cgroup::{Compared, SharesOptions, check_kubepods};
use super::devices::list::{device_list, device_list_needs};
use super::doctor::{node_checks_needs, page, pod_report};
use super::eviction::{EvictionOptions, eviction_needs, eviction_rank};
use super::image_gc::{ImageGcOptions, Trigger, image_gc_needs, image_gc_plan};
use super::probes::{ProbeSelection, ProbedPods, Purpose, Targets, prepare, recorded_probes};
use crate::top::{Body, Counters, Frame, Panel, Row, Totals};
use kq_answer::{Failure, finding_view};
use kq_cgroup::live::show::{UsedCgroup, show};
use kq_cgroup::report::PlaceLevel;
use kq_cgroup::view;
use kq_eviction::rank_view;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::cgroup_value::Value;
use kq_facts::fact_key::FactKey;
use kq_facts::kubelet_config::Signal;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::overrides::Overrides;
use kq_facts::pod_selector::{PodSelector, Selection};
use kq_facts::snapshot::Snapshot;
use kq_facts::workloads::effective_uid;
use kq_image_gc::plan::{summary, table};
use kq_k8s::pod::ResourceName;
use kq_k8s::quantity::Quantity;
use kq_managers;
use kq_managers::list::Asked;
use kq_output::doc::Doc;
use kq_output::units::Precision;
use kq_probe::plan as probe_plan;
use std::collections::BTreeMap;
use std::time::Duration;

/// The options of the view that describe its node.
#[derive(Clone, Debug, Default)]
pub struct TopOptions {
    /// What overrides the facts of the node.
    pub overrides: Overrides,
    /// The facts are stored.
    pub is_stored: bool,
}

/// The signals by which the eviction panel ranks the pods: of memory, of the disk, and of processes.
const RANKED: [Signal; 3] =
    [Signal::MemoryAvailable, Signal::NodeFsAvailable, Signal::PidAvailable];

/// Returns the counters of a refresh.
pub fn counter_needs() -> Needs {
    Needs::of(&[FactKey::CgroupTree, FactKey::CgroupUsage])
}

/// Returns the facts that a panel needs.
pub fn panel_needs(panel: Panel) -> Needs {
    let pods = Needs::PLAN.with(&[FactKey::CgroupUsage]);
    let more = match panel {
        Panel::Pods => return pods,
        Panel::Eviction => {
            let each = RANKED.map(|signal| eviction_needs(Some(signal)).facts);
            let facts = each.into_iter().reduce(|all, facts| all.union(facts));
            Needs { facts: facts.unwrap_or_default(), ..Needs::EVICTION }
        }
        Panel::Images => image_gc_needs(Trigger::Periodic),
        Panel::Devices => device_list_needs(Asked::Both),
        Panel::Probes => Needs::PROBE,
    };
    Needs { facts: pods.facts.union(more.facts), ..pods }
}

/// Returns the facts of all panels and pages, for a recording.
pub fn recording_needs() -> Needs {
    let all = Panel::ALL.into_iter().map(panel_needs);
    all.fold(node_checks_needs(), |all, needs| Needs { facts: all.facts.union(needs.facts), ..all })
}

/// Makes the frame of a panel.
///
/// # Errors
///
/// Fails where the node cannot be described or its cgroups are unknown. A panel without its facts is a frame with the
/// reason.
pub fn frame(
    snapshot: &Snapshot,
    panel: Panel,
    options: &TopOptions,
    planned: &mut PlannedShares,
) -> Result<Frame, Failure> {
    let live = live(snapshot, options)?;
    let tree = live.tree()?;
    check_kubepods(tree, &live.roots)?;
    let config = live.settings()?;
    let shown = show(tree, &live.roots, &live.workloads, &Selection::default(), Vec::new());
    let restarts = restarts(&live);
    let kubepods = shown.items.iter().find(|item| item.place.level == PlaceLevel::Node);
    let amount = |name: &ResourceName| config.capacity.get(name).and_then(Quantity::as_units);
    let amount = |name: ResourceName| amount(&name).and_then(|it| u64::try_from(it).ok());
    let pods = shown.items.iter().filter(|item| item.place.level == PlaceLevel::Pod).count();
    let totals = Totals {
        counters: kubepods.map(counters),
        key: kubepods.map(|item| item.place.cgroup.to_owned()).unwrap_or_default(),
        cpus: amount(ResourceName::Cpu),
        memory_bytes: amount(ResourceName::Memory),
        pods,
    };
    let is_row = |item: &&UsedCgroup<'_>| {
        matches!(item.place.level, PlaceLevel::Pod | PlaceLevel::Container)
    };
    let mut rows: Vec<Row> = match panel {
        Panel::Pods => shown.items.iter().filter(is_row).map(|item| row(item, &restarts)).collect(),
        _ => Vec::new(),
    };
    let at = snapshot.taken_at.parse().unwrap_or_default();
    let node = snapshot.node_name.value().cloned();
    let mut notes = tree.problems.iter().map(ToString::to_string).collect::<Vec<_>>();
    let body = match panel {
        Panel::Pods => {
            notes.extend(live.notes_of_plan().into_iter().map(|it| it.text));
            notes.extend(live.unknown_pods().map(|it| it.text));
            let settings = settings(&shown.items);
            drop(shown);
            match planned.of(snapshot, settings, live) {
                Ok(shares) => add_planned(shares, &mut rows),
                Err(reason) => notes.push(format!("no requests and shares: {reason}")),
            }
            Body::Pods(rows)
        }
        _ => match text(snapshot, panel, options) {
            Ok(text) => Body::Text(text.lines().map(str::to_owned).collect()),
            Err(failure) => Body::Unavailable(failure.reason()),
        },
    };
    Ok(Frame { at, node, panel, totals, body, notes })
}

/// Returns the page of a pod, as `kq doctor POD` has it.
///
/// # Errors
///
/// Fails as `kq doctor POD` does.
pub fn explanation(
    snapshot: &Snapshot,
    pod: &str,
    options: &TopOptions,
) -> Result<Vec<String>, Failure> {
    let compared = Compared::of(live(snapshot, options)?, Selection::default())?;
    let report = pod_report(&compared, pod, options.is_stored)?;
    let mut text = page(&report, false).to_string();
    if !report.findings.is_empty() {
        text.push_str(&format!("\n{}", finding_view::folded(&report.findings)));
    }
    Ok(text.lines().map(str::to_owned).collect())
}

/// Returns the arithmetic of the values of a pod, as `kq cgroup plan POD -o wide` has it.
///
/// # Errors
///
/// Fails as `kq cgroup plan` does.
pub fn derivation(
    snapshot: &Snapshot,
    pod: &str,
    options: &TopOptions,
) -> Result<Vec<String>, Failure> {
    let selection = Selection::of(vec![PodSelector::new(pod)]);
    let input = PlanInput::of_live(&live(snapshot, options)?, selection, false)?;
    let (plan, _) = input.answer()?;
    Ok(view::wide(&plan).to_string().lines().map(str::to_owned).collect())
}

fn live(snapshot: &Snapshot, options: &TopOptions) -> Result<Node, Failure> {
    Node::of(snapshot.clone(), options.overrides.clone())?.checked()
}

/// Returns the restarts of each container by pod UID and name.
fn restarts(live: &Node) -> BTreeMap<(String, String), i64> {
    let mut found = BTreeMap::new();
    for pod in live.pods() {
        let status = &pod.status;
        let all = status.containers_and_init();
        for container in all {
            let key = (effective_uid(pod).to_owned(), container.name.clone());
            found.insert(key, i64::from(container.restart_count));
        }
    }
    found
}

fn row(item: &UsedCgroup<'_>, restarts: &BTreeMap<(String, String), i64>) -> Row {
    let place = &item.place;
    let uid = place.pod_uid.clone().unwrap_or_default();
    let is_pod = place.level == PlaceLevel::Pod;
    let restarts = match place.container {
        Some(container) => restarts.get(&(uid, container.to_owned())).copied(),
        None if is_pod => {
            let of_pod = restarts.iter().filter(|((of, _), _)| *of == uid);
            of_pod.map(|(_, count)| *count).reduce(i64::saturating_add)
        }
        None => None,
    };
    Row {
        key: place.cgroup.to_owned(),
        label: item.label.clone(),
        pod: place.namespace.zip(place.pod).map(|(namespace, pod)| format!("{namespace}/{pod}")),
        is_pod,
        qos: place.qos_class.map(|class| class.to_string()).unwrap_or_default(),
        counters: counters(item),
        request_milli_cpu: None,
        share: None,
        restarts,
    }
}

fn counters(item: &UsedCgroup<'_>) -> Counters {
    let usage = &item.usage;
    let setting = |file: CgroupFile| {
        let names = [CgroupVersion::V2, CgroupVersion::V1].map(|version| file.name(version));
        names.into_iter().find_map(|name| item.settings.get(name).copied())
    };
    let number = |file: CgroupFile| match file.value(setting(file)?) {
        Value::Number(number) => Some(number),
        _ => None,
    };
    let quota = || {
        if let Some(text) = setting(CgroupFile::CpuMax) {
            let (quota, period) = text.trim().split_once(' ')?;
            return Some((quota.parse().ok()?, period.parse().ok()?));
        }
        Some((number(CgroupFile::CpuCfsQuota)?, number(CgroupFile::CpuCfsPeriod)?))
    };
    let milli = |(quota, period): (u64, u64)| quota.saturating_mul(1000).checked_div(period);
    let pressure = [&usage.cpu_pressure, &usage.memory_pressure, &usage.io_pressure];
    let is_known = pressure.iter().any(|it| it.is_some());
    let pressure = pressure.map(|it| it.as_deref().unwrap_or("-")).join("/");
    Counters {
        cpu_usec: usage.cpu_usec,
        periods: usage.periods,
        throttled_periods: usage.throttled_periods,
        memory_bytes: usage.memory_bytes,
        memory_limit: number(CgroupFile::MemoryMax),
        quota_milli: quota().and_then(milli),
        oom_kills: usage.oom_kills,
        pressure: is_known.then_some(pressure),
    }
}

/// The planned requests, and the shares by the kernel's weights and quotas. They are computed again when something
/// other than a counter changed.
#[derive(Debug)]
pub struct PlannedShares {
    key: Option<(Snapshot, Settings)>,
    shares: Result<Shares, String>,
}

impl Default for PlannedShares {
    fn default() -> Self {
        Self { key: None, shares: Ok(Shares::default()) }
    }
}

/// The files of each cgroup in which something is set.
type Settings = Vec<(String, BTreeMap<String, String>)>;

/// The request and the share of each container, by pod and name.
type Shares = BTreeMap<(String, String), (Option<i64>, Option<String>)>;

fn settings(items: &[UsedCgroup<'_>]) -> Settings {
    let owned = |(file, text): (&&str, &&str)| ((*file).to_owned(), (*text).to_owned());
    let of = |item: &UsedCgroup<'_>| {
        (item.place.cgroup.to_owned(), item.settings.iter().map(owned).collect())
    };
    items.iter().map(of).collect()
}

impl PlannedShares {
    fn of(
        &mut self,
        snapshot: &Snapshot,
        settings: Settings,
        live: Node,
    ) -> &Result<Shares, String> {
        let mut others = snapshot.clone();
        others.taken_at.clear();
        others.cgroups = Default::default();
        let key = Some((others, settings));
        if self.key != key {
            self.shares = divide(live).map_err(|failure| failure.reason());
            self.key = key;
        }
        &self.shares
    }
}

fn divide(live: Node) -> Result<Shares, Failure> {
    let input = PlanInput::of_live(&live, Selection::default(), false)?;
    let options = SharesOptions { cpus: None, siblings: Vec::new(), are_planned: false };
    let cpus = options.cpus(&input)?;
    let plan = input.plan()?;
    let (divided, _) = options.divide(&input, &plan, cpus)?;
    let mut shares = BTreeMap::new();
    for share in &divided.items {
        if let (Some(namespace), Some(pod), Some(container)) =
            (share.namespace, share.pod.as_deref(), share.container)
        {
            let key = (format!("{namespace}/{pod}"), container.to_owned());
            shares.insert(key, (share.request_milli_cpu, share.decimal.clone()));
        }
    }
    Ok(shares)
}

fn add_planned(shares: &Shares, rows: &mut [Row]) {
    for row in rows.iter_mut().filter(|row| !row.is_pod) {
        let key = row.pod.clone().map(|pod| (pod, row.label.clone()));
        if let Some((request, share)) = key.and_then(|key| shares.get(&key)) {
            row.request_milli_cpu = *request;
            row.share.clone_from(share);
        }
    }
}

/// Returns the text of a panel, as the command of its question has it.
fn text(snapshot: &Snapshot, panel: Panel, options: &TopOptions) -> Result<String, Failure> {
    let node = live(snapshot, options)?;
    let doc = match panel {
        Panel::Pods => Doc::default(),
        Panel::Eviction => {
            let rank = |signal: Signal| {
                let question = EvictionOptions {
                    signal,
                    node_name: None,
                    stats_file: None,
                    is_stored: options.is_stored,
                };
                (signal, eviction_rank(&node, &question))
            };
            let ranks = RANKED.map(rank);
            let is_ranked = ranks.iter().any(|(_, rank)| rank.is_ok());
            let mut doc = Doc::default();
            for (at, (signal, rank)) in ranks.into_iter().enumerate() {
                if at > 0 {
                    doc.blank();
                }
                match rank {
                    Ok(rank) => doc.add(rank_view::table(&rank)),
                    Err(failure) if !is_ranked => return Err(failure),
                    Err(failure) => doc.line(format!("{}: {}", signal.as_str(), failure.reason())),
                }
            }
            doc
        }
        Panel::Images => {
            let plan = image_gc_plan(&node, &ImageGcOptions::new(Trigger::Periodic))?.plan;
            let mut doc = summary(&plan, Precision::Short);
            doc.add_apart(table(&plan));
            doc
        }
        Panel::Devices => {
            let list = device_list(&node, Asked::Both, &Selection::default())?;
            let resources = kq_managers::list::resources(&list.resources);
            let mut doc = match list.items.is_empty() {
                true => Doc::of_line("no container has a device"),
                false => kq_managers::list::table(&list).into(),
            };
            doc.add_apart(resources);
            doc
        }
        Panel::Probes => {
            let recorded = recorded_probes(&node)?;
            let ip = |_: &_| Err("not needed for a plan".to_owned());
            let pods = prepare(&node, recorded.pods, ip);
            let probed = ProbedPods::new(node, pods, recorded.left_out, Purpose::Plan);
            let selection = ProbeSelection::default();
            let targets = Targets::of_pods(probed, Duration::from_secs(1), &selection)?;
            probe_plan::table(&targets.plan())
        }
    };
    Ok(doc.to_string())
}
