//! `kq cgroup explain`

use crate::exit::{Code, Failure};
use crate::output_format::{OutputFormat, formats};
use kq_cgroup::explain::{Explanation, explain};
use kq_output::doc::Doc;

/// Explain the meaning and the possible origin of a value in a cgroup file
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
/// For a path that ends in a Kubernetes cgroup, the answer also names the
/// possible writers.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The name of a cgroup file, or a path to it
    file: String,

    /// The content of the file
    #[arg(allow_hyphen_values = true)]
    value: String,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,
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
        let lines = |it: &Explanation| -> Doc { it.lines().into_iter().collect() };
        self.output.write(&explanation, lines, lines)?;
        Ok(Code::Answered)
    }
}
