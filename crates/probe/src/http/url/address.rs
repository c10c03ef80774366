//! Users, hosts and ports (`parseAuthority`, `parseHost` and `splitHostPort` of Go's `net/url/url.go`), and addresses
//! between the brackets of a host (`ParseAddr` of Go's `net/netip/netip.go`).

use super::escape::{Part, escape, unescape};
use super::{UrlProblem, cut};
use kq_k8s::go_text::quote_bytes;
use std::fmt;

/// Whether an address is of IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Family {
    V4,
    V6,
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressError {
    text: Vec<u8>,
    problem: &'static str,
    /// Where it was found; empty: not said.
    at: Vec<u8>,
}

impl std::error::Error for AddressError {}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParseAddr({}): {}", quote_bytes(&self.text), self.problem)?;
        match self.at.as_slice() {
            [] => Ok(()),
            at => write!(f, " (at {})", quote_bytes(at)),
        }
    }
}

/// A problem and where it was found.
type Problem<'t> = (&'static str, &'t [u8]);

/// Reads an address, with or without a zone: `fe80::1%eth0`.
pub(in crate::http) fn parse_address(text: &[u8]) -> Result<Family, AddressError> {
    let family = match text.iter().find(|byte| b".:%".contains(byte)) {
        Some(b'.') => v4(text).map(|()| Family::V4),
        Some(b':') => v6(text).map(|()| Family::V6),
        Some(_) => Err(("missing IPv6 address", &[][..])),
        None => Err(("unable to parse IP", &[][..])),
    };
    family.map_err(|(problem, at)| AddressError {
        text: text.to_owned(),
        problem,
        at: at.to_owned(),
    })
}

/// Returns true if a text is an address without zone (`net.ParseIP`).
pub(in crate::http) fn is_ip(text: &[u8]) -> bool {
    !text.contains(&b'%') && parse_address(text).is_ok()
}

fn v4(text: &[u8]) -> Result<(), Problem<'_>> {
    let (mut value, mut digits, mut dots) = (0_u32, 0, 0);
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        match first {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(("IPv4 field has octet with leading zero", &[]));
                }
                value = value * 10 + u32::from(first - b'0');
                digits += 1;
                if value > 255 {
                    return Err(("IPv4 field has value >255", &[]));
                }
            }
            b'.' if digits == 0 || tail.is_empty() => {
                return Err(("IPv4 field must have at least one digit", rest));
            }
            b'.' if dots == 3 => return Err(("IPv4 address too long", &[])),
            b'.' => (value, digits, dots) = (0, 0, dots + 1),
            _ => return Err(("unexpected character", rest)),
        }
        rest = tail;
    }
    if dots < 3 { Err(("IPv4 address too short", &[])) } else { Ok(()) }
}

fn v6(text: &[u8]) -> Result<(), Problem<'_>> {
    let zone = text.iter().position(|byte| *byte == b'%');
    let (mut rest, zone) = text.split_at(zone.unwrap_or(text.len()));
    if zone == b"%" {
        return Err(("zone must be a non-empty string", &[]));
    }
    // Pairs of bytes that were read, and after how many of them there are zeros.
    let (mut fields, mut gap) = (0, None);
    if let Some(after) = rest.strip_prefix(b"::") {
        gap = Some(0);
        rest = after;
        if rest.is_empty() {
            return Ok(());
        }
    }
    while fields < 8 {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        if digits > 4 {
            return Err(("each group must have 4 or less digits", rest));
        }
        if digits == 0 {
            return Err(("each colon-separated field must have at least one digit", rest));
        }
        let (_, after) = rest.split_at(digits);
        if after.first() == Some(&b'.') {
            if gap.is_none() && fields != 6 {
                let problem =
                    "embedded IPv4 address must replace the final 2 fields of the address";
                return Err((problem, rest));
            }
            if fields > 6 {
                let problem =
                    "too many hex fields to fit an embedded IPv4 at the end of the address";
                return Err((problem, rest));
            }
            v4(rest)?;
            fields += 2;
            rest = &[];
            break;
        }
        fields += 1;
        rest = match after {
            [] => after,
            [b':'] => return Err(("colon must be followed by more characters", after)),
            [b':', b':', ..] if gap.is_some() => {
                return Err(("multiple :: in address", after.get(1..).unwrap_or_default()));
            }
            [b':', b':', after @ ..] => {
                gap = Some(fields);
                after
            }
            [b':', after @ ..] => after,
            _ => return Err(("unexpected character, want colon", after)),
        };
        if rest.is_empty() {
            break;
        }
    }
    match (rest, gap) {
        ([_, ..], _) => Err(("trailing garbage after address", rest)),
        ([], None) if fields < 8 => Err(("address string too short", &[])),
        ([], Some(_)) if fields == 8 => {
            Err(("the :: must expand to at least one field of zeros", &[]))
        }
        ([], _) => Ok(()),
    }
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) struct UserInfo {
    pub(in crate::http) name: Vec<u8>,
    /// `None`: there was no colon.
    pub(in crate::http) password: Option<Vec<u8>>,
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
pub(in crate::http) fn join_host_port(host: &[u8], port: &[u8]) -> Vec<u8> {
    if host.contains(&b':') {
        [b"[", host, b"]:", port].concat()
    } else {
        [host, b":", port].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_go_reads() {
        for (text, expected) in [
            ("127.0.0.1", Ok(Family::V4)),
            ("::", Ok(Family::V6)),
            ("::%eth0", Ok(Family::V6)),
            ("::1", Ok(Family::V6)),
            ("1::", Ok(Family::V6)),
            ("fe80::1%eth0", Ok(Family::V6)),
            ("FD00:10:244::7", Ok(Family::V6)),
            ("::ffff:10.0.0.1", Ok(Family::V6)),
            ("1:2:3:4:5:6:7:8", Ok(Family::V6)),
            ("1:2:3:4:5:6:1.2.3.4", Ok(Family::V6)),
            ("1:2:3:4:5:6:7::", Ok(Family::V6)),
            ("", Err(("unable to parse IP", ""))),
            ("abc", Err(("unable to parse IP", ""))),
            ("%eth0", Err(("missing IPv6 address", ""))),
            ("a:80", Err(("address string too short", ""))),
            ("1.2.3", Err(("IPv4 address too short", ""))),
            ("1.2.3.4.5", Err(("IPv4 address too long", ""))),
            ("1.2.3.", Err(("IPv4 field must have at least one digit", "."))),
            (".1.2.3", Err(("IPv4 field must have at least one digit", ".1.2.3"))),
            ("1..2.3", Err(("IPv4 field must have at least one digit", ".2.3"))),
            ("01.2.3.4", Err(("IPv4 field has octet with leading zero", ""))),
            ("256.2.3.4", Err(("IPv4 field has value >255", ""))),
            ("1.2.3.x", Err(("unexpected character", "x"))),
            ("a.b", Err(("unexpected character", "a.b"))),
            ("fe80::1%", Err(("zone must be a non-empty string", ""))),
            ("12345::", Err(("each group must have 4 or less digits", "12345::"))),
            (":1", Err(("each colon-separated field must have at least one digit", ":1"))),
            ("::g", Err(("each colon-separated field must have at least one digit", "g"))),
            ("1:", Err(("colon must be followed by more characters", ":"))),
            ("1:2x", Err(("unexpected character, want colon", "x"))),
            ("1::2::3", Err(("multiple :: in address", ":3"))),
            (":::", Err(("each colon-separated field must have at least one digit", ":"))),
            ("1:2:3:4:5:6:7:8:9", Err(("trailing garbage after address", "9"))),
            ("1:2:3:4:5:6:7::8", Err(("the :: must expand to at least one field of zeros", ""))),
            (
                "1:1.2.3.4",
                Err((
                    "embedded IPv4 address must replace the final 2 fields of the address",
                    "1.2.3.4",
                )),
            ),
            (
                "::1:2:3:4:5:6:7:1.2.3.4",
                Err((
                    "too many hex fields to fit an embedded IPv4 at the end of the address",
                    "1.2.3.4",
                )),
            ),
            ("::ffff:1.2.3.256%x", Err(("IPv4 field has value >255", ""))),
            ("::1.2.3", Err(("IPv4 address too short", ""))),
        ] {
            let expected = expected.map_err(|(problem, at)| {
                let at = if at.is_empty() { String::new() } else { format!(" (at {at:?})") };
                format!("ParseAddr({text:?}): {problem}{at}")
            });
            let got = parse_address(text.as_bytes()).map_err(|error| error.to_string());
            assert_eq!(got, expected, "{text}");
        }
        assert!(is_ip(b"::1") && is_ip(b"1.2.3.4") && !is_ip(b"::1%a") && !is_ip(b"localhost"));
    }
}
