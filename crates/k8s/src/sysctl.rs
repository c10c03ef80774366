//! The sysctls that pods may set: the safe ones of the kernel, and those that the configuration allows.
//!
//! Mirrors `allowlist.go`, `safe_sysctls.go` and `util.go` of `pkg/kubelet/sysctl`, `namespace.go` and `sysctl.go` of
//! `component-helpers/node/util/sysctl`, and `IsValidSysctlPattern` of `pkg/apis/policy/validation`, read in 1.36.2; pinned
//! by the vectors `sysctl_admit.jsonl`.

use crate::go_text::quote;
use crate::pod::Pod;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The reason of a rejection.
pub const FORBIDDEN_REASON: &str = "SysctlForbidden";

/// The longest name, in bytes.
const MAX_LENGTH: usize = 253;

/// The kubelet's regular expression for patterns.
const PATTERN: &str = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]";

/// The safe sysctls, and the kernel from which each belongs to a namespace; `None`: any.
const SAFE: [(&str, Option<(u64, u64)>); 12] = [
    ("kernel.shm_rmid_forced", None),
    ("net.ipv4.ip_local_port_range", None),
    ("net.ipv4.tcp_syncookies", None),
    ("net.ipv4.ping_group_range", None),
    ("net.ipv4.ip_unprivileged_port_start", None),
    ("net.ipv4.ip_local_reserved_ports", Some((3, 16))),
    ("net.ipv4.tcp_keepalive_time", Some((4, 5))),
    ("net.ipv4.tcp_fin_timeout", Some((4, 6))),
    ("net.ipv4.tcp_keepalive_intvl", Some((4, 5))),
    ("net.ipv4.tcp_keepalive_probes", Some((4, 5))),
    ("net.ipv4.tcp_rmem", Some((4, 15))),
    ("net.ipv4.tcp_wmem", Some((4, 15))),
];

/// What is safe since 1.37 too, by its notes: from which kernel on was not read.
const SAFE_LATER: [&str; 2] = ["net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"];

/// The names that belong to the IPC namespace.
const IPC_NAMES: [&str; 10] = [
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.shm",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.msg",
];

/// The namespace of a sysctl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Namespace {
    Ipc,
    Net,
}

/// Why the kubelet does not start with a list, in its words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SysctlListError {
    /// A pattern is malformed.
    #[error(
        "sysctl {} must have at most {MAX_LENGTH} characters and match regex {PATTERN}",
        quote(pattern)
    )]
    Malformed { pattern: String },
    /// A sysctl does not belong to a namespace of the pod.
    #[error("the sysctls {} are not known to be namespaced", quote(name))]
    NotNamespaced {
        /// The sysctl, or what stands before the asterisk, in dots.
        name: String,
    },
}

/// Why a pod is rejected. The kubelet's message follows `forbidden sysctl: `.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForbiddenSysctl {
    /// The pod has the namespace of the host.
    #[error("forbidden sysctl: {} not allowed with host {namespace} enabled", quote(name))]
    HostNamespace {
        name: String,
        /// `IPC` or `Net`.
        namespace: &'static str,
    },
    /// Neither safe nor allowed.
    #[error("forbidden sysctl: {} not allowlisted", quote(name))]
    NotAllowed { name: String },
}

/// The sysctls that pods may set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SysctlAllowlist {
    names: BTreeMap<String, Namespace>,
    prefixes: BTreeMap<String, Namespace>,
}

impl SysctlAllowlist {
    /// Returns the list of a kubelet: the safe sysctls of the kernel with the content of `osrelease`, and the patterns of
    /// `allowedUnsafeSysctls`. An unknown kernel has the fewest safe sysctls.
    /// Fails for the first pattern that the kubelet does not start with.
    pub fn new(patterns: &[String], kernel: Option<&str>) -> Result<Self, SysctlListError> {
        let safe = safe_sysctls(kernel).into_iter();
        let mut list = Self::default();
        for pattern in safe.chain(patterns.iter().map(String::as_str)) {
            list.allow(pattern)?;
        }
        Ok(list)
    }

    /// Returns the same with what is safe since 1.37.
    #[must_use]
    pub fn with_later(mut self) -> Self {
        self.names.extend(SAFE_LATER.map(|name| (name.to_owned(), Namespace::Net)));
        self
    }

    fn allow(&mut self, pattern: &str) -> Result<(), SysctlListError> {
        if !is_pattern(pattern) {
            return Err(SysctlListError::Malformed { pattern: pattern.to_owned() });
        }
        let name = normalize(pattern);
        let (name, is_prefix) = match name.split_once('*') {
            Some((prefix, _)) => (prefix, true),
            None => (&*name, false),
        };
        let Some(namespace) = namespace(name) else {
            return Err(SysctlListError::NotNamespaced { name: name.to_owned() });
        };
        let list = if is_prefix { &mut self.prefixes } else { &mut self.names };
        list.insert(name.to_owned(), namespace);
        Ok(())
    }

    /// Checks the sysctls of a pod.
    /// Fails for the first sysctl that the kubelet rejects the pod for.
    pub fn admit(&self, pod: &Pod) -> Result<(), ForbiddenSysctl> {
        sysctls(pod).try_for_each(|name| {
            let name = normalize(name);
            let namespace = match self.names.get(&*name) {
                Some(namespace) => Some(namespace),
                None => {
                    let mut prefixes = self.prefixes.iter();
                    prefixes.find(|(prefix, _)| name.starts_with(*prefix)).map(|(_, it)| it)
                }
            };
            let name = name.into_owned();
            match namespace {
                None => Err(ForbiddenSysctl::NotAllowed { name }),
                Some(Namespace::Ipc) if pod.spec.host_ipc => {
                    Err(ForbiddenSysctl::HostNamespace { name, namespace: "IPC" })
                }
                Some(Namespace::Net) if pod.spec.host_network => {
                    Err(ForbiddenSysctl::HostNamespace { name, namespace: "Net" })
                }
                Some(_) => Ok(()),
            }
        })
    }
}

/// Returns the names of the sysctls that a pod sets, as they are written.
pub fn sysctls(pod: &Pod) -> impl Iterator<Item = &str> {
    let context = pod.spec.security_context.iter();
    context.flat_map(|context| &context.sysctls).map(|sysctl| sysctl.name.as_str())
}

/// Returns the safe sysctls of a kernel (`SafeSysctlAllowlist`).
pub fn safe_sysctls(kernel: Option<&str>) -> Vec<&'static str> {
    let kernel = kernel.and_then(kernel_version);
    let is_there = |since: Option<(u64, u64)>| {
        since.is_none_or(|since| kernel.is_some_and(|kernel| kernel >= since))
    };
    SAFE.into_iter().filter(|(_, since)| is_there(*since)).map(|(name, _)| name).collect()
}

/// Returns true if a kernel version decides about the sysctls of a pod: one of them is safe in some kernels only.
pub fn depends_on_kernel(pod: &Pod) -> bool {
    sysctls(pod).any(|name| {
        let name = normalize(name);
        SAFE.iter().any(|(safe, since)| *safe == name && since.is_some())
    })
}

/// Returns a sysctl with dots as separators (`NormalizeName`): where the first separator is a slash, dots and slashes are
/// exchanged.
pub fn normalize(name: &str) -> Cow<'_, str> {
    if name.find(['.', '/']).is_none_or(|at| name[at..].starts_with('.')) {
        return Cow::Borrowed(name);
    }
    let exchanged = name.chars().map(|letter| match letter {
        '.' => '/',
        '/' => '.',
        other => other,
    });
    Cow::Owned(exchanged.collect())
}

/// Returns true if a name has the form of a sysctl's (`IsValidSysctlName`, `pkg/apis/core/validation`).
pub fn is_name(name: &str) -> bool {
    name.len() <= MAX_LENGTH && name.split(['.', '/']).all(is_segment)
}

/// Returns true if a sysctl belongs to a namespace that a pod can have of its own, the user namespace among them, which
/// 1.37 knows too (`GetNamespace`).
pub fn is_namespaced(name: &str) -> bool {
    let name = normalize(name);
    namespace(&name).is_some() || name.starts_with("user.")
}

fn namespace(name: &str) -> Option<Namespace> {
    if IPC_NAMES.contains(&name) || name.starts_with("fs.mqueue.") {
        return Some(Namespace::Ipc);
    }
    name.starts_with("net.").then_some(Namespace::Net)
}

/// Returns true if a pattern has the kubelet's form.
fn is_pattern(pattern: &str) -> bool {
    let is_last = |segment: &str| match segment.as_bytes() {
        [inner @ .., last] => {
            inner.first().is_none_or(|first| is_alphanumeric(*first))
                && inner.iter().all(|byte| is_inner(*byte))
                && (is_alphanumeric(*last) || *last == b'*')
        }
        [] => false,
    };
    let (path, last) = match pattern.rsplit_once(['.', '/']) {
        Some((path, last)) => (Some(path), last),
        None => (None, pattern),
    };
    pattern.len() <= MAX_LENGTH
        && is_last(last)
        && path.is_none_or(|path| path.split(['.', '/']).all(is_segment))
}

fn is_segment(segment: &str) -> bool {
    match segment.as_bytes() {
        [only] => is_alphanumeric(*only),
        [first, inner @ .., last] => {
            is_alphanumeric(*first)
                && inner.iter().all(|byte| is_inner(*byte))
                && is_alphanumeric(*last)
        }
        [] => false,
    }
}

fn is_inner(byte: u8) -> bool {
    is_alphanumeric(byte) || matches!(byte, b'-' | b'_')
}

fn is_alphanumeric(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9')
}

/// Returns the first two numbers of a kernel's version (`ParseGeneric` in `apimachinery/pkg/util/version`).
fn kernel_version(text: &str) -> Option<(u64, u64)> {
    let text = text.trim();
    let text = text.strip_prefix('v').unwrap_or(text);
    if text.contains('\n') {
        return None;
    }
    let mut numbers = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        if number.is_empty() {
            break;
        }
        numbers.push(number);
        match after.strip_prefix('.') {
            Some(after) => rest = after,
            None => break,
        }
    }
    if numbers.first().is_some_and(|first| first.starts_with('0') && *first != "0") {
        return None;
    }
    let numbers: Vec<u64> = numbers.iter().map(|it| it.parse().ok()).collect::<Option<_>>()?;
    match numbers.as_slice() {
        [major, minor, ..] => Some((*major, *minor)),
        _ => None,
    }
}
