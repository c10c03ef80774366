//! Swap, values and the kubelet's own files.

use super::*;
use kq_facts::devices::{CheckpointFact, DeviceFacts};

#[test]
fn swap_values_and_files_are_checked() {
    const SWAP: &str = "MemTotal: 8000000 kB\nSwapTotal: 1048576 kB\n";
    come_out(
        "swap",
        &[
            ("none", as_it_is, Fine, "no swap", ""),
            (
                "refused",
                |given| given.host(MEMINFO, SWAP),
                Fail,
                "1Gi of swap, and failSwapOn is true",
                "swapoff -a",
            ),
            (
                "allowed",
                |given| {
                    given.host(MEMINFO, SWAP);
                    given.config(json!({ "failSwapOn": false }));
                },
                Fine,
                "swapBehavior NoSwap",
                "",
            ),
            (
                "refused on cgroup v1",
                |given| {
                    given.host(MEMINFO, SWAP);
                    given.host(INIT_MOUNTINFO, V1);
                    let swap = json!({ "swapBehavior": "LimitedSwap" });
                    given.config(json!({
                        "failSwapOn": false, "failCgroupV1": false, "memorySwap": swap,
                    }));
                },
                Fail,
                "needs cgroup v2: the kubelet does not start",
                "swapBehavior: NoSwap",
            ),
            (
                "no configuration",
                |given| {
                    given.host(MEMINFO, SWAP);
                    given.no_config();
                },
                Unknown,
                "configuration is not known",
                "--set failSwapOn=false",
            ),
            (
                "not read",
                |given| given.snapshot.host = HostFacts::default(),
                Unknown,
                "/proc/meminfo: was not read",
                "--swap-capacity",
            ),
        ],
    );
    come_out(
        "cgroup-values",
        &[
            ("as planned", as_it_is, Fine, "12 compared: 12 MATCH", ""),
            (
                "drift",
                |given| {
                    let counts = [("MATCH", 5), ("DRIFT", 2), ("EXTRA", 1), ("ROUNDED", 1)];
                    given.compared =
                        Ok(counts.map(|(name, count)| (name.to_owned(), count)).into());
                },
                Fail,
                "3 not as planned; 9 compared",
                "kq cgroup diff",
            ),
            (
                "nothing known",
                |given| given.compared = Ok([("UNKNOWN".to_owned(), 4)].into()),
                Unknown,
                "4 UNKNOWN",
                "kq cgroup diff -o wide",
            ),
            (
                "no root",
                |given| given.remove("/kubepods.slice"),
                Unknown,
                "no cgroup of all",
                "start",
            ),
            ("no tree", Given::no_tree, Unknown, "could not be read", "--host-root"),
        ],
    );
    come_out(
        "state-files",
        &[
            ("read", as_it_is, Fine, "1 file", ""),
            (
                "refused",
                |given| given.start.refuses_state_file = true,
                Fail,
                "does not start with one of them",
                "kq devices verify",
            ),
            (
                "cut short",
                |given| given.state("cpu_manager_state", Text::Read("{\"pol".to_owned())),
                Fail,
                "cpu_manager_state: EOF",
                "move the file away",
            ),
            (
                "empty",
                |given| given.state("cpu_manager_state", Text::Read("\n".to_owned())),
                Fail,
                "cpu_manager_state: empty",
                "move the file away",
            ),
            (
                "something else",
                |given| given.state("cpu_manager_state", Text::Read("[]".to_owned())),
                Fail,
                "no JSON object",
                "move the file away",
            ),
            (
                "a damaged checkpoint of devices",
                |given| {
                    let damaged = CheckpointFact::read(b"{\"Data\":{},\"Checksum\":1}");
                    given.snapshot.devices = Some(DeviceFacts {
                        checkpoint: Lookup::found("f", damaged),
                        ..DeviceFacts::default()
                    });
                },
                Warn,
                "checkpoint is corrupted",
                "kq devices verify",
            ),
            (
                "not readable",
                |given| given.state("a", Text::Unreadable("permission denied".to_owned())),
                Unknown,
                "a: permission denied",
                "root",
            ),
            (
                "none there",
                |given| given.state("cpu_manager_state", Text::Absent),
                Unknown,
                "none is there",
                "--root-dir",
            ),
            (
                "not looked for",
                |given| given.snapshot.state_files = None,
                Unknown,
                "not looked for",
                "root",
            ),
        ],
    );
}
