//! `kq devices serve`, `allocate` and `plugins`: the whole life of a plugin, with a real one.

use super::{folder_with, kq};
use crate::edges::device_plugin::sample_plugin::{
    Behaviour, Plugin, device, register, registration,
};
use kq_facts::checkpoint::device::DeviceCheckpoint;
use kq_linux::device_plugin::v1beta1::{Device, DevicePluginOptions, RegisterRequest};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const RESOURCE: &str = "example.com/gpu";

/// No step takes that long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A stand-in that runs, with the folder that it keeps when it ends.
pub(super) struct Served {
    pub(super) child: Child,
    lines: Receiver<String>,
}

impl Served {
    /// Starts one, and waits until plugins can register.
    pub(super) fn start(folder: &Path, more: &[&str]) -> Self {
        // Where the tests were started by nohup, the signal of a closed terminal would be ignored.
        let mut child = Command::new("env")
            .args(["--default-signal=HUP", env!("CARGO_BIN_EXE_kq")])
            .args(["devices", "serve", "--dir"])
            .arg(folder)
            .args(if more.contains(&"--call-timeout") {
                &[]
            } else {
                &["--call-timeout", "2s"][..]
            })
            .args(more)
            .env_clear()
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kq starts");
        let stdout = child.stdout.take().expect("it is piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut served = Self { child, lines };
        served.until("istening");
        served
    }

    /// Returns the lines until one has what is waited for.
    #[track_caller]
    pub(super) fn until(&mut self, mark: &str) -> String {
        let end = Instant::now() + PATIENCE;
        let mut said = String::new();
        // In text the first word is in capitals.
        let upper = if mark == "istening" { "LISTENING" } else { mark };
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("it does not say {mark:?}: {said}"));
            said.push_str(&line);
            said.push('\n');
            if line.contains(mark) || line.contains(upper) {
                return said;
            }
        }
    }

    fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Interrupts it, as a person at a terminal does.
    pub(super) fn interrupt(mut self) {
        kill_process(Pid::from_child(&self.child), Signal::INT).expect("it runs");
        let status = self.child.wait().expect("it ends");
        let mut stderr = String::new();
        let pipe = self.child.stderr.as_mut().expect("it is piped");
        pipe.read_to_string(&mut stderr).expect("UTF-8");
        assert!(status.success(), "{status}: {stderr}");
        assert_eq!(stderr, "");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn four() -> Vec<Device> {
    [("a", 0), ("b", 0), ("c", 1), ("d", 1)]
        .map(|(id, node)| device(id, "Healthy", Some(node)))
        .to_vec()
}

pub fn able() -> Behaviour {
    let options =
        DevicePluginOptions { pre_start_required: true, get_preferred_allocation_available: true };
    Behaviour { options, ..Behaviour::default() }
}

pub(super) fn pod(name: &str, containers: &[(&str, u32)]) -> TempDir {
    let mut text = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n");
    text.push_str("  containers:\n");
    for (container, count) in containers {
        text.push_str(&format!(
            "  - name: {container}\n    image: x\n    resources: {{limits: {{{RESOURCE}: {count}}}}}\n"
        ));
    }
    folder_with(&[("pod.yaml", text)])
}

pub(super) fn allocate(folder: &Path, pod: &TempDir, more: &str) -> super::Ran {
    let file = pod.path().join("pod.yaml");
    kq(&format!("devices allocate --dir {} {} {more}", folder.display(), file.display())).run()
}

pub fn json(ran: &super::Ran) -> Value {
    ran.answer()
}

fn ids(report: &Value) -> Vec<String> {
    let devices = report["containers"][0]["resources"][0]["devices"].as_array().cloned();
    let id = |device: &Value| device["id"].as_str().expect("an id").to_owned();
    devices.unwrap_or_default().iter().map(id).collect()
}

/// Reads the checkpoint, which must be one that a kubelet takes.
#[track_caller]
fn checkpoint(folder: &Path) -> DeviceCheckpoint {
    let bytes = std::fs::read(folder.join("kubelet_internal_checkpoint")).expect("it is there");
    let loaded = DeviceCheckpoint::parse(&bytes).expect("it is JSON");
    assert!(loaded.is_valid(), "its checksum is right");
    loaded.checkpoint
}

fn healthy(folder: &Path) -> Vec<String> {
    let registered = checkpoint(folder).registered.expect("it is there");
    registered.get(RESOURCE).cloned().flatten().unwrap_or_default()
}

#[test]
fn a_plugin_goes_through_its_life() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = folder.path();
    let mut served = Served::start(folder, &[]);

    let mut plugin = Plugin::start(folder, "gpu.sock", four(), able());
    plugin.register(RESOURCE).expect("it is accepted");
    let said = served.until("ADDED example.com/gpu d Healthy NUMA 1");
    assert!(said.contains(
        "REGISTERED example.com/gpu gpu.sock preStartRequired=true getPreferredAllocationAvailable=true"
    ));
    assert!(said.contains("LISTED example.com/gpu 4 devices, 4 healthy, 4 changes"), "{said}");
    assert_eq!(healthy(folder), ["a", "b", "c", "d"]);

    let mut list = four();
    list[3].health = "Unhealthy".to_owned();
    plugin.list(list);
    served.until("HEALTH example.com/gpu d Healthy -> Unhealthy");
    assert_eq!(healthy(folder), ["a", "b", "c"]);

    // Two of three; the plugin prefers the last ones.
    let ran = allocate(folder, &pod("web", &[("app", 2)]), "-o json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    let report = json(&ran);
    assert_eq!(ids(&report), ["b", "c"], "{}", ran.text());
    let gets = &report["containers"][0]["gets"];
    assert_eq!(gets["envs"]["SAMPLE_DEVICES"], "b,c");
    assert_eq!(
        gets["cdiDevices"],
        serde_json::json!(["sample.org/device=b", "sample.org/device=c"])
    );
    let calls = plugin.calls.lock().expect("no test panics with it").clone();
    assert_eq!(
        calls,
        ["ListAndWatch", "GetPreferredAllocation 2", "Allocate b c", "PreStartContainer b c"]
    );
    served.until("ALLOCATED default/web web_default");
    let entries = checkpoint(folder).entries.expect("there is one");
    assert_eq!((entries.len(), entries[0].pod_uid.as_str()), (1, "web_default"));

    // One is left, and the fourth is not healthy.
    let ran = allocate(folder, &pod("more", &[("app", 2)]), "");
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(
        ran.stdout.contains(
            "UnexpectedAdmissionError: Allocate failed due to requested number of devices unavailable \
             for example.com/gpu. Requested: 2, Available: 1, which is unexpected"
        ),
        "{}",
        ran.text()
    );

    plugin.die();
    let said = served.until("DISCONNECTED example.com/gpu gpu.sock");
    assert!(said.contains("3 devices unhealthy now"), "{said}");
    let ran = allocate(folder, &pod("late", &[("app", 1)]), "");
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("no healthy devices present"), "{}", ran.text());

    let plugin = Plugin::start(folder, "gpu.sock", four(), able());
    plugin.register(RESOURCE).expect("it is accepted again");
    served.until("HEALTH example.com/gpu d Unhealthy -> Healthy");
    let removed = kq(&format!("devices allocate --dir {} --remove web", folder.display())).run();
    assert_eq!(removed.code, 0, "{}", removed.text());
    let ran = allocate(folder, &pod("next", &[("app", 4)]), "-o json");
    assert_eq!(ids(&json(&ran)), ["a", "b", "c", "d"], "{}", ran.text());
    served.until("ALLOCATED default/next");

    // The next one takes over what this one knew.
    served.interrupt();
    assert!(!folder.join("kubelet.sock").exists() && !folder.join("kq.sock").exists());
    assert!(folder.join("gpu.sock").exists(), "a plugin keeps its socket until a kubelet starts");
    let mut served = Served::start(folder, &["-o", "json"]);
    assert!(!folder.join("gpu.sock").exists(), "so that it notices and registers again");
    assert_eq!(checkpoint(folder).entries.expect("there is one")[0].pod_uid, "next_default");
    let again = Plugin::start(folder, "gpu.sock", four(), able());
    again.register(RESOURCE).expect("it is accepted");
    served.until("deviceAdded");
    let ran = allocate(folder, &pod("other", &[("app", 1)]), "");
    assert_eq!(ran.code, 1, "all are in use: {}", ran.text());
    let line = served.until("\"event\":\"allocated\"");
    let last: Value = serde_json::from_str(line.lines().last().expect("a line")).expect("JSON");
    assert_eq!((&last["event"], &last["uid"]), (&"allocated".into(), &"other_default".into()));
}

#[test]
fn a_plugin_that_stays_away_is_forgotten() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = folder.path();
    let mut served = Served::start(folder, &["--grace-period", "1s"]);
    let offers = || {
        let look = kq(&format!("devices plugins --dir {} -o json", folder.display())).run();
        json(&look)["resources"].get(RESOURCE).map(|it| it["healthy"].clone())
    };
    let mut plugin = Plugin::start(folder, "gpu.sock", four(), able());
    plugin.register(RESOURCE).expect("it is accepted");
    served.until("ADDED example.com/gpu d");
    assert_eq!(offers(), Some(4.into()));
    plugin.die();
    served.until("4 devices unhealthy now; forgotten after");
    served.until("FORGOTTEN example.com/gpu: no plugin for more than 1s");
    assert_eq!(offers(), None, "the node does not offer it any more");
    assert_eq!(checkpoint(folder).registered, Some([].into()));
    let ran = allocate(folder, &pod("web", &[("app", 1)]), "");
    assert!(ran.stdout.contains("no plugin has registered it"), "{}", ran.text());

    let again = Plugin::start(folder, "gpu.sock", four(), able());
    again.register(RESOURCE).expect("it is accepted");
    served.until("ADDED example.com/gpu d Healthy NUMA 1");
    assert_eq!(offers(), Some(4.into()));
    served.interrupt();
}

#[test]
fn what_goes_wrong_has_the_kubelets_words() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = folder.path();
    let mut served = Served::start(folder, &[]);
    let refused = |version: &str, endpoint: &str, resource: &str| {
        let request = RegisterRequest {
            version: version.to_owned(),
            endpoint: endpoint.to_owned(),
            resource_name: resource.to_owned(),
            options: None,
        };
        let status = register(folder, request).expect_err("it is refused");
        (status.code(), status.message().to_owned())
    };
    let unknown = tonic::Code::Unknown;
    let version = r#"requested API version "v1" is not supported by kubelet. Supported version is ["v1beta1"]"#;
    assert_eq!(refused("v1", "x.sock", RESOURCE), (unknown, version.to_owned()));
    let name = r#"the ResourceName "gpu" is invalid"#;
    assert_eq!(refused("v1beta1", "x.sock", "gpu"), (unknown, name.to_owned()));
    // It connects to itself, and serves no plugin.
    let text = "failed to get device plugin options: rpc error: code = Unimplemented desc = unknown service v1beta1.DevicePlugin";
    assert_eq!(refused("v1beta1", "./kubelet.sock", RESOURCE), (unknown, text.to_owned()));
    // Names of megabytes are not read at all.
    let (code, _) = refused("v1beta1", "x.sock", &"x".repeat(10 << 20));
    assert_ne!(code, tonic::Code::Ok);
    let hangs = Behaviour { hangs: true, ..Behaviour::default() };
    let hanging = Plugin::start(folder, "hangs.sock", four(), hangs);
    let status = hanging.register(RESOURCE).expect_err("it does not answer");
    assert!(
        status.message().starts_with("failed to get device plugin options: rpc error: code = ")
    );
    // A socket that is a file, and one that is not there: ten seconds, as the kubelet.
    std::fs::write(folder.join("file.sock"), "").expect("a file can be written");
    let began = Instant::now();
    let dialled = refused("v1beta1", "file.sock", RESOURCE);
    let text = "failed to dial device plugin: context deadline exceeded";
    assert_eq!(dialled, (unknown, text.to_owned()));
    assert!(began.elapsed() > Duration::from_secs(8), "{:?}", began.elapsed());
    let said = served.until("REFUSED example.com/gpu file.sock");
    assert!(said.contains("connection refused"), "it says what a kubelet does not: {said}");

    let plugin = Plugin::start(
        folder,
        "bad.sock",
        four(),
        Behaviour { refuses: Some("no \u{1b}[31mmemory".to_owned()), ..Behaviour::default() },
    );
    plugin.register(RESOURCE).expect("it is accepted");
    served.until("ADDED example.com/gpu d");
    let ran = allocate(folder, &pod("web", &[("app", 1)]), "");
    assert_eq!(ran.code, 1, "{}", ran.text());
    let expected = "Allocate failed due to rpc error: code = Unknown desc = no \\u{1b}[31mmemory, which is unexpected";
    assert!(ran.stdout.contains(expected), "{}", ran.text());

    let late = Behaviour { pre_start_fails: Some("busy".to_owned()), ..able() };
    let plugin = Plugin::start(folder, "late.sock", four(), late);
    plugin.register("example.com/late").expect("it is accepted");
    served.until("ADDED example.com/late d");
    let text = std::fs::read_to_string(pod("late", &[("app", 1)]).path().join("pod.yaml"));
    let text = text.expect("it is there").replace(RESOURCE, "example.com/late");
    let manifest = folder_with(&[("pod.yaml", text)]);
    let ran = allocate(folder, &manifest, "");
    assert_eq!(ran.code, 1, "{}", ran.text());
    let expected = "device plugin PreStartContainer rpc failed with err: rpc error: code = Unknown desc = busy";
    assert!(ran.stdout.contains(expected), "{}", ran.text());
    let ran = allocate(folder, &manifest, "--no-start");
    assert_eq!(ran.code, 0, "nothing was started: {}", ran.text());

    plugin.list(vec![
        device("", "Healthy", None),
        device("x", "fine", None),
        device("x", "", None),
    ]);
    let said = served.until("ODD example.com/late health");
    assert!(said.contains("have no id") && said.contains("come more than once"), "{said}");
    served.interrupt();
}

#[test]
fn a_flood_is_told_within_bounds() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut served = Served::start(folder.path(), &[]);
    let floods = Behaviour { floods: true, ..Behaviour::default() };
    let many = (0..100).map(|number| device(&format!("d{number}"), "Healthy", None)).collect();
    let plugin = Plugin::start(folder.path(), "flood.sock", many, floods);
    let began = Instant::now();
    plugin.register(RESOURCE).expect("it is accepted");
    let said = served.until("HELD-BACK");
    let seconds = usize::try_from(began.elapsed().as_secs()).expect("not for ever") + 2;
    let lines = said.lines().count();
    assert!(lines <= 210 * seconds, "{lines} lines in {seconds} seconds");
    let ran = allocate(folder.path(), &pod("web", &[("app", 1)]), "-o json");
    assert!(ran.code <= 1, "it still answers: {}", ran.text());
    served.interrupt();
}

#[test]
fn a_thousand_register_at_once() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut served = Served::start(folder.path(), &["-o", "json"]);
    let _plugin = Plugin::start(folder.path(), "gpu.sock", four(), Behaviour::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be made").block_on(async {
        let client = registration(folder.path().to_owned()).await;
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..1_000 {
            let mut client = client.clone();
            tasks.spawn(async move {
                let resource_name = format!("example.com/r{}", number % 10);
                let endpoint = "gpu.sock".to_owned();
                let version = "v1beta1".to_owned();
                let request = RegisterRequest { version, endpoint, resource_name, options: None };
                client.register(request).await.map(|_| ())
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.expect("no task panics").expect("each is accepted");
        }
    });
    let ran = kq(&format!("devices plugins --dir {} -o json", folder.path().display())).run();
    let report = json(&ran);
    assert_eq!(report["resources"].as_object().map(|it| it.len()), Some(10), "{}", ran.text());
    served.until("\"event\":\"registered\"");
    served.interrupt();
}

#[test]
fn the_checkpoint_is_whole_whenever_it_is_killed() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = folder.path();
    for round in 0_u64..12 {
        let mut served = Served::start(folder, &[]);
        let floods = Behaviour { floods: round % 2 == 0, ..Behaviour::default() };
        let plugin = Plugin::start(folder, "gpu.sock", four(), floods);
        plugin.register(RESOURCE).expect("it is accepted");
        served.until("LISTED");
        for number in 0..20 {
            let mut list = four();
            list.truncate(number % 4 + 1);
            plugin.list(list);
        }
        // At another instant each time; whatever it is doing then is cut off.
        std::thread::sleep(Duration::from_micros(round * 1_700));
        served.kill();
        let checkpoint = checkpoint(folder);
        assert!(checkpoint.registered.is_some_and(|it| it.contains_key(RESOURCE)), "{round}");
    }
    let mut served = Served::start(folder, &[]);
    let left = std::fs::read_dir(folder).expect("it can be read").flatten();
    let names: Vec<String> =
        left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(!names.iter().any(|name| name.contains(".kq-")), "{names:?}");
    let plugin = Plugin::start(folder, "gpu.sock", four(), Behaviour::default());
    plugin.register(RESOURCE).expect("it is accepted");
    served.until("LISTED");
    served.interrupt();
}

#[test]
fn a_damaged_checkpoint_is_kept_beside() {
    let folder = folder_with(&[("kubelet_internal_checkpoint", "{\"Data\":{},\"Checksum\":1}")]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_kq"))
        .args(["devices", "serve", "--dir"])
        .arg(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("kq starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let first = lines.next().expect("it says something").expect("UTF-8");
    assert!(first.contains("DAMAGED checkpoint: checkpoint is corrupted"), "{first}");
    let second = lines.next().expect("it goes on").expect("UTF-8");
    assert!(second.contains("LISTENING"), "{second}");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let kept = folder.path().join("kubelet_internal_checkpoint.damaged-1");
    let kept = std::fs::read_to_string(kept).expect("it is kept");
    assert_eq!(kept, "{\"Data\":{},\"Checksum\":1}");
}

#[test]
fn plugins_are_looked_at_without_disturbing_them() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path();
    let look = |more: &str| kq(&format!("devices plugins --dir {} {more}", path.display()));
    let mut served = Served::start(path, &[]);
    std::fs::write(path.join("notes.txt"), "").expect("a file can be written");
    let ran = look(&format!("--wait {RESOURCE} --timeout 600ms")).run();
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stderr.contains("no plugin has registered example.com/gpu"), "{}", ran.text());
    let mut dead = Plugin::start(path, "dead.sock", Vec::new(), Behaviour::default());
    dead.die();
    drop(std::os::unix::net::UnixListener::bind(path.join("dead.sock")).expect("a socket"));
    let idle = Plugin::start(path, "idle.sock", four(), able());
    // One that was bound by another path than the folder's own.
    let elsewhere = tempfile::tempdir().expect("a temporary folder can be made");
    let link = elsewhere.path().join("link");
    std::os::unix::fs::symlink(path, &link).expect("a link can be made");
    let plugin = Plugin::start(&link, "gpu.sock", four(), able());
    plugin.register(RESOURCE).expect("it is accepted");
    served.until("LISTED");
    let ran = look(&format!("--wait {RESOURCE} --timeout 20s -o json")).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    let report = json(&ran);
    let socket = |name: &str| {
        let sockets = report["sockets"].as_array().expect("a list");
        sockets.iter().find(|it| it["name"] == name).cloned().expect(name)
    };
    assert_eq!(socket("gpu.sock")["resource"]["known"], RESOURCE, "{}", ran.stdout);
    assert_eq!(socket("gpu.sock")["options"]["known"]["preStartRequired"], true);
    assert_eq!(socket("gpu.sock")["connections"]["known"]["count"], 1, "{}", ran.stdout);
    assert_eq!(socket("idle.sock")["connections"]["known"]["count"], 0, "{}", ran.stdout);
    assert_eq!(socket("dead.sock")["listening"]["known"], false);
    assert_eq!(socket("gpu.sock")["listening"]["known"], true);
    assert_eq!(socket("gpu.sock")["answers"], true);
    assert_eq!(socket("notes.txt")["kind"], "noSocket");
    assert_eq!(report["resources"][RESOURCE]["healthy"], 4);
    let calls = |plugin: &Plugin| plugin.calls.lock().expect("no test panics with it").clone();
    assert_eq!(calls(&plugin), ["ListAndWatch"], "the fake kubelet's alone");
    assert_eq!(calls(&idle), [""; 0]);
    for form in ["table", "wide"] {
        let ran = look(&format!("-o {form}")).run();
        assert!(ran.stdout.contains("gpu.sock"), "{}", ran.text());
    }
    served.interrupt();
}
