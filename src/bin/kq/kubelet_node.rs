//! The flags that say which node, and by which rules its kubelet goes.

use crate::exit::Failure;
use crate::node_args::{ConfigArgs, RootArgs, RulesArgs};
use crate::source_args::{SourceArgs, gather};
use kq::edge::clock::now;
use kq::facts::snapshot::Snapshot;
use kq::k8s::duration::GoDuration;
use kq::node::FactKey;
use kq::node::{KubeletOptions, KubeletStartOption, Needs};

pub use kq::node::KubeletNode;

/// The flags that say which node it is about, and by which rules its kubelet goes.
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
    /// Gathers what is wanted and describes the kubelet. One that would not start with its
    /// configuration is described as well.
    pub fn gather(&self, needs: Needs) -> Result<KubeletNode, Failure> {
        self.gather_with(needs, |_| {})
    }

    /// Gathers what is wanted, puts what else was given over it, and describes the kubelet.
    pub fn gather_with(
        &self,
        needs: Needs,
        put_given: impl FnOnce(&mut Snapshot),
    ) -> Result<KubeletNode, Failure> {
        let given = self.config.given_config()?;
        let root = RootArgs::from(self.config.clone());
        let value = given.as_ref().map(|given| &given.config.value);
        let mut snapshot = gather(&self.sources, &root, value, needs)?;
        put_given(&mut snapshot);
        let question = self.sources.node_in_question(needs.files, needs.only_on_node);
        let described =
            KubeletNode::describe(snapshot, &self.options()?, needs.has(FactKey::KubeletConfig))?;
        let runs_here = self.sources.snapshot.is_none() && question.runs_here();
        Ok(KubeletNode { runs_here, ..described })
    }

    /// Describes the kubelet of what the flags say alone; the node is not looked at.
    pub fn of_flags(&self) -> Result<KubeletNode, Failure> {
        let snapshot = Snapshot { taken_at: now(), ..Snapshot::default() };
        KubeletNode::describe(snapshot, &self.options()?, true)
    }

    /// Tells whether a flag says the kubelet's version.
    pub fn knows_version(&self) -> bool {
        self.rules.kubelet_version.is_some()
    }

    /// Tells whether the kubelet's configuration is given.
    pub fn is_config_given(&self) -> bool {
        self.config.is_given()
    }

    /// Tells whether a flag says anything of the kubelet.
    pub fn is_told(&self) -> bool {
        self.config.is_given() || self.rules.is_any_given()
    }

    /// Returns a function that describes the kubelet of what was gathered elsewhere, by the flags alone.
    pub fn of_nodes(&self) -> Result<impl Fn(Snapshot) -> Result<KubeletNode, Failure>, Failure> {
        let options = self.options()?;
        Ok(move |snapshot| KubeletNode::describe(snapshot, &options, false))
    }

    /// Returns what the flags say of the kubelet.
    fn options(&self) -> Result<KubeletOptions, Failure> {
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
