//! The end of a pod, as a table.

use super::report::{Evidence, PreemptionCause, Preemptor};
use kq_facts::timestamp::Timestamp;
use kq_output::doc::Doc;
use kq_output::table::{Column, Rows, Table, or_dash};
use kq_output::units::age;

/// Shows the evidence, and what follows from it. `flags`: those with which a command is about the same node.
pub fn table(answer: &PreemptionCause, flags: &str) -> Doc {
    shown(answer, false, flags)
}

/// Shows the UIDs as well.
pub fn wide(answer: &PreemptionCause, flags: &str) -> Doc {
    shown(answer, true, flags)
}

/// What others wrote comes last: it can be long, and nothing of it is cut.
fn shown(answer: &PreemptionCause, is_wide: bool, flags: &str) -> Doc {
    let mut doc = Doc::headed(&answer.headline().with(&answer.basis).text)
        .and(reasons(answer, is_wide, flags));
    if !answer.evidence.is_empty() {
        doc.add_apart(evidence(answer));
    }
    doc
}

/// Returns why it happened, for which pods, and what to ask next. `flags`: those with which a command is about the same node.
pub fn reasons(answer: &PreemptionCause, is_wide: bool, flags: &str) -> Doc {
    let mut doc = Doc::default();
    doc.extend(answer.uid.iter().filter(|_| is_wide).map(|uid| format!("uid: {uid}")));
    doc.line(format!("because: {}", answer.because));
    if answer.cause.is_preemption() {
        match answer.preemptors.as_slice() {
            [] => doc.line("for: not known"),
            some => doc.extend(some.iter().map(|it| of_preemptor(it, is_wide))),
        }
    }
    if let (Some(container), Some(probe)) = (&answer.container, answer.probe) {
        let pod = &answer.pod;
        doc.line(format!(
            "next: kq probe plan {pod} --container {container} --type {probe}{flags}"
        ));
    }
    doc
}

/// Returns what is left that says so, in the order of time.
pub fn evidence(answer: &PreemptionCause) -> Table {
    let rows: Vec<(Timestamp, &Evidence)> =
        answer.evidence.iter().map(|it| (answer.now, it)).collect();
    Rows::of(&rows).table(&[
        Column::new("EVIDENCE", |(_, it)| it.source.to_string()),
        Column::new("WHEN", |(_, it)| or_dash(it.at)),
        Column::new("AGE", |(now, it)| or_dash(it.at.map(|at| since(*now, at)))),
        Column::text("MEANS", |(_, it)| it.means.to_string()),
        Column::text("SAYS", |(_, it)| it.says.clone()),
    ])
}

fn of_preemptor(preemptor: &Preemptor, is_wide: bool) -> String {
    let Preemptor { pod, uid, priority, certainty, because } = preemptor;
    let mut notes = vec![certainty.to_string()];
    notes.extend(priority.map(|priority| format!("priority {priority}")));
    let uid_alone = uid.iter().map(|uid| format!("the pod with UID {uid}")).next();
    let name = pod.clone().or(uid_alone).unwrap_or_else(|| "a pod".to_owned());
    notes.extend(uid.iter().filter(|_| is_wide && pod.is_some()).map(|uid| format!("UID {uid}")));
    format!("for: {name} ({}): {because}", notes.join(", "))
}

fn since(now: Timestamp, at: Timestamp) -> String {
    match now.since(at) {
        nanoseconds if nanoseconds < 0 => format!("in {}", age(-nanoseconds)),
        nanoseconds => age(nanoseconds),
    }
}
