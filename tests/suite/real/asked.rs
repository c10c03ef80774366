//! The runtime's answers about running pods: their containers, and the requests for them.

use super::Running;
use kq_facts::cgroup_mode::CgroupDriver;
use kq_io::trust::NamedBy;
use kq_linux::cri::{RuntimeNeeds, read_runtime};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// kq's own reader finds exactly what was started.
pub fn the_reader_finds_every_container(running: &Running<'_>) {
    let node = running.node;
    let endpoint = format!("unix://{}", node.socket.display());
    let deadline = Duration::from_secs(60);
    let facts =
        read_runtime(&endpoint, Path::new("/"), NamedBy::Operator, RuntimeNeeds::ALL, deadline)
            .expect("the runtime answers");
    assert_eq!(facts.version.runtime_name, "containerd");
    assert_eq!(facts.cgroup_driver.value(), Some(&CgroupDriver::Cgroupfs));
    let low_level = facts.low_level.value().expect("the runtime names its runc");
    assert_eq!(low_level.version, node.version(super::Runc::System), "{low_level:?}");

    let sandboxes = facts.sandboxes.value().expect("there are sandboxes");
    let uids: BTreeSet<&str> = sandboxes.iter().map(|sandbox| sandbox.uid.as_str()).collect();
    let pods = running.pods().iter().map(|loaded| loaded.pod.metadata.uid.as_str());
    assert_eq!(uids, pods.collect());

    let found = facts.containers.value().expect("there are containers");
    let found: BTreeSet<(&str, &str)> =
        found.iter().map(|found| (found.id.as_str(), found.name.as_str())).collect();
    let started = running.containers.iter();
    assert_eq!(found, started.map(|it| (it.id.as_str(), it.name.as_str())).collect());
}

/// What kq plans reached the runtime, also where the machine has it otherwise.
pub fn the_runtime_was_asked_what_is_planned(running: &Running<'_>) {
    let plan = running.plan();
    let mut compared = 0;
    for root in &plan.roots {
        root.walk(0, &mut |cgroup, _| {
            let container = running.containers.iter().find(|it| it.cgroup == cgroup.path);
            let Some(container) = container else { return };
            let told = running.notes(container);
            let resources = &told["config"]["linux"]["resources"];
            let planned = cgroup.text("oom_score_adj").and_then(|text| text.parse::<i64>().ok());
            // What is 0 is left out.
            assert_eq!(resources["oom_score_adj"].as_i64().or(Some(0)), planned, "{told}");
            assert_eq!(planned, Some(container.asked.oom_score_adj));
            let shares = resources["cpu_shares"].as_i64();
            assert_eq!(shares, Some(container.asked.cpu_shares), "{told}");
            compared += 1;
        });
    }
    assert_eq!(compared, running.containers.len());
}
