//! Servers with TLS, and such that only seem to have it.

use super::*;
use crate::edges::http_server::pki::{Authority, Certified};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::sync::Arc;

const GET: &str = "failure: Get \"https://127.0.0.1:PORT/x\": ";

/// Starts a server that gives this answer to every request.
fn say(bytes: &'static [u8]) -> u16 {
    serve(move |_, mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read(&mut [0; 4096]);
    })
}

pub fn server(
    config: Arc<ServerConfig>,
    each: impl Fn(&mut StreamOwned<ServerConnection, TcpStream>) + Send + Sync + 'static,
) -> u16 {
    serve(move |_, stream| {
        let connection = ServerConnection::new(Arc::clone(&config)).expect("a server");
        each(&mut StreamOwned::new(connection, stream));
    })
}

fn certified() -> Certified {
    Certified::by_itself("other.example")
}

#[test]
fn what_is_no_tls_is_refused_in_the_words_of_go() {
    let no_tls = "tls: first record does not look like a TLS handshake";
    for (name, bytes, expected) in [
        (
            "HTTP",
            b"HTTP/1.1 400 Bad Request\r\n\r\n".as_slice(),
            "http: server gave HTTP response to HTTPS client",
        ),
        ("mail", b"220 mail.example.com ESMTP\r\n", no_tls),
        ("nothing", b"", "EOF"),
        ("little", b"hi\n", "unexpected EOF"),
        ("data", &[23, 3, 3, 0, 1, 0], no_tls),
        ("old", &[0x80, 0x2e, 1, 0, 2], "tls: unsupported SSLv2 handshake received"),
        ("long", &[22, 3, 3, 0xff, 0xff, 0], "tls: oversized record received with length 65535"),
        ("half a record", &[22, 3, 3, 0, 9, 2], "unexpected EOF"),
        ("closed properly", &[21, 3, 3, 0, 2, 1, 0], "EOF"),
        ("alert", &[21, 3, 3, 0, 2, 2, 40], "remote error: tls: handshake failure"),
        ("alert of no name", &[21, 3, 3, 0, 2, 2, 200], "remote error: tls: alert(200)"),
        ("unknown name", &[21, 3, 1, 0, 2, 2, 112], "remote error: tls: unrecognized name"),
    ] {
        let port = say(bytes);
        let attempt = probe(port, "HTTPS", Duration::from_secs(5));
        assert_eq!(shown(&attempt, port), format!("{GET}{expected}"), "{name}");
        assert_eq!(attempt.cause, Some(Cause::Tls), "{name}");
    }
}

#[test]
fn old_versions_are_refused() {
    // A ServerHello of TLS 1.1: version, random, no session, a cipher suite, no compression.
    let mut hello = vec![22, 3, 2, 0, 42, 2, 0, 0, 38, 3, 2];
    hello.extend([7; 32]);
    hello.extend([0, 0xc0, 0x13, 0]);
    let port = say(hello.leak());
    let attempt = probe(port, "HTTPS", Duration::from_secs(5));
    let expected = "tls: server selected unsupported protocol version 302";
    assert_eq!(shown(&attempt, port), format!("{GET}{expected}"));
}

#[test]
fn silence_is_not_waited_for() {
    let config = certified().server();
    let during = serve(|_, stream| {
        sleep(super::LONG);
        drop(stream);
    });
    let after = server(config, |stream| {
        let _ = stream.conn.complete_io(&mut stream.sock);
        sleep(super::LONG);
    });
    for (name, port, phase) in [("during", during, Phase::Tls), ("after", after, Phase::FirstByte)]
    {
        let attempt = probe(port, "HTTPS", SHORT);
        assert_eq!(shown(&attempt, port), format!("{GET}{TOO_LATE}"), "{name}");
        let last = attempt.phases.last().expect("parts were measured");
        assert_eq!((last.phase, last.unfinished), (phase, true), "{name}");
    }
}

#[test]
fn a_connection_that_breaks_says_how() {
    let own = "read tcp 127.0.0.1:OWN->127.0.0.1:PORT: read: connection reset by peer";
    let head = "HTTP/1.1 200 OK\r\n";
    for (name, says, resets, expected) in [
        ("closed", "", false, "EOF".to_owned()),
        ("closed in the head", head, false, format!("{BROKEN}unexpected EOF")),
        ("reset", "", true, own.to_owned()),
        // With TLS, Go remembers the error.
        ("reset in the head", head, true, format!("{BROKEN}{own}")),
    ] {
        let port = server(certified().server(), move |stream| {
            read_request(stream);
            let _ = stream.write_all(says.as_bytes());
            let _ = stream.flush();
            if resets {
                reset(&stream.sock);
            }
        });
        let attempt = probe(port, "HTTPS", Duration::from_secs(5));
        assert_eq!(shown(&attempt, port), format!("{GET}{expected}"), "{name}");
    }
}

#[test]
fn a_client_certificate_is_never_shown() {
    let authority = Authority::new();
    let config = certified().demanding(&authority, rustls::ALL_VERSIONS);
    let port = server(config, |stream| {
        read_request(stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
    });
    let attempt = probe(port, "HTTPS", Duration::from_secs(5));
    assert_eq!(shown(&attempt, port), format!("{GET}remote error: tls: certificate required"));
}

#[test]
fn a_server_without_the_key_to_its_certificate_is_refused() {
    let expected = "tls: invalid signature by the server certificate: ECDSA verification failure";
    for version in rustls::ALL_VERSIONS {
        let port = server(certified().stolen_by(&certified(), version), |stream| {
            read_request(stream);
        });
        let attempt = probe(port, "HTTPS", Duration::from_secs(5));
        assert_eq!(shown(&attempt, port), format!("{GET}{expected}"), "{version:?}");
    }
}
