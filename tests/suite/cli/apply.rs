//! `kq cgroup apply` and `rollback`: what is done, what is refused, and what a kill leaves.

use super::fake_node::FakeNode;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

const POD: &str = "/kubepods/burstable/podaaaa-1";
const APP: &str = "/kubepods/burstable/podaaaa-1/app1";

/// What a test changes: cgroup, file, text.
const DRIFT: [(&str, &str, &str); 5] = [
    ("/kubepods", "cpu.weight", "1"),
    (POD, "memory.max", "67108864"),
    (POD, "cpu.weight", "9999"),
    (APP, "memory.max", "268435456"),
    (APP, "cpu.max", "1000 100000"),
];

fn drifting() -> FakeNode {
    let node = FakeNode::as_planned();
    assert_eq!(node.differences(), Vec::<String>::new(), "as planned");
    for (cgroup, file, text) in DRIFT {
        node.set(cgroup, file, text);
    }
    node
}

fn texts(node: &FakeNode) -> BTreeMap<String, String> {
    let place = |(cgroup, file, _): &(&str, &str, &str)| {
        (format!("{cgroup}/{file}"), node.get(cgroup, file))
    };
    DRIFT.iter().map(place).collect()
}

#[test]
fn what_drifts_is_written_and_can_be_taken_back() {
    let node = drifting();
    let before = texts(&node);
    let ran = node.described("cgroup apply --yes --rollback-file back.json").run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(node.differences(), Vec::<String>::new());
    // Raised from the top down, then lowered from the bottom up.
    let order: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.contains(": done"))
        .filter_map(|line| line.split([' ', ':']).nth(1))
        .collect();
    assert_eq!(
        order,
        [
            "/kubepods/cpu.weight",
            "/kubepods/burstable/podaaaa-1/memory.max",
            "/kubepods/burstable/podaaaa-1/app1/cpu.max",
            "/kubepods/burstable/podaaaa-1/app1/memory.max",
            "/kubepods/burstable/podaaaa-1/cpu.weight",
        ]
    );
    let ran = node.described("cgroup apply --yes").run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "nothing to write\n"), "{}", ran.stderr);
    let ran = node.kq("cgroup rollback back.json --yes").run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(texts(&node), before);
}

#[test]
fn killed_at_any_step_it_leaves_the_reported_prefix_and_the_rollback_restores() {
    let lines = 2 * DRIFT.len();
    for told in 0..=lines {
        let node = drifting();
        let before = texts(&node);
        let said = kill_after(&node, told);
        let (begun, done): (Vec<_>, Vec<_>) = (places(&said, ": ... "), places(&said, ": done"));
        for (place, text) in texts(&node) {
            let changed = before[&place] != text;
            match (begun.contains(&place), done.contains(&place)) {
                (_, true) => assert!(changed, "killed after {told}: {place} was done\n{said}"),
                (false, false) => assert!(!changed, "killed after {told}: {place} was not\n{said}"),
                // It was written, and kq was killed before it could say so.
                (true, false) => assert_eq!(begun.last(), Some(&place), "only the last one"),
            }
        }
        let ran = node.kq("cgroup rollback back.json --yes").run();
        assert_eq!(ran.code, 0, "killed after {told}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(texts(&node), before, "killed after {told}");
    }
}

/// Returns the places of which a line says so.
fn places(said: &str, mark: &str) -> Vec<String> {
    let is_meant = |line: &&str| match mark {
        ": ... " => line.ends_with(" ..."),
        mark => line.contains(mark),
    };
    let place = |line: &str| line.split([' ', ':']).nth(1).map(str::to_owned);
    said.lines().filter(is_meant).filter_map(place).collect()
}

/// Runs apply, kills it when it has told so many of its steps, and returns what it told.
///
/// Its output is a pipe that holds one line: kq waits with each line until the one before was read, and
/// so cannot be further than that.
fn kill_after(node: &FakeNode, told: usize) -> String {
    let (read, write) = pipe_with(PipeFlags::DIRECT | PipeFlags::CLOEXEC).expect("a pipe");
    fcntl_setpipe_size(&write, 4096).expect("a small pipe");
    let mut child = Command::new(env!("CARGO_BIN_EXE_kq"))
        .args(["cgroup", "apply", "--yes", "--rollback-file", "back.json", "--host-root", "root"])
        .args(["--kubelet-config", "kubelet.yaml", "--kubelet-url", "http://127.0.0.1:1"])
        .args(["--pods", "pods.json", "--kubelet-version", "1.36", "--runtime", "runc=1.3.6"])
        .env_clear()
        .current_dir(node.folder())
        .stdin(Stdio::null())
        .stdout(Stdio::from(write))
        .stderr(Stdio::null())
        .spawn()
        .expect("kq starts");
    let mut pipe = File::from(read);
    let mut said = String::new();
    let mut packet = [0; 4096];
    while steps_told(&said) < told {
        match pipe.read(&mut packet).expect("the pipe can be read") {
            0 => break,
            count => said.push_str(&String::from_utf8_lossy(&packet[..count])),
        }
    }
    // It looks a second time before it begins.
    while !node.folder().join("back.json").exists() {
        assert!(child.try_wait().expect("it can be asked").is_none(), "it ended before it began");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    wait_until_it_waits(child.id());
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    pipe.read_to_string(&mut said).expect("what is left can be read");
    said
}

/// Returns how many lines tell of steps: two for each, before and after.
fn steps_told(said: &str) -> usize {
    let numbered = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit());
    said.lines().filter(numbered).filter(|line| line.contains("/5 /kubepods")).count()
}

/// Waits until a process sleeps, as it does when nobody reads what it writes, or has ended.
fn wait_until_it_waits(pid: u32) {
    loop {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it is not reaped yet");
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start().chars().next();
        if matches!(state, Some('S' | 'Z')) {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn limits_below_use_need_a_word() {
    let node = drifting();
    let before = texts(&node);
    node.set(APP, "memory.current", "201326592");
    let ran = node.described("cgroup apply --yes").run();
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("134217728 is below the current usage, 201326592"),
        "{}",
        ran.stderr
    );
    assert_eq!(texts(&node), before, "nothing was written");
    let ran = node.described("cgroup apply --yes --allow-oom").run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(node.differences(), Vec::<String>::new());
}

#[test]
fn a_planted_link_is_refused_before_any_write() {
    let node = drifting();
    let outside = node.folder().join("outside");
    fs::create_dir(&outside).expect("a folder");
    for (name, text) in
        [("memory.max", "268435456\n"), ("cpu.max", "1000 100000\n"), ("memory.current", "1\n")]
    {
        fs::write(outside.join(name), text).expect("a file");
    }
    let app = node.file(APP, "memory.max").parent().expect("a folder").to_owned();
    let moved = node.folder().join("moved");
    for (name, link) in [("the file", app.join("memory.max")), ("the folder", app.clone())] {
        let _ = fs::remove_dir_all(&moved);
        fs::rename(&link, &moved).expect("it can be moved");
        let target =
            if link.ends_with("memory.max") { outside.join("memory.max") } else { outside.clone() };
        symlink(&target, &link).expect("a link");
        let before = fs::read_to_string(outside.join("memory.max")).expect("a file");
        let ran = node.described("cgroup apply --yes").run();
        assert_ne!(ran.code, 5, "{name}: {}", ran.stderr);
        assert_eq!(
            fs::read_to_string(outside.join("memory.max")).expect("a file"),
            before,
            "{name}"
        );
        fs::remove_file(&link).expect("the link can be removed");
        fs::rename(&moved, &link).expect("it can be moved back");
    }
}

#[test]
fn a_hostile_uid_or_rollback_never_becomes_a_path() {
    let node = drifting();
    let before = texts(&node);
    let pods = fs::read_to_string(node.folder().join("pods.json")).expect("a file");
    for uid in ["../../../etc", "a/../../b", "/etc", "..", "a/b"] {
        fs::write(node.folder().join("pods.json"), pods.replace("aaaa-1", uid)).expect("a file");
        let ran = node.described("cgroup apply --yes").run();
        assert!(!matches!(ran.code, 0 | 5), "{uid}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(texts(&node), before, "{uid}");
    }
    let evil = node.folder().join("root/sys/fs/cgroup/system.slice");
    let weight = || fs::read_to_string(evil.join("cpu.weight")).expect("a file");
    for cgroup in [
        "/system.slice",
        "/kubepods/../system.slice",
        "system.slice",
        "/kubepods/./../system.slice",
    ] {
        let step = serde_json::json!({
            "cgroup": cgroup, "owner": "x", "file": "cpu.weight", "from": "100", "to": "1", "writer": "kubelet",
        });
        let rollback = serde_json::json!({
            "apiVersion": "kq/v1", "kind": "CgroupRollback", "madeAt": "", "steps": [step],
        });
        fs::write(node.folder().join("evil.json"), rollback.to_string()).expect("a file");
        let ran = node.kq("cgroup rollback evil.json --yes").run();
        assert_eq!((ran.code, weight().as_str()), (4, "100\n"), "{cgroup}: {}", ran.stderr);
    }
}

#[test]
fn nobody_to_ask_is_a_no() {
    let node = drifting();
    let before = texts(&node);
    for (line, code, expected) in [
        ("cgroup apply", 4, "confirmation needs a terminal"),
        ("cgroup apply --dry-run", 0, ""),
        ("cgroup apply --dry-run --yes", 2, "cannot be used with"),
    ] {
        let ran = node.described(line).run();
        assert_eq!(ran.code, code, "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{line}: {}", ran.stderr);
        assert_eq!(texts(&node), before, "{line}");
    }
}

#[test]
fn a_way_back_is_never_written_over() {
    let node = drifting();
    let before = texts(&node);
    fs::write(node.folder().join("back.json"), "mine").expect("a file");
    let ran = node.described("cgroup apply --yes --rollback-file back.json").run();
    assert_eq!(ran.code, 4, "{}", ran.stderr);
    assert_eq!(fs::read_to_string(node.folder().join("back.json")).expect("a file"), "mine");
    assert_eq!(texts(&node), before);
}

#[test]
fn nothing_is_written_on_a_guess() {
    let node = drifting();
    let before = texts(&node);
    let plain = |flags: &str| {
        let line = format!("cgroup apply --yes --host-root root --pods pods.json {flags}");
        super::kq(&line).within(node.folder()).run()
    };
    for (flags, expected) in [
        ("--kubelet-version 1.36 --runtime runc=1.3.6", "--kubelet-config FILE"),
        ("--kubelet-config kubelet.yaml --runtime runc=1.3.6", "--kubelet-version VERSION"),
    ] {
        let ran = plain(flags);
        assert_eq!(ran.code, 4, "{flags}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(expected), "{flags}: {}", ran.stderr);
        assert_eq!(texts(&node), before, "{flags}");
    }
    node.set(APP, "cpu.weight", "3");
    let ran = plain("--kubelet-config kubelet.yaml --kubelet-version 1.36");
    // The weight is left as it is, and all else is written.
    assert_eq!(ran.code, 3, "a weight needs its formula: {}{}", ran.stdout, ran.stderr);
    assert_eq!(node.get(APP, "cpu.weight"), "3");
    assert!(
        ran.stderr.contains("/app1/cpu.weight: the planned value is unknown"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_way_back_is_looked_at_as_a_whole() {
    let node = drifting();
    let ran = node.described("cgroup apply --yes --rollback-file back.json").run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let applied = texts(&node);
    // Somebody changed one of the values: nothing is taken back.
    node.set(APP, "cpu.max", "7000 100000");
    for line in ["cgroup rollback back.json --dry-run", "cgroup rollback back.json --yes"] {
        let ran = node.kq(line).run();
        assert_eq!(ran.code, 4, "{line}: {}{}", ran.stdout, ran.stderr);
        assert!(
            ran.stdout.contains("blocked") && ran.stderr.contains("another program changed it")
        );
    }
    node.set(APP, "cpu.max", "50000 100000");
    assert_eq!(texts(&node), applied, "nothing was taken back");
    // A container that is gone took its values with it.
    fs::remove_dir_all(node.file(APP, "cpu.max").parent().expect("a folder")).expect("it goes");
    let ran = node.kq("cgroup rollback back.json --yes").run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("gone"), "{}", ran.stdout);
    assert_eq!(node.get("/kubepods", "cpu.weight"), "1");
    assert_eq!(node.get(POD, "cpu.weight"), "9999");
}

#[test]
fn loosening_a_limit_harms_nobody() {
    let node = FakeNode::as_planned();
    node.set(APP, "memory.max", "1048576");
    node.set(APP, "memory.current", "201326592");
    let ran = node.described("cgroup apply --yes --rollback-file back.json").run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(node.get(APP, "memory.max"), "134217728");
}

#[test]
fn a_pod_that_is_given_twice_is_one() {
    let node = drifting();
    let ran = node.described("cgroup apply --yes").arg("--pods").arg("pods.json").run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("listed more than once: the last one counts"), "{}", ran.stderr);
    assert_eq!(node.differences(), Vec::<String>::new());
}
