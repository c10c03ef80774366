//! `kq probe run` against real servers on loopback.

use super::{Ran, folder_with, kq};
use crate::closed_port::ClosedPort;
use crate::edges::http_server::pki::Certified;
use rustls::{ServerConnection, StreamOwned};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A server that says the same to everybody, and keeps what it was asked.
struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers each request with these bytes, and closes.
    fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::doing(move |stream, _| {
            let _ = stream.write_all(&answer);
        })
    }

    /// Does something with each connection, of which it knows the request and the number.
    fn doing(act: impl Fn(&mut TcpStream, usize) + Send + Sync + 'static) -> Self {
        Self::with(move |stream, _, number| act(stream, number))
    }

    fn with(act: impl Fn(&mut TcpStream, &str, usize) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (kept, act) = (Arc::clone(&seen), Arc::new(act));
        thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let (kept, act) = (Arc::clone(&kept), Arc::clone(&act));
                thread::spawn(move || {
                    let mut stream = stream;
                    let request = request(&mut stream);
                    kept.lock().expect("no test panicked").push(request.clone());
                    act(&mut stream, &request, number);
                });
            }
        });
        Self { port, seen }
    }

    /// Answers each request by what it says, and closes.
    fn answering(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self::with(move |stream, request, _| {
            let _ = stream.write_all(answer(request).as_bytes());
        })
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/healthz", self.port)
    }

    fn requests(&self) -> Vec<String> {
        self.seen.lock().expect("no test panicked").clone()
    }
}

fn request(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        read.push(byte[0]);
    }
    String::from_utf8_lossy(&read).into_owned()
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn run_json(line: &str) -> (i32, Value) {
    let Ran { code, stdout, stderr } = kq(&format!("{line} -o json")).run();
    let value = serde_json::from_str(&stdout);
    (code, value.unwrap_or_else(|error| panic!("{line}: {error}: {stdout} {stderr}")))
}

#[test]
fn a_healthy_server_is_asked_as_the_kubelet_asks() {
    let server = Server::saying(answer("200 OK", "fine"));
    let ran = kq(&format!("probe run --http {} --kubelet-version 1.36", server.url())).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains("SUCCESS"), "{}", ran.stdout);
    let expected = format!(
        "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nUser-Agent: kube-probe/1.36\r\nAccept: */*\r\n\
         Connection: close\r\n\r\n",
        server.port
    );
    assert_eq!(server.requests(), [expected]);
}

#[test]
fn verdicts_have_exit_codes_causes_and_events() {
    let closed = ClosedPort::new("127.0.0.1");
    let refused = closed.address.port();
    let rows = [
        ("success", answer("204 No Content", ""), 0, "SUCCESS", Value::Null, "", ""),
        (
            "warning",
            "HTTP/1.1 302 Found\r\nLocation: http://example.org/\r\nContent-Length: 5\r\n\r\nmoved"
                .into(),
            0,
            "WARNING",
            json!("redirect"),
            "Probe terminated redirects, Response body: moved",
            "Liveness probe warning: Probe terminated redirects, Response body: moved",
        ),
        (
            "failure",
            answer("503 Service Unavailable", "no"),
            1,
            "FAILURE",
            json!("unhealthy"),
            "HTTP probe failed with statuscode: 503",
            "Liveness probe failed: HTTP probe failed with statuscode: 503",
        ),
        (
            "errored",
            "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok".into(),
            3,
            "ERRORED",
            json!("protocol"),
            "unexpected EOF",
            "Liveness probe errored and resulted in failure state: unexpected EOF",
        ),
    ];
    for (name, said, code, verdict, cause, message, event) in rows {
        let server = Server::saying(said);
        let (got, value) = run_json(&format!("probe run --http {}", server.url()));
        let probe = &value["probes"][0];
        assert_eq!((got, probe["verdict"].as_str()), (code, Some(verdict)), "{name}: {value}");
        assert_eq!((&probe["cause"], probe["message"].as_str()), (&cause, Some(message)), "{name}");
        let told = probe["event"]["message"].as_str().unwrap_or_default();
        assert_eq!(told, event, "{name}");
        let attempts = if verdict == "ERRORED" { 3 } else { 1 };
        assert_eq!(server.requests().len(), attempts, "{name}: only errors are tried again");
    }
    let (got, value) = run_json(&format!("probe run --tcp 127.0.0.1:{refused}"));
    let probe = &value["probes"][0];
    assert_eq!((got, probe["cause"].as_str()), (1, Some("connect")), "{value}");
    let message = format!("dial tcp 127.0.0.1:{refused}: connect: connection refused");
    assert_eq!(probe["message"], json!(message));
}

#[test]
fn what_a_server_says_never_reaches_the_terminal_raw() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}";
    let in_body = Server::saying(answer("200 OK", evil));
    // Go's client takes no controls in a header, and shows them in its error.
    let in_header = Server::saying(format!("HTTP/1.1 200 OK\r\nX-Evil: {evil}\r\n\r\n"));
    for form in ["", "-v", "-o wide", "-o wide -v", "--count 2 --interval 1ms"] {
        for (server, code) in [(&in_body, 0), (&in_header, 1)] {
            let ran = kq(&format!("probe run --http {} {form}", server.url())).run();
            assert_eq!(ran.code, code, "{form}: {}", ran.text());
            for text in [&ran.stdout, &ran.stderr] {
                let raw = text.contains(['\u{1b}', '\u{7}', '\u{202e}']);
                assert!(!raw, "{form}: {text:?}");
            }
        }
    }
    // JSON has the text itself, escaped as JSON does.
    let (_, value) = run_json(&format!("probe run --http {}", in_body.url()));
    assert_eq!(value["probes"][0]["message"], json!(evil));
}

#[test]
fn bytes_that_are_no_text_are_kept() {
    let server =
        Server::saying(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\xff\x00\xfeA".to_vec());
    let (code, value) = run_json(&format!("probe run --http {}", server.url()));
    let probe = &value["probes"][0];
    assert_eq!(code, 0);
    assert_eq!(probe["messageBase64"], json!("/wD+QQ=="), "{probe}");
}

#[test]
fn a_server_that_hangs_costs_the_timeout() {
    let server = Server::doing(|_, _| thread::sleep(Duration::from_secs(30)));
    let began = Instant::now();
    let (code, value) = run_json(&format!(
        "probe run --http {} --timeout-seconds 1 --type readiness",
        server.url()
    ));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let probe = &value["probes"][0];
    assert_eq!((code, probe["cause"].as_str()), (1, Some("timeout")));
    let text = probe["event"]["message"].as_str().expect("an event");
    assert!(text.starts_with("Readiness probe failed: Get \"http://127.0.0.1:"), "{text}");
    assert!(text.ends_with("(Client.Timeout exceeded while awaiting headers)"), "{text}");
    let phases = probe["attempts"][0]["phases"].as_array().expect("phases");
    let last = phases.last().expect("a phase");
    assert_eq!((&last["phase"], &last["unfinished"]), (&json!("first-byte"), &json!(true)));
}

#[test]
fn repeated_probes_show_what_the_worker_counts() {
    // Two good ones, and bad ones from then on.
    let server = Server::doing(|stream, number| {
        let said = if number < 2 { answer("200 OK", "") } else { answer("500 No", "") };
        let _ = stream.write_all(said.as_bytes());
    });
    let line = format!(
        "probe run --http {} --interval 5ms --until-action --failure-threshold 3 --count 50",
        server.url()
    );
    let (code, value) = run_json(&line);
    let probe = &value["probes"][0];
    let rounds = probe["rounds"].as_array().expect("rounds");
    assert_eq!((code, rounds.len()), (1, 5), "{value}");
    let because: Vec<&str> =
        rounds.iter().filter_map(|round| round["because"]["text"].as_str()).collect();
    assert_eq!(
        because[2..],
        ["failure 1 of 3", "failure 2 of 3", "failure 3 of 3: threshold reached"]
    );
    let action = rounds[4]["action"].as_str().expect("an action");
    assert_eq!(action, "kill: Container ad-hoc failed liveness probe, will be restarted");
    assert_eq!(rounds[4]["onHold"], json!(true));
    assert_eq!(probe["percentiles"]["count"], json!(5));
    // What was written can be asked about again.
    let folder = folder_with(&[("run.json", value.to_string())]);
    let again = kq("probe simulate run.json -o json").within(folder.path()).run();
    assert_eq!(again.code, 0, "{}", again.text());
    let softer = kq("probe simulate run.json --failure-threshold 4").within(folder.path()).run();
    assert!(!softer.stdout.contains("will be restarted"), "{}", softer.stdout);
}

#[test]
fn a_manifest_is_probed_at_a_given_ip() {
    let server = Server::saying(answer("200 OK", "ready"));
    let manifest = format!(
        r#"
apiVersion: v1
kind: Pod
metadata: {{name: web, namespace: shop}}
spec:
  containers:
  - name: app
    image: i
    ports: [{{name: http, containerPort: {port}}}]
    readinessProbe:
      httpGet: {{path: /ready, port: http, httpHeaders: [{{name: X-Token, value: s}}]}}
    livenessProbe:
      tcpSocket: {{port: {port}}}
  - name: other
    image: i
    livenessProbe:
      exec: {{command: [check]}}
"#,
        port = server.port
    );
    let folder = folder_with(&[("web.yaml", manifest.as_str()), ("root/etc/hostname", "n\n")]);
    let line = "probe run web.yaml -c app --pod-ip 127.0.0.1 --host-root root";
    let ran = kq(line).within(folder.path()).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    let lines: Vec<&str> = ran.stdout.lines().take(3).collect();
    assert!(lines[1].contains("shop/web") && lines[1].contains("readiness"), "{}", ran.stdout);
    assert!(lines[2].contains("liveness") && lines[2].contains("SUCCESS"), "{}", ran.stdout);
    assert!(server.requests().iter().any(|it| it.contains("X-Token: s\r\n")));
    // What cannot be sent is a fact that is missing, and never a verdict.
    let line = "probe run web.yaml -c other --pod-ip 127.0.0.1 --host-root root";
    let ran = kq(line).within(folder.path()).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stdout.is_empty() && ran.stderr.contains("container"), "{}", ran.text());
}

#[test]
fn mistakes_are_named() {
    for (line, said) in [
        ("probe run", "no probe is selected"),
        ("probe run --http 10.0.0.1:80", "\"10.0.0.1:80\" has no scheme"),
        ("probe run --http ftp://a/", "\"ftp://a/\" is not a URL for a probe"),
        ("probe run --http http://a/ --interval 1s", "--interval needs --count"),
        ("probe run --tcp a:1 -c web", "cannot be used with"),
        ("probe run --http http://a/ --service x", "cannot be used with"),
        ("probe run --tcp a:1 -H 'a: b'", "cannot be used with"),
        ("probe run web -H 'a: b'", "cannot be used with"),
        ("probe run web --service x", "cannot be used with"),
        ("probe run --tcp a:1 --pod-ip 10.0.0.1", "--pod-ip needs one named pod"),
        ("probe run web.yaml --pod-ip web", "invalid value 'web'"),
        ("probe run --http http://a/ --timeout-seconds 0", "0 is not in 1.."),
        ("probe run --http http://a/ --count 3 -w", "cannot be used with"),
        ("probe run --tcp 10.0.0.1", "has no port between 1 and 65535"),
        ("probe run --grpc 10.0.0.1:99999", "has no port between 1 and 65535"),
        ("probe run --http http://a/ -H nonsense", "\"nonsense\" is not a header"),
        ("probe run web --snapshot x.json", "a snapshot cannot be probed"),
        ("probe run web --exec -- true", "--container"),
        ("probe run --http http://a/ --tcp b:1", "cannot be used with"),
        ("probe run --http http://a/ --interval 0s", "expected probe, or a duration"),
    ] {
        let ran = kq(line).run();
        assert_eq!(ran.code, 2, "{line}: {}", ran.text());
        assert!(ran.stderr.contains(said) && ran.stdout.is_empty(), "{line}: {}", ran.text());
    }
}

#[test]
fn a_thousand_probes_are_sent_at_once() {
    let server = Server::doing(|stream, _| {
        // Each takes a while: one after the other they would take minutes.
        thread::sleep(Duration::from_millis(300));
        let _ = stream.write_all(answer("200 OK", "").as_bytes());
    });
    let pod = |number: usize| {
        format!(
            r#"{{"metadata":{{"name":"p{number}","namespace":"n","uid":"u{number}"}},
                "spec":{{"containers":[{{"name":"c","image":"i",
                    "livenessProbe":{{"httpGet":{{"port":{port}}},"timeoutSeconds":20}}}}]}},
                "status":{{"phase":"Running","podIP":"127.0.0.1"}}}}"#,
            port = server.port
        )
    };
    let pods: Vec<String> = (0..1000).map(pod).collect();
    let list = format!(r#"{{"apiVersion":"v1","kind":"PodList","items":[{}]}}"#, pods.join(","));
    let folder = folder_with(&[("pods.json", list.as_str()), ("root/etc/hostname", "n\n")]);
    let began = Instant::now();
    let ran =
        kq("probe run --all --pods pods.json --host-root root -o json").within(folder.path()).run();
    let value: Value = ran.answer();
    let probes = value["probes"].as_array().expect("probes");
    assert_eq!((ran.code, probes.len()), (0, 1000), "{}", ran.stderr);
    assert!(probes.iter().all(|probe| probe["verdict"] == "SUCCESS"));
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn curl_and_the_kubelet_part_at_redirects() {
    let server = Server::answering(|request| match request.starts_with("GET /login ") {
        true => "HTTP/1.1 302 Found\r\nLocation: /home\r\nContent-Length: 0\r\n\r\n".to_owned(),
        false => answer("500 No", ""),
    });
    let url = format!("http://127.0.0.1:{}/login", server.port);
    let (code, value) = run_json(&format!("probe run --http {url} --compare"));
    let comparison = &value["probes"][0]["comparison"];
    assert_eq!(code, 1);
    let trials = comparison["trials"].as_array().expect("trials");
    let of = |way: &str| trials.iter().find(|trial| trial["way"] == way).expect("a way");
    assert_eq!(of("kubelet")["statuses"], json!([302, 500]), "{comparison}");
    assert_eq!(of("curl")["statuses"], json!([302]), "{comparison}");
    let difference = &comparison["differences"][0];
    assert_eq!(difference["code"], json!("redirects-followed"), "{difference}");
    assert_eq!(difference["curlStatus"], json!(302), "{difference}");
    let hops = &value["probes"][0]["attempts"][0]["hops"];
    assert_eq!((&hops[0]["target"], &hops[1]["status"]), (&json!("/login"), &json!(500)), "{hops}");
    // With nothing to compare nothing is concluded.
    let closed = ClosedPort::new("127.0.0.1");
    let refused = closed.address.port();
    let (_, value) = run_json(&format!("probe run --tcp 127.0.0.1:{refused} --compare"));
    let differences = &value["probes"][0]["comparison"]["differences"];
    let text = "no other way could be tried from here";
    assert_eq!(differences, &json!([{"code": "only-way", "text": text}]));
}

#[test]
fn each_probe_has_its_own_pace_and_startup_comes_first() {
    let server = Server::answering(|request| {
        if request.starts_with("GET /slow ") {
            thread::sleep(Duration::from_secs(2));
        }
        match request.starts_with("GET /start ") {
            true => answer("503 Not yet", ""),
            false => answer("200 OK", ""),
        }
    });
    let pod = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web","namespace":"shop"}},"spec":{{"containers":[
            {{"name":"slow","image":"i","livenessProbe":{{"httpGet":{{"path":"/slow","port":{port}}},"timeoutSeconds":5}}}},
            {{"name":"starts","image":"i","startupProbe":{{"httpGet":{{"path":"/start","port":{port}}}}},
              "readinessProbe":{{"httpGet":{{"path":"/ready","port":{port}}}}}}}]}}}}"#,
        port = server.port
    );
    let folder = folder_with(&[("web.json", pod.as_str())]);
    let line = "probe run web.json --pod-ip 127.0.0.1 --count 3 --interval 100ms -o json";
    let ran = kq(line).within(folder.path()).run();
    assert_eq!(ran.code, 1, "{}", ran.text());
    let value: Value = ran.answer();
    let probes = value["probes"].as_array().expect("probes");
    let of = |container: &str, kind: &str| {
        let own = |probe: &&Value| probe["container"] == container && probe["type"] == kind;
        probes.iter().find(own).expect("a probe")
    };
    let at = |probe: &Value, round: usize| {
        let text = probe["rounds"][round]["at"].as_str().expect("a time").to_owned();
        text.parse::<kq_facts::timestamp::Timestamp>().expect("a time").0
    };
    // The slow one does not delay the others.
    let quick = of("starts", "readiness");
    assert!(at(quick, 2) - at(quick, 0) < 1_500_000_000, "{quick}");
    let slow = of("slow", "liveness");
    assert!(at(slow, 1) - at(slow, 0) >= 2_000_000_000, "{slow}");
    assert_eq!(quick["rounds"][2]["counted"], json!(false), "{quick}");
    assert_eq!(quick["rounds"][2]["because"]["code"], json!("not-started"), "{quick}");
    assert_eq!(of("starts", "startup")["verdicts"], json!({"FAILURE": 3}));
    assert!(quick["percentiles"]["count"] == 3);
}

#[test]
fn a_run_of_readiness_simulates_to_the_same() {
    let server = Server::answering(|_| answer("500 No", ""));
    let pod = format!(
        r#"{{"apiVersion":"v1","kind":"PodList","items":[{{"metadata":{{"name":"web","namespace":"shop","uid":"u"}},
            "spec":{{"containers":[{{"name":"app","image":"i","readinessProbe":{{"successThreshold":3,
                "initialDelaySeconds":30,"httpGet":{{"port":{port}}}}}}}]}},
            "status":{{"phase":"Running","podIP":"127.0.0.1","containerStatuses":[{{"name":"app","ready":true,
                "started":true,"containerID":"containerd://c1","state":{{"running":{{"startedAt":"2026-01-01T00:00:00Z"}}}}}}]}}}}]}}"#,
        port = server.port
    );
    let folder = folder_with(&[("pods.json", pod.as_str()), ("root/etc/hostname", "n\n")]);
    let line = "probe run web --pods pods.json --host-root root --count 4 --interval 5ms -o json";
    let ran = kq(line).within(folder.path()).run();
    let value: Value = ran.answer();
    let rounds = value["probes"][0]["rounds"].as_array().expect("rounds");
    let actions: Vec<&Value> = rounds.iter().map(|round| &round["action"]).collect();
    let none = Value::Null;
    assert_eq!(actions, [&none, &none, &json!("not ready"), &none], "{rounds:?}");
    std::fs::write(folder.path().join("run.json"), &ran.stdout).expect("a file");
    let ran = kq("probe simulate run.json -o json").within(folder.path()).run();
    let value: Value = ran.answer();
    let steps = value["steps"].as_array().expect("steps");
    let acted: Vec<(usize, &Value)> = steps
        .iter()
        .enumerate()
        .filter(|(_, step)| !step["action"].is_null())
        .map(|(at, step)| (at, &step["action"]["do"]))
        .collect();
    // Three successes from before come first.
    assert_eq!(acted, [(2, &json!("ready")), (5, &json!("not-ready"))], "{}", ran.stdout);
}

#[test]
fn what_does_not_run_is_not_probed_with_all() {
    let pod = |name: &str, state: &str| {
        format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"n","uid":"{name}"}},
                "spec":{{"containers":[{{"name":"c","image":"i","livenessProbe":{{"tcpSocket":{{"port":1}}}}}}]}},
                "status":{{"phase":"Running","podIP":"127.0.0.1","containerStatuses":[
                    {{"name":"c","containerID":"containerd://{name}","state":{{{state}}}}}]}}}}"#
        )
    };
    let pods = [
        pod("runs", r#""running":{"startedAt":"2026-01-01T00:00:00Z"}"#),
        pod("crashes", r#""waiting":{"reason":"CrashLoopBackOff"}"#),
        pod("ended", r#""terminated":{"exitCode":0}"#),
    ];
    let list = format!(r#"{{"apiVersion":"v1","kind":"PodList","items":[{}]}}"#, pods.join(","));
    let folder = folder_with(&[("pods.json", list.as_str()), ("root/etc/hostname", "n\n")]);
    let ran =
        kq("probe run --all --pods pods.json --host-root root -o json").within(folder.path()).run();
    let value: Value = ran.answer();
    let probes = value["probes"].as_array().expect("probes");
    assert_eq!((probes.len(), &probes[0]["pod"]), (1, &json!("runs")), "{value}");
    assert!(value["warnings"].to_string().contains("2 probes are not sent"), "{value}");
    // A named one is probed nevertheless, with a note.
    let ran = kq("probe run crashes --pods pods.json --host-root root").within(folder.path()).run();
    assert!(ran.stdout.contains("does not probe it now: it is waiting"), "{}", ran.text());
}

#[test]
fn a_pod_that_nobody_could_list_is_unknown() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: etcd, namespace: kube-system}\nspec: {containers: [{name: c, image: i, livenessProbe: {httpGet: {port: 80}}}]}\n";
    let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nstaticPodPath: /manifests\n";
    let folder = folder_with(&[("kubelet.yaml", config)]);
    for name in ["manifests", "proc"] {
        std::fs::create_dir(folder.path().join(name)).expect("a folder can be made");
    }
    std::fs::write(folder.path().join("manifests/etcd.yaml"), pod).expect("it can be written");
    for command in ["run", "plan", "lint"] {
        let line = format!("probe {command} web --host-root . --kubelet-config kubelet.yaml");
        let ran = kq(&line).within(folder.path()).run();
        assert_eq!(ran.code, 3, "{command}: {}", ran.text());
        let unknown = "whether pod web is on this node is unknown: ";
        assert!(ran.stderr.contains(unknown), "{command}: {}", ran.text());
        assert!(ran.stderr.contains("--pods FILE"), "{command}: {}", ran.text());
        assert!(!ran.stderr.contains("no pod web"), "{command}: {}", ran.text());
    }
}

/// A server of HTTPS on loopback. To a request without TLS it sends an alert, or 400 as servers of Go do.
fn https_server(plain: Option<&'static str>) -> u16 {
    let config = Certified::by_itself("localhost").server();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = Arc::clone(&config);
            thread::spawn(move || -> std::io::Result<()> {
                let mut stream = stream;
                let mut first = [0];
                stream.peek(&mut first)?;
                if let Some(answer) = plain.filter(|_| first != [0x16]) {
                    _ = stream.read(&mut [0; 4096])?;
                    return stream.write_all(answer.as_bytes());
                }
                let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
                let mut stream = StreamOwned::new(connection, stream);
                let read = stream.read(&mut [0; 4096]);
                // What is left to be said is the alert.
                _ = stream.conn.write_tls(&mut stream.sock);
                read?;
                stream.write_all(answer("200 OK", "well").as_bytes())?;
                stream.conn.send_close_notify();
                stream.flush()
            });
        }
    });
    port
}

#[test]
fn a_server_that_speaks_tls_is_named() {
    let go = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    for (name, plain, target, is_grpc) in [
        ("an alert", None, "--http http://127.0.0.1:PORT/healthz", false),
        ("a status", Some(go), "--http http://127.0.0.1:PORT/healthz", false),
        ("gRPC", None, "--grpc 127.0.0.1:PORT", true),
    ] {
        let port = https_server(plain).to_string();
        let target = target.replace("PORT", &port);
        let (code, value) = run_json(&format!("probe run {target} --compare"));
        let differences = &value["probes"][0]["comparison"]["differences"];
        assert_eq!(code, 1, "{name}: {value}");
        assert_eq!(differences[0]["code"], json!("speaks-tls"), "{name}: {value}");
        assert_eq!(differences[0]["isGrpc"], json!(is_grpc), "{name}");
    }
}

#[test]
fn a_server_without_tls_is_not_taken_for_one() {
    let server = Server::answering(|_| answer("400 Bad Request", "no"));
    let url = format!("http://127.0.0.1:{}/", server.port);
    let (_, value) = run_json(&format!("probe run --http {url} --compare"));
    let differences = &value["probes"][0]["comparison"]["differences"];
    assert_eq!(differences[0]["code"], json!("all-fail"), "{value}");
}

#[test]
fn a_certificate_that_nobody_verifies_is_shown() {
    let port = https_server(None);
    let ran = kq(&format!("probe run --http https://127.0.0.1:{port}/healthz")).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(
        ran.stdout.contains("NOT VERIFIED: the server showed the certificate of "),
        "{}",
        ran.text()
    );
    assert!(ran.stdout.contains("signed by itself, valid until "), "{}", ran.text());
    let (_, value) = run_json(&format!("probe run --http https://127.0.0.1:{port}/healthz"));
    let note = &value["probes"][0]["notes"][0];
    assert_eq!(note["code"], json!("certificate-not-verified"), "{value}");
    assert!(note["certificate"]["subject"].is_string(), "{value}");
}

#[test]
fn a_body_that_the_kubelet_cuts_is_named() {
    for (length, notes) in [(10 * 1024 - 1, 0), (10 * 1024, 1), (64 * 1024, 1)] {
        let server = Server::answering(move |_| answer("200 OK", &"x".repeat(length)));
        let (code, value) =
            run_json(&format!("probe run --http http://127.0.0.1:{}/", server.port));
        assert_eq!(code, 0, "{value}");
        let found = value["probes"][0]["notes"].as_array().map_or(0, Vec::len);
        assert_eq!(found, notes, "{length}: {value}");
    }
}
