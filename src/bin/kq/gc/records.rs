//! The flags of garbage collection: a kubelet, and what was recorded of its images.

use crate::exit::Failure;
use crate::kubelet_node::{KubeletNode, KubeletNodeArgs};
use anyhow::anyhow;
use kq::edge::image_records::read_records;
use kq::edge::trust::NamedBy;
use kq::facts::snapshot::Snapshot;
use kq::node::{FactKey, Needs};
use std::path::{Path, PathBuf};

/// The flags that say which node it is about, and what was recorded of its images.
#[derive(Debug, clap::Args)]
pub struct GcNodeArgs {
    #[command(flatten)]
    pub kubelet: KubeletNodeArgs,

    /// The file of kq gc record (default: /var/lib/kq/image-records.json on the node)
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    pub records: Option<PathBuf>,
}

impl GcNodeArgs {
    /// Gathers what is wanted and describes the kubelet.
    pub fn gather(&self, needs: Needs) -> Result<KubeletNode, Failure> {
        let mut node = self.kubelet.gather(needs)?;
        if needs.has(FactKey::ImageRecords) {
            self.put_records(&mut node.snapshot)?;
        }
        Ok(node)
    }

    /// Puts records that are given over those that were found. A file that is there and has no records
    /// is a mistake; that there is none is not.
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
