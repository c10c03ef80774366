//! The layout of JSON: the same bytes as serde_json's, with fewer writes.
//!
//! An answer may have millions of lines. serde_json writes each level of an indentation and each quote alone, and each
//! such write is a call of `memcpy`, which takes musl as long as a hundred bytes.

use serde_json::ser::Formatter;
use std::io::{self, Write};

/// The end of an element, the end of a line, and an indentation.
const LINE: &[u8] = b",\n                                                                ";

/// How much is passed on at once.
const PART: usize = 64 * 1024;

/// Where a document is, and whether it has lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    is_indented: bool,
    depth: usize,
    /// The innermost list or object has an element.
    has_value: bool,
}

impl Layout {
    /// Begins a document with a line for each element, as `serde_json::to_writer_pretty` does.
    pub fn indented() -> Self {
        Self { is_indented: true, depth: 0, has_value: false }
    }

    /// Begins a document in one line, as `serde_json::to_writer` does.
    pub fn compact() -> Self {
        Self { is_indented: false, ..Self::indented() }
    }

    fn open<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.has_value = false;
        out.write_all(bracket)
    }

    fn close<W: Write + ?Sized>(&mut self, out: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.has_value {
            self.line(out, true)?;
        }
        out.write_all(bracket)
    }

    /// Begins an element, or the last line of a list, for which there is no comma.
    fn line<W: Write + ?Sized>(&self, out: &mut W, is_first: bool) -> io::Result<()> {
        let from = usize::from(is_first);
        if !self.is_indented {
            return out.write_all(&LINE[from..1]);
        }
        let width = 2 + 2 * self.depth;
        out.write_all(&LINE[from..width.min(LINE.len())])?;
        let deeper = width.saturating_sub(LINE.len()) / 2;
        (0..deeper).try_for_each(|_| out.write_all(b"  "))
    }
}

impl Formatter for Layout {
    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.line(out, first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.line(out, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(if self.is_indented { b": " } else { b":" })
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}

/// Collects pieces, and passes them on whole: no character is parted.
#[derive(Debug)]
pub(super) struct Whole<W> {
    out: W,
    /// Of [`PART`] bytes, of which those before `end` are collected.
    collected: Box<[u8]>,
    end: usize,
}

impl<W: Write> Whole<W> {
    pub fn new(out: W) -> Self {
        Self { out, collected: vec![0; PART].into_boxed_slice(), end: 0 }
    }

    fn pass_on(&mut self) -> io::Result<()> {
        let passed = self.out.write_all(&self.collected[..self.end]);
        self.end = 0;
        passed
    }
}

impl<W: Write> Write for Whole<W> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.write_all(piece)?;
        Ok(piece.len())
    }

    fn write_all(&mut self, piece: &[u8]) -> io::Result<()> {
        if piece.len() > self.collected.len() - self.end {
            self.pass_on()?;
            if piece.len() > PART {
                return self.out.write_all(piece);
            }
        }
        let end = self.end + piece.len();
        copy(&mut self.collected[self.end..end], piece);
        self.end = end;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass_on()?;
        self.out.flush()
    }
}

/// Copies a piece to a place of its length. Most are short: two copies of a fixed length, which may overlap, are a few
/// instructions.
fn copy(to: &mut [u8], piece: &[u8]) {
    fn ends<const N: usize>(to: &mut [u8], piece: &[u8]) {
        let last = piece.len() - N;
        to[..N].copy_from_slice(&piece[..N]);
        to[last..].copy_from_slice(&piece[last..]);
    }
    match piece.len() {
        0 => {}
        1 => to[0] = piece[0],
        2..4 => ends::<2>(to, piece),
        4..8 => ends::<4>(to, piece),
        8..=16 => ends::<8>(to, piece),
        17..=32 => ends::<16>(to, piece),
        _ => to.copy_from_slice(piece),
    }
}
