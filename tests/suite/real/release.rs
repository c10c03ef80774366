//! What is shipped: packages come and go, and the image answers as the binary does on its host.
//!
//! `$KQ_RELEASE` names a folder that `scripts/release` filled. Without it, the packages are made of the binary under test,
//! and the image, which needs a static one, is left out.

use super::{is_guest, leave_out, must_be_root, node, skip};
use crate::cli::repository;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const RELEASE: &str = "KQ_RELEASE";

/// Runs a program and returns what it wrote.
#[track_caller]
fn run(program: &str, arguments: &[&str]) -> Output {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(repository())
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .env("KQ_PACKAGE_LEVEL", "1")
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() || program.ends_with("kq"),
        "{program} {arguments:?}: {failed}"
    );
    output
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of UTF-8")
}

/// Returns the file of a folder that ends so.
fn file(folder: &Path, end: &str) -> PathBuf {
    let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
    files.into_iter().find(|path| text(path).ends_with(end)).unwrap_or_else(|| panic!("no {end}"))
}

fn release() -> Option<PathBuf> {
    std::env::var_os(RELEASE).map(PathBuf::from)
}

/// Returns a folder with packages for this machine.
fn packages(work: &Path) -> PathBuf {
    if let Some(release) = release() {
        return release;
    }
    let binary = work.join("kq");
    run("strip", &["-o", text(&binary), env!("CARGO_BIN_EXE_kq")]);
    let (one, other) = (work.join("one"), work.join("other"));
    for folder in [&one, &other] {
        run("scripts/package", &[text(&binary), "amd64", text(folder)]);
    }
    for end in ["_amd64.deb", ".x86_64.rpm", "-linux-amd64.tar.gz"] {
        let read = |folder: &Path| fs::read(file(folder, end)).expect("a package");
        assert!(read(&one) == read(&other), "{end}: the same input gives the same bytes");
    }
    one
}

/// Checks what a package put below a root folder.
fn check_installed(root: &Path) {
    let kq = root.join("usr/bin/kq");
    let said = run(text(&kq), &["version", "-o", "json"]);
    let said: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    assert_eq!(said["kind"], "Version");
    let help = run(text(&root.join("usr/bin/kubectl-kq")), &["gc", "--help"]);
    let help = String::from_utf8(help.stdout).expect("text");
    assert!(help.contains("Usage: kubectl kq gc "), "{help}");
    let link = fs::read_link(root.join("usr/bin/kubectl-kq")).expect("a link");
    assert_eq!(link, Path::new("kq"));
    for path in [
        "usr/share/man/man1/kq-what-if.1.gz",
        "usr/share/bash-completion/completions/kq",
        "usr/share/fish/vendor_completions.d/kq.fish",
        "usr/lib/systemd/system/kq-gc-record.service",
        "usr/share/doc/kq/LICENSE",
    ] {
        assert!(root.join(path).is_file(), "{path}");
    }
}

#[test]
fn packages_are_installed_and_removed() {
    if is_guest() {
        return;
    }
    if let Err(reason) = must_be_root() {
        return skip(&reason);
    }
    for program in ["dpkg", "rpm", "rpmbuild", "strip"] {
        if !has(program) {
            return skip(&format!("{program} is missing: apt-get install dpkg rpm binutils"));
        }
    }
    let work = tempfile::tempdir().expect("a folder");
    let packages = packages(work.path());

    let root = work.path().join("deb");
    fs::create_dir_all(root.join("var/lib/dpkg/info")).expect("a folder");
    fs::create_dir_all(root.join("var/lib/dpkg/updates")).expect("a folder");
    fs::write(root.join("var/lib/dpkg/status"), "").expect("a file");
    let root_flag = format!("--root={}", text(&root));
    let dpkg = |arguments: &[&str]| {
        let flags = [root_flag.as_str(), "--force-script-chrootless"];
        run("dpkg", &[&flags, arguments].concat())
    };
    dpkg(&["--install", text(&file(&packages, "_amd64.deb"))]);
    check_installed(&root);
    assert!(root.join("usr/share/zsh/vendor-completions/_kq").is_file());
    dpkg(&["--purge", "kq"]);
    assert!(!root.join("usr/bin/kq").exists() && !root.join("usr/share/doc/kq").exists());

    let root = work.path().join("rpm");
    fs::create_dir(&root).expect("a folder");
    let rpm = |arguments: &[&str]| {
        let flags = ["--root", text(&root), "--nodeps", "--noscripts"];
        run("rpm", &[&flags, arguments].concat())
    };
    rpm(&["--install", text(&file(&packages, ".x86_64.rpm"))]);
    check_installed(&root);
    assert!(root.join("usr/share/zsh/site-functions/_kq").is_file());
    rpm(&["--erase", "kq"]);
    assert!(!root.join("usr/bin/kq").exists());
}

/// Returns what doctor found: severity, rule and subject of each.
fn findings(output: &Output) -> BTreeSet<String> {
    let answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let items = answer["items"].as_array().expect("findings").iter();
    items.map(|it| format!("{} {} {}", it["severity"], it["id"], it["subject"])).collect()
}

#[test]
fn the_image_answers_as_the_binary_on_its_host() {
    let Some(release) = release() else {
        return leave_out(&format!("{RELEASE} names no folder of scripts/release"));
    };
    let Some(node) = node() else { return };
    let work = tempfile::tempdir().expect("a folder");
    run("tar", &["-xzf", text(&file(&release, "-linux-amd64.tar.gz")), "-C", text(work.path())]);
    let kq = file(&file(work.path(), "-amd64"), "/kq");
    let ctr = |arguments: &[&str]| {
        let flags = ["--address", text(&node.socket), "--namespace", "kq-release"];
        run("ctr", &[&flags, arguments].concat())
    };
    ctr(&["images", "import", "--snapshotter", "native", text(&file(&release, "-image.tar"))]);
    let names = ctr(&["images", "list", "--quiet"]);
    let name = String::from_utf8(names.stdout).expect("names");
    let on_host = run(text(&kq), &["doctor", "-o", "json"]);
    // Those of this machine, as in a pod with hostPID.
    let processes = format!("pid:/proc/{}/ns/pid", std::process::id());
    let flags = [
        "run",
        "--rm",
        "--privileged",
        "--net-host",
        "--snapshotter",
        "native",
        "--with-ns",
        &processes,
        "--mount",
        "type=bind,src=/,dst=/host,options=rbind:ro",
        name.trim(),
        "kq-release",
        "/usr/bin/kq",
        "doctor",
        "-o",
        "json",
    ];
    let ran = Command::new("ctr")
        .args(["--address", text(&node.socket), "--namespace", "kq-release"])
        .args(flags)
        .output()
        .expect("ctr");
    assert_eq!(findings(&ran), findings(&on_host));
    ctr(&["images", "remove", "--sync", name.trim()]);
}

/// Returns the type of a binary by its header: the format and the machine.
fn type_of(binary: &[u8]) -> (&'static str, u32) {
    let word = |at: usize| u32::from_le_bytes(binary[at..at + 4].try_into().expect("four bytes"));
    match &binary[..4] {
        // The magic number and the type of the processor (`mach-o/loader.h`).
        [0xcf, 0xfa, 0xed, 0xfe] => ("Mach-O", word(4)),
        // The offset of the header is at 0x3c; the machine follows its signature.
        [b'M', b'Z', ..] => ("PE", word(word(0x3c) as usize + 4) & 0xffff),
        other => panic!("{other:?} is no binary of macOS or Windows"),
    }
}

#[test]
fn the_archives_of_other_systems_hold_their_binaries() {
    if is_guest() {
        return;
    }
    let Some(release) = release() else {
        return leave_out(&format!("{RELEASE} names no folder of scripts/release"));
    };
    if !has("unzip") {
        return leave_out("unzip is missing");
    }
    let work = tempfile::tempdir().expect("a folder");
    for (end, program, expected) in [
        ("-darwin-amd64.tar.gz", "kq", ("Mach-O", 0x0100_0007)),
        ("-darwin-arm64.tar.gz", "kq", ("Mach-O", 0x0100_000c)),
        ("-windows-amd64.zip", "kq.exe", ("PE", 0x8664)),
    ] {
        let archive = file(&release, end);
        let name = archive.file_name().and_then(|name| name.to_str()).expect("a name");
        let folder = work.path().join(name.trim_end_matches(".tar.gz").trim_end_matches(".zip"));
        match end.ends_with(".zip") {
            true => run("unzip", &["-q", text(&archive), "-d", text(work.path())]),
            false => run("tar", &["-xzf", text(&archive), "-C", text(work.path())]),
        };
        let binary = fs::read(folder.join(program)).expect("a binary");
        assert_eq!(type_of(&binary), expected, "{end}");
        for document in ["LICENSE", "completions/kq.bash", "man/kq-doctor.1"] {
            assert!(folder.join(document).is_file(), "{end}: {document}");
        }
    }
    if !has("wine") {
        return leave_out("wine is missing: the binary for Windows is not run");
    }
    let kq = file(&file(work.path(), "-windows-amd64"), "/kq.exe");
    let prefix = work.path().join("wine");
    let wine = |arguments: &[&str]| {
        let mut command = Command::new("wine");
        command.arg(&kq).args(arguments).current_dir(repository());
        command.env("WINEPREFIX", &prefix).env("WINEDEBUG", "-all").output().expect("wine")
    };
    if !wine(&["version", "--client"]).status.success() {
        return leave_out(
            "this wine lacks a library of Windows 10 that Rust needs (wine 9 has it)",
        );
    }
    let arguments = ["doctor", "--snapshot", "examples/night/worker-3.json", "-o", "json"];
    let (there, here) = (wine(&arguments), run(env!("CARGO_BIN_EXE_kq"), &arguments));
    assert_eq!(there.status.code(), here.status.code());
    assert_eq!(findings(&there), findings(&here));
    let live = wine(&["doctor"]);
    assert_eq!(live.status.code(), Some(3));
    let words = String::from_utf8_lossy(&live.stderr);
    assert!(words.contains("needs Linux") && words.contains("--snapshot FILE"), "{words}");
}
