//! Versions between the constants of a program.

use super::elf::{Program, Span};
use super::{ProgramVersion, ProgramVersionError};
use memchr::{memchr_iter, memmem};
use std::collections::BTreeSet;

/// The section of the constants.
pub(super) const CONSTANTS: &str = ".rodata";

/// The longest text that is recognised, with what is around it.
const LONGEST: usize = 128;

/// The most texts that are compared. A file with as many has no version.
const MOST_TEXTS: usize = 32;

/// How a text is found between others.
pub(super) enum Find {
    /// It begins with this, and a NUL ends it.
    Beginning(&'static [u8]),
    /// It has a dot, and a NUL ends it.
    Dotted,
    /// It ends with this, which is not a part of it.
    End(&'static [u8]),
    /// The same, and other texts may come directly before it.
    EndOfMany(&'static [u8]),
}

/// Returns the texts that are versions. `is_version` gets the text, and the byte before it.
pub(super) fn texts(
    program: &Program<'_>,
    place: Span,
    find: &Find,
    is_version: fn(&str) -> bool,
) -> Result<BTreeSet<String>, ProgramVersionError> {
    let mut found = BTreeSet::new();
    let mut take = |text: Option<&str>| {
        if let Some(text) = text.filter(|text| is_version(text))
            && found.len() < MOST_TEXTS
        {
            found.insert(text.to_owned());
        }
    };
    program.pieces(place, LONGEST, |piece, is_first| match find {
        Find::Beginning(needle) => memmem::find_iter(piece, needle).for_each(|at| {
            let tail = piece.get(at..).unwrap_or_default();
            let length = tail.iter().take(LONGEST).position(|byte| *byte == 0);
            take(length.and_then(|length| whole(piece, at, at + length, is_first)));
        }),
        Find::Dotted => {
            let mut last = 0;
            for dot in memchr_iter(b'.', piece) {
                let tail = piece.get(dot..).unwrap_or_default();
                let word = tail.iter().take(LONGEST).take_while(|byte| is_of_version(**byte));
                let end = dot + word.count();
                if end > last && piece.get(end) == Some(&0) {
                    take(before(piece, end, is_first));
                }
                last = end;
            }
        }
        Find::End(needle) => {
            memmem::find_iter(piece, needle).for_each(|end| take(before(piece, end, is_first)));
        }
        Find::EndOfMany(needle) => memmem::find_iter(piece, needle).for_each(|end| {
            let head = piece.get(end.saturating_sub(LONGEST / 4)..end).unwrap_or_default();
            let length = head.iter().rev().take_while(|byte| is_of_version(**byte)).count();
            take(std::str::from_utf8(head.get(head.len() - length..).unwrap_or_default()).ok());
        }),
    })?;
    Ok(found)
}

/// Returns the word that ends at a place.
fn before(piece: &[u8], end: usize, is_first: bool) -> Option<&str> {
    let head = piece.get(end.saturating_sub(LONGEST)..end)?;
    let length = head.iter().rev().take_while(|byte| is_of_version(**byte)).count();
    whole(piece, end - length, end, is_first)
}

/// Returns a text if it is a word of its own: a text of a version that a longer one, such as a path, contains is none.
fn whole(piece: &[u8], start: usize, end: usize, is_first: bool) -> Option<&str> {
    let text = piece.get(start..end).filter(|text| (1..=LONGEST / 2).contains(&text.len()))?;
    // The beginning of a later piece is in the one before it, with what precedes it.
    let before = match start.checked_sub(1) {
        Some(at) => piece.get(at).copied()?,
        None if is_first => 0,
        None => return None,
    };
    let is_word = !is_of_version(before) && !b"/@_".contains(&before);
    let text = std::str::from_utf8(text).ok()?;
    (is_word && text.bytes().all(is_of_version)).then_some(text)
}

fn is_of_version(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-+~.".contains(&byte)
}

/// Returns true for `1.21`, `1.8.1`, `1.1.5+ds1` and `1.5.0-rc.1`: numbers, and what may follow them.
pub(super) fn has_numbers(text: &str, least: usize) -> bool {
    let numbers = text.split(['-', '+', '~']).next().unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (least..=3).contains(&numbers.split('.').count()) && numbers.split('.').all(is_number)
}

/// Returns the only text.
pub(super) fn only(texts: BTreeSet<String>) -> Result<String, ProgramVersionError> {
    match texts.len() {
        0 => Err(ProgramVersionError::NoVersion),
        1 => Ok(texts.into_iter().next().unwrap_or_default()),
        // A hostile file has any number of them.
        _ => Err(ProgramVersionError::Several(texts.into_iter().take(4).collect())),
    }
}

/// Returns the version of a program in C, of which kq knows crun: it prints its version with `"%s version %s\n"`, and the
/// compiler places the version before that format (`print_version` in `src/crun.c` of crun; seen in the packages of Debian
/// 12, 13 and sid).
pub(super) fn crun(program: &Program<'_>) -> Result<ProgramVersion, ProgramVersionError> {
    let place = program.section(CONSTANTS).ok_or(ProgramVersionError::NoVersion)?;
    let find = Find::End(b"\0%s version %s\n\0");
    let version = only(texts(program, place, &find, |text| has_numbers(text, 2))?)?;
    Ok(ProgramVersion { name: "crun".to_owned(), version })
}
