//! The gRPC clients in `crates/linux/src` match the .proto next to each, and so do the servers of fakes in `services`.
//!
//! `SNAPSHOTS=overwrite cargo test` rewrites them, as `scripts/generate.sh` does.

use crate::cli::{matches, repository};
use snapbox::Data;
use tonic_prost_build::Builder;

/// The services of which kq is a client, with the module of their messages.
const ASKED: [(&str, &str, &str); 8] = [
    ("crates/linux/src/cri", "v1", "runtime.v1"),
    ("crates/linux/src/cri/storage/v1", "content", "containerd.services.content.v1"),
    ("crates/linux/src/cri/storage/v1", "images", "containerd.services.images.v1"),
    ("crates/linux/src/cri/storage/v1", "leases", "containerd.services.leases.v1"),
    ("crates/linux/src/cri/storage/v1", "namespaces", "containerd.services.namespaces.v1"),
    ("crates/linux/src/cri/storage/v1", "snapshots", "containerd.services.snapshots.v1"),
    ("crates/linux/src/device_plugin", "pluginregistration", "pluginregistration"),
    ("crates/linux/src/pod_resources", "v1", "v1"),
];

#[test]
fn generated_clients_are_fresh() {
    for (folder, name, package) in ASKED {
        let path = format!("{folder}/{name}");
        let clients = generated(&path, package, |builder| builder.build_server(false));
        is_fresh(&clients, &format!("{path}.rs"));
    }
}

#[test]
fn generated_servers_of_fakes_are_fresh() {
    for (folder, name, package) in ASKED {
        let path = format!("{folder}/{name}");
        let module = path.trim_start_matches("crates/linux/src/").replace('/', "::");
        let servers = generated(&path, package, |builder| {
            builder
                .build_client(false)
                .extern_path(format!(".{package}"), format!("::kq_linux::{module}"))
        });
        let name = if name == "v1" { folder.rsplit('/').next().expect("a folder") } else { name };
        is_fresh(&servers, &format!("tests/suite/services/{name}.rs"));
    }
}

/// kq is a server of `Registration`, and a client of plugins.
#[test]
fn generated_code_for_device_plugins_is_fresh() {
    let path = "crates/linux/src/device_plugin/v1beta1";
    is_fresh(&generated(path, "v1beta1", |builder| builder), &format!("{path}.rs"));
}

/// Returns the code for `PATH.proto`.
fn generated(path: &str, package: &str, changed: impl Fn(Builder) -> Builder) -> String {
    let path = repository().join(format!("{path}.proto"));
    let files = protox::compile([&path], [path.parent().expect("a folder")])
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let out = tempfile::tempdir().expect("a temporary folder can be made");
    let builder = tonic_prost_build::configure()
        // kq brings its own connection, and prints nothing in the order of a hash.
        .build_transport(false)
        .btree_map(".")
        // A fake answers what its test is about; the rest is Unimplemented.
        .generate_default_stubs(true)
        .emit_rerun_if_changed(false)
        .out_dir(out.path());
    changed(builder).compile_fds(files).expect("code can be generated");
    std::fs::read_to_string(out.path().join(format!("{package}.rs")))
        .unwrap_or_else(|error| panic!("the package is {package}: {error}"))
}

fn is_fresh(generated: &str, path: &str) {
    matches(generated.to_owned(), Data::read_from(&repository().join(path), None));
}
