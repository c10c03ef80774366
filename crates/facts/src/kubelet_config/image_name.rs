//! Patterns of images (`getAllowlistImagePattern` in `pkg/kubelet/images/pullmanager/image_pull_policies.go`), and names
//! of images as `github.com/distribution/reference` parses them.

use super::validation_error::ImagePatternError;

/// The longest path of a name.
const LONGEST_PATH: usize = 255;

/// Returns why a pattern of images is rejected.
pub(super) fn image_pattern_error(pattern: &str) -> Option<ImagePatternError> {
    if pattern.trim() != pattern {
        return Some(ImagePatternError::Spaces(pattern.to_owned()));
    }
    let wildcard = pattern.strip_suffix('*').filter(|start| start.ends_with('/'));
    let name = wildcard.unwrap_or(pattern);
    match wildcard {
        _ if name.is_empty() => Some(ImagePatternError::Short(pattern.to_owned())),
        _ if name.contains('*') => Some(ImagePatternError::Wildcard(pattern.to_owned())),
        Some(_) => (name.len() == 1).then_some(ImagePatternError::NoHost),
        None => match has_tag(name) {
            Err(problem) => Some(ImagePatternError::Name(problem)),
            Ok(true) => Some(ImagePatternError::Tag(pattern.to_owned())),
            Ok(false) => None,
        },
    }
}

/// Parses a name of an image (`Parse`); returns true if it has a tag or a digest.
fn has_tag(text: &str) -> Result<bool, &'static str> {
    let Some((name, has_tag, digest)) = split(text) else {
        return Err(match split(&text.to_lowercase()) {
            Some(_) => "repository name must be lowercase",
            None => "invalid reference format",
        });
    };
    let path = match domain_and_path(name) {
        Some((_, path)) => path,
        None => name,
    };
    if path.len() > LONGEST_PATH {
        return Err("repository name must not be more than 255 characters");
    }
    if let Some(digest) = digest {
        let (algorithm, sum) = digest.split_once(':').unwrap_or((digest, ""));
        let length = match algorithm {
            "sha256" => 64,
            "sha384" => 96,
            "sha512" => 128,
            _ => return Err("unsupported digest algorithm"),
        };
        if sum.len() != length {
            return Err("invalid checksum digest length");
        }
        if sum.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err("invalid checksum digest format");
        }
    }
    Ok(has_tag || digest.is_some())
}

/// Splits a text into name, whether it has a tag, and digest (`ReferenceRegexp`).
fn split(text: &str) -> Option<(&str, bool, Option<&str>)> {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    if !digest.is_none_or(is_digest) {
        return None;
    }
    let slash = rest.rfind('/').map_or(0, |slash| slash + 1);
    let tag_at = rest.get(slash..)?.find(':').map(|colon| slash + colon);
    let (name, tag) = match tag_at {
        Some(at) => (rest.get(..at)?, rest.get(at + 1..)),
        None => (rest, None),
    };
    let is_tag = |tag: &str| {
        let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
        tag.len() <= 128
            && tag.starts_with(is_word)
            && tag.chars().all(|char| is_word(char) || matches!(char, '.' | '-'))
    };
    let is_name = is_path(name) || domain_and_path(name).is_some();
    (is_name && tag.is_none_or(is_tag)).then_some((name, tag.is_some(), digest))
}

/// Splits a name at its first slash, where a domain is in front of it.
fn domain_and_path(name: &str) -> Option<(&str, &str)> {
    name.split_once('/').filter(|(domain, path)| is_domain(domain) && is_path(path))
}

fn is_domain(domain: &str) -> bool {
    let (host, port) =
        match domain.rfind(':').filter(|at| !domain.get(*at..).unwrap_or_default().contains(']')) {
            Some(at) => (domain.get(..at).unwrap_or_default(), domain.get(at + 1..)),
            None => (domain, None),
        };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if !port.is_none_or(is_port) {
        return false;
    }
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return !address.is_empty()
            && address.bytes().all(|it| it.is_ascii_hexdigit() || it == b':');
    }
    host.split('.').all(|part| {
        !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

/// Returns true for path components with slashes between.
fn is_path(path: &str) -> bool {
    path.split('/').all(|part| {
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let separators = part.split(|char: char| char.is_ascii() && is_word(char as u8));
        let is_separator = |text: &str| {
            matches!(text, "" | "." | "_" | "__") || text.bytes().all(|byte| byte == b'-')
        };
        part.bytes().next().is_some_and(is_word)
            && part.bytes().last().is_some_and(is_word)
            && separators.into_iter().all(is_separator)
    })
}

/// Returns true for `algorithm:hexadecimal`.
fn is_digest(digest: &str) -> bool {
    let Some((algorithm, sum)) = digest.split_once(':') else { return false };
    let is_part = |part: &str| {
        part.starts_with(|char: char| char.is_ascii_alphabetic())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    algorithm.split(['-', '_', '+', '.']).all(is_part)
        && sum.len() >= 32
        && sum.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed() {
        let sum = "a".repeat(64);
        for (name, expected) in [
            ("quay.io/a/b", Ok(false)),
            ("a", Ok(false)),
            ("localhost:5000/a", Ok(false)),
            ("quay.io/a:1.2", Ok(true)),
            ("a:1", Ok(true)),
            (&format!("quay.io/a@sha256:{sum}"), Ok(true)),
            ("quay.io/A", Err("repository name must be lowercase")),
            ("quay.io/a b", Err("invalid reference format")),
            ("quay.io//a", Err("invalid reference format")),
            ("quay.io/a___b", Err("invalid reference format")),
            ("quay.io/a--b__c", Ok(false)),
            ("quay.io/a@sha256:abc", Err("invalid reference format")),
        ] {
            assert_eq!(has_tag(name), expected, "{name}");
        }
    }
}
