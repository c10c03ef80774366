//! Completion that knows the node, in real shells: bash, zsh in a pseudo-terminal, and fish. A test says that it is
//! skipped where its shell is not installed; `KQ_REAL_NODE=required` makes it fail.

use super::{folder_with, repository};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

const SNAPSHOT: &str = "examples/night/worker-3.json";

/// Runs a shell that can find kq, and nothing else of the environment; `None`: the shell is not installed.
fn shell(name: &str, flags: &[&str], script: &str, variables: &[(&str, &str)]) -> Option<Output> {
    let kq = Path::new(env!("CARGO_BIN_EXE_kq"));
    let folder = kq.parent().expect("a file is in a folder").display();
    // fish makes files there.
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let mut command = Command::new(name);
    command.args(flags).arg("-c").arg(script).env_clear().current_dir(repository());
    command.env("PATH", format!("{folder}:/usr/bin:/bin")).env("HOME", home.path());
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
    snapshot["runtime"] = super::lookups::not_asked();
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
    let names: Vec<String> = (0..1100).map(|number| format!("web-{number}")).collect();
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

/// Returns true where a shell is missing and need not be there, and says so.
fn is_skipped(name: &str) -> bool {
    let folders = ["/usr/bin", "/bin"];
    let is_there = folders.iter().any(|folder| Path::new(folder).join(name).exists());
    let must_be_there = std::env::var("KQ_REAL_NODE").is_ok_and(|it| it == "required");
    assert!(is_there || !must_be_there, "{name} is not installed: apt-get install {name}");
    if !is_there {
        crate::skipped::skip(&format!("{name} is not installed (apt-get install {name})"));
    }
    !is_there
}

#[test]
fn fish_completes() {
    if is_skipped("fish") {
        return;
    }
    let offers = |source: &str, line: &str| {
        let script = format!("{source}; complete -C '{line}'");
        let output = shell("fish", &["--no-config"], &script, &[]).expect("fish is installed");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
        String::from_utf8(output.stdout).expect("text")
    };
    let dynamic = "COMPLETE=fish kq | source";
    let pods = offers(dynamic, &format!("kq probe run --snapshot {SNAPSHOT} shop/ch"));
    assert_eq!(pods.trim(), "shop/checkout-6d5f7");
    for source in [dynamic, "source completions/kq.fish"] {
        let commands = offers(source, "kq cgroup whi");
        assert!(commands.starts_with("which\t"), "{source}: {commands}");
        assert!(offers(source, "kq gc images --qui").starts_with("--quiet"), "{source}");
    }
}

/// Types a line and a tab into zsh in a pseudo-terminal, and returns what it shows until it shows `expected`.
fn typed_into_zsh(source: &str, line: &str, expected: &str) -> String {
    let script = format!(
        r#"
zmodload zsh/zpty
zpty -b shell zsh -f -i
await() {{
    shown=
    repeat 400 {{
        if zpty -r -t shell part; then shown+=$part; else sleep 0.05; fi
        [[ $shown == *$1* ]] && break
    }}
}}
zpty -w shell "PS1='> '; {source}; bindkey '^I' complete-word; print REA''DY"
await READY
zpty -n -w shell $'{line}\t'
await '{expected}'
print -r -- $shown
zpty -d shell
"#
    );
    let terminal = [("TERM", "dumb")];
    let output = shell("zsh", &["-f"], &script, &terminal).expect("zsh is installed");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn zsh_completes() {
    if is_skipped("zsh") {
        return;
    }
    let dynamic = "autoload -Uz compinit; compinit -u -D; source <(COMPLETE=zsh kq)";
    let fixed = "fpath=($PWD/completions $fpath); autoload -Uz compinit; compinit -u -D";
    let pod = format!("kq probe run --snapshot {SNAPSHOT} shop/ch");
    for (source, line, expected) in [
        (dynamic, pod.as_str(), "shop/checkout-6d5f7"),
        (dynamic, "kq cgroup whi", "cgroup which"),
        (fixed, "kq cgroup whi", "cgroup which"),
        (fixed, "kq gc images --qui", "--quiet"),
    ] {
        let shown = typed_into_zsh(source, line, expected);
        assert!(shown.contains(expected), "{line}: {shown:?}");
    }
}
