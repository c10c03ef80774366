//! Patterns of images (`getAllowlistImagePattern` in `pkg/kubelet/images/pullmanager/image_pull_policies.go`), and names
//! of images as `github.com/distribution/reference` parses them.
//!
//! Since 1.36 a name is parsed as it is (`Parse`, called by `trimImageTagDigest`); before, as Docker's user interface takes it
//! (`ParseNormalizedNamed` in `normalize.go`), and the result must be the name itself: `a` becomes `docker.io/library/a` and is
//! refused. Pinned by `tests/vectors/kubelet_config_validate.jsonl`.

use super::validation_error::ImagePatternError;
use kq_k8s::version::KubeletVersion;
use std::borrow::Cow;

/// The longest path of a name.
const LONGEST_PATH: usize = 255;

/// Returns why a pattern of images is rejected.
pub(super) fn image_pattern_error(
    pattern: &str,
    version: KubeletVersion,
) -> Option<ImagePatternError> {
    if pattern.trim() != pattern {
        return Some(ImagePatternError::Spaces(pattern.to_owned()));
    }
    let wildcard = pattern.strip_suffix('*').filter(|start| start.ends_with('/'));
    let name = wildcard.unwrap_or(pattern);
    match wildcard {
        _ if name.is_empty() => Some(ImagePatternError::Short(pattern.to_owned())),
        _ if name.contains('*') => Some(ImagePatternError::Wildcard(pattern.to_owned())),
        Some(_) => (name.len() == 1).then_some(ImagePatternError::NoHost),
        None => match is_other_name(name, version) {
            Err(problem) => Some(ImagePatternError::Name(problem)),
            Ok(true) => Some(ImagePatternError::Tag(pattern.to_owned())),
            Ok(false) => None,
        },
    }
}

/// Returns true if a text is not the name that it stands for: it has a tag or a digest, or is short for another.
fn is_other_name(text: &str, version: KubeletVersion) -> Result<bool, Cow<'static, str>> {
    if version.parses_image_names_as_they_are() {
        return Ok(has_tag(text)?);
    }
    if text.len() == 64 && text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f')) {
        return Err(format!(
            "invalid repository name ({text}), cannot specify 64-byte hexadecimal strings"
        )
        .into());
    }
    let (domain, remainder) = split_docker_domain(text);
    let remote = remainder.split_once(':').map_or(&*remainder, |(remote, _)| remote);
    if remote.to_lowercase() != remote {
        return Err(format!(
            "invalid reference format: repository name ({remote}) must be lowercase"
        )
        .into());
    }
    let whole = format!("{domain}/{remainder}");
    Ok(has_tag(&whole)? || whole != text)
}

/// Splits a name into its domain and the rest, and adds what is left out of names on Docker Hub (`splitDockerDomain`).
fn split_docker_domain(name: &str) -> (&str, Cow<'_, str>) {
    const DEFAULT: &str = "docker.io";
    let Some((first, rest)) = name.split_once('/') else {
        return (DEFAULT, format!("library/{name}").into());
    };
    let is_domain =
        first == "localhost" || first.contains(['.', ':']) || first.to_lowercase() != first;
    let (domain, rest) = match first {
        "index.docker.io" => (DEFAULT, rest),
        _ if is_domain => (first, rest),
        _ => (DEFAULT, name),
    };
    match domain == DEFAULT && !rest.contains('/') {
        true => (domain, format!("library/{rest}").into()),
        false => (domain, rest.into()),
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
    fn older_kubelets_take_whole_names_alone() {
        let hex = "a".repeat(64);
        for (name, expected) in [
            ("quay.io/a/b", Ok(false)),
            ("localhost/a", Ok(false)),
            ("docker.io/library/a", Ok(false)),
            ("a", Ok(true)),
            ("a/b", Ok(true)),
            ("docker.io/a", Ok(true)),
            ("index.docker.io/library/a", Ok(true)),
            ("quay.io/a:1", Ok(true)),
            ("Host/a", Ok(false)),
            ("A", Err("invalid reference format: repository name (library/A) must be lowercase")),
            ("quay.io/A:1", Err("invalid reference format: repository name (A) must be lowercase")),
            ("quay.io/a b", Err("invalid reference format")),
            (
                &hex,
                Err(
                    "invalid repository name (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\
                     aaaaaaaa), cannot specify 64-byte hexadecimal strings",
                ),
            ),
        ] {
            let got = is_other_name(name, KubeletVersion::new(1, 35));
            assert_eq!(got, expected.map_err(Cow::from), "{name}");
        }
        assert_eq!(is_other_name("a", KubeletVersion::new(1, 36)), Ok(false));
    }

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
