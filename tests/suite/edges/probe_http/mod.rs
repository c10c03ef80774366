//! HTTP probes against servers that mean no good: every probe ends in its time, keeps little, and says what
//! the kubelet says.

use kq_k8s::pod::{HttpGetAction, IntOrString};
use kq_linux::probe::http::probe_http;
use kq_probe::http::build_request;
use kq_probe::{Attempt, Cause, MAX_OUTPUT_BYTES, Phase, ProbeResult, ProbeTimeout};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// Answers that are wrong, endless or slow, in HTTP/1.
mod answers;
/// Servers that agree on HTTP/2.
mod http2;
/// Servers with TLS, and such that only seem to have it.
mod tls;

/// The time of a probe that is over before its server is done.
const SHORT: Duration = Duration::from_secs(2);

/// How much longer than its time a probe may take on a machine that is busy.
const TOLERANCE: Duration = Duration::from_secs(10);

/// How long a server holds a connection whose probe is over before.
const LONG: Duration = Duration::from_secs(30);

/// Starts a server that does this with every connection, and returns its port.
fn serve(each: impl Fn(usize, TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
    let port = listener.local_addr().expect("an address").port();
    let each = std::sync::Arc::new(each);
    spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let each = std::sync::Arc::clone(&each);
            // A client that has gone ends the thread: writing fails.
            spawn(move || each(number, stream.expect("a connection")));
        }
    });
    port
}

/// Starts a server that reads a request and then does this.
fn answer(with: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> u16 {
    serve(move |_, mut stream| {
        read_request(&mut stream);
        with(&mut stream);
    })
}

fn read_request(stream: &mut impl Read) {
    let (mut request, mut byte) = (Vec::new(), [0]);
    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        request.push(byte[0]);
    }
}

/// Says the same until the client has gone.
fn repeat(stream: &mut TcpStream, bytes: &[u8]) {
    while stream.write_all(bytes).is_ok() {}
}

/// Says this a byte at a time.
fn dribble(stream: &mut TcpStream, bytes: &[u8], pause: Duration) {
    for byte in bytes {
        if stream.write_all(&[*byte]).is_err() {
            return;
        }
        sleep(pause);
    }
}

/// Returns how much of what was sent to a client on this machine it has not read yet.
fn unread(client: SocketAddr, server: SocketAddr) -> u64 {
    let shown = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) => {
            format!("{:08X}:{:04X}", u32::from_le_bytes(ip.octets()), address.port())
        }
        IpAddr::V6(ip) => panic!("these servers listen on 127.0.0.1, not on {ip}"),
    };
    let table = std::fs::read_to_string("/proc/net/tcp").expect("the kernel lists sockets");
    let ends = [shown(client), shown(server)];
    let queues = table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (fields.get(1..3)? == ends).then(|| fields.get(4).copied())?
    });
    let received = queues.and_then(|queues| queues.split_once(':')).map_or("0", |(_, it)| it);
    u64::from_str_radix(received, 16).expect("a number")
}

/// Closes so that the other side is notified at once.
fn reset(stream: &TcpStream) {
    // What was sent must have been read by then: the kernel drops the rest.
    let (Ok(client), Ok(own)) = (stream.peer_addr(), stream.local_addr()) else { return };
    let begun = Instant::now();
    while unread(client, own) > 0 && begun.elapsed() < LONG {
        sleep(Duration::from_millis(5));
    }
    // The parts that it read must have been checked too, which is not visible from outside.
    sleep(Duration::from_millis(100));
    rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO)).expect("a socket");
}

fn probe(port: u16, scheme: &str, timeout: Duration) -> Attempt {
    let action = HttpGetAction {
        path: "/x".to_owned(),
        port: IntOrString::Int(i32::from(port)),
        scheme: scheme.to_owned(),
        ..HttpGetAction::default()
    };
    let request = build_request(&action, &[], "127.0.0.1", "kube-probe/1.36").expect("a request");
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    let start = Instant::now();
    let attempt = runtime.block_on(probe_http(request, ProbeTimeout::After(timeout)));
    let took = start.elapsed();
    runtime.shutdown_background();
    assert!(took < timeout + TOLERANCE, "it took {took:?}: {attempt:?}");
    let kept = attempt.output.0.len();
    assert!(kept <= MAX_OUTPUT_BYTES + 200 || attempt.result == ProbeResult::Failure, "{kept}");
    for exchange in &attempt.exchanges {
        assert!(exchange.head.0.len() <= 64 * 1024);
        assert!(exchange.body.0.len() <= MAX_OUTPUT_BYTES);
    }
    attempt
}

/// Shows an attempt in one line, without ports.
fn shown(attempt: &Attempt, port: u16) -> String {
    let text = attempt.output.text().replace(&format!(":{port}"), ":PORT");
    let text = match text.split_once("->") {
        Some((own, peer)) => {
            format!("{}OWN->{peer}", own.trim_end_matches(|c: char| c.is_ascii_digit()))
        }
        None => text,
    };
    match &attempt.error {
        None => format!("{}: {text}", attempt.result),
        Some(error) => format!("{} {text}error: {error}", attempt.result),
    }
}

const GET: &str = "failure: Get \"http://127.0.0.1:PORT/x\": ";
const BROKEN: &str = "net/http: HTTP/1.x transport connection broken: ";
const TOO_LATE: &str = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
const TOO_LATE_FOR_BODY: &str = "failure error: context deadline exceeded (Client.Timeout or context \
                                 cancellation while reading body)";
