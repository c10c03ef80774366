//! One image in a plan.

use super::ties::{Places, Ties};
use crate::answer::{Certainty, Worded};
use crate::image_gc::knowledge::ImageTimes;
use crate::image_gc::reason::{Dependency, ImageReason};
use crate::image_gc::uses::Use;
use serde::Serialize;
use std::fmt;

/// An image, its verdict, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedImage {
    /// Its place in the order in which images go, from 1; `None`: it is no candidate.
    pub place: Option<usize>,
    /// Its id.
    pub id: String,
    /// The class of runtime for which it was pulled.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub runtime_handler: String,
    /// `NAME:TAG`
    pub tags: Vec<String>,
    /// `NAME@DIGEST`
    pub digests: Vec<String>,
    /// In bytes, as the runtime counts and the kubelet uses it.
    pub size_bytes: i64,
    /// The result.
    pub verdict: Verdict,
    /// How sure that is.
    pub certainty: Certainty,
    /// Why.
    pub reason: Worded<ImageReason>,
    /// The facts on which the verdict depends; `None`: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Worded<Dependency>>,
    /// The ids of those that go in any order with it, as far as is known.
    #[serde(skip_serializing_if = "Ties::is_empty")]
    pub tied_with: Ties,
    /// The places of all that go in any order with it, where `tied_with` does not name them all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tied_places: Option<Places>,
    /// The containers that use it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub used_by: Vec<Use>,
    /// What is known of the kubelet's memory of it; of images in use that does not matter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<ImageTimes>,
}

/// The verdict on an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// It goes: unused for longer than the maximum age.
    RemovedForAge,
    /// It is removed: space is needed.
    RemovedForSpace,
    /// It stays: enough is freed before its turn.
    TargetReached,
    /// It stays: it has not been known for the minimum age.
    TooYoung,
    /// It stays: the kubelet saw it in use at or after the moment of the pass.
    UsedSince,
    /// It stays: no space is needed.
    NotWanted,
    /// It stays: it has no id.
    NoId,
    /// It stays: kq keeps it.
    Kept,
    /// It stays: the runtime wants it kept.
    Pinned,
    /// It stays: a container uses it.
    InUse,
}

impl Verdict {
    /// Returns true if the image goes.
    pub fn is_removal(self) -> bool {
        matches!(self, Self::RemovedForAge | Self::RemovedForSpace)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RemovedForAge => "REMOVE-AGE",
            Self::RemovedForSpace => "REMOVE-SPACE",
            Self::TargetReached => "TARGET-REACHED",
            Self::TooYoung => "TOO-YOUNG",
            Self::UsedSince => "USED-SINCE",
            Self::NotWanted => "NOT-WANTED",
            Self::NoId => "NO-ID",
            Self::Kept => "KEPT",
            Self::Pinned => "PINNED",
            Self::InUse => "IN-USE",
        })
    }
}

impl PlannedImage {
    /// Returns what people call it: its first tag, else its first digest, else its id.
    pub fn name(&self) -> &str {
        self.tags.first().or(self.digests.first()).unwrap_or(&self.id)
    }
}
