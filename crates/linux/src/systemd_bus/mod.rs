//! Properties of systemd's units, over the system bus of the node.
//!
//! As libcontainer does (`systemd/dbus.go` of `opencontainers/cgroups`), with three methods only: `GetUnit`, `Get` of a
//! property, and `SetUnitProperties` with `runtime`, which lasts until the unit or the machine ends. A library for D-Bus,
//! such as `zbus`, has a dozen crates for signals, objects and introspection; this needs a few hundred lines and no crate.
//!
//! The bus is the one of the node that kq runs on, never one below a copy of a node's files: see [`SystemdBus::of_node`].

mod wire;

use kq_facts::unit::{Properties, Property, Unit};
use kq_io::host::{ReadError, is_running};
use kq_io::input::plain;
use kq_io::listener::connect_within;
use kq_io::trust::TrustedSocket;
use rustix::net::sockopt::socket_peercred;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use wire::{Argument, Message, Method, Reply};

/// The system bus (`DBUS_SYSTEM_BUS_DEFAULT_ADDRESS` of Linux distributions; `/var/run` is a link to `/run`).
const SOCKET: &str = "/run/dbus/system_bus_socket";

/// How long an answer may take: the default of D-Bus' own library.
const PATIENCE: Duration = Duration::from_secs(25);

/// The longest line while kq logs in.
const MOST_LINE: usize = 512;

/// The messages that may come before an answer: kq asks for no signals.
const MOST_OTHERS: usize = 64;

const SYSTEMD: &str = "org.freedesktop.systemd1";
const MANAGER: Method<'_> = Method {
    destination: SYSTEMD,
    path: "/org/freedesktop/systemd1",
    interface: "org.freedesktop.systemd1.Manager",
    member: "",
};

/// Why systemd was not asked, or did not do it.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// The root folder is a copy of a node's files, or of another container than kq's.
    #[error(
        "the root folder is not that of the running node: systemd's bus is that of another system"
    )]
    NotOfNode,
    /// There is no trusted bus.
    #[error("{SOCKET}: {0}")]
    Socket(String),
    /// The bus did not answer as it should.
    #[error("the system bus: {0}")]
    Bus(String),
    /// systemd refused.
    #[error("systemd: {message} ({name})")]
    Refused { name: String, message: String },
    /// The unit of that name is another cgroup.
    #[error("systemd's unit {unit} is the cgroup {found:?}, not {cgroup:?}")]
    OtherCgroup { unit: String, found: String, cgroup: String },
}

/// A connection to the system bus.
pub struct SystemdBus {
    connection: RefCell<Connection>,
    /// The object paths of units, by the paths of their cgroups, which were compared.
    known: RefCell<BTreeMap<String, String>>,
}

impl fmt::Debug for SystemdBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemdBus").finish_non_exhaustive()
    }
}

impl SystemdBus {
    /// Connects to the bus of the node with this root folder. It must be the running node: its `proc` is the kernel's, and
    /// its first process has this root folder. The socket and its folders must be trusted, and root must listen.
    /// Fails with the reason.
    pub fn of_node(root: &Path) -> Result<Self, BusError> {
        if !is_running(root) || !is_root_of_first_process(root) {
            return Err(BusError::NotOfNode);
        }
        let socket = TrustedSocket::find(root, SOCKET).map_err(|error| {
            BusError::Socket(match error {
                ReadError::Absent => "no such file or directory".to_owned(),
                error => error.to_string(),
            })
        })?;
        let words = |error: io::Error| BusError::Socket(plain(&error));
        let stream = connect_within(&socket.path(), PATIENCE).map_err(words)?;
        let listener = socket_peercred(&stream).map_err(|error| words(error.into()))?.uid;
        if !listener.is_root() {
            let uid = listener.as_raw();
            let reason = format!("not trusted: user {uid} listens there, expected root");
            return Err(BusError::Socket(reason));
        }
        Self::over(stream, PATIENCE)
    }

    /// Logs in to a bus.
    fn over(stream: UnixStream, patience: Duration) -> Result<Self, BusError> {
        let mut connection = Connection { stream, serial: 0, patience, broken: None };
        connection.log_in().map_err(BusError::Bus)?;
        let bus = Self { connection: RefCell::new(connection), known: RefCell::default() };
        let hello = Method {
            destination: "org.freedesktop.DBus",
            path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus",
            member: "Hello",
        };
        bus.call(hello, &[])?;
        Ok(bus)
    }

    /// Returns a property of the unit that is a cgroup.
    /// Fails where there is no such unit, or it is another cgroup.
    pub fn property(&self, cgroup: &str, name: &str) -> Result<Property, BusError> {
        let (unit, path) = self.unit(cgroup)?;
        match self.get(unit, &path, name)? {
            Reply::Property(property) => Ok(property),
            other => Err(BusError::Bus(format!("{name} is {other:?}"))),
        }
    }

    /// Sets properties of the unit that is a cgroup, for as long as it exists.
    /// Fails where there is no such unit, it is another cgroup, or systemd refuses.
    pub fn set(&self, cgroup: &str, properties: &Properties) -> Result<(), BusError> {
        // A unit can go and come again.
        self.known.borrow_mut().remove(cgroup);
        let (unit, _) = self.unit(cgroup)?;
        let all: Vec<_> = properties.iter().map(|(name, value)| (name.as_str(), value)).collect();
        let set = Method { member: "SetUnitProperties", ..MANAGER };
        let arguments =
            [Argument::Text(unit.name), Argument::Flag(true), Argument::Properties(&all)];
        self.call(set, &arguments).map(|_| ())
    }

    /// Returns the unit of a cgroup with its object path, if systemd has it there.
    fn unit<'c>(&self, cgroup: &'c str) -> Result<(Unit<'c>, String), BusError> {
        let unit = Unit::of_cgroup(cgroup);
        let unit = unit.ok_or_else(|| BusError::Bus(format!("{cgroup} is no unit of systemd")))?;
        if let Some(path) = self.known.borrow().get(cgroup) {
            return Ok((unit, path.clone()));
        }
        let get = Method { member: "GetUnit", ..MANAGER };
        let path = match self.call(get, &[Argument::Text(unit.name)])? {
            Reply::Text(path) => path,
            other => return Err(BusError::Bus(format!("GetUnit returns {other:?}"))),
        };
        match self.get(unit, &path, "ControlGroup")? {
            Reply::Text(found) if found == cgroup => {}
            Reply::Text(found) => {
                let (unit, cgroup) = (unit.name.to_owned(), cgroup.to_owned());
                return Err(BusError::OtherCgroup { unit, found, cgroup });
            }
            other => return Err(BusError::Bus(format!("ControlGroup is {other:?}"))),
        }
        self.known.borrow_mut().insert(cgroup.to_owned(), path.clone());
        Ok((unit, path))
    }

    fn get(&self, unit: Unit<'_>, path: &str, name: &str) -> Result<Reply, BusError> {
        let interface = format!("{SYSTEMD}.{}", unit.kind);
        let get =
            Method { path, interface: "org.freedesktop.DBus.Properties", member: "Get", ..MANAGER };
        self.call(get, &[Argument::Text(&interface), Argument::Text(name)])
    }

    fn call(&self, method: Method<'_>, arguments: &[Argument<'_>]) -> Result<Reply, BusError> {
        let mut connection = self.connection.borrow_mut();
        if let Some(reason) = &connection.broken {
            return Err(BusError::Bus(reason.clone()));
        }
        let answer = connection.call(method, arguments).map_err(|reason| {
            // What comes late would be taken for the answer to the next call.
            connection.broken = Some(reason.clone());
            BusError::Bus(reason)
        })?;
        answer.map_err(|(name, message)| BusError::Refused { name, message })
    }
}

/// Returns true if the first process of the node has this root folder.
fn is_root_of_first_process(root: &Path) -> bool {
    let identity = |path: &Path| rustix::fs::stat(path).ok().map(|stat| (stat.st_dev, stat.st_ino));
    let own = identity(root);
    own.is_some() && own == identity(&root.join("proc/1/root"))
}

/// A stream to a bus.
struct Connection {
    stream: UnixStream,
    /// The number of the last call.
    serial: u32,
    patience: Duration,
    /// Why nothing more is asked.
    broken: Option<String>,
}

impl Connection {
    /// Logs in as the user that the kernel reports to the bus (`EXTERNAL`).
    fn log_in(&mut self) -> Result<(), String> {
        let end = Instant::now() + self.patience;
        let uid = rustix::process::geteuid().as_raw().to_string();
        let uid: String = uid.bytes().map(|digit| format!("{digit:02x}")).collect();
        self.send(format!("\0AUTH EXTERNAL {uid}\r\n").as_bytes(), end)?;
        let answer = self.line(end)?;
        if !answer.starts_with("OK ") {
            return Err(format!("it did not let kq log in: {answer}"));
        }
        self.send(b"BEGIN\r\n", end)
    }

    fn line(&mut self, end: Instant) -> Result<String, String> {
        let mut line = Vec::new();
        // Byte by byte: what follows the line is a message.
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            self.receive(&mut byte, end)?;
            line.extend(byte);
            if line.len() > MOST_LINE {
                return Err(format!("a line of more than {MOST_LINE} bytes"));
            }
        }
        Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
    }

    /// Calls a method, and returns the reply, or the name and the text of the error.
    fn call(
        &mut self,
        method: Method<'_>,
        arguments: &[Argument<'_>],
    ) -> Result<Result<Reply, (String, String)>, String> {
        let end = Instant::now() + self.patience;
        self.serial = self.serial.wrapping_add(1).max(1);
        self.send(&wire::call(self.serial, method, arguments), end)?;
        for _ in 0..MOST_OTHERS {
            let mut message = vec![0; wire::FIXED];
            self.receive(&mut message, end)?;
            message.resize(wire::length_of(&message)?, 0);
            self.receive(&mut message[wire::FIXED..], end)?;
            match wire::read(&message)? {
                Message::Answer { serial, answer } if serial == self.serial => return Ok(answer),
                _ => {}
            }
        }
        Err(format!("{MOST_OTHERS} messages, and none of them answers {}", method.member))
    }

    fn send(&mut self, bytes: &[u8], end: Instant) -> Result<(), String> {
        self.stream.set_write_timeout(Some(left(end)?)).map_err(|error| plain(&error))?;
        self.stream.write_all(bytes).map_err(|error| in_words(&error))
    }

    fn receive(&mut self, mut bytes: &mut [u8], end: Instant) -> Result<(), String> {
        while !bytes.is_empty() {
            self.stream.set_read_timeout(Some(left(end)?)).map_err(|error| plain(&error))?;
            match self.stream.read(bytes) {
                Ok(0) => return Err("it closed the connection".to_owned()),
                Ok(count) => bytes = &mut bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(in_words(&error)),
            }
        }
        Ok(())
    }
}

/// Returns the time that is left.
fn left(end: Instant) -> Result<Duration, String> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(LATE.to_owned()) } else { Ok(left) }
}

const LATE: &str = "it did not answer in time";

fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => LATE.to_owned(),
        _ => plain(error),
    }
}

#[cfg(test)]
mod tests;
