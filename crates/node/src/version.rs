//! The version of the running kubelet, from the kubelet itself.
//!
//! kq executes no program of a node. The version is read from the program's file, which the kernel keeps while the
//! kubelet runs; else from the kubelet's metrics, and from the package that installed the program. The Node object, which
//! has the version where none of them is read, is another fact.

use super::config::KubeletServer;
use kq_facts::kubelet_process::{KubeletProcess, Program};
use kq_facts::lookup::{FailedSource, Lookup, Sourced};
use kq_io::host::LIMIT;
use kq_io::package_version::package_version;
use kq_io::program_version::program_version;
use kq_io::trust::{TrustedProgram, read_trusted};
use kq_k8s::version::KubeletVersion;
use std::path::Path;

/// The metric with the kubelet's version in a label.
const METRIC: &str = "kubernetes_build_info{";

/// The label.
const LABEL: &str = "git_version=\"";

/// Returns the version of a running kubelet.
pub(super) fn gather(server: &KubeletServer<'_>) -> Lookup<String> {
    let Some(process) = server.process else { return Lookup::default() };
    let of_program = of_program(server.root, process);
    if of_program.found.is_some() {
        return of_program;
    }
    let mut tried = of_program.tried;
    for endpoint in server.endpoints(&mut tried) {
        let source = format!("{}/metrics", endpoint.url);
        let answer = server.ask(&endpoint, "/metrics");
        match answer.and_then(|answer| of_metrics(&String::from_utf8_lossy(&answer.body))) {
            Ok(value) => return Lookup { found: Some(Sourced { source, value }), tried },
            Err(reason) => tried.push(FailedSource { source, reason }),
        }
    }
    let package = of_package(server.root, process);
    tried.extend(package.tried);
    Lookup { found: package.found, tried }
}

/// Reads the version from the program's file; the program of k3s contains the kubelet.
fn of_program(root: &Path, process: &KubeletProcess) -> Lookup<String> {
    if process.program == Program::Kubelite {
        return of_snap(root, process);
    }
    let source = format!("/proc/{}/exe", process.pid);
    let version = TrustedProgram::of_process(root, process.pid)
        .map_err(|error| error.to_string())
        .and_then(|program| program_version(&program).map_err(|error| error.to_string()))
        .and_then(|found| match found.name.as_str() {
            "Kubernetes" => Ok(found),
            name => Err(format!("its file is that of {name}")),
        });
    match version {
        Ok(version) => Lookup::found(source, version.version),
        Err(reason) => Lookup::failed(source, reason),
    }
}

/// Returns the version in the answer of `/metrics`. (`kubernetes_build_info` in
/// `staging/src/k8s.io/component-base/metrics/version.go`)
fn of_metrics(text: &str) -> Result<String, String> {
    let line = text.lines().find_map(|line| line.strip_prefix(METRIC));
    let line = line.ok_or("has no metric kubernetes_build_info")?;
    let version = line.split_once(LABEL).and_then(|(_, rest)| rest.split_once('"'));
    let version =
        version.map(|(version, _)| version).ok_or("kubernetes_build_info has no git_version")?;
    is_version(version).ok_or("git_version is not a version of Kubernetes")?;
    Ok(version.to_owned())
}

/// Returns the version of the package that installed the program.
fn of_package(root: &Path, process: &KubeletProcess) -> Lookup<String> {
    const SOURCE: &str = "the package of the kubelet";
    let path = match process.executable.as_deref() {
        Some(path) if path.ends_with(" (deleted)") => {
            let reason = "the program was replaced since the kubelet started";
            return Lookup::failed(SOURCE, reason);
        }
        Some(path) => path,
        None => return Lookup::failed(SOURCE, "the program of the kubelet is not shown"),
    };
    match package_version(root, "kubelet", path) {
        Ok((source, version)) => {
            let version = format!("v{version}");
            match is_version(&version) {
                Some(()) => Lookup::found(source, version),
                None => {
                    Lookup::failed(source, format!("{version:?} is not a version of Kubernetes"))
                }
            }
        }
        Err(reason) => Lookup::failed(SOURCE, reason),
    }
}

fn is_version(text: &str) -> Option<()> {
    text.parse::<KubeletVersion>().is_ok().then_some(())
}

/// Returns the version of MicroK8s, which is the kubelet's, from its snap.
fn of_snap(root: &Path, process: &KubeletProcess) -> Lookup<String> {
    let program = process.executable.as_deref().map(Path::new);
    let Some(folder) = program.and_then(Path::parent) else {
        return Lookup::failed("the snap of MicroK8s", "the program of the kubelet is not shown");
    };
    let path = folder.join("meta/snap.yaml").display().to_string();
    let text = match read_trusted(root, &path, LIMIT) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => return Lookup::failed(path, error.to_string()),
    };
    let version = text.lines().find_map(|line| line.strip_prefix("version:"));
    let version = version.map(|version| version.trim().trim_matches(['"', '\'']));
    match version.filter(|version| is_version(version).is_some()) {
        Some(version) => Lookup::found(path, version.to_owned()),
        None => Lookup::failed(path, "names no version of Kubernetes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_the_version_in_a_label() {
        let metric = |labels: &str| {
            format!("# TYPE kubernetes_build_info gauge\nkubernetes_build_info{{{labels}}} 1\n")
        };
        for (name, text, expected) in [
            (
                "a kubelet's",
                metric(
                    r#"build_date="2026-06-10T12:00:00Z",compiler="gc",git_version="v1.36.2",major="1""#,
                ),
                Ok("v1.36.2"),
            ),
            ("without it", metric(r#"major="1""#), Err("kubernetes_build_info has no git_version")),
            (
                "of something else",
                metric(r#"git_version="latest""#),
                Err("git_version is not a version of Kubernetes"),
            ),
            (
                "others",
                "go_info{version=\"go1.25\"} 1\n".to_owned(),
                Err("has no metric kubernetes_build_info"),
            ),
        ] {
            let found = of_metrics(&text);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{name}");
        }
    }
}
