//! Which processes are in a container, from the kernel's texts about them alone.
//!
//! None of these texts is the process's own memory: reading `cmdline` waits for a lock that the process can hold as long
//! as it likes.

/// The names of programs that contain a kubelet (`comm`).
const NAMES: [&str; 5] = ["kubelet", "k3s", "k3s-server", "k3s-agent", "kubelite"];

/// Returns true if a process with this name can be a kubelet.
pub fn may_be_kubelet(comm: &str) -> bool {
    NAMES.contains(&comm.trim_end_matches('\n'))
}

/// Returns true for a process in a PID namespace of its own: it has one number in each namespace that contains it, from
/// that of the reader's `/proc` on. Kernels before 4.1 do not report them.
pub fn has_own_pids(status: &str) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    line.is_some_and(|line| line.split_whitespace().count() > 1)
}

/// What a process's cgroups show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupPlace {
    /// A cgroup of a pod.
    Pod,
    /// No cgroup of a pod.
    Node,
    /// Outside of the reader's cgroup namespace, and not recognised.
    Outside,
}

/// Returns the place of a process, given the text of its `cgroup`.
///
/// A reader in a cgroup namespace of its own, as in a pod, sees a path relative to its own cgroup: the names above the
/// place where both paths part are missing, `kubepods` among them.
///
/// | path                                          | of                                             |
/// |-----------------------------------------------|------------------------------------------------|
/// | `/kubepods.slice/...`, `/../kubepods.slice/..`| a pod                                          |
/// | `/../ID`                                      | another container of the reader's pod          |
/// | `/../../podUID/ID`, `/../../../burstable/...` | another pod                                    |
/// | `/../../../system.slice/kubelet.service`      | the node: pods are in no slice but `kubepods`  |
/// | `/../../../kubelet`                           | unknown                                        |
pub fn cgroup_place(text: &str) -> CgroupPlace {
    let places = text.lines().map(|line| place(line.splitn(3, ':').nth(2).unwrap_or_default()));
    places
        .max_by_key(|place| match place {
            CgroupPlace::Node => 0,
            CgroupPlace::Outside => 1,
            CgroupPlace::Pod => 2,
        })
        .unwrap_or(CgroupPlace::Outside)
}

fn place(path: &str) -> CgroupPlace {
    if path.contains("kubepods") {
        return CgroupPlace::Pod;
    }
    let parts = || path.split('/').filter(|part| !part.is_empty());
    let up = parts().take_while(|part| *part == "..").count();
    let first = parts().nth(up).unwrap_or_default();
    match up {
        0 => CgroupPlace::Node,
        1 => CgroupPlace::Pod,
        _ if first.ends_with(".slice") => CgroupPlace::Node,
        _ if ["burstable", "besteffort", "guaranteed"].contains(&first)
            || first.starts_with("pod") =>
        {
            CgroupPlace::Pod
        }
        _ => CgroupPlace::Outside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_up_is_of_a_pod_or_unknown() {
        use CgroupPlace::{Node, Outside, Pod};
        for (text, expected) in [
            ("0::/system.slice/kubelet.service\n", Node),
            ("0::/\n", Node),
            ("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-1.scope\n", Pod),
            ("0::/../../pod3c9f6a1e-5b1c-4d0e-9a55-0c8a5a3b7d10/abc\n", Pod),
            ("0::/../../../burstable/pod1/abc\n", Pod),
            ("0::/../../../../kubepods-burstable.slice/x\n", Pod),
            ("0::/../abc\n", Pod),
            ("0::/../system.slice\n", Pod),
            ("0::/../../../../system.slice/kubelet.service\n", Node),
            ("0::/../../../podruntime.slice/kubelet.service\n", Node),
            ("0::/../../../kubelet\n", Outside),
            ("0::/../..\n", Outside),
            ("", Outside),
            ("4:memory:/kubelet\n1:name=systemd:/../../pod1/abc\n0::/\n", Pod),
            ("4:memory:/kubelet\n1:name=systemd:/system.slice/kubelet.service\n", Node),
        ] {
            assert_eq!(cgroup_place(text), expected, "{text}");
        }
    }

    #[test]
    fn names_and_namespaces() {
        for (name, expected) in [
            ("kubelet\n", true),
            ("k3s-agent", true),
            ("kworker/0:1\n", false),
            ("kubelet2", false),
        ] {
            assert_eq!(may_be_kubelet(name), expected, "{name}");
        }
        assert!(has_own_pids("Name:\tkubelet\nNSpid:\t4711\t1\n"));
        assert!(!has_own_pids("NSpid:\t4711\n") && !has_own_pids("Name:\tkubelet\n"));
    }
}
