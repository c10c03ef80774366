//! What can be known from outside of the times that the kubelet keeps in memory.
//!
//! It remembers of each image when it first found it and when it last found it in use, and tells
//! nobody. It finds both out every five minutes, and once more with every collection
//! (`detectImages` in `pkg/kubelet/images/image_gc_manager.go`), from nothing after each start. So each
//! time lies between two others, which the start of the kubelet, the creation of containers and kq's
//! own records bring closer together.

use crate::facts::image_records::{ImageRecord, ImageRecords};
use crate::facts::timestamp::Timestamp;
use crate::image_gc::cycle::Record;
use crate::image_gc::record::LONGEST_GAP;
use crate::k8s::duration::GoDuration;
use serde::Serialize;

/// Within such a time the kubelet looks at all images at least once: five minutes, and what a slow
/// runtime may take to list them.
pub const DETECTION_PERIOD: GoDuration = GoDuration(5 * 60_000_000_000 + 15_000_000_000);

/// What is known of the kubelet's memory as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The moment that is asked about.
    pub now: Timestamp,
    /// When the kubelet started; `None`: nobody knows, it may be long ago.
    pub kubelet_start: Option<Timestamp>,
    /// kq's own records.
    pub records: Option<&'a ImageRecords>,
}

/// What is known of the kubelet's record of an image that is not in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Known {
    /// When it was first found.
    pub first_detected: Span,
    /// When it was last found in use.
    pub last_used: LastUse,
    /// The likely first detection; `None`: before everything else.
    pub likely_first_detected: Option<Timestamp>,
    /// The likely last use; `None`: never.
    pub likely_last_used: Option<Timestamp>,
    /// How close this is.
    pub basis: Basis,
}

/// A time between two others, both possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    /// `None`: any time before.
    pub earliest: Option<Timestamp>,
    /// Not after this.
    pub latest: Timestamp,
}

/// When an image was last found in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LastUse {
    /// It may be that the kubelet never found it in use.
    pub may_be_never: bool,
    /// When, if ever; `None`: never.
    pub span: Option<Span>,
}

/// What knowledge rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Basis {
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

impl Known {
    /// Returns what is known of an image that is unused now. `created` is when the oldest container
    /// was created that is known to have used it.
    pub fn of(
        sources: Sources<'_>,
        id: &str,
        runtime_handler: &str,
        created: Option<Timestamp>,
    ) -> Self {
        let Sources { now, kubelet_start, records } = sources;
        let Some(records) = records else { return Self::without_records(sources, created) };
        let unknown = ImageRecord {
            absent_at: Some(records.detected_at),
            first_detected: now,
            ..ImageRecord::default()
        };
        let record = records.get(id, runtime_handler).unwrap_or(&unknown);
        let since_start = |time: Timestamp| kubelet_start.map_or(time, |start| time.max(start));
        let period = DETECTION_PERIOD.0;

        let earliest = match (record.absent_at, kubelet_start) {
            (Some(absent), _) => Some(since_start(absent)),
            (None, start) => start,
        };
        let mut latest = since_start(record.first_detected).plus(period).min(now);
        if let Some(created) = created {
            latest = latest.min(since_start(created).plus(period));
        }
        let first_detected = Span { earliest, latest: latest.max(earliest.unwrap_or(latest)) };

        // How far the records reach: what lies outside is not known.
        let is_fresh = now.since(records.detected_at) <= LONGEST_GAP.0;
        let seen_from =
            record.absent_at.unwrap_or(records.unbroken_since).max(records.unbroken_since);
        let covers_start = kubelet_start.is_some_and(|start| seen_from <= start);
        let is_complete = is_fresh && (covers_start || record.absent_at.is_some());

        let last_used = last_use(sources, record, seen_from, is_fresh, is_complete);
        let likely =
            record.last_used.filter(|used| kubelet_start.is_none_or(|start| *used >= start));
        Self {
            first_detected,
            last_used,
            likely_first_detected: Some(since_start(record.first_detected)),
            likely_last_used: likely,
            basis: if is_complete { Basis::Records } else { Basis::PartialRecords },
        }
    }

    fn without_records(sources: Sources<'_>, created: Option<Timestamp>) -> Self {
        let Sources { now, kubelet_start, .. } = sources;
        let mut latest = now;
        if let Some(created) = created {
            let seen = kubelet_start.map_or(created, |start| created.max(start));
            latest = seen.plus(DETECTION_PERIOD.0).min(now);
        }
        Self {
            first_detected: Span {
                earliest: kubelet_start,
                latest: latest.max(kubelet_start.unwrap_or(latest)),
            },
            last_used: LastUse {
                may_be_never: true,
                span: Some(Span { earliest: kubelet_start, latest: now }),
            },
            likely_first_detected: kubelet_start,
            likely_last_used: None,
            basis: if kubelet_start.is_some() { Basis::Start } else { Basis::Nothing },
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

    /// Tells whether it is younger than an age, as far as that is known.
    pub fn is_younger(&self, age: GoDuration, now: Timestamp) -> Answer {
        let younger = |then: Option<Timestamp>| match then {
            Some(then) => now.since(then) < age.0,
            // Before everything: as old as can be.
            None => false,
        };
        let Span { earliest, latest } = self.first_detected;
        Answer::of(younger(earliest), younger(Some(latest)))
    }

    /// Tells whether it has been unused for longer than an age, as far as that is known.
    pub fn is_unused_for(&self, age: GoDuration, now: Timestamp) -> Answer {
        let longer = |then: Option<Timestamp>| match then {
            Some(then) => now.since(then) > age.0,
            None => i64::MAX > age.0,
        };
        let (first, last) = (self.first_place().0, self.last_place().0);
        Answer::of(longer(first), longer(last))
    }
}

/// What is known of the last use from a record.
fn last_use(
    sources: Sources<'_>,
    record: &ImageRecord,
    seen_from: Timestamp,
    is_fresh: bool,
    is_complete: bool,
) -> LastUse {
    let Sources { now, kubelet_start, .. } = sources;
    let start = kubelet_start;
    let is_before_start = |time: Timestamp| start.is_some_and(|start| time < start);
    // What was in use when it was last looked at came out of use some time since.
    let ended = record.unused_at.unwrap_or(now);
    let ended = if is_fresh { ended } else { now };
    match (record.last_used, record.used_since) {
        (Some(used), _) if is_before_start(used) && is_before_start(ended) => {
            LastUse { may_be_never: true, span: None }
        }
        (Some(used), Some(since)) => {
            let since = start.map_or(since, |start| since.max(start));
            // Long enough for the kubelet to have looked at least once.
            let was_seen = used.since(since) >= DETECTION_PERIOD.0;
            let back = used.plus(-DETECTION_PERIOD.0);
            let earliest = if was_seen { Some(start.map_or(back, |s| back.max(s))) } else { start };
            LastUse { may_be_never: !was_seen, span: Some(Span { earliest, latest: ended }) }
        }
        _ if is_complete => LastUse { may_be_never: true, span: None },
        // Never seen in use, by records that do not know everything.
        _ => {
            let latest = if is_fresh { seen_from.min(now) } else { now };
            LastUse { may_be_never: true, span: Some(Span { earliest: start, latest }) }
        }
    }
}

/// An answer that may depend on what is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// Whatever is not known.
    Never,
    /// It depends on what is not known.
    Perhaps,
    /// Whatever is not known.
    Always,
}

impl Answer {
    /// Puts the answers at both ends together.
    pub fn of(one: bool, other: bool) -> Self {
        match (one, other) {
            (true, true) => Self::Always,
            (false, false) => Self::Never,
            _ => Self::Perhaps,
        }
    }
}
