//! One detection of images: what is recorded of them after it.
//!
//! The rules are those of `detectImages` in `pkg/kubelet/images/image_gc_manager.go` of Kubernetes: an
//! image that is new was first detected now, one that is in use was last used now, and one that is
//! not listed any more is forgotten. The times beyond these say how sure kq can be of them, because
//! the kubelet looks at other moments than kq.

use crate::cycle::Keys;
use kq_facts::image_records::{API_VERSION, ImageRecord, ImageRecords, KIND};
use kq_facts::runtime::Image;
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use std::collections::BTreeMap;

/// How far apart two detections may be in an unbroken row.
///
/// The kubelet detects images every five minutes (`imageManager.Start` in
/// `pkg/kubelet/images/image_gc_manager.go`); a timer that turns as often is late at times, and must
/// not break the row when it is.
pub const LONGEST_GAP: GoDuration = GoDuration(10 * GoDuration::MINUTE.0);

/// Why nothing was recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Times would go backwards, and every age with them.
    #[error(
        "the clock says {now}, which is {} before the last detection at {detected_at}",
        GoDuration(detected_at.since(*now))
    )]
    Clock {
        /// What the clock says.
        now: Timestamp,
        /// The last detection.
        detected_at: Timestamp,
    },
}

impl RecordError {
    /// Returns what can be done about it, as a sentence without a full stop.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Clock { .. } => {
                "set the clock, or wait until it has caught up; if it is right now and was wrong \
                 then, move the file of records away to start new ones"
            }
        }
    }
}

/// Returns by which key an image is looked for among those in use: its id, and the class of runtime
/// where one is given.
///
/// The kubelet looks at the class with the feature gate `RuntimeClassInImageCriApi` only; without it,
/// images are to be given without one.
pub fn key(id: &str, runtime_handler: &str) -> String {
    match runtime_handler {
        "" => id.to_owned(),
        handler => format!("{id},{handler}"),
    }
}

/// Returns the records after a detection: the images of the runtime, and the keys of those in use.
///
/// A key in use that no image has says nothing, as in the kubelet.
/// Fails when the clock is behind the last detection. What was recorded before is still right then.
pub fn record(
    before: Option<&ImageRecords>,
    now: Timestamp,
    images: &[Image],
    in_use: &Keys,
) -> Result<ImageRecords, RecordError> {
    if let Some(before) = before.filter(|before| before.detected_at > now) {
        return Err(RecordError::Clock { now, detected_at: before.detected_at });
    }
    let unbroken = before.filter(|before| now.since(before.detected_at) <= LONGEST_GAP.0);
    // In a list that names an image twice there is still one record of it.
    let mut records = BTreeMap::new();
    for image in images {
        let known = before.and_then(|before| before.get(&image.id, &image.runtime_handler));
        let mut record = known.cloned().unwrap_or_else(|| ImageRecord {
            id: image.id.clone(),
            runtime_handler: image.runtime_handler.clone(),
            absent_at: before.map(|before| before.detected_at),
            first_detected: now,
            ..ImageRecord::default()
        });
        let was_in_use = record.unused_at.is_none();
        if in_use.contains(&*key(&image.id, &image.runtime_handler)) {
            // What happened in a long time without a look is not known, so a row ends there.
            let goes_on = was_in_use && unbroken.is_some();
            record.used_since = record.used_since.filter(|_| goes_on).or(Some(now));
            record.last_used = Some(now);
            record.unused_at = None;
        } else if was_in_use {
            record.unused_at = Some(now);
        }
        records.insert((image.id.as_str(), image.runtime_handler.as_str()), record);
    }
    Ok(ImageRecords {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        detected_at: now,
        unbroken_since: unbroken.map_or(now, |before| before.unbroken_since),
        images: records.into_values().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = GoDuration::MINUTE.0;

    fn image(id: &str, handler: &str) -> Image {
        Image { id: id.to_owned(), runtime_handler: handler.to_owned(), ..Image::default() }
    }

    fn at(minute: i64) -> Timestamp {
        Timestamp(minute * MINUTE)
    }

    /// Records detections, each a minute, the images listed and the keys in use.
    fn recorded(steps: &[(i64, &[&str], &[&str])]) -> ImageRecords {
        let step = |before: Option<ImageRecords>,
                    (minute, images, in_use): &(i64, &[&str], &[&str])| {
            let images: Vec<Image> = images
                .iter()
                .map(|name| name.split_once('/').unwrap_or((name, "")))
                .map(|(id, handler)| image(id, handler))
                .collect();
            let in_use = in_use.iter().map(|&key| key.into()).collect();
            let after =
                record(before.as_ref(), at(*minute), &images, &in_use).expect("the clock goes on");
            let bytes = serde_json::to_vec(&after).expect("records can be written");
            assert_eq!(ImageRecords::parse(&bytes), Ok(after.clone()), "read back");
            Some(after)
        };
        steps.iter().fold(None, step).expect("there is a step")
    }

    #[test]
    fn what_is_recorded_of_one_image() {
        type Steps<'a> = &'a [(i64, &'a [&'a str], &'a [&'a str])];
        const A: &[&str] = &["a"];
        let of = |first,
                  absent: Option<i64>,
                  since: Option<i64>,
                  last: Option<i64>,
                  unused: Option<i64>| {
            Some(ImageRecord {
                id: "a".to_owned(),
                runtime_handler: String::new(),
                absent_at: absent.map(at),
                first_detected: at(first),
                used_since: since.map(at),
                last_used: last.map(at),
                unused_at: unused.map(at),
            })
        };
        let rows: [(&str, Steps<'_>, Option<ImageRecord>); 12] = [
            ("found by the first, unused", &[(0, A, &[])], of(0, None, None, None, Some(0))),
            ("found by the first, in use", &[(0, A, A)], of(0, None, Some(0), Some(0), None)),
            (
                "it came",
                &[(0, &[], &[]), (5, &[], &[]), (9, A, &[])],
                of(9, Some(5), None, None, Some(9)),
            ),
            (
                "stays in use",
                &[(0, A, A), (5, A, A), (10, A, A)],
                of(0, None, Some(0), Some(10), None),
            ),
            (
                "no longer in use",
                &[(0, A, A), (5, A, &[]), (10, A, &[])],
                of(0, None, Some(0), Some(0), Some(5)),
            ),
            (
                "in use again",
                &[(0, A, A), (5, A, &[]), (10, A, A), (15, A, A)],
                of(0, None, Some(10), Some(15), None),
            ),
            ("used late", &[(0, A, &[]), (5, A, A)], of(0, None, Some(5), Some(5), None)),
            ("a gap that may be", &[(0, A, A), (10, A, A)], of(0, None, Some(0), Some(10), None)),
            (
                "a gap ends the row in use",
                &[(0, A, A), (11, A, A)],
                of(0, None, Some(11), Some(11), None),
            ),
            (
                "a gap does not end a rest",
                &[(0, A, A), (5, A, &[]), (60, A, &[])],
                of(0, None, Some(0), Some(0), Some(5)),
            ),
            ("gone", &[(0, A, A), (5, &[], A)], None),
            (
                "pulled again",
                &[(0, A, A), (5, &[], &[]), (10, A, &[])],
                of(10, Some(5), None, None, Some(10)),
            ),
        ];
        for (name, steps, expected) in rows {
            assert_eq!(recorded(steps).get("a", ""), expected.as_ref(), "{name}");
        }
    }

    #[test]
    fn the_row_of_detections_breaks_where_nobody_looked() {
        for (name, minutes, expected) in [
            ("one", &[7][..], 7),
            ("often", &[0, 5, 10, 20], 0),
            ("just too late", &[0, 5, 16, 20], 16),
            ("again", &[0, 60, 120, 125], 120),
            ("twice at once", &[3, 3], 3),
        ] {
            let steps: Vec<(i64, &[&str], &[&str])> =
                minutes.iter().map(|minute| (*minute, &[][..], &[][..])).collect();
            assert_eq!(recorded(&steps).unbroken_since, at(expected), "{name}");
        }
    }

    #[test]
    fn images_are_told_apart_as_the_kubelet_does() {
        let used = |records: &ImageRecords, id: &str, handler: &str| {
            records.get(id, handler).expect("it is listed").last_used.is_some()
        };
        let listed: &[&str] = &["b/kata", "a", "a/kata", "a"];
        let records = recorded(&[(0, listed, &["a", "gone", "b"])]);
        let keys: Vec<_> = records.images.iter().map(ImageRecord::key).collect();
        assert_eq!(keys, [("a", ""), ("a", "kata"), ("b", "kata")], "one record each, in order");
        assert!(used(&records, "a", "") && !used(&records, "a", "kata"));
        assert!(!used(&records, "b", "kata"), "a bare id keeps nothing under a handler");
        let records = recorded(&[(0, listed, &["a,kata"])]);
        assert!(used(&records, "a", "kata") && !used(&records, "a", ""));
    }

    #[test]
    fn a_clock_that_went_back_changes_nothing() {
        let before = recorded(&[(0, &["a"], &["a"]), (90, &["a"], &["a"])]);
        let error = record(Some(&before), at(30), &[], &Keys::default()).expect_err("the past");
        assert_eq!(
            error.to_string(),
            "the clock says 1970-01-01T00:30:00Z, which is 1h0m0s before the last detection at \
             1970-01-01T01:30:00Z"
        );
        assert!(error.hint().contains("move the file"));
        let (first, last) = (Timestamp(i64::MIN), Timestamp(i64::MAX));
        let ends = |now| ImageRecords { detected_at: now, unbroken_since: now, ..before.clone() };
        assert!(record(Some(&ends(last)), first, &[], &Keys::default()).is_err());
        let after = record(Some(&ends(first)), last, &[], &Keys::default()).expect("it went on");
        assert_eq!(after.unbroken_since, last, "the longest gap there is");
    }
}
