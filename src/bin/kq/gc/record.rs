//! `kq gc record`

use super::records::GcNodeArgs;
use crate::exit::{Code, Failure, warn};
use crate::kubelet_node::KubeletNode;
use crate::write;
use anyhow::anyhow;
use kq::edge::clock::now;
use kq::edge::cri::{CriSession, RuntimeNeeds, StatusNeeds};
use kq::edge::image_records::RecordFile;
use kq::facts::image_records::{DEFAULT_PATH, ImageRecords};
use kq::facts::runtime::{Image, RuntimeFacts};
use kq::facts::timestamp::Timestamp;
use kq::image_gc::cycle::Keys;
use kq::image_gc::record::{RecordError, record};
use kq::image_gc::uses::{Uses, listed};
use kq::k8s::duration::GoDuration;
use kq::k8s::feature_gates::Gate;
use kq::node::Needs;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Another kq that records is waited for this long.
const PATIENCE: Duration = Duration::from_secs(10);

/// Record image times as the kubelet does in its memory
///
/// record reads all images and containers now and then every five minutes, and
/// stores the time at which each image was first found and last used. The other
/// gc commands use the records, which turn "possible" verdicts into "sure" ones.
/// An interrupted write leaves the old file in place. Two kq processes can record
/// at the same time without losing data.
///
/// Run it as a service on the node, or from a timer with --once. More than ten
/// minutes between two readings are a gap in the records.
///
/// Examples:
///
///   kq gc record
///   kq gc record --once
///   kq gc record --once --records ./records.json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Read once, then exit
    #[arg(long, conflicts_with = "interval")]
    once: bool,

    /// Time between two refreshes
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = parse_interval)]
    interval: Duration,

    #[command(flatten)]
    node: GcNodeArgs,
}

impl Args {
    /// Records once, or again and again.
    pub fn run(self) -> Result<Code, Failure> {
        if self.node.kubelet.sources.snapshot.is_some() {
            return Err(Failure::usage(anyhow!("a snapshot is of one moment: nothing to record"))
                .hint("run kq gc record on the node"));
        }
        let node = self.node.gather(Needs::GC_RECORD)?;
        let root = Path::new(&node.snapshot.host_root.path).to_owned();
        let file = match &self.node.records {
            None => RecordFile::new(&root, DEFAULT_PATH),
            Some(path) => {
                let path = std::path::absolute(path).map_err(Failure::usage)?;
                RecordFile::new(Path::new("/"), &path.to_string_lossy())
            }
        };
        let timeout = self.node.kubelet.sources.timeout;
        let session = CriSession::connect(&node.runtime()?.endpoint, &root, timeout)
            .map_err(Failure::missing)?;
        if self.once {
            return turn(&node, &session, &file);
        }
        // A file that cannot be written is known at once.
        turn(&node, &session, &file)?;
        loop {
            std::thread::sleep(self.interval);
            // The kubelet may be another one by now. One failure is no reason to stop: it goes on as well.
            let turned = self.node.gather(Needs::GC_RECORD);
            if let Err(failure) = turned.and_then(|node| turn(&node, &session, &file)) {
                warn(&format!("nothing recorded: {}", failure.reason()));
            }
        }
    }
}

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
enum TurnError {
    #[error(transparent)]
    Record(RecordError),
    #[error("{0}")]
    Runtime(String),
}

/// Looks once and stores what was found.
fn turn(node: &KubeletNode, session: &CriSession, file: &RecordFile) -> Result<Code, Failure> {
    let mut before_count = None;
    let stored = file.update(PATIENCE, |before| {
        before_count = before.map(|before| before.images.len());
        // Under the lock: what was seen before may be older than what another one recorded.
        let (images, in_use) = look(node, session).map_err(TurnError::Runtime)?;
        let now: Timestamp =
            now().parse().map_err(|error| TurnError::Runtime(format!("{error}")))?;
        record(before, now, &images, &in_use).map_err(TurnError::Record)
    });
    let stored = stored.map_err(|error| {
        let hint = error.hint().or(match &error {
            kq::edge::image_records::RecordFileError::Record(TurnError::Record(error)) => {
                Some(error.hint())
            }
            _ => None,
        });
        let failure = match &error {
            kq::edge::image_records::RecordFileError::Record(TurnError::Runtime(_)) => {
                Failure::missing(error)
            }
            _ => Failure::refused(error),
        };
        hint.into_iter().fold(failure, Failure::hint)
    })?;
    write::lines([line(&stored)])?;
    Ok(Code::Answered)
}

/// Lists the images, without handlers where the kubelet does not look at them, and the keys in use.
fn look(node: &KubeletNode, session: &CriSession) -> Result<(Vec<Image>, Keys), String> {
    let needs = RuntimeNeeds {
        images: true,
        containers: true,
        container_statuses: StatusNeeds::ImageVolumes,
        ..RuntimeNeeds::default()
    };
    let mut facts: RuntimeFacts = session.read(needs).map_err(|error| error.to_string())?;
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
    Ok((found.value, in_use))
}

fn line(stored: &ImageRecords) -> String {
    let at = stored.detected_at;
    let count = |is_it: &dyn Fn(&kq::facts::image_records::ImageRecord) -> bool| {
        stored.images.iter().filter(|record| is_it(record)).count()
    };
    format!(
        "{at} {} images: {} in use, {} first found now; unbroken since {}",
        stored.images.len(),
        count(&|record| record.last_used == Some(at)),
        count(&|record| record.first_detected == at),
        stored.unbroken_since
    )
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let duration: GoDuration = text.parse().map_err(|error| format!("{error}"))?;
    // What a look takes comes on top: at the limit itself each look would be after a gap.
    let longest = GoDuration(kq::image_gc::record::LONGEST_GAP.0 - GoDuration::MINUTE.0);
    match u64::try_from(duration.0) {
        Ok(nanoseconds) if nanoseconds >= 1_000_000_000 && duration <= longest => {
            Ok(Duration::from_nanos(nanoseconds))
        }
        _ => Err(format!("expected a duration from 1s to {longest}: what is longer is a gap")),
    }
}
