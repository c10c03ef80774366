//! The source of the next frame.
//!
//! A live node is read again and again. The counters of its cgroups are read at each refresh; everything else, which other
//! programs must be asked for, every ten seconds, for another panel, and when a cgroup without a name appears.

use kq_answer::Failure;
use kq_cgroup::live::place::{LiveOwner, Part, live_cgroups};
use kq_core::question::doctor::node_checks_needs;
use kq_core::question::top::{counter_needs, panel_needs, recording_needs};
use kq_core::top::Panel;
use kq_facts::cgroup_name::kubelet_roots;
use kq_facts::fact_key::FactSet;
use kq_facts::live::kubelet_root;
use kq_facts::needs::Needs;
use kq_facts::snapshot::Snapshot;
use kq_facts::timestamp::Timestamp;
use kq_facts::workloads::Workloads;
use kq_io::clock::steady;
use kq_io::recording_file::{RecordingFileError, RecordingReader, RecordingWriter};
use serde_json::Value;
use std::time::{Duration, Instant};

/// The share of a CPU that refreshes may take: one in fifty.
const ONE_IN: u32 = 50;

/// The longest interval that a slow node causes, and the longest pause of a recording that is played.
const LONGEST: Duration = Duration::from_secs(5);

/// The source of frames.
pub enum Source {
    /// A live node, and its recording.
    Live {
        node: Box<LiveSource>,
        /// The time between two refreshes.
        interval: Duration,
        recorder: Option<RecordingWriter>,
    },
    /// A stored node, which does not change.
    Stored(Box<Snapshot>),
    /// A recording.
    Replay {
        reader: Box<RecordingReader>,
        current: Option<Box<Snapshot>>,
        /// The next one, or why it cannot be read.
        ahead: Option<Result<Box<Snapshot>, Failure>>,
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
        let mut reader = Box::new(RecordingReader::open(path).map_err(unread)?);
        match ahead_of(&mut reader) {
            None => Err(Failure::usage(anyhow::anyhow!("recording {path} is empty"))),
            Some(Err(failure)) => Err(failure),
            ahead => Ok(Self::Replay { reader, current: None, ahead, interval }),
        }
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
                    *current = Some(next?);
                    *ahead = ahead_of(reader);
                }
                let Some(now) = current else { return Ok(None) };
                let recorded = |ahead: &Result<Box<Snapshot>, Failure>| match ahead {
                    Ok(ahead) => between(now, ahead),
                    Err(_) => Duration::ZERO,
                };
                let next_in = ahead
                    .as_ref()
                    .map(|ahead| interval.unwrap_or_else(|| recorded(ahead)).min(LONGEST));
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
        self.facts(node_checks_needs())
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
                let known = current.as_ref().or(ahead.as_ref().and_then(|it| it.as_ref().ok()));
                Ok(known.map(|snapshot| (**snapshot).clone()).unwrap_or_default())
            }
        }
    }
}

/// Reads ahead: what cannot be read is said after what was read before it.
fn ahead_of(reader: &mut RecordingReader) -> Option<Result<Box<Snapshot>, Failure>> {
    reader.next_snapshot().map_err(unread).transpose().map(|next| next.map(Box::new))
}

fn unread(error: RecordingFileError) -> Failure {
    match error {
        RecordingFileError::System { .. } => Failure::missing(error),
        error => Failure::usage(error),
    }
}

/// Returns the time between two snapshots.
fn between(earlier: &Snapshot, later: &Snapshot) -> Duration {
    let at = |snapshot: &Snapshot| snapshot.taken_at.parse::<Timestamp>().unwrap_or_default();
    Duration::from_nanos(u64::try_from(at(later).since(at(earlier))).unwrap_or(0))
}

/// How long the facts other than counters are kept.
const KEPT: Duration = Duration::from_secs(10);

/// The shortest time between two gatherings of them because of unknown cgroups.
const SOON: Duration = Duration::from_secs(2);

/// Gathers the needed facts of a node; the value is the kubelet's configuration where it is known.
pub type Gather = Box<dyn FnMut(Needs, Option<&Value>) -> Result<Snapshot, Failure> + Send>;

/// A live node.
pub struct LiveSource {
    gather: Gather,
    cgroup_root: Option<String>,
    base: Option<Base>,
}

/// The facts that are kept for a while.
struct Base {
    snapshot: Snapshot,
    at: Instant,
    facts: FactSet,
}

impl LiveSource {
    /// Reads a node with this function.
    pub fn new(gather: Gather, cgroup_root: Option<String>) -> Self {
        Self { gather, cgroup_root, base: None }
    }

    /// Returns the node now, and how long its counters took.
    ///
    /// # Errors
    ///
    /// Fails as gathering does.
    pub fn next(&mut self, needs: Needs) -> Result<(Snapshot, Duration), Failure> {
        let kept =
            self.base.as_ref().filter(|base| base.facts == needs.facts && base.at.elapsed() < KEPT);
        if kept.is_none() {
            return self.whole(needs);
        }
        let began = steady();
        let config = self.base.as_ref().and_then(|it| it.snapshot.kubelet_config.value());
        let config = config.map(|config| config.value.clone());
        let counters = (self.gather)(counter_needs(), config.as_deref())?;
        let took = began.elapsed();
        let Some(base) = &mut self.base else { return self.whole(needs) };
        base.snapshot.cgroups = counters.cgroups;
        base.snapshot.taken_at = counters.taken_at;
        if base.at.elapsed() >= SOON && has_unnamed(&base.snapshot, self.cgroup_root.as_deref()) {
            return self.whole(needs);
        }
        Ok((base.snapshot.clone(), took))
    }

    /// Gathers facts for a page, which no refresh needs.
    ///
    /// # Errors
    ///
    /// Fails as gathering does.
    pub fn once(&mut self, needs: Needs) -> Result<Snapshot, Failure> {
        (self.gather)(needs, None)
    }

    fn whole(&mut self, needs: Needs) -> Result<(Snapshot, Duration), Failure> {
        let snapshot = (self.gather)(needs, None)?;
        let base = Base { snapshot: snapshot.clone(), at: steady(), facts: needs.facts };
        self.base = Some(base);
        // The others are rare, and their time is mostly that of other programs.
        Ok((snapshot, Duration::ZERO))
    }
}

/// Returns true if a pod or a container with a cgroup has no name in the facts.
fn has_unnamed(snapshot: &Snapshot, cgroup_root: Option<&str>) -> bool {
    let Some(tree) = snapshot.cgroups.value() else { return false };
    let config = snapshot.kubelet_config.value().map(|found| &*found.value);
    let (root, per_qos) = kubelet_root(cgroup_root, config);
    let pods = snapshot.pods.value().into_iter().flat_map(|recorded| &recorded.pods);
    let workloads = Workloads::of(pods.map(|loaded| &*loaded.pod), snapshot.runtime.value());
    kubelet_roots(&root, per_qos).iter().any(|(driver, root)| {
        let cgroups = live_cgroups(tree, root, *driver, &workloads);
        cgroups.iter().any(|cgroup| match &cgroup.owner {
            LiveOwner::Pod(pod) => pod.name.is_none(),
            LiveOwner::Container(container) => container.part == Part::Unknown,
            _ => false,
        })
    })
}
