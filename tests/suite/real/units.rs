//! The kubelet's part of systemd's units, as libcontainer does it: `Apply` and `Set` of `UnifiedManager` in `systemd/v2.go`
//! of `opencontainers/cgroups` v0.0.6. By `busctl`, so that nothing of it is kq's own client.

use super::cgroups::Hierarchies;
use kq_cgroup::plan::SystemdUnit;
use kq_facts::unit::Property;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Makes the slice of a cgroup, if it is not there, with its properties. The caller writes the files afterwards.
#[track_caller]
pub fn make(unit: &SystemdUnit, path: &str, cgroups: &Hierarchies) {
    let folder = Path::new("/sys/fs/cgroup").join(path.trim_start_matches('/'));
    if !folder.exists() {
        let description = format!("libcontainer container {}", unit.unit);
        let mut words = vec!["StartTransientUnit", "ssa(sv)a(sa(sv))", &unit.unit, "replace", "7"];
        words.extend(["Description", "s", &description, "Wants", "as", "1", &unit.parent]);
        for accounting in ["MemoryAccounting", "CPUAccounting", "IOAccounting", "TasksAccounting"] {
            words.extend([accounting, "b", "true"]);
        }
        words.extend(["DefaultDependencies", "b", "false", "0"]);
        // Seven with the description and the parent.
        words[4] = "7";
        call(&words);
        for _ in 0..600 {
            if folder.exists() {
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
    // `fs2.CreateCgroupPath`: every controller, also those that systemd does not know.
    cgroups.create(path);
    set(unit);
}

/// Sets the properties of a slice.
#[track_caller]
pub fn set(unit: &SystemdUnit) {
    let count = unit.properties.len().to_string();
    let mut words: Vec<String> =
        ["SetUnitProperties", "sba(sv)", &unit.unit, "true", &count].map(str::to_owned).into();
    for (name, value) in &unit.properties {
        words.push((*name).to_owned());
        match value {
            Property::Number(number) => words.extend(["t".to_owned(), number.to_string()]),
            Property::Bits(bits) => {
                words.extend(["ay".to_owned(), bits.len().to_string()]);
                words.extend(bits.iter().map(u8::to_string));
            }
        }
    }
    call(&words.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Calls a method of systemd.
#[track_caller]
fn call(words: &[&str]) {
    let output = Command::new("busctl")
        // The slice of all is called `-.slice`.
        .args(["--timeout=600", "--", "call"])
        .args(["org.freedesktop.systemd1", "/org/freedesktop/systemd1"])
        .arg("org.freedesktop.systemd1.Manager")
        .args(words)
        .output()
        .expect("busctl runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words:?}: {said}");
}
