//! Which sockets listen on a TCP address: the kernel's `/proc/PID/net/tcp` and `tcp6`. Pure.
//!
//! The kernel gives a connection to a socket of the very address before one of all addresses, and to one of IPv4
//! before one of IPv6 that takes both (`__inet_lookup_listener` in `net/ipv4/inet_hashtables.c`).

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The state `TCP_LISTEN`.
const LISTENS: &str = "0A";

/// The match of a socket's address; the first existing kind gets the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// Of the very address.
    Same,
    /// Of all addresses of the family.
    All,
    /// Of all addresses of IPv6, and perhaps of IPv4.
    Both,
}

/// Returns the inodes of the sockets to which a connection may go: those that fit best.
pub fn listeners(tcp: &str, tcp6: &str, to: SocketAddr) -> BTreeSet<u64> {
    let rows = tcp.lines().filter_map(|line| row(line, v4));
    let rows: Vec<(Fit, u64)> = rows
        .chain(tcp6.lines().filter_map(|line| row(line, v6)))
        .filter_map(|(address, inode)| Some((fit(address, to)?, inode)))
        .collect();
    let best = rows.iter().map(|(fit, _)| *fit).min();
    rows.into_iter().filter(|(fit, _)| Some(*fit) == best).map(|(_, inode)| inode).collect()
}

fn fit(listens: SocketAddr, to: SocketAddr) -> Option<Fit> {
    if listens.port() != to.port() {
        return None;
    }
    match (listens.ip(), to.ip()) {
        (own, queried) if own.to_canonical() == queried.to_canonical() => Some(Fit::Same),
        (IpAddr::V4(own), IpAddr::V4(_)) if own.is_unspecified() => Some(Fit::All),
        (IpAddr::V6(own), IpAddr::V6(_)) if own.is_unspecified() => Some(Fit::All),
        (IpAddr::V6(own), IpAddr::V4(_)) if own.is_unspecified() => Some(Fit::Both),
        _ => None,
    }
}

/// Reads `sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode ...`.
fn row(line: &str, address: fn(&str) -> Option<IpAddr>) -> Option<(SocketAddr, u64)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    if *fields.get(3)? != LISTENS {
        return None;
    }
    let (ip, port) = fields.get(1)?.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    Some((SocketAddr::new(address(ip)?, port), fields.get(9)?.parse().ok()?))
}

/// The kernel prints an address as numbers of 32 bits in the machine's order.
fn word(hex: &str) -> Option<[u8; 4]> {
    u32::from_str_radix(hex, 16).ok().map(u32::to_ne_bytes)
}

fn v4(hex: &str) -> Option<IpAddr> {
    (hex.len() == 8).then_some(())?;
    Some(IpAddr::V4(Ipv4Addr::from(word(hex)?)))
}

fn v6(hex: &str) -> Option<IpAddr> {
    (hex.len() == 32 && hex.is_ascii()).then_some(())?;
    let mut bytes = [0; 16];
    for (place, chunk) in bytes.chunks_exact_mut(4).enumerate() {
        chunk.copy_from_slice(&word(&hex[place * 8..][..8])?);
    }
    Some(IpAddr::V6(Ipv6Addr::from(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the row of a socket in state 0A, or another one.
    fn socket(address: &str, state: &str, inode: u64) -> String {
        let address: SocketAddr = address.parse().expect("an address");
        let hex = |bytes: &[u8]| -> String {
            let words = bytes.chunks_exact(4);
            words
                .map(|it| format!("{:08X}", u32::from_ne_bytes(it.try_into().expect("4"))))
                .collect()
        };
        let ip = match address.ip() {
            IpAddr::V4(ip) => hex(&ip.octets()),
            IpAddr::V6(ip) => hex(&ip.octets()),
        };
        format!(
            "   0: {ip}:{:04X} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1 0 100 0 0 10 0\n",
            address.port()
        )
    }

    #[test]
    fn the_socket_that_fits_best_gets_the_connection() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n";
        let tcp = |rows: &[(&str, u64)]| -> String {
            let rows = rows.iter().map(|(address, inode)| socket(address, "0A", *inode));
            format!("{head}{}", rows.collect::<String>())
        };
        let same = tcp(&[("127.0.0.1:10250", 1)]);
        let all = tcp(&[("0.0.0.0:10250", 2)]);
        let both = tcp(&[("[::]:10250", 3)]);
        let mapped = tcp(&[("[::ffff:127.0.0.1]:10250", 4)]);
        let six = tcp(&[("[::1]:10250", 5)]);
        let connected = format!("{head}{}", socket("127.0.0.1:10250", "01", 6));
        let other = tcp(&[("127.0.0.2:10250", 7), ("127.0.0.1:10251", 8)]);
        let reused = tcp(&[("127.0.0.1:10250", 9), ("127.0.0.1:10250", 10)]);
        let rows: [(&str, &str, &str, &str, &[u64]); 10] = [
            ("of the address", &same, "", "127.0.0.1:10250", &[1]),
            ("of all addresses", &all, "", "127.0.0.1:10250", &[2]),
            ("the closer one", &format!("{all}{same}"), &both, "127.0.0.1:10250", &[1]),
            ("of both families", "", &both, "127.0.0.1:10250", &[3]),
            ("IPv4 before both", &all, &both, "127.0.0.1:10250", &[2]),
            ("a mapped address", &all, &mapped, "127.0.0.1:10250", &[4]),
            ("IPv6", &all, &format!("{both}{six}"), "[::1]:10250", &[5]),
            ("a connection", &connected, "", "127.0.0.1:10250", &[]),
            ("others", &other, &six, "127.0.0.1:10250", &[]),
            ("two on one address", &reused, "", "127.0.0.1:10250", &[9, 10]),
        ];
        for (name, tcp, tcp6, to, expected) in rows {
            let found = listeners(tcp, tcp6, to.parse().expect("an address"));
            assert_eq!(found, expected.iter().copied().collect(), "{name}");
        }
    }

    #[test]
    fn odd_rows_are_left_out() {
        for line in [
            "",
            "x",
            "0: 0100007F:280A 0 0A",
            "0: zz:280A 0 0A 0 0 0 0 0 1",
            "0: é00007F:280A 0 0A 0 0 0 0 0 1",
        ] {
            let to = "127.0.0.1:10250".parse().expect("an address");
            assert!(listeners(line, line, to).is_empty(), "{line:?}");
        }
    }
}
