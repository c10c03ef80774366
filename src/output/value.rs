//! Answers as JSON and YAML.

use serde::Serialize;
use std::io::{self, Write};

/// Writes a value as indented JSON.
///
/// # Errors
///
/// Those of the writer.
pub fn write_json<T: Serialize>(mut out: impl Write, value: &T) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    out.write_all(b"\n")
}

/// Writes a value as YAML.
///
/// # Errors
///
/// Those of the writer.
pub fn write_yaml<T: Serialize>(mut out: impl Write, value: &T) -> io::Result<()> {
    serde_saphyr::to_io_writer(&mut out, value).map_err(|error| match error {
        serde_saphyr::ser_error::Error::IO { error } => error,
        other => io::Error::other(other),
    })
}
