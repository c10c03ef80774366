//! `kq gc record`

use super::question::GcNodeArgs;
use crate::exit::{Code, Failure, warn};
use crate::write;
use anyhow::anyhow;
use kq_facts::image_records::{ImageRecord, ImageRecords};
use kq_facts::needs::Needs;
use kq_image_gc::record::LONGEST_GAP;
use kq_k8s::duration::GoDuration;
use kq_node::action::image_gc::record::{RecordOptions, record_images};
use std::time::Duration;

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
    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        let Self { once, interval, node } = self;
        if node.kubelet.sources.snapshot.is_some() {
            return Err(Failure::usage(anyhow!(
                "a snapshot holds one moment, so there is nothing to record"
            ))
            .hint("run kq gc record on the node"));
        }
        let options = RecordOptions {
            file: node.records.clone(),
            interval: (!once).then_some(interval),
            timeout: node.kubelet.sources.timeout,
        };
        record_images(
            &options,
            &mut || node.gather(Needs::GC_RECORD),
            &mut |records| write::lines([line(records)]),
            &mut |failure| warn(&format!("nothing recorded: {}", failure.reason())),
        )?;
        Ok(Code::Answered)
    }
}

fn line(stored: &ImageRecords) -> String {
    let at = stored.detected_at;
    let count = |is_it: &dyn Fn(&ImageRecord) -> bool| {
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
    // A refresh takes time as well: with an interval at the limit, each would follow a gap.
    let longest = GoDuration(LONGEST_GAP.0 - GoDuration::MINUTE.0);
    match u64::try_from(duration.0) {
        Ok(nanoseconds) if nanoseconds >= 1_000_000_000 && duration <= longest => {
            Ok(Duration::from_nanos(nanoseconds))
        }
        _ => Err(format!("expected a duration from 1s to {longest}; a longer one is a gap")),
    }
}
