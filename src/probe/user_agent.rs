//! The User-Agent of the kubelet's probes.

use crate::k8s::version::KubeletVersion;

/// Returns the User-Agent of a probe: `kube-probe/MAJOR.MINOR`.
///
/// `build` is the full version of the kubelet's program where it is known: a minor of a build with a suffix
/// such as `v1.36.2-eks-1` is `36+`, one with `+k3s1` is not (`hack/lib/version.sh`; `userAgent` of
/// `pkg/probe/http/request.go`).
pub fn user_agent(version: KubeletVersion, build: Option<&str>) -> String {
    let release = build.and_then(|build| build.split('+').next()).unwrap_or_default();
    let plus = if release.contains('-') { "+" } else { "" };
    format!("kube-probe/{}.{}{plus}", version.major, version.minor)
}

/// Returns the User-Agent over gRPC, to which grpc-go adds its own name and version: that of the kubelet's `go.mod`.
pub fn grpc_user_agent(user_agent: &str, version: KubeletVersion) -> String {
    let grpc_go = match version.known().used().minor {
        ..=32 => "1.65.0",
        33 => "1.68.1",
        34 => "1.72.1",
        35 => "1.72.2",
        36.. => "1.79.3",
    };
    format!("{user_agent} grpc-go/{grpc_go}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_have_a_plus() {
        let version = KubeletVersion::new(1, 36);
        for (build, expected) in [
            (None, "kube-probe/1.36"),
            (Some("v1.36.2"), "kube-probe/1.36"),
            (Some("v1.36.2-eks-5e0fdde"), "kube-probe/1.36+"),
            (Some("v1.36.2-gke.100"), "kube-probe/1.36+"),
            (Some("v1.36.2+k3s1"), "kube-probe/1.36"),
            (Some("v1.36.2+build-7"), "kube-probe/1.36"),
            (Some("v1.37.0-alpha.1.5+abc"), "kube-probe/1.36+"),
        ] {
            assert_eq!(user_agent(version, build), expected, "{build:?}");
        }
        let agent = grpc_user_agent("kube-probe/1.36", version);
        assert_eq!(agent, "kube-probe/1.36 grpc-go/1.79.3");
    }
}
