//! CRC-32 as IEEE 802.3 has it: the checksum of the kubelet's DRA state (`crc32.ChecksumIEEE` of Go).

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
    fn checksums_are_those_of_the_standard() {
        for (text, expected) in
            [("", 0), ("123456789", 0xcbf4_3926), ("{}", 2_745_614_147), ("x", 2_363_233_923)]
        {
            assert_eq!(crc32(text.as_bytes()), expected, "{text}");
        }
    }
}
