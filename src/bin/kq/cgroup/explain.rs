//! `kq cgroup explain`

use crate::exit::{Code, Failure};
use crate::write::{self, Output};
use clap::ValueEnum;
use kq::cgroup::explain::explain;

/// Say what a value in a cgroup file means and where it can come from
///
/// Examples:
///
///   kq cgroup explain cpu.weight 17
///   kq cgroup explain cpu.max "41700 100000"
///   kq cgroup explain /sys/fs/cgroup/kubepods/memory.max 1073741824 -o json
///
///   $ kq cgroup explain kubepods/burstable/cpu.max "max 100000"
///   cpu.max max 100000: no limit of CPU time
///   cpu.max: CPU time that may be used in each period, over all CPUs
///   level: QoS class burstable
///   nothing was written (kernel)
///   note: the kubelet gives a QoS class no quota
///
/// A path that ends in a cgroup of Kubernetes tells more than the name alone: who can have written
/// there.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The name of the file, or a path to it
    file: String,

    /// Its text
    #[arg(allow_hyphen_values = true)]
    value: String,

    /// How to show the answer
    #[arg(short, long, value_enum, default_value = "table")]
    output: Format,
}

/// The forms of an explanation: it has no names, and nothing to widen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines to read
    Table,
    /// The whole answer as JSON
    Json,
    /// The whole answer as YAML
    Yaml,
}

impl Args {
    /// Explains and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let explanation = explain(&self.file, &self.value).map_err(|error| {
            let hint = error.hint();
            let failure = Failure::usage(error);
            match hint {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })?;
        match self.output {
            Format::Table => write::lines(explanation.lines())?,
            Format::Json => write::value(Output::Json, &explanation)?,
            Format::Yaml => write::value(Output::Yaml, &explanation)?,
        }
        Ok(Code::Answered)
    }
}
