//! Distinguishes a pod that a run created from a pod of another client with the same name or labels.
//!
//! Other clients can read the labels, the name and the specification of a pod, and create pods with them. A pod therefore
//! carries a secret of its own, which no client can know before the API server has the pod. A pod that is found by its name
//! counts as the run's only if it has that secret and all that the run sent; mutations of the API server that the run can
//! recognise are its defaults. (The creation itself answers with the UID, so that the pod is not searched for.)

use kq_k8s::quantity::Quantity;
use serde::Deserialize;
use serde_json::Value;

/// The annotation that has the secret.
pub(super) const SECRET_ANNOTATION: &str = "kq.fleet/secret";

/// Fields that older API servers do not know, and drop.
const DROPPED: [&str; 2] = ["appArmorProfile", "recursiveReadOnly"];

/// Fields of a pod that change what runs in it. A run sends none of them, and no API server sets them by default.
const UNSENT_OF_POD: [&str; 4] =
    ["ephemeralContainers", "hostAliases", "initContainers", "resourceClaims"];

/// The same of a container.
const UNSENT_OF_CONTAINER: [&str; 6] =
    ["args", "env", "envFrom", "lifecycle", "volumeDevices", "workingDir"];

#[derive(Deserialize)]
struct Pod {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    uid: String,
}

/// Whether a pod that was found by its name is the run's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundPod {
    /// It is the pod that was sent.
    Own { uid: String },
    /// It has the secret, and another specification: a webhook changed it, or another client copied it.
    Changed {
        /// The path of the first field that differs.
        field: String,
    },
    /// Another client created it.
    Foreign,
}

impl FoundPod {
    /// Compares a Pod object of the API server with the one that was sent.
    pub fn of(object: &[u8], sent: &Value) -> Self {
        let Ok(found) = serde_json::from_slice::<Value>(object) else { return Self::Foreign };
        let uid = found.pointer("/metadata/uid").and_then(Value::as_str);
        match (uid, secret(&found), secret(sent)) {
            (Some(uid), Some(found_secret), Some(sent_secret)) if found_secret == sent_secret => {
                match difference(&found, sent) {
                    None => Self::Own { uid: uid.to_owned() },
                    Some(field) => Self::Changed { field },
                }
            }
            _ => Self::Foreign,
        }
    }
}

/// Returns the UID of a Pod object.
pub fn uid_of(object: &[u8]) -> Option<String> {
    let pod: Pod = serde_json::from_slice(object).ok()?;
    Some(pod.metadata.uid)
}

/// Returns the UID of a Pod object that has this secret; `None`: another client created it.
pub fn uid_with_secret(object: &[u8], expected: &str) -> Option<String> {
    let pod: Value = serde_json::from_slice(object).ok()?;
    let is_own = secret(&pod).is_some_and(|found| !expected.is_empty() && found == expected);
    is_own.then(|| uid_of(object)).flatten()
}

fn secret(pod: &Value) -> Option<&str> {
    pod.get("metadata")?.get("annotations")?.get(SECRET_ANNOTATION)?.as_str()
}

/// Returns the path of the first field in which a pod differs from the one that was sent.
fn difference(found: &Value, sent: &Value) -> Option<String> {
    let mut path = Vec::new();
    if lacks(found, sent, &mut path) {
        return Some(path.join("."));
    }
    let added = |at: &str, fields: &[&str]| {
        let object = found.pointer(at)?;
        let is_set = |field: &&&str| object.get(**field).is_some_and(|value| !is_empty(value));
        fields.iter().find(is_set).map(|field| (*field).to_owned())
    };
    added("/spec", &UNSENT_OF_POD).or_else(|| added("/spec/containers/0", &UNSENT_OF_CONTAINER))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Returns true if something that was sent is not there, with the path to it.
fn lacks(found: &Value, sent: &Value, path: &mut Vec<String>) -> bool {
    let is_amount = path.iter().any(|field| field == "requests");
    match (found, sent) {
        (Value::Object(found), Value::Object(sent)) => sent.iter().any(|(field, sent)| {
            let found = found.get(field);
            if found.is_none() && DROPPED.contains(&field.as_str()) {
                return false;
            }
            path.push(field.clone());
            let differs = lacks(found.unwrap_or(&Value::Null), sent, path);
            if !differs {
                path.pop();
            }
            differs
        }),
        (Value::Array(found), Value::Array(sent)) => {
            found.len() != sent.len()
                || found.iter().zip(sent).any(|(found, sent)| lacks(found, sent, path))
        }
        // The API server writes amounts in their shortest form.
        (Value::String(found), Value::String(sent)) if is_amount => {
            match (found.parse::<Quantity>(), sent.parse::<Quantity>()) {
                (Ok(found), Ok(sent)) => found.compare(&sent).is_ne(),
                _ => true,
            }
        }
        (found, sent) => found != sent,
    }
}

#[cfg(test)]
mod tests {
    use super::super::pod::{NodeCommand, PodSettings};
    use super::*;
    use serde_json::json;

    fn sent() -> Value {
        let settings = PodSettings {
            image: "kq:1".to_owned(),
            requests: [("cpu".to_owned(), "0.01".to_owned())].into(),
            run: "r".to_owned(),
            ..PodSettings::default()
        };
        let words = ["doctor".to_owned()];
        settings.pod("name", "secret-of-the-pod", "n", &NodeCommand::reading(&words))
    }

    /// As an API server keeps it: with defaults, and without fields that an old one does not know.
    fn kept() -> Value {
        let mut kept = sent();
        kept["metadata"]["uid"] = "u".into();
        kept["spec"]["dnsPolicy"] = "ClusterFirst".into();
        kept["spec"]["priority"] = 0.into();
        let container = &mut kept["spec"]["containers"][0];
        container["imagePullPolicy"] = "IfNotPresent".into();
        container["resources"]["requests"]["cpu"] = "10m".into();
        let context = container["securityContext"].as_object_mut().expect("an object");
        context.remove("appArmorProfile").expect("it was sent");
        kept
    }

    #[test]
    fn defaults_of_the_api_server_are_no_difference() {
        let (kept, sent) = (kept().to_string(), sent());
        assert_eq!(FoundPod::of(kept.as_bytes(), &sent), FoundPod::Own { uid: "u".to_owned() });
        assert_eq!(uid_with_secret(kept.as_bytes(), "secret-of-the-pod").as_deref(), Some("u"));
        for other in ["", "secret-of-another"] {
            assert_eq!(uid_with_secret(kept.as_bytes(), other), None, "{other:?}");
        }
        assert_eq!(uid_of(b"{\"metadata\":{\"uid\":\"u\"}}").as_deref(), Some("u"));
        assert_eq!(uid_of(b"[]"), None);
    }

    #[test]
    fn a_pod_of_another_client_is_recognised_by_each_field() {
        let changed = |field: &str| FoundPod::Changed { field: field.to_owned() };
        let container = "/spec/containers/0";
        for (at, value, expected) in [
            ("/metadata/annotations/kq.fleet~1secret", json!("r"), FoundPod::Foreign),
            ("/metadata/annotations", Value::Null, FoundPod::Foreign),
            ("/metadata/labels/kq.fleet~1run", json!("s"), changed("metadata.labels.kq.fleet/run")),
            ("/spec/nodeName", json!("m"), changed("spec.nodeName")),
            ("/spec/containers/0/image", json!("kq:2"), changed("spec.containers.image")),
            ("/spec/containers/0/command/4", json!("gc"), changed("spec.containers.command")),
            (
                "/spec/containers/0/volumeMounts",
                json!([{}, {}]),
                changed("spec.containers.volumeMounts"),
            ),
            ("/spec/volumes/0/hostPath/path", json!("/tmp"), changed("spec.volumes.hostPath.path")),
            (
                "/spec/containers/0/resources/requests/cpu",
                json!("20m"),
                changed("spec.containers.resources.requests.cpu"),
            ),
        ] {
            let mut found = kept();
            *found.pointer_mut(at).expect(at) = value;
            assert_eq!(FoundPod::of(found.to_string().as_bytes(), &sent()), expected, "{at}");
        }
        for (at, field, value) in [
            ("/spec", "initContainers", json!([{"name": "i"}])),
            (container, "args", json!(["--help"])),
            (container, "env", json!([{"name": "LD_PRELOAD", "value": "/host/tmp/x"}])),
        ] {
            let mut found = kept();
            found.pointer_mut(at).expect(at)[field] = value;
            assert_eq!(FoundPod::of(found.to_string().as_bytes(), &sent()), changed(field));
        }
        assert_eq!(FoundPod::of(b"no JSON", &sent()), FoundPod::Foreign);
    }
}
