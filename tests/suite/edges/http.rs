//! The small HTTP client: what a server can do wrong, and that no call outlives its deadline.

use super::http_server::pki::{Authority, Certified};
use super::http_server::{AMPLE, SHORT, Server, Wire, answer, timed};
use crate::closed_port::ClosedPort;
use kq_api::kubelet_api::{Credentials, HttpError, KubeletApi, Phase, ServerTrust};
use std::io::Write;
use std::thread::sleep;
use std::time::Duration;

/// The smallest time between two bytes of a server that drips.
const DRIP: Duration = Duration::from_millis(50);

/// Queries a server, through TLS or not, and trusts every certificate.
fn get(url: String, deadline: Duration) -> Result<Vec<u8>, HttpError> {
    KubeletApi { url, credentials: Credentials::None, server: ServerTrust::Insecure }
        .get("/pods", deadline)
}

/// Returns both kinds of connection.
fn wires() -> [(&'static str, Wire); 2] {
    [("http", Wire::Plain), ("https", Wire::Tls(Certified::by_itself("node").server()))]
}

#[test]
fn an_answer_is_read_however_long_it_is() {
    for (scheme, wire) in wires() {
        for (name, said, expected) in [
            ("a length", answer("200 OK", &[], "{\"a\":1}"), "{\"a\":1}"),
            ("nothing", answer("200 OK", &[], ""), ""),
            (
                "chunks",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\
                 \r\nTrailer: t\r\n\r\n"
                    .to_owned(),
                "abcde",
            ),
            ("until the end", "HTTP/1.0 200 OK\r\n\r\nabc".to_owned(), "abc"),
            (
                "a hint before it",
                format!("HTTP/1.1 103 Early Hints\r\n\r\n{}", answer("200 OK", &[], "a")),
                "a",
            ),
        ] {
            let server = Server::saying(wire.clone(), said);
            let body = get(server.url(scheme), AMPLE)
                .unwrap_or_else(|error| panic!("{scheme}, {name}: {error}"));
            assert_eq!(String::from_utf8_lossy(&body), expected, "{scheme}, {name}");
        }
    }
}

#[test]
fn a_request_says_what_it_must_and_no_more() {
    for (scheme, wire) in wires() {
        let server = Server::saying(wire, answer("200 OK", &[], ""));
        get(server.url(scheme), AMPLE).expect("an answer");
        let seen = server.only();
        assert_eq!(seen.line, "GET /pods HTTP/1.1");
        assert_eq!(seen.header("host"), Some(format!("127.0.0.1:{}", server.port).as_str()));
        assert_eq!(seen.header("authorization"), None);
        assert_eq!(seen.header("accept-encoding"), None, "kq does not unpack answers");
        assert!(seen.header("user-agent").is_some_and(|agent| agent.starts_with("kq/")));
    }
}

#[test]
fn a_large_answer_is_read() {
    const SIZE: usize = 65 << 20;
    for (scheme, wire) in wires() {
        let server = Server::start(wire, |_, _, to| {
            write!(to, "HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n")?;
            let block: Vec<u8> = (0..1 << 20).map(|i| (i % 251) as u8).collect();
            (0..SIZE >> 20).try_for_each(|_| to.write_all(&block))
        });
        let body = get(server.url(scheme), Duration::from_secs(60)).expect("an answer");
        assert_eq!(body.len(), SIZE, "{scheme}");
        let is_whole =
            body.chunks(1 << 20).all(|b| b.iter().enumerate().all(|(i, &b)| b == (i % 251) as u8));
        assert!(is_whole, "{scheme}");
    }
}

#[test]
fn an_answer_that_is_too_large_is_not_begun() {
    let server = Server::saying(
        Wire::Plain,
        "HTTP/1.1 200 OK\r\nContent-Length: 1073741825\r\n\r\n".to_owned(),
    );
    let error = get(server.url("http"), AMPLE).expect_err("too large");
    assert!(matches!(error, HttpError::TooLarge { limit: 0x2000_0000, .. }), "{error}");
}

#[test]
fn nothing_outlives_its_deadline() {
    type Say = fn(&mut dyn Write) -> std::io::Result<()>;
    let dripped: &[(&str, Phase, Say)] = &[
        ("no headers", Phase::Headers, |_| {
            sleep(SHORT * 4);
            Ok(())
        }),
        ("headers that drip", Phase::Headers, |to| {
            to.write_all(b"HTTP/1.1 200 OK\r\nX: ")?;
            drip(to)
        }),
        ("headers without end", Phase::Headers, |to| {
            to.write_all(b"HTTP/1.1 200 OK\r\n")?;
            (0..400).try_for_each(|i| {
                sleep(DRIP);
                write!(to, "X-{i}: y\r\n")?;
                to.flush()
            })
        }),
        ("no body", Phase::Body, |to| {
            to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")?;
            to.flush()?;
            sleep(SHORT * 4);
            Ok(())
        }),
        ("a body that drips", Phase::Body, |to| {
            to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")?;
            drip(to)
        }),
        ("chunks that drip", Phase::Body, |to| {
            to.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            (0..400).try_for_each(|_| {
                sleep(DRIP);
                to.write_all(b"1\r\nx\r\n")?;
                to.flush()
            })
        }),
    ];
    std::thread::scope(|threads| {
        for (scheme, wire) in wires() {
            for &(name, expected, say) in dripped {
                let wire = wire.clone();
                threads.spawn(move || {
                    let server = Server::start(wire, move |_, _, to| say(to));
                    let error = timed(SHORT, |deadline| get(server.url(scheme), deadline));
                    match error.expect_err("there is no end to it") {
                        HttpError::Timeout { phase, deadline, .. } => {
                            assert_eq!((phase, deadline), (expected, SHORT), "{scheme}, {name}");
                        }
                        error => panic!("{scheme}, {name}: {error}"),
                    }
                });
            }
        }
    });
}

/// Writes one byte at a time, for longer than any deadline of the test.
fn drip(to: &mut dyn Write) -> std::io::Result<()> {
    (0..(SHORT * 4).as_millis() / DRIP.as_millis()).try_for_each(|_| {
        sleep(DRIP);
        to.write_all(b"x")?;
        to.flush()
    })
}

#[test]
fn a_flood_does_not_outlive_its_deadline() {
    let server = Server::start(Wire::Plain, |_, _, to| {
        to.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        loop {
            to.write_all(b"1\r\nx\r\n")?;
        }
    });
    let error = timed(SHORT, |deadline| get(server.url("http"), deadline)).expect_err("no end");
    assert!(matches!(error, HttpError::Timeout { phase: Phase::Body, .. }), "{error}");
}

#[test]
fn a_silent_server_is_left_in_the_phase_that_it_is_silent_in() {
    for (scheme, expected) in [("http", Phase::Headers), ("https", Phase::Tls)] {
        let server = Server::start(Wire::Silent, |_, _, _| Ok(()));
        let error = timed(SHORT, |deadline| get(server.url(scheme), deadline)).expect_err("silent");
        match error {
            HttpError::Timeout { phase, .. } => assert_eq!(phase, expected, "{scheme}"),
            error => panic!("{scheme}: {error}"),
        }
    }
}

#[test]
fn a_server_that_accepts_nobody_is_left_while_connecting() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("tokio");
    let _guard = runtime.enter();
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    // One connection may wait to be accepted; the kernel lets the others wait for it.
    let listener = socket.listen(0).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let _waiting: Vec<_> =
        (0..4).filter_map(|_| std::net::TcpStream::connect_timeout(&address, DRIP).ok()).collect();
    let error = timed(SHORT, |deadline| get(format!("http://{address}"), deadline))
        .expect_err("nobody accepts");
    assert!(matches!(error, HttpError::Timeout { phase: Phase::Connect, .. }), "{error}");
}

#[test]
fn a_port_where_nobody_listens_refuses() {
    let closed = ClosedPort::new("127.0.0.1");
    let address = closed.address;
    for scheme in ["http", "https"] {
        let error = get(format!("{scheme}://{address}"), AMPLE).expect_err("nobody listens");
        assert!(matches!(error, HttpError::Refused { .. }), "{error}");
        assert_eq!(error.to_string(), format!("{address} refused the connection"));
    }
}

#[test]
fn a_name_that_does_not_exist_is_said_so() {
    let error = timed(AMPLE, |deadline| get("http://no-such-host.invalid:1".to_owned(), deadline))
        .expect_err("no such host");
    assert!(matches!(error, HttpError::Connect { .. }), "{error}");
}

#[test]
fn an_answer_that_is_cut_off_is_no_answer() {
    for (scheme, wire) in wires() {
        for (name, said, received, expected) in [
            ("nothing at all", "", 0, None),
            ("in the status", "HTTP/1.1 20", 0, None),
            ("in the headers", "HTTP/1.1 200 OK\r\nContent-Le", 0, None),
            ("a length", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", 3, Some(10)),
            (
                "in a chunk",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
                3,
                None,
            ),
            (
                "after a chunk",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
                3,
                None,
            ),
            (
                "before the last chunk ends",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
                3,
                None,
            ),
        ] {
            let server = Server::saying(wire.clone(), said);
            match get(server.url(scheme), AMPLE) {
                Err(HttpError::CutOff { received: r, expected: e, .. }) => {
                    assert_eq!((r, e), (received, expected), "{scheme}, {name}");
                }
                other => panic!("{scheme}, {name}: {other:?}"),
            }
        }
    }
}

#[test]
fn garbage_is_not_http() {
    for (name, said) in [
        ("text", "hello, this is a mail server\r\n\r\n"),
        ("zeros", "\0\0\0\0\0\0\0\0"),
        ("another version", "HTTP/3.0 200 OK\r\n\r\n"),
        ("a code of letters", "HTTP/1.1 abc OK\r\n\r\n"),
        ("a header without a colon", "HTTP/1.1 200 OK\r\nhello\r\n\r\n"),
        ("a length of letters", "HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n"),
        ("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
        (
            "a chunk of letters",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc\r\n0\r\n\r\n",
        ),
    ] {
        for (scheme, wire) in wires() {
            let server = Server::saying(wire, said);
            match get(server.url(scheme), AMPLE) {
                Err(HttpError::NotHttp { .. }) => {}
                other => panic!("{scheme}, {name}: {other:?}"),
            }
        }
    }
}

#[test]
fn the_wrong_protocol_on_a_port_is_said_so() {
    let server = Server::saying(Wire::Plain, answer("400 Bad Request", &[], "no"));
    let error = get(server.url("https"), AMPLE).expect_err("no TLS");
    assert_eq!(
        error.to_string(),
        format!("no TLS with 127.0.0.1:{}: the server does not speak TLS", server.port)
    );
    let server = Server::saying(Wire::Tls(Certified::by_itself("node").server()), "");
    let error = get(server.url("http"), AMPLE).expect_err("TLS");
    assert!(matches!(error, HttpError::NotHttp { .. }), "{error:?}");
}

#[test]
fn a_redirect_is_reported_and_not_followed() {
    let elsewhere = Server::saying(Wire::Plain, answer("200 OK", &[], "elsewhere"));
    let location = format!("{}/pods", elsewhere.url("http"));
    for (code, reason) in [(301, "Moved Permanently"), (302, "Found"), (307, "Temporary Redirect")]
    {
        let header = format!("Location: {location}");
        let status = format!("{code} {reason}");
        let server = Server::saying(Wire::Plain, answer(&status, &[&header], ""));
        let error = get(server.url("http"), AMPLE).expect_err("a redirect");
        assert_eq!(error.status(), Some(code));
        assert_eq!(
            error.to_string(),
            format!(
                "127.0.0.1:{} answered {code} {reason}, a redirect to {location} that is not \
                 followed",
                server.port
            )
        );
        assert_eq!(server.seen().len(), 1);
    }
    assert!(elsewhere.seen().is_empty(), "{:?}", elsewhere.seen());
}

#[test]
fn what_a_server_says_beside_a_refusal_is_shown_in_one_short_line() {
    let long = "é".repeat(500);
    for (body, expected) in [
        ("404 page\n\tnot found\u{1b}[31m\n", "404 page not found [31m"),
        (long.as_str(), &long[..400]),
    ] {
        let server = Server::saying(Wire::Plain, answer("404 Not Found", &[], body));
        match get(server.url("http"), AMPLE) {
            Err(HttpError::Status { code: 404, body, path, .. }) => {
                assert_eq!(body, expected);
                assert_eq!(&*path, "/pods");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_refusal_counts_even_when_its_text_is_cut_off_or_slow() {
    let cut = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 100\r\n\r\npanic";
    let server = Server::saying(Wire::Plain, cut);
    let error = get(server.url("http"), AMPLE).expect_err("a refusal");
    assert!(error.to_string().ends_with("answered 500 Internal Server Error: panic"), "{error}");
    let server = Server::start(Wire::Plain, move |_, _, to| {
        to.write_all(cut.as_bytes())?;
        to.flush()?;
        sleep(SHORT * 4);
        Ok(())
    });
    let error = timed(SHORT, |deadline| get(server.url("http"), deadline)).expect_err("a refusal");
    assert!(error.to_string().ends_with("answered 500 Internal Server Error: panic"), "{error}");
}

#[test]
fn a_connection_that_ends_in_the_handshake_is_an_error_of_tls() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut hello = [0; 5];
        std::io::Read::read_exact(&mut stream, &mut hello).expect("a hello");
        let length = usize::from(u16::from_be_bytes([hello[3], hello[4]]));
        std::io::Read::read_exact(&mut stream, &mut vec![0; length]).expect("the rest");
    });
    let error = get(format!("https://{address}"), AMPLE).expect_err("the end");
    server.join().expect("the server");
    assert!(matches!(error, HttpError::Tls { .. }), "{error:?}");
    assert!(error.to_string().contains("closed the connection in the handshake"), "{error}");
}

#[test]
fn a_server_that_ends_without_saying_so_cut_its_answer_off() {
    // Without a length the end of the connection is the end of the answer; without the farewell of
    // TLS any host on the path could have ended it.
    let authority = Authority::new();
    let config = authority.sign(&["127.0.0.1"]).server();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut connection = rustls::ServerConnection::new(config).expect("a server");
        let mut tls = rustls::Stream::new(&mut connection, &mut stream);
        let mut request = [0; 1024];
        assert!(std::io::Read::read(&mut tls, &mut request).expect("a request") > 0);
        tls.write_all(b"HTTP/1.0 200 OK\r\n\r\nabc").expect("an answer");
        tls.flush().expect("an answer");
    });
    let error = get(format!("https://{address}"), AMPLE).expect_err("no farewell");
    server.join().expect("the server");
    assert!(matches!(error, HttpError::CutOff { received: 3, .. }), "{error:?}");
}
