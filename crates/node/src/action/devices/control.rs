//! Requests to a running fake kubelet and its answers, one line of JSON each way, and the commands that send them.

use kq_managers::fake_kubelet::{DeviceAllocation, PluginState, TopologyConfig};
use serde::{Deserialize, Serialize};

#[cfg(cri)]
pub use client::{Allocation, AllocationOptions, allocate, ask, end_pod};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Request {
    /// Allocates devices to the pods of a manifest, one after the other.
    Allocate {
        /// The name of the file, for messages.
        file: String,
        /// The manifest.
        text: String,
        terms: TopologyConfig,
    },
    /// Ends a pod.
    End {
        /// Its UID, its name, or its namespace and name.
        pod: String,
    },
    /// Lists the plugins.
    Plugins,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// The result of each pod.
    Allocated(Vec<DeviceAllocation>),
    /// The UID of the pod that has ended.
    Ended(String),
    Plugins(Vec<PluginState>),
    /// The reason of a refusal.
    Refused(String),
}

#[cfg(cri)]
mod client {
    use super::{Answer, Request};
    use anyhow::anyhow;
    use kq_answer::Failure;
    use kq_core::question::devices::topology::refuse_twice;
    use kq_facts::input_name::shown;
    use kq_io::input::read_input;
    use kq_k8s::manifest::load;
    use kq_linux::device_plugin::folder::{check_length, resolve};
    use kq_linux::device_plugin::{ControlError, MAX_CONTROL_BYTES, send_request};
    use kq_managers::fake_kubelet::{DeviceAllocation, TopologyConfig};
    use std::io::ErrorKind::PermissionDenied;
    use std::path::Path;
    use std::time::Duration;

    /// A manifest whose pods get devices.
    #[derive(Clone, Debug)]
    pub struct AllocationOptions<'a> {
        /// The folder of the fake kubelet.
        pub folder: &'a Path,
        /// A manifest; `-` is standard input.
        pub file: &'a str,
        pub topology: TopologyConfig,
    }

    /// The results of the pods that the fake kubelet processed.
    #[derive(Debug)]
    pub struct Allocation {
        pub reports: Vec<DeviceAllocation>,
        /// Why not all pods were processed.
        pub stopped: Option<String>,
    }

    /// Sends the pods of a manifest to the fake kubelet. `warn` gets the notes about the manifest.
    ///
    /// # Errors
    ///
    /// Fails for a manifest without valid pods, and without a fake kubelet.
    pub fn allocate(
        options: AllocationOptions<'_>,
        warn: &mut dyn FnMut(&str),
    ) -> Result<Allocation, Failure> {
        let AllocationOptions { folder, file, topology } = options;
        refuse_twice(&topology.numa_nodes)?;
        let content = read_input(file).map_err(Failure::missing)?;
        let file = shown(file);
        let loaded = load(file, &content);
        if let Some(problem) = loaded.problems.first() {
            return Err(Failure::usage(anyhow!("{problem}")));
        }
        if loaded.pods.is_empty() {
            return Err(Failure::usage(anyhow!("{file}: no pods"))
                .hint("a Pod, a list of pods, or a workload with a pod template is expected"));
        }
        let count = loaded.pods.len();
        loaded.notes.iter().for_each(|note| warn(&note.to_string()));
        let text = String::from_utf8(content)
            .map_err(|error| Failure::usage(anyhow!("{file}: not UTF-8: {error}")))?;
        let request = Request::Allocate { file: file.to_owned(), text, terms: topology };
        match ask(folder, &request, None)? {
            Answer::Allocated(reports) => {
                let done = reports.len();
                let stopped = (done < count).then(|| {
                    format!("the fake kubelet ended after {done} of {count} pods of {file}")
                });
                Ok(Allocation { reports, stopped })
            }
            other => Err(refused(other)),
        }
    }

    /// Ends a pod of the fake kubelet, and returns its UID.
    ///
    /// # Errors
    ///
    /// Fails for an unknown or ambiguous pod, and without a fake kubelet.
    pub fn end_pod(folder: &Path, pod: &str) -> Result<String, Failure> {
        match ask(folder, &Request::End { pod: pod.to_owned() }, None)? {
            Answer::Ended(uid) => Ok(uid),
            other => Err(refused(other)),
        }
    }

    fn refused(answer: Answer) -> Failure {
        match answer {
            Answer::Refused(reason) => Failure::usage(anyhow!("{reason}")),
            other => {
                Failure::missing(anyhow!("the fake kubelet sent an unexpected answer: {other:?}"))
            }
        }
    }

    /// Sends a request to the fake kubelet of a folder. Each plugin call has a limit of its own, so `limit` is
    /// optional; a fake kubelet that sends no sign of life is given up soon.
    pub fn ask(
        folder: &Path,
        request: &Request,
        limit: Option<Duration>,
    ) -> Result<Answer, Failure> {
        // Without links, as the fake kubelet resolved it.
        let folder = &resolve(folder).unwrap_or_else(|_| folder.to_owned());
        check_length(folder).map_err(Failure::usage)?;
        let request = serde_json::to_vec(request).map_err(Failure::missing)?;
        if request.len() as u64 > MAX_CONTROL_BYTES {
            let length = request.len();
            return Err(Failure::usage(anyhow!(
                "the request is {length} bytes long, and may have {MAX_CONTROL_BYTES}"
            ))
            .hint("split the file, and allocate to fewer pods at once"));
        }
        let answer = send_request(folder, &request, limit).map_err(|error| {
            let hint = match &error {
                ControlError::Absent { error, .. } if error.kind() == PermissionDenied => {
                    "run kq as the user who runs kq devices serve, or as root".to_owned()
                }
                ControlError::Absent { .. } => format!(
                    "start one with kq devices serve --dir {}, and keep it running",
                    folder.display()
                ),
                ControlError::Broken { .. } => "read its last lines".to_owned(),
            };
            Failure::missing(error).hint(hint)
        })?;
        serde_json::from_slice(&answer).map_err(|error| {
            Failure::missing(anyhow!("the fake kubelet sent an invalid answer: {error}"))
        })
    }
}
