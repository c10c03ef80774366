//! Opening a TCP connection as the kubelet's probes do.
//!
//! The order of things and the texts are those of Go's `Dialer.DialContext` (`net/dial.go`), with the socket
//! option of the kubelet's `ProbeDialer` (`pkg/probe/dialer_others.go`). There is no time limit here: the
//! caller sets it, and reports its end with [`DialError::LookupTimeout`] or
//! [`DialError::ConnectTimeout`].
//!
//! A TCP probe opens a connection and closes it (`DoTCPProbe`, `pkg/probe/tcp/tcp.go`).
//!
//! Pinned by `probe_tcp.jsonl`.

use super::as_go::errno_text;
use crate::probe::run::Stopwatch;
use kq_probe::{
    AddressError, Attempt, Cause, DialAddress, DialHost, Phase, ProbeTimeout, Remote, TcpTarget,
};
use rustix::io::Errno;
use rustix::net::sockopt;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout_at};

/// How long closing a connection waits for the other side (`ProbeDialer`).
const LINGER: Duration = Duration::from_secs(1);

/// The keep-alive of a silent connection: idle time, interval and count.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

const KEEP_ALIVE_PROBES: u32 = 9;

/// After how long the addresses of the other family of IP are tried as well (`fallbackDelay`).
const FALLBACK_DELAY: Duration = Duration::from_millis(300);

/// What each of several addresses gets at least (`saneMinimum` of `partialDeadline`).
const LEAST_PER_ADDRESS: Duration = Duration::from_secs(2);

/// An open connection.
#[derive(Debug)]
pub struct Dialed {
    /// The connection.
    pub stream: TcpStream,
    /// Duration of the name lookup; near zero for an address.
    pub lookup: Duration,
    /// How long connecting took.
    pub connect: Duration,
}

/// Why there is no connection; the text is Go's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DialError {
    /// There is no address to connect to.
    #[error("dial tcp: {0}")]
    Address(AddressError),
    /// The name is not known, or could not be asked for.
    #[error("dial tcp: lookup {name}: {problem}")]
    Lookup {
        name: String,
        /// The error.
        problem: String,
    },
    /// The time was over while the name was looked up.
    #[error("dial tcp: lookup {0}: i/o timeout")]
    LookupTimeout(String),
    /// The kernel refused; of several addresses, the first.
    #[error("dial tcp {remote}: {call}: {problem}")]
    Connect {
        /// The address, as Go shows it.
        remote: String,
        /// The system call.
        call: &'static str,
        /// What it said.
        problem: String,
    },
    /// The time was over while connecting.
    #[error("dial tcp {0}: i/o timeout")]
    ConnectTimeout(String),
}

impl DialError {
    /// Returns what stands between an attempt and its success.
    pub fn cause(&self) -> Cause {
        match self {
            Self::Address(_) => Cause::Request,
            Self::Lookup { .. } => Cause::Lookup,
            Self::Connect { .. } => Cause::Connect,
            Self::LookupTimeout(_) | Self::ConnectTimeout(_) => Cause::Timeout,
        }
    }
}

/// Opens a connection to an address as Go's dialer gets it: `host:port`, `[v6%zone]:port`, `:port`.
///
/// It waits as long as it takes; the caller sets the time. A name that is being looked up keeps a thread of
/// the runtime, for which a runtime that is dropped waits: end it with `shutdown_background`.
pub async fn dial(address: &str) -> Result<Dialed, DialError> {
    let start = Instant::now();
    let remotes = look_up(&read_address(address)?).await?;
    let found = Instant::now();
    let stream = connect(&remotes, None).await?;
    Ok(Dialed { stream, lookup: found - start, connect: found.elapsed() })
}

/// Reads an address.
pub fn read_address(address: &str) -> Result<DialAddress, DialError> {
    address.parse().map_err(DialError::Address)
}

/// Returns the addresses of a host, in the order in which they are to be tried.
///
/// Names are asked for as the C library does (`/etc/hosts`, DNS); a kubelet that asks the DNS by itself
/// adds which server said so to the text of an error.
pub async fn look_up(address: &DialAddress) -> Result<Vec<Remote>, DialError> {
    let port = address.port;
    let remote = |ip, zone: &str| Remote { ip, zone: zone.to_owned(), port };
    match &address.host {
        DialHost::Unnamed => Ok(vec![remote(None, "")]),
        // Go tries the IPv4 address that says nothing after that of IPv6.
        DialHost::Address(IpAddr::V6(Ipv6Addr::UNSPECIFIED), zone) => Ok(vec![
            remote(Some(Ipv6Addr::UNSPECIFIED.into()), zone),
            remote(Some(Ipv4Addr::UNSPECIFIED.into()), ""),
        ]),
        DialHost::Address(ip, zone) => Ok(vec![remote(Some(*ip), zone)]),
        DialHost::NoName(name) => {
            Err(DialError::Lookup { name: name.clone(), problem: NO_SUCH_HOST.to_owned() })
        }
        DialHost::Name(name) => {
            let refused = |problem| DialError::Lookup { name: name.clone(), problem };
            let found = tokio::net::lookup_host((name.as_str(), port))
                .await
                .map_err(|error| refused(lookup_problem(&error)))?;
            let mut remotes: Vec<Remote> = Vec::new();
            for address in found {
                let remote = remote(Some(address.ip()), "");
                if !remotes.contains(&remote) {
                    remotes.push(remote);
                }
            }
            if remotes.is_empty() { Err(refused(NO_SUCH_HOST.to_owned())) } else { Ok(remotes) }
        }
    }
}

const NO_SUCH_HOST: &str = "no such host";

/// Returns Go's text for a result of `getaddrinfo`, whose number Rust does not report: its text is
/// `failed to lookup address information: Name or service not known`.
fn lookup_problem(error: &io::Error) -> String {
    const UNKNOWN: [&str; 4] = [
        "Name or service not known",
        "No address associated with hostname",
        "Name does not resolve",
        "Name has no usable address",
    ];
    let text = error.to_string();
    let text = text.rsplit_once(": ").map_or(text.as_str(), |(_, text)| text);
    if UNKNOWN.contains(&text) { NO_SUCH_HOST.to_owned() } else { text.to_owned() }
}

/// Connects to the first address that answers: those of the family of the first one after each other, and
/// concurrently, after a while or when none of them answers, those of the other family (`dialParallel`).
///
/// With a deadline, each gets its part of the time, as Go divides it.
/// Fails with the text of Go about the first address.
pub async fn connect(
    remotes: &[Remote],
    deadline: Option<Instant>,
) -> Result<TcpStream, DialError> {
    let is_v4 = |remote: &&Remote| remote.socket_ip().is_ipv4();
    let first_is_v4 = remotes.first().as_ref().is_some_and(is_v4);
    let (first, second): (Vec<&Remote>, Vec<&Remote>) =
        remotes.iter().partition(|remote| is_v4(remote) == first_is_v4);
    let mut primary = pin!(connect_in_order(&first, deadline));
    if second.is_empty() {
        return primary.await;
    }
    let error = match first_of(primary.as_mut(), pin!(sleep(FALLBACK_DELAY))).await {
        First::Left(Ok(stream)) => return Ok(stream),
        First::Left(Err(error)) => Some(error),
        First::Right(()) => None,
    };
    let mut fallback = pin!(connect_in_order(&second, deadline));
    // What is reported is what the first family said.
    if let Some(error) = error {
        return fallback.await.map_err(|_| error);
    }
    match first_of(primary.as_mut(), fallback.as_mut()).await {
        First::Left(Ok(stream)) | First::Right(Ok(stream)) => Ok(stream),
        First::Left(Err(error)) => fallback.await.map_err(|_| error),
        First::Right(Err(_)) => primary.await,
    }
}

/// Which of two was done first.
enum First<A, B> {
    Left(A),
    Right(B),
}

/// Waits for either of two; where both are done, for the left one.
async fn first_of<A, B>(
    mut left: Pin<&mut impl Future<Output = A>>,
    mut right: Pin<&mut impl Future<Output = B>>,
) -> First<A, B> {
    poll_fn(|context| {
        if let Poll::Ready(done) = left.as_mut().poll(context) {
            return Poll::Ready(First::Left(done));
        }
        right.as_mut().poll(context).map(First::Right)
    })
    .await
}

/// Connects to the first address that answers (`dialSerial`).
async fn connect_in_order(
    remotes: &[&Remote],
    deadline: Option<Instant>,
) -> Result<TcpStream, DialError> {
    let mut first_error = None;
    for (at, remote) in remotes.iter().enumerate() {
        let timed_out = || DialError::ConnectTimeout(remote.to_string());
        let done = match deadline {
            None => connect_one(remote).await,
            Some(deadline) => {
                let part = part_of_time(Instant::now(), deadline, remotes.len() - at);
                match part {
                    Some(part) => timeout_at(part, connect_one(remote))
                        .await
                        .unwrap_or_else(|_| Err(timed_out())),
                    None => Err(timed_out()),
                }
            }
        };
        match done {
            Ok(stream) => return Ok(stream),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| {
        DialError::Address(AddressError::Form { text: String::new(), problem: "missing address" })
    }))
}

/// Returns until when one of so many addresses may take (`partialDeadline`); `None`: it is too late.
fn part_of_time(now: Instant, deadline: Instant, addresses: usize) -> Option<Instant> {
    let left = deadline.checked_duration_since(now).filter(|left| !left.is_zero())?;
    let part = left / u32::try_from(addresses.max(1)).unwrap_or(u32::MAX);
    Some(now + part.max(LEAST_PER_ADDRESS.min(left)))
}

/// Connects to one address, and again where the kernel gave the socket its own address or found no free
/// port (`doDialTCPProto`).
async fn connect_one(remote: &Remote) -> Result<TcpStream, DialError> {
    let mut tries = 1;
    loop {
        let done = connect_once(remote).await;
        let again = match &done {
            Ok(stream) => connected_to_itself(stream),
            Err((_, error)) => error.raw_os_error() == Some(Errno::ADDRNOTAVAIL.raw_os_error()),
        };
        if !again || tries == 3 {
            return done.map_err(|(call, error)| DialError::Connect {
                remote: remote.to_string(),
                call,
                problem: errno_text(&error),
            });
        }
        tries += 1;
    }
}

/// Returns true if both ends are the same: what the kernel may make of a connection to a free port of the
/// node that it hands out itself.
fn connected_to_itself(stream: &TcpStream) -> bool {
    match (stream.local_addr(), stream.peer_addr()) {
        (Ok(local), Ok(peer)) => local == peer,
        _ => false,
    }
}

/// Connects; an error comes with its system call.
async fn connect_once(remote: &Remote) -> Result<TcpStream, (&'static str, io::Error)> {
    let socket = match remote.socket_ip() {
        IpAddr::V4(_) => TcpSocket::new_v4(),
        IpAddr::V6(_) => TcpSocket::new_v6(),
    }
    .map_err(|error| ("socket", error))?;
    sockopt::set_socket_linger(&socket, Some(LINGER))
        .map_err(|errno| ("setsockopt", errno.into()))?;
    let address = match remote.socket_ip() {
        IpAddr::V4(ip) => SocketAddr::V4(SocketAddrV4::new(ip, remote.port)),
        IpAddr::V6(ip) => {
            let scope = scope_of(&socket, &remote.zone);
            SocketAddr::V6(SocketAddrV6::new(ip, remote.port, 0, scope))
        }
    };
    let stream = socket.connect(address).await.map_err(|error| ("connect", error))?;
    // Go does not look whether these came about either.
    let _ = stream.set_nodelay(true);
    let _ = sockopt::set_socket_keepalive(&stream, true);
    let _ = sockopt::set_tcp_keepidle(&stream, KEEP_ALIVE);
    let _ = sockopt::set_tcp_keepintvl(&stream, KEEP_ALIVE);
    let _ = sockopt::set_tcp_keepcnt(&stream, KEEP_ALIVE_PROBES);
    Ok(stream)
}

/// Returns the number of a zone: that of the interface of that name, else the number that it is, else 0.
fn scope_of(socket: &TcpSocket, zone: &str) -> u32 {
    if zone.is_empty() {
        return 0;
    }
    rustix::net::netdevice::name_to_index(socket, zone)
        .unwrap_or_else(|_| zone.parse().unwrap_or(0))
}

/// Closes a connection outside of the async runtime: with the time to linger, the kernel may keep the
/// thread that closes it until the other side has answered. Without an async runtime, it waits.
pub fn close(stream: TcpStream) {
    if let (Ok(stream), Ok(runtime)) = (stream.into_std(), Handle::try_current()) {
        runtime.spawn_blocking(move || drop(stream));
    }
}

/// Opens a connection and closes it at once.
///
/// A name that is being looked up keeps a thread of the runtime beyond the time of the probe: end the runtime
/// with `shutdown_background`.
pub async fn probe_tcp(target: &TcpTarget, timeout: ProbeTimeout) -> Attempt {
    let mut watch = Stopwatch::start();
    let done = open(&target.address, timeout, &mut watch).await;
    let attempt = match done {
        Ok(()) => Attempt::success(""),
        Err(error) => Attempt::failure(error.cause(), error.to_string()),
    };
    if attempt.cause != Some(Cause::Timeout) {
        watch.finish();
    }
    Attempt { phases: watch.phases(), ..attempt }
}

async fn open(
    address: &str,
    timeout: ProbeTimeout,
    watch: &mut Stopwatch,
) -> Result<(), DialError> {
    let address = read_address(address)?;
    let deadline = match timeout {
        ProbeTimeout::None => None,
        ProbeTimeout::After(time) => Instant::now().checked_add(time),
        ProbeTimeout::Past => return Err(too_late(&address)),
    };
    if matches!(address.host, DialHost::Name(_)) {
        watch.enter(Phase::Lookup);
    }
    let remotes = match deadline {
        None => look_up(&address).await?,
        Some(deadline) => match timeout_at(deadline, look_up(&address)).await {
            Ok(found) => found?,
            Err(_) => return Err(too_late(&address)),
        },
    };
    watch.enter(Phase::Connect);
    let stream = connect(&remotes, deadline).await?;
    watch.finish();
    close(stream);
    Ok(())
}

/// Returns Go's error for a time limit that expired before connecting began.
fn too_late(address: &DialAddress) -> DialError {
    let remote = |ip, zone| Remote { ip, zone, port: address.port };
    match &address.host {
        DialHost::Name(name) | DialHost::NoName(name) => DialError::LookupTimeout(name.clone()),
        DialHost::Unnamed => DialError::ConnectTimeout(remote(None, String::new()).to_string()),
        DialHost::Address(ip, zone) => {
            DialError::ConnectTimeout(remote(Some(*ip), zone.clone()).to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn run<T>(work: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().expect("a runtime").block_on(work)
    }

    #[test]
    fn errors_are_those_of_go() {
        let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().unwrap();
        let port = closed.port();
        let refused = "connect: connection refused";
        for (address, expected, cause) in [
            (format!("127.0.0.1:{port}"), format!("127.0.0.1:{port}: {refused}"), Cause::Connect),
            (format!("[::1]:{port}"), format!("[::1]:{port}: {refused}"), Cause::Connect),
            (format!(":{port}"), format!(":{port}: {refused}"), Cause::Connect),
            (format!("[]:{port}"), format!(":{port}: {refused}"), Cause::Connect),
            (format!("0.0.0.0:{port}"), format!("0.0.0.0:{port}: {refused}"), Cause::Connect),
            (format!("[::]:{port}"), format!("[::]:{port}: {refused}"), Cause::Connect),
        ] {
            let error = run(dial(&address)).expect_err("no server listens");
            assert_eq!(error.to_string(), format!("dial tcp {expected}"), "{address}");
            assert_eq!(error.cause(), cause, "{address}");
        }
        for (address, expected, cause) in [
            ("[[::1]]:80", "address [[::1]]:80: missing port in address", Cause::Request),
            ("127.0.0.1:65536", "address 65536: invalid port", Cause::Request),
            ("127.0.0.256:80", "lookup 127.0.0.256: no such host", Cause::Lookup),
            ("[127.0.0.1:80]:80", "lookup 127.0.0.1:80: no such host", Cause::Lookup),
            ("[a b]:80", "lookup a b: no such host", Cause::Lookup),
        ] {
            let error = run(dial(address)).expect_err("there is no such address");
            assert_eq!(error.to_string(), format!("dial tcp: {expected}"), "{address}");
            assert_eq!(error.cause(), cause, "{address}");
        }
    }

    #[test]
    fn sockets_have_the_options_of_the_kubelet() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().unwrap().port();
        // The node itself, by no name, by that of IPv4 and by those that are tried after IPv6.
        for host in ["127.0.0.1", "", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "localhost"] {
            run(async {
                let stream = dial(&format!("{host}:{port}")).await.expect(host).stream;
                assert_eq!(sockopt::socket_linger(&stream), Ok(Some(LINGER)), "{host}");
                assert_eq!(stream.nodelay().ok(), Some(true), "{host}");
                assert_eq!(sockopt::socket_keepalive(&stream), Ok(true), "{host}");
                assert_eq!(sockopt::tcp_keepidle(&stream), Ok(KEEP_ALIVE), "{host}");
                assert_eq!(sockopt::tcp_keepintvl(&stream), Ok(KEEP_ALIVE), "{host}");
                assert_eq!(sockopt::tcp_keepcnt(&stream), Ok(KEEP_ALIVE_PROBES), "{host}");
                close(stream);
            });
        }
    }

    #[test]
    fn connections_outlive_their_runtime() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().unwrap().to_string();
        close(run(dial(&address)).expect("a server listens").stream);
    }

    #[test]
    fn time_is_divided_among_the_addresses() {
        let now = Instant::now();
        let seconds = Duration::from_secs;
        for (left, addresses, expected) in [
            (seconds(1), 1, Some(seconds(1))),
            (seconds(1), 4, Some(seconds(1))),
            (seconds(3), 4, Some(seconds(2))),
            (seconds(40), 4, Some(seconds(10))),
            (Duration::ZERO, 1, None),
        ] {
            let got = part_of_time(now, now + left, addresses);
            assert_eq!(got.map(|at| at - now), expected, "{left:?} for {addresses}");
        }
    }

    #[test]
    fn answers_about_names_are_distinguished() {
        for (said, expected) in [
            ("Name or service not known", "no such host"),
            ("No address associated with hostname", "no such host"),
            ("Temporary failure in name resolution", "Temporary failure in name resolution"),
        ] {
            let error = io::Error::other(format!("failed to lookup address information: {said}"));
            assert_eq!(lookup_problem(&error), expected);
        }
    }
}
