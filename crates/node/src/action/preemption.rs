//! Evicts the pods that the kubelet would kill for a critical pod, one after the other, until that pod fits.

use crate::admission::{AdmissionOptions, replan};
use crate::api_server;
use anyhow::anyhow;
use kq_admission::preemption::Trace;
use kq_admission::preemption::apply::{
    Action, Apply, ApplyResult, Check, CheckResult, Observation, PreemptionApply, Removal,
    RemovalOptions, Target, result_line,
};
use kq_answer::{Failure, Missing, MissingFact};
use kq_api::api_server::ApiServer;
use kq_core::question::admission::{Detail, PreemptionPlan, plan_removals};
use kq_facts::pod_selector::is_file;
use kq_facts::snapshot::Snapshot;
use kq_io::clock::steady;
use kq_io::interrupt::Interrupts;
use kq_k8s::pod::Pod;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Options of the evictions.
#[derive(Debug)]
pub struct Options {
    /// The pod to make room for, as NAMESPACE/NAME, or its file.
    pub subject: String,
    /// The node and its sources.
    pub admission: AdmissionOptions,
    /// The kubelet's order of the pods, as far as it is known.
    pub order: Vec<String>,
    /// The rounds kept in the plan.
    pub trace: Trace,
    /// The way in which the victims are removed.
    pub removal: RemovalOptions,
    /// Only plans, and queries the API server.
    pub dry_run: bool,
}

/// A plan and the API server's answers to it; nothing is changed yet.
pub struct Prepared {
    /// The plan, with the report of the steps.
    pub planned: PreemptionPlan,
    options: Options,
    pod: Pod,
    server: Option<ApiServer>,
}

/// Progress of the evictions.
#[derive(Debug)]
pub enum Event<'a> {
    /// The current step waits for this.
    Waiting(&'a str),
    /// The line of a victim whose step is done.
    Done(String),
}

/// Receives the progress of the evictions.
pub struct Observer<'a> {
    /// Called with the facts of each reading of the node.
    pub gathered: &'a dyn Fn(&Snapshot),
    /// Called for each event.
    pub event: &'a mut dyn FnMut(Event<'_>),
    /// Called for the first signal, by its name: the evictions end after the current step.
    pub first_signal: fn(&str),
    /// Called for each further signal. True if a request for a removal was sent.
    pub next_signal: fn(bool),
}

impl Options {
    /// Rejects evictions for facts that are not those of the live node.
    ///
    /// # Errors
    ///
    /// Fails unless this is a dry run.
    pub fn refuse_files(&self) -> Result<(), Failure> {
        let Self { subject, admission, dry_run, .. } = self;
        let refused = match admission.stored() {
            _ if *dry_run => return Ok(()),
            None if admission.priority.is_some() && !is_file(subject) => {
                anyhow!("--priority: {subject} has its own; only its real priority can be applied")
            }
            None => return Ok(()),
            Some("--snapshot") => anyhow!("a snapshot cannot be changed"),
            Some("--without") => {
                anyhow!("--without: an assumption cannot be applied")
            }
            Some(flag) => anyhow!("{flag}: pods in a file cannot be evicted"),
        };
        Err(Failure::usage(refused).hint("--dry-run shows the plan"))
    }

    /// Reads the node, plans, and queries the API server for each victim.
    ///
    /// # Errors
    ///
    /// Fails without the facts of a plan. Without a connection to the API server, only a dry run does not fail.
    pub fn prepare(self, gathered: impl FnOnce(&Snapshot)) -> Result<Prepared, Failure> {
        let (about, pod) = self.admission.gather(&self.subject, gathered)?;
        let detail = Detail { trace: self.trace, ledger: false };
        let mut planned = plan_removals(&about, &pod, &self.order, detail, &self.removal)?;
        planned.report.dry_run = self.dry_run;
        let mut server = None;
        if planned.report.result == ApplyResult::Planned && self.admission.stored().is_none() {
            match api_server(&self.admission.node, &about.node.snapshot) {
                Ok(found) => {
                    check(&found, &mut planned);
                    server = Some(found);
                }
                Err(failure) if self.dry_run => {
                    let reason = failure.reason();
                    let text =
                        format!("the API server's answer to the plan: {reason} (--kubeconfig)");
                    planned.report.basis.lack(Missing::new(MissingFact::EvictionCheck, text));
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(Prepared { planned, options: self, pod, server })
    }
}

/// Sends a dry run for each victim, unless kq rejects one of them anyway.
fn check(server: &ApiServer, planned: &mut PreemptionPlan) {
    let PreemptionPlan { victims, report, .. } = planned;
    if report.steps.iter().any(|step| step.check != Check::NOT_QUERIED) {
        return;
    }
    for ((target, _), step) in victims.iter().zip(&mut report.steps) {
        step.check = Check::of(&server.remove_pod(target, report.method, true));
        if step.check.result == CheckResult::NoAnswer {
            // Each of the others would wait for its timeout.
            break;
        }
    }
}

impl Prepared {
    /// Returns the report: of the plan, and of the evictions once they are executed.
    pub fn report(&self) -> &PreemptionApply {
        &self.planned.report
    }

    /// Returns true if there is nothing to execute, or if it must not be executed; the report has the result.
    pub fn conclude(&mut self) -> bool {
        let (report, dry_run) = (&mut self.planned.report, self.options.dry_run);
        if report.result != ApplyResult::Planned {
            return true;
        }
        let is_unknown = !dry_run && !report.basis.missing.is_empty();
        let objection = report.objection(!self.options.removal.budget_timeout.is_zero());
        let refusal =
            objection.or_else(|| is_unknown.then(|| "required data is missing".to_owned()));
        if let Some(because) = refusal {
            report.because = because;
            report.result = ApplyResult::Refused;
            return true;
        }
        dry_run
    }

    /// Returns the question to confirm.
    pub fn question(&self) -> String {
        let PreemptionApply { method, steps, node, pod, .. } = self.report();
        let verb = match method {
            Removal::Deletion => "Delete",
            Removal::Eviction => "Evict",
        };
        let pods = match steps.len() {
            1 => "1 pod".to_owned(),
            count => format!("{count} pods"),
        };
        format!("{verb} {pods} from {node} so that {pod} fits?")
    }

    /// Evicts the victims. Reads the node again before each, and puts each result into the report.
    ///
    /// # Errors
    ///
    /// Fails before the first step, without an API server or if signals cannot be caught.
    pub fn execute(&mut self, observer: &mut Observer<'_>) -> Result<(), Failure> {
        let Some(server) = &self.server else {
            let refused = anyhow!("there is no API server, so nothing is changed");
            return Err(Failure::refused(refused).hint("name a kubeconfig with --kubeconfig"));
        };
        let is_sent = Arc::new(AtomicBool::new(false));
        let (sent, next_signal) = (Arc::clone(&is_sent), observer.next_signal);
        let interrupts = Interrupts::watch(observer.first_signal, move || {
            next_signal(sent.load(Ordering::SeqCst));
        })
        .map_err(|error| Failure::refused(anyhow!("signals cannot be caught: {error}")))?;
        let Options { admission, subject, removal, .. } = &self.options;
        let targets: Vec<Target> =
            self.planned.victims.iter().map(|(target, _)| target.clone()).collect();
        let report = &mut self.planned.report;
        let (begun, how) = (steady(), report.method);
        let mut apply = Apply::new(targets, *removal);
        loop {
            let observed = match (interrupts.caught(), apply.next_action()) {
                (_, Action::End) => return Ok(()),
                (Some(signal), _) => Observation::Interrupted(signal),
                (None, Action::Refresh) => {
                    let targets = apply.targets();
                    let fresh = replan(admission, subject, &self.pod, targets, observer.gathered);
                    Observation::Refreshed(fresh)
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
            apply.handle(observed, begun.elapsed());
            if let Some(what) = apply.waits() {
                (observer.event)(Event::Waiting(&what));
            }
            let news = apply.news();
            report.record(&apply);
            for at in news {
                (observer.event)(Event::Done(result_line(at, &report.steps, how)));
            }
        }
    }
}
