//! The sockets of a TCP address: rows of the kernel's `/proc/PID/net/tcp` and `tcp6`. Pure.
//!
//! The kernel gives a connection to a socket of the very address before one of all addresses, and to one of IPv4
//! before one of IPv6 that takes both (`__inet_lookup_listener` in `net/ipv4/inet_hashtables.c`). A rule of the
//! firewall can send it elsewhere before that, so a listening socket does not prove whose server answers. The row of
//! the connection's other end does: the two ends have the same addresses in reverse, unless a rule changed one.
//!
//! Any user can fill these tables. They are therefore read row by row, and few rows are kept.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// More sockets do not listen on one address for one process.
const MOST: usize = 64;

/// Which of the two tables has a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `tcp`
    V4,
    /// `tcp6`
    V6,
}

/// The state of a socket, if it matters here (`include/net/tcp_states.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// `TCP_ESTABLISHED`
    Established,
    /// `TCP_SYN_RECV`: the last packet of the handshake is missing.
    Begun,
    /// `TCP_LISTEN`
    Listens,
}

/// A row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    local: SocketAddr,
    remote: SocketAddr,
    state: State,
    /// Zero: no process has the socket.
    inode: u64,
}

impl Row {
    /// Reads `sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode ...`; `None`: a row of another
    /// state, or not a row.
    pub fn read(line: &str, family: Family) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (local, remote) = (fields.next()?, fields.next()?);
        let state = match fields.next()? {
            "01" => State::Established,
            "03" => State::Begun,
            "0A" => State::Listens,
            _ => return None,
        };
        let inode = fields.nth(5)?.parse().ok()?;
        Some(Self {
            local: address(local, family)?,
            remote: address(remote, family)?,
            state,
            inode,
        })
    }
}

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

/// The listening sockets to which a connection may go: those that fit best.
#[derive(Clone, Debug)]
pub struct Listeners {
    to: SocketAddr,
    best: Option<Fit>,
    inodes: BTreeSet<u64>,
}

impl Listeners {
    /// Begins with none for an address.
    pub fn of(to: SocketAddr) -> Self {
        Self { to, best: None, inodes: BTreeSet::new() }
    }

    /// Takes a row of a table into account.
    pub fn add(&mut self, row: &Row) {
        let fit = fit(row.local, self.to).filter(|_| row.state == State::Listens);
        let Some(fit) = fit.filter(|fit| self.best.is_none_or(|best| *fit <= best)) else { return };
        if self.best != Some(fit) {
            self.best = Some(fit);
            self.inodes.clear();
        }
        // One more than can be right, so that too many are seen.
        if self.inodes.len() <= MOST {
            self.inodes.insert(row.inode);
        }
    }

    /// Returns the inodes of the sockets; `None`: too many.
    pub fn inodes(self) -> Option<BTreeSet<u64>> {
        (self.inodes.len() <= MOST).then_some(self.inodes)
    }
}

/// The server's end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEnd {
    /// It waits to be accepted.
    Queued,
    /// A process accepted it as the socket with this inode.
    Accepted(u64),
}

/// Returns the server's end of a connection, if the row is that.
///
/// The addresses are those that the client has. The kernel keeps no second socket with the same ones.
pub fn server_end(row: &Row, server: SocketAddr, client: SocketAddr) -> Option<ServerEnd> {
    if !is_same(row.local, server) || !is_same(row.remote, client) {
        return None;
    }
    match (row.state, row.inode) {
        (State::Listens, _) => None,
        (State::Begun, _) | (State::Established, 0) => Some(ServerEnd::Queued),
        (State::Established, inode) => Some(ServerEnd::Accepted(inode)),
    }
}

fn is_same(one: SocketAddr, other: SocketAddr) -> bool {
    one.port() == other.port() && one.ip().to_canonical() == other.ip().to_canonical()
}

fn fit(listens: SocketAddr, to: SocketAddr) -> Option<Fit> {
    if listens.port() != to.port() {
        return None;
    }
    match (listens.ip(), to.ip().to_canonical()) {
        (own, queried) if own.to_canonical() == queried => Some(Fit::Same),
        (IpAddr::V4(own), IpAddr::V4(_)) if own.is_unspecified() => Some(Fit::All),
        (IpAddr::V6(own), IpAddr::V6(_)) if own.is_unspecified() => Some(Fit::All),
        (IpAddr::V6(own), IpAddr::V4(_)) if own.is_unspecified() => Some(Fit::Both),
        _ => None,
    }
}

/// Reads `0100007F:280A`.
fn address(text: &str, family: Family) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let ip = match family {
        Family::V4 => v4(ip)?,
        Family::V6 => v6(ip)?,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
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

    fn at(address: &str) -> SocketAddr {
        address.parse().expect("an address")
    }

    fn hex(address: &str) -> String {
        let address = at(address);
        let bytes = match address.ip() {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let words = bytes.chunks_exact(4).map(|it| u32::from_ne_bytes(it.try_into().expect("4")));
        let ip: String = words.map(|word| format!("{word:08X}")).collect();
        format!("{ip}:{:04X}", address.port())
    }

    /// Returns a row of a socket with two addresses.
    fn socket(local: &str, remote: &str, state: &str, inode: u64) -> String {
        let (local, remote) = (hex(local), hex(remote));
        format!(
            "   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1 0 100 0 0 10 0\n"
        )
    }

    fn rows<'a>(tcp: &'a str, tcp6: &'a str) -> impl Iterator<Item = Row> {
        let four = tcp.lines().filter_map(|line| Row::read(line, Family::V4));
        four.chain(tcp6.lines().filter_map(|line| Row::read(line, Family::V6)))
    }

    fn listeners(tcp: &str, tcp6: &str, to: &str) -> Option<BTreeSet<u64>> {
        let mut listeners = Listeners::of(at(to));
        rows(tcp, tcp6).for_each(|row| listeners.add(&row));
        listeners.inodes()
    }

    #[test]
    fn the_socket_that_fits_best_gets_the_connection() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n";
        let tcp = |rows: &[(&str, u64)]| -> String {
            let rows =
                rows.iter().map(|(address, inode)| socket(address, "0.0.0.0:0", "0A", *inode));
            format!("{head}{}", rows.collect::<String>())
        };
        let tcp6 =
            |address: &str, inode: u64| head.to_owned() + &socket(address, "[::]:0", "0A", inode);
        let same = tcp(&[("127.0.0.1:10250", 1)]);
        let all = tcp(&[("0.0.0.0:10250", 2)]);
        let both = tcp6("[::]:10250", 3);
        let mapped = tcp6("[::ffff:127.0.0.1]:10250", 4);
        let six = tcp6("[::1]:10250", 5);
        let connected = format!("{head}{}", socket("127.0.0.1:10250", "127.0.0.1:40000", "01", 6));
        let other = tcp(&[("127.0.0.2:10250", 7), ("127.0.0.1:10251", 8)]);
        let reused = tcp(&[("127.0.0.1:10250", 9), ("127.0.0.1:10250", 10)]);
        let rows: [(&str, &str, &str, &str, &[u64]); 12] = [
            ("of the address", &same, "", "127.0.0.1:10250", &[1]),
            ("of all addresses", &all, "", "127.0.0.1:10250", &[2]),
            ("the closer one", &format!("{all}{same}"), &both, "127.0.0.1:10250", &[1]),
            ("the closer one first", &format!("{same}{all}"), &both, "127.0.0.1:10250", &[1]),
            ("of both families", "", &both, "127.0.0.1:10250", &[3]),
            ("IPv4 before both", &all, &both, "127.0.0.1:10250", &[2]),
            ("a mapped address", &all, &mapped, "127.0.0.1:10250", &[4]),
            ("to a mapped address", &all, &both, "[::ffff:127.0.0.1]:10250", &[2]),
            ("IPv6", &all, &format!("{both}{six}"), "[::1]:10250", &[5]),
            ("a connection", &connected, "", "127.0.0.1:10250", &[]),
            ("others", &other, &six, "127.0.0.1:10250", &[]),
            ("two on one address", &reused, "", "127.0.0.1:10250", &[9, 10]),
        ];
        for (name, tcp, tcp6, to, expected) in rows {
            assert_eq!(
                listeners(tcp, tcp6, to),
                Some(expected.iter().copied().collect()),
                "{name}"
            );
        }
    }

    #[test]
    fn too_many_sockets_of_one_address_are_nobodys() {
        let many = |count: u64| -> String {
            (1..=count).map(|inode| socket("0.0.0.0:10250", "0.0.0.0:0", "0A", inode)).collect()
        };
        assert_eq!(listeners(&many(64), "", "127.0.0.1:10250").map(|it| it.len()), Some(64));
        assert_eq!(listeners(&many(100_000), "", "127.0.0.1:10250"), None);
        // A socket that fits better gets the connection.
        let best = many(100_000) + &socket("127.0.0.1:10250", "0.0.0.0:0", "0A", 7);
        assert_eq!(listeners(&best, "", "127.0.0.1:10250"), Some(BTreeSet::from([7])));
    }

    #[test]
    fn the_other_end_of_a_connection_has_its_addresses_in_reverse() {
        use ServerEnd::{Accepted, Queued};
        let (server, client) = ("127.0.0.1:10250", "127.0.0.1:40000");
        let four =
            |local, remote, state, inode| (socket(local, remote, state, inode), String::new());
        let six = |local, remote, inode| (String::new(), socket(local, remote, "01", inode));
        let mapped = |address: &str| format!("[::ffff:{}", address.replace(':', "]:"));
        for (name, (tcp, tcp6), expected) in [
            ("accepted", four(server, client, "01", 5), Some(Accepted(5))),
            ("mapped", six(&mapped(server), &mapped(client), 5), Some(Accepted(5))),
            ("in the queue", four(server, client, "01", 0), Some(Queued)),
            ("not in the queue yet", four(server, client, "03", 0), Some(Queued)),
            ("closed", four(server, client, "06", 0), None),
            ("the client's end", four(client, server, "01", 5), None),
            ("of another client", four(server, "127.0.0.1:40001", "01", 5), None),
            ("of a client elsewhere", four(server, "127.0.0.2:40000", "01", 5), None),
            ("redirected to another port", four("127.0.0.1:9999", client, "01", 5), None),
            ("redirected to another address", four("127.0.0.2:10250", client, "01", 5), None),
            ("of all addresses", four("0.0.0.0:10250", client, "01", 5), None),
            ("a listener", four(server, "0.0.0.0:0", "0A", 5), None),
        ] {
            let found = rows(&tcp, &tcp6).find_map(|row| server_end(&row, at(server), at(client)));
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn odd_rows_are_left_out() {
        for line in [
            "",
            "x",
            "0: 0100007F:280A 0100007F:280B 0A",
            "0: zz:280A 0100007F:280B 0A 0 0 0 0 0 1",
            "0: é00007F:280A 0100007F:280B 0A 0 0 0 0 0 1",
            "0: 0100007F:280A 0100007F:280B 0A 0 0 0 0 0 x",
            "0: 0100007F:280A 0100007F 0A 0 0 0 0 0 1",
        ] {
            assert_eq!(Row::read(line, Family::V4), None, "{line:?}");
            assert_eq!(Row::read(line, Family::V6), None, "{line:?}");
        }
    }
}
