//! Reading small files that prove who somebody is: tokens, certificates, keys.

use crate::edge::http::error::HttpError;
use crate::edge::input::plain;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// More than any bundle of authorities has.
const MAX_FILE: u64 = 16 << 20;

/// Reads a file.
///
/// Only regular files are opened: a named pipe could keep a call beyond its deadline.
pub(crate) fn read_bounded(what: &'static str, path: &Path) -> Result<Vec<u8>, HttpError> {
    let metadata = fs::metadata(path).map_err(|error| refuse(what, path, plain(&error)))?;
    if !metadata.is_file() {
        return Err(refuse(what, path, "is not a regular file"));
    }
    let mut content = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut content))
        .map_err(|error| refuse(what, path, plain(&error)))?;
    if content.len() as u64 > MAX_FILE {
        return Err(refuse(what, path, format!("has more than {MAX_FILE} bytes")));
    }
    Ok(content)
}

/// Reads a bearer token; white space around it is not part of it.
pub(crate) fn read_token(path: &Path) -> Result<String, HttpError> {
    const WHAT: &str = "token file";
    let content = read_bounded(WHAT, path)?;
    let token = content.trim_ascii();
    if token.is_empty() {
        return Err(refuse(WHAT, path, "is empty"));
    }
    if !token.iter().all(u8::is_ascii_graphic) {
        return Err(refuse(WHAT, path, "holds something that no token can hold"));
    }
    Ok(String::from_utf8_lossy(token).into_owned())
}

/// Returns the error of a file that cannot be used.
pub(super) fn refuse(what: &'static str, path: &Path, reason: impl Into<String>) -> HttpError {
    HttpError::File { what, path: path.display().to_string(), reason: reason.into() }
}
