//! `kq devices plan --ask-plugin`: what a real plugin prefers, and that it is asked nothing else.

use super::devices_serve::{RESOURCE, Served, able, four, pod};
use super::{Ran, kq};
use crate::edges::device_plugin::sample_plugin::{Behaviour, Plugin};
use std::path::Path;

const DEVICES: &str = "
- {resource: example.com/gpu, id: a}
- {resource: example.com/gpu, id: b}
- {resource: example.com/gpu, id: d}
";

fn plan(folder: &Path, pod: &Path, more: &str) -> Ran {
    let (folder, pod) = (folder.display(), pod.display());
    let line =
        format!("devices plan {more} {pod}/pod.yaml --devices {pod}/devices.yaml --dir {folder}");
    kq(&line).run()
}

#[test]
fn the_plugin_of_a_resource_is_found_and_asked() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = folder.path();
    let mut served = Served::start(folder, &[]);
    let plugin = Plugin::start(folder, "gpu.sock", four(), able());
    plugin.register(RESOURCE).expect("it is accepted");
    let other = Plugin::start(folder, "other.sock", four(), able());
    other.register("example.com/other").expect("it is accepted");
    served.until("LISTED example.com/other");
    let pod = pod("web", &[("app", 1)]);
    std::fs::write(pod.path().join("devices.yaml"), DEVICES).expect("it can be written");

    // Without a value it stands anywhere, before the pod as well.
    let ran = plan(folder, pod.path(), "--ask-plugin");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains("3 free; the plugin prefers d"), "{}", ran.stdout);
    assert!(ran.stderr.contains("gpu.sock is the plugin of example.com/gpu"), "{}", ran.stderr);
    let calls = |plugin: &Plugin| plugin.calls.lock().expect("no test panics with it").clone();
    assert_eq!(calls(&plugin), ["ListAndWatch", "GetPreferredAllocation 1"]);
    assert_eq!(calls(&other), ["ListAndWatch"], "the pod does not need it");

    // Nobody says which is which: then none is asked.
    served.interrupt();
    let ran = plan(folder, pod.path(), "--ask-plugin");
    assert_eq!(ran.code, 3, "{}", ran.text());
    let missing = "missing: the preference of the plugin of example.com/gpu: its socket in";
    assert!(ran.stderr.contains(missing), "{}", ran.stderr);

    let socket = format!("--ask-plugin {RESOURCE}={}/gpu.sock", folder.display());
    let ran = plan(folder, pod.path(), &socket);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(calls(&plugin)[1..], ["GetPreferredAllocation 1", "GetPreferredAllocation 1"]);
    assert_eq!(calls(&other), ["ListAndWatch"]);
}

#[test]
fn a_plugin_that_does_not_answer_is_no_refusal_of_the_kubelet() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = folder.path();
    let hangs = Behaviour { hangs_preferred: true, ..able() };
    let plugin = Plugin::start(folder, "gpu.sock", four(), hangs);
    let pod = pod("web", &[("app", 1)]);
    std::fs::write(pod.path().join("devices.yaml"), DEVICES).expect("it can be written");
    let socket = plugin.socket.display();
    let flags = format!("--timeout 300ms --ask-plugin {RESOURCE}={socket}");
    let line = format!(
        "devices plan {flags} {pod}/pod.yaml --devices {pod}/devices.yaml",
        pod = pod.path().display()
    );
    let ran = kq(&line).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stdout.contains("1 of (a, b, d)"), "{}", ran.text());
    assert!(!ran.stdout.contains("rpc failed"), "{}", ran.text());
    let missing =
        "missing: the preference of the plugin of example.com/gpu: no answer within 300ms";
    assert!(ran.stderr.contains(missing), "{}", ran.text());
}
