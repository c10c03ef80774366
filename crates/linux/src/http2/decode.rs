//! Blocks of header fields (RFC 7541), from any encoder.

use super::hpack::{Field, STATIC, TABLE_BYTES, Table, push_number, size};
use super::huffman;

/// Why a block of headers cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HpackError {
    /// It ends in the middle of a field.
    #[error("the header block is cut off")]
    CutOff,
    /// A number, an index or a text is none.
    #[error("the header block is malformed")]
    Malformed,
}

impl Table {
    /// Returns the field of an index, which counts from 1.
    fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        match index.checked_sub(1)? {
            known if known < STATIC.len() => {
                STATIC.get(known).map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            }
            added => {
                self.fields.get(added - STATIC.len()).map(|(name, value)| (&name[..], &value[..]))
            }
        }
    }
}

/// Returns a block that needs no table: each field is written out.
pub fn plain_block(fields: &[Field]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.push(0);
        for text in [name, value] {
            push_number(&mut out, 0, 7, text.len());
            out.extend(text);
        }
    }
    out
}

/// Reads the header blocks of one side of a connection, one after the other.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { table: Table::new() }
    }
}

impl Decoder {
    /// Returns the fields of a block, up to so many bytes and the field that exceeds them: an index of one
    /// byte may stand for thousands.
    /// Fails for what is no block; the ones after it cannot be read either.
    pub fn fields(&mut self, block: &[u8], most: usize) -> Result<Vec<Field>, HpackError> {
        let mut fields = Vec::new();
        let mut bytes = 0;
        let mut rest = block;
        while let Some(first) = rest.first().copied() {
            let field = match first {
                0x80.. => {
                    let index = take_number(&mut rest, 7)?;
                    let (name, value) = self.table.get(index).ok_or(HpackError::Malformed)?;
                    (bytes <= most).then(|| (name.to_vec(), value.to_vec()))
                }
                0x20..0x40 => {
                    let wanted = take_number(&mut rest, 5)?;
                    if wanted > TABLE_BYTES {
                        return Err(HpackError::Malformed);
                    }
                    self.table.resize(wanted);
                    None
                }
                _ => {
                    let is_added = first >= 0x40;
                    let name = match take_number(&mut rest, if is_added { 6 } else { 4 })? {
                        0 => take_text(&mut rest)?,
                        index => self.table.get(index).ok_or(HpackError::Malformed)?.0.to_vec(),
                    };
                    let value = take_text(&mut rest)?;
                    if is_added {
                        self.table.add((name.clone(), value.clone()));
                    }
                    Some((name, value))
                }
            };
            if let Some(field) = field.filter(|_| bytes <= most) {
                bytes += size(&field.0, &field.1);
                fields.push(field);
            }
        }
        Ok(fields)
    }
}

/// Takes a number of which the first byte has so many bits.
fn take_number(rest: &mut &[u8], bits: u32) -> Result<usize, HpackError> {
    let most = (1_usize << bits) - 1;
    let mut number = usize::from(take_byte(rest)?) & most;
    if number < most {
        return Ok(number);
    }
    // Nothing that is read is longer than four of these bytes can say.
    for shift in [0, 7, 14, 21] {
        let byte = usize::from(take_byte(rest)?);
        number += (byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(HpackError::Malformed)
}

fn take_byte(rest: &mut &[u8]) -> Result<u8, HpackError> {
    let (first, after) = rest.split_first().ok_or(HpackError::CutOff)?;
    *rest = after;
    Ok(*first)
}

fn take_text(rest: &mut &[u8]) -> Result<Vec<u8>, HpackError> {
    let is_huffman = rest.first().is_some_and(|byte| byte & 0x80 != 0);
    let length = take_number(rest, 7)?;
    let (text, after) = rest.split_at_checked(length).ok_or(HpackError::CutOff)?;
    *rest = after;
    match is_huffman {
        true => huffman::decode(text).ok_or(HpackError::Malformed),
        false => Ok(text.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::hpack::Encoder;
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> =
            text.chars().filter_map(|digit| Some(digit.to_digit(16)? as u8)).collect();
        digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    fn shown(fields: &[Field]) -> Vec<String> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        fields.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect()
    }

    /// RFC 7541, C.4: three requests of one connection.
    #[test]
    fn the_requests_of_the_specification_are_read_and_written() {
        let first = [(":method", "GET"), (":scheme", "http"), (":path", "/")];
        let host = (":authority", "www.example.com");
        let rows: [(&str, Vec<(&str, &str)>); 3] = [
            ("828684418cf1e3c2e5f23a6ba0ab90f4ff", [&first[..], &[host]].concat()),
            (
                "828684be5886a8eb10649cbf",
                [&first[..], &[host, ("cache-control", "no-cache")]].concat(),
            ),
            (
                "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
                vec![
                    (":method", "GET"),
                    (":scheme", "https"),
                    (":path", "/index.html"),
                    host,
                    ("custom-key", "custom-value"),
                ],
            ),
        ];
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for (block, fields) in rows {
            let read = decoder.fields(&hex(block), 1 << 16).expect("a block");
            let expected: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            assert_eq!(shown(&read), expected);
            let fields: Vec<(&str, String)> =
                fields.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
            assert_eq!(encoder.block(&fields), hex(block));
        }
    }

    #[test]
    fn tables_are_bounded_on_both_sides() {
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for round in 0..100 {
            let fields = vec![
                ("large", "x".repeat(3_000)),
                ("larger", "y".repeat(5_000)),
                ("number", round.to_string()),
            ];
            let read = decoder.fields(&encoder.block(&fields), 1 << 16).expect("a block");
            let expected: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
            assert_eq!(shown(&read), expected);
        }
        assert!(encoder.table.bytes <= TABLE_BYTES && decoder.table.bytes <= TABLE_BYTES);
        encoder.limit(0);
        encoder.limit(8_192);
        let block = encoder.block(&[("te", "trailers".to_owned())]);
        assert_eq!(block[0], 0x20, "the table is given up");
        decoder.fields(&block, 1 << 16).expect("a block");
        assert_eq!((decoder.table.bytes, decoder.table.fields.len()), (0, 0));
    }

    #[test]
    fn an_index_does_not_expand_beyond_the_limit() {
        let mut block = plain_block(&[(b"a".to_vec(), vec![b'x'; 4_000])]);
        block[0] = 0x40;
        block.extend([0xbe; 60_000]);
        let read = Decoder::default().fields(&block, 10_000).expect("a block");
        assert_eq!(read.len(), 3);
    }

    #[test]
    fn what_is_no_block_is_refused() {
        for (name, block, expected) in [
            ("index 0", "80", HpackError::Malformed),
            ("no such index", "be", HpackError::Malformed),
            ("no such name", "7f00", HpackError::Malformed),
            ("a large table", "3fe21f", HpackError::Malformed),
            ("a number without end", "ffffffffffff7f", HpackError::Malformed),
            ("cut off in a number", "ff", HpackError::CutOff),
            ("cut off in a text", "400a61", HpackError::CutOff),
            ("no Huffman code", "4181000161", HpackError::Malformed),
        ] {
            assert_eq!(Decoder::default().fields(&hex(block), 100), Err(expected), "{name}");
        }
    }
}
