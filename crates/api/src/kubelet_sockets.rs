//! The sockets of the running kubelet: whether it listens on an address, and whether it accepted a connection.
//!
//! The tables of sockets are those of `/proc/PID/net`, of which [`facts::tcp_table`](kq_facts::tcp_table) knows the
//! rows.

use crate::http::Deadline;
use kq_facts::kubelet_process::{KubeletProcess, start_ticks};
use kq_facts::tcp_table::{Family, Listeners, Row, ServerEnd, server_end};
use kq_io::host::{LIMIT, ReadError, lines_beneath, link_beneath, list_beneath, read_beneath};
use kq_io::input::plain;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::time::sleep;

/// How long the other end of a connection may be missing: the kernel makes it late where the queue of the listening
/// socket is full, and a process has it a moment after it was accepted.
const GRACE: Duration = Duration::from_millis(500);

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// The running kubelet, whose sockets can be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningKubelet {
    root: PathBuf,
    pid: i32,
    start_ticks: u64,
}

impl RunningKubelet {
    /// Refers to a trusted kubelet, below the node's root.
    pub fn new(root: &Path, process: &KubeletProcess) -> Self {
        Self { root: root.to_owned(), pid: process.pid, start_ticks: process.start_ticks }
    }

    /// Checks that all sockets that listen on an address are the kubelet's, so that kq connects to no other process
    /// there. A connection can lead to another server all the same: see [`RunningKubelet::accepts`].
    /// Fails with the reason why that is unknown or false: a lowercase fragment.
    pub(crate) fn listens(&self, to: SocketAddr, until: &Deadline) -> Result<(), String> {
        let pid = self.pid;
        let network = self.link("ns/net");
        let own = std::fs::read_link("/proc/self/ns/net").ok();
        if network.is_none() || network.as_deref() != own.as_deref().and_then(Path::to_str) {
            return Err(format!("process {pid} is not known to be in kq's network"));
        }
        let mut listeners = Listeners::of(to);
        self.rows(to.port(), until, |row| listeners.add(row))?;
        let found = listeners.inodes().ok_or("very many sockets listen there")?;
        if found.is_empty() {
            return Err("no socket of its network namespace listens there".to_owned());
        }
        match self.owns(found)? {
            true => Ok(()),
            false => Err(format!("the listening socket does not belong to process {pid}")),
        }
    }

    /// Waits until the kubelet has accepted a connection, on which nothing was sent yet.
    ///
    /// A rule of the firewall, as for the host port of a pod, gives a connection to another server than the socket that
    /// listens. Only the other end of this connection is therefore a proof.
    /// Fails with the reason why that is unknown or false: a lowercase fragment.
    pub(crate) async fn accepts(
        &self,
        connection: &TcpStream,
        until: &Deadline,
    ) -> Result<(), String> {
        let server = connection.peer_addr().map_err(|error| plain(&error))?;
        let client = connection.local_addr().map_err(|error| plain(&error))?;
        let begun = Instant::now();
        loop {
            match self.server_end(server, client, until)? {
                // The kubelet is busy.
                Some(ServerEnd::Queued) => {}
                Some(ServerEnd::Accepted(inode)) if self.owns(BTreeSet::from([inode]))? => {
                    return Ok(());
                }
                _ if begun.elapsed() < GRACE => {}
                _ => {
                    return Err(format!(
                        "process {} did not accept the connection, which a rule of the firewall may redirect",
                        self.pid
                    ));
                }
            }
            sleep(PAUSE).await;
        }
    }

    fn server_end(
        &self,
        server: SocketAddr,
        client: SocketAddr,
        until: &Deadline,
    ) -> Result<Option<ServerEnd>, String> {
        let mut end = None;
        self.rows(server.port(), until, |row| end = end.or(server_end(row, server, client)))?;
        Ok(end)
    }

    /// Reads the rows of both tables with a port. Any user can make the tables long.
    fn rows(&self, port: u16, until: &Deadline, mut take: impl FnMut(&Row)) -> Result<(), String> {
        let with_port = format!(":{port:04X} ");
        for (name, family) in [("net/tcp", Family::V4), ("net/tcp6", Family::V6)] {
            let path = self.path(name);
            let mut is_whole = true;
            let read = lines_beneath(&self.root, &path, |line| {
                // Most rows are of other ports, and need not be read.
                let row = line.contains(&with_port).then(|| Row::read(line, family)).flatten();
                if let Some(row) = row {
                    take(&row);
                }
                is_whole = !until.is_over();
                is_whole
            });
            match read {
                // A kernel without IPv6.
                Err(ReadError::Absent) if family == Family::V6 => {}
                Err(error) => return Err(format!("{path}: {error}")),
                Ok(()) if !is_whole => return Err(format!("{path}: not read in time")),
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Returns true if the process has all of these sockets open.
    fn owns(&self, mut sockets: BTreeSet<u64>) -> Result<bool, String> {
        let folder = self.path("fd");
        let names =
            list_beneath(&self.root, &folder).map_err(|error| format!("{folder}: {error}"))?;
        for name in names {
            if let Some(inode) = self.link(&format!("fd/{name}")).as_deref().and_then(inode) {
                sockets.remove(&inode);
            }
            if sockets.is_empty() {
                break;
            }
        }
        // The process ID may have been reused meanwhile.
        let stat = self.path("stat");
        let text = read_beneath(&self.root, &stat, LIMIT);
        let text = text.map_err(|error| format!("{stat}: {error}"))?;
        match start_ticks(&String::from_utf8_lossy(&text)) {
            Some(ticks) if ticks == self.start_ticks => Ok(sockets.is_empty()),
            _ => Err(format!("process {} has ended", self.pid)),
        }
    }

    fn path(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.pid)
    }

    fn link(&self, name: &str) -> Option<String> {
        link_beneath(&self.root, &self.path(name)).ok()
    }
}

/// Returns the inode in `socket:[123]`.
fn inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::http::{HttpError, run};
    use std::fmt::Write;
    use std::fs;
    use std::net::TcpListener;
    use std::os::unix::fs::symlink;

    const TO: &str = "127.0.0.1:10250";

    fn ample() -> Deadline {
        Deadline::after(Duration::from_secs(60))
    }

    /// Returns this process as if it were the kubelet.
    fn own() -> RunningKubelet {
        let pid = i32::try_from(std::process::id()).expect("a process ID");
        let stat = fs::read_to_string("/proc/self/stat").expect("proc is mounted");
        RunningKubelet {
            root: "/".into(),
            pid,
            start_ticks: start_ticks(&stat).expect("it has started"),
        }
    }

    fn accepts(kubelet: &RunningKubelet, to: SocketAddr, until: Duration) -> Result<(), String> {
        let accepts = async {
            let stream = TcpStream::connect(to).await.expect("it listens");
            let deadline = Deadline::after(until);
            let accepts = kubelet.accepts(&stream, &deadline);
            deadline.within("it", crate::http::Phase::Connect, accepts).await
        };
        run(accepts).map_err(|error: HttpError| error.to_string())?
    }

    #[test]
    fn a_connection_that_the_process_accepted_is_its_own() {
        let kubelet = own();
        for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                // A machine without IPv6.
                continue;
            };
            let to = listener.local_addr().expect("an address");
            let to = match to.ip().is_unspecified() {
                true => SocketAddr::new([127, 0, 0, 1].into(), to.port()),
                false => to,
            };
            assert_eq!(kubelet.listens(to, &ample()), Ok(()), "{address}");
            let queued =
                accepts(&kubelet, to, Duration::from_millis(50)).expect_err("not accepted");
            assert!(!queued.contains("did not accept"), "{address}: {queued}");
            let (until, accepting) = (Duration::from_secs(60), listener);
            let _accepted = std::thread::spawn(move || -> Vec<_> {
                // The first one was hung up above.
                (0..2).filter_map(|_| accepting.accept().ok()).collect()
            });
            assert_eq!(accepts(&kubelet, to, until), Ok(()), "{address}");
        }
    }

    #[test]
    fn a_connection_to_another_process_is_not_its_own() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let to = listener.local_addr().expect("an address");
        let row = row(&hex(&to.to_string()), &hex("0.0.0.0:0"), "0A", 77);
        let (_folder, kubelet) = node(&row);
        assert_eq!(kubelet.listens(to, &ample()), Ok(()));
        let accepted = accepts(&kubelet, to, Duration::from_secs(60)).expect_err("it did not");
        assert!(accepted.contains("did not accept the connection"), "{accepted}");
    }

    /// Returns the root of a node whose kubelet is process 7, with a table of sockets.
    fn node(tcp: &str) -> (tempfile::TempDir, RunningKubelet) {
        let folder = tempfile::tempdir().expect("a folder");
        let process = folder.path().join("proc/7");
        for name in ["ns", "net", "fd"] {
            fs::create_dir_all(process.join(name)).expect("made");
        }
        let network = fs::read_link("/proc/self/ns/net").expect("proc is mounted");
        symlink(network, process.join("ns/net")).expect("made");
        symlink("socket:[77]", process.join("fd/3")).expect("made");
        fs::write(process.join("net/tcp"), tcp).expect("written");
        let stat = fs::read_to_string("/proc/self/stat").expect("proc is mounted");
        fs::write(process.join("stat"), &stat).expect("written");
        let start_ticks = start_ticks(&stat).expect("it has started");
        let kubelet = RunningKubelet { root: folder.path().to_owned(), pid: 7, start_ticks };
        (folder, kubelet)
    }

    fn row(local: &str, remote: &str, state: &str, inode: u64) -> String {
        format!(
            "   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1 0000000000000000 20 4 30 10 -1\n"
        )
    }

    /// Returns an address of IPv4 as in a table.
    fn hex(address: &str) -> String {
        let SocketAddr::V4(address) = address.parse().expect("an address") else { panic!("IPv4") };
        format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port())
    }

    #[test]
    fn a_table_that_users_made_long_is_read_to_its_end() {
        let (server, client) = (hex(TO), hex("127.0.0.1:40000"));
        let mut table = String::new();
        // Connections that were closed: more than fit into a file that kq reads as a whole.
        while table.len() as u64 <= 2 * LIMIT {
            table += &row(&hex("127.0.0.1:8080"), &client, "06", 0);
        }
        write!(table, "{}", row(&server, &hex("0.0.0.0:0"), "0A", 77)).expect("text");
        write!(table, "{}", row(&server, &client, "01", 77)).expect("text");
        let (_folder, kubelet) = node(&table);
        let at = |address: &str| -> SocketAddr { address.parse().expect("an address") };
        assert_eq!(kubelet.listens(at(TO), &ample()), Ok(()));
        let end = kubelet.server_end(at(TO), at("127.0.0.1:40000"), &ample());
        assert_eq!(end, Ok(Some(ServerEnd::Accepted(77))));
        // Not longer than the operator waits.
        let over = Deadline::after(Duration::ZERO);
        let reason = kubelet.listens(at(TO), &over).expect_err("no time is left");
        assert_eq!(reason, "/proc/7/net/tcp: not read in time");
    }

    #[test]
    fn a_line_without_an_end_is_not_read() {
        let (_folder, kubelet) = node(&"x".repeat(1 << 20));
        let reason = kubelet.listens(TO.parse().expect("an address"), &ample());
        let reason = reason.expect_err("it is not a table");
        assert!(reason.contains("a line of more than 4096 bytes"), "{reason}");
    }
}
