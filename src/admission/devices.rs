//! Devices that are given away already: the node counts with at least so many of each resource.
//!
//! Mirrors `UpdatePluginResources` and `sanitizeNodeAllocatable` of
//! `pkg/kubelet/cm/devicemanager/manager.go`, read in 1.36.2: only for a pod that has devices itself. A pod
//! that comes gets its own before the predicates are asked, so that they count as well; where there are not
//! enough healthy ones, the device manager refuses it, and the predicates are asked without.

use super::filter::requested;
use crate::facts::devices::{CheckpointFact, PluginAnswer};
use crate::facts::workloads::effective_uid;
use crate::k8s::kubelet_rules::KubeletRules;
use crate::k8s::pod::{Pod, ResourceName};
use std::collections::{BTreeMap, BTreeSet};

/// What the device manager has given away, by UID of the pod and by resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenDevices {
    of_pods: BTreeMap<String, OfPod>,
    healthy: BTreeMap<ResourceName, BTreeSet<String>>,
}

/// The devices of one pod.
type OfPod = BTreeMap<ResourceName, BTreeSet<String>>;

impl GivenDevices {
    /// Takes over what the kubelet's checkpoint says.
    ///
    /// # Errors
    ///
    /// Fails with the reason for one that the kubelet would not take: what its parts say is not all.
    pub fn of(checkpoint: &CheckpointFact) -> Result<Self, String> {
        if let Some(error) = &checkpoint.error {
            return Err(error.clone());
        }
        let mut given = Self::default();
        for entry in &checkpoint.entries {
            // The kubelet skips these.
            if matches!(entry.answer, PluginAnswer::Undecodable(_)) {
                continue;
            }
            let of_pod = given.of_pods.entry(entry.pod_uid.clone()).or_default();
            let ids = of_pod.entry(entry.resource_name.as_str().into()).or_default();
            ids.extend(entry.device_ids.values().flatten().cloned());
        }
        for (resource, ids) in &checkpoint.registered {
            given.healthy.insert(resource.as_str().into(), ids.iter().cloned().collect());
        }
        Ok(given)
    }

    /// Returns how many devices of each resource are given away when a pod is looked at; nothing, where
    /// that does not count.
    pub fn around(
        &self,
        pod: &Pod,
        others: &[&Pod],
        rules: &KubeletRules,
    ) -> BTreeMap<ResourceName, i64> {
        let own = self.of_pods.get(effective_uid(pod));
        let wanted = match own {
            Some(_) => BTreeMap::new(),
            None => self.wanted(pod, rules),
        };
        if own.is_none() && wanted.is_empty() {
            return BTreeMap::new();
        }
        let mut ids: BTreeMap<&ResourceName, BTreeSet<&String>> = BTreeMap::new();
        let of_others = others.iter().filter_map(|other| self.of_pods.get(effective_uid(other)));
        for (resource, given) in own.into_iter().chain(of_others).flatten() {
            ids.entry(resource).or_default().extend(given);
        }
        let count = |set: usize| i64::try_from(set).unwrap_or(i64::MAX);
        let is_there = |(resource, wanted): (&ResourceName, &i64)| {
            let taken = ids.get(resource);
            let is_free = |id: &&String| taken.is_none_or(|taken| !taken.contains(id));
            let healthy = self.healthy.get(resource);
            healthy.is_some_and(|all| count(all.iter().filter(is_free).count()) >= *wanted)
        };
        if !wanted.iter().all(is_there) {
            return BTreeMap::new();
        }
        let mut given: BTreeMap<ResourceName, i64> =
            ids.iter().map(|(name, ids)| ((*name).clone(), count(ids.len()))).collect();
        for (name, wanted) in wanted {
            let sum = given.entry(name).or_default();
            *sum = sum.saturating_add(wanted);
        }
        given
    }

    /// Returns how many devices a pod asks for.
    fn wanted(&self, pod: &Pod, rules: &KubeletRules) -> BTreeMap<ResourceName, i64> {
        let asked = requested(pod, rules).scalars;
        asked
            .into_iter()
            .filter(|(name, wanted)| self.healthy.contains_key(name) && *wanted > 0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::checkpoint::device::ContainerAllocateResponse;
    use crate::facts::devices::CheckpointEntry;

    const WIDGET: &str = "example.com/widget";

    fn pod(uid: &str, widgets: &str) -> Pod {
        let text = format!(
            r#"{{"metadata":{{"uid":"{uid}"}},"spec":{{"containers":[{{"name":"c","resources":
                {{"requests":{{"{WIDGET}":"{widgets}"}}}}}}]}}}}"#
        );
        serde_json::from_str(&text).expect("a pod")
    }

    fn entry(uid: &str, ids: &[&str]) -> CheckpointEntry {
        CheckpointEntry {
            pod_uid: uid.to_owned(),
            container_name: "c".to_owned(),
            resource_name: WIDGET.to_owned(),
            device_ids: [(0, ids.iter().map(|id| (*id).to_owned()).collect())].into(),
            answer: PluginAnswer::Decoded(ContainerAllocateResponse::default()),
        }
    }

    #[test]
    fn devices_count_for_pods_that_have_some() {
        let mut checkpoint = CheckpointFact {
            entries: vec![
                entry("a", &["w0", "w1"]),
                entry("b", &["w1", "w2"]),
                entry("gone", &["w3"]),
                CheckpointEntry {
                    answer: PluginAnswer::Undecodable("cut off".to_owned()),
                    ..entry("a", &["w9"])
                },
            ],
            registered: [(WIDGET.to_owned(), ["w0", "w1", "w2", "w3"].map(str::to_owned).into())]
                .into(),
            ..CheckpointFact::default()
        };
        let given = GivenDevices::of(&checkpoint).expect("a whole checkpoint");
        let (a, b) = (pod("a", "2"), pod("b", "2"));
        let rules = KubeletRules::default();
        for (name, new, others, expected) in [
            ("it has its own", &a, &[&b][..], Some(3)),
            ("alone", &a, &[], Some(2)),
            ("one more is free", &pod("new", "1"), &[&a, &b], Some(4)),
            ("two are not", &pod("new", "2"), &[&a, &b], None),
            ("it asks for none", &pod("new", "0"), &[&a, &b], None),
        ] {
            let found = given.around(new, others, &rules);
            assert_eq!(found.get(&WIDGET.into()).copied(), expected, "{name}");
        }
        let nobody = GivenDevices::default().around(&a, &[&b], &rules);
        assert!(nobody.is_empty(), "nobody knows of devices");
        checkpoint.error = Some("checkpoint is corrupted".to_owned());
        assert_eq!(GivenDevices::of(&checkpoint), Err("checkpoint is corrupted".to_owned()));
    }
}
