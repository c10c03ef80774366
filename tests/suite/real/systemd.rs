//! A node as most have it: systemd, cgroup v2, containerd 2 with `SystemdCgroup`, runc and crun. kq plays the kubelet over
//! systemd's D-Bus; what the kernel and systemd do with it is theirs.
//!
//! It runs in the emulated machine of `scripts/real-node/boot-systemd`, which `systemd_guest` boots; elsewhere it does
//! nothing. Boot 1 ends with the code for a reboot, boot 2 with the result.

use super::{Node, Runc, Running, units};
use crate::cli::{Ran, Run, kq};
use kq_cgroup::plan::{Owner, RuntimeFormula};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// The exit code for a reboot.
const REBOOT: i32 = 75;

const CONFIGURATION: &str = "\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
failSwapOn: false
podPidsLimit: 321
kubeReserved:
  cpu: 100m
  memory: 128Mi
  pid: \"1000\"
systemReserved:
  cpu: 150m
";

/// The second boot has swap, which pods may use.
const WITH_SWAP: &str = "memorySwap: {swapBehavior: LimitedSwap}\n";

const SWAP_FILE: &str = "/swap";

/// The specs of pods of all kinds, by name.
const PODS: [(&str, &str); 30] = [
    ("g-small", "containers: [{name: c, resources: {limits: {cpu: 10m, memory: 16Mi}}}]"),
    ("g-odd", "containers: [{name: c, resources: {limits: {cpu: 333m, memory: 20000001}}}]"),
    ("g-cpu", "containers: [{name: c, resources: {limits: {cpu: 1, memory: 24Mi}}}]"),
    (
        "g-two",
        "containers: [{name: a, resources: {limits: {cpu: 15m, memory: 16Mi}}}, \
         {name: b, resources: {limits: {cpu: 25m, memory: 16Mi}}}]",
    ),
    (
        "g-huge",
        "containers: [{name: c, resources: {limits: {cpu: 50m, memory: 16Mi, hugepages-2Mi: 4Mi}}}]",
    ),
    (
        "g-crun",
        "runtimeClassName: crun, containers: [{name: c, resources: {limits: {cpu: 60m, memory: 16Mi}}}]",
    ),
    ("b-request", "containers: [{name: c, resources: {requests: {cpu: 70m, memory: 8Mi}}}]"),
    ("b-cpu-only", "containers: [{name: c, resources: {requests: {cpu: 1500m}}}]"),
    ("b-memory-only", "containers: [{name: c, resources: {requests: {memory: 12345678}}}]"),
    (
        "b-limits",
        "containers: [{name: c, resources: {requests: {cpu: 5m, memory: 8Mi}, limits: {cpu: 1501m, memory: 40Mi}}}]",
    ),
    (
        "b-limit-15m",
        "containers: [{name: c, resources: {requests: {cpu: 1m}, limits: {cpu: 15m}}}]",
    ),
    (
        "b-memory-limit",
        "containers: [{name: c, resources: {requests: {memory: 8Mi}, limits: {memory: 32Mi}}}]",
    ),
    (
        "b-mixed",
        "containers: [{name: a, resources: {limits: {cpu: 20m, memory: 16Mi}}}, {name: b}]",
    ),
    (
        "b-init",
        "initContainers: [{name: before, command: ['true'], resources: {requests: {cpu: 200m}}}], \
         containers: [{name: c, resources: {requests: {cpu: 10m}}}]",
    ),
    (
        "b-sidecar",
        "initContainers: [{name: beside, restartPolicy: Always, resources: {requests: {cpu: 30m, memory: 8Mi}}}], \
         containers: [{name: c, resources: {requests: {cpu: 40m, memory: 8Mi}, limits: {memory: 24Mi}}}]",
    ),
    (
        "b-overhead",
        "runtimeClassName: runc, overhead: {cpu: 120m, memory: 10Mi}, \
         containers: [{name: c, resources: {requests: {cpu: 10m, memory: 8Mi}, limits: {cpu: 40m, memory: 16Mi}}}]",
    ),
    (
        "b-pod-level",
        "resources: {requests: {cpu: 90m, memory: 20Mi}, limits: {cpu: 190m, memory: 48Mi}}, containers: [{name: a}, {name: b}]",
    ),
    (
        "b-critical",
        "priorityClassName: system-node-critical, \
         containers: [{name: c, resources: {requests: {cpu: 11m, memory: 8Mi}}}]",
    ),
    (
        "b-huge",
        "containers: [{name: c, resources: {requests: {cpu: 12m, hugepages-2Mi: 2Mi}, limits: {hugepages-2Mi: 2Mi}}}]",
    ),
    ("b-large-share", "containers: [{name: c, resources: {requests: {cpu: 7, memory: 8Mi}}}]"),
    (
        "b-crun",
        "runtimeClassName: crun, \
         containers: [{name: c, resources: {requests: {cpu: 80m, memory: 8Mi}, limits: {cpu: 335m, memory: 32Mi}}}]",
    ),
    (
        "b-crun-request",
        "runtimeClassName: crun, containers: [{name: c, resources: {requests: {cpu: 81m}}}]",
    ),
    (
        "b-three",
        "containers: [{name: a, resources: {requests: {cpu: 1m}}}, {name: b, resources: {limits: {memory: 16Mi}}}, \
         {name: c}]",
    ),
    (
        "b-low",
        "containers: [{name: c, resources: {requests: {cpu: 2m}, limits: {cpu: 3m, memory: 16Mi}}}]",
    ),
    (
        "b-above",
        "containers: [{name: c, resources: {requests: {memory: 8Mi}, limits: {cpu: 2, memory: 64Mi}}}]",
    ),
    ("e-one", "containers: [{name: c}]"),
    ("e-two", "containers: [{name: a}, {name: b}]"),
    ("e-crun", "runtimeClassName: crun, containers: [{name: c}]"),
    ("e-critical", "priorityClassName: system-cluster-critical, containers: [{name: c}]"),
    ("e-init", "initContainers: [{name: before, command: ['true']}], containers: [{name: c}]"),
];

#[test]
fn systemd_keeps_what_kq_and_the_kubelet_set() {
    let Some(boot) = boot() else { return };
    print_versions();
    if boot == 1 {
        import_images();
        first_boot();
        // The harness ends here: what it has is lost with the machine.
        std::process::exit(REBOOT);
    }
    second_boot();
}

/// Returns the number of the boot of the machine with systemd; `None`: this is another one.
fn boot() -> Option<u32> {
    super::is_machine().then(|| std::env::var("KQ_BOOT").ok()?.parse().ok()).flatten()
}

fn first_boot() {
    let node = Node::of_machine(CONFIGURATION, 0).expect("the machine is a node");
    let running = start(&node);
    everything_is_judged(&running, "after the start");
    let of_its_own = live(&running, "cgroup diff -o json").by(&["/usr/bin/unshare", "--cgroup"]);
    judged(&of_its_own.run(), "in a cgroup namespace");
    // For a minute after the last pod came, what differs in a QoS class may be on its way.
    thread::sleep(Duration::from_secs(65));
    what_systemctl_set_is_taken_over(&running);
    what_was_written_by_hand_is_taken_over(&running);
    everything_is_judged(&running, "before the reboot");
    std::mem::forget(running);
}

fn second_boot() {
    run(
        "sh",
        &[
            "-c",
            &format!(
                "dd if=/dev/zero of={SWAP_FILE} bs=1M count=256 status=none && chmod 600 {SWAP_FILE}"
            ),
        ],
    );
    run("mkswap", &["-q", SWAP_FILE]);
    run("swapon", &[SWAP_FILE]);
    let swap = meminfo("SwapTotal:");
    let node = Node::of_machine(&format!("{CONFIGURATION}{WITH_SWAP}"), swap).expect("a node");
    let running = start(&node);
    everything_is_judged(&running, "after the reboot, with swap");
    let container = running.container("b-memory-limit", "c");
    let limit = node.cgroups.read(&container.cgroup, "memory.swap.max").expect("it has the file");
    assert!(limit.parse::<u64>().is_ok_and(|limit| limit > 0), "memory.swap.max is {limit}");
    std::mem::forget(running);
}

fn start(node: &Node) -> Running<'_> {
    let begun = Instant::now();
    let mut manifest = String::new();
    for (index, (name, spec)) in PODS.iter().enumerate() {
        let uid = format!("44444444-0000-4000-8000-{index:012}");
        writeln!(
            manifest,
            "---\nmetadata: {{name: {name}, namespace: real, uid: {uid}}}\nspec: {{{spec}}}"
        )
        .expect("a text grows");
    }
    let running = node.run_pods(&manifest, Runc::System);
    say(&format!("{} pods run after {} s", PODS.len(), begun.elapsed().as_secs()));
    running
}

/// What differs from the plan, live and in a snapshot that is taken now, is nothing; and nearly all is judged.
#[track_caller]
fn everything_is_judged(running: &Running<'_>, when: &str) {
    let live = live(running, "cgroup diff -o json").run();
    judged(&live, when);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("node.json").display().to_string();
    let pods = running.file().display().to_string();
    let line = format!("snapshot --kubelet-version 1.36.2 --pods {pods} -o {file}");
    let taken = sources(running, &line).run();
    assert_eq!(taken.code, 0, "{}", taken.stderr);
    judged(
        &kq("cgroup diff -o json --snapshot").arg(&file).run(),
        &format!("{when}, from a snapshot"),
    );
}

#[track_caller]
fn judged(ran: &Ran, when: &str) {
    let counts = counts(ran);
    let all: usize = counts.values().sum();
    let unknown = counts.get("UNKNOWN").copied().unwrap_or_default();
    say(&format!("{when}: {} of {all} values are judged: {counts:?}", all - unknown));
    assert_eq!(differing(ran), [""; 0], "{when}: {}", ran.stderr);
    assert!(all > 300 && unknown * 100 < all, "{when}: {:#?}", unknown_rows(ran));
}

fn what_systemctl_set_is_taken_over(running: &Running<'_>) {
    let container = running.container("b-limits", "c").cgroup.clone();
    let scope = unit(&container);
    let burstable = "/kubepods.slice/kubepods-burstable.slice";
    let weight = || read(running, burstable, "cpu.weight");
    let planned = weight();
    run("systemctl", &["set-property", "--runtime", unit(burstable), "CPUWeight=77"]);
    run("systemctl", &["set-property", "--runtime", scope, "MemoryMax=50M"]);
    say(&format!(
        "measured: set-property of MemoryMax of a scope makes memory.oom.group {} (it was 1)",
        read(running, &container, "memory.oom.group")
    ));
    let ran = live(running, "cgroup diff -o json").run();
    let found = differing(&ran);
    assert!(found.iter().any(|it| it.ends_with("cpu.weight DRIFT")), "{found:?}");
    assert!(found.iter().any(|it| it.ends_with("memory.max DRIFT")), "{found:?}");
    let said = applied(running, "/kq/by-systemctl.json");
    assert!(said.contains(&format!("CPUWeight={planned}")), "{said}");
    assert!(said.contains("MemoryMax=41943040"), "{said}");
    assert_eq!(property(unit(burstable), "CPUWeight"), planned);
    stays(running, "what kq set over what systemctl had set");
    let ran = rolled_back(running, "/kq/by-systemctl.json");
    assert_eq!((ran.code, weight().as_str()), (0, "77"), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(property(unit(burstable), "CPUWeight"), "77");
    assert_eq!(property(scope, "MemoryMax"), "52428800");
    assert_eq!(read(running, &container, "memory.max"), "52428800");
    let ran = rolled_back(running, "/kq/by-systemctl.json");
    assert_eq!((ran.code, weight().as_str()), (0, "77"), "again: {}{}", ran.stdout, ran.stderr);
    applied(running, "/kq/by-systemctl-again.json");
    nothing_differs(running, "after the second apply");
}

fn what_was_written_by_hand_is_taken_over(running: &Running<'_>) {
    let node = running.node;
    let burstable = "/kubepods.slice/kubepods-burstable.slice";
    let limited = running.container("b-limits", "c").cgroup.clone();
    let of_crun = format!("{}/container", running.container("b-crun", "c").cgroup);
    let pod = limited.rsplit_once('/').expect("a pod").0.to_owned();
    let by_hand = [
        ("/kubepods.slice", "cpu.weight", "123"),
        (burstable, "cpu.weight", "5"),
        (burstable, "memory.max", "1073741824"),
        (&pod, "cpu.weight", "6"),
        (&pod, "pids.max", "99"),
        (&limited, "cpu.max", "50000 100000"),
        (&limited, "memory.max", "62914560"),
        (&limited, "memory.oom.group", "0"),
        (&of_crun, "memory.max", "62914560"),
    ];
    let write_all = || {
        by_hand.iter().for_each(|(cgroup, file, text)| node.cgroups.write(cgroup, file, text));
    };
    let kept = |after: &str| {
        for (cgroup, file, text) in by_hand {
            let found = read(running, cgroup, file);
            let kept = if found == text { "stays" } else { "is taken back" };
            say(&format!("measured: {after}: by hand in {}: {file} {kept}", short(cgroup)));
        }
    };
    write_all();
    run("systemctl", &["daemon-reload"]);
    thread::sleep(Duration::from_secs(5));
    kept("daemon-reload");
    write_all();
    run("systemctl", &["daemon-reexec"]);
    thread::sleep(Duration::from_secs(5));
    kept("daemon-reexec");
    write_all();
    minute_of_the_kubelet(running);
    kept("the kubelet's minute");
    write_all();
    run("systemctl", &["set-property", "--runtime", unit(&limited), "CPUWeight=50"]);
    kept("set-property CPUWeight of the scope");
    write_all();
    run("systemctl", &["set-property", "--runtime", unit(&pod), "TasksMax=98"]);
    kept("set-property TasksMax of the pod's slice");
    write_all();
    let before: Vec<String> =
        by_hand.iter().map(|(cgroup, file, _)| read(running, cgroup, file)).collect();
    let said = applied(running, "/kq/by-hand.json");
    say(&format!(
        "apply: {}",
        said.lines().filter(|line| line.contains("may undo")).collect::<String>()
    ));
    stays(running, "what kq set over what was written by hand");
    let ran = rolled_back(running, "/kq/by-hand.json");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let after: Vec<String> =
        by_hand.iter().map(|(cgroup, file, _)| read(running, cgroup, file)).collect();
    assert_eq!(after, before, "{}", ran.stdout);
    applied(running, "/kq/by-hand-again.json");
    nothing_differs(running, "after the second apply");
}

/// What was applied stays: after a reload, after systemd was executed again, after the kubelet's minute and a real one.
#[track_caller]
fn stays(running: &Running<'_>, what: &str) {
    nothing_differs(running, what);
    run("systemctl", &["daemon-reload"]);
    nothing_differs(running, &format!("{what}, after daemon-reload"));
    run("systemctl", &["daemon-reexec"]);
    nothing_differs(running, &format!("{what}, after daemon-reexec"));
    minute_of_the_kubelet(running);
    nothing_differs(running, &format!("{what}, after the kubelet's minute"));
    thread::sleep(Duration::from_secs(60));
    nothing_differs(running, &format!("{what}, after a minute"));
}

/// Does what the kubelet does once a minute: `UpdateCgroups` of `pkg/kubelet/cm/qos_container_manager_linux.go`.
#[track_caller]
fn minute_of_the_kubelet(running: &Running<'_>) {
    let plan = running.plan();
    for root in &plan.roots {
        root.walk(0, &mut |cgroup, _| {
            if let (Owner::Qos(_), Some(unit)) = (cgroup.owner, &cgroup.unit) {
                units::set(unit);
                for file in &cgroup.files {
                    running.node.cgroups.write(&cgroup.path, &file.file, &file.value);
                }
            }
        });
    }
}

#[track_caller]
fn applied(running: &Running<'_>, rollback: &str) -> String {
    let ran = live(running, "cgroup apply --yes").arg("--rollback-file").arg(rollback).run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    format!("{}{}", ran.stdout, ran.stderr)
}

fn rolled_back(running: &Running<'_>, file: &str) -> Ran {
    sources(running, "cgroup rollback --yes").arg(file).run()
}

#[track_caller]
fn nothing_differs(running: &Running<'_>, when: &str) {
    let ran = live(running, "cgroup diff -o json").run();
    assert_eq!(differing(&ran), [""; 0], "{when}: {}", ran.stderr);
    say(&format!("{when}: nothing differs"));
}

/// Prints the versions, and fails for one that kq's tables do not have.
fn print_versions() {
    let said = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output().expect("the program runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines().next().unwrap_or_default().to_owned()
    };
    let runc = said(&program("runc").expect("runc"), "--version");
    let crun = said("crun", "--version");
    let containerd = said("containerd", "--version");
    for line in [
        &said("systemctl", "--version"),
        &format!("Linux {}", said("uname", "-r")),
        &containerd,
        &runc,
        &crun,
    ] {
        say(&format!("version: {line}"));
    }
    for (name, text) in [("runc", &runc), ("crun", &crun)] {
        let version = text.rsplit(' ').next().unwrap_or_default();
        assert!(
            RuntimeFormula::of_runtime(name, version).is_some(),
            "kq knows no formula of {text}"
        );
    }
    let version = containerd.split(' ').find_map(|word| {
        let mut numbers = word.trim_start_matches('v').split('.');
        Some((numbers.next()?.parse::<u32>().ok()?, numbers.next()?.parse::<u32>().ok()?))
    });
    let version = version.unwrap_or_else(|| panic!("{containerd}: which version?"));
    assert!(
        version == (1, 6) || version == (1, 7) || ((2, 0)..=(2, 2)).contains(&version),
        "the table of docs/cgroup.md was read in containerd 1.6 to 2.2, and this is {containerd}"
    );
}

/// Returns the low-level program that containerd's configuration names.
pub fn program(name: &str) -> Result<String, String> {
    let text = fs::read_to_string("/etc/containerd/config.toml").map_err(|it| it.to_string())?;
    let named = text.lines().filter_map(|line| line.trim().strip_prefix("BinaryName = "));
    let mut named = named.map(|path| path.trim_matches('\'').to_owned());
    named.find(|path| path.ends_with(name)).ok_or_else(|| format!("no {name} is configured"))
}

fn import_images() {
    for image in ["pause", "busybox"] {
        run("ctr", &["-n", "k8s.io", "images", "import", &format!("/kq/images/{image}.tar")]);
    }
}

#[track_caller]
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[track_caller]
pub fn property(unit: &str, name: &str) -> String {
    run("systemctl", &["show", "--value", "-p", name, unit])
}

fn unit(cgroup: &str) -> &str {
    cgroup.rsplit('/').next().unwrap_or_default()
}

/// Names a cgroup in a few words.
fn short(cgroup: &str) -> &'static str {
    match unit(cgroup) {
        "kubepods.slice" => "kubepods.slice",
        "kubepods-burstable.slice" => "kubepods-burstable.slice",
        "container" => "crun's container",
        name if name.ends_with(".scope") => "a scope",
        _ => "a pod's slice",
    }
}

#[track_caller]
fn read(running: &Running<'_>, cgroup: &str, file: &str) -> String {
    running.node.cgroups.read(cgroup, file).unwrap_or_else(|it| panic!("{cgroup}/{file}: {it}"))
}

fn meminfo(name: &str) -> i64 {
    let text = fs::read_to_string("/proc/meminfo").expect("the kernel has it");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
    let kibibytes = line.trim().strip_suffix(" kB").and_then(|it| it.parse::<i64>().ok());
    kibibytes.expect("a number") * 1024
}

pub fn say(text: &str) {
    println!("systemd: {text}");
}

fn live(running: &Running<'_>, line: &str) -> Run {
    let run = sources(running, line).arg("--pods").arg(running.file().display().to_string());
    run.arg("--kubelet-version").arg("1.36.2")
}

/// Prepares a command that finds out everything but what a kubelet says.
fn sources(running: &Running<'_>, line: &str) -> Run {
    let config = running.node.folder.join("kubelet.yaml");
    kq(line).arg("--timeout").arg("60s").arg("--kubelet-config").arg(config.display().to_string())
}

fn items(ran: &Ran) -> Vec<Value> {
    let report: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout, ran.stderr));
    report["items"].as_array().expect("a comparison has items").clone()
}

fn counts(ran: &Ran) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for item in items(ran) {
        *counts.entry(item["verdict"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    counts
}

/// Returns what is neither as planned nor unknown, in words.
fn differing(ran: &Ran) -> Vec<String> {
    let all = items(ran);
    let is_other = |item: &&Value| {
        !["MATCH", "ROUNDED", "UNKNOWN"].contains(&item["verdict"].as_str().unwrap_or_default())
    };
    all.iter().filter(is_other).map(row).collect()
}

fn unknown_rows(ran: &Ran) -> Vec<String> {
    let all = items(ran);
    all.iter()
        .filter(|item| item["verdict"] == "UNKNOWN")
        .map(|item| format!("{} {}", row(item), item["reason"]))
        .collect()
}

fn row(item: &Value) -> String {
    let text = |field: &str| item[field].as_str().unwrap_or_default();
    let place = match text("pod") {
        "" => unit(text("cgroup")),
        pod => pod,
    };
    [place, text("container"), text("file"), text("verdict")]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
