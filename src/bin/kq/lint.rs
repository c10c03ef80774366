//! What the lints have in common: how their findings are shown, and how they end.

use crate::exit::{Code, Failure, note, tell};
use crate::output_format::OutputFormat;
use crate::write;
use kq::answer::finding_view::{advice, table, wide};
use kq::answer::{Answer, Finding};

/// Shows findings with their advice, and returns the exit code. `nothing` is said where there are none.
pub fn show<A: Answer>(
    output: OutputFormat,
    lint: &A,
    items: &[Finding],
    nothing: Option<String>,
) -> Result<Code, Failure> {
    let is_table = output == OutputFormat::Table;
    let is_for_people = output.is_for_people();
    match nothing.filter(|_| is_for_people && items.is_empty()) {
        Some(nothing) => write::lines([nothing])?,
        None => output.write(lint, |_| table(items), |_| wide(items))?,
    }
    if is_for_people {
        tell(lint.basis());
    }
    if is_table {
        advice(items).iter().for_each(|advice| note("fix", advice));
    }
    Ok(match items.iter().any(Finding::is_problem) {
        true => Code::No,
        false => Code::Answered.unless(!lint.basis().missing.is_empty()),
    })
}
