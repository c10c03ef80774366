//! The API server: kubeconfigs, pages of pods, a server that is busy.

use super::http_server::pki::Authority;
use super::http_server::{AMPLE, SHORT, Seen, Server, Wire, answer, failure, json, timed};
use kq_api::api_server::{ApiError, ApiServer, KubeconfigChoice, KubeconfigPlace, connect};
use kq_api::http::{HttpError, Phase};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What is left of a pod.
mod events;
/// What a kubeconfig says, and what it must not say.
mod kubeconfig;
/// Lists in pages.
mod pages;

const TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJrcSJ9.c2lnbmF0dXJl";
const EMPTY: &str = r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}"#;
const NODE: &str = r#"{"kind":"Node","apiVersion":"v1","metadata":{"name":"worker-1"}}"#;

/// A server with TLS and the kubeconfig of a user with a token.
struct Cluster {
    server: Server,
    authority: Authority,
}

impl Cluster {
    fn start<A>(answer: A) -> Self
    where
        A: Fn(usize, &Seen, &mut dyn Write) -> io::Result<()> + Send + Sync + 'static,
    {
        let authority = Authority::new();
        let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
        Self { server: Server::start(wire, answer), authority }
    }

    fn saying(said: impl Into<Vec<u8>>) -> Self {
        let said = said.into();
        Self::start(move |_, _, to| to.write_all(&said))
    }

    fn kubeconfig(&self) -> PathBuf {
        self.authority.file();
        let cluster =
            format!("server: {}\ncertificate-authority: ca.crt", self.server.url("https"));
        write_kubeconfig(self.authority.folder(), &cluster, &format!("token: {TOKEN}"))
    }

    #[track_caller]
    fn api(&self, deadline: Duration) -> ApiServer {
        connect(KubeconfigPlace::Named(&self.kubeconfig()), &KubeconfigChoice::default(), deadline)
            .expect("a kubeconfig")
    }

    #[track_caller]
    fn pods(&self, deadline: Duration) -> Result<Vec<Vec<u8>>, ApiError> {
        timed(deadline, |deadline| self.api(AMPLE).pods_of_node("worker-1", deadline))
    }

    /// Returns the lines of all requests.
    fn lines(&self) -> Vec<String> {
        self.server.seen().into_iter().map(|seen| seen.line).collect()
    }
}

/// Writes a kubeconfig with one cluster and one user; each is some lines of YAML.
fn write_kubeconfig(folder: &Path, cluster: &str, user: &str) -> PathBuf {
    let indented = |text: &str| text.replace('\n', "\n    ");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\ncontexts:\n- name: here\n  context:\n    \
         cluster: c\n    user: u\nclusters:\n- name: c\n  cluster:\n    {}\nusers:\n- name: u\n  \
         user:\n    {}\n",
        indented(cluster),
        indented(user),
    );
    let path = folder.join("kubeconfig");
    std::fs::write(&path, text).expect("a file");
    path
}

#[test]
fn a_node_is_returned_as_it_came() {
    let cluster = Cluster::saying(json(NODE));
    let node = cluster.api(AMPLE).node("worker-1").expect("a node");
    assert_eq!(node, NODE.as_bytes());
    let seen = cluster.server.only();
    assert_eq!(seen.line, "GET /api/v1/nodes/worker-1 HTTP/1.1");
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
    assert_eq!(seen.header("accept"), Some("application/json"));
    let host = format!("127.0.0.1:{}", cluster.server.port);
    assert_eq!(seen.header("host"), Some(host.as_str()));
}

#[test]
fn a_name_that_no_node_has_is_not_asked_for() {
    let cluster = Cluster::saying(json(NODE));
    let api = cluster.api(AMPLE);
    for name in ["", "..", "a/b", "a,metadata.name=b", "A"] {
        let node = api.node(name).expect_err(name);
        let pods = api.pods_of_node(name, AMPLE).expect_err(name);
        for error in [node, pods] {
            assert_eq!(error.to_string(), format!("invalid node name {name:?}"));
        }
    }
    assert!(cluster.lines().is_empty());
}

#[test]
fn a_refusal_says_what_is_needed() {
    const FORBIDDEN: &str = "pods is forbidden: User \\\"system:serviceaccount:monitoring:a-name-that-is-long\\\" \
                             cannot list resource \\\"pods\\\" in API group \\\"\\\" at the\\ncluster scope: \
                             RBAC: clusterrole.rbac.authorization.k8s.io \\\"pod-reader\\\" not found";
    for (said, code, shown, expected) in [
        (
            failure("401 Unauthorized", &[], "Unauthorized", "Unauthorized"),
            401,
            "Unauthorized",
            Some("may have expired"),
        ),
        (
            failure("403 Forbidden", &[], "Forbidden", FORBIDDEN),
            403,
            "answered 403 Forbidden: pods is forbidden: User \"system:serviceaccount:monitoring:a-name-that-is-long\" \
             cannot list resource \"pods\" in API group \"\" at the cluster scope: RBAC: \
             clusterrole.rbac.authorization.k8s.io \"pod-reader\" not found",
            Some("list on pods"),
        ),
        (
            answer("404 Not Found", &[], "page not found"),
            404,
            "page not found",
            Some("an API server"),
        ),
        (
            failure("429 Too Many Requests", &[], "TooManyRequests", "busy"),
            429,
            "busy",
            Some("is busy"),
        ),
        (failure("500 Internal Server Error", &[], "InternalError", "etcd"), 500, "etcd", None),
        (failure("504 Gateway Timeout", &[], "Timeout", "etcd"), 504, "etcd", None),
    ] {
        let cluster = Cluster::saying(said);
        let error = cluster.pods(AMPLE).expect_err("a refusal");
        assert_eq!(error.status(), Some(code), "{error}");
        assert!(error.to_string().ends_with(shown), "{error}");
        assert_eq!(error.hint().is_some(), expected.is_some(), "{error}");
        assert!(error.hint().unwrap_or_default().contains(expected.unwrap_or_default()), "{error}");
        assert_eq!(cluster.lines().len(), 1, "{error}");
    }
    let gone = failure("404 Not Found", &[], "NotFound", "nodes \\\"worker-1\\\" not found");
    let error = Cluster::saying(gone).api(AMPLE).node("worker-1").expect_err("no such node");
    assert!(error.hint().is_some_and(|hint| hint.contains("kubectl get nodes")), "{error}");
}

#[test]
fn a_busy_server_is_asked_again_when_it_says() {
    for status in ["429 Too Many Requests", "503 Service Unavailable"] {
        let busy = failure(status, &["Retry-After: 1"], "TooManyRequests", "busy");
        let cluster = Cluster::start(move |number, _, to| {
            to.write_all(if number < 2 { busy.clone() } else { json(EMPTY) }.as_bytes())
        });
        let begun = Instant::now();
        let pages = cluster.pods(AMPLE).expect("pods");
        assert_eq!(pages, [EMPTY.as_bytes()]);
        assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
        assert_eq!(cluster.lines().len(), 3);
    }
}

#[test]
fn a_server_that_is_busy_for_too_long_is_not_waited_for() {
    let busy = failure("429 Too Many Requests", &["Retry-After: 60"], "TooManyRequests", "busy");
    let cluster = Cluster::saying(busy);
    let begun = Instant::now();
    let error = cluster.pods(AMPLE).expect_err("busy");
    assert!(begun.elapsed() < AMPLE / 2, "there is nothing to wait for");
    match error {
        ApiError::Http(HttpError::Status { code: 429, retry_after, .. }) => {
            assert_eq!(retry_after, Some(Duration::from_secs(60)));
        }
        error => panic!("{error:?}"),
    }
}

#[test]
fn a_server_that_is_busy_all_the_time_is_given_up() {
    let busy = failure("429 Too Many Requests", &["Retry-After: 0"], "TooManyRequests", "busy");
    let cluster = Cluster::saying(busy);
    let error = cluster.pods(Duration::from_millis(700)).expect_err("busy");
    let is_expected =
        error.status() == Some(429) || matches!(error, ApiError::Http(HttpError::Timeout { .. }));
    assert!(is_expected, "{error}");
    assert!(cluster.lines().len() <= 8, "{} requests", cluster.lines().len());
}

#[test]
fn what_is_no_list_of_pods_is_refused() {
    for (said, expected) in [
        (json("{}"), "no kind, expected PodList"),
        (json(r#"{"kind":"Status","status":"Failure"}"#), "kind \"Status\", expected PodList"),
        (json(r#"{"kind":"NodeList","items":[]}"#), "kind \"NodeList\", expected PodList"),
        (json(r#"{"kind":"PodList","items":"many"}"#), "a PodList whose items are not a list"),
        (json(r#"{"kind":"PodList","items":[{"#), "not a JSON object"),
        (json(""), "not a JSON object"),
        (
            answer("200 OK", &["Content-Type: text/html; charset=utf-8"], "<html>log in</html>"),
            "text/html; charset=utf-8, expected application/json",
        ),
        (answer("200 OK", &[], EMPTY), "no content type"),
        (
            answer("200 OK", &["Content-Type: application/vnd.kubernetes.protobuf"], "k8s\0"),
            "application/vnd.kubernetes.protobuf, expected application/json",
        ),
    ] {
        let cluster = Cluster::saying(said);
        match cluster.pods(AMPLE) {
            Err(ApiError::Unexpected { reason, .. }) => {
                assert!(reason.contains(expected), "{reason}");
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
    let error = Cluster::saying(json(EMPTY)).api(AMPLE).node("worker-1").expect_err("no node");
    assert!(error.to_string().ends_with("kind \"PodList\", expected Node"), "{error}");
}

#[test]
fn a_redirect_is_reported_and_the_token_goes_nowhere() {
    let elsewhere = Server::saying(Wire::Plain, json(EMPTY));
    let location = format!("Location: {}/api", elsewhere.url("http"));
    let cluster = Cluster::saying(answer("302 Found", &[&location], ""));
    let error = cluster.pods(AMPLE).expect_err("a redirect");
    assert_eq!(error.status(), Some(302));
    assert!(error.to_string().contains("a redirect to http://127.0.0.1:"), "{error}");
    assert!(elsewhere.seen().is_empty());
}

#[test]
fn what_the_transport_says_arrives() {
    let cut = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{";
    let error = Cluster::saying(cut).pods(AMPLE).expect_err("cut off");
    let is_cut =
        matches!(error, ApiError::Http(HttpError::CutOff { received: 1, expected: Some(900), .. }));
    assert!(is_cut, "{error:?}");
    let chunked = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: \
                   chunked\r\n\r\n1\r\n{\r\n";
    let error = Cluster::saying(chunked).pods(AMPLE).expect_err("cut off");
    assert!(matches!(error, ApiError::Http(HttpError::CutOff { received: 1, .. })), "{error:?}");
    let error = Cluster::saying("hello\r\n\r\n").pods(AMPLE).expect_err("garbage");
    assert!(matches!(error, ApiError::Http(HttpError::NotHttp { .. })), "{error:?}");
    let cluster = Cluster::saying(json(EMPTY));
    let api = cluster.api(AMPLE);
    let port = cluster.server.port;
    drop(cluster);
    // The thread that accepted sees that it is over and closes the port.
    let closed = (0..100).any(|_| {
        sleep(Duration::from_millis(20));
        std::net::TcpStream::connect(("127.0.0.1", port)).is_err()
    });
    assert!(closed);
    let error = api.pods_of_node("worker-1", AMPLE).expect_err("nobody listens");
    assert!(matches!(error, ApiError::Http(HttpError::Refused { .. })), "{error:?}");
}

#[test]
fn nothing_outlives_its_deadline() {
    let slow_headers = Cluster::start(|_, _, _| {
        sleep(SHORT * 4);
        Ok(())
    });
    let slow_body = Cluster::start(|_, _, to| {
        to.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n",
        )?;
        (0..400).try_for_each(|_| {
            to.write_all(b" ")?;
            to.flush()?;
            sleep(Duration::from_millis(50));
            Ok(())
        })
    });
    for (cluster, expected) in [(slow_headers, Phase::Headers), (slow_body, Phase::Body)] {
        let pods = cluster.pods(SHORT).expect_err("no end");
        let api = cluster.api(SHORT);
        let node = timed(SHORT, |_| api.node("worker-1")).expect_err("no end");
        for error in [pods, node] {
            match error {
                ApiError::Http(HttpError::Timeout { phase, .. }) => assert_eq!(phase, expected),
                error => panic!("{expected}: {error:?}"),
            }
        }
    }
}
