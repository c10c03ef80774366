//! `kq fleet run` and `collect` against the API server of `fleet_server`.

use super::fleet_server::Fleet;
use super::made_up_node::{Kernel, Node};
use super::{Ran, kq};
use crate::edges::http_server::Seen;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn nodes_answer_through_their_pods_as_they_do_themselves() {
    let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
    fleet.state.lock().expect("it is whole").busy = 1;
    let question = format!("cgroup show --host-root {}", node.root().display());
    let line = format!("fleet run {} -l well=true --yes -o jsonl -- {question}", fleet.flags());
    let ran = kq(&line).run();
    let alone = kq(&format!("{question} -o json")).run();
    let expected: Value = alone.answer();
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let nodes: BTreeSet<&str> = lines.iter().filter_map(|line| line["node"].as_str()).collect();
    assert_eq!(nodes, BTreeSet::from(["well-1", "well-2"]), "{}", ran.text());
    for line in &lines {
        assert_eq!(line["answer"], expected);
        assert_eq!(line["exitCode"], alone.code);
    }
    assert_eq!(ran.code, alone.code);
    assert!(
        ran.stderr.contains("plan: image kq:test; as root with few capabilities"),
        "{}",
        ran.text()
    );
    fleet.is_clean(&ran);
    let created = fleet.state.lock().expect("it is whole").created.clone();
    let spec = &created[0]["spec"];
    assert_eq!(spec["automountServiceAccountToken"], false);
    assert_eq!(spec["activeDeadlineSeconds"], 150);
    assert_eq!(spec["containers"][0]["volumeMounts"][0]["readOnly"], true);
    let context = &spec["containers"][0]["securityContext"];
    assert_eq!(context["privileged"], Value::Null);
    assert_eq!(context["capabilities"]["drop"][0], "ALL");
}

#[test]
fn every_fault_of_a_node_is_named_and_nothing_is_left() {
    let (fleet, node) = (Fleet::start(), Node::new(Kernel::V1));
    let line = format!(
        "fleet run {} --timeout 3s --yes -- cgroup show --host-root {}",
        fleet.flags(),
        node.root().display()
    );
    let ran = kq(&line).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("nodes: 3 of 12 nodes answered"), "{}", ran.text());
    for expected in [
        "missing: cut: the log of the pod is cut off or damaged: ",
        "missing: full: the pod did not run: OutOfpods: Node didn't have enough resource: pods",
        "missing: garbage: the output is not an answer of kq: the log of the pod ends with \"exec format error",
        "missing: gone: the pod did not run: another client deleted it",
        "missing: missing-image: the pod did not run: ImagePullBackOff: Back-off pulling image",
        "missing: replaced: the pod did not run: another client replaced it",
        "missing: silent: no answer within 3s",
        "missing: twice: the pod did not run: ",
        "missing: windows: windows nodes have no answer: -l kubernetes.io/os=linux leaves them out",
    ] {
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.text());
    }
    assert!(!ran.text().contains('\u{1b}'), "{:?}", ran.text());
    fleet.is_clean(&ran);
}

/// Another number of nodes for the test below, which then measures.
const MORE_NODES: &str = "KQ_FLEET_NODES";

#[test]
fn hundreds_of_nodes_are_listed_in_pages_and_few_are_asked_at_a_time() {
    let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
    let given = std::env::var(MORE_NODES).ok().and_then(|text| text.parse().ok());
    let more = given.unwrap_or(600);
    {
        let mut state = fleet.state.lock().expect("it is whole");
        (state.more_nodes, state.busy) = (more, 20);
    }
    let question = format!("cgroup show --host-root {}", node.root().display());
    let flags = format!("{} -l more=true --parallel 8 --yes -o json", fleet.flags());
    let begin = Instant::now();
    let ran = kq(&format!("fleet run {flags} -- {question}")).run();
    eprintln!("{more} nodes: {:?}", begin.elapsed());
    let answer: Value = ran.answer();
    assert_eq!(answer["nodes"]["answered"], more, "{}", ran.text());
    // Equal answers are one line, whatever their number.
    assert_eq!(answer["items"].as_array().map(Vec::len), Some(1), "{}", ran.text());
    fleet.is_clean(&ran);
    let state = fleet.state.lock().expect("it is whole");
    assert_eq!((state.busy, state.created.len()), (0, more));
    assert!(state.most_pods <= 8, "{}", state.most_pods);
    let lists = |seen: &&Seen| seen.line.starts_with("GET /api/v1/nodes?");
    let seen = fleet.server.seen();
    assert_eq!(seen.iter().filter(lists).count(), (12 + more).div_ceil(500));
}

#[test]
fn an_interrupt_deletes_the_pods() {
    for signal in [Signal::INT, Signal::TERM] {
        let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
        let flags = fleet.flags();
        let root = node.root().display().to_string();
        let mut arguments: Vec<&str> = "fleet run silent well-1 --yes".split(' ').collect();
        arguments.extend(flags.split(' '));
        arguments.extend(["--", "cgroup", "show", "--host-root", &root]);
        let child = Command::new(env!("CARGO_BIN_EXE_kq"))
            .args(arguments)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kq starts");
        let end = Instant::now() + Duration::from_secs(20);
        while !fleet
            .state
            .lock()
            .expect("it is whole")
            .pods
            .values()
            .any(|(node, _)| node == "silent")
        {
            assert!(Instant::now() < end, "no pod was made");
            std::thread::sleep(Duration::from_millis(20));
        }
        kill_process(Pid::from_child(&child), signal).expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        let ran = Ran {
            code: output.status.code().expect("it ends by itself"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert_eq!(ran.code, 3, "{}", ran.text());
        assert!(
            ran.stderr.contains("missing: silent: not queried: kq was interrupted"),
            "{}",
            ran.text()
        );
        fleet.is_clean(&ran);
    }
}

#[test]
fn a_pod_that_cannot_be_deleted_is_named() {
    let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
    let question = format!("cgroup show --host-root {}", node.root().display());
    let line = format!("fleet run {} well-1 --yes -- {question}", fleet.flags());
    fleet.state.lock().expect("it is whole").faults_of_deletions = 2;
    let ran = kq(&line).run();
    assert_eq!(ran.code, 0, "the third time it goes: {}", ran.text());
    fleet.is_clean(&ran);
    fleet.state.lock().expect("it is whole").faults_of_deletions = 100;
    let ran = kq(&line).run();
    assert_eq!(ran.code, 5, "{}", ran.text());
    assert!(ran.stderr.contains("kubectl delete pod -n kube-system kq-fleet-"), "{}", ran.text());
}

#[test]
fn a_script_collects_snapshots_over_ssh() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| {
        std::fs::write(path(name), text).expect("it can be written");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(path(name), mode).expect("it can be changed");
    };
    std::fs::create_dir(path("d")).expect("it can be made");
    let line = format!("fleet collect --from-ssh --dir {} well-1 down-1", path("d").display());
    let ran = kq(&line).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.text());
    write("collect.sh", &ran.stdout);
    // What ssh and sudo do, on this machine: the command line goes to a shell, with the program as its input.
    write("ssh", "#!/bin/sh\n[ \"$1\" = well-1 ] || exit 255\nexec sh -c \"$2\"\n");
    let node = Node::new(Kernel::V2);
    let root = node.root().display().to_string();
    write("sudo", &format!("#!/bin/sh\nshift\nexec \"$@\" --host-root {root}\n"));
    let search = format!("{}:/usr/bin:/bin", folder.path().display());
    let output = Command::new("sh")
        .arg(path("collect.sh"))
        .env("PATH", search)
        .env("KQ", env!("CARGO_BIN_EXE_kq"))
        .output()
        .expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().last(), Some("down-1: no snapshot"), "{said}");
    let names = std::fs::read_dir(path("d")).expect("it is there").flatten();
    let names: Vec<_> = names.map(|it| it.file_name()).collect();
    assert_eq!(names, ["well-1.json"]);
    let stored = path("d").join("well-1.json");
    let asked = kq(&format!("cgroup show --snapshot {}", stored.display())).json();
    let alone = kq(&format!("cgroup show --host-root {root}")).json();
    assert_eq!(asked["items"], alone["items"]);

    let ran = kq("fleet collect --from-ssh=ansible --dir snapshots w-1 w-2").run();
    assert!(ran.stdout.contains("- hosts: w-1,w-2\n"), "{}", ran.text());
    assert!(
        ran.stdout.contains("dest: \"snapshots/{{ inventory_hostname }}.json.zst\""),
        "{}",
        ran.text()
    );
    for (nodes, dir) in [("-oProxyCommand=x", "d"), ("a", "$(id)"), ("a;id", "d")] {
        let ran = kq("fleet collect --from-ssh --dir").arg(dir).arg("--").arg(nodes).run();
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.text());
    }
}

#[test]
fn snapshots_are_collected_and_asked_again() {
    let fleet = Fleet::start();
    let folder = fleet.folder.path().join("stored");
    std::fs::create_dir(&folder).expect("a folder can be made");
    let flags = fleet.flags();
    let line = format!("fleet collect {flags} -l well=true --yes --dir {}", folder.display());
    let ran = kq(&line).run();
    // The pods of this test are on a machine that may have no kubelet.
    let is_node = !ran.stderr.contains("warning: well-1: kq found no node in its pod");
    assert_eq!(ran.code, if is_node { 0 } else { 3 }, "{}", ran.text());
    assert!(ran.stderr.contains("stored: 2 of 2 nodes"), "{}", ran.text());
    fleet.is_clean(&ran);
    let asked = kq(&format!("fleet ask {} -o name -- version", folder.display())).run();
    assert_eq!(asked.stdout, "well-1\nwell-2\n", "{}", asked.text());
    // A damaged snapshot is none.
    std::fs::write(folder.join("well-1.json.zst"), "cut off").expect("it can be written");
    let resumed = kq(&format!("{line} --resume")).run();
    assert!(resumed.stderr.contains("stored: 1 node with a snapshot in "), "{}", resumed.text());
    assert!(resumed.stderr.contains("stored: 1 of 1 nodes"), "{}", resumed.text());
    let again = kq(&format!("{line} --resume")).run();
    assert_eq!(again.code, 0, "{}", again.text());
    assert!(again.stderr.contains("stored: 2 nodes with a snapshot in "), "{}", again.text());
    assert!(!again.stderr.contains("plan: "), "{}", again.text());
    let ran = kq(&format!("fleet collect {flags} cut --yes --dir {}", folder.display())).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(
        ran.stderr.contains("warning: cut is not stored: the log of the pod"),
        "{}",
        ran.text()
    );
}

#[test]
fn refusals_are_named_and_faults_of_logs_are_retried() {
    let (fleet, node) = (Fleet::start(), Node::new(Kernel::V2));
    let question = format!("cgroup show --host-root {}", node.root().display());
    let line = format!("fleet run {} well-1 well-2 --yes -- {question}", fleet.flags());
    fleet.state.lock().expect("it is whole").faults_of_logs = 2;
    let ran = kq(&line).run();
    assert!(ran.stderr.contains("2 of 2 nodes answered"), "{}", ran.text());
    fleet.is_clean(&ran);
    let created = fleet.state.lock().expect("it is whole").created.len();
    for message in [
        "pods \"kq-fleet-1\" is forbidden: exceeded quota: few, requested: pods=1, used: pods=5, limited: pods=5",
        "admission webhook \"no.example\" denied the request: no privileged pods",
    ] {
        fleet.state.lock().expect("it is whole").refusal = Some(message);
        let before = fleet.server.seen().len();
        let ran = kq(&line).run();
        assert_eq!(ran.code, 3, "{}", ran.text());
        assert!(ran.stderr.contains(message), "{}", ran.text());
        assert!(ran.stderr.contains("0 of 2 nodes answered"), "{}", ran.text());
        // Two lists and two creations: a refusal is not retried, and no pod is looked for.
        assert_eq!(fleet.server.seen().len() - before, 4, "{}", ran.text());
    }
    assert_eq!(fleet.state.lock().expect("it is whole").created.len(), created);
}

#[test]
fn nodes_come_from_a_file_and_pods_have_requests() {
    let fleet = Fleet::start();
    let line = format!("fleet run {} --dry-run", fleet.flags());
    let dry_run =
        |flags: &str, names: &str| kq(&format!("{line} {flags} -- doctor")).stdin(names).run();
    let ran = dry_run("--nodes-from -", "node/well-1\nnode/well-2\n# node/cut\n");
    assert!(ran.stderr.contains("plan: a pod on well-1 and 1 more node"), "{}", ran.text());
    let ran = dry_run("--nodes-from - cut", "well-1");
    assert!(ran.stderr.contains("plan: a pod on cut and 1 more node"), "{}", ran.text());
    for (names, expected) in [("", "no names of nodes"), ("well-3", "did you mean well-")] {
        let ran = dry_run("--nodes-from -", names);
        assert_eq!(ran.code, 2, "{}", ran.text());
        assert!(ran.stderr.contains(expected), "{}", ran.text());
    }
    let ran = dry_run("--sample 50%", "");
    assert!(ran.stderr.contains("plan: a pod on cut and 5 more nodes"), "{}", ran.text());
    let ran = dry_run("--requests cpu=10m,memory=32Mi well-1", "");
    let pod = ran.stderr.lines().find_map(|line| line.strip_prefix("pod: ")).expect("a pod");
    let pod: Value = serde_json::from_str(pod).expect("JSON");
    let requests = &pod["spec"]["containers"][0]["resources"]["requests"];
    assert_eq!((&requests["cpu"], &requests["memory"]), (&"10m".into(), &"32Mi".into()));
    for flags in ["--sample 0", "--sample 101%", "--requests cpu", "--requests cpu=-1"] {
        assert_eq!(dry_run(flags, "").code, 2, "{flags}");
    }
    assert!(fleet.state.lock().expect("it is whole").created.is_empty());
}

#[test]
fn nothing_is_made_without_a_yes() {
    let fleet = Fleet::start();
    let flags = fleet.flags();
    for (line, code, expected) in [
        ("well-1 -- doctor", 4, "nothing was changed: confirmation needs a terminal"),
        ("--dry-run -- doctor", 0, "plan: a pod on cut and 11 more nodes of https://127.0.0.1"),
        ("--dry-run --sample 2 -- doctor", 0, "plan: a pod on cut and 1 more node"),
        ("well-3 --yes -- doctor", 2, "hint: did you mean well-1?"),
        ("-l well=maybe --yes -- doctor", 2, "no node of the cluster is selected"),
        ("--yes -- gc apply", 2, "kq gc apply cannot be asked of many nodes"),
        ("--yes -- schema X", 2, "kq schema X: unexpected argument '--output'"),
        ("--yes -- doctor -w", 2, "it does not end"),
        (
            "--yes -- admit explain examples/web.yaml",
            2,
            "a file of this machine, which the nodes do not have",
        ),
        ("--yes -- cgroup diff --kubelet-config=examples/web.yaml", 2, "a file of this machine"),
    ] {
        let ran = kq(&format!("fleet run {flags} {line}")).run();
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        assert!(ran.stderr.contains(expected), "{line}: {}", ran.text());
        assert_eq!(ran.stdout, "", "{line}");
    }
    let nowhere =
        format!("fleet collect {flags} --yes --dir {}/nowhere", fleet.folder.path().display());
    assert_eq!(kq(&nowhere).run().code, 2);
    assert!(fleet.state.lock().expect("it is whole").created.is_empty());
}
