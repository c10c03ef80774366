//! The proxies of the environment, as Go's programs have them (`ProxyFromEnvironment` of `net/http`; the rules are those of
//! `golang.org/x/net/http/httpproxy`).

use crate::http::target::Target;
use std::net::IpAddr;

/// The variables of the environment that name proxies.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProxyVariables {
    http: String,
    https: String,
    excluded: String,
    /// A web server runs kq: the client of that server may have set `HTTP_PROXY`.
    is_cgi: bool,
}

impl ProxyVariables {
    /// Reads the environment. A name in upper case comes before the one in lower case.
    pub(crate) fn of_environment() -> Self {
        let read = |names: [&str; 2]| {
            let found = names.into_iter().filter_map(|name| std::env::var(name).ok());
            found.into_iter().find(|value| !value.is_empty()).unwrap_or_default()
        };
        Self {
            http: read(["HTTP_PROXY", "http_proxy"]),
            https: read(["HTTPS_PROXY", "https_proxy"]),
            excluded: read(["NO_PROXY", "no_proxy"]),
            is_cgi: std::env::var_os("REQUEST_METHOD").is_some_and(|value| !value.is_empty()),
        }
    }

    /// Returns the URL of the proxy for a server, with the variable that names it; `None`: there is none.
    pub(crate) fn proxy_for(&self, target: &Target) -> Option<(&'static str, String)> {
        let (name, url) = match target.is_tls {
            true => ("HTTPS_PROXY", &self.https),
            false if self.is_cgi => return None,
            false => ("HTTP_PROXY", &self.http),
        };
        if url.is_empty() || !self.is_proxied(target) {
            return None;
        }
        let url = match url.contains("://") {
            true => url.clone(),
            false => format!("http://{url}"),
        };
        Some((name, url))
    }

    /// Returns true unless the server is this machine, or `NO_PROXY` has it (`useProxy`).
    fn is_proxied(&self, target: &Target) -> bool {
        let host = target.host.to_ascii_lowercase();
        let address: Option<IpAddr> = host.parse().ok();
        if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
            return false;
        }
        // Go compares the port as it is written.
        let port = target.port.to_string();
        let entries = self.excluded.split(',').map(|entry| entry.trim().to_ascii_lowercase());
        !entries.into_iter().any(|entry| excludes(&entry, &host, address, &port))
    }
}

/// Returns true if an entry of `NO_PROXY` is about a server.
fn excludes(entry: &str, host: &str, address: Option<IpAddr>, port: &str) -> bool {
    if entry == "*" {
        return true;
    }
    if let Some((network, bits)) = entry.split_once('/')
        && let (Ok(network), Ok(bits)) = (network.parse::<IpAddr>(), bits.parse::<u32>())
    {
        return address.is_some_and(|address| is_within(address, network, bits));
    }
    let (name, of_port) = split(entry);
    let of_port = of_port.filter(|of_port| !of_port.is_empty());
    if name.is_empty() || of_port.is_some_and(|of_port| of_port != port) {
        return false;
    }
    if let Ok(excluded) = name.parse::<IpAddr>() {
        return address == Some(excluded);
    }
    if address.is_some() {
        return false;
    }
    let name = name.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(name);
    match name.strip_prefix('.') {
        // Only what is below it.
        Some(_) => host.ends_with(name),
        None => host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')),
    }
}

/// Returns the host and the port of an entry.
fn split(entry: &str) -> (&str, Option<&str>) {
    if let Some(rest) = entry.strip_prefix('[')
        && let Some((host, port)) = rest.split_once(']')
    {
        return (host, port.strip_prefix(':'));
    }
    match entry.split_once(':') {
        // An address of IPv6 has several.
        Some((host, port)) if !port.contains(':') => (host, Some(port)),
        _ => (entry, None),
    }
}

/// Returns true if an address is one of a network with a prefix of so many bits.
fn is_within(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            address.to_bits() & mask == network.to_bits() & mask
        }
        (IpAddr::V6(address), IpAddr::V6(network)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            address.to_bits() & mask == network.to_bits() & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(http: &str, https: &str, excluded: &str) -> ProxyVariables {
        let [http, https, excluded] = [http, https, excluded].map(str::to_owned);
        ProxyVariables { http, https, excluded, is_cgi: false }
    }

    fn proxy(of: &ProxyVariables, url: &str) -> Option<String> {
        of.proxy_for(&Target::parse(url).expect("a server")).map(|(_, url)| url)
    }

    #[test]
    fn the_scheme_of_the_server_chooses_the_variable() {
        let of = variables("http://a:1", "b:2", "");
        assert_eq!(proxy(&of, "http://api"), Some("http://a:1".to_owned()));
        assert_eq!(proxy(&of, "https://api"), Some("http://b:2".to_owned()));
        for here in ["https://localhost:6443", "https://127.0.0.2", "https://[::1]:6443"] {
            assert_eq!(proxy(&of, here), None, "{here}");
        }
        let cgi = ProxyVariables { is_cgi: true, ..of };
        assert_eq!(proxy(&cgi, "http://api"), None);
        assert!(proxy(&cgi, "https://api").is_some());
        assert_eq!(proxy(&variables("a", "", ""), "https://api"), None);
    }

    #[test]
    fn no_proxy_excludes_as_in_go() {
        for (excluded, host, is_excluded) in [
            ("", "foo.com", false),
            ("*", "foo.com", true),
            ("bar.com, Foo.COM", "foo.com", true),
            ("foo.com", "a.foo.com", true),
            ("foo.com", "afoo.com", false),
            (".foo.com", "foo.com", false),
            (".foo.com", "a.foo.com", true),
            ("*.foo.com", "foo.com", false),
            ("*.foo.com", "a.foo.com", true),
            ("foo.com:443", "foo.com", true),
            ("foo.com:80", "foo.com", false),
            ("foo.com:", "foo.com", true),
            (":443", "foo.com", false),
            ("10.0.0.1", "10.0.0.1", true),
            ("10.0.0.1:443", "10.0.0.1", true),
            ("10.0.0.1:1", "10.0.0.1", false),
            ("10.0.0.0/8", "10.9.8.7", true),
            ("10.0.0.0/8", "11.9.8.7", false),
            ("0.0.0.0/0", "11.9.8.7", true),
            ("10.0.0.0/33", "10.0.0.1", false),
            ("fd00::/8", "[fd12::1]", true),
            ("fd00::1", "[fd00::1]", true),
            ("[fd00::1]:443", "[fd00::1]", true),
            ("[fd00::1]:1", "[fd00::1]", false),
            ("0.0.1", "10.0.0.1", false),
        ] {
            let of = variables("", "http://proxy", excluded);
            let found = proxy(&of, &format!("https://{host}")).is_none();
            assert_eq!(found, is_excluded, "NO_PROXY={excluded} {host}");
        }
    }
}
