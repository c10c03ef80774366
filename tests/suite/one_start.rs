//! Would this kubelet start: `doctor`, `what-if`, `devices verify` and the notes of `snapshot` have one answer.
//!
//! `KQ_STARTS=2000` runs more than the default, `KQ_STARTS_SEED=N` others.

use crate::cli::{Ran, folder_with, kq, repository};
use crate::fuzz_binary::Random;
use serde_json::Value;

const TYPE: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

/// Lines of a configuration, good and bad.
const LINES: &[&str] = &[
    "maxPods: 50",
    "maxPods: -1",
    "maxPods: many",
    "maxPodz: 5",
    "cpuManagerPolicy: static",
    "cpuManagerPolicy: static\nkubeReserved: {cpu: 500m}",
    "cpuManagerPolicy: static\nreservedSystemCPUs: '0'",
    "cpuManagerPolicy: static\nreservedSystemCPUs: '0-9'",
    "memoryManagerPolicy: Static",
    "memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]",
    "topologyManagerPolicy: single-numa-node",
    "featureGates: {CSIMigration: true}",
    "featureGates: {NodeSwap: false}",
    "featureGates: {PodLevelResourceManagers: true}",
    "featureGates: {InPlacePodVerticalScaling: false}",
    "evictionSoft: {memory.available: 1Gi}",
    "evictionHard: {memory.available: lots}",
    "kubeReserved: {cpu: '99'}",
    "systemReserved: {gpu: '1'}",
    "imageGCHighThresholdPercent: 50",
    "tlsMinVersion: TLS13",
    "allowedUnsafeSysctls: [vm.max_map_count]",
    "cgroupRoot: /nope",
    "failSwapOn: false",
    "evictionHard: {memory.available: 100Mi",
    "\tmaxPods: 5",
    "protectKernelDefaults: true",
];

const FLAGS: &[&str] = &[
    "",
    "",
    "",
    " --max-pods=7",
    " --pod-infra-container-image=pause",
    " --max-pods=7x",
    " --feature-gates=Nothing=true",
    " --register-with-taints=dedicated",
    " nonsense",
];

/// Returns the state files of the recorded kubelets, each with its name.
fn recorded() -> Vec<(String, String)> {
    let path = repository().join("tests/vectors/state_files.jsonl");
    let lines = std::fs::read_to_string(path).expect("the vectors");
    let of_line = |line: &str| {
        let case: Value = serde_json::from_str(line).expect("a vector");
        let text = case["in"]["file_text"].as_str()?.to_owned();
        Some((case["in"]["kind"].as_str()?.to_owned(), text))
    };
    lines.lines().filter_map(of_line).collect()
}

fn answer(line: &str, ran: &Ran) -> Value {
    assert!(matches!(ran.code, 0 | 1 | 3), "kq {line}: {}\n{}", ran.code, ran.stderr);
    ran.answer()
}

/// Returns what an answer says of the start: the states and the kubelet's words.
fn start_of(answer: &Value) -> Vec<(String, String)> {
    let items = answer["items"].as_array().expect("items").iter();
    let of_start = items.filter(|it| it["id"] == "kubelet-start");
    let text = |it: &Value, field: &str| it["facts"][field].as_str().unwrap_or_default().to_owned();
    let said = of_start.map(|it| (text(it, "state"), text(it, "text")));
    // What it logs and that it starts are said in other ways.
    said.filter(|(state, _)| matches!(state.as_str(), "stops" | "stopsThen" | "unknown")).collect()
}

#[test]
fn every_command_answers_the_same() {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (count, seed) = (number("KQ_STARTS", 60), number("KQ_STARTS_SEED", 1));
    let files = recorded();
    let (mut stops, mut refused) = (0, 0);
    for at in 0..count {
        let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(at));
        let (fails, bad_files) = compare(&mut random, &files, at);
        stops += u64::from(fails);
        refused += bad_files;
    }
    println!("{count} starts, {stops} of them end, {refused} refused state files");
    assert!(stops > count / 4 && stops < count, "{stops} of {count}");
    assert!(refused > 0);
}

/// Makes a node, asks every command about its start, and returns whether it ends and how many state files are refused.
fn compare(random: &mut Random, files: &[(String, String)], at: u64) -> (bool, u64) {
    let mut config = TYPE.to_owned();
    while random.percent(50) {
        let line: &&str = random.one(LINES);
        config.push_str(line);
        config.push('\n');
    }
    let unit = format!(
        "[Service]\nExecStart=/usr/bin/kubelet --kubeconfig=/etc/kubernetes/kubelet.conf \
         --bootstrap-kubeconfig=/etc/kubernetes/bootstrap.conf --config=/var/lib/kubelet/config.yaml{}\n",
        random.one(FLAGS)
    );
    let mut node = vec![
        ("etc/systemd/system/kubelet.service".to_owned(), unit.clone()),
        ("proc/meminfo".to_owned(), "MemTotal: 8388608 kB\nSwapTotal: 0 kB\n".to_owned()),
        ("sys/devices/system/cpu/online".to_owned(), "0-3\n".to_owned()),
        ("sys/devices/system/node/node0/cpulist".to_owned(), "0-3\n".to_owned()),
        (
            "sys/devices/system/node/node0/meminfo".to_owned(),
            "Node 0 MemTotal: 8388608 kB\n".to_owned(),
        ),
    ];
    if !random.percent(5) {
        node.push(("var/lib/kubelet/config.yaml".to_owned(), config.clone()));
    }
    while random.percent(50) {
        let (name, text) = random.one(files);
        let mut text = text.clone();
        if random.percent(25) {
            let cut = random.below(text.len() + 1);
            text = text.chars().take(cut).collect();
        }
        node.retain(|(path, _)| path != &format!("var/lib/kubelet/{name}"));
        node.push((format!("var/lib/kubelet/{name}"), text));
    }
    let node: Vec<(&str, &String)> =
        node.iter().map(|(path, text)| (path.as_str(), text)).collect();
    let root = folder_with(&node);
    let version = random.one(&["1.32", "1.33", "1.34", "1.35", "1.36", "1.36", "1.36"]);
    let folder = root.path().display();
    let at_root = format!("--host-root {folder} --kubelet-version {version} -o json");
    let ask = |line: &str| {
        let line = format!("{line} {at_root}");
        let ran = kq(&line).run();
        answer(&line, &ran)
    };
    let answered = ask("doctor");
    let doctor = start_of(&answered);
    let what_if = start_of(&ask("what-if kubelet-restart"));
    let verified = ask("devices verify");
    let shown = format!("case {at}: kubelet {version}\n{unit}{config}");
    assert_eq!(doctor, what_if, "{shown}");
    let stored = root.path().join("snapshot.json");
    let line = format!(
        "snapshot --host-root {folder} --kubelet-version {version} -o {}",
        stored.display()
    );
    let noted = kq(&line).run().stderr;
    let found = |it: &Value| it["found"].as_str().unwrap_or_default().to_owned();
    let first = answered["items"].as_array().expect("items").iter();
    let first = first.filter(|it| it["id"] == "kubelet-start").map(found).next();
    let first = first.unwrap_or_else(|| panic!("{shown}no kubelet-start"));
    // Without the version of a program, a snapshot of files alone does not say which fields there are.
    let is_noted = noted.lines().any(|note| note == format!("kubelet-start: {first}"));
    assert!(is_noted, "{shown}{first}\n{noted}");
    let mut refused = 0;
    for file in verified["files"].as_array().expect("files") {
        let words = file["kubeletError"].as_str().unwrap_or_default();
        if file["verdict"] == "REFUSED" && file["file"] != "kubelet_internal_checkpoint" {
            refused += 1;
            // Without a configuration, a start is not followed to its managers.
            let is_reached =
                !doctor.iter().any(|(_, text)| text.contains("load Kubelet config file"));
            let is_said = doctor.iter().any(|(_, text)| text.contains(words));
            assert!(is_said || !is_reached, "{shown}{file}\n{doctor:?}");
        }
    }
    for (_, text) in &doctor {
        let Some((_, file)) = text.rsplit_once("checkpoint file \"/var/lib/kubelet/") else {
            continue;
        };
        let name = file.split('"').next().unwrap_or_default();
        let all = verified["files"].as_array().expect("files");
        let verdict = all.iter().find(|it| it["file"] == name).map(|it| &it["verdict"]);
        assert_eq!(verdict, Some(&Value::from("REFUSED")), "{shown}{text}");
    }
    (!doctor.is_empty(), refused)
}

/// Returns a folder with a Node object, a pod, a configuration and a drop-in.
fn files(base: &str, drop_in: &str) -> tempfile::TempDir {
    let case = repository().join("tests/cases/start-tls-min-version");
    let read = |name: &str| std::fs::read_to_string(case.join(name)).expect("a file of the case");
    folder_with(&[
        ("node.json", read("node.json")),
        ("pods.yaml", read("pods.yaml")),
        ("base.yaml", format!("{TYPE}{base}\n")),
        ("d/10.conf", format!("{TYPE}{drop_in}\n")),
    ])
}

const GIVEN: &str = "--kubelet-config base.yaml --node-file node.json --pods pods.yaml";

#[test]
fn a_configuration_that_ends_a_start_admits_no_pod() {
    for (base, drop_in, cause) in [
        ("tlsMinVersion: TLS13", "", "unknown tls version"),
        ("cpuManagerPolicy: bogus", "", "unknown policy: \"bogus\""),
        ("memoryManagerPolicy: bogus", "", "unknown policy: \"bogus\""),
        ("logging: {format: xml}", "", "Unsupported log format"),
        ("authorization: {mode: Foo}", "", "unknown authorization mode Foo"),
        ("imageServiceEndpoint: tcp://1", "", "only support unix socket endpoint"),
        ("allowedUnsafeSysctls: [kernel.foo]", "", "kernel.foo"),
        ("syncFrequency: -1s", "", "invalid sync frequency -1000000000"),
        ("maxPods: '10'", "", "cannot unmarshal string"),
        ("runtimeRequestTimeout: -1s", "", "DeadlineExceeded"),
        ("address: foo", "", "lookup <nil>: no such host"),
        ("readOnlyPort: 10250", "", "address already in use"),
        ("configMapAndSecretChangeDetectionStrategy: Foo", "", "manager mode: Foo"),
        // A size of logs is a whole number in its small form.
        ("containerLogMaxSize: 100m", "", "invalid max log size"),
        ("containerLogMaxSize: 1.5Gi", "", "invalid max log size"),
        ("containerLogMaxSize: '1.5'", "", "invalid max log size"),
        // The base has its defaults before the drop-ins.
        ("", "maxParallelImagePulls: 5", "maxParallelImagePulls cannot be larger than 1"),
        ("", "featureGates: {KubeletCrashLoopBackOffMax: false}", "KubeletCrashLoopBackOffMax"),
        ("", "featureGates: {KubeletEnsureSecretPulledImages: false}", "must not be set"),
        (
            "cgroupsPerQOS: false\nenforceNodeAllocatable: []",
            "maxPods: 60",
            "cgroupsPerQOS (--cgroups-per-qos) must be set to true",
        ),
        // Its names count in any case, after the defaults of the base.
        ("", "maxpods: '60'", "cannot unmarshal string"),
        ("", "featuregates: {NoSuch: true}", "unrecognized feature gate: NoSuch"),
        ("", "maxPods: 60\nmaxPods: 61", "already set in map"),
    ] {
        let folder = files(base, drop_in);
        let ask = |line: &str| {
            kq(&format!("{line} {GIVEN} --kubelet-config-dir d")).within(folder.path())
        };
        let what_if = ask("what-if kubelet-restart --cgroup-version 2 -o json").run();
        let first =
            what_if.answer::<Value>()["items"][0]["found"].as_str().unwrap_or_default().to_owned();
        assert!(first.contains(cause), "{base} {drop_in}: {first}");
        assert_eq!(what_if.code, 1, "{base} {drop_in}: {first}");
        let admit = ask("admit explain --kubelet-restart -o json").run();
        let answer: Value = admit.answer();
        assert_eq!(answer["startError"], first.as_str(), "{base} {drop_in}");
        assert_eq!((admit.code, &answer["headline"]["code"]), (1, &Value::from("no-start")));
        let table = ask("admit explain --kubelet-restart").run();
        assert!(table.stdout.contains("IF IT STARTS"), "{base} {drop_in}: {}", table.stdout);
        let said = "no pod is admitted: the kubelet ";
        assert!(table.stdout.starts_with(said), "{base} {drop_in}: {}", table.stdout);
    }
}

#[test]
fn a_configuration_that_starts_is_read_as_the_kubelet_does() {
    for (base, drop_in, pods) in [
        ("containerLogMaxSize: 1.5M", "", 110),
        ("", "maxpods: 60", 60),
        // It comes before the default of the base.
        ("", "MaxPods: 60", 110),
        // The file of --config is read by the exact names.
        ("maxpods: 60", "", 110),
        ("maxParallelImagePulls: 5", "maxPods: 61", 61),
    ] {
        let folder = files(base, drop_in);
        let ask = |line: &str| {
            kq(&format!("{line} {GIVEN} --kubelet-config-dir d")).within(folder.path())
        };
        let start = ask("what-if kubelet-restart --cgroup-version 2").run();
        assert!(!start.stdout.contains("ERROR"), "{base} {drop_in}\n{}", start.text());
        let answer: Value = ask("allocatable -o json").run().answer();
        let rows = answer["resources"].as_array().or(answer["items"].as_array()).expect("rows");
        let row = rows.iter().find(|row| row["resource"] == "pods").expect("the pods");
        assert_eq!(
            row["allocatable"].to_string().trim_matches('"'),
            pods.to_string(),
            "{base} {drop_in}"
        );
    }
}

#[test]
fn what_flags_empty_stays_empty() {
    for (flag, cause) in [
        ("--cpu-manager-policy=", "unknown policy: \"\""),
        ("--memory-manager-policy=", "unknown policy: \"\""),
        ("--sync-frequency=0s", "invalid sync frequency 0"),
        ("--container-log-max-size=", "failed to parse container log max size \"\""),
        ("--runtime-request-timeout=0", "DeadlineExceeded"),
    ] {
        let folder = files("", "");
        let ran = kq(&format!("what-if {GIVEN} --cgroup-version 2"));
        let ran = ran.arg("flags").arg(flag).within(folder.path()).run();
        assert!(ran.stdout.contains(cause), "{flag}: {}", ran.text());
        assert_eq!(ran.code, 1, "{flag}");
    }
}

#[test]
fn swap_that_flags_or_the_node_object_have_ends_a_start() {
    let folder = files("", "");
    let asked = format!("what-if kubelet-restart {GIVEN} --cgroup-version 2");
    let by_flag = kq(&format!("{asked} --swap-capacity 2Gi")).within(folder.path()).run();
    assert!(by_flag.stdout.contains("running with swap on"), "{}", by_flag.text());
    let path = folder.path().join("node.json");
    let mut node: Value =
        serde_json::from_str(&std::fs::read_to_string(&path).expect("the node")).expect("JSON");
    node["status"]["nodeInfo"]["swap"]["capacity"] = 2_147_483_648_u64.into();
    std::fs::write(&path, node.to_string()).expect("a file");
    let by_object = kq(&asked).within(folder.path()).run();
    assert!(by_object.stdout.contains("running with swap on"), "{}", by_object.text());
}

#[test]
fn links_among_drop_ins_are_files() {
    let folder = files("", "maxPods: 60");
    std::os::unix::fs::symlink("d", folder.path().join("linked")).expect("a link");
    // The kubelet does not enter a linked folder, unless a slash ends its name.
    for (dir, pods) in [("d", "60"), ("linked", "110"), ("linked/", "60")] {
        let line = format!("allocatable {GIVEN} --kubelet-config-dir {dir}");
        let ran = kq(&line).within(folder.path()).run();
        let row = ran.stdout.lines().find(|line| line.starts_with("pods")).expect("the pods");
        assert_eq!(row.split_whitespace().nth(1), Some(pods), "{dir}: {row}");
    }
    std::fs::create_dir(folder.path().join("d/real")).expect("a folder");
    std::os::unix::fs::symlink("real", folder.path().join("d/20.conf")).expect("a link");
    let line = format!("what-if kubelet-restart {GIVEN} --kubelet-config-dir d");
    let ran = kq(&line).within(folder.path()).run();
    assert!(ran.stdout.contains("read d/20.conf: is a directory"), "{}", ran.text());
}
