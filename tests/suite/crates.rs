//! The walls: which crate uses which, against the table of `docs/architecture.md`.

use crate::cli::repository;
use crate::source_files::rust_files;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The crates that decide and show, and touch nothing outside.
const PURE: [&str; 13] = [
    "derive",
    "k8s",
    "output",
    "answer",
    "facts",
    "cgroup",
    "image-gc",
    "probe",
    "eviction",
    "managers",
    "admission",
    "core",
    "report",
];

/// What no pure crate may use: a clock, files, processes, sockets, other threads' work.
const WORLD: [&str; 18] = [
    "tokio",
    "rustls",
    "rustix",
    "ring",
    "kube",
    "k8s-openapi",
    "hyper",
    "hyper-util",
    "h2",
    "tonic",
    "tokio-rustls",
    "crossterm",
    "tempfile",
    "indicatif",
    "anstream",
    "rustls-native-certs",
    "tower",
    "memchr",
];

/// A package: what it uses of this repository, of the registry, and for its tests and its build.
#[derive(Debug, Default, PartialEq, Eq)]
struct Uses {
    own: BTreeSet<String>,
    others: BTreeSet<String>,
    tests: BTreeSet<String>,
}

/// Returns the packages of the workspace by their short names, as cargo has them.
fn packages() -> BTreeMap<String, Uses> {
    let ran = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(repository())
        .output()
        .expect("cargo runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let metadata: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let short = |name: &str| name.strip_prefix("kubelet-kq-").map(str::to_owned);
    let package = |package: &Value| {
        let name = package["name"].as_str().expect("a name");
        let mut uses = Uses::default();
        for dependency in package["dependencies"].as_array().expect("a list") {
            let name = dependency["name"].as_str().expect("a name");
            match (dependency["kind"].as_str(), short(name)) {
                (None, Some(own)) => uses.own.insert(own),
                (None, None) => uses.others.insert(name.to_owned()),
                (Some(_), own) => uses.tests.insert(own.unwrap_or_else(|| name.to_owned())),
            };
        }
        (short(name).unwrap_or_else(|| "kq".to_owned()), uses)
    };
    metadata["packages"].as_array().expect("a list").iter().map(package).collect()
}

/// Returns the table of the page.
fn documented() -> BTreeMap<String, Uses> {
    let page = std::fs::read_to_string(repository().join("docs/architecture.md")).expect("text");
    let (_, table) = page.split_once("| crate | uses |").expect("the page has the table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let list = |cell: &str| {
        let names = cell.split(',').map(|name| name.trim().trim_matches('`').to_owned());
        names.filter(|name| !name.is_empty() && name != "-").collect::<BTreeSet<_>>()
    };
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, own, others, tests] = cells[..] else { panic!("{row}") };
        let uses = Uses { own: list(own), others: list(others), tests: list(tests) };
        (name.trim_matches('`').to_owned(), uses)
    })
    .collect()
}

#[test]
fn each_crate_uses_what_the_page_says() {
    let (found, documented) = (packages(), documented());
    let list = |names: &BTreeSet<String>| match names.is_empty() {
        true => "-".to_owned(),
        false => names.iter().cloned().collect::<Vec<_>>().join(", "),
    };
    for (name, uses) in &found {
        println!(
            "| `{name}` | {} | {} | {} |",
            list(&uses.own),
            list(&uses.others),
            list(&uses.tests)
        );
    }
    let names = |of: &BTreeMap<String, Uses>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&documented));
    for (name, uses) in &found {
        assert_eq!(*uses, documented[name], "{name}");
    }
}

#[test]
fn what_decides_touches_nothing_outside() {
    let packages = packages();
    for name in PURE {
        let uses = &packages[name];
        let world: Vec<&str> = WORLD.into_iter().filter(|it| uses.others.contains(*it)).collect();
        assert!(world.is_empty(), "{name} uses {world:?}");
        let own: Vec<&String> = uses.own.iter().filter(|it| !PURE.contains(&it.as_str())).collect();
        assert!(own.is_empty(), "{name} uses {own:?}");
        let rules = repository().join("crates").join(name).join("clippy.toml");
        let rules = std::fs::read_to_string(&rules).expect("each pure crate has rules of its own");
        for method in ["std::fs::read", "std::time::SystemTime::now", "std::path::Path::exists"] {
            assert!(rules.contains(method), "{name}: {method}");
        }
    }
}

#[test]
fn what_decides_names_nothing_outside() {
    // Paths that clippy's lists of methods do not cover: types, and what a use brings in.
    let named = r"\bstd::(fs|process|os|env)\b|\bstd::net::[^;]*(Tcp|Udp|ToSocketAddrs)|\bthread::(spawn|sleep|Builder)|\b(SystemTime|Instant|Timestamp|Zoned)::now\b|\.(exists|is_file|is_dir|canonicalize|read_dir|read_link)\(\)";
    let named = regex::Regex::new(named).expect("a pattern");
    let mut count = 0;
    for (path, text) in rust_files() {
        let Some(rest) = path.strip_prefix("crates/") else { continue };
        let (name, file) = rest.split_once('/').expect("a crate has files");
        // Work is divided there, and done on one thread where none can be started.
        if !PURE.contains(&name) || file.contains("tests") || rest == "cgroup/src/parallel.rs" {
            continue;
        }
        count += 1;
        // Tests of a file stand at its end.
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let found: Vec<&str> = code.filter(|line| named.is_match(line)).collect();
        assert!(found.is_empty(), "{path}: {found:?}");
    }
    assert!(count > 450, "only {count} files were read");
}
