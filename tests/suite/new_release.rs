//! What a release of Kubernetes brings is covered by a rule, or has a reason: the tables of `tests/versions`, and the script that
//! reads them. The way of a release is in `docs/new-release.md`.

use crate::cli::repository;
use kq_k8s::patch_fixes::{GATE_PATCHES, PATCHES};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// Returns what covers each change of a version: how, and by what or why not.
pub fn covered(kind: &str, version: &str) -> BTreeMap<String, (String, String)> {
    let path = repository().join(format!("tests/versions/{kind}.tsv"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{kind}: {error}"));
    let rows = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut found = BTreeMap::new();
    for line in rows {
        let [of, name, how, by] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{kind}: four columns are needed: {line}");
        };
        assert!(["rule", "test", "told", "none"].contains(&how), "{kind}: {line}");
        assert!(!by.trim().is_empty(), "{kind}: {line}");
        if of == version {
            let before = found.insert(name.to_owned(), (how.to_owned(), by.to_owned()));
            assert_eq!(before, None, "{kind}: {name} has two rows");
        }
    }
    found
}

/// Returns the exit code of the script and what it says; `None`: there is no Python.
fn versions(arguments: &[&str]) -> Option<(i32, String, String)> {
    let Ok(ran) = Command::new("python3")
        .arg(repository().join("scripts/versions"))
        .args(arguments)
        .current_dir(repository())
        .output()
    else {
        crate::skipped::skip("there is no python3 for scripts/versions");
        return None;
    };
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("a text");
    Some((ran.status.code().unwrap_or(-1), text(ran.stdout), text(ran.stderr)))
}

#[test]
fn every_change_of_the_newest_release_is_covered() {
    let Some((code, said, error)) = versions(&["1.36", "1.37"]) else { return };
    assert_eq!(code, 0, "{said}{error}");
    let expected = "gates: 105 changes, 0 not covered\nflags: 18 changes, 0 not covered\n\
                    fields: 2 changes, 0 not covered\nbehaviours: 71 changes, 0 not covered\n";
    assert_eq!(said, expected);
    let (_, all, _) = versions(&["--all", "1.36", "1.37"]).expect("it ran before");
    for line in [
        "  HugepageAwareEviction: new, beta, on",
        "  MemoryQoS: on by default",
        "  PreventStaticPodAPIReferences: gone, was not locked",
        "  --containerd: gone",
        "  memoryThrottlingFactor: default 0.9 to null",
    ] {
        assert!(all.lines().any(|it| it == line), "{line}: {all}");
    }
}

#[test]
fn a_release_that_is_made_up_lists_what_no_rule_covers() {
    let data = ["--data", "tests/versions/made-up-1.38"];
    let Some((code, said, _)) = versions(&[&data[..], &["1.37", "1.38"]].concat()) else { return };
    assert_eq!(code, 1, "{said}");
    for (name, is_listed) in [
        ("MadeUpEviction: new, beta, on", true),
        ("MadeUpAlpha: new, alpha, off", true),
        ("CustomCPUCFSQuotaPeriod: off by default", true),
        // The start refuses their other value, or their name, by the table alone.
        ("MemoryQoS", false),
        ("NodeSwap", false),
        ("KubeletTracing", false),
        ("--made-up-flag: new", true),
        ("--cgroup-driver", false),
        ("madeUpField: new", true),
        ("maxPods: default 110 to 250", true),
        ("made-up-behaviour: danger 7", true),
        ("the generated table has no column 1.38", true),
    ] {
        assert_eq!(said.contains(name), is_listed, "{name}: {said}");
    }
}

#[test]
fn a_wrong_command_line_is_an_error_of_usage() {
    for arguments in [&["1.36"][..], &["1.37", "1.36"], &["1.36", "1.39"], &["--nonsense"]] {
        let Some((code, _, error)) = versions(arguments) else { return };
        assert!(code == 2 && error.starts_with("scripts/versions: "), "{arguments:?}: {error}");
    }
}

#[test]
fn each_row_is_about_a_change_and_has_a_reason() {
    for kind in ["gates", "flags", "fields", "behaviours"] {
        let rows = covered(kind, "1.37");
        assert!(kind == "flags" || !rows.is_empty(), "{kind}");
    }
}

#[test]
fn the_page_has_every_patch() {
    let page = fs::read_to_string(repository().join("docs/what-if.md")).expect("the page");
    for row in &PATCHES {
        let fixed = row.fixed_in.map_or("-".to_owned(), |it| format!("1.{}.{it}", row.minor));
        let line = format!("| 1.{} | {fixed} | `{}` | #{} |", row.minor, row.fault.id(), row.pull);
        assert!(page.contains(&line), "docs/what-if.md lacks: {line}");
        assert!(page.contains(&format!("| `{}` | {}", row.fault.id(), row.fault.what())));
    }
    for row in &GATE_PATCHES {
        let line = format!(
            "| 1.{} | 1.{}.{} | `{}` | #{} |",
            row.minor, row.minor, row.patch, row.gate, row.pull
        );
        assert!(page.contains(&line), "docs/what-if.md lacks: {line}");
    }
}
