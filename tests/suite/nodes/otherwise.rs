//! One thing about a recorded node is otherwise, and kq says exactly that.

use super::stored::stored;
use crate::cli::lookups::refused;
use crate::cli::{Ran, folder_with, kq, repository};
use serde_json::{Value, json};

/// A recorded node that can be changed.
struct Node(Value);

impl Node {
    fn recorded() -> Self {
        let text = stored(&repository().join("tests/nodes/reserved-mini"));
        let mut node = Self(serde_json::from_str(&text).expect("a snapshot is JSON"));
        // Its pods started in the minute before it was recorded, in which sums may lag behind.
        node.0["takenAt"] = json!("2026-11-20T10:29:39Z");
        node
    }

    fn pods(&mut self) -> &mut Vec<Value> {
        let pods = &mut self.0["pods"]["found"]["value"]["pods"];
        pods.as_array_mut().expect("there are pods")
    }

    fn pod(&mut self, name: &str) -> &mut Value {
        let mut pods = self.pods().iter_mut().map(|loaded| &mut loaded["pod"]);
        pods.find(|pod| pod["metadata"]["name"] == name).unwrap_or_else(|| panic!("no pod {name}"))
    }

    fn uid(&mut self, name: &str) -> String {
        self.pod(name)["metadata"]["uid"].as_str().expect("a pod has a UID").to_owned()
    }

    /// Returns the path of the cgroup of a pod or of one of its containers.
    fn path(&mut self, pod: &str, container: Option<&str>) -> String {
        let uid = self.uid(pod);
        let id = container.map(|name| {
            let statuses = self.pod(pod)["status"]["containerStatuses"].clone();
            let statuses = statuses.as_array().expect("it has containers");
            let status = statuses.iter().find(|status| status["name"] == name);
            let id = status.expect("it has this one")["containerID"].as_str().expect("an id");
            id.trim_start_matches("containerd://").to_owned()
        });
        let tree = self.cgroups().as_object().expect("there are cgroups");
        let mut paths = tree.keys();
        let end = id.map_or(format!("/pod{uid}"), |id| format!("/{id}"));
        paths.find(|path| path.ends_with(&end)).unwrap_or_else(|| panic!("no {end}")).clone()
    }

    fn cgroups(&mut self) -> &mut Value {
        &mut self.0["cgroups"]["found"]["value"]["cgroups"]
    }

    fn remove(&mut self, cgroup: &str) {
        let tree = self.cgroups().as_object_mut().expect("there are cgroups");
        tree.retain(|path, _| !path.starts_with(cgroup));
    }

    /// Runs a command on the node.
    fn ask(&self, line: &str) -> Ran {
        let folder = folder_with(&[("node.json", self.0.to_string())]);
        kq(&format!("{line} --snapshot node.json")).within(folder.path()).run()
    }

    /// Returns what differs: `VERDICT CGROUP FILE PLANNED ACTUAL`, then the reasons, and the exit code.
    fn differences(&self) -> Differences {
        let ran = self.ask("cgroup diff -ojson");
        let answer: Value = ran.answer();
        let items = answer["items"].as_array().expect("a comparison has items");
        let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let differing =
            items.iter().filter(|item| !["MATCH", "ROUNDED"].contains(&&*word(&item["verdict"])));
        let (mut found, mut reasons) = (Vec::new(), Vec::new());
        for item in differing {
            let fields = ["verdict", "cgroup", "file", "planned", "actual"];
            found.push(fields.map(|field| word(&item[field])).join(" "));
            reasons.push(word(&item["reason"]));
        }
        let warnings =
            answer["warnings"].as_array().into_iter().flatten().map(|it| word(&it["text"]));
        let warnings = warnings.collect::<Vec<_>>().join("\n");
        Differences { found, reasons, warnings, code: ran.code }
    }
}

/// The lines of a comparison other than MATCH and ROUNDED.
struct Differences {
    found: Vec<String>,
    reasons: Vec<String>,
    warnings: String,
    code: i32,
}

impl Differences {
    /// Returns how many there are of a verdict.
    fn count(&self, verdict: &str) -> usize {
        self.found.iter().filter(|found| found.split(' ').next() == Some(verdict)).count()
    }
}

#[test]
fn an_unchanged_node_has_no_differences() {
    let answer = Node::recorded().differences();
    assert_eq!(answer.found, [] as [&str; 0]);
    assert_eq!(answer.code, 0);
}

#[test]
fn a_value_that_somebody_changed_drifts() {
    for (pod, container, file, text, expected) in [
        ("only-requests", Some("c"), "cpu.shares", "18\n", "17 18"),
        ("only-limits", Some("c"), "memory.limit_in_bytes", "50335744\n", "50331648 50335744"),
        ("only-limits", Some("c"), "cpu.cfs_quota_us", "-1\n", "3000 -1"),
        ("only-limits", None, "pids.max", "max\n", "400 max"),
    ] {
        let mut node = Node::recorded();
        let path = node.path(pod, container);
        node.cgroups()[&path][file] = text.into();
        let answer = node.differences();
        assert_eq!(answer.found, [format!("DRIFT {path} {file} {expected}")], "{pod}");
        assert_eq!(answer.code, 1, "{pod}");
    }
}

#[test]
fn a_value_of_a_class_that_drifts_says_who_writes_it() {
    let mut node = Node::recorded();
    node.cgroups()["/kubepods/burstable"]["cpu.shares"] = "2\n".into();
    let answer = node.differences();
    assert_eq!(answer.found, ["DRIFT /kubepods/burstable cpu.shares 478 2"]);
    assert_eq!(answer.reasons, ["the kubelet rewrites this level once a minute"]);
}

#[test]
fn a_limit_of_a_class_above_the_plan_may_be_its_usage() {
    for (text, expected) in
        [("4096\n", "DRIFT"), ("5000000000000\n", "UNKNOWN"), ("9223372036854771712\n", "DRIFT")]
    {
        let mut node = Node::recorded();
        let config = &mut node.0["kubeletConfig"]["found"]["value"]["value"];
        config["featureGates"]["QOSReserved"] = json!(true);
        config["qosReserved"] = json!({"memory": "50%"});
        let place = "/kubepods/besteffort memory.limit_in_bytes";
        node.cgroups()["/kubepods/besteffort"]["memory.limit_in_bytes"] = text.into();
        let answer = node.differences();
        let at = answer.found.iter().position(|it| it.contains(place));
        let at = at.unwrap_or_else(|| panic!("{text}: {:?}", answer.found));
        assert!(answer.found[at].starts_with(expected), "{text}: {}", answer.found[at]);
        let is_usage = answer.reasons[at].ends_with("a limit below the usage: the usage counts");
        assert_eq!(is_usage, expected == "UNKNOWN", "{text}: {}", answer.reasons[at]);
    }
}

#[test]
fn a_score_that_somebody_changed_drifts() {
    let mut node = Node::recorded();
    let path = node.path("only-requests", Some("c"));
    let pid = node.cgroups()[&path]["cgroup.procs"].as_str().expect("a process").trim().to_owned();
    node.0["cgroups"]["found"]["value"]["oomScoreAdj"][&pid] = "-500".into();
    let answer = node.differences();
    assert_eq!(answer.found, [format!("DRIFT {path} oom_score_adj 999 -500")]);
}

#[test]
fn the_score_from_before_a_resize_is_no_drift() {
    let mut recorded = Node::recorded();
    let path = recorded.path("only-requests", Some("c"));
    let score = |score: &str, edit: &dyn Fn(&mut Value)| {
        let mut node = Node::recorded();
        let pid =
            node.cgroups()[&path]["cgroup.procs"].as_str().expect("a process").trim().to_owned();
        node.0["cgroups"]["found"]["value"]["oomScoreAdj"][&pid] = score.into();
        edit(node.pod("only-requests"));
        node.differences()
    };
    let of_generation = |generation: Value| {
        move |pod: &mut Value| pod["metadata"]["generation"] = generation.clone()
    };
    let answer = score("900", &of_generation(json!(2)));
    assert_eq!(answer.found, [format!("RESIZE-PENDING {path} oom_score_adj 999 900")]);
    assert!(answer.reasons[0].contains("from the container's next start"), "{:?}", answer.reasons);
    assert_eq!(answer.code, 0);
    let reported = |pod: &mut Value| {
        pod["metadata"]["generation"] = Value::Null;
        let status = &mut pod["status"]["containerStatuses"][0];
        status["resources"] = json!({"requests": {"cpu": "30m"}});
    };
    assert_eq!(score("900", &reported).count("DRIFT"), 0, "reported by the kubelet");
    let restarting = |pod: &mut Value| {
        pod["metadata"]["generation"] = json!(2);
        pod["spec"]["containers"][0]["resizePolicy"] =
            json!([{"resourceName": "memory", "restartPolicy": "RestartContainer"}]);
    };
    for (name, answer) in [
        ("never resized", score("900", &of_generation(json!(1)))),
        ("no score of a Burstable pod", score("-500", &of_generation(json!(2)))),
        ("a resize restarts it", score("900", &restarting)),
    ] {
        assert_eq!(answer.count("DRIFT"), 1, "{name}: {:?}", answer.found);
    }
}

#[test]
fn a_runtime_that_may_go_below_its_own_score_has_no_excuse() {
    let mut node = Node::recorded();
    node.0["runtime"]["found"]["value"]["restrictsOomScore"] = false.into();
    let answer = node.differences();
    assert_eq!(answer.count("DRIFT"), 3, "{:?}", answer.found);
    assert!(answer.found.iter().all(|found| found.contains(" oom_score_adj -99")));
}

#[test]
fn a_pod_that_nobody_knows_is_an_orphan() {
    let mut node = Node::recorded();
    let (path, uid) = (node.path("besteffort", None), node.uid("besteffort"));
    node.pods().retain(|loaded| loaded["pod"]["metadata"]["name"] != "besteffort");
    for list in ["sandboxes", "containers"] {
        let list = &mut node.0["runtime"]["found"]["value"][list]["found"]["value"];
        let list = list.as_array_mut().expect("a list");
        list.retain(|item| item["uid"] != *uid && item["podUid"] != *uid);
    }
    let answer = node.differences();
    assert_eq!(answer.count("EXTRA"), answer.found.len(), "{:?}", answer.found);
    assert!(answer.found[0].starts_with(&format!("EXTRA {path} - ")), "{:?}", answer.found);
    assert_eq!(answer.code, 1);
}

#[test]
fn a_pod_that_only_the_runtime_knows_is_named() {
    let mut node = Node::recorded();
    let path = node.path("besteffort", None);
    node.pods().retain(|loaded| loaded["pod"]["metadata"]["name"] != "besteffort");
    let answer = node.differences();
    // It may be a static pod whose mirror the API server does not have.
    assert_eq!(answer.found, [format!("UNKNOWN {path} - - -")]);
    assert_eq!(
        answer.reasons,
        ["the specifications of default/besteffort are not known: they are not in the API server"]
    );
    let shown = node.ask("cgroup show").stdout;
    assert!(shown.contains("default/besteffort"), "{shown}");
}

#[test]
fn a_cgroup_that_is_gone_is_missing() {
    for (name, pod, container, reason) in [
        ("a pod", "only-limits", None, "the pod runs and has no cgroup"),
        ("a container", "eight", Some("c3"), "the container runs and has no cgroup"),
    ] {
        let mut node = Node::recorded();
        let path = node.path(pod, container);
        node.remove(&path);
        let answer = node.differences();
        assert_eq!(answer.found, [format!("MISSING {path} - - -")], "{name}");
        assert_eq!(answer.reasons, [reason], "{name}");
        assert_eq!(answer.code, 1, "{name}");
    }
}

#[test]
fn a_file_that_is_gone_is_missing() {
    let mut node = Node::recorded();
    let path = node.path("only-limits", None);
    node.cgroups()[&path].as_object_mut().expect("it has files").remove("pids.max");
    let answer = node.differences();
    assert_eq!(answer.found, [format!("MISSING {path} pids.max 400 -")]);
}

#[test]
fn a_file_that_could_not_be_read_is_unknown() {
    let mut node = Node::recorded();
    let path = node.path("only-limits", None);
    node.cgroups()[&path].as_object_mut().expect("it has files").remove("pids.max");
    let source = format!("/sys/fs/cgroup/pids{path}/pids.max");
    node.0["cgroups"]["found"]["value"]["problems"] =
        json!([{"source": source, "reason": "input/output error"}]);
    let answer = node.differences();
    assert_eq!(answer.found, [format!("UNKNOWN {path} pids.max 400 -")]);
    assert_eq!(answer.reasons, ["cannot be read: input/output error"]);
    assert_eq!(answer.code, 3);
    assert!(answer.warnings.contains(&format!("{source}: input/output error")));
}

#[test]
fn a_limit_that_nobody_planned_is_extra() {
    for (pod, container, file, text) in [
        ("besteffort", Some("c"), "memory.limit_in_bytes", "67108864"),
        ("besteffort", None, "memory.memsw.limit_in_bytes", "67108864"),
        ("besteffort", Some("d"), "memory.soft_limit_in_bytes", "1048576"),
    ] {
        let mut node = Node::recorded();
        let path = node.path(pod, container);
        node.cgroups()[&path][file] = format!("{text}\n").into();
        let answer = node.differences();
        assert_eq!(answer.found, [format!("EXTRA {path} {file} - {text}")]);
        assert_eq!(answer.code, 1);
    }
}

#[test]
fn a_resize_that_is_not_finished_is_pending() {
    let limits = |cpu: &str| json!({"limits": {"cpu": cpu, "memory": "48Mi"}, "requests": {"cpu": cpu, "memory": "48Mi"}});
    let mut node = Node::recorded();
    let (pod, container) = (node.path("only-limits", None), node.path("only-limits", Some("c")));
    node.pod("only-limits")["spec"]["containers"][0]["resources"] = limits("60m");
    let uid = node.uid("only-limits");
    let expected = |verdict: &str| {
        [(&pod, "cpu.cfs_quota_us"), (&pod, "cpu.shares"), (&container, "cpu.cfs_quota_us")]
            .into_iter()
            .chain([(&container, "cpu.shares")])
            .map(|(path, file)| {
                let values = if file == "cpu.shares" { "61 30" } else { "6000 3000" };
                format!("{verdict} {path} {file} {values}")
            })
            .collect::<std::collections::BTreeSet<_>>()
    };
    // The status says what is in effect.
    let status = &mut node.pod("only-limits")["status"]["containerStatuses"][0]["resources"];
    *status = limits("30m");
    let status = &mut node.pod("only-limits")["status"]["containerStatuses"][0];
    status["allocatedResources"]["cpu"] = json!("60m");
    // The kubelet reads that back, rounded, of every pod: without a condition nothing is being resized.
    assert_eq!(node.differences().count("DRIFT"), 4);
    let conditions = |resizing: bool| match resizing {
        true => json!([{"type": "PodResizeInProgress", "status": "True"}]),
        false => json!([]),
    };
    node.pod("only-limits")["status"]["conditions"] = conditions(true);
    let by_status = node.differences();
    assert_eq!(
        by_status.found.iter().cloned().collect::<std::collections::BTreeSet<_>>(),
        expected("RESIZE-PENDING"),
        "{:?}",
        by_status.reasons
    );
    assert!(
        by_status.reasons[0].contains("in effect and in the kernel"),
        "{:?}",
        by_status.reasons
    );
    assert_eq!(by_status.code, 0);
    // The kubelet's file says what it allocated.
    node.pod("only-limits")["status"]["containerStatuses"][0]["resources"] = json!({});
    node.pod("only-limits")["status"]["conditions"] = conditions(false);
    assert_eq!(node.differences().count("DRIFT"), 4);
    let data = json!({"entries": {uid: {"ContainerResources": {"c": limits("30m")}}}}).to_string();
    let checkpoint = json!({"data": data, "checksum": 1}).to_string();
    node.0["stateFiles"]["files"]["allocated_pods_state"] = json!({"read": checkpoint});
    let by_file = node.differences();
    assert_eq!(
        by_file.found.iter().cloned().collect::<std::collections::BTreeSet<_>>(),
        expected("RESIZE-PENDING")
    );
    assert!(by_file.reasons[0].contains("allocated and in the kernel"), "{:?}", by_file.reasons);
    // An unreadable file must not hide the rest.
    node.0["stateFiles"]["files"]["allocated_pods_state"] = json!({"read": "{"});
    let broken = node.differences();
    assert_eq!(broken.count("DRIFT"), 4);
    assert!(
        broken.warnings.contains("/var/lib/kubelet/allocated_pods_state: "),
        "{}",
        broken.warnings
    );
}

#[test]
fn a_class_counts_what_pods_ask_for() {
    // 17m more are requested and not allocated: the sum is still that of the requests.
    let mut node = Node::recorded();
    let asked = json!({"requests": {"cpu": "34m", "memory": "33Mi"}});
    node.pod("only-requests")["spec"]["containers"][0]["resources"] = asked;
    node.pod("only-requests")["metadata"]["generation"] = json!(2);
    let old = json!({"cpu": "17m", "memory": "33Mi"});
    node.pod("only-requests")["status"]["containerStatuses"][0]["allocatedResources"] = old.clone();
    let resources = json!({"requests": old});
    node.pod("only-requests")["status"]["containerStatuses"][0]["resources"] = resources;
    let pending = json!([{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]);
    node.pod("only-requests")["status"]["conditions"] = pending;
    let answer = node.differences();
    assert_eq!(answer.count("RESIZE-PENDING"), answer.found.len() - 1, "{:?}", answer.found);
    assert_eq!(
        answer.found[0], "DRIFT /kubepods/burstable cpu.shares 495 478",
        "{:?}",
        answer.found
    );
    assert_eq!(answer.reasons[0], "the kubelet rewrites this level once a minute");
}

#[test]
fn what_a_resize_leaves_behind_is_named() {
    let mut node = Node::recorded();
    let container = node.path("podlevel-all", Some("a"));
    node.cgroups()[&container]["cpu.shares"] = "2\n".into();
    let answer = node.differences();
    assert_eq!(answer.count("DRIFT"), 1, "{:?}", answer.found);
    assert!(
        answer.reasons[0].contains("without a CPU request when it resizes"),
        "{:?}",
        answer.reasons
    );
    // A container with a request of its own is not spared.
    let other = node.path("podlevel-all", Some("b"));
    node.cgroups()[&container]["cpu.shares"] = "10\n".into();
    node.cgroups()[&other]["cpu.shares"] = "2\n".into();
    let reasons = node.differences().reasons;
    assert!(reasons.iter().all(|reason| !reason.contains("resizes")), "{reasons:?}");
}

#[test]
fn a_container_on_the_wrong_cpus_drifts() {
    let mut node = Node::recorded();
    let uid = node.uid("only-limits");
    let state = json!({"policyName": "static", "defaultCpuSet": "0", "checksum": 1,
        "entries": {uid: {"c": "1"}}});
    node.0["stateFiles"]["files"]["cpu_manager_state"] = json!({"read": state.to_string()});
    let config = &mut node.0["kubeletConfig"]["found"]["value"]["value"];
    config["cpuManagerPolicy"] = json!("static");
    let paths: Vec<String> = node.cgroups().as_object().expect("cgroups").keys().cloned().collect();
    let own = node.path("only-limits", Some("c"));
    for path in paths.iter().filter(|path| path.starts_with("/kubepods/")) {
        let cpus = if *path == own { "1\n" } else { "0\n" };
        node.cgroups()[path]["cpuset.cpus"] = cpus.into();
    }
    let of_cpus = |answer: Differences| -> Vec<String> {
        answer.found.into_iter().filter(|found| found.contains("cpuset.cpus")).collect()
    };
    assert_eq!(of_cpus(node.differences()), [] as [&str; 0]);
    let other = node.path("only-requests", Some("c"));
    node.cgroups()[&own]["cpuset.cpus"] = "0-1\n".into();
    node.cgroups()[&other]["cpuset.cpus"] = "1\n".into();
    let mut found = of_cpus(node.differences());
    found.sort();
    let mut expected =
        [format!("DRIFT {own} cpuset.cpus 1 0-1"), format!("DRIFT {other} cpuset.cpus 0 1")];
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_pod_in_the_tree_of_the_other_driver_says_so() {
    let mut node = Node::recorded();
    let uid = node.uid("besteffort").replace('-', "_");
    for path in ["", "/kubepods-besteffort.slice", "/kubepods-besteffort.slice/POD"] {
        let pod = format!("kubepods-besteffort-pod{uid}.slice");
        let path = format!("/kubepods.slice{}", path.replace("POD", &pod));
        node.cgroups()[&path] = json!({"cpu.shares": "2\n"});
    }
    // Both trees exist: a flag must name the kubelet's one.
    let config = &mut node.0["kubeletConfig"]["found"]["value"]["value"];
    config["cgroupDriver"] = json!("cgroupfs");
    let answer = node.differences();
    assert_eq!(answer.count("EXTRA"), 3, "{:?}", answer.found);
    assert!(
        answer.reasons.iter().all(|it| it.contains("the cgroupfs driver")),
        "{:?}",
        answer.reasons
    );
    assert!(answer.reasons.iter().all(|it| !it.contains("QoS class")), "{:?}", answer.reasons);
}

#[test]
fn what_is_added_up_over_some_pods_is_unknown() {
    let mut node = Node::recorded();
    node.pods().retain(|loaded| loaded["pod"]["metadata"]["name"] != "only-requests");
    let answer = node.differences();
    assert_eq!(
        answer.found[0], "UNKNOWN /kubepods/burstable cpu.shares 460 478",
        "{:?}",
        answer.found
    );
    assert_eq!(answer.count("UNKNOWN"), answer.found.len(), "{:?}", answer.found);
}

#[test]
fn a_node_whose_pods_are_not_known_has_unknown_values() {
    let mut node = Node::recorded();
    node.0["pods"] = refused("the API server https://node-a:6443", "connection refused");
    let answer = node.differences();
    assert_eq!(answer.found[0], "UNKNOWN /kubepods/burstable cpu.shares 2 478");
    assert_eq!((answer.found.len(), answer.count("UNKNOWN")), (17, 17), "{:?}", answer.found);
    assert!(
        answer
            .reasons
            .iter()
            .all(|reason| reason.starts_with("the pods of the node are not known"))
    );
    assert_eq!(answer.code, 3);
    assert!(answer.warnings.contains("--pods FILE"), "{}", answer.warnings);
    assert!(answer.warnings.contains("connection refused"), "{}", answer.warnings);
}

#[test]
fn a_node_without_its_runtime_is_compared_as_far_as_its_pods_tell() {
    let mut node = Node::recorded();
    node.0["runtime"] = refused("unix:///run/containerd/containerd.sock", "no such file");
    let answer = node.differences();
    // What only the runtime knows: which cgroups are sandboxes, and whether it raises scores.
    let sandboxes = "the container's pod is unknown";
    let of_sandboxes = answer.reasons.iter().filter(|reason| *reason == sandboxes).count();
    let scores =
        "unknown whether the runtime restricts it (--runtime-set restrict_oom_score_adj=BOOL)";
    let of_scores = answer.reasons.iter().filter(|reason| *reason == scores).count();
    assert_eq!((of_sandboxes, of_scores), (16, 3), "{:?}", answer.found);
    assert_eq!(answer.count("UNKNOWN"), 19, "{:?}", answer.found);
    assert_eq!(answer.found.len(), 19, "{:?}", answer.found);
    assert_eq!(answer.code, 3);
    assert!(answer.warnings.contains("--runtime-endpoint"), "{}", answer.warnings);
}

#[test]
fn a_node_without_its_tree_has_no_answer() {
    let mut node = Node::recorded();
    node.0["cgroups"] = refused("/sys/fs/cgroup", "permission denied");
    for command in ["show", "diff", "apply --dry-run", "which --pid 2001"] {
        let ran = node.ask(&format!("cgroup {command}"));
        assert_eq!((ran.code, &*ran.stdout), (3, ""), "{command}: {}", ran.stderr);
        let expected = "the cgroup tree could not be read: /sys/fs/cgroup: permission denied";
        assert!(ran.stderr.contains(expected), "{command}: {}", ran.stderr);
        assert!(ran.stderr.contains("--host-root"), "{command}: {}", ran.stderr);
    }
}

#[test]
fn what_kq_would_write_is_what_drifts() {
    let mut node = Node::recorded();
    let path = node.path("only-requests", Some("c"));
    node.cgroups()[&path]["cpu.shares"] = "18\n".into();
    let ran = node.ask("cgroup apply --dry-run -ojson");
    let plan: Value = ran.answer();
    let steps = plan["items"].as_array().expect("steps");
    assert_eq!(steps.len(), 1, "{steps:?}");
    assert_eq!((&steps[0]["cgroup"], &steps[0]["file"]), (&json!(path), &json!("cpu.shares")));
    // A stored node cannot be changed.
    let ran = node.ask("cgroup apply --yes");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("a snapshot cannot be changed"));
}
