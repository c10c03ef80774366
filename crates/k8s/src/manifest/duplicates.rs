//! Duplicate keys in one mapping of JSON: the last one counts, as for kubectl.
//!
//! serde's derived structs refuse them. A refused text is rewritten here without them,
//! and read again.

use super::field::FieldPath;
use crate::yaml::Step;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt;

/// The depth to which keys are compared: the fields of a pod that kq reads are not as deep, not even in the
/// template of a cron job. Each level reads the text below it once more.
const MAX_DEPTH: usize = 16;

/// A text without duplicate keys.
pub(super) struct LastWins {
    /// The text; scalars are unchanged.
    pub(super) text: String,
    /// The first key that came twice.
    pub(super) duplicate: FieldPath,
}

/// Rewrites a JSON text without duplicate keys; `None`: it has none.
pub(super) fn last_wins(text: &str) -> Option<LastWins> {
    let mut rewrite =
        Rewrite { out: String::with_capacity(text.len()), steps: Vec::new(), duplicate: None };
    rewrite.value(text).ok()?;
    Some(LastWins { duplicate: rewrite.duplicate?, text: rewrite.out })
}

struct Rewrite {
    out: String,
    steps: Vec<Step>,
    duplicate: Option<FieldPath>,
}

impl Rewrite {
    fn value(&mut self, text: &str) -> Result<(), serde_json::Error> {
        let text = text.trim();
        match text.as_bytes().first() {
            Some(b'{') if self.steps.len() < MAX_DEPTH => self.mapping(serde_json::from_str(text)?),
            Some(b'[') if self.steps.len() < MAX_DEPTH => {
                self.list(&serde_json::from_str::<Vec<_>>(text)?)
            }
            _ => {
                self.out.push_str(text);
                Ok(())
            }
        }
    }

    fn mapping(&mut self, entries: Entries<'_>) -> Result<(), serde_json::Error> {
        if let (None, Some(key)) = (&self.duplicate, entries.duplicate) {
            let path = FieldPath(vec![Step::Key(key)]);
            self.duplicate = Some(path.after(&self.steps));
        }
        self.out.push('{');
        for (at, (key, raw)) in entries.last.into_iter().enumerate() {
            self.out.push_str(if at == 0 { "" } else { "," });
            self.out.push_str(&serde_json::to_string(&key)?);
            self.out.push(':');
            self.steps.push(Step::Key(key));
            self.value(raw.get())?;
            self.steps.pop();
        }
        self.out.push('}');
        Ok(())
    }

    fn list(&mut self, items: &[&RawValue]) -> Result<(), serde_json::Error> {
        self.out.push('[');
        for (at, raw) in items.iter().enumerate() {
            self.out.push_str(if at == 0 { "" } else { "," });
            self.steps.push(Step::Index(at));
            self.value(raw.get())?;
            self.steps.pop();
        }
        self.out.push(']');
        Ok(())
    }
}

/// The entries of one mapping.
#[derive(Default)]
struct Entries<'a> {
    last: BTreeMap<String, &'a RawValue>,
    duplicate: Option<String>,
}

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut entries = Entries::default();
                while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                    if entries.last.contains_key(&key) {
                        entries.duplicate.get_or_insert_with(|| key.clone());
                    }
                    entries.last.insert(key, value);
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_counts() {
        let deep = format!("{}{{\"a\":1,\"a\":2}}{}", "[".repeat(20_000), "]".repeat(20_000));
        // Name, text, expected text, the first key that came twice.
        let rows = [
            ("none", r#"{"a":1}"#, None),
            ("root", r#"{"a":1,"b":2,"a":3}"#, Some((r#"{"a":3,"b":2}"#, "a"))),
            (
                "below",
                r#"{"a":[0,{"b":1.50,"b":1E3}], "c":{}}"#,
                Some((r#"{"a":[0,{"b":1E3}],"c":{}}"#, "a[1].b")),
            ),
            (
                "same key in escapes",
                r#"{"x.y":1,"\u0078.y":"\u0041"}"#,
                Some((r#"{"x.y":"\u0041"}"#, "[x.y]")),
            ),
            ("no JSON", "{", None),
            ("deep", &deep, None),
        ];
        for (name, text, expected) in rows {
            let found = last_wins(text).map(|last| (last.text, last.duplicate.to_string()));
            let found = found.as_ref().map(|(text, key)| (text.as_str(), key.as_str()));
            assert_eq!(found, expected, "{name}");
        }
    }
}
