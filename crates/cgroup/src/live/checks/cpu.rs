//! CPU time: limits that the kernel cannot keep, and the share of all pods against the system's.

use super::{
    Check, CheckInput, GIVE_CONFIG, GIVE_PODS, NO_CONFIG, NO_PODS, NO_ROOT, OTHER_ROOT, READ_TREE,
    first_of,
};
use super::{fail, ok, unknown, warn};
use crate::cpu::MIN_QUOTA_US;
use crate::files::CgroupVersion;
use crate::pod::pod_options;
use crate::settings::CgroupSettings;
use kq_answer::Severity;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree};
use kq_k8s::pod::{Pod, ResourceList, ResourceName};
use kq_k8s::resources::pod_requests;
use kq_output::units::counted;
use kq_output::units::percent;
use serde_json::{Map, Value, json};

/// Checks that no CPU limit is below the least that the kernel keeps: 1 ms in each period, which is
/// 10m with the period of 100 ms. Pods with less get that much.
pub fn limits(examined: CheckInput<'_>) -> Check {
    const NAME: &str = "cpu-limits";
    let settings = CgroupSettings::of(examined.node);
    let Some(pods) = &examined.snapshot.pods.found else {
        return unknown(NAME, NO_PODS, GIVE_PODS);
    };
    if !settings.cpu_cfs_quota {
        return ok(NAME, "cpuCFSQuota is false: the kubelet enforces no limit")
            .with(json!({ "cpuCfsQuota": false }))
            .from(&pods.source);
    }
    let period = settings.cpu_cfs_quota_period_us;
    let small: Vec<String> =
        examined.active_pods().flat_map(|pod| small_limits(pod, period)).collect();
    let least = MIN_QUOTA_US.saturating_mul(1000) / period.max(1);
    match (small.is_empty(), examined.incomplete) {
        (false, _) => warn(
            NAME,
            format!("{} below {least}m: {}", counted(small.len(), "limit"), first_of(&small)),
            format!("ask for {least}m or more: each of them gets a quota of {MIN_QUOTA_US}us"),
        )
        .with(json!({ "state": "small", "limits": small })),
        (true, Some(reason)) => unknown(NAME, reason, GIVE_PODS),
        (true, None) => ok(NAME, format!("none below {least}m")),
    }
    .with(json!({ "leastMilliCpu": least }))
    .from(&pods.source)
}

/// Returns the limits of a pod that the kernel cannot keep.
fn small_limits(pod: &Pod, period_us: i64) -> Vec<String> {
    let spec = &pod.spec;
    let containers = spec.containers_and_init();
    let containers =
        containers.map(|container| (format!("/{}", container.name), &container.resources.limits));
    let whole = spec.resources.iter().map(|resources| (String::new(), &resources.limits));
    let small = containers.chain(whole).filter_map(|(name, limits)| {
        let milli = limits.get(&ResourceName::Cpu)?.milli_value();
        let quota = i128::from(milli) * i128::from(period_us) / 1000;
        (milli > 0 && quota < i128::from(MIN_QUOTA_US))
            .then(|| format!("{}/{}{name} {milli}m", pod.metadata.namespace, pod.metadata.name))
    });
    small.collect()
}

/// What competes at the top of the tree.
struct Top<'t> {
    /// The cgroup of all pods.
    root: &'t CgroupPath,
    weight: u64,
    /// The others with their weights.
    siblings: Vec<(&'t str, u64)>,
}

/// Checks that the system's cgroups cannot take from all pods together what pods request.
///
/// The kernel shares busy CPUs by weight. The kubelet computes the weight of kubepods from the CPUs of
/// the node, but that of its siblings is 100 (1024 shares on cgroup v1) whatever the size of the
/// machine: on a small one, or with a weight raised by hand, the system gets more than was reserved for
/// it. With `C` the capacity, `R` what is reserved for system and Kubernetes, `Q` what active pods
/// request, `w` the weight of kubepods, `s` that of its heaviest sibling and `S` that of all siblings:
///
/// | heaviest sibling                 | pods                         |         |
/// |----------------------------------|------------------------------|---------|
/// | `s > w` and `C*s/(s+w) > R`      | `C*w/(s+w) < Q`              | FAIL    |
/// | `s > w` and `C*s/(s+w) > R`      | otherwise                    | WARN    |
/// | otherwise                        | `C*w/(S+w) < Q`              | WARN    |
/// | otherwise                        | otherwise                    | OK      |
///
/// It fails when one busy sibling is enough; that all of them are busy at once is rare, and only
/// worth knowing. With pods that are not known, `Q` is at least what is known: then what would be OK, or
/// a WARN of the second line, is UNKNOWN.
pub fn weight(examined: CheckInput<'_>) -> Check {
    const NAME: &str = "cpu-weight";
    let tree = match examined.tree() {
        Ok(tree) => tree,
        Err(reason) => return unknown(NAME, reason, READ_TREE),
    };
    let source = examined.snapshot.cgroups.found.as_ref().map_or("-", |found| &found.source);
    let top = match top(examined, tree) {
        Ok(top) => top,
        Err((reason, advice)) => return unknown(NAME, reason, advice).from(source),
    };
    let Some(capacity) = milli_cpu(&examined.node.capacity) else {
        let reason = "the number of CPUs is not known";
        return unknown(NAME, reason, "set it with --capacity cpu=N").from(source);
    };
    let siblings = top.siblings.iter().map(|(name, weight)| ((*name).to_owned(), json!(weight)));
    let check = judge(examined, &top, capacity).with(json!({
        "cgroup": top.root.as_str(),
        "weight": top.weight,
        "siblings": Value::Object(siblings.collect::<Map<String, Value>>()),
        "capacityMilliCpu": capacity,
        "requestedMilliCpu": requested(examined),
    }));
    let check = match check.severity {
        Severity::Error => check.with(json!({ "state": "starved" })),
        Severity::Warning => check.with(json!({ "state": "outweighed" })),
        Severity::Unknown | Severity::Info | Severity::Ok => check,
    };
    check.from(source)
}

/// Decides by the table above.
fn judge(examined: CheckInput<'_>, top: &Top<'_>, capacity: u64) -> Check {
    const NAME: &str = "cpu-weight";
    let own = top.weight;
    let all: u64 = top.siblings.iter().fold(own, |sum, (_, weight)| sum.saturating_add(*weight));
    let share = percent(own, all).unwrap_or_default();
    let others: Vec<String> =
        top.siblings.iter().map(|(name, weight)| format!("{name} {weight}")).collect();
    let others = if others.is_empty() { "no others".to_owned() } else { first_of(&others) };
    let when_busy = part(capacity, own, all);
    let found = format!(
        "{} {own} against {others}: {share} ({when_busy}m of {capacity}m) when all are busy",
        top.root.name()
    );
    let requested = requested(examined);
    let at_least = examined.incomplete.is_some() || examined.snapshot.pods.found.is_none();
    let unknown_pods = || {
        let reason = examined.incomplete.unwrap_or(NO_PODS);
        unknown(NAME, format!("{found}; {reason}"), GIVE_PODS)
    };
    // Of equal ones that of the system is named: the others can be empty.
    let heaviest = top
        .siblings
        .iter()
        .max_by_key(|(name, weight)| (*weight, *name == "system.slice"))
        .copied();
    if let Some((name, weight)) = heaviest.filter(|(_, weight)| *weight > own) {
        let both = own.saturating_add(weight);
        let (taken, left) = (part(capacity, weight, both), part(capacity, own, both));
        if !examined.knows_config() && reserved(examined) == 0 {
            return unknown(
                NAME,
                format!("{found}; {name} outweighs it, and {NO_CONFIG}"),
                GIVE_CONFIG,
            );
        }
        let reserved = reserved(examined);
        if taken > reserved {
            let advice = format!(
                "{name} can take {taken}m, and {reserved}m are reserved: where pods need more, lower its \
                 weight (systemctl set-property {name} CPUWeight=N); more reserved CPU lowers that of \
                 {} as well",
                top.root.name()
            );
            let found = format!("{found}; pods request {requested}m");
            return if left < requested {
                fail(NAME, found, advice)
            } else if at_least {
                unknown_pods()
            } else {
                warn(NAME, found, advice)
            };
        }
    }
    if when_busy < requested {
        return warn(
            NAME,
            format!("{found}; pods request {requested}m"),
            "watch the pressure (kq cgroup show), or lower the weights of the others",
        );
    }
    if at_least { unknown_pods() } else { ok(NAME, found) }
}

/// Returns the cgroups that compete with all pods, or the reason why they are unknown and what to do.
fn top<'t>(
    examined: CheckInput<'t>,
    tree: &'t CgroupTree,
) -> Result<Top<'t>, (String, &'static str)> {
    let present = examined.present(tree);
    let own = examined.node.cgroup_driver;
    let root = present.iter().find(|(driver, _)| *driver == own).or(present.first());
    let Some((_, root)) = root else {
        return Err((NO_ROOT.to_owned(), OTHER_ROOT));
    };
    if root.depth() != 1 {
        let reason =
            format!("{} is not at the top, and only there weights are read", root.as_str());
        return Err((reason, "compare it with its siblings by hand"));
    }
    let file = match tree.layout.version() {
        Some(CgroupVersion::V1) => CgroupFile::CpuShares,
        _ => CgroupFile::CpuWeight,
    };
    let Some(weight) = tree.get(root).and_then(|texts| texts.number(file)) else {
        let reason = format!("{} has no {}", root.as_str(), file.v2_name());
        return Err((reason, "see whether the cpu controller is on at the top of the tree"));
    };
    // What has no such file does not compete as a group, and what has no processes does not compete.
    let siblings = tree
        .cgroups
        .iter()
        .filter(|(path, texts)| {
            path.depth() == 1 && path != root && may_compete(path.name(), texts)
        })
        .filter_map(|(path, texts)| Some((path.name(), texts.number(file)?)));
    let mut siblings: Vec<(&str, u64)> = siblings.collect();
    siblings.sort_by_key(|(name, weight)| (std::cmp::Reverse(*weight), *name));
    Ok(Top { root, weight, siblings })
}

/// Returns true if a cgroup, or one below it, has processes. Where the kernel says nothing of it, as on cgroup v1 and in
/// older snapshots, only the units of mounts are known to have none.
fn may_compete(name: &str, texts: &CgroupTexts) -> bool {
    let populated = texts.text_of(CgroupFile::CgroupEvents).and_then(|text| {
        text.lines().find_map(|line| line.strip_prefix("populated ")).map(|it| it.trim() == "1")
    });
    populated.unwrap_or(!name.ends_with(".mount"))
}

/// Returns `part` of `whole` of an amount, rounded down.
fn part(amount: u64, part: u64, whole: u64) -> u64 {
    let part = u128::from(amount) * u128::from(part);
    u64::try_from(part / u128::from(whole.max(1))).unwrap_or(u64::MAX)
}

fn milli_cpu(list: &ResourceList) -> Option<u64> {
    u64::try_from(list.get(&ResourceName::Cpu)?.milli_value()).ok()
}

/// Returns what is reserved for the system and for Kubernetes.
fn reserved(examined: CheckInput<'_>) -> u64 {
    let reservations = &examined.node.reservations;
    let lists = [&reservations.system, &reservations.kube];
    lists.into_iter().filter_map(milli_cpu).sum()
}

/// Returns what the pods request that have not ended.
fn requested(examined: CheckInput<'_>) -> u64 {
    let options = pod_options(&CgroupSettings::of(examined.node));
    let each = examined.active_pods().map(|pod| milli_cpu(&pod_requests(pod, &options).total));
    each.flatten().fold(0, u64::saturating_add)
}
