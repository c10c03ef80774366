//! `state_files`: the kubelet's other files of state, from bytes to what it goes on with, and back.
//!
//! `{kubelet_root}` stands for its folder.

use super::input::{gates, rules, version};
use kq_core::kubelet_start::{ConfigContent, ConfigText, StartFacts, StartRule, examine};
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::checkpoint::cpu_manager::{self, CpuState, KnownContainers};
use kq_facts::checkpoint::dra::{self, ClaimInfo, DraDevice, DraRefusal};
use kq_facts::checkpoint::layout::KnownLayouts;
use kq_facts::checkpoint::memory_manager::{self, Block, MemoryState, MemoryTable, NumaNodeState};
use kq_facts::checkpoint::pod_allocation::{
    self, PodAllocation, PodAllocations, ResourceClaim, Resources,
};
use kq_facts::checkpoint::{Encoded, StateFile};
use kq_facts::host::Text;
use kq_facts::kubelet_process::as_started;
use kq_facts::state_files::StateFiles;
use kq_k8s::go_json::{GoBytes, decode};
use kq_k8s::pod::{ResourceList, ResourceName};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object")
}

/// The bytes of the file.
fn bytes_of(case: &Value) -> Vec<u8> {
    match case["file_text"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => {
            let text = case["file_base64"].as_str().expect("a text or base64");
            let quoted = Value::from(text).to_string();
            let mut bytes = GoBytes::default();
            decode(quoted.as_bytes(), &mut bytes).expect("base64");
            bytes.into_option().expect("bytes")
        }
    }
}

const ROOT: &str = "{kubelet_root}";

/// Answers a case.
pub fn answer(case: &Value) -> Value {
    let layouts = KnownLayouts::of(&rules(case));
    let gate = layouts.has_pods();
    let kind = case["kind"].as_str().expect("a kind");
    let encode = case["operation"] == "encode";
    let bytes = if encode { Vec::new() } else { bytes_of(case) };
    if case["operation"] == "start" {
        return start(case, kind, &bytes);
    }
    match (kind, encode) {
        ("cpu_manager_state", true) => encoded(cpu_manager::encode(&cpu_state(case, gate))),
        ("memory_manager_state", true) => {
            encoded(memory_manager::encode(&memory_state(case, gate)))
        }
        ("dra_manager_state", true) => encoded(dra::encode(claims(&case["claims"]).as_deref())),
        (_, true) => encode_pods(&case["pods"]),
        ("cpu_manager_state", false) => load_cpu(case, &bytes, layouts),
        ("memory_manager_state", false) => load_memory(case, &bytes, layouts),
        ("dra_manager_state", false) => load_dra(&bytes),
        (name, false) => load_pods(name, &bytes),
    }
}

fn encoded(it: Encoded) -> Value {
    json!({
        "file_text": it.text, "checksum_preimage": it.pre_image, "checksum_computed": it.checksum,
    })
}

fn texts(value: &Value) -> BTreeMap<String, String> {
    let text = |(name, value): (&String, &Value)| {
        (name.clone(), value.as_str().expect("a text").to_owned())
    };
    object(value).iter().map(text).collect()
}

fn cpu_state(case: &Value, gate: bool) -> CpuState {
    let cpus = |text: &String| text.parse().expect("a list of CPUs");
    let all = |value: &Value| texts(value).iter().map(|(k, v)| (k.clone(), cpus(v))).collect();
    let pods = object(&case["container_cpu_sets"]);
    CpuState {
        policy_name: case["configured_policy"].as_str().expect("a policy").to_owned(),
        default_cpu_set: cpus(&case["default_cpu_set"].as_str().expect("CPUs").to_owned()),
        containers: pods.iter().map(|(pod, value)| (pod.clone(), all(value))).collect(),
        pods: gate.then(|| all(&case["pod_cpu_sets"])),
    }
}

fn load_cpu(case: &Value, bytes: &[u8], layouts: KnownLayouts) -> Value {
    let seen = case["containers_seen_at_kubelet_start"].as_array().expect("containers");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let known: KnownContainers = seen
        .iter()
        .map(|it| (text(&it["container_id"]), (text(&it["pod_uid"]), text(&it["container_name"]))))
        .collect();
    let load = cpu_manager::load(bytes, layouts, case["configured_policy"].as_str(), Some(&known));
    let attempts = load.attempts.iter().map(|it| {
        let layout = it.layout.to_string();
        match &it.error {
            Some(error) => json!({"layout": layout, "parse_error": error}),
            None => attempt(
                &layout,
                it.checksum_computed,
                &it.pre_image(),
                it.also_accepted.map(|sum| ("CPUManagerCheckpointV2", sum)),
            ),
        }
    });
    let mut out = json!({"attempts_in_order": attempts.collect::<Vec<_>>()});
    match &load.outcome {
        Ok(state) => {
            let all = |sets: &BTreeMap<String, kq_k8s::cpuset::CpuSet>| -> Value {
                let text = |(name, cpus): (&String, &kq_k8s::cpuset::CpuSet)| {
                    (name.clone(), Value::from(cpus.to_string()))
                };
                sets.iter().map(text).collect()
            };
            let pods: Map<String, Value> =
                state.containers.iter().map(|(pod, it)| (pod.clone(), all(it))).collect();
            out["load"] = "ok".into();
            out["content"] = json!({
                "container_cpu_sets": pods, "default_cpu_set": state.default_cpu_set.to_string(),
            });
            if let Some(pods) = &state.pods {
                out["content"]["pod_cpu_sets"] = all(pods);
            }
        }
        Err(refusal) => {
            out["load"] = "error".into();
            out["error"] = StateFile::Cpu.refusal(&refusal.to_string(), ROOT).into();
        }
    }
    out
}

fn attempt(layout: &str, sum: u32, pre_image: &str, also: Option<(&str, u32)>) -> Value {
    let mut out =
        json!({"layout": layout, "checksum_computed": sum, "checksum_preimage": pre_image});
    if let Some((name, sum)) = also {
        out[format!("also_accepted_checksum_with_type_name_{name}")] = sum.into();
    }
    out
}

fn numbers(value: &Value) -> Option<Vec<i64>> {
    Some(value.as_array()?.iter().map(|number| number.as_i64().expect("a number")).collect())
}

fn blocks(value: &Value) -> Option<Vec<Block>> {
    let block = |it: &Value| Block {
        numa_affinity: numbers(&it["numaAffinity"]),
        memory_type: it["type"].as_str().expect("a type").to_owned(),
        size: it["size"].as_u64().expect("a size"),
    };
    Some(value.as_array()?.iter().map(block).collect())
}

fn memory_state(case: &Value, gate: bool) -> MemoryState {
    let table = |it: &Value| MemoryTable {
        total: it["total"].as_u64().expect("bytes"),
        system_reserved: it["systemReserved"].as_u64().expect("bytes"),
        allocatable: it["allocatable"].as_u64().expect("bytes"),
        reserved: it["reserved"].as_u64().expect("bytes"),
        free: it["free"].as_u64().expect("bytes"),
    };
    let node = |it: &Value| NumaNodeState {
        number_of_assignments: it["numberOfAssignments"].as_i64().expect("a number"),
        memory_map: it["memoryMap"]
            .as_object()
            .map(|map| map.iter().map(|(name, it)| (name.clone(), Some(table(it)))).collect()),
        cells: numbers(&it["cells"]),
    };
    let nodes = object(&case["machine_state"]);
    let pods = object(&case["container_memory_blocks"]);
    let containers = |value: &Value| {
        let each = |(name, it): (&String, &Value)| (name.clone(), blocks(it).unwrap_or_default());
        object(value).iter().map(each).collect()
    };
    MemoryState {
        policy_name: case["configured_policy"].as_str().expect("a policy").to_owned(),
        machine_state: nodes
            .iter()
            .map(|(number, it)| (number.parse().expect("a number"), Some(node(it))))
            .collect(),
        containers: pods.iter().map(|(pod, it)| (pod.clone(), containers(it))).collect(),
        pods: gate.then(|| {
            let pods = object(&case["pod_memory_blocks"]);
            pods.iter().map(|(pod, it)| (pod.clone(), blocks(&it["memoryBlocks"]))).collect()
        }),
    }
}

fn load_memory(case: &Value, bytes: &[u8], layouts: KnownLayouts) -> Value {
    let load = memory_manager::load(bytes, layouts, case["configured_policy"].as_str());
    let attempts = load.attempts.iter().map(|it| {
        let layout = it.layout.to_string();
        match &it.error {
            Some(error) => json!({"layout": layout, "parse_error": error}),
            None => attempt(
                &layout,
                it.checksum_computed,
                &it.pre_image(),
                it.also_accepted.map(|sum| ("MemoryManagerCheckpointV1", sum)),
            ),
        }
    });
    let mut out = json!({"attempts_in_order": attempts.collect::<Vec<_>>()});
    match &load.outcome {
        Ok(state) => {
            out["load"] = "ok".into();
            out["content"] = json!({
                "container_memory_blocks": state.containers, "machine_state": state.machine_state,
            });
            if let Some(pods) = &state.pods {
                let entry = |(pod, blocks): (&String, &Option<Vec<Block>>)| {
                    let entry = match blocks {
                        Some(blocks) if !blocks.is_empty() => json!({"memoryBlocks": blocks}),
                        _ => json!({}),
                    };
                    (pod.clone(), entry)
                };
                out["content"]["pod_memory_blocks"] = pods.iter().map(entry).collect();
            }
        }
        Err(memory_manager::MemoryRefusal::Panic { .. }) => {
            out["load"] = "panic".into();
        }
        Err(refusal) => {
            out["load"] = "error".into();
            out["error"] = StateFile::Memory.refusal(&refusal.to_string(), ROOT).into();
        }
    }
    out
}

fn claims(value: &Value) -> Option<Vec<ClaimInfo>> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let list = |value: &Value| -> Option<Vec<String>> {
        Some(value.as_array()?.iter().map(text).collect())
    };
    let device = |it: &Value| DraDevice {
        pool_name: text(&it["pool_name"]),
        device_name: text(&it["device_name"]),
        share_id: it["share_id"].as_str().map(str::to_owned),
        request_names: list(&it["request_names"]),
        cdi_device_ids: list(&it["cdi_device_ids"]),
    };
    let driver = |(name, devices): (&String, &Value)| {
        let devices = devices.as_array().filter(|devices| !devices.is_empty());
        (name.clone(), devices.map(|devices| devices.iter().map(device).collect()))
    };
    let claim = |it: &Value| ClaimInfo {
        claim_uid: text(&it["claim_uid"]),
        claim_name: text(&it["claim_name"]),
        namespace: text(&it["namespace"]),
        pod_uids: list(&it["pod_uids"]).map(|list| list.into_iter().collect()),
        driver_state: it["driver_devices"].as_object().map(|all| all.iter().map(driver).collect()),
    };
    Some(value.as_array()?.iter().map(claim).collect())
}

fn load_dra(bytes: &[u8]) -> Value {
    let load = dra::load(bytes);
    let mut out = json!({});
    if load.data.is_some() {
        out["checksum_in_file"] = load.checksum_in_file.into();
        out["checksum_computed"] = load.checksum_computed.into();
        out["checksum_valid"] = load.is_checksum_right().into();
    }
    match &load.outcome {
        Ok(claims) => {
            let device = |it: &DraDevice| {
                json!({
                    "pool_name": it.pool_name, "device_name": it.device_name,
                    "share_id": it.share_id, "request_names": it.request_names,
                    "cdi_device_ids": it.cdi_device_ids,
                })
            };
            let claim = |it: &ClaimInfo| {
                let driver = |(name, devices): (&String, &Option<Vec<DraDevice>>)| {
                    let devices: Vec<Value> = devices.iter().flatten().map(device).collect();
                    (name.clone(), Value::from(devices))
                };
                let drivers: Map<String, Value> =
                    it.driver_state.iter().flatten().map(driver).collect();
                let pods: Vec<&String> = it.pod_uids.iter().flatten().collect();
                json!({
                    "claim_uid": it.claim_uid, "claim_name": it.claim_name,
                    "namespace": it.namespace, "pod_uids": pods, "driver_devices": drivers,
                })
            };
            out["load"] = "ok".into();
            out["content"] =
                claims.as_ref().map(|list| list.iter().map(claim).collect::<Vec<_>>()).into();
        }
        Err(refusal) => {
            out["load"] = "error".into();
            out["error"] = refusal.to_string().into();
            if matches!(refusal, DraRefusal::Data(_)) {
                out["stage"] = "decode of Data".into();
            }
        }
    }
    out
}

fn resources(value: &Value) -> Resources {
    let list = |value: &Value| -> ResourceList {
        let amount = |(name, text): (&String, &String)| {
            (ResourceName::from(name.as_str()), text.parse().expect("a quantity"))
        };
        match value {
            Value::Null => ResourceList::default(),
            value => texts(value).iter().map(amount).collect(),
        }
    };
    let claim = |it: &Value| ResourceClaim {
        name: it["name"].as_str().expect("a name").to_owned(),
        request: it["request"].as_str().unwrap_or_default().to_owned(),
    };
    Resources {
        limits: list(&value["limits"]),
        requests: list(&value["requests"]),
        claims: value["claims"].as_array().into_iter().flatten().map(claim).collect(),
    }
}

fn encode_pods(pods: &Value) -> Value {
    let pod = |it: &Value| PodAllocation {
        container_resources: object(&it["container_resources"])
            .iter()
            .map(|(name, it)| (name.clone(), resources(it)))
            .collect(),
        pod_level_resources: Some(&it["pod_level_resources"])
            .filter(|it| !it.is_null())
            .map(resources),
    };
    let pods: PodAllocations =
        object(pods).iter().map(|(uid, it)| (uid.clone(), pod(it))).collect();
    if pods.is_empty() {
        let note = "no file is written before the first pod is recorded";
        return json!({"file_text": null, "note": note});
    }
    encoded(pod_allocation::encode(&pods))
}

/// How a start ends that finds the file.
fn start(case: &Value, name: &str, bytes: &[u8]) -> Value {
    const FOLDER: &str = "/var/lib/kubelet";
    let text = Text::Read(String::from_utf8_lossy(bytes).into_owned());
    let files = StateFiles { folder: FOLDER.to_owned(), files: [(name.to_owned(), text)].into() };
    let config = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "featureGates": gates(case),
    });
    let path = format!("{FOLDER}/config.yaml");
    let examination = examine(&StartFacts {
        version: Some(version(case)),
        process: as_started(&["kubelet".to_owned()]).as_ref(),
        config_file: Some(ConfigText { path, content: ConfigContent::document(config) }),
        cgroup_version: Some(CgroupVersion::V2),
        state_files: Some(&files),
        ..StartFacts::default()
    });
    let stop = examination.problems.iter().find_map(|problem| match &problem.rule {
        StartRule::StateFile { error, panics, .. } => Some((error.replace(FOLDER, ROOT), *panics)),
        _ => None,
    });
    match stop {
        None => json!({"start": "goes on"}),
        Some((error, true)) => json!({"start": "panic", "error": error}),
        Some((error, false)) => json!({"start": "error", "error": error}),
    }
}

fn load_pods(name: &str, bytes: &[u8]) -> Value {
    let file = StateFile::named(name).expect("a file of state");
    let load = match file {
        StateFile::PodStatus => pod_allocation::load_v1_32(bytes),
        _ => pod_allocation::load(bytes),
    };
    let mut out = json!({});
    if let Some(pre_image) = load.pre_image() {
        out = json!({
            "checksum_in_file": load.checksum_in_file,
            "checksum_computed": load.checksum_computed,
            "checksum_valid": load.is_checksum_right(),
            "checksum_preimage": pre_image,
        });
    }
    match &load.outcome {
        Ok(pods) => {
            let list = |list: &ResourceList| -> Value {
                list.iter()
                    .map(|(name, amount)| (name.to_string(), Value::from(amount.canonical())))
                    .collect()
            };
            let all = |it: &Resources| {
                let mut out = json!({});
                for (name, side) in [("limits", &it.limits), ("requests", &it.requests)] {
                    if !side.is_empty() {
                        out[name] = list(side);
                    }
                }
                if !it.claims.is_empty() {
                    out["claims"] = json!(it.claims);
                }
                out
            };
            let pod = |(uid, it): (&String, &PodAllocation)| {
                let containers: Map<String, Value> = it
                    .container_resources
                    .iter()
                    .map(|(name, it)| (name.clone(), all(it)))
                    .collect();
                let mut out = json!({"container_resources": containers});
                if let Some(pod) = &it.pod_level_resources {
                    out["pod_level_resources"] = all(pod);
                }
                (uid.clone(), out)
            };
            out["load"] = "ok".into();
            out["content"] = pods.iter().map(pod).collect();
        }
        Err(refusal) => {
            out["load"] = "error".into();
            out["error"] = file.refusal(&refusal.to_string(), ROOT).into();
        }
    }
    out
}
