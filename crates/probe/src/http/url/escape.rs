//! The `%XX` of URLs: which bytes of which part need it (`shouldEscape`, `escape` and `unescape` of Go's
//! `net/url/url.go`).

use super::UrlProblem;

/// A part of a URL; each part has its own set of unescaped bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Path,
    /// A host with its port.
    Host,
    /// What follows the address of an IPv6 host: `%eth0`.
    Zone,
    /// A user or a password.
    User,
    Fragment,
}

impl Part {
    /// Returns the unescaped characters besides letters, digits and `-_.~`.
    fn own_marks(self) -> &'static [u8] {
        match self {
            Self::Path => b"$&+,/:;=@",
            // Those of a port and of brackets; and quotes, which cannot be escaped in a host.
            Self::Host | Self::Zone => b"!$&'()*+,;=:[]<>\"",
            Self::User => b"$&+,;=",
            Self::Fragment => b"$&+,/:;=?@!()*",
        }
    }

    /// Returns true if a byte stands for itself.
    pub(super) fn keeps(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || self.own_marks().contains(&byte)
    }
}

/// Writes every byte that may not stand for itself as `%XX`.
pub(super) fn escape(bytes: &[u8], part: Part) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if part.keeps(byte) {
            escaped.push(byte);
        } else {
            escaped.extend(format!("%{byte:02X}").bytes());
        }
    }
    escaped
}

/// Replaces every `%XX` by its byte.
pub(super) fn unescape(bytes: &[u8], part: Part) -> Result<Vec<u8>, UrlProblem> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            if matches!(part, Part::Host | Part::Zone) && first.is_ascii() && !part.keeps(*first) {
                return Err(UrlProblem::HostCharacter(*first));
            }
            plain.push(*first);
            continue;
        }
        let digits = match tail {
            [high, low, after @ ..] => hex(*high).zip(hex(*low)).map(|digits| (digits, after)),
            _ => None,
        };
        let as_written = || [b"%", tail.get(..2).unwrap_or(tail)].concat();
        let Some(((high, low), after)) = digits else {
            return Err(UrlProblem::Escape(as_written()));
        };
        let byte = high << 4 | low;
        let allowed = match part {
            _ if byte == b'%' => true,
            // A host may only escape bytes outside of ASCII.
            Part::Host => !byte.is_ascii(),
            // A zone may escape what it could have written, and the blanks of Windows.
            Part::Zone => byte == b' ' || Part::Host.keeps(byte),
            Part::Path | Part::User | Part::Fragment => true,
        };
        if !allowed {
            return Err(UrlProblem::Escape(as_written()));
        }
        plain.push(byte);
        rest = after;
    }
    Ok(plain)
}

/// Returns true if an escaped path or fragment can be sent as it was written (`validEncoded`).
pub(super) fn is_escaped(bytes: &[u8], part: Part) -> bool {
    bytes.iter().all(|byte| b"!$&'()*+,;=:@[]%".contains(byte) || part.keeps(*byte))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_own_marks() {
        let all: Vec<u8> = (0x20..0x7f).filter(|byte: &u8| byte.is_ascii_punctuation()).collect();
        for (part, expected) in [
            (Part::Path, "%21%22%23$%25&%27%28%29%2A+,-./:;%3C=%3E%3F@%5B%5C%5D%5E_%60%7B%7C%7D~"),
            (Part::Host, "!\"%23$%25&'()*+,-.%2F:;<=>%3F%40[%5C]%5E_%60%7B%7C%7D~"),
            (
                Part::User,
                "%21%22%23$%25&%27%28%29%2A+,-.%2F%3A;%3C=%3E%3F%40%5B%5C%5D%5E_%60%7B%7C%7D~",
            ),
            (Part::Fragment, "!%22%23$%25&%27()*+,-./:;%3C=%3E?@%5B%5C%5D%5E_%60%7B%7C%7D~"),
        ] {
            assert_eq!(String::from_utf8(escape(&all, part)).unwrap(), expected, "{part:?}");
        }
    }

    #[test]
    fn only_some_parts_take_any_escape() {
        for (name, part, text, expected) in [
            ("path", Part::Path, "a%2fb%00+", Ok("a/b\0+")),
            ("short", Part::Path, "a%", Err("invalid URL escape \"%\"")),
            ("one digit", Part::Path, "%4", Err("invalid URL escape \"%4\"")),
            ("no digits", Part::Path, "a%zzz", Err("invalid URL escape \"%zz\"")),
            ("second no digit", Part::Path, "%4g1", Err("invalid URL escape \"%4g\"")),
            ("host, ASCII", Part::Host, "a%41", Err("invalid URL escape \"%41\"")),
            ("host, percent", Part::Host, "a%25", Ok("a%")),
            ("host, more", Part::Host, "%C3%BC", Ok("\u{fc}")),
            ("host, blank", Part::Host, "a b", Err("invalid character \" \" in host name")),
            ("host, slash", Part::Host, "a\\b", Err("invalid character \"\\\\\" in host name")),
            ("zone, ASCII", Part::Zone, "%25%41%20", Ok("%A ")),
            ("zone, slash", Part::Zone, "%25%2f", Err("invalid URL escape \"%2f\"")),
            ("zone, more", Part::Zone, "%25%C3%BC", Err("invalid URL escape \"%C3\"")),
        ] {
            let got = unescape(text.as_bytes(), part);
            let got = got.map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(
                got.map_err(|error| error.to_string()),
                expected.map(str::to_owned).map_err(str::to_owned),
                "{name}"
            );
        }
    }
}
