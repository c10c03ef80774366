//! `docs/mirrors.md`: which function of the kubelet is mirrored where, made of what the code says of itself.

use crate::cli::repository;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A place that follows a Go file.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Mirror {
    file: String,
    /// The file of kq, and the item in it.
    place: String,
    functions: Vec<String>,
    versions: String,
    vectors: String,
}

/// What the documentation of a module, or of an item, says.
struct Doc {
    text: String,
    /// The item; empty: the module.
    item: String,
}

#[test]
fn the_page_of_mirrors_is_what_the_code_says() {
    let mut all = BTreeSet::new();
    let mut named = 0;
    for path in sources(&repository().join("crates")) {
        let text = std::fs::read_to_string(&path).expect("a source file");
        let place = path.strip_prefix(repository()).expect("a file of the repository");
        let docs = docs(&text);
        named += docs.iter().filter(|doc| doc.text.contains(".go`")).count();
        all.extend(mirrors(&place.display().to_string(), &docs));
    }
    let places: BTreeSet<&str> = all.iter().map(|it| it.place.as_str()).collect();
    assert!(places.len() * 10 >= named * 9 && named > 300, "{} of {named}", places.len());
    let vectors = std::fs::read_dir(repository().join("tests/vectors")).expect("the vectors");
    let vectors: BTreeSet<String> = vectors
        .map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned())
        .filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned))
        .collect();
    let pinned: BTreeSet<&str> = all.iter().flat_map(|it| it.vectors.split(", ")).collect();
    let unnamed: Vec<&String> = vectors.iter().filter(|it| !pinned.contains(it.as_str())).collect();
    assert!(unnamed.is_empty(), "no code names these vectors: {unnamed:?}");
    let page = page(&all);
    let file = repository().join("docs/mirrors.md");
    if std::env::var("SNAPSHOTS").as_deref() == Ok("overwrite") {
        std::fs::write(file, page).expect("it can be written");
        return;
    }
    let stored = std::fs::read_to_string(file).unwrap_or_default();
    assert!(page == stored, "run scripts/generate.sh and commit what changed");
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|it| it == "rs") {
            all.push(path);
        }
    }
    all.sort();
    all
}

/// Returns the documentation of a file: first that of the module, then of each item.
fn docs(source: &str) -> Vec<Doc> {
    let item = Regex::new(
        r"^\s*(?:pub(?:\([a-z]+\))? )?(?:const |async )*(?:fn|struct|enum|trait|static|type|mod)? ?(?:r#)?([A-Za-z_0-9]+)",
    );
    let item = item.expect("a pattern");
    let mut all = vec![Doc { text: String::new(), item: String::new() }];
    let mut open = String::new();
    for line in source.lines() {
        let trimmed = line.trim_start();
        if let Some(text) = trimmed.strip_prefix("//!") {
            let _ = write!(all[0].text, "{text}");
        } else if let Some(text) = trimmed.strip_prefix("///") {
            open += text;
        } else if let (false, false) = (open.is_empty(), trimmed.starts_with("#[")) {
            let name = item.captures(line).map(|it| it[1].to_owned()).unwrap_or_default();
            all.push(Doc { text: std::mem::take(&mut open), item: name });
        }
    }
    all
}

/// Returns the mirrors of a file. What an item does not say of versions and vectors, its module says.
fn mirrors(place: &str, docs: &[Doc]) -> Vec<Mirror> {
    let file = Regex::new(r"`([A-Za-z0-9_./-]+\.go)`").expect("a pattern");
    let functions =
        Regex::new(r"(?:`[A-Za-z_][A-Za-z0-9_.]*`(?:, | and |, and | of | in |: )(?:the )?)+$");
    let functions = functions.expect("a pattern");
    let name = Regex::new(r"`([A-Za-z_][A-Za-z0-9_.]*)`").expect("a pattern");
    let versions = Regex::new(
        r"read in (?:Kubernetes )?(1\.[0-9]+(?:\.[0-9]+)?(?:(?:, | and |, and )1\.[0-9]+(?:\.[0-9]+)?)*)",
    );
    let versions = versions.expect("a pattern");
    let vectors = Regex::new(r"`(?:tests/vectors/)?([a-z_]+)\.jsonl`").expect("a pattern");
    let read_in = |text: &str| versions.captures(text).map(|it| it[1].replace(" and ", ", "));
    let pinned = |text: &str| {
        let all: Vec<String> = vectors.captures_iter(text).map(|it| it[1].to_owned()).collect();
        (!all.is_empty()).then(|| all.join(", "))
    };
    let module = docs.first().map(|doc| doc.text.as_str()).unwrap_or_default();
    let mut all: BTreeMap<(String, String), Mirror> = BTreeMap::new();
    for doc in docs {
        let place = match doc.item.as_str() {
            "" => place.to_owned(),
            item => format!("{place}: {item}"),
        };
        let mut found: Vec<(&str, usize)> = file
            .captures_iter(&doc.text)
            .filter_map(|it| it.get(1))
            .map(|it| (it.as_str(), it.start() - 1))
            .collect();
        // A module can be pinned without a file, where its parts name files.
        if found.is_empty() && doc.item.is_empty() && pinned(&doc.text).is_some() {
            found.push(("", 0));
        }
        for (go, at) in found {
            let before = &doc.text[..at];
            let named = functions.find(before).map(|it| it.as_str()).unwrap_or_default();
            let key = (go.to_owned(), place.clone());
            let mirror = all.entry(key).or_insert_with(|| Mirror {
                file: go.to_owned(),
                place: place.clone(),
                versions: read_in(&doc.text).or_else(|| read_in(module)).unwrap_or_default(),
                vectors: pinned(&doc.text).or_else(|| pinned(module)).unwrap_or_default(),
                ..Mirror::default()
            });
            let named = name.captures_iter(named).map(|it| it[1].to_owned());
            mirror.functions.extend(named.filter(|it| !it.ends_with(".go")));
        }
    }
    all.into_values().collect()
}

fn page(all: &BTreeSet<Mirror>) -> String {
    let mut page = "\
# What kq mirrors

Generated from the documentation of the code: each Go file that a part of kq follows, the functions that it names, the
versions in which they were read (where the part or its module says so), and the vectors that pin it
([testing](testing.md)). A path without folders is in the folder that the module names.

| Go file | functions | read in | kq | vectors |
|---|---|---|---|---|
"
    .to_owned();
    let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
    // Modules that name no file come last.
    let (named, others): (Vec<&Mirror>, Vec<&Mirror>) =
        all.iter().partition(|it| !it.file.is_empty());
    for it in named.into_iter().chain(others) {
        let mut functions: Vec<&String> = it.functions.iter().collect();
        functions.dedup();
        let functions: Vec<String> = functions.into_iter().map(|it| code(it)).collect();
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} |",
            code(&it.file),
            functions.join(", "),
            it.versions,
            code(&it.place),
            it.vectors
        );
    }
    page
}
