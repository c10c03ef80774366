//! The source of the next frame.

use super::live::LiveSource;
use crate::answer::Failure;
use crate::edge::recording_file::{RecordingReader, RecordingWriter};
use crate::facts::snapshot::Snapshot;
use crate::facts::timestamp::Timestamp;
use crate::node::Needs;
use crate::question::top::{page_needs, panel_needs, recording_needs};
use crate::top::Panel;
use std::time::Duration;

/// The share of a CPU that refreshes may take: one in fifty.
const ONE_IN: u32 = 50;

/// The longest interval that a slow node causes, and the longest pause of a recording that is played.
const LONGEST: Duration = Duration::from_secs(5);

/// The source of frames.
pub enum Source {
    /// A live node, and its recording.
    Live {
        /// The node.
        node: Box<LiveSource>,
        /// The time between two refreshes.
        interval: Duration,
        /// The recording.
        recorder: Option<RecordingWriter>,
    },
    /// A stored node, which does not change.
    Stored(Box<Snapshot>),
    /// A recording.
    Replay {
        /// The recording.
        reader: Box<RecordingReader>,
        /// The current snapshot.
        current: Option<Box<Snapshot>>,
        /// The next one.
        ahead: Option<Box<Snapshot>>,
        /// The time between two frames; `None`: as recorded.
        interval: Option<Duration>,
    },
}

/// A snapshot, and the time of the one after it.
pub struct Next {
    /// The facts.
    pub snapshot: Snapshot,
    /// How long the counters of a live node took.
    pub took: Duration,
    /// When the next refresh is due; `None`: there is no other.
    pub next_in: Option<Duration>,
}

/// Returns the rest after a refresh of a live node that took this long, so that refreshes take a small share of a CPU.
pub fn rest_after(took: Duration) -> Duration {
    (took * ONE_IN).min(LONGEST)
}

impl Source {
    /// Returns a recording that is played.
    ///
    /// # Errors
    ///
    /// Fails where the first snapshot cannot be read.
    pub fn replay(path: &str, interval: Option<Duration>) -> Result<Self, Failure> {
        let mut reader = Box::new(RecordingReader::open(path).map_err(Failure::usage)?);
        let ahead = reader.next_snapshot().map_err(Failure::usage)?.map(Box::new);
        if ahead.is_none() {
            return Err(Failure::usage(anyhow::anyhow!("recording {path} is empty")));
        }
        Ok(Self::Replay { reader, current: None, ahead, interval })
    }

    /// Returns the snapshot of the next frame; `None`: the recording is over. `is_same`: that of the last frame will do,
    /// for another panel.
    ///
    /// # Errors
    ///
    /// Fails as gathering, reading and recording do.
    pub fn next(&mut self, panel: Panel, is_same: bool) -> Result<Option<Next>, Failure> {
        match self {
            Self::Live { node, interval, recorder } => {
                let needs = match recorder {
                    Some(_) => recording_needs(),
                    None => panel_needs(panel),
                };
                let (snapshot, took) = node.next(needs)?;
                if let Some(recorder) = recorder {
                    recorder.add(&snapshot).map_err(Failure::missing)?;
                }
                Ok(Some(Next { snapshot, took, next_in: Some(*interval) }))
            }
            Self::Stored(snapshot) => Ok(Some(Next {
                snapshot: (**snapshot).clone(),
                took: Duration::ZERO,
                next_in: None,
            })),
            Self::Replay { reader, current, ahead, interval } => {
                if !(is_same && current.is_some()) {
                    let Some(next) = ahead.take() else { return Ok(None) };
                    *current = Some(next);
                    *ahead = reader.next_snapshot().map_err(Failure::usage)?.map(Box::new);
                }
                let Some(now) = current else { return Ok(None) };
                let next_in = ahead
                    .as_ref()
                    .map(|ahead| interval.unwrap_or_else(|| between(now, ahead)).min(LONGEST));
                Ok(Some(Next { snapshot: (**now).clone(), took: Duration::ZERO, next_in }))
            }
        }
    }

    /// Returns the facts for a page about a pod.
    ///
    /// # Errors
    ///
    /// Fails as gathering does.
    pub fn for_page(&mut self) -> Result<Snapshot, Failure> {
        self.facts(page_needs())
    }

    /// Returns all facts, for a snapshot.
    ///
    /// # Errors
    ///
    /// Fails as gathering does.
    pub fn facts(&mut self, needs: Needs) -> Result<Snapshot, Failure> {
        match self {
            Self::Live { node, .. } => node.once(needs),
            Self::Stored(snapshot) => Ok((**snapshot).clone()),
            Self::Replay { current, ahead, .. } => {
                let known = current.as_ref().or(ahead.as_ref());
                Ok(known.map(|snapshot| (**snapshot).clone()).unwrap_or_default())
            }
        }
    }
}

/// Returns the time between two snapshots.
fn between(earlier: &Snapshot, later: &Snapshot) -> Duration {
    let at = |snapshot: &Snapshot| snapshot.taken_at.parse::<Timestamp>().unwrap_or_default();
    Duration::from_nanos(u64::try_from(at(later).since(at(earlier))).unwrap_or(0))
}
