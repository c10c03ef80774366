//! `kq gc policy`

use super::records::GcNodeArgs;
use crate::exit::{Code, Failure, note, warn};
use crate::form::Form;
use kq::image_gc::policy_report::{GcPolicy, PolicySources};
use kq::image_gc::policy_view::{table, wide};
use kq::node::Needs;

/// Show the policy in force, the origin of each value, and the kubelet's errors
///
/// Exit code 0: a kubelet starts with this policy. 1: the kubelet rejects it; its
/// errors are shown. 3: the configuration of this node's kubelet is unknown, and
/// the defaults are shown.
///
/// Examples:
///
///   kq gc policy
///   kq gc policy --kubelet-config kubelet.yaml --set imageMaximumGCAge=24h
///   kq gc policy -o json | jq '.items[] | {name, value, origin}'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Output format
    #[arg(short, long, value_enum, default_value = "table")]
    output: Form,

    #[command(flatten)]
    node: GcNodeArgs,
}

impl Args {
    /// Gathers and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let files = self.node.kubelet.is_config_given();
        let node = self.node.gather(Needs { files, ..Needs::GC_POLICY })?;
        let flags = node.snapshot.kubelet.value().map(|process| process.interpreted().container_gc);
        let policy = GcPolicy::of(PolicySources {
            config: &node.kubelet.config,
            gates: node.kubelet.rules.gates,
            origins: &node.kubelet.origins,
            container_flags: flags.as_ref(),
        });
        self.output.write(&policy, table, wide)?;
        // The value of JSON has no place for it.
        if let Some(missing) = node.missing_config().filter(|_| !self.output.is_for_people()) {
            note("missing", &missing);
        }
        if self.output.is_for_people() {
            node.notes.iter().for_each(|text| warn(text));
            for error in &policy.errors {
                note("the kubelet refuses", error);
            }
        }
        Ok(match policy.is_accepted() {
            true => Code::Answered.unless(node.lacks_config()),
            false => Code::No,
        })
    }
}
