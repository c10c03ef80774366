//! `kq devices allocate`

use crate::exit::{Code, Failure};
use crate::output_format::{OutputFormat, formats};
use crate::pod_args::NamespaceArgs;
use kq_core::question::devices::topology::parse_numa_node;
use kq_managers::manager::topology::{TopologyPolicy, TopologyScope};
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
        value_parser = parse_numa_node,
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

#[cfg(not(cri))]
impl Args {
    /// Fails, since kq was built without gRPC.
    pub fn run(self) -> Result<Code, Failure> {
        Err(super::serve::not_built(&self.dir))
    }
}

#[cfg(cri)]
mod run {
    use super::{Args, Code, Failure};
    use crate::exit::{note, tell, tell_all, warn};
    use crate::output_format::OutputFormat;
    use crate::write;
    use anyhow::anyhow;
    use kq_managers::fake_kubelet::{
        DeviceAllocation, DeviceAllocationList, DevicePodEnded, TopologyConfig, table, wide,
    };
    use kq_node::action::devices::{AllocationOptions, allocate, end_pod};
    use kq_output::doc::Doc;

    impl Args {
        /// Sends the request, and shows the result.
        pub fn run(self) -> Result<Code, Failure> {
            tell_all();
            if let Some(pod) = &self.remove {
                let uid = end_pod(&self.dir, &self.namespace.qualify(pod)?)?;
                let ended = |_: &_| {
                    Doc::of_line(format!("{uid} has ended; its devices are free for the next pod"))
                };
                let answer = DevicePodEnded::new(uid.clone());
                unseen(self.output.write(&answer, ended, ended), || format!("{uid} has ended"));
                return Ok(Code::Answered);
            }
            let file = self.file.as_ref().or(self.filename.as_ref());
            let file = file.ok_or_else(|| Failure::usage(anyhow!("no manifest is named")))?;
            let topology = TopologyConfig {
                policy: self.topology_manager_policy,
                scope: self.topology_manager_scope,
                numa_nodes: self.numa_nodes.clone(),
                start: !self.no_start,
            };
            let options = AllocationOptions { folder: &self.dir, file, topology };
            let allocation = allocate(options, &mut warn)?;
            let code = self.show(&allocation.reports);
            let Some(reason) = allocation.stopped else { return Ok(code) };
            note("stopped", &reason);
            Ok(Code::Stopped)
        }

        /// Shows the results. The pods have their devices, so a failed write changes no exit code.
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
                    write::answer(form, &DeviceAllocationList::new(reports))?;
                }
            }
            for report in reports.iter().filter(|_| self.output.is_for_people()) {
                self.output.write(report, table, wide)?;
                tell(&report.basis);
            }
            Ok(())
        }
    }

    /// Reports a change whose answer could not be written.
    fn unseen(written: Result<(), Failure>, done: impl FnOnce() -> String) {
        if let Some(failure) = written.err().filter(|failure| !crate::exit::is_closed_pipe(failure))
        {
            warn(&format!("the answer could not be written: {}; {}", failure.reason(), done()));
        }
    }
}
