//! Answers that are wrong, endless or slow, in HTTP/1.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn endless_bodies_are_cut() {
    let starts = [
        ("length", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n", "a"),
        ("until close", "HTTP/1.1 200 OK\r\n\r\n", "a"),
        ("large chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n", "a"),
        ("small chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"),
    ];
    for (name, start, rest) in starts {
        let port = answer(move |stream| {
            let _ = stream.write_all(start.as_bytes());
            repeat(stream, rest.repeat(5000).as_bytes());
        });
        let attempt = probe(port, "HTTP", Duration::from_secs(5));
        assert_eq!(attempt.result, ProbeResult::Success, "{name}");
        assert_eq!(attempt.output.0, vec![b'a'; MAX_OUTPUT_BYTES], "{name}");
    }
}

#[test]
fn endless_chunks_without_data_are_refused() {
    let start = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let noisy = format!("1;{}\r\na\r\n", "x".repeat(4000));
    for (name, rest, expected) in [
        ("extensions", noisy.as_str(), "chunked encoding contains too much non-data"),
        ("one extension", "1;xxxxxxxxxxxxxxxxxx", "header line too long"),
        (
            "trailers",
            "0\r\nA: b\r\nA: b\r\nA: b",
            "http: suspiciously long trailer after chunked body",
        ),
    ] {
        let rest = rest.to_owned();
        let port = answer(move |stream| {
            let _ = stream.write_all(start.as_bytes());
            let (first, again) = rest.split_once("\r\nA").unwrap_or(("", &rest));
            let again = if first.is_empty() { again.to_owned() } else { format!("\r\nA{again}") };
            let _ = stream.write_all(first.as_bytes());
            repeat(stream, again.as_bytes());
        });
        let attempt = probe(port, "HTTP", Duration::from_secs(5));
        assert_eq!(shown(&attempt, port), format!("failure error: {expected}"), "{name}");
        assert_eq!(attempt.cause, Some(Cause::Protocol), "{name}");
    }
}

#[test]
fn one_byte_after_the_other_is_not_waited_for() {
    let pause = Duration::from_millis(200);
    for (name, at_once, slowly, expected) in [
        (
            "status",
            "",
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
            format!("{GET}{TOO_LATE}"),
        ),
        (
            "headers",
            "HTTP/1.1 200 OK\r\n",
            "A: bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
            format!("{GET}{TOO_LATE}"),
        ),
        (
            "body",
            "HTTP/1.1 200 OK\r\n\r\n",
            "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
            TOO_LATE_FOR_BODY.to_owned(),
        ),
        (
            "bad body",
            "HTTP/1.1 500 OK\r\n\r\n",
            "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
            TOO_LATE_FOR_BODY.to_owned(),
        ),
    ] {
        let port = answer(move |stream| {
            let _ = stream.write_all(at_once.as_bytes());
            dribble(stream, slowly.as_bytes(), pause);
        });
        let attempt = probe(port, "HTTP", SHORT);
        assert_eq!(shown(&attempt, port), expected, "{name}");
        assert_eq!(attempt.cause, Some(Cause::Timeout), "{name}");
        let last = attempt.phases.last().expect("parts were measured");
        assert!(last.unfinished, "{name}: {last:?}");
        // What came is there to be shown.
        assert!(attempt.exchanges[0].head.0.starts_with(b"HTTP/1.1"), "{name}");
    }
}

#[test]
fn long_heads_have_their_limit() {
    let exceeded =
        format!("{GET}{BROKEN}net/http: server response headers exceeded 10485760 bytes; aborted");
    for (name, start, rest, expected) in [
        ("one header", "HTTP/1.1 200 OK\r\nA: ", "aaaaaaaa", &exceeded),
        ("many headers", "HTTP/1.1 200 OK\r\n", "A: bb\r\n", &exceeded),
        ("many announcements", "", "HTTP/1.1 103 ABC\r\n\r\n", &exceeded),
    ] {
        let port = answer(move |stream| {
            let _ = stream.write_all(start.as_bytes());
            repeat(stream, rest.repeat(5000).as_bytes());
        });
        let attempt = probe(port, "HTTP", Duration::from_secs(120));
        assert_eq!(shown(&attempt, port), *expected, "{name}");
        assert_eq!(attempt.cause, Some(Cause::Protocol), "{name}");
    }
    let port = answer(|stream| {
        let header =
            format!("HTTP/1.1 200 OK\r\nA: {}\r\nContent-Length: 2\r\n\r\nok", "a".repeat(1 << 20));
        let _ = stream.write_all(header.as_bytes());
    });
    assert_eq!(shown(&probe(port, "HTTP", Duration::from_secs(5)), port), "success: ok");
}

#[test]
fn resets_are_shown_where_go_shows_them() {
    let own = "read tcp 127.0.0.1:OWN->127.0.0.1:PORT: read: connection reset by peer";
    for (name, bytes, expected) in [
        ("at once", "", format!("{GET}{own}")),
        ("in the status", "HTTP/1.1 20", format!("{GET}{BROKEN}malformed HTTP status code \"20\"")),
        (
            "in a header",
            "HTTP/1.1 200 OK\r\nA",
            format!("{GET}{BROKEN}malformed MIME header: missing colon: \"A\""),
        ),
        ("between headers", "HTTP/1.1 200 OK\r\nA: b\r\n", format!("{GET}{BROKEN}unexpected EOF")),
        ("in a body", "HTTP/1.1 200 OK\r\n\r\nab", "failure error: ".to_owned() + own),
        (
            "in a chunk",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nab",
            "failure error: ".to_owned() + own,
        ),
    ] {
        let port = answer(move |stream| {
            let _ = stream.write_all(bytes.as_bytes());
            reset(stream);
        });
        let attempt = probe(port, "HTTP", Duration::from_secs(5));
        let text = shown(&attempt, port);
        let text = match attempt.error {
            None => text,
            // The ports of an error are not those of an output.
            Some(error) => {
                let error = error.replace(&format!(":{port}"), ":PORT");
                let (own, peer) = error.split_once("->").expect("both sides");
                let own = own.trim_end_matches(|c: char| c.is_ascii_digit());
                format!("failure error: {own}OWN->{peer}")
            }
        };
        assert_eq!(text, expected, "{name}");
    }
}

#[test]
fn whatever_bytes_come_are_kept() {
    let port = answer(|stream| {
        let _ =
            stream.write_all(b"HTTP/1.1 200 \xff\x1b[2J\r\nA: \xfe\x80\r\n\r\n\x1b]0;x\x07\xff\0");
    });
    let attempt = probe(port, "HTTP", Duration::from_secs(5));
    assert_eq!(attempt.output.0, b"\x1b]0;x\x07\xff\0");
    let port = answer(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nA: \x1b[31m\r\n\r\n");
    });
    let attempt = probe(port, "HTTP", Duration::from_secs(5));
    assert_eq!(
        shown(&attempt, port),
        format!("{GET}{BROKEN}malformed MIME header line: A: \u{1b}[31m")
    );
    let port = answer(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nA\xff\r\n\r\n");
    });
    let attempt = probe(port, "HTTP", Duration::from_secs(5));
    assert_eq!(
        shown(&attempt, port),
        format!("{GET}{BROKEN}malformed MIME header: missing colon: \"A\\xff\"")
    );
    let port = answer(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nA: \x01\xff\r\n\r\n");
    });
    let attempt = probe(port, "HTTP", Duration::from_secs(5));
    assert!(attempt.output.0.ends_with(b"malformed MIME header line: A: \x01\xff"));
}

#[test]
fn redirects_end() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let port = answer(move |stream| {
        counted.fetch_add(1, Ordering::SeqCst);
        let _ = stream.write_all(b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n");
    });
    let attempt = probe(port, "HTTP", Duration::from_secs(5));
    assert_eq!(shown(&attempt, port), "failure: Get \"/x\": stopped after 10 redirects");
    assert_eq!((requests.load(Ordering::SeqCst), attempt.exchanges.len()), (10, 10));
    let connects = attempt.phases.iter().filter(|part| part.phase == Phase::Connect).count();
    assert_eq!(connects, 10);

    // Two ports that send each other the client.
    let first = TcpListener::bind("127.0.0.1:0").expect("a port");
    let first_port = first.local_addr().expect("an address").port();
    let second_port = answer(move |stream| {
        let _ =
            write!(stream, "HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:{first_port}/x\r\n\r\n");
    });
    spawn(move || {
        for mut stream in first.incoming().flatten() {
            read_request(&mut stream);
            let _ = write!(
                stream,
                "HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:{second_port}/x\r\n\r\n"
            );
        }
    });
    let attempt = probe(first_port, "HTTP", Duration::from_secs(5));
    assert!(attempt.output.text().ends_with("stopped after 10 redirects"), "{attempt:?}");
}

#[test]
fn the_body_of_a_redirect_may_take_all_the_time() {
    for (name, head, is_waited_for) in [
        ("until close", "HTTP/1.1 302 X\r\nLocation: /y\r\n\r\n", true),
        ("short", "HTTP/1.1 302 X\r\nLocation: /y\r\nContent-Length: 2048\r\n\r\n", true),
        ("long", "HTTP/1.1 302 X\r\nLocation: /y\r\nContent-Length: 2049\r\n\r\n", false),
        ("none", "HTTP/1.1 302 X\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n", false),
    ] {
        let port = serve(move |number, mut stream| {
            read_request(&mut stream);
            if number == 0 {
                let _ = stream.write_all(head.as_bytes());
                sleep(super::LONG);
            } else {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nok");
            }
        });
        let expected = if is_waited_for {
            format!("failure: Get \"http://127.0.0.1:PORT/y\": {TOO_LATE}")
        } else {
            "success: ok".to_owned()
        };
        assert_eq!(shown(&probe(port, "HTTP", SHORT), port), expected, "{name}");
    }
}

#[test]
fn an_answer_counts_that_comes_before_the_request_was_read() {
    let port = serve(|_, mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        sleep(Duration::from_millis(300));
    });
    assert_eq!(shown(&probe(port, "HTTP", Duration::from_secs(5)), port), "success: ok");
}

#[test]
fn parts_are_measured() {
    let port = answer(|stream| {
        sleep(Duration::from_millis(100));
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
        sleep(Duration::from_millis(200));
        let _ = stream.write_all(b"ok");
    });
    let attempt = probe(port, "HTTP", Duration::from_secs(5));
    let names: Vec<_> = attempt.phases.iter().map(|part| part.phase).collect();
    assert_eq!(names, [Phase::Connect, Phase::FirstByte, Phase::Body]);
    assert!(attempt.phases.iter().all(|part| !part.unfinished), "{:?}", attempt.phases);
    // Who looks late at what has come has waited less for it, and more for what was before.
    let waited: u64 = attempt.phases.iter().map(|part| part.took_us).sum();
    assert!(waited >= 300_000 && attempt.phases[1].took_us > 0, "{:?}", attempt.phases);
    let exchange = &attempt.exchanges[0];
    assert!(exchange.request.text().starts_with("GET /x HTTP/1.1\r\n"));
    assert_eq!(exchange.head.text(), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
    assert_eq!(
        (exchange.body.text().as_ref(), exchange.address.as_str()),
        ("ok", format!("127.0.0.1:{port}").as_str())
    );
}
