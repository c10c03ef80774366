//! What cannot be understood is refused by name, and nothing breaks kq.

use super::{Ran, folder_with, kq, matches, repository};
use std::collections::BTreeSet;
use std::fs::File;
use std::time::{Duration, Instant};

/// One bad input, alone in the file `pod.yaml`.
struct Bad {
    name: &'static str,
    content: Vec<u8>,
    code: i32,
    /// What the message must name.
    names: &'static [&'static str],
}

fn bad(
    name: &'static str,
    content: impl AsRef<[u8]>,
    code: i32,
    names: &'static [&'static str],
) -> Bad {
    let content = content.as_ref().to_owned();
    Bad { name, content, code, names }
}

/// A pod whose `metadata` has these entries.
fn meta(entries: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{{entries}}}\n\
         spec: {{containers: [{{name: c, image: i}}]}}\n"
    )
}

/// A pod whose only container has these entries.
fn container(entries: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\n\
         spec: {{containers: [{{name: c, image: i, {entries}}}]}}\n"
    )
}

/// A container that requests and is limited to this.
fn resources(requests: &str, limits: &str) -> String {
    container(&format!("resources: {{requests: {{{requests}}}, limits: {{{limits}}}}}"))
}

fn utf16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

/// Anchors that double twenty times over.
fn anchors() -> String {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let before = format!("*a{}", level - 1);
        let entries = vec![before; 9].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{entries}]\n"));
    }
    text
}

/// The kubelet has the YAML package decode a static manifest, which knows UTF-16 by its mark.
#[test]
fn a_manifest_in_utf_16_is_read() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {a: grün}}\nspec:\n  \
                containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]\n";
    let ask = |content: &[u8]| {
        let folder = folder_with(&[("pod.yaml", content)]);
        kq("cgroup plan pod.yaml --capacity cpu=4,memory=8Gi,pid=32768").within(folder.path()).run()
    };
    let (plain, utf16) = (ask(text.as_bytes()), ask(&utf16(text)));
    assert_eq!(utf16.code, 0, "{}", utf16.text());
    assert_eq!(utf16.stdout, plain.stdout);
}

fn manifests() -> Vec<Bad> {
    let deep = |open: &str, close: &str| open.repeat(5_000) + &close.repeat(5_000);
    vec![
        bad("not YAML", "kind: Pod\n  name: [", 2, &["line 2"]),
        bad("tab", "kind: Pod\nspec:\n\tcontainers: []\n", 2, &["line 3"]),
        bad("not JSON", "{\"kind\": \"Pod\",\n \"spec\": ]}", 2, &["line 2", "column"]),
        bad("JSON that ends", "{\"kind\": \"Pod\"", 2, &["line 1"]),
        bad("unclosed quote", "kind: \"Pod\n", 2, &["line"]),
        bad("empty", "", 2, &["pod.yaml"]),
        bad("blanks", " \n\n  \n", 2, &["pod.yaml"]),
        bad("comments only", "# a\n# b\n---\n# c\n", 2, &["pod.yaml"]),
        bad("a text", "hello\n", 2, &["pod.yaml"]),
        bad("a number", "5\n", 2, &["pod.yaml"]),
        bad("null", "null\n", 2, &["pod.yaml"]),
        bad("a list of numbers", "[1, 2]\n", 2, &["pod.yaml"]),
        bad("binary", [0, 159, 146, 150, 7, 27, 255], 2, &["pod.yaml"]),
        bad("zeros", [0; 4096], 2, &["pod.yaml"]),
        bad("broken UTF-16", [utf16(&meta("name: p")), vec![0]].concat(), 2, &["UTF-16"]),
        bad("not UTF-8", b"kind: Pod\nmetadata: {name: \"\xff\"}\n", 2, &["pod.yaml"]),
        bad("anchors", anchors(), 2, &["pod.yaml"]),
        bad("an anchor of itself", "a: &a [*a]\n", 2, &["pod.yaml"]),
        bad("unknown anchor", "a: *nothing\n", 2, &["line 1"]),
        bad("deep lists", deep("[", "]"), 2, &["pod.yaml"]),
        bad("deep mappings", deep("{a: ", "}"), 2, &["pod.yaml"]),
        bad("deep JSON", deep("{\"a\": ", "}"), 2, &["pod.yaml"]),
        bad("deep blocks", "- ".repeat(5_000), 2, &["pod.yaml"]),
        bad("no kind", "apiVersion: v1\nmetadata: {name: p}\n", 2, &["kind"]),
        bad("null kind", "apiVersion: v1\nkind: null\n", 2, &["kind"]),
        bad("number as kind", "apiVersion: v1\nkind: 5\n", 2, &["kind"]),
        bad("unknown kind", "apiVersion: v1\nkind: Pot\nmetadata: {name: p}\n", 2, &["Pot"]),
        bad(
            "no pod template",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n",
            2,
            &["ConfigMap"],
        ),
        bad("wrong version", "apiVersion: v2\nkind: Pod\nmetadata: {name: p}\n", 2, &["v2"]),
        bad(
            "everything null",
            "apiVersion: v1\nkind: Pod\nmetadata: null\nspec: null\nstatus: null\n",
            2,
            &["metadata.name"],
        ),
        bad(
            "no containers",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {}\n",
            2,
            &["Pod p", "spec.containers"],
        ),
        bad(
            "null containers",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: null}\n",
            2,
            &["Pod p", "spec.containers"],
        ),
        bad(
            "null container",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [null]}\n",
            2,
            &["Pod p", "spec.containers[0]"],
        ),
        bad(
            "containers as a mapping",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: {name: c}}\n",
            2,
            &["Pod p", "spec.containers"],
        ),
        bad(
            "spec as a text",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: hello\n",
            2,
            &["Pod p", "spec"],
        ),
        bad("no name", meta("namespace: web"), 2, &["metadata.name"]),
        bad("number as name", meta("name: 5"), 2, &["metadata.name", "5"]),
        bad("capital name", meta("name: Web"), 2, &["metadata.name", "Web"]),
        bad("long name", meta(&format!("name: {}", "x".repeat(254))), 2, &["metadata.name"]),
        bad(
            "very long name",
            meta(&format!("name: {}", "x".repeat(1_000_000))),
            2,
            &["metadata.name"],
        ),
        bad("name with a slash", meta("name: a/b"), 2, &["a/b"]),
        bad("name with dots", meta("name: ../../etc"), 2, &["../../etc"]),
        bad("name that clears the screen", meta("name: \"a\\e[2Jb\""), 2, &["\\u{1b}"]),
        bad("name with a line end", meta("name: \"a\\nkq: all is well\""), 2, &["metadata.name"]),
        bad("name that turns around", meta("name: \"a\\u202eb\""), 2, &["\\u{202e}"]),
        bad("name without width", meta("name: \"a\\u200bb\""), 2, &["metadata.name"]),
        bad("emoji", meta("name: \u{1f980}"), 2, &["\u{1f980}"]),
        bad("UID with a slash", meta("name: p, uid: a/b"), 2, &["uid", "a/b"]),
        bad("UID that climbs", meta("name: p, uid: ..").as_str(), 2, &["uid", ".."]),
        bad("UID with a zero byte", meta("name: p, uid: \"a\\0b\""), 2, &["uid"]),
        bad("namespace that climbs", meta("name: p, namespace: ../x"), 2, &["namespace", "../x"]),
        bad("no container name", container("name: ''"), 2, &["spec.containers[0].name"]),
        bad(
            "container name with a slash",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: ../c, image: i}]}\n",
            2,
            &["spec.containers[0].name", "../c"],
        ),
        bad(
            "twice the same container",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}, {name: c, image: i}]}\n",
            2,
            &["spec.containers[1].name", "Duplicate", "\"c\""],
        ),
        bad(
            "resources as a text",
            container("resources: lots"),
            2,
            &["spec.containers[0].resources"],
        ),
        bad(
            "requests as a list",
            container("resources: {requests: [cpu]}"),
            2,
            &["spec.containers[0].resources.requests"],
        ),
        bad("negative", resources("cpu: '-1'", ""), 2, &["requests[cpu]", "-1"]),
        bad("malformed", resources("memory: 1Gib", ""), 2, &["requests", "1Gib"]),
        bad("words", resources("memory: lots", ""), 2, &["requests", "lots"]),
        bad("no amount", resources("memory: ''", ""), 2, &["requests"]),
        bad("null amount", resources("memory: null", "memory: x"), 2, &["x"]),
        bad("true amount", resources("memory: true", ""), 2, &["requests", "true"]),
        bad("mapping as amount", resources("memory: {a: b}", ""), 2, &["requests"]),
        bad("NaN", resources("cpu: .nan", ""), 2, &[".nan"]),
        bad("infinity", resources("cpu: -.inf", ""), 2, &[".inf"]),
        bad("NaN as text", resources("cpu: NaN", ""), 2, &["NaN"]),
        bad("blank in an amount", resources("memory: '1 Gi'", ""), 2, &["1 Gi"]),
        bad("Arabic digits", resources("memory: '\u{661}Gi'", ""), 2, &["\u{661}Gi"]),
        bad("huge exponent", resources("memory: 1e99999999999", ""), 2, &["1e99999999999"]),
        bad(
            "long amount",
            resources(&format!("memory: '{}x'", "9".repeat(100_000)), ""),
            2,
            &["requests"],
        ),
        bad(
            "request above limit",
            resources("memory: 2Gi", "memory: 1Gi"),
            2,
            &["requests", "2Gi", "1Gi"],
        ),
        bad(
            "milli-bytes of huge pages",
            resources("hugepages-2Mi: 1Mi, memory: 1Mi", "hugepages-2Mi: 1Mi"),
            2,
            &["hugepages-2Mi", "1Mi"],
        ),
        bad("unknown resource", resources("cpus: '1'", ""), 2, &["cpus"]),
        bad(
            "deployment without a template",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 1}\n",
            2,
            &["Deployment d", "template"],
        ),
        bad("list of a text", "apiVersion: v1\nkind: List\nitems: [hello]\n", 2, &["items[0]"]),
        bad("list without a list", "apiVersion: v1\nkind: List\nitems: 5\n", 2, &["items"]),
        bad("many problems", "---\nkind: A\n---\nkind: B\n---\nkind: C\n", 2, &["hint: 2 more"]),
    ]
}

/// Refusals, and what is wrong with them.
#[derive(Default)]
struct Refusals {
    shown: String,
    wrong: Vec<String>,
}

impl Refusals {
    /// Checks what holds for every refusal.
    fn add(&mut self, name: &str, ran: &Ran, code: i32, names: &[&str]) {
        let said = &ran.stderr;
        let begins = said.starts_with("kq: ") || said.starts_with("error: ");
        let is_direction = |c: char| ('\u{202a}'..='\u{202e}').contains(&c);
        let is_safe = |c: char| c == '\n' || !c.is_control() && !is_direction(c);
        for (problem, is_wrong) in [
            ("another exit code", ran.code != code),
            ("an answer all the same", !ran.stdout.is_empty()),
            ("no message of kq", !begins),
            ("a message that is not safe", !said.chars().all(is_safe)),
            ("a very long message", said.len() > 4_000),
            ("not everything is named", !names.iter().all(|name| said.contains(name))),
        ] {
            if is_wrong {
                let text: String = ran.text().chars().take(600).collect();
                self.wrong.push(format!("{name}: {problem}: {names:?}\n{text}"));
            }
        }
        self.shown.push_str(&format!("# {name}\n{said}\n"));
    }

    #[track_caller]
    fn match_file(self, expected: snapbox::Data) {
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
        matches(self.shown, expected);
    }
}

#[test]
fn bad_manifests_are_refused_by_name() {
    let mut refusals = Refusals::default();
    for Bad { name, content, code, names } in manifests() {
        let folder = folder_with(&[("pod.yaml", content)]);
        let started = Instant::now();
        let ran = kq("cgroup plan pod.yaml").within(&folder).run();
        assert!(started.elapsed() < Duration::from_secs(20), "{name} takes long");
        let names = [names, &["pod.yaml"]].concat();
        refusals.add(name, &ran, code, &names);
    }
    refusals.match_file(snapbox::file!["snapshots/bad-manifests.txt"]);
}

#[test]
fn bad_configurations_are_answered_by_name_and_other_files_refused() {
    let head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    for (name, config, names) in [
        ("unknown field", "podPidLimit: 5\n", &["podPidLimit", "podPidsLimit"][..]),
        ("wrong type", "podPidsLimit: many\n", &["podPidsLimit", "many"]),
        ("text as a list", "enforceNodeAllocatable: pods\n", &["enforceNodeAllocatable"]),
        ("list as a map", "kubeReserved: [cpu]\n", &["kubeReserved"]),
        ("bad quantity", "kubeReserved: {cpu: lots}\n", &["lots"]),
        ("negative quantity", "kubeReserved: {cpu: '-1'}\n", &["-1"]),
        ("unknown resource", "kubeReserved: {gpu: '1'}\n", &["gpu"]),
        ("bad threshold", "evictionHard: {memory.available: lots}\n", &[]),
        ("threshold above all", "evictionHard: {memory.available: 101%}\n", &["101%"]),
        ("unknown signal", "evictionHard: {ram.available: 1Gi}\n", &["ram.available"]),
        ("bad duration", "cpuCFSQuotaPeriod: 1 day\n", &["cpuCFSQuotaPeriod"]),
        (
            "factor above one",
            "featureGates: {MemoryQoS: true}\nmemoryThrottlingFactor: 2\n",
            &["2"],
        ),
        ("unknown gate", "featureGates: {MemoryQos: true}\n", &["MemoryQos", "MemoryQoS"]),
        ("gate as a text", "featureGates: {MemoryQoS: 'yes'}\n", &["MemoryQoS"]),
        ("unknown driver", "cgroupDriver: docker\n", &["docker"]),
        (
            "reserved without a cgroup",
            "enforceNodeAllocatable: [kube-reserved]\n",
            &["kubeReservedCgroup"],
        ),
        ("unknown key to enforce", "enforceNodeAllocatable: [cubes]\n", &["cubes"]),
        ("bad qosReserved", "qosReserved: {memory: 5Gi}\n", &["5Gi"]),
        ("qosReserved of CPU", "qosReserved: {cpu: 5%}\n", &["cpu"]),
        ("bad CPU set", "reservedSystemCPUs: a-b\n", &["a-b"]),
        (
            "unknown swap behaviour",
            "memorySwap: {swapBehavior: Some}\nfailSwapOn: false\n",
            &["Some"],
        ),
        ("control character", "cgroupDriver: \"a\\e[2J\"\n", &["\\u{1b}"]),
        ("NaN", "memoryThrottlingFactor: .nan\n", &[".nan"]),
        ("malformed", "authentication: [\n", &["kubelet.yaml", "line"]),
        ("anchors", &anchors(), &["kubelet.yaml"]),
        ("empty", "", &["kubelet.yaml", "0 documents"]),
        (
            "in a ConfigMap",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kubelet-config}\ndata:\n  kubelet: 'a: ['\n",
            &["kubelet.yaml", "line"],
        ),
    ] {
        let is_whole = matches!(name, "anchors" | "empty" | "in a ConfigMap");
        let text = if is_whole { config.to_owned() } else { format!("{head}{config}") };
        let folder = folder_with(&[("kubelet.yaml", text)]);
        let line = "cgroup plan --kubelet-config kubelet.yaml --capacity cpu=4,memory=8Gi,pid=9000";
        let ran = kq(line).within(&folder).run();
        assert!(ran.stdout.contains("kubepods"), "{name}: {}", ran.text());
        // Everything else than systemd is cgroupfs to the kubelet.
        let is_ignored = matches!(name, "unknown field" | "unknown driver" | "control character");
        assert_eq!(ran.code, if is_ignored { 0 } else { 3 }, "{name}: {}", ran.text());
        let named = names.iter().all(|part| ran.stderr.contains(part));
        assert!(named, "{name}: {names:?}\n{}", ran.text());
    }
}

/// The kubelet refuses a file of another kind, as one that is no YAML; each command answers that.
#[test]
fn a_configuration_of_another_kind_is_answered() {
    let night = repository().join("examples/night/worker-3.json");
    for (name, config, names) in [
        ("wrong kind", "apiVersion: v1\nkind: Pod\n", "apiVersion is \"v1\", expected"),
        (
            "wrong version",
            "apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\n",
            "apiVersion is \"kubelet.config.k8s.io/v1\"",
        ),
        ("no kind", "podPidsLimit: 5\n", "apiVersion is missing"),
        ("two documents", "a: b\n---\nc: d\n", "apiVersion is missing"),
        ("a text", "hello\n", "a kubelet configuration is a map"),
        ("a list", "- a\n", "a kubelet configuration is a map"),
        ("configz of nothing", "{\"kubeletconfig\": 5}", "apiVersion is missing"),
    ] {
        let folder = folder_with(&[("kubelet.yaml", config)]);
        let ask = |line: &str| {
            let line = format!("{line} --kubelet-config kubelet.yaml");
            kq(&line).within(&folder).run()
        };
        let of_night = |line: &str| ask(&format!("{line} --snapshot {}", night.display()));
        for ran in [
            ask("cgroup plan --capacity cpu=4,memory=8Gi,pid=9000"),
            of_night("gc policy"),
            of_night("evict rank"),
        ] {
            let said = format!("invalid kubelet configuration in kubelet.yaml: {names}");
            assert!(ran.stderr.contains(&said), "{name}: {}", ran.text());
            assert_eq!(ran.code, 3, "{name}: {}", ran.text());
        }
        for line in ["doctor", "what-if kubelet-restart"] {
            let ran = of_night(line);
            let says = ran.stdout.contains("the kubelet exits at its start");
            assert!(ran.code == 1 && says, "{name}: {line}: {}", ran.text());
        }
    }
}

#[test]
fn bad_flags_are_refused_by_name() {
    let mut refusals = Refusals::default();
    for (arguments, names) in [
        ("--capacity cpu", &["cpu"][..]),
        ("--capacity gpu=1", &["gpu"]),
        ("--capacity cpu=-1", &["-1"]),
        ("--capacity cpu=0", &["cpu", "0"]),
        ("--capacity cpu=1500m", &["1500m"]),
        ("--capacity cpu=99999999999999999999", &["99999999999999999999"]),
        ("--capacity memory=8GB", &["8GB"]),
        ("--capacity memory=NaN", &["NaN"]),
        ("--capacity hugepages-=1Gi", &["hugepages-"]),
        ("--capacity hugepages-2Mx=1Gi", &["2Mx"]),
        ("--capacity memory=0", &["memory"]),
        ("--kubelet-version latest", &["latest"]),
        ("--kubelet-version 1", &["1"]),
        ("--kubelet-version 1.-3", &["1.-3"]),
        ("--kubelet-version 1.99999999999999999999", &["1.99999999999999999999"]),
        ("--cgroup-version 3", &["3"]),
        ("--cgroup-driver docker", &["docker"]),
        ("--cgroup-driver systemd --cgroup-root /a//b", &["cgroupRoot", "/a//b"]),
        ("--feature-gates MemoryQos=true", &["MemoryQos", "MemoryQoS"]),
        ("--feature-gates MemoryQoS=maybe", &["maybe"]),
        ("--feature-gates MemoryQoS", &["MemoryQoS"]),
        ("--feature-gates SidecarContainers=false", &["SidecarContainers"]),
        ("--kube-reserved cpu", &["cpu"]),
        ("--kube-reserved cpu=lots", &["lots"]),
        ("--qos-reserved memory=101%", &["101%"]),
        ("--set podPidsLimit", &["podPidsLimit"]),
        ("--set podPidLimit=5", &["podPidLimit"]),
        ("--set podPidsLimit=many", &["many"]),
        ("--set =5", &["=5"]),
        ("--set a.b.c.d=5", &["a"]),
        ("--set podPidsLimit=[", &["podPidsLimit"]),
        ("--set memorySwap=5", &["memorySwap"]),
        ("--kube-reserved cpu=5 --capacity cpu=4", &["cpu"]),
        ("--set reservedSystemCPUs=7 --capacity cpu=4", &["7"]),
        ("--runtime runc", &["runc"]),
        ("--runtime kata=4.1.0", &["kata=4.1.0"]),
        ("--runtime runc=new", &["runc=new"]),
        ("--runtime-weight-formula cubic", &["cubic"]),
        ("--swap-capacity -1", &["-1"]),
        ("--swap-capacity 1.5", &["1.5"]),
        ("--swap-controller maybe", &["maybe"]),
        ("--page-size 0", &["0"]),
        ("--page-size 1000", &["1000"]),
        ("--capacity 'cpu=\u{1b}[2J'", &["cpu"]),
        ("--set 'podPidsLimit=\u{1b}[2J'", &["podPidsLimit"]),
        ("--kubelet-version '\u{1b}[2J'", &["kubelet-version"]),
        ("--output '\u{1b}[2J'", &["output"]),
    ] {
        let ran = kq(&format!("cgroup plan {arguments}")).run();
        refusals.add(&arguments.escape_debug().to_string(), &ran, 2, names);
    }
    refusals.match_file(snapbox::file!["snapshots/bad-flags.txt"]);
}

#[test]
fn files_that_cannot_be_read_are_missing_facts() {
    let folder = folder_with(&[("folder/inner", "")]);
    let huge = File::create(folder.path().join("huge.yaml")).expect("a file can be made");
    huge.set_len(1 << 30).expect("a file can have a hole");
    let mut refusals = Refusals::default();
    for arguments in [
        "no-such.yaml",
        "folder",
        "huge.yaml",
        "folder/inner/deeper.yaml",
        "--kubelet-config no-such.yaml",
        "--kubelet-config huge.yaml",
        "--kubelet-config-dir no-such",
        "--kubelet-config-dir huge.yaml",
        "--node-file folder",
    ] {
        let started = Instant::now();
        let ran = kq(&format!("cgroup plan {arguments}")).within(&folder).run();
        assert!(started.elapsed() < Duration::from_secs(5), "{arguments} takes long");
        let named = arguments.rsplit(' ').next().unwrap_or_default();
        refusals.add(arguments, &ran, 3, &[named]);
    }
    refusals.match_file(snapbox::file!["snapshots/unreadable.txt"]);
}

#[test]
fn standard_input_is_read_once() {
    let mut refusals = Refusals::default();
    for arguments in
        ["- -", "- --kubelet-config -", "- --node-file -", "--kubelet-config - --node-file -"]
    {
        for command in ["cgroup plan", "cgroup shares"] {
            let line = format!("{command} {arguments}");
            let ran = kq(&line).stdin(meta("name: p")).run();
            refusals.add(&line, &ran, 2, &["standard input"]);
        }
    }
    refusals.match_file(snapbox::file!["snapshots/stdin.txt"]);
}

#[test]
fn an_endless_file_is_refused() {
    let ran = kq("cgroup plan /dev/zero").run();
    let mut refusals = Refusals::default();
    refusals.add("zeros", &ran, 3, &["/dev/zero"]);
    assert!(refusals.wrong.is_empty(), "{:?}", refusals.wrong);
}

#[test]
fn bad_node_objects_are_refused_by_name() {
    let mut refusals = Refusals::default();
    for (name, node, names) in [
        ("a pod", "{\"kind\": \"Pod\"}", &["\"Pod\""][..]),
        ("no kind", "{}", &["kind"]),
        ("a list of none", "{\"kind\": \"List\", \"items\": []}", &["0 nodes"]),
        (
            "bad capacity",
            "{\"kind\": \"Node\", \"status\": {\"capacity\": {\"cpu\": \"x\"}}}",
            &["cpu", "x"],
        ),
        ("status as a text", "{\"kind\": \"Node\", \"status\": \"fine\"}", &["status"]),
        ("malformed", "{\"kind\": ", &["line 1"]),
        ("a text", "hello", &["kind"]),
        ("a list", "[]", &["kind"]),
    ] {
        let folder = folder_with(&[("node.json", node)]);
        let ran = kq("cgroup plan --node-file node.json").within(&folder).run();
        let names = [names, &["node.json"]].concat();
        refusals.add(name, &ran, 2, &names);
    }
    refusals.match_file(snapbox::file!["snapshots/bad-nodes.txt"]);
    let node = r#"{"kind": "Node", "status": {"nodeInfo": {"kubeletVersion": "new"}}}"#;
    let folder = folder_with(&[("node.json", node)]);
    let ran = kq("cgroup plan --node-file node.json").within(&folder).run();
    assert!(
        ran.stderr.contains("status.nodeInfo.kubeletVersion: \"new\" is not"),
        "{}",
        ran.text()
    );
}

#[test]
fn one_bad_pod_of_a_thousand_is_named_and_the_others_are_answered() {
    let pods: Vec<String> = (0..1000)
        .map(|number| {
            let cpu = if number == 500 { "lots" } else { "10m" };
            format!(
                r#"{{"metadata":{{"name":"p{number}","uid":"u{number}"}},"spec":{{"containers":[
                {{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{cpu}"}}}}}}]}}}}"#
            )
        })
        .collect();
    let list = format!(r#"{{"apiVersion":"v1","kind":"PodList","items":[{}]}}"#, pods.join(","));
    let folder = folder_with(&[("pods.json", list)]);
    for command in ["cgroup plan", "cgroup shares"] {
        for format in ["table", "wide", "json", "yaml", "name"] {
            let line = format!("{command} pods.json --capacity cpu=4,memory=8Gi,pid=9 -o {format}");
            let ran = kq(&line).within(&folder).run();
            assert_eq!(ran.code, 3, "{line}: {}", ran.stderr);
            for named in ["warning: left out: pods.json", "p500", "items[500]", "lots"] {
                assert!(ran.stderr.contains(named), "{line}: {}", ran.stderr);
            }
            // Names are paths, which have UIDs.
            let letter = if format == "name" { "podu" } else { "p" };
            // The warning in the value names the pod too.
            let answer = ran.stdout.lines().filter(|line| !line.contains("left out"));
            let words: BTreeSet<&str> =
                answer.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric())).collect();
            let is_told = |number: &usize| words.contains(format!("{letter}{number}").as_str());
            let silent: Vec<usize> = (0..1000).filter(|number| !is_told(number)).collect();
            assert_eq!(silent, [500], "{line}");
        }
    }
}

#[test]
fn odd_input_that_kubernetes_takes_is_taken() {
    let pod = meta("name: p, uid: u");
    for (name, content) in [
        ("Windows line ends", pod.replace('\n', "\r\n").into_bytes()),
        ("byte order mark", format!("\u{feff}{pod}").into_bytes()),
        ("no last line end", pod.trim_end().as_bytes().to_vec()),
        ("many dividers", format!("---\n---\n{pod}---\n---\n").into_bytes()),
        ("end of document", format!("{pod}...\n").into_bytes()),
        ("directive", format!("%YAML 1.1\n---\n{pod}").into_bytes()),
        ("nulls everywhere", meta(
            "name: p, uid: u, labels: null, annotations: null, namespace: null",
        ).into_bytes()),
        ("null resources", container("resources: {requests: null, limits: null}").into_bytes()),
        ("unknown fields", container("future: {a: [1]}").into_bytes()),
        ("JSON", br#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#.to_vec()),
        ("numbers as amounts", resources("cpu: 1, memory: 1e3", "").into_bytes()),
        ("the largest amounts", resources(
            "cpu: 9223372036854775807, memory: 9223372036854775807",
            "cpu: 9223372036854775807, memory: 9223372036854775807",
        ).into_bytes()),
        ("beyond the largest", resources("memory: 999999999999999999999999E", "").into_bytes()),
        ("the smallest amounts", resources("cpu: 1n, memory: 1n", "").into_bytes()),
        ("zero", resources("cpu: '0', memory: '0'", "cpu: '0', memory: '0'").into_bytes()),
    ] {
        let folder = folder_with(&[("pod.yaml", content)]);
        for format in ["table", "wide", "json", "yaml"] {
            let line = format!("cgroup plan pod.yaml --capacity cpu=4,memory=8Gi -o {format}");
            let ran = kq(&line).within(&folder).run();
            assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
            assert!(ran.stdout.contains('p') && !ran.stdout.is_empty(), "{name}");
        }
    }
}

#[test]
fn foreign_text_cannot_play_with_the_terminal() {
    let pod = format!(
        "{}status: {{containerStatuses: [{{name: c, containerID: \"containerd://a\\e[2J\\nb\\u202e\"}}]}}\n",
        meta("name: p, uid: u")
    );
    let folder = folder_with(&[("pod.yaml", pod)]);
    for command in [
        "cgroup plan pod.yaml",
        "cgroup plan pod.yaml --cgroup-root '/\u{1b}[2J'",
        "cgroup shares pod.yaml --capacity cpu=1 --sibling '\u{1b}[2J=5'",
        "cgroup explain '\u{1b}[2J/cpu.weight' 5",
    ] {
        // An explanation has no wide form and no names.
        let explains = command.contains("explain");
        let formats = ["table", "json", "yaml", "wide", "name"];
        for format in &formats[..if explains { 3 } else { 5 }] {
            let ran = kq(&format!("{command} -o {format}")).within(&folder).run();
            let text = ran.text();
            assert_eq!(ran.code, 0, "{command}: {text}");
            let is_safe = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
            let is_safe = text.chars().all(is_safe);
            // JSON leaves the direction of writing to who shows it.
            let is_json = matches!(*format, "json" | "yaml") && !text.contains('\u{1b}');
            assert!(is_safe || is_json, "{command} -o {format}: {text:?}");
            assert!(!text.lines().any(|line| line.starts_with('b')), "{text}");
        }
    }
}

#[test]
fn the_same_pod_twice_is_told() {
    let pod = meta("name: p, uid: u");
    let folder = folder_with(&[("pods.yaml", format!("{pod}---\n{pod}"))]);
    let ran = kq("cgroup plan pods.yaml").within(&folder).run();
    matches(ran.text(), snapbox::file!["snapshots/twice.txt"]);
}
