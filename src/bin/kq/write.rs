//! Writes answers in their output format.

use crate::exit::Failure;
use crate::output_format::{Exchange, OutputFormat};
use anyhow::{Error, anyhow};
use kq::answer::{Answer, Document};
use kq::k8s::nearest::nearest;
use kq::output::metrics::Metrics;
use kq::output::order;
use kq::output::screen::Screen;
use kq::output::terminal::{plain, show};
use kq::output::value::{to_value, write_json, write_yaml};
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};

/// Writes an answer in a structured form.
pub fn answer<A: Answer>(output: OutputFormat, answer: &A) -> Result<(), Failure> {
    if output == OutputFormat::Exchange(Exchange::Metrics) {
        check_unordered()?;
        let mut metrics = Metrics::default();
        answer.metrics(&mut metrics);
        return to_stdout(|out| writeln!(out, "{metrics}"));
    }
    value(output, &Document::of(answer))
}

/// Writes a value in a structured form.
pub fn value<T: Serialize>(output: OutputFormat, value: &T) -> Result<(), Failure> {
    // Templates are of the JSON of an answer, whose numbers and names are those of its schema.
    let json = || to_value(value).map_err(Failure::missing);
    if !matches!(output, OutputFormat::CustomColumns(_)) {
        check_unordered()?;
    }
    match output {
        OutputFormat::JsonPath(template) => {
            let text = template.text(&json()?);
            to_stdout(|out| show(out, text))
        }
        OutputFormat::CustomColumns(columns) => text(columns.table(&json()?)),
        OutputFormat::Yaml => to_stdout(|out| write_yaml(out, value)),
        _ => to_stdout(|out| write_json(out, value)),
    }
}

/// Writes a value as one line of JSON.
pub fn line<T: Serialize>(value: &T) -> Result<(), Failure> {
    let line = kq::output::value::json_line(value).map_err(Failure::missing)?;
    to_stdout(|out| out.write_all(&line).and_then(|()| out.write_all(b"\n")))
}

/// Writes a text of lines.
pub fn text(text: impl Display) -> Result<(), Failure> {
    if order::is_set() {
        // The tables say which columns they have before anything is written.
        let text = text.to_string();
        check_order()?;
        return to_stdout(|out| Screen::of_answers().show(out, text));
    }
    to_stdout(|out| Screen::of_answers().show(out, text))
}

/// Writes the names of rows.
pub fn names(names: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    check_unordered()?;
    lines(names)
}

/// Refuses an order by a column that no table of the answer has.
fn check_order() -> Result<(), Failure> {
    let Some((column, others)) = order::unknown_column() else { return Ok(()) };
    let failure = Failure::usage(anyhow!("--sort-by {column}: the answer has no such column"));
    Err(match (nearest(column, others.iter().map(String::as_str)), others.is_empty()) {
        (_, true) => failure.hint("the rows of this answer have an order of their own"),
        (Some(near), _) => failure.hint(format!("did you mean {near}?")),
        (None, _) => failure.hint(format!("the columns are {}", others.join(", "))),
    })
}

/// Refuses an order for what is no table.
fn check_unordered() -> Result<(), Failure> {
    match order::is_set() {
        true => {
            Err(Failure::usage(anyhow!("--sort-by orders tables, and this output is not a table"))
                .hint("-o custom-columns=SPEC is a table of values of the JSON answer"))
        }
        false => Ok(()),
    }
}

/// Writes lines; a text from outside cannot add one, or play with the terminal.
pub fn lines(lines: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    let mut lines = lines.into_iter();
    let screen = Screen::of_answers();
    to_stdout(|out| lines.try_for_each(|line| writeln!(out, "{}", screen.line(&line))))
}

/// Writes lines as [`lines`] does, but as they are: no terminal wraps them at words.
pub fn verbatim(lines: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    check_unordered()?;
    let mut lines = lines.into_iter();
    to_stdout(|out| lines.try_for_each(|line| writeln!(out, "{}", plain(line))))
}

/// Clears a terminal, so that what comes next is all there is; elsewhere answers follow each other.
pub fn new_screen() -> Result<(), Failure> {
    match io::stdout().is_terminal() {
        true => to_stdout(|out| out.write_all(b"\x1b[H\x1b[2J")),
        false => Ok(()),
    }
}

/// Writes a page, which has no character that a terminal would obey.
pub fn page(page: &str) -> Result<(), Failure> {
    to_stdout(|out| out.write_all(page.as_bytes()))
}

fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    let written = write(&mut out).and_then(|()| out.flush());
    written.map_err(|error| Failure::missing(Error::from(error).context("standard output")))
}
