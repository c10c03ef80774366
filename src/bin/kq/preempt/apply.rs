//! `kq preempt apply`

use crate::exit::{self, Code, Failure, note, tell, tell_all};
use crate::output_format::{OutputFormat, formats};
use crate::pod_args::AdmissionArgs;
use crate::progress::waiting;
use crate::source_args::GATHERING;
use crate::write;
use crate::write::confirm;
use anyhow::anyhow;
use kq_admission::preemption::apply::{
    ApplyResult, CheckResult, PreemptionApply, Removal, RemovalOptions, StepReport, table,
};
use kq_admission::preemption::{Trace, view};
use kq_core::question::admission::PreemptionPlan;
use kq_k8s::duration::GoDuration;
use kq_node::action::preemption::{Event, Observer, Options};
use std::time::Duration;

/// Evict the victims that explain shows, until the pod fits
///
/// kq shows the plan and the API server's answer to a dry run, asks for
/// confirmation, and evicts the victims one after the other, each with its own
/// grace period. It waits until each victim is gone. Before each eviction it
/// reads the node and plans again. It ends as soon as the pod fits, and stops if
/// a pod would be evicted that was not in the confirmed plan.
///
/// Evictions honour disruption budgets; the kubelet does not. --like-kubelet
/// instead deletes the victims without checking budgets, and continues with the
/// next victim if one does not stop in time. kq does not contact the kubelet: it
/// admits the pod once the scheduler or a manifest file supplies it.
///
/// With --kubeconfig and --node-name, the command works from any machine. If the
/// node is not this machine, kq queries only the API server.
///
/// Pods in files cannot be evicted: only --dry-run is available with --snapshot,
/// --pods and --node-file, --checkpoint and --pod-resources, --without, and
/// --priority for a pod of the node.
///
/// Exit code 0: the pod fits. 1: the kubelet would preempt no pod for it. 3:
/// required data is unavailable. 4: refused, nothing was changed. 5: partially
/// applied.
///
/// Examples:
///
///   kq preempt apply dns.yaml --dry-run
///   kq preempt apply dns.yaml
///   kq preempt apply kube-system/dns-abcde --yes --budget-timeout 5m
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ApplyArgs {
    /// The pod, or a manifest file; - reads standard input
    #[arg(value_name = "POD|FILE", required_unless_present = "filename")]
    pod: Option<String>,

    /// Show the plan and the API server's answer to it, without applying it
    #[arg(long)]
    dry_run: bool,

    /// Do not ask for confirmation
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,

    /// Delete the victims without checking disruption budgets, as the kubelet does
    #[arg(long, conflicts_with = "budget_timeout")]
    like_kubelet: bool,

    /// Time to wait for the disruption budgets of each victim; 0s does not wait
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_wait)]
    budget_timeout: Duration,

    /// Time to wait for each victim to end (default: as the kubelet, 1.5 times the grace period and at
    /// least 10s)
    #[arg(long, value_name = "DURATION", value_parser = parse_wait)]
    victim_timeout: Option<Duration>,

    /// The kubelet's order of the pods: NAMESPACE/NAME; other pods come after them (default: the order
    /// of their names)
    #[arg(long, value_name = "POD", value_delimiter = ',')]
    order: Vec<String>,

    #[command(flatten)]
    admission: AdmissionArgs,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,
}

impl ApplyArgs {
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        tell_all();
        let (output, dry_run, yes) = (self.output, self.dry_run, self.yes);
        let options = self.options()?;
        options.refuse_files()?;
        if !output.is_for_people() && !yes && !dry_run {
            return Err(Failure::usage(anyhow!("-o json and yaml show no plan to confirm"))
                .hint("--dry-run shows the plan, --yes applies it without confirmation"));
        }
        let sources = &self.admission.kubelet.sources;
        let mut prepared =
            waiting(GATHERING, || options.prepare(|snapshot| sources.show(snapshot)))?;
        write::shown_plan(show(output, &prepared.planned), dry_run)?;
        if prepared.conclude() {
            let code = code(prepared.report());
            return match end(output, prepared.report()) {
                // A refusal is one even if it cannot be written.
                Err(failure) if code != Code::Refused => Err(failure),
                _ => Ok(code),
            };
        }
        if !yes {
            confirm(&prepared.question())?;
        }
        exit::changes_begin(None);
        prepared.execute(&mut Observer {
            gathered: &|snapshot| sources.show(snapshot),
            event: &mut |event| match event {
                Event::Waiting(what) => note("waiting", what),
                // The evictions go on if their progress cannot be shown.
                Event::Done(line) => {
                    exit::change_done(line.clone());
                    if output.is_for_people() {
                        drop(write::lines([line]));
                    }
                }
            },
            first_signal: end_soon,
            next_signal: give_up,
        })?;
        // The evictions are done even if the report cannot be written; the exit code is about the evictions.
        let _ = end(output, prepared.report());
        Ok(code(prepared.report()))
    }

    fn options(&self) -> Result<Options, Failure> {
        let named = &self.admission.named;
        Ok(Options {
            order: named.namespace.qualify_all(&self.order)?,
            subject: named.one(self.pod.as_deref())?.unwrap_or_default(),
            admission: self.admission.options()?,
            trace: if self.output == OutputFormat::Wide { Trace::Visits } else { Trace::Chosen },
            removal: RemovalOptions {
                how: if self.like_kubelet { Removal::Deletion } else { Removal::Eviction },
                goes_on: self.like_kubelet,
                budget_timeout: self.budget_timeout,
                victim_timeout: self.victim_timeout,
            },
            dry_run: self.dry_run,
        })
    }
}

/// Shows the plan to people.
fn show(output: OutputFormat, planned: &PreemptionPlan) -> Result<(), Failure> {
    let report = &planned.report;
    if !output.is_for_people() {
        return Ok(());
    }
    if planned.settled.is_some() && report.result == ApplyResult::NoVictims {
        write::lines([format!("{} on {}: {}", report.pod, report.node, report.because)])?;
        note("hint", "kq preempt explain shows the victims for a new pod like it");
        return Ok(());
    }
    let mut doc = match output {
        OutputFormat::Wide => view::rounds(&planned.answer),
        _ => view::table(&planned.answer),
    };
    if !report.steps.is_empty() {
        doc.add_apart(table(&report.steps));
    }
    write::doc(doc)?;
    tell(&report.basis);
    report.notes.iter().for_each(|text| note("note", text));
    Ok(())
}

fn code(report: &PreemptionApply) -> Code {
    match report.result {
        ApplyResult::Done => Code::Answered,
        ApplyResult::Stopped => Code::Stopped,
        ApplyResult::Refused => Code::Refused,
        _ if !report.basis.missing.is_empty() => Code::Missing,
        ApplyResult::NoVictims => Code::No,
        ApplyResult::Fits | ApplyResult::Planned => Code::Answered,
    }
}

/// Writes the result.
fn end(output: OutputFormat, report: &PreemptionApply) -> Result<(), Failure> {
    let PreemptionApply { pod, node, because, .. } = report;
    if !output.is_for_people() {
        write::answer(output, report)?;
    } else if report.result == ApplyResult::Done {
        write::lines([format!("{pod} fits on {node}: {}", report.counts())])?;
    }
    match report.result {
        ApplyResult::Stopped => {
            note("stopped", &format!("{because}; {}", report.counts()));
            note("hint", "evicted pods stay evicted; to go on, review and apply the new plan");
        }
        ApplyResult::Refused => {
            note("refused", &format!("{because}, so nothing was changed"));
            let is_budget = |step: &StepReport| step.check.result == CheckResult::Budget;
            if report.steps.iter().any(is_budget) {
                note("hint", "--budget-timeout waits for budgets; --like-kubelet ignores them");
            }
        }
        _ => {}
    }
    Ok(())
}

/// Announces the end at a first signal.
fn end_soon(signal: &str) {
    note("stopping", &format!("{signal}: after this step; a second signal ends kq at once"));
}

/// Ends the process at a second signal.
#[expect(clippy::disallowed_methods, reason = "this is the end")]
fn give_up(is_sent: bool) {
    let (code, what) = match is_sent {
        true => (Code::Stopped, "the results above are all that is known"),
        false => (Code::Refused, "nothing was changed"),
    };
    note("stopped", &format!("at once, by a second signal: {what}"));
    std::process::exit(code as i32)
}

/// Reads a time to wait, which may be zero.
fn parse_wait(text: &str) -> Result<Duration, String> {
    let duration: GoDuration = text.parse().map_err(|error| format!("{error}"))?;
    let nanoseconds = u64::try_from(duration.0);
    nanoseconds
        .map(Duration::from_nanos)
        .map_err(|_| "expected a duration that is not negative, such as 30s or 5m".to_owned())
}
