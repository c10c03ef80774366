//! What is shipped: packages come and go, and the image answers as the binary does on its host.
//!
//! `$KQ_RELEASE` names a folder that `scripts/release` filled. Without it, the packages are made of the binary under test,
//! and the image, which needs a static one, is left out.

use super::{is_guest, must_be_root, node, skip};
use crate::cli::repository;
use crate::skipped::skip as leave_out;
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

/// A processor that packages are made for.
struct Machine {
    /// Its name in the files of a release and of Debian.
    debian: &'static str,
    /// Its name in those of RPM.
    rpm: &'static str,
    /// What runs its programs here; empty for this machine itself.
    emulator: &'static str,
}

const AMD64: Machine = Machine { debian: "amd64", rpm: "x86_64", emulator: "" };
const ARM64: Machine = Machine { debian: "arm64", rpm: "aarch64", emulator: "qemu-aarch64-static" };

impl Machine {
    /// Returns the flag with which a package of another machine than this one is installed.
    fn force<'a>(&self, flag: &'a &'a str) -> &'a [&'a str] {
        if self.emulator.is_empty() { &[] } else { std::slice::from_ref(flag) }
    }

    /// Runs a program of this machine.
    #[track_caller]
    fn run(&self, program: &Path, arguments: &[&str]) -> Output {
        match self.emulator {
            "" => run(text(program), arguments),
            emulator => {
                let output = Command::new(emulator)
                    .arg(program)
                    .args(arguments)
                    .current_dir(repository())
                    .output();
                output.unwrap_or_else(|error| panic!("{emulator}: {error}"))
            }
        }
    }
}

/// Returns the machines that there are packages for: of the binary under test, only this one's.
fn machines() -> Vec<Machine> {
    if release().is_none() {
        return vec![AMD64];
    }
    need(ARM64.emulator, "qemu-user-static");
    vec![AMD64, ARM64]
}

/// Fails where a program is missing that a test of a release needs.
fn need(program: &str, package: &str) {
    assert!(has(program), "{program} is missing: apt-get install {package}");
}

/// Checks what a package put below a root folder.
fn check_installed(root: &Path, machine: &Machine) {
    let said = machine.run(&root.join("usr/bin/kq"), &["version", "-o", "json"]);
    let said: Value = serde_json::from_slice(&said.stdout).expect("JSON");
    assert_eq!(said["kind"], "Version");
    let help = machine.run(&root.join("usr/bin/kubectl-kq"), &["gc", "--help"]);
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
    for machine in machines() {
        let root = work.path().join(format!("deb-{}", machine.debian));
        fs::create_dir_all(root.join("var/lib/dpkg/info")).expect("a folder");
        fs::create_dir_all(root.join("var/lib/dpkg/updates")).expect("a folder");
        fs::write(root.join("var/lib/dpkg/status"), "").expect("a file");
        let root_flag = format!("--root={}", text(&root));
        let dpkg = |arguments: &[&str]| {
            let flags = [root_flag.as_str(), "--force-script-chrootless", "--force-architecture"];
            run("dpkg", &[&flags, arguments].concat())
        };
        let package = file(&packages, &format!("_{}.deb", machine.debian));
        dpkg(&["--install", text(&package)]);
        check_installed(&root, &machine);
        assert!(root.join("usr/share/zsh/vendor-completions/_kq").is_file());
        dpkg(&["--purge", &format!("kq:{}", machine.debian)]);
        assert!(!root.join("usr/bin/kq").exists() && !root.join("usr/share/doc/kq").exists());

        let root = work.path().join(format!("rpm-{}", machine.rpm));
        fs::create_dir(&root).expect("a folder");
        let rpm = |arguments: &[&str]| {
            let flags = ["--root", text(&root), "--nodeps", "--noscripts"];
            run("rpm", &[&flags, arguments].concat())
        };
        let package = file(&packages, &format!(".{}.rpm", machine.rpm));
        rpm(&[&["--install"], machine.force(&"--ignorearch"), &[text(&package)]].concat());
        check_installed(&root, &machine);
        assert!(root.join("usr/share/zsh/site-functions/_kq").is_file());
        rpm(&["--erase", "kq"]);
        assert!(!root.join("usr/bin/kq").exists());
    }
}

/// The arguments of a question that needs no node.
const DOCTOR: [&str; 5] = ["doctor", "--snapshot", "examples/night/worker-3.json", "-o", "json"];

#[test]
fn the_archives_of_linux_hold_static_binaries_that_answer_alike() {
    if is_guest() {
        return;
    }
    let Some(release) = release() else {
        return leave_out(&format!("{RELEASE} names no folder of scripts/release"));
    };
    let work = tempfile::tempdir().expect("a folder");
    for machine in machines() {
        let end = format!("-linux-{}.tar.gz", machine.debian);
        run("tar", &["-xzf", text(&file(&release, &end)), "-C", text(work.path())]);
        let kq = file(&file(work.path(), &format!("-{}", machine.debian)), "/kq");
        let binary = fs::read(&kq).expect("a binary");
        assert!(binary.len() < 15_000_000, "{end}: {} bytes", binary.len());
        let headers = run("readelf", &["--wide", "--program-headers", text(&kq)]);
        let headers = String::from_utf8(headers.stdout).expect("text");
        assert!(!headers.contains("INTERP"), "{end}: {headers}");
        let (there, here) = (machine.run(&kq, &DOCTOR), run(env!("CARGO_BIN_EXE_kq"), &DOCTOR));
        assert_eq!(there.status.code(), here.status.code(), "{end}");
        assert_eq!(findings(&there), findings(&here), "{end}");
    }
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

/// Returns what follows a name in each line that has it, without quotes and what ends a field.
fn fields<'a>(manifest: &'a str, name: &str) -> Vec<&'a str> {
    let lines = manifest.lines().filter_map(|line| line.split_once(name));
    lines
        .map(|(_, value)| value.split([',', '}']).next().unwrap_or(value).trim_matches('"'))
        .collect()
}

#[test]
fn krew_installs_what_its_manifest_names() {
    if is_guest() {
        return;
    }
    let Some(release) = release() else {
        return leave_out(&format!("{RELEASE} names no folder of scripts/release"));
    };
    let checked = Command::new("sha256sum")
        .args(["--check", "--strict", "--quiet", "SHA256SUMS"])
        .current_dir(&release)
        .output()
        .expect("sha256sum");
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    let json = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(file(&release, name)).expect("a file")).expect("JSON")
    };
    assert_eq!(json(".cdx.json")["bomFormat"], "CycloneDX");
    let subjects = json("provenance.json")["subject"].as_array().expect("subjects").len();
    // All files but the statement itself and the checksums.
    assert_eq!(subjects + 2, fs::read_dir(&release).expect("a folder").count());
    if !release.join("krew.yaml").exists() {
        return leave_out("the release was made without a URL: it has no krew.yaml");
    }
    let manifest = fs::read_to_string(release.join("krew.yaml")).expect("a manifest");
    let of_platform = |name| {
        let found = fields(&manifest, name);
        assert_eq!(found.len(), 5, "{name}{manifest}");
        found
    };
    let (uris, sums, bins) = (of_platform("uri: "), of_platform("sha256: "), of_platform("bin: "));
    let work = tempfile::tempdir().expect("a folder");
    need("unzip", "unzip");
    for ((uri, sum), bin) in uris.iter().zip(sums).zip(bins) {
        let name = uri.rsplit('/').next().expect("a name");
        let archive = release.join(name);
        let found = String::from_utf8(run("sha256sum", &[text(&archive)]).stdout).expect("text");
        assert_eq!(found.split_whitespace().next(), Some(sum), "{uri}");
        match name.ends_with(".zip") {
            true => run("unzip", &["-q", text(&archive), "-d", text(work.path())]),
            false => run("tar", &["-xzf", text(&archive), "-C", text(work.path())]),
        };
        // As krew does: the files of the manifest are moved, and one of them is the plugin.
        let folder = name.trim_end_matches(".tar.gz").trim_end_matches(".zip");
        let store = work.path().join("store").join(folder);
        fs::create_dir_all(&store).expect("a folder");
        let files = fields(&manifest, "{from: ").into_iter().map(Path::new);
        for from in files.filter(|it| it.starts_with(folder)) {
            let to = store.join(from.file_name().expect("a name"));
            fs::rename(work.path().join(from), to).expect("a file of the archive");
        }
        assert!(store.join(bin).is_file() && store.join("LICENSE").is_file(), "{uri}: {bin}");
    }
    let stored = fs::read_dir(work.path().join("store")).expect("a folder");
    let stored = stored.map(|entry| entry.expect("a folder").path());
    let amd64 = stored.into_iter().find(|it| text(it).ends_with("-linux-amd64"));
    let plugin = work.path().join("kubectl-kq");
    std::os::unix::fs::symlink(amd64.expect("a platform").join("kq"), &plugin).expect("a link");
    let help = String::from_utf8(run(text(&plugin), &["gc", "--help"]).stdout).expect("text");
    assert!(help.contains("Usage: kubectl kq gc "), "{help}");
}

/// Returns a number of a binary.
fn word(binary: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(binary[at..at + 4].try_into().expect("four bytes"))
}

/// Returns the type of a binary by its header: the format and the machine.
fn type_of(binary: &[u8]) -> (&'static str, u32) {
    match &binary[..4] {
        // The magic number and the type of the processor (`mach-o/loader.h`).
        [0xcf, 0xfa, 0xed, 0xfe] => ("Mach-O", word(binary, 4)),
        // The offset of the header is at 0x3c; the machine follows its signature.
        [b'M', b'Z', ..] => ("PE", word(binary, word(binary, 0x3c) as usize + 4) & 0xffff),
        other => panic!("{other:?} is no binary of macOS or Windows"),
    }
}

/// Checks what macOS looks at before it starts a binary: its signature, which system it needs and which libraries
/// (`mach-o/loader.h`).
fn check_mach_o(name: &str, binary: &[u8]) {
    const HEADER: usize = 32;
    // Needed, weak, re-exported, lazy, upward.
    const DYLIBS: [u32; 5] = [0xc, 0x8000_0018, 0x8000_001f, 0x20, 0x8000_0023];
    const SIGNATURE: u32 = 0x1d;
    const BUILD_VERSION: u32 = 0x32;
    let (mut at, mut kinds, mut libraries) = (HEADER, BTreeSet::new(), Vec::new());
    for _ in 0..word(binary, 16) {
        let (kind, size) = (word(binary, at), word(binary, at + 4) as usize);
        let command = &binary[at..at + size];
        if DYLIBS.contains(&kind) {
            let path = &command[word(command, 8) as usize..];
            let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
            libraries.push(String::from_utf8_lossy(&path[..end]).into_owned());
        }
        if kind == BUILD_VERSION {
            // Platform 1 is macOS; the version is in the upper half.
            assert_eq!((word(command, 8), word(command, 12) >> 16), (1, 11), "{name}");
        }
        kinds.insert(kind);
        at += size;
    }
    // On Intel's processors macOS starts programs without a signature too.
    let is_signed = kinds.contains(&SIGNATURE) || name.contains("amd64");
    assert!(is_signed && kinds.contains(&BUILD_VERSION), "{name}: {kinds:x?}");
    let of_system = |it: &String| it.starts_with("/usr/lib/") || it.starts_with("/System/Library/");
    assert!(!libraries.is_empty() && libraries.iter().all(of_system), "{name}: {libraries:?}");
}

/// Puts beside a program the library of Windows 10 that Rust takes random numbers from; Debian's wine is older.
fn add_missing_library(program: &Path) {
    let library = program.with_file_name("bcryptprimitives.dll");
    let source = "tests/support/bcryptprimitives.c";
    run("x86_64-w64-mingw32-gcc", &["-shared", "-o", text(&library), source, "-ladvapi32"]);
}

#[test]
fn the_archives_of_other_systems_hold_their_binaries() {
    if is_guest() {
        return;
    }
    let Some(release) = release() else {
        return leave_out(&format!("{RELEASE} names no folder of scripts/release"));
    };
    need("unzip", "unzip");
    need("wine", "wine64");
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
        if expected.0 == "Mach-O" {
            check_mach_o(end, &binary);
        }
        for document in ["LICENSE", "completions/kq.bash", "man/kq-doctor.1"] {
            assert!(folder.join(document).is_file(), "{end}: {document}");
        }
    }
    let kq = file(&file(work.path(), "-windows-amd64"), "/kq.exe");
    let prefix = work.path().join("wine");
    let wine = |arguments: &[&str]| {
        let mut command = Command::new("wine");
        command.arg(&kq).args(arguments).current_dir(repository());
        command.env("WINEPREFIX", &prefix).env("WINEDEBUG", "fixme-all").output().expect("wine")
    };
    let first = wine(&["version", "--client"]);
    if !first.status.success() {
        let words = String::from_utf8_lossy(&first.stderr);
        assert!(words.contains("bcryptprimitives.dll"), "{words}");
        need("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64");
        add_missing_library(&kq);
    }
    let (there, here) = (wine(&DOCTOR), run(env!("CARGO_BIN_EXE_kq"), &DOCTOR));
    assert_eq!(there.status.code(), here.status.code());
    assert_eq!(findings(&there), findings(&here));
    let live = wine(&["doctor"]);
    assert_eq!(live.status.code(), Some(3));
    let words = String::from_utf8_lossy(&live.stderr);
    assert!(words.contains("needs Linux") && words.contains("--snapshot FILE"), "{words}");
}
