//! `kq devices allocate`

use super::serve::request::{Answer, Request};
use crate::exit::{Code, Failure};
use crate::output_format::{OutputFormat, formats};
use crate::pod_args::NamespaceArgs;
use kq::device::manager::topology::{TopologyPolicy, TopologyScope};
use std::path::PathBuf;

/// Allocate devices to a pod through the fake kubelet
///
/// The fake kubelet is kq devices serve with the same DIR. It processes the pod's
/// containers in the kubelet's order. For each resource it calls the plugin's
/// GetPreferredAllocation, if the plugin offers it, and then Allocate. When all
/// containers have their devices, it calls PreStartContainer for each container.
/// The answer lists the devices and the settings that each container gets; -o
/// wide also shows each call. No container is started. Pods of a file are
/// admitted one after the other.
///
/// A pod keeps its devices until --remove ends it or it is rejected. Allocating
/// to the same pod again does what a restarted kubelet does.
///
/// During a call to a plugin, the fake kubelet continues to process health
/// changes and registrations, as a kubelet does; the next pod waits.
/// --topology-manager-policy aligns containers with NUMA nodes, as in kq devices
/// plan.
///
/// If no plugin has registered a requested resource, the answer names it and the
/// most similar registered name. A kubelet starts such a container without the
/// resource.
///
/// Exit code 0: every container may start. 1: a pod is rejected, a container does
/// not start, or no plugin has registered a requested resource. 3: no fake
/// kubelet runs in DIR, or there are too many NUMA nodes. 5: the fake kubelet
/// ended before it processed all pods.
///
/// Examples:
///
///   kq devices allocate --dir /tmp/plugins gpu.yaml
///   kq devices allocate --dir /tmp/plugins gpu.yaml -o wide
///   kq devices allocate --dir /tmp/plugins --remove default/gpu
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// A manifest of pods; - reads standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["remove", "filename"],
          conflicts_with = "remove")]
    file: Option<String>,

    /// The manifest, as kubectl names files
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["file", "remove"])]
    filename: Option<String>,

    #[command(flatten)]
    namespace: NamespaceArgs,

    /// The directory of the running kq devices serve
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,

    /// End a pod: NAME, NAMESPACE/NAME or UID
    #[arg(long, value_name = "POD")]
    remove: Option<String>,

    /// topologyManagerPolicy: none, best-effort, restricted or single-numa-node
    #[arg(long, value_name = "POLICY", default_value = "none", conflicts_with = "remove")]
    topology_manager_policy: TopologyPolicy,

    /// topologyManagerScope: container or pod
    #[arg(long, value_name = "SCOPE", default_value = "container", conflicts_with = "remove")]
    topology_manager_scope: TopologyScope,

    /// The NUMA nodes of the machine, such as 0,1 (default: the NUMA nodes of the devices)
    #[arg(
        long,
        value_name = "NODES",
        value_delimiter = ',',
        value_parser = super::topology::parse_node,
        allow_hyphen_values = true,
        conflicts_with = "remove"
    )]
    numa_nodes: Vec<i64>,

    /// Stop before the containers would start: do not call PreStartContainer
    #[arg(long, conflicts_with = "remove")]
    no_start: bool,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,
}

#[cfg(not(feature = "cri"))]
impl Args {
    /// Says that kq was built without.
    pub fn run(self) -> Result<Code, Failure> {
        let Self { dir, .. } = self;
        let _: Option<(Request, Answer)> = None;
        Err(super::serve::not_built(&dir))
    }
}

#[cfg(feature = "cri")]
pub use asked::ask;

#[cfg(feature = "cri")]
mod asked {
    use super::{Answer, Args, Code, Failure, Request};
    use crate::devices::topology::refuse_twice;
    use crate::exit::{note, tell, tell_all, warn};
    use crate::output_format::OutputFormat;
    use anyhow::anyhow;
    use kq::device::fake_kubelet::{
        DeviceAllocation, DeviceAllocationList, DevicePodEnded, TopologyConfig, table, wide,
    };
    use kq::edge::device_plugin::folder::{check_length, resolve};
    use kq::edge::device_plugin::{ControlError, MAX_CONTROL_BYTES, ask_stand_in};
    use kq::edge::input::{read_input, shown};
    use kq::k8s::manifest::load;
    use std::io::ErrorKind::PermissionDenied;
    use std::path::Path;
    use std::time::Duration;

    impl Args {
        /// Asks the stand-in, and shows what came of it.
        pub fn run(self) -> Result<Code, Failure> {
            tell_all();
            match (&self.remove, self.file.as_ref().or(self.filename.as_ref())) {
                (Some(pod), _) => self.end(&self.namespace.qualify(pod)?),
                (None, Some(file)) => self.allocate(file),
                (None, None) => Err(Failure::usage(anyhow!("no manifest is named"))),
            }
        }

        fn end(&self, pod: &str) -> Result<Code, Failure> {
            match ask(&self.dir, &Request::End { pod: pod.to_owned() }, None)? {
                Answer::Ended(uid) => {
                    let ended = format!("{uid} has ended; its devices are free for the next pod\n");
                    let written = self.output.write(
                        &DevicePodEnded::new(uid.clone()),
                        |_| ended.clone(),
                        |_| ended.clone(),
                    );
                    unseen(written, || format!("{uid} has ended"));
                    Ok(Code::Answered)
                }
                Answer::Refused(reason) => Err(Failure::usage(anyhow!("{reason}"))),
                other => Err(unexpected(&other)),
            }
        }

        fn allocate(&self, file: &str) -> Result<Code, Failure> {
            refuse_twice(&self.numa_nodes)?;
            let content = read_input(file).map_err(Failure::missing)?;
            let loaded = load(shown(file), &content);
            if let Some(problem) = loaded.problems.first() {
                return Err(Failure::usage(anyhow!("{problem}")));
            }
            if loaded.pods.is_empty() {
                return Err(Failure::usage(anyhow!("{}: no pods", shown(file)))
                    .hint("a Pod, a list of pods, or a workload with a pod template is expected"));
            }
            let count = loaded.pods.len();
            loaded.notes.iter().for_each(|it| warn(&it.to_string()));
            let text = String::from_utf8(content)
                .map_err(|error| Failure::usage(anyhow!("{}: not UTF-8: {error}", shown(file))))?;
            let terms = TopologyConfig {
                policy: self.topology_manager_policy,
                scope: self.topology_manager_scope,
                numa_nodes: self.numa_nodes.clone(),
                start: !self.no_start,
            };
            let request = Request::Allocate { file: shown(file).to_owned(), text, terms };
            match ask(&self.dir, &request, None)? {
                Answer::Allocated(reports) if reports.len() < count => {
                    self.show(&reports);
                    let (done, file) = (reports.len(), shown(file));
                    note(
                        "stopped",
                        &format!("the stand-in ended after {done} of {count} pods of {file}"),
                    );
                    Ok(Code::Stopped)
                }
                Answer::Allocated(reports) => Ok(self.show(&reports)),
                Answer::Refused(reason) => Err(Failure::usage(anyhow!("{reason}"))),
                other => Err(unexpected(&other)),
            }
        }

        /// Shows what came of the pods. They have their devices, whether or not anybody reads it.
        fn show(&self, reports: &[DeviceAllocation]) -> Code {
            unseen(self.write(reports), || {
                let of_one = |report: &DeviceAllocation| {
                    let what = if report.admitted { "is admitted" } else { "is not admitted" };
                    format!("{}/{} {what}", report.namespace, report.name)
                };
                reports.iter().map(of_one).collect::<Vec<_>>().join(", ")
            });
            let is_unknown = |report: &DeviceAllocation| {
                report.failure.as_ref().is_some_and(|failure| !failure.kubelet_crashes)
            };
            match () {
                () if reports.iter().any(is_unknown) => Code::Missing,
                () if reports.iter().all(DeviceAllocation::is_good) => Code::Answered,
                () => Code::No,
            }
        }

        fn write(&self, reports: &[DeviceAllocation]) -> Result<(), Failure> {
            // One value, whatever the number of pods.
            match (self.output, reports) {
                (OutputFormat::Table | OutputFormat::Wide, _) => {}
                (form, [only]) => form.write(only, table, wide)?,
                (form, _) => {
                    let list = DeviceAllocationList::new(reports);
                    form.write(&list, |_| String::new(), |_| String::new())?;
                }
            }
            for report in reports {
                if self.output.is_for_people() {
                    self.output.write(report, table, wide)?;
                }
                if self.output.is_for_people() {
                    tell(&report.basis);
                }
            }
            Ok(())
        }
    }

    /// Says what was done where it could not be shown.
    fn unseen(written: Result<(), Failure>, done: impl FnOnce() -> String) {
        if let Some(failure) = written.err().filter(|failure| !crate::exit::is_closed_pipe(failure))
        {
            warn(&format!("the answer could not be written: {}; {}", failure.reason(), done()));
        }
    }

    /// Asks the stand-in of a folder. Each plugin has its own time, so there need be no limit: one that does
    /// not say that it is at it is given up soon.
    pub fn ask(
        folder: &Path,
        request: &Request,
        limit: Option<Duration>,
    ) -> Result<Answer, Failure> {
        // As the stand-in, which has it without links.
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
        let answer = ask_stand_in(folder, &request, limit).map_err(|error| {
            let hint = match &error {
                ControlError::Absent { error, .. } if error.kind() == PermissionDenied => {
                    "run kq as the user who runs kq devices serve, or as root".to_owned()
                }
                ControlError::Absent { .. } => format!(
                    "start one with kq devices serve --dir {}, and keep it running",
                    folder.display()
                ),
                ControlError::Broken { .. } => "look at what it wrote last".to_owned(),
            };
            Failure::missing(error).hint(hint)
        })?;
        serde_json::from_slice(&answer)
            .map_err(|error| Failure::missing(anyhow!("the stand-in is not understood: {error}")))
    }

    /// Says that a stand-in broke a promise of its own.
    fn unexpected(answer: &Answer) -> Failure {
        Failure::missing(anyhow!("the stand-in answered something else: {answer:?}"))
    }
}
