//! Users, hosts and ports (`parseAuthority`, `parseHost` and `splitHostPort` of Go's `net/url/url.go`).

use super::address::{Family, parse_address};
use super::escape::{Part, escape, unescape};
use super::{UrlProblem, cut};

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::probe::http) struct UserInfo {
    pub(in crate::probe::http) name: Vec<u8>,
    /// `None`: there was no colon.
    pub(in crate::probe::http) password: Option<Vec<u8>>,
}

impl UserInfo {
    /// Returns it as it stands in a URL.
    pub(super) fn text(&self) -> Vec<u8> {
        let mut text = escape(&self.name, Part::User);
        if let Some(password) = &self.password {
            text.push(b':');
            text.extend(escape(password, Part::User));
        }
        text
    }
}

/// Reads what stands between `//` and the path. A host that is wrong is found before a user that is.
pub(super) fn parse(authority: &[u8]) -> Result<(Option<UserInfo>, Vec<u8>), UrlProblem> {
    let Some(at) = authority.iter().rposition(|byte| *byte == b'@') else {
        return Ok((None, parse_host(authority)?));
    };
    let (user, host) = authority.split_at(at);
    let host = parse_host(host.strip_prefix(b"@").unwrap_or(host))?;
    let is_allowed =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
    if !user.iter().all(is_allowed) {
        return Err(UrlProblem::UserInfo);
    }
    let (name, password) = cut(user, b':');
    let name = unescape(name, Part::User)?;
    let password = password.map(|password| unescape(password, Part::User)).transpose()?;
    Ok((Some(UserInfo { name, password }), host))
}

/// Reads a host with an optional port.
fn parse_host(host: &[u8]) -> Result<Vec<u8>, UrlProblem> {
    match host.iter().rposition(|byte| *byte == b'[') {
        Some(0) => return parse_bracketed(host.get(1..).unwrap_or_default()),
        Some(_) => return Err(UrlProblem::IpLiteral),
        None => {}
    }
    if let Some(colon) = host.iter().position(|byte| *byte == b':') {
        check_port(host.split_at(colon).1)?;
    }
    unescape(host, Part::Host)
}

/// Reads what follows an opening bracket.
fn parse_bracketed(text: &[u8]) -> Result<Vec<u8>, UrlProblem> {
    let close = text.iter().rposition(|byte| *byte == b']').ok_or(UrlProblem::MissingBracket)?;
    let (address, rest) = text.split_at(close);
    let port = rest.strip_prefix(b"]").unwrap_or(rest);
    check_port(port)?;
    let zone = address.windows(3).position(|window| window == b"%25").unwrap_or(address.len());
    let (address, zone) = address.split_at(zone);
    let plain = [unescape(address, Part::Host)?, unescape(zone, Part::Zone)?].concat();
    match parse_address(&plain).map_err(UrlProblem::Address)? {
        Family::V4 => Err(UrlProblem::IpLiteral),
        Family::V6 => Ok([b"[", plain.as_slice(), b"]", port].concat()),
    }
}

fn check_port(port: &[u8]) -> Result<(), UrlProblem> {
    if is_optional_port(port) { Ok(()) } else { Err(UrlProblem::Port(port.to_owned())) }
}

/// Returns true if a text is empty, or a colon and digits, or no digits.
fn is_optional_port(text: &[u8]) -> bool {
    match text {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Splits a host into its name, without brackets, and its port.
pub(super) fn split_port(host: &[u8]) -> (&[u8], &[u8]) {
    let colon = host.iter().rposition(|byte| *byte == b':').unwrap_or(host.len());
    let (name, port) = match host.split_at(colon) {
        (name, [b':', port @ ..]) if port.iter().all(u8::is_ascii_digit) => (name, port),
        _ => (host, &[][..]),
    };
    match name {
        [b'[', name @ .., b']'] => (name, port),
        _ => (name, port),
    }
}

/// Puts a host and a port together; one with colons gets brackets, even if it has some
/// (`net.JoinHostPort`).
pub(in crate::probe::http) fn join_host_port(host: &[u8], port: &[u8]) -> Vec<u8> {
    if host.contains(&b':') {
        [b"[", host, b"]:", port].concat()
    } else {
        [host, b":", port].concat()
    }
}
