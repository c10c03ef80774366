//! One YAML document into a JSON value, within bounds.
//!
//! YAML values as JSON: visitors that build values, and text for keys.

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{MessageFormatter, Options, UserMessageFormatter};
use std::cell::Cell;
use std::fmt;

/// The largest YAML text that is read.
pub const MAX_BYTES: usize = 64 << 20;

/// The deepest nesting that is read; serde_json stops a little above, at 128.
pub const MAX_DEPTH: usize = 100;

/// How many nodes aliases may add to a document. An alias costs the reader as much as the text it
/// stands for, so anchors within anchors would otherwise grow exponentially.
const MAX_ALIASED_NODES: usize = 200_000;

/// How many bytes the strings of a document may have beyond the length of its text: one long string
/// and many aliases for it stay within [`MAX_ALIASED_NODES`].
const MAX_ALIASED_BYTES: usize = 16 << 20;

/// The content of one document.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The value; null for an empty document.
    pub value: Value,
    /// The first duplicate key in one mapping, if any; its last value counts.
    pub duplicate: Option<DuplicateKey>,
}

/// A key that came twice in one mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The key, if the reader could determine it.
    pub key: Option<String>,
    /// The line of the second one within the text, from 1.
    pub line: u64,
    /// Its column, from 1.
    pub column: u64,
}

/// Why a text is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// The text is longer than [`MAX_BYTES`].
    #[error("{size} bytes of YAML, more than the limit of {MAX_BYTES}")]
    TooLarge {
        /// The length of the text.
        size: usize,
    },
    /// The text is not YAML, or YAML that means nothing to Kubernetes.
    #[error("{message}")]
    Syntax {
        /// The line within the text, from 1; 0 when unknown.
        line: u64,
        /// The column, from 1; 0 when unknown.
        column: u64,
        /// What is wrong.
        message: String,
    },
}

/// Reads the one document of a text.
///
/// Scalars are those of YAML 1.1, as in Kubernetes: `yes` is a boolean, `0644` is octal. Floats that
/// are whole become integers, as they do on Kubernetes' way through JSON.
pub fn read(text: &str) -> Result<Read, YamlError> {
    if text.len() > MAX_BYTES {
        return Err(YamlError::TooLarge { size: text.len() });
    }
    match read_with(text, DuplicateKeyPolicy::Error) {
        Ok(value) => Ok(Read { value, duplicate: None }),
        Err(error) => match error.without_snippet() {
            serde_saphyr::Error::DuplicateMappingKey { key, .. } => {
                let (line, column) = position(&error);
                let duplicate = DuplicateKey { key: key.clone(), line, column };
                let value = read_with(text, DuplicateKeyPolicy::LastWins).map_err(refused)?;
                Ok(Read { value, duplicate: Some(duplicate) })
            }
            _ => Err(refused(error)),
        },
    }
}

fn read_with(text: &str, duplicates: DuplicateKeyPolicy) -> Result<Value, serde_saphyr::Error> {
    let bytes_left = Cell::new(text.len().saturating_add(MAX_ALIASED_BYTES));
    let seed = Node { bytes_left: &bytes_left };
    serde_saphyr::with_deserializer_from_str_with_options(text, options(duplicates), |de| {
        seed.deserialize(de)
    })
}

pub(super) fn options(duplicates: DuplicateKeyPolicy) -> Options {
    // MAX_BYTES bounds the counts that grow with the text; these bound what grows faster.
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: usize::MAX,
            max_nodes: usize::MAX,
            max_total_scalar_bytes: usize::MAX,
            max_total_comment_bytes: usize::MAX,
            max_depth: MAX_DEPTH,
            max_documents: 1,
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_ALIASED_NODES,
        },
        duplicate_keys: duplicates,
        emit_comments: false,
        legacy_octal_numbers: true,
        strict_booleans: false,
        with_snippet: false,
    }
}

fn refused(error: serde_saphyr::Error) -> YamlError {
    let (line, column) = position(&error);
    let message = UserMessageFormatter.format_message(error.without_snippet());
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    YamlError::Syntax { line, column, message }
}

fn position(error: &serde_saphyr::Error) -> (u64, u64) {
    error.location().map_or((0, 0), |at| (at.line(), at.column()))
}

/// Builds a value and counts the cost of its strings.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    pub(super) bytes_left: &'a Cell<usize>,
}

impl Node<'_> {
    fn spend<E: serde::de::Error>(self, bytes: usize) -> Result<(), E> {
        match self.bytes_left.get().checked_sub(bytes) {
            Some(left) => {
                self.bytes_left.set(left);
                Ok(())
            }
            None => Err(E::custom("aliases expand to too much text")),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value that JSON can hold")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        number(value).map(Value::Number).ok_or_else(|| not_finite(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.spend(value.len())?;
        Ok(Value::from(value))
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<Value, E> {
        self.spend(value.len())?;
        Ok(Value::from(value))
    }

    fn visit_bytes<E: serde::de::Error>(self, _: &[u8]) -> Result<Value, E> {
        Err(E::custom("binary data that is not UTF-8 text"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Map::new();
        while let Some(key) = map.next_key_seed(Key)? {
            self.spend(key.len())?;
            let value = map.next_value_seed(self)?;
            entries.insert(key, value);
        }
        Ok(Value::Object(entries))
    }
}

/// Reads a key, which must be text in JSON; `sigs.k8s.io/yaml` turns the same scalars into text.
pub(super) struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key that is text")
    }

    fn visit_bool<E>(self, value: bool) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_i64<E>(self, value: i64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_u64<E>(self, value: u64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<String, E> {
        number(value).map(|number| number.to_string()).ok_or_else(|| not_finite(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<String, E> {
        Ok(value.to_owned())
    }

    fn visit_string<E>(self, value: String) -> Result<String, E> {
        Ok(value)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<String, E> {
        Err(E::custom("null as a key"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<String, A::Error> {
        Err(A::Error::custom("a list as a key"))
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<String, A::Error> {
        Err(A::Error::custom("a mapping as a key"))
    }
}

fn number(value: f64) -> Option<Number> {
    // Both bounds are exact as floats, and the casts between them lose nothing.
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    if value.fract() == 0.0 && (-TWO_63..TWO_63).contains(&value) {
        return Some(Number::from(value as i64));
    }
    Number::from_f64(value)
}

fn not_finite<E: serde::de::Error>(value: f64) -> E {
    E::custom(format_args!("{value} has no place in JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_scalars_as_kubernetes_does() {
        let rows = [
            ("text", "a: b", json!({"a": "b"})),
            ("legacy octal", "a: 0644", json!({"a": 420})),
            ("boolean of YAML 1.1", "a: yes", json!({"a": true})),
            ("quoted boolean", "a: 'yes'", json!({"a": "yes"})),
            ("float", "a: 0.1", json!({"a": 0.1})),
            ("whole float", "a: 1e3", json!({"a": 1000})),
            ("negative whole float", "a: -2.0", json!({"a": -2})),
            ("large float", "a: 1e30", json!({"a": 1e30})),
            ("hexadecimal", "a: 0x10", json!({"a": 16})),
            ("underscores", "a: 1_000", json!({"a": 1000})),
            ("null", "a: ~", json!({"a": null})),
            ("timestamp is text", "a: 2001-01-01", json!({"a": "2001-01-01"})),
            ("number as a key", "1: b", json!({"1": "b"})),
            ("boolean as a key", "yes: b", json!({"true": "b"})),
            ("alias", "a: &x {b: 1}\nc: *x", json!({"a": {"b": 1}, "c": {"b": 1}})),
            (
                "merge key",
                "a: &x {b: 1, c: 1}\nd:\n  <<: *x\n  c: 2",
                json!({"a": {"b": 1, "c": 1}, "d": {"b": 1, "c": 2}}),
            ),
            ("block text", "a: |\n  b\n  c\n", json!({"a": "b\nc\n"})),
            ("binary text", "a: !!binary aGk=", json!({"a": "hi"})),
            ("flow mapping", "{a: b, c: [1, 2]}", json!({"a": "b", "c": [1, 2]})),
            ("empty", "", json!(null)),
            ("opened", "---\na: 1\n", json!({"a": 1})),
            ("crlf", "a: 1\r\nb: 2\r\n", json!({"a": 1, "b": 2})),
        ];
        for (name, text, expected) in rows {
            let read = read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(read.value, expected, "{name}");
            assert_eq!(read.duplicate, None, "{name}");
        }
    }

    #[test]
    fn floats_survive_as_json_text() {
        for text in
            ["1.1111111111111112e+24", "01111111111111111111111111.8", "0.30000000000000004"]
        {
            let json = read(text).unwrap().value.to_string();
            let again: Value = serde_json::from_str(&json).unwrap();
            assert_eq!(again.to_string(), json, "{text}");
        }
    }

    #[test]
    fn takes_the_last_of_duplicate_keys() {
        let read = read("a: 1\nb: 2\na: 3\n").unwrap();
        assert_eq!(read.value, json!({"a": 3, "b": 2}));
        let key = Some("a".to_owned());
        assert_eq!(read.duplicate, Some(DuplicateKey { key, line: 3, column: 1 }));
    }

    #[test]
    fn says_where_it_stopped() {
        // Name, text, line, a part of the message.
        let rows = [
            ("tab", "a:\n\tb: 1\n", 2, ""),
            ("open flow", "a: [1,\n", 0, ""),
            ("bad indentation", "a: 1\n  b: 2\n", 2, ""),
            ("unknown alias", "a: *b\n", 1, ""),
            ("not a number", "a: .nan\n", 1, ""),
            ("infinity", "a: 1\nb: .inf\n", 2, ""),
            ("binary that is no text", "a: !!binary /w==\n", 1, ""),
            ("complex key", "? [a]\n: b\n", 1, "a list as a key"),
            ("null key", "~: b\n", 1, "null as a key"),
            ("second document", "a: 1\n---\nb: 1\n", 0, ""),
        ];
        for (name, text, expected_line, part) in rows {
            match read(text) {
                Err(YamlError::Syntax { line, message, .. }) => {
                    assert!(message.contains(part) && !message.is_empty(), "{name}: {message}");
                    assert!(expected_line == 0 || line == expected_line, "{name}: {line}");
                }
                other => panic!("{name}: {other:?}"),
            }
        }
    }

    #[test]
    fn refuses_what_grows() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..30 {
            let alias = format!("*a{}, ", level - 1).repeat(10);
            bomb.push_str(&format!("a{level}: &a{level} [{alias}]\n"));
        }
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(1000));
        let deep_flow = "[".repeat(100_000);
        let deep_block: String = (0..2000).map(|n| format!("{}a:\n", " ".repeat(n))).collect();
        let rows = [
            ("anchors within anchors", bomb),
            ("one long anchor", long),
            ("deep flow", deep_flow),
            ("deep block", deep_block),
            ("deep list on one line", "- ".repeat(100_000)),
        ];
        for (name, text) in rows {
            assert!(matches!(read(&text), Err(YamlError::Syntax { .. })), "{name}");
        }
        let size = MAX_BYTES + 1;
        assert_eq!(read(&" ".repeat(size)), Err(YamlError::TooLarge { size }));
    }
}
