//! Typed access to the fields of an object.
//!
//! Every error has its path and its value. Paths are built for errors only: a trace can have a million
//! steps.

use super::error::TraceError;
use kq_k8s::nearest::nearest;
use serde_json::{Map, Value};
use std::fmt;

/// A place in a trace.
#[derive(Clone, Copy)]
pub(super) enum Place<'p> {
    /// The whole.
    Root,
    /// A field of a place.
    Field(&'p Self, &'p str),
    /// An element of a list.
    Index(&'p Self, usize),
}

/// The fields of an object that have been found to exist.
pub(super) struct Fields<'v, 'p> {
    place: &'p Place<'p>,
    entries: &'v Map<String, Value>,
}

/// The longest value that a message repeats, in characters.
const SHOWN: usize = 60;

/// The most names that a message lists.
const LISTED: usize = 20;

impl<'v, 'p> Fields<'v, 'p> {
    /// Takes an object whose fields all exist.
    pub fn of(
        place: &'p Place<'p>,
        value: &'v Value,
        known: &[&'static str],
    ) -> Result<Self, TraceError> {
        let Value::Object(entries) = value else {
            return Err(wrong(place, value, "a map of fields"));
        };
        if let Some(name) = entries.keys().find(|name| !known.contains(&name.as_str())) {
            let hint = match nearest(&shortened(name), known.iter().copied()) {
                Some(nearest) => format!("did you mean {nearest}?"),
                None => format!("there are {}", list(known)),
            };
            let path = Place::Field(place, &shortened(name)).to_string();
            return Err(TraceError::UnknownField { path, hint });
        }
        Ok(Self { place, entries })
    }

    /// Returns a value that is there; null is as good as nothing.
    pub fn get(&self, name: &str) -> Option<&'v Value> {
        self.entries.get(name).filter(|value| !value.is_null())
    }

    /// Returns the place of a field.
    pub fn place(&self, name: &'p str) -> Place<'p> {
        Place::Field(self.place, name)
    }

    /// Returns the mistake that a field is missing.
    pub fn missing(&self, name: &str, expected: impl Into<String>) -> TraceError {
        let path = Place::Field(self.place, name).to_string();
        TraceError::Missing { path, expected: expected.into() }
    }

    /// Returns a text.
    pub fn text(&self, name: &str) -> Result<Option<&'v str>, TraceError> {
        self.read(name, "text", Value::as_str)
    }

    /// Returns yes or no.
    pub fn bool(&self, name: &str) -> Result<Option<bool>, TraceError> {
        self.read(name, "true or false", Value::as_bool)
    }

    /// Returns a whole number of 32 bits.
    pub fn int32(&self, name: &str) -> Result<Option<i32>, TraceError> {
        self.read(name, "a whole number of 32 bits", |value| i32::try_from(value.as_i64()?).ok())
    }

    /// Returns a whole number.
    pub fn int64(&self, name: &str) -> Result<Option<i64>, TraceError> {
        self.read(name, "a whole number", Value::as_i64)
    }

    /// Returns a list; what is absent is the empty one.
    pub fn list(&self, name: &str) -> Result<&'v [Value], TraceError> {
        let list = self.read(name, "a list such as [a, b]", Value::as_array)?;
        Ok(list.map_or(&[], Vec::as_slice))
    }

    /// Returns one of some words.
    pub fn word<T: Copy>(
        &self,
        name: &str,
        words: &[(&'static str, T)],
    ) -> Result<Option<T>, TraceError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        word(&Place::Field(self.place, name), value, words).map(Some)
    }

    /// Returns a value that some function understands.
    pub fn read<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Result<Option<T>, TraceError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let mistake = || wrong(&Place::Field(self.place, name), value, expected);
        read(value).ok_or_else(mistake).map(Some)
    }
}

/// Returns one of some words, or the mistake with the nearest of them.
pub(super) fn word<T: Copy>(
    place: &Place<'_>,
    value: &Value,
    words: &[(&'static str, T)],
) -> Result<T, TraceError> {
    let text = value.as_str();
    if let Some((_, found)) = words.iter().find(|(word, _)| Some(*word) == text) {
        return Ok(*found);
    }
    let names: Vec<&'static str> = words.iter().map(|(word, _)| *word).collect();
    let meant = text.and_then(|text| nearest(&shortened(text), names.iter().copied()));
    Err(TraceError::Value {
        path: place.to_string(),
        value: shown(value),
        expected: list(&names),
        nearest: meant.and_then(|meant| names.iter().copied().find(|name| *name == meant)),
    })
}

/// Returns the mistake that a value is another than expected.
pub(super) fn wrong(place: &Place<'_>, value: &Value, expected: impl Into<String>) -> TraceError {
    let (path, value, expected) = (place.to_string(), shown(value), expected.into());
    TraceError::Value { path, value, expected, nearest: None }
}

/// Returns a value for a message.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Array(entries) => format!("a list of {}", entries.len()),
        Value::Object(entries) => format!("a map of {} fields", entries.len()),
        scalar => shortened(&scalar.to_string()),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Returns `a, b or c`.
fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] if names.len() <= LISTED => format!("{} or {last}", first.join(", ")),
        many => many.join(", "),
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("the file"),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(place, name) => write!(f, "{place}.{name}"),
            Self::Index(Self::Root, index) => write!(f, "[{index}]"),
            Self::Index(place, index) => write!(f, "{place}[{index}]"),
        }
    }
}
