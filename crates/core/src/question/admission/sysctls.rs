//! The sysctls of pods: the kubelet's second check, between pressure and the managers (`NewMainKubelet` in
//! `pkg/kubelet/kubelet.go`).

use super::AdmissionNode;
use kq_admission::{CheckName, CheckReason, EarlierCheck, Refusal};
use kq_answer::{Basis, Missing, MissingFact};
use kq_k8s::pod::Pod;
use kq_k8s::sysctl::{
    FORBIDDEN_REASON, ForbiddenSysctl, SysctlAllowlist, depends_on_kernel, sysctls,
};

/// A kernel that has every safe sysctl in a namespace.
const NEW_ENOUGH: &str = "4.15";

/// The kubelet's list of sysctls.
#[derive(Clone, Debug, Default)]
pub(super) struct SysctlAdmission {
    list: SysctlAllowlist,
    /// The configuration, which may allow more, is unknown.
    is_open: bool,
}

impl AdmissionNode {
    /// Returns the node's list for pods, and adds what it assumes where they set sysctls.
    pub(super) fn sysctls<'p>(
        &self,
        pods: impl IntoIterator<Item = &'p Pod>,
        basis: &mut Basis,
    ) -> SysctlAdmission {
        let pods = pods.into_iter().filter(|pod| sysctls(pod).next().is_some());
        let pods: Vec<&Pod> = pods.collect();
        if pods.is_empty() {
            return SysctlAdmission::default();
        }
        let node = &self.node;
        let kernel = node.snapshot.host.kernel_release().ok().or_else(|| {
            let object = node.snapshot.node.value()?;
            Some(object.status.node_info.kernel_version.as_str()).filter(|text| !text.is_empty())
        });
        if kernel.is_none() && pods.iter().any(|pod| depends_on_kernel(pod)) {
            basis.assume(format!(
                "the kernel is {NEW_ENOUGH} or newer, and has all safe sysctls in namespaces: its version is unknown"
            ));
        }
        let patterns = node.kubelet.given.allowed_unsafe_sysctls.as_deref().unwrap_or_default();
        if !node.knows_config && !node.lacks_config() && patterns.is_empty() {
            basis.assume(
                "allowedUnsafeSysctls is empty: the kubelet's configuration is unknown (--kubelet-config FILE)"
                    .to_owned(),
            );
        }
        let kernel = kernel.or(Some(NEW_ENOUGH));
        let list = SysctlAllowlist::new(patterns, kernel).or_else(|error| {
            basis.assume(format!(
                "allowedUnsafeSysctls allows nothing, as the kubelet does not start with it: {error}"
            ));
            SysctlAllowlist::new(&[], kernel)
        });
        // The safe sysctls alone are always a list.
        let list = list.unwrap_or_default();
        let has_more = node.kubelet.rules.has_more_safe_sysctls();
        let list = if has_more { list.with_later() } else { list };
        let admission = SysctlAdmission { list, is_open: node.lacks_config() };
        if admission.is_open {
            let forbidden = |pod: &&Pod| match admission.list.admit(pod) {
                Err(ForbiddenSysctl::NotAllowed { name }) => Some(name),
                _ => None,
            };
            basis.lack_all(pods.iter().find_map(forbidden).map(|name| {
                let text = format!("whether allowedUnsafeSysctls allows {name}");
                Missing::new(MissingFact::KubeletConfig, text).with_flags(["--kubelet-config"])
            }));
        }
        admission
    }
}

impl SysctlAdmission {
    /// Returns the refusal of a pod; `None`: it is admitted, or may be.
    pub fn refusal(&self, pod: &Pod) -> Option<Refusal> {
        self.check(pod).refusals.into_iter().next()
    }

    /// Returns the check of a pod.
    pub fn check(&self, pod: &Pod) -> EarlierCheck {
        let admitted = self.list.admit(pod);
        let refusal = admitted
            .as_ref()
            .err()
            .map(|error| Refusal::new(CheckName::Sysctls, FORBIDDEN_REASON, error.to_string()));
        let because = match admitted {
            Ok(()) => match sysctls(pod).count() {
                0 => CheckReason::NoSysctls,
                sysctls => CheckReason::SysctlsAllowed { sysctls },
            },
            Err(ForbiddenSysctl::NotAllowed { name }) if self.is_open => {
                CheckReason::SysctlUnknown { sysctl: name }
            }
            Err(ForbiddenSysctl::NotAllowed { name }) => {
                CheckReason::SysctlNotAllowed { sysctl: name }
            }
            Err(ForbiddenSysctl::HostNamespace { name, namespace }) => {
                CheckReason::SysctlOfHost { sysctl: name, namespace: namespace.to_owned() }
            }
        };
        let refusals = refusal.into_iter().filter(|_| !because.is_unknown()).collect();
        EarlierCheck { check: CheckName::Sysctls, refusals, because }
    }
}
