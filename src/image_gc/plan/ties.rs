//! Images that go in any order with one another.

use serde::{Serialize, Serializer};
use std::sync::Arc;

/// How many others an answer names beside an image. A node whose kubelet has just started remembers the same of all
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
    /// The last.
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

    /// Returns the places of the whole group, where it is too large to be named beside each of its images.
    pub fn places(&self) -> Option<Places> {
        let last = self.first_place.saturating_add(self.len());
        (self.len() > NAMED).then_some(Places { first: self.first_place, last })
    }
}

crate::schema::schema_as!(Ties, Vec<String>);

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
