//! The gRPC clients and servers in `src/edge` match the .proto next to each.
//!
//! `SNAPSHOTS=overwrite cargo test` rewrites them, as `scripts/generate.sh` does.

use crate::cli::{matches, repository};
use snapbox::Data;

#[test]
fn generated_code_is_fresh() {
    is_fresh("src/edge/cri", "v1", "runtime.v1");
}

#[test]
fn generated_code_for_the_storage_is_fresh() {
    for name in ["content", "images", "leases", "namespaces", "snapshots"] {
        let package = format!("containerd.services.{name}.v1");
        is_fresh("src/edge/cri/storage/v1", name, &package);
    }
}

#[test]
fn generated_code_for_the_kubelet_is_fresh() {
    is_fresh("src/edge/device_plugin", "v1beta1", "v1beta1");
    is_fresh("src/edge/device_plugin", "pluginregistration", "pluginregistration");
    is_fresh("src/edge/pod_resources", "v1", "v1");
}

fn is_fresh(folder: &str, name: &str, package: &str) {
    let folder = repository().join(folder);
    let files = protox::compile([format!("{name}.proto")], [&folder])
        .unwrap_or_else(|error| panic!("{name}.proto: {error}"));
    let out = tempfile::tempdir().expect("a temporary folder can be made");
    tonic_prost_build::configure()
        // kq brings its own connection, and prints nothing in the order of a hash.
        .build_transport(false)
        .btree_map(".")
        // A fake answers what its test is about; the rest is Unimplemented.
        .generate_default_stubs(true)
        .emit_rerun_if_changed(false)
        .out_dir(out.path())
        .compile_fds(files)
        .expect("code can be generated");
    let generated = std::fs::read_to_string(out.path().join(format!("{package}.rs")))
        .unwrap_or_else(|error| panic!("the package is {package}: {error}"));
    matches(generated, Data::read_from(&folder.join(format!("{name}.rs")), None));
}
