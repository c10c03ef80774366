//! Reads the version of a program from its file. The program is never executed.
//!
//! | program                             | where its version is                                                         |
//! |-------------------------------------|------------------------------------------------------------------------------|
//! | kubelet, k3s, MicroShift, runc (Go) | the linker's flags or the main module in the build information; else texts   |
//! |                                     | that the linker placed between the constants, and the file that runc embeds  |
//! | crun (C)                            | the text before its format `%s version %s`                                   |
//!
//! A file in which two texts could be the version has none: a guess would choose the formula of another release.

mod elf;
mod go;
#[cfg(test)]
mod tests;
mod text;

use self::elf::Program;
use self::go::BuildInfo;
use crate::trust::TrustedProgram;
use crate::watchdog::reading;
use std::fs::File;
use std::io;

pub use kq_facts::runtime::ProgramVersion;

/// Why the version is unknown.
#[derive(Debug, thiserror::Error)]
pub enum ProgramVersionError {
    /// It cannot be read.
    #[error("cannot be read")]
    Read(#[from] io::Error),
    /// A script, or a program of another system.
    #[error("is not an ELF program, so its file does not show its version")]
    NotElf,
    /// The file contradicts itself, or exceeds a limit.
    #[error("is not a well-formed ELF program: {0}")]
    Malformed(&'static str),
    /// A Go program whose version kq does not know how to find.
    #[error("is the Go program {0:?}, whose file kq cannot read a version from")]
    OtherProgram(String),
    /// No text in it is recognised as the version.
    #[error("its file contains no version that kq recognises")]
    NoVersion,
    /// Several texts could be the version.
    #[error("its file contains several versions: {}", .0.join(", "))]
    Several(Vec<String>),
}

/// Returns the name and version of a program from its file.
///
/// Reads the section headers, the build information and, where these do not have the version, the constants in pieces:
/// 10 ms and 1 MiB for a kubelet of 60 MB.
/// Fails if the file cannot be read, or has no version or several.
pub fn program_version(program: &TrustedProgram) -> Result<ProgramVersion, ProgramVersionError> {
    let _reading = reading(program.path());
    version_in(program.file())
}

/// Returns the name and version of an open program.
pub fn version_in(file: &File) -> Result<ProgramVersion, ProgramVersionError> {
    let program = Program::read(file)?;
    match BuildInfo::of(&program)? {
        Some(info) => go::version(&info, &program),
        None => text::crun(&program),
    }
}
