//! What people type first: each is a command, or gets the hint with the one that they need.

use super::{kq, repository};

/// What is typed of commands that kq does not have yet, with the hint until then.
const UNTIL_THEN: &[(&str, &str)] = &[("what-if --set maxPods=50", "")];

#[test]
fn what_people_type_first_leads_to_the_command() {
    let table = repository().join("tests/suite/cli/guesses.tsv");
    let table = std::fs::read_to_string(table).expect("the table");
    let mut rows = 0;
    for line in table.lines() {
        let (typed, needed) = line.split_once('\t').expect("two columns");
        let then = UNTIL_THEN.iter().find(|(known, _)| *known == typed);
        let wanted = match (then, needed) {
            (Some((_, hint)), _) => (*hint).to_owned(),
            (None, _)
                if typed == "doctor FILE (a snapshot)" || typed == "--snapshot FILE doctor" =>
            {
                "kq doctor --snapshot FILE".to_owned()
            }
            (None, _) if needed.starts_with("the command for allocatable") => {
                "kq allocatable".to_owned()
            }
            (None, _) if needed.starts_with("hint: the scheduler's") => "the scheduler".to_owned(),
            (None, _) if needed.starts_with("hint: ") => needed
                .split(": ")
                .nth(1)
                .and_then(|it| it.split([',', ';']).next())
                .unwrap_or_default()
                .trim()
                .to_owned(),
            (None, _) if needed.starts_with("man kq") => "man kq".to_owned(),
            (None, _) => format!("kq {}", needed.split(", ").next().unwrap_or_default()),
        };
        let file = match typed {
            "preempt lint FILE" => "tests/cases/patch-devices/pods.json",
            typed if typed.contains("doctor") => "examples/night/worker-3.json",
            _ => "Cargo.toml",
        };
        let put = |text: &str| text.replace("FILE", file).replace("POD", "shop/web");
        let line = put(typed.trim_end_matches(" (a snapshot)"));
        let ran = kq(&line).within(repository()).run();
        rows += 1;
        let is_command = typed == needed && ran.code != 2;
        if is_command || ran.code != 2 && !ran.stdout.is_empty() || typed.contains('"') {
            continue;
        }
        let wanted =
            if typed.contains("POD") { put(&wanted) } else { wanted.replace("FILE", file) };
        let is_told = ran.stderr.contains(&wanted) || needed == "allocatable";
        assert!(is_told, "kq {line}: expected {wanted:?}: {}", ran.text());
    }
    assert!(rows > 80, "{rows}");
}

/// The configuration of a kubelet.
const CONFIG: &str = "examples/upgrade/kubelet-1.36.yaml";

/// What people who know other tools type, and the line of standard error that leads them on. `SNAPSHOT`, `MANIFEST` and
/// `CONFIG` are files.
#[test]
fn words_of_other_tools_get_the_hint_that_leads_on() {
    let table = repository().join("tests/suite/cli/first_words.tsv");
    let table = std::fs::read_to_string(table).expect("the table");
    let put = |text: &str| {
        text.replace("SNAPSHOT", "examples/night/worker-3.json")
            .replace("MANIFEST", "examples/web.yaml")
            .replace("CONFIG", CONFIG)
    };
    let mut wrong = Vec::new();
    for line in table.lines() {
        let (typed, expected) = line.split_once('\t').expect("two columns");
        let ran = kq(&put(typed)).within(repository()).run();
        let expected = put(expected);
        let first = ran
            .stderr
            .lines()
            .map(str::trim)
            .find(|it| it.starts_with("hint: ") || it.starts_with("tip: "));
        if ran.code == 0 || first != Some(&expected) {
            wrong.push(format!("kq {typed}: expected {expected:?}: {}", ran.text()));
        }
    }
    assert!(table.lines().count() > 250, "{}", table.lines().count());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
