//! Which server a URL names.

use crate::http::error::HttpError;
use hyper::Uri;

/// A server with a base path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// TLS is spoken.
    pub(crate) is_tls: bool,
    /// A name or an address; an IPv6 address without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// What the `Host` header says and what messages show: `127.0.0.1:10250`.
    pub(crate) address: String,
    /// What comes before every path: empty, or `/a/b` without a slash at the end.
    base: String,
}

impl Target {
    /// Reads `https://HOST[:PORT][/PATH]`.
    pub(crate) fn parse(url: &str) -> Result<Self, HttpError> {
        let uri: Uri = url.parse().map_err(|error| refuse(url, format!("{error}")))?;
        if uri.query().is_some() {
            return Err(refuse(url, "it has a query, expected a server".to_owned()));
        }
        let mut target = Self::of(&uri)?;
        target.base = uri.path().trim_end_matches('/').to_owned();
        Ok(target)
    }

    /// Returns the server of a complete URL, whatever its path is.
    pub(crate) fn of(uri: &Uri) -> Result<Self, HttpError> {
        let url = uri.to_string();
        let (is_tls, port) = match uri.scheme_str() {
            Some("https") => (true, 443),
            Some("http") => (false, 80),
            Some(scheme) => {
                return Err(refuse(&url, format!("scheme {scheme:?}, expected https or http")));
            }
            None => return Err(refuse(&url, "expected https://HOST:PORT".to_owned())),
        };
        let authority = uri.authority().ok_or_else(|| refuse(&url, "it has no host".to_owned()))?;
        if authority.as_str().contains('@') {
            return Err(refuse(&url, "a user in a URL is not used".to_owned()));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(refuse(&url, "it has no host".to_owned()));
        }
        // `authority.port()` is also nothing for a port that is too large.
        let after_host = &authority.as_str()[authority.host().len()..];
        let port = match after_host.strip_prefix(':') {
            None | Some("") => port,
            Some(port) => match port.parse() {
                Ok(port) if port != 0 => port,
                _ => return Err(refuse(&url, format!("there is no port {port:?}"))),
            },
        };
        let address = format!("{}:{port}", authority.host());
        Ok(Self { is_tls, host, port, address, base: String::new() })
    }

    /// Returns the path and query of a request.
    pub(crate) fn path(&self, path: &str) -> Result<Uri, HttpError> {
        let full = format!("{}{path}", self.base);
        if !path.starts_with('/') {
            return Err(refuse(path, "a path begins with a slash".to_owned()));
        }
        let uri: Uri = full.parse().map_err(|error| refuse(path, format!("{error}")))?;
        // `//host/path` would be read as a path here and as a host by others.
        if uri.authority().is_some() || full.starts_with("//") {
            return Err(refuse(path, "expected a path".to_owned()));
        }
        Ok(uri)
    }
}

fn refuse(url: &str, reason: String) -> HttpError {
    HttpError::Url { url: without_user(url), reason }
}

/// Takes user and password out of a URL.
pub(super) fn without_user(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) if scheme.is_empty() => rest[at + 1..].to_owned(),
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_servers() {
        for (url, is_tls, host, port, address, pods) in [
            ("https://127.0.0.1:10250", true, "127.0.0.1", 10250, "127.0.0.1:10250", "/pods"),
            ("https://127.0.0.1:10250/", true, "127.0.0.1", 10250, "127.0.0.1:10250", "/pods"),
            ("http://node", false, "node", 80, "node:80", "/pods"),
            ("https://[::1]:6443", true, "::1", 6443, "[::1]:6443", "/pods"),
            ("https://a.b:/c/d/", true, "a.b", 443, "a.b:443", "/c/d/pods"),
        ] {
            let target = Target::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(target.is_tls, is_tls, "{url}");
            assert_eq!(target.host, host, "{url}");
            assert_eq!(target.port, port, "{url}");
            assert_eq!(target.address, address, "{url}");
            assert_eq!(target.path("/pods").expect("a path").to_string(), pods, "{url}");
        }
    }

    #[test]
    fn what_names_no_server_is_refused() {
        for (url, expected) in [
            ("", "empty string"),
            ("127.0.0.1:10250", "expected https://HOST:PORT"),
            ("ftp://a", "scheme \"ftp\", expected https or http"),
            ("https://a:99999", "there is no port \"99999\""),
            ("https://a:0", "there is no port \"0\""),
            ("https://a?b=c", "it has a query"),
            ("https://a b", "invalid uri character"),
            ("https://root:secret@a", "a user in a URL is not used"),
        ] {
            let error = Target::parse(url).expect_err(url).to_string();
            assert!(error.contains(expected), "{url}: {error}");
            assert!(!error.contains("secret"), "{url}: {error}");
        }
        let error = Target::parse("https://root:secret@a:b c").expect_err("a blank").to_string();
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn what_is_no_path_is_refused() {
        let target = Target::parse("https://a").expect("a server");
        for path in ["", "pods", "//evil/pods", "/a b", "https://evil/pods"] {
            assert!(target.path(path).is_err(), "{path:?}");
        }
    }
}
