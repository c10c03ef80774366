//! The limits of kq's inputs, and their reasons. A limit follows from the size of a node; a reader that
//! exceeds one reports it with a hint.
//!
//! | what | limit | because |
//! |---|---|---|
//! | memory | [`memory_for`] what was received | what a node says of itself grows tenfold to thirtyfold in memory |
//! | JSON, an answer of a server | [`MAX_JSON_BYTES`] | 100,000 pods of 5 kB, with their managed fields |
//! | YAML | [`MAX_YAML_BYTES`] | manifests are written by hand or by a chart |
//! | a snapshot, unpacked | [`MAX_SNAPSHOT_BYTES`], [`unpacked_limit`] | 100,000 pods; JSON packs 20 to 30 times |
//! | the window of a packed snapshot | [`MAX_ZSTD_WINDOW`] | what a decoder must take (RFC 8878, 3.1.1.1.2) |
//! | a line of a recording | [`MAX_RECORDED_BYTES`] | a snapshot of 10,000 pods; a line is one snapshot, or a part of it |
//! | a kubeconfig | [`MAX_KUBECONFIG_BYTES`] | 1,000 clusters with their certificates |

pub use kq_k8s::manifest::{MAX_JSON_BYTES, MAX_YAML_BYTES};

/// The largest snapshot that is read, unpacked.
pub const MAX_SNAPSHOT_BYTES: u64 = 512 << 20;

/// The largest window of a packed snapshot. `zstd` uses larger ones with `--long` and `--ultra` only.
pub const MAX_ZSTD_WINDOW: u64 = 8 << 20;

/// The longest line of a recording that is read.
pub const MAX_RECORDED_BYTES: u64 = 64 << 20;

/// The largest kubeconfig that is read.
pub const MAX_KUBECONFIG_BYTES: u64 = 16 << 20;

/// The memory that is allowed in addition to that for each received byte.
const MEMORY_BASE: u64 = 144 << 20;
const MEMORY_PER_BYTE: u64 = 96;

/// The memory that is always allowed: what 1 MB may take, so that less input with much in it is answered as well.
const MEMORY_LEAST: u64 = 236 << 20;

/// The limit of memory: below 1 GiB even if much is allocated between two checks.
const MEMORY_MOST: u64 = 896 << 20;

/// Returns how much memory may be taken for so many bytes that were received. A pod of 150 bytes, the shortest that
/// means something, takes 3 kB.
pub fn memory_for(received: u64) -> u64 {
    let in_proportion = received.saturating_mul(MEMORY_PER_BYTE).saturating_add(MEMORY_BASE);
    in_proportion.clamp(MEMORY_LEAST, MEMORY_MOST)
}

/// Returns how many bytes a packed snapshot may become.
pub fn unpacked_limit(packed: u64) -> u64 {
    const BASE: u64 = 16 << 20;
    const RATIO: u64 = 64;
    packed.saturating_mul(RATIO).saturating_add(BASE).min(MAX_SNAPSHOT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_input_takes_little_memory() {
        for (name, received, mebibytes) in [
            ("nothing", 0, 236),
            ("a megabyte", 1_000_000, 236),
            ("two", 2_000_000, 327),
            ("a hundred", 100_000_000, 896),
            ("without end", u64::MAX, 896),
        ] {
            assert_eq!(memory_for(received) >> 20, mebibytes, "{name}");
        }
        assert_eq!(unpacked_limit(0), 16 << 20);
        assert_eq!(unpacked_limit(u64::MAX), MAX_SNAPSHOT_BYTES);
    }
}
