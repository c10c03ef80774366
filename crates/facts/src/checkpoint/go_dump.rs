//! The text of a Go value that the kubelet's checksums are made of: `spew` with `%#v`, sorted keys and no
//! addresses (`k8s.io/apimachinery/pkg/util/dump`, `ForHash`).
//!
//! Whether the next value shows its type is a flag that a value clears when it is printed. A nil pointer
//! that shows no type leaves the flag as it is, so that the value after it, wherever that stands, shows
//! none either. `state_files.jsonl` pins it.
//!
//! The checksums are 32 bits of FNV-1a over such a text (`DeepHashObject` in `pkg/util/hash/hash.go`), and for the DRA
//! state the CRC-32 of IEEE 802.3 over its JSON (`crc32.ChecksumIEEE` of Go).

use std::fmt::{self, Display, Write as _};

/// Prints one value.
#[derive(Debug)]
pub struct GoDump<'o, P: ?Sized> {
    out: &'o mut P,
    /// The next value shows no type.
    untyped: bool,
}

/// Writes to a pre-image what prints itself.
struct Printed<'o, P: ?Sized>(&'o mut P);

impl<P: PreImage + ?Sized> fmt::Write for Printed<'_, P> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push(text);
        Ok(())
    }
}

impl<'o, P: PreImage + ?Sized> GoDump<'o, P> {
    /// Begins with a value that shows its type.
    pub fn new(out: &'o mut P) -> Self {
        Self { out, untyped: false }
    }

    /// Prints punctuation and the names of fields.
    pub fn mark(&mut self, text: &str) {
        self.out.push(text);
    }

    /// Prints a string, a number, or the `{` of a structure.
    pub fn scalar(&mut self, go_type: &str, value: &str) {
        self.show_type(go_type);
        self.out.push(value);
    }

    /// Prints a number.
    pub fn number(&mut self, go_type: &str, value: impl Display) {
        self.show_type(go_type);
        self.print(value);
    }

    /// Prints a list; `None` is nil.
    pub fn list<T>(
        &mut self,
        go_type: &str,
        items: Option<impl IntoIterator<Item = T>>,
        mut print: impl FnMut(&mut Self, T),
    ) {
        self.show_type(go_type);
        let Some(items) = items else { return self.mark("<nil>") };
        self.mark("[");
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                self.mark(" ");
            }
            self.untyped = true;
            print(self, item);
        }
        self.mark("]");
    }

    /// Prints a map whose entries come in the order of Go's keys; `None` is nil.
    pub fn map<K: Display, V>(
        &mut self,
        go_type: &str,
        entries: Option<impl IntoIterator<Item = (K, V)>>,
        mut print: impl FnMut(&mut Self, V),
    ) {
        self.show_type(go_type);
        let Some(entries) = entries else { return self.mark("<nil>") };
        self.mark("map[");
        for (at, (key, value)) in entries.into_iter().enumerate() {
            if at > 0 {
                self.mark(" ");
            }
            self.print(key);
            self.mark(":");
            self.untyped = true;
            print(self, value);
        }
        self.mark("]");
    }

    /// Prints a pointer; `None` is nil.
    pub fn pointer<T>(
        &mut self,
        go_type: &str,
        value: Option<T>,
        print: impl FnOnce(&mut Self, T),
    ) {
        match value {
            None if self.untyped => self.mark("<nil>"),
            None => {
                self.mark("(*");
                self.mark(go_type);
                self.mark(")<nil>");
            }
            Some(value) => {
                if self.untyped {
                    self.mark("<*>");
                } else {
                    self.mark("(*");
                    self.mark(go_type);
                    self.mark(")");
                }
                self.untyped = true;
                print(self, value);
            }
        }
    }

    fn print(&mut self, value: impl Display) {
        // A pre-image accepts everything.
        let _ = write!(Printed(&mut *self.out), "{value}");
    }

    fn show_type(&mut self, go_type: &str) {
        if !self.untyped {
            self.mark("(");
            self.mark(go_type);
            self.mark(")");
        }
        self.untyped = false;
    }
}

/// The output of such a text: a text for display, or only the checksum.
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

    fn dumped(print: impl FnOnce(&mut GoDump<'_, String>)) -> String {
        let mut text = String::new();
        print(&mut GoDump::new(&mut text));
        text
    }

    #[test]
    fn only_the_outermost_value_shows_its_type() {
        let list = dumped(|d| d.list("[]int", Some([1, 2]), |d, it| d.number("int", it)));
        assert_eq!(list, "([]int)[1 2]");
        let map = dumped(|d| {
            d.map("map[int]string", Some([(-1, "a"), (10, "")]), |d, it| d.scalar("string", it));
        });
        assert_eq!(map, "(map[int]string)map[-1:a 10:]");
        let nil = dumped(|d| d.map("map[int]string", None::<[(i64, &str); 0]>, |_, _| {}));
        assert_eq!(nil, "(map[int]string)<nil>");
    }

    #[test]
    fn after_a_nil_pointer_without_type_the_next_value_shows_none() {
        let text = dumped(|d| {
            d.map("map[int]*T", Some([(0, None), (1, Some(5))]), |d, it| {
                d.pointer("T", it, |d, it| d.number("T", it));
            });
            d.mark(" A:");
            d.number("int", 1);
        });
        assert_eq!(text, "(map[int]*T)map[0:<nil> 1:<*>5] A:(int)1");
        let text = dumped(|d| {
            d.map("map[int]*T", Some([(0, None::<i64>)]), |d, it| {
                d.pointer("T", it, |d, it| d.number("T", it));
            });
            d.mark(" A:");
            d.number("int", 1);
            d.mark(" B:");
            d.number("int", 2);
        });
        assert_eq!(text, "(map[int]*T)map[0:<nil>] A:1 B:(int)2");
    }
}

#[cfg(test)]
mod checksum_tests {
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
