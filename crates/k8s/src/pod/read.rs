//! How the parts of a pod are read: as Go's decoder of the Kubernetes types reads them.
//!
//! serde's derived structs can be read from lists too, field by field in order. Kubernetes refuses
//! that, so every struct goes through here and is read from a mapping only. `null` is the same as
//! absent, in a list too. The path of a mistake survives: all of it is visitors, no buffers.
//!
//! Moments in a pod's metadata.

use jiff::Timestamp;
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// Reads a value, or its default from `null`.
pub fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a text of which only the presence is kept: as `-`.
pub(super) fn withheld<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text: String = null_as_default(deserializer)?;
    Ok(if text.is_empty() { text } else { "-".to_owned() })
}

/// Reads a struct from a mapping, or its default from `null`.
pub fn object<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(optional_object(deserializer)?.unwrap_or_default())
}

/// Reads a struct from a mapping, or nothing from `null`.
pub fn optional_object<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Object(PhantomData).deserialize(deserializer)
}

/// Reads a list of structs, each from a mapping.
pub fn objects<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    objects_where(deserializer, |_| true)
}

/// Reads a list of structs and keeps some.
pub(super) fn objects_where<'de, D, T>(
    deserializer: D,
    keep: impl Fn(&T) -> bool,
) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    deserializer.deserialize_any(Objects(keep, PhantomData))
}

/// A struct that was read from a mapping and nothing else, not even `null`.
pub struct FromMapping<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FromMapping<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = optional_object(deserializer)?;
        read.map(Self).ok_or_else(|| D::Error::invalid_type(Unexpected::Unit, &"a mapping"))
    }
}

/// A struct that is to be read from a mapping.
struct Object<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for Object<T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_unit<E>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Some)
    }
}

/// A list of structs that are read from mappings, and which of them to keep.
struct Objects<T, F>(F, PhantomData<T>);

impl<'de, T, F> Visitor<'de> for Objects<T, F>
where
    T: Deserialize<'de> + Default,
    F: Fn(&T) -> bool,
{
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element_seed(Object(PhantomData))? {
            let item = item.unwrap_or_default();
            if !(self.0)(&item) {
                continue;
            }
            // Most pods have one container or two, and `Vec` alone would begin with room for four.
            if list.len() == list.capacity() {
                list.reserve_exact(list.len().max(1));
            }
            list.push(item);
        }
        Ok(list)
    }
}

/// Text that is borrowed from the input unless it has escapes. (`Cow` alone is always copied.)
pub struct Text<'de>(Cow<'de, str>);

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrow;
        impl<'de> Visitor<'de> for Borrow {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Borrow)
    }
}

/// Text that is only checked to be text.
pub(super) struct AnyText;

impl<'de> DeserializeSeed<'de> for AnyText {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for AnyText {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

/// Reads a moment as the API server writes it (`Time.UnmarshalJSON`,
/// `k8s.io/apimachinery/pkg/apis/meta/v1/time.go`): RFC 3339, or nothing from `null`.
pub(super) fn optional_moment<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Timestamp>, D::Error> {
    let Some(text) = Option::<Text<'de>>::deserialize(deserializer)? else { return Ok(None) };
    let refuse = || {
        let expected = "a time of RFC 3339, such as 2026-11-20T12:04:25Z";
        D::Error::invalid_value(Unexpected::Str(&text), &expected)
    };
    // The parser accepts more formats.
    if !is_rfc_3339(text.as_bytes()) {
        return Err(refuse());
    }
    text.parse().map(Some).map_err(|_| refuse())
}

/// Returns true if a text has the form `2026-11-20T12:04:25.5+01:00`; the fraction is optional, and `Z` is a zone.
fn is_rfc_3339(text: &[u8]) -> bool {
    let Some((moment, rest)) = text.split_at_checked("2026-11-20T12:04:25".len()) else {
        return false;
    };
    let fraction = match rest {
        [b'.', digits @ ..] => 1 + digits.iter().take_while(|it| it.is_ascii_digit()).count(),
        _ => 0,
    };
    let zone = rest.get(fraction..).unwrap_or_default();
    fraction != 1
        && is_like(moment, b"0000-00-00T00:00:00")
        && (zone == b"Z" || is_like(zone, b"+00:00") || is_like(zone, b"-00:00"))
}

/// Returns true if a text has digits where the form has them, and the form's characters elsewhere.
fn is_like(text: &[u8], form: &[u8]) -> bool {
    let fits = |(is, form): (&u8, &u8)| match form {
        b'0' => is.is_ascii_digit(),
        _ => is == form,
    };
    text.len() == form.len() && text.iter().zip(form).all(fits)
}

#[cfg(test)]
mod tests {
    use crate::pod::Pod;

    #[test]
    fn structs_are_mappings() {
        let container = |rest: &str| format!(r#"{{"spec":{{"containers":[{rest}]}}}}"#);
        // Name, text, the start of the error if any.
        let rows = [
            ("mapping", container(r#"{"name":"c","resources":{}}"#), ""),
            ("null", r#"{"metadata":null,"spec":null,"status":null}"#.to_owned(), ""),
            ("null in a list", container("null"), ""),
            (
                "null for lists",
                r#"{"spec":{"containers":null,"resources":null,"overhead":null}}"#.to_owned(),
                "",
            ),
            (
                "resources by position",
                container(r#"{"name":"c","resources":[]}"#),
                "invalid type: sequence, expected a mapping",
            ),
            (
                "container by position",
                container(r#"["c"]"#),
                "invalid type: sequence, expected a mapping",
            ),
            (
                "metadata by position",
                r#"{"metadata":["a"]}"#.to_owned(),
                "invalid type: sequence, expected a mapping",
            ),
            (
                "pod-level resources by position",
                r#"{"spec":{"resources":[{},{}]}}"#.to_owned(),
                "invalid type: sequence, expected a mapping",
            ),
            (
                "annotations by position",
                r#"{"metadata":{"annotations":["a"]}}"#.to_owned(),
                "invalid type: sequence, expected a mapping",
            ),
            (
                "mapping for a list",
                r#"{"spec":{"containers":{}}}"#.to_owned(),
                "invalid type: map, expected a list",
            ),
            (
                "number as an annotation",
                r#"{"metadata":{"annotations":{"a":"b","c":12}}}"#.to_owned(),
                "invalid type: integer `12`, expected a string",
            ),
            (
                "boolean as an annotation that is kept",
                r#"{"metadata":{"annotations":{"kubernetes.io/config.hash":true}}}"#.to_owned(),
                "invalid type: boolean `true`, expected a string",
            ),
            (
                "number as a label",
                r#"{"metadata":{"labels":{"a":1.5}}}"#.to_owned(),
                "invalid type: floating point `1.5`, expected a string",
            ),
            (
                "null as label and annotation",
                r#"{"metadata":{"labels":{"a":null},"annotations":{"b":null}}}"#.to_owned(),
                "",
            ),
        ];
        for (name, text, start) in rows {
            let error = serde_json::from_str::<Pod>(&text).err();
            let error = error.map(|error| error.to_string()).unwrap_or_default();
            assert!(error.starts_with(start), "{name}: {error}");
            assert_eq!(error.is_empty(), start.is_empty(), "{name}: {error}");
        }
    }

    #[test]
    fn keeps_conditions_that_are_needed() {
        let text = r#"{"status":{"conditions":[{"type":"Initialized"},{"type":"Ready","status":"True"},
            {"type":"PodResizePending","reason":"Deferred"}]}}"#;
        let pod: Pod = serde_json::from_str(text).unwrap();
        let [ready, resize] = &pod.status.conditions[..] else { panic!("{:?}", pod.status) };
        assert_eq!((ready.status.as_str(), resize.reason.as_str()), ("True", "Deferred"));
    }

    #[test]
    fn keeps_of_the_environment_what_probes_name_and_stores_no_values() {
        let text = r#"{"spec":{"containers":[{"name":"c",
            "env":[{"name":"PASSWORD","value":"p"},{"name":"USER","value":"u"},
                   {"name":"HOST","valueFrom":{"fieldRef":{"fieldPath":"status.hostIP"}}}],
            "livenessProbe":{"exec":{"command":["check","$(USER)@$(HOST)"]}},
            "readinessProbe":{"httpGet":{"path":"/ready?key=k3y","port":"http","httpHeaders":[
                {"name":"Host","value":"shop"},{"name":"Authorization","value":"Bearer x"}]}}}]}}"#;
        let mut pod: Pod = serde_json::from_str(text).unwrap();
        let names: Vec<&str> =
            pod.spec.containers[0].env.iter().map(|variable| variable.name.as_str()).collect();
        assert_eq!(names, ["USER", "HOST"]);
        pod.redact();
        let stored = serde_json::to_string(&pod).unwrap();
        for secret in ["Bearer", r#""u""#, "k3y", "check"] {
            assert!(!stored.contains(secret), "{stored}");
        }
        assert!(stored.contains(r#""path":"/ready","queryWithheld":true"#), "{stored}");
        assert!(stored.contains(r#"{"name":"Host","value":"shop"}"#), "{stored}");
        assert!(stored.contains(r#""value":"","valueWithheld":true"#), "{stored}");
        assert!(stored.contains(r#""exec":{"commandWithheld":true}"#), "{stored}");
        assert_eq!(serde_json::from_str::<Pod>(&stored).unwrap(), pod);
    }
}

#[cfg(test)]
mod moment_tests {
    use crate::pod::Pod;

    #[test]
    fn moments_are_read_as_the_api_server_reads_them() {
        // The value, the moment in UTC; `None`: it is refused.
        for (value, expected) in [
            ("null", Some(None)),
            (r#""2026-01-02T00:30:00Z""#, Some(Some("2026-01-02T00:30:00Z"))),
            (r#""2026-01-02T00:30:00+02:00""#, Some(Some("2026-01-01T22:30:00Z"))),
            (r#""2026-01-02T00:30:00.25-00:30""#, Some(Some("2026-01-02T01:00:00.25Z"))),
            (r#""yesterday""#, None),
            (r#""""#, None),
            (r#""2026-01-02""#, None),
            (r#""2026-01-02T00:30:00""#, None),
            (r#""2026-01-02 00:30:00Z""#, None),
            (r#""2026-01-02T00:30:00.Z""#, None),
            (r#""2026-01-02T00:30:00+02""#, None),
            (r#""2026-13-02T00:30:00Z""#, None),
            (r#""2026-01-02T00:30:00+02:00[Europe/Berlin]""#, None),
            ("1767312000", None),
        ] {
            let text = format!(r#"{{"metadata":{{"creationTimestamp":{value}}}}}"#);
            let read = serde_json::from_str::<Pod>(&text);
            let read = read.map(|pod| pod.metadata.creation_timestamp.map(|it| it.to_string()));
            let read = read.ok();
            assert_eq!(read.as_ref().map(Option::as_deref), expected, "{value}");
        }
    }
}
