//! A hint names only what is there: each command that kq speaks of exists, and each flag is one of the command that it
//! is about. Outputs are those of every command about every recorded node; sentences are also read in the source.

use super::generate::visible_commands;
use super::{kq, repository};
use crate::source_files::rust_files;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The flags of each command and of each group of commands, by its words.
struct Flags(BTreeMap<String, BTreeSet<String>>);

impl Flags {
    fn read() -> Self {
        let commands = visible_commands();
        let groups = commands.iter().filter_map(|command| command.split_once(' ')).map(|it| it.0);
        let names: BTreeSet<&str> =
            commands.iter().map(String::as_str).chain(groups).chain([""]).collect();
        let flags = |name: &&str| {
            let help = kq(&format!("{name} --help")).run().stdout;
            let options = help.split_once("\nOptions:").map_or("", |(_, options)| options);
            let lines = options.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
            let found = lines.flat_map(mentioned).chain(["--help".into(), "--version".into()]);
            ((*name).to_owned(), found.collect())
        };
        Self(names.iter().map(flags).collect())
    }

    /// Returns the command that words begin with, the longest one; `None`: none of kq's.
    fn command<'f>(&'f self, words: &str) -> Option<&'f str> {
        let is_end =
            |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
        let begins = |name: &&String| words.strip_prefix(name.as_str()).is_some_and(is_end);
        let names = self.0.keys().filter(|name| !name.is_empty()).filter(begins);
        names.max_by_key(|name| name.len()).map(String::as_str)
    }

    fn has(&self, command: &str, flag: &str) -> bool {
        self.0[command].contains(flag)
    }
}

/// Returns the flags in a text.
fn mentioned(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("--") {
        let is_start =
            text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '-');
        let name: String = text[at + 2..]
            .chars()
            .take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-')
            .collect();
        if is_start && name.starts_with(|c: char| c.is_ascii_lowercase()) {
            found.push(format!("--{}", name.trim_end_matches('-')));
        }
    }
    found
}

/// Ends of a command line in a sentence.
const ENDS: [char; 9] = ['"', '`', ';', ',', ')', '\n', '|', '\'', ':'];

/// Other programs, whose flags are theirs.
const OTHERS: [&str; 8] = [
    "kubectl ",
    "journalctl ",
    "systemctl ",
    "crictl ",
    "ctr ",
    "zstd ",
    "build kq with ",
    "a kubelet with ",
];

/// Returns the errors in the text of a command; `None`: the command is unknown.
fn wrong(flags: &Flags, own: Option<&str>, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for sentence in text.split(['\n', ';', '"']) {
        // Commands that are named, and their flags up to the end of the line.
        let mut named = Vec::new();
        for (at, _) in sentence.match_indices("kq ") {
            let is_word =
                !sentence[..at].ends_with(|c: char| c.is_alphanumeric() || c == '/' || c == '.');
            let words = sentence[at + 3..].trim_start();
            let Some(command) = flags.command(words).filter(|_| is_word) else { continue };
            named.push(command);
            let is_group = flags.0.keys().any(|name| name.starts_with(&format!("{command} ")));
            let after = words[command.len()..].trim_start();
            let next: String = after.chars().take_while(char::is_ascii_lowercase).collect();
            let is_plain =
                next.is_empty() || ["and", "or", "is", "does", "to", "on"].contains(&&*next);
            if is_group && !is_plain {
                wrong.push(format!("kq {command} {next}: {sentence}"));
            }
            let line = words.split(ENDS).next().unwrap_or_default();
            let line =
                OTHERS.iter().fold(line, |line, other| line.split(other).next().unwrap_or(""));
            for flag in mentioned(line).into_iter().filter(|flag| !flags.has(command, flag)) {
                wrong.push(format!("kq {command} has no {flag}: {sentence}"));
            }
        }
        for flag in mentioned(sentence) {
            let at = sentence.find(&flag).unwrap_or_default();
            let is_others = OTHERS.iter().any(|other| sentence[..at].contains(other));
            let of_kubelet = sentence[at + flag.len()..].starts_with(" of the kubelet");
            let is_refused = sentence.contains(&format!("unexpected argument '{flag}'"));
            let of_named = named.iter().any(|command| flags.has(command, &flag));
            let of_own = match own {
                Some(own) => flags.has(own, &flag),
                None => flags.0.keys().any(|command| flags.has(command, &flag)),
            };
            if !(is_others || of_kubelet || is_refused || of_named || of_own) {
                wrong.push(format!("{} has no {flag}: {sentence}", own.unwrap_or("kq")));
            }
        }
    }
    wrong
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files(&path, ending, found),
            false if path.to_string_lossy().ends_with(ending) => found.push(path),
            false => {}
        }
    }
}

/// The answers of every command about every recorded node, as `matrix` compares them: those in JSON, whose texts are
/// whole, and all of standard error.
#[test]
fn answers_name_commands_and_flags_that_exist() {
    let flags = Flags::read();
    let mut goldens = Vec::new();
    files(&repository().join("tests"), ".txt", &mut goldens);
    goldens.retain(|path| path.parent().is_some_and(|folder| folder.ends_with("golden")));
    let mut found = BTreeSet::new();
    let mut read = 0;
    for path in goldens {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let stem = name.split('.').next().unwrap_or_default();
        let own = flags.0.keys().filter(|command| {
            let dashed = command.replace(' ', "-");
            !dashed.is_empty() && (stem == dashed || stem.starts_with(&format!("{dashed}-")))
        });
        let own = own.max_by_key(|command| command.len()).map(String::as_str);
        // The completion of a shell is a program.
        if own == Some("completion") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a golden file is text");
        let (answer, said) = text.split_once("--- stderr\n").unwrap_or((&text, ""));
        let said = said.rsplit_once("--- exit").map_or(said, |(said, _)| said);
        let answer = if name.ends_with(".json.txt") { answer } else { "" };
        read += usize::from(!answer.is_empty() || !said.is_empty());
        found.extend(wrong(&flags, own, answer).into_iter().chain(wrong(&flags, own, said)));
    }
    assert!(read > 400, "{read}");
    let found: Vec<String> = found.into_iter().collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The sentences in the source: a command line that they name is one that kq takes.
#[test]
fn sentences_name_commands_and_flags_that_exist() {
    let flags = Flags::read();
    let mut found = Vec::new();
    let mut read = 0;
    for (path, text) in rust_files() {
        // A text goes on in the next line after a backslash.
        let mut whole = String::new();
        for line in text.lines() {
            let line = line.trim();
            match line.strip_suffix('\\') {
                Some(begun) => whole.push_str(begun),
                None => {
                    whole.push_str(line);
                    whole.push('\n');
                }
            }
        }
        let texts = whole.lines().filter(|line| line.contains("kq ") && line.contains('"'));
        for line in texts.filter(|line| !line.starts_with("//")) {
            // Every other part is between quotes.
            for part in line.split('"').skip(1).step_by(2).filter(|part| part.contains("kq ")) {
                read += 1;
                let wrong = wrong(&flags, None, part);
                found.extend(wrong.into_iter().map(|it| format!("{path}: {it}")));
            }
        }
    }
    assert!(read > 100, "{read}");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_hint_with_a_flag_that_is_not_there_is_found() {
    let flags = Flags::read();
    for (own, text, is_wrong) in [
        (Some("doctor"), "pass --stats to kq evict rank", false),
        (Some("doctor"), "give --stats FILE", true),
        (Some("evict rank"), "give --stats FILE", false),
        (None, "take one with kq snapshot --frobnicate", true),
        (None, "run kq gc frobnicate", true),
        (None, "run kq gc dry-run --at-usage 90", false),
        (None, "run kq as root", false),
        (Some("version"), "--max-pods of the kubelet", false),
        (Some("version"), "--max-pods says so", true),
        (Some("evict rank"), "kubectl get --raw /stats", false),
    ] {
        assert_eq!(!wrong(&flags, own, text).is_empty(), is_wrong, "{text}");
    }
}
