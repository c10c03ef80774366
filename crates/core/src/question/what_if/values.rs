//! The cgroup values that change, and when each is written.

use super::pods::Transition;
use crate::question::cgroup::plan::PlanInput;
use crate::what_if::change::{Change, Resize};
use crate::what_if::{Effect, PodOutcome, ValueChange, WhatIfRule, Written};
use kq_admission::qualified;
use kq_answer::{Failure, Subject};
use kq_cgroup::plan::{Owner, PlannedCgroup};
use kq_facts::cgroup_mode::CgroupVersion;
use std::collections::{BTreeMap, BTreeSet};

/// The identity of a value: the part of the node or the QoS class, the pod, the container, and the file.
type Key = (String, Option<String>, Option<String>, String);

/// A value with its cgroup and its level.
struct Value {
    cgroup: String,
    text: String,
    level: Level,
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Node,
    Qos,
    Pod,
    Container,
}

impl Transition<'_> {
    /// Returns the values that change, except for pods that exist only before or only after.
    ///
    /// # Errors
    ///
    /// Fails where one of the kubelets would set no cgroups.
    pub fn values(&self, pods: &[PodOutcome]) -> Result<Vec<ValueChange>, Failure> {
        let lost: BTreeSet<&str> =
            pods.iter().filter(|it| it.result.is_lost()).map(|it| it.pod.as_str()).collect();
        let before = planned(self.before.cgroups()?)?;
        let after = match lost.is_empty() {
            true => planned(self.after.cgroups()?)?,
            false => planned(&self.after.state.cgroups_without(&lost)?)?,
        };
        let mut changes = Vec::new();
        let keys: BTreeSet<&Key> = before.keys().chain(after.keys()).collect();
        let pods_of = |side: &BTreeMap<Key, Value>| -> BTreeSet<String> {
            side.keys().filter_map(|key| key.1.clone()).collect()
        };
        let (old_pods, new_pods) = (pods_of(&before), pods_of(&after));
        for key in keys {
            let (_, pod, container, file) = key;
            if let Some(pod) = pod
                && !(old_pods.contains(pod) && new_pods.contains(pod))
            {
                continue;
            }
            let (old, new) = (before.get(key), after.get(key));
            if old.map(|it| &it.text) == new.map(|it| &it.text) {
                continue;
            }
            let Some(place) = new.or(old) else { continue };
            changes.push(ValueChange {
                cgroup: place.cgroup.clone(),
                pod: pod.clone(),
                container: container.clone(),
                file: file.clone(),
                before: old.map(|it| it.text.clone()),
                after: new.map(|it| it.text.clone()),
                written: self.written(place.level, pod.as_deref()),
            });
        }
        changes.sort_by(|one, other| {
            (one.written, &one.cgroup, &one.file).cmp(&(other.written, &other.cgroup, &other.file))
        });
        Ok(changes)
    }

    /// Returns when a value is written. The kubelet writes the cgroups of a pod when it creates them, and those of a
    /// container at its start (`syncPod`, `pkg/kubelet/kubelet.go`); those of the QoS classes with every new pod and
    /// once a minute (`qosContainerManagerImpl.Start`, `pkg/kubelet/cm/qos_container_manager_linux.go`).
    fn written(&self, level: Level, pod: Option<&str>) -> Written {
        let is_resized = |change: &Change| match change {
            Change::Resize(Resize { pod: name, .. }) => pod.is_some_and(|pod| {
                pod == name || pod.rsplit_once('/').is_some_and(|(_, short)| short == name)
            }),
            _ => false,
        };
        match level {
            _ if self.reboots => Written::AtStart,
            Level::Node => Written::AtStart,
            Level::Qos => Written::WithinAMinute,
            Level::Pod | Level::Container if self.changes.iter().any(is_resized) => {
                Written::AtResize
            }
            Level::Pod => Written::WithPod,
            Level::Container => Written::AtContainerStart,
        }
    }
}

/// Plans the cgroups of a node.
fn planned(input: &PlanInput) -> Result<BTreeMap<Key, Value>, Failure> {
    let (plan, _) = input.answer()?;
    let mut values = BTreeMap::new();
    for root in &plan.roots {
        root.walk(0, &mut |cgroup: &PlannedCgroup<'_>, _| {
            let (part, pod, container, level) = match cgroup.owner {
                Owner::Node { part } => (part.to_owned(), None, None, Level::Node),
                Owner::Qos(class) => (class.as_str().to_owned(), None, None, Level::Qos),
                Owner::Pod(pod, _) => (String::new(), Some(qualified(pod)), None, Level::Pod),
                Owner::Container { pod, name, .. } => {
                    (String::new(), Some(qualified(pod)), Some(name.to_owned()), Level::Container)
                }
            };
            for file in &cgroup.files {
                let key = (part.clone(), pod.clone(), container.clone(), file.file.to_string());
                let value = Value { cgroup: cgroup.path.clone(), text: file.value.clone(), level };
                values.insert(key, value);
            }
        });
    }
    Ok(values)
}

/// Returns the findings about the values.
pub fn findings(changes: &[ValueChange], transition: &Transition<'_>) -> Vec<Effect> {
    let finding = |rule| Effect::new(Subject::Node, rule);
    let mut findings = Vec::new();
    let is_now = |it: &&ValueChange| {
        matches!(it.written, Written::AtStart | Written::WithinAMinute | Written::AtResize)
    };
    let now = changes.iter().filter(is_now).count();
    if !changes.is_empty() {
        findings.push(finding(WhatIfRule::CgroupValues { now, later: changes.len() - now }));
    }
    if transition.restarts
        && !transition.reboots
        && let Ok(node) = transition.after.node()
        && node.config.cgroups_per_qos
    {
        let (file, value) = match node.cgroup_version {
            CgroupVersion::V1 => ("cpu.shares", "2"),
            CgroupVersion::V2 => ("cpu.weight", "1"),
        };
        findings.push(finding(WhatIfRule::QosCgroupsReset {
            file: file.to_owned(),
            value: value.to_owned(),
        }));
    }
    findings
}
