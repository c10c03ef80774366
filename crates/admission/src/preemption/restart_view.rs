//! The pods that are admitted again when the kubelet restarts, as tables.

use super::restart::{ComparedAnew, PodReadmission, ReadmissionResult, Readmitted, Taker};
use crate::shown;
use kq_k8s::pod::ResourceName;
use kq_output::doc::Doc;
use kq_output::screen::Tone;
use kq_output::table::{Column, Rows, Table, listed, or_dash};
use kq_output::units::and_more;
use std::iter;

/// Shows who is taken in again.
pub fn table(answer: &PodReadmission) -> Doc {
    if answer.start_error.is_none() {
        return items(answer).into();
    }
    let mut doc = Doc::headed(&answer.headline().with(&answer.basis).text);
    doc.add_apart(items(answer));
    doc
}

fn items(answer: &PodReadmission) -> Table {
    let rows: Vec<(usize, &Readmitted)> = answer.items.iter().enumerate().collect();
    // A pipe gets no sentence above the table.
    let result = if answer.start_error.is_some() { "IF IT STARTS" } else { "RESULT" };
    Rows::of(&rows).table(&[
        Column::new("PLACE", |(at, _)| (at + 1).to_string()),
        Column::name("POD", |(_, it)| it.pod.clone()),
        Column::text("SOURCE", |(_, it)| if it.is_static { "static" } else { "api" }.to_owned()),
        Column::new("CREATED", |(_, it)| or_dash(it.created_at)),
        Column::state(result, |(_, it)| results(it), |(_, it)| Some(tone(it))),
        Column::text("BECAUSE", |(_, it)| {
            or_dash(Some(it.reasons().join("; ")).filter(|it| !it.is_empty()))
        }),
    ])
}

fn word(result: ReadmissionResult) -> &'static str {
    match result {
        ReadmissionResult::Admitted => "admitted",
        ReadmissionResult::Refused => "REFUSED",
        ReadmissionResult::Killed => "KILLED",
    }
}

fn results(it: &Readmitted) -> String {
    let others = it.otherwise.iter().flat_map(|other| &other.results);
    let own = match &it.stopped {
        Some(stopped) if it.result == ReadmissionResult::Admitted => match stopped.start_again {
            true => "RESTARTS",
            false => "ENDS",
        },
        _ => word(it.result),
    };
    let all: Vec<&str> = iter::once(own).chain(others.map(|it| word(*it))).collect();
    all.join(" or ")
}

fn tone(it: &Readmitted) -> Tone {
    match () {
        () if it.stays() => Tone::Good,
        () if it.ends() => Tone::Bad,
        () => Tone::Doubtful,
    }
}

/// Shows what was compared at each turn, and who has what is missing, as well.
pub fn wide(answer: &PodReadmission) -> Doc {
    let mut rows: Vec<(usize, &Readmitted, &ComparedAnew)> = Vec::new();
    for (at, it) in answer.items.iter().enumerate() {
        rows.extend(it.compared.iter().map(|compared| (at, it, compared)));
    }
    let compared = Rows::of(&rows).table(&[
        Column::new("PLACE", |(at, ..)| (at + 1).to_string()),
        Column::name("POD", |(_, it, _)| it.pod.clone()),
        Column::new("RESOURCE", |(_, _, it)| it.resource.clone()),
        Column::new("ALLOCATABLE", |(_, _, it)| of(it, it.allocatable)),
        Column::new("USED", |(_, _, it)| of(it, it.used)),
        Column::new("FREE", |(_, _, it)| of(it, it.free)),
        Column::new("REQUESTED", |(_, _, it)| of(it, it.requested)),
        Column::new("MISSING", |(_, _, it)| or_dash((it.missing != 0).then(|| of(it, it.missing)))),
        Column::text("TAKEN BY", |(_, _, it)| takers(it)),
    ]);
    let mut doc = table(answer);
    doc.add_apart(compared);
    doc
}

fn of(compared: &ComparedAnew, amount: i64) -> String {
    shown(&ResourceName::from(&*compared.resource), amount)
}

fn takers(line: &ComparedAnew) -> String {
    let named = |it: &Taker| format!("{} {}", it.pod, of(line, it.amount));
    listed(line.taken_by.iter().map(named), ", ") + &and_more(line.more_takers)
}
