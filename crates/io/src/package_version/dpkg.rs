//! The database of dpkg: a list of files for each package, and one file with the versions of all.

use super::is_program;
use crate::host::LIMIT;
use crate::trust::read_trusted;
use std::path::Path;

/// The folder of dpkg.
const FOLDER: &str = "/var/lib/dpkg";

/// Returns the database's file and the upstream version of the package that installed a program; else the reason.
pub(super) fn version(
    root: &Path,
    package: &str,
    program: &str,
) -> Result<(String, String), String> {
    let text = |path: &str| {
        read_trusted(root, path, LIMIT).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let list = format!("{FOLDER}/info/{package}.list");
    let files = text(&list).map_err(|error| format!("{list}: {error}"))?;
    if !files.lines().any(|entry| is_program(program, entry)) {
        return Err(format!("{list} does not have {program}"));
    }
    let status = format!("{FOLDER}/status");
    let packages = text(&status).map_err(|error| format!("{status}: {error}"))?;
    let version = installed(&packages, package)
        .ok_or_else(|| format!("{status} has no installed package {package}"))?;
    Ok((format!("{status} (package {package} {version})"), upstream(version).to_owned()))
}

/// Returns the version of an installed package. (dpkg's `status`: stanzas with fields, separated by empty lines)
fn installed<'s>(status: &'s str, package: &str) -> Option<&'s str> {
    status.split("\n\n").find_map(|stanza| {
        let field = |name: &str| {
            let value = |line: &'s str| line.strip_prefix(name)?.strip_prefix(':').map(str::trim);
            stanza.lines().find_map(value)
        };
        let is_installed = field("Status").is_some_and(|status| status.ends_with(" installed"));
        (field("Package") == Some(package) && is_installed).then(|| field("Version"))?
    })
}

/// Returns the version without the epoch and Debian's revision. (deb-version(7))
fn upstream(version: &str) -> &str {
    let version = version.split_once(':').map_or(version, |(_, version)| version);
    version.rsplit_once('-').map_or(version, |(upstream, _)| upstream)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "\
Package: kubelet
Status: install ok installed
Version: 1.36.2-1.1
Description: Node agent
 Version: 9

Package: runc
Status: install ok installed
Version: 2:1.1.15+ds1-2+b4

Package: crun
Status: deinstall ok config-files
Version: 1.21-1
";

    #[test]
    fn the_version_of_an_installed_program_is_known() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("written");
        };
        write("var/lib/dpkg/status", STATUS);
        for (package, file) in
            [("kubelet", "/usr/bin/kubelet"), ("runc", "/sbin/runc"), ("crun", "/usr/bin/crun")]
        {
            write(&format!("var/lib/dpkg/info/{package}.list"), &format!("/.\n/usr\n{file}\n"));
        }
        for (package, program, expected) in [
            (
                "kubelet",
                "/usr/bin/kubelet",
                "/var/lib/dpkg/status (package kubelet 1.36.2-1.1): 1.36.2",
            ),
            (
                "runc",
                "/usr/sbin/runc",
                "/var/lib/dpkg/status (package runc 2:1.1.15+ds1-2+b4): 1.1.15+ds1",
            ),
            (
                "kubelet",
                "/opt/bin/kubelet",
                "/var/lib/dpkg/info/kubelet.list does not have /opt/bin/kubelet",
            ),
            ("crun", "/usr/bin/crun", "/var/lib/dpkg/status has no installed package crun"),
            ("youki", "/usr/bin/youki", "/var/lib/dpkg/info/youki.list: no such file"),
        ] {
            let found = version(root.path(), package, program);
            let found = found
                .map_or_else(|reason| reason, |(source, version)| format!("{source}: {version}"));
            assert_eq!(found, expected, "{package} {program}");
        }
    }
}
