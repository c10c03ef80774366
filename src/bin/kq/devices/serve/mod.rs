//! `kq devices serve`

#[cfg(feature = "cri")]
mod event_writer;
#[cfg(feature = "cri")]
mod plugin_calls;
#[cfg(feature = "cri")]
mod pods;
pub mod request;
#[cfg(feature = "cri")]
mod restore;
#[cfg(feature = "cri")]
mod serve_loop;

use crate::exit::{Code, Failure};
use kq::k8s::duration::GoDuration;
use std::path::PathBuf;
use std::time::Duration;

/// Stand in for the kubelet's side, for a plugin that is being written
///
/// Serves the Registration service on DIR/kubelet.sock until it is interrupted. A plugin that
/// registers is checked with the kubelet's rules and texts, connected to, asked for its options,
/// and its ListAndWatch is kept open. What it lists is told as what changed, a line each; so are
/// its end, and that its resource is forgotten five minutes later, or after --grace-period. kq
/// devices allocate has it allocate.
///
/// What it knows is written to DIR/kubelet_internal_checkpoint in the kubelet's format after each
/// change, and taken over when it starts again; the pods in it count as active then. A checkpoint
/// that is damaged is kept beside, and it starts with nothing. When it starts, it removes its own
/// sockets in DIR and those of plugins that registered with it before, as the kubelet does: a plugin
/// that sees its socket gone must register again. Nothing else is removed: a plugin that was started
/// first is left alone and told of, and registers when it notices that there is a new kubelet.sock.
/// It refuses a folder where a kubelet lives or may live, and one with files that are not its own.
///
/// DIR/kq.sock is kq's own: kq devices allocate and plugins ask there. When kubelet.sock is removed
/// or replaced, nobody can reach it any more, and it ends.
///
/// Exit code 0: it was interrupted. 2: the path of DIR is too long for sockets. 3: DIR cannot be
/// used, a socket was removed, or the checkpoint could not be written by the end. 4: a kubelet or something else lives there, another one serves
/// there already, or that cannot be told; nothing was made or removed. Interrupted twice, it ends
/// at once, with 130.
///
/// Examples:
///
///   kq devices serve --dir /tmp/plugins
///   kq devices serve --dir /tmp/plugins -o json | jq -c 'select(.event == "deviceHealth")'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The folder of kubelet.sock and of the plugins' sockets; made where there is none
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,

    /// How long a plugin may take for a call; the kubelet waits for ever, but for PreStartContainer
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_timeout)]
    call_timeout: Duration,

    /// How long a resource outlives its plugin; the kubelet's five minutes are long for a test
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_timeout)]
    grace_period: Duration,

    /// The folder where the node's root is, whose kubelet is kept away from; else /host in a debugging
    /// container, else /
    #[arg(long, value_name = "DIR")]
    host_root: Option<PathBuf>,

    /// How to show what happens
    #[arg(short, long, value_enum, default_value = "text")]
    output: Lines,
}

/// The forms of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Lines {
    /// A line each
    Text,
    /// An object of JSON each, on a line
    Json,
}

impl Args {
    /// Serves until it is interrupted.
    #[cfg(feature = "cri")]
    pub fn run(self) -> Result<Code, Failure> {
        serve_loop::run(&self)
    }

    /// Says that kq was built without.
    #[cfg(not(feature = "cri"))]
    pub fn run(self) -> Result<Code, Failure> {
        let Self { dir, .. } = self;
        Err(not_built(&dir))
    }
}

/// Says that kq was built without gRPC.
#[cfg(not(feature = "cri"))]
pub fn not_built(folder: &std::path::Path) -> Failure {
    let folder = folder.display();
    Failure::missing(anyhow::anyhow!(
        "cannot talk to plugins in {folder}: kq was built without the feature `cri`"
    ))
    .hint("build kq with `--features cri`")
}

/// Reads a duration that something can be waited for.
pub fn parse_timeout(text: &str) -> Result<Duration, String> {
    let duration: GoDuration = text.parse().map_err(|error| format!("{error}"))?;
    match u64::try_from(duration.0) {
        Ok(nanoseconds) if nanoseconds > 0 => Ok(Duration::from_nanos(nanoseconds)),
        _ => Err("expected a duration of more than 0, such as 30s or 500ms".to_owned()),
    }
}
