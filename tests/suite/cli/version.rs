//! `kq version`

use super::next_start::ask_at_night;
use super::{folder_with, kq};
use serde_json::{Value, json};
use snapbox::str;

#[test]
fn the_versions_of_a_node() {
    let versions = kq("version --snapshot examples/night/worker-3.json").json();
    assert_eq!(versions["kind"], "Version");
    assert_eq!(versions["client"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(versions["kubelet"]["name"], "kubelet");
    assert_eq!(versions["rules"]["newest"], "1.37");
    assert_eq!(versions["rules"]["used"], "1.36");
}

#[test]
fn a_running_kubelet_counts_before_its_node_object() {
    // It does not reach the API server since its upgrade.
    let upgraded = ask_at_night("version -o json", |facts| {
        facts["kubeletVersion"]["found"]["value"] = json!("v1.37.0");
    });
    assert_eq!(upgraded.code, 0, "{}", upgraded.text());
    let versions: Value = upgraded.answer();
    assert_eq!(versions["kubelet"]["version"], "v1.37.0");
    assert_eq!(versions["rules"]["used"], "1.37");
    assert_eq!(versions["warnings"][0]["code"], "versionsDiffer");
    assert_eq!(versions["warnings"][0]["about"], "v1.37.0");
}

#[test]
fn the_client_alone_asks_nobody() {
    let folder = folder_with(&[("etc/hostname", "nowhere\n")]);
    let line = format!("version --client --host-root {}", folder.path().display());
    let ran = kq(&line).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.starts_with("COMPONENT"), "{}", ran.stdout);
}

#[test]
fn an_unknown_kubelet_is_no_answer() {
    let folder = folder_with(&[("etc/hostname", "nowhere\n")]);
    let ran = kq(&format!("version --host-root {}", folder.path().display())).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("missing: the kubelet's version is unknown"), "{}", ran.text());
}

#[test]
fn the_flag_stays() {
    kq("--version").shows(str![[r#"
kq 0.1.0
--- exit 0

"#]]);
}
