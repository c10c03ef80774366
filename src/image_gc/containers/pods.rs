//! What the kubelet's pod workers think of pods, judged from outside.
//!
//! Rules: `ShouldPodRuntimeBeRemoved` and `ShouldPodContentBeRemoved` in `pkg/kubelet/pod_workers.go`.
//! The kubelet uses its own state; a list of pods has the same state a little later.

use super::state::GcPod;
use crate::facts::workloads::effective_uid;
use crate::k8s::pod::Pod;
use std::collections::BTreeMap;

/// Returns what the kubelet thinks of each pod that has containers or sandboxes. `uids` are those of
/// the runtime; a pod that no complete list has is gone.
pub fn pod_states<'a>(
    pods: &[&Pod],
    is_complete: bool,
    uids: impl IntoIterator<Item = &'a str>,
    is_running: impl Fn(&str) -> bool,
) -> BTreeMap<String, GcPod> {
    let known: BTreeMap<&str, &Pod> = pods.iter().map(|pod| (effective_uid(pod), *pod)).collect();
    let state = |uid: &str| match known.get(uid) {
        None => {
            GcPod { runtime_should_be_removed: is_complete, content_should_be_removed: is_complete }
        }
        Some(pod) => {
            let has_phase = matches!(pod.status.phase.as_str(), "Succeeded" | "Failed");
            let is_deleted = pod.metadata.deletion_timestamp.is_some();
            let has_ended = (has_phase || is_deleted) && !is_running(uid);
            let is_evicted = pod.status.phase == "Failed" && pod.status.reason == "Evicted";
            GcPod {
                runtime_should_be_removed: has_ended,
                content_should_be_removed: is_evicted || (is_deleted && has_ended),
            }
        }
    };
    uids.into_iter().map(|uid| (uid.to_owned(), state(uid))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_judged_by_their_status() {
        let pod = |uid: &str, phase: &str, reason: &str, deleted: bool| {
            let mut pod = Pod::default();
            pod.metadata.uid = uid.to_owned();
            pod.metadata.deletion_timestamp = deleted.then(|| "2026-11-20T12:00:00Z".to_owned());
            pod.status.phase = phase.to_owned();
            pod.status.reason = reason.to_owned();
            pod
        };
        let pods = [
            pod("running", "Running", "", false),
            pod("done", "Succeeded", "", false),
            pod("evicted", "Failed", "Evicted", false),
            pod("deleted", "Running", "", true),
            pod("ending", "Running", "", true),
        ];
        let pods: Vec<&Pod> = pods.iter().collect();
        let uids = ["running", "done", "evicted", "deleted", "ending", "gone"];
        let is_running = |uid: &str| matches!(uid, "running" | "ending");
        for (complete, gone) in [(true, (true, true)), (false, (false, false))] {
            let states = pod_states(&pods, complete, uids, is_running);
            let flags = |uid: &str| {
                let state = states[uid];
                (state.runtime_should_be_removed, state.content_should_be_removed)
            };
            assert_eq!(flags("running"), (false, false));
            assert_eq!(flags("done"), (true, false), "its containers, but not its logs");
            assert_eq!(flags("evicted"), (true, true));
            assert_eq!(flags("deleted"), (true, true));
            assert_eq!(flags("ending"), (false, false), "still running");
            assert_eq!(flags("gone"), gone);
        }
    }
}
