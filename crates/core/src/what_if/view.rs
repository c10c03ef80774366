//! The table of `kq what-if`.

use super::change::ChangeKind;
use super::{ChangeList, PodOutcome, PodResult, ValueChange, WhatIf, Written};
use kq_answer::{Finding, finding_view};
use kq_output::doc::Doc;
use kq_output::screen::Tone;
use kq_output::table::{Column, Rows, Table, listed, or_dash};
use std::fmt;

impl fmt::Display for PodResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Refused => "refused",
            Self::Preempted => "preempted",
            Self::Evicted => "evicted",
            Self::Deleted => "deleted",
            Self::Terminated => "terminated",
            Self::Ends => "ends",
            Self::Restarts => "restarts",
            Self::Waits => "waits",
            Self::Starts => "starts",
            Self::Kept => "kept",
        })
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::AtStart => "at start",
            Self::PerhapsAtStart => "perhaps at start",
            Self::WithinAMinute => "within 1m",
            Self::AtResize => "at resize",
            Self::WithReconcile => "with the CPU manager",
            Self::AtContainerStart => "next container start",
            Self::WithPod => "new pod only",
        })
    }
}

/// Returns when a value is written, with the time that it may take where a setting decides.
fn written(change: &ValueChange) -> String {
    change.within.map_or_else(|| change.written.to_string(), |within| format!("within {within}"))
}

/// Returns the regressions, then the values that change; one line has the findings that any restart of the kubelet has.
pub fn table_but_for(answer: &WhatIf, at_any_restart: &[Finding]) -> Doc {
    let own = answer.items.iter().filter(|it| !at_any_restart.contains(it));
    let mut doc = finding_view::folded(&own.cloned().collect::<Vec<_>>());
    let mut rules: Vec<&str> = at_any_restart.iter().map(|it| it.id.as_str()).collect();
    rules.dedup();
    if !rules.is_empty() {
        doc.line(format!("also at any restart: {} (-v)", rules.join(", ")));
    }
    sections(answer, doc, false)
}

/// Returns the same with every pod and with reasons.
pub fn wide(answer: &WhatIf) -> Doc {
    sections(answer, finding_view::wide(&answer.items).into(), true)
}

fn sections(answer: &WhatIf, mut doc: Doc, is_wide: bool) -> Doc {
    if is_wide && !answer.pods.is_empty() {
        doc.add_apart(pods(&answer.pods));
    }
    if !answer.values.is_empty() {
        doc.add_apart(values(&answer.values, is_wide));
    }
    doc
}

fn pods(pods: &[PodOutcome]) -> Table {
    let columns: [Column<&PodOutcome>; 5] = [
        Column::name("POD", |it| it.pod.clone()),
        Column::state(
            "RESULT",
            |it| {
                let all = [it.result].into_iter().chain(it.or_else.iter().copied());
                all.map(|result| result.to_string()).collect::<Vec<_>>().join(" or ")
            },
            |it| (it.result == PodResult::Refused).then_some(Tone::Bad),
        ),
        Column::new("CONTAINERS", |it| listed(&it.containers, ",")),
        Column::text("REASON", |it| or_dash(it.reason.as_ref())),
        Column::text("MESSAGE", |it| or_dash(it.message.as_ref().or(it.depends_on.as_ref()))),
    ];
    Rows::of(&pods.iter().collect::<Vec<_>>()).wide(true).table(&columns)
}

/// The most values of the narrow table; the wide one has all.
const SHOWN: usize = 12;

fn values(values: &[ValueChange], is_wide: bool) -> Doc {
    let shown = if is_wide { values.len() } else { SHOWN };
    let rows: Vec<&ValueChange> = values.iter().take(shown).collect();
    let columns: [Column<&ValueChange>; 6] = [
        Column::narrow(Column::name("CGROUP", |it| match (&it.pod, &it.container) {
            (Some(pod), Some(container)) => format!("{pod} {container}"),
            (Some(pod), None) => pod.clone(),
            (None, _) => it.cgroup.clone(),
        })),
        Column::wide(Column::name("CGROUP", |it| it.cgroup.clone())),
        Column::name("FILE", |it| it.file.clone()),
        Column::new("BEFORE", |it| or_dash(it.before.as_ref())),
        Column::new("AFTER", |it| match &it.between {
            Some([one, other]) => format!("{one} to {other} (open)"),
            None => or_dash(it.after.as_ref()),
        }),
        Column::new("WRITTEN", |it| written(it)),
    ];
    let mut doc = Doc::from(Rows::of(&rows).wide(is_wide).table(&columns));
    if values.len() > shown {
        doc.line(format!("{} more values (-o wide)", values.len() - shown));
    }
    doc
}

/// Returns the steps before the change as a shell script; a step without a command is a comment.
pub fn script(answer: &WhatIf) -> String {
    let mut text = String::from("#!/bin/sh\n");
    for change in &answer.changes {
        text.push_str(&format!("# before: {}\n", one_line(change)));
    }
    text.push_str("set -eu\n");
    for step in &answer.steps {
        text.push_str(&format!("\n# {}\n", one_line(&step.text)));
        if let Some(command) = &step.command {
            text.push_str(command);
            text.push('\n');
        }
    }
    if answer.steps.is_empty() {
        text.push_str("\n# nothing to do\n");
    }
    text
}

/// Keeps foreign text inside its comment.
fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// Returns the accepted changes, each with an example.
pub fn changes_table(list: &ChangeList) -> Table {
    let columns: [Column<&ChangeKind>; 3] = [
        Column::new("CHANGE", |kind| match kind.arguments {
            "" => kind.word.to_owned(),
            arguments => format!("{} {arguments}", kind.word),
        }),
        Column::text("ABOUT", |kind| kind.about.to_owned()),
        Column::new("EXAMPLE", |kind| format!("kq what-if {}", kind.example)),
    ];
    Rows::of(&list.items.iter().collect::<Vec<_>>()).wide(false).table(&columns)
}

impl WhatIf {
    /// Returns how many pods end so.
    pub fn count(&self, result: PodResult) -> usize {
        self.pods.iter().filter(|pod| pod.result == result).count()
    }
}
