//! Writes answers in their output format, asks for confirmation, and knows the properties of standard output and standard
//! error, read once before anything is written.

use crate::captured;
use crate::cli::Cli;
use crate::exit::{Code, Failure, note, tell};
use crate::output_format::{Exchange, OutputFormat};
use anstream::{AutoStream, ColorChoice};
use anyhow::{Error, anyhow};
use clap::ValueEnum;
use kq_answer::finding_export::{junit, sarif};
use kq_answer::finding_view::{advice, listed, names as finding_names, wide};
use kq_answer::{Answer, Document, FailureKind, Finding};
use kq_k8s::nearest::nearest;
use kq_output::doc::{Doc, Layout};
use kq_output::metrics::Metrics;
use kq_output::order::{Order, UnknownColumn};
use kq_output::screen::Screen;
use kq_output::terminal::plain;
use kq_output::value::{to_value, write_json, write_yaml};
use serde::Serialize;
use std::io::{self, BufRead, BufWriter, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

/// Writes an answer in a structured form. Where the form has no place for the facts that the answer lacks, they are notes.
pub fn answer<A: Answer>(output: OutputFormat, answer: &A) -> Result<(), Failure> {
    if !output.has_basis() {
        answer.basis().missing.iter().for_each(|it| note("missing", &it.to_string()));
    }
    if output == OutputFormat::Exchange(Exchange::Metrics) {
        check_unordered()?;
        let mut metrics = Metrics::default();
        answer.metrics(&mut metrics);
        let missing = answer.basis().missing.len();
        let missing = i32::try_from(missing).unwrap_or(i32::MAX);
        metrics.gauge(
            "kq_missing_facts",
            "Facts that the answer lacks; 0 where it is complete",
            [(Vec::new(), Some(missing))],
        );
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
            to_stdout(|out| out.write_all(text.as_bytes()))
        }
        OutputFormat::CustomColumns(columns) => doc(columns.table(&json()?)),
        OutputFormat::Yaml => to_stdout(|out| write_yaml(out, value)),
        _ => to_stdout(|out| write_json(out, value)),
    }
}

/// Returns the end of a command that changes things where its plan could not be shown: a plan that was not seen is not applied,
/// and a closed pipe is no answer.
pub fn shown_plan(shown: Result<(), Failure>, dry_run: bool) -> Result<(), Failure> {
    shown.map_err(|failure| match dry_run || failure.kind() == FailureKind::Usage {
        true => failure,
        false => Failure::refused(anyhow!(
            "the plan could not be shown, so nothing was changed: {}",
            failure.reason()
        )),
    })
}

/// Says that the answer about a change could not be written. The exit code stays that of the change.
pub fn told(written: Result<(), Failure>) {
    if let Err(failure) = written {
        note("warning", &format!("the answer could not be written: {}", failure.reason()));
    }
}

/// Writes a value as one line of JSON.
pub fn line<T: Serialize>(value: &T) -> Result<(), Failure> {
    let line = kq_output::value::json_line(value).map_err(Failure::missing)?;
    to_stdout(|out| out.write_all(&line).and_then(|()| out.write_all(b"\n")))
}

/// Writes a line of JSON that is escaped already.
pub fn escaped_line(line: &[u8]) -> Result<(), Failure> {
    to_stdout(|out| out.write_all(line).and_then(|()| out.write_all(b"\n")))
}

/// Writes the document of an answer: on a terminal below the answer in one sentence.
pub fn answered<A: Answer>(answer: &A, doc: impl Into<Doc>) -> Result<(), Failure> {
    let headline = answer.sentence().filter(|_| style().0.screen.width.is_some());
    match headline {
        Some(headline) => self::doc(doc.into().under(&headline.text)),
        None => self::doc(doc),
    }
}

/// Writes a document, its tables in the order that was asked for.
pub fn doc(doc: impl Into<Doc>) -> Result<(), Failure> {
    let mut doc = doc.into();
    let (layout, order) = style();
    if let Some(order) = order {
        doc.sort(&order).map_err(no_such_column)?;
    }
    to_stdout(|out| doc.write(out, layout))
}

/// Refuses an order by a column that no table of the answer has.
fn no_such_column(UnknownColumn { column, others }: UnknownColumn) -> Failure {
    let failure = Failure::usage(anyhow!("--sort-by {column}: the answer has no such column"));
    match (nearest(&column, others.iter().map(String::as_str)), others.is_empty()) {
        (_, true) => failure.hint("the rows of this answer have an order of their own"),
        (Some(near), _) => failure.hint(format!("did you mean {near}?")),
        (None, _) => failure.hint(format!("the columns are {}", others.join(", "))),
    }
}

/// Refuses an order for what is no table.
fn check_unordered() -> Result<(), Failure> {
    match style().1.is_some() {
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
    let screen = style().0.screen;
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
    let mut out = BufWriter::with_capacity(64 * 1024, captured::Output);
    let written = write(&mut out).and_then(|()| out.flush());
    written.map_err(|error| Failure::missing(Error::from(error).context("standard output")))
}

/// Asks for confirmation on the terminal.
/// Refuses without a terminal, and where the answer is no.
pub fn confirm(question: &str) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::refused(anyhow!(
            "nothing was changed: confirmation needs a terminal"
        ))
        .hint("--dry-run shows the plan; --yes applies it without a question"));
    }
    let mut stderr = std::io::stderr();
    let asked =
        write!(stderr, "{} [y/N] ", plain(question.to_owned())).and_then(|()| stderr.flush());
    let mut answer = String::new();
    let read = asked.and_then(|()| std::io::stdin().lock().read_line(&mut answer));
    if !answer.ends_with('\n') {
        // The input ended, and what follows is to have a line of its own.
        let _ = writeln!(stderr);
    }
    match (read, answer.trim().to_ascii_lowercase().as_str()) {
        (Ok(_), "y" | "yes") => Ok(()),
        _ => Err(Failure::refused(anyhow!("nothing was changed"))),
    }
}

/// What `-o name` prints of findings.
pub const FINDING_NAMES: &str = "The subjects of the problems, such as pod/NAMESPACE/NAME or node";

/// Shows findings with their advice, and returns the exit code. `nothing` is said where there are none; `flags`: those with
/// which a command is about the same node.
pub fn findings<A: Answer>(
    output: OutputFormat,
    lint: &A,
    items: &[Finding],
    nothing: Option<String>,
    flags: &str,
) -> Result<Code, Failure> {
    match output {
        OutputFormat::Exchange(Exchange::Sarif) => {
            let code = code_of(lint, items);
            value(OutputFormat::Json, &sarif(items, lint.basis(), code as u8))?;
            return Ok(code);
        }
        OutputFormat::Exchange(Exchange::Junit) => {
            verbatim(junit(A::KIND, items, lint.basis()).lines().map(str::to_owned))?;
            return Ok(code_of(lint, items));
        }
        _ => {}
    }
    let is_table = output == OutputFormat::Table;
    let is_for_people = output.is_for_people();
    let has_text = is_for_people && output != OutputFormat::Name;
    match nothing.filter(|_| has_text && items.is_empty()) {
        Some(nothing) => lines([nothing])?,
        None => {
            output.write_or_names(
                lint,
                |_| listed(items),
                |_| wide(items),
                |_| finding_names(items),
            )?;
        }
    }
    if is_for_people {
        tell(lint.basis());
    }
    if is_table {
        fixes(items, flags);
    }
    Ok(code_of(lint, items))
}

/// Writes how to mend what was found, unless each finding stands above with its own advice.
pub fn fixes(items: &[Finding], flags: &str) {
    let (layout, order) = style();
    if layout.screen.width.is_none() || order.is_some() {
        advice(&with_flags(items, flags)).iter().for_each(|advice| note("fix", advice));
    }
}

/// Returns findings for a terminal, where their commands are pasted: they ask about the same node.
pub fn about_node(items: &[Finding], flags: &str) -> Vec<Finding> {
    match style().0.screen.width {
        Some(_) => with_flags(items, flags),
        None => items.to_vec(),
    }
}

/// Returns findings whose commands have the flags with which they are about the same node. A command that asks the machine it
/// runs on is left out where another node is meant.
fn with_flags(items: &[Finding], flags: &str) -> Vec<Finding> {
    let mut items = items.to_vec();
    // A snapshot cannot be changed.
    let is_about_node = |command: &str| {
        command.starts_with("kq ") && !command.contains("--snapshot") && !command.contains(" apply")
    };
    let names = flags.split(' ').filter_map(|word| word.strip_prefix("--"));
    let names: Vec<&str> = names.collect();
    for finding in &mut items {
        finding.command = finding.command.take().and_then(|command| {
            match (is_about_node(&command), takes(&command, &names)) {
                (false, _) => Some(command),
                (true, true) => Some(command + flags),
                (true, false) => None,
            }
        });
    }
    items
}

/// Returns true if a command line of kq takes the flags.
fn takes(line: &str, flags: &[&str]) -> bool {
    let mut command = Cli::whole();
    for word in line.split(' ').skip(1) {
        let Some(inner) = command.find_subcommand(word) else { break };
        command = inner;
    }
    flags.iter().all(|flag| command.get_arguments().any(|it| it.get_long() == Some(*flag)))
}

fn code_of<A: Answer>(lint: &A, items: &[Finding]) -> Code {
    match items.iter().any(Finding::is_problem) {
        true => Code::No,
        false => Code::Answered.unless(!lint.basis().missing.is_empty()),
    }
}

/// How answers and notes are written.
struct Style {
    layout: Layout,
    order: Option<Order>,
    notes: Screen,
}

/// The style of the command under way, known once its command line is read.
static STYLE: Mutex<Option<Style>> = Mutex::new(None);

/// Returns how answers are written; as to a pipe before [`set_style`].
fn style() -> (Layout, Option<Order>) {
    let style = STYLE.lock().unwrap_or_else(PoisonError::into_inner);
    style.as_ref().map(|style| (style.layout, style.order.clone())).unwrap_or_default()
}

/// When words have colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// Asks the terminals, and the environment as `anstream` does: `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM`.
pub fn set_style(color: Color, hides_headings: bool, order: Option<Order>) {
    match color {
        Color::Auto => ColorChoice::Auto,
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    }
    .write_global();
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    let screen = Screen { width: width(&stdout), colour: has_colour() };
    let notes =
        Screen { width: width(&stderr), colour: AutoStream::choice(&stderr) != ColorChoice::Never };
    let layout = Layout { screen, hides_headings };
    *STYLE.lock().unwrap_or_else(PoisonError::into_inner) = Some(Style { layout, order, notes });
}

/// Returns true if standard output shows colours.
pub fn has_colour() -> bool {
    AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}

/// Returns standard error; no terminal before [`set_style`].
pub fn screen_of_notes() -> Screen {
    let style = STYLE.lock().unwrap_or_else(PoisonError::into_inner);
    style.as_ref().map(|style| style.notes).unwrap_or_default()
}

/// Returns the width of a terminal that knows it.
#[cfg(unix)]
fn width(stream: &(impl IsTerminal + rustix::fd::AsFd)) -> Option<u16> {
    let size = stream.is_terminal().then(|| rustix::termios::tcgetwinsize(stream).ok()).flatten();
    size.map(|size| size.ws_col).filter(|columns| *columns > 0)
}

/// The width of the console, which standard output and standard error share.
#[cfg(windows)]
fn width(stream: &impl IsTerminal) -> Option<u16> {
    let size = stream.is_terminal().then(|| crossterm::terminal::size().ok()).flatten();
    size.map(|(columns, _)| columns).filter(|columns| *columns > 0)
}
