//! `kq cgroup plan`

use super::plan_args::{PlanArgs, code, write_problems};
use crate::exit::{Code, Failure, note, tell};
use crate::output_format::{OutputFormat, formats_with};
use crate::write;
use anyhow::anyhow;
use kq_cgroup::report::CgroupPlan;
use kq_cgroup::view;
use std::mem::ManuallyDrop;

/// Show every cgroup value that pods get on a node, with its arithmetic
///
/// kq changes nothing. Without FILE, and without flags that describe a node, the
/// answer is about the pods of this node. For FILE, kq queries no node without
/// --live: the node comes from flags and from the kubelet's configuration. An
/// omitted field takes the kubelet's default for its version, and the answer
/// lists it as assumed. With --live, kq first queries this node for omitted
/// fields.
///
/// Examples:
///
///   kq cgroup plan pod.yaml
///   kq cgroup plan pod.yaml -o wide --capacity cpu=3,memory=8Gi
///   kq cgroup plan pod.yaml --cgroup-driver systemd
///   kq cgroup plan pod.yaml --cgroup-version 1,2
///   kubectl get pods -A -o json | kq cgroup plan - --node-file n1.json
///   kq cgroup plan ./pod.yaml --live
///   kq cgroup plan
///
///   $ kq cgroup plan examples/web.yaml --capacity cpu=3,memory=8Gi,pid=32768
///   CGROUP              QOS          CPU.WEIGHT   CPU.MAX        MEMORY.MAX   ...
///   kubepods                         118          -              8Gi
///   ├─ burstable        Burstable    10           -              -
///   │  └─ default/web   Burstable    10           50000 100000   128Mi
///   │     └─ web                     35           50000 100000   128Mi
///   └─ besteffort       BestEffort   1            -              -
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    question: PlanArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The paths of the cgroups"))]
    output: OutputFormat,
}

impl Args {
    /// Gathers, plans and shows.
    pub fn run(mut self) -> Result<Code, Failure> {
        if let Some(versions) = self.question.versions() {
            return self.both(versions);
        }
        // The process ends here, so freeing the memory of a large node would waste time.
        let gathered = ManuallyDrop::new(self.question.gather()?);
        let (plan, basis) = gathered.answer()?;
        let plan = ManuallyDrop::new(plan);
        let code = code(&gathered).unless(gathered.is_of_node() && !basis.is_complete());
        match self.output {
            OutputFormat::Table => write::doc(view::table(&plan))?,
            OutputFormat::Wide => write::doc(view::wide(&plan))?,
            OutputFormat::Name => write::verbatim(view::names(&plan))?,
            structured => {
                write::answer(structured, &CgroupPlan::new(&plan, basis))?;
                write_problems(&gathered);
                return Ok(code);
            }
        }
        tell(&basis);
        if let Some(line) = gathered.allocatable_line() {
            note("allocatable", &line);
        }
        Ok(code)
    }

    /// Shows the values under both versions of cgroups.
    fn both(&self, [mut old, mut new]: [PlanArgs; 2]) -> Result<Code, Failure> {
        if self.output != OutputFormat::Table {
            return Err(Failure::usage(anyhow!("both versions are shown as a table only"))
                .hint("for other formats, ask for one after the other"));
        }
        let (old, new) = (old.gather()?, new.gather()?);
        let ((of_old, _), (of_new, basis)) = (old.answer()?, new.answer()?);
        write::doc(view::both(&of_old, &of_new))?;
        tell(&basis);
        let is_missing = new.is_of_node() && !basis.is_complete();
        Ok(code(&old).unless(!new.is_complete() || is_missing))
    }
}
