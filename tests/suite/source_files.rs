//! What the sources of the whole repository contain.

use crate::cli::repository;
use std::fs;

/// Returns every Rust file outside of `tests` with its path: the library, the binary, benches, examples, scripts and the
/// build script.
pub fn rust_files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![repository()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_dir() {
                let is_left_out = name.starts_with('.')
                    || name == "target"
                    || folder == repository() && name == "tests";
                folders.extend((!is_left_out).then_some(path));
            } else if name.ends_with(".rs") {
                let shown =
                    path.strip_prefix(repository()).expect("below it").display().to_string();
                files.push((shown, fs::read_to_string(&path).expect("text")));
            }
        }
    }
    files.sort();
    assert!(files.len() > 880, "only {} files were read", files.len());
    files
}

/// The places that start processes, and what they start.
const STARTERS: [(&str, &str); 2] = [
    ("benches/gc_facts.rs", "itself, as a server"),
    ("crates/io/src/own_program.rs", "kq's own file"),
];

#[test]
fn processes_are_started_in_one_place() {
    let pattern = r"process::(\{[^}]*)?\bCommand\b|\b(execve|execveat|fexecve|execvp|posix_spawn|vfork|fork)\s*\(";
    let pattern = regex::Regex::new(pattern).expect("a pattern");
    let found = rust_files();
    let found: Vec<&str> = found
        .iter()
        .filter(|(_, text)| pattern.is_match(text))
        .map(|(path, _)| path.as_str())
        .collect();
    assert_eq!(found, STARTERS.map(|(path, _)| path));
}
