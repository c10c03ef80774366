//! URLs that hold their contents (RFC 2397), as Ignition has files.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Returns the contents of a URL `data:TYPE;base64,TEXT` or `data:TYPE,TEXT`; `None`: it is no such URL.
pub fn contents(url: &str) -> Option<Vec<u8>> {
    let (kind, text) = url.strip_prefix("data:")?.split_once(',')?;
    let bytes = without_percent(text)?;
    match kind.ends_with(";base64") {
        true => STANDARD.decode(bytes).ok(),
        false => Some(bytes),
    }
}

/// Returns a text with the bytes that `%41` stands for.
fn without_percent(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = after.split_at_checked(2)?;
        let digits = str::from_utf8(digits).ok().filter(|it| !it.starts_with('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_holds_its_contents() {
        for (url, expected) in [
            ("data:,a%20b%0A", Some("a b\n")),
            ("data:text/plain;charset=utf-8;base64,YSBiCg==", Some("a b\n")),
            ("data:text/plain;base64,YSBiCg%3D%3D", Some("a b\n")),
            ("data:,", Some("")),
            ("data:,%4", None),
            ("data:,%zz", None),
            ("data:;base64,Y", None),
            ("https://a/b,c", None),
        ] {
            let found = contents(url);
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{url}");
        }
    }
}
