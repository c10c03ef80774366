//! Lists in pages.

use super::super::http_server::{AMPLE, SHORT, answer, failure, json};
use super::{ApiError, Cluster, EMPTY, HttpError, TOKEN};
use std::thread::sleep;
use std::time::Duration;

const FIRST: &str = "/api/v1/pods?fieldSelector=spec.nodeName%3Dworker-1";

fn page(next: &str, pod: &str) -> String {
    let next = if next.is_empty() { String::new() } else { format!(r#","continue":"{next}""#) };
    format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"7"{next}}},"items":[{{"metadata":{{"name":"{pod}"}}}}]}}"#
    )
}

fn texts(pages: Vec<Vec<u8>>) -> Vec<String> {
    pages.into_iter().map(|page| String::from_utf8(page).expect("text")).collect()
}

#[test]
fn an_empty_list_is_one_page() {
    let cluster = Cluster::saying(json(EMPTY));
    assert_eq!(texts(cluster.pods(AMPLE).expect("pods")), [EMPTY]);
    assert_eq!(cluster.lines(), [format!("GET {FIRST}&limit=500 HTTP/1.1")]);
}

#[test]
fn all_pages_are_asked_for_in_order() {
    // What continues a list is the server's own text; not all of it can stand in a query.
    let pages = [page("eyJ2IjoibWV0YSJ9==", "a"), page("b/c+d&limit=1", "b"), page("", "c")];
    let said = pages.clone();
    let cluster = Cluster::start(move |number, _, to| {
        to.write_all(said.get(number).map_or(String::new(), |page| json(page)).as_bytes())
    });
    assert_eq!(texts(cluster.pods(AMPLE).expect("pods")), pages);
    assert_eq!(
        cluster.lines(),
        [
            format!("GET {FIRST}&limit=500 HTTP/1.1"),
            format!("GET {FIRST}&limit=500&continue=eyJ2IjoibWV0YSJ9%3D%3D HTTP/1.1"),
            format!("GET {FIRST}&limit=500&continue=b%2Fc%2Bd%26limit%3D1 HTTP/1.1"),
        ]
    );
    for seen in cluster.server.seen() {
        assert_eq!(seen.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
        assert_eq!(seen.header("accept"), Some("application/json"));
    }
}

fn expired() -> String {
    let message = "The provided continue parameter is too old to display a consistent list result";
    failure("410 Gone", &[], "Expired", message)
}

#[test]
fn a_list_that_expires_is_asked_for_again_in_one_piece() {
    let whole = page("", "all");
    let said = [json(&page("x", "a")), json(&page("y", "b")), expired(), json(&whole)];
    let cluster = Cluster::start(move |number, _, to| to.write_all(said[number].as_bytes()));
    assert_eq!(texts(cluster.pods(AMPLE).expect("pods")), [whole]);
    assert_eq!(
        cluster.lines(),
        [
            format!("GET {FIRST}&limit=500 HTTP/1.1"),
            format!("GET {FIRST}&limit=500&continue=x HTTP/1.1"),
            format!("GET {FIRST}&limit=500&continue=y HTTP/1.1"),
            format!("GET {FIRST} HTTP/1.1"),
        ]
    );
}

#[test]
fn a_list_that_expires_for_ever_is_given_up() {
    let first = Cluster::saying(expired());
    assert_eq!(first.pods(AMPLE).expect_err("gone").status(), Some(410));
    assert_eq!(first.lines().len(), 1, "nothing was continued");
    let always = Cluster::start(|_, seen, to| {
        let is_continued = seen.line.contains("continue=");
        to.write_all(if is_continued { expired() } else { json(&page("x", "a")) }.as_bytes())
    });
    assert_eq!(always.pods(AMPLE).expect_err("gone").status(), Some(410));
    assert_eq!(always.lines().len(), 4);
}

#[test]
fn a_list_that_fails_in_the_middle_is_no_list() {
    let broken = failure("500 Internal Server Error", &[], "InternalError", "etcd");
    let cut = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{";
    let log_in = answer("200 OK", &["Content-Type: text/html"], "log in");
    for second in [broken, cut.to_owned(), log_in, json("[]")] {
        let said = [json(&page("x", "a")), second];
        let cluster = Cluster::start(move |number, _, to| to.write_all(said[number].as_bytes()));
        cluster.pods(AMPLE).expect_err("half of a list");
        assert_eq!(cluster.lines().len(), 2);
    }
}

#[test]
fn a_page_that_continues_itself_is_an_error() {
    let cluster = Cluster::saying(json(&page("x", "a")));
    let error = cluster.pods(AMPLE).expect_err("no end");
    assert!(matches!(error, ApiError::Unexpected { .. }), "{error}");
    assert!(error.to_string().contains("continuation is itself"), "{error}");
}

#[test]
fn many_pages_do_not_outlive_one_deadline() {
    let cluster = Cluster::start(|number, _, to| {
        sleep(Duration::from_millis(50));
        to.write_all(json(&page(&format!("p{number}"), "a")).as_bytes())
    });
    let error = cluster.pods(SHORT).expect_err("no end");
    assert!(matches!(error, ApiError::Http(HttpError::Timeout { .. })), "{error}");
    assert!(cluster.lines().len() > 2);
}
