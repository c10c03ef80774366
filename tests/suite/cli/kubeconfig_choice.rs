//! What is chosen in a kubeconfig and said over it: contexts, clusters, users, impersonation. Every command that talks to the API
//! server has the flags.

use super::{Ran, folder_with, kq, repository};
use crate::edges::http_server::pki::Authority;
use crate::edges::http_server::{Seen, Server, Wire, failure, json as ok};
use crate::objects;
use serde_json::{Value, json};

/// Two API servers, with a kubeconfig of two contexts.
struct Two {
    first: Server,
    second: Server,
    authority: Authority,
    folder: tempfile::TempDir,
}

fn server(authority: &Authority) -> Server {
    let wire = Wire::Tls(authority.sign(&["127.0.0.1"]).server());
    Server::start(wire, |_, seen, to| to.write_all(said(seen).as_bytes()))
}

/// Returns what a server with one node and no pods says.
fn said(seen: &Seen) -> String {
    let node = objects::node("worker-1").version("v1.36.2");
    let path = seen.line.split(' ').nth(1).unwrap_or_default();
    let answer = match path.split('?').next().unwrap_or_default() {
        "/api/v1/nodes" => json!({"kind": "NodeList", "apiVersion": "v1", "items": [node]}),
        "/api/v1/nodes/worker-1" => node.into(),
        path if path.ends_with("/pods") => {
            json!({"kind": "PodList", "apiVersion": "v1", "items": []})
        }
        path if path.ends_with("/events") => {
            json!({"kind": "EventList", "apiVersion": "v1", "items": []})
        }
        _ => return failure("404 Not Found", &[], "NotFound", "what?"),
    };
    ok(&answer.to_string())
}

impl Two {
    fn new() -> Self {
        let authority = Authority::new();
        authority.file();
        let (first, second) = (server(&authority), server(&authority));
        Self { first, second, authority, folder: tempfile::tempdir().expect("a folder") }
    }

    /// Writes the kubeconfig; the users have these fields beside their tokens.
    fn kubeconfig(&self, more: Value) -> String {
        let authority = self.authority.folder().join("ca.crt");
        let cluster = |name: &str, server: &Server| {
            json!({"name": name, "cluster": {
                "server": server.url("https"), "certificate-authority": authority,
            }})
        };
        let user = |name: &str, token: &str| {
            let mut user = more.clone();
            user["token"] = json!(token);
            json!({"name": name, "user": user})
        };
        let context = |name: &str, cluster: &str, user: &str| json!({"name": name, "context": {"cluster": cluster, "user": user}});
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "one",
            "contexts": [context("one", "first", "ann"), context("two", "second", "bob")],
            "clusters": [cluster("first", &self.first), cluster("second", &self.second)],
            "users": [user("ann", "token-of-ann"), user("bob", "token-of-bob")],
        });
        let path = self.folder.path().join("kubeconfig");
        std::fs::write(&path, config.to_string()).expect("a file");
        path.display().to_string()
    }

    fn ask(&self, more: Value, flags: &str) -> Ran {
        let kubeconfig = self.kubeconfig(more);
        let line = "preempt explain examples/night/dns.yaml --all-nodes --kubeconfig";
        kq(&format!("{line} {kubeconfig} {flags}")).within(repository()).run()
    }
}

#[test]
fn a_context_a_cluster_and_a_user_are_chosen() {
    for (flags, is_second, token) in [
        ("", false, "token-of-ann"),
        ("--context two", true, "token-of-bob"),
        ("--cluster second", true, "token-of-ann"),
        ("--user bob", false, "token-of-bob"),
        ("--context two --cluster first --user ann", false, "token-of-ann"),
    ] {
        let two = Two::new();
        let ran = two.ask(json!({}), flags);
        assert_eq!(ran.code, 0, "{flags}: {}", ran.text());
        let (asked, other) = match is_second {
            true => (&two.second, &two.first),
            false => (&two.first, &two.second),
        };
        assert!(other.seen().is_empty(), "{flags}");
        let expected = format!("Bearer {token}");
        for seen in asked.seen() {
            assert_eq!(seen.header("authorization"), Some(expected.as_str()), "{flags}");
        }
        assert_eq!(asked.seen().len(), 2, "{flags}");
    }
}

#[test]
fn what_the_kubeconfig_does_not_have_is_said() {
    let two = Two::new();
    for (flags, said) in [
        ("--context 'no such'", "context \"no such\" does not exist"),
        ("--cluster gone", "cluster \"gone\" does not exist"),
        ("--user gone", "user \"gone\" does not exist"),
        ("--context '\u{1b}[31mred'", "context \"\\u{1b}[31mred\" does not exist"),
    ] {
        let ran = two.ask(json!({}), flags);
        assert_eq!(ran.code, 3, "{flags}: {}", ran.text());
        assert!(ran.stderr.contains(said), "{flags}: {}", ran.text());
        assert!(!ran.text().contains('\u{1b}'), "{flags}");
    }
    let alone = kq("preempt explain examples/night/dns.yaml --all-nodes --user bob");
    let ran = alone.within(repository()).run();
    assert!(
        ran.stderr.contains("--user names an entry of one, and there is none"),
        "{}",
        ran.text()
    );
    assert!(two.first.seen().is_empty() && two.second.seen().is_empty());
}

/// Returns the headers of impersonation that the only kind of request had.
fn impersonation(two: &Two) -> Vec<(String, String)> {
    let seen = two.first.seen().pop().expect("it was asked");
    let headers = seen.headers.into_iter();
    let mut headers: Vec<_> =
        headers.filter(|(name, _)| name.starts_with("impersonate-")).collect();
    headers.sort();
    headers
}

#[test]
fn a_user_is_impersonated_as_the_flags_and_the_kubeconfig_say() {
    let own = json!({
        "as": "carol", "as-groups": ["g"], "as-uid": "7", "as-user-extra": {"scopes/a": ["b"]},
    });
    let extra = ("impersonate-extra-scopes%2fa", "b");
    let (group, uid) = (("impersonate-group", "g"), ("impersonate-uid", "7"));
    for (more, flags, expected) in [
        (json!({}), "", vec![]),
        (json!({}), "--as dave", vec![("impersonate-user", "dave")]),
        (
            json!({}),
            "--as dave --as-group x --as-group y --as-uid 9",
            vec![
                ("impersonate-group", "x"),
                ("impersonate-group", "y"),
                ("impersonate-uid", "9"),
                ("impersonate-user", "dave"),
            ],
        ),
        (own.clone(), "", vec![extra, group, uid, ("impersonate-user", "carol")]),
        (
            own,
            "--as dave --as-group x",
            vec![extra, ("impersonate-group", "x"), uid, ("impersonate-user", "dave")],
        ),
    ] {
        let two = Two::new();
        let ran = two.ask(more, flags);
        assert_eq!(ran.code, 0, "{flags}: {}", ran.text());
        let found = impersonation(&two);
        let found: Vec<_> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(found, expected, "{flags}");
    }
    let two = Two::new();
    let ran = two.ask(json!({}), "--as-group x");
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("no user is impersonated"), "{}", ran.text());
    assert!(two.first.seen().is_empty());
}

#[test]
fn every_command_that_asks_the_api_server_has_the_flags() {
    let manifest = std::fs::read_to_string(repository().join("examples/night/dns.yaml"));
    let folder = folder_with(&[("dns.yaml", manifest.expect("a manifest"))]);
    for line in [
        "preempt explain dns.yaml --all-nodes",
        "preempt explain dns.yaml --node-name worker-1",
        "preempt apply dns.yaml --node-name worker-1 --dry-run",
        "preempt why shop/web",
        "admit explain dns.yaml --node-name worker-1",
        "why shop/web --node-name worker-1",
        "doctor --node-name worker-1",
        "version --node-name worker-1",
        "snapshot --node-name worker-1 -o out.json",
        "fleet run --api-only -- version",
        "fleet collect --api-only --dir .",
        "fleet clean --dry-run",
        "fleet run --image a --dry-run -- doctor",
    ] {
        let two = Two::new();
        let kubeconfig = two.kubeconfig(json!({}));
        let flags =
            format!("--kubeconfig {kubeconfig} --context two --cluster first --user bob --as dave");
        let (before, after) = line.split_once(" -- ").unwrap_or((line, ""));
        let after = if after.is_empty() { String::new() } else { format!(" -- {after}") };
        let ran = kq(&format!("{before} {flags}{after}")).within(folder.path()).run();
        let seen = two.first.seen();
        assert!(!seen.is_empty(), "{line}: {}", ran.text());
        for seen in seen {
            assert_eq!(seen.header("impersonate-user"), Some("dave"), "{line}: {}", seen.line);
            let token = seen.header("authorization");
            assert_eq!(token, Some("Bearer token-of-bob"), "{line}: {}", seen.line);
        }
        assert!(two.second.seen().is_empty(), "{line}");
    }
}
