//! `kq devices plugins`

use super::serve::parse_timeout;
use crate::exit::{Code, Failure, note, tell};
use crate::output_format::{OutputFormat, formats};
use anyhow::anyhow;
use kq_managers::plugins::{DevicePlugins, table, wide};
use kq_node::action::devices::{InspectOptions, inspect, wait_for};
use std::path::PathBuf;
use std::time::Duration;

/// Show the device plugins, and whether the kubelet is connected to them
///
/// For each socket in the kubelet's device plugin directory, the answer shows
/// whether a process listens on it, whether the kubelet is connected to it now,
/// the plugin's options, and the resource it offers. plugins_registry, where the
/// kubelet's watcher finds plugins, is covered too.
///
/// kq disturbs no plugin. It counts connections in the kernel's socket table, and
/// calls only GetDevicePluginOptions, or GetInfo in plugins_registry, which the
/// kubelet's watcher also calls. It never opens ListAndWatch and never calls
/// Allocate: real plugins lose their health stream, or stop, when a second client
/// does. The plugin API does not report the resource of a socket; if no other
/// source reports it, the resource is unknown. Run as root: other users cannot
/// see which process is connected.
///
/// For a plugin that listens and does not answer, LISTENS is "no answer", and kq
/// prints a warning. A resource without a known socket has its own line: "none"
/// if its plugin is gone, "unknown" if one of the sockets may belong to it.
///
/// Exit code 0: plugins are shown, whatever their state; with --wait: the
/// resource is registered, and the kubelet or the fake kubelet counts a healthy
/// device. 1: with --wait, the time ran out and a condition is known to be unmet.
/// 3: the directory cannot be read, or --host-root is a copy of a node's files,
/// which has no sockets; with --wait, the time ran out and data is unavailable, as
/// without the pod-resources API. With --wait, kq waits for an absent directory.
///
/// Examples:
///
///   kq devices plugins
///   kq devices plugins -o wide
///   kq devices plugins --wait nvidia.com/gpu --timeout 2m
///   kq devices plugins --dir /tmp/plugins
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The device plugin directory (default: the directory of the running kubelet, else
    /// /var/lib/kubelet/device-plugins)
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Wait until this resource can be allocated
    #[arg(long, value_name = "RESOURCE")]
    wait: Option<String>,

    /// Time limit for --wait
    #[arg(long, value_name = "DURATION", default_value = "5m", requires = "wait",
          value_parser = parse_timeout)]
    timeout: Duration,

    /// Time limit for each plugin's answer
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = parse_timeout)]
    call_timeout: Duration,

    /// Do not call plugins; use only the file system and the kernel's socket table
    #[arg(long)]
    no_ask: bool,

    /// The root of the node's file system (default: /host in a debugging container, else /)
    #[arg(long, value_name = "DIR")]
    host_root: Option<PathBuf>,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,
}

impl Args {
    /// Inspects once, or until the resource can be allocated, and shows the last inspection.
    pub fn run(self) -> Result<Code, Failure> {
        let options = InspectOptions {
            folder: self.dir.clone(),
            host_root: self.host_root.clone(),
            call_timeout: self.call_timeout,
            calls_plugins: !self.no_ask,
        };
        let Some(resource) = &self.wait else {
            return self.show(&inspect(&options)?).map(|()| Code::Answered);
        };
        let (report, missing) = wait_for(&options, resource, self.timeout)?;
        self.show(&report)?;
        missing.iter().for_each(|it| note("missing", &it.text));
        let after = self.timeout;
        match (missing.is_empty(), missing.iter().all(|it| it.is_unknown)) {
            (true, _) => Ok(Code::Answered),
            (false, true) => Err(Failure::missing(anyhow!(
                "it is unknown whether {resource} can be allocated after {after:?}"
            ))
            .hint("run as root on the node, where kq can query the kubelet")),
            (false, false) => {
                Err(Failure::no(anyhow!("{resource} cannot be allocated after {after:?}")))
            }
        }
    }

    fn show(&self, report: &DevicePlugins) -> Result<(), Failure> {
        self.output.write(report, table, wide)?;
        if self.output.is_for_people() {
            tell(&report.basis);
        }
        Ok(())
    }
}
