//! Probes of containers that run: commands that end in every way, and connections in a network of their own.

use super::{Running, is_guest, node, skip};
use crate::cli::{Ran, kq};
use kq_facts::runtime::ContainerState;
use kq_linux::cri::v1;
use kq_linux::cri::{CriSession, ExecRuntime};
use kq_linux::probe::dial::probe_tcp;
use kq_linux::probe::run::{self, probe_exec};
use kq_probe::{Attempt, Cause, ExecRequest, ProbeResult, ProbeTimeout, TcpTarget};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const POD: &str = "
metadata: {name: probed, namespace: real, uid: 11111111-0000-4000-8000-000000000021}
spec:
  containers:
  - name: lives
  - name: dies
    command: [sh, -c, exit 3]
";

/// What a command may take beyond its time where the machine is busy, or emulated.
const GRACE: Duration = Duration::from_secs(300);

/// How long `sleep 1000` takes: what ends before has not waited for it.
const LONG: Duration = Duration::from_secs(1000);

/// The time of a command that ends by itself, in seconds.
const PATIENT: i32 = 300;

/// How much longer than its command the runtime may take.
const RUNTIME_TIMEOUT: Duration = Duration::from_secs(60);

/// Runs commands, one after the other or all at once.
struct Prober {
    tokio: tokio::runtime::Runtime,
    runtime: ExecRuntime,
}

impl Prober {
    fn connect(running: &Running<'_>) -> Self {
        let mut tokio = tokio::runtime::Builder::new_current_thread();
        let tokio = tokio.enable_all().build().expect("a runtime");
        let endpoint = endpoint(running);
        let connected = tokio.block_on(ExecRuntime::connect(&endpoint, Path::new("/")));
        let runtime = connected.expect("the runtime is there");
        Self { tokio, runtime }
    }

    fn run(&self, container: &str, command: &[&str], seconds: i32) -> Attempt {
        self.run_within(container, command, seconds, RUNTIME_TIMEOUT)
    }

    fn run_within(
        &self,
        container: &str,
        command: &[&str],
        seconds: i32,
        runtime_timeout: Duration,
    ) -> Attempt {
        let request = request(container, command, seconds);
        self.tokio.block_on(probe_exec(&self.runtime, &request, runtime_timeout, true))
    }
}

fn request(container: &str, command: &[&str], timeout_seconds: i32) -> ExecRequest {
    ExecRequest {
        container_id: container.to_owned(),
        command: command.iter().map(|text| (*text).to_owned()).collect(),
        timeout_seconds,
    }
}

fn endpoint(running: &Running<'_>) -> String {
    format!("unix://{}", running.node.socket.display())
}

#[test]
fn commands_end_as_they_do_for_the_kubelet() {
    let Some(node) = node() else { return };
    let running = node.run_pod(POD);
    let lives = running.container("probed", "lives").id.clone();
    let prober = Prober::connect(&running);
    exit_codes(&prober, &lives);
    long_output(&prober, &lives);
    no_end(&prober, &lives);
    children(&prober, &lives);
    many_at_once(&prober, &lives);
    nobody_there(&prober, &running);
    details(&running);
}

fn exit_codes(prober: &Prober, lives: &str) {
    for code in [0, 1, 126, 127, 137, 255] {
        let script = format!("echo out; echo err >&2; exit {code}");
        let attempt = prober.run(lives, &["sh", "-c", &script], PATIENT);
        let expected = if code == 0 { ProbeResult::Success } else { ProbeResult::Failure };
        assert_eq!((attempt.result, &attempt.error), (expected, &None), "{code}: {attempt:?}");
        assert_eq!(attempt.output.text(), "out\nerr\n", "{code}");
    }
    let attempt = prober.run(lives, &["sh", "-c", "kill -9 $$"], PATIENT);
    assert_eq!((attempt.result, attempt.cause), (ProbeResult::Failure, Some(Cause::ExitCode)));
    // runc cannot start it, which is no exit code but an error of the runtime.
    let attempt = prober.run(lives, &["/no/such/program"], PATIENT);
    assert_eq!(attempt.cause, Some(Cause::Runtime), "{attempt:?}");
    let error = attempt.error.expect("the prober cannot tell");
    assert!(error.starts_with("rpc error: code = Unknown desc = failed to exec in"), "{error}");
}

fn long_output(prober: &Prober, lives: &str) {
    let write =
        |text: &str| format!("dd if=/dev/zero bs=1000 count=20 2>/dev/null | tr '\\0' {text}");
    let script = format!("{}; {} >&2; exit 1", write("o"), write("e"));
    let attempt = prober.run(lives, &["sh", "-c", &script], PATIENT);
    assert_eq!(attempt.result, ProbeResult::Failure, "{:?}", attempt.error);
    assert_eq!(attempt.output.0, vec![b'o'; 10_240]);
    let script = format!("printf 12345; {} >&2", write("e"));
    let attempt = prober.run(lives, &["sh", "-c", &script], PATIENT);
    let expected = [b"12345".to_vec(), vec![b'e'; 10_235]].concat();
    assert_eq!((attempt.result, attempt.output.0), (ProbeResult::Success, expected));
    // More than the kubelet reads of an answer: the runtime, or the client, refuses it.
    let script = "dd if=/dev/zero bs=1000000 count=20 2>/dev/null";
    let attempt = prober.run(lives, &["sh", "-c", script], PATIENT);
    if let Some(error) = &attempt.error {
        assert!(error.contains("ResourceExhausted"), "{error}");
    } else {
        // containerd cuts what it keeps of a stream by itself.
        assert_eq!(attempt.output.0, vec![0; 10_240]);
    }
}

fn no_end(prober: &Prober, lives: &str) {
    let begin = Instant::now();
    let attempt = prober.run(lives, &["sleep", "1000"], 1);
    assert!(begin.elapsed() < LONG, "{:?}", begin.elapsed());
    let text = "command timed out: \"sleep 1000\" timed out after 1s";
    assert_eq!(attempt.output.text(), text, "{attempt:?}");
    assert_eq!((attempt.result, attempt.cause), (ProbeResult::Failure, Some(Cause::Timeout)));
}

/// What a command leaves behind holds its output open. Versions of containerd differ in whether they wait
/// for that; those that do are given up when the runtime's own time is over.
fn children(prober: &Prober, lives: &str) {
    let begin = Instant::now();
    let script = "sleep 1000 & echo left; exit 0";
    let attempt = prober.run_within(lives, &["sh", "-c", script], 2, Duration::from_secs(3));
    assert!(begin.elapsed() < LONG, "{:?}", begin.elapsed());
    let said = attempt.output.text();
    match attempt.result {
        ProbeResult::Success => assert_eq!(said, "left\n"),
        ProbeResult::Failure => assert!(said.contains(" timed out after 2s"), "{said}"),
        _ => assert!(attempt.error.is_some(), "{attempt:?}"),
    }
}

/// Each command ends when all of them have begun, so one after the other they would never end.
fn many_at_once(prober: &Prober, lives: &str) {
    // Emulated, each of them takes a while.
    let count = if is_guest() { 4 } else { 20 };
    prober.tokio.block_on(async {
        let running: Vec<_> = (0..count)
            .map(|code| {
                let runtime = prober.runtime.clone();
                let script = format!(
                    "touch /tmp/begun-{code}
                    until set -- /tmp/begun-* && [ $# = {count} ]; do sleep 0.2; done
                    exit {}",
                    code % 2
                );
                let request = request(lives, &["sh", "-c", &script], PATIENT);
                tokio::spawn(
                    async move { probe_exec(&runtime, &request, RUNTIME_TIMEOUT, true).await },
                )
            })
            .collect();
        for (code, attempt) in running.into_iter().enumerate() {
            let attempt = attempt.await.expect("no panic");
            let is_well = attempt.result == ProbeResult::Success;
            assert_eq!((is_well, &attempt.error), (code % 2 == 0, &None), "{attempt:?}");
            assert_eq!(attempt.output.text(), "", "{attempt:?}");
        }
    });
}

fn nobody_there(prober: &Prober, running: &Running<'_>) {
    let dead = running.container("probed", "dies").id.clone();
    running.wait_for_end(&dead);
    let attempt = prober.run(&dead, &["true"], PATIENT);
    let error = attempt.error.expect("a container that ended runs no commands");
    assert!(error.contains("container is in CONTAINER_EXITED state"), "{error}");
    let attempt = prober.run("0123456789abcdef", &["true"], PATIENT);
    let error = attempt.error.expect("there is no such container");
    assert!(error.starts_with("rpc error: code = NotFound desc = "), "{error}");
}

fn details(running: &Running<'_>) {
    let session =
        CriSession::connect(&endpoint(running), Path::new("/"), GRACE).expect("it answers");
    let of = |name: &str| {
        let id = &running.container("probed", name).id;
        session.container_details(id).expect("it answers").expect("it is there")
    };
    let lives = of("lives");
    assert_eq!((lives.state, lives.exit_code), (ContainerState::Running, None));
    assert!(lives.started_at.is_some(), "{lives:?}");
    let process = PathBuf::from(format!("/proc/{}", lives.pid.expect("containerd tells it")));
    assert!(process.exists(), "{lives:?}");
    let dies = of("dies");
    assert_eq!((dies.exit_code, dies.pid), (Some(3), None), "{dies:?}");
    // What ends at once may have ended before the runtime notes that it has started.
    assert!(dies.finished_at.is_some() && dies.started_at.is_some(), "{dies:?}");
    assert_eq!(session.container_details("nothing"), Ok(None));

    let facts = kq_facts::runtime_needs::RuntimeNeeds::ALL;
    let sandboxes = session.read(facts).expect("it answers").sandboxes;
    let sandbox = sandboxes.value().and_then(|all| all.first()).expect("the pod has one");
    let status = session.sandbox_status(&sandbox.id).expect("it answers").expect("it is there");
    // The pods of these tests have the machine's network.
    assert_eq!((status.ready, status.network_namespace), (true, None));
    let pid = status.pid.expect("containerd tells it");
    let network = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    assert_eq!(network(&pid.to_string()), network("self"));
    assert_eq!(session.sandbox_status("nothing"), Ok(None));
}

/// A network that nothing else is in.
struct Network(Child);

impl Network {
    fn make() -> Result<Self, String> {
        let mut command = Command::new("unshare");
        command.args(["--net", "sleep", "600"]).stdout(Stdio::null()).stderr(Stdio::null());
        let network = Self(command.spawn().map_err(|error| format!("unshare: {error}"))?);
        let own = std::fs::read_link("/proc/self/ns/net").ok();
        let begin = Instant::now();
        while std::fs::read_link(network.path()).ok().is_none_or(|path| Some(path) == own) {
            if begin.elapsed() > GRACE {
                return Err("unshare: no other network".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let up = network.enter(|| Command::new("ip").args(["link", "set", "lo", "up"]).status());
        match up.map_err(|error| error.to_string())? {
            Ok(status) if status.success() => Ok(network),
            Ok(status) => Err(format!("ip: {status}")),
            Err(error) => Err(format!("ip: {error}")),
        }
    }

    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/ns/net", self.0.id()))
    }

    fn enter<T: Send>(&self, run: impl FnOnce() -> T + Send) -> std::io::Result<T> {
        run::Network::of_process(Path::new("/"), self.0.id().cast_signed())?.enter(run)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn connect(address: &str) -> Attempt {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().expect("a runtime");
    let target = TcpTarget { address: address.to_owned() };
    runtime.block_on(probe_tcp(&target, ProbeTimeout::After(Duration::from_secs(5))))
}

#[test]
fn connections_are_made_in_the_network_of_the_pod() {
    // A network has nothing to do with cgroups: it need not be made in the emulated machine as well.
    if is_guest() {
        return;
    }
    if let Err(reason) = super::must_be_root() {
        return skip(&reason);
    }
    let network = match Network::make() {
        Ok(network) => network,
        Err(reason) => return skip(&reason),
    };
    let bind = || TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let inside = network.enter(bind).expect("it can be entered");
    let inside = inside.local_addr().map(|address| (address.to_string(), inside));
    let (address, listener) = inside.expect("it has a port");
    let within = network.enter(|| connect(&address));
    assert_eq!(within.expect("it can be entered").result, ProbeResult::Success);
    // Out here, this port normally has no listener.
    let outside = bind();
    let outside_address = outside.local_addr().expect("it has a port").to_string();
    if outside_address != address {
        let within = network.enter(|| connect(&outside_address));
        let said = within.expect("it can be entered").output.text().into_owned();
        assert_eq!(said, format!("dial tcp {outside_address}: connect: connection refused"));
    }
    assert_eq!(connect(&outside_address).result, ProbeResult::Success);
    drop(listener);
}

/// A pod with a network of its own, and two servers in it: one on all addresses, one on localhost.
const SERVED: &str = "
metadata: {name: served, namespace: real, uid: 11111111-0000-4000-8000-000000000022}
spec:
  hostNetwork: false
  containers:
  - name: open
    command: [httpd, -f, -p, '8080', -h, /etc]
    ports: [{name: http, containerPort: 8080}]
    env: [{name: FILE, value: hostname}]
    startupProbe:
      exec: {command: [cat, /etc/$(FILE)]}
      timeoutSeconds: 30
    readinessProbe:
      httpGet: {path: /hosts, port: http}
      timeoutSeconds: 30
    livenessProbe:
      tcpSocket: {port: http}
      timeoutSeconds: 30
  - name: shut
    command: [httpd, -f, -p, '127.0.0.1:9090', -h, /etc]
    readinessProbe:
      httpGet: {path: /hosts, port: 9090}
      timeoutSeconds: 30
";

#[test]
fn a_pod_is_probed_from_the_node_and_from_inside() {
    let Some(node) = node() else { return };
    if is_guest() {
        return;
    }
    let running = node.run_pod(SERVED);
    let endpoint = endpoint(&running);
    let file = running.file();
    let run = |rest: &str| {
        let line = format!("probe run {} --runtime-endpoint {endpoint} {rest}", file.display());
        kq(&line).run()
    };
    // A server takes a moment until it listens.
    let until = |rest: &str, is_there: &dyn Fn(&Ran) -> bool| {
        let begun = Instant::now();
        loop {
            let ran = run(rest);
            if is_there(&ran) || begun.elapsed() > GRACE {
                break ran;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    let all = until("-c open -o json", &|ran| ran.code == 0);
    assert_eq!(all.code, 0, "{}", all.text());
    let value: Value = all.answer();
    let of = |at: usize| (&value["probes"][at]["type"], &value["probes"][at]["verdict"]);
    for (at, kind) in ["startup", "readiness", "liveness"].into_iter().enumerate() {
        assert_eq!(of(at), (&json!(kind), &json!("SUCCESS")), "{value}");
    }
    let said = value["probes"][0]["message"].as_str().unwrap_or_default();
    assert_eq!(said.trim_end(), "served", "the expanded command read the name of the pod");
    let said = value["probes"][1]["message"].as_str().unwrap_or_default();
    assert!(said.contains("localhost"), "{said}");

    let named = "the server listens on 127.0.0.1 inside the pod only";
    let shut = until("-c shut --compare", &|ran| ran.stdout.contains(named));
    assert_eq!(shut.code, 1, "{}", shut.text());
    assert!(shut.stdout.contains("connect: connection refused"), "{}", shut.text());
    assert!(shut.stdout.contains(named), "{}", shut.text());

    let failed = run("-c open --exec -- sh -c 'echo out; echo err >&2; exit 3'");
    assert_eq!(failed.code, 1, "{}", failed.text());
    assert!(failed.stdout.contains("exit-code"), "{}", failed.text());
    let id = &running.container("served", "open").id;
    let line = format!("probe run --exec -c {id} --runtime-endpoint {endpoint} -- true");
    let ran = kq(&line).run();
    assert_eq!(ran.code, 0, "{}", ran.text());

    // A container that dies while it is probed: errors that never count, and a worker that says so.
    let again = run("-c open --type startup --count 3 --interval 10ms -o json");
    assert_eq!(again.code, 0, "{}", again.text());
    let runtime = &node.runtime;
    let request = v1::StopContainerRequest { container_id: id.clone(), timeout: 0 };
    runtime.call(runtime.client().stop_container(request)).expect("it can be stopped");
    let dead = run("-c open --type startup --count 2 --interval 10ms -o json");
    assert_eq!(dead.code, 3, "{}", dead.text());
    let value: Value = dead.answer();
    let probe = &value["probes"][0];
    assert_eq!((&probe["verdict"], &probe["cause"]), (&json!("ERRORED"), &json!("runtime")));
    assert_eq!(probe["rounds"][1]["because"]["code"], "exited", "{value}");
}
