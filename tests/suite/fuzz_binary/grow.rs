//! The lists of a snapshot, and growing two of them: their elements are copies of one that is sound, each with names of
//! its own.
//!
//! The seventh copy of a pod has the name of the pod with a 7, and so have the seventh copies of what names the pod:
//! its sandbox, its cgroup, its entry in the checkpoint. So what grows together belongs together.

use super::mutate::{LARGEST, Random};
use crate::cli::lookups::made_up;
use serde_json::{Map, Value, json};

/// What the elements that grow have in common: a pod of the snapshot, and what it has. The longest first, because one
/// may be in another.
const FOCUS: &[&str] = &[
    "a752b21b0076147a95ed92a82fa5766a016a3c2731953213d44d8eff5056ffa1",
    "be32943ff08f5a135e99b18e5f0e7ed96071adc8cb2253b4c",
    "45c081bf-5b21-48ad-8293-e4cfd8eb823a",
    "example.com/gpu",
    "worker-image",
    "train-0",
    "gpu-0",
    "gpu-1",
    "train",
    "4001",
];

/// Objects whose keys are data.
const MAPS: &[&str] = &[
    "allocatable",
    "allocatedResources",
    "annotations",
    "capacity",
    "cgroups",
    "cpuManagerPolicyOptions",
    "deviceIds",
    "evictionHard",
    "evictionMinimumReclaim",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "featureGates",
    "files",
    "kubeReserved",
    "labels",
    "limits",
    "nodeSelector",
    "oomScoreAdj",
    "origins",
    "overhead",
    "registered",
    "requests",
    "systemReserved",
    "texts",
];

/// A list, a map or a text of several lines in a snapshot.
#[derive(Clone, Debug)]
pub struct Place {
    /// As it is told: `pods.found.value.pods`.
    pub name: String,
    steps: Vec<Step>,
    /// Which element is copied.
    template: usize,
}

#[derive(Clone, Debug)]
enum Step {
    Field(String),
    Item(usize),
}

/// Returns a snapshot with an element in each of the lists that a node can have.
pub fn with_all_lists(mut snapshot: Value) -> Value {
    let pods = &mut snapshot["pods"]["found"]["value"];
    pods["notes"] = json!(["a note"]);
    pods["leftOut"] = json!(["a pod"]);
    let pods = pods["pods"].as_array_mut().expect("pods");
    let at = pods.iter().position(|it| it["pod"]["metadata"]["name"] == "train-0");
    let pod = &mut pods[at.expect("the pod is there")]["pod"];
    let probe = json!({
        "httpGet": {"path": "/", "port": "web", "httpHeaders": [{"name": "A", "value": "b"}]},
    });
    let command = json!({"exec": {"command": ["sh", "$(A)"]}, "timeoutSeconds": 1});
    let mut more = json!({
        "livenessProbe": probe,
        "readinessProbe": command,
        "ports": [{"name": "web", "containerPort": 80, "protocol": "TCP"}],
        "env": [{"name": "A", "value": "b"}],
        "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
        "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}],
    });
    let container = pod["spec"]["containers"][0].as_object_mut().expect("a container");
    container.append(more.as_object_mut().expect("an object"));
    let container = Value::Object(container.clone());
    let renamed = |mut container: Value, name: &str| {
        container["name"] = name.into();
        container
    };
    let mut init = renamed(container, "train-init");
    init["restartPolicy"] = "Always".into();
    pod["spec"]["initContainers"] = json!([init]);
    pod["spec"]["ephemeralContainers"] = json!([{"name": "train-debug"}]);
    pod["spec"]["tolerations"] =
        json!([{"key": "train", "operator": "Exists", "effect": "NoExecute"}]);
    pod["spec"]["volumes"] = json!([{"name": "train", "emptyDir": {}}]);
    pod["spec"]["nodeSelector"] = json!({"train": "yes"});
    pod["spec"]["overhead"] = json!({"cpu": "10m"});
    pod["metadata"]["ownerReferences"] =
        json!([{"kind": "ReplicaSet", "name": "train", "controller": true}]);
    let status = pod["status"]["containerStatuses"][0].clone();
    pod["status"]["initContainerStatuses"] = json!([renamed(status.clone(), "train-init")]);
    pod["status"]["ephemeralContainerStatuses"] = json!([renamed(status, "train-debug")]);
    let amounts = json!({"cpu": "1500m", "memory": "6Gi", "example.com/gpu": "1"});
    pod["spec"]["resources"] = json!({"requests": amounts, "limits": amounts});
    pod["status"]["resources"] = json!({"requests": amounts, "limits": amounts});
    pod["status"]["allocatedResources"] = amounts;
    let node = &mut snapshot["node"]["found"]["value"];
    node["spec"] = json!({"taints": [{"key": "train", "value": "a", "effect": "NoSchedule"}]});
    let config = &mut snapshot["kubeletConfig"]["found"]["value"];
    config["notes"] = json!(["a note"]);
    config["origins"] = json!({"podPidsLimit": "a file"});
    let config = &mut config["value"];
    config["featureGates"] = json!({"MemoryQoS": true});
    config["kubeReserved"] = json!({"cpu": "100m"});
    config["evictionSoft"] = json!({"memory.available": "200Mi"});
    config["evictionSoftGracePeriod"] = json!({"memory.available": "1m"});
    config["registerWithTaints"] = json!([{"key": "train", "value": "a", "effect": "NoSchedule"}]);
    config["enforceNodeAllocatable"] = json!(["pods"]);
    let kubelet = &mut snapshot["kubelet"]["found"]["value"];
    kubelet["flags"] = json!([{"name": "v", "value": "2"}]);
    kubelet["notes"] = json!(["a note"]);
    kubelet["others"] = json!([4001]);
    let runtime = &mut snapshot["runtime"]["found"]["value"];
    let id = FOCUS[0];
    runtime["containerStatuses"] =
        made_up(json!([{"id": id, "imageVolumes": ["sha256:worker-image"]}]));
    runtime["writableLayers"] = made_up(json!([{"id": id, "usedBytes": 1000, "inodesUsed": 10}]));
    let unit = "kubepods-pod45c081bf_5b21_48ad_8293_e4cfd8eb823a.slice";
    snapshot["dropIns"] = made_up(json!([
        {"unit": unit, "property": "CPUQuota", "value": "10%", "path": "/run/systemd/x.conf"},
    ]));
    let told = &mut snapshot["devices"]["podResources"]["found"]["value"];
    let memory = json!([{"memoryType": "memory", "size": 6_442_450_944_i64, "numaNodes": [0]}]);
    told["pods"][0]["containers"][0]["cpuIds"] = json!([1]);
    told["pods"][0]["containers"][0]["memory"] = memory.clone();
    told["allocatable"]["found"]["value"]["cpuIds"] = json!([0, 1, 2, 3]);
    told["allocatable"]["found"]["value"]["memory"] = memory;
    let devices = json!([{"resourceName": "example.com/gpu", "deviceIds": ["gpu-0", "gpu-1"], "numaNodes": [0]}]);
    told["allocatable"]["found"]["value"]["devices"] = devices;
    snapshot["devices"]["checkpoint"]["found"]["value"]["registered"] =
        json!({"example.com/gpu": ["gpu-0", "gpu-1"]});
    snapshot
}

/// Returns the lists of a value, each once: within an element that is copied, and in no other.
pub fn places(value: &Value) -> Vec<Place> {
    let mut found = Vec::new();
    collect(value, &mut Vec::new(), "", &mut found);
    found
}

fn collect(value: &Value, steps: &mut Vec<Step>, name: &str, found: &mut Vec<Place>) {
    let template = match value {
        Value::Array(items) if !items.is_empty() => {
            Some(nearest(items.iter().map(Value::to_string)))
        }
        Value::Object(fields)
            if !fields.is_empty() && is_map(steps) && !fields.contains_key("tried") =>
        {
            Some(nearest(fields.iter().map(|(key, value)| format!("{key} {value}"))))
        }
        Value::String(text) if text.trim_end().contains('\n') => {
            Some(nearest(text.lines().map(str::to_owned)))
        }
        _ => None,
    };
    if let Some(template) = template {
        found.push(Place { name: name.to_owned(), steps: steps.clone(), template });
    }
    let mut enter = |step: Step, part: &str, inner: &Value| {
        steps.push(step);
        let dot = if name.is_empty() { "" } else { "." };
        collect(inner, steps, &format!("{name}{dot}{part}"), found);
        steps.pop();
    };
    match value {
        Value::Array(items) => {
            if let Some(at) = template {
                enter(Step::Item(at), "N", &items[at]);
            }
        }
        Value::Object(fields) => {
            for (at, (key, inner)) in fields.iter().enumerate() {
                // The texts of the host are of many kinds.
                if template.is_none_or(|it| it == at) || name.ends_with("texts") {
                    enter(Step::Field(key.clone()), key, inner);
                }
            }
        }
        _ => {}
    }
}

fn is_map(steps: &[Step]) -> bool {
    let fields = |step: &Step| match step {
        Step::Field(key) => Some(key.clone()),
        Step::Item(_) => None,
    };
    let mut last = steps.iter().rev().map(fields);
    let (key, above) = (last.next().flatten(), last.next().flatten());
    // A cgroup has its files in a map.
    key.is_some_and(|key| MAPS.contains(&key.as_str())) || above.as_deref() == Some("cgroups")
}

/// Returns which of several texts has most of what the elements have in common.
fn nearest(texts: impl Iterator<Item = String>) -> usize {
    let score = |text: &str| FOCUS.iter().filter(|word| text.contains(**word)).count();
    let mut best = (0, 0);
    for (at, text) in texts.enumerate() {
        if score(&text) > best.1 {
            best = (at, score(&text));
        }
    }
    best.0
}

/// Returns a snapshot with two lists that have become long, which together have nearly as many bytes as there may be.
/// `accepts`: whether a snapshot can be read.
pub fn grown(
    snapshot: &Value,
    places: [&Place; 2],
    random: &mut Random,
    accepts: &dyn Fn(&Value) -> bool,
) -> Value {
    // Which names copies have of their own: all of them, or some.
    let all = random.percent(50);
    let own: Vec<&str> = FOCUS.iter().copied().filter(|_| all || random.percent(50)).collect();
    let mut grown = snapshot.clone();
    let room = LARGEST.saturating_sub(snapshot.to_string().len() + 1_000);
    let percent = *random.one(&[50, 50, 20, 80, 5, 95]);
    let shares = [room * percent / 100, room - room * percent / 100];
    // Elements are copied as they were before the other list grew.
    let templates = places.map(|place| {
        let is_lean = random.percent(70);
        template(snapshot, place, is_lean.then_some(accepts), random)
    });
    for ((place, (key, value)), share) in places.iter().zip(templates).zip(shares) {
        let at = follow(&mut grown, &place.steps).expect("the other list only has more elements");
        let mut left = share;
        for number in 0.. {
            let (key, value) = copy(&key, &value, &own, number);
            let size = value.to_string().len() + key.len() + 5;
            if size > left {
                break;
            }
            left -= size;
            add(at, key, value);
        }
    }
    grown
}

fn follow<'v>(value: &'v mut Value, steps: &[Step]) -> Option<&'v mut Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Field(key) => value.get_mut(key),
        Step::Item(at) => value.get_mut(at),
    })
}

fn add(list: &mut Value, key: String, value: Value) {
    match (list, value) {
        (Value::Array(items), value) => items.push(value),
        (Value::Object(fields), value) => drop(fields.insert(key, value)),
        (Value::String(text), Value::String(line)) => {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&line);
        }
        _ => {}
    }
}

/// Returns the element that is copied, with its key in a map. A lean one has only what it must have, and what it has in
/// common with others.
fn template(
    snapshot: &Value,
    place: &Place,
    lean: Option<&dyn Fn(&Value) -> bool>,
    random: &mut Random,
) -> (String, Value) {
    let mut whole = snapshot.clone();
    let list = follow(&mut whole, &place.steps).expect("it was found there");
    let (key, step) = match list {
        Value::Object(fields) => {
            let key = fields.keys().nth(place.template).expect("it was found there").clone();
            (key.clone(), Step::Field(key))
        }
        Value::String(text) => {
            let line = text.lines().nth(place.template).unwrap_or_default();
            return (String::new(), Value::String(line.to_owned()));
        }
        _ => (String::new(), Step::Item(place.template)),
    };
    let steps: Vec<Step> = place.steps.iter().cloned().chain([step]).collect();
    if let Some(accepts) = lean {
        strip(&mut whole, &steps, random, accepts);
    }
    (key, follow(&mut whole, &steps).expect("it was found there").take())
}

/// Removes the fields that need not be there, but for what names something else.
fn strip(whole: &mut Value, steps: &[Step], random: &mut Random, accepts: &dyn Fn(&Value) -> bool) {
    let Some(Value::Object(fields)) = follow(whole, steps) else { return };
    let keys: Vec<String> = fields.keys().cloned().collect();
    for key in keys {
        let fields = follow(whole, steps).and_then(Value::as_object_mut).expect("an object");
        let text = fields[&key].to_string();
        let names = FOCUS.iter().any(|word| text.contains(word) || key.contains(word));
        if names {
            let mut inner = steps.to_vec();
            inner.push(Step::Field(key));
            if matches!(follow(whole, &inner), Some(Value::Array(items)) if items.len() == 1) {
                inner.push(Step::Item(0));
            }
            strip(whole, &inner, random, accepts);
        } else if !random.percent(15) {
            let removed = fields.remove(&key).expect("it was there");
            if !accepts(whole) {
                let fields = follow(whole, steps).and_then(Value::as_object_mut);
                fields.expect("an object").insert(key, removed);
            }
        }
    }
}

/// Returns a copy with names of its own.
fn copy(key: &str, value: &Value, own: &[&str], number: usize) -> (String, Value) {
    let text = renamed(&value.to_string(), own, number);
    let mut copy: Value = serde_json::from_str(&text).expect("names are as plain as they were");
    let mut new_key = renamed(key, own, number);
    if new_key == key {
        let is_number = key.parse::<i64>().is_ok();
        new_key = if is_number { (number + 10).to_string() } else { format!("{key}-{number}") };
    }
    if copy == *value && key.is_empty() {
        distinguish(&mut copy, number);
    }
    (new_key, copy)
}

/// Replaces names by others that are as long, where they are numbers, or by longer ones.
fn renamed(text: &str, own: &[&str], number: usize) -> String {
    let mut text = text.to_owned();
    let mut later = Vec::new();
    for (at, word) in FOCUS.iter().enumerate() {
        if text.contains(word) {
            let mark = format!("\u{1}{at}\u{2}");
            text = text.replace(word, &mark);
            later.push((mark, *word));
        }
    }
    for (mark, word) in later {
        let new = match word {
            word if !own.contains(&word) => word.to_owned(),
            word if word.len() > 30 => format!("{}{number:06}", &word[..word.len() - 6]),
            "4001" => (10_000 + number).to_string(),
            word => format!("{word}-{number}"),
        };
        text = text.replace(&mark, &new);
    }
    text
}

/// Makes an element another one that has no name in common with others.
fn distinguish(value: &mut Value, number: usize) {
    match value {
        Value::String(text) => *text = format!("{text}-{number}"),
        Value::Number(_) => *value = (number + 10).into(),
        Value::Object(fields) => {
            let names = ["name", "id", "uid", "key", "type", "path", "unit", "resourceName"];
            let key = names.iter().find(|key| fields.get(**key).is_some_and(Value::is_string));
            match key {
                Some(key) => distinguish(&mut fields[*key], number),
                None => nested(fields, number),
            }
        }
        _ => {}
    }
}

fn nested(fields: &mut Map<String, Value>, number: usize) {
    if let Some(inner) = fields.values_mut().find(|it| it.is_object()) {
        distinguish(inner, number);
    }
}
