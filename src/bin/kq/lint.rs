//! Shows the findings of lints, and returns their exit code.

use crate::exit::{Code, Failure, note, tell};
use crate::output_format::{Exchange, OutputFormat};
use crate::write;
use kq::answer::finding_export::{junit, sarif};
use kq::answer::finding_view::{advice, names, table, wide};
use kq::answer::{Answer, Finding};

/// What `-o name` prints of findings.
pub const NAMES: &str = "The subjects of the problems, such as pod/NAMESPACE/NAME or node";

/// Shows findings with their advice, and returns the exit code. `nothing` is said where there are none.
pub fn show<A: Answer>(
    output: OutputFormat,
    lint: &A,
    items: &[Finding],
    nothing: Option<String>,
) -> Result<Code, Failure> {
    match output {
        OutputFormat::Exchange(Exchange::Sarif) => {
            write::value(OutputFormat::Json, &sarif(items))?;
            return Ok(code(lint, items));
        }
        OutputFormat::Exchange(Exchange::Junit) => {
            write::verbatim(junit(A::KIND, items).lines().map(str::to_owned))?;
            return Ok(code(lint, items));
        }
        _ => {}
    }
    let is_table = output == OutputFormat::Table;
    let is_for_people = output.is_for_people();
    let has_text = is_for_people && output != OutputFormat::Name;
    match nothing.filter(|_| has_text && items.is_empty()) {
        Some(nothing) => write::lines([nothing])?,
        None => {
            output.write_or_names(lint, |_| table(items), |_| wide(items), |_| names(items))?;
        }
    }
    if is_for_people {
        tell(lint.basis());
    }
    if is_table {
        advice(items).iter().for_each(|advice| note("fix", advice));
    }
    Ok(code(lint, items))
}

fn code<A: Answer>(lint: &A, items: &[Finding]) -> Code {
    match items.iter().any(Finding::is_problem) {
        true => Code::No,
        false => Code::Answered.unless(!lint.basis().missing.is_empty()),
    }
}
