//! The processes that are connected to a socket, found without connecting to it.

use kq_facts::unix_sockets::Process;
use kq_facts::unix_sockets::{UnixSocket, parse};
use kq_io::host::{proc_of, read_beneath};
use kq_io::input::plain;
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

/// The largest table that is read: a hundred bytes for each of 600,000 sockets.
const LARGEST: u64 = 64 << 20;

/// Reads the table of the node's unix sockets.
///
/// The first process is in the node's own network namespace, as the kubelet is: the kernel lists an
/// accepted socket where the one that connected is.
pub fn table(host_root: &Path) -> Result<Vec<UnixSocket>, String> {
    // Only the kernel's file is a table: a copy may have anything by that name.
    proc_of(host_root)?;
    let read = |path: &str| read_beneath(host_root, path, LARGEST);
    let bytes = read("/proc/1/net/unix").or_else(|_| read("/proc/net/unix"));
    let bytes = bytes.map_err(|error| format!("/proc/net/unix: {error}"))?;
    Ok(parse(&String::from_utf8_lossy(&bytes)))
}

/// Finds the processes that hold sockets, by inode. Those of others are seen by root alone; a process that
/// ends meanwhile holds none.
pub fn holders(host_root: &Path, inodes: &[u64]) -> BTreeMap<u64, Process> {
    let mut found = BTreeMap::new();
    if inodes.is_empty() {
        return found;
    }
    let wanted: BTreeMap<String, u64> =
        inodes.iter().map(|inode| (format!("socket:[{inode}]"), *inode)).collect();
    let Ok(proc) = proc_of(host_root) else { return found };
    let processes = format!("/proc/self/fd/{}", proc.as_raw_fd());
    let processes = fs::read_dir(processes).into_iter().flatten().flatten();
    for process in processes {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let descriptors = fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        for descriptor in descriptors {
            let Ok(target) = fs::read_link(descriptor.path()) else { continue };
            let Some(inode) = target.to_str().and_then(|target| wanted.get(target)) else {
                continue;
            };
            let command = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            let holder = Process { pid, command: command.trim_end().to_owned() };
            found.entry(*inode).or_insert(holder);
        }
    }
    found
}

/// What the kernel reports of a socket in addition to the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// The inode of the socket at the other end.
    pub peer: Option<u64>,
    /// The file by which it was bound, or by which the one that listens was.
    pub file: Option<FileId>,
}

/// A file, by whatever path: its device and the lower half of its inode, as the kernel reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u32,
    inode: u32,
}

impl FileId {
    /// Returns which file a path leads to; `None` where it cannot be looked at.
    pub fn of(path: &Path) -> Option<Self> {
        let found = rustix::fs::stat(path).ok()?;
        // The kernel packs numbers of devices otherwise than it shows them.
        let device = (rustix::fs::major(found.st_dev) << 20) | rustix::fs::minor(found.st_dev);
        Some(Self { device, inode: found.st_ino as u32 })
    }
}

/// Asks the kernel about each unix socket, by its inode (`NETLINK_SOCK_DIAG`, `unix_diag.h`). It knows the
/// sockets of kq's own network namespace; those of others are just not there.
/// Fails where the kernel was built without it, or refuses.
pub fn diagnose() -> Result<BTreeMap<u64, Diagnosis>, String> {
    ask_kernel().map_err(|error| format!("sock_diag: {}", plain(&io::Error::from(error))))
}

/// `SOCK_DIAG_BY_FAMILY`
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`
const DUMP: u16 = 0x301;
/// `UDIAG_SHOW_VFS | UDIAG_SHOW_PEER`
const SHOW: u32 = 2 | 4;
/// `UNIX_DIAG_VFS`
const VFS: u16 = 1;
/// `UNIX_DIAG_PEER`
const PEER: u16 = 2;
/// `NLMSG_ERROR`, `NLMSG_DONE`
const ERROR: u16 = 2;
const DONE: u16 = 3;

fn ask_kernel() -> rustix::io::Result<BTreeMap<u64, Diagnosis>> {
    let socket = net::socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(Duration::from_secs(1)))?;
    let mut request = Vec::new();
    let length = 16_u32 + 24;
    request.extend(length.to_ne_bytes());
    request.extend(BY_FAMILY.to_ne_bytes());
    request.extend(DUMP.to_ne_bytes());
    request.extend([0; 8]);
    // The family, every state, every inode, what to show, no cookie.
    request.extend([1, 0, 0, 0]);
    request.extend(u32::MAX.to_ne_bytes());
    request.extend([0; 4]);
    request.extend(SHOW.to_ne_bytes());
    request.extend([0; 8]);
    net::sendto(&socket, &request, SendFlags::empty(), &netlink::SocketAddrNetlink::new(0, 0))?;
    let mut found = BTreeMap::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let (count, _) = net::recv(&socket, buffer.as_mut_slice(), RecvFlags::empty())?;
        match take_in(buffer.get(..count).unwrap_or_default(), &mut found) {
            Next::More if count > 0 => {}
            Next::More | Next::Done => return Ok(found),
            Next::Failed(code) => return Err(Errno::from_raw_os_error(code)),
        }
    }
}

/// What comes after a packet.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    More,
    Done,
    Failed(i32),
}

/// Takes the messages of a packet in; what is cut is left out.
fn take_in(mut packet: &[u8], found: &mut BTreeMap<u64, Diagnosis>) -> Next {
    while let Some(length) = u32_at(packet, 0).and_then(|length| usize::try_from(length).ok()) {
        // One that claims to be shorter than its own header would never end.
        let (Some(message), Some(kind)) = (packet.get(16..length), u16_at(packet, 4)) else {
            break;
        };
        match kind {
            DONE => return Next::Done,
            ERROR => {
                let code = u32_at(message, 0).map_or(0, |code| code.cast_signed());
                return Next::Failed(code.wrapping_neg());
            }
            _ => {}
        }
        if let Some(inode) = u32_at(message, 4) {
            found.insert(inode.into(), diagnosis(message));
        }
        packet = packet.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Next::More
}

/// Reads the attributes of a message; what is cut is left out.
fn diagnosis(message: &[u8]) -> Diagnosis {
    let mut found = Diagnosis::default();
    let mut attributes = message.get(16..).unwrap_or_default();
    while let (Some(length), Some(kind)) = (u16_at(attributes, 0), u16_at(attributes, 2)) {
        let length = usize::from(length);
        // One that claims to be shorter than its own header would never end.
        if length < 4 {
            break;
        }
        match kind {
            PEER => found.peer = u32_at(attributes, 4).map(u64::from),
            VFS => {
                let file = (u32_at(attributes, 4), u32_at(attributes, 8));
                if let (Some(inode), Some(device)) = file {
                    found.file = Some(FileId { device, inode });
                }
            }
            _ => {}
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::{UnixListener, UnixStream};

    fn inode(socket: &impl std::os::fd::AsFd) -> u64 {
        rustix::fs::fstat(socket).expect("a socket has an inode").st_ino
    }

    #[test]
    fn both_ends_of_a_connection_are_seen() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("x.sock");
        let listener = UnixListener::bind(&path).expect("a socket can be made");
        let client = UnixStream::connect(&path).expect("it listens");
        let (server, _) = listener.accept().expect("it was connected to");
        let root = Path::new("/");
        let name = path.display().to_string();
        let own = fs::read("/proc/self/net/unix").expect("it can be read");
        let table = parse(&String::from_utf8_lossy(&own));
        let of_path: Vec<_> =
            table.iter().filter(|it| it.path.as_deref() == Some(name.as_str())).collect();
        assert_eq!(of_path.len(), 2, "{of_path:?}");
        assert!(of_path.iter().any(|it| it.listens && it.inode == inode(&listener)));
        assert!(of_path.iter().any(|it| it.connected && it.inode == inode(&server)));
        let held = holders(root, &[inode(&client)]);
        let pid = std::process::id();
        assert_eq!(held[&inode(&client)].pid.unsigned_abs(), pid);
        // Some sandboxes have no sock_diag.
        if let Ok(told) = diagnose() {
            assert_eq!(told[&inode(&server)].peer, Some(inode(&client)));
            assert_eq!(told[&inode(&client)].peer, Some(inode(&server)));
            let file = FileId::of(&path);
            assert!(file.is_some());
            assert_eq!((told[&inode(&listener)].file, told[&inode(&server)].file), (file, file));
            assert_eq!(told[&inode(&client)].file, None);
        }
        assert!(fs::metadata(&path).is_ok_and(|it| it.ino() > 0));
    }

    #[test]
    fn packets_that_are_cut_are_no_harm() {
        let mut packet = Vec::new();
        packet.extend(40_u32.to_ne_bytes());
        packet.extend(BY_FAMILY.to_ne_bytes());
        packet.extend([0; 10]);
        packet.extend([1, 1, 1, 0]);
        packet.extend(7_u32.to_ne_bytes());
        packet.extend([0; 8]);
        packet.extend(8_u16.to_ne_bytes());
        packet.extend(PEER.to_ne_bytes());
        packet.extend(9_u32.to_ne_bytes());
        let mut found = BTreeMap::new();
        assert_eq!(take_in(&packet, &mut found), Next::More);
        assert_eq!(found, [(7, Diagnosis { peer: Some(9), file: None })].into());
        for end in 0..packet.len() {
            assert_eq!(take_in(&packet[..end], &mut BTreeMap::new()), Next::More, "{end}");
        }
        let endless = [0; 64];
        assert_eq!(take_in(&endless, &mut BTreeMap::new()), Next::More);
    }
}
