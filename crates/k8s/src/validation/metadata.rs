//! The name, the namespace and the UID.
//!
//! The forms of names (`k8s.io/apimachinery/pkg/util/validation/validation.go`).

use super::field::{FieldError, Path};
use crate::pod::ObjectMeta;
use crate::version::KubeletVersion;

/// A UID that names a cgroup and folders of the pod; the kubelet refuses it by ending itself
/// (`NewCgroupName` in `pkg/kubelet/cm/cgroup_manager_linux.go` panics on these characters).
const UID_CHARACTERS: &str = "must not contain '/' or '_': it becomes part of a path, and the \
     kubelet itself panics on it";
const UID_DOTS: &str = "must not be '.' or '..': it becomes part of a path";
const UID_CONTROL: &str = "must not contain control characters: it becomes part of a path";

pub(super) fn validate(metadata: &ObjectMeta, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let name = &metadata.name;
    if !name.is_empty() {
        if let Some(why) = dns1123_subdomain(name) {
            errors.push(path.child("name").invalid(name, why));
        }
    } else if metadata.generate_name.is_empty() {
        errors.push(path.child("name").required("name or generateName is required"));
    }
    // The suffix that the API server appends makes a trailing dash valid.
    let prefix = metadata.generate_name.strip_suffix('-').unwrap_or(&metadata.generate_name);
    if !metadata.generate_name.is_empty()
        && let Some(why) = dns1123_subdomain(prefix)
    {
        errors.push(path.child("generateName").invalid(&metadata.generate_name, why));
    }
    if !metadata.namespace.is_empty()
        && let Some(why) = dns1123_label(&metadata.namespace)
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

const LABEL_TEXT: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric \
     characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or \
     '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_TEXT: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
     alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character \
     (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED_TEXT: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', \
     and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
     '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const QUALIFIED_SHAPE: &str = "a qualified name must consist of alphanumeric characters, '-', '_' \
     or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  \
     or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an \
     optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";

const LABEL_VALUE_TEXT: &str = "a valid label must be an empty string or consist of alphanumeric \
     characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
     'MyValue',  or 'my_value',  or '12345', regex used for validation is \
     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const MAX_LABEL: usize = 63;
const MAX_SUBDOMAIN: usize = 253;

/// Returns why a text is no DNS label.
pub(super) fn dns1123_label(text: &str) -> Option<String> {
    if text.len() > MAX_LABEL {
        return Some(too_long(MAX_LABEL, KubeletVersion::ASSUMED));
    }
    (!is_label(text)).then(|| LABEL_TEXT.to_owned())
}

/// Returns why a text is no DNS subdomain.
pub(super) fn dns1123_subdomain(text: &str) -> Option<String> {
    if text.len() > MAX_SUBDOMAIN {
        return Some(too_long(MAX_SUBDOMAIN, KubeletVersion::ASSUMED));
    }
    (!text.split('.').all(is_label)).then(|| SUBDOMAIN_TEXT.to_owned())
}

/// Returns the errors of a qualified name, such as `example.com/gpu`.
pub(super) fn qualified_name(text: &str) -> Option<String> {
    let name = match text.split_once('/') {
        None => text,
        Some((_, name)) if name.contains('/') => return Some(QUALIFIED_SHAPE.to_owned()),
        Some(("", _)) => return Some("prefix part must be non-empty".to_owned()),
        Some((prefix, name)) => match dns1123_subdomain(prefix) {
            Some(why) => return Some(format!("prefix part {why}")),
            None => name,
        },
    };
    if name.is_empty() {
        Some("name part must be non-empty".to_owned())
    } else if name.len() > MAX_LABEL {
        Some(format!("name part {}", too_long(MAX_LABEL, KubeletVersion::ASSUMED)))
    } else {
        (!is_name_part(name)).then(|| QUALIFIED_TEXT.to_owned())
    }
}

/// Returns true if a text can be the value of a label (`IsValidLabelValue`); it may be empty.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || (text.len() <= MAX_LABEL && is_name_part(text))
}

/// Returns all errors of a qualified name, in the words of Kubernetes (`IsQualifiedName`).
pub fn qualified_name_errors(text: &str, version: KubeletVersion) -> Vec<String> {
    let (prefix, name) = match text.split_once('/') {
        None => (None, text),
        Some((_, name)) if name.contains('/') => return vec![QUALIFIED_SHAPE.to_owned()],
        Some((prefix, name)) => (Some(prefix), name),
    };
    let mut errors = Vec::new();
    match prefix {
        Some("") => errors.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            if prefix.len() > MAX_SUBDOMAIN {
                errors.push(format!("prefix part {}", too_long(MAX_SUBDOMAIN, version)));
            }
            if !prefix.split('.').all(is_label) {
                errors.push(format!("prefix part {SUBDOMAIN_TEXT}"));
            }
        }
        None => {}
    }
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > MAX_LABEL {
        errors.push(format!("name part {}", too_long(MAX_LABEL, version)));
    }
    if !is_name_part(name) {
        errors.push(QUALIFIED_TEXT.to_owned());
    }
    errors
}

/// Returns all errors of a label's value, in the words of Kubernetes (`IsValidLabelValue`).
pub fn label_value_errors(text: &str, version: KubeletVersion) -> Vec<String> {
    let long = (text.len() > MAX_LABEL).then(|| too_long(MAX_LABEL, version));
    let form = (!text.is_empty() && !is_name_part(text)).then(|| LABEL_VALUE_TEXT.to_owned());
    long.into_iter().chain(form).collect()
}

fn is_name_part(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    is_made_of(text, |b| b.is_ascii_alphanumeric(), inner)
}

fn is_label(text: &str) -> bool {
    let outer = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    is_made_of(text, outer, |b| outer(b) || b == b'-')
}

fn is_made_of(text: &str, outer: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(&first), Some(&last)) if outer(first) && outer(last))
        && bytes.iter().all(|&b| inner(b))
}

/// Returns the error about a length (`MaxLenError` in `pkg/util/validation/validation.go`, since 1.35
/// `pkg/api/validate/content/errors.go`, of apimachinery).
fn too_long(limit: usize, version: KubeletVersion) -> String {
    let unit = if version.counts_bytes_of_names() { "bytes" } else { "characters" };
    format!("must be no more than {limit} {unit}")
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

#[cfg(test)]
mod names_tests {
    use super::*;

    #[test]
    fn knows_the_forms() {
        let long = "a".repeat(64);
        let longer = format!("{}.{}.{}.{}.a", "a".repeat(63), "b".repeat(63), "c".repeat(63), long);
        // Text, is a label, is a subdomain, is a qualified name.
        let rows = [
            ("a", true, true, true),
            ("a-1", true, true, true),
            ("", false, false, false),
            ("A", false, false, true),
            ("-a", false, false, false),
            ("a-", false, false, false),
            ("a.b", false, true, true),
            ("a..b", false, false, true),
            ("a_b", false, false, true),
            ("ä", false, false, false),
            ("example.com/gpu", false, false, true),
            ("example.com/", false, false, false),
            ("/gpu", false, false, false),
            ("a/b/c", false, false, false),
            ("A.com/gpu", false, false, false),
            (&long, false, true, false),
            (&longer, false, false, false),
        ];
        for (text, label, subdomain, qualified) in rows {
            assert_eq!(dns1123_label(text).is_none(), label, "label {text}");
            assert_eq!(dns1123_subdomain(text).is_none(), subdomain, "subdomain {text}");
            assert_eq!(qualified_name(text).is_none(), qualified, "qualified {text}");
        }
    }
}
