//! Addresses to connect to, as Go's dialer reads and shows them: ports, and the addresses of TCP probes
//! (`pkg/probe/tcp/tcp.go`, `runProbe` of `pkg/kubelet/prober/prober.go`).
//!
//! The rules are those of Go's `net` package: `SplitHostPort` and `JoinHostPort` (`ipsock.go`), `parsePort`
//! (`port.go`), `isDomainName` (`dnsclient.go`), `TCPAddr.String` (`tcpsock.go`), and of
//! `netip.ParseAddr`.

use kq_k8s::go_text::{NumError, atoi};
use kq_k8s::pod::{ContainerPort, IntOrString, TcpSocketAction};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It does not have the form `host:port` or `[host]:port`; or the port is too large.
    #[error("address {text}: {problem}")]
    Form {
        /// The part that is at fault.
        text: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The port is a word. Go would look for it among the services of the node; no probe gets there with
    /// one, for a URL has no such port and names of ports are resolved before.
    #[error("lookup tcp/{0}: unknown port")]
    PortName(String),
}

/// The host and port of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialAddress {
    pub host: DialHost,
    pub port: u16,
}

/// A host to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialHost {
    /// None was named: the node itself.
    Unnamed,
    Address(IpAddr, Zone),
    /// A name to look up.
    Name(String),
    /// What can be no name: Go's resolver looks for it nowhere.
    NoName(String),
}

/// What follows the `%` of an IPv6 address; empty where there is none.
pub type Zone = String;

/// One end of a connection as Go shows it (`TCPAddr.String`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The address; `None` where no host was named.
    pub ip: Option<IpAddr>,
    pub zone: Zone,
    pub port: u16,
}

/// Joins host and port; a host with a colon in it gets brackets, whether it has some or not.
pub fn join_host_port(host: &str, port: &str) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Splits an address into host and port.
/// Fails as `net.SplitHostPort` does.
pub fn split_host_port(address: &str) -> Result<(&str, &str), AddressError> {
    const MISSING_PORT: &str = "missing port in address";
    const TOO_MANY_COLONS: &str = "too many colons in address";
    let refuse = |problem| AddressError::Form { text: address.to_owned(), problem };
    let (before, port) = address.rsplit_once(':').ok_or_else(|| refuse(MISSING_PORT))?;
    let (host, open_after, close_after) = match address.strip_prefix('[') {
        None if before.contains(':') => return Err(refuse(TOO_MANY_COLONS)),
        None => (before, address, address),
        Some(inner) => {
            let (host, rest) =
                inner.split_once(']').ok_or_else(|| refuse("missing ']' in address"))?;
            match rest.strip_prefix(':') {
                Some(after) if after == port => {}
                Some(_) => return Err(refuse(TOO_MANY_COLONS)),
                None => return Err(refuse(MISSING_PORT)),
            }
            (host, inner, rest)
        }
    };
    if open_after.contains('[') {
        return Err(refuse("unexpected '[' in address"));
    }
    if close_after.contains(']') {
        return Err(refuse("unexpected ']' in address"));
    }
    Ok((host, port))
}

/// Reads a port; an empty one is 0.
fn parse_port(port: &str) -> Result<u16, AddressError> {
    let negative = port.starts_with('-');
    let digits = port.strip_prefix(['+', '-']).unwrap_or(port);
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(AddressError::PortName(port.to_owned()));
    }
    let significant = digits.trim_start_matches('0');
    match significant {
        "" => Some(0),
        _ if negative => None,
        _ => significant.parse().ok(),
    }
    .ok_or_else(|| AddressError::Form { text: port.to_owned(), problem: "invalid port" })
}

/// Reads an IP address with its zone, as `netip.ParseAddr` does.
fn parse_ip(host: &str) -> Option<(IpAddr, Zone)> {
    if let Ok(ip) = host.parse::<Ipv4Addr>() {
        return Some((IpAddr::V4(ip), Zone::new()));
    }
    let (ip, zone) = match host.split_once('%') {
        Some((_, "")) => return None,
        Some((ip, zone)) => (ip, zone),
        None => (host, ""),
    };
    Some((IpAddr::V6(ip.parse::<Ipv6Addr>().ok()?), zone.to_owned()))
}

/// Returns true if a text can be a name of the DNS, as Go's resolver sees it.
pub fn is_domain_name(name: &str) -> bool {
    if name == "." {
        return true;
    }
    let length = name.len();
    if length == 0 || length > 254 || (length == 254 && !name.ends_with('.')) {
        return false;
    }
    let labels = name.strip_suffix('.').unwrap_or(name);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    labels.split('.').all(is_label)
        && labels.bytes().any(|byte| !byte.is_ascii_digit() && byte != b'.')
}

/// Returns true if the C library would parse a name as an IPv4 address in one of its old forms, such as
/// `0x7f.1`, which Go's resolver asks the DNS for, in vain.
fn is_old_ipv4(name: &str) -> bool {
    let number = |part: &str| match part.strip_prefix("0x").or_else(|| part.strip_prefix("0X")) {
        Some(hex) => hex.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()),
    };
    name.split('.').all(number)
}

impl FromStr for DialAddress {
    type Err = AddressError;

    fn from_str(address: &str) -> Result<Self, AddressError> {
        let (host, port) = split_host_port(address)?;
        let port = parse_port(port)?;
        let host = if host.is_empty() {
            DialHost::Unnamed
        } else if let Some((ip, zone)) = parse_ip(host) {
            DialHost::Address(ip, zone)
        } else if is_domain_name(host) && !is_old_ipv4(host) {
            DialHost::Name(host.to_owned())
        } else {
            DialHost::NoName(host.to_owned())
        };
        Ok(Self { host, port })
    }
}

impl Remote {
    /// Returns the address that the socket gets: none means that of IPv4 that says nothing, and one of
    /// IPv4 written in the form of IPv6 is used as what it is.
    pub fn socket_ip(&self) -> IpAddr {
        self.ip.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ip| ip.to_canonical())
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut host = self.ip.map_or_else(String::new, |ip| ip.to_canonical().to_string());
        if !self.zone.is_empty() {
            host.push('%');
            host.push_str(&self.zone);
        }
        f.write_str(&join_host_port(&host, &self.port.to_string()))
    }
}

/// Why there is no port; the text is the kubelet's, which calls it an error of the prober.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PortError {
    /// No port of the container has that name, and it is no number.
    #[error(transparent)]
    Name(NumError),
    /// Not between 1 and 65535.
    #[error("invalid port number: {0}")]
    Number(i64),
}

/// Returns the number of a port: a text is first looked for among the names of the container's ports,
/// and is a number only then (`ResolveContainerPort`, `pkg/probe/util.go`).
/// Fails as the kubelet does; such a probe never counts.
pub fn resolve_port(port: &IntOrString, ports: &[ContainerPort]) -> Result<u16, PortError> {
    let number = match port {
        IntOrString::Int(number) => i64::from(*number),
        IntOrString::String(name) => match ports.iter().find(|port| port.name == *name) {
            Some(port) => i64::from(port.container_port),
            None => atoi(name).map_err(PortError::Name)?,
        },
    };
    match u16::try_from(number) {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(PortError::Number(number)),
    }
}

/// The address of a TCP probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpTarget {
    /// The address as Go's dialer gets it.
    pub address: String,
}

/// Returns the address of a probe; the node itself, if neither the probe nor the pod has one.
/// Fails as the kubelet does; such a probe never counts.
pub fn tcp_target(
    action: &TcpSocketAction,
    ports: &[ContainerPort],
    pod_ip: &str,
) -> Result<TcpTarget, PortError> {
    let port = resolve_port(&action.port, ports)?;
    let host = if action.host.is_empty() { pod_ip } else { &action.host };
    Ok(TcpTarget { address: join_host_port(host, &port.to_string()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kq_k8s::pod::IntOrString;

    #[test]
    fn addresses_are_split_as_go_splits_them() {
        for (address, expected) in [
            ("127.0.0.1:80", Ok(("127.0.0.1", "80"))),
            (":80", Ok(("", "80"))),
            ("name:", Ok(("name", ""))),
            ("[::1]:80", Ok(("::1", "80"))),
            ("[fe80::1%eth0]:80", Ok(("fe80::1%eth0", "80"))),
            ("[]:80", Ok(("", "80"))),
            ("[name]:80", Ok(("name", "80"))),
            ("", Err("address : missing port in address")),
            ("name", Err("address name: missing port in address")),
            ("[name", Err("address [name: missing port in address")),
            ("[::1]", Err("address [::1]: missing port in address")),
            ("::1:80", Err("address ::1:80: too many colons in address")),
            ("[::1]:80:81", Err("address [::1]:80:81: too many colons in address")),
            ("[[::1]]:80", Err("address [[::1]]:80: missing port in address")),
            ("[::1:80", Err("address [::1:80: missing ']' in address")),
            ("[::1]x:80", Err("address [::1]x:80: missing port in address")),
            ("[[::1]:80", Err("address [[::1]:80: unexpected '[' in address")),
            ("na[me:80", Err("address na[me:80: unexpected '[' in address")),
            ("na]me:80", Err("address na]me:80: unexpected ']' in address")),
            ("[::1]:8]0", Err("address [::1]:8]0: unexpected ']' in address")),
            ("[::1]:8[0", Err("address [::1]:8[0: unexpected '[' in address")),
            ("\u{e4}:80", Ok(("\u{e4}", "80"))),
        ] {
            let got = split_host_port(address).map_err(|error| error.to_string());
            assert_eq!(got, expected.map_err(str::to_owned), "{address:?}");
        }
    }

    #[test]
    fn addresses_are_read() {
        let name = |text: &str| DialHost::Name(text.to_owned());
        let none = |text: &str| DialHost::NoName(text.to_owned());
        let ip = |ip: &str, zone: &str| DialHost::Address(ip.parse().unwrap(), zone.to_owned());
        for (address, host) in [
            (":80", DialHost::Unnamed),
            ("127.0.0.1:80", ip("127.0.0.1", "")),
            ("[::1]:80", ip("::1", "")),
            ("[fe80::1%eth0]:80", ip("fe80::1", "eth0")),
            ("[fe80::1%]:80", none("fe80::1%")),
            ("[127.0.0.1%eth0]:80", none("127.0.0.1%eth0")),
            ("127.0.0.01:80", none("127.0.0.01")),
            ("127.0.0.256:80", none("127.0.0.256")),
            ("127.1:80", none("127.1")),
            ("0x7f.1:80", none("0x7f.1")),
            ("[127.0.0.1:80]:80", none("127.0.0.1:80")),
            ("localhost:80", name("localhost")),
            ("my_host.example.:80", name("my_host.example.")),
            (".:80", name(".")),
            ("a..b:80", none("a..b")),
            (".a:80", none(".a")),
            ("-a:80", none("-a")),
            ("a-:80", none("a-")),
            ("a-.b:80", none("a-.b")),
            ("a b:80", none("a b")),
            ("\u{e4}:80", none("\u{e4}")),
            ("1a:80", name("1a")),
        ] {
            let expected = Ok(DialAddress { host, port: 80 });
            assert_eq!(address.parse(), expected, "{address:?}");
        }
        let long = "a".repeat(63);
        assert!(is_domain_name(&long));
        assert!(!is_domain_name(&format!("{long}a")));
        let name = [long.as_str(); 4].join(".");
        assert!(!is_domain_name(&name), "255 bytes");
        assert!(is_domain_name(&name[2..]), "253 bytes");
        assert!(is_domain_name(&format!("{}.", &name[2..])), "254 bytes with the point");
        assert!(!is_domain_name(&name[1..]), "254 bytes without");
    }

    #[test]
    fn ports_are_read() {
        for (port, expected) in [
            ("", Ok(0)),
            ("80", Ok(80)),
            ("+80", Ok(80)),
            ("0080", Ok(80)),
            ("-0", Ok(0)),
            ("65535", Ok(65535)),
            ("65536", Err("address 65536: invalid port")),
            ("99999999999999999999", Err("address 99999999999999999999: invalid port")),
            ("-1", Err("address -1: invalid port")),
            ("http!", Err("lookup tcp/http!: unknown port")),
        ] {
            let got = parse_port(port).map_err(|error| error.to_string());
            assert_eq!(got, expected.map_err(str::to_owned), "{port:?}");
        }
    }

    #[test]
    fn remotes_are_shown_as_go_shows_them() {
        let remote =
            |ip: &str, zone: &str| Remote { ip: ip.parse().ok(), zone: zone.to_owned(), port: 80 };
        for (remote, expected) in [
            (remote("", ""), ":80"),
            (remote("0.0.0.0", ""), "0.0.0.0:80"),
            (remote("::", ""), "[::]:80"),
            (remote("::1", ""), "[::1]:80"),
            (remote("fe80::1", "eth0"), "[fe80::1%eth0]:80"),
            (remote("::ffff:10.0.0.1", ""), "10.0.0.1:80"),
            (remote("::10.0.0.1", ""), "[::a00:1]:80"),
            (remote("1:0:0:2:0:0:0:3", ""), "[1:0:0:2::3]:80"),
            (remote("1:0:2:3:4:5:6:7", ""), "[1:0:2:3:4:5:6:7]:80"),
        ] {
            assert_eq!(remote.to_string(), expected);
        }
    }

    #[test]
    fn names_come_before_numbers() {
        let port = |name: &str, number| ContainerPort {
            name: name.to_owned(),
            container_port: number,
            ..ContainerPort::default()
        };
        let ports = [port("http", 8081), port("9090", 9), port("http", 1), port("zero", 0)];
        let text = |text: &str| IntOrString::String(text.to_owned());
        for (port, expected) in [
            (IntOrString::Int(80), Ok(80)),
            (IntOrString::Int(0), Err("invalid port number: 0")),
            (IntOrString::Int(-1), Err("invalid port number: -1")),
            (IntOrString::Int(65536), Err("invalid port number: 65536")),
            (text("http"), Ok(8081)),
            (text("9090"), Ok(9)),
            (text("+80"), Ok(80)),
            (text("080"), Ok(80)),
            (text("zero"), Err("invalid port number: 0")),
            (text("HTTP"), Err("strconv.Atoi: parsing \"HTTP\": invalid syntax")),
            (text(""), Err("strconv.Atoi: parsing \"\": invalid syntax")),
        ] {
            let got = resolve_port(&port, &ports).map_err(|error| error.to_string());
            assert_eq!(got, expected.map_err(str::to_owned), "{port:?}");
        }
    }

    #[test]
    fn targets_have_the_host_of_the_probe_or_of_the_pod() {
        for (host, pod_ip, expected) in [
            ("", "10.0.0.1", "10.0.0.1:80"),
            ("", "fd00::1", "[fd00::1]:80"),
            ("", "", ":80"),
            ("example.org", "10.0.0.1", "example.org:80"),
            ("::1", "10.0.0.1", "[::1]:80"),
            ("[::1]", "10.0.0.1", "[[::1]]:80"),
            ("a:1", "10.0.0.1", "[a:1]:80"),
        ] {
            let action = TcpSocketAction { port: IntOrString::Int(80), host: host.to_owned() };
            let target = tcp_target(&action, &[], pod_ip).expect("a good port");
            assert_eq!(target.address, expected, "{host:?} of {pod_ip:?}");
        }
        assert_eq!(
            tcp_target(&TcpSocketAction::default(), &[], "").map_err(|error| error.to_string()),
            Err("invalid port number: 0".to_owned())
        );
    }
}
