//! What is said beside an answer that rests on something odd: one row for each kind of warning.

use super::{folder_with, kq};

const PLAIN: &str = "spec: {containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}]}";

#[test]
fn what_is_odd_is_said() {
    let node = r#"{"kind": "Node", "metadata": {"name": "n1"}, "status": {
        "capacity": {"cpu": "4", "memory": "8Gi"},
        "allocatable": {"cpu": "3500m", "memory": "6Gi"}}}"#;
    for (name, spec, flags, warned) in [
        ("nothing odd", PLAIN, "--capacity cpu=4,memory=8Gi", None),
        (
            "a node that reserves more than was given",
            PLAIN,
            "--node-file node.json",
            Some("reports 6Gi of memory as allocatable"),
        ),
        (
            "more requested than there is",
            "spec: {containers: [{name: c, resources: {requests: {cpu: 5}}}]}",
            "--capacity cpu=4,memory=8Gi",
            Some("the pods request 5 of cpu and the node has 4"),
        ),
        (
            "an amount that the kubelet loses",
            "spec: {containers: [{name: c, resources: {limits: {cpu: 1, memory: 10E}}}]}",
            "",
            Some("limits.memory 10E does not fit 64 bits"),
        ),
        (
            "a status that disagrees with the spec",
            "spec: {containers: [{name: c}]}\nstatus: {qosClass: Burstable}",
            "",
            Some("status.qosClass Burstable counts, though the spec is BestEffort"),
        ),
        (
            "pod-level resources without the gate",
            "spec: {resources: {requests: {cpu: 1}}, containers: [{name: c}]}",
            "--kubelet-version 1.33",
            Some("spec.resources has no effect"),
        ),
        (
            "huge pages of a node that was not described",
            "spec: {containers: [{name: c, resources: {limits: {cpu: 1, hugepages-2Mi: 2Mi}}}]}",
            "",
            Some("which the node has is not known"),
        ),
        (
            "huge pages that the node lacks",
            "spec: {containers: [{name: c, resources: {limits: {cpu: 1, hugepages-2Mi: 2Mi}}}]}",
            "--capacity hugepages-1Gi=0",
            Some("the node has no huge pages of 2MB"),
        ),
        (
            "a resize",
            "spec: {containers: [{name: c, resources: {limits: {cpu: 2, memory: 4Gi}}}]}\n\
             status: {containerStatuses: [{name: c, resources: {limits: {cpu: 2, memory: 2Gi}}}]}",
            "",
            Some("resize pending"),
        ),
        (
            "a reservation that leaves nothing",
            "spec: {containers: [{name: c, resources: {limits: {cpu: 1, memory: 8Gi}}}]}",
            "--capacity memory=8Gi --qos-reserved memory=100% --feature-gates QOSReserved=true",
            Some("qosReserved leaves 0 bytes for burstable"),
        ),
        (
            "a gate that is off",
            PLAIN,
            "--qos-reserved memory=5%",
            Some("QOSReserved, which is off"),
        ),
        (
            "a gate that is not planned",
            PLAIN,
            "--feature-gates PodLevelResourceManagers=true",
            Some("PodLevelResourceManagers is not planned"),
        ),
        (
            "a static CPU manager without CPUs of its own",
            PLAIN,
            "--set cpuManagerPolicy=static",
            Some("the static CPU manager policy needs CPUs"),
        ),
        (
            "memory QoS on the old interface",
            PLAIN,
            "--cgroup-version 1 --feature-gates MemoryQoS=true",
            Some("memory QoS has no effect on cgroup v1"),
        ),
        (
            "limited swap on the old interface",
            PLAIN,
            "--cgroup-version 1 --set memorySwap.swapBehavior=LimitedSwap",
            Some(
                "this kubelet does not start: memorySwap.swapBehavior LimitedSwap needs cgroup v2",
            ),
        ),
        (
            "the name of another node",
            PLAIN,
            "--node-file node.json --on-node n2",
            Some("--on-node n2, but --node-file describes n1"),
        ),
        ("an unknown CPU manager", PLAIN, "--set cpuManagerPolicy=statc", Some("\"statc\"")),
        ("swap", PLAIN, "--swap-capacity 1Gi", Some("failSwapOn is true")),
        ("an old interface", PLAIN, "--cgroup-version 1", Some("does not start on cgroup v1")),
        ("an old kubelet", PLAIN, "--kubelet-version 1.28", Some("1.32 to 1.37")),
        (
            "a reserved cgroup whose parents systemd does not see",
            PLAIN,
            "--cgroup-driver systemd --system-reserved cpu=1 --set systemReservedCgroup=/a.slice/b.slice \
             --set 'enforceNodeAllocatable=[pods, system-reserved]'",
            Some("is /b.slice to the systemd driver"),
        ),
        (
            "reserved CPUs",
            PLAIN,
            "--set reservedSystemCPUs=0 --capacity cpu=4",
            Some("reservedSystemCPUs sets the cpu of systemReserved"),
        ),
        (
            "a misspelt field",
            "spec: {containers: [{name: c, resource: {}}]}",
            "",
            Some("did you mean resources?"),
        ),
    ] {
        let pod = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: p, uid: u}}\n{spec}\n");
        let folder = folder_with(&[("pod.yaml", pod.as_str()), ("node.json", node)]);
        let ran = kq(&format!("cgroup plan pod.yaml {flags}")).within(&folder).run();
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        let warnings: Vec<&str> =
            ran.stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
        match warned {
            None => assert!(warnings.is_empty(), "{name}: {warnings:?}"),
            Some(text) => {
                assert!(warnings.iter().any(|line| line.contains(text)), "{name}: {}", ran.stderr);
            }
        }
    }
}

#[test]
fn a_warning_has_a_code_and_a_subject() {
    let pod = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: p, uid: u}}\n{PLAIN}\n");
    for (flags, code, about) in [
        ("pod.yaml --set cpuManagerPolicy=static", "kubeletDoesNotStart", Some("cpuManagerPolicy")),
        ("pod.yaml --qos-reserved memory=5%", "noEffect", Some("qosReserved")),
        ("pod.yaml --kubelet-version 1.28", "unknownRules", Some("1.28")),
        ("pod.yaml --capacity memory=512Mi", "overcommitted", Some("memory")),
        ("windows.yaml", "refusedOs", Some("default/p")),
        ("pod.yaml pod.yaml", "duplicatePod", Some("default/p")),
        ("--capacity cpu=4", "noPods", None),
    ] {
        let windows = pod.replace("spec: {", "spec: {os: {name: windows}, ");
        let folder = folder_with(&[("pod.yaml", pod.clone()), ("windows.yaml", windows)]);
        let plan = kq(&format!("cgroup plan {flags}")).within(&folder).json();
        let warnings = plan["warnings"].as_array().expect("a list");
        let found = warnings.iter().any(|it| it["code"] == code && it["about"].as_str() == about);
        assert!(found, "{flags}: {warnings:?}");
    }
}

#[test]
fn exclusive_cpus_are_shared_with_nobody() {
    let pod = |name: &str, resources: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, uid: {name}}}\n\
             spec: {{containers: [{{name: c, resources: {resources}}}]}}\n---\n"
        )
    };
    let pods = pod("pinned", "{limits: {cpu: 2, memory: 1Gi}}") + &pod("other", "{}");
    let folder = folder_with(&[("pods.yaml", pods)]);
    let flags = "--capacity cpu=4,memory=8Gi --system-reserved cpu=1 --set cpuManagerPolicy=static";
    let answer = kq(&format!("cgroup shares pods.yaml {flags}")).within(&folder).json();
    let cpus = |at: usize| answer["items"][at]["cpus"].clone();
    assert_eq!((cpus(0), cpus(1)), ("2/1".into(), "2/1".into()), "{answer}");
}

#[test]
fn a_pod_for_another_operating_system_is_refused_on_linux() {
    const OF: &str = "containers: [{name: c, image: i, livenessProbe: {tcpSocket: {port: 80}},
        resources: {limits: {example.com/gpu: 1}}}]";
    let metadata = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: d";
    let by_field = format!("{metadata}}}\nspec: {{os: {{name: windows}}, {OF}}}");
    let by_label = format!("{metadata}, labels: {{kubernetes.io/os: windows}}}}\nspec: {{{OF}}}");
    let linux = format!("{metadata}}}\nspec: {{os: {{name: linux}}, {OF}}}");
    let files = [
        ("field.yaml", by_field),
        ("label.yaml", by_label),
        ("linux.yaml", linux),
        ("devices.yaml", "[{resource: example.com/gpu, id: a}]".to_owned()),
    ];
    let folder = folder_with(&files);
    for (file, warned) in [
        (
            "field.yaml",
            Some(
                "spec.os.name is \"windows\": a kubelet on linux refuses the pod (PodOSNotSupported)",
            ),
        ),
        (
            "label.yaml",
            Some(
                "the label kubernetes.io/os is \"windows\": a kubelet on linux refuses the pod (PodOSSelector",
            ),
        ),
        ("linux.yaml", None),
    ] {
        for line in ["cgroup plan", "probe plan", "devices plan --devices devices.yaml"] {
            let ran = kq(&format!("{line} {file}")).within(folder.path()).run();
            let has = ran.stderr.contains("a kubelet on linux refuses the pod");
            assert_eq!(has, warned.is_some(), "{line} {file}: {}", ran.text());
            assert!(
                ran.stderr.contains(warned.unwrap_or_default()),
                "{line} {file}: {}",
                ran.stderr
            );
        }
    }
}

#[test]
fn a_resize_that_waits_refuses_nobody() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: u, generation: 2}\n\
               spec: {containers: [{name: c, resources: {requests: {cpu: 5}}}]}\n\
               status:\n  conditions: [{type: PodResizePending, status: 'True', reason: Deferred}]\n";
    let granted = "  containerStatuses: [{name: c, allocatedResources: {cpu: 1}}]\n";
    let asked = "  containerStatuses: [{name: c, allocatedResources: {cpu: 5}}]\n";
    for (name, statuses, warned) in [
        ("deferred", granted, false),
        ("granted before it is withdrawn", asked, true),
        ("of which nobody says what was granted", "", false),
    ] {
        let folder = folder_with(&[("pod.yaml", format!("{pod}{statuses}"))]);
        let ran = kq("cgroup plan pod.yaml --capacity cpu=4,memory=8Gi").within(&folder).run();
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        assert_eq!(ran.stderr.contains("would refuse some"), warned, "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("resize pending"), "{name}: {}", ran.stderr);
    }
}

#[test]
fn what_the_kubelet_reads_back_is_no_resize() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, uid: u, generation: 1}\n\
               spec: {containers: [{name: c, resources: {requests: {cpu: 30m}}}]}\n\
               status: {containerStatuses: [{name: c, allocatedResources: {cpu: 30m}, \
               resources: {requests: {cpu: 40m}}}]}\n";
    let folder = folder_with(&[("pod.yaml", pod)]);
    let ran = kq("cgroup plan pod.yaml --capacity cpu=4,memory=8Gi").within(&folder).run();
    assert!(!ran.stderr.contains("resized"), "{}", ran.stderr);
}

#[test]
fn no_process_at_all_is_one_to_systemd() {
    let folder = folder_with(&[(
        "pod.yaml",
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: p, uid: u}}\n{PLAIN}\n"),
    )]);
    let line = "cgroup plan pod.yaml --cgroup-driver systemd --capacity cpu=4,memory=8Gi,pid=1000 \
                --system-reserved cpu=1,pid=0 --set systemReservedCgroup=/system.slice \
                --set 'enforceNodeAllocatable=[pods, system-reserved]'";
    let plan = kq(line).within(&folder).json();
    let unit =
        plan["units"].as_array().expect("units").iter().find(|it| it["unit"] == "system.slice");
    let unit = unit.expect("the slice is there");
    assert_eq!(unit["properties"]["TasksMax"], 1, "{unit}");
    let items = plan["items"].as_array().expect("values").iter();
    let limit = items.filter(|it| it["cgroup"] == "/system.slice" && it["file"] == "pids.max");
    assert_eq!(limit.map(|it| it["value"].clone()).collect::<Vec<_>>(), ["1"]);
}

#[test]
fn a_name_that_is_a_slash_ends_the_kubelet() {
    let folder = folder_with(&[(
        "pod.yaml",
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: p, uid: u}}\n{PLAIN}\n"),
    )]);
    for field in ["systemReserved", "kubeReserved"] {
        let kind = if field == "systemReserved" { "system" } else { "kube" };
        let line = format!(
            "cgroup plan pod.yaml --cgroup-driver systemd --capacity cpu=4,memory=8Gi --{kind}-reserved cpu=1 \
             --set {field}Cgroup=/ --set 'enforceNodeAllocatable=[pods, {kind}-reserved]'"
        );
        let ran = kq(&line).within(&folder).run();
        assert_eq!((ran.code, &*ran.stdout), (2, ""), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("panic: ") && ran.stderr.contains("invalid slice name: /.slice"),
            "{}",
            ran.stderr
        );
    }
}
