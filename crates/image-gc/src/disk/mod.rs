//! The disk that images are on: which file system the kubelet judges, what it shares with others, what
//! fills it, and why different programs give different numbers for it.
//!
//! The kubelet takes the first file system of `ImageFsInfo` and what `statfs` says of it (`ImageFsStats`
//! in `pkg/kubelet/stats/cri_stats_provider.go`).

mod accounts;
mod layout;
mod parts;
mod view;

#[cfg(test)]
mod tests;

pub use accounts::Account;
pub use layout::{FsPlace, Layout, SignalFilesystem};
pub use parts::{LayerUse, Part, PartKind, Rest};
pub use view::{describe, describe_wide};

use crate::cycle::{ImageFs, Usage};
use crate::explain::largest_available;
use crate::policy::ImageGcPolicy;
use crate::reason::DiskReason;
use kq_answer::{Basis, Missing, MissingFact, Worded, answer};
use kq_facts::filesystems::{Filesystem, FolderRole, NodeFolder};
use kq_facts::kubelet_config::EffectiveConfiguration;
use kq_facts::lookup::Lookup;
use kq_facts::runtime::{FilesystemUsage, RuntimeFacts};
use kq_facts::stats_summary::StatsSummary;
use kq_facts::timestamp::Timestamp;
use kq_facts::workloads::Workloads;
use kq_k8s::kubelet_rules::KubeletRules;
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything that is known of the disk.
#[derive(Clone, Copy, Debug)]
pub struct DiskFacts<'a> {
    /// The moment of everything.
    pub now: Timestamp,
    /// The folders and what they are on.
    pub folders: &'a BTreeMap<FolderRole, NodeFolder>,
    /// What the runtime says.
    pub runtime: &'a Lookup<RuntimeFacts>,
    /// What the kubelet measured.
    pub summary: &'a Lookup<StatsSummary>,
    /// The names of pods.
    pub workloads: &'a Workloads,
    /// The kubelet's configuration.
    pub config: &'a EffectiveConfiguration,
    /// The kubelet's version and gates.
    pub rules: KubeletRules,
}

/// The disk that images are on.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageDisk {
    /// The moment of everything.
    pub at: Timestamp,
    /// What the kubelet judges.
    pub judged: JudgedFilesystem,
    /// Which file systems are one.
    pub layout: Layout,
    /// What fills it, and what is on other disks.
    pub parts: Vec<Part>,
    /// The rest that is not accounted for.
    pub rest: Rest,
    /// The containers that wrote the most over their images, at most ten.
    pub largest_layers: Vec<LayerUse>,
    /// What each program says of it.
    pub accounts: Vec<Account>,
    /// Why they differ, a sentence each.
    pub differences: Vec<String>,
    /// The basis of the answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("ImageDisk", ImageDisk);

/// The file system by which image garbage collection judges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JudgedFilesystem {
    /// The folder that the runtime names.
    pub path: Option<String>,
    /// The file system.
    pub filesystem: Option<Filesystem>,
    /// Why that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// How full it is; null: unknown, or the capacity is invalid.
    pub usage: Option<Usage>,
    /// `imageGCHighThresholdPercent`
    pub high_threshold_percent: i32,
    /// `imageGCLowThresholdPercent`
    pub low_threshold_percent: i32,
    /// The high threshold is reached with so much available or less, in bytes.
    pub largest_available_bytes: Option<i64>,
    /// How much more must be used until then, in bytes; 0: it is reached.
    pub missing_bytes: Option<i64>,
    /// What the kubelet wants to free now, in bytes; null: nothing, or unknown.
    pub amount_to_free_bytes: Option<i64>,
    /// The same as reasons.
    pub because: Vec<Worded<DiskReason>>,
}

impl ImageDisk {
    /// Puts together what is known of the disk.
    pub fn of(facts: DiskFacts<'_>) -> Self {
        let judged = judged(facts);
        let parts = parts::parts(facts);
        let accounts = accounts::accounts(facts);
        let mut basis = Basis::default();
        basis.lack_all(missing(&judged, &parts, &accounts));
        Self {
            at: facts.now,
            layout: Layout::of(facts),
            rest: Rest::of(judged.filesystem.as_ref(), &parts),
            largest_layers: parts::largest_layers(facts),
            differences: accounts::differences(facts, &accounts),
            basis,
            judged,
            parts,
            accounts,
        }
    }
}

impl<'a> DiskFacts<'a> {
    /// Returns the file system of a folder, or why it is not known.
    fn filesystem(self, role: FolderRole) -> Result<&'a Filesystem, String> {
        match self.folders.get(&role) {
            None => Err("not looked for".to_owned()),
            Some(folder) => folder.filesystem.value().ok_or_else(|| folder.filesystem.reason()),
        }
    }

    /// Returns the device that images are on.
    fn image_device(self) -> Option<&'a str> {
        self.filesystem(FolderRole::Images).ok().map(|filesystem| filesystem.device.as_str())
    }

    /// Returns what the runtime counts for images and for containers, of each the first as the kubelet
    /// takes it; `None`: it names none.
    fn counts(self) -> Result<[Option<&'a FilesystemUsage>; 2], String> {
        let runtime = self.runtime.value().ok_or_else(|| self.runtime.reason())?;
        let told = &runtime.image_filesystems;
        let told = told.value().ok_or_else(|| told.reason())?;
        Ok([told.image.first(), told.container.first()])
    }
}

fn judged(facts: DiskFacts<'_>) -> JudgedFilesystem {
    let policy = ImageGcPolicy::of(facts.config);
    let high = policy.high_threshold_percent;
    let path = facts.folders.get(&FolderRole::Images).map(|folder| folder.path.clone());
    let mut judged = JudgedFilesystem {
        path: path.filter(|path| !path.is_empty()),
        high_threshold_percent: high,
        low_threshold_percent: policy.low_threshold_percent,
        ..JudgedFilesystem::default()
    };
    let filesystem = match facts.filesystem(FolderRole::Images) {
        Ok(filesystem) => filesystem,
        Err(reason) => {
            judged.unknown = Some(match facts.counts() {
                Err(runtime) if facts.folders.is_empty() => runtime,
                _ => reason,
            });
            return judged;
        }
    };
    judged.filesystem = Some(filesystem.clone());
    let fs = ImageFs {
        capacity: Some(filesystem.capacity_bytes),
        available: Some(filesystem.available_bytes),
    };
    let Some(usage) = fs.usage() else {
        judged.because.push(DiskReason::NoCapacity.into());
        return judged;
    };
    judged.usage = Some(usage);
    judged.largest_available_bytes = largest_available(usage.capacity_bytes, high);
    judged.missing_bytes = judged
        .largest_available_bytes
        .map(|largest| usage.available_bytes.saturating_sub(largest).max(0));
    judged.amount_to_free_bytes = usage.amount_to_free(&policy).filter(|_| policy.is_collecting());
    let reason = match judged.amount_to_free_bytes {
        _ if !policy.is_collecting() => DiskReason::LoopOff,
        Some(amount_to_free_bytes) => DiskReason::HighThresholdReached {
            high_threshold_percent: high,
            low_threshold_percent: policy.low_threshold_percent,
            amount_to_free_bytes,
        },
        None => DiskReason::HighThresholdNotReached {
            high_threshold_percent: high,
            missing_bytes: judged.missing_bytes,
        },
    };
    judged.because = vec![DiskReason::Usage { usage }.into(), reason.into()];
    judged
}

fn missing(judged: &JudgedFilesystem, parts: &[Part], accounts: &[Account]) -> Vec<Missing> {
    let mut missing = Vec::new();
    if let Some(reason) = &judged.unknown {
        let text = format!("the image file system: {reason}");
        missing.push(Missing::new(MissingFact::ImageFilesystems, text));
    }
    for part in parts {
        if let Some(reason) = &part.unknown {
            let text = format!("{}: {reason}", part.name());
            missing.push(Missing::new(MissingFact::FolderUsage, text).about(part.name()));
        }
    }
    for account in accounts {
        if let Some(reason) = &account.unknown {
            let text = format!("{}: {reason}", account.source);
            let fact = MissingFact::ImageFilesystems;
            missing.push(Missing::new(fact, text).about(&account.source));
        }
    }
    missing
}
