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
        let step = |sum: u32, byte: u8| (sum ^ u32::from(byte)).wrapping_mul(16_777_619);
        self.0 = piece.bytes().fold(self.0, step);
    }
}

/// Adds the elements of a list without their types: `[a b]`.
pub fn push_list<P: PreImage, T>(out: &mut P, list: &[T], mut push: impl FnMut(&mut P, &T)) {
    for (index, element) in list.iter().enumerate() {
        out.push(if index == 0 { "[" } else { " " });
        push(out, element);
    }
    out.push(if list.is_empty() { "[]" } else { "]" });
}

/// Adds the entries of a map without their types: `map[a:1 b:2]`.
pub fn push_map<'m, P: PreImage, K: 'm, V: 'm>(
    out: &mut P,
    map: impl IntoIterator<Item = (&'m K, &'m V)>,
    mut push: impl FnMut(&mut P, &K, &V),
) {
    out.push("map[");
    for (index, (key, value)) in map.into_iter().enumerate() {
        if index > 0 {
            out.push(" ");
        }
        push(out, key, value);
    }
    out.push("]");
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
}
