//! What the sources of the whole repository contain.

use crate::cli::repository;
use std::collections::{BTreeMap, BTreeSet};
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

/// Returns the headings of the columns that a constructor declares.
pub fn headings(constructor: &str) -> BTreeSet<String> {
    let pattern = format!(r#"\bColumn::(?:{constructor})\(\s*"([^"]+)""#);
    let pattern = regex::Regex::new(&pattern).expect("a pattern");
    let files = rust_files();
    let found = files.iter().flat_map(|(_, text)| pattern.captures_iter(text));
    let found: BTreeSet<String> = found.map(|it| it[1].to_owned()).collect();
    assert!(found.len() > 40, "only {} columns are declared by {constructor}", found.len());
    found
}

#[test]
fn no_code_looks_at_headings() {
    let declared = headings("new|text|state");
    let literal = regex::Regex::new(r#""([^"\\]*)""#).expect("a pattern");
    let compared = r"\bheadings?\b[^;\n]*(==|!=|\.contains\(|eq_ignore_ascii_case)|(==|!=) *[&*]?(\w+\.)*headings?\b|\.contains\([^)]*\bheading";
    let compared = regex::Regex::new(compared).expect("a pattern");
    let mut found = Vec::new();
    for (path, text) in rust_files() {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        // Whoever types a heading after `--sort-by` is understood there.
        if path != "crates/output/src/order.rs" {
            found.extend(compared.find_iter(code).map(|it| format!("{path}: {}", it.as_str())));
        }
        // A heading that is known where tables are drawn is a decision by its text.
        if path.starts_with("crates/output/") {
            let known = literal.captures_iter(code).filter(|it| declared.contains(&it[1]));
            found.extend(known.map(|it| format!("{path}: {}", &it[0])));
        }
    }
    assert_eq!(found, [""; 0]);
}

/// The places that start processes, and what they start.
const STARTERS: [(&str, &str); 3] = [
    ("benches/gc_facts.rs", "itself, as a server"),
    ("crates/io/src/credential_plugin.rs", "what the operator's own kubeconfig names"),
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

/// Where versions of the kubelet may be compared: the rules, the type, and the tables with a column for each version.
const RULES: [&str; 2] = ["crates/k8s/src/kubelet_rules.rs", "crates/k8s/src/version.rs"];

#[test]
fn versions_are_compared_in_the_rules_alone() {
    let pattern = r"\.patch\s*(==|!=|<|>)|(==|!=|<=|>=|<|>)\s*[\w.:]*\.patch\b|\.minor\s*(==|!=|<|>)|(==|!=|<=|>=|<|>)\s*[\w.:]*\.minor\b|match\s[^{]*\.minor\b|version(\(\))?\.at_least\(|(==|!=)\s*KubeletVersion::";
    let pattern = regex::Regex::new(pattern).expect("a pattern");
    for line in [
        "if version.minor >= 36 {",
        "match self.known().used().minor {",
        "3 < it.minor",
        "self.version.at_least(37)",
        "version.patch < Some(4)",
    ] {
        assert!(pattern.is_match(line), "{line}");
    }
    let mut found = Vec::new();
    for (path, text) in rust_files() {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code.lines().enumerate().filter(|(_, line)| pattern.is_match(line));
        let is_left_out = RULES.contains(&path.as_str()) || path.ends_with("tests.rs");
        found.extend(
            lines.filter(|_| !is_left_out).map(|(at, line)| format!("{path}:{}: {line}", at + 1)),
        );
    }
    assert!(found.is_empty(), "versions are compared outside of the rules: {found:#?}");
}

/// Enums whose text is a name, with its facts.
const NAMES: [&str; 1] = ["crates/answer/src/finding.rs: Subject"];

/// Returns the enums of a crate that have their sentences beside them: a `Display` by hand of one that is called a reason, or
/// that is written with a code and its facts.
fn worded_by_hand(files: &[(&str, &str)]) -> Vec<String> {
    let pattern = |text| regex::Regex::new(text).expect("a pattern");
    let shown = pattern(r"(?m)^ *impl (?:std::)?(?:fmt::)?Display for (\w+)");
    let declared =
        pattern(r"(?m)^ *((?:#\[[^\n]*\n\s*|///[^\n]*\n\s*)*)(?:pub(?:\([^)]*\))? )?enum (\w+)");
    let code = |text: &'_ str| text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
    let files: Vec<_> = files.iter().map(|(path, text)| (*path, code(text))).collect();
    let reasons: BTreeSet<&str> = files
        .iter()
        .flat_map(|(_, text)| declared.captures_iter(text))
        .map(|it| it.extract::<2>().1)
        .filter(|[attributes, name]| name.ends_with("Reason") || attributes.contains("tag = \""))
        .map(|[_, name]| name)
        .collect();
    let shown = files.iter().flat_map(|(path, text)| {
        shown.captures_iter(text).map(move |it| (*path, it.extract::<1>().1[0]))
    });
    let found = shown.filter(|(_, name)| reasons.contains(name));
    found.map(|(path, name)| format!("{path}: {name}")).collect()
}

#[test]
fn a_reason_has_its_sentences_on_its_variants() {
    let by_hand = "impl fmt::Display for KeepReason {";
    for (text, expected) in [
        ("pub enum KeepReason {", 1),
        ("#[serde(tag = \"code\")]\n/// Notes.\n#[derive(Clone)]\npub(super) enum KeepReason {", 1),
        ("pub struct KeepReason {", 0),
        ("#[cfg(test)]\nmod tests {\n    enum KeepReason {", 0),
    ] {
        assert_eq!(worded_by_hand(&[("a.rs", by_hand), ("b.rs", text)]).len(), expected, "{text}");
    }
    let files = rust_files();
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (path, text) in &files {
        let name = path.split("/src/").next().unwrap_or_default();
        crates.entry(name).or_default().push((path, text));
    }
    let found: Vec<String> = crates.values().flat_map(|own| worded_by_hand(own)).collect();
    assert_eq!(found, NAMES, "use #[derive(Reason)]");
}

#[test]
fn a_finding_has_its_sentences_on_its_rule() {
    let files = rust_files();
    let made = files.iter().filter(|(_, text)| text.contains("Wording::new("));
    let made: Vec<&str> = made.map(|(path, _)| path.as_str()).collect();
    assert_eq!(made, ["crates/answer/src/finding.rs"], "use #[derive(Wording)]");
}
