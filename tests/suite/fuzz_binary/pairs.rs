//! Two lists of a snapshot at a time, grown until the file is as large as the bounds permit: no command multiplies them.
//!
//! * `KQ_FUZZ_SECONDS`, `KQ_FUZZ_SEED`, `KQ_FUZZ_CASES`, `KQ_FUZZ_PROGRAM`: as for changed files. Another seed gives
//!   other pairs, commands and elements.
//! * `KQ_FUZZ_PAIRS=NUMBER`: the case of a failure again.
//! * `KQ_FUZZ_PAIRS=all`: every pair of lists with every command, from the first to the last, however long that takes.
//! * `KQ_FUZZ_ONLY=TEXT`: only the command lines and lists that contain the text, each of several texts with commas.

use super::grow::{self, Place};
use super::mutate::{LARGEST, Random};
use super::run::{self, Ran};
use super::{ENOUGH, number};
use crate::cli::{folder_with, repository};
use crate::matrix::LINES;
use kq_facts::snapshot::Snapshot;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What is asked in addition to one line of each command.
const MORE: &[(&str, &str)] = &[
    ("doctor", "POD"),
    ("what-if", "kubelet-version 1.37"),
    ("what-if", "set systemReserved.cpu=500m"),
    ("evict rank", "--signal disk"),
    ("admit explain", "--kubelet-restart"),
    ("gc explain", "sha256:76d9d9068c3b"),
];

/// A snapshot, its lists, and the lines that answer about it.
struct Pairs {
    snapshot: Value,
    places: Vec<Place>,
    lines: Vec<String>,
    new: String,
}

/// Two lists, and a line.
struct Case<'p> {
    number: u64,
    places: [&'p Place; 2],
    line: String,
    snapshot: String,
}

#[test]
fn no_command_multiplies_two_lists() {
    let program = std::env::var_os("KQ_FUZZ_PROGRAM");
    let program = program.map_or_else(|| env!("CARGO_BIN_EXE_kq").into(), PathBuf::from);
    let pairs = Pairs::new(&program);
    let seed = number("KQ_FUZZ_SEED").unwrap_or(1);
    let asked = std::env::var("KQ_FUZZ_PAIRS").ok();
    let (all, again) = match asked.as_deref() {
        Some("all") => (true, None),
        Some(number) => (false, Some(number.parse().expect("KQ_FUZZ_PAIRS is a number, or all"))),
        None => (false, None),
    };
    let seconds = number("KQ_FUZZ_SECONDS").unwrap_or(10);
    let seconds = Duration::from_secs(if all || again.is_some() { u64::MAX } else { seconds });
    let first = if all { seed.wrapping_mul(pairs.count()) } else { seed };
    let cases = number("KQ_FUZZ_CASES").or(again.map(|_| 1));
    let end = cases.or(all.then(|| pairs.count()));
    let end = end.map_or(u64::MAX, |count| first.saturating_add(count));
    let (next, begun, failures) = (AtomicU64::new(first), Instant::now(), Mutex::new(Vec::new()));
    let total = AtomicU64::new(0);
    let threads = thread::available_parallelism().map_or(2, |count| count.get().min(4));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let failed = failures.lock().expect("no panic").len();
                    if at >= end || begun.elapsed() > seconds || failed >= ENOUGH && !all {
                        return;
                    }
                    // Neighbours have little in common, so that a few are of all kinds.
                    let number = if all { at } else { Random::new(at).next() };
                    let number = again.unwrap_or(number);
                    let Some(case) = pairs.case(number) else { continue };
                    total.fetch_add(1, Ordering::Relaxed);
                    if let Some(told) = pairs.try_one(&program, &case) {
                        if all {
                            println!("{told}");
                        }
                        failures.lock().expect("no panic").push(told);
                    }
                }
            });
        }
    });
    let (total, failures) = (total.into_inner(), failures.into_inner().expect("no panic"));
    println!("{total} runs with two long lists in {:?}, from {first}", begun.elapsed());
    let failed = failures.len();
    assert!(failures.is_empty(), "{failed} of {total} runs failed\n{}", failures.join("\n"));
    assert!(total > 0, "nothing was run");
}

impl Pairs {
    fn new(program: &Path) -> Self {
        let example = repository().join("examples/night/worker-3.json");
        let example = fs::read(example).expect("it can be read");
        let example: Value = serde_json::from_slice(&example).expect("JSON");
        let snapshot = grow::with_all_lists(example);
        let places = grow::places(&snapshot);
        let pods = snapshot["pods"]["found"]["value"]["pods"].as_array().expect("pods");
        let pod = pods.iter().find(|it| it["pod"]["metadata"]["name"] == "train-0");
        let pod = &pod.expect("the pod is there")["pod"];
        let mut spec = pod["spec"].clone();
        spec["priority"] = 2_000_000_000.into();
        spec["nodeName"] = Value::Null;
        // The API server takes no devices for a pod as a whole.
        spec["resources"] = Value::Null;
        let metadata = json!({"name": "new", "namespace": "ml", "uid": "new"});
        let new = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        let mut pairs = Self { snapshot, places, lines: Vec::new(), new: new.to_string() };
        let text = pairs.snapshot.to_string();
        for (command, arguments) in LINES.iter().chain(MORE) {
            let arguments = arguments
                .replace("CONTAINER", "a752b21b0076")
                .replace("POD", "ml/train-0")
                .replace("NEW", "new.json");
            let line = format!("{command} {arguments} --snapshot snapshot.json");
            // What is refused here reads no snapshot.
            if pairs.run(program, &line, &text).status.code() != Some(2) {
                pairs.lines.push(line.clone());
                let as_json = format!("{line} -ojson");
                if pairs.run(program, &as_json, &text).status.code() != Some(2) {
                    pairs.lines.push(as_json);
                }
            }
        }
        if let Ok(only) = std::env::var("KQ_FUZZ_ONLY") {
            let only: Vec<&str> = only.split(',').collect();
            let is_meant = |line: &String| only.iter().any(|part| line.contains(part));
            if pairs.lines.iter().any(is_meant) {
                pairs.lines.retain(is_meant);
            }
            let is_meant = |place: &Place| only.iter().any(|part| place.name.contains(part));
            if pairs.places.iter().any(is_meant) {
                pairs.places.retain(is_meant);
            }
        }
        pairs
    }

    /// Returns how many cases there are until only the elements differ.
    fn count(&self) -> u64 {
        (self.places.len() * self.places.len() * self.lines.len()) as u64
    }

    /// Returns the case with a number; `None`: it is that of another number too.
    fn case(&self, number: u64) -> Option<Case<'_>> {
        let mut rest = number;
        let mut below = |end: usize| {
            let end = end as u64;
            let at = rest % end;
            rest /= end;
            usize::try_from(at).expect("it is below a usize")
        };
        let line = &self.lines[below(self.lines.len())];
        let (one, other) = (below(self.places.len()), below(self.places.len()));
        if one >= other {
            return None;
        }
        let places = [&self.places[one], &self.places[other]];
        let mut random = Random::new(number / self.lines.len() as u64);
        let accepts = |value: &Value| Snapshot::parse(value.to_string().as_bytes()).is_ok();
        let grown = grow::grown(&self.snapshot, places, &mut random, &accepts);
        let snapshot = grown.to_string();
        assert!(snapshot.len() <= LARGEST, "{}", snapshot.len());
        Some(Case { number, places, line: line.clone(), snapshot })
    }

    fn run(&self, program: &Path, line: &str, snapshot: &str) -> Ran {
        let folder = folder_with(&[("snapshot.json", snapshot), ("new.json", &self.new)]);
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        run::run(program, &arguments, folder.path(), None)
    }

    /// Runs a case, and returns what is wrong about it.
    fn try_one(&self, program: &Path, case: &Case<'_>) -> Option<String> {
        let ran = self.run(program, &case.line, &case.snapshot);
        let mut wrong = ran.wrong(case.line.ends_with("-ojson"));
        let stderr = String::from_utf8_lossy(&ran.stderr);
        let [one, other] = case.places;
        // Every element is sound, so none is a reason to refuse.
        if stderr.contains("is not a kq snapshot")
            || stderr.contains("has a value that kq cannot read")
        {
            wrong.push("refused".to_owned());
        }
        // Within the bounds, but no answer.
        if stderr.contains("MiB of memory") {
            wrong.push("refused for memory".to_owned());
        }
        if std::env::var_os("KQ_FUZZ_SHOW").is_some() {
            let (cpu, memory) = (ran.cpu.as_millis(), ran.memory >> 20);
            let Case { line, number, .. } = case;
            println!("{cpu} ms {memory} MiB {number}: {line}: {} x {}", one.name, other.name);
        }
        if wrong.is_empty() {
            return None;
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pairs/{}", case.number));
        fs::create_dir_all(&folder).expect("a folder can be made");
        let write = |name, content: &str| fs::write(folder.join(name), content);
        write("snapshot.json", &case.snapshot).expect("a file can be written");
        write("new.json", &self.new).expect("a file can be written");
        let stderr: String = stderr.chars().take(300).collect();
        Some(format!(
            "KQ_FUZZ_PAIRS={}: {} ({:?}, {} MiB)\n  {} by {}\n  cd {} && kq {}\n  {}",
            case.number,
            wrong.join(", "),
            ran.cpu,
            ran.memory >> 20,
            one.name,
            other.name,
            folder.display(),
            case.line,
            stderr.escape_debug()
        ))
    }
}

#[test]
fn a_number_gives_the_same_case_again() {
    let pairs = Pairs::new(Path::new(env!("CARGO_BIN_EXE_kq")));
    assert!(pairs.places.len() > 70, "{}", pairs.places.len());
    let numbers = (0..).map(|at| Random::new(at).next());
    let cases = || numbers.clone().filter_map(|number| pairs.case(number)).take(4);
    for (one, other) in cases().zip(cases()) {
        assert_eq!(one.snapshot, other.snapshot);
        let [first, second] = one.places;
        let (names, size) = (format!("{} {}", first.name, second.name), one.snapshot.len());
        // Lists that a kubelet bounds stay below.
        assert!(size > LARGEST / 4, "{names}: {size}");
        assert!(Snapshot::parse(one.snapshot.as_bytes()).is_ok(), "{names}");
    }
}
