//! Reads tables of an SQLite database. Each number of the file is bounded before it is used, and few pages are read.
//! (<https://www.sqlite.org/fileformat.html>)

use self::SqliteError::Malformed;
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The most bytes that are read. rpm's list of names has some 100 kB, the header of a package some 100 kB too.
const MOST_BYTES: usize = 64 << 20;

/// The largest row. The headers of rpm have 32 MiB at most, those of kernels some 2 MiB.
const LARGEST_ROW: u64 = 32 << 20;

/// The deepest tree.
const DEEPEST: usize = 20;

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum SqliteError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// It is something else.
    #[error("is not an SQLite database with texts in UTF-8")]
    Other,
    /// It contradicts itself, or exceeds a limit.
    #[error("is not a well-formed SQLite database: {0}")]
    Malformed(&'static str),
    /// It has no such table.
    #[error("has no table {0}")]
    NoTable(&'static str),
}

/// An open database.
pub(super) struct Database<'f> {
    file: &'f File,
    page_size: usize,
    /// Without what is reserved for extensions.
    usable: usize,
    /// How many bytes may still be read.
    left: Cell<usize>,
}

/// A table, whose rows are in a tree.
pub(super) struct Table<'d> {
    database: &'d Database<'d>,
    root: u32,
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'r> {
    Null,
    Integer(i64),
    /// A text, or bytes.
    Bytes(&'r [u8]),
}

/// A page of a tree.
struct Page<'d> {
    database: &'d Database<'d>,
    bytes: Vec<u8>,
    /// Where its header begins.
    start: usize,
}

/// What a page of a table has.
enum Cells<'p> {
    /// Rows: number and place.
    Rows(Vec<(i64, &'p [u8], u64)>),
    /// Pages below it, each with the largest number in it; the last one has all others.
    Pages(Vec<(i64, u32)>, u32),
}

impl<'f> Database<'f> {
    pub(super) fn read(file: &'f File) -> Result<Self, SqliteError> {
        let mut header = [0; 100];
        file.read_exact_at(&mut header, 0)?;
        let (size, reserved) = (short(&header, 16), usize::from(header[20]));
        // 64 KiB does not fit into two bytes.
        let page_size = if size == 1 { 65_536 } else { size };
        let is_utf8 = word(&header, 56) == 1;
        if !header.starts_with(b"SQLite format 3\0") || !is_utf8 {
            return Err(SqliteError::Other);
        }
        if !page_size.is_power_of_two() || page_size < 512 || page_size - reserved < 480 {
            return Err(Malformed("its page size"));
        }
        Ok(Self { file, page_size, usable: page_size - reserved, left: Cell::new(MOST_BYTES) })
    }

    /// Returns a table. The first page has the list of all.
    pub(super) fn table(&self, name: &'static str) -> Result<Table<'_>, SqliteError> {
        let found = Table { database: self, root: 1 }.select(|row| match row {
            [Value::Bytes(b"table"), Value::Bytes(it), _, Value::Integer(root), ..] => {
                (*it == name.as_bytes()).then_some(*root)
            }
            _ => None,
        })?;
        let root = found.first().ok_or(SqliteError::NoTable(name))?;
        let root = u32::try_from(*root).map_err(|_| Malformed("the page of a table"))?;
        Ok(Table { database: self, root })
    }

    fn page(&self, number: u32) -> Result<Page<'_>, SqliteError> {
        let left = self.left.get().checked_sub(self.page_size);
        self.left.set(left.ok_or(Malformed("it has too many pages"))?);
        let mut bytes = vec![0; self.page_size];
        let before = number.checked_sub(1).ok_or(Malformed("there is no page 0"))?;
        self.file.read_exact_at(&mut bytes, u64::from(before) * self.page_size as u64)?;
        bytes.truncate(self.usable);
        // The first page begins with the header of the file.
        Ok(Page { database: self, bytes, start: if before == 0 { 100 } else { 0 } })
    }
}

impl Table<'_> {
    /// Returns what a function makes of each row; a row of which it makes nothing is left out.
    pub(super) fn select<T>(
        &self,
        mut wanted: impl FnMut(&[Value<'_>]) -> Option<T>,
    ) -> Result<Vec<T>, SqliteError> {
        let (mut found, mut left) = (Vec::new(), vec![self.root]);
        while let Some(number) = left.pop() {
            let page = self.database.page(number)?;
            match page.cells()? {
                Cells::Rows(rows) => {
                    for (_, start, size) in rows {
                        let row = page.row(start, size)?;
                        found.extend(wanted(&values(&row)?));
                    }
                }
                Cells::Pages(pages, last) => {
                    left.push(last);
                    left.extend(pages.iter().rev().map(|(_, page)| page));
                }
            }
        }
        Ok(found)
    }

    /// Returns what a function makes of the row with a number; `None`: of nothing, or there is no such row.
    pub(super) fn row<T>(
        &self,
        number: i64,
        wanted: impl FnOnce(&[Value<'_>]) -> Option<T>,
    ) -> Result<Option<T>, SqliteError> {
        let mut at = self.root;
        for _ in 0..DEEPEST {
            let page = self.database.page(at)?;
            match page.cells()? {
                Cells::Rows(rows) => {
                    let row = rows.into_iter().find(|(it, ..)| *it == number);
                    let Some((_, start, size)) = row else { return Ok(None) };
                    return Ok(wanted(&values(&page.row(start, size)?)?));
                }
                Cells::Pages(pages, last) => {
                    at = pages.iter().find(|(most, _)| number <= *most).map_or(last, |it| it.1);
                }
            }
        }
        Err(Malformed("a table is too deep"))
    }
}

impl Page<'_> {
    /// Reads the cells: the header of the page, and an array of places.
    fn cells(&self) -> Result<Cells<'_>, SqliteError> {
        let header = self.bytes.get(self.start..).unwrap_or_default();
        let (is_leaf, length) = match header.first() {
            Some(0x0d) => (true, 8),
            Some(0x05) => (false, 12),
            _ => return Err(Malformed("a page is none of a table")),
        };
        let cells = header.get(length..).unwrap_or_default().chunks_exact(2).take(short(header, 3));
        let cells = cells.map(|place| self.bytes.get(short(place, 0)..).unwrap_or_default());
        if is_leaf {
            let row = |cell| {
                let (size, rest) = varint(cell)?;
                let (number, rest) = varint(rest)?;
                Some((number, rest, u64::try_from(size).ok()?))
            };
            let rows = cells.map(row).collect::<Option<_>>();
            rows.map(Cells::Rows).ok_or(Malformed("a row"))
        } else {
            let below = |cell: &[u8]| Some((varint(cell.get(4..)?)?.0, word(cell, 0)));
            let pages = cells.map(below).collect::<Option<_>>();
            let pages = pages.ok_or(Malformed("the places of pages"))?;
            Ok(Cells::Pages(pages, word(header, 8)))
        }
    }

    /// Returns a row with what of it is on other pages.
    fn row(&self, start: &[u8], size: u64) -> Result<Vec<u8>, SqliteError> {
        let size = usize::try_from(size.min(LARGEST_ROW + 1)).unwrap_or_default();
        if size as u64 > LARGEST_ROW {
            return Err(Malformed("a row is too large"));
        }
        let usable = self.database.usable;
        let (most, least) = (usable - 35, (usable - 12) * 32 / 255 - 23);
        let here = match least + size.saturating_sub(least) % (usable - 4) {
            _ if size <= most => size,
            some if some <= most => some,
            _ => least,
        };
        let mut row = start.get(..here).ok_or(Malformed("a row ends beyond its page"))?.to_vec();
        let mut next = word(start, here);
        while row.len() < size {
            let page = self.database.page(next)?;
            let part = page.bytes.get(4..).unwrap_or_default();
            row.extend(part.iter().take(size - row.len()));
            next = word(&page.bytes, 0);
        }
        Ok(row)
    }
}

/// Returns the values of a row: their types come first.
fn values(row: &[u8]) -> Result<Vec<Value<'_>>, SqliteError> {
    let read = || {
        let (length, rest) = varint(row)?;
        let header = usize::try_from(length).ok()?.checked_sub(row.len() - rest.len())?;
        let (mut types, mut content) = rest.split_at_checked(header)?;
        let mut values = Vec::new();
        while !types.is_empty() {
            let (kind, rest) = varint(types)?;
            types = rest;
            let size = match kind {
                0 | 8 | 9 => 0,
                1..=4 => kind,
                5 => 6,
                6 | 7 => 8,
                12.. => (kind - 12) / 2,
                _ => return None,
            };
            let (bytes, rest) = content.split_at_checked(usize::try_from(size).ok()?)?;
            content = rest;
            values.push(match kind {
                1..=6 => Value::Integer(integer(bytes)),
                8 | 9 => Value::Integer(kind - 8),
                12.. => Value::Bytes(bytes),
                // Null, and numbers with fractions, which rpm has none of.
                _ => Value::Null,
            });
        }
        Some(values)
    };
    read().ok_or(Malformed("the values of a row"))
}

/// Returns a number with sign, the highest byte first.
fn integer(bytes: &[u8]) -> i64 {
    let sign = if bytes.first().is_some_and(|byte| *byte >= 0x80) { -1 } else { 0 };
    bytes.iter().fold(sign, |sum, byte| sum << 8 | i64::from(*byte))
}

/// Returns a number of 1 to 9 bytes, and what follows it.
fn varint(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut number: i64 = 0;
    for (at, byte) in bytes.iter().enumerate().take(9) {
        let rest = bytes.get(at + 1..).unwrap_or_default();
        // The ninth byte has all of its bits.
        if at == 8 {
            return Some((number << 8 | i64::from(*byte), rest));
        }
        number = number << 7 | i64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((number, rest));
        }
    }
    None
}

/// Returns the number of 2 bytes at a place, the highest byte first; 0 beyond the end.
fn short(bytes: &[u8], at: usize) -> usize {
    let found = bytes.get(at..at + 2).unwrap_or(&[0; 2]);
    found.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

/// The same for 4 bytes.
fn word(bytes: &[u8], at: usize) -> u32 {
    let found = bytes.get(at..at + 4).unwrap_or(&[0; 4]);
    found.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}
