//! `src/edge/cri/v1.rs` is what is generated from `v1.proto` beside it.
//!
//! `SNAPSHOTS=overwrite cargo test` writes it anew, which is what `scripts/generate.sh` does.

use crate::cli::{matches, repository};
use snapbox::Data;

#[test]
fn generated_code_is_fresh() {
    let folder = repository().join("src/edge/cri");
    let files = protox::compile(["v1.proto"], [&folder]).expect("v1.proto is a .proto");
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
    let generated = std::fs::read_to_string(out.path().join("runtime.v1.rs"))
        .expect("the package is runtime.v1");
    matches(generated, Data::read_from(&folder.join("v1.rs"), None));
}
