//! `kq cgroup shares`

use super::plan_args::{PlanArgs, code, write_problems};
use crate::exit::{Code, Failure, tell};
use crate::output_format::{OutputFormat, formats_with};
use crate::write;
use kq_cgroup::shares::{CpuShares, Sibling, table, values_line};
use kq_core::question::cgroup::SharesOptions;

/// Show the CPU time of each container when every container is busy
///
/// At each level of the cgroup tree, siblings divide the CPU time by weight, up
/// to their quotas. Time above a quota goes to the other siblings. In the chart,
/// the bar is the container's CPU time and | marks its request.
///
/// For the pods of a node, weights and quotas are the kernel's current values; with
/// --planned, and for pods of files, those that the kubelet and the runtime write.
/// kq cgroup diff compares the two.
///
/// Examples:
///
///   kq cgroup shares examples/classic.yaml --capacity cpu=3,memory=8Gi
///   kq cgroup shares
///   kq cgroup shares --snapshot node.json.zst --planned
///   kq cgroup shares pods.json --cpus 4 --sibling system.slice=100 -o json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    question: PlanArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The paths of the cgroups").and_metrics())]
    output: OutputFormat,

    /// Divide by planned weights and quotas, not by the kernel's
    #[arg(long)]
    planned: bool,

    /// The number of CPUs to divide (default: the CPUs in --capacity or --node-file)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    cpus: Option<u64>,

    /// A busy sibling of kubepods and its weight (shares on cgroup v1), such as system.slice=100 (can
    /// be repeated)
    #[arg(long, value_name = "NAME=WEIGHT", value_parser = parse_sibling)]
    sibling: Vec<Sibling>,
}

impl Args {
    /// Gathers, plans, divides and shows.
    pub fn run(mut self) -> Result<Code, Failure> {
        let gathered = self.question.gather()?;
        let options = SharesOptions {
            cpus: self.cpus,
            siblings: self.sibling,
            are_planned: self.planned || !self.question.is_of_node,
        };
        let cpus = options.cpus(&gathered)?;
        let plan = gathered.plan()?;
        let (divided, values) = options.divide(&gathered, &plan, cpus)?;
        let code = code(&gathered).unless(!divided.basis.is_complete());
        let names = |it: &CpuShares<'_>| {
            it.items.iter().filter_map(|share| share.cgroup.map(str::to_owned)).collect()
        };
        self.output.write_or_names(&divided, |it| table(it, false), |it| table(it, true), names)?;
        match self.output {
            OutputFormat::Table | OutputFormat::Wide => {
                write::lines([values_line(values)])?;
                tell(&divided.basis);
            }
            OutputFormat::Name => tell(&divided.basis),
            _ => write_problems(&gathered),
        }
        Ok(code)
    }
}

/// Reads `system.slice=100`.
fn parse_sibling(text: &str) -> Result<Sibling, String> {
    let (name, weight) = text.split_once('=').ok_or("expected NAME=WEIGHT")?;
    let weight =
        weight.parse().map_err(|_| format!("{weight:?} is not a weight: expected a number"))?;
    if name.contains('/') {
        return Err("expected the name of a sibling of kubepods, not a path".to_owned());
    }
    if name.is_empty() || !(1..=262_144).contains(&weight) {
        return Err("expected a name and a weight of at least 1 and at most 262144".to_owned());
    }
    Ok(Sibling { name: name.to_owned(), weight })
}
