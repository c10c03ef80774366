//! What can be known from outside of the times that the kubelet keeps in memory.
//!
//! It remembers of each image when it first found it and when it last found it in use, and reports
//! neither. It finds both out every five minutes, and once more with every collection
//! (`detectImages` in `pkg/kubelet/images/image_gc_manager.go`), from nothing after each start. So each
//! time lies between two others, which the start of the kubelet, the creation of containers and kq's
//! own records bring closer together.

use crate::cycle::{Record, age_of};
use crate::record::LONGEST_GAP;
use kq_facts::image_records::{ImageRecord, ImageRecords};
use kq_facts::timestamp::Timestamp;
use kq_k8s::duration::GoDuration;
use serde::Serialize;

/// Within such a time the kubelet looks at all images at least once: five minutes, and what a slow
/// runtime may take to list them.
pub const DETECTION_PERIOD: GoDuration = GoDuration(5 * 60_000_000_000 + 15_000_000_000);

/// A kubelet needs such a time at most from its start as a process to its first look at the images and
/// its first collection. It does not start at all while the runtime does not answer.
pub const STARTING: GoDuration = GoDuration::MINUTE;

/// The assumptions of an answer that uses records.
pub const ASSUMPTIONS: [&str; 3] = [
    "the kubelet checks the images within a minute of its start and then every 5m",
    "no image was in use, unused, or gone only between two detections of kq gc record that are at most \
     10m apart",
    "no image was removed by another program and pulled again before the kubelet's next check",
];

/// What is known of the kubelet's memory as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The moment that is asked about.
    pub now: Timestamp,
    /// When the kubelet started; `None`: unknown, it may be long ago.
    pub kubelet_start: Option<Timestamp>,
    /// kq's own records.
    pub records: Option<&'a ImageRecords>,
}

/// What is known of the kubelet's record of an image that is not in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageTimes {
    /// When it was first found.
    pub first_detected: Span,
    /// When it was last found in use.
    pub last_used: LastUse,
    /// The likely first detection; null: before everything else.
    pub likely_first_detected: Option<Timestamp>,
    /// The likely last use; null: never.
    pub likely_last_used: Option<Timestamp>,
    /// How close this is.
    pub basis: RecordCoverage,
}

/// A time between two others, both possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    /// Null: any time before.
    pub earliest: Option<Timestamp>,
    /// Not after this.
    pub latest: Timestamp,
}

impl Span {
    /// Times that contradict each other, such as a container that is older than its image, leave the
    /// later one.
    fn in_order(self) -> Self {
        Self { latest: self.latest.max(self.earliest.unwrap_or(self.latest)), ..self }
    }

    /// Returns the time within it that is nearest to another one.
    fn nearest(self, time: Timestamp) -> Timestamp {
        time.max(self.earliest.unwrap_or(time)).min(self.latest)
    }
}

/// When an image was last found in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastUse {
    /// It may be that the kubelet never found it in use.
    pub may_be_never: bool,
    /// The time; null: never.
    pub span: Option<Span>,
}

/// What knowledge rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RecordCoverage {
    /// Nothing: not even the kubelet's start is known.
    Nothing,
    /// The start of the kubelet.
    Start,
    /// Records that begin after the kubelet's start, or have gaps.
    PartialRecords,
    /// Records of all the time since the kubelet's start.
    Records,
}

/// The kubelet's order of age, as it may be at the one end or at the other.
type Age = (Option<Timestamp>, Option<Timestamp>);

impl ImageTimes {
    /// Returns what is known of an image that is unused now. `created` is when the oldest container
    /// was created that is known to have used it.
    ///
    /// What records say holds while nothing happened only between two of their detections: see
    /// [`ASSUMPTIONS`].
    pub fn of(
        sources: Sources<'_>,
        id: &str,
        runtime_handler: &str,
        created: Option<Timestamp>,
    ) -> Self {
        let Sources { now, kubelet_start, records } = sources;
        let Some(records) = records else { return Self::without_records(sources, created) };
        if records.detected_at > now {
            return Self::after_the_clock_went_back(sources);
        }
        let unknown = ImageRecord {
            absent_at: Some(records.detected_at),
            first_detected: now,
            ..ImageRecord::default()
        };
        let record = records.get(id, runtime_handler).unwrap_or(&unknown);
        let is_fresh = now.since(records.detected_at) <= LONGEST_GAP.0;
        // Whatever happened before this may have gone unseen.
        let seen_from = if is_fresh { records.unbroken_since } else { now };

        // The kubelet's memory of it does not begin before this: the later of the two.
        let earliest = record.absent_at.max(kubelet_start);
        // In a long gap of the records it may have gone and come again.
        let there = record.first_detected.max(seen_from);
        let first_detected = Span { earliest, latest: latest_find(sources, there, created) };

        let is_complete = earliest.is_some_and(|earliest| seen_from <= earliest);
        let last_used = last_use(sources, record, seen_from, earliest);
        let first_detected = first_detected.in_order();
        let is_since_start = |used: &Timestamp| kubelet_start.is_none_or(|start| *used >= start);
        let likely_last_used = record.last_used.filter(is_since_start).zip(last_used.span);
        Self {
            first_detected,
            last_used,
            // What was there at the first look was there before it, for all that is known.
            likely_first_detected: match record.absent_at {
                None => kubelet_start.map(|start| first_detected.nearest(start)),
                Some(_) => Some(first_detected.nearest(record.first_detected)),
            },
            likely_last_used: likely_last_used.map(|(used, span)| span.nearest(used)),
            basis: if is_complete && kubelet_start.is_some() {
                RecordCoverage::Records
            } else {
                RecordCoverage::PartialRecords
            },
        }
    }

    fn without_records(sources: Sources<'_>, created: Option<Timestamp>) -> Self {
        let Sources { now, kubelet_start, .. } = sources;
        let first_detected =
            Span { earliest: kubelet_start, latest: latest_find(sources, now, created) };
        Self {
            first_detected: first_detected.in_order(),
            last_used: LastUse {
                may_be_never: true,
                span: Some(Span { earliest: kubelet_start, latest: now }),
            },
            likely_first_detected: kubelet_start,
            likely_last_used: None,
            basis: if kubelet_start.is_some() {
                RecordCoverage::Start
            } else {
                RecordCoverage::Nothing
            },
        }
    }

    /// The kubelet may remember times that are still to come, as kq does, and then the ages that it
    /// computes say nothing.
    fn after_the_clock_went_back(sources: Sources<'_>) -> Self {
        let any = Span { earliest: None, latest: Timestamp(i64::MAX) };
        Self {
            first_detected: any,
            last_used: LastUse { may_be_never: true, span: Some(any) },
            likely_first_detected: sources.kubelet_start,
            likely_last_used: None,
            basis: RecordCoverage::Nothing,
        }
    }

    /// Puts the likely times into a record.
    pub fn put_likely(&self, record: &mut Record) {
        record.first_detected = self.likely_first_detected;
        record.last_used = self.likely_last_used;
    }

    /// Returns the first place that this can have in the order in which images go.
    pub fn first_place(&self) -> Age {
        let used = match self.last_used {
            LastUse { may_be_never: false, span: Some(span) } => span.earliest,
            _ => None,
        };
        (used, self.first_detected.earliest)
    }

    /// Returns the last place that this can have in the order in which images go.
    pub fn last_place(&self) -> Age {
        (self.last_used.span.map(|span| span.latest), Some(self.first_detected.latest))
    }

    /// Returns true if the kubelet may remember a use that is still to come.
    pub fn may_be_used_after(&self, now: Timestamp) -> bool {
        self.last_used.span.is_some_and(|span| span.latest > now)
    }

    /// Returns true if it is younger than an age, as far as that is known.
    pub fn is_younger(&self, age: GoDuration, now: Timestamp) -> Tristate {
        let Span { earliest, latest } = self.first_detected;
        let younger = |then| age_of(now, then) < age.0;
        Tristate::of(younger(earliest), younger(Some(latest)))
    }

    /// Returns true if it has been unused for longer than an age, as far as that is known.
    pub fn is_unused_for(&self, age: GoDuration, now: Timestamp) -> Tristate {
        let longer = |then| age_of(now, then) > age.0;
        let (first, last) = (self.first_place().0, self.last_place().0);
        Tristate::of(longer(first), longer(last))
    }
}

/// Returns the last moment at which the kubelet can have found an image that is known to have been there
/// at one moment, and to be in use since another one.
fn latest_find(sources: Sources<'_>, there: Timestamp, created: Option<Timestamp>) -> Timestamp {
    let Sources { now, kubelet_start, .. } = sources;
    // A kubelet with an unknown start may have started just now, from nothing.
    let Some(start) = kubelet_start else { return now };
    let there = created.map_or(there, |created| created.min(there));
    let within = if there <= start { STARTING } else { DETECTION_PERIOD };
    there.max(start).plus(within.0).min(now)
}

/// What is known of the last use from a record. Nothing is known of before `seen_from` but what the
/// record says, and the kubelet's memory does not begin before `earliest`.
fn last_use(
    sources: Sources<'_>,
    record: &ImageRecord,
    seen_from: Timestamp,
    earliest: Option<Timestamp>,
) -> LastUse {
    let Sources { now, kubelet_start, .. } = sources;
    let never = LastUse { may_be_never: true, span: None };
    let is_forgotten = |time: Timestamp| earliest.is_some_and(|earliest| time <= earliest);
    let (Some(used), Some(since)) = (record.last_used, record.used_since) else {
        // Never seen in use; what was before is not known unless records reach back that far.
        return match is_forgotten(seen_from) {
            true => never,
            false => {
                LastUse { may_be_never: true, span: Some(Span { earliest, latest: seen_from }) }
            }
        };
    };
    // What was in use when it was last looked at came out of use some time since; and it may have been
    // used again in a gap of the records.
    let latest = record.unused_at.unwrap_or(now).max(seen_from);
    if is_forgotten(latest) {
        return never;
    }
    let since = since.max(kubelet_start.unwrap_or(since));
    // Long enough for the kubelet to have looked at least once, if it is still the same kubelet, and
    // if the image did not go and come again in a gap of the records.
    let was_seen = kubelet_start.is_some() && used.since(since) >= DETECTION_PERIOD.0;
    let is_remembered = was_seen && seen_from <= used;
    let back = used.plus(-DETECTION_PERIOD.0);
    let earliest = if was_seen { earliest.max(Some(back)) } else { earliest };
    LastUse { may_be_never: !is_remembered, span: Some(Span { earliest, latest }) }
}

/// An answer that may depend on what is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tristate {
    /// Whatever is not known.
    Never,
    /// It depends on what is not known.
    Perhaps,
    /// Whatever is not known.
    Always,
}

impl Tristate {
    /// Puts the answers at both ends together.
    pub fn of(one: bool, other: bool) -> Self {
        match (one, other) {
            (true, true) => Self::Always,
            (false, false) => Self::Never,
            _ => Self::Perhaps,
        }
    }
}
