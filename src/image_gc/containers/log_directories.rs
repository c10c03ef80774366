//! The part of a collection that removes the log folders of pods.
//!
//! `evictPodLogsDirectories` in `pkg/kubelet/kuberuntime/kuberuntime_gc.go`.

use super::collect::Collection;
use super::failures::Call;
use super::plan::{LogDirectoryStep, Remaining, Step};
use super::reason::{KeepReason, PodRemoval, RemovalReason};
use crate::k8s::go_text::quote;

impl Collection<'_> {
    /// Removes the log folders of pods that are gone; the folder is not even read before every source of
    /// pods is ready.
    pub(super) fn log_directories(&mut self) {
        let ready = self.state.all_sources_ready;
        let unread = self.failures.read_log_root.as_ref().filter(|_| ready);
        if let Some(error) = unread {
            let root = quote(&self.state.log_root);
            self.plan.errors.push(format!("failed to read podLogsDirectory {root}: {error}"));
        }
        for name in &self.state.log_directories {
            let uid = name.rsplit_once('_').map_or(name.as_str(), |(_, uid)| uid);
            let pod = self.state.pods.get(uid).copied().unwrap_or_default();
            let (pod_uid, pod) = (uid.to_owned(), (pod.content_should_be_removed, ready, unread));
            let kept = match pod {
                (_, _, Some(error)) => Some(KeepReason::NotListed { error: error.clone() }),
                (false, ..) => Some(KeepReason::PodExists),
                (true, false, None) => {
                    Some(KeepReason::SourcesNotReady { pod: PodRemoval::Content })
                }
                (true, true, None) => {
                    let failed = self.failures.first_of(&[Call::RemoveLogDirectory], name);
                    self.plan.steps.push(Step::LogDirectory(LogDirectoryStep {
                        root: self.state.log_root.clone(),
                        name: name.clone(),
                        pod_uid: pod_uid.clone(),
                        reason: RemovalReason::PodRemoved { pod: PodRemoval::Content },
                        failed: failed.clone(),
                    }));
                    failed.map(KeepReason::Failed)
                }
            };
            self.plan.log_directories.extend(kept.map(|reason| Remaining {
                id: name.clone(),
                pod_uid,
                reason,
            }));
        }
    }
}
