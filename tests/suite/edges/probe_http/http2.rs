//! Servers that agree on HTTP/2.

use super::tls::server;
use super::*;
use crate::edges::http_server::pki::Certified;
use std::sync::Arc;

const GET: &str = "failure: Get \"https://127.0.0.1:PORT/x\": ";

/// The settings of a server: none.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

/// The head of an answer with the status 200, and whether more headers of it come.
fn head(is_complete: bool) -> Vec<u8> {
    vec![0, 0, 1, 1, if is_complete { 4 } else { 0 }, 0, 0, 0, 1, 0x88]
}

/// Starts a server that says this once it has got a request, and then that for ever.
fn say(once: &[u8], again: &[u8]) -> u16 {
    let (once, again) = (once.to_owned(), again.to_owned());
    server(h2_config(), move |stream| {
        read_headers(stream);
        let _ = stream.write_all(&once);
        let _ = stream.flush();
        while !again.is_empty() && stream.write_all(&again).is_ok() {}
        stream.conn.send_close_notify();
        let _ = stream.flush();
        let _ = stream.sock.shutdown(std::net::Shutdown::Write);
        while stream.sock.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {}
    })
}

fn h2_config() -> Arc<rustls::ServerConfig> {
    let mut config = rustls::ServerConfig::clone(&Certified::by_itself("other.example").server());
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config)
}

/// Reads up to the headers of a request.
fn read_headers(stream: &mut impl Read) {
    let mut preface = [0; 24];
    let mut is_ok = stream.read_exact(&mut preface).is_ok();
    while is_ok {
        let mut header = [0; 9];
        is_ok = stream.read_exact(&mut header).is_ok();
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
        is_ok &= stream.read_exact(&mut vec![0; length as usize]).is_ok();
        if header[3] == 1 {
            return;
        }
    }
}

#[test]
fn what_goes_wrong_is_said_in_the_words_of_go() {
    let frame = |kind: u8, stream: u8, payload: &[u8]| {
        let start = [0, 0, payload.len() as u8, kind, 0, 0, 0, 0, stream];
        [SETTINGS, &start, payload].concat()
    };
    for (name, bytes, expected) in [
        ("closed", SETTINGS.to_vec(), "unexpected EOF"),
        (
            "reset",
            frame(3, 1, &[0, 0, 0, 2]),
            "stream error: stream ID 1; INTERNAL_ERROR; received from peer",
        ),
        (
            "gone",
            frame(7, 0, &[0, 0, 0, 1, 0, 0, 0, 11, b'n', b'o']),
            "http2: server sent GOAWAY and closed the connection; LastStreamID=1, \
             ErrCode=ENHANCE_YOUR_CALM, debug=\"no\"",
        ),
        (
            "gone before it began",
            frame(7, 0, &[0, 0, 0, 0, 0, 0, 0, 11]),
            "http2: Transport received GOAWAY from server ErrCode:ENHANCE_YOUR_CALM",
        ),
        (
            "HTTP/1",
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
            "http2: failed reading the frame payload: http2: frame too large, note that the frame \
             header looked like an HTTP/1.1 header",
        ),
    ] {
        let port = say(&bytes, b"");
        let attempt = probe(port, "HTTPS", Duration::from_secs(5));
        assert_eq!(shown(&attempt, port), format!("{GET}{expected}"), "{name}");
        assert_eq!(attempt.cause, Some(Cause::Protocol), "{name}");
    }
}

#[test]
fn floods_end_in_time() {
    let with = |bytes: &[u8]| [SETTINGS, bytes].concat();
    let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8].repeat(100);
    let more_headers = {
        let header = [0, 1, b'a', 1, b'b'].repeat(3000);
        let length = (header.len() as u32).to_be_bytes();
        [&length[1..], &[9, 0, 0, 0, 0, 1], &header].concat()
    };
    for (name, once, again) in [
        ("settings", with(b""), SETTINGS.repeat(100)),
        ("pings", with(b""), ping),
        ("headers", with(&head(false)), more_headers),
        ("empty headers", with(&head(false)), [0, 0, 0, 9, 0, 0, 0, 0, 1].repeat(100)),
        ("empty data", with(&head(true)), [0, 0, 0, 0, 0, 0, 0, 0, 1].repeat(100)),
    ] {
        let port = say(&once, &again);
        let attempt = probe(port, "HTTPS", SHORT);
        assert_eq!(attempt.result, ProbeResult::Failure, "{name}: {attempt:?}");
    }
}

#[test]
fn endless_bodies_are_cut() {
    let data = [&[0, 4, 0, 0, 0, 0, 0, 0, 1][..], &[b'a'; 1024]].concat();
    let once = [SETTINGS, &head(true), &data.repeat(12)].concat();
    let port = say(&once, b"");
    let attempt = probe(port, "HTTPS", Duration::from_secs(5));
    assert_eq!(attempt.result, ProbeResult::Success, "{attempt:?}");
    assert_eq!(attempt.output.0, vec![b'a'; MAX_OUTPUT_BYTES]);
    assert_eq!(attempt.exchanges[0].head.text(), ":status: 200\r\n");
}

#[test]
fn half_a_body_is_an_error() {
    let once = [SETTINGS, &head(true), &[0, 0, 1, 0, 0, 0, 0, 0, 1, b'a']].concat();
    let port = say(&once, b"");
    let attempt = probe(port, "HTTPS", Duration::from_secs(5));
    assert_eq!(shown(&attempt, port), "failure error: unexpected EOF");
}

#[test]
fn the_body_of_a_redirect_may_take_all_the_time() {
    // 302 to /y, whose names and values are written out.
    let fields = [b"\x48\x03302\x0f\x1f\x02/y".as_slice()].concat();
    let start = [0, 0, fields.len() as u8, 1, 4, 0, 0, 0, 1];
    let config = h2_config();
    let port = server(config, move |stream| {
        read_headers(stream);
        let _ = stream.write_all(&[SETTINGS, &start, &fields].concat());
        let _ = stream.flush();
        sleep(super::LONG);
    });
    let expected = format!("failure: Get \"https://127.0.0.1:PORT/y\": {TOO_LATE}");
    assert_eq!(shown(&probe(port, "HTTPS", SHORT), port), expected);
}
