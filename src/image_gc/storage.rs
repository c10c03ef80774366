//! What the removal of images really frees.
//!
//! The kubelet counts the sizes of the images (`freeImage` in
//! `pkg/kubelet/images/image_gc_manager.go`), and so counts a layer that several of them share once for
//! each. What the runtime frees is less while one of them stays, and it frees it a little later, when
//! it collects what nothing holds any more.

use crate::facts::runtime::ImageStorage;
use crate::image_gc::cycle::StrSet;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::runtime::StoragePiece;

    #[test]
    fn a_piece_goes_with_the_last_that_holds_it() {
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
