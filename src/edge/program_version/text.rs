//! Versions between the constants of a program.

use super::elf::{Program, Span};
use super::{ProgramVersion, ProgramVersionError};
use regex::bytes::Regex;
use std::collections::BTreeSet;

/// The section of the constants.
pub(super) const CONSTANTS: &str = ".rodata";

/// The longest text that is recognised.
pub(super) const LONGEST: usize = 256;

/// The most texts that are compared. A file with as many has no version.
const MOST_TEXTS: usize = 32;

/// Returns the texts that the first group of a pattern finds.
pub(super) fn texts(
    program: &Program<'_>,
    place: Span,
    pattern: &str,
) -> Result<BTreeSet<String>, ProgramVersionError> {
    // The patterns are constants, and a test compiles each.
    let Ok(pattern) = Regex::new(pattern) else { return Ok(BTreeSet::new()) };
    let mut found = BTreeSet::new();
    program.pieces(place, LONGEST, |piece| {
        for text in pattern.captures_iter(piece).filter_map(|groups| groups.get(1)) {
            if found.len() == MOST_TEXTS {
                break;
            }
            found.insert(String::from_utf8_lossy(text.as_bytes()).into_owned());
        }
    })?;
    Ok(found)
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

/// crun prints its version with `"%s version %s\n"`, and the compiler places the version before that format
/// (`print_version` in `src/crun.c` of crun; seen in the packages of Debian 12 and 13).
pub(super) const CRUN: &str =
    r"\x00([0-9]+\.[0-9]+(?:\.[0-9]+)?[-+~.0-9A-Za-z]{0,64})\x00%s version %s\n\x00";

/// Returns the version of a program in C, of which kq knows crun.
pub(super) fn crun(program: &Program<'_>) -> Result<ProgramVersion, ProgramVersionError> {
    let place = program.section(CONSTANTS).ok_or(ProgramVersionError::NoVersion)?;
    let version = only(texts(program, place, &format!("(?-u){CRUN}"))?)?;
    Ok(ProgramVersion { name: "crun".to_owned(), version })
}
