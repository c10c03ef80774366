//! Go's errors for a configuration whose fields have the wrong type, and the fields that it does not know
//! (`sigs.k8s.io/json`, `encoding/json`).

use super::schema::{self, Kind, below, kind};
use kq_k8s::duration::GoDuration;
use kq_k8s::quantity::Quantity;
use kq_k8s::version::KubeletVersion;
use serde_json::{Map, Value};

/// A value that its field cannot take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeProblem {
    /// The field of the configuration that it is in.
    pub field: String,
    /// Go's error.
    pub text: String,
}

/// Returns the first value that a kubelet of some version cannot take, in the order of the names.
pub fn decode_problem(value: &Value, version: KubeletVersion) -> Option<DecodeProblem> {
    let Value::Object(fields) = value else {
        let text = mismatch(value, None, "v1beta1.KubeletConfiguration");
        return Some(DecodeProblem { field: String::new(), text });
    };
    fields.iter().find_map(|(name, value)| {
        let text = in_field(value, name, "KubeletConfiguration", name, version)?;
        Some(DecodeProblem { field: name.clone(), text })
    })
}

/// Returns the paths of the fields that a version does not know.
pub fn unknown_fields(value: &Value, version: KubeletVersion) -> Vec<String> {
    let mut unknown = Vec::new();
    if let Value::Object(fields) = value {
        strangers(fields, "", "", version, &mut unknown);
    }
    unknown
}

fn strangers(
    fields: &Map<String, Value>,
    path: &str,
    known: &str,
    version: KubeletVersion,
    unknown: &mut Vec<String>,
) {
    for (name, value) in fields {
        let (path, known) = (below(path, name), below(known, name));
        let Some(field) = schema::field(&known).filter(|it| schema::exists(it, version)) else {
            unknown.push(path);
            continue;
        };
        match (kind(field.1), value) {
            (Kind::Object, Value::Object(fields)) => {
                strangers(fields, &path, &known, version, unknown);
            }
            (Kind::List(Kind::Object), Value::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    if let Value::Object(fields) = item {
                        let (path, known) = (format!("{path}[{at}]"), format!("{known}[]"));
                        strangers(fields, &path, &known, version, unknown);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Checks a field; `known` is its path in the table, `structure` is what it is a field of, `path` are the
/// names of the fields that lead there.
fn in_field(
    value: &Value,
    known: &str,
    structure: &str,
    path: &str,
    version: KubeletVersion,
) -> Option<String> {
    let field = schema::field(known).filter(|field| schema::exists(field, version))?;
    let go_type = field.1.trim_start_matches('*');
    take(value, kind(field.1), go_type, &Place { known, structure, path }, version)
}

/// Where a value is.
struct Place<'a> {
    known: &'a str,
    structure: &'a str,
    path: &'a str,
}

fn take(
    value: &Value,
    kind: Kind,
    go_type: &str,
    at: &Place<'_>,
    version: KubeletVersion,
) -> Option<String> {
    match (kind, value) {
        (_, Value::Null)
        | (Kind::Text, Value::String(_))
        | (Kind::Bool, Value::Bool(_))
        | (Kind::Number, Value::Number(_)) => None,
        (Kind::Int32, Value::Number(number))
            if number.as_i64().is_some_and(|it| i32::try_from(it).is_ok()) =>
        {
            None
        }
        (Kind::Int64, Value::Number(number)) if number.is_i64() => None,
        (Kind::Int32 | Kind::Int64, Value::Number(number)) => {
            Some(type_error(&format!("number {number}"), Some(at), go_type))
        }
        // These read themselves, so that Go does not know where they are.
        (Kind::DurationOrNumber, Value::Number(_)) => None,
        (Kind::Duration | Kind::DurationOrNumber, Value::String(text)) => {
            text.parse::<GoDuration>().err().map(|error| error.to_string())
        }
        (Kind::Duration | Kind::DurationOrNumber, other) => Some(mismatch(other, None, "string")),
        (Kind::Amount, Value::String(text)) => {
            text.parse::<Quantity>().err().map(|error| error.to_string())
        }
        (Kind::Amount, other) => {
            other.to_string().parse::<Quantity>().err().map(|error| error.to_string())
        }
        (Kind::List(item), Value::Array(items)) => {
            let known = format!("{}[]", at.known);
            let item_type = go_type.strip_prefix("[]").unwrap_or(match go_type {
                "v1.VModuleConfiguration" => "v1.VModuleItem",
                other => other,
            });
            let at = Place { known: &known, ..*at };
            items.iter().find_map(|value| take(value, *item, item_type, &at, version))
        }
        (Kind::Map(item), Value::Object(entries)) => {
            let item_type = match item {
                Kind::Bool => "bool",
                Kind::List(_) => "[]string",
                _ => "string",
            };
            entries.values().find_map(|value| take(value, *item, item_type, at, version))
        }
        (Kind::Object, Value::Object(fields)) => {
            let structure = go_type.rsplit('.').next().unwrap_or(go_type);
            fields.iter().find_map(|(name, value)| {
                let path = below(at.path, name);
                in_field(value, &below(at.known, name), structure, &path, version)
            })
        }
        (_, other) => Some(mismatch(other, Some(at), go_type)),
    }
}

fn mismatch(value: &Value, at: Option<&Place<'_>>, go_type: &str) -> String {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    type_error(found, at, go_type)
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
            (json!({"syncFrequency": 10}), "syncFrequency", "number into Go value of type string"),
        ] {
            let problem = decode_problem(&value, KubeletVersion::NEWEST).expect("a problem");
            assert_eq!(
                (problem.field.as_str(), problem.text),
                (field, format!("{START}{expected}"))
            );
        }
        let value = json!({"syncFrequency": "10"});
        let problem = decode_problem(&value, KubeletVersion::NEWEST).expect("a problem");
        assert_eq!(problem.text, "time: missing unit in duration \"10\"");
        let value = json!({"noSuchField": 1, "memorySwap": {"swapBehavior": null}, "maxPods": 1});
        assert_eq!(decode_problem(&value, KubeletVersion::NEWEST), None);
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
