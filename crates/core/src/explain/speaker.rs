//! Whose a line is: the component of a program, of a source of events, or of a file of the sources.

use super::line::Line;
use super::table::Table;

/// Returns the component that a program or a source of events belongs to.
pub(super) fn component(program: &str) -> &str {
    match program {
        "default-scheduler" => "kube-scheduler",
        "cri-o" => "crio",
        "node-controller"
        | "attachdetach-controller"
        | "persistentvolume-controller"
        | "taint-eviction-controller"
        | "deployment-controller"
        | "replicaset-controller"
        | "statefulset-controller"
        | "daemonset-controller"
        | "job-controller"
        | "cronjob-controller"
        | "endpoint-controller"
        | "horizontal-pod-autoscaler"
        | "service-controller" => "kube-controller-manager",
        other => other,
    }
}

/// Returns true for a program that is not the kubelet, and writes lines of its own.
pub(super) fn is_foreign(program: &str) -> bool {
    !matches!(
        program,
        "kubelet"
            | "kubelite"
            | "k3s"
            | "k3s-agent"
            | "rke2"
            | "microshift"
            | "hyperkube"
            | "k0s"
            | "kubeadm"
            | "edgecore"
    ) && !program.starts_with("kubelet")
}

/// Returns true for a line of a kubelet's log: words of others within it do not make it theirs.
pub(super) fn says_kubelet(line: &Line) -> bool {
    match line.program.as_deref() {
        Some(program) => !is_foreign(program),
        None => {
            // klog names a file without its folder.
            let place = line.place.as_deref().filter(|place| !place.contains('/'));
            place.is_some_and(|place| program_of(place).is_none_or(|program| program == "kubelet"))
        }
    }
}

/// Returns the component that has a file of this name.
pub(super) fn program_of(place: &str) -> Option<String> {
    let file = place.split_once(':').map_or(place, |(file, _)| file);
    // Loggers of etcd name the folder too.
    let folders =
        ["etcdserver/", "rafthttp/", "wal/", "embed/", "mvcc/", "v3rpc/", "raft/", "etcdmain/"];
    if folders.iter().any(|folder| file.starts_with(folder)) {
        return Some("etcd".to_owned());
    }
    let of = |names: &[&str], program: &str| names.contains(&file).then(|| program.to_owned());
    of(
        &["schedule_one.go", "scheduler.go", "default_preemption.go", "scheduling_queue.go"],
        "kube-scheduler",
    )
    .or_else(|| {
        let names = [
            "node_lifecycle_controller.go",
            "taint_eviction.go",
            "attach_detach_controller.go",
            "replica_set.go",
            "deployment_controller.go",
            "job_controller.go",
            "garbagecollector.go",
        ];
        of(&names, "kube-controller-manager")
    })
    .or_else(|| of(&["proxier.go", "iptables.go", "server_linux.go"], "kube-proxy"))
    .or_else(|| {
        let is_kubelets = Table::get().rows.iter().any(|row| {
            row.is_kubelets() && row.file.rsplit('/').next().is_some_and(|name| name == file)
        });
        is_kubelets.then(|| "kubelet".to_owned())
    })
}
