//! Probes of no pod, as they are given on a command line.

use kq_k8s::pod::{
    ExecAction, GrpcAction, HttpGetAction, HttpHeader, IntOrString, Probe, TcpSocketAction,
};

/// Why a text is no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdHocError {
    /// A URL of another kind.
    #[error("{0:?} is not a URL for a probe")]
    Url(String),
    #[error("{0:?} has no scheme")]
    NoScheme(String),
    /// No port that can be connected to.
    #[error("{text:?} has no port between 1 and 65535")]
    Port { text: String },
    /// No `NAME: VALUE`.
    #[error("{0:?} is not a header")]
    Header(String),
}

impl AdHocError {
    /// Returns what would be understood.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Url(_) => {
                "such as http://10.0.0.7:8080/healthz or https://[fd00::7]/ready?full=1"
            }
            Self::NoScheme(_) => "put http:// or https:// before it",
            Self::Port { .. } => "such as 10.0.0.7:8080 or [fd00::7]:8080",
            Self::Header(_) => "such as 'Host: shop.example.org'",
        }
    }
}

/// Returns the probe that gets a URL. Everything after the authority becomes the probe's path as it is, so
/// that the kubelet's rules for paths apply to it.
/// Fails for another scheme than `http` and `https`, for user information and for a bad port.
pub fn http_get(url: &str, headers: &[String]) -> Result<Probe, AdHocError> {
    let refused = || AdHocError::Url(url.to_owned());
    let no_scheme = || AdHocError::NoScheme(url.to_owned());
    let (scheme, rest) = url.split_once("://").ok_or_else(no_scheme)?;
    let (scheme, default) = match scheme.to_ascii_lowercase().as_str() {
        "http" => ("HTTP", "80"),
        "https" => ("HTTPS", "443"),
        _ => return Err(refused()),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return Err(refused());
    }
    let has_port = match authority.rfind(']') {
        Some(end) => authority[end..].contains(':'),
        None => authority.contains(':'),
    };
    let (host, port) = match has_port {
        true => host_and_port(authority)?,
        false => host_and_port(&format!("{authority}:{default}"))?,
    };
    if host.is_empty() {
        return Err(refused());
    }
    let http_headers = headers.iter().map(|text| header(text)).collect::<Result<_, _>>()?;
    let http_get = HttpGetAction {
        path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
        query_withheld: false,
        port: IntOrString::Int(port),
        // As it is written into a URL; a probe has it bare.
        host: host.replacen("%25", "%", 1),
        scheme: scheme.to_owned(),
        protocol: String::new(),
        http_headers,
    };
    Ok(Probe { http_get: Some(http_get), ..Probe::default() })
}

/// Returns the probe that opens a connection to `HOST:PORT`.
/// Fails without a good port.
pub fn tcp_socket(address: &str) -> Result<Probe, AdHocError> {
    let (host, port) = host_and_port(address)?;
    let tcp_socket = TcpSocketAction { port: IntOrString::Int(port), host };
    Ok(Probe { tcp_socket: Some(tcp_socket), ..Probe::default() })
}

/// Returns the host of `HOST:PORT`, which takes the place of the pod's IP, and the probe that asks the
/// health service there.
/// Fails without a good port.
pub fn grpc(address: &str, service: Option<String>) -> Result<(String, Probe), AdHocError> {
    let (host, port) = host_and_port(address)?;
    let grpc = GrpcAction { port, service, mode: String::new() };
    Ok((host, Probe { grpc: Some(grpc), ..Probe::default() }))
}

/// Returns the probe that runs a command.
pub fn exec(command: Vec<String>) -> Probe {
    let exec = ExecAction { command, command_withheld: false };
    Probe { exec: Some(exec), ..Probe::default() }
}

fn host_and_port(address: &str) -> Result<(String, i32), AdHocError> {
    let refused = || AdHocError::Port { text: address.to_owned() };
    let (host, port) = address.rsplit_once(':').ok_or_else(refused)?;
    let port = port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(refused)?;
    let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(inner) => inner,
        // Else the last group of an IPv6 address would be parsed as a port.
        None if host.contains(':') => return Err(refused()),
        None => host,
    };
    Ok((host.to_owned(), i32::from(port)))
}

fn header(text: &str) -> Result<HttpHeader, AdHocError> {
    let (name, value) = text.split_once(':').ok_or_else(|| AdHocError::Header(text.to_owned()))?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() {
        return Err(AdHocError::Header(text.to_owned()));
    }
    Ok(HttpHeader { name: name.to_owned(), value: value.to_owned(), value_withheld: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_become_actions() {
        for (url, expected) in [
            (
                "http://10.0.0.7:8080/healthz?x=1#f",
                Some(("HTTP", "10.0.0.7", 8080, "/healthz?x=1#f")),
            ),
            ("https://shop.example.org", Some(("HTTPS", "shop.example.org", 443, "/"))),
            ("HTTP://[fd00::7]/a", Some(("HTTP", "fd00::7", 80, "/a"))),
            ("http://[fe80::1%25eth0]:1?q", Some(("HTTP", "fe80::1%eth0", 1, "?q"))),
            ("10.0.0.7:8080/healthz", None),
            ("ftp://10.0.0.7/", None),
            ("http://", None),
            ("http:///path", None),
            ("http://user@host/", None),
            ("http://host:0/", None),
            ("http://host:x/", None),
            ("http://fd00::7/", None),
        ] {
            let got = http_get(url, &[]).ok().and_then(|probe| probe.http_get);
            let got = got.map(|get| (get.scheme, get.host, get.port, get.path));
            let expected = expected.map(|(scheme, host, port, path)| {
                (scheme.to_owned(), host.to_owned(), IntOrString::Int(port), path.to_owned())
            });
            assert_eq!(got, expected, "{url}");
        }
    }

    #[test]
    fn addresses_and_headers_are_read() {
        let (host, probe) = grpc("[::1]:50051", Some("shop".to_owned())).expect("an address");
        assert_eq!((host.as_str(), probe.grpc.expect("grpc").port), ("::1", 50051));
        let tcp = tcp_socket(":80").expect("a port of the node itself");
        assert_eq!(tcp.tcp_socket.expect("tcp").host, "");
        for address in ["10.0.0.7", "10.0.0.7:", "10.0.0.7:http", "::1:80", "a:65536"] {
            assert!(tcp_socket(address).is_err(), "{address}");
        }
        let headers = ["Host: shop:80".to_owned(), "X-A:".to_owned()];
        let probe = http_get("http://a/", &headers).expect("headers");
        let sent = probe.http_get.expect("http").http_headers;
        let sent: Vec<_> = sent.iter().map(|h| (h.name.as_str(), h.value.as_str())).collect();
        assert_eq!(sent, [("Host", "shop:80"), ("X-A", "")]);
        assert!(http_get("http://a/", &["no header".to_owned()]).is_err());
    }
}
