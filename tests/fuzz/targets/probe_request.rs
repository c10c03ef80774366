//! Whatever a pod and a server say, the request of a probe and those after it can be asked everything
//! without a panic, and nobody can put lines of their own into a request.
#![cfg_attr(fuzzing, no_main)]

use kq_k8s::pod::{HttpGetAction, HttpHeader, IntOrString};
use kq_probe::http::{Follow, build_request};

kq_fuzz::fuzz_target!(|input: (&str, &str, &str, &str, Vec<Vec<u8>>)| {
    let (path, host, name, value, locations) = input;
    let header =
        HttpHeader { name: name.to_owned(), value: value.to_owned(), value_withheld: false };
    let action = HttpGetAction {
        path: path.to_owned(),
        query_withheld: false,
        port: IntOrString::Int(8080),
        host: host.to_owned(),
        scheme: "HTTPS".to_owned(),
        protocol: String::new(),
        http_headers: vec![header],
    };
    let Ok(mut request) = build_request(&action, &[], "10.1.2.3", "kube-probe/1.36") else {
        return;
    };
    for location in locations.iter().chain(&locations) {
        let _ = request.failure_text(&request.url_with_password());
        if let Ok(prepared) = request.prepare() {
            let lines = prepared.bytes.split(|byte| *byte == b'\n').count();
            // The request line, two headers that are always there, at most seven more, the empty line
            // and what follows it.
            assert!((3..=12).contains(&lines), "{lines} lines");
            assert!(prepared.bytes.ends_with(b"\r\n\r\n"));
        }
        match request.follow(302, Some(location)) {
            Follow::Next(next) => request = *next,
            Follow::Final => {}
            Follow::Failed(text) => {
                assert!(text.starts_with("Get \""));
                return;
            }
        }
    }
});
