//! Exit codes, which are an interface, and messages, which name the way out.

use crate::{captured, progress, top, write};
pub use kq_answer::Failure;
use kq_answer::FailureKind;
use kq_answer::origin::Origin;
use kq_answer::{Assumption, Basis};
use kq_facts::limits;
use kq_io::{memory, watchdog};
use kq_output::screen::{Tone, wrapped};
use kq_output::terminal::{brief, plain, show};
use kq_output::units::counted;
use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The change that has begun; `None`: nothing was changed.
static CHANGES: Mutex<Option<Changes>> = Mutex::new(None);

/// A change, for the case that kq has to end in the middle of it.
#[derive(Default)]
struct Changes {
    /// The number of steps, if known.
    total: Option<usize>,
    /// The steps that are done, a line each.
    done: Vec<String>,
}

/// Notes are never shortened.
static IS_VERBOSE: AtomicBool = AtomicBool::new(false);

/// The exit codes. `docs/exit-codes.md` is their contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The question was answered, from all the facts that it needs.
    Answered = 0,
    /// The question was answered with "no": a difference, a failed check.
    No = 1,
    /// The command line, or a file that it names, cannot be understood; or it names something that the
    /// node does not have.
    Usage = 2,
    /// A fact is missing: there is no answer, or only a part of it.
    Missing = 3,
    /// Refused to change anything; nothing was written.
    Refused = 4,
    /// Stopped part-way through a change.
    Stopped = 5,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

impl Code {
    /// Returns this code, or [`Code::Missing`] where facts are missing that could turn "yes" into "no".
    pub fn unless(self, is_incomplete: bool) -> Self {
        match self {
            Self::Answered if is_incomplete => Self::Missing,
            code => code,
        }
    }

    /// Returns the code of answers of many nodes.
    pub fn of_nodes(worst: u8) -> Self {
        match worst {
            0 => Self::Answered,
            1 => Self::No,
            2 => Self::Usage,
            _ => Self::Missing,
        }
    }
}

impl From<FailureKind> for Code {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::No => Self::No,
            FailureKind::Usage => Self::Usage,
            FailureKind::Missing => Self::Missing,
            FailureKind::Refused => Self::Refused,
        }
    }
}

/// Returns true where the reader of standard output has gone, as `head` does.
pub fn is_closed_pipe(failure: &Failure) -> bool {
    let closed = failure.downcast_ref::<std::io::Error>();
    closed.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Writes the error, its causes and the hints, and returns the exit code. A closed pipe is not an error.
pub fn report(failure: &Failure) -> Code {
    if is_closed_pipe(failure) {
        return Code::Answered;
    }
    to_stderr("kq", &brief(&failure.reason()));
    for hint in failure.hints() {
        to_stderr("hint", hint);
    }
    Code::from(failure.kind())
}

/// Leaves the work to a child process where a read could outlast every signal, and returns its exit code.
pub fn supervised() -> Option<ExitCode> {
    #[cfg(target_os = "linux")]
    return kq_io::supervisor::run().map(ExitCode::from);
    #[cfg(not(target_os = "linux"))]
    None
}

/// Says with which code this process is about to end, to the one that waits for it: a thread may be held in the kernel.
pub fn ending(code: Code) -> Code {
    #[cfg(target_os = "linux")]
    kq_io::supervisor::ending(code as u8);
    code
}

/// Ends kq where what it reads takes more memory than it may. Where the kernel does not say how much that is, only
/// the limits of the readers hold.
pub fn watch_memory() {
    let over = |exceeded: &memory::Exceeded| {
        let memory::Exceeded { source, received, allowed } = exceeded;
        let allowed = allowed >> 20;
        let text = match source.as_str() {
            "" => format!("more than {allowed} MiB of memory are needed for this question"),
            _ => format!(
                "more than {allowed} MiB of memory are needed, mostly for {received} bytes from {source}"
            ),
        };
        end_at_once(&text, "check that source: no node has as much data; or narrow the question");
    };
    let _ = memory::watch(limits::memory_for, over);
}

/// Ends kq where a file of the node does not answer.
pub fn watch_reads() {
    watchdog::watch(|hung| {
        let watchdog::Hung { path, limit } = hung;
        let text = format!("{path}: no answer within {limit:?}");
        end_at_once(
            &text,
            "check the file system that it is on, and the process that it belongs to; --timeout sets \
             the limit, which is three times as long",
        );
    });
}

/// Ends the process, whatever it does on other threads.
#[expect(
    clippy::disallowed_methods,
    reason = "the process ends here, whatever it does on other threads"
)]
fn end_at_once(text: &str, hint: &str) {
    top::restore();
    captured::release();
    to_stderr("kq", &brief(text));
    let changes = CHANGES.lock().unwrap_or_else(PoisonError::into_inner);
    let code = match &*changes {
        None => {
            to_stderr("hint", hint);
            Code::Missing
        }
        Some(changes) => {
            changes.done.iter().for_each(|line| to_stderr("done", line));
            let done = changes.done.len();
            let text = match changes.total {
                Some(total) => {
                    format!("{done} of {total} steps done; the next one may be under way")
                }
                None => format!("{done} steps done; the next one may be under way"),
            };
            to_stderr("stopped", &text);
            to_stderr("hint", "applied partially: check the current state before the next step");
            Code::Stopped
        }
    };
    std::process::exit(ending(code) as i32);
}

/// Records that a change of a number of steps begins; `None`: the number is not known.
pub fn changes_begin(total: Option<usize>) {
    let mut changes = CHANGES.lock().unwrap_or_else(PoisonError::into_inner);
    changes.get_or_insert_default().total = total;
}

/// Records that a step of the change is done.
pub fn change_done(line: impl Into<String>) {
    let mut changes = CHANGES.lock().unwrap_or_else(PoisonError::into_inner);
    changes.get_or_insert_default().done.push(line.into());
}

/// Writes something that an operator should know.
pub fn note(kind: &str, text: &str) {
    to_stderr(kind, text);
}

/// Writes a text of kq's own lines.
pub fn lines(text: &str) {
    let _ = show(std::io::stderr(), text);
}

/// Writes a warning.
pub fn warn(text: &str) {
    note("warning", &brief(text));
}

/// Writes notes in full from here on: with `--verbose`, and before a change.
pub fn tell_all() {
    IS_VERBOSE.store(true, Ordering::Relaxed);
}

/// Writes the basis of an answer. At a terminal, two lines of assumptions stand for all; warnings and what is missing
/// are never shortened.
pub fn tell(basis: &Basis) {
    let is_short = write::screen_of_notes().width.is_some() && !IS_VERBOSE.load(Ordering::Relaxed);
    match is_short {
        true => tell_first(basis),
        false => tell_assumptions(basis),
    }
    basis.warnings.iter().for_each(|it| warn(&it.text));
    basis.missing.iter().for_each(|it| note("missing", &it.to_string()));
}

/// Writes the assumptions that kq made before those that it took from the kubelet's defaults, as far as two lines of a
/// small terminal go.
fn tell_first(basis: &Basis) {
    let is_default = |it: &&Assumption| it.origin.as_ref() == Some(&Origin::Default);
    let (defaults, own): (Vec<_>, Vec<_>) = basis.assumptions.iter().partition(is_default);
    let all: Vec<String> = own.iter().chain(&defaults).map(|it| it.to_string()).collect();
    if let Some(text) = shortened(&all) {
        note("assumed", &text);
    }
}

/// Joins the texts that two lines of a small terminal have place for; `None`: there is none.
fn shortened(all: &[String]) -> Option<String> {
    const WIDTH: usize = 80;
    const LINES: usize = 2;
    let with_rest = |shown: &[&str]| match all.len() - shown.len() {
        0 => shown.join("; "),
        rest if shown.is_empty() => format!("{} (-v shows all)", counted(rest, "fact")),
        rest => format!("{}; and {rest} more (-v shows all)", shown.join("; ")),
    };
    let fits = |shown: &[&str]| {
        let text = format!("assumed: {}", with_rest(shown));
        wrapped(&text, WIDTH, 2).len() <= LINES
    };
    let every: Vec<&str> = all.iter().map(String::as_str).collect();
    if fits(&every) {
        return (!every.is_empty()).then(|| with_rest(&every));
    }
    let mut shown: Vec<&str> = Vec::new();
    for text in every {
        shown.push(text);
        if !fits(&shown) {
            shown.pop();
        }
    }
    Some(with_rest(&shown))
}

fn tell_assumptions(basis: &Basis) {
    // Values of single facts share a line: first those that kq chose, then the kubelet's defaults.
    for (kind, origin) in [("assumed", Origin::Assumed), ("default", Origin::Default)] {
        let of_kind = basis.assumptions.iter().filter(|it| it.origin.as_ref() == Some(&origin));
        let texts: Vec<&str> = of_kind.map(|it| it.text.as_str()).collect();
        if !texts.is_empty() {
            note(kind, &texts.join(", "));
        }
    }
    let of_no_fact = basis.assumptions.iter().filter(|it| it.origin.is_none());
    of_no_fact.for_each(|it| note("assumed", &it.to_string()));
}

/// Writes one line to standard error; a line that is not read any more is not a failure.
///
/// Whatever is in the text, a name from a server or the words of another program, it stays in that line: what
/// follows a line end would pass for a hint or a warning of kq.
fn to_stderr(kind: &str, text: &str) {
    let screen = write::screen_of_notes();
    let tone = match kind {
        "kq" | "error" => Some(Tone::Bad),
        "warning" | "missing" => Some(Tone::Doubtful),
        "assumed" | "default" => Some(Tone::Nothing),
        _ => None,
    };
    let line = screen.line(&format!("{kind}: {}", plain(text.to_owned())));
    let line = match (tone, line.strip_prefix(kind)) {
        (Some(tone), Some(rest)) => tone.on(screen, kind) + rest,
        _ => line,
    };
    if captured::note(&line) {
        return;
    }
    // A terminal that is gone is no failure.
    let _ = progress::suspended(|| writeln!(std::io::stderr(), "{line}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lines_of_assumptions_stand_for_all() {
        let long = "a ".repeat(90);
        for (name, all, expected) in [
            ("none", Vec::new(), None),
            ("few", vec!["a", "b", "c", "d"], Some("a; b; c; d")),
            (
                "one that is too long",
                vec!["a", &long, "b"],
                Some("a; b; and 1 more (-v shows all)"),
            ),
            ("nothing fits", vec![&*long], Some("1 fact (-v shows all)")),
        ] {
            let all: Vec<String> = all.into_iter().map(str::to_owned).collect();
            assert_eq!(shortened(&all).as_deref(), expected, "{name}");
        }
    }
}
