//! The component that wrote a line of a library that every client of the API server has, by the words of the line.

use super::line::Line;
use super::speaker::{component, is_other, is_program, is_shared_file};

/// A client of which no more is known.
const OTHER_CLIENT: &str = "a client of the API server that is not the kubelet";

/// A program that has the library as a module of its own.
const OUTSIDE: &str = "a program outside the Kubernetes repository";

/// The kinds whose objects the kubelet lists: `pkg/kubelet/kubelet.go`, `config/apiserver.go`, `pod/../configmap`, `secret`, `runtimeclass`,
/// `clustertrustbundle`, `podcertificate`, `pkg/volume/csi`, and for its own certificates client-go's `util/certificate/csr`.
const KINDS_OF_KUBELET: &[&str] = &[
    "Node",
    "Pod",
    "Service",
    "RuntimeClass",
    "CSIDriver",
    "ConfigMap",
    "Secret",
    "ClusterTrustBundle",
    "PodCertificateRequest",
    "CertificateSigningRequest",
];

/// Folders of the Kubernetes repository, and the component whose they are.
const FOLDERS: &[(&str, &str)] = &[
    ("k8s.io/kubernetes/cmd/kube-scheduler/", "kube-scheduler"),
    ("k8s.io/kubernetes/pkg/scheduler/", "kube-scheduler"),
    ("k8s.io/kubernetes/cmd/kube-controller-manager/", "kube-controller-manager"),
    ("k8s.io/kubernetes/pkg/controller/", "kube-controller-manager"),
    ("k8s.io/metadata/metadatainformer/", "kube-controller-manager"),
    ("k8s.io/kubernetes/pkg/proxy/", "kube-proxy"),
    ("k8s.io/kubernetes/pkg/controlplane/", "kube-apiserver"),
    ("k8s.io/kubernetes/pkg/kubeapiserver/", "kube-apiserver"),
    ("k8s.io/apiextensions-apiserver/", "kube-apiserver"),
    ("k8s.io/kube-aggregator/", "kube-apiserver"),
    ("k8s.io/dynamic-resource-allocation/kubeletplugin/", "DRA driver"),
    ("sigs.k8s.io/controller-runtime", OUTSIDE),
    ("github.com/cilium/cilium/", "Cilium"),
    ("github.com/kubernetes-csi/", "a sidecar of a CSI driver"),
];

/// Returns the component that the words of a line name as their writer, where it is not the kubelet; `None`: they name none.
pub(super) fn writer(line: &Line) -> Option<String> {
    if line.program.as_deref().is_some_and(is_other) {
        return None;
    }
    if line.pairs.iter().any(|(key, value)| key == "subsys" && value == "klog") {
        return Some("Cilium".to_owned());
    }
    let texts = || line.texts.iter().map(String::as_str);
    if texts().any(is_of_coredns) {
        return Some("CoreDNS".to_owned());
    }
    if texts().any(is_trace_of_server) {
        return Some("kube-apiserver".to_owned());
    }
    if !is_of_client(line) {
        return None;
    }
    let values = || line.pairs.iter().map(|(_, value)| value.as_str());
    let all = || texts().chain(values()).map(own_words);
    if let Some(user) = all().find_map(|text| between(text, "User \"", "\"")) {
        return of_user(user);
    }
    let source = |text| {
        let of = |key| between(text, key, ",").filter(|name| !name.is_empty());
        of("EventSource{Component:").or_else(|| of("ReportingController:"))
    };
    if let Some(source) = all().find_map(source) {
        return Some(component(source).to_owned()).filter(|name| name != "kubelet");
    }
    if let Some(named) = all().find_map(of_lease) {
        return Some(named).filter(|name| name != "kubelet");
    }
    if all().any(|text| text.contains("k8s.io/kubernetes/pkg/kubelet/")) {
        return None;
    }
    let of_folder = |text: &str| {
        FOLDERS.iter().find(|(folder, _)| text.contains(folder)).map(|(_, name)| (*name).to_owned())
    };
    if let Some(named) = all().find_map(of_folder) {
        return Some(named);
    }
    if all().any(is_of_module) {
        return Some(OUTSIDE.to_owned());
    }
    let is_kubelets = |kind: &str| KINDS_OF_KUBELET.contains(&kind);
    let kind = all().find_map(kind_of)?;
    (!is_kubelets(kind)).then(|| OTHER_CLIENT.to_owned())
}

/// Returns true for a line of CoreDNS: `[ERROR] plugin/kubernetes: `.
fn is_of_coredns(text: &str) -> bool {
    let levels = ["[DEBUG] ", "[INFO] ", "[WARNING] ", "[ERROR] "];
    let own = levels.iter().find_map(|level| text.strip_prefix(level)).unwrap_or(text);
    let name = own.strip_prefix("plugin/").and_then(|it| it.split_once(": "));
    name.is_some_and(|(name, _)| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
}

/// Returns true for a line of a library that every client of the API server has.
fn is_of_client(line: &Line) -> bool {
    const WORDS: &[&str] = &[
        "Failed to watch",
        "ailed to list *",
        "watch of *",
        "watch-list failed",
        "ailed to update lease",
        "ailed to ensure lease",
        "rejected event",
        "Unable to write event",
        "retrieving resource lock",
    ];
    let file = line.place.as_deref().map(|place| place.split(':').next().unwrap_or(place));
    let is_shared = file.map(|file| file.rsplit('/').next().unwrap_or(file)).map(is_shared_file);
    let has_words = || line.texts.iter().any(|text| WORDS.iter().any(|words| text.contains(words)));
    is_shared.unwrap_or_else(has_words)
}

/// Returns a text up to the words of another program that it repeats.
fn own_words(text: &str) -> &str {
    text.split("rpc error: ").next().unwrap_or(text)
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(name, _)| name)
}

/// Returns the component of a user of the API server; `None`: a kubelet's, or not known.
fn of_user(user: &str) -> Option<String> {
    let name = user.strip_prefix("system:")?;
    if let Some(account) = name.strip_prefix("serviceaccount:") {
        let (namespace, account) = account.split_once(':')?;
        let named = component(account);
        return Some(match named {
            "coredns" => "CoreDNS".to_owned(),
            "cilium" => "Cilium".to_owned(),
            _ if namespace == "kube-system" && is_program(named) => named.to_owned(),
            _ => format!("the program with the service account {namespace}/{account}"),
        });
    }
    match name {
        "apiserver" => Some("kube-apiserver".to_owned()),
        _ => is_program(name).then(|| name.to_owned()),
    }
}

/// Returns the component of a lease that a path names: those of nodes are in kube-node-lease.
fn of_lease(text: &str) -> Option<String> {
    let (before, after) = text.split_once("/leases/")?;
    let (_, namespace) = before.rsplit_once("/namespaces/")?;
    let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || "-.".contains(c)));
    let name = &after[..end.unwrap_or(after.len())];
    Some(match name {
        _ if namespace == "kube-node-lease" => "kubelet".to_owned(),
        _ if name.starts_with("kube-apiserver-") || name.starts_with("apiserver-") => {
            "kube-apiserver".to_owned()
        }
        _ if is_program(name) => component(name).to_owned(),
        _ => OTHER_CLIENT.to_owned(),
    })
}

/// Returns true for a path of a program that has client-go as a module: the components of Kubernetes have it as a folder.
fn is_of_module(text: &str) -> bool {
    text.match_indices("k8s.io/client-go@v").any(|(at, _)| {
        let before = &text[..at];
        let version = text[at..].split('/').nth(1).unwrap_or_default();
        // k3s and RKE2 have the kubelet in one program with others, and their fork of the library.
        let is_fork = version.contains("-k3s") || version.contains("-rke2");
        !before.ends_with("staging/src/") && !is_fork
    })
}

/// Returns the kind of `*v1.Node`, behind the words of a client that lists or watches.
fn kind_of(text: &str) -> Option<&str> {
    let after = ["Failed to watch *", "ailed to list *", "watch of *"]
        .iter()
        .find_map(|words| text.split_once(words));
    let named = after.map(|(_, after)| after).or_else(|| text.strip_prefix('*'))?;
    let end = named.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).unwrap_or(named.len());
    named[..end].rsplit_once('.').map(|(_, kind)| kind)
}

/// Returns true for the steps of a request that the API server carried out.
fn is_trace_of_server(text: &str) -> bool {
    let is_trace = text.starts_with("Trace[");
    is_trace
        && ["audit-id:", "user-agent:", ",verb:", "audit-ID:", " etcd3\""]
            .iter()
            .any(|key| text.contains(key))
}

#[cfg(test)]
mod tests {
    use super::super::explain_message;

    #[test]
    fn the_words_of_a_line_name_its_writer() {
        let watch = |words: &str| {
            format!(
                "E0913 02:59:46.629946       1 reflector.go:158] \"Unhandled Error\" err=\"k8s.io/client-go/informers/factory.go:160: Failed to watch {words}\" logger=\"UnhandledError\""
            )
        };
        let user = |name: &str, kind: &str| {
            watch(&format!(
                "*v1.{kind}: failed to list *v1.{kind}: x is forbidden: User \\\"{name}\\\" cannot list resource \\\"x\\\" in API group \\\"\\\" at the cluster scope"
            ))
        };
        let lease = |lease: &str| {
            format!(
                "E0902 20:48:24.809602       1 controller.go:187] failed to update lease, error: Put \"https://127.0.0.1:6443/apis/coordination.k8s.io/v1/namespaces/{lease}\": dial tcp 127.0.0.1:6443: connect: connection refused"
            )
        };
        let refused = "Get \\\"https://10.0.0.1:6443/x\\\": dial tcp 10.0.0.1:6443: connect: connection refused";
        let kind = |kind: &str| watch(&format!("*v1.{kind}: failed to list *v1.{kind}: {refused}"));
        for (text, speaker) in [
            (user("system:kube-scheduler", "CSIDriver"), "kube-scheduler"),
            (user("system:kube-controller-manager", "Node"), "kube-controller-manager"),
            (user("system:serviceaccount:kube-system:replicaset-controller", "Pod"), "kube-controller-manager"),
            (user("system:serviceaccount:kube-system:coredns", "Service"), "CoreDNS"),
            (user("system:serviceaccount:shop:db", "Secret"), "the program with the service account shop/db"),
            (user("system:node:n1", "StatefulSet"), "kubelet"),
            (kind("Node"), "kubelet"),
            (kind("ReplicaSet"), super::OTHER_CLIENT),
            (kind("Node").replace("k8s.io/client-go/", "pkg/mod/k8s.io/client-go@v0.29.3/"), super::OUTSIDE),
            (
                kind("Node").replace("k8s.io/client-go/", "k8s.io/client-go@v1.21.5-k3s1/"),
                "kubelet",
            ),
            (format!("kube-proxy {}", kind("Node")), "kube-proxy"),
            (format!("[pod/kube-proxy-x2b/kube-proxy] {}", kind("Node")), "kube-proxy"),
            (lease("kube-system/leases/kube-apiserver-b7192cac"), "kube-apiserver"),
            (lease("kube-node-lease/leases/n1"), "kubelet"),
            (
                "[ERROR] plugin/kubernetes: pkg/mod/k8s.io/client-go@v0.29.3/tools/cache/reflector.go:229: Failed to watch *v1.Service: failed to list *v1.Service: Unauthorized".to_owned(),
                "CoreDNS",
            ),
            (
                "level=error msg=\"k8s.io/client-go/informers/factory.go:160: Failed to watch *v1.Node: failed to list *v1.Node: Unauthorized\" subsys=klog".to_owned(),
                "Cilium",
            ),
            (
                "I0101 10:00:00.000000 1 trace.go:236] Trace[12]: \"Update\" accept:application/json,audit-id:9d,user-agent:kubelet/v1.34.1,verb:PUT (01-Jan-2026 10:00:00.000) (total time: 1011ms):".to_owned(),
                "kube-apiserver",
            ),
            (
                "E0101 10:00:00.000000 1 event.go:359] \"Server rejected event (will not retry!)\" err=\"x is being terminated\" event=\"&Event{Source:EventSource{Component:default-scheduler,Host:,},}\"".to_owned(),
                "kube-scheduler",
            ),
            (
                "E0101 10:00:00.000000 1 event_broadcaster.go:270] \"Server rejected event (will not retry!)\" err=\"x\" event=\"&Event{ReportingController:default-scheduler,ReportingInstance:x,}\"".to_owned(),
                "kube-scheduler",
            ),
            (
                "E0125 00:34:04.146434 1 leaderelection.go:330] \"error initially creating lease lock\" err=\"leases.coordination.k8s.io is forbidden: User \\\"system:serviceaccount:web:nginx\\\" cannot create resource \\\"leases\\\"\"".to_owned(),
                "the program with the service account web/nginx",
            ),
            (
                "I0101 10:00:00.000000 1 trace.go:205] Trace[12]: \"GuaranteedUpdate etcd3\" type:*core.Node (01-Jan-2026 10:00:00.000) (total time: 711ms):".to_owned(),
                "kube-apiserver",
            ),
            (
                "W0913 02:59:46.629946 1 reflector.go:462] k8s.io/client-go/informers/factory.go:150: watch of *v1.EndpointSlice ended with: too old resource version: 1 (2)".to_owned(),
                super::OTHER_CLIENT,
            ),
            (
                "W0913 02:59:46.629946 1 reflector.go:462] k8s.io/client-go/informers/factory.go:150: watch of *v1.Pod ended with: too old resource version: 1 (2)".to_owned(),
                "kubelet",
            ),
        ] {
            let found = explain_message(&text).unwrap_or_else(|it| panic!("{it:?}: {text}"));
            assert_eq!(found.speaker, speaker, "{text}: {found:?}");
            let own = if speaker == "kubelet" { "kubelet" } else { "Not the kubelet's" };
            assert!(found.is_explained && found.summary.contains(own), "{text}: {found:?}");
        }
    }
}
