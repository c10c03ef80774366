//! `kq devices plan`

use super::node_args::{DeviceNodeArgs, TopologyArgs};
use crate::exit::{Code, Failure, tell};
use crate::output_format::{OutputFormat, formats};
use crate::pod_args::PodArgs;
use crate::source_args::GivenDevicesArgs;
use anyhow::anyhow;
use kq_answer::Basis;
use kq_core::question::devices::manifest_pods;
use kq_core::question::devices::plan::{
    DevicePlanOptions, Subject, device_plan, device_plan_needs,
};
use kq_facts::input_name::shown;
use kq_facts::pod_selector::is_file;
use kq_io::input::read_input;
use kq_managers::plan::{table, wide};
use kq_node::action::devices::{PluginSearch, QueriedPlugins, QueriedSocket};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Show the devices that a pod would get now, or the kubelet's error
///
/// kq processes the containers as the kubelet's device manager does: it considers
/// recorded devices, devices left over by init containers, NUMA nodes according
/// to the topology policy, and healthy free devices. Where the kubelet depends on
/// the random order of a map, the answer shows the set from which it chooses. -o
/// wide shows the state before, the NUMA hints and the decisions.
///
/// FILE is a manifest; its pods are admitted one after the other, each with the
/// devices that the earlier ones left. POD is a pod of this node, or of
/// --snapshot. With --devices and FILE, kq reads no node unless a flag names one.
/// kq calls plugins only with --ask-plugin, and then only for their options and
/// preferred devices.
///
/// With --kubelet-restart, no device is healthy until its plugin registers again.
/// Without POD or FILE, the answer then covers all pods of the node with devices:
/// those that keep running, those that are rejected, and those whose devices the
/// kubelet forgets; and what happens if a plugin registers in time. A pod on the
/// node keeps its devices while it runs. For such a pod, --unhealthy shows whether
/// it would be admitted again, as after a reboot, when a container of it does not
/// run at the kubelet's start.
///
/// Exit code 0: all pods get their devices. 1: a pod does not get them, also
/// because no plugin offers the resource; a pod loses them, or may, when it is
/// admitted again; or the kubelet crashes. 3: required data is unavailable;
/// "missing:" names it.
///
/// Examples:
///
///   kq devices plan train.yaml
///   kq devices plan train.yaml --unhealthy gpu-3 -o wide
///   kq devices plan --unhealthy gpu-3
///   kq devices plan --kubelet-restart
///   kq devices plan --reboot
///   kq devices plan train.yaml --ask-plugin
///   kq devices plan train.yaml --devices devices.yaml
///   kq devices plan train.yaml --topology-manager-policy restricted
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The pod, or a manifest file; - reads standard input
    #[arg(value_name = "POD|FILE",
          required_unless_present_any = ["kubelet_restart", "reboot", "unhealthy", "ask_plugin", "filename"])]
    pod: Option<String>,

    #[command(flatten)]
    named: PodArgs,

    /// Treat this device (ID or RESOURCE=ID) as unhealthy. Without POD or FILE, show which pods hold it
    /// and the resulting capacity (can be repeated)
    #[arg(long, value_name = "ID")]
    unhealthy: Vec<String>,

    /// Assume that the kubelet restarts and that no plugin has registered yet
    #[arg(long, conflicts_with = "unhealthy")]
    kubelet_restart: bool,

    /// Assume that the machine reboots: as --kubelet-restart, and no container runs
    #[arg(long, conflicts_with_all = ["unhealthy", "kubelet_restart"])]
    reboot: bool,

    /// Ask plugins for their preferred devices (GetPreferredAllocation). Without SOCKET, kq asks the
    /// plugins of the requested resources in the device plugin directory. A named SOCKET must be that
    /// of the resource (can be repeated)
    #[arg(long, value_name = "RESOURCE=SOCKET", num_args = 0..=1, default_missing_value = "")]
    ask_plugin: Vec<AskPlugin>,

    /// The device plugin directory for --ask-plugin (default: the directory of the running kubelet,
    /// else /var/lib/kubelet/device-plugins)
    #[arg(long, value_name = "DIR", requires = "ask_plugin")]
    dir: Option<PathBuf>,

    #[command(flatten)]
    devices: GivenDevicesArgs,

    #[command(flatten)]
    topology: TopologyArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,

    #[command(flatten)]
    node: DeviceNodeArgs,
}

/// A value of `--ask-plugin`.
#[derive(Clone, Debug)]
enum AskPlugin {
    /// No value: the plugins are to be found.
    Found,
    /// A resource, and the socket of its plugin.
    Named(String, PathBuf),
    /// Not a value of the flag: the pod that follows it on the command line.
    Other(String),
}

impl From<&str> for AskPlugin {
    /// Parses the value of the flag, which may be empty.
    fn from(text: &str) -> Self {
        match text.split_once('=') {
            Some((resource, socket)) if !resource.is_empty() && !socket.is_empty() => {
                Self::Named(resource.to_owned(), PathBuf::from(socket))
            }
            _ if text.is_empty() => Self::Found,
            _ => Self::Other(text.to_owned()),
        }
    }
}

impl Args {
    /// Gathers, decides and shows.
    pub fn run(mut self) -> Result<Code, Failure> {
        self.check_asked()?;
        self.pod = self.named.one(self.pod.as_deref())?;
        let mut basis = Basis::default();
        let from_file = match self.pod.as_deref().filter(|pod| is_file(pod)) {
            Some(file) => {
                let content = read_input(file).map_err(Failure::missing)?;
                Some(manifest_pods(shown(file), &content, &mut basis)?)
            }
            None => None,
        };
        // For a pod of the node they stand next to what the node says.
        let stand_alone = self.devices.devices.is_some() && from_file.is_some();
        let needs = self
            .node
            .needs_with_given(stand_alone, device_plan_needs(self.kubelet_restart || self.reboot));
        let node = self.node.gather(Some(&self.devices), needs)?;
        let subject = match (from_file, &self.pod) {
            (Some(pods), _) => Subject::Manifest(pods),
            (None, Some(name)) => Subject::Pod(name.clone()),
            (None, None) => Subject::Node,
        };
        let options = DevicePlanOptions {
            subject,
            unhealthy: self.unhealthy.clone(),
            kubelet_restart: self.kubelet_restart,
            reboot: self.reboot,
            topology: self.topology.options(),
        };
        let ask = |resources: &BTreeSet<&str>, basis: &mut Basis| {
            self.asked_plugins(node.runs_here, resources, basis)
        };
        let planned = device_plan(&node, options, basis, ask)?;
        self.output.write(&planned, table, wide)?;
        if self.output.is_for_people() {
            tell(&planned.basis);
        }
        Ok(match () {
            () if planned.prevented.is_some() || planned.refuses_for_sure() => Code::No,
            () if planned.is_undetermined() || !planned.basis.missing.is_empty() => Code::Missing,
            () if planned.all_admitted() => Code::Answered,
            () => Code::No,
        })
    }

    /// Takes a pod that stands behind --ask-plugin, which may have no value of its own, for the pod.
    fn check_asked(&mut self) -> Result<(), Failure> {
        for asked in &mut self.ask_plugin {
            let AskPlugin::Other(text) = asked else { continue };
            if self.pod.is_some() || self.named.has_file() {
                return Err(Failure::usage(anyhow!(
                    "--ask-plugin {text}: expected RESOURCE=SOCKET"
                ))
                .hint(
                    "such as example.com/gpu=/var/lib/kubelet/device-plugins/gpu.sock; without a \
                         value the plugins are found",
                ));
            }
            self.pod = Some(std::mem::take(text));
            *asked = AskPlugin::Found;
        }
        let is_named = self.pod.is_some() || self.named.has_file();
        if !is_named && !self.kubelet_restart && !self.reboot && self.unhealthy.is_empty() {
            return Err(Failure::usage(anyhow!("--ask-plugin: no pod is named"))
                .hint("name it: kq devices plan POD|FILE --ask-plugin"));
        }
        Ok(())
    }

    /// Returns the plugins that may be asked: those that are named, and those that are found.
    fn asked_plugins(
        &self,
        runs_here: bool,
        resources: &BTreeSet<&str>,
        basis: &mut Basis,
    ) -> Result<QueriedPlugins, Failure> {
        let sources = &self.node.kubelet.sources;
        let mut named = Vec::new();
        let mut finds = false;
        for asked in &self.ask_plugin {
            match asked {
                AskPlugin::Named(resource, socket) => {
                    named.push((resource.clone(), QueriedSocket::Named(socket.clone())))
                }
                AskPlugin::Found | AskPlugin::Other(_) => finds = true,
            }
        }
        if finds {
            if !runs_here && sources.host_root.is_none() && self.dir.is_none() {
                let given = if sources.snapshot.is_some() { "--snapshot" } else { "the files" };
                return Err(Failure::usage(anyhow!(
                    "--ask-plugin calls the plugins of this machine, and {given} may be of another"
                ))
                .hint("use --ask-plugin RESOURCE=SOCKET, or --dir DIR for their folder"));
            }
            let is_named = |resource: &&str| named.iter().any(|(name, _)| name == resource);
            let open = resources.iter().copied().filter(|resource| !is_named(resource)).collect();
            let search = PluginSearch {
                folder: self.dir.clone(),
                host_root: sources.host_root.clone(),
                call_timeout: sources.timeout,
            };
            named.extend(search.find(&open, basis)?);
        }
        Ok(QueriedPlugins::new(named, sources.timeout))
    }
}
