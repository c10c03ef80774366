//! `kq preempt apply`

use crate::admission_args::AdmissionArgs;
use crate::confirm::ask;
use crate::exit::{self, Code, Failure, note, tell, tell_all};
use crate::output_format::{OutputFormat, formats};
use crate::write;
use anyhow::anyhow;
use kq::edge::api_server::ApiServer;
use kq::edge::clock::steady;
use kq::edge::interrupt::Interrupts;
use kq::facts::pod_selector::is_file;
use kq::facts::snapshot::Snapshot;
use kq::k8s::duration::GoDuration;
use kq::k8s::pod::Pod;
use kq::node::api_server;
use kq::preemption::apply::{
    Action, Apply, ApplyResult, Check, CheckResult, Observation, PreemptionApply, Removal,
    RemovalOptions, StepReport, Target, result_line, table,
};
use kq::preemption::{Trace, view};
use kq::question::admission::{AdmissionOptions, Detail, PreemptionPlan, plan_removals, replan};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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

    /// The pod with its namespace, or the file.
    #[arg(skip)]
    subject: String,

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
    /// Gathers, plans, shows, asks and evicts.
    pub fn run(mut self) -> Result<Code, Failure> {
        tell_all();
        self.order = self.admission.named.namespace.qualify_all(&self.order)?;
        self.subject = self.admission.named.one(self.pod.as_deref())?.unwrap_or_default();
        let options = self.admission.options()?;
        self.refuse_files(&options)?;
        if !self.output.is_for_people() && !self.yes && !self.dry_run {
            return Err(Failure::usage(anyhow!("-o json and yaml show no plan before they ask"))
                .hint("say --dry-run to look, or --yes to do it"));
        }
        let (about, pod) = self.admission.gather(&self.subject)?;
        let trace = if self.output == OutputFormat::Wide { Trace::Visits } else { Trace::Chosen };
        let detail = Detail { trace, ledger: false };
        let mut planned =
            plan_removals(&about, &pod, &self.order, detail, &self.removal_options())?;
        planned.report.dry_run = self.dry_run;
        let mut report = planned.report.clone();
        let server = match report.result {
            ApplyResult::Planned if options.stored().is_none() => {
                let server = api_server(&options.node, &about.node.snapshot);
                self.check(server, &planned, &mut report)?
            }
            _ => None,
        };
        if let Err(failure) = self.show(&planned, &report) {
            // Nobody saw the plan, so it is not carried out; a closed pipe is no answer here.
            return match self.dry_run {
                true => Err(failure),
                false => Err(Failure::refused(anyhow!(
                    "the plan could not be shown, so nothing was changed: {}",
                    failure.reason()
                ))),
            };
        }
        if let Some(code) = self.settled(&mut report) {
            return match self.end(&report, code) {
                // A refusal is one, whether or not anybody reads why.
                Err(_) if code == Code::Refused => Ok(code),
                ended => ended,
            };
        }
        let Some(server) = server else {
            let refused = anyhow!("the API server could not be asked, so nothing is changed");
            return Err(Failure::refused(refused).hint("name a kubeconfig with --kubeconfig"));
        };
        if !self.yes {
            ask(&self.question(&report))?;
        }
        exit::changes_begin();
        let targets = planned.victims.into_iter().map(|(target, _)| target).collect();
        self.carry_out(&server, &options, &pod, targets, &mut report)?;
        let code = match report.result {
            ApplyResult::Stopped => Code::Stopped,
            ApplyResult::Refused => Code::Refused,
            _ => Code::Answered,
        };
        // What was done was done, whether or not anybody reads it; the exit code says how it went.
        self.end(&report, code).or(Ok(code))
    }

    /// Refuses to change what is in files.
    fn refuse_files(&self, options: &AdmissionOptions) -> Result<(), Failure> {
        let refused = match options.stored() {
            None if !self.dry_run && options.priority.is_some() && !is_file(&self.subject) => {
                anyhow!(
                    "--priority: {} has its own, and what is not so cannot be acted upon",
                    self.subject
                )
            }
            Some(flag) if !self.dry_run => match flag {
                "--snapshot" => anyhow!("a snapshot cannot be changed"),
                "--without" => anyhow!("--without: what is not so cannot be acted upon"),
                _ => anyhow!("{flag}: what is in a file cannot be changed"),
            },
            _ => return Ok(()),
        };
        Err(Failure::usage(refused).hint("say --dry-run to see what would be done"))
    }

    fn removal_options(&self) -> RemovalOptions {
        RemovalOptions {
            how: if self.like_kubelet { Removal::Deletion } else { Removal::Eviction },
            goes_on: self.like_kubelet,
            budget_timeout: self.budget_timeout,
            victim_timeout: self.victim_timeout,
        }
    }

    /// Asks the API server what it would say to each victim.
    ///
    /// # Errors
    ///
    /// Fails where there is no way to an API server, but not where nothing is to be changed.
    fn check(
        &self,
        server: Result<ApiServer, Failure>,
        planned: &PreemptionPlan,
        report: &mut PreemptionApply,
    ) -> Result<Option<ApiServer>, Failure> {
        let server = match server {
            Ok(server) => server,
            Err(failure) if self.dry_run => {
                let reason = failure.reason();
                let missing = format!("what the API server says to it: {reason} (--kubeconfig)");
                report.basis.lack(missing);
                return Ok(None);
            }
            Err(failure) => return Err(failure),
        };
        if report.steps.iter().all(|step| step.check == Check::NOT_ASKED) {
            for ((target, _), step) in planned.victims.iter().zip(&mut report.steps) {
                step.check = Check::of(&server.remove_pod(target, report.method, true));
                if step.check.result == CheckResult::NoAnswer {
                    // The others would be waited for in vain.
                    break;
                }
            }
        }
        Ok(Some(server))
    }

    fn show(&self, planned: &PreemptionPlan, report: &PreemptionApply) -> Result<(), Failure> {
        if !self.output.is_for_people() {
            return Ok(());
        }
        if planned.settled.is_some() && report.result == ApplyResult::Helpless {
            // What would be done for one that comes anew is another question.
            write::lines([format!("{} on {}: {}", report.pod, report.node, report.because)])?;
            note("hint", "kq preempt explain tells what would be done if it came anew");
            return Ok(());
        }
        match self.output {
            OutputFormat::Wide => write::text(view::rounds(&planned.answer))?,
            _ => write::text(view::table(&planned.answer))?,
        }
        if !report.steps.is_empty() {
            write::text(format!("\n{}", table(&report.steps)))?;
        }
        tell(&report.basis);
        report.notes.iter().for_each(|text| note("note", text));
        Ok(())
    }

    /// Returns how it ends where nothing is to be done, or must not be.
    fn settled(&self, report: &mut PreemptionApply) -> Option<Code> {
        let is_known = report.basis.missing.is_empty();
        match report.result {
            ApplyResult::Fits if is_known => return Some(Code::Answered),
            ApplyResult::Helpless if is_known => return Some(Code::No),
            ApplyResult::Planned => {}
            _ => return Some(Code::Missing),
        }
        if let Some(because) = report.objection(!self.budget_timeout.is_zero()) {
            report.because = because;
            report.result = ApplyResult::Refused;
            return Some(Code::Refused);
        }
        match (self.dry_run, is_known) {
            (true, true) => Some(Code::Answered),
            (true, false) => Some(Code::Missing),
            (false, true) => None,
            (false, false) => {
                report.because = "not all that counts is known".to_owned();
                report.result = ApplyResult::Refused;
                Some(Code::Refused)
            }
        }
    }

    fn question(&self, report: &PreemptionApply) -> String {
        let verb = if self.like_kubelet { "Delete" } else { "Evict" };
        let pods = match report.steps.len() {
            1 => "1 pod".to_owned(),
            count => format!("{count} pods"),
        };
        format!("{verb} {pods} from {} so that {} fits?", report.node, report.pod)
    }

    /// Does what the steps ask for, tells each result at once, and records it.
    fn carry_out(
        &self,
        server: &ApiServer,
        options: &AdmissionOptions,
        pod: &Pod,
        targets: Vec<Target>,
        report: &mut PreemptionApply,
    ) -> Result<(), Failure> {
        let is_sent = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_sent);
        let interrupts = Interrupts::watch(end_soon, move || give_up(seen.load(Ordering::SeqCst)))
            .map_err(|error| Failure::refused(anyhow!("signals cannot be watched: {error}")))?;
        let (begun, how) = (steady(), report.method);
        let mut apply = Apply::new(targets, self.removal_options());
        loop {
            let next = apply.next_action();
            let told = match (interrupts.caught(), next) {
                (_, Action::End) => return Ok(()),
                (Some(signal), _) => Observation::Interrupted(signal),
                (None, Action::Look) => {
                    let observe =
                        |snapshot: &Snapshot| self.admission.kubelet.sources.show(snapshot);
                    Observation::Refreshed(replan(
                        options,
                        &self.subject,
                        pod,
                        apply.targets(),
                        observe,
                    ))
                }
                (None, Action::Remove(at)) => {
                    is_sent.store(true, Ordering::SeqCst);
                    Observation::Answered(server.remove_pod(&apply.targets()[at], how, false))
                }
                (None, Action::Find(at)) => {
                    let found = server.find_pod(&apply.targets()[at]);
                    Observation::Found(found.map_err(|error| error.to_string()))
                }
                (None, Action::Pause(wait)) => {
                    interrupts.pause(wait);
                    Observation::Paused
                }
            };
            apply.handle(told, begun.elapsed());
            if let Some(what) = apply.waits() {
                note("waiting", &what);
            }
            let news = apply.news();
            report.record(&apply);
            if self.output.is_for_people() {
                // A reader that went away is no reason to leave things half done.
                let lines = news.into_iter().map(|at| result_line(at, &report.steps, how));
                let _ = write::lines(lines);
            }
        }
    }

    /// Says how it ended.
    fn end(&self, report: &PreemptionApply, code: Code) -> Result<Code, Failure> {
        let PreemptionApply { pod, node, because, .. } = report;
        if !self.output.is_for_people() {
            self.output.write(report, |_| "", |_| "")?;
        } else if report.result == ApplyResult::Done {
            write::lines([format!("{pod} fits on {node}: {}", report.counts())])?;
        }
        match report.result {
            ApplyResult::Stopped => {
                note("stopped", &format!("{because}; {}", report.counts()));
                note(
                    "hint",
                    "what was evicted stays so; to go on, look at the new plan and apply it",
                );
            }
            ApplyResult::Refused => {
                note("refused", &format!("{because}, so nothing was changed"));
                let is_budget = |step: &StepReport| step.check.result == CheckResult::Budget;
                if report.steps.iter().any(is_budget) {
                    note("hint", "--budget-timeout waits for budgets; --like-kubelet asks none");
                }
            }
            _ => {}
        }
        Ok(code)
    }
}

/// Says what a first signal does.
fn end_soon(signal: &str) {
    note("stopping", &format!("{signal}: after this step; a second one ends it at once"));
}

/// Ends at once, at a second signal: what was said so far is all.
#[expect(clippy::disallowed_methods, reason = "this is the end")]
fn give_up(is_sent: bool) {
    let (code, what) = match is_sent {
        true => (Code::Stopped, "what was said so far is all that is known"),
        false => (Code::Refused, "nothing was changed"),
    };
    note("stopped", &format!("at once, by a second signal: {what}"));
    std::process::exit(code as i32)
}

/// Reads how long to wait; nothing is allowed too.
fn parse_wait(text: &str) -> Result<Duration, String> {
    let duration: GoDuration = text.parse().map_err(|error| format!("{error}"))?;
    let nanoseconds = u64::try_from(duration.0);
    nanoseconds
        .map(Duration::from_nanos)
        .map_err(|_| "expected a duration that is not negative, such as 30s or 5m".to_owned())
}
