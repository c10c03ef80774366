//! The flags that commands of `kq gc` share: the node with its image records, the collection, and the usage.

use crate::exit::{Failure, note, tell};
use crate::node_args::KubeletNodeArgs;
use anyhow::anyhow;
use clap::ValueEnum;
use kq_answer::Basis;
use kq_core::question::image_gc::{ImageFsUsage, ImageGcOptions, image_gc_needs};
use kq_facts::fact_key::FactKey;
use kq_facts::needs::Needs;
use kq_facts::node::Node;
use kq_facts::snapshot::Snapshot;
use kq_image_gc::plan::{ImageGcPlan, Trigger};
use kq_io::image_records::read_records;
use kq_io::trust::NamedBy;
use kq_k8s::quantity::Quantity;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The flags of a collection.
#[derive(Debug, clap::Args)]
pub struct Question {
    /// The trigger of the collection
    #[arg(long, value_enum, default_value = "periodic")]
    pub trigger: TriggerArg,

    #[command(flatten)]
    pub usage: UsageArgs,

    #[command(flatten)]
    pub node: GcNodeArgs,
}

/// The usage of the image file system.
#[derive(Debug, clap::Args)]
pub struct UsageArgs {
    /// Assume this usage of the image file system, such as 90%
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    at_usage: Option<u8>,

    /// The size of the image file system (default: that of the node)
    #[arg(long, value_name = "AMOUNT", value_parser = parse_size, requires = "at_usage")]
    image_fs_capacity: Option<u64>,
}

/// The trigger of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TriggerArg {
    /// The kubelet's loop: images over the maximum age, then images down to the low threshold
    Periodic,
    /// The part of the loop that removes images over the maximum age
    Age,
    /// Disk pressure: the resources the kubelet would reclaim under the actual or assumed pressure
    Eviction,
}

impl From<TriggerArg> for Trigger {
    fn from(trigger: TriggerArg) -> Self {
        match trigger {
            TriggerArg::Periodic => Self::Periodic,
            TriggerArg::Age => Self::Age,
            TriggerArg::Eviction => Self::Eviction,
        }
    }
}

impl Question {
    /// Gathers the facts that a plan needs.
    pub fn gather(&self) -> Result<Node, Failure> {
        self.node.gather(image_gc_needs(self.trigger.into()))
    }

    /// Returns the collection that the flags describe.
    pub fn options(&self) -> ImageGcOptions {
        ImageGcOptions { usage: self.usage.usage(), ..ImageGcOptions::new(self.trigger.into()) }
    }

    pub fn timeout(&self) -> Duration {
        self.node.kubelet.sources.timeout
    }

    /// Rejects a snapshot, which cannot be changed.
    pub fn refuse_snapshot(&self, is_changing: bool) -> Result<(), Failure> {
        if is_changing && self.node.kubelet.sources.snapshot.is_some() {
            return Err(Failure::usage(anyhow!("a snapshot cannot be changed"))
                .hint("--dry-run shows the plan"));
        }
        Ok(())
    }
}

impl UsageArgs {
    /// Returns what the flags say.
    pub fn usage(&self) -> ImageFsUsage {
        ImageFsUsage { percent: self.at_usage, capacity_bytes: self.image_fs_capacity }
    }
}

pub fn write_basis(plan: &ImageGcPlan) {
    write_notes(&plan.basis);
}

/// Writes the kubelet's start and the basis of an answer to standard error.
pub fn write_notes(basis: &Basis) {
    if let Some(start) = basis.facts.get("kubeletStart") {
        let at = start.value.as_str().unwrap_or_default();
        note("kubelet start", &format!("{at} ({})", start.origin));
    }
    tell(basis);
}

/// The flags of a node and of its image records.
#[derive(Debug, clap::Args)]
pub struct GcNodeArgs {
    #[command(flatten)]
    pub kubelet: KubeletNodeArgs,

    /// The file of kq gc record (default: /var/lib/kq/image-records.json on the node)
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    pub records: Option<PathBuf>,
}

impl GcNodeArgs {
    /// Gathers the facts and describes the kubelet.
    pub fn gather(&self, needs: Needs) -> Result<Node, Failure> {
        let mut node = self.kubelet.gather(needs)?;
        if needs.has(FactKey::ImageRecords) {
            self.put_records(&mut node.snapshot)?;
        }
        Ok(node)
    }

    /// Replaces the records by those of `--records`.
    fn put_records(&self, snapshot: &mut Snapshot) -> Result<(), Failure> {
        if let Some(path) = &self.records {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            snapshot.image_records =
                read_records(Path::new("/"), &path.to_string_lossy(), NamedBy::Operator);
            if snapshot.image_records.found.is_none() {
                let reason = snapshot.image_records.reason();
                return Err(Failure::missing(anyhow!("--records {reason}"))
                    .hint("kq gc record --once makes such a file"));
            }
        }
        Ok(())
    }
}

fn parse_percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    match number.parse() {
        Ok(percent @ 0..=100) => Ok(percent),
        _ => Err("expected a whole percentage, such as 90%".to_owned()),
    }
}

fn parse_size(text: &str) -> Result<u64, String> {
    let amount: Quantity = text.parse().map_err(|error| format!("{error}"))?;
    amount
        .as_units()
        .and_then(|bytes| u64::try_from(bytes).ok())
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "expected a whole number of bytes above 0, such as 100Gi".to_owned())
}
