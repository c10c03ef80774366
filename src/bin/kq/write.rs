//! Writing an answer in the form that was asked for.

use crate::exit::Failure;
use crate::output_format::OutputFormat;
use anyhow::Error;
use kq::answer::{Answer, Document};
use kq::output::screen::Screen;
use kq::output::terminal::{plain, show};
use kq::output::value::{write_json, write_yaml};
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};

/// Writes an answer in a structured form.
pub fn answer<A: Answer>(output: OutputFormat, answer: &A) -> Result<(), Failure> {
    value(output, &Document::of(answer))
}

/// Writes a value in a structured form.
pub fn value<T: Serialize>(output: OutputFormat, value: &T) -> Result<(), Failure> {
    // Templates are of the JSON of an answer, whose numbers and names are those of its schema.
    let json = || serde_json::to_value(value).map_err(Failure::missing);
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
#[cfg(feature = "cri")]
pub fn line<T: Serialize>(value: &T) -> Result<(), Failure> {
    let line = kq::output::value::json_line(value).map_err(Failure::missing)?;
    to_stdout(|out| out.write_all(&line).and_then(|()| out.write_all(b"\n")))
}

/// Writes a text of lines.
pub fn text(text: impl Display) -> Result<(), Failure> {
    to_stdout(|out| Screen::of_answers().show(out, text))
}

/// Writes lines; a text from outside cannot add one, or play with the terminal.
pub fn lines(lines: impl IntoIterator<Item = String>) -> Result<(), Failure> {
    let mut lines = lines.into_iter();
    let screen = Screen::of_answers();
    to_stdout(|out| lines.try_for_each(|line| writeln!(out, "{}", screen.line(&line))))
}

/// Writes lines as [`lines`] does, but as they are: no terminal wraps them at words.
pub fn verbatim(lines: impl IntoIterator<Item = String>) -> Result<(), Failure> {
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

fn to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    let written = write(&mut out).and_then(|()| out.flush());
    written.map_err(|error| Failure::missing(Error::from(error).context("standard output")))
}
