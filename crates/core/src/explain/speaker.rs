//! Whose a line is: the component of a program, of a source of events, or of a file of the sources.

use super::line::{LOGRUS, Line, PROGRAMS};
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

/// Returns true for a known program that is not the kubelet, and does not run one or repeat its words.
pub(super) fn is_other(program: &str) -> bool {
    is_foreign(program) && is_program(program) && !matches!(program, "crictl" | "kubectl" | LOGRUS)
}

/// Returns true for the name of a program that lines name.
pub(super) fn is_program(name: &str) -> bool {
    PROGRAMS.contains(&name) || name == "cloud-controller-manager"
}

/// Returns true for a line of klog that another program wrote, such as a container or a unit of another name, from a file that the
/// kubelet has alone.
pub(super) fn is_of_kubelet_within(line: &Line) -> bool {
    let program = line.program.as_deref().filter(|name| is_foreign(name) && !is_program(name));
    let is_kubelets = || {
        let place = line.place.as_deref().filter(|place| !place.contains('/'));
        place.and_then(program_of).is_some_and(|program| program == "kubelet")
    };
    program.is_some() && line.level.is_some() && is_kubelets()
}

/// Returns the component that writes events about a kind of object.
pub(super) fn kind_speaker(kind: &str) -> &'static str {
    match kind {
        "ReplicaSet"
        | "Deployment"
        | "StatefulSet"
        | "DaemonSet"
        | "Job"
        | "CronJob"
        | "ReplicationController"
        | "Endpoints"
        | "Service"
        | "PersistentVolumeClaim"
        | "HorizontalPodAutoscaler"
        | "PodDisruptionBudget" => "kube-controller-manager",
        _ => "a component of Kubernetes",
    }
}

/// Files of libraries that every component of Kubernetes is built with, and names that many of them have.
const SHARED_FILES: &[&str] = &[
    "run.go",
    "event.go",
    "reflector.go",
    "request.go",
    "leaderelection.go",
    "server.go",
    "controller.go",
    "log.go",
    "logs.go",
    "shared_informer.go",
    "clientconn.go",
    "main.go",
    "status.go",
    "node.go",
    "factory.go",
    "instance.go",
    "controller_utils.go",
    "round_trippers.go",
    "event_broadcaster.go",
    "trace.go",
];

/// Returns true for a file that says nothing of the component.
pub(super) fn is_shared_file(file: &str) -> bool {
    SHARED_FILES.contains(&file)
}

/// Returns true for a line of a kubelet's log: words of others within it do not make it theirs.
pub(super) fn says_kubelet(line: &Line) -> bool {
    match line.program.as_deref() {
        // k3s and others run etcd and the API server in one process with the kubelet.
        Some(program) if !program.starts_with("kubelet") && line.place.is_some() => {
            let of_file = line.place.as_deref().and_then(program_of);
            !is_foreign(program) && of_file.is_none_or(|it| it == "kubelet")
        }
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
    if is_shared_file(file) {
        return None;
    }
    // Loggers of etcd name the folder too.
    let folders = [
        "etcdserver/",
        "rafthttp/",
        "wal/",
        "embed/",
        "mvcc/",
        "v3rpc/",
        "raft/",
        "etcdmain/",
        "traceutil/",
    ];
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
        // `k8s.io/dynamic-resource-allocation`, of which the kubelet has resourceclaim.go alone.
        let names = [
            "nonblockinggrpcserver.go",
            "draplugin.go",
            "noderegistrar.go",
            "registrationserver.go",
            "resourceslicecontroller.go",
        ];
        of(&names, "DRA driver")
    })
    .or_else(|| {
        let names = [
            "allocator.go",
            "allocator_experimental.go",
            "allocator_incubating.go",
            "allocator_stable.go",
        ];
        of(&names, "kube-scheduler")
    })
    .or_else(|| {
        let is_kubelets = Table::get().rows.iter().any(|row| {
            row.is_kubelets() && row.file.rsplit('/').next().is_some_and(|name| name == file)
        });
        is_kubelets.then(|| "kubelet".to_owned())
    })
}
