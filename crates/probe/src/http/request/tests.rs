use super::*;
use serde_json::{Value, json};

fn build(action: Value) -> Result<HttpProbeRequest, BuildError> {
    let mut action = action;
    if action.get("port").is_none() {
        action["port"] = json!(8080);
    }
    let action: HttpGetAction = serde_json::from_value(action).unwrap();
    build_request(&action, &[], "10.1.2.3", "kube-probe/1.36")
}

fn url(action: Value) -> String {
    build(action).unwrap().url_text()
}

#[test]
fn a_path_is_a_reference() {
    for (path, expected) in [
        ("", ""),
        ("healthz", "/healthz"),
        ("?", "?"),
        ("//double//slash", "//slash"),
        ("////x", "////x"),
        ("/a#frag", "/a#frag"),
        ("http://other/x?y", "/x?y"),
        ("/a%2fb c", "/a/b%20c"),
        ("%zz", "/%25zz"),
        ("/%zz?x=y#z", "/%25zz%3Fx=y%23z"),
        (":8080/x", "/:8080/x"),
        ("a b:c", "/a%20b:c"),
        ("//a:1:2/x", "//a:1:2/x"),
        ("//[::1]/x", "/x"),
        ("//[x]/y", "//%5Bx%5D/y"),
        ("*", "/*"),
        ("/a\nb", "/a%0Ab"),
    ] {
        assert_eq!(
            url(json!({ "path": path })),
            format!("http://10.1.2.3:8080{expected}"),
            "{path}"
        );
    }
    assert_eq!(url(json!({ "path": "mailto:x@y" })), "http:x@y");
    assert_eq!(url(json!({ "path": "//u:p@h/x" })), "http://u:***@10.1.2.3:8080/x");
    let with_password = build(json!({ "path": "//u:p@h/x" })).unwrap();
    assert_eq!(with_password.url_with_password(), "http://u:p@10.1.2.3:8080/x");
    assert_eq!(with_password.failure_text("EOF"), "Get \"http://u:***@10.1.2.3:8080/x\": EOF");
}

#[test]
fn some_are_no_request() {
    for (action, expected) in [
        (json!({"host": "[::1]"}), "parse \"http://[[::1]]:8080\": invalid IP-literal"),
        (json!({"host": "a b"}), "parse \"http://a%20b:8080\": invalid URL escape \"%20\""),
        (
            json!({"host": "a:80"}),
            "parse \"http://[a:80]:8080\": invalid host: ParseAddr(\"a:80\"): address string too short",
        ),
        (
            json!({"host": "a", "scheme": "h t"}),
            "parse \"h t://a:8080\": first path segment in URL cannot contain colon",
        ),
        (json!({"port": 0}), "invalid port number: 0"),
        (json!({"port": "x"}), "strconv.Atoi: parsing \"x\": invalid syntax"),
    ] {
        assert_eq!(build(action).unwrap_err().to_string(), expected);
    }
    let secret = json!({"httpHeaders": [{"name": "x-key", "valueWithheld": true}]});
    let error = build(secret.clone()).unwrap_err();
    assert_eq!(error, BuildError::HeaderWithheld { name: "x-key".to_owned() });
    assert_eq!(error.to_string(), "the value of the header x-key is not known");
    // Errors that do not depend on the value come first.
    let mut refused = secret;
    refused["port"] = json!(0);
    assert_eq!(build(refused).unwrap_err().to_string(), "invalid port number: 0");
}

#[test]
fn some_requests_are_not_sent() {
    for (action, cause) in [
        (json!({"path": "a:b"}), "http: no Host in request URL"),
        (json!({"scheme": "FTP"}), "unsupported protocol scheme \"ftp\""),
        (
            json!({"scheme": "ftp", "httpHeaders": [{"name": "a b", "value": ""}]}),
            "unsupported protocol scheme \"ftp\"",
        ),
        (
            json!({"path": "a:b", "httpHeaders": [{"name": "a b", "value": ""}]}),
            "net/http: invalid header field name \"a b\"",
        ),
        (
            json!({"httpHeaders": [{"name": "Host", "value": "a\r\n"}]}),
            "net/http: invalid header field value for \"Host\"",
        ),
    ] {
        assert_eq!(build(action).unwrap().prepare().unwrap_err(), cause);
    }
}

#[test]
fn headers_are_sent_in_their_order() {
    let header = |name: &str, value: &str| json!({"name": name, "value": value});
    for (headers, expected) in [
        (vec![], "User-Agent: kube-probe/1.36\r\nAccept: */*\r\nConnection: close"),
        (
            vec![header("b", "1"), header("X-A", " 2 "), header("A", ""), header("x-a", "3")],
            "User-Agent: kube-probe/1.36\r\nA: \r\nAccept: */*\r\nB: 1\r\nX-A: 2\r\nX-A: 3\r\nConnection: close",
        ),
        (
            vec![header("user-agent", " "), header("user-agent", "b"), header("accept", "")],
            "User-Agent: \r\nConnection: close",
        ),
        (
            vec![header("User-Agent", ""), header("connection", "x, close"), header("z", "1")],
            "Accept: */*\r\nConnection: x, close\r\nZ: 1",
        ),
        (
            vec![header("connection", "keep-alive"), header("trailer", "x")],
            "User-Agent: kube-probe/1.36\r\nAccept: */*\r\nConnection: keep-alive\r\nConnection: close",
        ),
    ] {
        let bytes = build(json!({ "httpHeaders": headers })).unwrap().prepare().unwrap().bytes;
        let expected = format!("GET / HTTP/1.1\r\nHost: 10.1.2.3:8080\r\n{expected}\r\n\r\n");
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
}

#[test]
fn http2_has_its_own_headers() {
    let header = |name: &str, value: &str| json!({"name": name, "value": value});
    let action = json!({
        "scheme": "HTTPS", "host": "fe80::1%eth0", "path": "//u:p@h/a?b c",
        "httpHeaders": [
            header("Cookie", "a=b; c=d"), header("Connection", "Keep-Alive"), header("Keep-Alive", "1"),
            header("Te", "trailers"), header("X-A", " 1 "), header("Transfer-Encoding", "chunked"),
        ],
    });
    let prepared = build(action).unwrap().prepare().unwrap();
    assert!(prepared.is_tls);
    assert_eq!(prepared.alpn, ["h2", "http/1.1"]);
    let h2 = prepared.h2;
    assert_eq!(h2.authority, b"[fe80::1%eth0]:8080");
    assert_eq!((h2.path.as_slice(), h2.scheme.as_slice()), (&b"/a?b c"[..], &b"https"[..]));
    let lines: Vec<_> = h2
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value)))
        .collect();
    assert_eq!(
        lines,
        [
            "accept: */*",
            "authorization: Basic dTpw",
            "cookie: a=b",
            "cookie: c=d",
            "te: trailers",
            "user-agent: kube-probe/1.36",
            "x-a:  1 ",
        ]
    );
    for (headers, refused) in [
        (vec![header("Host", "a b")], "http2: invalid Host header"),
        (vec![header("Connection", "x")], "http2: invalid Connection request header: [\"x\"]"),
        (
            vec![header("Connection", "close"), header("Connection", "close")],
            "http2: invalid Connection request header: [\"close\" \"close\"]",
        ),
        (
            vec![header("Transfer-Encoding", "Chunked")],
            "http2: invalid Transfer-Encoding request header: [\"Chunked\"]",
        ),
        (
            vec![header("Upgrade", "x"), header("Upgrade", "y")],
            "http2: invalid Upgrade request header: [\"x\" \"y\"]",
        ),
    ] {
        let action = json!({ "scheme": "https", "httpHeaders": headers });
        let prepared = build(action).unwrap().prepare().unwrap();
        assert_eq!(prepared.h2.refused.as_deref(), Some(refused));
    }
    let allowed = vec![
        header("Upgrade", "chunked"),
        header("Transfer-Encoding", "chunked"),
        header("Connection", "Close"),
    ];
    let action = json!({ "scheme": "https", "httpHeaders": allowed });
    assert_eq!(build(action).unwrap().prepare().unwrap().h2.refused, None);
    let upgrade = vec![header("Connection", "Upgrade"), header("Upgrade", "websocket")];
    let action = json!({ "scheme": "https", "httpHeaders": upgrade });
    assert!(build(action).unwrap().prepare().unwrap().alpn.is_empty());
}

proptest::proptest! {
    #[test]
    fn no_text_adds_lines_to_a_request(
        path in PIECES,
        host in PIECES,
        value in "\\PC*|[ -~\r\n\t]*",
        locations in proptest::collection::vec(PIECES, 0..4),
    ) {
        let header = json!({"name": "X-A", "value": value});
        let action = json!({"path": path, "host": host, "httpHeaders": [header]});
        let Ok(mut request) = build(action) else { return Ok(()) };
        for location in locations {
            if let Ok(prepared) = request.prepare() {
                let text = String::from_utf8_lossy(&prepared.bytes).into_owned();
                let lines: Vec<_> = text.split("\r\n").collect();
                proptest::prop_assert!(!lines.iter().any(|line| line.contains(['\r', '\n'])));
                // Besides the request line and the two empty texts at the end: Host, User-Agent, Accept,
                // X-A, Connection, and at most Authorization and Referer.
                proptest::prop_assert!((8..=10).contains(&lines.len()), "{:?}", lines);
            }
            // What is printed means the same.
            let url = Url::parse(&request.url.text()).unwrap();
            proptest::prop_assert_eq!(url.text(), request.url.text());
            proptest::prop_assert_eq!(url.request_uri(), request.url.request_uri());
            match request.follow(302, Some(location.as_bytes())) {
                super::super::Follow::Next(next) => request = *next,
                super::super::Follow::Final | super::super::Follow::Failed(_) => {}
            }
        }
    }
}

/// Texts of which URLs are made.
const PIECES: &str = "(/|//|a|b:|:80|\\.|\\.\\.|%|%2f|%25|%zz|\\?|#|@|\\[|\\]|::1|10.1.2.3|http:|\u{fc}| |\t|\\*|~|<){0,9}";
