//! The binary with changed copies of every file that the repository has for it, over every command and its flags.
//!
//! No run may panic, end by a signal or with an exit code that is not documented, take more time or memory than it
//! may, write JSON that is none, or write what plays with a terminal.
//!
//! * `KQ_FUZZ_SECONDS`: how long; 10 without it.
//! * `KQ_FUZZ_SEED`: which cases; without it the same ones each time. What fails is named by its own seed, and comes
//!   again with `KQ_FUZZ_SEED=SEED KQ_FUZZ_CASES=1`.
//! * `KQ_FUZZ_CASES`: how many at the most.
//! * `KQ_FUZZ_PROGRAM`: another kq than the one that was built for the tests.

/// The commands and their flags.
mod commands;
/// The lists of a snapshot, made long.
mod grow;
/// Changes to files.
mod mutate;
pub(crate) use mutate::Random;
/// Two long lists at a time.
mod pairs;
/// One run.
pub mod run;

use crate::cli::repository;
use commands::{Driven, Flag, commands};
use mutate::{LARGEST, mutated, odd, parsed};
use run::{Ran, is_alone};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Where the files are that are changed.
const FOLDERS: &[&str] = &[
    "examples",
    "tests/devices",
    "tests/images",
    "tests/nodes",
    "tests/preemption",
    "tests/fuzz/seeds",
];

/// Names and values for `kq cgroup explain`.
const KERNEL_FILES: &[&str] = &[
    "cpu.weight",
    "cpu.max",
    "cpu.shares",
    "cpu.cfs_quota_us",
    "memory.max",
    "memory.min",
    "pids.max",
    "hugetlb.2MB.max",
    "100",
    "max",
    "max 100000",
    "-1",
    "18446744073709551615",
    "9223372036854771712",
];

/// Files of a node, and what the names of those that fit contain.
const ROOT: &[(&str, &str)] = &[
    ("var/lib/kubelet/config.yaml", "kubelet_config"),
    ("var/lib/kubelet/cpu_manager_state", "cpu_manager_state"),
    ("var/lib/kubelet/memory_manager_state", "memory_manager_state"),
    ("var/lib/kubelet/device-plugins/kubelet_internal_checkpoint", "kubelet_internal_checkpoint"),
    ("var/lib/kubelet/allocated_pods_state", "pods_state"),
    ("var/lib/kubelet/dra_manager_state", "dra_state"),
    ("var/lib/kubelet/image_manager/pulled", "image_records"),
    ("kubelet_internal_checkpoint", "kubelet_internal_checkpoint"),
    ("etc/kubernetes/manifests/web.yaml", "examples/"),
    ("proc/meminfo", "kubelet-log"),
    ("proc/cpuinfo", "args"),
    ("proc/41/cmdline", "args"),
    ("proc/41/comm", "note"),
    ("sys/fs/cgroup/cgroup.controllers", "note"),
];

/// How many failures are enough.
const ENOUGH: usize = 20;

/// A file that is sound, or nearly so.
struct Seed {
    name: String,
    bytes: Vec<u8>,
}

/// What cases are made from.
struct Corpus {
    commands: Vec<Driven>,
    seeds: Vec<Seed>,
    values: Vec<Value>,
    /// Names of pods, containers, images and cgroups that are in the files.
    names: Vec<String>,
}

/// A command line with its files.
struct Case {
    words: Vec<String>,
    arguments: Vec<String>,
    files: Vec<(String, Vec<u8>)>,
    stdin: Option<String>,
    wants_json: bool,
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[test]
fn every_command_stands_changed_files() {
    let program = std::env::var_os("KQ_FUZZ_PROGRAM");
    let program = program.map_or_else(|| env!("CARGO_BIN_EXE_kq").into(), PathBuf::from);
    let corpus = Corpus::new(&program);
    let seconds = Duration::from_secs(number("KQ_FUZZ_SECONDS").unwrap_or(10));
    let first = number("KQ_FUZZ_SEED").unwrap_or(1);
    let end = number("KQ_FUZZ_CASES").map_or(u64::MAX, |count| first.saturating_add(count));
    let (next, begun, failures) = (AtomicU64::new(first), Instant::now(), Mutex::new(Vec::new()));
    let counts: Mutex<BTreeMap<(String, String), u64>> = Mutex::default();
    let threads = thread::available_parallelism().map_or(2, |count| count.get().min(4));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let failed = failures.lock().expect("no panic").len();
                    if seed >= end || begun.elapsed() > seconds || failed >= ENOUGH {
                        return;
                    }
                    let (case, ran, wrong) = corpus.try_one(&program, seed);
                    let code =
                        ran.status.code().map_or("a signal".to_owned(), |code| code.to_string());
                    let words = case.words.join(" ");
                    if std::env::var_os("KQ_FUZZ_SHOW").is_some() {
                        let text = String::from_utf8_lossy(&ran.stderr);
                        println!(
                            "{words} {code}: {}",
                            text.lines()
                                .take(2)
                                .collect::<Vec<_>>()
                                .join(" | ")
                                .chars()
                                .take(200)
                                .collect::<String>()
                        );
                    }
                    *counts.lock().expect("no panic").entry((words, code)).or_default() += 1;
                    if !wrong.is_empty() {
                        let told = corpus.keep(seed, &case, &ran, &wrong);
                        failures.lock().expect("no panic").push(told);
                    }
                }
            });
        }
    });
    let counts = counts.into_inner().expect("no panic");
    let total: u64 = counts.values().sum();
    println!("{total} runs in {:?}, from seed {first}", begun.elapsed());
    for ((command, code), count) in &counts {
        println!("  kq {command}: {count} ended with {code}");
    }
    let failures = failures.into_inner().expect("no panic");
    assert!(
        failures.is_empty(),
        "{} of {total} runs failed\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(total > 0, "nothing was run");
}

impl Corpus {
    fn new(program: &Path) -> Self {
        let mut seeds = Vec::new();
        for folder in FOLDERS {
            gather(&repository(), folder, &mut seeds);
        }
        let values: Vec<Value> = seeds
            .iter()
            .filter_map(|seed| parsed(std::str::from_utf8(&seed.bytes).ok()?))
            .collect();
        let mut names = Vec::new();
        values.iter().for_each(|value| name(value, &mut names));
        names.sort();
        names.dedup();
        let mut commands = commands(program);
        // Its requests would reach a real server.
        commands.retain(|driven| is_alone() || driven.words != ["probe", "run"]);
        Self { commands, seeds, values, names }
    }

    fn try_one(&self, program: &Path, seed: u64) -> (Case, Ran, Vec<String>) {
        let mut random = Random::new(seed);
        let mut case = self.case(&mut random);
        let mut repairs = 0;
        loop {
            let folder = tempfile::tempdir().expect("a folder can be made");
            fs::create_dir(folder.path().join("root")).expect("a folder can be made");
            write_files(folder.path(), &case.files);
            let stdin = case.stdin.as_ref().map(|name| folder.path().join(name));
            let ran = run::run(program, &case.arguments, folder.path(), stdin.as_deref());
            let wrong = ran.wrong(case.wants_json);
            repairs += 1;
            let stderr = String::from_utf8_lossy(&ran.stderr);
            if !wrong.is_empty() || repairs > 4 || !self.repair(&mut random, &mut case, &stderr) {
                return (case, ran, wrong);
            }
        }
    }

    /// Changes a command line that was rejected before a file was read; returns true if it did.
    fn repair(&self, random: &mut Random, case: &mut Case, stderr: &str) -> bool {
        let Some(driven) = self.commands.iter().find(|driven| driven.words == case.words) else {
            return false;
        };
        let Some(said) = stderr.strip_prefix("error: ").map(|said| said.split("\n\n").next())
        else {
            return false;
        };
        let said = said.unwrap_or_default();
        let named: Vec<&Flag> = driven
            .flags
            .iter()
            .filter(|flag| {
                let mut places = said.match_indices(flag.long.as_str());
                places.any(|(at, long)| {
                    !said[at + long.len()..]
                        .starts_with(|c: char| c == '-' || c.is_ascii_lowercase())
                })
            })
            .collect();
        if said.contains("required arguments were not provided") {
            if named.is_empty() {
                for positional in &driven.positionals {
                    let value = self.positional(random, &positional.name, case);
                    case.arguments.push(value);
                }
                return !driven.positionals.is_empty();
            }
            let flag = *random.one(&named);
            self.add(random, flag, case);
            return true;
        }
        if !said.contains("cannot be used with") {
            return false;
        }
        // The snapshot stays, as most facts are in it.
        let Some(flag) = named.iter().find(|flag| flag.long != "--snapshot") else { return false };
        let own = |argument: &String| {
            let (name, _) = argument.split_once('=').unwrap_or((argument, ""));
            name == flag.long
        };
        let before = case.arguments.len();
        case.arguments.retain(|argument| !own(argument));
        case.arguments.len() < before
    }

    /// Makes up a command line that is likely to mean something.
    fn case(&self, random: &mut Random) -> Case {
        let driven = random.one(&self.commands);
        let mut case = Case {
            words: driven.words.clone(),
            arguments: driven.words.clone(),
            files: Vec::new(),
            stdin: None,
            wants_json: false,
        };
        // What changes or sends something takes no snapshot: it is refused before anything is read.
        let acts =
            |word: &String| ["apply", "record", "repair", "run", "serve"].contains(&word.as_str());
        let often = if driven.words.iter().any(acts) { 5 } else { 75 };
        let needs_main = driven.flag("--snapshot").is_some() && random.percent(often);
        // Flags that do not go together are refused before a file is read.
        let is_plain = random.percent(75);
        for flag in &driven.flags {
            let long = flag.long.as_str();
            let is_wanted = match long {
                "--snapshot" => needs_main,
                "--host-root" => !needs_main,
                "--timeout" | "--call-timeout" => {
                    !needs_main || driven.flag("--snapshot").is_none()
                }
                "--passes" | "--once" | "--plain" => true,
                // The view of a live node has no end.
                "--count" if driven.words == ["top"] => true,
                "--output" => random.percent(85),
                "--dry-run" => random.percent(70),
                // Without it some commands do not take a root.
                "--live" => !needs_main && random.percent(90),
                "--pods" | "--node-file" | "--kubelet-config" | "--stats" | "--events"
                | "--kubelet-log" | "--checkpoint" | "--pod-resources" | "--nodes" => {
                    random.percent(if needs_main { 10 } else { 60 })
                }
                _ => flag.is_required || !is_plain && random.percent(8),
            };
            if !is_wanted {
                continue;
            }
            self.add(random, flag, &mut case);
        }
        if case.arguments.iter().any(|argument| argument.ends_with("=root")) && random.percent(80) {
            self.fill_root(random, &mut case);
        }
        let many = if random.percent(10) { 3 } else { 1 };
        for positional in &driven.positionals {
            if positional.is_optional && random.percent(if needs_main { 40 } else { 10 }) {
                continue;
            }
            for _ in 0..if positional.is_repeated { many } else { 1 } {
                let value = self.positional(random, &positional.name, &mut case);
                case.arguments.push(value);
            }
        }
        if random.percent(5)
            && let Some((name, _)) = case.files.first()
            && let Some(argument) =
                case.arguments.iter_mut().find(|argument| argument.ends_with(name.as_str()))
        {
            case.stdin = Some(name.clone());
            *argument = argument.replace(name.as_str(), "-");
        }
        case
    }

    /// Puts changed files where a kubelet has its own.
    fn fill_root(&self, random: &mut Random, case: &mut Case) {
        for (path, kind) in ROOT {
            let fitting: Vec<&Seed> =
                self.seeds.iter().filter(|seed| seed.name.contains(kind)).collect();
            if fitting.is_empty() || random.percent(20) {
                continue;
            }
            let sound = &random.one(&fitting).bytes;
            let bytes = match random.percent(50) {
                true => mutated(random, sound, &self.values),
                false => sound.clone(),
            };
            case.files.push((format!("root/{path}"), bytes));
        }
    }

    /// Adds a flag, with a value where it has one.
    fn add(&self, random: &mut Random, flag: &Flag, case: &mut Case) {
        match flag.value {
            None => case.arguments.push(flag.long.clone()),
            Some(_) => {
                let value = self.value_of(random, flag, case);
                case.wants_json |= flag.long == "--output" && value == "json";
                case.arguments.push(format!("{}={value}", flag.long));
            }
        }
    }

    fn positional(&self, random: &mut Random, name: &str, case: &mut Case) -> String {
        if case.words == ["cgroup", "explain"] && random.percent(90) {
            return (*random.one(KERNEL_FILES)).to_owned();
        }
        if name == "SHELL" {
            return (*random.one(&["bash", "zsh", "fish"])).to_owned();
        }
        let is_file = name.contains("FILE") || name.contains("TRACE");
        match is_file && random.percent(80) {
            true => self.file(random, name, case),
            false => self.text(random, name),
        }
    }

    fn value_of(&self, random: &mut Random, flag: &Flag, case: &mut Case) -> String {
        match (flag.long.as_str(), flag.value.as_deref().unwrap_or_default()) {
            ("--host-root" | "--dir", _) => "root".to_owned(),
            ("--timeout" | "--call-timeout", _) => "500ms".to_owned(),
            ("--passes" | "--count", _) => "1".to_owned(),
            ("--output", _) if flag.possible.is_empty() => "written.zst".to_owned(),
            ("--output", _)
                if random.percent(50) && flag.possible.iter().any(|it| it == "json") =>
            {
                "json".to_owned()
            }
            _ if !flag.possible.is_empty() && !random.percent(3) => {
                random.one(&flag.possible).clone()
            }
            (_, "FILE") => self.file(random, &flag.long, case),
            (_, "DIR") => "root".to_owned(),
            (long, value) => self.text(random, &format!("{long} {value}")),
        }
    }

    /// Adds a changed file of a kind that fits, mostly.
    fn file(&self, random: &mut Random, asked: &str, case: &mut Case) -> String {
        let wanted: &[&str] = match asked {
            "--pods" => &["pods", "web", "classic", "critical", "probes", "list", "pod.yaml"],
            "--node-file" => &["node.json"],
            "--kubelet-config" => &["config"],
            "--stats" => &["summary"],
            "--events" => &["events"],
            "--kubelet-log" => &["log"],
            "--records" => &["records"],
            "--checkpoint" => &["checkpoint"],
            "--pod-resources" => &["pod-resources"],
            "--nodes" | "--nodes-file" => &["nodes", "node.json"],
            "TRACE" => &["trace", "long", "short"],
            asked if asked.contains("FILE") => {
                &["pods", "web", "classic", "probes", "state", "checkpoint", "pod"]
            }
            _ => &[],
        };
        let fits = |seed: &&Seed| {
            if asked == "--snapshot" {
                return String::from_utf8_lossy(&seed.bytes).contains("NodeSnapshot");
            }
            let name = seed.name.rsplit('/').next().unwrap_or_default();
            let is_object = || String::from_utf8_lossy(&seed.bytes).contains("kind");
            wanted.iter().any(|part| name.contains(part)) && (asked != "--pods" || is_object())
        };
        let fitting: Vec<&Seed> = self.seeds.iter().filter(fits).collect();
        let seed = match fitting.is_empty() || random.percent(5) {
            true => random.one(&self.seeds),
            false => *random.one(&fitting),
        };
        let bytes = mutated(random, &seed.bytes, &self.values);
        let name = format!("{}-{}", case.files.len(), seed.name.replace('/', "_"));
        // Where kq packs files, it is packed as kq does it.
        if asked == "--snapshot" && random.percent(10) {
            let folder = tempfile::tempdir().expect("a folder can be made");
            let path = folder.path().join("packed.zst");
            let path = path.to_str().expect("text");
            kq_io::snapshot_file::write_snapshot(path, &bytes).expect("it can be written");
            let packed = fs::read(path).expect("it is there");
            let name = format!("{name}.zst");
            case.files.push((name.clone(), packed));
            return name;
        }
        case.files.push((name.clone(), bytes));
        name
    }

    /// Returns a text for something that is not a file.
    fn text(&self, random: &mut Random, asked: &str) -> String {
        if random.percent(15)
            && let Value::String(text) = odd(random)
        {
            return text.replace('\0', "").replace("\u{9b}", "");
        }
        let lengths = ["1s", "0s", "-1s", "5m", "1h2m3s", "99999h", "soon"];
        let times = ["2026-11-20T12:04:25Z", "36h", "-1h", "0001-01-01T00:00:00Z"];
        let amounts = [
            "cpu=4,memory=8Gi,pid=1000",
            "cpu=100m",
            "memory=1e30",
            "cpu=4,cpu=5",
            "example.com/gpu=16384",
            "x",
            "memory=50%",
        ];
        let numbers = ["0", "1", "-1", "16", "4294967296", "99999999999999999999", "1e3"];
        let any = |all: &[&str], random: &mut Random| (*random.one(all)).to_owned();
        match asked {
            it if it.contains("DURATION") => any(&lengths, random),
            it if it.contains("TIME") => any(&times, random),
            it if it.contains("RESOURCES") => any(&amounts, random),
            it if it.contains("AMOUNT") => {
                any(&["8Gi", "0", "-1", "1e400", "1.5Ti", "9223372036854775808"], random)
            }
            it if it.contains("PERCENT") => {
                any(&["90%", "0", "100%", "101%", "-5%", "1e9"], random)
            }
            it if it.contains("VERSION") => {
                any(&["1.36", "v1.30.2", "1.99", "0.1", "runc=1.3.1"], random)
            }
            it if it.contains("GATES") => {
                any(&["MemoryQoS=true", "X=true", "A", "MemoryQoS=perhaps"], random)
            }
            it if it.ends_with(" N") => any(&numbers, random),
            _ => random.one(&self.names).clone(),
        }
    }

    /// Stores a case that failed, and says what it was.
    fn keep(&self, seed: u64, case: &Case, ran: &Ran, wrong: &[String]) -> String {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz/{seed}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("root")).expect("a folder can be made");
        write_files(&folder, &case.files);
        fs::write(folder.join(".stdout"), &ran.stdout).expect("a file can be written");
        fs::write(folder.join(".stderr"), &ran.stderr).expect("a file can be written");
        let line: Vec<String> = case.arguments.iter().map(|word| quoted(word)).collect();
        let line = line.join(" ");
        fs::write(folder.join(".command"), format!("kq {line}\n")).expect("a file can be written");
        let line: String = line.chars().take(500).collect();
        let stderr = String::from_utf8_lossy(&ran.stderr);
        let stderr: String = stderr.chars().take(600).collect();
        format!(
            "seed {seed}: {}\n  kq {line}\n  files and output: {}\n  {}",
            wrong.join(", "),
            folder.display(),
            stderr.escape_debug()
        )
    }
}

fn write_files(folder: &Path, files: &[(String, Vec<u8>)]) {
    for (name, bytes) in files {
        let path = folder.join(name);
        let parent = path.parent().expect("it is in the folder");
        fs::create_dir_all(parent).expect("a folder can be made");
        fs::write(path, bytes).expect("a file can be written");
    }
}

/// Returns a word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Gathers the files of a folder, without the answers that are compared with.
fn gather(root: &Path, folder: &str, seeds: &mut Vec<Seed>) {
    let mut names: Vec<String> = fs::read_dir(root.join(folder))
        .expect("the folder can be read")
        .map(|entry| {
            entry.expect("an entry can be read").file_name().to_string_lossy().into_owned()
        })
        .collect();
    names.sort();
    for name in names {
        let path = format!("{folder}/{name}");
        if root.join(&path).is_dir() {
            if name != "golden" {
                gather(root, &path, seeds);
            }
        } else if !name.ends_with(".rs") && !name.ends_with(".md") {
            let bytes = fs::read(root.join(&path)).expect("a file can be read");
            if bytes.len() <= LARGEST {
                seeds.push(Seed { name: path, bytes });
            }
        }
    }
}

/// Gathers what things are called.
fn name(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().take(50).for_each(|item| name(item, names)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text)
                        if matches!(
                            key.as_str(),
                            "name" | "uid" | "id" | "image" | "resourceName"
                        ) =>
                    {
                        names.push(text.clone());
                    }
                    value => name(value, names),
                }
            }
        }
        _ => {}
    }
}
