//! The shape of JSON answers about a live node, written down once more from the outside, as in
//! `contract`.

use super::contract::{Reason, Said};
use super::fake_node::FakeNode;
use super::kq;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

/// `kq cgroup show -o json`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CgroupUsage {
    api_version: String,
    kind: String,
    cgroup_version: u8,
    cgroup_driver: String,
    warnings: Vec<Said>,
    items: Vec<UsedCgroup>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsedCgroup {
    level: String,
    namespace: Option<String>,
    pod: Option<String>,
    pod_uid: Option<String>,
    container: Option<String>,
    container_id: Option<String>,
    qos_class: Option<String>,
    cgroup: String,
    settings: BTreeMap<String, String>,
    usage: Usage,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    cpu_usec: Option<u64>,
    periods: Option<u64>,
    throttled_periods: Option<u64>,
    throttled_usec: Option<u64>,
    memory_bytes: Option<u64>,
    swap_bytes: Option<u64>,
    pids: Option<u64>,
    oom_kills: Option<u64>,
    cpu_pressure: Option<String>,
    memory_pressure: Option<String>,
    io_pressure: Option<String>,
}

/// `kq cgroup which -o json`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CgroupOwner {
    api_version: String,
    kind: String,
    level: String,
    namespace: Option<String>,
    pod: Option<String>,
    pod_uid: Option<String>,
    container: Option<String>,
    container_id: Option<String>,
    qos_class: Option<String>,
    cgroup: String,
    pids: Vec<i32>,
}

/// `kq cgroup diff -o json`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CgroupDiff {
    api_version: String,
    kind: String,
    facts: BTreeMap<String, Value>,
    assumptions: Vec<Value>,
    warnings: Vec<Said>,
    summary: Summary,
    items: Vec<Difference>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE", deny_unknown_fields)]
struct Summary {
    r#match: usize,
    rounded: usize,
    drift: usize,
    missing: usize,
    extra: usize,
    resize_pending: usize,
    older_config: usize,
    changing: usize,
    unknown: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Difference {
    level: String,
    namespace: Option<String>,
    pod: Option<String>,
    container: Option<String>,
    cgroup: String,
    file: Option<String>,
    planned: Option<String>,
    actual: Option<String>,
    verdict: String,
    reason: Option<String>,
    writer: Option<String>,
    set_by: Option<BTreeMap<String, Value>>,
    because: Vec<BTreeMap<String, Value>>,
}

/// `kq cgroup apply -o json`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CgroupApply {
    api_version: String,
    kind: String,
    warnings: Vec<Said>,
    rollback_file: Option<String>,
    items: Vec<DoneStep>,
    left: Vec<Left>,
    refusals: Vec<String>,
    stopped: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DoneStep {
    cgroup: String,
    owner: String,
    file: String,
    from: String,
    to: String,
    writer: String,
    result: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Left {
    cgroup: String,
    file: Option<String>,
    reason: String,
}

/// What `kq cgroup apply` stores.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CgroupRollback {
    api_version: String,
    kind: String,
    made_at: String,
    steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    cgroup: String,
    owner: String,
    file: String,
    from: String,
    to: String,
    writer: String,
}

/// `kq snapshot`: the outer shape; what is deeper may grow.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeSnapshot {
    api_version: String,
    kind: String,
    taken_at: String,
    taken_by: String,
    host_root: BTreeMap<String, String>,
    host: BTreeMap<String, Value>,
    node_name: Lookup,
    kubelet: Lookup,
    kubelet_version: Lookup,
    kubelet_config: Lookup,
    node: Lookup,
    pods: Lookup,
    runtime: Lookup,
    state_files: Option<BTreeMap<String, Value>>,
    cgroups: Lookup,
    folders: BTreeMap<String, NodeFolder>,
    image_records: Lookup,
    stats_summary: Lookup,
    devices: Devices,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Devices {
    checkpoint: Lookup,
    #[serde(default)]
    lacks_folder: bool,
    pod_resources: Lookup,
}

#[derive(Debug, Deserialize)]
struct NodeFolder {
    path: String,
    filesystem: Lookup,
    usage: Lookup,
}

#[derive(Debug, Deserialize)]
struct Lookup {
    found: Option<Found>,
    tried: Vec<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
struct Found {
    source: String,
    value: Value,
}

/// `kq evict rank -o json`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EvictionRank {
    api_version: String,
    kind: String,
    at: String,
    signal: String,
    resource: String,
    condition: String,
    usage: BTreeMap<String, String>,
    layout: Option<DiskLayout>,
    counted: Option<BTreeMap<String, bool>>,
    thresholds: Vec<Threshold>,
    now: Vec<Reason>,
    reclaim: Vec<String>,
    before: Vec<Reason>,
    first: FirstEvicted,
    items: Vec<RankItem>,
    assumptions: Vec<Said>,
    warnings: Vec<Said>,
    missing: Vec<Said>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DiskLayout {
    dedicated_image_fs: Option<bool>,
    split_container_image_fs: bool,
    because: Vec<Reason>,
    sources: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Threshold {
    pub signal: String,
    pub grace_period: String,
    pub configured: String,
    pub threshold: Option<i64>,
    pub min_reclaim: Option<i64>,
    pub available: Option<i64>,
    pub capacity: Option<i64>,
    pub margin: Option<i64>,
    pub met: Option<bool>,
    pub reclaim: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FirstEvicted {
    one_of: Vec<BTreeMap<String, String>>,
    spared: Vec<BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RankItem {
    rank: usize,
    last_rank: usize,
    namespace: String,
    name: String,
    uid: String,
    priority: i32,
    request: Option<i64>,
    usage: Option<u64>,
    over: Option<i64>,
    exceeds: Option<bool>,
    unmeasured: Vec<String>,
    critical: bool,
    soft_grace_seconds: i64,
    parts: Option<BTreeMap<String, u64>>,
    decided_by: Option<String>,
    because: Vec<Reason>,
}

const APP: &str = "/kubepods/burstable/podaaaa-1/app1";

#[track_caller]
fn answer<T: DeserializeOwned>(node: &FakeNode, line: &str) -> T {
    // Names and usage need no description.
    let ran = match line.contains("show") || line.contains("which") {
        true => node.with_pods(line).run(),
        false => node.described(line).run(),
    };
    ran.answer()
}

#[test]
fn usage_has_its_shape() {
    let node = FakeNode::as_planned();
    let stat = "usage_usec 5\nnr_periods 4\nnr_throttled 1\nthrottled_usec 2";
    node.set(APP, "cpu.stat", stat);
    node.set(APP, "memory.events", "oom 1\noom_kill 1");
    node.set(APP, "memory.swap.current", "4096");
    for file in ["cpu.pressure", "memory.pressure", "io.pressure"] {
        node.set(APP, file, "some avg10=0.10 avg60=0.00 avg300=0.00 total=1");
    }
    let shown: CgroupUsage = answer(&node, "cgroup show -o json");
    assert_eq!((shown.api_version.as_str(), shown.kind.as_str()), ("kq/v2", "CgroupUsage"));
    assert_eq!((shown.cgroup_version, shown.cgroup_driver.as_str()), (2, "cgroupfs"));
    assert!(!shown.warnings.is_empty(), "no runtime was found, and that is said");
    let app = shown.items.iter().find(|item| item.cgroup == APP).expect("the container");
    let names = [&app.namespace, &app.pod, &app.pod_uid, &app.container, &app.container_id];
    let names: Vec<&str> = names.iter().map(|name| name.as_deref().unwrap_or_default()).collect();
    assert_eq!(names, ["shop", "web", "aaaa-1", "app", "app1"]);
    assert_eq!((app.level.as_str(), app.qos_class.as_deref()), ("container", Some("Burstable")));
    assert_eq!(app.settings["memory.max"], "134217728");
    let Usage { cpu_usec, periods, throttled_periods, throttled_usec, .. } = app.usage;
    assert_eq!([cpu_usec, periods, throttled_periods, throttled_usec], [5, 4, 1, 2].map(Some));
    let Usage { memory_bytes, swap_bytes, pids, oom_kills, .. } = app.usage;
    assert_eq!([memory_bytes, swap_bytes, pids, oom_kills], [1_048_576, 4096, 1, 1].map(Some));
    let usage = &app.usage;
    for pressure in [&usage.cpu_pressure, &usage.memory_pressure, &usage.io_pressure] {
        assert_eq!(pressure.as_deref(), Some("0.10"));
    }
}

#[test]
fn owners_have_their_shape() {
    let node = FakeNode::as_planned();
    let owner: CgroupOwner = answer(&node, "cgroup which --container app1 -o json");
    assert_eq!((owner.api_version.as_str(), owner.kind.as_str()), ("kq/v2", "CgroupOwner"));
    assert_eq!((owner.level.as_str(), owner.cgroup.as_str()), ("container", APP));
    let names = [owner.namespace, owner.pod, owner.pod_uid, owner.container, owner.container_id];
    assert_eq!(names.map(Option::unwrap_or_default), ["shop", "web", "aaaa-1", "app", "app1"]);
    assert_eq!((owner.qos_class.as_deref(), owner.pids.len()), (Some("Burstable"), 1));
}

#[test]
fn differences_have_their_shape() {
    let node = FakeNode::as_planned();
    node.set(APP, "cpu.weight", "77");
    let report: CgroupDiff = answer(&node, "cgroup diff -o json");
    assert_eq!((report.api_version.as_str(), report.kind.as_str()), ("kq/v2", "CgroupDiff"));
    assert!(report.facts.contains_key("cgroupDriver") && !report.assumptions.is_empty());
    assert!(report.warnings.iter().any(|warning| warning.text.contains("--runtime-endpoint")));
    let Summary {
        r#match,
        rounded,
        drift,
        missing,
        extra,
        resize_pending,
        older_config,
        changing,
        unknown,
    } = report.summary;
    let others = rounded + missing + extra + resize_pending + older_config + changing + unknown;
    assert_eq!((drift, others), (1, 0), "beside {match} that match");
    assert_eq!(report.items.len(), r#match + 1);
    let drifting = report.items.iter().find(|item| item.verdict == "DRIFT").expect("one drifts");
    let Difference { namespace, pod, container, file, planned, actual, .. } = drifting;
    let texts = [namespace, pod, container, file, planned, actual];
    let texts: Vec<&str> = texts.iter().map(|text| text.as_deref().unwrap_or_default()).collect();
    assert_eq!(texts, ["shop", "web", "app", "cpu.weight", "17", "77"]);
    assert_eq!((drifting.level.as_str(), drifting.cgroup.as_str()), ("container", APP));
    assert_eq!(drifting.writer.as_deref(), Some("runtime"));
    let set_by = drifting.set_by.as_ref().expect("who set it is evident");
    assert_eq!(set_by["code"], "other", "{set_by:?}");
    assert!(drifting.reason.as_ref().is_some_and(|it| it.contains("by another program")));
    assert!(drifting.because.iter().any(|step| step.contains_key("text")), "{drifting:?}");
}

#[test]
fn orders_of_eviction_have_their_shape() {
    let files = "--pods examples/eviction/pods.json --stats examples/eviction/summary.json";
    let rank = |signal: &str| -> EvictionRank {
        let ran = kq(&format!("evict rank --signal {signal} {files} -o json")).run();
        ran.answer()
    };
    let disk = rank("disk");
    assert_eq!((disk.api_version.as_str(), disk.kind.as_str()), ("kq/v2", "EvictionRank"));
    assert_eq!(
        (disk.signal.as_str(), disk.resource.as_str()),
        ("nodefs.available", "ephemeral-storage")
    );
    assert_eq!((disk.condition.as_str(), disk.at.is_empty()), ("DiskPressure", false));
    assert_eq!((disk.usage["from"].as_str(), disk.usage.len()), ("statsSummary", 2));
    let layout = disk.layout.expect("disks have a layout");
    assert_eq!((layout.dedicated_image_fs, layout.split_container_image_fs), (Some(false), false));
    assert_eq!((layout.because.len(), layout.sources.len()), (2, 3));
    assert_eq!(disk.counted.map(|counted| counted.into_values().all(|it| it)), Some(true));
    assert_eq!(disk.reclaim, ["deleteAllUnusedContainers", "deleteUnusedImages"]);
    assert_eq!((disk.now.len(), disk.before.len(), disk.assumptions.len()), (1, 2, 2));
    assert!(disk.warnings.is_empty() && disk.missing.is_empty());
    let [threshold] = disk.thresholds.as_slice() else { panic!("{:?}", disk.thresholds) };
    let Threshold { threshold: amount, min_reclaim, available, capacity, margin, met, .. } =
        threshold;
    assert_eq!(*available, amount.zip(*margin).map(|(amount, margin)| amount + margin));
    assert_eq!((*min_reclaim, *capacity, *met), (None, Some(100 << 30), Some(true)));
    let texts = [&threshold.signal, &threshold.grace_period, &threshold.configured];
    assert_eq!(texts, ["nodefs.available", "0s", "10%"]);
    assert_eq!(threshold.reclaim, disk.reclaim);
    assert_eq!((disk.first.one_of[0]["name"].as_str(), disk.first.spared.len()), ("new", 0));
    let [unmeasured, cache, .., one, other] = disk.items.as_slice() else { panic!("few") };
    assert_eq!((unmeasured.usage, unmeasured.over, unmeasured.exceeds), (None, None, None));
    assert_eq!(unmeasured.decided_by.as_deref(), Some("notMeasured"));
    assert_eq!([&cache.namespace, &cache.name, &cache.uid], ["shop", "cache", "u-cache"]);
    let bytes = 906 << 20;
    assert_eq!(
        (cache.usage, cache.over, cache.request),
        (Some(bytes as u64), Some(bytes), Some(0))
    );
    assert_eq!(cache.parts.as_ref().map(|parts| parts.values().sum()), cache.usage);
    assert_eq!((cache.exceeds, cache.critical, cache.priority), (Some(true), false, 0));
    assert_eq!((cache.soft_grace_seconds, cache.unmeasured.len()), (0, 0));
    assert_eq!((one.rank, one.last_rank, other.rank, other.last_rank), (6, 7, 6, 7));
    let codes: Vec<&str> = other.because.iter().map(|reason| &*reason.code).collect();
    assert_eq!((other.decided_by.as_deref(), codes), (None, vec!["equal", "last"]));
    let memory = rank("memory");
    assert!(memory.layout.is_none() && memory.counted.is_none() && memory.reclaim.is_empty());
}

#[test]
fn changes_have_their_shape() {
    let node = FakeNode::as_planned();
    node.set(APP, "cpu.weight", "77");
    node.set("/kubepods/burstable/podgone-9", "cpu.weight", "5");
    let planned: CgroupApply = answer(&node, "cgroup apply --dry-run -o json");
    assert_eq!((planned.api_version.as_str(), planned.kind.as_str()), ("kq/v2", "CgroupApply"));
    assert_eq!((planned.rollback_file, planned.stopped), (None, None));
    let [step] = &planned.items[..] else { panic!("{:?}", planned.items) };
    let DoneStep { cgroup, owner, file, from, to, writer, result } = step;
    let texts = [cgroup, owner, file, from, to, writer, result];
    assert_eq!(texts, [APP, "shop/web app", "cpu.weight", "77", "17", "runtime", "planned"]);
    let [left] = &planned.left[..] else { panic!("{:?}", planned.left) };
    assert_eq!((left.cgroup.as_str(), &left.file), ("/kubepods/burstable/podgone-9", &None));
    assert!(!left.reason.is_empty() && planned.refusals.is_empty() && !planned.warnings.is_empty());

    let done: CgroupApply = answer(&node, "cgroup apply --yes --rollback-file back.json -o json");
    assert_eq!(done.items[0].result, "done");
    assert_eq!(done.rollback_file.as_deref(), Some("back.json"));
    let stored = std::fs::read(node.folder().join("back.json")).expect("the way back is stored");
    let stored: CgroupRollback = serde_json::from_slice(&stored).expect("it has its shape");
    assert_eq!((stored.api_version.as_str(), stored.kind.as_str()), ("kq/v1", "CgroupRollback"));
    assert!(stored.made_at.ends_with('Z'), "{}", stored.made_at);
    let [step] = &stored.steps[..] else { panic!("{:?}", stored.steps) };
    let Step { cgroup, owner, file, from, to, writer } = step;
    let texts = [cgroup, owner, file, from, to, writer];
    assert_eq!(texts, [APP, "shop/web app", "cpu.weight", "17", "77", "runtime"]);
}

#[test]
fn snapshots_have_their_shape() {
    let node = FakeNode::as_planned();
    let ran = node.root();
    let stored: NodeSnapshot = answer_without_config(&node);
    assert_eq!((stored.api_version.as_str(), stored.kind.as_str()), ("kq/v1", "NodeSnapshot"));
    assert!(stored.taken_at.ends_with('Z') && stored.taken_by.starts_with("kq "));
    let absolute = ran.canonicalize().expect("the root is there").display().to_string();
    let path = std::path::Path::new(&stored.host_root["path"]).canonicalize();
    assert_eq!(path.expect("it is there").display().to_string(), absolute);
    assert!(stored.host.contains_key("texts") && stored.state_files.is_some());
    for (name, sought) in
        [("nodeName", &stored.node_name), ("pods", &stored.pods), ("cgroups", &stored.cgroups)]
    {
        let found = sought.found.as_ref().unwrap_or_else(|| panic!("{name}: {:?}", sought.tried));
        assert!(!found.source.is_empty() && !found.value.is_null(), "{name}");
    }
    for (name, sought) in [
        ("kubelet", &stored.kubelet),
        ("kubeletConfig", &stored.kubelet_config),
        ("runtime", &stored.runtime),
        ("imageRecords", &stored.image_records),
        ("statsSummary", &stored.stats_summary),
        ("podResources", &stored.devices.pod_resources),
        ("the runtime's folder", &stored.folders["images"].filesystem),
    ] {
        assert!(sought.found.is_none() && !sought.tried.is_empty(), "{name}");
        assert!(sought.tried.iter().all(|tried| tried.contains_key("reason")), "{name}");
    }
    assert!(stored.devices.lacks_folder, "no kubelet ran there");
    let kubelet = &stored.folders["kubelet"];
    assert_eq!(kubelet.path, "/var/lib/kubelet");
    assert!(kubelet.filesystem.found.is_some() || !kubelet.filesystem.tried.is_empty());
    assert_eq!(kubelet.usage.found.is_some(), kubelet.filesystem.found.is_some());
    assert!(stored.kubelet_version.found.is_none() && stored.node.found.is_none());
    let checkpoint = &stored.devices.checkpoint;
    assert!(checkpoint.found.is_some() || !checkpoint.tried.is_empty());
}

/// A snapshot takes no configuration from files.
fn answer_without_config(node: &FakeNode) -> NodeSnapshot {
    let run =
        super::kq("snapshot --host-root root --pods pods.json --kubelet-url http://127.0.0.1:1");
    let ran = run.within(node.folder()).run();
    ran.answer()
}
