//! Requests to the fake kubelet: allocations, ended pods, the list of plugins.

use super::super::control::{Answer, Request};
use super::ServeLoop;
use super::plugin_calls::PluginCalls;
use kq_answer::Failure;
use kq_core::question::devices::topology::{parse_numa_node, refuse_twice};
use kq_k8s::manifest::{Source, load};
use kq_k8s::pod::Pod;
use kq_linux::device_plugin::{Caller, MAX_CONTROL_BYTES};
use kq_managers::fake_kubelet::{DeviceAllocation, TopologyConfig, admit};
use std::collections::BTreeMap;
use std::future::pending;
use std::ops::ControlFlow;
use std::pin::pin;
use std::time::Duration;

/// Sends an answer; the caller may be gone.
pub(super) fn send(answer: &Answer, caller: Caller) -> Result<(), Failure> {
    let mut bytes = serde_json::to_vec(answer).map_err(Failure::missing)?;
    if bytes.len() as u64 > MAX_CONTROL_BYTES {
        let long =
            "the request was executed, but the answer is too long: allocate to fewer pods at once"
                .to_owned();
        bytes = serde_json::to_vec(&Answer::Refused(long)).map_err(Failure::missing)?;
    }
    caller.answer(bytes);
    Ok(())
}

impl ServeLoop<'_> {
    /// Executes a request, unless the caller is gone: it has reported that no answer came.
    pub(super) fn reply(&mut self, request: Request, caller: Caller) -> Result<(), Failure> {
        if caller.has_gone() {
            return Ok(());
        }
        let answer = match request {
            Request::Plugins => Answer::Plugins(self.manager.plugins()),
            Request::End { pod } => self.end(&pod)?,
            Request::Allocate { file, text, terms } => {
                self.is_admitting = true;
                let answer = self.allocate(&file, &text, &terms, &caller);
                self.is_admitting = false;
                answer?
            }
        };
        send(&answer, caller)
    }

    fn allocate(
        &mut self,
        file: &str,
        text: &str,
        terms: &TopologyConfig,
        caller: &Caller,
    ) -> Result<Answer, Failure> {
        // The caller may be another program than kq.
        let nodes = terms
            .numa_nodes
            .iter()
            .try_for_each(|node| parse_numa_node(&node.to_string()).map(drop));
        let nodes = nodes.and_then(|()| refuse_twice(&terms.numa_nodes).map_err(|it| it.reason()));
        let pods = match nodes.and_then(|()| pods(file, text)) {
            Ok(pods) => pods,
            Err(reason) => return Ok(Answer::Refused(reason)),
        };
        let mut reports = Vec::new();
        for (pod, assumption) in pods {
            let mut report = self.admit(pod, terms)?;
            report.basis.assume_all(assumption);
            reports.push(report);
            // A file can be long, so other events are processed between its pods.
            if let ControlFlow::Continue(Some(incoming)) =
                self.server.next_or(Duration::ZERO, pin!(pending::<()>()))
            {
                self.take(Some(incoming))?;
            }
            if self.is_stopping || caller.has_gone() {
                break;
            }
        }
        Ok(Answer::Allocated(reports))
    }

    fn admit(&mut self, mut pod: Pod, terms: &TopologyConfig) -> Result<DeviceAllocation, Failure> {
        let mut state = std::mem::take(&mut self.manager.state);
        let mut active = std::mem::take(&mut self.manager.active);
        let mut plugins = PluginCalls::new(self);
        let mut report = admit(&mut state, &mut pod, terms, &mut active, &mut plugins);
        let PluginCalls { calls, failure, .. } = plugins;
        (report.calls, self.manager.state, self.manager.active) = (calls, state, active);
        if let Some(failure) = failure {
            return Err(failure);
        }
        let mut events = vec![report.event()];
        if report.admitted {
            let name = format!("{}/{}", report.namespace, report.name);
            self.manager.begin(&report.uid);
            self.names.insert(report.uid.clone(), name);
        } else if report.failure.is_none() {
            // A rejected pod is no longer active. A pod that makes the kubelet crash, or whose result is unknown,
            // stays as it was.
            events.extend(self.manager.end(&report.uid));
            self.names.remove(&report.uid);
        }
        self.settle(events)?;
        Ok(report)
    }

    /// Returns a pod's name as `--remove` takes it. A checkpoint contains only UIDs.
    fn shown(&self, uid: &str) -> String {
        match self.names.get(uid) {
            Some(name) => format!("{name} (UID {uid})"),
            None => format!("UID {uid} (restored from the checkpoint, which has no names)"),
        }
    }

    fn end(&mut self, pod: &str) -> Result<Answer, Failure> {
        let active = &self.manager.active;
        let is_meant = |uid: &&String| {
            let name = self.names.get(*uid).map(String::as_str).unwrap_or_default();
            let alone = name.split_once('/').map(|(_, name)| name);
            // A generated UID contains the name, which is therefore known after a restart.
            let of_name = |(made, namespace): (&str, &str)| {
                pod == format!("{namespace}/{made}") || pod == made
            };
            uid.as_str() == pod
                || name == pod
                || alone == Some(pod)
                || uid.rsplit_once('_').is_some_and(of_name)
        };
        let meant: Vec<String> = active.iter().filter(is_meant).cloned().collect();
        let [uid] = meant.as_slice() else {
            let list = |uids: &mut dyn Iterator<Item = &String>| {
                uids.map(|uid| self.shown(uid)).collect::<Vec<_>>().join(", ")
            };
            return Ok(Answer::Refused(match meant.is_empty() {
                true if active.is_empty() => format!("no pod {pod:?}: no pod has been admitted"),
                true => format!("no pod {pod:?}; there are: {}", list(&mut active.iter())),
                false => {
                    format!("{pod:?} names several pods, use a UID: {}", list(&mut meant.iter()))
                }
            }));
        };
        let ended = self.manager.end(uid);
        self.names.remove(uid);
        self.settle(ended.into_iter().collect())?;
        Ok(Answer::Ended(uid.clone()))
    }
}

/// Parses the pods, each with its assumption. A pod without a UID is identified by its name, so two pods with the same
/// name would have the same devices.
///
/// # Errors
///
/// Fails for an invalid manifest, and for a pod without a name of its own.
fn pods(file: &str, text: &str) -> Result<Vec<(Pod, Option<String>)>, String> {
    let loaded = load(file, text.as_bytes());
    if let Some(problem) = loaded.problems.first() {
        return Err(problem.to_string());
    }
    let mut places = BTreeMap::new();
    let mut pods = Vec::new();
    for loaded in loaded.pods {
        let metadata = &loaded.pod.metadata;
        let place = place(&loaded.source);
        if metadata.name.is_empty() {
            return Err(format!(
                "{place}: metadata.name is empty, and only an API server makes a name from \
                 generateName: set a name"
            ));
        }
        let name = (metadata.namespace.clone(), metadata.name.clone());
        if let Some(first) = places.insert(name, place.clone()) {
            return Err(format!(
                "{place}: metadata.name: {}/{} is the pod of {first} already: give each its own name",
                metadata.namespace, metadata.name
            ));
        }
        pods.push((loaded.pod.into_inner(), one_of_many(&loaded.source)));
    }
    Ok(pods)
}

fn place(source: &Source) -> String {
    let item = source.item.map_or_else(String::new, |item| format!(", items[{item}]"));
    format!("{}: document {}{item}", source.file, source.document)
}

/// Returns the assumption that one pod of a workload is meant.
fn one_of_many(source: &Source) -> Option<String> {
    let one = source.workload.as_ref()?.one_pod()?;
    Some(format!("{one} is admitted"))
}
