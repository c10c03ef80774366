//! Records the times at which images were found and used, as the kubelet does in its memory.

use kq_answer::Failure;
use kq_facts::image_records::{DEFAULT_PATH, ImageRecords};
use kq_facts::node::Node;
use kq_facts::runtime::{Image, RuntimeFacts};
use kq_facts::timestamp::Timestamp;
use kq_image_gc::cycle::Keys;
use kq_image_gc::record::{RecordError, record};
use kq_image_gc::uses::{Uses, listed};
use kq_io::clock::{now, pause};
use kq_io::image_records::{RecordFile, RecordFileError};
use kq_k8s::feature_gates::Gate;
use kq_linux::cri::{CriSession, RuntimeNeeds, StatusNeeds};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time to wait for another kq that records.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Options of a recording.
#[derive(Debug)]
pub struct RecordOptions {
    /// The file of records; `None`: the default on the node.
    pub file: Option<PathBuf>,
    /// The time between two refreshes; `None`: records once.
    pub interval: Option<Duration>,
    /// Limits each call to the runtime.
    pub timeout: Duration,
}

/// Records once, or until the process ends. `gather` reads the node for each refresh, `recorded` receives the new
/// records, and `failed` the failures after the first refresh, which do not end the recording.
///
/// # Errors
///
/// Fails if the first refresh does.
pub fn record_images(
    options: &RecordOptions,
    gather: &mut dyn FnMut() -> Result<Node, Failure>,
    recorded: &mut dyn FnMut(&ImageRecords) -> Result<(), Failure>,
    failed: &mut dyn FnMut(&Failure),
) -> Result<(), Failure> {
    let node = gather()?;
    let recorder = Recorder::connect(&node, options)?;
    recorded(&recorder.refresh(&node)?)?;
    let Some(interval) = options.interval else { return Ok(()) };
    loop {
        pause(interval);
        // The kubelet may have another configuration by now.
        let refreshed = gather().and_then(|node| recorder.refresh(&node));
        if let Err(failure) = refreshed.and_then(|records| recorded(&records)) {
            failed(&failure);
        }
    }
}

struct Recorder {
    session: CriSession,
    file: RecordFile,
}

/// The reason for which nothing was recorded.
#[derive(Debug, thiserror::Error)]
enum RefreshError {
    #[error(transparent)]
    Record(RecordError),
    #[error("{0}")]
    Runtime(String),
}

impl Recorder {
    fn connect(node: &Node, options: &RecordOptions) -> Result<Self, Failure> {
        let root = Path::new(&node.snapshot.host_root.path);
        let file = match &options.file {
            None => RecordFile::new(root, DEFAULT_PATH),
            Some(path) => {
                let path = std::path::absolute(path).map_err(Failure::usage)?;
                RecordFile::new(Path::new("/"), &path.to_string_lossy())
            }
        };
        let session = CriSession::connect(&node.runtime()?.endpoint, root, options.timeout);
        Ok(Self { session: session.map_err(Failure::missing)?, file })
    }

    /// Reads the runtime and stores the new records.
    fn refresh(&self, node: &Node) -> Result<ImageRecords, Failure> {
        let stored = self.file.update(LOCK_TIMEOUT, |before| {
            // Under the lock: data from before it may be older than the records of another process.
            let (images, in_use) = self.read(node).map_err(RefreshError::Runtime)?;
            let now: Timestamp =
                now().parse().map_err(|error| RefreshError::Runtime(format!("{error}")))?;
            record(before, now, &images, &in_use).map_err(RefreshError::Record)
        });
        stored.map_err(|error| {
            let hint = match &error {
                RecordFileError::Record(RefreshError::Record(error)) => Some(error.hint()),
                error => error.hint(),
            };
            let failure = match error {
                RecordFileError::Record(RefreshError::Runtime(_)) => Failure::missing(error),
                error => Failure::refused(error),
            };
            hint.into_iter().fold(failure, Failure::hint)
        })
    }

    /// Returns the images, without handlers where the kubelet ignores them, and the keys in use.
    fn read(&self, node: &Node) -> Result<(Vec<Image>, Keys), String> {
        let needs = RuntimeNeeds {
            images: true,
            containers: true,
            container_statuses: StatusNeeds::ImageVolumes,
            ..RuntimeNeeds::default()
        };
        let mut facts: RuntimeFacts =
            self.session.read(needs).map_err(|error| error.to_string())?;
        if facts.containers.found.is_none() {
            return Err(facts.containers.reason());
        }
        let rules = node.kubelet.rules;
        if let Some(found) = &mut facts.images.found
            && !rules.gates.enabled(Gate::RuntimeClassInImageCriApi)
        {
            found.value.iter_mut().for_each(|image| image.runtime_handler.clear());
        }
        let uses = Uses::of(&facts, &node.workloads, rules, &BTreeSet::new());
        let Some(found) = facts.images.found.take() else { return Err(facts.images.reason()) };
        let in_use = uses.in_use(&listed(&found.value), rules)?;
        Ok((found.value.into_inner(), in_use))
    }
}
