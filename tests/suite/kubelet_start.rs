//! Whether a kubelet starts: the recorded starts of a real one, and every gate and flag of every version.

use crate::cli::folder_with;
use crate::edges::versions::rows;
use kq_answer::Certainty;
use kq_core::kubelet_start::{
    ConfigContent, ConfigText, Exit, Machine, NotExamined, Stage, StartExamination, StartFacts,
    StartWarning, examine,
};
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::config_on_disk::ConfigOnDisk;
use kq_facts::filesystems::Filesystem;
use kq_facts::host::Text;
use kq_facts::kubelet_process::{KubeletProcess, as_started};
use kq_facts::start_files::{StartFile, StartFiles, named_files};
use kq_facts::state_files::{STATE_FILES, StateFiles};
use kq_io::kubelet_files::read_config_on_disk;
use kq_io::start_files::read_start_files;
use kq_k8s::pod::{ResourceList, ResourceName};
use kq_k8s::quantity::{Format, Quantity};
use kq_k8s::version::KubeletVersion;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const CONFIG: &str = "/var/lib/kubelet/config.yaml";

fn folder(scenario: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/what-if").join(scenario)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns what is in a file of gzip.
fn unzipped(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    // Ten bytes, and the name of the file if there is one.
    let name = if bytes[3] & 8 == 0 {
        0
    } else {
        1 + bytes[10..].iter().position(|it| *it == 0).expect("an end")
    };
    let content = miniz_oxide::inflate::decompress_to_vec(&bytes[10 + name..bytes.len() - 8])
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    String::from_utf8(content).expect("a text")
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn document(path: &str, text: &str) -> ConfigText {
    ConfigText { path: path.to_owned(), content: ConfigContent::of(text.as_bytes()) }
}

/// A start that was recorded.
struct Recorded {
    outcome: Value,
    process: KubeletProcess,
    config: ConfigText,
    drop_ins: Vec<ConfigText>,
    states: StateFiles,
    machine: Machine,
    cgroups: Vec<String>,
}

fn recorded(scenario: &str) -> Recorded {
    let folder = folder(scenario);
    let kubelet = json_of(&text(&folder.join("after-kubelet.json")));
    let line: Vec<String> =
        serde_json::from_value(kubelet["cmdline"].clone()).expect("a command line");
    // What was written there is in the kubelet's own words.
    let drop_in = document("/var/lib/kubelet/config.d/10-x.conf", "maxPods: 50\n");
    let has_drop_in = line.iter().any(|argument| argument.starts_with("--config-dir"));
    let states = json_of(&unzipped(&folder.join("after-states.json.gz")));
    let removed = |name: &str| {
        let notes = json_of(&text(&folder.join("outcome.json")))["notes"].to_string();
        notes.contains(&format!("removed {name}"))
    };
    let files = STATE_FILES.map(|name| {
        let content = states[name].as_str().filter(|_| !removed(name));
        (name.to_owned(), content.map_or(Text::Absent, |text| Text::Read(text.to_owned())))
    });
    let node = json_of(&text(&folder.join("after-node.json")));
    let mut capacity = ResourceList::default();
    capacity.insert(ResourceName::Cpu, Quantity::from_milli(2000, Format::DecimalSi));
    for name in ["memory", "ephemeral-storage"] {
        let amount = node["status"]["capacity"][name].as_str().expect("an amount");
        capacity.insert(ResourceName::from(name), amount.parse().expect("a quantity"));
    }
    let memory = capacity.get(&ResourceName::Memory).expect("it has memory").value();
    let cgroups = unzipped(&folder.join("after-cgroups.jsonl.gz"));
    Recorded {
        outcome: json_of(&text(&folder.join("outcome.json"))),
        process: as_started(&line).expect("a kubelet"),
        config: document(CONFIG, &text(&folder.join("after-config.yaml"))),
        drop_ins: if has_drop_in { vec![drop_in] } else { Vec::new() },
        states: StateFiles { folder: "/var/lib/kubelet".to_owned(), files: files.into() },
        machine: Machine {
            cpus: "0-1".parse().ok(),
            capacity,
            numa_memory: Some(BTreeMap::from([(0, memory)])),
            ..Machine::default()
        },
        cgroups: cgroups
            .lines()
            .map(|line| json_of(line)["cgroup"].as_str().expect("a path").to_owned())
            .collect(),
    }
}

fn examined(recorded: &Recorded, minor: u32) -> StartExamination {
    let missing = |cgroup: &str| {
        let is_there = recorded.cgroups.iter().any(|path| path == cgroup);
        let controllers = ["pids", "systemd", "cpu", "cpuacct", "cpuset", "memory"];
        let paths = controllers.map(|name| format!("/sys/fs/cgroup/{name}{cgroup}"));
        Some(if is_there { Vec::new() } else { paths.to_vec() })
    };
    examine(&StartFacts {
        version: Some(KubeletVersion::new(1, minor)),
        process: Some(&recorded.process),
        config_file: Some(recorded.config.clone()),
        drop_ins: recorded.drop_ins.clone(),
        cgroup_version: Some(CgroupVersion::V1),
        runtime_driver: None,
        swap_bytes: Some(0),
        machine: Some(recorded.machine.clone()),
        state_files: Some(&recorded.states),
        missing_paths: Some(&missing),
        ..StartFacts::default()
    })
}

/// Returns the kubelet's words in a line of its log.
fn words(line: &str) -> String {
    if let Some((_, quoted)) = line.split_once("err=\"") {
        return serde_json::from_str(&format!("\"{quoted}")).expect("a quoted text");
    }
    match line.split_once("err=<\n\t") {
        Some((_, lines)) => lines.replace("\n\t", "\n"),
        None => line.to_owned(),
    }
}

#[test]
fn every_recorded_start_is_foretold() {
    let scenarios = std::fs::read_dir(folder("")).expect("recordings");
    let (mut refused, mut started) = (0, 0);
    for scenario in scenarios.map(|entry| entry.expect("an entry").file_name()) {
        let scenario = scenario.to_str().expect("a name");
        if scenario == "README.md" {
            continue;
        }
        let recorded = recorded(scenario);
        let examination = examined(&recorded, 36);
        let first = examination.first();
        let got = first.map(|problem| problem.text.clone());
        // The recorded kubelet only warns of these, others panic.
        let unknown = match scenario {
            "05-unknown-gate" => Some("NoSuchGate"),
            "06c-removed-gate" => Some("CPUManager"),
            _ => None,
        };
        let expected = match unknown {
            Some(gate) => Some(format!(
                "panic: failed to merge global and in-flight KubeletConfiguration while setting defaults, \
                 error: unrecognized feature gate: {gate}"
            )),
            None => recorded.outcome["attempts_that_exited"][0]["text"][0].as_str().map(words),
        };
        assert_eq!(got, expected, "{scenario}");
        let code = recorded.outcome["attempts_that_exited"][0]["exit"].as_i64();
        if unknown.is_none() {
            assert_eq!(first.map(|problem| i64::from(problem.exit.code())), code, "{scenario}");
        }
        assert_eq!(examination.problems.len(), usize::from(first.is_some()), "{scenario}");
        // The recordings have no files that the configuration names, and no runtime was asked.
        let is_recorded = |it: &&NotExamined| {
            let others = ["the answers of the runtime", "the cores of the machine"];
            !it.fact.starts_with("the files that") && !others.contains(&it.fact)
        };
        let unknown: Vec<_> = examination.unknown.iter().filter(is_recorded).collect();
        assert!(unknown.is_empty(), "{scenario}: {unknown:?}");
        refused += usize::from(first.is_some());
        started += usize::from(first.is_none());
    }
    assert_eq!((refused, started), (17, 25));
}

#[test]
fn what_a_kubelet_logs_and_goes_on_is_a_warning() {
    let warnings = |scenario| examined(&recorded(scenario), 36).warnings;
    let texts = |scenario| warnings(scenario).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        texts("07-unknown-field"),
        [
            "Using lenient decoding as strict decoding failed err=\"strict decoding error: unknown field \
          \\\"noSuchField\\\"\""
        ]
    );
    assert_eq!(
        texts("20b-deprecated-flag"),
        [
            "Flag --max-pods has been deprecated, This parameter should be set via the config file specified by \
          the Kubelet's --config flag. See \
          https://kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file/ for more information."
        ]
    );
    assert_eq!(warnings("14b-memory-qos"), [StartWarning::MemoryQosOnV1]);
    let examination = examined(&recorded("20f-flag-and-config"), 36);
    assert_eq!(examination.effective.map(|config| config.max_pods), Some(100), "the flag wins");
}

fn with(version: u32, line: &[&str], config: Option<Value>) -> StartExamination {
    let line: Vec<String> = line.iter().map(|argument| (*argument).to_owned()).collect();
    let process = as_started(&line).expect("a kubelet");
    let config_file = config.map(|mut value| {
        value["apiVersion"] = json!("kubelet.config.k8s.io/v1beta1");
        value["kind"] = json!("KubeletConfiguration");
        ConfigText { path: CONFIG.to_owned(), content: ConfigContent::document(value) }
    });
    examine(&StartFacts {
        version: Some(KubeletVersion::new(1, version)),
        process: Some(&process),
        config_file,
        cgroup_version: Some(CgroupVersion::V2),
        swap_bytes: Some(0),
        ..StartFacts::default()
    })
}

#[test]
fn the_first_patch_of_1_36_does_not_start_on_zfs() {
    const WORDS: &str = "failed to get rootfs info: failed to get device for dir \"/var/lib/kubelet\": with major: 0, \
                         minor: 60: could not find device in cached partitions map";
    let process = as_started(&["kubelet".to_owned()]).expect("a kubelet");
    let start = |version: &str, kind: Option<&str>| {
        let filesystem = kind.map(|kind| Filesystem {
            mount_point: "/var/lib/kubelet".to_owned(),
            device: "0:60".to_owned(),
            kind: kind.to_owned(),
            ..Filesystem::default()
        });
        examine(&StartFacts {
            version: Some(version.parse().expect("a version")),
            process: Some(&process),
            cgroup_version: Some(CgroupVersion::V2),
            swap_bytes: Some(0),
            root_filesystem: filesystem.as_ref(),
            ..StartFacts::default()
        })
    };
    let stopped = start("1.36.0", Some("zfs"));
    let problem = stopped.problems.iter().find(|it| it.text == WORDS).expect("a problem");
    assert_eq!((problem.stage, problem.exit), (Stage::ContainerManager, Exit::Error));
    let fix = problem.fix.as_ref().map(ToString::to_string);
    assert_eq!(fix.as_deref(), Some("install kubelet 1.36.1 or later"));
    for (version, kind) in [
        ("1.36.0", Some("ext4")),
        ("1.36.1", Some("zfs")),
        ("1.36", Some("zfs")),
        ("1.35.5", Some("zfs")),
        ("1.37.0", Some("zfs")),
        ("1.36.0", None),
    ] {
        let start = start(version, kind);
        assert!(!texts(&start).contains(&WORDS), "{version} {kind:?}");
        let is_skipped = start.unknown.iter().any(|it| it.what == "ZFS below its folder");
        assert_eq!(is_skipped, version == "1.36.0" && kind.is_none(), "{version} {kind:?}");
    }
}

fn texts(examination: &StartExamination) -> Vec<&str> {
    examination.problems.iter().map(|problem| problem.text.as_str()).collect()
}

#[test]
fn each_gate_is_refused_where_it_is_unknown_or_locked() {
    let (mut unknown, mut locked, mut accepted) = (0, 0, 0);
    for row in rows("gates") {
        let gate = row["gate"].as_str().expect("a name");
        for minor in 32..=37 {
            let state = &row["versions"][format!("1.{minor}")];
            for on in [true, false] {
                let error = match (state["exists"] == true, state["lockedToDefault"] == true) {
                    (false, _) => Some(format!("unrecognized feature gate: {gate}")),
                    (true, true) if state["default"] != on => Some(format!(
                        "cannot set feature gate {gate} to {on}, feature is locked to {}",
                        !on
                    )),
                    _ => None,
                };
                let flag = format!("--feature-gates={gate}={on}");
                let by_flag = with(minor, &["kubelet", &flag], None);
                let case = format!("{gate}={on} in 1.{minor}");
                let Some(error) = error else {
                    // Where it is known it can still leave others without what they need, or forbid a field.
                    let needs = |text: &&str| text.contains("is enabled, but depends on features");
                    let problems: Vec<_> =
                        texts(&by_flag).into_iter().filter(|it| !needs(it)).collect();
                    assert_eq!(problems, [""; 0], "{case}");
                    accepted += 1;
                    continue;
                };
                let flag_error =
                    format!("failed to set feature gates from initial flags-based config: {error}");
                assert_eq!(texts(&by_flag), [flag_error], "{case}");
                let by_file = with(minor, &["kubelet"], Some(json!({"featureGates": {gate: on}})));
                let file_error = format!(
                    "panic: failed to merge global and in-flight KubeletConfiguration while setting \
                     defaults, error: {error}"
                );
                assert_eq!(texts(&by_file), [file_error], "{case}");
                let problem = by_file.first().expect("a problem");
                assert_eq!((problem.exit, problem.stage), (Exit::Panic, Stage::Defaults), "{case}");
                match state["exists"] == true {
                    true => locked += 1,
                    false => unknown += 1,
                }
            }
        }
    }
    assert!(unknown > 600 && locked > 250 && accepted > 1500, "{unknown} {locked} {accepted}");
}

#[test]
fn each_flag_is_refused_where_it_is_unknown() {
    let (mut unknown, mut deprecated) = (0, 0);
    for row in rows("flags") {
        let flag = row["flag"].as_str().expect("a name");
        for minor in 32..=36 {
            let state = &row["versions"][format!("1.{minor}")];
            let value = match state["type"].as_str() {
                Some("bool") => "true",
                Some("int" | "int32" | "int64") => "1",
                Some("duration") => "1s",
                _ if flag.ends_with("-info-buffer-size") => "1Ki",
                _ if flag == "--cpu-manager-policy-options" => "a=b",
                _ => "",
            };
            let given = with(minor, &["kubelet", &format!("{flag}={value}")], None);
            let refusal = format!("failed to parse kubelet flag: unknown flag: {flag}");
            let is_refused = texts(&given).contains(&refusal.as_str());
            assert_eq!(is_refused, state["exists"] != true, "{flag} in 1.{minor}");
            unknown += usize::from(is_refused);
            let said = state["deprecated_text"].as_str();
            let is_warned = given.warnings.iter().any(|warning| {
                matches!(warning, StartWarning::DeprecatedFlag { message, .. } if Some(message.as_str()) == said)
            });
            assert_eq!(is_warned, said.is_some(), "{flag} in 1.{minor}");
            deprecated += usize::from(is_warned);
        }
    }
    assert!(unknown == 13 && deprecated > 600, "{unknown} {deprecated}");
}

#[test]
fn later_problems_are_told_behind_the_first() {
    let config = json!({"maxPods": "many", "featureGates": {"NoSuchGate": true}, "port": -1});
    let examination = with(36, &["kubelet", "--no-such-flag", "--max-pods=x"], Some(config));
    let first: Vec<bool> = examination.problems.iter().map(|problem| problem.is_first).collect();
    assert_eq!(first, [true, false, false, false, false]);
    let stages: Vec<Stage> = examination.problems.iter().map(|problem| problem.stage).collect();
    let expected =
        [Stage::Flags, Stage::Flags, Stage::ConfigFile, Stage::Defaults, Stage::Validation];
    assert_eq!(stages, expected);
    assert_eq!(
        texts(&examination)[1],
        "failed to parse kubelet flag: invalid argument \"x\" for \"--max-pods\" flag: strconv.ParseInt: \
         parsing \"x\": invalid syntax"
    );
}

#[test]
fn an_upgrade_meets_what_was_removed() {
    let config = json!({"featureGates": {"CPUManager": true}});
    let line = ["kubelet", "--pod-infra-container-image=registry.k8s.io/pause:3.10"];
    assert_eq!(texts(&with(32, &line, Some(config.clone()))), [""; 0]);
    let examination = with(36, &line, Some(config));
    assert_eq!(examination.problems.len(), 2, "{:?}", texts(&examination));
    let fixes: Vec<String> = examination
        .problems
        .iter()
        .filter_map(|problem| Some(problem.fix.as_ref()?.0.to_string()))
        .collect();
    assert_eq!(
        fixes,
        [
            "remove --pod-infra-container-image from the command line",
            "remove CPUManager from the feature gates"
        ]
    );
}

#[test]
fn what_the_next_start_reads_is_on_the_disk() {
    let unit = "[Service]\nExecStart=/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml \
                --config-dir=/var/lib/kubelet/config.d --max-pods=50 \
                --kubeconfig=/etc/kubernetes/kubelet.conf\n\
                ExecStartPre=/bin/rm -f /var/lib/kubelet/cpu_manager_state\n";
    let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n\
                  noSuchField: 1\nnoSuchField: 2\n";
    let node = folder_with(&[
        ("etc/systemd/system/kubelet.service", unit),
        ("var/lib/kubelet/config.yaml", config),
        ("var/lib/kubelet/config.d/10-x.conf", "maxPods: 50\n"),
        ("var/lib/kubelet/config.d/20-y.conf", ""),
        ("var/lib/kubelet/config.d/readme", "no drop-in"),
    ]);
    let read = read_config_on_disk(node.path(), None);
    let found = read.found.unwrap_or_else(|| panic!("{:?}", read.tried));
    let ConfigOnDisk { process, file, drop_ins, masked_by, removes, is_unit_assumed } = found.value;
    assert!(!is_unit_assumed);
    assert_eq!(masked_by, None);
    assert_eq!(removes, ["/var/lib/kubelet/cpu_manager_state"]);
    let stored = serde_json::to_string(&file).expect("it is stored");
    assert!(stored.contains("noSuchField") && !stored.contains("apiVersion:"), "{stored}");
    let examination = examine(&StartFacts {
        version: Some(KubeletVersion::ASSUMED),
        process: process.as_ref(),
        config_file: file,
        drop_ins,
        ..StartFacts::default()
    });
    let folder = "failed to merge kubelet configs: failed to walk through kubelet dropin directory \
                  \"/var/lib/kubelet/config.d\": failed to load kubelet dropin file, path: \
                  /var/lib/kubelet/config.d/";
    assert_eq!(
        texts(&examination),
        [
            format!("{folder}10-x.conf, error: Object 'Kind' is missing in 'maxPods: 50\n'"),
            format!(
                "{folder}20-y.conf, error: kubelet config file \
                 \"/var/lib/kubelet/config.d/20-y.conf\" was empty"
            ),
        ]
    );
    let effective = examination.effective.map(|config| config.max_pods);
    assert_eq!(effective, Some(50), "the flag of the unit");
    assert!(!examination.unknown.is_empty(), "the machine is not known");
}

/// Returns a certificate with its key, valid until the begin of a year.
fn client_pem(until: i32) -> String {
    let mut params = rcgen::CertificateParams::default();
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(until, 1, 1);
    let key = rcgen::KeyPair::generate().expect("a key can be made");
    params.self_signed(&key).expect("a certificate can be made").pem() + &key.serialize_pem()
}

#[test]
fn the_client_certificate_decides() {
    let unit = "[Service]\nExecStart=/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml \
                --kubeconfig=/etc/kubernetes/kubelet.conf \
                --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf\n";
    let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n\
                  failCgroupV1: false\n";
    let current = "/var/lib/kubelet/pki/kubelet-client-current.pem";
    let of_file = format!("{{client-certificate: {current}, client-key: {current}}}");
    let encoded =
        |text: &str| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text);
    let embedded = |until: i32| {
        let data = encoded(&client_pem(until));
        format!("{{client-certificate-data: {data}, client-key-data: {data}}}")
    };
    let no_bootstrap = "failed to run Kubelet: unable to load bootstrap kubeconfig: stat \
                        /etc/kubernetes/bootstrap-kubelet.conf: no such file or directory";
    for (name, user, until, expected) in [
        ("valid", of_file.clone(), 2040, None),
        ("expired", of_file, 2025, Some(no_bootstrap)),
        ("embedded", embedded(2040), 2025, None),
        ("embedded and expired", embedded(2025), 2040, Some(no_bootstrap)),
        ("a token alone", "{token: t}".to_owned(), 2040, Some(no_bootstrap)),
    ] {
        let kubeconfig = format!(
            "clusters: [{{name: k, cluster: {{server: 'https://192.0.2.1:6443'}}}}]\n\
             users: [{{name: n, user: {user}}}]\n\
             contexts: [{{name: c, context: {{cluster: k, user: n}}}}]\ncurrent-context: c\n"
        );
        let node = folder_with(&[
            ("etc/systemd/system/kubelet.service", unit),
            ("var/lib/kubelet/config.yaml", config),
            ("etc/kubernetes/kubelet.conf", &kubeconfig),
            (current.trim_start_matches('/'), &client_pem(until)),
        ]);
        let on_disk = read_config_on_disk(node.path(), None).found.expect("a unit").value;
        let named = named_files(on_disk.process.as_ref(), std::iter::empty());
        let files = read_start_files(node.path(), &named);
        let examination = examine(&StartFacts {
            version: Some(KubeletVersion::ASSUMED),
            process: on_disk.process.as_ref(),
            config_file: on_disk.file,
            files: Some(&files),
            now: "2026-11-26T12:00:00Z".parse().ok(),
            ..StartFacts::default()
        });
        let said = texts(&examination);
        assert_eq!(said.first().copied(), expected, "{name}: {said:?}");
    }
}

#[test]
fn a_reservation_needs_the_capacity_of_its_own_resource_alone() {
    let reserved = json!({
        "cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1", "memory": "1Gi"},
        "memoryManagerPolicy": "Static", "evictionHard": {"memory.available": "256Mi"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1280Mi"}}],
    });
    let start = |capacity: &[(&str, &str)], change: &dyn Fn(&mut Value)| {
        let mut config = reserved.clone();
        change(&mut config);
        config["apiVersion"] = json!("kubelet.config.k8s.io/v1beta1");
        config["kind"] = json!("KubeletConfiguration");
        let amounts = capacity
            .iter()
            .map(|(name, amount)| (ResourceName::from(*name), amount.parse().expect("a quantity")));
        let machine = Machine { capacity: amounts.collect(), ..Machine::default() };
        let content = ConfigContent::document(config);
        examine(&StartFacts {
            version: Some(KubeletVersion::ASSUMED),
            config_file: Some(ConfigText { path: CONFIG.to_owned(), content }),
            cgroup_version: Some(CgroupVersion::V2),
            swap_bytes: Some(0),
            machine: Some(machine),
            ..StartFacts::default()
        })
    };
    let as_it_is = |_: &mut Value| {};
    for capacity in [&[("cpu", "4")][..], &[("memory", "8Gi")], &[]] {
        assert_eq!(texts(&start(capacity, &as_it_is)), [""; 0], "{capacity:?}");
    }
    let other = |config: &mut Value| config["kubeReserved"]["memory"] = json!("2Gi");
    let found = start(&[("cpu", "4")], &other);
    assert!(
        texts(&found)[0].contains("is not equal to the value \"2304Mi\""),
        "{:?}",
        texts(&found)
    );
    // A share of an unknown amount is not known.
    let share = |config: &mut Value| config["evictionHard"] = json!({"memory.available": "5%"});
    assert_eq!(texts(&start(&[("cpu", "4")], &share)), [""; 0]);
    let skipped = start(&[("cpu", "4")], &share).unknown;
    for what in ["reservations above the capacity", "reservedMemory of another total"] {
        let is_named = |it: &NotExamined| it.what == what && it.fact == "the machine's memory";
        assert!(skipped.iter().any(is_named), "{what}: {skipped:?}");
    }
}

#[test]
fn the_kubeconfig_of_an_assumed_unit_is_no_certain_end() {
    let flags = "KUBELET_KUBEADM_ARGS=\"\"\n";
    let unit = "[Service]\nExecStart=/usr/bin/kubelet --kubeconfig=/etc/kubernetes/kubelet.conf\n";
    for (file, text, certainty) in [
        ("etc/systemd/system/kubelet.service", unit, Certainty::Certain),
        ("var/lib/kubelet/kubeadm-flags.env", flags, Certainty::Likely),
    ] {
        let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
        let node = folder_with(&[(file, text), ("var/lib/kubelet/config.yaml", config)]);
        let found = read_config_on_disk(node.path(), None).found.expect("a command line").value;
        let path = "/etc/kubernetes/kubelet.conf".to_owned();
        let files = StartFiles {
            files: BTreeMap::from([(path, StartFile::Absent)]),
            ..StartFiles::default()
        };
        let examination = examine(&StartFacts {
            version: Some(KubeletVersion::ASSUMED),
            process: found.process.as_ref(),
            config_file: found.file,
            is_unit_assumed: found.is_unit_assumed,
            files: Some(&files),
            ..StartFacts::default()
        });
        let problem = examination.first().unwrap_or_else(|| panic!("{file}"));
        assert_eq!(problem.certainty, certainty, "{file}: {}", problem.text);
    }
}
