//! The kernel's unplanned values and cgroups.

use crate::live::diff::Comparison;
use crate::live::difference::{Difference, Verdict};
use crate::live::place::{LiveCgroup, LiveOwner, Part};
use crate::plan::{Owner, PlannedCgroup};
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_tree::CgroupPath;
use kq_facts::cgroup_value::Value;
use kq_facts::runtime::ContainerState;
use kq_facts::workloads::effective_uid;
use kq_k8s::pod::Pod;

impl<'a> Comparison<'a> {
    /// Finds what is set in a planned cgroup and was not planned.
    pub(super) fn unplanned_values(&mut self, cgroup: &'a PlannedCgroup<'a>, path: &CgroupPath) {
        let version = self.context.rounding.version;
        let Some(texts) = self.tree.get(path) else { return };
        for name in texts.0.keys() {
            let Some(file) = CgroupFile::setting(version, name) else { continue };
            let planned = cgroup.text(name).is_some()
                || cgroup.missing.iter().any(|(missing, _)| missing == name);
            let Some(actual) = texts.text(name).filter(|_| !planned) else { continue };
            let Some(default) = file.row().untouched else {
                self.unplanned_cpus(cgroup, path, name, actual);
                continue;
            };
            let is_default = actual == default
                || [default, actual].iter().all(|text| file.value(text) == Value::Unlimited)
                || (file.row().set_by_runtime && matches!(cgroup.owner, Owner::Container { .. }));
            if is_default {
                continue;
            }
            let reason = format!("not planned; the kernel's default is {default}");
            self.unplanned_value(cgroup, name, actual, reason);
        }
    }

    /// Judges a set of CPUs or memory nodes that was not planned: it is that of the cgroup above, or
    /// none, unless the CPU manager hands out CPUs.
    fn unplanned_cpus(
        &mut self,
        cgroup: &'a PlannedCgroup<'a>,
        path: &CgroupPath,
        name: &str,
        actual: &str,
    ) {
        let above = path.parent().and_then(|parent| self.tree.get(&parent)?.text(name));
        if actual.is_empty()
            || self.plan.settings.static_cpu_manager
            || above.is_none_or(|above| above.is_empty() || above == actual)
        {
            return;
        }
        let reason = format!("not planned; the parent cgroup has {}", above.unwrap_or_default());
        self.unplanned_value(cgroup, name, actual, reason);
    }

    /// Adds a value that was not planned: whether it should be there can rest on a missing fact too.
    fn unplanned_value(
        &mut self,
        cgroup: &'a PlannedCgroup<'a>,
        name: &str,
        actual: &str,
        reason: String,
    ) {
        let (verdict, reason, set_by) = match self.plan.unknown(cgroup, name) {
            Some(unknown) => (Verdict::Unknown, unknown.reason, None),
            None => match self.set_by(cgroup, name, actual, true) {
                Some(set_by) => (Verdict::Extra, format!("{reason}; {set_by}"), Some(set_by)),
                None => (Verdict::Extra, reason, None),
            },
        };
        self.found.push(Difference {
            actual: Some(actual.to_owned()),
            reason: Some(reason),
            set_by,
            ..Difference::of(cgroup, Some(name), verdict)
        });
    }

    pub(super) fn unplanned(&mut self, live: &[LiveCgroup<'a>], ended: &[&Pod]) {
        for cgroup in live {
            if self.planned_paths.contains(cgroup.path) {
                continue;
            }
            let selected = match cgroup.owner.pod() {
                None => self.context.selection.is_all(),
                Some(pod) => {
                    let name = pod.name.map(|pod| (pod.namespace.as_str(), pod.name.as_str()));
                    let (namespace, name) = name.unwrap_or_default();
                    self.context.selection.has(namespace, name, &pod.uid)
                }
            };
            if !selected {
                continue;
            }
            let judged =
                match &cgroup.owner {
                    LiveOwner::Pod(pod) => Some(self.unplanned_pod(cgroup.path, &pod.uid, ended)),
                    LiveOwner::Container(container) => {
                        self.unplanned_container(cgroup, &container.pod.uid, container.part)
                    }
                    LiveOwner::Stranger => {
                        Some((Verdict::Extra, "no kubelet creates such a cgroup".to_owned()))
                    }
                    // The plan has these; they are on another path only under another driver.
                    LiveOwner::Kubepods | LiveOwner::Qos(_) => Some(self.elsewhere(format!(
                        "the plan has this level elsewhere: {}",
                        self.of_driver()
                    ))),
                    LiveOwner::Inside(_) => None,
                };
            if let Some((verdict, reason)) = judged {
                self.found.push(Difference::of_live(cgroup, verdict, reason));
            }
        }
    }

    /// Judges what is in another place than the plan has it: that rests on what decides about places.
    fn elsewhere(&self, reason: String) -> (Verdict, String) {
        match self.plan.unknown_place() {
            Some(unknown) => (Verdict::Unknown, unknown.reason),
            None => (Verdict::Extra, reason),
        }
    }

    fn of_driver(&self) -> String {
        let settings = &self.plan.settings;
        format!("the kubelet's cgroups are those of the {} driver", settings.driver)
    }

    fn unplanned_pod(&self, path: &CgroupPath, uid: &str, ended: &[&Pod]) -> (Verdict, String) {
        let known = self.context.workloads.pod(uid);
        if ended.iter().any(|pod| effective_uid(pod) == uid) {
            return (Verdict::Extra, "the pod has ended; the kubelet removes this soon".to_owned());
        }
        match (self.context.incomplete, known) {
            (Some(reason), Some(_)) => (Verdict::Unknown, reason.to_owned()),
            (Some(reason), None) if !self.context.runtime_known => {
                (Verdict::Unknown, reason.to_owned())
            }
            (_, None) => (Verdict::Extra, "orphan: no pod with this UID is known".to_owned()),
            (None, Some(pod)) if pod.known => {
                let kubepods = self.plan.roots.first().map(|root| CgroupPath::new(&root.path));
                match kubepods.is_some_and(|kubepods| path.is_within(&kubepods)) {
                    true => {
                        (Verdict::Extra, "the pod's cgroup belongs to another QoS class".to_owned())
                    }
                    false => self.elsewhere(format!(
                        "this tree is not where the plan has the pod: {}",
                        self.of_driver()
                    )),
                }
            }
            (None, Some(_)) => {
                let reason = "orphan: the runtime has a sandbox of it, the node has no such pod";
                (Verdict::Extra, reason.to_owned())
            }
        }
    }

    fn unplanned_container(
        &self,
        cgroup: &LiveCgroup<'_>,
        uid: &str,
        part: Part<'_>,
    ) -> Option<(Verdict, String)> {
        let parent = cgroup.path.parent()?;
        if !self.planned_paths.contains(&parent) {
            // Said of the pod already.
            return None;
        }
        match part {
            Part::Sandbox | Part::Monitor => None,
            Part::Container(_, ContainerState::Exited) => {
                Some((Verdict::Extra, "the container has exited".to_owned()))
            }
            Part::Container(..) => {
                Some((Verdict::Extra, "the pod has no such container any more".to_owned()))
            }
            Part::Unknown if self.context.motion.awaits_sandbox(uid) => Some((
                Verdict::Changing,
                "a sandbox of the pod is being created: the runtime lists it once it runs"
                    .to_owned(),
            )),
            Part::Unknown if self.context.runtime_known => {
                Some((Verdict::Extra, "the runtime knows no container of this id".to_owned()))
            }
            Part::Unknown => Some((Verdict::Unknown, "the container's pod is unknown".to_owned())),
        }
    }
}
