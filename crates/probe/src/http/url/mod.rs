//! URLs as Go reads and writes them (`net/url/url.go` of Go 1.26, with its strict rule about colons).
//!
//! A text of Go is bytes, and the Location of an answer may hold any: so may every part of a [`Url`].
//!
//! * `escape`: the `%XX` of each part.
//! * `address`: users, hosts and ports, and the addresses in brackets.

mod address;
mod escape;
#[cfg(test)]
mod tests;

use escape::{Part, escape, is_escaped, unescape};
use kq_k8s::go_text::quote_bytes;

pub use address::AddressError;
pub(super) use address::{UserInfo, is_ip, join_host_port};

/// A URL or a reference; every part without its delimiters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) scheme: Vec<u8>,
    /// What follows the scheme where that is no slash.
    pub(super) opaque: Vec<u8>,
    pub(super) user: Option<UserInfo>,
    /// With the port.
    pub(super) host: Vec<u8>,
    /// Without escapes.
    pub(super) path: Vec<u8>,
    /// How the path was written, where that is not how it would be.
    raw_path: Vec<u8>,
    /// It was written without an authority.
    omits_host: bool,
    /// There is a `?` with nothing behind it.
    forces_query: bool,
    /// As it was written.
    raw_query: Vec<u8>,
    /// Without escapes.
    fragment: Vec<u8>,
    /// How the fragment was written, where that is not how it would be.
    raw_fragment: Vec<u8>,
}

/// Why a text is no URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parse {}: {problem}", quote_bytes(text))]
pub struct ParseUrlError {
    pub text: Vec<u8>,
    /// What is wrong with it.
    #[source]
    pub problem: UrlProblem,
}

/// What is wrong with a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlProblem {
    /// Not two hexadecimal digits, or a byte that may not be escaped there.
    #[error("invalid URL escape {}", quote_bytes(.0))]
    Escape(Vec<u8>),
    /// A character that no host has.
    #[error("invalid character {} in host name", quote_bytes(&[*.0]))]
    HostCharacter(u8),
    /// A control character before the fragment.
    #[error("net/url: invalid control character in URL")]
    ControlCharacter,
    /// It starts with a colon.
    #[error("missing protocol scheme")]
    MissingScheme,
    /// It looks like a scheme and is none.
    #[error("first path segment in URL cannot contain colon")]
    ColonInFirstSegment,
    /// A character that no user has.
    #[error("net/url: invalid userinfo")]
    UserInfo,
    /// A bracket in the middle of a host, or an address of IPv4 in brackets.
    #[error("invalid IP-literal")]
    IpLiteral,
    /// A bracket that is not closed.
    #[error("missing ']' in host")]
    MissingBracket,
    /// What follows the host is no port.
    #[error("invalid port {} after host", quote_bytes(.0))]
    Port(Vec<u8>),
    /// No address in the brackets.
    #[error("invalid host: {0}")]
    Address(AddressError),
}

impl Url {
    /// Reads a URL or a reference, with its fragment (`Parse`).
    pub(super) fn parse(text: &[u8]) -> Result<Self, ParseUrlError> {
        let refuse = |text: &[u8], problem| ParseUrlError { text: text.to_owned(), problem };
        let (rest, fragment) = cut(text, b'#');
        let mut url = Self::parse_without_fragment(rest).map_err(|why| refuse(rest, why))?;
        if let Some(raw @ [_, ..]) = fragment {
            url.fragment = unescape(raw, Part::Fragment).map_err(|why| refuse(text, why))?;
            url.raw_fragment = unusual(raw, &url.fragment, Part::Fragment);
        }
        Ok(url)
    }

    fn parse_without_fragment(text: &[u8]) -> Result<Self, UrlProblem> {
        if text.iter().any(u8::is_ascii_control) {
            return Err(UrlProblem::ControlCharacter);
        }
        let mut url = Self::default();
        if text == b"*" {
            url.path = text.to_owned();
            return Ok(url);
        }
        let (scheme, rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (rest, query) = cut(rest, b'?');
        url.forces_query = query.is_some_and(<[u8]>::is_empty);
        url.raw_query = query.unwrap_or_default().to_owned();
        if !rest.starts_with(b"/") {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_owned();
                return Ok(url);
            }
            if cut(rest, b'/').0.contains(&b':') {
                return Err(UrlProblem::ColonInFirstSegment);
            }
        }
        let mut path = rest;
        let has_authority = !url.scheme.is_empty() || !rest.starts_with(b"///");
        if let Some(after) = rest.strip_prefix(b"//").filter(|_| has_authority) {
            let end = after.iter().position(|byte| *byte == b'/').unwrap_or(after.len());
            let (authority, after) = after.split_at(end);
            (url.user, url.host) = address::parse(authority)?;
            path = after;
        } else {
            url.omits_host = !url.scheme.is_empty() && rest.starts_with(b"/");
        }
        url.set_path(path)?;
        Ok(url)
    }

    /// Makes a URL of nothing but a path, whatever is in it.
    pub(super) fn of_path(path: &[u8]) -> Self {
        Self { path: path.to_owned(), ..Self::default() }
    }

    /// Takes a path that is written with escapes.
    fn set_path(&mut self, raw: &[u8]) -> Result<(), UrlProblem> {
        self.path = unescape(raw, Part::Path)?;
        self.raw_path = unusual(raw, &self.path, Part::Path);
        Ok(())
    }

    /// Returns the path as it is sent: as it was written, if it can be (`EscapedPath`).
    pub(super) fn escaped_path(&self) -> Vec<u8> {
        match as_written(&self.raw_path, &self.path, Part::Path) {
            Some(raw) => raw.to_owned(),
            None if self.path == b"*" => self.path.clone(),
            None => escape(&self.path, Part::Path),
        }
    }

    fn escaped_fragment(&self) -> Vec<u8> {
        match as_written(&self.raw_fragment, &self.fragment, Part::Fragment) {
            Some(raw) => raw.to_owned(),
            None => escape(&self.fragment, Part::Fragment),
        }
    }

    /// Returns the whole text (`String`).
    pub(super) fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        if !self.scheme.is_empty() {
            text.extend_from_slice(&self.scheme);
            text.push(b':');
        }
        if self.opaque.is_empty() {
            self.push_hierarchy(&mut text);
        } else {
            text.extend_from_slice(&self.opaque);
        }
        self.push_query(&mut text);
        if !self.fragment.is_empty() {
            text.push(b'#');
            text.extend(self.escaped_fragment());
        }
        text
    }

    /// Writes authority and path.
    fn push_hierarchy(&self, text: &mut Vec<u8>) {
        let has_host = !self.host.is_empty();
        let has_authority = has_host || self.user.is_some();
        if has_authority || (!self.scheme.is_empty() && !self.omits_host && !self.path.is_empty()) {
            text.extend_from_slice(b"//");
        }
        if let Some(user) = &self.user {
            text.extend(user.text());
            text.push(b'@');
        }
        text.extend(escape(&self.host, Part::Host));
        let path = self.escaped_path();
        if has_host && path.first().is_some_and(|first| *first != b'/') {
            text.push(b'/');
        }
        if text.is_empty() && cut(&path, b'/').0.contains(&b':') {
            // It would be read as a scheme.
            text.extend_from_slice(b"./");
        }
        text.extend(path);
    }

    fn push_query(&self, text: &mut Vec<u8>) {
        if self.forces_query || !self.raw_query.is_empty() {
            text.push(b'?');
            text.extend_from_slice(&self.raw_query);
        }
    }

    /// Returns the text as errors show it, without its password (`stripPassword` of `net/http`).
    pub(super) fn redacted(&self) -> Vec<u8> {
        let text = self.text();
        match &self.user {
            Some(user) if user.password.is_some() => {
                let shown = [user.name.as_slice(), b":***@"].concat();
                replace_first(&text, &[user.text().as_slice(), b"@"].concat(), &shown)
            }
            _ => text,
        }
    }

    /// Returns the text without its user (as `refererForURL` of `net/http` does).
    pub(super) fn without_user(&self) -> Vec<u8> {
        let text = self.text();
        match &self.user {
            Some(user) => replace_first(&text, &[user.text().as_slice(), b"@"].concat(), b""),
            None => text,
        }
    }

    /// Returns what a request asks for: path and query (`RequestURI`).
    pub(super) fn request_uri(&self) -> Vec<u8> {
        let mut uri = match self.opaque.as_slice() {
            [] => self.escaped_path(),
            [b'/', b'/', ..] => [self.scheme.as_slice(), b":", &self.opaque].concat(),
            opaque => opaque.to_owned(),
        };
        if uri.is_empty() {
            uri.push(b'/');
        }
        self.push_query(&mut uri);
        uri
    }

    /// Returns the host without port and brackets (`Hostname`).
    pub(super) fn hostname(&self) -> &[u8] {
        address::split_port(&self.host).0
    }

    /// Returns the port; empty if there is none (`Port`).
    pub(super) fn port(&self) -> &[u8] {
        address::split_port(&self.host).1
    }
}

/// Returns how a part was written, unless that is how it would be.
fn unusual(raw: &[u8], plain: &[u8], part: Part) -> Vec<u8> {
    if escape(plain, part) == raw { Vec::new() } else { raw.to_owned() }
}

/// Returns how a part was written, if it can be sent so and still means the same.
fn as_written<'r>(raw: &'r [u8], plain: &[u8], part: Part) -> Option<&'r [u8]> {
    let usable = !raw.is_empty()
        && is_escaped(raw, part)
        && unescape(raw, part).is_ok_and(|meant| meant == plain);
    usable.then_some(raw)
}

/// Splits off `http:`.
fn split_scheme(text: &[u8]) -> Result<(&[u8], &[u8]), UrlProblem> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let length = text.iter().take_while(|byte| is_part(byte)).count();
    let (scheme, rest) = text.split_at(length);
    match (scheme.first(), rest) {
        (None, [b':', ..]) => Err(UrlProblem::MissingScheme),
        (Some(first), [b':', rest @ ..]) if first.is_ascii_alphabetic() => Ok((scheme, rest)),
        _ => Ok((&[], text)),
    }
}

/// Splits at the first of a byte, which is left out.
fn cut(text: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    let mut parts = text.splitn(2, |byte| *byte == at);
    (parts.next().unwrap_or_default(), parts.next())
}

fn replace_first(text: &[u8], what: &[u8], by: &[u8]) -> Vec<u8> {
    match text.windows(what.len().max(1)).position(|window| window == what) {
        Some(at) => {
            let (before, rest) = text.split_at(at);
            [before, by, rest.strip_prefix(what).unwrap_or(rest)].concat()
        }
        None => text.to_owned(),
    }
}

impl Url {
    /// Reads a reference that was found at this URL.
    pub(in crate::http) fn join(&self, reference: &[u8]) -> Result<Self, ParseUrlError> {
        Ok(self.resolve(Self::parse(reference)?))
    }

    fn resolve(&self, mut reference: Self) -> Self {
        let is_absolute = !reference.scheme.is_empty();
        if !is_absolute {
            reference.scheme.clone_from(&self.scheme);
        }
        if is_absolute || !reference.host.is_empty() || reference.user.is_some() {
            let path = reference.escaped_path();
            return reference.with_path(&path, b"");
        }
        let is_empty = reference.path.is_empty();
        if is_empty && !reference.forces_query && reference.raw_query.is_empty() {
            reference.raw_query.clone_from(&self.raw_query);
            if reference.fragment.is_empty() {
                reference.fragment.clone_from(&self.fragment);
                reference.raw_fragment.clone_from(&self.raw_fragment);
            }
        }
        if is_empty && !self.opaque.is_empty() {
            reference.opaque.clone_from(&self.opaque);
            return reference;
        }
        reference.host.clone_from(&self.host);
        reference.user.clone_from(&self.user);
        let path = reference.escaped_path();
        reference.with_path(&self.escaped_path(), &path)
    }

    fn with_path(mut self, base: &[u8], reference: &[u8]) -> Self {
        // What was escaped before can be read again: as Go does, an error is no matter.
        let _ = self.set_path(&resolve_path(base, reference));
        self
    }
}

/// Resolves `.` and `..` (`resolvePath`); the result has a leading slash unless it is empty.
fn resolve_path(base: &[u8], reference: &[u8]) -> Vec<u8> {
    let full = match reference {
        [] => base.to_owned(),
        [b'/', ..] => reference.to_owned(),
        _ => {
            let folder = base.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
            [base.split_at(folder).0, reference].concat()
        }
    };
    if full.is_empty() {
        return full;
    }
    // What follows the leading slash. Only the very first element gets no slash of its own; a dot counts
    // as an element, a `..` that leaves nothing starts again.
    let (mut path, mut is_first) = (Vec::new(), true);
    let mut ends_in_folder = false;
    for element in full.split(|byte| *byte == b'/') {
        ends_in_folder = matches!(element, b"." | b"..");
        match element {
            b"." => is_first = false,
            b".." => {
                let slash = path.iter().rposition(|byte| *byte == b'/');
                is_first |= slash.is_none();
                path.truncate(slash.unwrap_or(0));
            }
            _ => {
                if !is_first {
                    path.push(b'/');
                }
                path.extend_from_slice(element);
                is_first = false;
            }
        }
    }
    if ends_in_folder {
        path.push(b'/');
    }
    if path.first() != Some(&b'/') {
        path.insert(0, b'/');
    }
    path
}
