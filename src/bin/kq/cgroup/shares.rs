//! `kq cgroup shares`

use super::question::{Question, code, write_problems};
use crate::exit::{Code, Failure, tell};
use crate::output_format::OutputFormat;
use crate::write;
use anyhow::anyhow;
use kq::cgroup::shares::{Sibling, shares, table};
use kq::k8s::pod::ResourceName;
use kq::k8s::quantity::Quantity;

/// Show the CPU time of each container when every container is busy
///
/// At each level of the cgroup tree, siblings divide the CPU time by weight, up
/// to their quotas. Time above a quota goes to the other siblings. In the chart,
/// the bar is the container's CPU time and | marks its request.
///
/// Weights and quotas are the planned values, not the kernel's current ones. kq
/// cgroup diff compares the two.
///
/// Examples:
///
///   kq cgroup shares examples/classic.yaml --capacity cpu=3,memory=8Gi
///   kq cgroup shares
///   kq cgroup shares pods.json --cpus 4 --sibling system.slice=100 -o json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    question: Question,

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
        let capacity = gathered.node.capacity.get(&ResourceName::Cpu).and_then(Quantity::as_units);
        let cpus = self
            .cpus
            .or_else(|| capacity.and_then(|cpus| u64::try_from(cpus).ok()))
            .ok_or_else(|| {
                Failure::missing(anyhow!("the number of the node's CPUs is not known"))
                    .hint("say it with --cpus N, or with --capacity cpu=N or --node-file FILE")
            })?;
        if !self.sibling.is_empty() && capacity.is_none() {
            return Err(Failure::missing(anyhow!(
                "the weight of kubepods is not known, so nothing can be compared with it"
            ))
            .hint("it follows from --capacity cpu=N or --node-file FILE"));
        }
        let plan = gathered.plan()?;
        let mut divided = shares(&plan, cpus, &self.sibling, gathered.basis(&plan));
        // Everybody takes part; shown is who was asked about, and whom they compete with.
        divided.items.retain(|share| match (share.namespace, &share.pod) {
            (Some(namespace), Some(pod)) => gathered.is_selected(namespace, pod),
            _ => true,
        });
        match self.question.output {
            output @ (OutputFormat::Json
            | OutputFormat::Yaml
            | OutputFormat::JsonPath(_)
            | OutputFormat::CustomColumns(_)) => {
                write::answer(output, &divided)?;
                write_problems(&gathered);
                return Ok(code(&gathered));
            }
            OutputFormat::Table => write::text(table(&divided, false))?,
            OutputFormat::Wide => write::text(table(&divided, true))?,
            OutputFormat::Name => {
                let paths = divided.items.iter().filter_map(|share| share.cgroup);
                write::names(paths.map(str::to_owned))?;
            }
        }
        tell(&divided.basis);
        Ok(code(&gathered))
    }
}

/// Reads `system.slice=100`.
fn parse_sibling(text: &str) -> Result<Sibling, String> {
    let (name, weight) = text.split_once('=').ok_or("expected NAME=WEIGHT")?;
    let weight =
        weight.parse().map_err(|_| format!("{weight:?} is not a weight: expected a number"))?;
    if name.is_empty() || !(1..=262_144).contains(&weight) {
        return Err("expected a name and a weight of at least 1 and at most 262144".to_owned());
    }
    Ok(Sibling { name: name.to_owned(), weight })
}
