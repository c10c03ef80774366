//! `kq devices plugins`

mod look;
mod offers;

pub use offers::offers;

use super::serve::parse_timeout;
use crate::exit::{Code, Failure, note, warn};
use crate::form::Form;
use anyhow::anyhow;
use kq::device::plugins::{DevicePlugins, missing_for, table, wide};
use kq::edge::clock::steady;
use std::path::PathBuf;
use std::time::Duration;

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(500);

/// Show the device plugins, and whether the kubelet is connected to them
///
/// For each socket in the kubelet's folder of device plugins: whether somebody listens, whether the
/// kubelet is connected right now, what the plugin can do, and which resource it offers. The same
/// for plugins_registry, where plugins are found by the kubelet's watcher.
///
/// Nothing is disturbed: connections are counted in the kernel's table of sockets, and a plugin is
/// asked GetDevicePluginOptions alone, in plugins_registry GetInfo, which the kubelet's watcher
/// asks as well. ListAndWatch is never opened, and Allocate never called: real plugins lose their
/// stream of health, or stop, when a second client does. The plugin API does not tell which
/// resource a socket offers; where it cannot be known otherwise it is unknown. Run as root: others
/// do not see who is connected.
///
/// A plugin that listens and does not answer has "no answer" under LISTENS, and is warned of. A
/// resource of which no socket is known has a line of its own: "none" when its plugin is gone,
/// "unknown" when one of the sockets may be its.
///
/// Exit code 0: they are shown, whatever their state; with --wait: the resource is registered, and
/// the kubelet, or what stands in for it, counts a healthy device now. 1: it has not in that time.
/// 3: the folder cannot be read, or nothing is missing and something is not known, as without the
/// kubelet's pod-resources API; with --wait, a folder that is not there is waited for.
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
    /// The folder of device plugins; else that of the kubelet that runs, else
    /// /var/lib/kubelet/device-plugins
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// Wait until a resource can be allocated
    #[arg(long, value_name = "RESOURCE")]
    wait: Option<String>,

    /// How long to wait
    #[arg(long, value_name = "DURATION", default_value = "5m", requires = "wait",
          value_parser = parse_timeout)]
    timeout: Duration,

    /// How long each plugin may take to answer
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = parse_timeout)]
    call_timeout: Duration,

    /// Do not ask plugins anything: only look
    #[arg(long)]
    no_ask: bool,

    /// The folder where the node's root is; else /host in a debugging container, else /
    #[arg(long, value_name = "DIR")]
    host_root: Option<PathBuf>,

    /// How to show the answer
    #[arg(short, long, value_enum, default_value = "table")]
    output: Form,
}

impl Args {
    /// Looks, and looks again where it is to wait.
    pub fn run(self) -> Result<Code, Failure> {
        let began = steady();
        let mut report = look::look(&self)?;
        let Some(resource) = &self.wait else {
            return self.show(&report).map(|()| Code::Answered);
        };
        loop {
            let missing = missing_for(&report, resource);
            let is_over = began.elapsed() + PAUSE > self.timeout;
            if missing.is_empty() || is_over {
                self.show(&report)?;
                missing.iter().for_each(|it| note("missing", &it.text));
                if missing.is_empty() {
                    return Ok(Code::Answered);
                }
                let after = self.timeout;
                return Err(match missing.iter().all(|it| it.is_unknown) {
                    true => Failure::missing(anyhow!(
                        "whether {resource} can be allocated is not known after {after:?}"
                    ))
                    .hint("run as root on the node, where kq can ask the kubelet"),
                    false => Failure::no(anyhow!("{resource} cannot be allocated after {after:?}")),
                });
            }
            std::thread::sleep(PAUSE);
            report = look::look(&self)?;
        }
    }

    fn show(&self, report: &DevicePlugins) -> Result<(), Failure> {
        self.output.write(report, table, wide)?;
        if self.output.is_for_people() {
            report.assumptions.iter().for_each(|text| note("assumed", text));
            report.warnings.iter().for_each(|text| warn(text));
        }
        Ok(())
    }
}
