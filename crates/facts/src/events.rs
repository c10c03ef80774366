//! Events about pods, as the API server keeps them.
//!
//! Both spellings are read: core/v1 (`involvedObject`, `message`, `source`, `firstTimestamp`, `count`), which
//! is what `kubectl get events` requests, and events.k8s.io/v1 (`regarding`, `note`, `reportingController`,
//! `deprecated*`, `series`). Writers through the new API, such as the scheduler, leave the old
//! times empty, so the time of an event is the last of all its times.

use crate::timestamp::Timestamp;
use kq_k8s::pod::{null_as_default, object, optional_object};
use kq_k8s::yaml;
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use std::fmt;

/// An event about a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodEvent {
    pub pod: PodReference,
    /// The container that it is about; `None`: the pod as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Another pod that has to do with it: of the scheduler's preemption, the one that it was for.
    pub related: Option<PodReference>,
    /// Why, as one word: `Preempting`.
    pub reason: String,
    /// Why, as a sentence.
    pub message: String,
    /// The component that wrote it: `kubelet`, `default-scheduler`.
    pub reporter: String,
    /// The node of the writer; empty for writers other than the kubelet.
    pub host: String,
    /// When it was seen first; `None`: not recorded, or only once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_at: Option<Timestamp>,
    /// When it was seen last; `None`: not recorded.
    pub at: Option<Timestamp>,
    /// The number of times that it was seen.
    pub count: i64,
}

/// A pod that an event names.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(default, rename_all = "camelCase")]
pub struct PodReference {
    pub namespace: String,
    pub name: String,
    /// The UID; of a static pod, that under which its kubelet runs it.
    pub uid: String,
}

impl PodReference {
    /// Returns NAMESPACE/NAME.
    pub fn qualified(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

impl PodEvent {
    /// Returns the preemptor and the node that the scheduler's message names: `Preempted by PREEMPTOR on node NODE`.
    ///
    /// | scheduler | preemptor |
    /// |---|---|
    /// | the oldest | NAMESPACE/NAME |
    /// | older | `a pod`, as not every reader may know its name |
    /// | 1.36 | `pod UID` |
    /// | for a group of pods | `podgroup UID` |
    pub fn preempted_by(&self) -> Option<(&str, &str)> {
        let message = self.message.strip_prefix("Preempted by ")?;
        message.rsplit_once(" on node ").filter(|_| self.reason == "Preempted")
    }

    /// Returns the UID of the preemptor, where the event does not name the pod as well.
    pub fn preemptor_uid(&self) -> Option<&str> {
        let (whom, _) = self.preempted_by().filter(|_| self.related.is_none())?;
        whom.strip_prefix("pod ")
    }
}

/// Why something is not a list of events.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    #[error("it is empty, expected events")]
    Empty,
    /// It holds no object at all, as the table that kubectl prints.
    #[error("not JSON or YAML{reason}; expected the output of kubectl get events -A -o json")]
    NoObject {
        /// `: ` and where it stops being any; empty: it has no fields.
        reason: String,
    },
    /// It cannot be read.
    #[error("{path}{message}")]
    Syntax {
        /// The field, and `: `; empty is the whole.
        path: String,
        message: String,
    },
    /// It is of another kind.
    #[error("kind {kind:?}, expected List, EventList or Event")]
    Kind { kind: String },
    /// A list of other things.
    #[error("a list of {kind}, with no event among them")]
    OtherItems {
        /// The kind of the first.
        kind: String,
    },
}

/// The kind of an object.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct Head {
    #[serde(deserialize_with = "null_as_default")]
    kind: String,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct List {
    #[serde(deserialize_with = "null_as_default")]
    items: Items,
}

/// The events of a list that are about pods.
#[derive(Default)]
struct Items {
    of_pods: Vec<PodEvent>,
    has_events: bool,
    other_kind: Option<String>,
}

/// An event in either spelling.
#[derive(Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Raw {
    #[serde(deserialize_with = "null_as_default")]
    kind: String,
    #[serde(deserialize_with = "optional_object")]
    involved_object: Option<RawReference>,
    #[serde(deserialize_with = "optional_object")]
    regarding: Option<RawReference>,
    #[serde(deserialize_with = "optional_object")]
    related: Option<RawReference>,
    #[serde(deserialize_with = "null_as_default")]
    reason: String,
    #[serde(deserialize_with = "null_as_default")]
    message: String,
    #[serde(deserialize_with = "null_as_default")]
    note: String,
    #[serde(deserialize_with = "object")]
    source: RawSource,
    #[serde(deserialize_with = "object")]
    deprecated_source: RawSource,
    #[serde(deserialize_with = "null_as_default")]
    reporting_component: String,
    #[serde(deserialize_with = "null_as_default")]
    reporting_controller: String,
    #[serde(deserialize_with = "event_time")]
    event_time: Option<Timestamp>,
    #[serde(deserialize_with = "event_time")]
    first_timestamp: Option<Timestamp>,
    #[serde(deserialize_with = "event_time")]
    last_timestamp: Option<Timestamp>,
    #[serde(deserialize_with = "event_time")]
    deprecated_first_timestamp: Option<Timestamp>,
    #[serde(deserialize_with = "event_time")]
    deprecated_last_timestamp: Option<Timestamp>,
    count: Option<i64>,
    deprecated_count: Option<i64>,
    #[serde(deserialize_with = "optional_object")]
    series: Option<RawSeries>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawReference {
    #[serde(deserialize_with = "null_as_default")]
    kind: String,
    #[serde(deserialize_with = "null_as_default")]
    namespace: String,
    #[serde(deserialize_with = "null_as_default")]
    name: String,
    #[serde(deserialize_with = "null_as_default")]
    uid: String,
    #[serde(deserialize_with = "null_as_default")]
    field_path: String,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct RawSource {
    #[serde(deserialize_with = "null_as_default")]
    component: String,
    #[serde(deserialize_with = "null_as_default")]
    host: String,
}

#[derive(Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawSeries {
    count: Option<i64>,
    #[serde(deserialize_with = "event_time")]
    last_observed_time: Option<Timestamp>,
}

/// Reads a time. One that no clock shows, such as of the year 1, is none: whoever may create events can write it.
fn event_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    match text.parse() {
        Ok(time) => Ok(Some(time)),
        Err(_) if text.parse::<jiff::Timestamp>().is_ok() => Ok(None),
        Err(error) => Err(serde::de::Error::custom(error)),
    }
}

impl RawReference {
    fn pod(self) -> Option<PodReference> {
        let Self { kind, namespace, name, uid, .. } = self;
        (kind == "Pod" && !name.is_empty()).then_some(PodReference { namespace, name, uid })
    }

    /// Returns the container of a path as `spec.containers{NAME}` (`fieldPath`, `pkg/kubelet/container/ref.go`).
    fn container(&self) -> Option<String> {
        let (list, name) = self.field_path.strip_suffix('}')?.split_once('{')?;
        let is_list =
            ["spec.containers", "spec.initContainers", "spec.ephemeralContainers"].contains(&list);
        (is_list && !name.is_empty()).then(|| name.to_owned())
    }
}

fn first<const N: usize>(texts: [String; N]) -> String {
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

impl Raw {
    /// Returns the event, where it is about a pod.
    fn of_pod(self) -> Option<PodEvent> {
        let object = self.involved_object.or(self.regarding)?;
        let container = object.container();
        let pod = object.pod()?;
        let series = self.series.unwrap_or_default();
        let times = [
            self.event_time,
            self.first_timestamp,
            self.last_timestamp,
            self.deprecated_first_timestamp,
            self.deprecated_last_timestamp,
            series.last_observed_time,
        ];
        let (first_at, at) = (times.into_iter().flatten().min(), times.into_iter().flatten().max());
        Some(PodEvent {
            pod,
            container,
            related: self.related.and_then(RawReference::pod),
            reason: self.reason,
            message: if self.message.is_empty() { self.note } else { self.message },
            reporter: first([
                self.source.component,
                self.reporting_component,
                self.reporting_controller,
                self.deprecated_source.component,
            ]),
            host: first([self.source.host, self.deprecated_source.host]),
            first_at: first_at.filter(|first| Some(*first) != at),
            at,
            count: series.count.or(self.count).or(self.deprecated_count).unwrap_or(1).max(1),
        })
    }
}

impl<'de> Deserialize<'de> for Items {
    /// Keeps what is about pods, one by one: a cluster has a hundred thousand others.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EventItems;
        impl<'de> Visitor<'de> for EventItems {
            type Value = Items;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of events")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Items, A::Error> {
                let mut items = Items::default();
                while let Some(item) = seq.next_element::<Item>()? {
                    match item.0 {
                        Ok(event) => {
                            items.has_events = true;
                            items.of_pods.extend(event);
                        }
                        Err(kind) => {
                            items.other_kind.get_or_insert(kind);
                        }
                    }
                }
                Ok(items)
            }
        }
        deserializer.deserialize_seq(EventItems)
    }
}

/// An item of a list: an event, about a pod or not; or the kind of something else.
struct Item(Result<Option<PodEvent>, String>);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: Option<Raw> = optional_object(deserializer)?;
        let raw = raw.unwrap_or_default();
        // The items of an EventList may have no kind.
        let is_event = raw.kind == "Event"
            || (raw.kind.is_empty() && (raw.involved_object.is_some() || raw.regarding.is_some()));
        Ok(Self(match is_event {
            true => Ok(raw.of_pod()),
            false if raw.kind.is_empty() => Err("items without a kind".to_owned()),
            false => Err(format!("{}s", raw.kind)),
        }))
    }
}

/// Reads the events about pods: a list of `kubectl get events -o json` or `-o yaml`, a page of the API
/// server, or a single event.
/// Fails for anything else, with the field that is wrong.
pub fn read_events(bytes: &[u8]) -> Result<Vec<PodEvent>, EventsError> {
    let begins = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if begins == Some(&b'{') {
        let kind = of_json::<Head>(bytes)?.kind;
        return events_of(kind, || of_json(bytes), || of_json(bytes));
    }
    let refused = |reason| EventsError::NoObject { reason };
    let text = std::str::from_utf8(bytes).map_err(|error| refused(format!(": {error}")))?;
    let mut events = Vec::new();
    let mut is_empty = true;
    for document in yaml::documents(text).into_iter().filter(|document| !document.is_empty()) {
        is_empty = false;
        let read = yaml::read(document.text).map_err(|error| refused(format!(": {error}")))?;
        if !read.value.is_object() {
            return Err(refused(String::new()));
        }
        let kind = of_value::<Head>(&read.value)?.kind;
        events.extend(events_of(kind, || of_value(&read.value), || of_value(&read.value))?);
    }
    if is_empty { Err(EventsError::Empty) } else { Ok(events) }
}

fn events_of(
    kind: String,
    list: impl FnOnce() -> Result<List, EventsError>,
    event: impl FnOnce() -> Result<Raw, EventsError>,
) -> Result<Vec<PodEvent>, EventsError> {
    match kind.as_str() {
        "Event" => Ok(event()?.of_pod().into_iter().collect()),
        "List" | "EventList" => {
            let Items { of_pods, has_events, other_kind } = list()?.items;
            match other_kind {
                Some(kind) if !has_events => Err(EventsError::OtherItems { kind }),
                _ => Ok(of_pods),
            }
        }
        _ => Err(EventsError::Kind { kind }),
    }
}

fn of_json<'b, T: Deserialize<'b>>(bytes: &'b [u8]) -> Result<T, EventsError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(wrong_field)?;
    let end = reader.end();
    end.map_err(|error| EventsError::Syntax { path: String::new(), message: error.to_string() })?;
    Ok(value)
}

fn of_value<'v, T: Deserialize<'v>>(value: &'v serde_json::Value) -> Result<T, EventsError> {
    serde_path_to_error::deserialize(value).map_err(wrong_field)
}

fn wrong_field(error: serde_path_to_error::Error<serde_json::Error>) -> EventsError {
    let path = match error.path().to_string() {
        // Text that is not JSON has no fields yet.
        path if path == "." || path == "?" => String::new(),
        path => format!("{path}: "),
    };
    EventsError::Syntax { path, message: error.into_inner().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_kubelet() -> PodEvent {
        PodEvent {
            pod: PodReference {
                namespace: "shop".to_owned(),
                name: "web".to_owned(),
                uid: "u1".to_owned(),
            },
            container: None,
            related: None,
            reason: "Preempting".to_owned(),
            message: "Preempted in order to admit critical pod".to_owned(),
            reporter: "kubelet".to_owned(),
            host: "n1".to_owned(),
            first_at: Some("2026-11-20T11:25:45Z".parse().expect("a time")),
            at: Some("2026-11-20T11:25:46Z".parse().expect("a time")),
            count: 2,
        }
    }

    #[test]
    fn both_spellings_say_the_same() {
        let old = r#"{"kind":"List","items":[{"kind":"Event","involvedObject":{"kind":"Pod",
            "namespace":"shop","name":"web","uid":"u1"},"reason":"Preempting","message":"Preempted in order
             to admit critical pod","source":{"component":"kubelet","host":"n1"},"count":2,"eventTime":null,
            "firstTimestamp":"2026-11-20T11:25:45Z","lastTimestamp":"2026-11-20T11:25:46Z"}]}"#;
        let old = old.replace("order\n             to", "order to");
        let new = r#"{"kind":"EventList","items":[{"regarding":{"kind":"Pod","namespace":"shop",
            "name":"web","uid":"u1"},"reason":"Preempting","note":"Preempted in order to admit critical pod",
            "reportingController":"kubelet","deprecatedSource":{"host":"n1"},"deprecatedCount":2,
            "deprecatedFirstTimestamp":"2026-11-20T11:25:45Z",
            "deprecatedLastTimestamp":"2026-11-20T11:25:46Z"}]}"#;
        let yaml = "kind: Event\ninvolvedObject: {kind: Pod, namespace: shop, name: web, uid: u1}\nreason: \
                    Preempting\nmessage: Preempted in order to admit critical pod\nreportingComponent: \
                    kubelet\nsource: {host: n1}\neventTime: '2026-11-20T11:25:45.000000Z'\nseries: {count: \
                    2, lastObservedTime: '2026-11-20T11:25:46.000000Z'}\n";
        for text in [old.as_str(), new, yaml] {
            assert_eq!(read_events(text.as_bytes()).expect(text), [of_kubelet()], "{text}");
        }
    }

    #[test]
    fn what_is_about_others_is_passed_over() {
        let text = r#"{"kind":"List","items":[null,{"kind":"Pod","metadata":{"name":"a"}},
            {"kind":"Event","involvedObject":{"kind":"Node","name":"n1"},"reason":"NodeReady"},
            {"kind":"Event","involvedObject":{"kind":"Pod","name":"a"},"related":{"kind":"Node","name":"n"}},
            {"kind":"Event","firstTimestamp":"0001-01-02T00:00:00Z"}]}"#;
        let events = read_events(text.as_bytes()).expect("a list");
        assert_eq!(events.len(), 1);
        assert_eq!((&*events[0].pod.name, events[0].at, &events[0].related), ("a", None, &None));
        assert!(read_events(br#"{"kind":"EventList","items":null}"#).expect("none").is_empty());
    }

    #[test]
    fn what_is_no_event_is_refused_by_name() {
        for (text, expected) in [
            ("", "it is empty, expected events"),
            (" \n", "it is empty, expected events"),
            ("---\n# nothing\n", "it is empty, expected events"),
            (r#"{"kind":"PodList","items":[]}"#, "kind \"PodList\", expected List"),
            ("{}", "kind \"\", expected List"),
            (
                r#"{"kind":"List","items":[{"kind":"Pod"}]}"#,
                "a list of Pods, with no event among them",
            ),
            (
                r#"{"kind":"List","items":{}}"#,
                "items: invalid type: map, expected a list of events",
            ),
            (r#"{"kind":"List","items":[{"#, "EOF while parsing"),
            (r#"{"kind":"List","items":[]} x"#, "trailing characters"),
            (
                r#"{"kind":"List","items":[{"kind":"Event","lastTimestamp":"now"}]}"#,
                "items[0].lastTimestamp: \"now\" is not a time",
            ),
            (
                r#"{"kind":"List","items":[{"kind":"Event","reason":7}]}"#,
                "items[0].reason: invalid type: integer `7`",
            ),
            ("kind: [", "not JSON or YAML: "),
            ("[]", "not JSON or YAML; expected"),
            ("No resources found", "not JSON or YAML; expected"),
            (
                "NAMESPACE   LAST SEEN   TYPE\nshop   5m   Normal   pod/web   Stopping c\n",
                "not JSON or YAML; expected the output of kubectl get events -A -o json",
            ),
            ("LAST SEEN\n5m   Error: a\n", "YAML: mapping values are not allowed"),
        ] {
            let error = read_events(text.as_bytes()).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(read_events(b"\xff\xfe").is_err());
    }
}
