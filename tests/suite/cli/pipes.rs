//! Inputs that are pipes: of a shell, and a named one without a writer; an output that is full.

use super::{folder_with, kq};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const POD: &str =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n";
const CPU: &[u8] = include_bytes!("devices_verify/cpu_manager_state");

#[test]
fn a_named_pipe_that_nobody_writes_to_ends() {
    let folder = folder_with(&[("pod.yaml", POD)]);
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let lines = [
        "cgroup plan pipe",
        "cgroup plan pod.yaml --kubelet-config pipe",
        "cgroup plan pod.yaml --snapshot pipe",
        "devices verify pipe",
        "devices verify --checkpoint pipe",
        "devices list --checkpoint pipe",
        "devices list --pod-resources pipe",
        "devices list --node-file pipe",
        "devices list --pods pipe",
        "devices plan pod.yaml --devices pipe",
        "admit explain pod.yaml --node-file pipe",
        "preempt why p --pods pipe",
        "preempt why p --events pipe",
        "preempt why p --kubelet-log pipe",
        #[cfg(feature = "cri")]
        "devices allocate pipe --dir .",
    ];
    let began = Instant::now();
    let runs = lines.map(|line| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kq"));
        command.args(line.split(' ')).env_clear().current_dir(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        (line, command.spawn().expect("kq runs"))
    });
    for (line, run) in runs {
        let output = run.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(3), "{line}: {said}");
        assert!(said.contains("pipe"), "{line}: {said}");
        assert!(said.contains("a named pipe without a writer"), "{line}: {said}");
    }
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn what_a_shell_hands_over_is_read() {
    let folder = folder_with(&[("pod.yaml", POD), ("state", "")]);
    std::fs::write(folder.path().join("state"), CPU).expect("written");
    for line in [
        "$kq cgroup plan <(cat pod.yaml) --capacity cpu=1",
        "$kq cgroup plan <(sleep 0.2; cat pod.yaml) --capacity cpu=1",
        "$kq cgroup plan /dev/stdin --capacity cpu=1 < pod.yaml",
        "cat pod.yaml | $kq cgroup plan /dev/stdin --capacity cpu=1",
        "$kq devices verify <(cat state)",
        "$kq devices verify --kind cpu_manager_state /dev/stdin < state",
        "mkfifo late; (sleep 0.2; cat state > late) & $kq devices verify late",
    ] {
        let mut command = Command::new("bash");
        command.args(["-c", line]).env("kq", env!("CARGO_BIN_EXE_kq")).current_dir(folder.path());
        let output = command.output().expect("bash runs");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
    }
}

#[test]
fn an_output_that_takes_no_more_is_named() {
    let folder = folder_with(&[("pod.yaml", POD)]);
    let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has one");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kq"));
    command.args(["cgroup", "plan", "pod.yaml", "--capacity", "cpu=1"]).stdout(full);
    let output = command.current_dir(folder.path()).output().expect("kq runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("kq: standard output: No space left on device"), "{said}");
}

#[test]
fn standard_input_is_read_once() {
    let ran = kq("devices list --checkpoint - --pods -").stdin("{}").run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(
        ran.stderr.contains("it has been read already; only one input can be -"),
        "{}",
        ran.text()
    );
}
