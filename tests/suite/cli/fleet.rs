//! `kq fleet ask`: many snapshots, one answer.

use super::{folder_with, kq};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

fn example(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(path).expect("the example is there")
}

/// Three nodes of one kind, one of another, and a file that is no snapshot.
fn fleet() -> TempDir {
    let night = example("examples/night/worker-3.json");
    let mut gpu: Value = serde_json::from_str(&night).expect("it is JSON");
    gpu["node"]["found"]["value"]["metadata"]["labels"]["pool"] = "gpu".into();
    let packed = {
        let folder = folder_with(&[("node.json", night.as_str())]);
        let from = folder.path().join("node.json");
        let to = folder.path().join("node.json.zst");
        let stored =
            kq(&format!("snapshot --snapshot {} -o {}", from.display(), to.display())).run();
        assert_eq!(stored.code, 0, "{}", stored.text());
        std::fs::read(to).expect("it was stored")
    };
    folder_with(&[
        ("worker-1.json", night.into_bytes()),
        ("worker-2.json", gpu.to_string().into_bytes()),
        ("worker-3.json.zst", packed),
        ("other.json", example("examples/node/snapshot.json").into_bytes()),
        ("broken.json", b"{}".to_vec()),
        ("notes.txt", b"no snapshot".to_vec()),
    ])
}

#[test]
fn nodes_with_the_same_result_share_a_line() {
    let fleet = fleet();
    let ran = kq("fleet ask . -- admit explain /dev/stdin").within(fleet.path()).run();
    assert_eq!(ran.code, 2, "no node has a manifest: {}", ran.text());
    let damaged = folder_with(&[("a.json", b"".to_vec()), ("b.json", b"{".to_vec())]);
    for question in ["fleet ask . -- doctor", "fleet what-if . -- set maxPods=2"] {
        let ran = kq(question).within(damaged.path()).run();
        assert_eq!(ran.code, 3, "{question}: {}", ran.text());
        assert!(ran.stdout.contains("not a kq snapshot"), "{question}: {}", ran.text());
    }
    let dns = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/night/dns.yaml");
    let line = format!("fleet ask . -- admit explain {}", dns.display());
    let ran = kq(&line).within(fleet.path()).run();
    assert_eq!(
        ran.text(),
        "SEVERITY   ANSWER                                                                         NODES   NAMES\n\
         UNKNOWN    no answer: the snapshot is not a kq snapshot: kind \"\", expected NodeSnapshot   1       broken\n\
         WARNING    OutOfcpu                                                                       3       worker-1, worker-2, worker-3\n\
         OK         admitted                                                                       1       other\n\
         --- stderr\n\
         nodes: 4 of 5 nodes answered, 1 yes, 3 no, 1 incomplete\n\
         missing: broken: the snapshot is not a kq snapshot: kind \"\", expected NodeSnapshot\n\
         --- exit 1\n"
    );
    let named = kq(&line.replace("ask .", "ask . -o name")).within(fleet.path()).run();
    assert_eq!(named.stdout, "broken\nworker-1\nworker-2\nworker-3\nother\n");
}

/// One process answers about all of them, so that nothing of one may be left for the next.
#[test]
fn each_line_has_the_answer_of_the_node_itself() {
    let fleet = fleet();
    let nodes = ["broken", "other", "worker-1", "worker-2"];
    for command in [
        "doctor",
        "gc dry-run",
        "evict rank --verbose",
        "what-if set maxPods=2",
        "cgroup plan --sort-by pod",
        "admit explain missing.yaml",
    ] {
        let files = nodes.map(|node| format!("{node}.json")).join(" ");
        let line = format!("fleet ask {files} --parallel 1 -o jsonl -- {command}");
        let ran = kq(&line).within(fleet.path()).run();
        let mut lines: Vec<Value> = ran
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line is JSON"))
            .collect();
        lines.sort_by_key(|line| line["node"].to_string());
        assert_eq!(lines.len(), nodes.len(), "{command}: {}", ran.text());
        for (line, node) in lines.iter().zip(nodes) {
            let alone =
                kq(&format!("{command} -o json --snapshot {node}.json")).within(fleet.path()).run();
            assert_eq!(line["node"], node);
            // Alone, a file that is no snapshot is a mistake; among many, it is an answer that is missing.
            let expected = if node == "broken" { 3 } else { alone.code };
            assert_eq!(line["exitCode"], expected, "{command} {node}: {line}");
            match serde_json::from_str::<Value>(&alone.stdout) {
                Ok(answer) => assert_eq!(line["answer"], answer, "{command} {node}"),
                Err(_) => {
                    let error = line["error"].as_str().expect("there is no answer");
                    let own = alone.stderr.replace(&format!("{node}.json"), "the snapshot");
                    let is_same = own.contains(&format!("kq: {error}\n"));
                    assert!(is_same, "{command} {node}: {error}: {}", alone.text());
                }
            }
        }
    }
}

#[test]
fn labels_choose_and_group_nodes() {
    let fleet = fleet();
    let ask = |flags: &str| {
        let ran =
            kq(&format!("fleet ask . {flags} -o json -- cgroup diff")).within(fleet.path()).run();
        ran.answer::<Value>()
    };
    let chosen = ask("-l pool=gpu");
    assert_eq!(chosen["items"][0]["nodes"], serde_json::json!(["worker-2"]));
    assert_eq!(chosen["nodes"]["asked"], 1);
    let grouped = ask("-l kubernetes.io/os --group-by pool");
    let groups: Vec<(&str, u64)> = grouped["items"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| {
            (row["group"].as_str().expect("a group"), row["count"].as_u64().expect("a count"))
        })
        .collect();
    assert_eq!(groups, [("gpu", 1), ("", 2), ("", 1)]);
    let none = kq("fleet ask . -l pool=none -- doctor").within(fleet.path()).run();
    assert_eq!(none.code, 2, "{}", none.text());
}

#[test]
fn numbers_and_changes_are_shown() {
    let (before, after) = (fleet(), fleet());
    std::fs::remove_file(after.path().join("worker-2.json")).expect("it is there");
    std::fs::copy(after.path().join("other.json"), after.path().join("worker-1.json"))
        .expect("a file can be copied");
    let line = format!(
        "fleet ask . --diff {} --value run.usage.percent -- gc dry-run",
        before.path().display()
    );
    let ran = kq(&line).within(after.path()).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    for expected in [
        "\nPERCENTILE   run.usage.percent\n0%           86\n",
        "\nhighest: worker-3 (86)\n",
        "\nNODE       ANSWER BEFORE    ANSWER\nworker-1   removes images   UNKNOWN no answer: ",
        "\nworker-2   removes images   -\n",
    ] {
        assert!(ran.stdout.contains(expected), "{expected:?}: {}", ran.text());
    }
}

#[test]
fn a_line_of_csv_for_each_node() {
    let fleet = fleet();
    std::fs::copy(fleet.path().join("worker-1.json"), fleet.path().join("=cmd().json"))
        .expect("a file can be copied");
    let ran = kq("fleet ask . --parallel 1 -o csv -- cgroup diff").within(fleet.path()).run();
    assert_eq!(
        ran.stdout,
        "node,group,exitCode,severity,results\n\
         '=cmd(),,1,WARNING,DRIFT\n\
         broken,,3,UNKNOWN,\"no answer: the snapshot is not a kq snapshot: kind \"\"\"\", expected NodeSnapshot\"\n\
         other,,0,OK,OK\n\
         worker-1,,1,WARNING,DRIFT\nworker-2,,1,WARNING,DRIFT\nworker-3,,1,WARNING,DRIFT\n",
        "{}",
        ran.text()
    );
}

#[test]
fn what_is_no_question_about_stored_nodes_is_refused() {
    let fleet = fleet();
    for (line, expected) in [
        (". -- gc apply", "kq gc apply cannot be asked of many nodes"),
        (". -- cgroup apply --dry-run", "kq cgroup apply --dry-run cannot be asked of many nodes"),
        (". -- snapshot", "kq snapshot cannot be asked of many nodes"),
        (
            ". -- doctor -o wide",
            "kq doctor -o wide: the argument '--output <FORMAT>' cannot be used",
        ),
        (
            ". -- doctor --snapshot x",
            "kq doctor --snapshot x: the argument '--snapshot <FILE>' cannot",
        ),
        (". -- doctor --watch", "kq doctor --watch: the argument '--watch' cannot be used"),
        (". -- cgroup diff -- shop/web", "kq cgroup diff -- shop/web: a second --"),
        (". -- frob", "kq frob: unrecognized subcommand 'frob'"),
        (". -- fleet ask . -- doctor", "kq fleet ask . -- doctor: a second --"),
        (". -- schema", "kq schema: unexpected argument '--snapshot"),
        (".", "the following required arguments were not provided"),
        ("nowhere -- doctor", "cannot read nowhere: no such file"),
        ("worker-1.json ./worker-1.json -- doctor", "two snapshots of node worker-1"),
        (". --diff nowhere -- doctor", "cannot read nowhere: no such file"),
        (". --value {.a -- doctor", "{ without }"),
    ] {
        let ran = kq(&format!("fleet ask {line}")).within(fleet.path()).run();
        let code = if line.contains("nowhere") { 3 } else { 2 };
        assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{line}: {}", ran.text());
        assert!(ran.stderr.contains(expected), "{line}: {}", ran.text());
    }
    let empty = folder_with(&[("notes.txt", "none")]);
    let ran = kq("fleet ask . -- doctor").within(empty.path()).run();
    assert!(ran.code == 2 && ran.stderr.contains("has no file that ends in"), "{}", ran.text());
}

#[test]
fn nodes_that_misbehave_are_told_apart() {
    let hostile = example("examples/night/worker-3.json");
    let fleet = folder_with(&[
        ("well.json", hostile.clone()),
        ("\u{1b}[31m\u{202e}red.json", hostile),
        ("cut.json.zst", "\u{28}\u{fffd}".to_owned()),
        ("huge.json", "[".repeat(1 << 20)),
    ]);
    let fifo = fleet.path().join("pipe.json");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("coreutils");
    assert!(made.success());
    let ran = kq("fleet ask . --timeout 10s -- doctor").within(fleet.path()).run();
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(!ran.text().contains(['\u{1b}', '\u{202e}']), "{:?}", ran.text());
    for node in ["cut", "huge", "pipe"] {
        assert!(ran.stderr.contains(&format!("missing: {node}: ")), "{node}: {}", ran.text());
    }
    let late = kq("fleet ask well.json --timeout 100ms -o json -- doctor").within(fleet.path());
    let late = late.run();
    // A fast machine is in time.
    assert!(matches!(late.code, 1 | 3), "{}", late.text());
}
