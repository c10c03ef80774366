//! `kq devices plan`: what a pod would get, what it is refused for, and what is taken for granted.

use super::lookups::refused;
use super::{Ran, folder_with, kq};
use crate::devices::stored::{configured, text};
use serde_json::{Value, json};
use snapbox::str;
use std::path::Path;

const DEVICES: &str = "
- {resource: example.com/gpu, id: gpu-0, numaNodes: [0]}
- {resource: example.com/gpu, id: gpu-1, numaNodes: [0]}
- {resource: example.com/gpu, id: gpu-2, numaNodes: [1]}
- {resource: example.com/gpu, id: gpu-3, numaNodes: [1]}
- {resource: example.com/gpu, id: gpu-4, health: broken, numaNodes: [1]}
";

/// A pod whose init container leaves its devices to the next container.
fn pod(init: usize, app: usize, resource: &str) -> String {
    format!(
        "
apiVersion: v1
kind: Pod
metadata: {{name: train, namespace: shop}}
spec:
  initContainers:
  - name: warm
    image: i
    resources: {{limits: {{{resource}: {init}}}}}
  containers:
  - name: app
    image: i
    resources: {{limits: {{{resource}: {app}}}}}
"
    )
}

fn files() -> tempfile::TempDir {
    let gpu = "example.com/gpu";
    folder_with(&[
        ("devices.yaml", DEVICES.to_owned()),
        ("two.yaml", pod(2, 2, gpu)),
        ("more.yaml", pod(2, 3, gpu)),
        ("many.yaml", pod(5, 1, gpu)),
        ("both.yaml", format!("{}---{}", pod(1, 3, gpu), pod(1, 2, gpu).replace("train", "next"))),
        ("widget.yaml", pod(1, 1, "example.com/widget")),
        ("other.yaml", pod(1, 1, "example.com/other")),
        ("wigdet.yaml", pod(1, 1, "example.com/wigdet")),
        ("damaged", "{\"Data\":".to_owned()),
        ("pod-resources.json", text("init-reuse", "pod-resources.json")),
        ("pods.json", text("init-reuse", "pods.json")),
        ("old", text("one", "kubelet_internal_checkpoint")),
        ("node.json", configured("restarted")),
        ("broken.yaml", "- {resource: a/b}".to_owned()),
        ("twice.yaml", "[{resource: a/b, id: x, health: Sick}, {resource: a/b, id: x}]".to_owned()),
        ("same.yaml", format!("{0}---{0}", pod(1, 1, gpu))),
        ("both.json", both()),
        (
            "taken.yaml",
            pod(1, 1, "example.com/widget")
                .replace("train, namespace: shop", "one, namespace: default"),
        ),
        ("typo.yaml", "- {resource: a/b, id: x, heath: Healthy}".to_owned()),
        ("object.yaml", "{a: b}".to_owned()),
        ("escape.yaml", "- {resource: example.com/gpu, id: \"\\e[31mred\"}".to_owned()),
        ("one.yaml", pod(1, 1, gpu)),
        ("negative.yaml", pod(1, 1, gpu).replace("/gpu: 1", "/gpu: -1")),
        ("next.yaml", format!("{}---{}", pod(1, 1, gpu), pod(1, 1, gpu).replace("train", "next"))),
        (
            "spread.yaml",
            format!("{}---{}", pod(0, 3, gpu), pod(0, 1, gpu).replace("train", "next")),
        ),
        (
            "four.yaml",
            DEVICES.lines().filter(|line| !line.contains("broken")).collect::<Vec<_>>().join("\n"),
        ),
        ("far.yaml", "- {resource: example.com/gpu, id: g, numaNodes: [64]}".to_owned()),
        ("sound", text("init-reuse", "kubelet_internal_checkpoint")),
        ("corrupt", text("init-reuse", "kubelet_internal_checkpoint").replace("w3", "w9")),
        ("without-w0.json", without_w0()),
        ("listed.yaml", "- {resource: example.com/widget, id: w1, numaNodes: [0]}".to_owned()),
    ])
}

/// Returns the pods of a node of which two have the same name.
fn both() -> String {
    let mut pods: Value = serde_json::from_str(&text("init-reuse", "pods.json")).expect("JSON");
    let items = pods["items"].as_array_mut().expect("a list");
    let mut other =
        items.iter().find(|pod| pod["metadata"]["name"] == "one").expect("it is there").clone();
    other["metadata"]["uid"] = json!("11111111-0000-0000-0000-000000000000");
    items.push(other);
    pods.to_string()
}

/// What the kubelet tells when w0, which a pod has, is not healthy or gone.
fn without_w0() -> String {
    let mut told: Value =
        serde_json::from_str(&text("init-reuse", "pod-resources.json")).expect("JSON");
    let listed = told["GetAllocatableResources"]["devices"].as_array_mut().expect("a list");
    listed.retain(|group| group["deviceIds"] != json!(["w0"]));
    told.to_string()
}

fn ask(folder: &Path, line: &str) -> Ran {
    kq(&format!("devices plan {line}")).within(folder).run()
}

#[test]
fn containers_get_devices_in_their_order() {
    let folder = files();
    kq("devices plan more.yaml --devices devices.yaml -o wide").within(folder.path()).shows(str![[r#"
CONTAINER     RESOURCE          NEED   DEVICES                             NUMA   REASON
warm (init)   example.com/gpu   2      2 of (gpu-0, gpu-1, gpu-2, gpu-3)   0,1?   4 free; the plugin's preference is unknown
app           example.com/gpu   3      3 of (gpu-0, gpu-1, gpu-2, gpu-3)   0,1?   2 left by init containers; 2 free; an earlier choice decides which of them are left

before
RESOURCE          HEALTHY   UNHEALTHY   IN USE   FREE
example.com/gpu   4         1           0        4

topology manager: policy none, scope container, NUMA nodes 0,1
shop/train warm: leaves 2 of example.com/gpu to the next container
--- stderr
assumed: no device is in use (--checkpoint)
assumed: what the plugins of example.com/gpu prefer is not known, so it may be any device of the set (--ask-plugin)
--- exit 0

"#]]);
}

#[test]
fn what_is_refused_is_told_in_the_words_of_the_kubelet() {
    let folder = files();
    let unavailable = "requested number of devices unavailable for example.com/gpu. Requested: ";
    for (line, code, expected) in [
        ("many.yaml", 1, format!("{unavailable}5, Available: 4")),
        (
            "more.yaml --unhealthy gpu-0 --unhealthy gpu-1",
            1,
            format!("{unavailable}1, Available: 0"),
        ),
        ("two.yaml --unhealthy example.com/gpu=gpu-0", 0, "2 of (gpu-1, gpu-2, gpu-3)".to_owned()),
        (
            "more.yaml --topology-manager-policy restricted",
            1,
            "Resources cannot be allocated with Topology locality".to_owned(),
        ),
        ("two.yaml --topology-manager-policy restricted", 0, "2 aligned, 2 not".to_owned()),
        (
            "two.yaml --topology-manager-policy single-numa-node --topology-manager-scope pod",
            0,
            "2 aligned, 2 not".to_owned(),
        ),
        (
            "other.yaml",
            1,
            "no plugin offers it: the scheduler does not place the pod here".to_owned(),
        ),
    ] {
        let ran = ask(folder.path(), &format!("{line} --devices devices.yaml"));
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        assert!(ran.stdout.contains(&expected), "{line}: {}", ran.text());
    }
}

#[test]
fn a_plan_is_a_value() {
    let folder = files();
    let ran = ask(folder.path(), "many.yaml --devices devices.yaml -o json");
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    let plan: Value = ran.answer();
    assert_eq!(plan["apiVersion"], "kq/v2");
    assert_eq!(plan["kind"], "DevicePlan");
    let pod = &plan["pods"][0];
    assert_eq!(pod["admitted"], false);
    assert_eq!(pod["reason"], "UnexpectedAdmissionError");
    assert_eq!(
        pod["message"],
        "Allocate failed due to requested number of devices unavailable for example.com/gpu. \
         Requested: 5, Available: 4, which is unexpected"
    );
    assert_eq!(pod["uid"], "kq-1");
    assert_eq!(pod["containers"][0]["resources"][0]["outcome"], "refused");
    assert_eq!(plan["resources"]["example.com/gpu"]["unhealthy"], 1);
}

#[test]
fn pods_of_a_file_follow_each_other() {
    let folder = files();
    let ran = ask(folder.path(), "both.yaml --devices devices.yaml -o json");
    let plan: Value = ran.answer();
    let admitted: Vec<&Value> =
        plan["pods"].as_array().expect("pods").iter().map(|pod| &pod["admitted"]).collect();
    assert_eq!(admitted, [&json!(true), &json!(false)], "the second finds one device");
    assert_eq!(ran.code, 1);
}

#[test]
fn a_node_gives_what_is_free() {
    let folder = files();
    let ran = ask(folder.path(), "widget.yaml --snapshot node.json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains("1 of (w0, w1)"), "w2 and w3 are in use: {}", ran.stdout);

    let ran = ask(folder.path(), "default/one --snapshot node.json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.contains("recorded already"), "{}", ran.text());

    let ran = ask(folder.path(), "default/one --snapshot node.json --unhealthy w3");
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("previously allocated devices are no longer healthy"));

    let ran = ask(folder.path(), "default/gadget2 --snapshot node.json");
    assert_eq!(ran.code, 1, "the plugin is gone: {}", ran.text());
    assert!(ran.stdout.contains("no healthy devices present; cannot allocate unhealthy devices"));
}

#[test]
fn running_containers_survive_a_restart_and_others_do_not() {
    let folder = files();
    let ran = ask(folder.path(), "--kubelet-restart --snapshot node.json");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert_eq!(ran.stdout.matches("its container runs and is left alone").count(), 4);
    assert!(ran.stderr.contains("assumed: the kubelet admits the pods before"), "{}", ran.stderr);

    let ran = ask(folder.path(), "widget.yaml --kubelet-restart --snapshot node.json");
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("no healthy devices present"), "{}", ran.stdout);
}

#[test]
fn a_running_container_keeps_its_unhealthy_device() {
    let folder = files();
    let ran = ask(folder.path(), "--unhealthy w3 --snapshot node.json -o json");
    let plan: Value = ran.answer();
    assert_eq!(plan["changes"][0]["allocatableBefore"], 4);
    assert_eq!(plan["changes"][0]["allocatableAfter"], 3);
    let pods = plan["pods"].as_array().expect("pods");
    assert_eq!(pods.len(), 1, "nobody else has it: {}", ran.stdout);
    assert_eq!(pods[0]["name"], "one");
    assert_eq!(pods[0]["outlook"]["verdict"], "refusedAnew");
    assert_eq!(pods[0]["outlook"]["held"][0]["fate"], "keeps");
    assert_eq!(pods[0]["outlook"]["held"][0]["unhealthy"], json!(["w3"]));

    let ran = ask(folder.path(), "--unhealthy w0 --snapshot node.json");
    assert_eq!(ran.code, 0, "no pod holds it: {}", ran.text());
    assert!(ran.stdout.contains("allocatable 4 -> 3"), "{}", ran.stdout);
    assert!(ran.stdout.contains("no pod holds it"), "{}", ran.stdout);

    // Who has it is told of one that is unhealthy already as well.
    let ran = ask(folder.path(), "--unhealthy g2 --snapshot node.json");
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("default/both"), "{}", ran.text());
    assert!(
        ran.stdout.contains("(a container with devices does not run when the kubelet starts"),
        "{}",
        ran.text()
    );
    assert!(
        ran.stderr.contains("g2 of example.com/gadget is not healthy as it is"),
        "{}",
        ran.text()
    );
}

#[test]
fn a_refusal_is_that_of_the_status() {
    let folder = files();
    let ran = ask(folder.path(), "both.yaml --devices devices.yaml");
    let expected = "UnexpectedAdmissionError: Allocate failed due to requested number of devices \
                    unavailable for example.com/gpu. Requested: 1, Available: 0, which is unexpected";
    assert!(ran.stdout.contains(expected), "{}", ran.text());
    assert!(ran.stdout.contains("\npod shop/next is refused, phase Failed\n"), "{}", ran.text());
    let ran = ask(
        folder.path(),
        "more.yaml --devices devices.yaml --topology-manager-policy restricted --numa-nodes 0-1",
    );
    assert!(ran.stdout.contains("app           example.com/gpu   - "), "{}", ran.text());
    assert!(ran.stdout.contains("TopologyAffinityError: Resources cannot be"), "{}", ran.text());
    assert!(!ran.stderr.contains("(--numa-nodes)"), "{}", ran.text());
}

#[test]
fn a_running_pod_that_a_restart_ends_has_its_caveat() {
    let folder = files();
    let files = "--checkpoint sound --pod-resources pod-resources.json --pods pods.json";
    let ran = ask(folder.path(), &format!("--kubelet-restart {files}"));
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stderr.contains("it is not from a recording"), "{}", ran.text());
    assert!(ran.stderr.contains("drain them, or let them end"), "{}", ran.text());
}

#[test]
fn what_the_running_kubelet_says_is_in_use_is_in_use() {
    let folder = files();
    let files = "--pod-resources pod-resources.json --pods pods.json";
    let ran = ask(folder.path(), &format!("widget.yaml --checkpoint old {files} -o json"));
    let plan: Value = ran.answer();
    assert_eq!(plan["resources"]["example.com/widget"]["allocated"], 3, "{}", ran.stdout);
    assert!(plan["warnings"].to_string().contains("the checkpoint does not have"), "{plan}");

    let ran = ask(folder.path(), &format!("--kubelet-restart --checkpoint damaged {files}"));
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("forgotten: a kubelet that starts"), "{}", ran.stdout);
}

#[test]
fn a_damaged_checkpoint_is_no_source() {
    let folder = files();
    for file in ["damaged", "corrupt"] {
        let ran = ask(
            folder.path(),
            &format!("widget.yaml --checkpoint {file} --pods pods.json -o json"),
        );
        assert_eq!(ran.code, 3, "{}", ran.text());
        let plan: Value = ran.answer();
        let failure = &plan["pods"][0]["failure"];
        assert_eq!(failure["kubeletCrashes"], false, "{plan}");
        let message = failure["message"].as_str().expect("a text");
        assert!(message.contains("(--pod-resources, --devices)"), "{message}");
        assert_eq!(plan["resources"], json!({}), "no number is made up: {plan}");
        let missing = plan["missing"].to_string();
        assert!(missing.contains("the devices of the node: the checkpoint: it is not sound"));
        assert!(missing.contains("which devices are in use"), "{missing}");
        assert!(plan["warnings"].to_string().contains("and starts with nothing"), "{plan}");

        // With what the kubelet tells there is an answer.
        let more = "--pod-resources pod-resources.json --pods pods.json";
        let ran = ask(folder.path(), &format!("widget.yaml --checkpoint {file} {more}"));
        assert_eq!(ran.code, 0, "{}", ran.text());
        // What the file says is in use is not.
        let ran = ask(folder.path(), &format!("widget.yaml --checkpoint {file} {more} -o json"));
        let with = ran.answer::<Value>()["resources"].take();
        assert_eq!(with["example.com/widget"]["allocated"], 3, "{with}");

        let ran =
            ask(folder.path(), &format!("--unhealthy w1 --checkpoint {file} --pods pods.json"));
        assert_eq!(ran.code, 3, "it may be there: {}", ran.text());
    }
    // A kubelet that starts ignores it, whoever has what.
    let ran = ask(folder.path(), "--kubelet-restart --checkpoint corrupt --pods pods.json");
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stdout.contains("forgotten: a kubelet that starts"), "{}", ran.stdout);
    assert!(!ran.stderr.contains("which devices there are"), "{}", ran.stderr);
}

#[test]
fn a_restart_is_not_foretold_without_the_checkpoint() {
    let folder = files();
    let mut node: Value = serde_json::from_str(&configured("restarted")).expect("JSON");
    node["devices"]["checkpoint"] = refused("/checkpoint", "permission denied");
    let file = folder.path().join("unread.json");
    std::fs::write(&file, node.to_string()).expect("it can be written");
    for pod in ["", "widget.yaml"] {
        let ran = ask(folder.path(), &format!("{pod} --kubelet-restart --snapshot unread.json"));
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{}", ran.text());
        assert!(ran.stderr.contains("finds is unknown: /checkpoint: permission denied"));
    }
    // Where no node is looked at, the plugins of what is given had registered.
    let ran = ask(folder.path(), "one.yaml --devices devices.yaml --kubelet-restart");
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("no healthy devices present"), "{}", ran.text());
    assert!(ran.stderr.contains("the checkpoint has the resources of --devices"), "{}", ran.text());
}

#[test]
fn a_crash_is_told_where_it_is_sure() {
    let folder = files();
    let far = "next.yaml --devices far.yaml --topology-manager-policy restricted";
    let known = "--checkpoint sound --pod-resources without-w0.json --pods pods.json \
                 --topology-manager-policy restricted --numa-nodes 0,1";
    for (line, code, expected) in [
        // The NUMA nodes of the machine.
        (far.to_owned(), 3, "which NUMA nodes the machine has (--numa-nodes), which is assumed"),
        (far.to_owned(), 3, "not known, as the result of pod shop/train is not"),
        (format!("{far} --numa-nodes 64"), 1, "the kubelet crashes: NUMA node 64 is above 63"),
        (format!("{far} --numa-nodes 64"), 1, "not reached: the kubelet crashes at pod shop/train"),
        // Whether the plugin still lists a device that a pod has.
        (format!("default/one {known}"), 3, "if its plugin does not list it any more, the kubelet"),
        (format!("default/one {known} --unhealthy w0"), 1, "no longer healthy"),
        (format!("default/one {known} --kubelet-version 1.32"), 1, "no longer healthy"),
        (format!("default/one {known} --devices listed.yaml"), 3, "the version of the kubelet"),
        (
            format!("default/one {known} --devices listed.yaml --kubelet-version 1.36"),
            1,
            "the kubelet crashes: device \"w0\"",
        ),
        // Others only count it.
        (format!("widget.yaml {known}"), 0, "still lists w0 as unhealthy"),
    ] {
        let ran = ask(folder.path(), &line);
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        assert!(ran.text().contains(expected), "{line}: {}", ran.text());
    }
    let ran = ask(folder.path(), &format!("{far} --numa-nodes 64 -o json"));
    let plan: Value = ran.answer();
    let fate = |at: usize| {
        let failure = &plan["pods"][at]["failure"];
        [&failure["kubeletCrashes"], &failure["notReached"]].map(|it| it.as_bool().expect("a word"))
    };
    assert_eq!([fate(0), fate(1)], [[true, false], [false, true]], "{plan}");
}

#[test]
fn columns_do_not_depend_on_what_is_found() {
    let folder = files();
    for (line, has_pod) in [
        ("--kubelet-restart --checkpoint old --pods pods.json", true),
        ("--unhealthy w0 --snapshot node.json", true),
        ("--unhealthy w3 --snapshot node.json", true),
        ("widget.yaml --snapshot node.json", false),
    ] {
        let ran = ask(folder.path(), line);
        assert_eq!(ran.stdout.starts_with("POD "), has_pod, "{line}: {}", ran.text());
    }
}

#[test]
fn a_misspelt_resource_is_guessed() {
    let folder = files();
    let ran = ask(folder.path(), "wigdet.yaml --snapshot node.json");
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("did you mean example.com/widget?"), "{}", ran.stdout);
}

#[test]
fn what_is_wrong_is_named() {
    let folder = files();
    let hint = "hint: a list is expected";
    for (line, code, expected) in [
        ("", 2, "POD|FILE"),
        (
            "two.yaml --devices devices.yaml --unhealthy gpu-9",
            2,
            "--unhealthy gpu-9: no device has",
        ),
        (
            "two.yaml --devices devices.yaml --unhealthy gpu-0 --kubelet-restart",
            2,
            "cannot be used",
        ),
        ("two.yaml --devices broken.yaml", 2, "device 1: missing field `id`"),
        ("two.yaml --devices typo.yaml", 2, "device 1: unknown field `heath`"),
        ("two.yaml --devices object.yaml", 2, hint),
        ("two.yaml --devices absent.yaml", 3, "absent.yaml"),
        ("absent.yaml --devices devices.yaml", 3, "absent.yaml"),
        (
            "two.yaml --devices devices.yaml --topology-manager-policy some",
            2,
            "\"some\" is none of",
        ),
        ("two.yaml --devices devices.yaml --ask-plugin gpu.sock", 2, "expected RESOURCE=SOCKET"),
        ("--devices devices.yaml --ask-plugin", 2, "no pod is named"),
        ("two.yaml --snapshot node.json --ask-plugin", 2, "--snapshot may be of another"),
        ("two.yaml --devices devices.yaml --dir .", 2, "--ask-plugin"),
        ("--devices devices.yaml --ask-plugin two.yaml --dir .", 3, "no plugin listens in"),
        ("two.yaml --devices devices.yaml --numa-nodes -1", 2, "invalid value '-1'"),
        ("two.yaml --devices devices.yaml --numa-nodes 0,-1", 2, "invalid value '0,-1'"),
        ("two.yaml --devices devices.yaml --numa-nodes 1-0", 2, "invalid value '1-0'"),
        ("two.yaml --devices devices.yaml --numa-nodes ''", 2, "invalid value ''"),
        (
            "two.yaml --devices devices.yaml --numa-nodes 0",
            0,
            "gpu-2, gpu-3, gpu-4 of example.com/gpu are on a NUMA node that is not among those of --numa-nodes 0",
        ),
        ("two.yaml --devices twice.yaml", 2, "device 2: x of a/b is device 1 already"),
        (
            "same.yaml --devices devices.yaml",
            2,
            "same.yaml: pod shop/train occurs twice: document 1 and document 2",
        ),
        (
            "one --checkpoint sound --pod-resources pod-resources.json --pods both.json",
            2,
            "hint: use the UID: ",
        ),
        (
            "default/one --checkpoint sound --pod-resources pod-resources.json --pods both.json",
            2,
            "hint: use the UID: ",
        ),
        ("taken.yaml --snapshot node.json", 0, "warning: pod default/one is on the node (UID "),
        (
            "negative.yaml --devices devices.yaml",
            2,
            "resources.limits[example.com/gpu]: Invalid value: \"-1\"",
        ),
        (
            "two.yaml --devices devices.yaml --ask-plugin example.com/gpu=absent.sock",
            3,
            "--ask-plugin example.com/gpu=absent.sock",
        ),
        ("default/none --snapshot node.json", 2, "no pod default/none on this node"),
    ] {
        let ran = ask(folder.path(), line);
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        assert!(ran.stderr.contains(expected), "{line}: {}", ran.stderr);
    }
    let ran = ask(folder.path(), "one.yaml --devices escape.yaml");
    assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
}

#[test]
fn what_follows_a_choice_is_no_more_certain() {
    let folder = files();
    let ran = ask(folder.path(), "next.yaml --devices devices.yaml --unhealthy gpu-0 -o json");
    let plan: Value = ran.answer();
    assert_eq!(ran.code, 0, "{}", ran.text());
    for pod in [0, 1] {
        let choice = &plan["pods"][pod]["containers"][1]["resources"][0];
        assert_eq!(choice["certain"], json!([]), "{choice}");
        assert_eq!(choice["anyOf"]["candidates"], json!(["gpu-1", "gpu-2", "gpu-3"]), "{choice}");
        assert_eq!(choice["numaIsCertain"], false, "{choice}");
    }

    let line = "spread.yaml --devices four.yaml --topology-manager-policy restricted";
    let ran = ask(folder.path(), line);
    assert_eq!(ran.code, 3, "{}", ran.text());
    let expected = "on which NUMA nodes example.com/gpu is left depends on what is chosen before";
    assert!(ran.stdout.contains(expected), "{}", ran.text());
}

#[test]
fn pods_that_are_not_known_are_no_empty_table() {
    use kq_facts::lookup::Lookup;
    use kq_facts::runtime::RuntimeFacts;
    use kq_facts::snapshot::{PodSource, RecordedPods};
    let mut snapshot = crate::devices::stored::snapshot("one");
    let sandboxes = snapshot.runtime.value().and_then(|runtime| runtime.sandboxes.value().cloned());
    assert!(sandboxes.is_some_and(|all| !all.is_empty()), "the runtime runs pods");
    let listed = |source| RecordedPods { source, ..RecordedPods::default() };
    // Names from the runtime, or static pods alone where no runtime tells of others.
    let of_runtime = {
        snapshot.pods = Lookup::found("the runtime", listed(PodSource::Runtime));
        serde_json::to_string(&snapshot).expect("a snapshot")
    };
    let of_folder = {
        snapshot.pods = Lookup::found("/manifests", listed(PodSource::StaticManifests));
        snapshot.runtime = Lookup::<RuntimeFacts>::failed("the runtime", "refused the connection");
        serde_json::to_string(&snapshot).expect("a snapshot")
    };
    let folder = folder_with(&[("runtime.json", of_runtime), ("static.json", of_folder)]);
    for file in ["runtime.json", "static.json"] {
        let line = format!("devices plan --kubelet-restart --snapshot {file}");
        let ran = kq(&line).within(folder.path()).run();
        assert_eq!((ran.code, &*ran.stdout), (3, ""), "{}", ran.text());
        assert!(ran.stderr.contains("it is not known which pods have devices"), "{}", ran.stderr);
        let line = format!("devices plan --unhealthy w0 --snapshot {file}");
        let ran = kq(&line).within(folder.path()).run();
        assert_eq!(ran.code, 3, "{}", ran.text());
        assert!(ran.stderr.contains("missing: which pods have devices"), "{}", ran.stderr);
    }
}

#[test]
fn a_reboot_refuses_what_a_restart_of_the_kubelet_spares() {
    let folder = folder_with(&[("node.json", crate::devices::stored::stored("one"))]);
    let survives = ask(folder.path(), "--kubelet-restart --snapshot node.json -o json");
    let refused = ask(folder.path(), "--reboot --snapshot node.json -o json");
    let verdict = |ran: &Ran| -> Value {
        let plan: Value = ran.answer();
        plan["pods"][0]["outlook"]["verdict"].clone()
    };
    assert_eq!(verdict(&survives), json!("survives"));
    assert_eq!(verdict(&refused), json!("refused"), "{}", refused.text());
    assert!(refused.stdout.contains("no healthy devices present"), "{}", refused.text());
    assert!(refused.stdout.contains("finds no container running"));
}
