//! `kq probe plan` and `kq probe lint`: nothing is sent, and no source is queried.

use super::{folder_with, kq};
use serde_json::{Value, json};
use snapbox::str;

const TWO_HANDLERS: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      initContainers:
      - name: once
        image: i
        livenessProbe: {tcpSocket: {port: 1}}
      containers:
      - name: app
        image: i
        livenessProbe:
          exec: {command: [check]}
          httpGet: {port: 70000}
          periodSeconds: 1
          timeoutSeconds: 5
";

#[test]
fn a_plan_has_the_bytes_and_the_times() {
    kq("probe plan examples/probes.yaml --type readiness --pod-ip 10.244.1.7 -o wide --kubelet-version 1.36")
        .shows(str![[r#"
POD            CONTAINER   PROBE       DELAY   PERIOD   TIMEOUT   SUCCESS   FAILURE   TARGET
default/shop   web         readiness   0s      10s      2s        1         3         GET http://10.244.1.7:8080/ready?full=1

web readiness
WHAT          COUNTED FROM                          EARLIEST   LATEST   LATEST BECAUSE
first probe   after the container starts            0s         2m11s    startup period 5 + period 5 x 23 + timeout 1 + period 10 = 2m11s
ready         after the container starts            0s         2m13s    startup period 5 + period 5 x 23 + timeout 1 + period 10 + timeout 2 = 2m13s
not ready     after the container stops answering   20s        32s      period 10 + period 10 x 2 + timeout 2 = 32s
ready         after the container answers again     0s         12s      period 10 + timeout 2 = 12s
  > GET /ready?full=1 HTTP/1.1
  > Host: 10.244.1.7:8080
  > User-Agent: kube-probe/1.36
  > Accept: */*
  > Connection: close
  > 
--- stderr
assumed: the kubelet itself did not start within the last period
assumed: no probe ends in an error: errors count as nothing, and only delay
assumed: no failures are left from the previous container: they would count for this one
assumed: a pre-stop hook is part of the grace period; back-off before the next start is not counted
--- exit 0

"#]]);
}

#[test]
fn a_plan_is_a_value() {
    let value = kq("probe plan examples/probes.yaml --pod-ip fd00::7 --timeout-seconds 3").json();
    assert_eq!((&value["kind"], &value["apiVersion"]), (&json!("ProbePlan"), &json!("kq/v2")));
    let probe = &value["probes"][2];
    assert_eq!(probe["type"], json!("liveness"));
    assert_eq!(probe["address"], json!("[fd00::7]:8080"));
    assert_eq!(probe["timing"]["timeoutSeconds"], json!(3));
    let request = probe["request"].as_str().expect("bytes");
    assert!(request.starts_with("GET /healthz HTTP/1.1\r\nHost: [fd00::7]:8080\r\n"), "{request}");
    let killed = probe["timeline"].as_array().expect("a timeline").iter();
    let killed: Vec<&Value> = killed.filter(|entry| entry["what"] == "killed").collect();
    assert_eq!(killed[0]["latest"]["after"], json!("33s"), "{killed:?}");
}

#[test]
fn what_cannot_be_sent_is_planned_as_the_kubelet_fails() {
    let pod = r#"
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec:
  containers:
  - name: app
    image: i
    env: [{name: A, value: x}, {name: B, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
    readinessProbe: {httpGet: {port: nowhere}}
    livenessProbe: {exec: {command: [check, "$(A)", "$(B)", "$(C)"]}}
"#;
    let folder = folder_with(&[("web.yaml", pod)]);
    let value = kq("probe plan web.yaml").within(folder.path()).json();
    let error = &value["probes"][0]["error"];
    assert_eq!(error, &json!("strconv.Atoi: parsing \"nowhere\": invalid syntax"));
    let exec = &value["probes"][1];
    assert_eq!(exec["request"], json!("check\nx\n\n$(C)"));
    let notes = exec["notes"].as_array().expect("notes").iter();
    let notes: Vec<(&Value, &Value)> = notes.map(|note| (&note["code"], &note["name"])).collect();
    assert_eq!(
        notes,
        [
            (&json!("variable-from-elsewhere"), &json!("B")),
            (&json!("unknown-variable"), &json!("C")),
        ]
    );
}

#[test]
fn what_is_refused_and_what_hurts_is_found() {
    let folder = folder_with(&[("web.yaml", TWO_HANDLERS)]);
    let ran = kq("probe lint web.yaml -o json").within(folder.path()).run();
    assert_eq!(ran.code, 1, "{}", ran.text());
    let value: Value = ran.answer();
    let items = value["items"].as_array().expect("items");
    let found: Vec<String> = items
        .iter()
        .map(|it| {
            format!("{} {} {}", it["severity"], it["subject"]["container"], it["found"])
                .replace('"', "")
        })
        .collect();
    assert_eq!(value["summary"]["ERROR"], json!(2), "{found:?}");
    assert!(found[0].contains("may not specify more than 1 handler type"), "{found:?}");
    assert!(found[1].starts_with("ERROR once Forbidden: may not be set"), "{found:?}");
    let slow = items.iter().find(|it| it["id"] == "timeout-above-period").expect("a finding");
    assert!(slow["facts"]["timeoutSeconds"].as_i64() > slow["facts"]["periodSeconds"].as_i64());
    let fine = kq("probe lint examples/probes.yaml").run();
    assert_eq!(fine.code, 0, "{}", fine.text());
}

#[test]
fn secrets_are_not_kept_in_snapshots_and_named_where_they_matter() {
    let pod = r#"{"metadata":{"name":"web","namespace":"shop","uid":"u"},"spec":{"containers":[{"name":"app",
        "env":[{"name":"TOKEN","value":"s3cret"},{"name":"OTHER","value":"als0"}],
        "readinessProbe":{"httpGet":{"port":80,"httpHeaders":[{"name":"Authorization","value":"Bearer t0ken"},
            {"name":"Host","value":"shop.example"}]}},
        "livenessProbe":{"exec":{"command":["check","$(TOKEN)"]}}}]},
        "status":{"phase":"Running","podIP":"10.0.0.7"}}"#;
    let list = format!(r#"{{"apiVersion":"v1","kind":"PodList","items":[{pod}]}}"#);
    let folder = folder_with(&[("pods.json", list.as_str()), ("root/etc/hostname", "n\n")]);
    let ran =
        kq("snapshot -o node.json --host-root root --pods pods.json").within(folder.path()).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    let stored = std::fs::read_to_string(folder.path().join("node.json")).expect("a snapshot");
    for secret in ["s3cret", "als0", "t0ken"] {
        assert!(!stored.contains(secret), "{secret}");
    }
    assert!(stored.contains("shop.example"), "what is harmless stays");
    let ran = kq("probe plan shop/web --snapshot node.json").within(folder.path()).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(
        ran.stderr.contains("snapshots and reports do not store the value of header Authorization"),
        "{}",
        ran.text()
    );
    assert!(
        ran.stderr.contains("snapshots and reports do not store the command"),
        "{}",
        ran.text()
    );
    // Nobody is told that something is wrong with what is only not there.
    let ran = kq("probe lint shop/web --snapshot node.json -o json").within(folder.path()).run();
    let value: Value = ran.answer();
    assert_eq!(value["summary"]["ERROR"], json!(0), "{value}");
    // Nothing was found, and not everything was looked at.
    assert_eq!((ran.code, &value["summary"]["WARNING"]), (3, &json!(0)), "{value}");
}

#[test]
fn without_its_gate_a_command_that_hangs_counts_for_nothing() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n    image: i\n    livenessProbe: {exec: {command: [check]}, timeoutSeconds: 3}\n";
    let folder = folder_with(&[("web.yaml", pod)]);
    let off = "--set featureGates.ExecProbeTimeout=false";
    // Up to 1.34 it can be off; later kubelets do not start with that.
    for (flags, is_off) in [
        ("--kubelet-version 1.34", false),
        (&format!("--kubelet-version 1.34 {off}"), true),
        (&format!("--kubelet-version 1.32 {off}"), true),
    ] {
        let run = |command: &str| {
            kq(&format!("probe {command} web.yaml {flags} -o json")).within(folder.path()).run()
        };
        let plan: Value = serde_json::from_str(&run("plan").stdout).expect("JSON");
        let notes = plan["probes"][0]["notes"].to_string();
        let noted = notes.contains("a command that takes longer than 3s is ignored");
        assert_eq!(noted, is_off, "{flags}: {plan}");
        let later = |entry: &Value| !entry["latestWithoutRuntimeTimeout"].is_null();
        let timeline = plan["probes"][0]["timeline"].as_array().expect("a list");
        assert_eq!(timeline.iter().any(later), !is_off, "{flags}: {plan}");
        let lint: Value = serde_json::from_str(&run("lint").stdout).expect("JSON");
        let items = lint["items"].as_array().expect("a list").iter();
        let ignored = items.filter(|it| it["id"] == "exec-timeout-ignored").count();
        assert_eq!(ignored, usize::from(is_off), "{flags}: {lint}");
    }
}

#[test]
fn exec_probes_have_a_cost() {
    let pods = "
apiVersion: v1
kind: Pod
metadata: {name: db, namespace: shop}
spec:
  containers:
  - name: app
    image: i
    startupProbe: {exec: {command: [check]}, periodSeconds: 1}
    livenessProbe: {exec: {command: [check]}, periodSeconds: 5}
    readinessProbe: {exec: {command: [check]}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec: {containers: [{name: c, image: i, livenessProbe: {tcpSocket: {port: 80}}}]}
";
    let folder = folder_with(&[("pods.yaml", pods.to_owned())]);
    let expected = "2 exec probes start 18 processes per minute: shop/db app 18 per minute; their CPU is unknown: the \
                    kernel counts it as the container's";
    let shown = kq("probe plan --pods pods.yaml").within(folder.path()).run();
    assert!(shown.stdout.contains(expected), "{}", shown.text());
    let answer = kq("probe plan --pods pods.yaml -o json").within(folder.path()).run();
    let answer: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    let costs =
        json!([{"pod": "shop/db", "container": "app", "probes": 2, "processesPerHour": 1080}]);
    assert_eq!(answer["execCosts"], costs);
    let none = kq("probe plan examples/probes.yaml").json();
    assert_eq!(none["execCosts"], json!([]));
}
