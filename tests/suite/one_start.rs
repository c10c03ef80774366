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
