//! Reading the command line, and what is said of one that cannot be read.

use crate::cli::Cli;
use crate::exit::{Code, lines, note};
use clap::Parser;
use kq::output::terminal::{brief, is_unsafe, plain};
use std::ffi::OsString;

/// Returns what the command line asks for. Help, and what is wrong with the command line, end the process.
pub fn parse() -> Cli {
    match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => refuse(&error),
    }
}

/// Says what is wrong, and ends the process.
///
/// A script passes names of other people on, and clap shows an argument as it is, with its line ends and what it does
/// to a terminal.
#[expect(clippy::disallowed_methods, reason = "there is nothing left to do, as in clap's own exit")]
fn refuse(error: &clap::Error) -> ! {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let shown: Vec<OsString> = typed.iter().map(shown).collect();
    if typed == shown {
        error.exit();
    }
    // Without clap's colours, and the sequences of an argument with them.
    let text = error.to_string();
    let is_one_line = |argument: &OsString| !argument.to_string_lossy().contains('\n');
    let is_safe = !text.contains(|c| c != '\n' && is_unsafe(c));
    if is_safe && typed.iter().all(is_one_line) && brief(&text) == text {
        lines(&text);
    } else {
        // The same mistake in a command line that can be shown.
        match Cli::try_parse_from(shown) {
            Err(same) if same.kind() == error.kind() => same.exit(),
            _ => note("error", &brief(text.trim_start_matches("error: "))),
        }
    }
    std::process::exit(Code::Usage as i32)
}

/// Returns an argument as it is shown.
fn shown(argument: &OsString) -> OsString {
    brief(&plain(argument.to_string_lossy().into_owned())).into_owned().into()
}
