//! What Go's decoder makes of a configuration: the errors of its types, and the fields that it does not know
//! (`sigs.k8s.io/json`, `encoding/json`).
//!
//! Of the errors of type the first one counts; a value that reads itself, such as a duration, ends the decoding when it
//! fails, whatever came before.

use super::schema::{self, Kind, below, kind};
use kq_k8s::duration::GoDuration;
use kq_k8s::go_json::Tree;
use kq_k8s::go_text::quote;
use kq_k8s::quantity::Quantity;
use kq_k8s::version::KubeletVersion;
use serde_json::Value;
use std::collections::BTreeSet;

/// How many errors of strict decoding are kept.
const MOST_STRICT: usize = 100;

/// A value that its field cannot take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeProblem {
    /// The field of the configuration that it is in.
    pub field: String,
    /// Go's error.
    pub text: String,
}

/// The result of decoding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoding {
    /// Why it fails.
    pub problem: Option<DecodeProblem>,
    /// The fields that it does not know or that come twice, in Go's words.
    pub strict: Vec<String>,
    /// The paths of the fields that it does not know.
    pub unknown: Vec<String>,
}

/// Returns the value that makes decoding fail in a kubelet of some version.
pub fn decode_problem(value: &Value, version: KubeletVersion) -> Option<DecodeProblem> {
    decode(&value.into(), version).problem
}

/// Returns the paths of the fields that a version does not know.
pub fn unknown_fields(value: &Value, version: KubeletVersion) -> Vec<String> {
    decode(&value.into(), version).unknown
}

/// Decodes a document as a kubelet of some version does, with all errors.
pub fn decode(tree: &Tree, version: KubeletVersion) -> Decoding {
    let mut decoder = Decoder { version, found: Decoding::default(), seen: BTreeSet::new() };
    match tree {
        Tree::Object(fields) => {
            let place =
                Place { known: "", structure: "KubeletConfiguration", path: "", strict: "" };
            if let Err(text) = decoder.object(fields, &place) {
                decoder.found.problem = Some(text);
            }
        }
        Tree::Null => {}
        other => decoder.mismatch(other.kind(), None, "v1beta1.KubeletConfiguration"),
    }
    decoder.found
}

/// Where a value is.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// Its path in the table.
    known: &'a str,
    /// The structure that its field is of.
    structure: &'a str,
    /// The names of the fields that lead there.
    path: &'a str,
    /// The same, with the elements of lists and the names of maps.
    strict: &'a str,
}

struct Decoder {
    version: KubeletVersion,
    found: Decoding,
    seen: BTreeSet<String>,
}

/// The end of decoding, by a value that reads itself.
type Step = Result<(), DecodeProblem>;

impl Decoder {
    fn object(&mut self, fields: &[(String, Tree)], at: &Place<'_>) -> Step {
        let mut names = BTreeSet::new();
        for (name, value) in fields {
            let (known, strict) = (below(at.known, name), below(at.strict, name));
            let Some(field) = schema::field(&known).filter(|it| schema::exists(it, self.version))
            else {
                self.found.unknown.push(strict.clone());
                self.strict("unknown field", &strict);
                continue;
            };
            if !names.insert(name) {
                self.strict("duplicate field", &strict);
            }
            let path = below(at.path, name);
            let place = Place { known: &known, path: &path, strict: &strict, ..*at };
            self.take(value, kind(field.1), field.1, &place)?;
        }
        Ok(())
    }

    fn strict(&mut self, what: &str, path: &str) {
        let text = format!("{what} {}", quote(path));
        if self.found.strict.len() < MOST_STRICT && self.seen.insert(text.clone()) {
            self.found.strict.push(text);
        }
    }

    fn take(&mut self, value: &Tree, kind: Kind, go_type: &str, at: &Place<'_>) -> Step {
        let (is_pointer, go_type) = match go_type.strip_prefix('*') {
            Some(go_type) => (true, go_type),
            None => (false, go_type),
        };
        match (kind, value) {
            (Kind::Duration, Tree::Null) if !is_pointer => self.duration("", at),
            (_, Tree::Null) | (Kind::Bool, Tree::Bool(_)) | (Kind::Number, Tree::Number(_)) => {
                Ok(())
            }
            (Kind::Text, value) if go_type == "v1.Time" => self.time(value, at),
            (Kind::Text, Tree::Text(_)) => Ok(()),
            (Kind::Int32 | Kind::Int64, Tree::Number(text)) => {
                if !is_whole(text, kind, go_type) {
                    self.mismatch(&format!("number {text}"), Some(at), go_type);
                }
                Ok(())
            }
            (Kind::Duration | Kind::DurationOrNumber, Tree::Text(text)) => self.duration(text, at),
            (Kind::Duration, other) => self.stop(type_error(other.kind(), Some(at), "string"), at),
            (Kind::DurationOrNumber, other) => self.nanoseconds(other, at),
            (Kind::Amount, value) => self.amount(value, at),
            (Kind::List(item), Tree::List(items)) => self.list(items, *item, go_type, at),
            (Kind::Map(item), Tree::Object(entries)) => self.map(entries, *item, at),
            (Kind::Object, Tree::Object(fields)) => {
                let structure = go_type.rsplit('.').next().unwrap_or(go_type);
                self.object(fields, &Place { structure, ..*at })
            }
            (_, other) => {
                self.mismatch(other.kind(), Some(at), go_type);
                Ok(())
            }
        }
    }

    fn list(&mut self, items: &[Tree], item: Kind, go_type: &str, at: &Place<'_>) -> Step {
        let known = format!("{}[]", at.known);
        let item_type = go_type.strip_prefix("[]").unwrap_or(match go_type {
            "v1.VModuleConfiguration" => "v1.VModuleItem",
            other => other,
        });
        items.iter().enumerate().try_for_each(|(index, value)| {
            let strict = format!("{}[{index}]", at.strict);
            self.take(value, item, item_type, &Place { known: &known, strict: &strict, ..*at })
        })
    }

    fn map(&mut self, entries: &[(String, Tree)], item: Kind, at: &Place<'_>) -> Step {
        let item_type = match item {
            Kind::Bool => "bool",
            Kind::List(_) => "[]string",
            _ => "string",
        };
        let mut names = BTreeSet::new();
        entries.iter().try_for_each(|(name, value)| {
            let strict = below(at.strict, name);
            if !names.insert(name) {
                self.strict("duplicate field", &strict);
            }
            self.take(value, item, item_type, &Place { strict: &strict, ..*at })
        })
    }

    fn duration(&self, text: &str, at: &Place<'_>) -> Step {
        text.parse::<GoDuration>().map(drop).or_else(|error| self.stop(error.to_string(), at))
    }

    /// Reads a whole number of nanoseconds (`TimeOrMetaDuration`).
    fn nanoseconds(&self, value: &Tree, at: &Place<'_>) -> Step {
        let (found, json) = match value {
            Tree::Number(text) if text.parse::<i64>().is_ok() => return Ok(()),
            Tree::Number(text) => (format!("number {text}"), text.clone()),
            other => (other.kind().to_owned(), other.to_value().to_string()),
        };
        let error = type_error(&found, None, "time.Duration");
        self.stop(format!("invalid duration {}: {error}", quote(&json)), at)
    }

    /// Reads a quantity, of a text or of what JSON has there.
    fn amount(&self, value: &Tree, at: &Place<'_>) -> Step {
        let text = match value {
            Tree::Text(text) | Tree::Number(text) => text.clone(),
            other => other.to_value().to_string(),
        };
        text.parse::<Quantity>().map(drop).or_else(|error| self.stop(error.to_string(), at))
    }

    fn time(&self, value: &Tree, at: &Place<'_>) -> Step {
        match value {
            Tree::Null => Ok(()),
            Tree::Text(text) => match super::go_time::parse(text) {
                Ok(_) => Ok(()),
                Err(error) => self.stop(error, at),
            },
            other => self.stop(type_error(other.kind(), Some(at), "string"), at),
        }
    }

    fn stop(&self, text: String, at: &Place<'_>) -> Step {
        Err(DecodeProblem { field: top(at), text })
    }

    /// Keeps an error of type, if it is the first.
    fn mismatch(&mut self, found: &str, at: Option<&Place<'_>>, go_type: &str) {
        if self.found.problem.is_none() {
            let text = type_error(found, at, go_type);
            self.found.problem =
                Some(DecodeProblem { field: at.map(top).unwrap_or_default(), text });
        }
    }
}

/// Returns the field of the configuration that a place is in.
fn top(at: &Place<'_>) -> String {
    at.path.split('.').next().unwrap_or_default().to_owned()
}

fn is_whole(text: &str, kind: Kind, go_type: &str) -> bool {
    match kind {
        _ if go_type == "v1.VerbosityLevel" => text.parse::<u32>().is_ok(),
        Kind::Int32 => text.parse::<i32>().is_ok(),
        _ => text.parse::<i64>().is_ok(),
    }
}

fn type_error(found: &str, at: Option<&Place<'_>>, go_type: &str) -> String {
    match at {
        Some(Place { structure, path, .. }) => format!(
            "json: cannot unmarshal {found} into Go struct field {structure}.{path} of type {go_type}"
        ),
        None => format!("json: cannot unmarshal {found} into Go value of type {go_type}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn go_names_the_field_and_its_type() {
        const START: &str = "json: cannot unmarshal ";
        for (value, field, expected) in [
            (
                json!({"maxPods": "many"}),
                "maxPods",
                "string into Go struct field KubeletConfiguration.maxPods of type int32",
            ),
            (
                json!({"maxPods": 1.5}),
                "maxPods",
                "number 1.5 into Go struct field KubeletConfiguration.maxPods of type int32",
            ),
            (
                json!({"authentication": {"anonymous": {"enabled": "no"}}}),
                "authentication",
                "string into Go struct field \
                 KubeletAnonymousAuthentication.authentication.anonymous.enabled of type bool",
            ),
            (
                json!({"clusterDNS": "10.0.0.1"}),
                "clusterDNS",
                "string into Go struct field KubeletConfiguration.clusterDNS of type []string",
            ),
            (
                json!({"registerWithTaints": [{"key": 1}]}),
                "registerWithTaints",
                "number into Go struct field Taint.registerWithTaints.key of type string",
            ),
            (
                json!({"featureGates": {"A": "true"}}),
                "featureGates",
                "string into Go struct field KubeletConfiguration.featureGates of type bool",
            ),
            (
                json!({"syncFrequency": 10}),
                "syncFrequency",
                "number into Go struct field KubeletConfiguration.syncFrequency of type string",
            ),
            (
                json!({"logging": {"verbosity": -1}}),
                "logging",
                "number -1 into Go struct field LoggingConfiguration.logging.verbosity of type \
                 v1.VerbosityLevel",
            ),
        ] {
            let problem = decode_problem(&value, KubeletVersion::ASSUMED).expect("a problem");
            assert_eq!(
                (problem.field.as_str(), problem.text),
                (field, format!("{START}{expected}"))
            );
        }
        let value = json!({"syncFrequency": "10"});
        let problem = decode_problem(&value, KubeletVersion::ASSUMED).expect("a problem");
        assert_eq!(problem.text, "time: missing unit in duration \"10\"");
        let value = json!({"noSuchField": 1, "memorySwap": {"swapBehavior": null}, "maxPods": 1});
        assert_eq!(decode_problem(&value, KubeletVersion::ASSUMED), None);
    }

    #[test]
    fn fields_are_unknown_to_versions() {
        let value = json!({
            "noSuchField": 1, "memoryReservationPolicy": "None",
            "authentication": {"webhook": {"enable": true}}, "registerWithTaints": [{"kee": 1}],
        });
        let unknown = |minor| unknown_fields(&value, KubeletVersion::new(1, minor));
        let newest = ["authentication.webhook.enable", "noSuchField", "registerWithTaints[0].kee"];
        assert_eq!(unknown(36), newest);
        assert_eq!(unknown(35)[1], "memoryReservationPolicy");
    }
}
