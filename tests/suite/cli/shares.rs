//! `kq cgroup shares`

use super::agreement::changed;
use super::{folder_with, kq, repository};
use serde_json::{Value, json};
use snapbox::str;

/// The classic pods on a machine with three CPUs.
const CLASSIC: &str = "cgroup shares examples/classic.yaml --capacity cpu=3,memory=8Gi";

#[test]
fn the_classic_example() {
    kq(CLASSIC).shows(str![[r#"
POD                  CONTAINER   QOS          REQUEST   GETS       MEETS REQUEST   CPU TIME                    LIMITED BY
default/guaranteed   app         Guaranteed   1000m     0.983193   no, 98.3%       ███████████████████████▋|   weight 39 of 119
default/burstable    one         Burstable    1000m     0.995798   no, 99.5%       ███████████████████████▉|   weight 100 of 200
default/burstable    two         Burstable    1000m     0.995798   no, 99.5%       ███████████████████████▉|   weight 100 of 200
default/besteffort   app         BestEffort   -         0.025210   -               ▋                           weight 1 of 119
weights and quotas: planned
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
--- exit 0

"#]]);
    kq(&format!("{CLASSIC} --cgroup-version 1 --set failCgroupV1=false")).shows(str![[r#"
POD                  CONTAINER   QOS          REQUEST   GETS       MEETS REQUEST   CPU TIME                    LIMITED BY
default/guaranteed   app         Guaranteed   1000m     0.999349   no, 99.9%       ████████████████████████|   weight 1024 of 3074
default/burstable    one         Burstable    1000m     0.999349   no, 99.9%       ████████████████████████|   weight 1024 of 2048
default/burstable    two         Burstable    1000m     0.999349   no, 99.9%       ████████████████████████|   weight 1024 of 2048
default/besteffort   app         BestEffort   -         0.001952   -                                           weight 2 of 3074
weights and quotas: planned
--- stderr
assumed: kubeletVersion 1.36, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill true, systemReserved none
--- exit 0

"#]]);
    kq(&format!("{CLASSIC} -o wide")).shows(str![[r#"
POD                  CONTAINER   QOS          REQUEST   GETS       MEETS REQUEST   CPU TIME                    LIMITED BY          AT                                                                  CGROUP
default/guaranteed   app         Guaranteed   1000m     0.983193   no, 98.3%       ███████████████████████▋|   weight 39 of 119    /kubepods/pod22222222-2222-4222-8222-222222222222                   /kubepods/pod22222222-2222-4222-8222-222222222222/<app>
default/burstable    one         Burstable    1000m     0.995798   no, 99.5%       ███████████████████████▉|   weight 100 of 200   /kubepods/burstable/pod11111111-1111-4111-8111-111111111111/<one>   /kubepods/burstable/pod11111111-1111-4111-8111-111111111111/<one>
default/burstable    two         Burstable    1000m     0.995798   no, 99.5%       ███████████████████████▉|   weight 100 of 200   /kubepods/burstable/pod11111111-1111-4111-8111-111111111111/<two>   /kubepods/burstable/pod11111111-1111-4111-8111-111111111111/<two>
default/besteffort   app         BestEffort   -         0.025210   -               ▋                           weight 1 of 119     /kubepods/besteffort                                                /kubepods/besteffort/pod33333333-3333-4333-8333-333333333333/<app>
weights and quotas: planned
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
--- exit 0

"#]]);
    kq(&format!("{CLASSIC} -o name")).shows(str![[r#"
/kubepods/pod22222222-2222-4222-8222-222222222222/<app>
/kubepods/burstable/pod11111111-1111-4111-8111-111111111111/<one>
/kubepods/burstable/pod11111111-1111-4111-8111-111111111111/<two>
/kubepods/besteffort/pod33333333-3333-4333-8333-333333333333/<app>
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
--- exit 0

"#]]);
}

/// Returns `POD/CONTAINER` or the sibling, and what it gets.
fn gets(answer: &Value) -> Vec<(String, String)> {
    let items = answer["items"].as_array().expect("an answer has items");
    items
        .iter()
        .map(|item| {
            let name = match item["sibling"].as_str() {
                Some(sibling) => sibling.to_owned(),
                None => [&item["pod"], &item["container"]]
                    .map(|part| part.as_str().unwrap_or_default())
                    .join("/"),
            };
            (name, item["cpus"].as_str().unwrap_or_default().to_owned())
        })
        .collect()
}

fn expect(line: &str, expected: &[(&str, &str)]) {
    let answer = kq(line).json();
    let got = gets(&answer);
    let got: Vec<(&str, &str)> = got.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(got, expected, "kq {line}");
}

#[test]
fn shares_are_exact_fractions_of_the_cpus() {
    // Of 3074 shares Guaranteed and Burstable have 1024 and 2048 on cgroup v1.
    expect(
        &format!("{CLASSIC} --cgroup-version 1"),
        &[
            ("guaranteed/app", "1536/1537"),
            ("burstable/one", "1536/1537"),
            ("burstable/two", "1536/1537"),
            ("besteffort/app", "3/1537"),
        ],
    );
    expect(
        CLASSIC,
        &[
            ("guaranteed/app", "117/119"),
            ("burstable/one", "237/238"),
            ("burstable/two", "237/238"),
            ("besteffort/app", "3/119"),
        ],
    );
}

#[test]
fn all_cpus_are_given_away_unless_quotas_forbid() {
    for (cpus, given) in [("3", 3.0), ("2", 2.0), ("64", 64.0)] {
        let answer = kq(&format!("{CLASSIC} --cpus {cpus}")).json();
        assert_eq!(answer["cpus"], json!(given as u64));
        let items = answer["items"].as_array().expect("items");
        let sum: f64 =
            items.iter().filter_map(|item| item["decimal"].as_str()?.parse::<f64>().ok()).sum();
        // The besteffort pod has no quota and takes what the others cannot use.
        assert!((sum - given).abs() < 0.000_01, "{cpus}: {sum}");
    }
}

#[test]
fn siblings_compete_with_kubepods() {
    // kubepods has weight 118 on three CPUs, and 39 on one.
    kq(&format!("{CLASSIC} --sibling system.slice=100 --sibling user.slice=18")).shows(str![[r#"
POD                  CONTAINER   QOS          REQUEST   GETS       MEETS REQUEST   CPU TIME                   LIMITED BY
default/guaranteed   app         Guaranteed   1000m     0.491597   no, 49.1%       █████████▎         |       weight 39 of 119
default/burstable    one         Burstable    1000m     0.497899   no, 49.7%       █████████▍         |       weight 100 of 200
default/burstable    two         Burstable    1000m     0.497899   no, 49.7%       █████████▍         |       weight 100 of 200
default/besteffort   app         BestEffort   -         0.012605   -               ▎                          weight 1 of 119
(system.slice)       -           -            -         1.271186   -               ████████████████████████   weight 100 of 236
(user.slice)         -           -            -         0.228814   -               ████▍                      weight 18 of 236
weights and quotas: planned
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
--- exit 0

"#]]);
    expect(
        "cgroup shares examples/web.yaml --capacity cpu=1 --sibling system.slice=40",
        &[("web/web", "39/79"), ("system.slice", "40/79")],
    );
}

#[test]
fn the_cpus_are_needed() {
    kq("cgroup shares examples/classic.yaml").shows(str![[r#"
--- stderr
kq: the number of the node's CPUs is unknown
hint: set it with --cpus N, --capacity cpu=N or --node-file FILE
--- exit 3

"#]]);
    kq("cgroup shares examples/classic.yaml --cpus 3 --sibling system.slice=100").shows(str![[
        r#"
--- stderr
kq: the weight of kubepods is unknown: --sibling needs it
hint: it follows from --capacity cpu=N or --node-file FILE
--- exit 3

"#
    ]]);
    let ran = kq("cgroup shares examples/classic.yaml --cpus 3").run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn nobody_is_there() {
    kq("cgroup shares --capacity cpu=3").shows(str![[r#"
POD   CONTAINER   QOS   REQUEST   GETS   MEETS REQUEST   CPU TIME   LIMITED BY
weights and quotas: planned
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
warning: no FILE is given: planned without pods (- reads standard input)
--- exit 0

"#]]);
    kq("cgroup shares --capacity cpu=3 -o name").shows(str![[r#"
--- stderr
assumed: kubeletVersion 1.36, cgroupVersion 2, capacity.hugepages none, cgroupDriver cgroupfs, swapController true, pageSize 4096, runtimeWeightFormula quadratic
default: cgroupRoot /, cgroupsPerQOS true, cpuCFSQuota true, cpuCFSQuotaPeriod 100ms, cpuManagerPolicy none, enforceNodeAllocatable pods, featureGates none, kubeReserved none, memoryReservationPolicy None, memorySwap NoSwap, memoryThrottlingFactor 0.9, podPidsLimit -1, qosReserved none, reservedSystemCPUs none, singleProcessOOMKill false, systemReserved none
warning: no FILE is given: planned without pods (- reads standard input)
--- exit 0

"#]]);
}

#[test]
fn what_does_not_run_gets_nothing() {
    let pods = "\
apiVersion: v1
kind: Pod
metadata: {name: steps, uid: u1}
spec:
  initContainers:
  - {name: first, image: i, resources: {requests: {cpu: '1'}}}
  - {name: side, image: i, restartPolicy: Always, resources: {requests: {cpu: 100m}}}
  containers:
  - {name: main, image: i, resources: {requests: {cpu: 100m}}}
---
apiVersion: v1
kind: Pod
metadata: {name: done, uid: u2}
spec:
  containers:
  - {name: main, image: i}
status: {phase: Succeeded}
";
    let folder = folder_with(&[("pods.yaml", pods)]);
    let answer = kq("cgroup shares pods.yaml --capacity cpu=2").within(&folder).json();
    let names: Vec<String> = gets(&answer).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["steps/side", "steps/main"]);
}

#[test]
fn yaml_is_the_same_value() {
    let json = kq(CLASSIC).json();
    let yaml = kq(&format!("{CLASSIC} -o yaml")).run().stdout;
    let read = kq_k8s::yaml::read(&yaml).expect("kq reads its own YAML");
    assert_eq!(read.value, json);
}

#[test]
fn bad_numbers_are_refused() {
    for arguments in [
        "--cpus 0",
        "--cpus -1",
        "--cpus 1.5",
        "--cpus 18446744073709551616",
        "--sibling system.slice",
        "--sibling =5",
        "--sibling a=0",
        "--sibling a=262145",
        "--sibling a=x",
        "--capacity cpu=0",
    ] {
        let ran = kq(&format!("cgroup shares examples/classic.yaml {arguments}")).run();
        assert!(matches!(ran.code, 2 | 3) && ran.stdout.is_empty(), "{arguments}: {}", ran.text());
    }
}

/// Asks about the recorded node after a change of its kernel's cgroups.
fn ask_changed(change: impl FnOnce(&mut Value), flags: &str) -> (i32, Value) {
    let text = std::fs::read_to_string(repository().join("examples/node/snapshot.json"));
    let mut node: Value = serde_json::from_str(&text.expect("the example")).expect("JSON");
    change(&mut node["cgroups"]["found"]["value"]);
    let folder = folder_with(&[("node.json", node.to_string())]);
    let line = format!("cgroup shares --snapshot node.json {flags} -ojson");
    let ran = kq(&line).within(folder.path()).run();
    (ran.code, ran.answer())
}

fn item<'a>(answer: &'a Value, pod: &str) -> &'a Value {
    let items = answer["items"].as_array().expect("items");
    items.iter().find(|item| item["pod"] == pod).expect("the pod has an item")
}

const ONLY_REQUESTS: &str = "/kubepods/burstable/podba246074-9277-4123-b957-0360c83af05c";
const BEST_EFFORT: &str = "/kubepods/besteffort/pod425a9ef6-2d04-439f-80f8-fad57c3a88f0/\
                           a905693b405bec261531bac6bc4d49a7425893160dcf112fbd59a9c1d79c1311";

#[test]
fn the_kernels_values_of_a_node_are_divided_unless_the_planned_are_asked_for() {
    let (code, kernel) = ask_changed(|_| {}, "");
    let (_, planned) = ask_changed(|_| {}, "--planned");
    assert_eq!(code, 0);
    assert_eq!(
        kernel["items"], planned["items"],
        "the kernel of the recording has what is planned"
    );
    assert_eq!(
        kernel["facts"]["weightsAndQuotas"],
        json!({"value": "kernel", "origin": "/sys/fs/cgroup"})
    );
    assert_eq!(planned["facts"]["weightsAndQuotas"], json!({"value": "planned", "origin": "plan"}));
    let change = |tree: &mut Value| {
        tree["cgroups"][ONLY_REQUESTS]["cpu.shares"] = json!("37\n");
        let quota = &mut tree["cgroups"]["/kubepods/burstable"]["cpu.cfs_quota_us"];
        *quota = json!("50000\n");
    };
    let (code, changed) = ask_changed(change, "");
    assert_eq!(code, 0);
    let own = item(&changed, "only-requests");
    assert_eq!(own["limitedBy"], "quota 50000 100000, weight 37 of 106");
    assert_eq!(own["at"], "/kubepods/burstable");
    assert_ne!(own["cpus"], item(&kernel, "only-requests")["cpus"]);
    let (code, still) = ask_changed(change, "--planned");
    assert_eq!((code, &still["items"]), (0, &planned["items"]));
}

#[test]
fn a_value_that_the_kernel_withholds_is_not_taken_from_the_plan() {
    // The change, the pods of which nothing is known, what is missing.
    let (code, answer) = ask_changed(
        |tree| {
            tree["cgroups"][BEST_EFFORT].as_object_mut().expect("it is there").remove("cpu.shares");
            tree["problems"] = json!([{
                "source": format!("/sys/fs/cgroup/cpu{BEST_EFFORT}/cpu.shares"),
                "reason": "Permission denied",
            }]);
        },
        "",
    );
    assert_eq!(code, 3);
    let of_it = item(&answer, "besteffort");
    assert_eq!([&of_it["cpus"], &of_it["decimal"], &of_it["at"]], [&Value::Null; 3]);
    let missing = format!("cpu.shares of {BEST_EFFORT}: Permission denied");
    assert_eq!(of_it["limitedBy"], format!("unknown: {missing}"));
    let about = format!("{BEST_EFFORT}/cpu.shares");
    let missing = json!({"text": missing, "flags": [], "fact": "cgroupTree", "about": about});
    assert_eq!(answer["missing"], json!([missing]));
    let (_, planned) = ask_changed(|_| {}, "--planned");
    assert_eq!(item(&answer, "only-requests"), item(&planned, "only-requests"), "not beside it");

    // A quota that is unknown can leave something to everybody.
    let (code, answer) = ask_changed(
        |tree| tree["cgroups"][ONLY_REQUESTS]["cpu.cfs_quota_us"] = json!("much\n"),
        "",
    );
    assert_eq!((code, &item(&answer, "besteffort")["cpus"]), (3, &Value::Null));
}

#[test]
fn what_the_kernel_has_beside_the_plan_is_named() {
    let (code, answer) = ask_changed(
        |tree| {
            let cgroups = tree["cgroups"].as_object_mut().expect("cgroups");
            let pod = cgroups[ONLY_REQUESTS].clone();
            cgroups.insert("/kubepods/burstable/podother".to_owned(), pod);
            cgroups.remove(BEST_EFFORT);
        },
        "",
    );
    assert_eq!(code, 3);
    let missing = answer["missing"].to_string();
    for part in [
        "it runs without a cgroup, and its CPU time is not counted: default/besteffort d",
        "no known pod, and CPU time that is not counted: /kubepods/burstable/podother",
    ] {
        assert!(missing.contains(part), "{missing}");
    }
}

#[test]
fn a_kernel_without_cgroups_of_pods_has_nothing_to_divide() {
    let text = std::fs::read_to_string(repository().join("examples/node/snapshot.json"));
    let mut node: Value = serde_json::from_str(&text.expect("the example")).expect("JSON");
    let cgroups = node["cgroups"]["found"]["value"]["cgroups"].as_object_mut().expect("cgroups");
    cgroups.retain(|path, _| !path.starts_with("/kubepods"));
    let bare = node.to_string();
    node["cgroups"] = super::lookups::refused("/sys/fs/cgroup", "none");
    let folder = folder_with(&[("bare.json", bare), ("unread.json", node.to_string())]);
    for (file, expected) in [
        ("bare.json", "there is no cgroup /kubepods"),
        ("unread.json", "the cgroup tree could not be read: /sys/fs/cgroup: none"),
    ] {
        let ran = kq(&format!("cgroup shares --snapshot {file}")).within(folder.path()).run();
        assert_eq!(ran.code, 3, "{}", ran.text());
        assert!(
            ran.stderr.contains(expected) && ran.stderr.contains("--planned"),
            "{}",
            ran.stderr
        );
        let ran =
            kq(&format!("cgroup shares --snapshot {file} --planned")).within(folder.path()).run();
        assert_eq!(ran.code, 0, "{}", ran.text());
    }
}

/// More exclusive CPUs than the machine has: nobody knows who gets them.
#[test]
fn exclusive_cpus_that_are_not_there_are_given_to_nobody() {
    let pod = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, uid: {name}}}\nspec: {{containers: [{{name: c, image: i, resources: {{limits: {{cpu: 3, memory: 1Gi}}, requests: {{cpu: 3, memory: 1Gi}}}}}}]}}\n"
        )
    };
    let folder = folder_with(&[("p.yaml", format!("{}---\n{}", pod("a"), pod("b")))]);
    let line = "cgroup shares p.yaml --capacity cpu=4,memory=8Gi --set cpuManagerPolicy=static --system-reserved cpu=1";
    let ran = kq(line).within(folder.path()).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(
        ran.stdout.contains("unknown: 6 exclusive CPUs are requested, and the node has 4"),
        "{}",
        ran.text()
    );
    assert!(!ran.stdout.contains("yes"), "{}", ran.text());
}

/// The UID of a pod of the example node.
const REPORT: &str = "62510ad2-d99b-42f5-8b14-156fabecb8f7";

fn report(node: &mut Value) -> &mut Value {
    let pods = node["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
    let own = pods.iter_mut().find(|it| it["pod"]["metadata"]["name"] == "report-week");
    &mut own.expect("the pod")["pod"]
}

fn cgroups(node: &mut Value) -> &mut serde_json::Map<String, Value> {
    node["cgroups"]["found"]["value"]["cgroups"].as_object_mut().expect("cgroups")
}

#[test]
fn a_pod_has_a_cgroup_as_long_as_the_kubelet_counts_it() {
    // It is in a final phase, and a container runs.
    let stopping = changed(|node| report(node)["status"]["phase"] = json!("Failed"));
    // It was deleted, and nothing of it is left in the runtime and in the kernel.
    let gone = changed(|node| {
        report(node)["metadata"]["deletionTimestamp"] = json!("2026-11-22T03:06:30Z");
        cgroups(node).retain(|path, _| !path.contains(REPORT));
        cgroups(node)["/kubepods/burstable"]["cpu.weight"] = json!("75\n");
        let runtime = &mut node["runtime"]["found"]["value"];
        for (list, uid) in [("sandboxes", "uid"), ("containers", "podUid")] {
            let list = runtime[list]["found"]["value"].as_array_mut().expect("a list");
            list.retain(|it| it[uid] != REPORT);
        }
    });
    for (name, folder, counts) in [("stopping", stopping, true), ("gone", gone, false)] {
        let run = |line: &str| kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
        let diff: Value = serde_json::from_str(&run("cgroup diff -o json").stdout).expect("JSON");
        let items = diff["items"].as_array().expect("items");
        let differs = items.iter().filter(|it| it["verdict"] != "MATCH");
        let others: Vec<&Value> = differs.filter(|it| it["pod"] != "checkout-6d5f7").collect();
        assert!(others.is_empty(), "{name}: {others:?}");
        for line in ["cgroup plan -o name", "cgroup shares -o name"] {
            let names = run(line);
            assert_eq!(names.stdout.contains(REPORT), counts, "{name}: {line}");
            assert!(!names.stderr.contains("no known pod"), "{name}: {}", names.text());
        }
    }
}

#[test]
fn what_competes_and_is_not_counted_is_missing() {
    const CONTAINER: &str = "63b37402b1d0791584764e802b6eaba127b2a03c57c7e0dada395e1a4808d739";
    const OTHER: &str = "/kubepods/burstable/podaaaaaaaa-5c35-41ae-83ae-ae6cef7fce0d";
    let absent = changed(|node| cgroups(node).retain(|path, _| !path.contains(CONTAINER)));
    let stranger = |events: Option<&str>| {
        changed(|node| {
            let mut texts = json!({"cpu.max": "max 100000\n", "cpu.weight": "20\n"});
            if let Some(events) = events {
                texts["cgroup.events"] = json!(events);
            }
            cgroups(node).insert(OTHER.to_owned(), texts);
        })
    };
    let uncounted = format!("no known pod, and CPU time that is not counted: {OTHER}");
    for (name, folder, missing) in [
        (
            "a container",
            absent,
            Some(
                "it runs without a cgroup, and its CPU time is not counted: shop/checkout-6d5f7 checkout",
            ),
        ),
        ("a cgroup", stranger(None), Some(&*uncounted)),
        ("one with processes", stranger(Some("populated 1\n")), Some(&*uncounted)),
        ("one without", stranger(Some("populated 0\n")), None),
    ] {
        let ran = kq("cgroup shares --snapshot s.json -o json").within(folder.path()).run();
        let answer: Value = ran.answer();
        let texts = answer["missing"].as_array().expect("a list").iter();
        let texts: Vec<&str> = texts.filter_map(|it| it["text"].as_str()).collect();
        assert_eq!(texts, missing.into_iter().collect::<Vec<_>>(), "{name}");
        assert_eq!(ran.code, if missing.is_some() { 3 } else { 0 }, "{name}");
    }
}

#[test]
fn a_planned_value_of_a_node_that_is_not_known_is_missing() {
    let nothing = || json!({"found": null, "tried": [{"source": "X", "reason": "was not read"}]});
    let no_config = changed(|node| node["kubeletConfig"] = nothing());
    let missing = |folder: &tempfile::TempDir, line: &str| {
        let ran = kq(&format!("{line} --snapshot s.json -o json")).within(folder.path()).run();
        assert_eq!(ran.code, 3, "{line}");
        let answer: Value = ran.answer();
        answer["missing"].to_string()
    };
    let without = |file: &'static str| {
        changed(move |node| {
            node["host"]["texts"].as_object_mut().expect("texts").remove(file);
        })
    };
    let no_pid_max = without("/proc/sys/kernel/pid_max");
    assert!(missing(&no_pid_max, "cgroup plan").contains("pid_max"));
    let no_version = without("/proc/1/mountinfo");
    for line in ["cgroup plan", "cgroup shares --planned"] {
        assert!(missing(&no_version, line).contains("the node's cgroup version"), "{line}");
    }
    assert!(missing(&no_config, "cgroup plan").contains("podPidsLimit"));
    let shares = missing(&no_config, "cgroup shares --planned");
    assert!(shares.contains("cpuCFSQuota") && !shares.contains("podPidsLimit"), "{shares}");
}
