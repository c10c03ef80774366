//! `kq devices verify`, on what a real kubelet wrote and on what becomes of it.

use super::{folder_with, kq, matches};
use kq_facts::checkpoint::layout::KnownLayouts;
use serde_json::{Value, json};
use snapbox::str;
use std::fs;

/// Files of a real node: an init container shared its devices with those after it.
const DEVICES: &[u8] = include_bytes!("devices_verify/kubelet_internal_checkpoint");
const CPU: &[u8] = include_bytes!("devices_verify/cpu_manager_state");
const MEMORY: &[u8] = include_bytes!("devices_verify/memory_manager_state");

const STATIC: &str = "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
memoryManagerPolicy: Static
reservedSystemCPUs: '0'
reservedMemory: [{numaNode: 0, limits: {memory: '507510784'}}]
";

const CLAIMS: &str = r#"{"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/v1\",\"ClaimInfoStateList\":null}","Checksum":4010664294}"#;
const PODS: &str = r#"{"data":"{\"entries\":{\"pod1\":{\"ContainerResources\":{\"container1\":{\"requests\":{\"cpu\":\"1Ki\",\"memory\":\"1Ki\"}}}}}}","checksum":1178570812}"#;

/// What is asked of files that are named: the flags, the kind, damage in words.
#[path = "devices_verify/named.rs"]
mod named;

/// Verifies one file, and returns the exit code, what is said of it, and the findings.
fn verify(name: &str, content: &[u8], flags: &str) -> (i32, Value, Vec<Value>) {
    let node = folder_with(&[(name, content)]);
    let ran = kq(&format!("devices verify {name} -ojson {flags}")).within(&node).run();
    let answer: Value = ran.answer();
    let findings = answer["findings"].as_array().expect("findings").clone();
    (ran.code, answer["files"][0].clone(), findings)
}

#[test]
fn what_a_real_kubelet_wrote_is_sound() {
    let node = folder_with(&[
        ("kubelet_internal_checkpoint", DEVICES),
        ("cpu_manager_state", CPU),
        ("memory_manager_state", MEMORY),
        ("dra_manager_state", CLAIMS.as_bytes()),
        ("allocated_pods_state", PODS.as_bytes()),
        ("config.yaml", STATIC.as_bytes()),
    ]);
    let line = "devices verify kubelet_internal_checkpoint cpu_manager_state memory_manager_state \
                dra_manager_state allocated_pods_state --kubelet-config config.yaml";
    kq(line).within(&node).shows(str![[r#"
FILE                          KIND             LAYOUT                             CHECKSUM   VERDICT   WHAT
kubelet_internal_checkpoint   devices          1.20 and later                     right      OK        the kubelet takes it
cpu_manager_state             cpu-manager      v2                                 right      OK        the kubelet takes it
memory_manager_state          memory-manager   v1                                 right      OK        the kubelet takes it
dra_manager_state             dra              checkpoint.dra.kubelet.k8s.io/v1   right      OK        the kubelet takes it
allocated_pods_state          allocated-pods   1.33 and later                     right      OK        the kubelet takes it
--- stderr
note: 2 notes hidden (-o wide)
--- exit 0

"#]]);
}

#[test]
fn each_kind_of_damage_is_told() {
    let cut = |bytes: &[u8], at: usize| bytes[..at].to_vec();
    let turned = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 0x04;
        bytes
    };
    let edited = |bytes: &[u8], old: &str, new: &str| {
        let text = std::str::from_utf8(bytes).expect("text");
        assert!(text.contains(old), "{old}");
        text.replacen(old, new, 1).into_bytes()
    };
    let mut zeros = CPU.to_vec();
    zeros[30..].fill(0);
    let old = br#"{"PodDeviceEntries":[{"PodUID":"p","ContainerName":"c","ResourceName":"example.com/r","DeviceIDs":["a"],"AllocResp":""}],"RegisteredDevices":{}}"#;
    let (cpu, memory, devices) =
        ("cpu_manager_state", "memory_manager_state", "kubelet_internal_checkpoint");
    let rows: Vec<(&str, Vec<u8>, &str, &str)> = vec![
        (cpu, Vec::new(), "REFUSED", "empty"),
        (cpu, b" \n".to_vec(), "REFUSED", "empty"),
        (cpu, vec![0; 62], "REFUSED", "62 zero bytes and nothing else, as after a loss of power"),
        (cpu, zeros, "REFUSED", "zero bytes from offset 30 to 67, as after a loss of power"),
        (cpu, cut(CPU, 40), "REFUSED", "cut short after 40 bytes"),
        (
            cpu,
            turned(CPU, 40),
            "REFUSED",
            "a bit flipped at offset 40: it is '4', with '0' the checksum is right",
        ),
        (
            cpu,
            edited(CPU, "\"0-1\"", "\"0-9\""),
            "REFUSED",
            "a bit flipped at offset 42: it is '9', with '1' the checksum is right",
        ),
        (
            cpu,
            edited(CPU, "\"0-1\"", "\"0-6\""),
            "REFUSED",
            "sound JSON with another checksum: edited by hand, or written by something else",
        ),
        (cpu, MEMORY.to_vec(), "REFUSED", "the content of memory_manager_state"),
        (cpu, b"\x7fELF\x02\x01\xff\xfe".to_vec(), "REFUSED", "no text from offset 6 on"),
        (cpu, b"hello".to_vec(), "REFUSED", "no JSON from offset 0 on"),
        (
            cpu,
            br#"{"policyName":[],"defaultCpuSet":"0","checksum":1}"#.to_vec(),
            "REFUSED",
            "JSON with something else in it than belongs there: json: cannot unmarshal array into Go struct field CPUManagerCheckpointV1.policyName of type string",
        ),
        (memory, cut(MEMORY, 100), "REFUSED", "cut short after 100 bytes"),
        (
            memory,
            edited(MEMORY, "33554432", "33554433"),
            "REFUSED",
            "a bit flipped at offset 352: it is '3', with '2' the checksum is right",
        ),
        (devices, cut(DEVICES, 500), "DISCARDED", "cut short after 500 bytes"),
        (
            devices,
            edited(DEVICES, "\"w0\"", "\"w7\""),
            "DISCARDED",
            "sound JSON with another checksum: edited by hand, or written by something else",
        ),
        (devices, b"\xef\xbb\xbf{}".to_vec(), "DISCARDED", "a byte order mark before the JSON"),
        (
            devices,
            [DEVICES, b"}"].concat(),
            "DISCARDED",
            "something behind the end of the JSON, from offset 1472 on",
        ),
        (
            devices,
            edited(DEVICES, "\"Checksum\"", "\"Checksun\""),
            "DISCARDED",
            "sound JSON without a checksum, or with 0 for it",
        ),
        (devices, old.to_vec(), "DISCARDED", "the layout of a kubelet of 1.19 or older"),
        ("dra_manager_state", cut(CLAIMS.as_bytes(), 30), "REFUSED", "cut short after 30 bytes"),
        (
            "allocated_pods_state",
            edited(PODS.as_bytes(), "pod1", "pod7"),
            "REFUSED",
            "sound JSON with another checksum: edited by hand, or written by something else",
        ),
        (
            "actuated_pods_state",
            CLAIMS.as_bytes().to_vec(),
            "REFUSED",
            "the content of dra_manager_state",
        ),
    ];
    for (name, content, verdict, damage) in rows {
        let (code, file, _) = verify(name, &content, "");
        let told = (code, &file["verdict"], &file["damage"]["text"]);
        assert_eq!(told, (1, &json!(verdict), &json!(damage)), "{name}: {damage}");
    }
}

#[test]
fn the_kubelet_speaks_in_its_own_words() {
    let node = folder_with(&[
        ("cpu_manager_state", CPU),
        ("memory_manager_state", &MEMORY[..10]),
        ("allocated_pods_state", b"{}".as_slice()),
        ("kubelet_internal_checkpoint", b"[]".as_slice()),
        ("dra_manager_state", br#"{"Data":"","Checksum":0}"#.as_slice()),
    ]);
    let folder = fs::canonicalize(node.path()).expect("a folder");
    let line = "devices verify cpu_manager_state memory_manager_state allocated_pods_state \
                kubelet_internal_checkpoint dra_manager_state -ojson --set cpuManagerPolicy=none";
    let ran = kq(line).within(&folder).run();
    assert_eq!(ran.code, 1, "{}", ran.text());
    let answer: Value = ran.answer();
    let files = answer["files"].as_array().expect("files").iter();
    let said: Vec<String> = files
        .map(|file| {
            let error = file["kubeletError"].as_str().unwrap_or_default();
            format!("{}: {error}\n", file["atNextStart"]["text"].as_str().unwrap_or_default())
        })
        .collect();
    let said = said.concat().replace(&folder.display().to_string(), "FOLDER");
    matches(
        said,
        str![[r#"
does not start: could not restore state from checkpoint: configured policy "none" differs from state checkpoint policy "static", please drain this node and delete the CPU manager checkpoint file "FOLDER/cpu_manager_state" before restarting Kubelet
does not start: could not restore state from checkpoint: unexpected end of JSON input, please drain this node and delete the memory manager checkpoint file "FOLDER/memory_manager_state" before restarting Kubelet
does not start: it panics: could not restore state from checkpoint: checkpoint is corrupted, please drain this node and delete pod resource information checkpoint file "FOLDER/allocated_pods_state" before restarting Kubelet
logs that device allocation info may not be up to date, and starts with no allocations; the next write replaces the file: json: cannot unmarshal array into Go value of type checkpoint.Data
does not start: unexpected end of JSON input

"#]],
    );
}

#[test]
fn contradictions_are_found_in_files_with_the_right_checksum() {
    use kq_facts::checkpoint::cpu_manager::{CpuState, encode};
    use kq_facts::checkpoint::memory_manager;
    let cpus = |sets: &[(&str, &str, &str)], default: &str| {
        let mut state = CpuState {
            policy_name: "static".to_owned(),
            default_cpu_set: default.parse().expect("CPUs"),
            ..CpuState::default()
        };
        for (pod, container, cpus) in sets {
            let pod = state.containers.entry((*pod).to_owned()).or_default();
            pod.insert((*container).to_owned(), cpus.parse().expect("CPUs"));
        }
        encode(&state).text.into_bytes()
    };
    let ids = |name: &str, content: &[u8]| {
        let (code, _, findings) = verify(name, content, "");
        let ids: Vec<String> = findings
            .iter()
            .map(|it| format!("{} {}", it["severity"], it["id"]).replace('"', ""))
            .collect();
        (code, ids.join(", "))
    };
    for (name, content, code, expected) in [
        ("apart", cpus(&[("p", "c", "2"), ("q", "c", "3")], "0-1"), 0, ""),
        ("init containers share", cpus(&[("p", "i", "2"), ("p", "c", "2-3")], "0-1"), 0, ""),
        ("two pods", cpus(&[("p", "c", "2"), ("q", "c", "2-3")], "0-1"), 1, "ERROR double-cpus"),
        ("shared", cpus(&[("p", "c", "1-2")], "0-1"), 1, "ERROR shared-cpus"),
        ("none left", cpus(&[("p", "c", "1-2")], ""), 1, "ERROR empty-default"),
        ("no CPUs", cpus(&[("p", "c", "")], "0-1"), 0, "WARNING no-cpus"),
    ] {
        assert_eq!(ids("cpu_manager_state", &content), (code, expected.to_owned()), "{name}");
    }
    let unchecked = br#"{"policyName":"none","defaultCpuSet":""}"#;
    let expected = (0, "WARNING no-checksum".to_owned());
    assert_eq!(ids("cpu_manager_state", unchecked), expected);

    let sound =
        memory_manager::load(MEMORY, KnownLayouts::WithoutPods, None).outcome.expect("it is sound");
    let changed = |change: fn(&mut memory_manager::MemoryTable)| {
        let mut state = sound.clone();
        let node = state.machine_state.get_mut(&0).and_then(Option::as_mut).expect("a node");
        let map = node.memory_map.as_mut().expect("a map");
        change(map.get_mut("memory").and_then(Option::as_mut).expect("memory"));
        memory_manager::encode(&state).text.into_bytes()
    };
    for (name, content, expected) in [
        ("total", changed(|it| it.total += 1), "ERROR amount"),
        ("free", changed(|it| it.free += 1), "ERROR sum"),
        (
            "reserved",
            changed(|it| {
                it.reserved += 1;
                it.free -= 1;
            }),
            "ERROR sum",
        ),
    ] {
        assert_eq!(ids("memory_manager_state", &content), (1, expected.to_owned()), "{name}");
    }
    let mut state = sound.clone();
    let node = state.machine_state.get_mut(&0).and_then(Option::as_mut).expect("a node");
    node.cells = Some(vec![0, 1]);
    let content = memory_manager::encode(&state).text.into_bytes();
    assert_eq!(ids("memory_manager_state", &content), (1, "ERROR cells".to_owned()));
}

#[test]
fn devices_that_two_pods_have_are_an_error() {
    use kq_facts::checkpoint::device::DeviceCheckpoint;
    let sound = DeviceCheckpoint::parse(DEVICES).expect("it is sound").checkpoint;
    let with = |change: fn(&mut DeviceCheckpoint)| {
        let mut checkpoint = sound.clone();
        change(&mut checkpoint);
        let (code, file, findings) =
            verify("kubelet_internal_checkpoint", &checkpoint.to_bytes(), "");
        let verdict = if code == 0 { "OK" } else { "CONTRADICTS" };
        assert_eq!(file["verdict"], verdict);
        let bad = findings.iter().filter(|it| it["severity"] != "INFO");
        let ids: Vec<String> =
            bad.map(|it| it["id"].as_str().unwrap_or_default().to_owned()).collect();
        (code, ids.join(","))
    };
    fn entries(
        it: &mut DeviceCheckpoint,
    ) -> &mut Vec<kq_facts::checkpoint::device::PodDevicesEntry> {
        it.entries.as_mut().expect("entries")
    }
    assert_eq!(with(|_| {}), (0, String::new()));
    let double = with(|it| {
        let mut other = entries(it)[0].clone();
        other.pod_uid = "other".to_owned();
        entries(it).push(other);
    });
    assert_eq!(double, (1, "double".to_owned()));
    let twice = with(|it| {
        let again = entries(it)[0].clone();
        entries(it).push(again);
    });
    assert_eq!(twice, (0, "duplicate-entry".to_owned()));
    let undecodable = with(|it| entries(it)[0].alloc_resp = Some(vec![0xff]));
    assert_eq!(undecodable, (1, "undecodable-answer".to_owned()));
    let nobody = with(|it| entries(it)[0].pod_uid.clear());
    assert_eq!(nobody, (1, "no-owner".to_owned()));
    let empty = with(|it| entries(it)[0].device_ids = None);
    assert_eq!(empty, (0, "no-ids".to_owned()));
    let name = with(|it| {
        it.registered.as_mut().expect("a map").insert("kubernetes.io/x".to_owned(), None);
    });
    assert_eq!(name, (0, "resource-name".to_owned()));
}

#[test]
fn the_files_of_a_node_are_held_against_its_machine_and_its_pods() {
    let folder = "var/lib/kubelet";
    let pods = r#"{"kind":"List","apiVersion":"v1","items":[
        {"kind":"Pod","apiVersion":"v1",
         "metadata":{"name":"init-reuse","namespace":"default","uid":"772ccb41-0660-49f5-a7de-673fe5b0267b"},
         "spec":{"initContainers":[{"name":"i1"},{"name":"i2"}],"containers":[{"name":"main"}]},
         "status":{"phase":"Running"}}]}"#;
    let resized = PODS.replace("1Ki", "2Ki").replace("1178570812", "854316058");
    let node = folder_with(&[
        ("root/sys/devices/system/cpu/online", b"0-1\n".as_slice()),
        (&format!("root/{folder}/device-plugins/kubelet_internal_checkpoint"), DEVICES),
        (&format!("root/{folder}/cpu_manager_state"), CPU),
        (&format!("root/{folder}/memory_manager_state"), MEMORY),
        (&format!("root/{folder}/allocated_pods_state"), PODS.as_bytes()),
        (&format!("root/{folder}/actuated_pods_state"), resized.as_bytes()),
        ("config.yaml", STATIC.as_bytes()),
        ("pods.json", pods.as_bytes()),
    ]);
    let line =
        "devices verify --host-root root --kubelet-config config.yaml --pods pods.json -ojson";
    let told = |expected: i32| -> Vec<String> {
        let ran = kq(line).within(&node).run();
        assert_eq!(ran.code, expected, "{}", ran.text());
        let answer: Value = ran.answer();
        let findings = answer["findings"].as_array().expect("findings").iter();
        let text = |it: &Value, field: &str| it[field].as_str().unwrap_or_default().to_owned();
        findings.map(|it| format!("{} {}", text(it, "severity"), text(it, "id"))).collect()
    };
    // Which containers of the pod are init containers is known now: they share.
    // The machine has NUMA nodes that are not known: whether the kubelet takes its memory is open.
    let sound = told(3);
    assert!(sound.iter().all(|it| it.starts_with("INFO")), "{sound:?}");
    assert!(!sound.contains(&"INFO shared-in-pod".to_owned()), "{sound:?}");
    assert!(sound.contains(&"INFO resize".to_owned()), "{sound:?}");
    fs::write(node.path().join("root/sys/devices/system/cpu/online"), "0-3\n").expect("written");
    let other = told(1);
    assert_eq!(other.first().map(String::as_str), Some("ERROR other-cpus"), "{other:?}");
    let pipe = node.path().join(format!("root/{folder}/dra_manager_state"));
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600))
        .expect("a pipe");
    fs::write(node.path().join("root/sys/devices/system/cpu/online"), "0-1\n").expect("written");
    told(3);
}

/// A machine with one NUMA node, whose state is `MEMORY` but for its memory and pages.
fn machine(memory_kb: u64, pages: u64) -> Vec<(String, String)> {
    let node = "root/sys/devices/system/node/node0";
    let gi = format!("{node}/hugepages/hugepages-1048576kB/nr_hugepages");
    let mi = format!("{node}/hugepages/hugepages-2048kB/nr_hugepages");
    vec![
        (format!("{node}/cpulist"), "0-1\n".to_owned()),
        (format!("{node}/meminfo"), format!("Node 0 MemTotal:       {memory_kb} kB\n")),
        (gi, "0\n".to_owned()),
        (mi, format!("{pages}\n")),
    ]
}

#[test]
fn the_state_of_the_memory_manager_is_held_against_the_machine() {
    const KB: u64 = 25_276_510_208 / 1024;
    let verified = |memory_kb: u64, pages: u64, config: &str| {
        let machine = machine(memory_kb, pages);
        let mut files: Vec<(&str, &[u8])> =
            machine.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
        files.push(("root/sys/devices/system/cpu/online", b"0-1\n"));
        files.push(("root/var/lib/kubelet/memory_manager_state", MEMORY));
        files.push(("config.yaml", config.as_bytes()));
        let node = folder_with(&files);
        let line = "devices verify --host-root root --kubelet-config config.yaml -ojson";
        let ran = kq(line).within(&node).run();
        let answer: Value = ran.answer();
        let files = answer["files"].as_array().expect("files");
        let file = files.iter().find(|it| it["file"] == "memory_manager_state");
        let file = file.unwrap_or_else(|| panic!("{}", ran.text()));
        let findings = answer["findings"].as_array().expect("findings").iter();
        let found = findings.filter(|it| it["severity"] == "ERROR");
        let found = found.map(|it| it["found"].as_str().unwrap_or_default().to_owned());
        (file["verdict"].clone(), file["kubeletError"].clone(), found.collect::<Vec<_>>())
    };
    let refused = |found: &str| {
        let error = "[memorymanager] the expected machine state is different from the real one";
        (json!("REFUSED"), json!(error), vec![found.to_owned()])
    };
    assert_eq!(verified(KB, 0, STATIC), (json!("OK"), Value::Null, Vec::new()));
    let less = "total is 25276510208, and the machine has 25276509184";
    assert_eq!(verified(KB - 1, 0, STATIC), refused(less));
    let (_, _, found) = verified(KB, 4, STATIC);
    assert_eq!(found.first().map(String::as_str), Some("total is 0, and the machine has 8388608"));
    let more = STATIC.replace("507510784", "507510785");
    let other = "systemReserved is 507510784, and reservedMemory is 507510785";
    assert_eq!(verified(KB, 0, &more), refused(other));
}

#[test]
fn hostile_files_are_refused_in_bounded_time() {
    let deep = |open: &str, times: usize| open.repeat(times).into_bytes();
    let huge = format!(
        r#"{{"policyName":"none","defaultCpuSet":"","checksum":{}}}"#,
        "9".repeat(1_000_000)
    );
    let keys = format!(
        r#"{{"policyName":"none","defaultCpuSet":"",{}"checksum":1}}"#,
        r#""entries":{"p":{"c":"0"}},"#.repeat(20_000)
    );
    for (name, content) in [
        ("arrays", deep("[", 10_000_000)),
        ("objects", deep("{\"a\":", 2_000_000)),
        ("inside", deep("{\"Data\":[", 1_000_000)),
        ("a huge number", huge.into_bytes()),
        ("many keys", keys.into_bytes()),
    ] {
        for file in [
            "cpu_manager_state",
            "memory_manager_state",
            "kubelet_internal_checkpoint",
            "dra_manager_state",
        ] {
            let (code, told, _) = verify(file, &content, "");
            assert_eq!(code, 1, "{name} {file}: {told}");
        }
    }
    let escapes = r#"{"data":"{\"entries\":{\"\\u001b]0;x\\u0007\":{\"ContainerResources\":{\"c\":{\"requests\":{\"cpu\":\"2\"},\"limits\":{\"cpu\":\"1\"}}}}}}","checksum":0}"#;
    let node = folder_with(&[("allocated_pods_state", escapes)]);
    let ran = kq("devices verify allocated_pods_state -owide").within(&node).run();
    assert!(!ran.text().contains('\u{1b}'), "{}", ran.text());
    assert!(ran.stdout.contains("request-above-limit"), "{}", ran.text());
}

#[test]
fn what_is_no_file_is_told_and_nothing_hangs() {
    let node = folder_with(&[("note.txt", "hello"), ("copy.json", PODS)]);
    fs::create_dir(node.path().join("cpu_manager_state")).expect("a folder");
    let pipe = node.path().join("memory_manager_state");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600))
        .expect("a pipe");
    for (line, code, said) in [
        ("devices verify dra_manager_state", 3, "no such file"),
        ("devices verify cpu_manager_state", 3, "is a directory, expected a file"),
        ("devices verify memory_manager_state", 3, "a named pipe without a writer"),
        ("devices verify note.txt", 2, "it is: set it with --kind"),
        ("devices verify note.txt --kind cpu-manager", 1, "no JSON from offset 0 on"),
        ("devices verify copy.json", 0, "allocated-pods"),
        ("devices verify --kind dra", 2, "<FILE>"),
    ] {
        let ran = kq(line).within(&node).run();
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        assert!(ran.text().contains(said), "{line}: {}", ran.text());
    }
}

#[test]
fn a_file_is_not_judged_beside_a_snapshot() {
    let ran = kq("devices verify --snapshot node.json cpu_manager_state").run();
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("FILE and --snapshot cannot both"), "{}", ran.text());
}
