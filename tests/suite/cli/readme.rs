//! The sessions of the README and of docs/examples.md are real: every command that they show with an answer
//! gives that answer.

use super::{kq, repository};

#[test]
fn every_session_of_the_readme_is_real() {
    assert!(sessions("README.md") >= 9);
}

#[test]
fn every_session_of_the_examples_is_real() {
    assert!(sessions("docs/examples.md") >= 12);
}

/// Runs the sessions of a file; returns how many there are.
#[track_caller]
fn sessions(file: &str) -> usize {
    let text = std::fs::read_to_string(repository().join(file)).expect("the file is there");
    let mut sessions = 0;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("    $ kq ") else { continue };
        let mut command = command.to_owned();
        while let Some(begun) = command.strip_suffix('\\') {
            let rest = lines.next().expect("a command goes on in the next line");
            command = format!("{begun}{}", rest.trim());
        }
        let is_answer = |line: &&str| line.starts_with("    ");
        let shown: Vec<&str> =
            std::iter::from_fn(|| lines.next_if(is_answer)).map(|line| &line[4..]).collect();
        let ran = kq(&command).run();
        // Notes are cut short in the README.
        let notes = ["assumed: ", "default: ", "fix: "];
        let is_note = |line: &&&str| notes.iter().any(|note| line.starts_with(note));
        for note in shown.iter().filter(is_note) {
            let begun = note.strip_suffix(", ...").unwrap_or(note);
            assert!(ran.stderr.contains(begun), "kq {command}: {note}\n{}", ran.stderr);
        }
        let answer: Vec<&str> = shown.iter().filter(|line| !is_note(line)).copied().collect();
        assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), answer, "kq {command}");
        sessions += 1;
    }
    sessions
}
