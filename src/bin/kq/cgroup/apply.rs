//! `kq cgroup apply`

use super::change::{ChangeArgs, Files, act, conclude, values};
use super::comparison::{Compared, ComparisonArgs, code};
use crate::exit::{Code, Failure, note, tell, tell_all};
use crate::output_format::{OutputFormat, formats_with};
use crate::write;
use anyhow::anyhow;
use kq::answer::Basis;
use kq::cgroup::live::apply::{Caution, CgroupFiles, Rollback, apply, look_at_all};
use kq::cgroup::live::apply_report::{CgroupChange, steps_table};
use kq::cgroup::live::difference::is_incomplete;
use kq::cgroup::live::repair::{Ground, Repair, Step, repair};
use kq::edge::cgroup_files::KernelFiles;
use kq::edge::clock::now;
use kq::edge::replace::create;
use kq::facts::cgroup_file::CgroupFile;
use kq::output::value::write_json;
use std::path::{Path, PathBuf};

/// Write the planned values where the kernel differs
///
/// kq shows the steps, asks for confirmation, stores a rollback file, and
/// performs the steps one after the other: values to raise from the top of the
/// tree down, values to lower from the bottom up. kq reads each file again right
/// before and right after the write, and stops at the first failure.
///
/// kq creates and removes no cgroups, moves no processes, and never writes
/// outside the kubelet's cgroup root. The kubelet rewrites QoS classes and
/// kubepods once a minute, and pods when they change. The systemd cgroup driver
/// rewrites values at every daemon-reload.
///
/// Exit code 4: refused, nothing was written. 5: partially applied.
///
/// Examples:
///
///   kq cgroup apply --dry-run
///   kq cgroup apply default/web
///   kq cgroup apply --yes --rollback-file /root/before.json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    change: ChangeArgs,

    /// Where to store the rollback file (default: kq-rollback-TIME.json in the current directory)
    #[arg(long, value_name = "FILE")]
    rollback_file: Option<PathBuf>,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats_with("The paths of the cgroups"))]
    output: OutputFormat,

    #[command(flatten)]
    comparison: ComparisonArgs,
}

impl Args {
    /// Gathers, plans, shows, asks and acts.
    pub fn run(self) -> Result<Code, Failure> {
        tell_all();
        if self.comparison.sources.snapshot.is_some() && !self.change.dry_run {
            return Err(Failure::usage(anyhow!("a snapshot cannot be changed"))
                .hint("say --dry-run to see what would be done"));
        }
        let compared = self.comparison.gather(true)?;
        if let Some(problem) = compared.live.left_out.first() {
            let refused = anyhow!("not all pods could be read, so nothing is written: {problem}");
            return Err(Failure::refused(refused).hint("kq cgroup diff compares the others"));
        }
        let (found, basis) = compared.answer()?;
        let root = compared.root()?;
        let ground = Ground {
            version: compared.live.node.cgroup_version,
            root,
            allow_oom: self.change.allow_oom,
        };
        let plan = repair(&found, compared.live.tree()?, ground);
        self.carry_out(&compared, plan, basis, is_incomplete(&found))
    }

    fn carry_out(
        &self,
        compared: &Compared,
        plan: Repair,
        basis: Basis,
        is_incomplete: bool,
    ) -> Result<Code, Failure> {
        let structured = !self.output.is_for_people();
        let unchanged = |plan: &Repair, code| -> Result<Code, Failure> {
            if structured {
                let change = CgroupChange::new(plan, None, basis.clone());
                write::answer(self.output, &change)?;
            }
            Ok(code)
        };
        if !structured {
            self.show(&plan)?;
            tell(&basis);
        }
        let is_weight = |step: &Step| step.is(CgroupFile::CpuWeight) && step.writer == "runtime";
        if !plan.steps.is_empty()
            && let Err(refused) = compared.check_basis(plan.steps.iter().any(is_weight))
        {
            if !self.change.dry_run {
                return Err(refused);
            }
            note("refused", &refused.reason());
            return unchanged(&plan, Code::Refused);
        }
        let after = match plan.left.iter().any(|left| left.is_drift) {
            true => Code::No,
            false => code(compared).unless(is_incomplete),
        };
        if !plan.refusals.is_empty() {
            for refusal in &plan.refusals {
                note("refused", &refusal.to_string());
            }
            note("hint", "nothing was written; limits below what is in use need --allow-oom");
            return unchanged(&plan, Code::Refused);
        }
        if plan.steps.is_empty() || self.change.dry_run {
            return unchanged(&plan, if plan.steps.is_empty() { after } else { Code::Answered });
        }
        let tree = compared.live.tree()?;
        let host_root = Path::new(&compared.live.snapshot.host_root.path);
        let files = Files(KernelFiles::new(host_root, &tree.layout));
        let caution = Caution { allow_oom: self.change.allow_oom, rounding: compared.rounding() };
        check_all(&plan, &files, caution)?;
        self.change.ask(&format!("Write {}?", values(plan.steps.len())))?;
        let made_at = now();
        let rollback_file = self.rollback_path(&made_at);
        let rollback = Rollback::of(&plan.steps, made_at);
        let mut json = Vec::new();
        write_json(&mut json, &rollback)
            .map_err(|error| Failure::refused(anyhow!("the way back cannot be stored: {error}")))?;
        create(&rollback_file, &json).map_err(|error| {
            Failure::refused(error).hint("name another file with --rollback-file")
        })?;
        let rollback_file = rollback_file.display().to_string();
        note("rollback", &rollback_file);
        let outcome = act(&plan.steps, &files, caution, structured, apply);
        if structured {
            let mut change = CgroupChange::new(&plan, Some(&outcome), basis.clone());
            change.rollback_file = Some(rollback_file.clone());
            write::answer(self.output, &change)?;
        }
        Ok(match conclude(&outcome, plan.steps.len(), Some(&rollback_file)) {
            Code::Answered => after,
            code => code,
        })
    }

    fn show(&self, plan: &Repair) -> Result<(), Failure> {
        match plan.steps.is_empty() {
            _ if self.output == OutputFormat::Name => {
                let mut cgroups: Vec<_> = plan.steps.iter().map(|s| s.cgroup.clone()).collect();
                cgroups.dedup();
                write::lines(cgroups)?;
            }
            true => write::lines(["nothing to write".to_owned()])?,
            false => write::text(steps_table(&plan.steps))?,
        }
        for left in &plan.left {
            let place = match &left.file {
                Some(file) => format!("{}/{file}", left.cgroup),
                None => left.cgroup.clone(),
            };
            note("left", &format!("{place}: {}", left.reason));
        }
        Ok(())
    }

    fn rollback_path(&self, made_at: &str) -> PathBuf {
        let time = made_at.replace([':', '-'], "");
        self.rollback_file
            .clone()
            .unwrap_or_else(|| PathBuf::from(format!("kq-rollback-{time}.json")))
    }
}

/// Looks at every file before the first one is written.
///
/// # Errors
///
/// Refuses everything where one is not what the plan was made from, or cannot be reached safely.
fn check_all(plan: &Repair, files: &dyn CgroupFiles, caution: Caution) -> Result<(), Failure> {
    look_at_all(&plan.steps, files, caution).map_err(|(step, reason)| {
        let place = format!("{}/{}", step.cgroup, step.file);
        Failure::refused(anyhow!("{place}: {reason}")).hint("nothing was written; look again")
    })
}
