//! The client of plugins: those that lie, hang and die.

use super::sample_plugin::{Behaviour, Plugin};
use kq_linux::device_plugin::v1beta1::DevicePluginOptions;
use kq_linux::device_plugin::{ask_info, ask_options, ask_preferred};
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(400);

#[test]
fn a_plugin_is_asked_what_it_can_do_and_prefers() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let options =
        DevicePluginOptions { pre_start_required: true, get_preferred_allocation_available: true };
    let behaviour = Behaviour { options, ..Behaviour::default() };
    let plugin = Plugin::start(folder.path(), "x.sock", Vec::new(), behaviour);
    let told = ask_options(&plugin.socket, TIME).expect("it answers");
    assert!(told.pre_start_required && told.get_preferred_allocation_available);
    let set = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    let available = set(&["a", "b", "c"]);
    let preferred = ask_preferred(&plugin.socket, &available, &set(&["a"]), 2, TIME);
    assert_eq!(preferred, Ok(Ok(Some(vec!["a".to_owned(), "c".to_owned()]))));
    let calls = plugin.calls.lock().expect("no test panics with it").clone();
    assert_eq!(calls, ["GetPreferredAllocation 2"], "nothing else is asked");
    let refused = ask_info(&plugin.socket, TIME).expect_err("it is no registration");
    assert!(refused.contains("Unimplemented"), "{refused}");
}

#[test]
fn what_is_no_plugin_is_told_in_time() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("file.sock"), "").expect("a file can be written");
    drop(UnixListener::bind(path("dead.sock")).expect("a socket can be made"));
    let behaviour = Behaviour { hangs: true, ..Behaviour::default() };
    let _hangs = Plugin::start(folder.path(), "hangs.sock", Vec::new(), behaviour);
    let _silent = UnixListener::bind(path("silent.sock")).expect("a socket can be made");
    let garbage = UnixListener::bind(path("garbage.sock")).expect("a socket can be made");
    let closes = UnixListener::bind(path("closes.sock")).expect("a socket can be made");
    std::thread::spawn(move || {
        // The second hangs up before the first request.
        for (at, stream) in garbage.incoming().flatten().enumerate() {
            let mut stream = stream;
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            if at % 2 == 0 {
                let _ = stream.read(&mut [0; 64]);
            }
        }
    });
    std::thread::spawn(move || closes.incoming().flatten().for_each(drop));
    for (name, expected) in [
        ("none.sock", "no such file"),
        ("file.sock", "connection refused"),
        ("dead.sock", "connection refused"),
        ("hangs.sock", "no answer within"),
        ("silent.sock", "no answer within"),
        ("garbage.sock", "does not speak HTTP/2"),
        ("garbage.sock", "does not speak HTTP/2"),
        ("closes.sock", ""),
    ] {
        let began = Instant::now();
        let reason = ask_options(&path(name), SHORT).expect_err(name);
        assert!(reason.contains(expected), "{name}: {reason}");
        assert!(began.elapsed() < TIME, "{name}");
    }
}
