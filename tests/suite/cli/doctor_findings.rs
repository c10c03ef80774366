//! `kq doctor`: the findings of the domains, and the page of a pod.

use super::doctor::{FakeNode, UID, container, examine};
use super::kq;
use super::lookups::{found, refused};
use kq_facts::timestamp::Timestamp;
use serde_json::{Map, Value, json};

/// A name, what is changed, the severity and the check that tell of it, a part of what they say, the command for more.
type Broken = (&'static str, fn(&mut Value), &'static str, &'static str, &'static str);

#[test]
fn each_finding_of_another_domain_is_told() {
    fn status(node: &mut Value) -> &mut Value {
        &mut node["node"]["found"]["value"]["status"]
    }
    fn stats(node: &mut Value) -> &mut Value {
        &mut node["statsSummary"]["found"]["value"]["node"]
    }
    fn web(node: &mut Value) -> &mut Value {
        &mut node["pods"]["found"]["value"]["pods"][0]["pod"]["status"]["containerStatuses"][0]
    }
    fn cgroups(node: &mut Value) -> &mut Map<String, Value> {
        node["cgroups"]["found"]["value"]["cgroups"].as_object_mut().expect("cgroups")
    }
    fn valid(node: &mut Value, from: &str, until: &str) {
        let certificate = &mut node["certificates"]["found"]["value"][0];
        (certificate["notBefore"], certificate["notAfter"]) = (json!(from), json!(until));
    }
    fn device(node: &mut Value, healthy: bool, told: bool) {
        let of = |ids: &[&str]| json!([{ "resourceName": "example.com/gpu", "deviceIds": ids, "numaNodes": [] }]);
        let entry = json!({
            "podUid": UID, "containerName": "web", "resourceName": "example.com/gpu",
            "deviceIds": { "-1": ["gpu-0"] }, "answer": "withheld",
        });
        let checkpoint = &mut node["devices"]["checkpoint"]["found"]["value"];
        checkpoint["absent"] = json!(false);
        checkpoint["entries"] = json!([entry]);
        checkpoint["registered"] = json!({ "example.com/gpu": ["gpu-0"] });
        let listed = &mut node["devices"]["podResources"]["found"]["value"];
        if told {
            listed["pods"] = json!([{ "name": "web", "namespace": "default", "containers": [
                { "name": "web", "devices": of(&["gpu-0"]), "cpuIds": [], "memory": [] },
            ] }]);
        }
        let ids: &[&str] = if healthy { &["gpu-0"] } else { &["gpu-7"] };
        listed["allocatable"]["found"]["value"]["devices"] = of(ids);
        let pod = &mut node["pods"]["found"]["value"]["pods"][0]["pod"]["spec"]["containers"][0];
        pod["resources"]["limits"]["example.com/gpu"] = json!("1");
        pod["resources"]["requests"]["example.com/gpu"] = json!("1");
    }
    let healthy = FakeNode::new().snapshot();
    let rows: &[Broken] = &[
        (
            "a kubelet that just started",
            |node| {
                let seconds = taken(node).since(Timestamp::from_seconds(0)) / 1_000_000_000;
                node["kubelet"]["found"]["value"]["startedAt"] = json!(seconds - 30);
            },
            "WARNING kubelet-age",
            "the kubelet started 3",
            "journalctl -u kubelet",
        ),
        (
            "a probe that takes longer than its period",
            |node| {
                node["pods"]["found"]["value"]["pods"][0]["pod"]["spec"]["containers"][0]["livenessProbe"] = json!({ "httpGet": { "path": "/", "port": 80 }, "timeoutSeconds": 20, "periodSeconds": 10,
                            "failureThreshold": 9 });
            },
            "WARNING timeout-above-period",
            "a probe may take 20 s and is due every 10 s",
            "see: kq probe lint",
        ),
        (
            "not ready",
            |node| {
                status(node)["conditions"][3] =
                    json!({ "type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown" });
            },
            "ERROR node-conditions",
            "Ready is Unknown: NodeStatusUnknown",
            "journalctl -u kubelet",
        ),
        (
            "silent",
            |node| {
                status(node)["conditions"][3]["lastHeartbeatTime"] = json!("2026-01-01T00:00:00Z")
            },
            "ERROR node-conditions",
            "the kubelet last reported the node's status at 2026-01-01T00:00:00Z",
            "check that the kubelet runs",
        ),
        (
            "pressure",
            |node| status(node)["conditions"][1]["status"] = json!("True"),
            "ERROR node-conditions",
            "DiskPressure is still True",
            "see: kq evict rank",
        ),
        (
            "an expired certificate",
            |node| valid(node, "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"),
            "ERROR certificates",
            "expired at 2025-01-01T00:00:00Z",
            "kubectl get csr",
        ),
        (
            "a certificate that was not renewed",
            |node| valid(node, "1926-01-01T00:00:00Z", "2030-01-01T00:00:00Z"),
            "WARNING certificates",
            "expires in",
            "leads to: the API server rejects the kubelet",
        ),
        (
            "a certificate of ten days that was not renewed",
            |node| {
                let taken = taken(node);
                valid(node, &at(taken, -230), &at_minute(taken, 9 * 60 + 30));
            },
            "WARNING certificates",
            "expires in 9 hours",
            "leads to: the API server rejects the kubelet",
        ),
        (
            "a certificate of the future",
            |node| valid(node, "2035-01-01T00:00:00Z", "2036-01-01T00:00:00Z"),
            "ERROR certificates",
            "is valid from 2035-01-01T00:00:00Z on, and it is 2026-",
            "check the clock",
        ),
        (
            "the certificate of another node",
            |node| {
                node["certificates"]["found"]["value"][0]["subject"] =
                    json!("O=system:nodes, CN=system:node:n2");
            },
            "WARNING certificates",
            "is of the node n2, and this node is n1",
            "the API server forbids the kubelet to change this node",
        ),
        (
            "an expired serving certificate of its own",
            |node| {
                valid(node, "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z");
                let certificate = &mut node["certificates"]["found"]["value"][0];
                certificate["usage"] = json!("serving");
                certificate["path"] = json!("/var/lib/kubelet/pki/kubelet.crt");
            },
            "ERROR certificates",
            "kubelet.crt expired at 2021-01-01T00:00:00Z",
            "remove /var/lib/kubelet/pki/kubelet.crt and /var/lib/kubelet/pki/kubelet.key",
        ),
        (
            "an authority that expired",
            |node| {
                valid(node, "2016-01-01T00:00:00Z", "2026-01-01T00:00:00Z");
                let certificate = &mut node["certificates"]["found"]["value"][0];
                certificate["usage"] = json!("serverAuthority");
                certificate["path"] = json!("/etc/kubernetes/pki/ca.crt");
            },
            "ERROR certificates",
            "the CA certificate of the API server /etc/kubernetes/pki/ca.crt expired",
            "the kubelet rejects the API server",
        ),
        (
            "a network that is not set up",
            |node| {
                let conditions = status(node)["conditions"].as_array_mut().expect("conditions");
                conditions.push(json!({ "type": "NetworkUnavailable", "status": "True",
                    "reason": "NoRouteCreated", "message": "RouteController failed to create a route" }));
            },
            "WARNING node-conditions",
            "NetworkUnavailable is True: RouteController failed to create a route",
            "node.kubernetes.io/network-unavailable",
        ),
        (
            "a node whose clock is ahead",
            |node| {
                let later = at(taken(node), 2);
                let conditions = status(node)["conditions"].as_array_mut().expect("conditions");
                let ready = conditions.iter_mut().find(|it| it["type"] == "Ready").expect("Ready");
                ready["lastHeartbeatTime"] = json!(later);
            },
            "WARNING node-conditions",
            "minutes ahead of the time here",
            "timedatectl",
        ),
        (
            "a full disk without images",
            |node| {
                let disk = &mut node["folders"]["images"]["filesystem"]["found"]["value"];
                disk["availableBytes"] = json!(1_u64 << 30);
            },
            "ERROR image-gc",
            "can free 0",
            "see: kq gc dry-run",
        ),
        (
            "memory is short",
            |node| stats(node)["memory"]["availableBytes"] = json!(50_u64 << 20),
            "ERROR eviction",
            "memory.available: 50Mi left, below the threshold 100Mi",
            "default/web is evicted first",
        ),
        (
            "memory is nearly short",
            |node| stats(node)["memory"]["availableBytes"] = json!(150_u64 << 20),
            "WARNING eviction",
            "memory.available: 150Mi left, the threshold is 100Mi: 50Mi to go",
            "see: kq evict rank --signal memory.available",
        ),
        (
            "an unhealthy device",
            |node| device(node, false, true),
            "ERROR devices",
            "gpu-0 of example.com/gpu: not healthy",
            "see: kq devices list",
        ),
        (
            "a device that the kubelet forgot",
            |node| device(node, true, false),
            "WARNING devices",
            "gpu-0 of example.com/gpu: in the checkpoint, but",
            "before the kubelet is restarted",
        ),
        (
            "a pod that would be refused",
            |node| status(node)["allocatable"]["cpu"] = json!("100m"),
            "WARNING kubelet-restart",
            "a restarted kubelet rejects the pod: OutOfcpu",
            "see: kq admit explain --kubelet-restart",
        ),
        (
            "throttled",
            |node| {
                container(node)["cpu.stat"] =
                    json!("usage_usec 1\nnr_periods 200\nnr_throttled 100\nthrottled_usec 9\n")
            },
            "WARNING cpu-throttling",
            "throttled in 50% of its periods (100 of 200)",
            "raise the CPU limit",
        ),
        (
            "throttled, and no runtime that names it",
            |node| {
                container(node)["cpu.stat"] =
                    json!("usage_usec 1\nnr_periods 200\nnr_throttled 100\nthrottled_usec 9\n");
                node["runtime"]["found"]["value"]["containers"] =
                    found("containerd.sock", json!([]));
                web(node)["containerID"] = json!("");
            },
            "WARNING cpu-throttling",
            "c0ffee (unknown)",
            "raise the CPU limit",
        ),
        (
            "a container without a cgroup",
            |node| cgroups(node).retain(|path, _| !path.contains("c0ffee")),
            "ERROR cgroup-values",
            "the cgroup is missing",
            "kq cgroup apply leaves it: the kubelet and the runtime create cgroups",
        ),
        (
            "a cgroup of no pod",
            |node| {
                let path = "/kubepods.slice/kubepods-poda_b_c.slice".to_owned();
                cgroups(node).insert(path, json!({ "cgroup.procs": "7\n" }));
            },
            "ERROR cgroup-values",
            "the cgroup is not planned",
            "kq cgroup apply leaves it: cgroups are removed by the kubelet",
        ),
        (
            "a file that the kernel lacks",
            |node| {
                container(node).as_object_mut().expect("texts").remove("cpu.weight");
            },
            "ERROR cgroup-values",
            "cpu.weight is missing, planned ",
            "kq cgroup apply leaves it: the kernel has no such file here",
        ),
        (
            "no cgroup of all pods",
            |node| cgroups(node).retain(|path, _| !path.contains("kubepods")),
            "UNKNOWN cpu-throttling",
            "there is no cgroup of all pods",
            "take a new snapshot",
        ),
        (
            "pods without a status",
            |node| node["pods"]["found"]["value"]["pods"][0]["pod"]["status"] = json!({}),
            "UNKNOWN restarts",
            "the statuses of 1 of 1 pods are unknown",
            "--kubeconfig",
        ),
        (
            "near its memory limit",
            |node| container(node)["memory.current"] = json!("66000000\n"),
            "WARNING memory-limit",
            "is 98% of its limit 64Mi",
            "raise its memory limit",
        ),
        (
            "killed by the kernel",
            |node| container(node)["memory.events"] = json!("oom 2\noom_kill 2\n"),
            "WARNING oom-kills",
            "OOM-killed 2 times",
            "find the leak",
        ),
        (
            "ended by the kernel",
            |node| {
                web(node)["lastState"] = json!({ "terminated": {
                    "exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-11-22T03:00:00Z",
                } });
            },
            "WARNING oom-kills",
            "OOM-killed 1 time, last at 2026-11-22T03:00:00Z",
            "raise its memory limit",
        ),
        (
            "started again and again",
            |node| web(node)["restartCount"] = json!(3),
            "WARNING restarts",
            "3 restarts",
            "kubectl logs --previous",
        ),
        (
            "a loop of crashes",
            |node| {
                web(node)["state"] = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
                web(node)["restartCount"] = json!(9);
            },
            "ERROR restarts",
            "CrashLoopBackOff after 9 restarts",
            "kubectl logs --previous",
        ),
        (
            "counters that are not known",
            |node| {
                container(node).as_object_mut().expect("texts").remove("memory.current");
            },
            "UNKNOWN memory-limit",
            "the memory of 1 of 1 containers is unknown",
            "take a new snapshot",
        ),
        (
            "nothing measured",
            |node| node["statsSummary"] = refused("summary", "refused"),
            "UNKNOWN eviction",
            "refused",
            "kq evict rank",
        ),
        (
            "no runtime",
            |node| node["runtime"] = refused("cri", "refused"),
            "UNKNOWN image-gc",
            "refused",
            "with the container runtime up",
        ),
    ];
    for (name, change, expected, said, remedy) in rows {
        let mut node = healthy.clone();
        change(&mut node);
        let ran = examine(&node, "");
        let (severity, check) = expected.split_once(' ').expect("two words");
        let told = |line: &str| {
            let mut words = line.split_whitespace();
            (words.next(), words.next()) == (Some(severity), Some(check)) && line.contains(said)
        };
        assert!(ran.stdout.lines().any(told), "{name}: {}", ran.text());
        let fix = format!("fix: {check}: ");
        let remedied = |line: &str| line.starts_with(&fix) && line.contains(remedy);
        assert!(ran.stderr.lines().any(remedied), "{name}: {}", ran.text());
        let is_error = ran.stdout.lines().any(|line| line.starts_with("ERROR"));
        let is_unknown = ran.stdout.lines().any(|line| line.starts_with("UNKNOWN"));
        let code = if is_error {
            1
        } else if is_unknown {
            3
        } else {
            0
        };
        assert_eq!(ran.code, code, "{name}: {}", ran.text());
        let passed = ran.stdout.lines().find_map(|line| line.split_once(" OK: ")).map(|it| it.1);
        let is_passed = passed.is_some_and(|rules| rules.split(", ").any(|rule| rule == check));
        assert!(!is_passed, "{name}: a check that found something is not OK: {}", ran.text());
    }
}

#[test]
fn a_pod_that_only_its_events_know_is_told() {
    let mut node = FakeNode::new().snapshot();
    let at = taken(&node).to_string();
    let event = |name: &str, reason: &str, message: &str| {
        json!({
            "pod": { "namespace": "ml", "name": name, "uid": "" }, "container": null, "related": null,
            "reason": reason, "message": message, "reporter": "kubelet", "host": "worker-1", "at": at, "count": 1,
        })
    };
    let low = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi.";
    let events = [
        event("train-0", "Evicted", low),
        event("train-0", "Killing", "Stopping container train"),
        event("web-0", "Started", "Started container web"),
    ];
    node["events"] = found("events", events);
    let ran = examine(&node, "");
    let told: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.contains("ended-pods") && line.contains("ml/"))
        .collect();
    assert_eq!(told.len(), 1, "{}", ran.text());
    assert!(told[0].starts_with("WARNING"), "{}", ran.text());
    assert!(
        told[0].contains("ml/train-0") && told[0].contains("evicted by the kubelet"),
        "{}",
        ran.text()
    );
    assert!(told[0].contains("available: 90Mi"), "{}", ran.text());
}

#[test]
fn the_problems_of_the_tour_are_found() {
    let ran = kq("doctor --snapshot examples/night/worker-3.json").run();
    assert_eq!(ran.code, 1, "{}", ran.text());
    for found in [
        "ERROR      cgroup-values         shop/checkout-6d5f7 checkout   cpu.max is 20000 100000, planned 100000",
        "ERROR      devices               ml/train-0 train               gpu-1 of example.com/gpu: not healthy",
        "1 image is removed (6.2Gi), first shop.example/train:cuda-11",
        "throttled in 80% of its periods",
        "5 restarts; last with exit code 137",
        "200m CPU and 6.1Gi of memory are not requested",
    ] {
        assert!(ran.stdout.contains(found), "{found}: {}", ran.stdout);
    }
}

/// A kubelet with certificates of a day renews them after 17 to 22 hours.
#[test]
fn a_certificate_of_a_day_is_no_finding_when_it_is_new() {
    let mut node = FakeNode::new().snapshot();
    let taken = taken(&node);
    let certificate = &mut node["certificates"]["found"]["value"][0];
    certificate["notBefore"] = json!(at(taken, -1));
    certificate["notAfter"] = json!(at(taken, 23));
    let ran = examine(&node, "");
    assert!(!ran.stdout.contains("WARNING"), "{}", ran.text());
}

/// Returns the time of a snapshot.
fn taken(node: &Value) -> Timestamp {
    node["takenAt"].as_str().expect("a time").parse().expect("a time")
}

/// Returns a time so many hours later, as text.
fn at(time: Timestamp, hours: i64) -> String {
    at_minute(time, hours * 60)
}

fn at_minute(time: Timestamp, minutes: i64) -> String {
    let seconds = time.since(Timestamp::from_seconds(0)) / 1_000_000_000 + minutes * 60;
    Timestamp::from_seconds(seconds).to_string()
}

#[test]
fn a_pod_is_shown_through_all_domains() {
    let snapshot = "--snapshot examples/night/worker-3.json";
    let ran = kq(&format!("doctor shop/checkout-6d5f7 {snapshot}")).run();
    assert_eq!(ran.code, 1, "{}", ran.text());
    for line in [
        "Running, QoS class Burstable, priority 1000",
        "last ended with exit code 137 (Error) at 2026-11-22T03:05:51Z",
        "1 of 10 values not as planned",
        "limit 20000 100000, throttled in 80% of its periods",
        "usage 712Mi, limit 1Gi",
        "evicted 4th of 8 for memory.available",
        "shop.example/checkout:2.14: IN-USE",
        "liveness: killed 20s to 31s after it stops answering",
        "it is not critical: the kubelet kills no pod for it",
        "ERROR      cgroup-values    shop/checkout-6d5f7 checkout",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("train-0"), "{}", ran.stdout);
    let wide = kq(&format!("doctor train-0 -owide {snapshot}")).run();
    assert!(wide.stdout.contains("gpu-1 of example.com/gpu: UNHEALTHY"), "{}", wide.stdout);
    assert!(wide.stdout.contains("kq devices list ml/train-0"), "{}", wide.stdout);

    let healthy = FakeNode::new().snapshot();
    let ran = examine(&healthy, "web");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", ran.text());
    let mut node = healthy.clone();
    node["statsSummary"] = refused("summary", "refused");
    node["cgroups"] = refused("cgroups", "refused");
    let ran = examine(&node, "web");
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("missing: its place in the order of eviction: "), "{}", ran.text());

    let none = examine(&healthy, "wep");
    assert_eq!((none.code, none.stdout.as_str()), (2, ""), "{}", none.text());
    assert!(none.stderr.contains("no pod wep on this node"), "{}", none.stderr);
    assert!(none.stderr.contains("did you mean default/web?"), "{}", none.stderr);
}
