//! `kq devices serve`, `allocate` and `plugins` beside those that listen and mean no good.

use super::devices_serve::{RESOURCE, Served, allocate, four, json, pod};
use super::{folder_with, kq};
use crate::edges::device_plugin::sample_plugin::{Behaviour, Plugin};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::fs::chown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Nothing that does not wait takes that long, on a machine with much to do.
const SOON: Duration = Duration::from_secs(45);

/// A socket that listens and has no place for another caller.
fn full(path: &Path) -> (OwnedFd, UnixStream) {
    let listener = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let listener = listener.expect("a socket can be made");
    bind(&listener, &SocketAddrUnix::new(path).expect("a short path")).expect("it is free");
    listen(&listener, 0).expect("it listens");
    let waiting = UnixStream::connect(path).expect("there is one place");
    (listener, waiting)
}

#[test]
fn a_folder_of_others_is_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let socket = folder.path().join("docker.sock");
    let listener = UnixListener::bind(&socket).expect("a socket can be made");
    std::fs::write(folder.path().join("crond.pid"), "1").expect("a file can be written");
    let ran = kq(&format!("devices serve --dir {}", folder.path().display())).run();
    assert_eq!(ran.code, 4, "{}", ran.text());
    assert!(ran.stderr.contains("there is crond.pid"), "{}", ran.text());
    assert!(ran.stderr.contains("name an empty folder"), "{}", ran.text());
    UnixStream::connect(&socket).expect("it is still there");
    drop(listener);
}

#[test]
fn a_second_one_and_a_kubelets_folder_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let served = Served::start(folder.path(), &[]);
    let ran = kq(&format!("devices serve --dir {}", folder.path().display())).run();
    assert_eq!(ran.code, 4, "{}", ran.text());
    assert!(ran.stderr.contains("another process listens on"), "{}", ran.text());
    served.interrupt();
    let kubelet = folder_with(&[("DEPRECATION", "")]);
    let ran = kq(&format!("devices serve --dir {}", kubelet.path().display())).run();
    assert_eq!(ran.code, 4, "{}", ran.text());
    assert!(ran.stderr.contains("belongs to a kubelet"), "{}", ran.text());
    let ran = allocate(folder.path(), &pod("web", &[("app", 1)]), "");
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("no fake kubelet runs in"), "{}", ran.text());
}

#[test]
fn a_plugin_that_was_started_first_is_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = folder.path();
    drop(UnixListener::bind(folder.join("dead.sock")).expect("a socket can be made"));
    let plugin = Plugin::start(folder, "gpu.sock", four(), Behaviour::default());
    let mut served = Served::start(folder, &[]);
    assert!(plugin.socket.exists() && folder.join("dead.sock").exists());
    plugin.register(RESOURCE).expect("it notices the new kubelet.sock");
    served.until("LISTED");
    served.interrupt();
    // It is known now, and treated as by a kubelet; another is not.
    let _other = Plugin::start(folder, "other.sock", four(), Behaviour::default());
    let mut child = serving(folder, Stdio::piped());
    let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
    let said: Vec<String> = stdout.lines().map_while(Result::ok).take(4).collect();
    let has = |text: &str| said.iter().any(|line| line.contains(text));
    assert!(has("REMOVED stale gpu.sock") && has("LEFT other.sock: a process listens"), "{said:?}");
    assert!(!has("dead.sock") && folder.join("dead.sock").exists(), "{said:?}");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

fn serving(folder: &Path, stdout: Stdio) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kq"));
    command.args(["devices", "serve", "--dir"]).arg(folder);
    command.stdout(stdout).stderr(Stdio::null()).spawn().expect("kq starts")
}

#[test]
fn of_several_that_start_at_once_one_serves() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut all: Vec<Child> = (0..6).map(|_| serving(folder.path(), Stdio::null())).collect();
        let end = Instant::now() + SOON;
        while all.iter_mut().filter_map(|it| it.try_wait().expect("it is ours")).count() < 5 {
            assert!(Instant::now() < end, "several serve");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut running = Vec::new();
        for mut child in all {
            match child.try_wait().expect("it is ours") {
                Some(status) => assert_eq!(status.code(), Some(4)),
                None => running.push(child),
            }
        }
        let mut winner = running.pop().expect("one serves");
        while !folder.path().join("kubelet.sock").exists() {
            assert!(Instant::now() < end, "it does not serve");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(running.is_empty() && winner.try_wait().expect("it is ours").is_none());
        kill_process(Pid::from_child(&winner), Signal::TERM).expect("it runs");
        assert_eq!(winner.wait().expect("it ends").code(), Some(0));
        let mut left: Vec<_> = std::fs::read_dir(folder.path())
            .expect("it is there")
            .map(|entry| entry.expect("it can be read").file_name())
            .collect();
        left.retain(|name| {
            name != "kubelet_internal_checkpoint" && name != "kubelet_internal_checkpoint.plugins"
        });
        assert!(left.is_empty(), "nothing but its state is left behind: {left:?}");
    }
}

#[test]
fn a_full_queue_stops_nobody() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path();
    let _plugin = full(&path.join("full.sock"));
    let began = Instant::now();
    let look = format!("devices plugins --dir {} --call-timeout 300ms", path.display());
    let ran = kq(&format!("{look} -o json")).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(json(&ran)["sockets"][0]["listening"]["known"], true, "{}", ran.text());
    let ran = kq(&format!("{look} --wait {RESOURCE} --timeout 600ms")).run();
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    let _control = full(&path.join("kq.sock"));
    let ran = kq(&look).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stderr.contains("no answer within 300ms"), "{}", ran.text());
}

#[test]
fn slow_callers_do_not_stop_the_others() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut served = Served::start(folder.path(), &[]);
    let plugin = Plugin::start(folder.path(), "gpu.sock", four(), Behaviour::default());
    plugin.register(RESOURCE).expect("it is accepted");
    served.until("LISTED");
    let control = folder.path().join("kq.sock");
    let connect = || UnixStream::connect(&control).expect("it listens");
    let _silent: Vec<UnixStream> = (0..8).map(|_| connect()).collect();
    let began = Instant::now();
    let ran = allocate(folder.path(), &pod("web", &[("app", 1)]), "");
    assert_eq!(ran.code, 0, "{}", ran.text());
    // One after the other they would have forty seconds.
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    served.interrupt();
}

#[test]
fn an_interrupt_ends_it_while_a_plugin_hangs() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut served = Served::start(folder.path(), &["--call-timeout", "10m"]);
    let slow = Behaviour { hangs_allocate: true, ..Behaviour::default() };
    let plugin = Plugin::start(folder.path(), "gpu.sock", four(), slow);
    plugin.register(RESOURCE).expect("it is accepted");
    served.until("LISTED");
    let pod = pod("web", &[("app", 1)]);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| allocate(folder.path(), &pod, ""));
        let end = Instant::now() + SOON;
        while !plugin.calls.lock().expect("no panic").iter().any(|it| it.starts_with("Allocate")) {
            assert!(Instant::now() < end, "it is never asked");
            std::thread::sleep(Duration::from_millis(20));
        }
        kill_process(Pid::from_child(&served.child), Signal::INT).expect("it runs");
        let ran = asking.join().expect("it does not panic");
        assert_ne!(ran.code, 0, "{}", ran.text());
    });
    let status = served.child.wait().expect("it ends");
    assert!(status.success(), "{status}");
}

#[test]
fn health_and_registration_go_on_while_a_plugin_hangs() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = folder.path();
    let mut served = Served::start(folder, &["--call-timeout", "10m"]);
    let slow = Behaviour { hangs_allocate: true, ..Behaviour::default() };
    let mut plugin = Plugin::start(folder, "gpu.sock", four(), slow);
    plugin.register(RESOURCE).expect("it is accepted");
    served.until("ADDED example.com/gpu d");
    let (web, next) = (pod("web", &[("app", 1)]), pod("next", &[("app", 1)]));
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| allocate(folder, &web, ""));
        let end = Instant::now() + SOON;
        while !plugin.calls.lock().expect("no panic").iter().any(|it| it.starts_with("Allocate")) {
            assert!(Instant::now() < end, "it is never asked");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut list = four();
        list[3].health = "Unhealthy".to_owned();
        plugin.list(list);
        served.until("HEALTH example.com/gpu d Healthy -> Unhealthy");
        let other = Plugin::start(folder, "other.sock", four(), Behaviour::default());
        other.register("example.com/other").expect("it is accepted meanwhile");
        served.until("ADDED example.com/other d");
        let look = kq(&format!("devices plugins --dir {} -o json", folder.display())).run();
        assert_eq!(json(&look)["resources"][RESOURCE]["healthy"], 3, "{}", look.text());
        // The next pod waits for its turn.
        let waiting = scope.spawn(|| allocate(folder, &next, ""));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!waiting.is_finished());
        plugin.die();
        let ran = asking.join().expect("it does not panic");
        assert_eq!(ran.code, 1, "{}", ran.text());
        assert!(ran.stdout.contains("UnexpectedAdmissionError"), "{}", ran.text());
        // Its turn comes; whether the end of the plugin is known by then is a race, as in a kubelet.
        let ran = waiting.join().expect("it does not panic");
        assert_eq!(ran.code, 1, "{}", ran.text());
    });
    served.interrupt();
}

#[test]
fn several_pods_are_one_value() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let mut served = Served::start(folder.path(), &[]);
    let plugin = Plugin::start(folder.path(), "gpu.sock", four(), Behaviour::default());
    plugin.register(RESOURCE).expect("it is accepted");
    served.until("LISTED");
    let both = pod("one", &[("app", 1)]);
    let file = both.path().join("pod.yaml");
    let one = std::fs::read_to_string(&file).expect("it is there");
    let two = one.replace("name: one", "name: two");
    std::fs::write(&file, format!("{one}---\n{two}")).expect("it can be written");
    let list = json(&allocate(folder.path(), &both, "-o json"));
    assert_eq!(list["kind"], "DeviceAllocationList");
    assert_eq!(list["items"][1]["name"], "two");
    let dir = folder.path().display();
    let ran = kq(&format!("devices allocate --dir {dir} --remove two -o json")).run();
    assert_eq!((ran.code, &json(&ran)["uid"]), (0, &"two_default".into()), "{}", ran.text());
    served.interrupt();
}

#[test]
fn a_folder_that_is_swapped_leads_to_no_other_checkpoint() {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        crate::skipped::skip("only root is attacked");
        return;
    }
    let victim = folder_with(&[("kubelet_internal_checkpoint", "untouched")]);
    let script = format!(
        "ln -s {} link; while :; do mv -T dir kept; mv -T link dir; mv -T dir link; mv -T kept dir; done",
        victim.path().display()
    );
    for _ in 0..5 {
        let top = tempfile::tempdir().expect("a temporary folder can be made");
        let folder = top.path().join("dir");
        let mut served = Served::start(&folder, &[]);
        let plugin = Plugin::start(&folder, "gpu.sock", four(), Behaviour::default());
        plugin.register(RESOURCE).expect("it registers");
        served.until("LISTED");
        // The attacker owns the folder above, and swaps the stand-in's for a link to another.
        chown(top.path(), Some(NOBODY), Some(NOBODY)).expect("it can be given away");
        let mut swapper = Command::new("sh")
            .args(["-c", &script])
            .uid(NOBODY)
            .gid(NOBODY)
            .current_dir(top.path())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh runs");
        let end = Instant::now() + Duration::from_secs(3);
        let mut is_healthy = false;
        while Instant::now() < end && served.child.try_wait().expect("it is ours").is_none() {
            let devices = if is_healthy { four() } else { Vec::new() };
            is_healthy = !is_healthy;
            plugin.list(devices);
            std::thread::sleep(Duration::from_millis(2));
        }
        swapper.kill().expect("it runs");
        swapper.wait().expect("it ends");
        drop(served);
        let entries = std::fs::read_dir(victim.path()).expect("a folder").flatten();
        let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["kubelet_internal_checkpoint"], "nothing new");
        let found = std::fs::read(victim.path().join("kubelet_internal_checkpoint"));
        assert_eq!(found.expect("it is there"), b"untouched");
    }
}
