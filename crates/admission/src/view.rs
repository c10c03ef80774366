//! Renders whether a pod is admitted.

use super::derivation::{shown, written};
use super::report::{
    Check, CheckResult, Compared, LedgerAmount, LedgerLine, PodAdmission, Removed,
};
use kq_output::doc::Doc;
use kq_output::screen::Tone;
use kq_output::table::{Column, Rows, Table, or_dash};
use kq_output::units::Precision;

const CHECKS: &[Column<Check>] = &[
    Column::new("CHECK", |it| it.check.name().to_owned()),
    Column::state("RESULT", |it| result(it.result).0.to_owned(), |it| Some(result(it.result).1)),
    Column::text("BECAUSE", |it| it.because.to_string()),
];

fn result(result: CheckResult) -> (&'static str, Tone) {
    match result {
        CheckResult::Pass => ("pass", Tone::Good),
        CheckResult::Fail => ("FAIL", Tone::Bad),
        CheckResult::Skipped => ("-", Tone::Nothing),
        CheckResult::Unknown => ("unknown", Tone::Doubtful),
    }
}

/// How amounts are written, and the amounts of a resource.
type Sum<'a> = (Precision, &'a Compared);

/// Returns the columns of the compared amounts.
fn compared<'a>() -> [Column<Sum<'a>>; 8] {
    [
        Column::new("RESOURCE", |(_, it)| it.resource.to_string()),
        Column::new("CAPACITY", |sum| or_dash(sum.1.capacity.map(|amount| part(sum, amount)))),
        Column::new("RESERVED", |sum| or_dash(sum.1.reserved.map(|amount| part(sum, amount)))),
        Column::new("ALLOCATABLE", |sum| part(sum, sum.1.allocatable)),
        Column::new("USED", |sum| part(sum, sum.1.used)),
        Column::new("FREE", |sum| part(sum, sum.1.free)),
        Column::new("REQUESTED", |sum| part(sum, sum.1.requested)),
        Column::new("MISSING", |sum| {
            or_dash((sum.1.missing != 0).then(|| part(sum, sum.1.missing)))
        }),
    ]
}

const REQUESTED: &[Column<Compared>] = &[
    Column::new("RESOURCE", |it| it.resource.to_string()),
    Column::new("REQUESTED", |it| shown(&it.resource, it.requested)),
    Column::text("HOW", |it| it.because.to_string()),
];

const REMOVED: &[Column<Removed>] = &[
    Column::name("CONTAINER", |it| it.container.clone()),
    Column::new("DOES NOT COUNT", |it| it.resource.to_string()),
    Column::text("BECAUSE", |it| it.because.to_string()),
];

fn part((amounts, sum): &Sum<'_>, amount: i64) -> String {
    written(&sum.resource, amount, *amounts)
}

/// Returns the verdict, the checks, and the compared amounts.
pub fn table(answer: &PodAdmission) -> Doc {
    sums(answer, Precision::Short)
}

fn sums(answer: &PodAdmission, amounts: Precision) -> Doc {
    let explanation = &answer.explanation;
    let mut doc = verdict(answer);
    doc.add_apart(Rows::of(&explanation.checks).table(CHECKS));
    if !explanation.resources.is_empty() {
        let rows: Vec<Sum<'_>> = explanation.resources.iter().map(|sum| (amounts, sum)).collect();
        doc.add_apart(Rows::of(&rows).table(&compared()));
    }
    doc
}

/// Returns the kubelet's verdict, with its refusals where there are several.
pub fn verdict(answer: &PodAdmission) -> Doc {
    let mut doc = Doc::headed(&answer.headline().with(&answer.basis).text);
    if let several @ [_, _, ..] = answer.explanation.refusals.as_slice() {
        doc.extend(several.iter().map(|it| format!("  {}: {}", it.reason, it.message)));
    }
    doc
}

/// Returns the same with the ledger behind the sums.
pub fn wide(answer: &PodAdmission) -> Doc {
    let explanation = &answer.explanation;
    let mut doc = sums(answer, Precision::Exact);
    doc.blank();
    doc.line(explanation.pod.clone());
    doc.add(Rows::of(&explanation.resources).table(REQUESTED));
    if !explanation.removed_requests.is_empty() {
        doc.add_apart(Rows::of(&explanation.removed_requests).table(REMOVED));
    }
    if !explanation.ledger.is_empty() {
        doc.add_apart(ledger(&explanation.ledger));
    }
    doc
}

fn ledger(lines: &[LedgerLine]) -> Table {
    let mut rows: Vec<(&LedgerLine, Option<&LedgerAmount>)> = Vec::new();
    for line in lines {
        let is_asked =
            |it: &&LedgerAmount| line.counts && it.amount != 0 && it.resource.as_str() != "pods";
        let before = rows.len();
        rows.extend(line.amounts.iter().filter(is_asked).map(|it| (line, Some(it))));
        if rows.len() == before {
            rows.push((line, None));
        }
    }
    Rows::of(&rows).table(&[
        Column::name("POD", |(line, _)| line.pod.clone()),
        Column::new("PHASE", |(line, _)| {
            or_dash(Some(&line.phase).filter(|phase| !phase.is_empty()))
        }),
        Column::new("COUNTS", |(line, _)| if line.counts { "yes" } else { "no" }.to_owned()),
        Column::new("RESOURCE", |(_, it)| or_dash(it.map(|it| &it.resource))),
        Column::new("AMOUNT", |(_, it)| or_dash(it.map(|it| shown(&it.resource, it.amount)))),
        Column::text("HOW", |(line, it)| match it {
            Some(it) => it.because.to_string(),
            None if line.counts => "no compared resource".to_owned(),
            None => line.why.to_string(),
        }),
    ])
}
