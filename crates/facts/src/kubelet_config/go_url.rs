//! The errors of Go's `url.Parse` (`net/url/url.go`), for the endpoint of traces.

use kq_k8s::go_text::quote;

/// Returns the scheme of a URL in small letters, or Go's error.
pub(super) fn scheme(url: &str) -> Result<String, String> {
    let (without, fragment) = match url.split_once('#') {
        Some((without, fragment)) => (without, fragment),
        None => (url, ""),
    };
    let wrap = |error: String| format!("parse {}: {error}", quote(without));
    let scheme = parse(without).map_err(wrap)?;
    match unescape(fragment) {
        Ok(()) => Ok(scheme),
        Err(error) => Err(format!("parse {}: {error}", quote(url))),
    }
}

fn parse(url: &str) -> Result<String, String> {
    if url.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    let (scheme, rest) = split_scheme(url)?;
    let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
    if !rest.starts_with('/') && !scheme.is_empty() {
        return Ok(scheme);
    }
    if !rest.starts_with('/') && rest.split('/').next().is_some_and(|part| part.contains(':')) {
        return Err("first path segment in URL cannot contain colon".to_owned());
    }
    let has_host = rest.starts_with("//") && (!scheme.is_empty() || !rest.starts_with("///"));
    let path = match rest.strip_prefix("//").filter(|_| has_host) {
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            authority(rest.get(..end).unwrap_or_default())?;
            rest.get(end..).unwrap_or_default()
        }
        None => rest,
    };
    unescape(path)?;
    Ok(scheme)
}

fn split_scheme(url: &str) -> Result<(String, &str), String> {
    for (at, byte) in url.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => {
                let (scheme, rest) = url.split_at(at);
                return Ok((scheme.to_ascii_lowercase(), rest.get(1..).unwrap_or_default()));
            }
            _ => break,
        }
    }
    Ok((String::new(), url))
}

fn authority(authority: &str) -> Result<(), String> {
    let Some((user, host_part)) = authority.rsplit_once('@') else { return host(authority) };
    host(host_part)?;
    let is_valid = |char: char| char.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(char);
    if !user.chars().all(is_valid) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    unescape(user)
}

fn host(host: &str) -> Result<(), String> {
    let port = match host.rfind(']') {
        None if host.starts_with('[') => return Err("missing ']' in host".to_owned()),
        Some(end) if host.starts_with('[') => host.get(end + 1..),
        _ => host.rfind(':').and_then(|colon| host.get(colon..)),
    };
    let port = port.unwrap_or_default();
    let is_port = port.is_empty()
        || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|it| it.is_ascii_digit()));
    if !is_port {
        return Err(format!("invalid port {} after host", quote(port)));
    }
    let bytes = host.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        if *byte == b'%' {
            let escape = escape_at(host, at)?;
            let is_ascii = escape.as_bytes().get(1).is_some_and(|digit| *digit < b'8');
            if is_ascii && escape != "%25" {
                return Err(format!("invalid URL escape {}", quote(escape)));
            }
        } else if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !is_host_sign(*byte) {
            let sign = quote(&char::from(*byte).to_string());
            return Err(format!("invalid character {sign} in host name"));
        }
    }
    Ok(())
}

fn is_host_sign(byte: u8) -> bool {
    b"!$&'()*+,;=:[]<>\"-_.~".contains(&byte)
}

/// Checks the escapes of a text.
fn unescape(text: &str) -> Result<(), String> {
    let mut percents = text.bytes().enumerate().filter(|(_, byte)| *byte == b'%');
    percents.try_for_each(|(at, _)| escape_at(text, at).map(drop))
}

/// Returns the escape at a percent sign.
fn escape_at(text: &str, at: usize) -> Result<&str, String> {
    let end = (at + 3).min(text.len());
    let bytes = text.as_bytes().get(at..end).unwrap_or_default();
    let is_hex = bytes.len() == 3 && bytes.iter().skip(1).all(u8::is_ascii_hexdigit);
    match text.get(at..end).filter(|_| is_hex) {
        Some(escape) => Ok(escape),
        None => {
            let shown = kq_k8s::go_text::quote_bytes(bytes);
            Err(format!("invalid URL escape {shown}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::scheme;

    #[test]
    fn urls_are_parsed_as_in_go() {
        for (url, expected) in [
            ("dns://localhost:4317", "dns"),
            ("UNIX:///run/x.sock", "unix"),
            ("http://[::1]:80/a%20b?c#d", "http"),
            ("dns:a b", "dns"),
            ("//x", ""),
            (
                "dn%2s://x:1",
                "parse \"dn%2s://x:1\": first path segment in URL cannot contain colon",
            ),
            ("dns://a b", "parse \"dns://a b\": invalid character \" \" in host name"),
            ("dns://a:b", "parse \"dns://a:b\": invalid port \":b\" after host"),
            ("dns://[::1", "parse \"dns://[::1\": missing ']' in host"),
            ("dns://a/%zz", "parse \"dns://a/%zz\": invalid URL escape \"%zz\""),
            ("://a", "parse \"://a\": missing protocol scheme"),
            ("dns://a\u{1}", "parse \"dns://a\\x01\": net/url: invalid control character in URL"),
        ] {
            assert_eq!(scheme(url).unwrap_or_else(|error| error), expected, "{url}");
        }
    }
}
