//! Every place of the repository that opens for writing, creates, renames or removes, against the table of those that may.

use crate::source_files::rust_files;
use std::collections::BTreeMap;

/// The places, each with what it does and why it may.
const WRITERS: [(&str, &[&str], &str); 16] = [
    ("benches/gc_facts.rs", &["tempfile"], "a benchmark reads files of its own"),
    (
        "benches/tree.rs",
        &["create_dir_all", "remove_dir", "tempfile"],
        "a benchmark reads cgroups and files of its own",
    ),
    ("build.rs", &["fs::write"], "the schemas are packed into the folder that cargo names"),
    (
        "crates/io/src/cgroup_files.rs",
        &["OFlags::TRUNC", "OFlags::WRONLY"],
        "a file of the kernel, beneath an open folder of cgroups",
    ),
    (
        "crates/io/src/checkpoint_file.rs",
        &["unlinkat"],
        "in the held folder: the checkpoint that was read, and temporary files of killed runs",
    ),
    (
        "crates/linux/src/device_plugin/folder.rs",
        &["DirBuilder", "hard_link", "remove_file"],
        "a new folder for devices serve, before it is held; in the held folder, another name for the checkpoint",
    ),
    (
        "crates/linux/src/device_plugin/registration_server.rs",
        &["fchmod", "remove_file", "use bind"],
        "its own sockets, in the held folder",
    ),
    (
        "crates/linux/src/device_plugin/socket_registry.rs",
        &["remove_file"],
        "stale sockets and temporary files, in the held folder",
    ),
    (
        "crates/io/src/elsewhere/replace.rs",
        &["OpenOptions", "fs::rename", "hard_link", "remove_file"],
        "the one way on macOS and Windows",
    ),
    (
        "crates/io/src/image_records.rs",
        &["mkdirat", "unlinkat"],
        "the last folder of the path, and temporary files of killed runs, each in an open folder",
    ),
    (
        "crates/io/src/lock_file.rs",
        &["OFlags::CREATE", "OFlags::RDWR"],
        "a lock in an open folder: new, or of a trusted owner with one name",
    ),
    ("crates/io/src/open.rs", &["OpenOptions"], "reads without waiting for a writer"),
    (
        "crates/io/src/own_program.rs",
        &["File::options"],
        "the pipe to the process that started this one to do its work, by its descriptor",
    ),
    (
        "crates/core/src/kubelet_start/credentials.rs",
        &["symlink"],
        "a word of the kubelet's message",
    ),
    (
        "crates/io/src/replace.rs",
        &[
            "OFlags::APPEND",
            "OFlags::CREATE",
            "OFlags::RDWR",
            "OFlags::WRONLY",
            "fchmod",
            "fchown",
            "linkat",
            "renameat",
            "renameat_with",
            "unlinkat",
        ],
        "the one way",
    ),
    ("examples/device_plugin.rs", &["remove_file"], "its own socket, before it listens again"),
];

/// What writes, as it is written in a program: the end of a path, or a name that means nothing else.
const WORDS: [&str; 52] = [
    "DirBuilder",
    "File::create",
    "File::create_new",
    "File::options",
    "NamedTempFile",
    "OFlags::APPEND",
    "OFlags::CREATE",
    "OFlags::RDWR",
    "OFlags::TMPFILE",
    "OFlags::TRUNC",
    "OFlags::WRONLY",
    "OpenOptions",
    "UnixDatagram::bind",
    "UnixListener::bind",
    "chmod",
    "chmodat",
    "chown",
    "chownat",
    "create_dir",
    "create_dir_all",
    "fallocate",
    "fchmod",
    "fchown",
    "fchownat",
    "fs::copy",
    "fs::rename",
    "fs::write",
    "ftruncate",
    "hard_link",
    "lchown",
    "libc",
    "link",
    "linkat",
    "memfd_create",
    "mkdir",
    "mkdirat",
    "mkfifo",
    "mkfifoat",
    "mknod",
    "mknodat",
    "net::bind",
    "remove_dir",
    "remove_dir_all",
    "remove_file",
    "renameat",
    "renameat_with",
    "set_len",
    "set_permissions",
    "symlink",
    "symlinkat",
    "tempfile",
    "unlinkat",
];

/// Names that mean something else except where they are imported from a module of files.
const IMPORTED: [&str; 6] = ["bind", "copy", "rename", "rmdir", "unlink", "write"];

/// Returns every Rust file outside of `tests` with its text before its tests.
fn sources() -> Vec<(String, String)> {
    let is_code = |(path, _): &(String, String)| !path.ends_with("tests.rs");
    let cut = |(path, mut text): (String, String)| {
        let tests = ["#[cfg(test)]\nmod tests", "#[cfg(all(test"];
        let end = tests.iter().filter_map(|begin| text.find(begin)).min();
        text.truncate(end.unwrap_or(text.len()));
        (path, text)
    };
    rust_files().into_iter().filter(is_code).map(cut).collect()
}

/// Returns the text without comments.
fn code(text: &str) -> String {
    let lines = text.lines().map(|line| match line.trim_start().starts_with("//") {
        true => "",
        false => line.split(" // ").next().unwrap_or_default(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns true if a word is in a text as a whole one that is called or named, and not a field.
fn has(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        let is_whole = !before.ends_with(is_part) && !after.starts_with(is_part);
        // `link` is a word of prose and of variables, so that only a call counts.
        is_whole && (word != "link" || before.ends_with("fs::") && after.starts_with('('))
    })
}

/// Returns what a program does to files.
fn writes(text: &str) -> Vec<String> {
    let text = code(text);
    let mut found: Vec<String> =
        WORDS.iter().filter(|word| has(&text, word)).map(ToString::to_string).collect();
    for statement in text.split("use ").skip(1).filter_map(|rest| rest.split(';').next()) {
        let is_of_files = ["fs", "net"].iter().any(|module| has(statement, module));
        let imported = IMPORTED.iter().filter(|name| is_of_files && has(statement, name));
        found.extend(imported.map(|name| format!("use {name}")));
        // Under another name, nothing above would be found.
        let is_renamed = is_of_files && statement.contains(" as ") && !statement.contains(" as _");
        found.extend(is_renamed.then(|| format!("use {}", statement.replace('\n', " "))));
    }
    found.dedup();
    found
}

#[test]
fn every_place_that_writes_is_known() {
    let found: BTreeMap<String, Vec<String>> = sources()
        .into_iter()
        .map(|(path, text)| (path, writes(&text)))
        .filter(|(_, writes)| !writes.is_empty())
        .collect();
    let known: BTreeMap<String, Vec<String>> = WRITERS
        .iter()
        .map(|(path, writes, _)| {
            ((*path).to_owned(), writes.iter().map(ToString::to_string).collect())
        })
        .collect();
    assert_eq!(
        found, known,
        "a place that writes goes through crates/io/src/replace.rs, or is listed"
    );
    assert!(WRITERS.iter().all(|(_, _, why)| !why.is_empty()));
}

#[test]
fn what_writes_is_recognised() {
    for (text, expected) in [
        ("use std::fs::write;\nwrite(a, b)", &["fs::write", "use write"][..]),
        ("use std::fs::{self, rename};", &["use rename"]),
        ("use rustix::fs::{\n    unlink,\n};", &["use unlink"]),
        ("use std::fs as files;", &["use std::fs as files"]),
        ("std::fs::File::create_new(x)", &["File::create_new"]),
        ("let f = File::options().append(true)", &["File::options"]),
        ("fs::link(a, b)", &["link"]),
        ("open(p, OFlags::RDWR, m)", &["OFlags::RDWR"]),
        ("// fs::write(a)\nlet link = readlinkat(x); // fs::write", &[]),
        ("#[serde(rename = \"x\")] fs::read(x)", &[]),
    ] {
        assert_eq!(writes(text), expected, "{text}");
    }
}

#[test]
fn no_width_of_a_format_comes_from_input() {
    // A width of 65,536 or more panics.
    let all = sources();
    let widths = all.iter().filter(|(_, text)| {
        text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).any(|(inside, _)| {
            let is_format = inside.len() < 40 && !inside.contains(['\n', ' ', '(']);
            is_format && inside.contains(':') && (inside.ends_with('$') || inside.ends_with('*'))
        })
    });
    let widths: Vec<_> = widths.map(|(path, _)| path.clone()).collect();
    assert!(widths.iter().all(|path| path.ends_with("crates/k8s/src/duration.rs")), "{widths:?}");
}
