//! The forms of names (`k8s.io/apimachinery/pkg/util/validation/validation.go`).

const LABEL_TEXT: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric \
     characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or \
     '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_TEXT: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
     alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character \
     (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED_TEXT: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', \
     and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or \
     '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const QUALIFIED_SHAPE: &str = "a qualified name must consist of alphanumeric characters, '-', '_' \
     or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  \
     or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an \
     optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";

const MAX_LABEL: usize = 63;
const MAX_SUBDOMAIN: usize = 253;

/// Returns why a text is no DNS label.
pub(super) fn dns1123_label(text: &str) -> Option<String> {
    if text.len() > MAX_LABEL {
        return Some(too_long(MAX_LABEL));
    }
    (!is_label(text)).then(|| LABEL_TEXT.to_owned())
}

/// Returns why a text is no DNS subdomain.
pub(super) fn dns1123_subdomain(text: &str) -> Option<String> {
    if text.len() > MAX_SUBDOMAIN {
        return Some(too_long(MAX_SUBDOMAIN));
    }
    (!text.split('.').all(is_label)).then(|| SUBDOMAIN_TEXT.to_owned())
}

/// Returns why a text is no qualified name, such as `example.com/gpu`.
pub(super) fn qualified_name(text: &str) -> Option<String> {
    let name = match text.split_once('/') {
        None => text,
        Some((_, name)) if name.contains('/') => return Some(QUALIFIED_SHAPE.to_owned()),
        Some(("", _)) => return Some("prefix part must be non-empty".to_owned()),
        Some((prefix, name)) => match dns1123_subdomain(prefix) {
            Some(why) => return Some(format!("prefix part {why}")),
            None => name,
        },
    };
    if name.is_empty() {
        Some("name part must be non-empty".to_owned())
    } else if name.len() > MAX_LABEL {
        Some(format!("name part {}", too_long(MAX_LABEL)))
    } else {
        (!is_name_part(name)).then(|| QUALIFIED_TEXT.to_owned())
    }
}

/// Tells whether a text can be the value of a label; it may be empty.
pub(super) fn is_label_value(text: &str) -> bool {
    text.is_empty() || (text.len() <= MAX_LABEL && is_name_part(text))
}

fn is_name_part(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    is_made_of(text, |b| b.is_ascii_alphanumeric(), inner)
}

fn is_label(text: &str) -> bool {
    let outer = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    is_made_of(text, outer, |b| outer(b) || b == b'-')
}

fn is_made_of(text: &str, outer: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    matches!((bytes.first(), bytes.last()), (Some(&first), Some(&last)) if outer(first) && outer(last))
        && bytes.iter().all(|&b| inner(b))
}

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_forms() {
        let long = "a".repeat(64);
        let longer = format!("{}.{}.{}.{}.a", "a".repeat(63), "b".repeat(63), "c".repeat(63), long);
        // Text, is a label, is a subdomain, is a qualified name.
        let rows = [
            ("a", true, true, true),
            ("a-1", true, true, true),
            ("", false, false, false),
            ("A", false, false, true),
            ("-a", false, false, false),
            ("a-", false, false, false),
            ("a.b", false, true, true),
            ("a..b", false, false, true),
            ("a_b", false, false, true),
            ("ä", false, false, false),
            ("example.com/gpu", false, false, true),
            ("example.com/", false, false, false),
            ("/gpu", false, false, false),
            ("a/b/c", false, false, false),
            ("A.com/gpu", false, false, false),
            (&long, false, true, false),
            (&longer, false, false, false),
        ];
        for (text, label, subdomain, qualified) in rows {
            assert_eq!(dns1123_label(text).is_none(), label, "label {text}");
            assert_eq!(dns1123_subdomain(text).is_none(), subdomain, "subdomain {text}");
            assert_eq!(qualified_name(text).is_none(), qualified, "qualified {text}");
        }
    }
}
