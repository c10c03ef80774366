//! Packs the JSON Schemas of `docs/schema` for `kq schema`: the code that makes them from the types of the answers is
//! ten times as large. Sets the configurations `cri`, the feature of that name on Linux, and `optimised`. Links a debug
//! build to a fixed address.

#![expect(clippy::disallowed_methods, reason = "it reads and writes what cargo names")]
#![expect(clippy::disallowed_macros, reason = "cargo reads what it prints")]

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=docs/schema");
    println!("cargo::rustc-check-cfg=cfg(cri, optimised)");
    if env::var("OPT_LEVEL").is_ok_and(|level| level != "0") {
        println!("cargo::rustc-cfg=optimised");
    }
    // Runtimes and device plugins are on unix sockets of a Linux node.
    let is_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    if is_linux && env::var_os("CARGO_FEATURE_CRI").is_some() {
        println!("cargo::rustc-cfg=cri");
    }
    // A debug build has 300,000 addresses to relocate, for which each start touched 1,000 pages; the tests start it 20,000
    // times. What is shipped stays position-independent.
    let set = |name: &str, value: &str| env::var(name).is_ok_and(|it| it == value);
    if is_linux && set("CARGO_CFG_TARGET_ENV", "gnu") && set("PROFILE", "debug") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    let mut files: Vec<_> = fs::read_dir("docs/schema")?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    let mut all = String::from("{");
    for file in &files {
        let path = file.path();
        let kind = path.file_stem().unwrap_or_default().to_string_lossy();
        let comma = if all.len() > 1 { "," } else { "" };
        all += &format!("{comma}\"{kind}\":{}", fs::read_to_string(&path)?);
    }
    all.push('}');
    let packed = miniz_oxide::deflate::compress_to_vec(all.as_bytes(), 9);
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("schemas.deflate"), packed)
}
