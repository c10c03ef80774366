//! Version, driver and tree.

use super::*;

#[test]
fn the_cgroup_version_is_checked() {
    come_out(
        "cgroup-version",
        &[
            ("v2", as_it_is, Fine, "v2", ""),
            (
                "v1, refused",
                |given| given.host(INIT_MOUNTINFO, V1),
                Fail,
                "v1, and failCgroupV1 is true: kubelet 1.36.2",
                "failCgroupV1: false",
            ),
            (
                "hybrid, refused",
                |given| given.host(INIT_MOUNTINFO, &format!("{V1}{UNIFIED}")),
                Fail,
                "v1, hybrid: the unified hierarchy is at /sys/fs/cgroup/unified",
                "move the node to cgroup v2",
            ),
            (
                "v1, allowed",
                |given| {
                    given.host(INIT_MOUNTINFO, V1);
                    given.config(json!({ "failCgroupV1": false }));
                },
                Warn,
                "v1",
                "move the node to cgroup v2",
            ),
            (
                "v1, an older kubelet",
                |given| {
                    given.host(INIT_MOUNTINFO, V1);
                    given.snapshot.kubelet_version = Lookup::found("exe", "v1.34.1".to_owned());
                },
                Warn,
                "v1",
                "move",
            ),
            (
                "v1, no configuration",
                |given| {
                    given.host(INIT_MOUNTINFO, V1);
                    given.no_config();
                },
                Unknown,
                "configuration is not known",
                "--set failCgroupV1=false",
            ),
            (
                "v1, no version",
                |given| {
                    given.host(INIT_MOUNTINFO, V1);
                    given.snapshot.kubelet_version = Lookup::failed("exe", "timed out");
                },
                Unknown,
                "depends on its version",
                "--kubelet-version",
            ),
            (
                "nothing mounted",
                |given| given.host(INIT_MOUNTINFO, ""),
                Unknown,
                "no cgroup hierarchy",
                "--cgroup-version",
            ),
            (
                "not read",
                |given| given.snapshot.host = HostFacts::default(),
                Unknown,
                "was not read",
                "--cgroup-version",
            ),
        ],
    );
}

#[test]
fn the_drivers_must_agree() {
    let others = "set cgroupDriver: systemd in the kubelet's configuration";
    come_out(
        "cgroup-driver",
        &[
            ("all agree", as_it_is, Fine, "kubelet systemd, runtime systemd, tree systemd", ""),
            ("before a tree", |given| given.remove("/kubepods.slice"), Fine, "runtime systemd", ""),
            (
                "the kubelet follows the runtime",
                |given| given.config(json!({})),
                Warn,
                "kubelet cgroupfs, runtime systemd, tree systemd; the kubelet uses the runtime's",
                "set cgroupDriver: systemd",
            ),
            (
                "the kubelet is the odd one",
                |given| {
                    given.config(json!({ "cgroupDriver": "cgroupfs" }));
                    given.told(CgroupDriver::Systemd);
                },
                Fail,
                "kubelet cgroupfs, runtime systemd, tree systemd",
                others,
            ),
            (
                "the runtime is the odd one",
                |given| given.told(CgroupDriver::Cgroupfs),
                Fail,
                "kubelet systemd, runtime cgroupfs, tree systemd",
                "set the container runtime to systemd (containerd: SystemdCgroup = true",
            ),
            (
                "an older kubelet does not follow",
                |given| {
                    given.config(json!({ "cgroupDriver": "cgroupfs" }));
                    given.snapshot.kubelet_version = Lookup::found("exe", "v1.30.4".to_owned());
                },
                Fail,
                "kubelet cgroupfs, runtime systemd",
                others,
            ),
            (
                "no tree, systemd runs the machine",
                |given| {
                    given.remove("/kubepods.slice");
                    given.told(CgroupDriver::Cgroupfs);
                },
                Fail,
                "kubelet systemd, runtime cgroupfs",
                "set the container runtime to systemd",
            ),
            (
                "no tree, no systemd",
                |given| {
                    given.remove("/");
                    given.told(CgroupDriver::Cgroupfs);
                },
                Fail,
                "kubelet systemd, runtime cgroupfs",
                "set cgroupDriver: cgroupfs in the kubelet's configuration",
            ),
            (
                "the tree is older than both",
                Given::cgroupfs,
                Fail,
                "kubelet systemd, runtime systemd, tree cgroupfs",
                "back to cgroupfs",
            ),
            (
                "the tree is not the runtime's, the kubelet not known",
                |given| {
                    given.no_config();
                    given.told(CgroupDriver::Cgroupfs);
                },
                Fail,
                "runtime cgroupfs, tree systemd",
                "set the container runtime to systemd",
            ),
            (
                "no configuration",
                |given| {
                    given.no_config();
                    given.told(CgroupDriver::Systemd);
                },
                Unknown,
                "configuration is not known",
                "--cgroup-driver DRIVER",
            ),
            (
                "no runtime",
                |given| given.snapshot.runtime = Lookup::failed("unix:///x", "no such file"),
                Unknown,
                "kubelet systemd, tree systemd; the container runtime does not answer",
                "--runtime-endpoint",
            ),
            (
                "a runtime that does not tell",
                |given| given.runtime().cgroup_driver = Lookup::failed("Status", "tells nothing"),
                Unknown,
                "Status: tells nothing",
                "--runtime-endpoint",
            ),
            ("no tree", Given::no_tree, Unknown, "permission denied", "--host-root"),
        ],
    );
}

#[test]
fn the_tree_is_checked() {
    come_out(
        "cgroup-tree",
        &[
            ("one", as_it_is, Fine, "/kubepods.slice with 1 pod", ""),
            (
                "without cgroups per class",
                |given| {
                    given.cgroup("/", &[]);
                    given.config(json!({ "cgroupsPerQOS": false, "enforceNodeAllocatable": [] }));
                },
                Fine,
                "/ with 0 pods",
                "",
            ),
            (
                "both, with pods",
                |given| {
                    given.cgroup("/kubepods", &[]);
                    given.cgroup(&format!("/kubepods/pod{STRANGER}"), &[("cgroup.procs", "7\n")]);
                },
                Fail,
                "/kubepods.slice with 1 pod",
                "so that /kubepods goes away",
            ),
            (
                "both, one of them empty",
                |given| given.cgroup("/kubepods", &[("cpu.weight", "157\n")]),
                Warn,
                "/kubepods with 0 pods",
                "so that /kubepods goes away",
            ),
            (
                "none",
                |given| given.remove("/kubepods.slice"),
                Warn,
                "neither /kubepods nor",
                "cgroupRoot",
            ),
            ("not read", Given::no_tree, Unknown, "permission denied", "--host-root"),
            (
                "a part not read",
                |given| {
                    let reason = "permission denied".to_owned();
                    given.tree().problems =
                        vec![FailedSource { source: "/kubepods.slice/a".to_owned(), reason }];
                },
                Unknown,
                "/kubepods.slice/a: permission denied",
                "root",
            ),
        ],
    );
    come_out(
        "orphaned-pods",
        &[
            ("none", as_it_is, Fine, "none among 1 cgroup", ""),
            (
                "with processes",
                |given| given.cgroup(&slice(STRANGER), &[("cgroup.procs", "7\n8\n")]),
                Fail,
                "(unknown) (2 processes)",
                "crictl stopp",
            ),
            (
                "without processes",
                |given| given.cgroup(&slice(STRANGER), &[("cgroup.procs", "")]),
                Warn,
                "1 cgroup without a pod",
                "removes it",
            ),
            (
                "a sandbox is not a pod",
                |given| {
                    given.cgroup(&slice(STRANGER), &[("cgroup.procs", "7\n")]);
                    let both = vec![sandbox(UID, "web"), sandbox(STRANGER, "old")];
                    given.runtime().sandboxes = Lookup::found("containerd.sock", both.into());
                },
                Fail,
                "default/old (1 process)",
                "crictl stopp",
            ),
            (
                "pods not known",
                Given::no_pods,
                Unknown,
                "pods of the node are not known",
                "--pods FILE",
            ),
            ("tree not known", Given::no_tree, Unknown, "permission denied", "--host-root"),
            (
                "no tree",
                |given| given.remove("/kubepods.slice"),
                Unknown,
                "no cgroup of all",
                "start",
            ),
        ],
    );
}
