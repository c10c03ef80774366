//! gRPC probes of servers that do what they should not: each ends in its time, in bounded memory, with the
//! words of grpc-go.

use crate::closed_port::ClosedPort;
use kq_linux::probe::grpc::probe_grpc;
use kq_probe::{Attempt, GrpcTarget, ProbeResult};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What an attempt may take beyond its time on a machine that is busy.
const GRACE: Duration = Duration::from_secs(3);

/// The indexed fields `:status: 200` of HPACK, and a literal `content-type: application/grpc`.
fn good_headers() -> Vec<u8> {
    let mut block = vec![0x88];
    block.extend(literal("content-type", "application/grpc"));
    block
}

fn literal(name: &str, value: &str) -> Vec<u8> {
    let mut field = vec![0, name.len() as u8];
    field.extend(name.as_bytes());
    field.push(value.len() as u8);
    field.extend(value.as_bytes());
    field
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const CONTINUATION: u8 = 9;

/// END_STREAM, or ACK of settings and pings.
const END: u8 = 1;
const END_HEADERS: u8 = 4;

const SERVING: [u8; 7] = [0, 0, 0, 0, 2, 8, 1];

fn settings() -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[])
}

fn trailers() -> Vec<u8> {
    frame(HEADERS, END | END_HEADERS, 1, &literal("grpc-status", "0"))
}

/// Serves every connection with a function, in a thread of its own; returns the address.
fn server(serve: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has a port").to_string();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Reads the preface of the client and its frames up to the end of its request.
fn read_request(stream: &mut TcpStream) -> Option<()> {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).ok()?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        stream.read_exact(&mut vec![0; length]).ok()?;
        if head[3] == DATA && head[4] & END != 0 {
            return Some(());
        }
    }
}

/// Sends its settings, reads the request, sends the rest, and then does with the connection what it is
/// told to.
fn answering(answer: Vec<u8>, then: fn(TcpStream)) -> String {
    server(move |mut stream| {
        let _ = stream.write_all(&settings());
        if read_request(&mut stream).is_some() {
            let _ = stream.write_all(&answer);
            then(stream);
        }
    })
}

/// Reads and forgets what comes, until the client goes.
fn hold(mut stream: TcpStream) {
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

fn close(stream: TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    hold(stream);
}

#[track_caller]
fn probe(address: &str, seconds: i32) -> Attempt {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    let target = GrpcTarget { address: address.to_owned(), service: String::new() };
    let begin = Instant::now();
    let attempt = runtime.block_on(probe_grpc(&target, "kube-probe/1.36", seconds));
    let limit = Duration::from_secs(seconds.max(0) as u64) + GRACE;
    assert!(begin.elapsed() < limit, "{:?}: {attempt:?}", begin.elapsed());
    runtime.shutdown_background();
    assert_eq!(attempt.error, None, "{attempt:?}");
    attempt
}

#[track_caller]
fn failure(address: &str, seconds: i32) -> String {
    let attempt = probe(address, seconds);
    assert_eq!(attempt.result, ProbeResult::Failure, "{attempt:?}");
    let text = attempt.output.text().replace(address, "ADDR");
    let rpc = "error: health rpc probe failed: rpc error: code = ";
    text.strip_prefix(rpc).unwrap_or(&text).to_owned()
}

const NO_CONNECTION: &str =
    "timeout: failed to connect service \"ADDR\" within 1s: context deadline exceeded";
const NO_ANSWER: &str = "timeout: health rpc did not complete within 1s";

#[test]
fn a_good_server_is_well() {
    let answer =
        [frame(HEADERS, END_HEADERS, 1, &good_headers()), frame(DATA, 0, 1, &SERVING), trailers()];
    let attempt = probe(&answering(answer.concat(), close), 5);
    assert_eq!(attempt.output.text(), "service healthy");
    let exchange = attempt.exchanges.first().expect("there was a request");
    let request = exchange.request.text();
    assert!(request.contains("\ngrpc-timeout: "), "{request}");
    assert!(exchange.head.text().contains("grpc-status: 0"), "{exchange:?}");
    assert_eq!(exchange.body.0, SERVING);
}

/// Returns a field of a block of headers: its first byte, and its texts as they are written.
fn field(block: &mut &[u8]) -> (u8, Vec<Vec<u8>>) {
    let first = block[0];
    *block = &block[1..];
    let texts = match first {
        0x80.. => 0,
        0x40 => 2,
        _ => 1,
    };
    let text = |_| {
        let length = usize::from(block[0] & 0x7f);
        let text = block[1..=length].to_vec();
        *block = &block[length + 1..];
        text
    };
    (first, (0..texts).map(text).collect())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Empty settings, and headers in the order and with the indexes of grpc-go; the Huffman code is as written by
/// another implementation.
#[test]
fn the_bytes_are_those_of_the_kubelets_client() {
    let (sender, sent) = std::sync::mpsc::channel();
    let address = server(move |mut stream| {
        let _ = stream.write_all(&settings());
        let mut all = Vec::new();
        let mut buffer = [0; 4_096];
        while !all.ends_with(&[0, 0, 0, 0, 4, 10, 2, b'm', b'y']) {
            match stream.read(&mut buffer) {
                Ok(count) if count > 0 => all.extend(&buffer[..count]),
                _ => break,
            }
        }
        let _ = sender.send(all);
    });
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    let target = GrpcTarget { address: address.clone(), service: "my".to_owned() };
    runtime.block_on(probe_grpc(&target, "kube-probe/1.36 grpc-go/1.79.3", 30));
    let sent = sent.recv().expect("it was asked");
    let rest = sent.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("the preface");
    let rest = rest.strip_prefix(&settings()[..]).expect("settings that are empty");
    let rest = rest.strip_prefix(&frame(SETTINGS, END, 0, &[])[..]).expect("an acknowledgement");
    let (head, rest) = rest.split_at(9);
    assert_eq!(head[3..], [HEADERS, END_HEADERS, 0, 0, 0, 1]);
    let (mut block, rest) = rest.split_at(usize::from(head[2]));
    let mut fields = Vec::new();
    while !block.is_empty() {
        let (first, texts) = field(&mut block);
        fields.push((first, texts.iter().map(|text| hex(text)).collect::<Vec<_>>()));
    }
    let authority = fields[3].1[0].clone();
    let time = fields[8].1[1].clone();
    let expected: [(u8, &[&str]); 9] = [
        (0x83, &[]),
        (0x86, &[]),
        (0x45, &["626b2b22f394742675fb857c651d099d8bd3949d7f"]),
        (0x41, &[&authority]),
        (0x5f, &["1d75d0620d263d4c4d6564"]),
        (0x7a, &["eb6c655abb0f19580aecb8a4d65645a63b015dd7d767"]),
        (0x40, &["7465", "4d833505b11f"]),
        (0x40, &["9acac8b0c842d6958b510f21aa9b", "9bd9ab"]),
        (0x40, &["9acac8b24d494f6a7f", &time]),
    ];
    let fields: Vec<(u8, Vec<&str>)> = fields
        .iter()
        .map(|(first, texts)| (*first, texts.iter().map(String::as_str).collect()))
        .collect();
    assert_eq!(fields, expected.map(|(first, texts)| (first, texts.to_vec())));
    assert_eq!(rest, frame(DATA, END, 1, &[0, 0, 0, 0, 4, 10, 2, b'm', b'y']));
}

#[test]
fn an_answer_may_be_compressed_with_gzip() {
    let mut headers = good_headers();
    headers.extend(literal("grpc-encoding", "gzip"));
    let gzip = [
        1, 0, 0, 0, 22, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0xe3, 0x60, 4, 0, 0x61, 0xa8, 7, 0xfe,
        2, 0, 0, 0,
    ];
    let answer = [frame(HEADERS, END_HEADERS, 1, &headers), frame(DATA, 0, 1, &gzip), trailers()];
    let attempt = probe(&answering(answer.concat(), close), 5);
    assert_eq!(attempt.output.text(), "service healthy", "{attempt:?}");
}

/// A server that allows no table of headers gets none, and answers a retry as well.
#[test]
fn a_table_of_headers_that_is_not_allowed_is_not_used() {
    let address = server(|mut stream| {
        let _ = stream.write_all(&frame(SETTINGS, 0, 0, &[0, 1, 0, 0, 0, 0]));
        let mut preface = [0; 24];
        if stream.read_exact(&mut preface).is_err() {
            return;
        }
        let mut blocks = Vec::new();
        while let Some((kind, block)) = read_frame(&mut stream) {
            if kind == HEADERS {
                blocks.push(block);
            }
            if kind == DATA {
                break;
            }
        }
        let is_told = blocks.iter().all(|block| block.starts_with(&[0x20, 0x83, 0x86, 0x05]));
        let serving = if is_told { SERVING } else { [0, 0, 0, 0, 2, 8, 2] };
        let parts = [
            frame(HEADERS, END_HEADERS, 1, &good_headers()),
            frame(DATA, 0, 1, &serving),
            trailers(),
        ];
        let _ = stream.write_all(&parts.concat());
        close(stream);
    });
    assert_eq!(probe(&address, 30).output.text(), "service healthy");
}

/// Reads a frame; returns its type and its payload.
fn read_frame(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).ok()?;
    let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
    stream.read_exact(&mut payload).ok()?;
    Some((head[3], payload))
}

#[test]
fn no_time_is_over_before_it_begins() {
    for (seconds, shown) in [(0, "0s"), (-1, "-1s")] {
        let expected = format!(
            "timeout: failed to connect service \"ADDR\" within {shown}: context deadline exceeded"
        );
        assert_eq!(failure("127.0.0.1:1", seconds), expected);
    }
}

#[test]
fn what_does_not_begin_with_settings_is_no_connection() {
    type Server = (&'static str, fn(TcpStream));
    let never: [Server; 5] = [
        ("silent", hold),
        ("closed", drop),
        ("garbage", |mut stream| {
            let _ = stream.write_all(&[0xff; 100_000]);
            hold(stream);
        }),
        ("a ping first", |mut stream| {
            let _ = stream.write_all(&frame(PING, 0, 0, &[0; 8]));
            hold(stream);
        }),
        ("endless settings", |mut stream| {
            let head = [0, 0x40, 0, SETTINGS, 0, 0, 0, 0, 0];
            let _ = stream.write_all(&head);
            hold(stream);
        }),
    ];
    for (name, serve) in never {
        assert_eq!(failure(&server(serve), 1), NO_CONNECTION, "{name}");
    }
}

#[test]
fn a_server_that_comes_late_is_found() {
    let closed = ClosedPort::new("127.0.0.1");
    let address = closed.address.to_string();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        let (mut stream, _) = closed.open().accept().expect("somebody comes");
        let _ = stream.write_all(&settings());
        let _ = read_request(&mut stream);
        let _ = stream.write_all(&frame(HEADERS, END_HEADERS, 1, &good_headers()));
        let _ = stream.write_all(&[frame(DATA, 0, 1, &SERVING), trailers()].concat());
        hold(stream);
    });
    let begin = Instant::now();
    assert_eq!(probe(&address, 5).result, ProbeResult::Success);
    // It is tried again after a second.
    assert!(begin.elapsed() > Duration::from_millis(900), "{:?}", begin.elapsed());
}

#[test]
fn answers_that_end_wrongly_have_the_words_of_grpc_go() {
    let good = frame(HEADERS, END_HEADERS, 1, &good_headers());
    let with = |rest: &[Vec<u8>]| [vec![good.clone()], rest.to_vec()].concat().concat();
    let html = [vec![0x88], literal("content-type", "text/html")].concat();
    let go_away = |last: u32| {
        let mut payload = last.to_be_bytes().to_vec();
        payload.extend([0, 0, 0, 0]);
        payload.extend(b"bye");
        frame(GO_AWAY, 0, 0, &payload)
    };
    let rows: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing", vec![], "Unavailable desc = error reading from server: EOF"),
        (
            "half a frame",
            vec![0, 0],
            "Unavailable desc = error reading from server: unexpected EOF",
        ),
        ("only headers", with(&[]), "Unavailable desc = error reading from server: EOF"),
        (
            "reset",
            frame(RST_STREAM, 0, 1, &[0, 0, 0, 2]),
            "Internal desc = stream terminated by RST_STREAM with error code: INTERNAL_ERROR",
        ),
        (
            "reset after headers",
            with(&[frame(RST_STREAM, 0, 1, &[0, 0, 0, 8])]),
            "Canceled desc = stream terminated by RST_STREAM with error code: CANCEL",
        ),
        (
            "reset in the message",
            with(&[frame(DATA, 0, 1, &[0, 0]), frame(RST_STREAM, 0, 1, &[0, 0, 0, 11])]),
            "ResourceExhausted desc = stream terminated by RST_STREAM with error code: ENHANCE_YOUR_CALM",
        ),
        (
            "it goes away and does not answer",
            go_away(1),
            "Unavailable desc = closing transport due to: connection error: desc = \"error reading from server: EOF\", received prior goaway: code: NO_ERROR, debug data: \"bye\"",
        ),
        (
            "it goes away and has not begun",
            go_away(0),
            "Unavailable desc = the connection is draining",
        ),
        (
            "no trailers",
            with(&[frame(DATA, END, 1, &SERVING)]),
            "Internal desc = server closed the stream without sending trailers",
        ),
        (
            "HTML",
            frame(HEADERS, END_HEADERS, 1, &html),
            "Unknown desc = unexpected HTTP status code received from server: 200 (OK); transport: received unexpected content-type \"text/html\"",
        ),
        (
            "headers in the middle",
            with(&[
                frame(DATA, 0, 1, &SERVING),
                frame(HEADERS, END_HEADERS, 1, &literal("a", "b")),
            ]),
            "Internal desc = a HEADERS frame cannot appear in the middle of a stream",
        ),
        (
            "too large a message",
            with(&[frame(DATA, 0, 1, &[0, 0xff, 0xff, 0xff, 0xff, 1])]),
            "ResourceExhausted desc = grpc: received message larger than max (4294967295 vs. 4194304)",
        ),
        (
            "two messages",
            with(&[frame(DATA, 0, 1, &[SERVING, SERVING].concat()), trailers()]),
            "Internal desc = cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message",
        ),
        (
            "no message",
            with(&[trailers()]),
            "Internal desc = cardinality violation: received no response message from non-server-streaming RPC",
        ),
        (
            "too large a frame",
            vec![0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, 1, 1],
            "Unavailable desc = error reading from server: http2: frame too large",
        ),
    ];
    for (name, answer, expected) in rows {
        assert_eq!(failure(&answering(answer, close), 5), expected, "{name}");
    }
}

#[test]
fn a_reset_connection_is_one() {
    let address = server(|mut stream| {
        let _ = stream.write_all(&settings());
        let mut preface = [0; 24];
        let _ = stream.read_exact(&mut preface);
        // To close with bytes unread is to reset.
        thread::sleep(Duration::from_millis(200));
    });
    let said = failure(&address, 5);
    let (before, after) = said.split_once("read tcp 127.0.0.1:").unwrap_or((&said, ""));
    assert_eq!(before, "Unavailable desc = error reading from server: ", "{said}");
    assert!(after.ends_with("->ADDR: read: connection reset by peer"), "{said}");
}

#[test]
fn a_call_that_is_refused_is_made_again() {
    let address = server(|mut stream| {
        let _ = stream.write_all(&settings());
        let _ = read_request(&mut stream);
        let _ = stream.write_all(&frame(RST_STREAM, 0, 1, &[0, 0, 0, 7]));
        loop {
            let mut head = [0; 9];
            if stream.read_exact(&mut head).is_err() {
                return;
            }
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let _ = stream.read_exact(&mut vec![0; length]);
            if head[3] == DATA && head[4] & END != 0 {
                break;
            }
        }
        let _ = stream.write_all(&frame(HEADERS, END_HEADERS, 3, &good_headers()));
        let _ = stream.write_all(&frame(DATA, 0, 3, &SERVING));
        let status = literal("grpc-status", "0");
        let _ = stream.write_all(&frame(HEADERS, END | END_HEADERS, 3, &status));
        hold(stream);
    });
    assert_eq!(probe(&address, 5).output.text(), "service healthy");
}

#[test]
fn floods_end_with_the_time() {
    type Flood = (&'static str, Vec<u8>, Vec<u8>);
    let good = || frame(HEADERS, END_HEADERS, 1, &good_headers());
    let floods: [Flood; 6] = [
        ("nothing", vec![], vec![]),
        ("settings", vec![], settings()),
        ("pings", vec![], frame(PING, 0, 0, &[7; 8])),
        ("empty data", good(), frame(DATA, 0, 1, &[])),
        (
            "informational headers",
            vec![],
            frame(HEADERS, END_HEADERS, 1, &[0x08, 3, b'1', b'0', b'3']),
        ),
        (
            "an endless block of headers",
            frame(HEADERS, 0, 1, &[]),
            frame(CONTINUATION, 0, 1, &[0x90; 16_000]),
        ),
    ];
    for (name, first, flood) in floods {
        let address = server(move |mut stream| {
            let _ = stream.write_all(&settings());
            let Ok(mut reader) = stream.try_clone() else { return };
            if read_request(&mut reader).is_none() {
                return;
            }
            thread::spawn(move || hold(reader));
            let _ = stream.write_all(&first);
            let many: Vec<u8> = flood.iter().copied().cycle().take(flood.len() * 64).collect();
            while !many.is_empty() && stream.write_all(&many).is_ok() {}
            hold(stream);
        });
        let said = failure(&address, 1);
        // What breaks the rules ends at once; what is only useless ends with the time.
        let is_broken = said.starts_with("Unavailable") || said.starts_with("Internal");
        let is_broken = is_broken || said.starts_with("ResourceExhausted");
        assert!(said == NO_ANSWER || is_broken, "{name}: {said}");
    }
}

#[test]
fn a_server_that_goes_away_for_good_is_not_found_again() {
    // The servers of other tests, which have another address, cannot take the port when it is free again.
    let listener = TcpListener::bind("127.0.0.2:0").expect("a port is free");
    let address = listener.local_addr().expect("it has a port").to_string();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody comes");
        let _ = stream.write_all(&settings());
        let _ = read_request(&mut stream);
        drop(listener);
        let _ = stream.write_all(&frame(GO_AWAY, 0, 0, &[0; 8]));
        hold(stream);
    });
    let expected = "Unavailable desc = connection error: desc = \"transport: Error while dialing: dial tcp ADDR: connect: connection refused\"";
    assert_eq!(failure(&address, 5), expected);
}

#[test]
fn no_more_is_read_than_there_is_room_for() {
    static SENT: AtomicUsize = AtomicUsize::new(0);
    let address = server(|mut stream| {
        let _ = stream.write_all(&settings());
        let Ok(mut reader) = stream.try_clone() else { return };
        if read_request(&mut reader).is_none() {
            return;
        }
        thread::spawn(move || hold(reader));
        let _ = stream.write_all(&frame(HEADERS, END_HEADERS, 1, &good_headers()));
        // Says that 4 MiB come, and does not wait until there is room for them.
        let _ = stream.write_all(&frame(DATA, 0, 1, &[0, 0, 0x40, 0, 0]));
        let part = frame(DATA, 0, 1, &[0; 16_000]);
        while stream.write_all(&part).is_ok() {
            SENT.fetch_add(part.len(), Ordering::SeqCst);
        }
    });
    let said = failure(&address, 5);
    assert_eq!(said, "Internal desc = received data exceeding the limit 65535 bytes");
    // What is beyond that is in the buffers of the kernel.
    assert!(SENT.load(Ordering::SeqCst) < 32 << 20, "{SENT:?}");
}
