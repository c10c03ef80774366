//! Pods that exceed limits of local storage, for which they are evicted whatever the node has left.
//!
//! Mirrors `localStorageEviction` of `pkg/kubelet/eviction/eviction_manager.go`, read in 1.36.2.

use super::disks::Layout;
use super::observation::unsigned;
use super::pressure::PodName;
use super::rank_report::RankInput;
use super::victim::{Eviction, IMMEDIATE_GRACE_SECONDS, Verdict, evict_pod};
use kq_facts::stats_summary::{FsStats, PodStats, StatsByPod, VolumeStats};
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::{ByName, Pod, ResourceName};
use kq_k8s::quantity::{Format, Quantity};
use kq_k8s::resources::{ResourceOptions, pod_limits};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

/// A limit that a pod exceeds.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "name, used and limit are what they are")]
pub enum ExceededLimit {
    /// The limit of a volume.
    EmptyDir { volume: String, used: Quantity, limit: Quantity },
    /// The sum of the limits of its containers.
    Pod { used: Quantity, limit: Quantity },
    /// The limit of a container.
    Container { container: String, used: Quantity, limit: Quantity },
}

impl fmt::Display for ExceededLimit {
    /// Writes the kubelet's message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyDir { volume, limit, .. } => {
                write!(f, "Usage of EmptyDir volume \"{volume}\" exceeds the limit \"{limit}\". ")
            }
            Self::Pod { limit, .. } => write!(
                f,
                "Pod ephemeral local storage usage exceeds the total limit of containers {limit}. "
            ),
            Self::Container { container, limit, .. } => write!(
                f,
                "Container {container} exceeded its local ephemeral storage limit \"{limit}\". "
            ),
        }
    }
}

/// A pod that exceeds a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalStorageCheck {
    /// Its index among the pods.
    pub pod: usize,
    /// The exceeded limits in the order of the kubelet's checks. The kubelet stops at the first; only a critical
    /// pod, which stays, is checked to the end.
    pub exceeded: Vec<ExceededLimit>,
    /// Nothing for a critical pod.
    pub verdict: Verdict,
}

/// Returns the pods that exceed limits. A cycle may evict more than one.
///
/// A volume without stats is skipped here; the kubelet panics on it.
pub fn local_storage_checks(
    pods: &[&Pod],
    stats: &[PodStats],
    layout: Layout,
    rules: &KubeletRules,
) -> Vec<LocalStorageCheck> {
    let stats = StatsByPod::new(stats);
    let mut checks = Vec::new();
    for (at, pod) in pods.iter().enumerate() {
        let Some(measured) = stats.of(pod) else { continue };
        let mut exceeded = Vec::new();
        let mut verdict = None;
        let limits: [&dyn Fn() -> Option<ExceededLimit>; 3] =
            [&|| empty_dir(pod, &measured.volumes), &|| pod_total(pod, measured), &|| {
                container(pod, measured, layout, rules)
            }];
        for limit in limits.iter().filter_map(|check| check()) {
            let eviction = Eviction {
                grace_seconds: IMMEDIATE_GRACE_SECONDS,
                message: limit.to_string(),
                annotations: None,
                condition: None,
            };
            exceeded.push(limit);
            let decided = evict_pod(pod, eviction);
            let stop = matches!(decided, Verdict::Evicted(_));
            verdict = Some(decided);
            if stop {
                break;
            }
        }
        if let Some(verdict) = verdict {
            checks.push(LocalStorageCheck { pod: at, exceeded, verdict });
        }
    }
    checks
}

fn empty_dir(pod: &Pod, stats: &[VolumeStats]) -> Option<ExceededLimit> {
    let stats = ByName::last_of(stats.iter());
    pod.spec.volumes.iter().find_map(|volume| {
        let limit = volume.empty_dir.as_ref()?.size_limit.as_ref()?;
        let measured = stats.get(&volume.name)?;
        let used = unsigned(measured.used_bytes?, Format::BinarySi);
        (limit.sign() > 0 && used.compare(limit) == Ordering::Greater).then(|| {
            ExceededLimit::EmptyDir { volume: volume.name.clone(), used, limit: limit.clone() }
        })
    })
}

fn pod_total(pod: &Pod, stats: &PodStats) -> Option<ExceededLimit> {
    let limits = pod_limits(pod, &ResourceOptions::default()).total;
    let limit = limits.get(&storage())?;
    let used = used_bytes(stats.ephemeral_storage.as_ref());
    (used.compare(limit) == Ordering::Greater)
        .then(|| ExceededLimit::Pod { used, limit: limit.clone() })
}

/// Limits of init containers do not count; those of sidecars do since 1.37.
fn container(
    pod: &Pod,
    stats: &PodStats,
    layout: Layout,
    rules: &KubeletRules,
) -> Option<ExceededLimit> {
    let sidecars = pod.spec.sidecars();
    let sidecars = sidecars.filter(|_| rules.limits_storage_of_sidecars());
    let limits: BTreeMap<&str, &Quantity> = sidecars
        .chain(&pod.spec.containers)
        .filter_map(|container| {
            let limit = container.resources.limits.get(&storage())?;
            (limit.value() != 0).then_some((container.name.as_str(), limit))
        })
        .collect();
    stats.containers.iter().find_map(|measured| {
        let limit = *limits.get(measured.name.as_str())?;
        let mut used = used_bytes(measured.logs.as_ref());
        if !layout.dedicated_image_fs {
            used += &used_bytes(measured.rootfs.as_ref());
        }
        (used.compare(limit) == Ordering::Greater).then(|| ExceededLimit::Container {
            container: measured.name.clone(),
            used,
            limit: limit.clone(),
        })
    })
}

fn storage() -> ResourceName {
    ResourceName::from("ephemeral-storage")
}

/// An unmeasured part counts as zero, as in `diskUsage`.
fn used_bytes(fs: Option<&FsStats>) -> Quantity {
    unsigned(fs.and_then(|fs| fs.used_bytes).unwrap_or(0), Format::BinarySi)
}

/// Returns the pods that are evicted for limits of their own, whichever resource is short.
pub(super) fn over_own_limits(input: &RankInput<'_>) -> Vec<PodName> {
    if !input.config.local_storage_capacity_isolation {
        return Vec::new();
    }
    let checks =
        local_storage_checks(input.pods, &input.summary.pods, input.layout.layout(), input.rules);
    let gone = checks.into_iter().filter(|check| matches!(check.verdict, Verdict::Evicted(_)));
    gone.filter_map(|check| Some(PodName::of(&input.pods.get(check.pod)?.metadata))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_k8s::version::KubeletVersion;

    #[test]
    fn the_limit_of_a_sidecar_counts_since_1_37() {
        let limited = |name: &str, policy: &str| {
            format!(
                r#"{{"name":"{name}"{policy},"resources":{{"limits":{{"ephemeral-storage":"5"}}}}}}"#
            )
        };
        let stats =
            r#"[{"podRef":{"uid":"u"},"containers":[{"name":"s","logs":{"usedBytes":6}}]}]"#;
        let stats: Vec<PodStats> = serde_json::from_str(stats).expect("stats");
        for (policy, version, expected) in [
            (r#","restartPolicy":"Always""#, 36, false),
            (r#","restartPolicy":"Always""#, 37, true),
            ("", 37, false),
        ] {
            let text = format!(
                r#"{{"metadata":{{"uid":"u"}},"spec":{{"initContainers":[{}],"containers":[{{"name":"c"}}]}}}}"#,
                limited("s", policy)
            );
            let pod: Pod = serde_json::from_str(&text).expect("a pod");
            let rules = KubeletRules::for_version(KubeletVersion::new(1, version));
            let checks = local_storage_checks(&[&pod], &stats, Layout::default(), &rules);
            let told: Vec<String> =
                checks.iter().flat_map(|it| &it.exceeded).map(ToString::to_string).collect();
            let message = "Container s exceeded its local ephemeral storage limit \"5\". ";
            assert_eq!(told, vec![message; usize::from(expected)], "{policy} {version}");
        }
    }

    #[test]
    fn a_pod_goes_for_its_first_limit_and_a_critical_one_stays() {
        let spec = r#""containers":[{"name":"c","resources":{"limits":{"ephemeral-storage":"5"}}}],
            "volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Ki"}},{"name":"w","emptyDir":{"sizeLimit":"0"}}]"#;
        let stats = |volume: &str| {
            format!(
                r#"[{{"podRef":{{"uid":"u"}},"ephemeral-storage":{{"usedBytes":6}},
                "containers":[{{"name":"x"}},{{"name":"c","logs":{{"usedBytes":6}}}}],
                "volume":[{{"name":"w","usedBytes":9}},{{"name":"v"{volume}}}]}}]"#
            )
        };
        let rows: [(&str, &str, String, &[&str], bool); 5] = [
            (
                "volume",
                "0",
                stats(r#","usedBytes":1025"#),
                &["Usage of EmptyDir volume \"v\" exceeds the limit \"1Ki\". "],
                true,
            ),
            (
                "volume at its limit",
                "0",
                stats(r#","usedBytes":1024"#),
                &["Pod ephemeral local storage usage exceeds the total limit of containers 5. "],
                true,
            ),
            (
                "volume of which nothing is known",
                "0",
                stats(""),
                &["Pod ephemeral local storage usage exceeds the total limit of containers 5. "],
                true,
            ),
            (
                "critical",
                "2000000000",
                stats(r#","usedBytes":2000"#),
                &[
                    "Usage of EmptyDir volume \"v\" exceeds the limit \"1Ki\". ",
                    "Pod ephemeral local storage usage exceeds the total limit of containers 5. ",
                    "Container c exceeded its local ephemeral storage limit \"5\". ",
                ],
                false,
            ),
            ("not measured", "0", "[]".to_owned(), &[], false),
        ];
        for (name, priority, stats, expected, goes) in rows {
            let text =
                format!(r#"{{"metadata":{{"uid":"u"}},"spec":{{"priority":{priority},{spec}}}}}"#);
            let pod: Pod = serde_json::from_str(&text).unwrap();
            let stats: Vec<PodStats> = serde_json::from_str(&stats).unwrap();
            let checks =
                local_storage_checks(&[&pod], &stats, Layout::default(), &KubeletRules::default());
            let told: Vec<String> =
                checks.iter().flat_map(|check| &check.exceeded).map(ToString::to_string).collect();
            assert_eq!(told, expected, "{name}");
            let gone = checks.iter().any(|check| matches!(check.verdict, Verdict::Evicted(_)));
            assert_eq!(gone, goes, "{name}");
        }
    }
}
