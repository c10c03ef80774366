//! The kernel does what its files say: a planned limit is felt.

use super::node;

/// A container that takes four times the memory that it may have, once the file `/go` is there.
const GREEDY: &str = "
metadata: {name: greedy, namespace: real, uid: 11111111-0000-4000-8000-000000000011}
spec:
  containers:
  - name: only
    command:
    - sh
    - -c
    - until [ -e /go ]; do sleep 0.1; done; exec dd if=/dev/zero of=/dev/null bs=64M count=1
    resources: {limits: {memory: 16Mi}}
";

#[test]
fn a_container_over_its_memory_limit_is_killed() {
    let Some(node) = node() else { return };
    let running = node.run_pod(GREEDY);
    // The container was started, so the shim listens for the kernel's OOM event of its cgroup. One that
    // took its memory at once could be killed before that, and end with the reason `Error`.
    let greedy = running.container("greedy", "only");
    running.make_file(greedy, "go");
    let status = running.wait_for_oom(&greedy.id);
    assert_eq!((status.exit_code, status.reason.as_str()), (137, "OOMKilled"), "{status:?}");
}
