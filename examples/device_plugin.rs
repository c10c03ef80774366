//! A device plugin to try `kq devices serve` with: no hardware behind it, everything else is real.
//!
//! `cargo run --example device_plugin -- /tmp/plugins` offers four devices on two NUMA nodes as
//! `example.com/widget`; another name may follow. It registers when `kubelet.sock` is there, and again when
//! that is a new one. Lines of standard input change it: `bad ID`, `good ID`, and `gone ID` for a device.
//! What it is asked is printed.

#[path = "../tests/support/background.rs"]
mod background;
#[expect(dead_code, reason = "the tests make it misbehave as well")]
#[path = "../tests/support/sample_plugin.rs"]
mod sample_plugin;

use kq_linux::device_plugin::v1beta1::{Device, DevicePluginOptions};
use sample_plugin::{Behaviour, Plugin, device};
use std::io::BufRead;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const SOCKET: &str = "sample.sock";

/// How often the kubelet's socket is looked at.
const PAUSE: Duration = Duration::from_millis(200);

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an example is a program of its own"
)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, resource) = match arguments.as_slice() {
        [help] if help.starts_with('-') => {
            return Err("usage: device_plugin FOLDER [RESOURCE]; see the top of its source".into());
        }
        [folder] => (Path::new(folder), "example.com/widget"),
        [folder, resource] => (Path::new(folder), resource.as_str()),
        _ => return Err("expected a folder, and the name of a resource where it is another".into()),
    };
    if !folder.is_dir() {
        return Err(
            format!("{} is no folder: start kq devices serve first", folder.display()).into()
        );
    }
    let mut devices: Vec<Device> = [("w0", 0), ("w1", 0), ("w2", 1), ("w3", 1)]
        .map(|(id, node)| device(id, "Healthy", Some(node)))
        .to_vec();
    let options =
        DevicePluginOptions { pre_start_required: true, get_preferred_allocation_available: true };
    let lines = lines_of_stdin();
    let mut known = None;
    let mut serving: Option<Plugin> = None;
    loop {
        // A kubelet that starts removes the sockets of plugins, and makes its own anew.
        let kubelet = std::fs::metadata(folder.join("kubelet.sock")).ok();
        let kubelet = kubelet.map(|socket| (socket.ino(), socket.ctime(), socket.ctime_nsec()));
        if kubelet != known {
            drop(serving.take());
            if kubelet.is_some() {
                let _ = std::fs::remove_file(folder.join(SOCKET));
                let behaviour = Behaviour { options, ..Behaviour::default() };
                let plugin = Plugin::start(folder, SOCKET, devices.clone(), behaviour);
                match plugin.register(resource) {
                    Ok(()) => println!("registered {resource}"),
                    Err(status) => println!("refused: {}", status.message()),
                }
                serving = Some(plugin);
            }
            known = kubelet;
        }
        for line in lines.try_iter() {
            match line.split_once(' ') {
                Some((_, id)) if !devices.iter().any(|device| device.id == id) => {
                    let ids: Vec<&str> = devices.iter().map(|device| device.id.as_str()).collect();
                    println!("no device {id}; there are: {}", ids.join(" "));
                }
                Some(("gone", id)) => devices.retain(|device| device.id != id),
                Some((word @ ("bad" | "good"), id)) => {
                    let health = if word == "bad" { "Unhealthy" } else { "Healthy" };
                    let named = devices.iter_mut().filter(|device| device.id == id);
                    named.for_each(|device| device.health = health.to_owned());
                }
                _ => println!("expected bad ID, good ID or gone ID"),
            }
            if let Some(plugin) = &serving {
                plugin.list(devices.clone());
            }
        }
        if let Some(plugin) = &serving {
            let mut calls = plugin.calls.lock().map_err(|error| error.to_string())?;
            calls.drain(..).for_each(|call| println!("asked {call}"));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Passes the lines of standard input on; where it ends, nothing comes any more.
fn lines_of_stdin() -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
