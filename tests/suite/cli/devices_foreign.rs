//! `kq devices serve`, `allocate` and `plugins` beside those that listen and mean no good.

use super::devices_serve::{RESOURCE, Served, allocate, four, json, pod};
use super::kq;
use crate::edges::device_plugin::sample_plugin::{Behaviour, Plugin};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};
use rustix::process::{Pid, Signal, kill_process};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
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
    let serve = || kq(&format!("devices serve --dir {}", folder.path().display())).run();
    let ran = serve();
    assert_eq!(ran.code, 4, "{}", ran.text());
    assert!(ran.stderr.contains("somebody listens on docker.sock"), "{}", ran.text());
    assert!(ran.stderr.contains("an empty folder of its own"), "{}", ran.text());
    UnixStream::connect(&socket).expect("it is still there");
    drop(listener);
    std::fs::write(folder.path().join("crond.pid"), "1").expect("a file can be written");
    let ran = serve();
    assert_eq!(ran.code, 4, "{}", ran.text());
    assert!(ran.stderr.contains("there is crond.pid"), "{}", ran.text());
    assert!(socket.exists(), "nothing is removed");
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
    let ran = kq(&format!("devices serve --dir {}", path.display())).run();
    assert_eq!(ran.code, 4, "{}", ran.text());
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
