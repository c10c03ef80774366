//! The name, the namespace and the UID.

use super::field::{FieldError, Path};
use super::names;
use crate::k8s::pod::ObjectMeta;

/// A UID that names a cgroup and folders of the pod; the kubelet refuses it by ending itself
/// (`NewCgroupName` in `pkg/kubelet/cm/cgroup_manager_linux.go` panics on these characters).
const UID_CHARACTERS: &str = "must not contain '/' or '_': it becomes part of a path, and the \
     kubelet itself panics on it";
const UID_DOTS: &str = "must not be '.' or '..': it becomes part of a path";
const UID_CONTROL: &str = "must not contain control characters: it becomes part of a path";

pub(super) fn validate(metadata: &ObjectMeta, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let name = &metadata.name;
    if !name.is_empty() {
        if let Some(why) = names::dns1123_subdomain(name) {
            errors.push(path.child("name").invalid(name, why));
        }
    } else if metadata.generate_name.is_empty() {
        errors.push(path.child("name").required("name or generateName is required"));
    }
    // What the API server appends makes a trailing dash right.
    let prefix = metadata.generate_name.strip_suffix('-').unwrap_or(&metadata.generate_name);
    if !metadata.generate_name.is_empty()
        && let Some(why) = names::dns1123_subdomain(prefix)
    {
        errors.push(path.child("generateName").invalid(&metadata.generate_name, why));
    }
    if !metadata.namespace.is_empty()
        && let Some(why) = names::dns1123_label(&metadata.namespace)
    {
        errors.push(path.child("namespace").invalid(&metadata.namespace, why));
    }
    validate_uid(&metadata.uid, path.child("uid"), errors);
    let annotations = path.child("annotations");
    for (key, uid) in [
        ("kubernetes.io/config.hash", &metadata.annotations.config_hash),
        ("kubernetes.io/config.mirror", &metadata.annotations.config_mirror),
    ] {
        if let Some(uid) = uid {
            validate_uid(uid, annotations.key(key), errors);
        }
    }
}

fn validate_uid(uid: &str, path: Path<'_>, errors: &mut Vec<FieldError>) {
    let why = if uid.contains(['/', '_']) {
        UID_CHARACTERS
    } else if matches!(uid, "." | "..") {
        UID_DOTS
    } else if uid.contains(|c: char| c.is_control()) {
        UID_CONTROL
    } else {
        return;
    };
    errors.push(path.invalid(uid, why));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_identities() {
        // Name, metadata, the start of each error.
        let rows: [(&str, &str, &[&str]); 11] = [
            ("fine", r#"{"name":"a.b","namespace":"n","uid":"1-2"}"#, &[]),
            ("no uid", r#"{"name":"a"}"#, &[]),
            ("generated", r#"{"generateName":"a-"}"#, &[]),
            ("no name", "{}", &["metadata.name: Required value: name or generateName is required"]),
            ("capital", r#"{"name":"A"}"#, &[r#"metadata.name: Invalid value: "A": a lowercase"#]),
            ("namespace", r#"{"name":"a","namespace":"a.b"}"#, &["metadata.namespace: Invalid"]),
            (
                "uid with a slash",
                r#"{"name":"a","uid":"../x"}"#,
                &[r#"metadata.uid: Invalid value: "../x": must not contain '/' or '_'"#],
            ),
            ("uid with an underscore", r#"{"name":"a","uid":"a_b"}"#, &["metadata.uid: Invalid"]),
            ("uid that is a folder", r#"{"name":"a","uid":".."}"#, &["metadata.uid: Invalid"]),
            ("uid with NUL", r#"{"name":"a","uid":"a\u0000"}"#, &["metadata.uid: Invalid"]),
            (
                "hash that becomes a uid",
                r#"{"name":"a","annotations":{"kubernetes.io/config.hash":"a/b"}}"#,
                &["metadata.annotations[kubernetes.io/config.hash]: Invalid"],
            ),
        ];
        for (name, json, expected) in rows {
            let mut errors = Vec::new();
            validate(&serde_json::from_str(json).unwrap(), &Path::Root("metadata"), &mut errors);
            let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(texts.len(), expected.len(), "{name}: {texts:?}");
            for (text, start) in texts.iter().zip(expected) {
                assert!(text.starts_with(start), "{name}: {text}");
            }
        }
    }
}
