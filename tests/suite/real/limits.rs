//! The kernel does what its files say: a planned limit is felt.

use super::node;

/// A container that wants four times the memory that it may have.
const GREEDY: &str = "
metadata: {name: greedy, namespace: real, uid: 11111111-0000-4000-8000-000000000011}
spec:
  containers:
  - name: only
    command: [dd, if=/dev/zero, of=/dev/null, bs=64M, count=1]
    resources: {limits: {memory: 16Mi}}
";

#[test]
fn a_container_over_its_memory_limit_is_killed() {
    let Some(node) = node() else { return };
    let running = node.run_pod(GREEDY);
    let status = running.wait_for_oom(&running.container("greedy", "only").id);
    assert_eq!((status.exit_code, status.reason.as_str()), (137, "OOMKilled"), "{status:?}");
}
