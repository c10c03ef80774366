//! `oracle/` can ask the kubelet again for each family of vectors, or says why it cannot.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A row of the table in `oracle/README.md`.
struct Row {
    family: String,
    program: Option<String>,
    answers: String,
}

/// Returns the repository's root.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the rows that name a family.
fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("oracle/README.md")).expect("oracle/README.md");
    text.lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.strip_prefix("| `")?.split('|').map(str::trim).collect();
            let [family, program, answers, _, ""] = cells[..] else { return None };
            let program = program.trim_matches('`');
            Some(Row {
                family: family.trim_end_matches('`').to_owned(),
                program: (!program.is_empty()).then(|| program.to_owned()),
                answers: answers.to_owned(),
            })
        })
        .collect()
}

/// Returns the files of a folder and of those below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    entries
        .map(|entry| entry.expect("an entry can be read").path())
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}

#[test]
fn each_family_has_a_program_or_a_reason() {
    let vectors = std::fs::read_dir(root().join("tests/vectors")).expect("tests/vectors");
    let families: BTreeSet<String> = vectors
        .filter_map(|entry| {
            let name = entry.expect("an entry can be read").file_name().into_string().ok()?;
            name.strip_suffix(".jsonl").map(str::to_owned)
        })
        .collect();
    assert!(!families.is_empty());

    let rows = rows();
    for family in &families {
        let count = rows.iter().filter(|row| row.family == *family).count();
        assert_eq!(count, 1, "rows of oracle/README.md for {family}");
    }
    for row in &rows {
        let Row { family, program, answers } = row;
        assert!(families.contains(family), "{family}: in oracle/README.md, not in tests/vectors");
        let Some(program) = program else {
            assert!(
                answers.starts_with("not recordable: "),
                "{family}: neither program nor reason"
            );
            continue;
        };
        let folder = root().join("oracle").join(program);
        assert!(folder.join("main.go").exists(), "{family}: no oracle/{program}/main.go");
        let named = format!("\"{family}\"");
        let answers = files(&folder).iter().any(|file| {
            file.extension().is_some_and(|extension| extension == "go")
                && std::fs::read_to_string(file).expect("a program").contains(&named)
        });
        assert!(answers, "oracle/{program} does not name {named}");
    }
}

#[test]
fn each_program_is_described() {
    let text = std::fs::read_to_string(root().join("oracle/README.md")).expect("oracle/README.md");
    for file in files(&root().join("oracle")) {
        if !file.ends_with("main.go") || file.components().any(|part| part.as_os_str() == "link") {
            continue;
        }
        let folder = file.parent().and_then(Path::file_name).expect("a program has a folder");
        let named = format!("`{}`", folder.to_string_lossy());
        assert!(text.contains(&named), "oracle/README.md does not name {named}");
    }
}
