//! The checksum of the kubelet's files: 32 bits of FNV-1a over a text that Go's `spew` would print
//! (`DeepHashObject` in `pkg/util/hash/hash.go`).

/// Where such a text goes to: a text that can be shown, or the checksum alone.
pub trait PreImage {
    /// Adds a piece.
    fn push(&mut self, piece: &str);
}

impl PreImage for String {
    fn push(&mut self, piece: &str) {
        self.push_str(piece);
    }
}

/// FNV-1a with 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv32(u32);

impl Default for Fnv32 {
    fn default() -> Self {
        Self(2_166_136_261)
    }
}

impl Fnv32 {
    /// Returns the checksum of what was added.
    pub fn sum(self) -> u32 {
        self.0
    }
}

impl PreImage for Fnv32 {
    fn push(&mut self, piece: &str) {
        for byte in piece.bytes() {
            self.0 = (self.0 ^ u32::from(byte)).wrapping_mul(16_777_619);
        }
    }
}
