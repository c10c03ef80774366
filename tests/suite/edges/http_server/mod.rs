//! HTTP servers on loopback that answer as a test says, with TLS or without.
//!
//! They are written on sockets and threads, with nothing of the client in them: what a test says is
//! sent, byte for byte and at the time that it says.

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Authorities, certificates and keys.
pub mod pki;

/// How long a server waits for a client that says nothing.
const PATIENCE: Duration = Duration::from_secs(20);

/// A deadline for calls that are answered at once.
pub const AMPLE: Duration = Duration::from_secs(15);

/// A deadline for calls that are never answered: enough for all that comes before, on a machine that is busy as
/// well.
pub const SHORT: Duration = Duration::from_secs(2);

/// What a busy machine may add to a deadline: less than the servers of these tests hold a connection for.
const GRACE: Duration = Duration::from_secs(5);

/// What is spoken beneath HTTP.
#[derive(Clone)]
pub enum Wire {
    Plain,
    Tls(Arc<ServerConfig>),
    /// Sends nothing, not even a handshake.
    Silent,
}

/// A request as the server saw it.
#[derive(Clone, Debug)]
pub struct Seen {
    /// `GET /pods HTTP/1.1`
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// How many certificates the client showed.
    pub certificates: usize,
    /// What was sent along.
    #[cfg_attr(not(feature = "apiserver"), expect(dead_code, reason = "others only ask"))]
    pub body: String,
}

impl Seen {
    /// Returns a header that must be there at most once.
    #[track_caller]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(n, _)| n == name).map(|(_, v)| v.as_str());
        let first = found.next();
        assert_eq!(found.next(), None, "header {name} is there twice");
        first
    }
}

/// A server that runs until it is dropped.
pub struct Server {
    pub port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    is_over: Arc<AtomicBool>,
}

impl Server {
    /// Starts a server. The function is given the number of the request, the request, and where to
    /// write the answer; when it returns, the connection is closed.
    pub fn start<A>(wire: Wire, answer: A) -> Self
    where
        A: Fn(usize, &Seen, &mut dyn Write) -> io::Result<()> + Send + Sync + 'static,
    {
        Self::start_on(0, wire, answer)
    }

    /// Starts a server on a port.
    pub fn start_on<A>(port: u16, wire: Wire, answer: A) -> Self
    where
        A: Fn(usize, &Seen, &mut dyn Write) -> io::Result<()> + Send + Sync + 'static,
    {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("a port on loopback");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let server = Self { port, seen: Arc::clone(&seen), is_over: Arc::clone(&is_over) };
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { return };
                let (wire, seen, answer) = (wire.clone(), Arc::clone(&seen), Arc::clone(&answer));
                // A client that hangs up, or a test that ends, is no failure of the server's.
                thread::spawn(move || _ = converse(stream, wire, &seen, &*answer));
            }
        });
        server
    }

    /// Starts a server that always says the same.
    pub fn saying(wire: Wire, answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(wire, move |_, _, to| to.write_all(&answer))
    }

    /// Returns `http://127.0.0.1:PORT` or the same with `https`.
    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    /// Returns the requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no thread panicked").clone()
    }

    /// Returns the only request.
    #[track_caller]
    pub fn only(&self) -> Seen {
        let mut seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen.remove(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

type Answer<'a> = &'a dyn Fn(usize, &Seen, &mut dyn Write) -> io::Result<()>;

fn converse(
    stream: TcpStream,
    wire: Wire,
    seen: &Mutex<Vec<Seen>>,
    answer: Answer<'_>,
) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    match wire {
        Wire::Silent => {
            let mut stream = stream;
            drain(&mut stream);
        }
        Wire::Plain => {
            let mut stream = stream;
            respond(&mut stream, 0, seen, answer)?;
            stream.shutdown(Shutdown::Write)?;
            drain(&mut stream);
        }
        Wire::Tls(config) => {
            let connection = ServerConnection::new(config).map_err(io::Error::other)?;
            let mut stream = StreamOwned::new(connection, stream);
            let shook = stream.conn.complete_io(&mut stream.sock);
            if let Err(error) = shook {
                // The alert that says why is written, and arrives before the connection ends.
                _ = stream.conn.write_tls(&mut stream.sock);
                stream.sock.shutdown(Shutdown::Write)?;
                drain(&mut stream.sock);
                return Err(error);
            }
            let shown = stream.conn.peer_certificates().map_or(0, <[_]>::len);
            respond(&mut stream, shown, seen, answer)?;
            stream.conn.send_close_notify();
            while stream.conn.wants_write() {
                stream.conn.write_tls(&mut stream.sock)?;
            }
            stream.sock.shutdown(Shutdown::Write)?;
            drain(&mut stream.sock);
        }
    }
    Ok(())
}

/// Reads until the client hangs up: what is left unread at the end would reset the connection, and
/// take back what was written before.
fn drain(stream: &mut impl Read) {
    let mut lost = [0; 4096];
    while stream.read(&mut lost).is_ok_and(|read| read > 0) {}
}

fn respond<S: Read + Write>(
    stream: &mut S,
    certificates: usize,
    seen: &Mutex<Vec<Seen>>,
    answer: Answer<'_>,
) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        request.push(byte[0]);
        // A handshake where a request is expected ends here as well.
        if request.len() > 64 * 1024 || (request.len() == 1 && !byte[0].is_ascii_uppercase()) {
            // Not HTTP; what a server of HTTP says to that.
            break;
        }
    }
    let text = String::from_utf8_lossy(&request).into_owned();
    let mut lines = text.split("\r\n");
    let line = lines.next().unwrap_or_default().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, length)| length.parse().ok()).unwrap_or(0);
    let mut body = Vec::new();
    (&mut *stream).take(length).read_to_end(&mut body)?;
    let body = String::from_utf8_lossy(&body).into_owned();
    let request = Seen { line, headers, certificates, body };
    let number = {
        let mut seen = seen.lock().expect("no thread panicked");
        seen.push(request.clone());
        seen.len() - 1
    };
    answer(number, &request, stream)?;
    stream.flush()
}

/// Returns an answer with a status, headers and a body of that length.
pub fn answer(status: &str, headers: &[&str], body: &str) -> String {
    let mut text = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    text.push_str(body);
    text
}

/// Returns a success with a body of JSON.
pub fn json(body: &str) -> String {
    answer("200 OK", &["Content-Type: application/json"], body)
}

/// Returns the API's `Status` for a failure.
pub fn failure(status: &str, headers: &[&str], reason: &str, message: &str) -> String {
    let code = status.split(' ').next().expect("a code");
    let mut all = vec!["Content-Type: application/json"];
    all.extend(headers);
    answer(
        status,
        &all,
        &format!(
            r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{message}","reason":"{reason}","code":{code}}}"#
        ),
    )
}

/// Does something that must be over with its deadline.
#[track_caller]
pub fn timed<T>(deadline: Duration, work: impl FnOnce(Duration) -> T) -> T {
    let begun = Instant::now();
    let done = work(deadline);
    let took = begun.elapsed();
    assert!(took < deadline + GRACE, "took {took:?} with a deadline of {deadline:?}");
    done
}
