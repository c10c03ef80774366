//! One image in a plan, and images that go in any order with one another.

use crate::knowledge::ImageTimes;
use crate::reason::{Dependency, ImageReason};
use crate::uses::Use;
use kq_answer::{Certainty, Worded};
use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// An image, its verdict, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedImage {
    /// Its place in the order in which images go, from 1; null: it is no candidate.
    pub place: Option<usize>,
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
    /// What comes free when it goes alone, in bytes; null: the runtime does not list its layers.
    pub own_bytes: Option<u64>,
    /// What other images hold as well, in bytes; null: as above.
    pub shared_bytes: Option<u64>,
    /// The result.
    pub verdict: Verdict,
    /// How sure that is.
    pub certainty: Certainty,
    /// Why.
    pub reason: Worded<ImageReason>,
    /// The facts on which the verdict depends; null: none.
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
    /// It stays: no space is asked for, because none is needed or because the collection fails before.
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

/// How many others an answer names with an image. A node whose kubelet has just started remembers the same of all
/// its images: named in full, they are the square of a list.
const NAMED: usize = 100;

/// The others of a group of images that go in any order. The group is stored once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ties {
    ids: Arc<[Arc<str>]>,
    own: usize,
    first_place: usize,
}

/// A range of places, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Places {
    /// The first, counted from 1.
    pub first: usize,
    pub last: usize,
}

impl Ties {
    /// Returns the ties of each image of a group, in its order. `first_place` is the place of the first.
    pub fn of_group(ids: Vec<Arc<str>>, first_place: usize) -> impl Iterator<Item = Self> {
        let ids: Arc<[Arc<str>]> = ids.into();
        (0..ids.len()).map(move |own| Self { ids: Arc::clone(&ids), own, first_place })
    }

    /// Returns true if there are no others.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many others there are.
    pub fn len(&self) -> usize {
        self.ids.len().saturating_sub(1)
    }

    /// Returns the ids of the others.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let all = self.ids.iter().enumerate();
        all.filter(|(at, _)| *at != self.own).map(|(_, id)| &**id)
    }

    /// Returns the places of the whole group, where it is too large to be named with each of its images.
    pub fn places(&self) -> Option<Places> {
        let last = self.first_place.saturating_add(self.len());
        (self.len() > NAMED).then_some(Places { first: self.first_place, last })
    }
}

kq_k8s::schema_as!(Ties, Vec<String>);

impl Serialize for Ties {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.ids().take(NAMED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_group_is_named_by_its_places() {
        let group = |count: usize| {
            let ids = (0..count).map(|at| format!("i{at}").into()).collect();
            Ties::of_group(ids, 7).collect::<Vec<Ties>>()
        };
        let [_, second, _] = &group(3)[..] else { panic!("three of them") };
        assert_eq!(serde_json::to_string(second).expect("JSON"), r#"["i0","i2"]"#);
        assert_eq!((second.len(), second.places()), (2, None));
        let large = group(3_000);
        assert_eq!((large[5].len(), large[5].ids().count()), (2_999, 2_999));
        assert_eq!(large[5].places(), Some(Places { first: 7, last: 3_006 }));
        let named = serde_json::to_value(&large[5]).expect("JSON");
        assert_eq!(named.as_array().map(Vec::len), Some(NAMED));
        assert!(Ties::default().is_empty());
    }
}
