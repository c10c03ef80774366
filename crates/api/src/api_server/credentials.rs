//! What a request is sent with: a token, a password, or what a credential plugin gives. Tokens in files and plugins are asked
//! again as they expire, and once when the server does not accept what they gave.

use crate::api_server::ApiError;
use crate::api_server::kubeconfig::NamedFiles;
use crate::api_server::plugin::Plugin;
use crate::http::HttpError;
use crate::http::tls::Identity;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderValue;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a token of a file counts: a minute, but for the 10 seconds that a request may take (`NewCachedFileTokenSource`,
/// `transport/token_source.go` of client-go).
const PERIOD: Duration = Duration::from_secs(50);

/// Where the credentials of requests are from.
pub(super) enum Credentials {
    /// They stay the same; `None`: there are none, or the client certificate is enough.
    Fixed(Option<HeaderValue>),
    TokenFile(TokenFile),
    Plugin(Arc<Plugin>),
}

/// The credentials of one request.
#[derive(Clone)]
pub(super) struct Current {
    /// `Authorization`
    pub(super) authorization: Option<HeaderValue>,
    /// The client certificate that a plugin gave.
    pub(super) identity: Option<Arc<Identity>>,
    /// The number of the run of the plugin that gave them.
    pub(super) run: u64,
}

impl Current {
    fn of_header(authorization: Option<HeaderValue>) -> Self {
        Self { authorization, identity: None, run: 0 }
    }
}

impl Credentials {
    /// Returns true if there are any, or may be.
    pub(super) fn are_some(&self) -> bool {
        !matches!(self, Self::Fixed(None))
    }

    /// Returns the credentials for the next request. The plugin is run if it has not been, or if they have expired.
    pub(super) fn current(&self) -> Result<Current, ApiError> {
        match self {
            Self::Fixed(header) => Ok(Current::of_header(header.clone())),
            Self::TokenFile(file) => Ok(Current::of_header(Some(file.current()?))),
            Self::Plugin(plugin) => plugin.current(),
        }
    }

    /// Takes note that the server accepted credentials.
    pub(super) fn accepted(&self, current: &Current) {
        if let Self::Plugin(plugin) = self {
            plugin.accepted(current.run);
        }
    }

    /// Renews credentials that the server did not accept; returns false if there are no others.
    pub(super) fn renew(&self, refused: &Current) -> Result<bool, ApiError> {
        match self {
            Self::Fixed(_) => Ok(false),
            Self::TokenFile(file) => {
                Ok(file.read_again().is_some_and(|header| Some(header) != refused.authorization))
            }
            Self::Plugin(plugin) => plugin.renew(refused.run),
        }
    }

    /// Returns the plugin that gives them.
    pub(super) fn plugin(&self) -> Option<&Plugin> {
        match self {
            Self::Plugin(plugin) => Some(plugin),
            _ => None,
        }
    }
}

/// A file with a token, which another program renews.
pub(super) struct TokenFile {
    files: NamedFiles,
    path: PathBuf,
    /// Counts as long as the file cannot be read.
    inline: Option<HeaderValue>,
    read: Mutex<Option<(HeaderValue, Instant)>>,
}

impl TokenFile {
    /// Reads it for the first time.
    /// Fails if there is no token, neither in it nor inline.
    pub(super) fn new(
        files: NamedFiles,
        path: PathBuf,
        inline: Option<HeaderValue>,
    ) -> Result<Self, HttpError> {
        let file = Self { files, path, inline, read: Mutex::default() };
        file.current()?;
        Ok(file)
    }

    fn current(&self) -> Result<HeaderValue, HttpError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((header, at)) = &*read
            && at.elapsed() < PERIOD
        {
            return Ok(header.clone());
        }
        match self.token() {
            Ok(header) => {
                *read = Some((header.clone(), Instant::now()));
                Ok(header)
            }
            // The file may be gone once it was read; the token still counts.
            Err(error) => {
                let before = read.as_ref().map(|(header, _)| header);
                before.or(self.inline.as_ref()).cloned().ok_or(error)
            }
        }
    }

    /// Reads it now; `None`: it cannot be read.
    fn read_again(&self) -> Option<HeaderValue> {
        let header = self.token().ok()?;
        let read = (header.clone(), Instant::now());
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(read);
        Some(header)
    }

    fn token(&self) -> Result<HeaderValue, HttpError> {
        let token = self.files.token(&self.path)?;
        Ok(bearer(&token).expect("a token that was read holds only visible characters"))
    }
}

/// Returns the header with a token; `None`: it has a character that no header can have.
pub(super) fn bearer(token: &str) -> Option<HeaderValue> {
    let is_valid = token.bytes().all(|byte| byte.is_ascii_graphic());
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok().filter(|_| is_valid)?;
    value.set_sensitive(true);
    Some(value)
}

/// Returns the header with a user and a password.
pub(super) fn basic(user: &str, password: &str) -> HeaderValue {
    let encoded = STANDARD.encode(format!("{user}:{password}"));
    let mut value = HeaderValue::from_str(&format!("Basic {encoded}"))
        .expect("base64 holds only visible characters");
    value.set_sensitive(true);
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_token_file_is_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        let header =
            |token: &str| HeaderValue::from_str(&format!("Bearer {token}")).expect("ascii");
        let new = |inline| TokenFile::new(NamedFiles::default(), path.clone(), inline);
        assert!(new(None).is_err());
        let inline = new(bearer("inline")).expect("the inline token");
        assert_eq!(inline.current().expect("a token"), header("inline"));
        fs::write(&path, "one\n").expect("written");
        assert_eq!(inline.current().expect("a token"), header("one"));
        let file = Credentials::TokenFile(new(None).expect("a token"));
        fs::write(&path, "two\n").expect("written");
        let refused = file.current().expect("a token");
        assert_eq!(refused.authorization, Some(header("one")), "it was read just now");
        assert!(file.renew(&refused).expect("readable"), "another client renewed it");
        let current = file.current().expect("a token");
        assert_eq!(current.authorization, Some(header("two")));
        assert!(!file.renew(&current).expect("readable"), "it is the same");
        fs::remove_file(&path).expect("removed");
        assert_eq!(file.current().expect("a token").authorization, Some(header("two")));
    }

    #[test]
    fn headers_hold_visible_characters() {
        assert!(bearer("a b").is_none() && bearer("a\n").is_none() && bearer("\u{e4}").is_none());
        assert_eq!(basic("u", "p"), "Basic dTpw");
    }
}
