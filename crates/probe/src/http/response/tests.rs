use super::super::buffer::MAX_HEAD_BYTES;
use super::*;

/// Reads an answer whose bytes come `step` at a time and then end.
fn read(mut bytes: &[u8], step: usize, end: End) -> String {
    let mut reader = ResponseReader::new();
    let mut status = None;
    loop {
        match reader.advance() {
            Progress::More if bytes.is_empty() => reader.end(end.clone()),
            Progress::More => {
                let most = step.min(reader.room()).min(bytes.len());
                assert!(most > 0, "a read of nothing would be taken for the end");
                bytes = &bytes[reader.feed(&bytes[..most])..];
            }
            Progress::Head => {
                status = reader.head().map(|head| head.status);
                reader.read_body(10240);
            }
            Progress::End => {
                let body = String::from_utf8_lossy(reader.body()).into_owned();
                return format!("{} {body}", status.unwrap_or(9999));
            }
            Progress::Failed(ResponseError { text, in_body }) => {
                let place = if in_body { "body" } else { "head" };
                let text = String::from_utf8_lossy(&text).into_owned();
                let broken = "net/http: HTTP/1.x transport connection broken: ";
                return format!("{place}: {}", text.replace(broken, "~"));
            }
        }
    }
}

#[test]
fn answers_are_read_as_go_reads_them() {
    const LONG: &str = "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n";
    for (name, bytes, expected) in [
        ("nothing", "", "head: EOF"),
        ("length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokk", "200 ok"),
        ("until close", "HTTP/1.0 200 OK\r\n\r\nok", "200 ok"),
        (
            "kept open, but no length",
            "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nok",
            "200 ok",
        ),
        ("no text", "HTTP/1.1 200\r\n\r\n", "200 "),
        ("spaces before the code", "HTTP/1.1   200 OK\r\n\r\n", "200 "),
        ("any version", "HTTP/9.9 200 OK\r\n\r\n", "200 "),
        ("sign", "HTTP/1.1 +20 OK\r\n\r\n", "20 "),
        ("minus nothing", "HTTP/1.1 -00 OK\r\n\r\n", "0 "),
        ("minus", "HTTP/1.1 -20 OK\r\n\r\n", "head: ~malformed HTTP status code \"-20\""),
        ("space first", " HTTP/1.1 200\r\n", "head: ~malformed HTTP status code \"HTTP/1.1\""),
        ("no code", "HTTP/1.1 \r\n\r\n", "head: ~malformed HTTP status code \"\""),
        ("tab", "HTTP/1.1\t200 OK\r\n\r\n", "head: ~malformed HTTP status code \"OK\""),
        ("small letters", "http/1.1 200\r\n\r\n", "head: ~malformed HTTP version \"http/1.1\""),
        ("long version", "HTTP/1.10 200\r\n\r\n", "head: ~malformed HTTP version \"HTTP/1.10\""),
        ("code before version", "X 1\r\n\r\n", "head: ~malformed HTTP status code \"1\""),
        ("one word", "SSH-2.0\r\n", "head: ~malformed HTTP response \"SSH-2.0\""),
        ("cut", "HTTP/1.1 200 OK", "head: ~unexpected EOF"),
        (
            "cut after carriage return",
            "HTTP/1.1 200\r",
            "head: ~malformed HTTP status code \"200\\r\"",
        ),
        ("cut after headers", "HTTP/1.1 200 OK\r\nA: b\r\n", "head: ~unexpected EOF"),
        (
            "cut in the last line",
            "HTTP/1.1 200 OK\r\nA: b\r\n\r",
            "head: ~malformed MIME header: missing colon: \"\\r\"",
        ),
        ("announced", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 X\r\n\r\n", "204 "),
        ("only announced", "HTTP/1.1 100 Continue\r\n\r\n", "head: ~unexpected EOF"),
        (
            "other protocol",
            "HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: a, Upgrade\r\n\r\nhi",
            "101 hi",
        ),
        ("other protocol, not named", "HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\nhi", "101 "),
        ("no content", "HTTP/1.1 204 X\r\nContent-Length: 5\r\n\r\n", "204 "),
        ("not modified", "HTTP/1.1 304 X\r\nTransfer-Encoding: chunked\r\n\r\n", "304 "),
        (
            "bad length nevertheless",
            "HTTP/1.1 204 X\r\nContent-Length: x\r\n\r\n",
            "head: ~bad Content-Length \"x\"",
        ),
        (
            "empty length",
            "HTTP/1.1 200 X\r\nContent-Length:\r\n\r\n",
            "head: ~invalid empty Content-Length \"\"",
        ),
        (
            "plus",
            "HTTP/1.1 200 X\r\nContent-Length: +1\r\n\r\n",
            "head: ~bad Content-Length \"+1\"",
        ),
        ("too long", LONG, "head: ~bad Content-Length \"9223372036854775808\""),
        (
            "list",
            "HTTP/1.1 200 X\r\nContent-Length: 2, 2\r\n\r\n",
            "head: ~bad Content-Length \"2, 2\"",
        ),
        ("alike", "HTTP/1.1 200 X\r\nContent-Length: 2\r\ncontent-length:  2 \r\n\r\nok", "200 ok"),
        (
            "unlike",
            "HTTP/1.1 200 X\r\nContent-Length: 2\r\nContent-Length: 02\r\n\r\nok",
            "head: ~http: message cannot contain multiple Content-Length headers; got [\"2\" \"02\"]",
        ),
        (
            "chunks win",
            "HTTP/1.1 200 X\r\nContent-Length: 1\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            "200 ok",
        ),
        (
            "chunks and a bad length",
            "HTTP/1.1 200 X\r\nContent-Length: -1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "head: ~bad Content-Length \"-1\"",
        ),
        ("old chunks", "HTTP/1.0 200 X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "200 0\r\n"),
        ("oldest chunks", "HTTP/0.0 200 X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "200 "),
        (
            "identity",
            "HTTP/1.1 200 X\r\nTransfer-Encoding: identity\r\n\r\n",
            "head: ~unsupported transfer encoding: \"identity\"",
        ),
        (
            "two encodings",
            "HTTP/1.1 200 X\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
            "head: ~too many transfer encodings: [\"gzip\" \"chunked\"]",
        ),
        (
            "bad trailer",
            "HTTP/1.1 200 X\r\nTrailer: a, trailer\r\nTransfer-Encoding: chunked\r\n\r\n",
            "head: ~bad trailer key \"Trailer\"",
        ),
        ("trailer without chunks", "HTTP/1.1 200 X\r\nTrailer: trailer\r\n\r\nok", "200 ok"),
        ("space after the name", "HTTP/1.1 200 X\r\nContent-Length : 1\r\n\r\nok", "200 ok"),
        ("short", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok", "body: unexpected EOF"),
        (
            "bad chunk",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "body: invalid byte in chunk length",
        ),
    ] {
        for step in [1, 7, 4096] {
            assert_eq!(
                read(bytes.as_bytes(), step, End::Eof),
                expected,
                "{name}, {step} at a time"
            );
        }
    }
}

#[test]
fn a_reset_is_shown_where_go_shows_it() {
    let reset = |repeats| End::Error { text: "reset".to_owned(), repeats };
    for (name, bytes, plain, tls) in [
        ("at once", "", "head: reset", "head: reset"),
        (
            "in the status line",
            "HTTP/1.1 2",
            "head: ~malformed HTTP status code \"2\"",
            "head: ~malformed HTTP status code \"2\"",
        ),
        ("after it", "HTTP/1.1 200 OK\r\n", "head: ~unexpected EOF", "head: ~reset"),
        ("after a header", "HTTP/1.1 200 OK\r\nA: b\r\n", "head: ~unexpected EOF", "head: ~reset"),
        ("after an announcement", "HTTP/1.1 100 X\r\n\r\n", "head: ~reset", "head: ~reset"),
        ("in the body", "HTTP/1.1 200 OK\r\n\r\nab", "body: reset", "body: reset"),
        (
            "in a chunk",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
            "body: reset",
            "body: reset",
        ),
    ] {
        assert_eq!(read(bytes.as_bytes(), 4096, reset(false)), plain, "{name}");
        assert_eq!(read(bytes.as_bytes(), 4096, reset(true)), tls, "{name}, encrypted");
    }
}

#[test]
fn heads_have_their_limit() {
    let exceeded = "head: ~net/http: server response headers exceeded 10485760 bytes; aborted";
    let start = "HTTP/1.1 200 OK\r\nA: ";
    let fits =
        |length: usize| start.to_owned() + &"a".repeat(length - start.len() - 4) + "\r\n\r\n";
    assert_eq!(read((fits(MAX_HEAD_BYTES) + "ok").as_bytes(), 4096, End::Eof), "200 ok");
    assert_eq!(read(fits(MAX_HEAD_BYTES + 4).as_bytes(), 4096, End::Eof), exceeded);
    // What is left of a line at the limit counts as a line first.
    let cut = "head: ~malformed MIME header: missing colon: \"\\r\"";
    assert_eq!(read(fits(MAX_HEAD_BYTES + 1).as_bytes(), 4096, End::Eof), cut);
    // Announcements may be any number.
    let announced = "HTTP/1.1 100 X\r\n\r\n".repeat(1000) + "HTTP/1.1 200 OK\r\n\r\n";
    assert_eq!(read(announced.as_bytes(), 4096, End::Eof), "200 ");
}

#[test]
fn heads_are_shown_and_redirects_know_where_to() {
    let head = "HTTP/1.1 100 X\r\n\r\nHTTP/1.1 302 X\r\nlocation:  /a \r\nLocation: /b\r\nContent-Length: 2048\r\n\r\n";
    let mut reader = ResponseReader::new();
    reader.feed((head.to_owned() + "body").as_bytes());
    assert_eq!(reader.advance(), Progress::Head);
    assert_eq!(reader.head_bytes(), head.as_bytes());
    let found = reader.head().cloned().expect("the head is complete");
    assert_eq!(found.location.as_deref(), Some(b"/a".as_slice()));
    assert_eq!(found.slurped(), 2048);
    let longer = Head { framing: Framing::Length(2049), ..found };
    assert_eq!(longer.slurped(), 0);
}
