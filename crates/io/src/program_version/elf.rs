//! The sections of an ELF program, as far as a version needs them. Every size that the file states is bounded before
//! it is used. (elf(5))

use super::ProgramVersionError;
use super::ProgramVersionError::{Malformed, NotElf};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The most sections of a program. Linkers make some forty.
const MOST_SECTIONS: u16 = 512;

/// The largest table of section names.
const MOST_NAMES: u64 = 64 << 10;

/// An open program, and its sections.
pub(super) struct Program<'f> {
    file: &'f File,
    sections: Vec<Section>,
}

/// A section that is in the file.
struct Section {
    name: Vec<u8>,
    place: Span,
}

/// A part of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// How numbers are written.
#[derive(Clone, Copy)]
struct Encoding {
    is_64_bit: bool,
    is_little_endian: bool,
}

impl<'f> Program<'f> {
    /// Reads the headers of a program.
    pub(super) fn read(file: &'f File) -> Result<Self, ProgramVersionError> {
        let mut header = [0; 64];
        let length = read_up_to(file, &mut header, 0)?;
        let encoding = match header.get(..6) {
            Some([0x7f, b'E', b'L', b'F', class @ (1 | 2), order @ (1 | 2)]) if length >= 52 => {
                Encoding { is_64_bit: *class == 2, is_little_endian: *order == 1 }
            }
            _ => return Err(NotElf),
        };
        // e_shoff, e_shentsize, e_shnum, e_shstrndx
        let (table, at) = match encoding.is_64_bit {
            true => (encoding.number(&header, 40, 8), 58),
            false => (encoding.number(&header, 32, 4), 46),
        };
        let short = |at: usize| u16::try_from(encoding.number(&header, at, 2)).unwrap_or_default();
        let (size, count, names) = (short(at), short(at + 2), short(at + 4));
        let least = if encoding.is_64_bit { 64 } else { 40 };
        if count == 0 {
            return Err(Malformed("it has no section headers"));
        }
        if count > MOST_SECTIONS || size < least || size > 256 {
            return Err(Malformed("its section headers are not those of a program"));
        }
        let size = usize::from(size);
        let mut headers = vec![0; size * usize::from(count)];
        file.read_exact_at(&mut headers, table)?;
        let places: Vec<(u64, u64, Span)> =
            headers.chunks_exact(size).map(|header| encoding.section(header)).collect();
        let (_, _, names) =
            places.get(usize::from(names)).ok_or(Malformed("its section headers have no names"))?;
        let names = read(file, *names, MOST_NAMES)?;
        let sections = places.into_iter().filter(|(_, kind, _)| *kind != NOBITS);
        let sections = sections.map(|(name, _, place)| {
            let name =
                usize::try_from(name).ok().and_then(|at| names.get(at..)).unwrap_or_default();
            Section {
                name: name.split(|byte| *byte == 0).next().unwrap_or_default().to_owned(),
                place,
            }
        });
        Ok(Self { file, sections: sections.collect() })
    }

    /// Returns the place of a section; `None`: the program has none of this name.
    pub(super) fn section(&self, name: &str) -> Option<Span> {
        let found = self.sections.iter().find(|section| section.name == name.as_bytes())?;
        Some(found.place)
    }

    /// Reads a part of the file.
    pub(super) fn bytes(&self, place: Span, most: u64) -> Result<Vec<u8>, ProgramVersionError> {
        read(self.file, place, most)
    }

    /// Reads a section in pieces that overlap, so that a text of at most `overlap` bytes is whole in one of them, with the
    /// byte before it. `look` gets a piece, and whether it is the first.
    pub(super) fn pieces(
        &self,
        place: Span,
        overlap: usize,
        mut look: impl FnMut(&[u8], bool),
    ) -> Result<(), ProgramVersionError> {
        let mut piece = vec![0; PIECE];
        let (mut at, end) =
            (place.offset, place.offset.saturating_add(place.size.min(MOST_CONSTANTS)));
        while at < end {
            let want = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
            let Some(buffer) = piece.get_mut(..want) else { break };
            let length = read_up_to(self.file, buffer, at)?;
            look(piece.get(..length).unwrap_or_default(), at == place.offset);
            // The last piece, or the end of a file that is shorter than it states.
            if length < want || length <= overlap || at + length as u64 >= end {
                break;
            }
            at += (length - overlap) as u64;
        }
        Ok(())
    }
}

/// The type of a section without content in the file: `SHT_NOBITS`.
const NOBITS: u64 = 8;

/// The size of a piece.
const PIECE: usize = 256 << 10;

/// The most bytes of constants that are searched. A kubelet has some 15 MB.
const MOST_CONSTANTS: u64 = 128 << 20;

impl Encoding {
    /// Returns the number of `size` bytes at a place; 0 beyond the end.
    fn number(self, bytes: &[u8], at: usize, size: usize) -> u64 {
        let bytes = bytes.get(at..at + size).unwrap_or_default();
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        match self.is_little_endian {
            true => bytes.iter().rev().fold(0, add),
            false => bytes.iter().fold(0, add),
        }
    }

    /// Returns the place of a section's name, its type and its place.
    fn section(self, header: &[u8]) -> (u64, u64, Span) {
        let (offset, size) = match self.is_64_bit {
            true => (self.number(header, 24, 8), self.number(header, 32, 8)),
            false => (self.number(header, 16, 4), self.number(header, 20, 4)),
        };
        (self.number(header, 0, 4), self.number(header, 4, 4), Span { offset, size })
    }
}

fn read(file: &File, place: Span, most: u64) -> Result<Vec<u8>, ProgramVersionError> {
    let size =
        usize::try_from(place.size.min(most)).map_err(|_| Malformed("a section is too large"))?;
    let mut bytes = vec![0; size];
    let length = read_up_to(file, &mut bytes, place.offset)?;
    bytes.truncate(length);
    Ok(bytes)
}

/// Fills a buffer, or reads to the end of the file.
fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = buffer.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, offset.saturating_add(length as u64)) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
