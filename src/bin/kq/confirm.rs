//! The confirmation of a change.

use crate::exit::Failure;
use anyhow::anyhow;
use kq::output::terminal::plain;
use std::io::{BufRead, IsTerminal, Write};

/// Asks for confirmation on the terminal.
///
/// # Errors
///
/// Refuses without a terminal, and where the answer is no.
pub fn ask(question: &str) -> Result<(), Failure> {
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
