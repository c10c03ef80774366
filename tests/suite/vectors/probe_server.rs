//! Listeners on loopback, in whose port the vectors of the probes are written as `{port}`.

use crate::closed_port::ClosedPort;
use serde_json::Value;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// A listener, and what happens to who connects.
pub struct Listener {
    address: Option<SocketAddr>,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    closed: Option<ClosedPort>,
    /// What keeps the queue of the listener full.
    held: Vec<(Option<TcpListener>, Option<rustix::fd::OwnedFd>)>,
}

impl Listener {
    /// Starts a listener of a kind; no address has no listener.
    pub fn start(address: &str, kind: &str) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let mut listener =
            Self { address: None, done, thread: None, closed: None, held: Vec::new() };
        if address.is_empty() {
            return listener;
        }
        let bound = TcpListener::bind((address, 0)).expect("a port is free");
        listener.address = Some(bound.local_addr().expect("it has a port"));
        match kind {
            "none" | "closed_port" => listener.close(address),
            "backlog_full" => listener.fill(bound),
            "accepts" => listener.accept(bound, Vec::push),
            "closes_at_once" => listener.accept(bound, |_, stream| drop(stream)),
            "silent_tcp" => listener.accept(bound, Vec::push),
            "http1" => listener.accept(bound, answer_http1),
            other => panic!("a listener of kind {other:?}"),
        }
        listener
    }

    /// A server started elsewhere.
    pub fn at(address: SocketAddr) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        Self { address: Some(address), done, thread: None, closed: None, held: Vec::new() }
    }

    pub fn port(&self) -> u16 {
        self.address.map_or(0, |address| address.port())
    }

    /// Runs a probe.
    pub fn run<T>(&self, work: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().expect("a runtime").block_on(work)
    }

    fn close(&mut self, host: &str) {
        let closed = ClosedPort::new(host);
        self.address = Some(closed.address);
        self.closed = Some(closed);
    }

    fn accept(
        &mut self,
        bound: TcpListener,
        each: impl Fn(&mut Vec<TcpStream>, TcpStream) + Send + 'static,
    ) {
        let done = Arc::clone(&self.done);
        self.thread = Some(spawn(move || {
            let mut open = Vec::new();
            while let Ok((stream, _)) = bound.accept() {
                if done.load(Ordering::SeqCst) {
                    break;
                }
                each(&mut open, stream);
            }
        }));
    }

    /// Leaves no room in the queue: the kernel drops who else wants to connect.
    fn fill(&mut self, bound: TcpListener) {
        use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, listen, socket_with};
        listen(&bound, 0).expect("the queue can be made small");
        let address = self.address.expect("it is bound");
        self.held.push((Some(bound), None));
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        for _ in 0..8 {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = socket_with(family, SocketType::STREAM, flags, None).expect("a socket");
            let _ = connect(&socket, &address);
            self.held.push((None, Some(socket)));
        }
        // The kernel needs a moment to have put them there.
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn answer_http1(_: &mut Vec<TcpStream>, mut stream: TcpStream) {
    use std::io::{Read, Write};
    spawn(move || {
        let mut request = [0; 1024];
        let _ = stream.read(&mut request);
        let _ = stream.write_all(
            b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nno",
        );
    });
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.done.store(true, Ordering::SeqCst);
        if let (Some(thread), Some(address)) = (self.thread.take(), self.address) {
            let _ = TcpStream::connect(address);
            let _ = thread.join();
        }
    }
}

/// Returns the seconds of a probe that took all its time; `None`: it was over before. A busy machine only adds to
/// it.
pub fn whole_time(took: Duration, timeout_seconds: i64) -> Option<u64> {
    let timeout = u64::try_from(timeout_seconds).ok().filter(|seconds| *seconds > 0)?;
    assert!(took < Duration::from_secs(timeout + 20), "{took:?} of {timeout} s");
    (took + Duration::from_millis(100) >= Duration::from_secs(timeout)).then_some(timeout)
}

/// Writes the port where the vector has a place for it.
pub fn fill_in(input: &Value, port: u16) -> Value {
    let text = input.to_string();
    let text = text.replace(r#""\"{port}\"""#, &format!("\"{port}\""));
    let text = text.replace(r#""{port}""#, &port.to_string());
    serde_json::from_str(&text.replace("{port}", &port.to_string())).expect("still JSON")
}

/// Writes the place where the port is.
pub fn leave_out(text: &str, port: u16) -> String {
    if port == 0 {
        return text.to_owned();
    }
    text.replace(&format!(":{port}"), ":{port}")
}
