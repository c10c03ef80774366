//! The program that creates containers is found beneath the node's root and queried for its version.

use super::fake::{Answers, Server};
use kq::edge::cri::{RuntimeNeeds, read_runtime, v1};
use kq::edge::program_version::{ProgramVersionError, ask_version, program_version};
use kq::edge::trust::{NamedBy, TrustedProgram};
use kq::facts::lookup::Lookup;
use kq::facts::runtime::LowLevelRuntime;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_secs(30);

/// Writes a program. Another process does it: a file that this one has open for writing, and with it
/// every process that another test starts meanwhile, could not be run.
fn program(path: &Path, script: &str) {
    let parent = path.parent().expect("a file is in a folder");
    std::fs::create_dir_all(parent).expect("a folder can be made");
    let mut install = Command::new("install")
        .args(["-m", "755", "/dev/stdin"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("install can be run");
    let mut stdin = install.stdin.take().expect("it is piped");
    stdin.write_all(format!("#!/bin/sh\n{script}\n").as_bytes()).expect("it is read");
    drop(stdin);
    assert!(install.wait().expect("it ends").success());
}

fn ask(root: &Path, socket: &str, config: &str, time: Duration) -> Lookup<LowLevelRuntime> {
    let path = root.join(&socket[1..]);
    std::fs::create_dir_all(path.parent().expect("a socket is in a folder")).expect("a folder");
    let info = [("config".to_owned(), config.to_owned())].into_iter().collect();
    let status = Some(v1::StatusResponse { status: None, info });
    let _server = Server::answering(&path, Answers { status, ..Answers::default() });
    let wants = RuntimeNeeds { low_level: true, ..RuntimeNeeds::default() };
    let facts =
        read_runtime(socket, root, NamedBy::Node, wants, time).expect("the version is answered");
    facts.low_level
}

/// Opens a program in the folder of a test.
fn trusted(path: &Path) -> TrustedProgram {
    let (folder, name) = (path.parent().expect("a folder"), path.file_name().expect("a name"));
    TrustedProgram::find(folder, &name.to_string_lossy()).expect("it is trusted")
}

fn containerd(binary: &str) -> String {
    format!(
        r#"{{"containerd":{{"defaultRuntimeName":"r","runtimes":{{"r":{{
            "runtimeType":"io.containerd.runc.v2","options":{{"BinaryName":{binary:?}}}}}}}}}}}"#
    )
}

#[test]
fn it_is_found_beneath_the_root_of_the_node() {
    let root = tempfile::tempdir().expect("a temporary folder can be made");
    let root = root.path();
    program(&root.join("usr/lib/cargo/runc"), "echo runc version 1.1.5+ds1; echo commit: x");
    std::fs::create_dir_all(root.join("usr/sbin")).expect("a folder can be made");
    std::fs::create_dir_all(root.join("etc")).expect("a folder can be made");
    // As alternatives do it: from the root, twice.
    symlink("/etc/runc", root.join("usr/sbin/runc")).expect("a link can be made");
    symlink("/usr/lib/cargo/runc", root.join("etc/runc")).expect("a link can be made");
    program(&root.join("opt/crun"), "echo crun version 1.8.1");
    program(&root.join("var/lib/rancher/rke2/bin/runc"), "echo runc version 1.2.3");
    program(&root.join("usr/libexec/crun"), "echo half version");
    program(&root.join("usr/libexec/marker"), &format!("touch {}/executed", root.display()));
    std::fs::write(root.join("usr/libexec/runc"), "").expect("a file can be written");
    std::fs::create_dir_all(root.join("usr/libexec/youki")).expect("a folder can be made");
    let usual = "/run/containerd/containerd.sock";
    let rke2 = "/run/k3s/containerd/containerd.sock";
    let crio =
        r#"{"crio":{"DefaultRuntime":"crun","Runtimes":{"crun":{"RuntimePath":"/opt/crun"}}}}"#;
    let rows = [
        ("by its usual name", usual, containerd(""), "runc 1.1.5+ds1 /usr/sbin/runc"),
        ("by a path", usual, containerd("/opt/crun"), "crun 1.8.1 /opt/crun"),
        ("CRI-O", "/run/crio/crio.sock", crio.to_owned(), "crun 1.8.1 /opt/crun"),
        ("bundled", rke2, containerd("runc"), "runc 1.2.3 /var/lib/rancher/rke2/bin/runc"),
        (
            "absent",
            usual,
            containerd("youki"),
            "Status(verbose): \"youki\" of runtime \"r\": not found in /usr/local/sbin:\
             /usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        ),
        (
            "a path that is absent",
            usual,
            containerd("/opt/runc"),
            "Status(verbose): \"/opt/runc\" of runtime \"r\": no such file or directory",
        ),
        (
            "no program",
            usual,
            containerd("/usr/libexec/runc"),
            "Status(verbose): \"/usr/libexec/runc\" of runtime \"r\": not an executable file",
        ),
        (
            "a folder",
            usual,
            containerd("/usr/libexec/youki"),
            "Status(verbose): \"/usr/libexec/youki\" of runtime \"r\": not an executable file",
        ),
        (
            "relative",
            usual,
            containerd("bin/runc"),
            "Status(verbose): \"bin/runc\" of runtime \"r\": is a relative path",
        ),
        (
            "another program",
            usual,
            containerd("/usr/libexec/marker"),
            "Status(verbose): \"/usr/libexec/marker\" of runtime \"r\": not executed: not the name of a \
             known low-level runtime",
        ),
        (
            "without a version",
            usual,
            containerd("/usr/libexec/crun"),
            "Status(verbose): /usr/libexec/crun: --version printed \"half version\", which contains no version",
        ),
    ];
    for (name, socket, config, expected) in rows {
        let _ = std::fs::remove_file(root.join(&socket[1..]));
        let sought = ask(root, socket, &config, TIME);
        let said = match sought.value() {
            Some(found) => format!("{} {} {}", found.name, found.version, found.path),
            None => sought.reason().replace(&format!("{socket} "), ""),
        };
        assert_eq!(said, expected, "{name}");
    }
    assert!(!root.join("executed").exists());
}

#[test]
fn a_program_that_misbehaves_is_ended() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = |name: &str| folder.path().join(name);
    let left = path("left");
    let rows = [
        ("hangs", "exec sleep 1000".to_owned(), "did not end within 700ms"),
        (
            "says it and hangs",
            "echo a version 1; exec sleep 1000".to_owned(),
            "did not end within 700ms",
        ),
        ("closes and hangs", "exec >&- 2>&-; sleep 1000".to_owned(), "did not end within 700ms"),
        (
            "leaves a child with its output",
            format!("(sleep 2; touch {}) & echo a version 1", left.display()),
            "did not end within 700ms",
        ),
        (
            "ignores signals",
            "trap '' TERM INT HUP; while :; do sleep 1; done".to_owned(),
            "did not end",
        ),
        ("writes for ever", "exec yes a version 1".to_owned(), "--version ended with signal 13"),
        (
            "one line for ever",
            "exec tr '\\0' x </dev/zero".to_owned(),
            "--version ended with signal 13",
        ),
        (
            "fails",
            "echo no such flag >&2; exit 3".to_owned(),
            "--version ended with exit code 3: no such flag",
        ),
        ("fails without a word", "exit 1".to_owned(), "--version ended with exit code 1"),
        ("is killed", "kill -9 $$".to_owned(), "--version ended with signal 9"),
        ("says nothing", ":".to_owned(), "--version printed \"\", which contains no version"),
        (
            "says nonsense",
            "printf '\\033[2J\\377'".to_owned(),
            "--version printed \"\\u{1b}[2J\u{fffd}\", which",
        ),
    ];
    for (name, script, expected) in rows {
        let program_path = path("program");
        program(&program_path, &script);
        let begin = Instant::now();
        let error =
            program_version(&trusted(&program_path), Duration::from_millis(700)).expect_err(name);
        assert!(begin.elapsed() < Duration::from_secs(6), "{name}: took {:?}", begin.elapsed());
        assert!(error.to_string().starts_with(expected), "{name}: {error}");
    }
    std::thread::sleep(Duration::from_secs(2));
    assert!(!left.exists(), "the child was ended with its program");
}

#[test]
fn a_program_has_no_environment_and_no_input() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("program");
    program(
        &path,
        "read line && exit 1\n[ \"$1\" = --version ] || exit 2\n\
         [ -z \"$HOME$CARGO_MANIFEST_DIR\" ] || exit 3\n[ \"$(pwd)\" = / ] || exit 4\n\
         echo Kubernetes v1.36.2",
    );
    let said = ask_version(&trusted(&path), TIME).expect("it answers");
    assert_eq!((said.name.as_str(), said.version.as_str()), ("Kubernetes", "v1.36.2"));
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("program");
    program(&path, "");
    Command::new("sh")
        .args(["-c", "printf '#!/nonexistent/interpreter' >\"$0\""])
        .arg(&path)
        .status()
        .expect("a shell runs");
    let error = program_version(&trusted(&path), TIME).expect_err("no interpreter");
    assert!(matches!(error, ProgramVersionError::Start(_)), "{error:?}");
    for path in ["/nonexistent/runc", "/"] {
        TrustedProgram::find(Path::new("/"), path).expect_err(path);
    }
}
