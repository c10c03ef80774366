//! `kq devices serve`

use crate::exit::{Code, Failure};
#[cfg(cri)]
use crate::write;
use kq_k8s::duration::GoDuration;
#[cfg(cri)]
use kq_managers::fake_kubelet::TimedEvent;
#[cfg(cri)]
use kq_node::action::devices::{ServeOptions, serve};
use std::path::PathBuf;
use std::time::Duration;

/// Run a fake kubelet for developing a device plugin
///
/// serve offers the Registration service on DIR/kubelet.sock until it is
/// interrupted. It checks a registering plugin with the kubelet's rules and
/// messages, connects to it, reads its options and keeps its ListAndWatch stream
/// open. Each change in the plugin's list is printed on one line, as are the end
/// of the plugin and, five minutes (or --grace-period) later, the removal of its
/// resource. kq devices allocate requests allocations from it.
///
/// After each change, serve writes its state to DIR/kubelet_internal_checkpoint
/// in the kubelet's format, and reads it at the next start; pods in it then count
/// as active. If the checkpoint is damaged, serve keeps a copy of it and starts
/// with an empty state. At its start, serve removes its own sockets in DIR and
/// the sockets of plugins that registered with it before, as the kubelet does: a
/// plugin whose socket disappears must register again. It removes no other file.
/// A plugin that was started first is left alone and reported, and registers when
/// it notices the new kubelet.sock. serve refuses a directory where a kubelet
/// runs or may run, and one with foreign files.
///
/// DIR/kq.sock belongs to kq: kq devices allocate and kq devices plugins connect
/// to it. serve ends when kubelet.sock is removed or replaced, because plugins
/// can then no longer reach it.
///
/// Exit code 0: interrupted. 2: the path of DIR is too long for sockets. 3: DIR
/// is not usable, a socket was removed, or the checkpoint could not be written at
/// the end. 4: a kubelet, another serve or another program uses DIR, or may use
/// it; nothing was created or removed. 130: interrupted twice, ended at once.
///
/// Examples:
///
///   kq devices serve --dir /tmp/plugins
///   kq devices serve --dir /tmp/plugins -o json | jq -c .event
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The directory of kubelet.sock and of the plugins' sockets; created if it does not exist
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,

    /// Time limit for a call to a plugin. The kubelet has none, except for PreStartContainer
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_timeout)]
    call_timeout: Duration,

    /// How long a resource is kept after its plugin ends. The kubelet keeps it for five minutes
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_timeout)]
    grace_period: Duration,

    /// The root of the file system of the node whose kubelet must not be disturbed (default: /host in a
    /// debugging container, else /)
    #[arg(long, value_name = "DIR")]
    host_root: Option<PathBuf>,

    /// Format of the event lines
    #[arg(short, long, value_enum, default_value = "text")]
    output: Lines,
}

/// The forms of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Lines {
    /// One text line for each event
    Text,
    /// One JSON object per line for each event
    Json,
}

#[cfg(cri)]
impl Args {
    /// Serves until it is interrupted.
    pub fn run(self) -> Result<Code, Failure> {
        let Self { dir: folder, call_timeout, grace_period, host_root, output } = self;
        let options = ServeOptions { folder, call_timeout, grace_period, host_root };
        let mut emit = |event: &TimedEvent| match output {
            Lines::Text => write::lines([event.to_string()]),
            Lines::Json => write::line(event),
        };
        serve(&options, &mut emit, give_up).map(|()| Code::Answered)
    }
}

/// Ends at once, after a second interrupt.
#[cfg(cri)]
#[expect(clippy::disallowed_methods, reason = "there is nothing left to do in order")]
fn give_up() {
    std::process::exit(130);
}

#[cfg(not(cri))]
impl Args {
    /// Fails, since kq was built without gRPC.
    pub fn run(self) -> Result<Code, Failure> {
        Err(not_built(&self.dir))
    }
}

/// Returns the failure of a build without gRPC.
#[cfg(not(cri))]
pub fn not_built(folder: &std::path::Path) -> Failure {
    let folder = folder.display();
    if let Some(reason) = kq_io::no_live_node() {
        return Failure::missing(anyhow::anyhow!("cannot talk to plugins in {folder}: {reason}"));
    }
    Failure::missing(anyhow::anyhow!(
        "cannot talk to plugins in {folder}: kq was built without the feature `cri`"
    ))
    .hint("build kq with `--features cri`")
}

/// Parses a duration above 0.
pub fn parse_timeout(text: &str) -> Result<Duration, String> {
    let duration: GoDuration = text.parse().map_err(|error| format!("{error}"))?;
    match u64::try_from(duration.0) {
        Ok(nanoseconds) if nanoseconds > 0 => Ok(Duration::from_nanos(nanoseconds)),
        _ => Err("expected a duration of more than 0, such as 30s or 500ms".to_owned()),
    }
}
