//! Conformance with answers recorded from the kubelet's own functions.
//!
//! Reads the folder in `KQ_VECTORS_DIR`, else `tests/vectors/`, and runs every `FAMILY.jsonl` in it.
//! A line is `{"id", "source", "in", "out"}`; a family is a function from `in` to `out` that goes
//! through the library's public functions. With `"partial": true`, `out` has a part of the answer
//! (`oracle/README.md`). `"kubernetes"` is the version that answered, and whose rules kq then follows; without it,
//! the answer is that of 1.36.
//!
//! `tests/vectors/read/` has cases of the same shape that no kubelet answered: `"source"` is `read`, and `"read"` names what the
//! answer was read in.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

mod admission;
mod cgroup_path;
mod checkpoint;
mod container_cgroup;
mod container_gc;
mod cpu_admit;
mod cpu_allocate;
mod cpu_convert;
mod cpu_hints;
mod cpu_input;
mod cpu_share;
mod cpu_start;
mod critical;
mod device_allocate;
mod device_capacity;
mod device_input;
mod device_register;
mod device_run_options;
mod digest;
mod eviction;
mod eviction_rank;
mod gc_loop;
mod image_gc;
mod input;
mod kubelet_cgroup;
mod kubelet_config_validate;
mod kubelet_flags;
mod memory_admit;
mod memory_allocate;
mod memory_input;
mod memory_start;
mod node_allocatable;
mod pod_cgroup;
mod pod_resources;
mod preempt;
mod preempt_admit;
mod preempt_units;
mod probe_defaults;
mod probe_exec;
mod probe_grace_period;
mod probe_grpc;
mod probe_http;
mod probe_input;
mod probe_pod_status;
mod probe_retry;
mod probe_server;
mod probe_tcp;
mod probe_worker;
mod qos;
mod qos_cgroup;
mod quantity;
mod state_files;
mod sysctl_admit;
mod topology_hints;
mod topology_merge;

type Answer = fn(&Value) -> Value;

/// Every family that kq knows.
const FAMILIES: &[(&str, Answer)] = &[
    ("admission", admission::answer),
    ("cgroup_path", cgroup_path::answer),
    ("checkpoint", checkpoint::answer),
    ("container_cgroup", container_cgroup::answer),
    ("container_gc", container_gc::answer),
    ("cpu_admit", cpu_admit::answer),
    ("cpu_allocate", cpu_allocate::answer),
    ("cpu_convert", cpu_convert::answer),
    ("cpu_hints", cpu_hints::answer),
    ("cpu_share", cpu_share::answer),
    ("cpu_start", cpu_start::answer),
    ("critical", critical::answer),
    ("device_allocate", device_allocate::answer),
    ("device_capacity", device_capacity::answer),
    ("device_register", device_register::answer),
    ("image_gc", image_gc::answer),
    ("image_gc_cycles", image_gc::answer),
    ("gc_loop", gc_loop::answer),
    ("device_run_options", device_run_options::answer),
    ("eviction", eviction::answer),
    ("eviction_rank", eviction_rank::answer),
    ("memory_admit", memory_admit::answer),
    ("memory_allocate", memory_allocate::answer),
    ("memory_hints", memory_allocate::hints),
    ("memory_start", memory_start::answer),
    ("kubelet_config_validate", kubelet_config_validate::answer),
    ("kubelet_flags", kubelet_flags::answer),
    ("node_allocatable", node_allocatable::answer),
    ("pod_cgroup", pod_cgroup::answer),
    ("pod_resources", pod_resources::answer),
    ("preempt", preempt::answer),
    ("preempt_admit", preempt_admit::answer),
    ("preempt_units", preempt_units::answer),
    ("probe_grace_period", probe_grace_period::answer),
    ("probe_pod_status", probe_pod_status::answer),
    ("probe_retry", probe_retry::answer),
    ("probe_worker", probe_worker::answer),
    ("probe_defaults", probe_defaults::answer),
    ("probe_http", probe_http::answer),
    ("probe_exec", probe_exec::answer),
    ("probe_grpc", probe_grpc::answer),
    ("probe_tcp", probe_tcp::answer),
    ("qos", qos::answer),
    ("qos_cgroup", qos_cgroup::answer),
    ("quantity", quantity::answer),
    ("state_files", state_files::answer),
    ("sysctl_admit", sysctl_admit::answer),
    ("topology_hints", topology_hints::answer),
    ("topology_merge", topology_merge::answer),
];

/// How many cases of a family are run at once.
const AT_ONCE: usize = 6;

/// How many failures of a family are shown, unless `KQ_VECTORS_SHOWN` says how many.
const SHOWN: usize = 5;

#[test]
fn every_recorded_answer_is_reproduced() {
    let dir = std::env::var_os("KQ_VECTORS_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"), PathBuf::from);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&dir)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", dir.display()))
        .map(|entry| entry.expect("a folder entry can be read").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no vectors in {}", dir.display());

    let failed: usize = files.iter().map(|file| run(file)).sum();
    assert_eq!(failed, 0, "{failed} cases failed");
}

/// Both sides of rules of versions whose answers were not recorded.
#[test]
fn every_answer_that_was_read_is_reproduced() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/read");
    let files = std::fs::read_dir(&folder).expect("the cases that were read");
    let mut failed = 0;
    for file in files.map(|file| file.expect("a folder entry can be read").path()) {
        for line in std::fs::read_to_string(&file).expect("a vector file is UTF-8").lines() {
            let case: Value = serde_json::from_str(line).expect("a vector line is JSON");
            let has_origin = ["kubernetes", "read"].iter().all(|field| case[*field].is_string());
            assert!(case["source"] == "read" && has_origin, "{}: its origin", case["id"]);
        }
        failed += run(&file);
    }
    assert_eq!(failed, 0, "{failed} cases failed");
}

/// Returns true if an answer is the recorded one; where the kubelet follows the order of a hash map, several
/// are right and listed in `one_of`; where two of its timers race, several messages in `message_one_of`.
fn agrees(got: &Value, expected: &Value) -> bool {
    match expected.get("one_of").and_then(Value::as_array) {
        Some(answers) => {
            let either = got.get("one_of").and_then(Value::as_array);
            let same = |got: &Vec<Value>| got.iter().all(|one| answers.contains(one));
            answers.contains(got)
                || either.is_some_and(|got| got.len() == answers.len() && same(got))
        }
        None => match expected.get("message_one_of").and_then(Value::as_array) {
            Some(messages) => messages.iter().any(|message| {
                let mut expected = expected.clone();
                if let Some(fields) = expected.as_object_mut() {
                    fields.remove("message_one_of");
                    fields.insert("message_text".to_owned(), message.clone());
                }
                *got == expected
            }),
            None => got == expected,
        },
    }
}

/// Returns the part of an answer that a recorded answer has.
fn recorded_part(got: &Value, recorded: &Value) -> Value {
    match (got, recorded) {
        (Value::Object(got), Value::Object(recorded)) => got
            .iter()
            .filter_map(|(key, value)| {
                Some((key.clone(), recorded_part(value, recorded.get(key)?)))
            })
            .collect(),
        (Value::Array(got), Value::Array(recorded)) if got.len() == recorded.len() => {
            got.iter().zip(recorded).map(|(got, recorded)| recorded_part(got, recorded)).collect()
        }
        _ => got.clone(),
    }
}

/// Returns true if an answer has all of what is recorded of one.
fn agrees_in_part(got: &Value, recorded: &Value) -> bool {
    let answers = recorded.get("one_of").and_then(Value::as_array);
    let answers = answers.map_or(std::slice::from_ref(recorded), Vec::as_slice);
    let in_order = eviction_rank::in_tie_order;
    answers.iter().any(|answer| in_order(recorded_part(got, answer)) == in_order(answer.clone()))
}

/// Runs one case.
fn check(answer: Answer, line: &str) -> Result<(), String> {
    let case: Value = serde_json::from_str(line).expect("a vector line is JSON");
    let mut input = case["in"].clone();
    if let (Some(input), Some(version)) = (input.as_object_mut(), case.get("kubernetes")) {
        input.insert("kubernetes".to_owned(), version.clone());
    }
    let got =
        std::panic::catch_unwind(|| answer(&input)).unwrap_or_else(|_| Value::from("kq panicked"));
    if case["partial"] == true && agrees_in_part(&got, &case["out"]) {
        return Ok(());
    }
    let got = checkpoint::comparable(got, &case["out"]);
    let got = preempt::comparable(got, &case["out"]);
    let got = memory_start::comparable(got, &case["out"]);
    let in_order = eviction_rank::in_tie_order;
    if device_allocate::agrees(&got, &case["out"])
        || in_order(got.clone()) == in_order(case["out"].clone())
    {
        return Ok(());
    }
    Err(format!("{}\n    expected {}\n    got      {got}", case["id"], case["out"]))
}

/// Runs one family and returns how many of its cases failed.
fn run(file: &Path) -> usize {
    let family = file.file_stem().unwrap_or_default().to_string_lossy();
    let Some((_, answer)) = FAMILIES.iter().find(|(name, _)| *name == family) else {
        println!("{family} passed 0 failed 1");
        println!("  unknown family: {}", file.display());
        return 1;
    };
    let text = std::fs::read_to_string(file).expect("a vector file is UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    // Some cases only wait: for a server that says nothing, for a time that is over.
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    let Some(line) = lines.get(number) else { break };
                    if let Err(failure) = check(*answer, line) {
                        failures.lock().expect("no thread panicked").insert(number, failure);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("no thread panicked");
    let passed = lines.len() - failures.len();
    println!("{family} passed {passed} failed {}", failures.len());
    let shown = std::env::var("KQ_VECTORS_SHOWN").ok().and_then(|number| number.parse().ok());
    for failure in failures.values().take(shown.unwrap_or(SHOWN)) {
        println!("  {failure}");
    }
    failures.len()
}
