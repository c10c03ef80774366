//! What ended, refused, killed, throttled or delayed a pod: the answers of all domains about it.

use super::doctor::PodReport;
use super::preemption::PreemptionCause;
use crate::explain::{MessageExplanation, explain_message};
use kq_admission::preemption::why::{Cause, view};
use kq_answer::{
    Basis, Failure, Finding, Headline, Missing, MissingFact, Severity, Warning, WarningCode,
    answer, finding_view,
};
use kq_output::doc::Doc;
use schemars::JsonSchema;
use serde::Serialize;

/// `kq why`
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodWhy {
    /// The pod, as NAMESPACE/NAME.
    pub pod: String,
    /// What ended it or its containers; null: nothing is left that says so.
    pub end: Option<PreemptionCause>,
    /// What the kubelet says of it in the pod's status, or in the event that decides; null: nothing that kq explains.
    pub said: Option<PodMessage>,
    /// The findings about it on its node, the worst first.
    pub findings: Vec<Finding>,
    /// What the answer rests on.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("PodWhy", PodWhy; PodWhy::headline);

/// The message of a pod's status, explained. `kq explain` has the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodMessage {
    /// The message.
    pub message: String,
    /// What it says, with its numbers, in one sentence.
    pub summary: String,
    /// What an operator does.
    #[serde(rename = "do")]
    pub action: String,
}

impl PodMessage {
    fn of(message: &str) -> Option<Self> {
        let explained = explain_message(message).ok().filter(|it| it.is_explained)?;
        let MessageExplanation { message, summary, action, .. } = explained;
        Some(Self { message, summary, action })
    }

    /// Returns what is said of an end: in the status of the pod, or in the event that decides where the pod is gone.
    fn of_end(end: &PreemptionCause) -> Option<Self> {
        let of_event = || {
            let because = end.because.evidence();
            let decides = end.evidence.iter().rev().find(|it| Some(&*it.means) == because)?;
            Self::of(&decides.says)
        };
        Self::of(&end.status_message).or_else(of_event)
    }
}

impl PodWhy {
    /// Puts together what is left of a pod, and what its node says of it.
    ///
    /// # Errors
    ///
    /// Fails where neither is known.
    pub fn of(
        end: Result<PreemptionCause, Failure>,
        report: Result<PodReport, Failure>,
    ) -> Result<Self, Failure> {
        let unknown = |what: &str, failure: &Failure| {
            Missing::new(MissingFact::Pods, format!("{what}: {}", failure.reason()))
        };
        let (end, report, missing) = match (end, report) {
            // The node may know a pod of a similar name.
            (Err(failure), Err(of_node)) => {
                return Err(of_node
                    .hints()
                    .iter()
                    .rev()
                    .cloned()
                    .fold(failure, Failure::hint_first));
            }
            (Ok(end), Ok(report)) => (Some(end), Some(report), None),
            (Ok(end), Err(failure)) => {
                (Some(end), None, Some(unknown("what its node says of the pod", &failure)))
            }
            (Err(failure), Ok(report)) => {
                (None, Some(report), Some(unknown("what ended the pod", &failure)))
            }
        };
        let mut basis = Basis::default();
        for of in [end.as_ref().map(|it| &it.basis), report.as_ref().map(|it| &it.basis)] {
            let Some(of) = of else { continue };
            basis.facts.extend(of.facts.clone());
            basis.assume_all(of.assumptions.clone());
            basis.warn_all(of.warnings.clone());
            basis.lack_all(of.missing.clone());
        }
        basis.lack_all(missing);
        let names = [end.as_ref().map(|it| &it.pod), report.as_ref().map(|it| &it.pod)];
        let pod = names.into_iter().flatten().next().cloned().unwrap_or_default();
        let mut findings = report.map(|it| it.findings).unwrap_or_default();
        // This is the answer that they point to.
        let points_here = |command: &mut String| command.starts_with("kq why ");
        findings.iter_mut().for_each(|it| drop(it.command.take_if(points_here)));
        let said = end.as_ref().and_then(PodMessage::of_end);
        Ok(Self { pod, end, said, findings, basis })
    }

    /// Returns what happened to it, where something did.
    fn happened(&self) -> Option<&PreemptionCause> {
        let is_known =
            |it: &&PreemptionCause| !matches!(it.cause, Cause::NotKilled | Cause::Unknown);
        self.end.as_ref().filter(is_known)
    }

    /// Returns true if something explains the trouble of the pod. A fact that is unknown does not.
    pub fn explains(&self) -> bool {
        let explains = |it: &Finding| it.is_problem() && it.severity != Severity::Unknown;
        self.happened().is_some() || self.findings.iter().any(explains)
    }

    /// Returns true if something that would decide is unknown.
    pub fn is_incomplete(&self) -> bool {
        let is_unknown = |it: &Finding| it.severity == Severity::Unknown;
        !self.basis.missing.is_empty() || self.findings.iter().any(is_unknown)
    }

    fn headline(&self) -> Headline {
        let pod = &self.pod;
        if let Some(end) = self.happened() {
            let is_former = |it: &Warning| it.code == WarningCode::OtherUid;
            let whose = match end.basis.warnings.iter().any(is_former) {
                true => "the one before it, of the same name: ",
                false => "",
            };
            let what = format!("{pod}: {whose}{} ({})", end.what_happened(), end.certainty);
            let text = match &self.said {
                Some(said) => format!("{what}. {}", said.summary.trim_end_matches('.')),
                None => what,
            };
            return Headline::of(&end.cause, text);
        }
        let found = Headline::of_findings(&self.findings);
        let is_about = self.findings.iter().any(Finding::is_problem);
        match (is_about, self.end.as_ref().map(|it| it.cause)) {
            (true, _) => Headline { text: format!("{pod}: {}", found.text), ..found },
            (false, Some(Cause::NotKilled)) => {
                let text = "nothing ended it, and no finding on its node is about it";
                Headline::good("nothing", format!("{pod}: {text}"))
            }
            (false, _) => Headline::new("unknown", format!("{pod}: what happened is not known")),
        }
    }
}

/// Shows what happened, the findings, and the evidence.
///
/// `flags`: those with which a command is about the same node.
pub fn table(answer: &PodWhy, flags: &str) -> Doc {
    shown(answer, false, flags)
}

/// Shows the UIDs as well, and all of each finding.
pub fn wide(answer: &PodWhy, flags: &str) -> Doc {
    shown(answer, true, flags)
}

fn shown(answer: &PodWhy, is_wide: bool, flags: &str) -> Doc {
    let mut doc = Doc::headed(&answer.headline().with(&answer.basis).text);
    if let Some(end) = answer.happened() {
        doc.add(view::reasons(end, is_wide, flags));
        doc.extend(answer.said.iter().map(|said| format!("do: {}", said.action)));
    }
    if !answer.findings.is_empty() {
        doc.add_apart(match is_wide {
            true => finding_view::wide(&answer.findings).into(),
            false => finding_view::folded(&answer.findings),
        });
    }
    if let Some(end) = answer.end.as_ref().filter(|it| !it.evidence.is_empty()) {
        doc.add_apart(view::evidence(end));
    }
    doc
}
