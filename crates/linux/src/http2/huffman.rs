//! The Huffman code of HPACK (RFC 7541, appendix B).
//!
//! The code is canonical: of codes of one length, those of smaller symbols come first, and each length goes on
//! where the one before ended. So the lengths are all there is to know.

/// The length of the code of each byte, in bits; the last one is that of the end of a string.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28,
    28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11,
    10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8,
    15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5,
    6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7,
    7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23,
    23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21,
    23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25,
    26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26,
    28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

/// The symbol that ends a string; it is never written.
const END: usize = 256;

/// The length of the longest code.
const LONGEST: usize = 30;

/// The code by length.
struct Code {
    /// Per length: the first code of it, and where its symbols begin.
    first: [(u32, usize); LONGEST + 1],
    /// Per length: how many codes there are.
    count: [usize; LONGEST + 1],
    /// The symbols in the order of their codes.
    symbols: [usize; END + 1],
}

static CODE: Code = code();

const fn code() -> Code {
    let mut made =
        Code { first: [(0, 0); LONGEST + 1], count: [0; LONGEST + 1], symbols: [0; END + 1] };
    let (mut next, mut place, mut length) = (0_u32, 0, 1);
    while length <= LONGEST {
        next <<= 1;
        made.first[length] = (next, place);
        let mut symbol = 0;
        while symbol <= END {
            if LENGTHS[symbol] as usize == length {
                made.symbols[place] = symbol;
                made.count[length] += 1;
                place += 1;
                next += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    made
}

/// Returns how many bytes a text takes.
pub fn encoded_len(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|byte| usize::from(LENGTHS[usize::from(*byte)])).sum();
    bits.div_ceil(8)
}

/// Appends a text; the last byte is filled with ones.
pub fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0_u64, 0);
    for byte in text {
        let symbol = usize::from(*byte);
        let length = usize::from(LENGTHS[symbol]);
        let (first, place) = CODE.first[length];
        let after = CODE.symbols[place..place + CODE.count[length]]
            .iter()
            .position(|of| *of == symbol)
            .expect("each symbol has its place among those of its length");
        bits = bits << length | (u64::from(first) + after as u64);
        count += length;
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
        bits &= (1 << count) - 1;
    }
    if count > 0 {
        let fill = 8 - count;
        out.push((bits << fill) as u8 | ((1_u16 << fill) - 1) as u8);
    }
}

/// Returns the text; `None`: no encoder writes that.
#[cfg(any(test, cri))]
pub fn decode(encoded: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(encoded.len() * 8 / 5);
    let (mut code, mut length) = (0_u32, 0);
    for byte in encoded {
        for bit in (0..8).rev() {
            code = code << 1 | u32::from(byte >> bit & 1);
            length += 1;
            let (first, place) = *CODE.first.get(length)?;
            let after = code.checked_sub(first).map(|after| after as usize);
            if let Some(after) = after.filter(|after| *after < CODE.count[length]) {
                text.push(u8::try_from(CODE.symbols[place + after]).ok()?);
                (code, length) = (0, 0);
            }
        }
    }
    // The end of the last byte is the beginning of the longest code: ones.
    let is_filled = length < 8 && code == (1 << length) - 1;
    is_filled.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification_are_read_and_written() {
        // RFC 7541, C.4 and C.6.
        for (text, encoded) in [
            ("www.example.com", "f1e3c2e5f23a6ba0ab90f4ff"),
            ("no-cache", "a8eb10649cbf"),
            ("custom-value", "25a849e95bb8e8b4bf"),
            ("302", "6402"),
            ("Mon, 21 Oct 2013 20:13:21 GMT", "d07abe941054d444a8200595040b8166e082a62d1bff"),
            ("", ""),
        ] {
            let mut written = Vec::new();
            encode(text.as_bytes(), &mut written);
            let hex: String = written.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, encoded, "{text}");
            assert_eq!(encoded_len(text.as_bytes()), written.len(), "{text}");
            assert_eq!(decode(&written).as_deref(), Some(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
        for length in 0..all.len() {
            let mut written = Vec::new();
            encode(&all[..length], &mut written);
            assert_eq!(decode(&written).as_deref(), Some(&all[..length]), "{length}");
        }
    }

    #[test]
    fn what_no_encoder_writes_is_refused() {
        // Filled with zeros, filled with a whole byte, and the end of a string in it.
        for wrong in [&[0x00][..], &[0x07, 0xff], &[0xff, 0xff, 0xff, 0xff]] {
            assert_eq!(decode(wrong), None, "{wrong:x?}");
        }
    }
}
