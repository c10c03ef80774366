//! Small inputs from public reports, each with the command lines that were answered wrongly.
//!
//! Each folder of `tests/cases/` has `expect`: command lines, each with the exit code, texts that the output has (`+`), and
//! texts that it lacks (`-`). A line runs in the folder; `examples/` is the repository's.

use crate::cli::{kq, repository};
use std::path::Path;

#[test]
fn every_case_is_answered() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for folder in std::fs::read_dir(repository().join("tests/cases")).expect("the cases") {
        let folder = folder.expect("a case").path();
        let text = std::fs::read_to_string(folder.join("expect"))
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for asked in text.split("\n\n").filter(|asked| !asked.trim().is_empty()) {
            count += 1;
            wrong.extend(failures(&folder, asked));
        }
    }
    assert!(count > 35, "{count} command lines");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs a command line and returns what is not as expected.
fn failures(folder: &Path, asked: &str) -> Vec<String> {
    let mut lines = asked.lines();
    let line = lines.next().and_then(|line| line.strip_prefix("$ kq ")).expect("a command line");
    let examples = repository().join("examples");
    let line = line.replace(" examples/", &format!(" {}/", examples.display()));
    let ran = kq(&line).within(folder).run();
    // A sentence may be folded in a table.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = words(&format!("{}\n{}", ran.stdout, ran.stderr));
    let mut wrong = Vec::new();
    for expected in lines {
        let (kind, text) = expected.split_once(' ').expect("a kind and a text");
        let has = said.contains(&words(text));
        let is_met = match kind {
            "exit" => text.split(" or ").any(|code| code == ran.code.to_string()),
            "+" => has,
            "-" => !has,
            _ => panic!("{}: {expected}", folder.display()),
        };
        if !is_met {
            wrong.push(expected.to_owned());
        }
    }
    match wrong.is_empty() {
        true => Vec::new(),
        false => vec![format!(
            "{}: kq {line}\n  not met: {}\n  exit {}\n{}{}",
            folder.display(),
            wrong.join("\n           "),
            ran.code,
            ran.stdout,
            ran.stderr
        )],
    }
}
