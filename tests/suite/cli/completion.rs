//! Completion that knows the node, in real shells. zsh and fish are tried where they are installed.

use super::{folder_with, repository};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

const SNAPSHOT: &str = "examples/night/worker-3.json";

/// Runs a shell that can find kq, and nothing else of the environment; `None`: the shell is not installed.
fn shell(name: &str, flags: &[&str], script: &str, variables: &[(&str, &str)]) -> Option<Output> {
    let kq = Path::new(env!("CARGO_BIN_EXE_kq"));
    let folder = kq.parent().expect("a file is in a folder").display();
    let mut command = Command::new(name);
    command.args(flags).arg("-c").arg(script).env_clear().current_dir(repository());
    command.env("PATH", format!("{folder}:/usr/bin:/bin")).env("HOME", "/nonexistent");
    match command.envs(variables.iter().copied()).output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => panic!("{name}: {error}"),
    }
}

/// Returns what bash would offer for the last word.
fn in_bash(words: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
    let at = words.len() - 1;
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        "source <(COMPLETE=bash kq); COMP_WORDS=({}); COMP_CWORD={at}; COMP_TYPE=9; \
         _clap_complete_kq kq {} {}; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        quoted[at],
        quoted[at - 1],
    );
    let output = shell("bash", &["--norc"], &script, variables).expect("bash can be run");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    let offered = String::from_utf8(output.stdout).expect("text");
    offered.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_offers_what_is_on_the_node() {
    let given = ["--snapshot", SNAPSHOT];
    for (command, word, expected) in [
        (&["probe", "run"][..], "shop/ch", "shop/checkout-6d5f7"),
        (&["probe", "plan"], "checkout", "checkout-6d5f7"),
        (&["preempt", "why"], "shop/", "shop/checkout-6d5f7"),
        (&["cgroup", "explain"], "cpu.w", "cpu.weight"),
        (&["evict", "rank", "--signal"], "mem", "memory"),
    ] {
        let words = [&["kq"], &command[..2], &given, &command[2..], &[word]].concat();
        let words =
            if command[1] == "explain" { [&["kq"], command, &[word]].concat() } else { words };
        let offered = in_bash(&words, &[]);
        assert!(offered.iter().any(|it| it == expected), "{words:?}: {offered:?}");
    }
}

#[test]
fn a_snapshot_can_be_in_the_environment() {
    let offered = in_bash(&["kq", "probe", "run", "shop/ch"], &[("KQ_SNAPSHOT", SNAPSHOT)]);
    assert_eq!(offered, ["shop/checkout-6d5f7"]);
}

#[test]
fn commands_and_flags_are_offered_and_hidden_commands_are_not() {
    assert_eq!(in_bash(&["kq", "cgroup", "whi"], &[]), ["which"]);
    assert_eq!(in_bash(&["kq", "cgroup", "plan", "--kubelet-ver"], &[]), ["--kubelet-version"]);
    let commands = in_bash(&["kq", ""], &[]);
    assert!(commands.contains(&"doctor".to_owned()), "{commands:?}");
    assert!(!commands.contains(&"man".to_owned()), "{commands:?}");
}

/// Returns the snapshot with pods of these names.
fn with_pods(names: &[&str]) -> String {
    let text = std::fs::read_to_string(repository().join(SNAPSHOT)).expect("a snapshot");
    let mut snapshot: Value = serde_json::from_str(&text).expect("JSON");
    let pods = snapshot["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
    let first = pods[0].clone();
    *pods = names
        .iter()
        .map(|name| {
            let mut pod = first.clone();
            pod["pod"]["metadata"]["name"] = json!(name);
            pod["pod"]["metadata"]["namespace"] = json!("shop");
            pod
        })
        .collect();
    snapshot["runtime"] = json!({"found": null, "tried": []});
    snapshot.to_string()
}

#[test]
fn names_that_a_shell_would_run_are_not_offered() {
    let hostile =
        ["x$(touch hacked)", "x`id`", "x;id", "x*", "x y", "x\u{1b}[2J", "x\u{202e}", "x-good"];
    let folder = folder_with(&[("snapshot.json", with_pods(&hostile))]);
    let file = folder.path().join("snapshot.json").display().to_string();
    let offered = in_bash(&["kq", "probe", "plan", "--snapshot", &file, "shop/x"], &[]);
    assert_eq!(offered, ["shop/x-good"]);
}

#[test]
fn many_names_are_bounded() {
    let names: Vec<String> = (0..1500).map(|number| format!("web-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let folder = folder_with(&[("snapshot.json", with_pods(&names))]);
    let file = folder.path().join("snapshot.json").display().to_string();
    let offered = in_bash(&["kq", "probe", "plan", "--snapshot", &file, "shop/web"], &[]);
    assert_eq!(offered.len(), 1000);
}

#[test]
fn errors_are_silent() {
    let folder = folder_with(&[("bad.json", "{")]);
    let bad = folder.path().join("bad.json").display().to_string();
    for file in ["no-such-file", "-", &bad] {
        let offered = in_bash(&["kq", "preempt", "why", "--snapshot", file, "shop/"], &[]);
        assert!(file == "-" || offered.is_empty(), "{file}: {offered:?}");
    }
}

#[test]
fn fish_and_zsh_understand_it() {
    let line = format!("kq probe run --snapshot {SNAPSHOT} shop/ch");
    let script = format!("COMPLETE=fish kq | source; complete -C '{line}'");
    if let Some(output) = shell("fish", &["--no-config"], &script, &[]) {
        let offered = String::from_utf8_lossy(&output.stdout);
        assert_eq!(offered.trim(), "shop/checkout-6d5f7");
    }
    // What zsh does with the candidates needs a terminal; that it reads them apart does not.
    let script = format!(
        "compdef() {{ }}; _describe() {{ print -l -- ${{(P)3}} }}; source <(COMPLETE=zsh kq); \
         words=({line}); CURRENT=$#words; _clap_dynamic_completer_kq"
    );
    if let Some(output) = shell("zsh", &["-f"], &script, &[]) {
        let offered = String::from_utf8_lossy(&output.stdout);
        assert!(offered.lines().any(|it| it == "shop/checkout-6d5f7"), "{offered}");
    }
}
