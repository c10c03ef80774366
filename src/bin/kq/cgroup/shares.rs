//! `kq cgroup shares`

use super::question::{Question, code, write_problems};
use crate::exit::{Code, Failure, tell};
use crate::output_format::{OutputFormat, formats_with};
use crate::write;
use anyhow::anyhow;
use kq::cgroup::plan::Plan;
use kq::cgroup::shares::{Sibling, Values, shares, table, values_line};
use kq::facts::cgroup_tree::CgroupPath;
use kq::k8s::pod::ResourceName;
use kq::k8s::quantity::Quantity;
use kq::question::cgroup::plan::PlanInput;

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
    question: Question,

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
        let values = match self.question.is_of_node && !self.planned {
            true => kernel(&gathered, &plan)?,
            false => Values::Planned,
        };
        let mut divided = shares(&plan, values, cpus, &self.sibling, gathered.basis(&plan));
        let code = code(&gathered).unless(!divided.basis.is_complete());
        // Everybody takes part; shown is who was asked about, and whom they compete with.
        divided.items.retain(|share| match (share.namespace, &share.pod) {
            (Some(namespace), Some(pod)) => gathered.is_selected(namespace, pod),
            _ => true,
        });
        match self.output {
            output @ (OutputFormat::Json
            | OutputFormat::Yaml
            | OutputFormat::Exchange(_)
            | OutputFormat::JsonPath(_)
            | OutputFormat::CustomColumns(_)) => {
                write::answer(output, &divided)?;
                write_problems(&gathered);
                return Ok(code);
            }
            OutputFormat::Table => write::text(table(&divided, false))?,
            OutputFormat::Wide => write::text(table(&divided, true))?,
            OutputFormat::Name => {
                let paths = divided.items.iter().filter_map(|share| share.cgroup);
                write::names(paths.map(str::to_owned))?;
            }
        }
        if matches!(self.output, OutputFormat::Table | OutputFormat::Wide) {
            write::lines([values_line(values)])?;
        }
        tell(&divided.basis);
        Ok(code)
    }
}

/// Returns the values of the kernel.
fn kernel<'t>(gathered: &'t PlanInput, plan: &Plan<'_>) -> Result<Values<'t>, Failure> {
    const PLANNED: &str = "--planned divides by planned weights and quotas";
    let tree = gathered.cgroups().map_err(|failure| failure.hint(PLANNED))?;
    if !plan.settings.cgroups_per_qos {
        let none = anyhow!("pods have no cgroup of their own here (cgroupsPerQOS: false)");
        return Err(Failure::missing(none).hint(PLANNED));
    }
    let root = plan.roots.first().map(|root| CgroupPath::new(&root.path));
    match root.filter(|root| tree.value.get(root).is_none()) {
        None => Ok(Values::Kernel(tree)),
        Some(root) => {
            let none = anyhow!("there is no cgroup {}", root.as_str());
            Err(Failure::missing(none).hint(PLANNED))
        }
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
