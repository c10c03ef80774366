//! The checksums of the kubelet's files: 32 bits of FNV-1a over a text that Go's `spew` would print
//! (`DeepHashObject` in `pkg/util/hash/hash.go`), and the CRC-32 of IEEE 802.3 for the DRA state
//! (`crc32.ChecksumIEEE` of Go).

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
        let step = |sum: u32, byte: u8| (sum ^ u32::from(byte)).wrapping_mul(16_777_619);
        self.0 = piece.bytes().fold(self.0, step);
    }
}

/// One remainder per byte, of the polynomial 0x04c11db7 with its bits turned around.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        #[expect(clippy::cast_possible_truncation, reason = "at most 255; const has no TryFrom")]
        let mut remainder = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            let carry = remainder & 1;
            remainder >>= 1;
            if carry == 1 {
                remainder ^= 0xedb8_8320;
            }
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
};

/// Returns the checksum of bytes.
pub fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        let [low, ..] = sum.to_le_bytes();
        (sum >> 8) ^ TABLE[usize::from(low ^ byte)]
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_fnv() {
        // From the test suite of the algorithm's authors.
        for (text, sum) in
            [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968), ("b", 0xe70c_2de5)]
        {
            let mut fnv = Fnv32::default();
            for piece in text.split_inclusive('o') {
                fnv.push(piece);
            }
            assert_eq!(fnv.sum(), sum, "{text}");
        }
    }

    #[test]
    fn checksums_are_those_of_the_standard() {
        for (text, expected) in
            [("", 0), ("123456789", 0xcbf4_3926), ("{}", 2_745_614_147), ("x", 2_363_233_923)]
        {
            assert_eq!(crc32(text.as_bytes()), expected, "{text}");
        }
    }
}
