use super::{ProgramVersion, ProgramVersionError, version_in};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

#[path = "../../../../tests/support/program_file.rs"]
mod program_file;

use program_file::{GoProgram, crun, elf, kubelet, runc};

fn open(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("written");
    file
}

fn shown(found: Result<ProgramVersion, ProgramVersionError>) -> String {
    match found {
        Ok(found) => format!("{} {}", found.name, found.version),
        Err(error) => error.to_string(),
    }
}

#[test]
fn each_program_has_its_version_where_its_compiler_puts_it() {
    let go = |package, module, flags, constants: &str| {
        GoProgram { package, module, flags, constants: constants.as_bytes() }.file()
    };
    const KUBELET: &str = "k8s.io/kubernetes/cmd/kubelet";
    const RUNC: &str = "github.com/opencontainers/runc";
    let none = "is not an ELF program, so its file does not show its version";
    let unknown = "its file contains no version that kq recognises";
    let rows: [(&str, Vec<u8>, &str); 28] = [
        ("a kubelet", kubelet("v1.36.2"), "Kubernetes v1.36.2"),
        ("of EKS", kubelet("v1.30.4-eks-a737599"), "Kubernetes v1.30.4-eks-a737599"),
        (
            "with flags",
            go(
                KUBELET,
                "(devel)",
                Some(
                    "-s -X 'k8s.io/component-base/version.gitVersion=v1.36.2+k3s1' -X main.x=v1.1.1",
                ),
                "\0v1.9.9\0",
            ),
            "Kubernetes v1.36.2+k3s1",
        ),
        (
            "k3s",
            go(
                "github.com/k3s-io/k3s/cmd/server",
                "(devel)",
                Some("-X k8s.io/component-base/version.gitVersion=v1.33.1+k3s1"),
                "\0v1.7.0-k3s1\0",
            ),
            "Kubernetes v1.33.1+k3s1",
        ),
        ("of a module", go(KUBELET, "v1.35.0", None, ""), "Kubernetes v1.35.0"),
        ("developed", go(KUBELET, "v1.36.0-0.20260101000000-0123456789ab", None, ""), unknown),
        (
            "two versions",
            go(KUBELET, "(devel)", None, "\0v1.36.2\0\0v1.35.1\0"),
            "its file contains several versions: v1.35.1, v1.36.2",
        ),
        (
            "a part of a path",
            go(KUBELET, "(devel)", None, "/v1.36.2\0k8s.io/api@v1.36.2\0"),
            unknown,
        ),
        ("not ended", go(KUBELET, "(devel)", None, "\0v1.36.2 of Kubernetes\0"), unknown),
        (
            "another program",
            go("example.com/x", "v1.2.3", None, "\0v1.36.2\0"),
            "is the Go program \"example.com/x\", whose file kq cannot read a version from",
        ),
        (
            "a name like it",
            go("k8s.io/kubernetes/cmd/kubelets", "v1.2.3", None, ""),
            "is the Go program \"k8s.io/kubernetes/cmd/kubelets\", whose file kq cannot read a version from",
        ),
        ("runc", runc("1.3.6"), "runc 1.3.6"),
        ("a candidate", runc("1.5.0-rc.1"), "runc 1.5.0-rc.1"),
        (
            "Debian 12",
            go(RUNC, "", None, "\x001.1.5+ds1\0\0\x001.1.5+ds1-1+deb12u1\0"),
            "runc 1.1.5+ds1",
        ),
        (
            "Debian 13",
            go(RUNC, "", None, "status1.3.6\nx\0\x001.3.6+ds1\0\0\x001.3.6+ds1-1\0"),
            "runc 1.3.6+ds1",
        ),
        (
            "after a release",
            go(RUNC, "(devel)", None, "ssse31.5.0-rc.1+dev\nx\0v1.4.0-12-gd842d771\0"),
            "runc 1.5.0-rc.1+dev",
        ),
        ("of a module, runc", go(RUNC, "v1.3.6", None, ""), "runc 1.3.6"),
        (
            "embedded twice",
            go(RUNC, "", None, "1.3.6\n1.4.0\n"),
            "its file contains several versions: 1.3.6, 1.4.0",
        ),
        ("only commits", go(RUNC, "(devel)", None, "\0v1.4.0-12-gd842d771\0"), unknown),
        (
            "NVIDIA's",
            go(
                "github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-container-runtime",
                "",
                None,
                "\x001.17.8\0",
            ),
            "NVIDIA Container Runtime 1.17.8",
        ),
        ("crun", crun("1.21"), "crun 1.21"),
        ("crun of three numbers", crun("1.8.1"), "crun 1.8.1"),
        ("another C program", elf(&[(".rodata", b"\x001.21\0%s is version %s\n\0")]), unknown),
        ("no constants", elf(&[(".data", b"")]), unknown),
        ("a script", b"#!/bin/sh\necho runc version 1.1.5\n".to_vec(), none),
        ("empty", Vec::new(), none),
        ("cut in its header", kubelet("v1.36.2")[..50].to_vec(), none),
        ("cut in its sections", kubelet("v1.36.2")[..500].to_vec(), "cannot be read"),
    ];
    for (name, file, expected) in rows {
        assert_eq!(shown(version_in(&open(&file))), expected, "{name}");
    }
}

#[test]
fn a_text_is_found_where_two_pieces_meet() {
    for before in
        [(256 << 10) - 300, (256 << 10) - 20, (256 << 10) - 4, 256 << 10, (512 << 10) - 261]
    {
        let constants = [&vec![b'.'; before], b" v1.36.2\0".as_slice(), &vec![b'.'; 1000]].concat();
        let package = "k8s.io/kubernetes/cmd/kubelet";
        let file =
            GoProgram { package, module: "(devel)", flags: None, constants: &constants }.file();
        assert_eq!(shown(version_in(&open(&file))), "Kubernetes v1.36.2", "{before}");
    }
}

/// Sizes that a file states cost nothing: a file of a terabyte without content is not searched, and no number leads out
/// of the file.
#[test]
fn hostile_headers_end_soon() {
    let sound = kubelet("v1.36.2");
    for at in 16..64 {
        for byte in [0_u8, 1, 0x7f, 0xff] {
            let mut file = sound.clone();
            file[at] = byte;
            let _ = version_in(&open(&file));
        }
    }
    let table = sound.len() - 4 * 64;
    for at in table..sound.len() {
        for byte in [0_u8, 0x7f, 0xff] {
            let mut file = sound.clone();
            file[at] = byte;
            let _ = version_in(&open(&file));
        }
    }
    // The constants are said to be the whole of a sparse file.
    let file = open(&sound);
    file.set_len(1 << 40).expect("a sparse file");
    file.write_all_at(&(1_u64 << 40).to_le_bytes(), (table + 64 + 32) as u64).expect("written");
    let _ = version_in(&file);
}
