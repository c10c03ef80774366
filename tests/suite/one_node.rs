//! One node, made in one place, and a change that makes another one.

use crate::source_files::rust_files;
use regex::Regex;

/// Returns the library's and the binary's files without their unit tests.
fn sources() -> Vec<(String, String)> {
    let is_source = |path: &str| {
        (path.starts_with("crates/") || path.starts_with("src/"))
            && !path.ends_with("/tests.rs")
            && !path.contains("/tests/")
    };
    let files: Vec<_> = rust_files().into_iter().filter(|(path, _)| is_source(path)).collect();
    assert!(files.len() > 780, "only {} files were read", files.len());
    let without_tests = |text: String| {
        text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()
    };
    files.into_iter().map(|(path, text)| (path, without_tests(text))).collect()
}

/// Returns the files in which a pattern is found, once for each time.
fn found(pattern: &str) -> Vec<String> {
    let pattern = Regex::new(pattern).expect("a pattern");
    let mut all = Vec::new();
    for (path, text) in sources() {
        all.extend(pattern.find_iter(&text).map(|_| path.clone()));
    }
    all
}

/// The places that make a node, and of what.
const MAKERS: [(&str, &str); 9] = [
    ("crates/core/src/question/devices/plan.rs", "of the facts after a boot"),
    ("crates/core/src/question/top.rs", "of the facts of a moment"),
    ("crates/core/src/question/what_if/state.rs", "of the facts before and after a change"),
    ("crates/node/src/action/report.rs", "of the facts that a question of the page needs"),
    ("crates/node/src/admission/cluster.rs", "of one node of the API server's list"),
    ("crates/node/src/gather.rs", "of gathered facts"),
    ("src/bin/kq/cgroup/gather.rs", "of gathered facts"),
    ("src/bin/kq/cgroup/gather.rs", "of gathered facts, with its cgroups"),
    ("src/bin/kq/node_args.rs", "of flags alone"),
];

#[test]
fn a_node_is_made_in_few_places() {
    let mut expected = MAKERS.map(|(path, _)| path.to_owned()).to_vec();
    // Of flags alone, and of flags at a time; of what was just stored.
    expected.push("src/bin/kq/node_args.rs".to_owned());
    expected.push("src/bin/kq/snapshot.rs".to_owned());
    assert_eq!(found(r"\bNode::of(_files)?\("), expected);
}

/// Only the making of a node reads its sources: a question takes what was made.
#[test]
fn no_question_describes_a_node() {
    for (pattern, what) in [
        (r"\bdescribe_kubelet\(", "describes a kubelet"),
        (r"\bdescribe\(sources\)", "describes what the container manager works with"),
        (r"\bas_of_kubelet\(&mut loaded\.pod", "makes a listed pod the kubelet's"),
        (r"\badd_container_ids\(pod,", "adds the runtime's containers to a listed pod"),
    ] {
        let places = found(pattern);
        let outside: Vec<_> = places.iter().filter(|it| !it.starts_with("crates/facts/")).collect();
        assert!(outside.is_empty(), "{what}: {outside:?}");
        assert!(!places.is_empty() || pattern.contains("loaded"), "nothing {what}: {pattern}");
    }
}

/// Where the size of a page is a field, and of what.
const PAGE_SIZES: [(&str, &str); 5] = [
    ("crates/facts/src/host/read.rs", "the host"),
    ("crates/facts/src/node_config.rs", "the node"),
    ("crates/facts/src/overrides.rs", "the override"),
    ("crates/io/src/package_version/sqlite.rs", "a database's own"),
    ("src/bin/kq/node_args.rs", "the flag"),
];

#[test]
fn a_fact_of_the_machine_has_few_copies() {
    let fields = found(r"(?m)^    (pub )?page_size: (Option<)?(i64|usize)>?,$");
    assert_eq!(fields, PAGE_SIZES.map(|(path, _)| path.to_owned()));
}

/// What-if asks the questions of the domains, of the node before and after; it takes no part of their arithmetic.
#[test]
fn what_if_computes_nothing_that_a_question_computes() {
    // Types of answers, names, and what tells pods and devices apart.
    let allowed = [
        "qualified",
        "untolerated_taint",
        "ReadmissionResult",
        "Readmitted",
        "StoppedContainers",
        "AnyOrder",
        "PossibleEnds",
        "asked_devices",
        "Owner",
        "PlannedCgroup",
        "NodePart",
        "Trigger",
        "names",
    ];
    let import = Regex::new(
        r"use kq_(?:admission|cgroup|eviction|image_gc|managers|probe)::((?:\w+::)*)(\{[^}]*\}|\w+);",
    )
    .expect("a pattern");
    let (mut files, mut taken) = (0, 0);
    for (path, text) in sources() {
        if !path.starts_with("crates/core/src/question/what_if/") {
            continue;
        }
        files += 1;
        for names in import.captures_iter(&text).map(|it| it[2].to_owned()) {
            let names = names.trim_matches(['{', '}']).split(',').map(str::trim);
            for name in names.filter(|name| !name.is_empty()) {
                taken += 1;
                assert!(allowed.contains(&name), "{path} takes {name} of a domain");
            }
        }
    }
    assert!(files >= 12 && taken >= 10, "{files} files, {taken} names");
}
