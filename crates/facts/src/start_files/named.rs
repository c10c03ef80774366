//! Which files a start reads: by the command line, the configuration, and the folder of the certificates.

use crate::kubelet_process::{DEFAULT_CERT_DIR, KubeletProcess};
use serde_json::Value;
use std::collections::BTreeMap;

/// What the kubelet wants of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileUse {
    /// That it exists, or does not.
    Existence,
    /// A socket that a process listens on.
    Socket,
    /// Certificates or a key.
    Pem,
    /// Another kubeconfig names further files.
    Kubeconfig,
    /// The plugins for credentials of images: a file, or a folder of them.
    Providers,
    /// The folder of the programs that the plugins name.
    Programs,
}

/// The kernel's settings that the kubelet sets, or checks with `protectKernelDefaults`, and their values
/// (`setupKernelTunables` in `pkg/kubelet/cm/container_manager_linux.go`).
pub const KERNEL_SETTINGS: [(&str, i64); 6] = [
    ("vm/overcommit_memory", 1),
    ("vm/panic_on_oom", 0),
    ("kernel/panic", 10),
    ("kernel/panic_on_oops", 1),
    ("kernel/keys/root_maxkeys", 1_000_000),
    ("kernel/keys/root_maxbytes", 25_000_000),
];

/// The flags with files, and what the kubelet wants of each.
const FLAGS: [(&str, FileUse); 7] = [
    ("kubeconfig", FileUse::Kubeconfig),
    ("bootstrap-kubeconfig", FileUse::Kubeconfig),
    ("image-credential-provider-config", FileUse::Providers),
    ("image-credential-provider-bin-dir", FileUse::Programs),
    ("config", FileUse::Existence),
    ("config-dir", FileUse::Existence),
    ("lock-file", FileUse::Existence),
];

/// The fields with files.
const FIELDS: [(&str, FileUse); 5] = [
    ("tlsCertFile", FileUse::Pem),
    ("tlsPrivateKeyFile", FileUse::Pem),
    ("authentication.x509.clientCAFile", FileUse::Pem),
    ("containerRuntimeEndpoint", FileUse::Socket),
    ("imageServiceEndpoint", FileUse::Socket),
];

/// The files in the folder of the certificates.
const CERTIFICATES: [(&str, FileUse); 6] = [
    ("kubelet.crt", FileUse::Pem),
    ("kubelet.key", FileUse::Pem),
    ("kubelet-client-current.pem", FileUse::Pem),
    ("kubelet-server-current.pem", FileUse::Pem),
    ("kubelet-client-updated.pem", FileUse::Existence),
    ("kubelet-server-updated.pem", FileUse::Existence),
];

/// The default of `containerRuntimeEndpoint`.
const DEFAULT_ENDPOINT: &str = "unix:///run/containerd/containerd.sock";

/// Returns the files that a start reads, with their uses. `configs` are the documents that the configuration is merged of.
pub fn named_files<'a>(
    process: Option<&KubeletProcess>,
    configs: impl Iterator<Item = &'a Value>,
) -> BTreeMap<String, FileUse> {
    let mut named = BTreeMap::new();
    let mut add = |path: &str, wanted: FileUse| {
        if path.starts_with('/') {
            let known = named.entry(path.to_owned()).or_insert(wanted);
            *known = (*known).max(wanted);
        }
    };
    let flags = process.map(KubeletProcess::interpreted).unwrap_or_default();
    if let Some(process) = process {
        for (name, wanted) in FLAGS {
            if let Some(path) = process.path_of(name) {
                add(&path, wanted);
            }
        }
    }
    for setting in &flags.settings {
        if let Some((_, wanted)) = FIELDS.iter().find(|(field, _)| *field == setting.field) {
            add(path_of(&setting.text, *wanted), *wanted);
        }
    }
    add(path_of(DEFAULT_ENDPOINT, FileUse::Socket), FileUse::Socket);
    for config in configs {
        for (field, wanted) in FIELDS {
            let value = config.pointer(&format!("/{}", field.replace('.', "/")));
            if let Some(text) = value.and_then(Value::as_str) {
                add(path_of(text, wanted), wanted);
            }
        }
    }
    let folder = flags.cert_dir.as_deref().unwrap_or(DEFAULT_CERT_DIR).trim_end_matches('/');
    for (name, wanted) in CERTIFICATES {
        add(&format!("{folder}/{name}"), wanted);
    }
    named
}

/// Returns the path of an endpoint such as `unix:///run/containerd/containerd.sock`.
fn path_of(text: &str, wanted: FileUse) -> &str {
    match wanted {
        FileUse::Socket => text.strip_prefix("unix://").unwrap_or(text),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubelet_process::as_started;
    use serde_json::json;

    #[test]
    fn flags_and_fields_name_files() {
        let line = [
            "kubelet",
            "--kubeconfig=/etc/kubernetes/kubelet.conf",
            "--cert-dir=/pki",
            "--tls-cert-file=/serving.crt",
        ];
        let process = as_started(&line.map(str::to_owned)).expect("a kubelet");
        let config = json!({
            "authentication": {"x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"}},
            "containerRuntimeEndpoint": "unix:///run/crio/crio.sock",
            "tlsPrivateKeyFile": "relative.key",
        });
        let named = named_files(Some(&process), [&config].into_iter());
        for (path, wanted) in [
            ("/etc/kubernetes/kubelet.conf", FileUse::Kubeconfig),
            ("/etc/kubernetes/pki/ca.crt", FileUse::Pem),
            ("/run/crio/crio.sock", FileUse::Socket),
            ("/serving.crt", FileUse::Pem),
            ("/pki/kubelet-client-current.pem", FileUse::Pem),
        ] {
            assert_eq!(named.get(path), Some(&wanted), "{path}");
        }
        assert!(!named.contains_key("relative.key"));
    }
}
