//! What is left of a pod, from an API server: events in pages, refusals, and the whole of `kq preempt why`.

use super::super::http_server::{AMPLE, SHORT, Seen, answer, failure, json};
use super::{ApiError, Cluster, HttpError};
use crate::cli::{Ran, kq};
use kq_api::http::Phase;
use std::thread::sleep;

const BY_NAME: &str =
    "events?fieldSelector=involvedObject.kind%3DPod%2CinvolvedObject.name%3Dweb&limit=500";

fn events(next: &str, items: &str) -> String {
    let page = format!(
        r#"{{"kind":"EventList","apiVersion":"v1","metadata":{{"continue":"{next}"}},"items":[{items}]}}"#
    );
    json(&page)
}

fn pods(items: &str) -> String {
    json(&format!(r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{}},"items":[{items}]}}"#))
}

#[test]
fn events_come_in_pages_and_are_picked_by_the_server() {
    let cluster = Cluster::start(|number, _, to| {
        to.write_all(events(if number == 0 { "a b" } else { "" }, "").as_bytes())
    });
    let api = cluster.api(AMPLE);
    assert_eq!(api.events_of_pod(Some("shop"), "web", AMPLE).expect("events").len(), 2);
    api.events_of_pod(None, "web", AMPLE).expect("events");
    api.events_of_uid("11-22", AMPLE).expect("events");
    assert_eq!(
        cluster.lines(),
        [
            format!("GET /api/v1/namespaces/shop/{BY_NAME} HTTP/1.1"),
            format!("GET /api/v1/namespaces/shop/{BY_NAME}&continue=a%20b HTTP/1.1"),
            format!("GET /api/v1/{BY_NAME} HTTP/1.1"),
            "GET /api/v1/events?fieldSelector=involvedObject.kind%3DPod%2CinvolvedObject.uid%3D11-22\
             &limit=500 HTTP/1.1"
                .to_owned(),
        ]
    );
}

#[test]
fn names_that_would_ask_for_more_are_not_asked_for() {
    let cluster = Cluster::saying(events("", ""));
    let api = cluster.api(AMPLE);
    for (namespace, name) in [("shop", "a,b"), ("shop", ""), ("a/b", "web"), ("", "web")] {
        for error in [
            api.events_of_pod(Some(namespace), name, AMPLE).expect_err(name),
            api.pods_of_name(Some(namespace), name, AMPLE).expect_err(name),
        ] {
            let expected = format!("invalid pod name {name:?} in namespace {namespace:?}");
            assert_eq!(error.to_string(), expected);
        }
    }
    assert!(api.events_of_uid("a,b", AMPLE).is_err());
    assert!(cluster.lines().is_empty());
}

#[test]
fn a_refusal_and_a_slow_server_are_told() {
    let forbidden = failure("403 Forbidden", &[], "Forbidden", "events is forbidden");
    let cluster = Cluster::saying(forbidden);
    let error = cluster.api(AMPLE).events_of_pod(None, "web", AMPLE).expect_err("forbidden");
    assert!(error.hint().is_some_and(|hint| hint.contains("verb list on events")), "{error}");
    let cluster = Cluster::start(|_, _, _| {
        sleep(SHORT * 4);
        Ok(())
    });
    match cluster.api(AMPLE).events_of_pod(None, "web", SHORT) {
        Err(ApiError::Http(HttpError::Timeout { phase: Phase::Headers, .. })) => {}
        other => panic!("{other:?}"),
    }
    let error = Cluster::saying(pods("")).api(AMPLE).events_of_pod(None, "web", AMPLE);
    assert!(error.expect_err("pods").to_string().ends_with("kind \"PodList\", expected EventList"));
}

const WEB: &str = r#"{"metadata":{"name":"web","namespace":"shop","uid":"u1"},
    "spec":{"nodeName":"n1","priority":1,"containers":[{"name":"c"}]},
    "status":{"phase":"Failed","reason":"Preempting","message":"Preempted in order to admit critical pod",
    "conditions":[{"type":"DisruptionTarget","status":"True","reason":"TerminationByKubelet",
    "lastTransitionTime":"2026-11-20T11:00:00Z"}]}}"#;
const DNS: &str = r#"{"metadata":{"name":"dns","namespace":"kube-system","uid":"u2"},
    "spec":{"nodeName":"n1","priority":2000000000,"containers":[{"name":"c"}]},
    "status":{"phase":"Running","startTime":"2026-11-20T11:00:01Z"}}"#;
const PREEMPTED: &str = r#"{"metadata":{},"reason":"Preempted","message":"Preempted by pod u9 on node n1",
    "involvedObject":{"kind":"Pod","namespace":"shop","name":"web","uid":"u1"},
    "reportingComponent":"default-scheduler","eventTime":"2026-11-20T11:00:00.000000Z"}"#;
const SCHEDULED: &str = r#"{"metadata":{},"reason":"Scheduled","message":"Successfully assigned shop/big",
    "involvedObject":{"kind":"Pod","namespace":"shop","name":"big","uid":"u9"},
    "reportingComponent":"default-scheduler","eventTime":"2026-11-20T11:00:05.000000Z"}"#;

fn why(cluster: &Cluster, line: &str) -> Ran {
    let kubeconfig = cluster.kubeconfig();
    kq(&format!("preempt why {line} --timeout 2s --kubeconfig"))
        .arg(kubeconfig.display().to_string())
        .run()
}

#[test]
fn the_pod_its_events_and_its_node_are_asked_for() {
    let cluster = Cluster::start(|_, seen: &Seen, to| {
        let said = match seen.line.as_str() {
            line if line.contains("/events?") => events("", ""),
            line if line.contains("spec.nodeName") => pods(&format!("{WEB},{DNS}")),
            _ => pods(WEB),
        };
        to.write_all(said.as_bytes())
    });
    let ran = why(&cluster, "shop/web");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(
        ran.stdout.contains("shop/web on n1: preempted by the kubelet (certain)"),
        "{}",
        ran.text()
    );
    assert!(
        ran.stdout.contains("for: kube-system/dns (likely, priority 2000000000)"),
        "{}",
        ran.text()
    );
    let asked: Vec<String> = cluster.lines();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(asked[0].contains("/namespaces/shop/events?"), "{asked:?}");
    assert!(
        asked[1].contains("/namespaces/shop/pods?fieldSelector=metadata.name%3Dweb"),
        "{asked:?}"
    );
    assert!(asked[2].contains("spec.nodeName%3Dn1"), "{asked:?}");
}

#[test]
fn a_pod_that_is_gone_is_known_by_its_events() {
    let cluster = Cluster::start(|_, seen: &Seen, to| {
        let said = match seen.line.as_str() {
            line if line.contains("involvedObject.uid%3Du9") => events("", SCHEDULED),
            line if line.contains("/events?") => events("", PREEMPTED),
            _ => pods(""),
        };
        to.write_all(said.as_bytes())
    });
    let ran = why(&cluster, "web");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(
        ran.stdout.contains("shop/web on n1: preempted by the scheduler (certain)"),
        "{}",
        ran.text()
    );
    assert!(ran.stdout.contains("for: shop/big (certain)"), "{}", ran.text());
}

#[test]
fn a_pod_of_the_name_in_another_namespace_is_proposed() {
    let cluster = Cluster::start(|_, seen: &Seen, to| {
        let said = match seen.line.as_str() {
            line if line.contains("/events?") => events("", ""),
            line if line.contains("/namespaces/") => pods(""),
            _ => pods(WEB),
        };
        to.write_all(said.as_bytes())
    });
    let ran = why(&cluster, "default/web");
    assert_eq!((ran.code, &*ran.stdout), (3, ""), "{}", ran.text());
    assert!(ran.stderr.contains("no pod default/web, and no trace of one"), "{}", ran.text());
    assert!(ran.stderr.contains("hint: did you mean shop/web?"), "{}", ran.text());
}

#[test]
fn no_more_is_asked_than_the_answer_needs() {
    // Many pods of one name in the events, and many that they were preempted for.
    let of = |change: &dyn Fn(usize) -> (String, String)| {
        let event = |number| {
            let (from, to) = change(number);
            PREEMPTED.replace(&from, &to)
        };
        events("", &(0..300).map(event).collect::<Vec<_>>().join(","))
    };
    let namespaces = of(&|number| ("\"shop\"".to_owned(), format!("\"n{number}\"")));
    let requesters = of(&|number| ("u9".to_owned(), format!("u{}", number + 9)));
    for (said, code, expected) in [
        (namespaces, 2, "web means more than one pod"),
        (requesters, 0, "preempted by the scheduler"),
    ] {
        let cluster = Cluster::start(move |_, seen: &Seen, to| {
            let is_first = seen.line.contains("/events?") && !seen.line.contains(".uid%3D");
            let said = if is_first { said.clone() } else { pods("") };
            to.write_all(said.as_bytes())
        });
        let ran = why(&cluster, "web");
        assert_eq!(ran.code, code, "{}", ran.text());
        assert!(ran.text().contains(expected), "{}", ran.text());
        let asked = cluster.lines();
        assert!(asked.len() < 6, "{}: {asked:?}", asked.len());
    }
}

#[test]
fn what_the_server_refuses_is_missing() {
    let cluster = Cluster::start(|_, seen: &Seen, to| {
        let said = match seen.line.as_str() {
            line if line.contains("/events?") => {
                failure("403 Forbidden", &[], "Forbidden", "no events for you")
            }
            line if line.contains("spec.nodeName") => {
                answer("500 Internal Server Error", &[], "etcd")
            }
            _ => pods(WEB),
        };
        to.write_all(said.as_bytes())
    });
    let ran = why(&cluster, "shop/web");
    assert_eq!(ran.code, 0, "{}", ran.text());
    for said in [
        "missing: the events: ",
        "(the kubeconfig's user needs the verb list on events",
        "missing: the other pods of node n1: ",
        "missing: for which pod: only the kubelet's log has it",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {}", ran.text());
    }
    let nothing = Cluster::saying(failure("403 Forbidden", &[], "Forbidden", "nothing for you"));
    let ran = why(&nothing, "shop/web");
    assert_eq!((ran.code, &*ran.stdout), (3, ""), "{}", ran.text());
    assert!(ran.stderr.contains("no pod shop/web, and no trace of one: pods: "), "{}", ran.text());
    let ran = why(&nothing, "shop/web,a=b");
    assert_eq!((ran.code, &*ran.stdout), (2, ""), "{}", ran.text());
}
