//! Headers of a request, as Go keeps and checks them (`net/http/header.go`, `net/textproto/reader.go`,
//! `golang.org/x/net/http/httpguts`).

use super::fields::is_token;
use kq_k8s::go_text::quote;
use kq_k8s::version::KubeletVersion;
use std::collections::BTreeMap;

/// Values by canonical name, in the order in which names are sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Headers(BTreeMap<String, Vec<Vec<u8>>>);

impl Headers {
    /// Adds a value under the canonical form of a name.
    pub(super) fn add(&mut self, name: &str, value: &[u8]) {
        self.0.entry(canonical_name(name)).or_default().push(value.to_owned());
    }

    /// Replaces all values of a name.
    pub(super) fn set(&mut self, name: &str, value: &[u8]) {
        self.0.insert(canonical_name(name), vec![value.to_owned()]);
    }

    /// Removes a name.
    pub(super) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns all values of a canonical name.
    pub(super) fn values(&self, name: &str) -> &[Vec<u8>] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns the first value of a canonical name; empty if there is none, as in Go.
    pub(super) fn first(&self, name: &str) -> &[u8] {
        self.values(name).first().map_or(&[], Vec::as_slice)
    }

    /// Returns every name with its values, sorted by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &[Vec<u8>])> {
        self.0.iter().map(|(name, values)| (name.as_str(), values.as_slice()))
    }

    /// Keeps the names that qualify.
    pub(super) fn retain(&mut self, qualifies: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| qualifies(name));
    }

    /// Returns why they cannot be sent (`validateHeaders` of `net/http/transport.go`).
    ///
    /// Of several reasons Go gives any, as its map has no order; this one gives the first by name.
    pub(super) fn problem(&self) -> Option<String> {
        self.iter().find_map(|(name, values)| {
            if name.is_empty() || !name.bytes().all(is_token) {
                return Some(format!("net/http: invalid header field name {}", quote(name)));
            }
            let is_bad = |byte: &u8| byte.is_ascii_control() && *byte != b'\t';
            let has_bad = values.iter().any(|value| value.iter().any(is_bad));
            has_bad.then(|| format!("net/http: invalid header field value for {}", quote(name)))
        })
    }

    /// Returns true if the request closes the connection after it
    /// (`wantsClose`): only the first value counts.
    pub(super) fn wants_close(&self) -> bool {
        has_word(self.first("Connection"), b"close")
    }

    /// Returns true if the request asks for another protocol (`isProtocolSwitchHeader`).
    pub(super) fn switches_protocol(&self) -> bool {
        let is_upgrade = |element: &[u8]| trim_blanks(element).eq_ignore_ascii_case(b"upgrade");
        let mut elements =
            self.values("Connection").iter().flat_map(|value| value.split(|byte| *byte == b','));
        !self.first("Upgrade").is_empty() && elements.any(is_upgrade)
    }

    /// Returns true if the request needs HTTP/1 (`requiresHTTP1`).
    pub(super) fn requires_http1(&self) -> bool {
        has_word(self.first("Connection"), b"upgrade")
            && self.first("Upgrade").eq_ignore_ascii_case(b"websocket")
    }
}

/// Returns a name with the first letter, and each after a hyphen, in upper case, all others in lower case; a
/// name that has other characters than those of a token stays (`CanonicalMIMEHeaderKey`).
fn canonical_name(name: &str) -> String {
    if !name.bytes().all(is_token) {
        return name.to_owned();
    }
    let mut after_hyphen = true;
    let canonical = name.chars().map(|c| {
        let starts = std::mem::replace(&mut after_hyphen, c == '-');
        if starts { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
    });
    canonical.collect()
}

/// Returns true if a word is among those that blanks, tabs and commas separate, in any case (`hasToken`).
fn has_word(value: &[u8], word: &[u8]) -> bool {
    value.split(|byte| b" ,\t".contains(byte)).any(|part| part.eq_ignore_ascii_case(word))
}

/// Returns a text without blanks and tabs around it.
fn trim_blanks(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

/// Returns the User-Agent of a probe: `kube-probe/MAJOR.MINOR`.
///
/// `build` is the full version of the kubelet's program where it is known: a minor of a build with a suffix
/// such as `v1.36.2-eks-1` is `36+`, one with `+k3s1` is not (`hack/lib/version.sh`; `userAgent` of
/// `pkg/probe/http/request.go`).
pub fn user_agent(version: KubeletVersion, build: Option<&str>) -> String {
    let release = build.and_then(|build| build.split('+').next()).unwrap_or_default();
    let plus = if release.contains('-') { "+" } else { "" };
    format!("kube-probe/{}.{}{plus}", version.major, version.minor)
}

/// Returns the User-Agent over gRPC, to which grpc-go adds its own name and version: that of the kubelet's `go.mod`.
pub fn grpc_user_agent(user_agent: &str, version: KubeletVersion) -> String {
    format!("{user_agent} grpc-go/{}", version.grpc_go())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_canonical() {
        for (name, expected) in [
            ("x-b3-traceid", "X-B3-Traceid"),
            ("X-CR", "X-Cr"),
            ("a_b", "A_b"),
            ("a.b-c", "A.b-C"),
            ("-a", "-A"),
            ("1a", "1a"),
            ("a b", "a b"),
            ("a:b", "a:b"),
            ("\u{fc}-x", "\u{fc}-x"),
            ("", ""),
        ] {
            assert_eq!(canonical_name(name), expected);
        }
    }

    #[test]
    fn finds_what_cannot_be_sent() {
        for (name, value, expected) in [
            ("x", "a\tb \u{e9}", None),
            ("x", "", None),
            ("x", "a\u{7f}", Some("net/http: invalid header field value for \"X\"")),
            ("x", "a\0", Some("net/http: invalid header field value for \"X\"")),
            ("", "a", Some("net/http: invalid header field name \"\"")),
            ("a\"b", "a", Some("net/http: invalid header field name \"a\\\"b\"")),
            ("a/b", "\n", Some("net/http: invalid header field name \"a/b\"")),
        ] {
            let mut headers = Headers::default();
            headers.add(name, value.as_bytes());
            assert_eq!(headers.problem().as_deref(), expected, "{name} {value:?}");
        }
    }

    #[test]
    fn knows_what_becomes_of_the_connection() {
        // Values of Connection, separated by bars, and of Upgrade; closes, switches,
        // requires HTTP/1.
        for (connection, upgrade, closes, switches, http1) in [
            ("", "", false, false, false),
            ("close", "", true, false, false),
            ("a, Close", "", true, false, false),
            ("a\tclose b", "", true, false, false),
            ("closed", "", false, false, false),
            ("a|close", "", false, false, false),
            ("upgrade", "", false, false, false),
            ("Upgrade", "websocket", false, true, true),
            ("a , upgrade", "WebSocket", false, true, true),
            ("a|upgrade", "x", false, true, false),
            ("a upgrade", "websocket", false, false, true),
        ] {
            let mut headers = Headers::default();
            connection.split('|').for_each(|value| headers.add("connection", value.as_bytes()));
            headers.add("upgrade", upgrade.as_bytes());
            assert_eq!(headers.wants_close(), closes, "{connection:?}");
            assert_eq!(headers.switches_protocol(), switches, "{connection:?} {upgrade:?}");
            assert_eq!(headers.requires_http1(), http1, "{connection:?} {upgrade:?}");
        }
    }

    #[test]
    fn vendors_have_a_plus() {
        let version = KubeletVersion::new(1, 36);
        for (build, expected) in [
            (None, "kube-probe/1.36"),
            (Some("v1.36.2"), "kube-probe/1.36"),
            (Some("v1.36.2-eks-5e0fdde"), "kube-probe/1.36+"),
            (Some("v1.36.2-gke.100"), "kube-probe/1.36+"),
            (Some("v1.36.2+k3s1"), "kube-probe/1.36"),
            (Some("v1.36.2+build-7"), "kube-probe/1.36"),
            (Some("v1.37.0-alpha.1.5+abc"), "kube-probe/1.36+"),
        ] {
            assert_eq!(user_agent(version, build), expected, "{build:?}");
        }
        let agent = grpc_user_agent("kube-probe/1.36", version);
        assert_eq!(agent, "kube-probe/1.36 grpc-go/1.79.3");
    }

    #[test]
    fn grpc_go_is_that_of_go_mod() {
        // `go.mod` of 1.32.5, 1.33.5, 1.34.2, 1.35.3 and 1.36.2.
        for (minor, expected) in (32..).zip(["1.65.0", "1.68.1", "1.72.1", "1.72.2", "1.79.3"]) {
            let agent = grpc_user_agent("kube-probe", KubeletVersion::new(1, minor));
            assert_eq!(agent, format!("kube-probe grpc-go/{expected}"), "1.{minor}");
        }
    }
}
