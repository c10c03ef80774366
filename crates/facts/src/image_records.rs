//! kq's records of the images of a node over time.
//!
//! The kubelet has such records in memory only and does not report them. These are kept in a file, with what
//! bounds the difference from the kubelet's own: when an image was last seen to be
//! absent, and since when it has been seen in use, or unused.

use crate::timestamp::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

/// The version of the format.
pub const API_VERSION: &str = "kq/v1";

/// The kind of the value.
pub const KIND: &str = "ImageRecords";

/// The default path of the file, on the node.
pub const DEFAULT_PATH: &str = "/var/lib/kq/image-records.json";

/// A file that is larger is none of kq's.
pub const LARGEST: usize = 64 << 20;

/// All records, as of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImageRecords {
    /// `kq/v1`
    pub api_version: String,
    /// `ImageRecords`
    pub kind: String,
    /// The last detection.
    pub detected_at: Timestamp,
    /// Since then no two detections were far apart: what came and went in between was there only
    /// shortly.
    pub unbroken_since: Timestamp,
    /// The images, by id and handler.
    #[serde(deserialize_with = "in_order")]
    pub images: Vec<ImageRecord>,
}

/// Reads records in any order: they are found by bisection.
fn in_order<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ImageRecord>, D::Error> {
    let mut images = Vec::<ImageRecord>::deserialize(deserializer)?;
    images.sort_by(|one, other| one.key().cmp(&other.key()));
    Ok(images)
}

/// The record of one image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImageRecord {
    pub id: String,
    /// The class of runtime for which it was pulled; empty is the default.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub runtime_handler: String,
    /// The last detection that did not find it; `None`: the first one ever found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent_at: Option<Timestamp>,
    /// The first detection that found it.
    pub first_detected: Timestamp,
    /// The first of the last unbroken row of detections that found it in use; `None`: none ever did.
    /// A row ends with a detection that found it unused, and where two are far apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_since: Option<Timestamp>,
    /// The last detection that found it in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used: Option<Timestamp>,
    /// The first detection after that which found it unused, or of all, where none found it in use;
    /// `None`: it is in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unused_at: Option<Timestamp>,
}

/// Why a text is not a record file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordsError {
    /// It is too large.
    #[error("more than {} MiB", LARGEST >> 20)]
    Large,
    /// Not JSON, or a field is missing or has another type.
    #[error("{path}: {message}")]
    Field {
        /// The field.
        path: String,
        message: String,
    },
    /// It is of another kind.
    #[error("kind {kind:?} of apiVersion {version:?}, expected {KIND} of {API_VERSION}")]
    Kind {
        kind: String,
        /// The version of its format.
        version: String,
    },
    /// Times that contradict each other.
    #[error("images[{index}].{field}: {time} is after {after}, {what}")]
    Order {
        index: usize,
        field: &'static str,
        time: Timestamp,
        /// The time that it must not exceed.
        after: Timestamp,
        what: &'static str,
    },
    /// A row of detections that begins after its end.
    #[error("unbrokenSince: {unbroken_since} is after {detected_at}, detectedAt")]
    Row {
        /// When it begins.
        unbroken_since: Timestamp,
        /// The last detection.
        detected_at: Timestamp,
    },
    /// A time that never comes without another.
    #[error("images[{index}].{field}: {other} is missing")]
    Alone {
        index: usize,
        field: &'static str,
        /// The missing field.
        other: &'static str,
    },
    /// Two records of one image.
    #[error("images[{index}].id: {id:?} is a duplicate")]
    Twice { index: usize, id: String },
}

impl ImageRecords {
    /// Reads a stored file.
    /// Fails for everything that kq does not write, with the wrong field.
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordsError> {
        if bytes.len() > LARGEST {
            return Err(RecordsError::Large);
        }
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let field = |path: String, message: String| RecordsError::Field {
            path: if path == "." { "the file".to_owned() } else { path },
            message,
        };
        let records: Self = serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| field(error.path().to_string(), error.into_inner().to_string()))?;
        reader.end().map_err(|error| field(".".to_owned(), error.to_string()))?;
        if records.api_version != API_VERSION || records.kind != KIND {
            let Self { api_version: version, kind, .. } = records;
            return Err(RecordsError::Kind { kind, version });
        }
        records.check()?;
        Ok(records)
    }

    pub fn get(&self, id: &str, runtime_handler: &str) -> Option<&ImageRecord> {
        let place = self.images.binary_search_by(|record| record.key().cmp(&(id, runtime_handler)));
        place.ok().and_then(|index| self.images.get(index))
    }

    fn check(&self) -> Result<(), RecordsError> {
        if self.unbroken_since > self.detected_at {
            return Err(RecordsError::Row {
                unbroken_since: self.unbroken_since,
                detected_at: self.detected_at,
            });
        }
        let mut before = None;
        for (index, record) in self.images.iter().enumerate() {
            if before.is_some_and(|before| before >= record.key()) {
                return Err(RecordsError::Twice { index, id: record.id.clone() });
            }
            before = Some(record.key());
            record.check(index, self.detected_at)?;
        }
        Ok(())
    }
}

impl ImageRecord {
    /// Returns the key that identifies and orders records.
    pub fn key(&self) -> (&str, &str) {
        (&self.id, &self.runtime_handler)
    }

    /// Returns true if its times follow each other: it came, was used, rested, and all that before the
    /// last detection.
    fn check(&self, index: usize, detected_at: Timestamp) -> Result<(), RecordsError> {
        let alone = |field, other| Err(RecordsError::Alone { index, field, other });
        match (self.used_since, self.last_used) {
            (Some(_), None) => return alone("usedSince", "lastUsed"),
            (None, Some(_)) => return alone("lastUsed", "usedSince"),
            _ => {}
        }
        let row = [
            ("absentAt", self.absent_at),
            ("firstDetected", Some(self.first_detected)),
            ("usedSince", self.used_since),
            ("lastUsed", self.last_used),
            ("unusedAt", self.unused_at),
            ("detectedAt", Some(detected_at)),
        ];
        let mut known = row.into_iter().filter_map(|(field, time)| Some((field, time?))).peekable();
        while let Some((field, time)) = known.next() {
            if let Some(&(what, after)) = known.peek().filter(|(_, after)| time > *after) {
                return Err(RecordsError::Order { index, field, time, after, what });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"apiVersion":"kq/v1","kind":"ImageRecords",
        "detectedAt":"2026-11-20T12:10:00Z","unbrokenSince":"2026-11-20T12:00:00Z","images":[
        {"id":"sha256:a","firstDetected":"2026-11-20T12:00:00Z"},
        {"id":"sha256:b","absentAt":"2026-11-20T12:00:00Z","firstDetected":"2026-11-20T12:05:00Z",
         "usedSince":"2026-11-20T12:05:00Z","lastUsed":"2026-11-20T12:05:00Z",
         "unusedAt":"2026-11-20T12:10:00Z"}]}"#;

    #[test]
    fn what_is_written_is_read_again() {
        let records = ImageRecords::parse(GOOD.as_bytes()).expect("a good file");
        let written = serde_json::to_vec(&records).expect("it can be written");
        assert_eq!(ImageRecords::parse(&written), Ok(records.clone()));
        assert!(records.get("sha256:b", "").is_some_and(|record| record.last_used.is_some()));
        assert_eq!(records.get("sha256:b", "kata"), None);
        assert_eq!(records.get("sha256:c", ""), None);
    }

    #[test]
    fn records_are_found_in_any_order() {
        let mut turned = ImageRecords::parse(GOOD.as_bytes()).expect("a good file");
        turned.images.reverse();
        let written = serde_json::to_vec(&turned).expect("it can be written");
        assert_eq!(ImageRecords::parse(&written), ImageRecords::parse(GOOD.as_bytes()));
    }

    #[test]
    fn what_kq_does_not_write_is_refused_by_name() {
        for (name, from, to, expected) in [
            ("garbage", r#"{"apiVersion""#, "\0\0\0", "the file: expected value"),
            ("cut off", r#"{"id":"sha256:b""#, "", "images[1]: expected value"),
            ("a version", "kq/v1", "kq/v2", "kind \"ImageRecords\" of apiVersion \"kq/v2\""),
            ("a kind", "ImageRecords", "Pod", "kind \"Pod\" of"),
            ("a time", "2026-11-20T12:10:00Z\",\"unb", "now\",\"unb", "detectedAt: \"now\" is no"),
            ("the future", "12:05:00Z\",\n", "12:55:00Z\",\n", "images[1].firstDetected: 2026"),
            (
                "a row",
                "unbrokenSince\":\"2026-11-20T12:00",
                "unbrokenSince\":\"2026-11-20T12:50",
                "unbrokenSince: 2026",
            ),
            (
                "used without an end",
                "\"lastUsed\":\"2026-11-20T12:05:00Z\",",
                "",
                "images[1].usedSince: lastUsed is missing",
            ),
            (
                "used before it came",
                "usedSince\":\"2026-11-20T12:05",
                "usedSince\":\"2026-11-20T12:01",
                "images[1].firstDetected: 2026",
            ),
            (
                "unused before it was used",
                "unusedAt\":\"2026-11-20T12:10",
                "unusedAt\":\"2026-11-20T12:04",
                "images[1].lastUsed: 2026",
            ),
            ("a field", "absentAt", "abscentAt", "images[1].abscentAt: unknown field"),
            ("twice", "sha256:b", "sha256:a", "images[1].id: \"sha256:a\" is a duplicate"),
        ] {
            assert!(GOOD.contains(from), "{name}: nothing to replace");
            let text = GOOD.replacen(from, to, 1);
            let error = ImageRecords::parse(text.as_bytes()).expect_err(name).to_string();
            assert!(error.starts_with(expected), "{name}: {error}");
        }
    }
}
