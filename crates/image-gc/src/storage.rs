//! What the removal of images really frees.
//!
//! The kubelet counts the sizes of the images (`freeImage` in
//! `pkg/kubelet/images/image_gc_manager.go`), and so counts a layer that several of them share once for
//! each. What the runtime frees is less while one of them stays, and it frees it a little later, when
//! it collects what nothing holds any more.

use crate::cycle::StrSet;
use kq_facts::runtime::ImageStorage;
use std::collections::BTreeMap;

/// Returns how many bytes are freed by the removal of images, which are named by their ids.
///
/// A piece is freed with the last image that holds it. One that nothing holds even before is no merit of
/// the removal.
pub fn freed<'a>(storage: &ImageStorage, removed: impl Iterator<Item = &'a str>) -> u64 {
    let removed: StrSet<'_> = removed.collect();
    let freed = storage.pieces.iter().filter(|piece| {
        let is_held = piece.images.iter().any(|id| !removed.contains(id.as_str()));
        !piece.images.is_empty() && !piece.held_otherwise && !is_held
    });
    freed.fold(0, |sum, piece| sum.saturating_add(piece.bytes))
}

/// Returns how many bytes are freed by the removal of images at the most: when whatever else holds their
/// pieces, such as dead containers, goes as well.
pub fn freed_at_most<'a>(storage: &ImageStorage, removed: impl Iterator<Item = &'a str>) -> u64 {
    let removed: StrSet<'_> = removed.collect();
    let freed = storage.pieces.iter().filter(|piece| {
        !piece.images.is_empty() && piece.images.iter().all(|id| removed.contains(id.as_str()))
    });
    freed.fold(0, |sum, piece| sum.saturating_add(piece.bytes))
}

/// How the pieces of an image are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// What nothing else holds, in bytes.
    pub own_bytes: u64,
    /// What other images hold as well, in bytes.
    pub shared_bytes: u64,
}

/// Returns the layers of each image that has any, by its id.
pub fn layers_by_image(storage: &ImageStorage) -> BTreeMap<&str, Layers> {
    let mut layers: BTreeMap<&str, Layers> = BTreeMap::new();
    for piece in &storage.pieces {
        // The ids are in order.
        let holders = piece.images.chunk_by(|a, b| a == b).map(|same| same[0].as_str());
        let is_shared = holders.clone().nth(1).is_some();
        for id in holders {
            let of_image = layers.entry(id).or_default();
            let sum = match (is_shared, piece.held_otherwise) {
                (true, _) => &mut of_image.shared_bytes,
                (false, false) => &mut of_image.own_bytes,
                (false, true) => continue,
            };
            *sum = sum.saturating_add(piece.bytes);
        }
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_facts::runtime::StoragePiece;

    fn piece(bytes: u64, images: &[&str], held_otherwise: bool) -> StoragePiece {
        StoragePiece {
            name: bytes.to_string(),
            bytes,
            images: images.iter().map(|&id| id.to_owned()).collect(),
            held_otherwise,
        }
    }

    #[test]
    fn layers_are_own_or_shared() {
        let storage = ImageStorage {
            pieces: vec![
                piece(1, &["a"], false),
                piece(2, &["a", "b"], false),
                piece(4, &["b", "b"], false),
                piece(8, &["a"], true),
                piece(16, &["a", "b"], true),
                piece(32, &["c"], true),
            ],
        };
        let layers = layers_by_image(&storage);
        let of = |id: &str| layers.get(id).map(|it| (it.own_bytes, it.shared_bytes));
        assert_eq!(
            ["a", "b", "c", "d"].map(of),
            [Some((1, 18)), Some((4, 18)), Some((0, 0)), None]
        );
    }

    #[test]
    fn a_piece_goes_with_the_last_that_holds_it() {
        let storage = ImageStorage {
            pieces: vec![
                piece(1, &["a"], false),
                piece(2, &["a", "b"], false),
                piece(4, &["b"], false),
                piece(8, &["a"], true),
                piece(16, &[], false),
                piece(32, &["a", "b", "c"], false),
            ],
        };
        for (removed, expected) in [
            (&[][..], 0),
            (&["a"], 1),
            (&["b"], 4),
            (&["a", "b"], 7),
            (&["a", "b", "c"], 39),
            (&["c"], 0),
            (&["unknown"], 0),
        ] {
            let removed: &[&str] = removed;
            let ids = || removed.iter().copied();
            assert_eq!(freed(&storage, ids()), expected, "{removed:?}");
            let held = if removed.contains(&"a") { 8 } else { 0 };
            assert_eq!(freed_at_most(&storage, ids()), expected + held, "{removed:?}");
        }
        let huge =
            ImageStorage { pieces: vec![piece(u64::MAX, &["a"], false), piece(1, &["a"], false)] };
        assert_eq!(freed(&huge, ["a"].into_iter()), u64::MAX);
    }
}
