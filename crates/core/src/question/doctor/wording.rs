//! The parts of the sentences of the node checks that depend on facts.

use crate::question::reclaim::ReclaimAhead;
use kq_admission::preemption::ReadmissionResult;
use kq_facts::certificates::CertificateUsage;
use kq_facts::kubelet_config::Signal;
use kq_output::units::{Precision, counted};

pub(super) fn expired(usage: CertificateUsage) -> &'static str {
    match usage {
        CertificateUsage::Client => {
            "the API server rejects the kubelet, and the node becomes NotReady"
        }
        CertificateUsage::Serving => {
            "kubectl logs and exec fail, and so do metrics of this node, where certificates are \
             verified"
        }
        CertificateUsage::ServerAuthority => {
            "the kubelet rejects the API server, and the node becomes NotReady"
        }
        CertificateUsage::ClientAuthority => {
            "the kubelet rejects the API server's client certificate: kubectl logs and exec fail"
        }
    }
}

/// Returns how a certificate is renewed, which hangs on the file: the kubelet makes `kubelet.crt` with `kubelet.key` if
/// neither is there, and does not start with one of them alone.
pub(super) fn renewal(usage: CertificateUsage, path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    match usage {
        CertificateUsage::Client => "check rotateCertificates and the pending CertificateSigningRequests (kubectl get csr); \
             kubeadm: on a control plane node, kubeadm kubeconfig user --org system:nodes --client-name \
             system:node:NODE makes a new /etc/kubernetes/kubelet.conf for this node"
            .to_owned(),
        CertificateUsage::Serving if name == "kubelet-server-current.pem" => {
            "approve its CertificateSigningRequest (kubectl get csr)".to_owned()
        }
        CertificateUsage::Serving if name == "kubelet.crt" => {
            format!(
                "remove {path} and {}.key, and restart the kubelet: it makes new ones",
                path.trim_end_matches(".crt")
            )
        }
        CertificateUsage::Serving => {
            "replace the files of tlsCertFile and tlsPrivateKeyFile".to_owned()
        }
        CertificateUsage::ServerAuthority => {
            "put the cluster's present CA into the kubelet's kubeconfig, and restart the kubelet"
                .to_owned()
        }
        CertificateUsage::ClientAuthority => {
            "put the cluster's present CA into the file of clientCAFile".to_owned()
        }
    }
}

/// Returns a time for reading: days, and below two of them hours or minutes.
pub(super) fn lasting(seconds: i64) -> String {
    let (unit, one) = match seconds {
        ..7_200 => (60, "minute"),
        7_200..172_800 => (3_600, "hour"),
        _ => (86_400, "day"),
    };
    counted(usize::try_from(seconds / unit).unwrap_or(0), one)
}

pub(super) fn rank(signal: Signal) -> String {
    format!("kq evict rank --signal {signal}")
}

pub(super) fn evicted(first: &[String], reclaim: Option<ReclaimAhead>) -> String {
    if let Some(ahead) = reclaim {
        return ahead.consequence(first);
    }
    match first {
        [] => "pods are evicted".to_owned(),
        [one] => format!("{one} is evicted first"),
        [one, more @ ..] => format!("{one} or one of {} more is evicted first", more.len()),
    }
}

/// Returns what a kubelet that starts does with a pod, as verbs.
pub(super) fn verbs(ends: &[ReadmissionResult]) -> String {
    let verb = |end: &ReadmissionResult| match end {
        ReadmissionResult::Admitted => "keeps",
        ReadmissionResult::Refused => "rejects",
        ReadmissionResult::Killed => "preempts",
    };
    ends.iter().map(verb).collect::<Vec<_>>().join(" or ")
}

pub(super) fn not_requested(milli_cpu: i64, memory_bytes: i64) -> String {
    match milli_cpu < 0 || memory_bytes < 0 {
        false => {
            format!(
                "{milli_cpu}m CPU and {} of memory are not requested",
                Precision::Short.bytes(memory_bytes)
            )
        }
        true => format!(
            "the pods request more than is allocatable: {milli_cpu}m CPU and {} of memory are left",
            Precision::Short.bytes(memory_bytes)
        ),
    }
}

pub(super) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
