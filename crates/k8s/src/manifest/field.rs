//! The field of an object that did not fit, and its value.

use super::problem::{ProblemKind, shortened};
use crate::pod::FromMapping;
use crate::yaml::Step;
use serde::Deserialize;
use serde_path_to_error::{Path, Segment};
use std::fmt;

/// The way to a field from the document's item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath(pub(super) Vec<Step>);

impl FieldPath {
    /// Returns the path of a field that is named by its keys.
    pub(super) fn of_keys(keys: &str) -> Self {
        let key = |key: &str| Step::Key(key.to_owned());
        Self(keys.split('.').map(key).collect())
    }

    /// Returns the path that begins with a prefix.
    pub(super) fn after(self, prefix: &[Step]) -> Self {
        Self(prefix.iter().cloned().chain(self.0).collect())
    }

    fn below(prefix: &[Step], path: &Path) -> Self {
        let step = |segment: &Segment| match segment {
            Segment::Seq { index } => Step::Index(*index),
            Segment::Map { key } => Step::Key(key.clone()),
            Segment::Enum { variant } => Step::Key(variant.clone()),
            Segment::Unknown => Step::Key("?".to_owned()),
        };
        Self(prefix.iter().cloned().chain(path.iter().map(step)).collect())
    }
}

impl fmt::Display for FieldPath {
    /// Prints as Kubernetes does, with keys that are no plain words in brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("object");
        }
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if !is_plain(key) => {
                    write!(f, "[{}]", shortened(key).escape_debug())?;
                }
                Step::Key(key) if at == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'?'))
}

/// Reads a typed object from well-formed JSON text. Paths begin with the prefix.
///
/// On failure the text is read again, this time for the place: that is slow and rare.
pub(super) fn read<'a, T: Deserialize<'a>>(
    text: &'a str,
    prefix: &[Step],
) -> Result<T, ProblemKind> {
    if let Ok(FromMapping(object)) = serde_json::from_str(text) {
        return Ok(object);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, FromMapping<T>>(&mut deserializer) {
        Err(error) => Err(field(text, prefix, error.path(), error.inner())),
        Ok(FromMapping(object)) => Ok(object),
    }
}

fn field(text: &str, prefix: &[Step], path: &Path, error: &serde_json::Error) -> ProblemKind {
    let whole = error.to_string();
    // The position is in the text of one object, not in the file.
    let message = whole.rsplit_once(" at line ").map_or(whole.as_str(), |(message, _)| message);
    ProblemKind::Field {
        position: None,
        path: FieldPath::below(prefix, path),
        value: value(text, path),
        message: shortened_message(message),
    }
}

/// serde repeats the offending text, which may be long.
fn shortened_message(message: &str) -> String {
    const SHOWN: usize = 300;
    match message.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &message[..end]),
        None => message.to_owned(),
    }
}

/// Finds the value at a path; a list or mapping is not shown.
fn value(text: &str, path: &Path) -> Option<String> {
    let root: serde_json::Value = serde_json::from_str(text).ok()?;
    let mut at = &root;
    for segment in path {
        at = match segment {
            Segment::Seq { index } => at.get(index)?,
            Segment::Map { key } => at.get(key)?,
            Segment::Enum { .. } | Segment::Unknown => return None,
        };
    }
    match at {
        serde_json::Value::Array(_) => Some("a list".to_owned()),
        serde_json::Value::Object(_) => Some("a mapping".to_owned()),
        serde_json::Value::String(text) => Some(format!("{:?}", shortened(text))),
        scalar => Some(shortened(&scalar.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::Pod;

    #[test]
    fn names_the_field() {
        let long = format!(r#"{{"metadata":{{"name":["{}"]}}}}"#, "x".repeat(1000));
        let rows = [
            (
                "quantity",
                r#"{"spec":{"containers":[{},{"resources":{"requests":{"cpu":"2 Gi"}}}]}}"#,
                r#"spec.containers[1].resources.requests.cpu: "2 Gi": quantities must match"#,
            ),
            (
                "quantity of a device",
                r#"{"spec":{"overhead":{"example.com/gpu":true}}}"#,
                "spec.overhead[example.com/gpu]: true: quantities must match",
            ),
            (
                "number for text",
                r#"{"metadata":{"name":12}}"#,
                "metadata.name: 12: invalid type: integer `12`, expected a string",
            ),
            (
                "text for a list",
                r#"{"spec":{"containers":"a"}}"#,
                r#"spec.containers: "a": invalid type: string "a", expected a list"#,
            ),
            (
                "annotation",
                r#"{"metadata":{"annotations":{"foo":12}}}"#,
                "metadata.annotations.foo: 12: invalid type: integer `12`, expected a string",
            ),
            (
                "label",
                r#"{"metadata":{"labels":{"example.com/on":true}}}"#,
                "metadata.labels[example.com/on]: true: invalid type: boolean `true`, expected",
            ),
            (
                "resources by position",
                r#"{"spec":{"containers":[{"resources":[]}]}}"#,
                "spec.containers[0].resources: a list: invalid type: sequence, expected a mapping",
            ),
            (
                "container by position",
                r#"{"spec":{"initContainers":[{},["c"]]}}"#,
                "spec.initContainers[1]: a list: invalid type: sequence, expected a mapping",
            ),
            (
                "object by position",
                "[]",
                "object: a list: invalid type: sequence, expected a mapping",
            ),
            (
                "too large",
                r#"{"spec":{"priority":3000000000}}"#,
                "spec.priority: 3000000000: invalid value: integer `3000000000`, expected i32",
            ),
            ("list for text", &long, "metadata.name: a list: invalid type: sequence"),
        ];
        for (name, text, start) in rows {
            let problem = read::<Pod>(text, &[]).unwrap_err().to_string();
            assert!(problem.starts_with(start), "{name}: {problem}");
            assert!(problem.len() < 400, "{name}");
        }
    }
}
