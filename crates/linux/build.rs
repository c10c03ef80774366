//! Sets the configuration `cri`: the feature of that name, on Linux. Runtimes and device plugins are on unix sockets of a
//! Linux node.

#![expect(clippy::disallowed_methods, reason = "it reads what cargo names")]
#![expect(clippy::disallowed_macros, reason = "cargo reads what it prints")]

fn main() {
    println!("cargo::rustc-check-cfg=cfg(cri)");
    println!("cargo::rerun-if-changed=build.rs");
    let is_linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    if is_linux && std::env::var_os("CARGO_FEATURE_CRI").is_some() {
        println!("cargo::rustc-cfg=cri");
    }
}
