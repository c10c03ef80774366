use super::*;
use crate::http::build_request;
use kq_k8s::pod::HttpGetAction;
use serde_json::{Value, json};

fn request(mut action: Value) -> HttpProbeRequest {
    action["port"] = json!(8080);
    let action: HttpGetAction = serde_json::from_value(action).unwrap();
    build_request(&action, &[], "10.1.2.3", "kube-probe/1.36").unwrap()
}

fn next(request: &HttpProbeRequest, status: u16, location: &str) -> HttpProbeRequest {
    match request.follow(status, Some(location.as_bytes())) {
        Follow::Next(next) => *next,
        other => panic!("not followed: {location} {other:?}"),
    }
}

fn sent(request: &HttpProbeRequest) -> String {
    String::from_utf8(request.prepare().unwrap().bytes).unwrap()
}

#[test]
fn only_some_answers_are_followed() {
    let first = request(json!({"path": "/a", "host": "localhost"}));
    for (status, location, follows) in [
        (301, Some("/b"), true),
        (302, Some("b"), true),
        (303, Some("?x"), true),
        (307, Some("http://localhost:1/"), true),
        (308, Some("https://localhost/"), true),
        (302, Some("//localhost"), true),
        (302, Some("ftp://localhost/"), true),
        (200, Some("/b"), false),
        (300, Some("/b"), false),
        (304, Some("/b"), false),
        (305, Some("/b"), false),
        (309, Some("/b"), false),
        (302, None, false),
        (302, Some(""), false),
        (302, Some("http://LOCALHOST:8080/"), false),
        (302, Some("http://sub.localhost/"), false),
        (302, Some("http:///x"), false),
        (302, Some("mailto:x"), false),
        (302, Some("http:x"), false),
    ] {
        let follow = first.follow(status, location.map(str::as_bytes));
        assert_eq!(matches!(follow, Follow::Next(_)), follows, "{status} {location:?}");
        assert_eq!(follow == Follow::Final, !follows, "{status} {location:?}");
    }
}

#[test]
fn a_broken_location_fails() {
    let first = request(json!({"path": "//u:p@h/a"}));
    for (location, cause) in [
        (
            &b"http://a b/"[..],
            r#""http://a b/": parse "http://a b/": invalid character " " in host name"#,
        ),
        (b"/%zz#x", r#""/%zz#x": parse "/%zz": invalid URL escape "%zz""#),
        (b":\xff", r#"":\xff": parse ":\xff": missing protocol scheme"#),
    ] {
        let text = format!(
            "Get \"http://u:***@10.1.2.3:8080/a\": failed to parse Location header {cause}"
        );
        assert_eq!(first.follow(302, Some(location)), Follow::Failed(text));
    }
}

#[test]
fn ten_requests_are_enough() {
    let mut request = request(json!({"path": "/loop"}));
    for _ in 0..9 {
        request = next(&request, 302, "loop\u{e9}");
    }
    let stopped = "Get \"loop\u{e9}\": stopped after 10 redirects".to_owned();
    assert_eq!(request.follow(302, Some("loop\u{e9}".as_bytes())), Follow::Failed(stopped));
    // Forbidden hosts are checked first.
    assert_eq!(request.follow(302, Some(b"http://other/")), Follow::Final);
    assert_eq!(request.follow(200, None), Follow::Final);
}

#[test]
fn a_host_of_its_own_is_kept_for_relative_locations() {
    let header = json!([{"name": "Host", "value": "virtual"}]);
    let first = request(json!({"path": "/a", "httpHeaders": header}));
    let relative = next(&first, 302, "/b");
    assert!(sent(&relative).contains("\r\nHost: virtual\r\n"));
    let without_scheme = next(&relative, 302, "//10.1.2.3:1/");
    assert!(sent(&without_scheme).contains("\r\nHost: virtual\r\n"));
    let absolute = next(&relative, 302, "http://10.1.2.3/c");
    assert!(sent(&absolute).contains("\r\nHost: 10.1.2.3\r\n"));
    assert_eq!(absolute.prepare().unwrap().dial_address, "10.1.2.3:80");
    let later = next(&absolute, 302, "/d");
    assert!(sent(&later).contains("\r\nHost: 10.1.2.3\r\n"));
}

#[test]
fn users_come_along_in_the_url_only() {
    let first = request(json!({"path": "//u:p@h/a#f"}));
    assert!(sent(&first).contains("Authorization: Basic dTpw\r\n"));
    let relative = next(&first, 302, "/b");
    assert!(sent(&relative).contains("Authorization: Basic dTpw\r\n"));
    assert!(sent(&relative).contains("Referer: http://10.1.2.3:8080/a#f\r\n"));
    assert_eq!(relative.url_text(), "http://u:***@10.1.2.3:8080/b");
    let absolute = next(&relative, 302, "http://10.1.2.3:8080/c");
    assert!(!sent(&absolute).contains("Authorization"));
}

#[test]
fn headers_are_those_of_the_first_request() {
    let header = |name: &str, value: &str| json!({"name": name, "value": value});
    let headers = json!([header("Cookie", "c"), header("Content-Type", "t"), header("X", "1")]);
    let first = request(json!({"path": "/a", "scheme": "https", "httpHeaders": headers}));
    let kept = next(&first, 307, "/b");
    assert!(
        sent(&kept).contains(
            "Content-Type: t\r\nCookie: c\r\nReferer: https://10.1.2.3:8080/a\r\nX: 1\r\n"
        )
    );
    let dropped = next(&next(&kept, 303, "/c"), 307, "/d");
    assert!(sent(&dropped).contains("Cookie: c\r\nReferer: https://10.1.2.3:8080/c\r\nX: 1\r\n"));
    assert!(!sent(&dropped).contains("Content-Type"));
    let insecure = next(&kept, 302, "http://10.1.2.3:8080/");
    assert!(!sent(&insecure).contains("Referer"));
    let back = next(&insecure, 302, "https://10.1.2.3:8080/");
    assert!(sent(&back).contains("Referer: http://10.1.2.3:8080/\r\n"));
    let own = json!([header("Referer", "r"), header("Referer", "s")]);
    let first = request(json!({"path": "/a", "httpHeaders": own}));
    assert!(sent(&next(&first, 302, "/b")).contains("Referer: r\r\nConnection"));
}
