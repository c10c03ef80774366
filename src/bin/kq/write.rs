//! Writing an answer in the form that was asked for.

use crate::exit::Failure;
use anyhow::Error;
use clap::ValueEnum;
use kq::answer::{Answer, Document};
use kq::output::terminal::{plain, show};
use kq::output::value::{write_json, write_yaml};
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};

/// The forms of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// Human-readable summary
    Table,
    /// Every value with its derivation
    Wide,
    /// The complete answer as JSON
    Json,
    /// The complete answer as YAML
    Yaml,
    /// Names only: paths of cgroups, IDs of images
    Name,
}

/// Writes an answer in a structured form.
pub fn answer<A: Answer>(output: Output, answer: &A) -> Result<(), Failure> {
    value(output, &Document::of(answer))
}

/// Writes a value in a structured form.
pub fn value<T: Serialize>(output: Output, value: &T) -> Result<(), Failure> {
    to_stdout(|out| match output {
        Output::Yaml => write_yaml(out, value),
        _ => write_json(out, value),
    })
}

/// Writes a value as one line of JSON.
#[cfg(feature = "cri")]
pub fn line<T: Serialize>(value: &T) -> Result<(), Failure> {
    let line = kq::output::value::json_line(value).map_err(Failure::missing)?;
    to_stdout(|out| out.write_all(&line).and_then(|()| out.write_all(b"\n")))
}

/// Writes a text of lines.
pub fn text(text: impl Display) -> Result<(), Failure> {
    to_stdout(|out| show(out, text))
}

/// Writes lines; a text from outside cannot add one, or play with the terminal.
pub fn lines(lines: impl IntoIterator<Item = String>) -> Result<(), Failure> {
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
