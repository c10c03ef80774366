//! Reads small files with credentials: tokens, certificates, keys.

use crate::edge::http::error::HttpError;
use crate::edge::input::plain;
use crate::edge::memory;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// More than any bundle of authorities has.
const MAX_FILE: u64 = 16 << 20;

/// What a token file is called in messages.
pub(crate) const TOKEN_FILE: &str = "token file";

/// Reads a file.
pub(crate) fn read_bounded(what: &'static str, path: &Path) -> Result<Vec<u8>, HttpError> {
    open_bounded(path).map(|(_, content)| content).map_err(|reason| refuse(what, path, reason))
}

/// Opens and reads a file; the reason of a failure is a lowercase fragment.
///
/// Only regular files are opened: a named pipe could keep a call beyond its deadline.
pub(crate) fn open_bounded(path: &Path) -> Result<(File, Vec<u8>), String> {
    let expect_file = |is_file: bool| match is_file {
        true => Ok(()),
        false => Err("is not a regular file".to_owned()),
    };
    expect_file(fs::metadata(path).map_err(|error| plain(&error))?.is_file())?;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| plain(&error))?;
    // Another file can be there by now.
    expect_file(file.metadata().map_err(|error| plain(&error))?.is_file())?;
    let mut content = Vec::new();
    (&file).take(MAX_FILE + 1).read_to_end(&mut content).map_err(|error| plain(&error))?;
    memory::received(&path.display().to_string(), content.len());
    if content.len() as u64 > MAX_FILE {
        return Err(format!("has more than {MAX_FILE} bytes"));
    }
    Ok((file, content))
}

/// Reads a bearer token; white space around it is not part of it.
pub(crate) fn read_token(path: &Path) -> Result<String, HttpError> {
    token(path, &read_bounded(TOKEN_FILE, path)?)
}

/// Returns the bearer token that a file holds. The file holds nothing else: what is sent away is a token, never a line
/// of something else (RFC 6750, `b64token`).
pub(crate) fn token(path: &Path, content: &[u8]) -> Result<String, HttpError> {
    let token = content.trim_ascii();
    if token.is_empty() {
        return Err(refuse(TOKEN_FILE, path, "is empty"));
    }
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte);
    if !token.iter().all(is_token) {
        return Err(refuse(TOKEN_FILE, path, "holds something that no token can hold"));
    }
    Ok(String::from_utf8_lossy(token).into_owned())
}

/// Returns the error of a file that cannot be used.
pub(crate) fn refuse(what: &'static str, path: &Path, reason: impl Into<String>) -> HttpError {
    HttpError::File { what, path: path.display().to_string(), reason: reason.into() }
}
