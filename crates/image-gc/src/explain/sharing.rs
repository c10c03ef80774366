//! What of an image other images and containers hold as well.

use kq_facts::lookup::Lookup;
use kq_facts::runtime::{Image, ImageStorage};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Unshared and shared bytes of an image. They add up to its layers, not to the size that the runtime reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sharing {
    /// The bytes that its removal alone frees; null: the runtime does not report them.
    pub own_bytes: Option<u64>,
    /// What other images hold as well, in bytes.
    pub shared_bytes: Option<u64>,
    /// What no other image holds, but a container, a lease or an image of another client, in bytes.
    pub held_otherwise_bytes: Option<u64>,
    /// The images that hold the same pieces; those with the most first.
    pub shared_with: Vec<SharedWith>,
    /// Why it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// An image that holds pieces of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharedWith {
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// How much, in bytes.
    pub bytes: u64,
}

impl Sharing {
    /// Adds up the pieces of an image.
    pub(super) fn of(storage: &Lookup<ImageStorage>, image: &Image, images: &[Image]) -> Self {
        let unknown = |reason: String| Self { unknown: Some(reason), ..Self::default() };
        let Some(storage) = storage.value() else { return unknown(storage.reason()) };
        let mut pieces =
            storage.pieces.iter().filter(|piece| piece.images.contains(&image.id)).peekable();
        if pieces.peek().is_none() {
            return unknown("the runtime does not list its layers".to_owned());
        }
        let (mut own, mut shared, mut held) = (0_u64, 0_u64, 0_u64);
        let mut with: BTreeMap<&str, u64> = BTreeMap::new();
        for piece in pieces {
            let others: BTreeSet<&str> = piece
                .images
                .iter()
                .map(String::as_str)
                .filter(|other| *other != image.id)
                .collect();
            let sum = match (others.is_empty(), piece.held_otherwise) {
                (false, _) => &mut shared,
                (true, true) => &mut held,
                (true, false) => &mut own,
            };
            *sum = sum.saturating_add(piece.bytes);
            for other in others {
                let bytes = with.entry(other).or_default();
                *bytes = bytes.saturating_add(piece.bytes);
            }
        }
        let name = |id: &str| {
            let image = images.iter().find(|image| image.id == id);
            image.and_then(|image| image.repo_tags.first()).map_or(id, String::as_str).to_owned()
        };
        let mut shared_with: Vec<SharedWith> = with
            .into_iter()
            .map(|(id, bytes)| SharedWith { id: id.to_owned(), name: name(id), bytes })
            .collect();
        shared_with.sort_by(|a, b| (b.bytes, &a.id).cmp(&(a.bytes, &b.id)));
        Self {
            own_bytes: Some(own),
            shared_bytes: Some(shared),
            held_otherwise_bytes: Some(held),
            shared_with,
            unknown: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_facts::runtime::StoragePiece;

    #[test]
    fn pieces_are_own_shared_or_held() {
        let piece = |bytes: u64, images: &[&str], held_otherwise| StoragePiece {
            name: bytes.to_string(),
            bytes,
            images: images.iter().map(|&id| id.to_owned()).collect(),
            held_otherwise,
        };
        let storage = ImageStorage {
            pieces: vec![
                piece(1, &["a"], false),
                piece(2, &["a", "b"], false),
                piece(4, &["a", "b", "c"], true),
                piece(8, &["a"], true),
                piece(16, &["b"], false),
                piece(32, &[], false),
                piece(u64::MAX, &["d"], false),
                piece(1, &["d"], false),
            ],
        };
        let image = |id: &str| Image {
            id: id.to_owned(),
            repo_tags: vec![format!("tag-of-{id}")],
            ..Image::default()
        };
        let images = [image("a"), image("b")];
        let told = |id: &str, storage: &Lookup<ImageStorage>| {
            let sharing = Sharing::of(storage, &image(id), &images);
            let with = sharing.shared_with.iter();
            let with: Vec<String> =
                with.map(|other| format!("{} {}", other.name, other.bytes)).collect();
            let sums = (sharing.own_bytes, sharing.shared_bytes, sharing.held_otherwise_bytes);
            (sums, with.join(", "), sharing.unknown)
        };
        let known = Lookup::found("s", storage);
        let sums = |own, shared, held| (Some(own), Some(shared), Some(held));
        let with = |text: &str| text.to_owned();
        assert_eq!(told("a", &known), (sums(1, 6, 8), with("tag-of-b 6, c 4"), None));
        assert_eq!(told("b", &known), (sums(16, 6, 0), with("tag-of-a 6, c 4"), None));
        assert_eq!(told("d", &known), (sums(u64::MAX, 0, 0), with(""), None));
        let none = (None, None, None);
        let silent = Some("the runtime does not list its layers".to_owned());
        assert_eq!(told("e", &known), (none, with(""), silent));
        let refused = Lookup::failed("s", "refused");
        assert_eq!(told("a", &refused), (none, with(""), Some("s: refused".to_owned())));
    }
}
