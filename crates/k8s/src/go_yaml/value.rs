//! Nodes to JSON (the decoder of `decode.go`, and `convertToJSONableObject` of `sigs.k8s.io/yaml`).

use super::parse::{Node, NodeKind, Nodes};
use super::resolve::{BINARY, MERGE, Scalar, resolve};
use super::{Converted, GoYamlError};
use crate::go_json::Tree;
use crate::go_text::{characters, float, float32, quote};
use base64::Engine as _;
use std::collections::{BTreeMap, BTreeSet};

/// How many bytes of text aliases may add.
const MAX_ALIASED_BYTES: usize = 16 << 20;
/// How many nodes are made, aliases included.
const MAX_NODES: usize = 4_000_000;
/// How many keys that come twice are reported.
const MAX_DUPLICATES: usize = 1000;

/// A value of YAML.
#[derive(Clone, Debug)]
enum Value {
    Scalar(Scalar),
    List(Vec<Value>),
    Map(BTreeMap<Key, Value>),
}

/// A key: two of different types are two, even where JSON has one text for them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(u64),
    Text(String),
}

struct Decoder<'a> {
    nodes: &'a [Node],
    duplicates: Vec<String>,
    /// The aliases that are being followed.
    open: BTreeSet<usize>,
    count: usize,
    aliased: usize,
    bytes_left: usize,
}

/// Turns nodes into JSON.
pub(super) fn convert(nodes: &Nodes, size: usize) -> Result<Converted, GoYamlError> {
    let mut decoder = Decoder {
        nodes: &nodes.nodes,
        duplicates: Vec::new(),
        open: BTreeSet::new(),
        // The document counts as a node.
        count: 1,
        aliased: 0,
        bytes_left: size.saturating_add(MAX_ALIASED_BYTES),
    };
    let value = match nodes.root {
        Some(root) => decoder.value(root)?,
        None => Value::Scalar(Scalar::Null),
    };
    Ok(Converted { tree: tree(value)?, duplicates: decoder.duplicates })
}

fn failed<T>(problem: impl Into<String>) -> Result<T, GoYamlError> {
    Err(GoYamlError::Yaml(problem.into()))
}

impl<'a> Decoder<'a> {
    fn node(&self, at: usize) -> Result<&'a Node, GoYamlError> {
        self.nodes.get(at).ok_or(GoYamlError::Bound("a node that is not there"))
    }

    /// Counts a node, and refuses what aliases blow up (`allowedAliasRatio`).
    fn count(&mut self) -> Result<(), GoYamlError> {
        const LOW: usize = 400_000;
        const HIGH: usize = 4_000_000;
        self.count += 1;
        if !self.open.is_empty() {
            self.aliased += 1;
        }
        let allowed = match self.count {
            ..=LOW => 0.99,
            HIGH.. => 0.10,
            count => 0.99 - 0.89 * ((count - LOW) as f64 / (HIGH - LOW) as f64),
        };
        if self.aliased > 100
            && self.count > 1000
            && self.aliased as f64 / self.count as f64 > allowed
        {
            return failed("document contains excessive aliasing");
        }
        match self.count > MAX_NODES {
            true => Err(GoYamlError::Bound("more than 4000000 nodes of YAML")),
            false => Ok(()),
        }
    }

    fn value(&mut self, at: usize) -> Result<Value, GoYamlError> {
        self.count()?;
        let node = self.node(at)?;
        match &node.kind {
            NodeKind::Alias { name, target } => {
                self.follow(at, name, |decoder| decoder.value(*target))
            }
            NodeKind::Scalar { text, tag, is_implicit } => {
                Ok(Value::Scalar(self.scalar(text, tag, *is_implicit)?))
            }
            NodeKind::Sequence(items) => {
                let items = items.iter().map(|item| self.value(*item));
                Ok(Value::List(items.collect::<Result<_, _>>()?))
            }
            NodeKind::Mapping(pairs) => {
                let mut map = BTreeMap::new();
                self.pairs(pairs, &mut map)?;
                Ok(Value::Map(map))
            }
        }
    }

    fn follow<T>(
        &mut self,
        alias: usize,
        name: &str,
        read: impl FnOnce(&mut Self) -> Result<T, GoYamlError>,
    ) -> Result<T, GoYamlError> {
        if !self.open.insert(alias) {
            return failed(format!("anchor '{name}' value contains itself"));
        }
        if self.open.len() > super::MAX_DEPTH {
            return Err(GoYamlError::Bound("aliases nested more than 100 levels deep"));
        }
        let value = read(self);
        self.open.remove(&alias);
        value
    }

    fn scalar(&mut self, text: &str, tag: &str, is_implicit: bool) -> Result<Scalar, GoYamlError> {
        let Some(left) = self.bytes_left.checked_sub(text.len()) else {
            return Err(GoYamlError::Bound("aliases expand to too much text"));
        };
        self.bytes_left = left;
        if tag.is_empty() && !is_implicit {
            return Ok(Scalar::Text(text.to_owned()));
        }
        if tag == BINARY {
            let plain: String = text.chars().filter(|char| !matches!(char, '\r' | '\n')).collect();
            return match base64::engine::general_purpose::STANDARD.decode(plain) {
                Ok(bytes) => Ok(Scalar::Text(characters(&bytes))),
                Err(_) => failed("!!binary value contains invalid base64 data"),
            };
        }
        resolve(tag, text)
    }

    fn pairs(
        &mut self,
        pairs: &[(usize, usize)],
        map: &mut BTreeMap<Key, Value>,
    ) -> Result<(), GoYamlError> {
        for (key, value) in pairs {
            if self.merges(*key)? {
                self.merge(*value, map)?;
                continue;
            }
            let key = match self.value(*key)? {
                Value::Scalar(scalar) => scalar_key(scalar),
                other => return failed(format!("invalid map key: {}", go_syntax(&other))),
            };
            let line = self.node(*value)?.line + 1;
            let value = self.value(*value)?;
            if map.contains_key(&key) && self.duplicates.len() < MAX_DUPLICATES {
                let key = go_syntax(&Value::Scalar(key.clone().into()));
                self.duplicates.push(format!("line {line}: key {key} already set in map"));
            }
            map.insert(key, value);
        }
        Ok(())
    }

    fn merges(&self, key: usize) -> Result<bool, GoYamlError> {
        Ok(match &self.node(key)?.kind {
            NodeKind::Scalar { text, tag, is_implicit } => {
                text == "<<" && (*is_implicit || tag == MERGE)
            }
            _ => false,
        })
    }

    /// Merges a mapping, an alias of one, or a list of these.
    fn merge(&mut self, at: usize, map: &mut BTreeMap<Key, Value>) -> Result<(), GoYamlError> {
        match &self.node(at)?.kind {
            NodeKind::Sequence(items) => {
                items.iter().rev().try_for_each(|item| self.merge_one(*item, map))
            }
            _ => self.merge_one(at, map),
        }
    }

    fn merge_one(&mut self, at: usize, map: &mut BTreeMap<Key, Value>) -> Result<(), GoYamlError> {
        const WRONG: &str = "map merge requires map or sequence of maps as the value";
        match &self.node(at)?.kind {
            NodeKind::Mapping(pairs) => {
                self.count()?;
                self.pairs(pairs, map)
            }
            NodeKind::Alias { name, target } => match &self.node(*target)?.kind {
                NodeKind::Mapping(pairs) => {
                    self.count()?;
                    self.follow(at, name, |decoder| {
                        decoder.count()?;
                        decoder.pairs(pairs, map)
                    })
                }
                _ => failed(WRONG),
            },
            _ => failed(WRONG),
        }
    }
}

fn scalar_key(scalar: Scalar) -> Key {
    match scalar {
        Scalar::Null => Key::Null,
        Scalar::Bool(on) => Key::Bool(on),
        Scalar::Int(number) => Key::Int(number),
        Scalar::UInt(number) => Key::UInt(number),
        Scalar::Float(number) => Key::Float(number.to_bits()),
        Scalar::Text(text) => Key::Text(text),
    }
}

impl From<Key> for Scalar {
    fn from(key: Key) -> Self {
        match key {
            Key::Null => Self::Null,
            Key::Bool(on) => Self::Bool(on),
            Key::Int(number) => Self::Int(number),
            Key::UInt(number) => Self::UInt(number),
            Key::Float(bits) => Self::Float(f64::from_bits(bits)),
            Key::Text(text) => Self::Text(text),
        }
    }
}

/// Returns a value as Go's `%#v` shows it.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Scalar(Scalar::Null) => "<nil>".to_owned(),
        Value::Scalar(scalar) => scalar_syntax(scalar),
        Value::List(items) => {
            format!(
                "[]interface {{}}{{{}}}",
                items.iter().map(inner).collect::<Vec<_>>().join(", ")
            )
        }
        Value::Map(map) => {
            let entry = |(key, value): (&Key, &Value)| {
                format!("{}:{}", inner(&Value::Scalar(key.clone().into())), inner(value))
            };
            let entries: Vec<String> = map.iter().map(entry).collect();
            format!("map[interface {{}}]interface {{}}{{{}}}", entries.join(", "))
        }
    }
}

fn inner(value: &Value) -> String {
    match value {
        Value::Scalar(Scalar::Null) => "interface {}(nil)".to_owned(),
        other => go_syntax(other),
    }
}

fn scalar_syntax(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Null => "<nil>".to_owned(),
        Scalar::Bool(on) => on.to_string(),
        Scalar::Int(number) => number.to_string(),
        Scalar::UInt(number) => format!("{number:#x}"),
        Scalar::Float(number) => float(*number),
        Scalar::Text(text) => quote(text),
    }
}

fn tree(value: Value) -> Result<Tree, GoYamlError> {
    Ok(match value {
        Value::Scalar(Scalar::Null) => Tree::Null,
        Value::Scalar(Scalar::Bool(on)) => Tree::Bool(on),
        Value::Scalar(Scalar::Int(number)) => Tree::Number(number.to_string()),
        Value::Scalar(Scalar::UInt(number)) => Tree::Number(number.to_string()),
        Value::Scalar(Scalar::Float(number)) if number.is_finite() => {
            Tree::Number(json_number(number))
        }
        Value::Scalar(Scalar::Float(number)) => {
            let number = float(number);
            return Err(GoYamlError::Json(format!("json: unsupported value: {number}")));
        }
        Value::Scalar(Scalar::Text(text)) => Tree::Text(text),
        Value::List(items) => Tree::List(items.into_iter().map(tree).collect::<Result<_, _>>()?),
        Value::Map(map) => {
            let mut fields = BTreeMap::new();
            for (key, value) in map {
                fields.insert(key_text(&key, &value)?, tree(value)?);
            }
            Tree::Object(fields.into_iter().collect())
        }
    })
}

fn key_text(key: &Key, value: &Value) -> Result<String, GoYamlError> {
    let unsupported = |go_type: &str, key: &str| {
        let value = go_syntax(value);
        let text = format!("unsupported map key of type: {go_type}, key: {key}, value: {value}");
        Err(GoYamlError::Json(text))
    };
    match key {
        Key::Null => unsupported("%!s(<nil>)", "<nil>"),
        Key::UInt(number) => unsupported("uint64", &format!("{number:#x}")),
        Key::Bool(on) => Ok(on.to_string()),
        Key::Int(number) => Ok(number.to_string()),
        Key::Float(bits) => {
            let number = float32(f64::from_bits(*bits) as f32);
            Ok(match number.as_str() {
                "+Inf" => ".inf".to_owned(),
                "-Inf" => "-.inf".to_owned(),
                "NaN" => ".nan".to_owned(),
                _ => number,
            })
        }
        Key::Text(text) => Ok(text.clone()),
    }
}

/// Returns a number as `encoding/json` writes it.
fn json_number(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{number:e}");
        return match text.split_once('e') {
            Some((mantissa, exponent)) if !exponent.starts_with('-') => {
                format!("{mantissa}e+{exponent:0>2}")
            }
            _ => text,
        };
    }
    number.to_string()
}
