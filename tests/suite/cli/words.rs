//! Help texts and documents are in plain technical English: a component is the subject, and no line of a help is
//! too wide for a terminal.

use super::generate::visible_commands;
use super::{kq, repository};
use crate::source_files::rust_files;
use std::collections::BTreeSet;
use std::fs;

/// Words that make a person of a component, or that a reader has to read twice.
const AVOIDED: &[&str] = &[
    "anew",
    "anybody",
    "beside",
    "could be had",
    "could not be had",
    "for want of",
    "goes by",
    "nobody",
    "somebody",
    "tells",
    "told",
    "whom",
];

/// The widest line of a help on a terminal of 100 columns.
const COLUMNS: usize = 100;

/// The widest line of a text that is shown as it is written: else a narrow terminal breaks it.
const NARROW: usize = 80;

/// Returns the help of kq, of each group of commands and of each command, by name.
fn helps() -> Vec<(String, String)> {
    let commands = visible_commands();
    let groups = commands.iter().filter_map(|command| command.split_once(' ')).map(|it| it.0);
    let names: BTreeSet<&str> =
        commands.iter().map(String::as_str).chain(groups).chain([""]).collect();
    let help = |name: &str| {
        let ran = kq(&format!("{name} --help")).run();
        assert_eq!(ran.code, 0, "kq {name} --help: {}", ran.stderr);
        (format!("kq {name} --help"), ran.stdout)
    };
    names.into_iter().map(help).collect()
}

/// Returns README.md and the documents, by name, without what is quoted from a terminal.
fn documents() -> Vec<(String, String)> {
    let folder = repository().join("docs");
    let listed = fs::read_dir(&folder).expect("there are documents");
    let mut files: Vec<_> = listed.map(|entry| entry.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|it| it == "md"));
    files.push(repository().join("README.md"));
    let prose = |text: &str| {
        let mut is_quoted = false;
        let lines = text.lines().filter(|line| {
            let is_fence = line.trim_start().starts_with("```");
            is_quoted ^= is_fence;
            !is_quoted && !is_fence && !line.starts_with("    ")
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        // What stands between backticks is typed, printed, or a name.
        text.split('`').step_by(2).collect::<Vec<_>>().join(" ")
    };
    let read = |file: &std::path::PathBuf| {
        let text = fs::read_to_string(file).expect("a document is text");
        (file.display().to_string(), prose(&text))
    };
    files.iter().map(read).collect()
}

/// Returns a text in lower case, with single blanks and no punctuation, so that words end at blanks.
fn words(text: &str) -> String {
    let plain =
        text.to_lowercase().replace(|c: char| !c.is_alphanumeric() && !"-_".contains(c), " ");
    format!(" {} ", plain.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn help_and_documents_use_plain_words() {
    let mut found = Vec::new();
    for (name, text) in helps().into_iter().chain(documents()) {
        let text = words(&text);
        let avoided = AVOIDED.iter().filter(|word| text.contains(&format!(" {word} ")));
        found.extend(avoided.map(|word| format!("{name}: {word}")));
    }
    assert!(found.is_empty(), "see the words that are avoided:\n{}", found.join("\n"));
}

#[test]
fn help_fits_a_terminal() {
    let commands = visible_commands();
    for (name, text) in helps() {
        for line in text.lines() {
            assert!(line.chars().count() <= COLUMNS, "{name}: wider than {COLUMNS}: {line}");
        }
        // Those of kq and of groups of commands are wrapped at any width.
        let is_verbatim = commands.iter().any(|command| name == format!("kq {command} --help"));
        let above = text.split("\nUsage:").next().filter(|_| is_verbatim).unwrap_or_default();
        for line in above.lines() {
            assert!(line.chars().count() <= NARROW, "{name}: wider than {NARROW}: {line}");
        }
    }
}

/// Words that no string literal has, since they were replaced.
const OUT_OF_MESSAGES: &[&str] = &[
    "all the same",
    "anew",
    "anybody",
    "beside",
    "could be had",
    "could not be asked",
    "could not be had",
    "for ever",
    "for want of",
    "goes by",
    "is asked",
    "is wanted",
    "look at",
    "looked at",
    "looks at",
    "mend",
    "mended",
    "nobody",
    "somebody",
    "tell",
    "tells",
    "told",
    "was done was done",
    "whom",
];

/// Returns the string literals of a source up to its unit tests, without comments.
fn literals(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let (mut found, mut open) = (Vec::new(), None::<String>);
    let code = code.collect::<Vec<_>>().join("\n");
    let mut characters = code.chars().peekable();
    while let Some(c) = characters.next() {
        match (&mut open, c) {
            // The quote of a character literal opens no string.
            (None, '\'') if characters.peek() == Some(&'"') => {
                characters.next();
            }
            (None, '"') => open = Some(String::new()),
            (Some(_), '"') => found.extend(open.take()),
            (Some(text), '\\') => {
                // A line end that is escaped continues the text.
                text.extend(characters.next().filter(|c| !"n\n".contains(*c)).or(Some(' ')));
            }
            (Some(text), c) => text.push(c),
            (None, _) => {}
        }
    }
    found
}

#[test]
fn messages_use_plain_words() {
    let mut found = Vec::new();
    for (path, text) in rust_files() {
        if path.ends_with("tests.rs") || path.contains("/tests/") {
            continue;
        }
        for literal in literals(&text) {
            let text = words(&literal);
            let avoided = OUT_OF_MESSAGES.iter().filter(|word| text.contains(&format!(" {word} ")));
            found.extend(avoided.map(|word| format!("{path}: {word}: {literal}")));
        }
    }
    assert!(found.is_empty(), "see the words that are avoided:\n{}", found.join("\n"));
}

/// Returns the text of a comment without what it quotes as code.
fn comment(line: &str) -> Option<String> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.split('`').step_by(2).collect())
}

#[test]
fn comments_use_plain_words() {
    let (mut read, mut found) = (0, Vec::new());
    for (path, text) in rust_files() {
        if !path.starts_with("crates/") && !path.starts_with("src/") {
            continue;
        }
        for text in text.lines().filter_map(comment) {
            read += 1;
            let plain = words(&text);
            let avoided = AVOIDED.iter().filter(|word| plain.contains(&format!(" {word} ")));
            found.extend(avoided.map(|word| format!("{path}: {word}: {text}")));
        }
    }
    assert!(read > 20_000, "only {read} lines of comments were read");
    assert!(found.is_empty(), "see the words that are avoided:\n{}", found.join("\n"));
}

/// Returns the descriptions in a schema.
fn descriptions(schema: &serde_json::Value) -> Vec<&str> {
    match schema {
        serde_json::Value::Object(fields) => {
            let own = fields.get("description").and_then(serde_json::Value::as_str);
            own.into_iter().chain(fields.values().flat_map(descriptions)).collect()
        }
        serde_json::Value::Array(items) => items.iter().flat_map(descriptions).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn schemas_use_plain_words_and_those_of_json() {
    let listed = fs::read_dir(repository().join("docs/schema")).expect("there are schemas");
    let (mut read, mut found) = (0, Vec::new());
    for file in listed.map(|entry| entry.expect("a file").path()) {
        let text = fs::read_to_string(&file).expect("a schema");
        let schema = serde_json::from_str(&text).expect("JSON");
        for text in descriptions(&schema) {
            read += 1;
            let plain = words(text);
            let avoided = AVOIDED.iter().filter(|word| plain.contains(&format!(" {word} ")));
            found.extend(avoided.map(|word| format!("{}: {word}: {text}", file.display())));
            // JSON has null, and `None` is Rust's.
            found.extend(text.contains("`None`").then(|| format!("{}: {text}", file.display())));
        }
    }
    assert!(read > 2_000, "only {read} descriptions were read");
    assert!(found.is_empty(), "see the words that are avoided:\n{}", found.join("\n"));
}
