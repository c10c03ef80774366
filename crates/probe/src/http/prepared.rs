//! The bytes of a request and their destination: `Transport.roundTrip` and `persistConn.roundTrip` (`net/http/transport.go`),
//! `Request.write` (`net/http/request.go`), and for HTTP/2 `EncodeHeaders`
//! (`golang.org/x/net/internal/httpcommon`).
//!
//! The kubelet's transport keeps no connection, uses no proxy and does not ask for compression.

use super::headers::Headers;
use super::host;
use super::request::HttpProbeRequest;
use super::url::UserInfo;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use kq_k8s::go_text::quote_bytes;

/// A request that can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// It goes through TLS.
    pub is_tls: bool,
    /// Host and port as Go's dialer gets them: `10.1.2.3:8080`, `[fe80::1%eth0]:8080`, `:8080`.
    pub dial_address: String,
    /// The name that TLS asks for; empty for an address.
    pub server_name: String,
    /// The protocols that TLS offers, the best first; empty where HTTP/2 would not do.
    pub alpn: &'static [&'static str],
    /// The whole request in HTTP/1.1.
    pub bytes: Vec<u8>,
    /// The same in HTTP/2.
    pub h2: H2Request,
}

/// A request in HTTP/2; its method is `GET`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct H2Request {
    /// `:authority`
    pub authority: Vec<u8>,
    /// `:path`, with raw blanks, quotes and non-ASCII where the query has some.
    pub path: Vec<u8>,
    /// `:scheme`
    pub scheme: Vec<u8>,
    /// All other headers, with names in lower case, sorted. Go sends them in any order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The cause of the failure, if this cannot be sent in HTTP/2.
    pub refused: Option<String>,
}

impl HttpProbeRequest {
    /// Checks the request and writes it.
    /// Returns the cause of a failure that the client finds by itself.
    pub fn prepare(&self) -> Result<Prepared, String> {
        let headers = self.headers_to_send();
        let url = &self.url;
        let is_tls = url.scheme == b"https";
        let is_http = is_tls || url.scheme == b"http";
        if let Some(problem) = headers.problem().filter(|_| is_http) {
            return Err(problem);
        }
        if !is_http {
            return Err(format!("unsupported protocol scheme {}", quote_bytes(&url.scheme)));
        }
        if url.host.is_empty() {
            return Err("http: no Host in request URL".to_owned());
        }
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let alpn: &[_] = if headers.requires_http1() { &[] } else { &["h2", "http/1.1"] };
        Ok(Prepared {
            is_tls,
            dial_address: text(host::dial_address(url)),
            server_name: text(host::server_name(url)),
            alpn: if is_tls { alpn } else { &[] },
            bytes: self.write(&headers)?,
            h2: self.h2(&headers).unwrap_or_else(|cause| H2Request {
                refused: Some(format!("http2: {cause}")),
                ..H2Request::default()
            }),
        })
    }

    /// Returns the headers with that of the URL's user, unless there is one already.
    fn headers_to_send(&self) -> Headers {
        let mut headers = self.headers.clone();
        if let Some(UserInfo { name, password }) = &self.url.user
            && headers.first("Authorization").is_empty()
        {
            let password = password.as_deref().unwrap_or_default();
            let credentials = BASE64_STANDARD.encode([name.as_slice(), b":", password].concat());
            headers.set("Authorization", format!("Basic {credentials}").as_bytes());
        }
        headers
    }

    /// Returns the host of the request.
    fn requested_host(&self) -> &[u8] {
        if self.host.is_empty() { &self.url.host } else { &self.host }
    }

    fn write(&self, headers: &Headers) -> Result<Vec<u8>, String> {
        const WRITTEN_APART: [&str; 5] =
            ["Host", "User-Agent", "Content-Length", "Transfer-Encoding", "Trailer"];
        let mut bytes = [b"GET ", self.url.request_uri().as_slice(), b" HTTP/1.1\r\n"].concat();
        let mut line = |name: &str, value: &[u8]| {
            bytes.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        };
        line("Host", &host::host_header(self.requested_host())?);
        let user_agent = headers.first("User-Agent");
        if !user_agent.is_empty() {
            line("User-Agent", user_agent.trim_ascii());
        }
        for (name, values) in headers.iter().filter(|(name, _)| !WRITTEN_APART.contains(name)) {
            values.iter().for_each(|value| line(name, value.trim_ascii()));
        }
        if !headers.wants_close() && !headers.switches_protocol() {
            line("Connection", b"close");
        }
        bytes.extend_from_slice(b"\r\n");
        Ok(bytes)
    }

    fn h2(&self, headers: &Headers) -> Result<H2Request, String> {
        const NOT_SENT: [&str; 7] = [
            "Host",
            "Content-Length",
            "Connection",
            "Proxy-Connection",
            "Transfer-Encoding",
            "Upgrade",
            "Keep-Alive",
        ];
        refuse_connection_headers(headers)?;
        let authority = host::authority(self.requested_host())?;
        let mut fields = Vec::new();
        for (name, values) in headers.iter().filter(|(name, _)| !NOT_SENT.contains(name)) {
            let name = name.to_ascii_lowercase();
            match name.as_str() {
                "user-agent" => {
                    let first = values.first().filter(|value| !value.is_empty());
                    fields.extend(first.map(|value| (name, value.clone())));
                }
                "cookie" => fields.extend(
                    values
                        .iter()
                        .flat_map(|value| crumbs(value))
                        .map(|crumb| (name.clone(), crumb)),
                ),
                _ => fields.extend(values.iter().map(|value| (name.clone(), value.clone()))),
            }
        }
        Ok(H2Request {
            authority,
            path: self.url.request_uri(),
            scheme: self.url.scheme.clone(),
            headers: fields,
            refused: None,
        })
    }
}

/// Refuses what HTTP/2 has no place for (`checkConnHeaders`).
///
/// That `chunked` is an upgrade to be let through is an oddity of Go.
fn refuse_connection_headers(headers: &Headers) -> Result<(), String> {
    let is_one_of = |value: &[u8], words: &[&str]| {
        words.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
    };
    for (name, is_allowed) in [
        ("Upgrade", matches!(headers.first("Upgrade"), b"" | b"chunked")),
        (
            "Transfer-Encoding",
            match headers.values("Transfer-Encoding") {
                [] => true,
                [value] => matches!(value.as_slice(), b"" | b"chunked"),
                _ => false,
            },
        ),
        (
            "Connection",
            match headers.values("Connection") {
                [] => true,
                [value] => is_one_of(value, &["", "close", "keep-alive"]),
                _ => false,
            },
        ),
    ] {
        if !is_allowed {
            let values = headers.values(name).iter().map(|value| quote_bytes(value));
            let values = values.collect::<Vec<_>>().join(" ");
            return Err(format!("invalid {name} request header: [{values}]"));
        }
    }
    Ok(())
}

/// Splits a cookie header into the fields of which HTTP/2 makes it.
fn crumbs(value: &[u8]) -> Vec<Vec<u8>> {
    let mut crumbs = Vec::new();
    let mut rest = value;
    while let Some(end) = rest.iter().position(|byte| *byte == b';') {
        let (crumb, after) = rest.split_at(end);
        crumbs.push(crumb.to_owned());
        rest = after.strip_prefix(b";").unwrap_or(after);
        while let Some(after) = rest.strip_prefix(b" ") {
            rest = after;
        }
    }
    crumbs.extend((!rest.is_empty()).then(|| rest.to_owned()));
    crumbs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_crumble() {
        let crumbs = |text: &str| -> Vec<String> {
            let crumbs = crumbs(text.as_bytes());
            crumbs.into_iter().map(|crumb| String::from_utf8(crumb).unwrap()).collect()
        };
        assert_eq!(crumbs("a=b;  c=d;e"), ["a=b", "c=d", "e"]);
        assert_eq!(crumbs("a;"), ["a"]);
        assert_eq!(crumbs(""), [""; 0]);
        assert_eq!(crumbs(";; "), ["", ""]);
    }
}
