//! A TCP port without a listener that no other process can bind meanwhile.
//!
//! A port that was bound and given back is soon another test's: the kernel hands it out again.

use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
use std::net::{SocketAddr, TcpListener};

/// The port, as long as this is held.
#[derive(Debug)]
pub struct ClosedPort {
    pub address: SocketAddr,
    socket: OwnedFd,
}

impl ClosedPort {
    pub fn new(host: &str) -> Self {
        let address = SocketAddr::new(host.parse().expect("an address"), 0);
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket(family, SocketType::STREAM, None).expect("a socket");
        bind(&socket, &address).expect("a port is free");
        let bound = getsockname(&socket).expect("it has a port");
        Self { address: bound.try_into().expect("an address of IP"), socket }
    }

    /// Listens from now on.
    pub fn open(self) -> TcpListener {
        listen(&self.socket, 128).expect("the port is its own");
        self.socket.into()
    }
}
