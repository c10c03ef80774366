//! The flags that select a node and the rules of its kubelet.

use crate::exit::Failure;
use crate::node_args::{ConfigArgs, RulesArgs};
use crate::progress::waiting;
use crate::source_args::{GATHERING, SourceArgs};
use kq::edge::clock::now;
use kq::facts::snapshot::Snapshot;
use kq::k8s::duration::GoDuration;
use kq::node::{KubeletOptions, KubeletStartOption, NamedFiles, Needs};

pub use kq::node::KubeletNode;

/// The flags that select a node and the rules of its kubelet.
#[derive(Debug, clap::Args)]
pub struct KubeletNodeArgs {
    #[command(flatten)]
    pub sources: SourceArgs,

    #[command(flatten)]
    config: ConfigArgs,

    #[command(flatten)]
    rules: RulesArgs,

    /// The kubelet's start: a time such as 2026-11-20T12:04:25Z, or an age such as 36h (default: the
    /// start of its process)
    #[arg(long, value_name = "TIME", value_parser = parse_start, help_heading = "The node")]
    kubelet_start: Option<KubeletStartOption>,
}

impl KubeletNodeArgs {
    /// Gathers the facts and describes the kubelet. A kubelet that would not start with its configuration is described as
    /// well.
    pub fn gather(&self, needs: Needs) -> Result<KubeletNode, Failure> {
        self.gather_files(NamedFiles::default(), needs)
    }

    /// Gathers the facts, those of files first, and describes the kubelet.
    pub fn gather_files(&self, files: NamedFiles, needs: Needs) -> Result<KubeletNode, Failure> {
        let tell = |snapshot: &Snapshot| self.sources.show(snapshot);
        let (spec, options) = (self.sources.spec(), self.options()?);
        waiting(GATHERING, || files.gather(&spec, &options, needs, tell))
    }

    /// Describes the kubelet by the flags alone, without the node.
    pub fn of_flags(&self) -> Result<KubeletNode, Failure> {
        let snapshot = Snapshot { taken_at: now(), ..Snapshot::default() };
        KubeletNode::describe(snapshot, &self.options()?, true)
    }

    /// Returns true if the kubelet's configuration is given.
    pub fn is_config_given(&self) -> bool {
        self.config.is_given()
    }

    /// Returns what the flags say of the kubelet.
    pub fn options(&self) -> Result<KubeletOptions, Failure> {
        Ok(KubeletOptions {
            config: self.config.given_config()?,
            config_file: self.config.file().map(str::to_owned),
            flags: self.rules.flags(),
            start: self.kubelet_start,
        })
    }
}

fn parse_start(text: &str) -> Result<KubeletStartOption, String> {
    if let Ok(at) = text.parse() {
        return Ok(KubeletStartOption::At(at));
    }
    match text.parse::<GoDuration>() {
        Ok(length) if length.0 >= 0 => Ok(KubeletStartOption::Ago(length)),
        _ => {
            Err("expected a time such as 2026-11-20T12:04:25Z, or how long ago, such as 36h"
                .to_owned())
        }
    }
}
