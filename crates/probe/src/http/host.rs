//! The host of a request in its three roles: for dialing, in TLS, and in the Host header.
//!
//! The rules are those of `canonicalAddr` and `idnaASCII` (`net/http/transport.go`, `request.go`),
//! `hostnameInSNI` (`crypto/tls/handshake_client.go`), and `PunycodeHostPort` and `ValidHostHeader`
//! (`golang.org/x/net/http/httpguts`). Names that are dialed are mapped (`idna.Lookup`), names in headers
//! are only encoded (`idna.Punycode`).

use super::url::{Url, is_ip, join_host_port};
use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
use kq_k8s::go_text::{characters, quote_bytes};

/// Returns the host and port to dial.
pub(super) fn dial_address(url: &Url) -> Vec<u8> {
    let port: &[u8] = match (url.port(), url.scheme.as_slice()) {
        (b"", b"http") => b"80",
        (b"", b"https") => b"443",
        (port, _) => port,
    };
    join_host_port(&looked_up(url.hostname()), port)
}

/// Returns the name that TLS asks for; empty for an address.
pub(super) fn server_name(url: &Url) -> Vec<u8> {
    let name = looked_up(url.hostname());
    let zone = name.iter().rposition(|byte| *byte == b'%').filter(|at| *at > 0);
    let (address, _) = name.split_at(zone.unwrap_or(name.len()));
    if is_ip(address) {
        return Vec::new();
    }
    let mut name = name;
    while name.last() == Some(&b'.') {
        name.pop();
    }
    name
}

/// Returns a name as resolvers take it; one that has no such form stays.
fn looked_up(name: &[u8]) -> Vec<u8> {
    if name.is_ascii() {
        return name.to_owned();
    }
    let ascii = Uts46::new().to_ascii(name, AsciiDenyList::STD3, Hyphens::Check, DnsLength::Ignore);
    ascii.map_or_else(|_| name.to_owned(), |name| name.into_owned().into_bytes())
}

/// Returns what stands in the Host header of HTTP/1.1: empty for what no host can be.
/// Fails where a label is no Punycode; the text is Go's.
pub(super) fn host_header(host: &[u8]) -> Result<Vec<u8>, String> {
    let host = punycode_host_port(host)?;
    Ok(if is_valid(&host) { without_zone(host) } else { Vec::new() })
}

/// Returns the host of HTTP/2, which keeps a zone.
/// Fails where that is no host; the text is Go's.
pub(super) fn authority(host: &[u8]) -> Result<Vec<u8>, String> {
    let host = punycode_host_port(host)?;
    if is_valid(&host) { Ok(host) } else { Err("invalid Host header".to_owned()) }
}

fn is_valid(host: &[u8]) -> bool {
    host.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!$%&()*+,-.:;=['_]~".contains(byte))
}

fn without_zone(host: Vec<u8>) -> Vec<u8> {
    let end = host.iter().rposition(|byte| *byte == b']');
    let Some(end) = end.filter(|_| host.starts_with(b"[")) else { return host };
    let (inner, rest) = host.split_at(end);
    match inner.iter().rposition(|byte| *byte == b'%') {
        Some(zone) => [inner.split_at(zone).0, rest].concat(),
        None => host,
    }
}

fn punycode_host_port(host: &[u8]) -> Result<Vec<u8>, String> {
    if host.is_ascii() {
        return Ok(host.to_owned());
    }
    let (name, port) = split_host_port(host).unwrap_or((host, &[]));
    let labels = name.split(|byte| *byte == b'.').map(punycode_label);
    let name = labels.collect::<Result<Vec<_>, _>>()?.join(&b'.');
    Ok(if port.is_empty() { name } else { join_host_port(&name, port) })
}

fn punycode_label(label: &[u8]) -> Result<Vec<u8>, String> {
    let refuse = || format!("idna: invalid label {}", quote_bytes(label));
    let label = match label.strip_prefix(b"xn--") {
        Some(encoded) => {
            let encoded = std::str::from_utf8(encoded).map_err(|_| refuse())?;
            idna::punycode::decode_to_string(encoded).ok_or_else(refuse)?
        }
        None => characters(label),
    };
    if label.is_ascii() {
        return Ok(label.into_bytes());
    }
    let encoded = idna::punycode::encode_str(&label).ok_or_else(refuse)?;
    Ok([b"xn--", encoded.as_bytes()].concat())
}

/// Splits host and port as `net.SplitHostPort` does; `None`: there is no port, or too many colons.
fn split_host_port(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = text.iter().rposition(|byte| *byte == b':')?;
    let (host, port) = text.split_at(colon);
    let port = port.strip_prefix(b":")?;
    let has = |part: &[u8], bytes: &[u8]| part.iter().any(|byte| bytes.contains(byte));
    match host {
        [b'[', inner @ .., b']'] if !has(inner, b"[]") && !has(port, b"[]") => Some((inner, port)),
        _ if has(host, b":[]") || has(port, b"[]") => None,
        _ => Some((host, port)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn a_name_is_dialed_in_its_mapped_form() {
        for (url, address, name) in [
            ("http://10.1.2.3:8080", "10.1.2.3:8080", ""),
            ("http://a", "a:80", "a"),
            ("https://a:", "a:443", "a"),
            ("https://EXAMPLE.com.:1", "EXAMPLE.com.:1", "EXAMPLE.com"),
            ("https://[fe80::1%25eth0]:8080", "[fe80::1%eth0]:8080", ""),
            ("https://:8080", ":8080", ""),
            ("https://1.2.3:1", "1.2.3:1", "1.2.3"),
            ("https://\u{dc}n\u{ef}.example:1", "xn--n-nga1b.example:1", "xn--n-nga1b.example"),
            ("https://stra\u{df}e.de", "xn--strae-oqa.de:443", "xn--strae-oqa.de"),
            ("https://\u{fc}_x", "\u{fc}_x:443", "\u{fc}_x"),
            ("https://ex%2561mple:8", "ex%61mple:8", "ex%61mple"),
        ] {
            let url = Url::parse(url.as_bytes()).unwrap();
            assert_eq!(text(&dial_address(&url)), address);
            assert_eq!(text(&server_name(&url)), name);
        }
    }

    #[test]
    fn a_header_has_only_what_a_host_can_be() {
        for (host, expected) in [
            ("a.b:99", Ok("a.b:99")),
            ("a b", Ok("")),
            ("a/b", Ok("")),
            ("user@h", Ok("")),
            ("a<b", Ok("")),
            ("a'b", Ok("a'b")),
            ("[::1]:8", Ok("[::1]:8")),
            ("[fe80::1%eth0]:8", Ok("[fe80::1]:8")),
            ("[fe80::1%a%b]", Ok("[fe80::1%a]")),
            ("a%b]", Ok("a%b]")),
            ("\u{fc}n\u{ef}.example", Ok("xn--n-nga1b.example")),
            ("\u{dc}n\u{ef}.Example:80", Ok("xn--n-jfa2d.Example:80")),
            ("\u{fc}:", Ok("xn--tda")),
            ("\u{fc}.", Ok("xn--tda.")),
            ("a.\u{fc}..b", Ok("a.xn--tda..b")),
            ("xn--tda.\u{fc}", Ok("xn--tda.xn--tda")),
            ("xn--\u{fc}", Err("idna: invalid label \"xn--\u{fc}\"")),
        ] {
            let got = host_header(host.as_bytes()).map(|host| text(&host));
            assert_eq!(got.as_deref().map_err(String::as_str), expected, "{host}");
        }
        assert_eq!(authority(b"[fe80::1%eth0]:8").unwrap(), b"[fe80::1%eth0]:8");
        assert_eq!(authority(b"a b").unwrap_err(), "invalid Host header");
    }
}
