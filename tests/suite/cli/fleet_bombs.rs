//! What one node sends costs the answer of that node, whatever it is: `kq fleet` and `kq report` about several nodes, one of
//! which sends much more than an answer.

use super::fake_node::FakeNode;
use super::fleet_server::Fleet;
use super::made_up_node::{Kernel, Node};
use super::{folder_with, kq};
use kq_core::fleet::Packed;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The change of a node of [`FakeNode`].
const CHANGE: &str = "-- cgroup apply --host-root root --kubelet-config kubelet.yaml --kubelet-url http://127.0.0.1:1 \
                      --pods pods.json --kubelet-version 1.36 --runtime runc=1.3.6 --rollback-file back.json";

/// Returns a short log with a long answer.
fn log(output: String) -> Vec<u8> {
    let packed = Packed { exit_code: Some(0), output: output.into_bytes(), notes: String::new() };
    let log = packed.to_lines().join("\n").into_bytes();
    assert!(log.len() < 200_000, "{}", log.len());
    log
}

/// Returns an answer of so many bytes, which takes more than ten times as much memory.
fn items(bytes: usize) -> String {
    format!("{{\"kind\":\"NodeChecks\",\"items\":[{}0]}}", "[0],".repeat(bytes / 4))
}

/// Returns an answer about a plan, which is in memory twice.
fn digest(bytes: usize) -> String {
    format!("{{\"kind\":\"ImageGcPlan\",\"planDigest\":\"{}\"}}", "a".repeat(bytes))
}

/// Why a node has no answer.
const LARGE: &str = "the answer is larger than ";
const UNREADABLE: &str = "the answer cannot be read: more than ";

fn forge(fleet: &Fleet, word: &'static str, log: Vec<u8>) {
    fleet.state.lock().expect("it is whole").forged = Some(("well-1", word, log));
}

#[test]
fn a_log_that_unpacks_to_much_costs_the_answer_of_its_node() {
    let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
    let folder = fleet.folder.path().join("stored");
    fs::create_dir(&folder).expect("a folder can be made");
    // The second one is in proportion to the log, but not in memory.
    for (output, reason) in [(items(60 << 20), LARGE), (items(15 << 20), UNREADABLE)] {
        forge(&fleet, "", log(output));
        let flags = format!("{} well-1 well-2 --yes", fleet.flags());
        for format in ["table", "jsonl"] {
            let question = format!("cgroup show --host-root {}", node.root().display());
            let ran = kq(&format!("fleet run {flags} -o {format} -- {question}")).run();
            assert_ne!(ran.code, 0, "{}", ran.text());
            assert!(ran.text().contains(reason), "{reason}: {}", ran.text());
            match format {
                "table" => {
                    let expected = "nodes: 1 of 2 nodes answered";
                    assert!(ran.stderr.contains(expected), "{}", ran.text());
                }
                _ => {
                    let lines: Vec<Value> = ran
                        .stdout
                        .lines()
                        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
                        .collect();
                    let of = |node: &str| lines.iter().find(|line| line["node"] == node);
                    assert_eq!(of("well-1").expect("a line")["answer"], Value::Null);
                    assert!(of("well-2").expect("a line")["answer"].is_object(), "{}", ran.text());
                }
            }
            fleet.is_clean(&ran);
        }
        let ran = kq(&format!("fleet collect {flags} --dir {}", folder.display())).run();
        assert_eq!(ran.code, 3, "{}", ran.text());
        assert!(ran.stderr.contains("stored: 1 of 2 nodes"), "{}", ran.text());
        assert!(ran.stderr.contains("warning: well-1 is not stored: "), "{}", ran.text());
        assert!(
            folder.join("well-2.json.zst").exists() && !folder.join("well-1.json.zst").exists()
        );
        fleet.is_clean(&ran);
    }
}

#[test]
fn a_log_that_unpacks_to_much_stops_no_change_of_another_node() {
    // The second one can be read, and is no plan.
    for (output, reason) in [(digest(60 << 20), LARGE), (digest(15 << 20), "")] {
        let log = log(output);
        let (fleet, nodes) = (Fleet::start(), [FakeNode::as_planned(), FakeNode::as_planned()]);
        for (node, name) in nodes.iter().zip(["well-1", "well-2"]) {
            node.set("/kubepods/burstable/podaaaa-1", "memory.max", "67108864");
            let mut state = fleet.state.lock().expect("it is whole");
            state.folders.insert(name.to_owned(), node.folder());
        }
        let flags = format!("{} well-1 well-2 --yes --cordon --canary 0", fleet.flags());
        // While it plans, the other node has a plan.
        forge(&fleet, "--dry-run", log.clone());
        let ran = kq(&format!("fleet apply {flags} {CHANGE}")).run();
        assert_eq!(ran.code, 5, "{}", ran.text());
        assert!(ran.stderr.contains("nodes: 1 done, 1 no plan"), "{}", ran.text());
        assert!(ran.stdout.contains(reason), "{reason}: {}", ran.text());
        assert_eq!(nodes.each_ref().map(|node| node.differences().len()), [1, 0], "{}", ran.text());
        // While it changes, with another one at the same time.
        nodes[1].set("/kubepods/burstable/podaaaa-1", "memory.max", "67108864");
        fs::remove_file(nodes[1].folder().join("back.json")).expect("it is there");
        forge(&fleet, "--yes", log);
        let both = "--max-unavailable 2";
        let ran = kq(&format!("fleet apply {flags} {both} {CHANGE}")).run();
        assert_eq!(ran.code, 5, "{}", ran.text());
        assert!(ran.stdout.contains(reason), "{reason}: {}", ran.text());
        assert!(ran.stdout.contains("well-1: unknown") && ran.stdout.contains("well-2: done"));
        assert_eq!(nodes.each_ref().map(|node| node.differences().len()), [0, 0], "{}", ran.text());
        assert!(ran.stderr.contains("warning: still cordoned: well-1\n"), "{}", ran.text());
        let state = fleet.state.lock().expect("it is whole");
        assert_eq!(state.cordoned.keys().collect::<Vec<_>>(), ["well-1"]);
        drop(state);
        fleet.is_clean(&ran);
    }
}

/// A snapshot that is small as a file and takes much memory, and one of a node.
fn snapshots() -> tempfile::TempDir {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/night/worker-3.json");
    let node = fs::read_to_string(example).expect("the example is there");
    let mut large: Value = serde_json::from_str(&node).expect("it is JSON");
    let config =
        large.pointer_mut("/kubeletConfig/found/value/value").expect("it has a configuration");
    config["unknown"] = serde_json::json!(vec![[0]; 3 << 20]);
    let large = kq_io::snapshot_file::pack(large.to_string().as_bytes());
    folder_with(&[("bad.json.zst", large), ("good.json", node.into_bytes())])
}

#[test]
fn a_snapshot_that_takes_much_memory_costs_its_own_part() {
    let folder = snapshots();
    let size = fs::metadata(folder.path().join("bad.json.zst")).expect("it is there").len();
    let run = |line: &str| kq(line).within(folder.path()).run();
    let alone = run("doctor --snapshot bad.json.zst");
    assert!(alone.stderr.contains("MiB of memory are needed"), "{size}: {}", alone.text());
    for flags in ["", "--parallel 1", "-l pool!=x", "--group-by pool", "-o jsonl"] {
        let ran = run(&format!("fleet ask . {flags} -- doctor"));
        assert!(matches!(ran.code, 1 | 3), "{flags}: {}", ran.text());
        let is_answered = match flags {
            "-o jsonl" => ran.stdout.lines().count() == 2,
            _ => ran.stderr.contains("nodes: 1 of 2 nodes answered"),
        };
        assert!(is_answered, "{flags}: {}", ran.text());
        assert!(ran.text().contains("MiB of memory are needed"), "{flags}: {}", ran.text());
    }
    let ran = run("report -o page.html .");
    assert_eq!(ran.code, 3, "{}", ran.text());
    let page = fs::read_to_string(folder.path().join("page.html")).expect("it is written");
    assert!(page.contains("MiB of memory are needed"), "{} bytes", page.len());
    assert!(page.contains("2 nodes") && page.contains("worker-3"), "{} bytes", page.len());
}

#[test]
fn a_page_about_several_nodes_reads_no_input_for_each() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/night/worker-3.json");
    let node = fs::read(example).expect("the example is there");
    let folder = folder_with(&[("a.json", &node), ("b.json", &node)]);
    for flags in ["--preempt-for -", "--node-file -", "--what-if 'config -'"] {
        let ran = kq(&format!("report . -o page.html {flags}")).within(folder.path()).run();
        assert_eq!(ran.code, 2, "{flags}: {}", ran.text());
        let expected = "standard input cannot be read for each snapshot";
        assert!(ran.stderr.contains(expected), "{flags}: {}", ran.text());
    }
}
