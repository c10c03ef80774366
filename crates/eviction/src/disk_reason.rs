//! Why the kubelet sees one file system or several, and why a reclaim is enough: facts, and their sentences.

use super::reclaim_outcome::{FreedBytes, ReclaimFunction};
use kq_answer::reason::Reason;
use kq_facts::kubelet_config::Signal;
use serde::Serialize;
use std::fmt;

/// Why the kubelet sees file systems as one, or as several.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum LayoutReason {
    /// Images and the kubelet's root folder are on one device.
    #[text("images and the kubelet's root folder are on device {device}")]
    OneDevice { device: String },
    /// Images and the kubelet's root folder are on one device, and writable layers on another.
    #[text(
        "images and the kubelet's root folder are on device {device}, and writable layers on \
         {layers}"
    )]
    LayersOnOtherDevice {
        /// The device of the images and of the kubelet's root folder.
        device: String,
        /// The device of the writable layers.
        layers: String,
    },
    /// Images are on another device than the kubelet's root folder.
    #[text("images are on device {images}, and the kubelet's root folder is on {kubelet}")]
    ImagesOnOtherDevice {
        /// The device of the images.
        images: String,
        /// The device of the kubelet's root folder.
        kubelet: String,
    },
    /// The kubelet measures imagefs and nodefs as equally large.
    #[text("the kubelet measures imagefs and nodefs as equally large")]
    SameSize,
    /// The kubelet measures imagefs and nodefs as not equally large.
    #[text("the kubelet measures imagefs and nodefs as not equally large")]
    OtherSize,
    /// The runtime names another folder for writable layers than for images.
    #[text("the runtime names another folder for writable layers than for images")]
    LayersInOtherFolder,
    /// The runtime names no folder of its own for writable layers.
    #[text("the runtime names no folder of its own for writable layers")]
    NoFolderOfLayers,
    /// The runtime names one folder for both.
    #[text("the runtime names one folder for images and writable layers")]
    OneFolder,
    /// The folder of the writable layers is unknown.
    #[text("the folder of writable layers is unknown: assumed to be with the images")]
    FolderOfLayersUnknown,
    /// The kubelet measures images and writable layers as one file system.
    #[text(
        "the kubelet measures images and writable layers as one file system, that of the images"
    )]
    MeasuredAsOne,
}

/// Why a reclaim is enough, or not.
#[derive(Clone, Debug, PartialEq, Eq, Reason)]
pub enum SettlementReason {
    /// Nothing is reclaimed.
    #[text("nothing is reclaimed for it")]
    NothingReclaimed,
    /// Thresholds stay crossed with their minimum reclaim.
    #[text("too little is left with the minimum reclaim: {signals}", signals = names(signals))]
    TooLittle { signals: Vec<Signal> },
    /// It depends on how much is freed.
    #[text(
        "{parts}{inodes}it matters for {signals}",
        parts = parts.iter().map(|part| format!("{part}; ")).collect::<String>(),
        inodes = if *inodes { "the number of freed inodes is unknown; " } else { "" },
        signals = names(signals)
    )]
    FreedUnknown {
        /// The bytes that are not known exactly.
        parts: Vec<FreedPart>,
        /// The number of inodes is unknown.
        inodes: bool,
        /// The signals that depend on it.
        signals: Vec<Signal>,
    },
    /// A disk has no measurement.
    #[text("not every disk was measured")]
    NotMeasured,
    /// All thresholds are kept with their minimum reclaim.
    #[text("every threshold is then met with its minimum reclaim")]
    Kept,
}

/// What one step of a reclaim frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FreedPart {
    /// The step.
    pub function: ReclaimFunction,
    /// In bytes.
    pub freed: FreedBytes,
    /// The sizes of the images as the runtime counts them; null: it is not about images.
    pub counted_bytes: Option<u64>,
}

fn names(signals: &[Signal]) -> String {
    signals.iter().map(|signal| signal.as_str()).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for FreedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.function {
            ReclaimFunction::DeleteAllUnusedContainers => "dead containers",
            ReclaimFunction::DeleteUnusedImages => "images",
        };
        let FreedBytes { at_least, at_most } = self.freed;
        match at_most {
            Some(at_most) => write!(f, "{what} free between {at_least} and {at_most} bytes")?,
            None => {
                write!(f, "{what} free at least {at_least} bytes, with no known upper bound")?;
            }
        }
        self.counted_bytes.map_or(Ok(()), |counted| write!(f, ", counted as {counted}"))
    }
}
