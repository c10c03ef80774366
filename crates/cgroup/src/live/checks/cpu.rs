//! CPU time: limits that the kernel cannot keep, and the share of all pods against the system's.

use super::rule::{CheckId, CheckRule, Heaviest, NO_PODS, Weights};
use super::{Check, CheckInput};
use crate::cpu::MIN_QUOTA_US;
use crate::files::CgroupVersion;
use crate::pod::pod_options;
use crate::settings::CgroupSettings;
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree};
use kq_k8s::pod::{Pod, ResourceList, ResourceName};
use kq_k8s::resources::pod_requests;

/// Checks that no CPU limit is below the least that the kernel keeps: 1 ms in each period, which is
/// 10m with the period of 100 ms. Pods with less get that much.
pub fn limits(examined: CheckInput<'_>) -> Check {
    let settings = CgroupSettings::of(examined.node);
    let Some(pods) = &examined.snapshot.pods.found else {
        return CheckRule::NoPods { check: CheckId::CpuLimits }.into();
    };
    if !settings.cpu_cfs_quota {
        return CheckRule::LimitsNotEnforced { cpu_cfs_quota: false }.sourced(&pods.source);
    }
    let period = settings.cpu_cfs_quota_period_us;
    let limits: Vec<String> =
        examined.active_pods().flat_map(|pod| small_limits(pod, period)).collect();
    let least_milli_cpu = MIN_QUOTA_US.saturating_mul(1000) / period.max(1);
    let rule = match (limits.is_empty(), examined.incomplete) {
        (false, _) => CheckRule::SmallLimits { limits, least_milli_cpu },
        (true, Some(reason)) => {
            CheckRule::LimitsUnknown { least_milli_cpu, reason: reason.to_owned() }
        }
        (true, None) => CheckRule::NoSmallLimits { least_milli_cpu },
    };
    rule.sourced(&pods.source)
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
    let tree = match examined.tree() {
        Ok(tree) => tree,
        Err(reason) => return CheckRule::TreeUnread { check: CheckId::CpuWeight, reason }.into(),
    };
    let rule = match (top(examined, tree), milli_cpu(&examined.node.capacity)) {
        (Err(rule), _) => rule,
        (Ok(_), None) => CheckRule::NoCpus,
        (Ok(top), Some(capacity_milli_cpu)) => {
            let siblings = top.siblings.into_iter();
            let weights = Weights {
                cgroup: top.root.as_str().to_owned(),
                weight: top.weight,
                siblings: siblings.map(|(name, weight)| (name.to_owned(), weight)).collect(),
                capacity_milli_cpu,
                requested_milli_cpu: requested(examined),
            };
            judge(examined, weights)
        }
    };
    rule.sourced(examined.tree_source())
}

/// Decides by the table above.
fn judge(examined: CheckInput<'_>, weights: Weights) -> CheckRule {
    let (own, requested) = (weights.weight, weights.requested_milli_cpu);
    let at_least = examined.incomplete.is_some() || examined.snapshot.pods.found.is_none();
    let unknown_pods = |weights| {
        let reason = examined.incomplete.unwrap_or(NO_PODS).to_owned();
        CheckRule::RequestsUnknown { weights, reason }
    };
    // Of equal ones that of the system is named: the others can be empty.
    let heaviest =
        weights.siblings.iter().max_by_key(|(name, weight)| (**weight, *name == "system.slice"));
    let heaviest = heaviest.map(|(name, weight)| (name.clone(), *weight));
    if let Some((name, weight)) = heaviest.filter(|(_, weight)| *weight > own) {
        let both = own.saturating_add(weight);
        let (taken, left) = (weights.part(weight, both), weights.part(own, both));
        let reserved = reserved(examined);
        if !examined.knows_config() && reserved == 0 {
            return CheckRule::OutweighedWithoutConfig { weights, name };
        }
        if taken > reserved {
            let heaviest = Heaviest { name, taken_milli_cpu: taken, reserved_milli_cpu: reserved };
            return match left < requested {
                true => CheckRule::Starved { weights, heaviest },
                false if at_least => unknown_pods(weights),
                false => CheckRule::Outweighed { weights, heaviest },
            };
        }
    }
    match weights.when_busy() < requested {
        true => CheckRule::OutweighedByAll(weights),
        false if at_least => unknown_pods(weights),
        false => CheckRule::WeightsSuffice(weights),
    }
}

/// Returns the cgroups that compete with all pods, or why they are unknown.
fn top<'t>(examined: CheckInput<'t>, tree: &'t CgroupTree) -> Result<Top<'t>, CheckRule> {
    let present = examined.present(tree);
    let own = examined.node.cgroup_driver;
    let root = present.iter().find(|(driver, _)| *driver == own).or(present.first());
    let Some((_, root)) = root else {
        return Err(CheckRule::NoRoot { check: CheckId::CpuWeight });
    };
    if root.depth() != 1 {
        return Err(CheckRule::RootBelowTop { root: root.as_str().to_owned() });
    }
    let file = match tree.layout.version() {
        Some(CgroupVersion::V1) => CgroupFile::CpuShares,
        _ => CgroupFile::CpuWeight,
    };
    let Some(weight) = tree.get(root).and_then(|texts| texts.number(file)) else {
        return Err(CheckRule::NoWeight { root: root.as_str().to_owned(), file: file.v2_name() });
    };
    // What has no such file does not compete as a group, and what has no processes does not compete.
    let siblings = tree
        .cgroups
        .iter()
        .filter(|(path, texts)| {
            path.depth() == 1 && path != root && may_compete(path.name(), texts)
        })
        .filter_map(|(path, texts)| Some((path.name(), texts.number(file)?)));
    Ok(Top { root, weight, siblings: siblings.collect() })
}

/// Returns true if a cgroup, or one below it, has processes. Where the kernel says nothing of it, as on cgroup v1 and in
/// older snapshots, only the units of mounts are known to have none.
fn may_compete(name: &str, texts: &CgroupTexts) -> bool {
    texts.is_populated().unwrap_or(!name.ends_with(".mount"))
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
