//! `kq preempt explain --all-nodes` through a real HTTPS server: pages, slow nodes, nodes that may not be
//! read, a server that is busy, one that stops answering.

use super::interactive::terminal;
use super::{Ran, folder_with, kq};
use crate::edges::http_server::pki::Authority;
use crate::edges::http_server::{Seen, Server, Wire, answer, failure, json as ok};
use crate::objects::{self, Object, pod};
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn node(name: &str) -> Object {
    let mut node = objects::node(name).version("v1.36.2").conditions("Ready=True");
    // As in the API server's own lists: the items do not say what they are.
    let fields = node.as_object_mut().expect("an object");
    fields.retain(|name, _| name != "apiVersion" && name != "kind");
    node
}

fn list(kind: &str, next: &str, items: &[Object]) -> String {
    json!({"kind": kind, "apiVersion": "v1", "metadata": {"continue": next}, "items": items})
        .to_string()
}

/// Returns the node whose pods are asked for.
fn node_of(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("fieldSelector=spec.nodeName%3D")?;
    rest.split(['&', ' ']).next()
}

/// A cluster whose pods come from a function: the node, the whole request line, where to write.
fn cluster<A>(nodes: &[&str], pods: A) -> (Authority, Server)
where
    A: Fn(&str, &Seen, &mut dyn Write) -> io::Result<()> + Send + Sync + 'static,
{
    let nodes: Vec<Object> = nodes.iter().map(|name| node(name)).collect();
    serve(move |seen, to| match node_of(&seen.line) {
        Some(node) => pods(node, seen, to),
        None if seen.line.starts_with("GET /api/v1/nodes?limit=500 ") => {
            to.write_all(ok(&list("NodeList", "", &nodes)).as_bytes())
        }
        None => to.write_all(failure("404 Not Found", &[], "NotFound", "what?").as_bytes()),
    })
}

fn serve<A>(answer: A) -> (Authority, Server)
where
    A: Fn(&Seen, &mut dyn Write) -> io::Result<()> + Send + Sync + 'static,
{
    let authority = Authority::new();
    authority.file();
    let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
    let server = Server::start(wire, move |_, seen, to| answer(seen, to));
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\n\
         contexts: [{{name: here, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: '{}', certificate-authority: ca.crt}}}}]\n\
         users: [{{name: u, user: {{token: hunter2-token}}}}]\n",
        server.url("https")
    );
    authority.write("kubeconfig", kubeconfig.as_str());
    (authority, server)
}

/// Describes the pod that comes.
fn new() -> Object {
    pod("default/new").requests("cpu=1").priority(2_000_000_000)
}

fn ask(authority: &Authority, name: &str, flags: &str) -> Ran {
    let folder = folder_with(&[("new.json", new().to_string())]);
    let kubeconfig = authority.folder().join("kubeconfig");
    let line =
        format!("preempt explain {name} --all-nodes --kubeconfig {} {flags}", kubeconfig.display());
    kq(&line).within(folder.path()).run()
}

fn say(to: &mut dyn Write, pods: &[Object]) -> io::Result<()> {
    to.write_all(ok(&list("PodList", "", pods)).as_bytes())
}

/// Returns what kq writes to a terminal at its standard error.
fn at_terminal(authority: &Authority, new: &Value) -> String {
    let (mut terminal, program) = terminal();
    let folder = folder_with(&[("new.json", new.to_string())]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_kq"))
        .args(["preempt", "explain", "new.json", "--all-nodes", "--kubeconfig"])
        .arg(authority.folder().join("kubeconfig"))
        .env_clear()
        .envs([("TERM", "xterm"), ("NO_COLOR", "1")])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::from(program))
        .spawn()
        .expect("kq starts");
    let (mut written, mut part) = (Vec::new(), [0; 4096]);
    // Once nobody writes to it any more, reading a terminal is an error.
    while let Ok(length @ 1..) = terminal.read(&mut part) {
        written.extend(part.iter().take(length));
    }
    child.wait().expect("it ends");
    String::from_utf8(written).expect("kq writes UTF-8")
}

/// Returns what becomes of the pod, node by node in order.
fn results(ran: &Ran) -> Vec<(String, String)> {
    let answer: Value = ran.answer();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let nodes = answer["nodes"].as_array().expect("a list").iter();
    nodes.map(|node| (text(&node["node"]), text(&node["result"]))).collect()
}

fn pairs<const N: usize>(expected: [(&str, &str); N]) -> Vec<(String, String)> {
    expected.map(|(node, result)| (node.to_owned(), result.to_owned())).into()
}

#[test]
fn a_node_with_too_many_pods_costs_its_own_answer() {
    let (authority, _server) = cluster(&["large", "small"], |node, _, to| {
        let length = if node == "large" { 33 << 20 } else { 0 };
        say(to, &[pod("default/a").set("/metadata/annotations/a", "x".repeat(length))])
    });
    let ran = ask(&authority, "new.json", "-o json");
    let answer: Value = ran.answer();
    let of = |name: &str| {
        let mut all = answer["nodes"].as_array().expect("nodes").iter();
        all.find(|node| node["node"] == name).expect(name).to_string()
    };
    assert!(of("large").contains("more than 33554432 bytes"), "{}", ran.text());
    assert!(of("small").contains("\"fits\""), "{}", ran.text());
}

#[test]
fn nodes_and_pods_come_in_pages() {
    let (authority, server) = serve(|seen, to| {
        let is_second = seen.line.contains("continue=");
        let page = match node_of(&seen.line) {
            Some("a") => list("PodList", "", &[]),
            // Only together they leave no room.
            Some("b") if is_second => list("PodList", "", &[pod("default/p2").requests("cpu=1")]),
            Some("b") => list("PodList", "more", &[pod("default/p1").requests("cpu=1")]),
            _ if is_second => list("NodeList", "", &[node("a")]),
            _ => list("NodeList", "rest", &[node("b")]),
        };
        to.write_all(ok(&page).as_bytes())
    });
    let ran = ask(&authority, "new.json", "-o json");
    assert_eq!(results(&ran), pairs([("a", "fits"), ("b", "preempts")]));
    assert_eq!(ran.code, 0, "{}", ran.text());
    let lines: Vec<String> = server.seen().into_iter().map(|seen| seen.line).collect();
    assert_eq!(lines[0], "GET /api/v1/nodes?limit=500 HTTP/1.1");
    assert_eq!(lines[1], "GET /api/v1/nodes?limit=500&continue=rest HTTP/1.1");
    let of_b = "GET /api/v1/pods?fieldSelector=spec.nodeName%3Db&limit=500&continue=more HTTP/1.1";
    assert!(lines.iter().any(|line| line == of_b), "{lines:?}");
}

#[test]
fn a_node_that_cannot_be_read_is_a_line_and_loses_no_other() {
    let (authority, _server) =
        cluster(&["a", "forbidden", "broken", "slow", "other", "z"], |node, _, to| match node {
            "forbidden" => to.write_all(
                failure("403 Forbidden", &[], "Forbidden", "pods is forbidden").as_bytes(),
            ),
            "broken" => to.write_all(
                failure("500 Internal Server Error", &[], "InternalError", "etcd").as_bytes(),
            ),
            "slow" => {
                sleep(Duration::from_secs(4));
                say(to, &[])
            }
            "other" => {
                to.write_all(answer("200 OK", &["Content-Type: text/html"], "log in").as_bytes())
            }
            "z" => say(to, &[pod("default/p").requests("cpu=2")]),
            _ => say(to, &[]),
        });
    let began = Instant::now();
    let ran = ask(&authority, "new.json", "--timeout 1s");
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    assert_eq!(ran.code, 3, "{}", ran.text());
    let line = |at: usize| ran.stdout.lines().nth(at).unwrap_or_default().to_owned();
    assert!(line(1).starts_with("a           fits"), "{}", ran.text());
    assert!(line(2).starts_with("z           kills 1"), "{}", ran.text());
    for (at, node, said) in [
        (3, "broken", "etcd"),
        (4, "forbidden", "needs the verb list on pods in all namespaces"),
        (5, "other", "text/html, expected application/json"),
        (6, "slow", "1s"),
    ] {
        let line = line(at);
        let is_missing = line.starts_with(node) && line.contains("MISSING");
        assert!(is_missing && line.contains("its pods are unknown: "), "{node}: {}", ran.text());
        assert!(line.contains(said), "{said}: {line}");
    }
    assert!(ran.stdout.contains("of 6 nodes: 1 without victims, 1 with victims, 4 not known"));
    assert!(!ran.stderr.contains('\r'), "{:?}", ran.stderr);
}

#[test]
fn a_busy_server_is_asked_again_when_it_says() {
    let first = Arc::new(AtomicUsize::new(0));
    let (authority, _server) =
        cluster(&["a"], move |_, _, to| match first.fetch_add(1, Ordering::SeqCst) {
            0 => {
                let busy = failure(
                    "429 Too Many Requests",
                    &["Retry-After: 1"],
                    "TooManyRequests",
                    "busy",
                );
                to.write_all(busy.as_bytes())
            }
            _ => say(to, &[]),
        });
    let ran = ask(&authority, "new.json", "-o json");
    assert_eq!(results(&ran), pairs([("a", "fits")]));
}

#[test]
fn some_lists_are_asked_for_at_once_and_not_all() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen_most = Arc::clone(&most);
    let names: Vec<String> = (0..40).map(|number| format!("n{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (authority, _server) = cluster(&names, move |_, _, to| {
        let at_once = now.fetch_add(1, Ordering::SeqCst) + 1;
        most.fetch_max(at_once, Ordering::SeqCst);
        sleep(Duration::from_millis(60));
        now.fetch_sub(1, Ordering::SeqCst);
        say(to, &[])
    });
    let ran = ask(&authority, "new.json", "-o json");
    assert_eq!(results(&ran).len(), 40);
    assert_eq!(ran.code, 0, "{}", ran.text());
    let most = seen_most.load(Ordering::SeqCst);
    assert!((2..=8).contains(&most), "{most} at once");
}

#[test]
fn a_server_that_answers_no_more_is_not_waited_for_a_thousand_times() {
    let names: Vec<String> = (0..200).map(|number| format!("n{number:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (authority, server) = cluster(&names, |_, _, _| {
        sleep(Duration::from_secs(5));
        Ok(())
    });
    let began = Instant::now();
    let ran = ask(&authority, "new.json", "--timeout 1s");
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(
        ran.stdout.contains("not requested, because 16 earlier lists got no answer"),
        "{}",
        ran.text()
    );
    assert!(ran.stdout.contains("of 200 nodes: 200 not known"), "{}", ran.text());
    assert!(server.seen().len() < 40, "{} requests", server.seen().len());
}

#[test]
fn without_the_nodes_there_is_no_answer() {
    for (said, expected) in [
        (
            failure("403 Forbidden", &[], "Forbidden", "nodes is forbidden"),
            "needs the verb list on nodes",
        ),
        (failure("500 Internal Server Error", &[], "InternalError", "etcd"), "etcd"),
        (ok(&list("NodeList", "", &[])), "there are no nodes"),
        (ok(&list("PodList", "", &[])), "kind \"PodList\", expected NodeList"),
        (
            ok(r#"{"kind":"NodeList","items":[{"metadata":{}}]}"#),
            "items[0].metadata.name is not set",
        ),
    ] {
        let (authority, _server) = serve(move |_, to| to.write_all(said.as_bytes()));
        let ran = ask(&authority, "new.json", "");
        assert_eq!((ran.code, &*ran.stdout), (3, ""), "{}", ran.text());
        assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    }
}

#[test]
fn a_pod_of_the_cluster_is_asked_for_by_its_name() {
    let (authority, server) = serve(|seen, to| {
        let page = match node_of(&seen.line) {
            Some(_) => list("PodList", "", &[new()]),
            None if seen.line.contains("fieldSelector=metadata.name%3Dnew&") => {
                list("PodList", "", &[pod("other/new"), new()])
            }
            None if seen.line.contains("/api/v1/pods") => list("PodList", "", &[]),
            None => list("NodeList", "", &[node("a")]),
        };
        to.write_all(ok(&page).as_bytes())
    });
    let ran = ask(&authority, "default/new", "-o json");
    assert_eq!(results(&ran), pairs([("a", "fits")]));
    let of_namespace = "/api/v1/namespaces/default/pods?";
    assert!(server.seen().iter().any(|seen| seen.line.contains(of_namespace)), "no more is read");
    let ran = ask(&authority, "53840580-5c35-41ae-83ae-ae6cef7fce0d", "");
    assert!(
        ran.stderr.contains("is a UID, and the API server is queried by name"),
        "{}",
        ran.text()
    );
    assert_eq!(ran.code, 2);
    let ran = ask(&authority, "new", "");
    assert!(ran.stderr.contains("new means 2 pods"), "{}", ran.text());
    assert_eq!(ran.code, 2);
    let ran = ask(&authority, "nobody", "");
    assert!(ran.stderr.contains("no pod nobody in this cluster"), "{}", ran.text());
    assert_eq!(ran.code, 2);
    let asked = server.seen().len();
    let ran = ask(&authority, "default/a,b", "");
    assert!(ran.stderr.contains("invalid pod name \"a,b\""), "{}", ran.text());
    // The nodes come before; no pod is asked for.
    assert_eq!((ran.code, server.seen().len()), (2, asked + 1));
}

#[test]
fn a_terminal_shows_how_many_nodes_are_done_and_is_clean_then() {
    // What takes no longer than a moment has no such line.
    let (authority, _server) = cluster(&["a", "b", "c"], |_, _, to| {
        std::thread::sleep(Duration::from_millis(700));
        say(to, &[])
    });
    let written = at_terminal(&authority, &new());
    let last = (1..=3).try_fold(0, |from, done| {
        let text = format!("{done} of 3 nodes");
        written.get(from..)?.find(&text).map(|at| from + at + text.len())
    });
    let last = last.unwrap_or_else(|| panic!("{written:?}"));
    let (line, notes) = written[last..].split_once("assumed: ").expect("notes");
    assert!(line.ends_with("\r\x1b[2K") && !notes.contains(" of 3 nodes"), "{written:?}");
}
