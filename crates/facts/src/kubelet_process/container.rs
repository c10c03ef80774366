//! Which processes are in a container, from the kernel's texts about them alone.
//!
//! None of these texts is the process's own memory: reading `cmdline` waits for a lock that the process can hold as long
//! as it likes.

/// The names of programs that contain a kubelet (`comm`).
const NAMES: [&str; 6] = ["kubelet", "k3s", "k3s-server", "k3s-agent", "kubelite", "microshift"];

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

/// Returns the place of a process, given the text of its `cgroup` and that of the node's first process.
///
/// A reader in a cgroup namespace of its own, as in a pod, sees a path relative to its own cgroup: the names above the
/// place where both paths part are missing, `kubepods` among them. The path of the first process leads up to the root.
///
/// | path                                          | of                                                       |
/// |-----------------------------------------------|----------------------------------------------------------|
/// | `/kubepods.slice/...`, `/../kubepods.slice/..`| a pod                                                    |
/// | `/../../podUID/ID`, `/../../../burstable/...` | another pod                                              |
/// | up to the root: `/../../../podruntime/kubelet`| the node: the paths part above the pods                  |
/// | `/../../../system.slice/kubelet.service`      | the node: pods are in no slice but `kubepods`            |
/// | `/../ID`, `/../kubelet.service`               | unknown: a container of the reader's pod, or its neighbour|
pub fn cgroup_place(text: &str, first: Option<&str>) -> CgroupPlace {
    let places = text.lines().map(|line| {
        let (_, controllers, path) = parts(line);
        let same = |line: &&str| parts(line).1 == controllers;
        let first = first.and_then(|text| text.lines().find(same));
        place(path, first.map(|line| up(parts(line).2)))
    });
    let worst = |place: &CgroupPlace| match place {
        CgroupPlace::Node => 0,
        CgroupPlace::Outside => 1,
        CgroupPlace::Pod => 2,
    };
    places.max_by_key(worst).unwrap_or(CgroupPlace::Outside)
}

/// Splits `ID:CONTROLLERS:PATH`.
fn parts(line: &str) -> (&str, &str, &str) {
    let mut parts = line.splitn(3, ':');
    let mut part = || parts.next().unwrap_or_default();
    (part(), part(), part())
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

/// Counts the levels that a path leads up.
fn up(path: &str) -> usize {
    names(path).take_while(|name| *name == "..").count()
}

fn place(path: &str, to_the_root: Option<usize>) -> CgroupPlace {
    if path.contains("kubepods") {
        return CgroupPlace::Pod;
    }
    let up = up(path);
    let first = names(path).nth(up).unwrap_or_default();
    let is_uid = |name: &str| {
        name.len() >= 32 && name.chars().all(|c| c.is_ascii_hexdigit() || c == '-' || c == '_')
    };
    let is_class = ["burstable", "besteffort", "guaranteed"].contains(&first);
    match up {
        0 => CgroupPlace::Node,
        _ if is_class || first.strip_prefix("pod").is_some_and(is_uid) => CgroupPlace::Pod,
        _ if to_the_root.is_some_and(|root| root > 0 && up >= root) => CgroupPlace::Node,
        2.. if first.ends_with(".slice") => CgroupPlace::Node,
        _ => CgroupPlace::Outside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_up_is_of_a_pod_or_unknown() {
        use CgroupPlace::{Node, Outside, Pod};
        const UID: &str = "pod3c9f6a1e-5b1c-4d0e-9a55-0c8a5a3b7d10";
        let deep = Some("0::/../../../../init.scope\n");
        for (text, first, expected) in [
            ("0::/system.slice/kubelet.service\n", Some("0::/init.scope\n"), Node),
            ("0::/\n", None, Node),
            ("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-1.scope\n", None, Pod),
            (&format!("0::/../../{UID}/abc\n"), deep, Pod),
            (&format!("0::/../../{UID}/abc\n"), None, Pod),
            ("0::/../../../burstable/pod1/abc\n", deep, Pod),
            ("0::/../../../../kubepods-burstable.slice/x\n", deep, Pod),
            ("0::/../abc\n", deep, Outside),
            ("0::/../system.slice\n", deep, Outside),
            ("0::/../../../../system.slice/kubelet.service\n", deep, Node),
            ("0::/../../../../system.slice/kubelet.service\n", None, Node),
            ("0::/../../../podruntime.slice/kubelet.service\n", deep, Node),
            // Talos, RKE1, and a reader in a container of the node itself.
            ("0::/../../../../podruntime/kubelet\n", deep, Node),
            ("0::/../../../../docker/abc\n", deep, Node),
            ("0::/../../../kubelet\n", deep, Outside),
            ("0::/../kubelet.service\n", Some("0::/../../init.scope\n"), Outside),
            ("0::/../..\n", deep, Outside),
            ("", None, Outside),
            (&format!("4:memory:/kubelet\n1:name=systemd:/../../{UID}/abc\n0::/\n"), None, Pod),
            ("4:memory:/kubelet\n1:name=systemd:/system.slice/kubelet.service\n", None, Node),
        ] {
            assert_eq!(cgroup_place(text, first), expected, "{text} {first:?}");
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
