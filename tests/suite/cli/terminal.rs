//! Answers on a terminal: lines fit its width, words stay whole, and colours appear only where they are enabled.

use super::{PATIENCE, folder_with, kq, repository, split};
use crate::matrix::one_of_each_kind;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use unicode_width::UnicodeWidthStr as _;

const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec: {containers: [{name: app, image: node.test/app:1, resources: {requests: {cpu: 100m}}}]}
";

/// What a run at a terminal left there.
pub struct Shown {
    pub stdout: String,
    pub stderr: String,
}

/// Makes a terminal; its output is sent once all writers are closed.
fn terminal(columns: u16) -> (File, mpsc::Receiver<String>) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal can be had");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("it can be opened");
    let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size).expect("it has a size");
    let path = ptsname(&master, Vec::new()).expect("it has a name").into_string();
    let slave = File::options().read(true).write(true).open(path.expect("a path"));
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let (mut master, mut written) = (File::from(master), Vec::new());
        let mut packet = [0; 4096];
        // A terminal that is left is an error to its reader.
        while let Ok(count @ 1..) = master.read(&mut packet) {
            written.extend_from_slice(&packet[..count]);
        }
        let text = String::from_utf8(written).expect("kq writes UTF-8");
        let _ = send.send(text.replace("\r\n", "\n"));
    });
    (slave.expect("the terminal can be opened"), receive)
}

/// Runs `kq LINE` at a terminal.
pub fn at_terminal(line: &str, folder: &Path, columns: u16, environment: &[(&str, &str)]) -> Shown {
    let (out, stdout) = terminal(columns);
    let (err, stderr) = terminal(columns);
    let mut command = Command::new(env!("CARGO_BIN_EXE_kq"));
    command.args(split(line)).env_clear().env("TERM", "xterm").current_dir(folder);
    command.envs(environment.iter().copied()).stdin(Stdio::null()).stdout(out).stderr(err);
    let mut child = command.spawn().expect("kq starts");
    // The command holds the terminals open.
    drop(command);
    let text = |from: &mpsc::Receiver<String>| {
        from.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("kq {line} does not end"))
    };
    let shown = Shown { stdout: left_over(&text(&stdout)), stderr: left_over(&text(&stderr)) };
    child.wait().expect("it ends");
    shown
}

/// Returns a text without the lines that were erased, as those of progress are.
fn left_over(text: &str) -> String {
    let mut parts = text.split("\r\u{1b}[2K");
    let mut left = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        left.truncate(left.rfind('\n').map_or(0, |end| end + 1));
        left.push_str(part);
    }
    left
}

/// Returns a text without kq's own colours.
pub fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (sequence, rest) = part.split_once('m').expect("a sequence ends");
        let is_colour = sequence
            .strip_prefix('[')
            .is_some_and(|codes| codes.chars().all(|c| c.is_ascii_digit() || c == ';'));
        assert!(is_colour, "{sequence:?}");
        plain.push_str(rest);
    }
    plain
}

/// Makes sure that no line is wider than the terminal, but for a word that is wider alone.
#[track_caller]
fn fits(shown: &str, columns: u16, line: &str) {
    for row in shown.lines().filter(|row| row.width() > usize::from(columns)) {
        let is_word = !row.trim().contains(' ') && row.trim().width() + 8 > usize::from(columns);
        assert!(is_word, "kq {line} at {columns} columns: {row}");
    }
}

#[test]
fn every_answer_fits_a_terminal() {
    for (folder, lines) in one_of_each_kind() {
        for line in lines {
            let piped = kq(&line).within(folder.path()).run();
            let known: BTreeSet<&str> = piped.stdout.split_whitespace().collect();
            for columns in [80, 100, 120, 200] {
                let shown = at_terminal(&line, folder.path(), columns, &[]);
                let stdout = without_colours(&shown.stdout);
                fits(&stdout, columns, &line);
                fits(&without_colours(&shown.stderr), columns, &line);
                // No word is parted. A heading may be a label, and what is not beside the rest is named below the table.
                // The first line and the labels of findings are not in a pipe.
                let is_of_findings = piped.stdout.contains("SEVERITY");
                let tables = stdout.split_once("\n\n").map_or(&*stdout, |(_, tables)| tables);
                for word in tables.split_whitespace().filter(|_| !is_of_findings) {
                    let word = word.trim_end_matches([':', ',']);
                    let is_own = ["in", "every", "row", "for", "a", "wider", "terminal"];
                    let is_known = known.contains(word)
                        || is_own.contains(&word)
                        || known.iter().any(|it| it.trim_end_matches([':', ',']) == word);
                    assert!(is_known, "kq {line} at {columns} columns: {word}");
                }
            }
        }
    }
}

/// A node of 110 pods with names that are wider than a terminal, and one of which little can be read.
fn crowded_and_broken() -> tempfile::TempDir {
    let name = "-with-a-name-of-a-length-that-a-template-of-a-large-company-makes-and-nobody-reads-at-once";
    let crowded = crate::report::large::node_of(110, 60, name);
    let mut broken = crate::report::worker();
    for fact in ["kubeletConfig", "node", "runtime", "cgroups", "statsSummary"] {
        let reason = "Permission denied (os error 13), after a minute of waiting for a server that does not answer";
        let source =
            "https://a-load-balancer.of-a-cluster.example.internal:6443/api/v1/nodes/worker-3";
        broken[fact] = json!({"tried": [{"source": source, "reason": reason}]});
    }
    folder_with(&[
        ("crowded.json", crowded.to_string()),
        ("broken.json", broken.to_string()),
        ("new.yaml", POD.to_owned()),
    ])
}

#[test]
fn a_crowded_node_and_a_broken_one_fit_a_terminal() {
    let folder = crowded_and_broken();
    for (command, arguments) in crate::matrix::LINES {
        let is_about_node = !command.starts_with("fleet ") && !arguments.contains("CONTAINER");
        let is_short = [
            "cgroup rollback",
            "probe simulate",
            "snapshot",
            "schema",
            "version",
            "completion",
            "explain",
            "report",
        ];
        if !is_about_node || is_short.contains(command) {
            continue;
        }
        let arguments = arguments.replace("NEW", "new.yaml").replace("POD", "shop/checkout-6d5f7");
        for (node, columns) in [("crowded", 80), ("crowded", 120), ("broken", 80), ("broken", 100)]
        {
            let line = format!("{command} {arguments} --snapshot {node}.json");
            let shown = at_terminal(&line, folder.path(), columns, &[]);
            fits(&without_colours(&shown.stdout), columns, &line);
            fits(&without_colours(&shown.stderr), columns, &line);
        }
    }
}

#[test]
fn a_wide_terminal_has_what_a_pipe_has() {
    for (folder, lines) in one_of_each_kind() {
        for line in lines.iter().step_by(3) {
            let piped = kq(line).within(folder.path()).run();
            let shown = without_colours(&at_terminal(line, folder.path(), 9_999, &[]).stdout);
            // Findings are entries there, and the answer in one sentence comes first.
            let has_entries = piped.stdout.contains("SEVERITY");
            let tables = shown.split_once("\n\n").map_or("", |(_, tables)| tables);
            let is_same = shown == piped.stdout || tables == piped.stdout;
            assert!(is_same || has_entries, "kq {line}:\n{shown}\ninstead of\n{}", piped.stdout);
        }
    }
}

#[test]
fn the_first_line_is_the_answer() {
    let folder = repository();
    for (line, first) in [
        ("doctor", "2 errors, 5 warnings; the first: "),
        ("gc dry-run", "1 image goes within 5 minutes (6.2Gi): shop.example/train:cuda-11"),
        ("evict rank --signal disk", "batch/report-day would be evicted first; "),
        ("admit explain --kubelet-restart", "all 8 pods stay"),
        (
            "preempt explain --static examples/night/dns.yaml",
            "kube-system/node-local-dns-worker-3 on",
        ),
        ("what-if kubelet-restart", "the kubelet starts; "),
    ] {
        let line = format!("{line} --snapshot examples/night/worker-3.json");
        let shown = without_colours(&at_terminal(&line, &folder, 200, &[]).stdout);
        assert!(shown.starts_with(first), "kq {line}: {shown}");
    }
}

#[test]
fn commands_to_paste_ask_about_the_same_snapshot() {
    let folder = repository();
    let snapshot = "--snapshot examples/night/worker-3.json";
    for (line, command) in [
        ("doctor", "kq gc dry-run"),
        ("what-if set evictionHard.nodefs.available=40%", "kq evict rank"),
    ] {
        let shown =
            without_colours(&at_terminal(&format!("{line} {snapshot}"), &folder, 200, &[]).stdout);
        assert!(shown.contains(&format!("see: {command} {snapshot}")), "kq {line}: {shown}");
    }
}

#[test]
fn colours_are_where_they_are_wanted() {
    let folder = folder_with(&[("pod.yaml", POD)]);
    let line = "doctor --host-root .";
    let at = |line: &str, environment: &[(&str, &str)]| {
        let shown = at_terminal(line, folder.path(), 100, environment);
        shown.stdout.contains('\u{1b}') || shown.stderr.contains('\u{1b}')
    };
    for (name, option, environment, expected) in [
        ("a terminal", "", &[] as &[(&str, &str)], true),
        ("NO_COLOR", "", &[("NO_COLOR", "1")], false),
        ("CLICOLOR=0", "", &[("CLICOLOR", "0")], false),
        ("a dumb terminal", "", &[("TERM", "dumb")], false),
        ("asked for", " --color always", &[("NO_COLOR", "1")], true),
        ("not wanted", " --color never", &[], false),
        ("JSON", " -o json", &[], false),
        ("YAML with colours", " -o yaml --color always", &[], false),
    ] {
        assert_eq!(at(&format!("{line}{option}"), environment), expected, "{name}");
    }
    let piped = |option: &str| kq(&format!("{line}{option}")).within(folder.path()).run();
    assert!(!piped("").text().contains('\u{1b}'));
    let coloured = piped(" --color always");
    assert!(coloured.stdout.contains('\u{1b}'), "{}", coloured.text());
    // The same words, in the same places.
    assert_eq!(without_colours(&coloured.stdout), piped("").stdout);
}

#[test]
fn many_assumptions_are_one_note() {
    let folder = folder_with(&[("pod.yaml", POD)]);
    let notes = |option: &str| {
        let line = format!("cgroup plan pod.yaml{option}");
        at_terminal(&line, folder.path(), 200, &[("NO_COLOR", "1")]).stderr
    };
    let short = notes("");
    assert!(short.starts_with("assumed: ") && short.contains(" more (-v shows all)"), "{short}");
    assert!(!short.contains("default: ") && short.contains("missing: "), "{short}");
    let piped = kq("cgroup plan pod.yaml").within(folder.path()).run().stderr;
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&notes(" -v")), words(&piped));
}

#[test]
fn mistakes_fit_a_terminal() {
    let folder = folder_with(&[("pod.yaml", POD)]);
    for line in [
        "evict rank --signal mem",
        "doctor -o text",
        "cgroup plann",
        "kubelet-restart",
        "cpu-manager",
        "what-if maxPods 50",
        "cgroup explain",
        "fleet doctor",
        "why pod.yaml",
        "doctor --fix",
        "devices plan --capacity x",
        "probe run pod.yaml --type lively",
    ] {
        for colour in ["", " --color always"] {
            let shown = at_terminal(&format!("{line}{colour}"), folder.path(), 80, &[]);
            fits(&without_colours(&shown.stderr), 80, line);
            assert!(!shown.stderr.is_empty(), "{line}");
        }
    }
}
