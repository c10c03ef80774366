//! No decision reads a text, an ID or a JSON field that kq itself wrote: the type that it was written from decides.

use crate::source_files::rust_files;
use regex::Regex;
use std::collections::BTreeSet;

/// What looks like such a decision.
const PATTERNS: [&str; 9] = [
    // The ID of a finding.
    r#"\.id(\.as_str\(\))?\s*(==|!=)\s*&?\*?"|\bmatch\s+&?\*?[\w.]+\.id(\.as_str\(\))?\s*\{|matches!\(\s*&?\*?[\w.]+\.id\b|\.id\.(contains|starts_with|ends_with)\(\s*""#,
    // A fact of a finding or of a basis, by its name.
    r#"\bfacts\s*(\.get\(\s*"|\[\s*")"#,
    // A place in JSON.
    r#"\.pointer\(|\.is\(\s*"|\bmatch\s+\w+\.text\(\s*"|\.(text|number|some_text|field)\(\s*"[^"]*"\s*\)(\.as_bool\(\))?\s*(==|!=)"#,
    // A sentence, or the name of a source; enums are no texts.
    r#"\.(text|sentence|message|because|advice|reason|source)(\(\))?(\.as_str\(\))?\s*(==|!=)\s*([a-z"&*]|[A-Z][A-Z_]+\b)|(==|!=)\s*&?\*?[\w.]*\.(text|sentence|message|because|advice|reason|source)(\(\))?[^.(\w]|\.(text|sentence|message|because|advice|reason|source)(\(\))?\.(contains|starts_with|ends_with|strip_prefix|strip_suffix|split_once)\(|\b(reason|source)\.(contains|starts_with|ends_with)\("#,
    // A text that is made for the comparison.
    r"\.to_string\(\)\s*(==|!=)|(==|!=)\s*&?\*?[\w.]*\.to_string\(\)|(==|!=)\s*format!|\.(contains|starts_with|ends_with)\(\s*&?\*?[\w.]+\.to_string\(\)",
    // The word of a level of cgroups.
    r#"\.level\s*(==|!=)\s*"|\.contains\(\s*&[\w.]+\.level\s*\)"#,
    // The word of another field, or of a part of it.
    r#"\.(part|check|resource|rule|word|state|unit|what|file)(\.as_str\(\))?\s*(==|!=)\s*"|\b(part|check|field)\s*(==|!=)\s*"[a-zA-Z]{2,}"#,
    // The same in a pattern, and the name of a check.
    r#"\b\w+:\s*"[a-zA-Z][\w ]*"\s*\}\s*(\||=>)|\bmatch check \{\s*"|\(check, [\w.]+\) \{\s*\("|\bcheck: ""#,
    // Words in the middle of a text, or at its beginning.
    r#"\b(it|text|assumed|why_not|damage)\.(contains|starts_with|ends_with)\(\s*"[a-z]+:? [^"]*""#,
];

/// Why a line may stand.
const FOREIGN: &str = "another program wrote it";
const KUBERNETES: &str = "a name that Kubernetes gave";
const ONCE: &str = "the same sentence is said once";
const NO_TEXT: &str = "it is no text of kq, and no text at all";

/// The file, a part of the line, and why it may stand.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("crates/admission/src/explain.rs", r#"resource.as_str() == "pods""#, KUBERNETES),
    ("crates/admission/src/view.rs", r#"resource.as_str() != "pods""#, KUBERNETES),
    ("crates/core/src/explain/log.rs", "text.starts_with(", FOREIGN),
    ("crates/core/src/fleet/own_pod.rs", r#"field == "requests""#, KUBERNETES),
    ("crates/core/src/kubelet_start/config.rs", r#"it.field == "logging.format""#, KUBERNETES),
    ("crates/core/src/kubelet_start/config.rs", r#"*field == "Kind""#, KUBERNETES),
    ("crates/core/src/kubelet_start/machine.rs", r#"it.field == "authorization.mode""#, KUBERNETES),
    ("crates/core/src/kubelet_start/state.rs", r#"field == "reservedMemory""#, KUBERNETES),
    (
        "crates/core/src/what_if/parse.rs",
        r#"kind.word == "add""#,
        "an argument of the command line",
    ),
    ("crates/facts/src/settings.rs", r#"*field == "evictionHard""#, KUBERNETES),
    ("crates/facts/src/resize.rs", "it.reason == ERROR", KUBERNETES),
    ("crates/core/src/explain/crash.rs", "text.starts_with(\"goroutine \")", FOREIGN),
    ("crates/core/src/kubelet_start/machine.rs", ".pointer(\"/authorization/mode\")", FOREIGN),
    ("crates/core/src/kubelet_start/serving.rs", "config.pointer(path)", FOREIGN),
    ("crates/admission/src/preemption/why/evidence.rs", "TaintManagerEviction", FOREIGN),
    ("crates/core/src/question/doctor/ended.rs", "event.reason != \"Killing\"", FOREIGN),
    ("crates/core/src/question/doctor/ended.rs", "starts_with(FAILED_PULL)", FOREIGN),
    ("crates/admission/src/preemption/why/evidence.rs", "Cancelling deletion", FOREIGN),
    ("crates/admission/src/preemption/why/preemptor.rs", r#"event.reason == "Preempted""#, FOREIGN),
    ("crates/admission/src/preemption/why/termination.rs", "end.reason == ", FOREIGN),
    ("crates/answer/src/basis.rs", "self.text == *shown", ONCE),
    ("crates/answer/src/basis.rs", "rest == format!", ONCE),
    ("crates/api/src/api_server/status.rs", "BUDGET_CAUSE", FOREIGN),
    (
        "crates/facts/src/kubelet_process/distributed.rs",
        ".pointer(\"/node/hostnameOverride\")",
        FOREIGN,
    ),
    ("crates/cgroup/src/explain.rs", "&place.level", NO_TEXT),
    ("crates/facts/src/cgroup_tree.rs", "problem.source.strip_suffix", "a path of the node"),
    ("crates/node/src/pods.rs", "source == server.source()", "which of the servers it was"),
    ("crates/cgroup/src/knowledge.rs", "because.contains(&Rule::", NO_TEXT),
    ("crates/cgroup/src/shares.rs", "match leaf.node.id", NO_TEXT),
    ("crates/core/src/fleet/own_pod.rs", ".pointer(", FOREIGN),
    ("crates/core/src/question/doctor/ended.rs", r#"event.reason.starts_with("Failed")"#, FOREIGN),
    ("crates/core/src/question/doctor/pods.rs", r#""OOMKilled""#, FOREIGN),
    ("crates/facts/src/checkpoint/memory_manager/types.rs", "dump.pointer(", NO_TEXT),
    (
        "crates/facts/src/devices.rs",
        "it.reason.ends_with(NO_FOLDER)",
        "older snapshots have nothing else",
    ),
    ("crates/facts/src/kubelet_config/carrier.rs", ".pointer(", FOREIGN),
    ("crates/facts/src/events.rs", "Preempted", FOREIGN),
    ("crates/facts/src/start_files/named.rs", "config.pointer(", FOREIGN),
    ("crates/facts/src/node_pods.rs", r#"source.contains(", ")"#, "a sentence in the plural"),
    (
        "crates/facts/src/runtime.rs",
        r#"source.ends_with("RuntimeConfig")"#,
        "older snapshots have nothing else",
    ),
    (
        "crates/facts/src/weight_formula.rs",
        "formula.to_string() == text",
        "a value of a flag is read by its names",
    ),
    ("crates/image-gc/src/changing_world.rs", r#"format!("of {gone}")"#, "a world of unit tests"),
    ("crates/image-gc/src/containers/state.rs", r#"pod.status.reason == "Evicted""#, FOREIGN),
    (
        "crates/image-gc/src/explain/view.rs",
        "short == amount.to_string()",
        "a unit is added to a number without one",
    ),
    ("crates/io/src/certificates.rs", ".pointer(", FOREIGN),
    ("crates/k8s/src/manifest/unknown.rs", ".pointer(", FOREIGN),
    ("crates/k8s/src/pod/placement.rs", "number.to_string() == text", FOREIGN),
    ("crates/linux/src/cri/convert.rs", "match status.id", FOREIGN),
    ("crates/linux/src/cri/error.rs", "reason.contains", FOREIGN),
    ("crates/linux/src/cri/info.rs", ".pointer(", FOREIGN),
    ("crates/linux/src/cri/reason.rs", "decoded message length too large", FOREIGN),
    ("crates/linux/src/cri/verbose.rs", ".pointer(", FOREIGN),
    (
        "crates/managers/src/repair/plan.rs",
        "self.text.strip_prefix(pod)",
        "an argument of the command line",
    ),
    ("crates/managers/src/verify/damage.rs", "unexpected end of JSON input", FOREIGN),
    ("crates/facts/src/resize.rs", "condition.reason == DEFERRED", FOREIGN),
    ("crates/managers/src/verify/report.rs", "it.text == text", ONCE),
    (
        "crates/node/src/action/devices/serve/requests.rs",
        "pod == format!",
        "an argument of the command line",
    ),
    ("crates/node/src/action/fleet/apply.rs", "object.pointer(", FOREIGN),
    ("crates/node/src/config.rs", "config.pointer(", FOREIGN),
    ("crates/probe/src/plan.rs", "known.text == text", ONCE),
    ("crates/probe/src/recorded.rs", "event.message.strip_prefix(COMBINED)", FOREIGN),
    (
        "crates/probe/src/worker/machine.rs",
        "container_id.to_string() == container.container_id",
        FOREIGN,
    ),
    ("src/bin/kq/gc/question.rs", r#"facts.get("kubeletStart")"#, "a fact that is shown"),
];

/// Returns the code of a file without comments and unit tests.
fn code(text: &str, tests: &Regex) -> String {
    let text = tests.find(text).map_or(text, |found| &text[..found.start()]);
    let lines =
        text.lines().map(|line| if line.trim_start().starts_with("//") { "" } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn no_decision_reads_what_kq_wrote() {
    let tests = Regex::new(r"#\[cfg\((test|all\(test.*)\)\]\s*mod \w+ \{").expect("a pattern");
    let patterns = PATTERNS.map(|pattern| Regex::new(pattern).expect("a pattern"));
    let files = rust_files().into_iter().filter(|(path, _)| {
        let is_code = path.starts_with("crates/") || path.starts_with("src/");
        is_code && !path.contains("/tests/") && !path.ends_with("tests.rs")
    });
    let (mut read, mut found) = (0, BTreeSet::new());
    for (path, text) in files {
        read += 1;
        let code = code(&text, &tests);
        for at in patterns.iter().flat_map(|pattern| pattern.find_iter(&code)) {
            let start = code[..at.start()].rfind('\n').map_or(0, |end| end + 1);
            let line = code[start..].lines().next().unwrap_or_default().trim();
            found.insert((path.clone(), line.to_owned()));
        }
    }
    assert!(read > 840, "only {read} files were read");
    let is_of = |(path, line): &(String, String), (file, part, _): &(&str, &str, &str)| {
        path == file && line.contains(part)
    };
    let new: Vec<_> =
        found.iter().filter(|it| !EXCEPTIONS.iter().any(|known| is_of(it, known))).collect();
    assert!(new.is_empty(), "decide by the type that this is written from: {new:#?}");
    let stale: Vec<_> =
        EXCEPTIONS.iter().filter(|known| !found.iter().any(|it| is_of(it, known))).collect();
    assert!(stale.is_empty(), "exceptions without their line: {stale:#?}");
}
