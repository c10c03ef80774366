//! Commands that answer one question in several ways: they say the same.

use super::{folder_with, kq, repository};
use serde_json::{Value, json};

const NODE: &str = "--snapshot examples/night/worker-3.json";

/// Returns the texts of the findings of a rule.
fn found(answer: &Value, rule: &str) -> Vec<String> {
    let items = answer["items"].as_array().expect("findings").iter();
    let of_rule = items.filter(|it| it["id"] == rule);
    of_rule.map(|it| it["found"].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn a_soft_threshold_refuses_pods_at_a_start_in_every_command() {
    let soft = "evictionSoft={\"nodefs.available\":\"20%\"}";
    let grace = "evictionSoftGracePeriod={\"nodefs.available\":\"90s\"}";
    let set =
        |line: &str| kq(&format!("{line} {NODE}")).arg("--set").arg(soft).arg("--set").arg(grace);
    let admitted: Value = set("admit explain --kubelet-restart -o json").run().answer();
    let items = admitted["items"].as_array().expect("pods");
    let refused: Vec<&str> = items
        .iter()
        .filter(|it| it["result"] == "refused")
        .map(|it| it["pod"].as_str().expect("a name"))
        .collect();
    assert_eq!(refused.len(), 7, "{admitted}");
    let doctor: Value = set("doctor -o json").run().answer();
    assert_eq!(found(&doctor, "kubelet-restart").len(), 7, "{doctor}");
    let what_if: Value = kq(&format!("what-if -o json {NODE}"))
        .arg("set")
        .arg(soft)
        .arg("set")
        .arg(grace)
        .run()
        .answer();
    let ended = what_if["pods"].as_array().expect("pods").iter();
    let ended: Vec<&str> = ended
        .filter(|it| it["result"] == "refused")
        .map(|it| it["pod"].as_str().expect("a name"))
        .collect();
    assert_eq!(ended.len(), 7, "{what_if}");
    assert!(refused.iter().all(|pod| ended.contains(pod)), "{refused:?} {ended:?}");
}

#[test]
fn images_that_are_too_young_after_a_start_free_no_disk() {
    let ran = kq(&format!("what-if set imageMinimumGCAge=48h disk 95 {NODE}")).run();
    assert!(ran.stdout.contains("removes no image"), "{}", ran.text());
    assert!(!ran.text().contains("unused images (7.2Gi)"), "{}", ran.text());
}

#[test]
fn an_image_is_removed_once() {
    // The eviction manager removes all unused images first; a collection finds none then.
    let answer: Value = kq(&format!("what-if disk 95 -o json {NODE}")).run().answer();
    let [collection] = &found(&answer, "image-gc")[..] else { panic!("{answer}") };
    assert!(collection.contains("(89% of") && collection.contains("freed 0 bytes"), "{collection}");
}

#[test]
fn a_disk_that_no_threshold_finds_short_has_its_collection() {
    // 11Gi are left: above the 10Gi of eviction, and more than a collection can free is wanted.
    let answer: Value = kq(&format!("what-if disk 89 -o json {NODE}")).run().answer();
    let [collection] = &found(&answer, "image-gc")[..] else { panic!("{answer}") };
    let failure = "(89% of 100.0 GiB used). Failed to free sufficient space";
    assert!(collection.contains(failure), "{collection}");
    let plan = kq(&format!("gc dry-run --at-usage 89 {NODE}")).run();
    assert!(plan.stdout.contains(failure), "{}", plan.text());
}

#[test]
fn what_is_too_old_goes_before_the_disk_is_measured() {
    for line in ["gc dry-run", "doctor"] {
        let ran = kq(&format!("{line} --set imageMaximumGCAge=48h {NODE}")).run();
        assert!(!ran.text().contains("Insufficient free disk space"), "{}", ran.text());
    }
    let plan: Value =
        kq(&format!("gc dry-run --set imageMaximumGCAge=48h -o json {NODE}")).run().answer();
    assert_eq!(plan["run"]["usage"]["percent"], 80, "{plan}");
    assert_eq!(plan["run"]["wantsSpace"], json!(false), "{plan}");
    // Whether the age pass runs decides whether space is still needed: without the kubelet's start, that is open.
    let text = std::fs::read_to_string("examples/night/worker-3.json");
    let mut without: Value = serde_json::from_str(&text.expect("the example")).expect("JSON");
    without["kubelet"]["found"] = Value::Null;
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("snapshot.json");
    std::fs::write(&path, without.to_string()).expect("a file");
    let node = format!("--snapshot {}", path.display());
    let ran = kq(&format!("gc dry-run --set imageMaximumGCAge=48h {node}")).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stdout.contains("what they free is unknown"), "{}", ran.text());
    let change = "set imageMaximumGCAge=1h set imageGCHighThresholdPercent=100";
    let answer: Value = kq(&format!("what-if {change} -o json {NODE}")).run().answer();
    let [aged] = &found(&answer, "image-gc")[..] else { panic!("{answer}") };
    assert!(aged.contains("5 images"), "{aged}");
}

#[test]
fn processes_and_inodes_are_counted() {
    for (threshold, text) in [
        (
            "evictionHard={\"pid.available\":\"99.9%\"}",
            "126389 available, below the threshold of 126873",
        ),
        (
            "evictionHard={\"nodefs.inodesFree\":\"90%\"}",
            "5100000 available, below the threshold of 5898239",
        ),
    ] {
        let ran = kq(&format!("what-if {NODE}")).arg("set").arg(threshold).run();
        assert!(ran.stdout.contains(text), "{}", ran.text());
    }
}

#[test]
fn a_change_that_changes_nothing_is_refused() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {}\n";
    let ran = kq(&format!("what-if add - {NODE}")).stdin(service).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.text());
    assert!(ran.stderr.contains("Service x carries no pods"), "{}", ran.text());
    let ran = kq(&format!("what-if memory-available 100Gi {NODE}")).run();
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("the node has 15.6Gi"), "{}", ran.text());
}

#[test]
fn first_tries_get_a_line_that_works() {
    for (line, hint) in [
        ("fleet ask examples doctor", "hint: kq fleet ask examples -- doctor"),
        ("what-if feature-gates MemoryQoS", "hint: kq what-if feature-gates MemoryQoS=true"),
        ("what-if disk=95", "hint: kq what-if disk 95"),
        ("what-if drain ml/train-0", "hint: kq what-if remove ml/train-0"),
    ] {
        let ran = kq(line).run();
        assert_eq!(ran.code, 2, "{}", ran.text());
        assert!(ran.stderr.contains(hint), "{}", ran.text());
        assert!(!ran.stderr.contains("bool: malformed"), "{}", ran.text());
    }
    for (condition, signal) in
        [("DiskPressure", "nodefs.available"), ("PIDPressure", "pid.available")]
    {
        let answer: Value =
            kq(&format!("evict rank --signal {condition} -o json {NODE}")).run().answer();
        assert_eq!(answer["signal"], signal);
    }
    // A hint is another line than the one that was typed.
    let ran = kq(&format!("cgroup show checkout {NODE}")).run();
    assert!(!ran.stderr.contains("hint: kq cgroup show checkout\n"), "{}", ran.text());
    assert!(ran.stderr.contains("did you mean shop/checkout-6d5f7?"), "{}", ran.text());
}

#[test]
fn pods_that_run_and_are_not_listed_are_missing() {
    let text = std::fs::read_to_string(super::repository().join("examples/night/worker-3.json"));
    let mut node: Value = serde_json::from_str(&text.expect("the example")).expect("JSON");
    node["pods"]["found"]["value"]["pods"] = json!([]);
    let folder = super::folder_with(&[("node.json", node.to_string())]);
    for line in
        ["what-if kubelet-restart", "admit explain --kubelet-restart", "evict rank", "preempt lint"]
    {
        let ran = kq(&format!("{line} --snapshot node.json")).within(folder.path()).run();
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
    }
    let ran = kq("doctor --snapshot node.json -o json").within(folder.path()).run();
    let restart = found(&ran.answer(), "kubelet-restart");
    assert!(restart.iter().any(|it| it.contains("7 more are not known")), "{restart:?}");
}

#[test]
fn a_manifest_that_the_kubelet_does_not_take_is_refused_by_every_command() {
    let manifest = |name: &str, spec: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: c, image: i}}]{spec}}}\n"
        )
    };
    let folder = folder_with(&[
        ("plain.yaml", manifest("plain", "") + "---\n" + &manifest("second", "")),
        ("refers.yaml", manifest("refers", ", volumes: [{name: v, secret: {secretName: s}}]")),
        ("deployment.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n".to_owned()),
    ]);
    let night = repository().join("examples/night/worker-3.json");
    let run = |line: &str| {
        kq(&format!("{line} --snapshot {}", night.display())).within(folder.path()).run()
    };
    const SAYS: &str = "static pods may not reference secrets";
    for line in ["what-if add static refers.yaml", "admit explain refers.yaml --static"] {
        let ran = run(line);
        assert!(ran.code == 1 && ran.stdout.contains(SAYS), "{line}: {}", ran.text());
        let before = run(&format!("{line} --kubelet-version 1.33"));
        assert!(!before.text().contains(SAYS), "{line}: {}", before.text());
    }
    let ran = run("preempt explain refers.yaml --static");
    assert!(ran.stdout.contains(SAYS), "{}", ran.text());
    let ran = run("what-if add static plain.yaml");
    assert!(!ran.stdout.contains("second"), "{}", ran.text());
    assert!(
        ran.stderr.contains("document 2: the kubelet reads the first document alone"),
        "{}",
        ran.text()
    );
    let ran = run("what-if add static deployment.yaml");
    assert!(
        ran.code == 2 && ran.stderr.contains("Deployment: the kubelet takes a Pod alone"),
        "{}",
        ran.text()
    );
    // A pod that runs was made of its manifest by this kubelet.
    let ran = run("what-if kubelet-restart");
    assert!(!ran.text().contains("may not reference"), "{}", ran.text());
}

#[test]
fn what_flags_set_is_not_ignored_silently() {
    let asked = kq(&format!("admit explain examples/night/dns.yaml --set maxPods=1 {NODE}")).run();
    assert!(asked.stderr.contains("the Node object counts, not the amounts that follow from the flags: 110 of pods, and not 1"), "{}", asked.text());
    let plain = kq(&format!("admit explain examples/night/dns.yaml {NODE}")).run();
    assert!(!plain.stderr.contains("the Node object counts"), "{}", plain.text());
    let ran = kq(&format!("allocatable --capacity memory=32Gi {NODE}")).run();
    assert!(!ran.stderr.contains("its kubelet reserves something else"), "{}", ran.text());
}

#[test]
fn a_page_size_that_is_assumed_is_the_same_in_the_plan_and_in_a_change() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop, uid: u}\nspec: {nodeName: n1, containers: [{name: c, image: i, resources: {limits: {memory: 2Gi}, requests: {memory: 1Gi, cpu: 1}}}]}\nstatus: {phase: Running, qosClass: Burstable}\n";
    let node = "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n1\"},\"status\":{\"capacity\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"110\"},\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8092Mi\",\"pods\":\"110\"},\"nodeInfo\":{\"kubeletVersion\":\"v1.36.0\"}}}";
    let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    let folder = folder_with(&[("p.yaml", pod), ("node.json", node), ("kubelet.yaml", config)]);
    let files = "--node-file node.json --kubelet-config kubelet.yaml --cgroup-version 2";
    let plan = format!("cgroup plan p.yaml {files} --feature-gates MemoryQoS=true -o json");
    let plan = kq(&plan).within(folder.path()).run();
    let change = format!("what-if feature-gates MemoryQoS=true --pods p.yaml {files}");
    let change = kq(&change).within(folder.path()).run();
    let high = "2040107008";
    assert!(plan.stdout.contains(high), "{}", plan.text());
    assert!(
        change.stdout.contains("memory.high") && change.stdout.contains(high),
        "{}",
        change.text()
    );
    assert!(change.stderr.contains("memory.high: pages of 4096 bytes"), "{}", change.text());
}

#[test]
fn a_kubelet_that_prints_and_ends_does_not_start() {
    for (flags, says) in [
        ("--version", "--version: it prints its version, and ends with code 0"),
        ("-h", "--help: it prints its usage, and ends with code 0"),
        ("--version=raw", "--version: it prints its version"),
        ("'start now'", "unknown command start"),
    ] {
        let ran = kq(&format!("what-if flags {flags} {NODE}")).run();
        assert!(ran.code == 1 && ran.text().contains(says), "{flags}: {}", ran.text());
    }
    let ran = kq(&format!("what-if flags --version=false {NODE}")).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
}

/// A drop-in that the kubelet refuses is answered, as the file itself is; what needs the configuration says why it has none.
#[test]
fn a_drop_in_that_is_refused_is_answered() {
    const HEAD: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    for (content, says) in [
        ("maxPods: 60\n".to_owned(), "Object 'Kind' is missing"),
        (String::new(), "was empty"),
        (format!("{HEAD}maxPods: [\n"), "did not find expected node content"),
    ] {
        let folder = folder_with(&[("kubelet.yaml", HEAD)]);
        std::fs::create_dir(folder.path().join("d")).expect("a folder");
        std::fs::write(folder.path().join("d/10.conf"), &content).expect("a file");
        let files = "--kubelet-config kubelet.yaml --kubelet-config-dir d";
        let night = repository().join("examples/night/worker-3.json");
        let line = format!("what-if kubelet-restart {files} --snapshot {}", night.display());
        let ran = kq(&line).within(folder.path()).run();
        assert!(ran.code == 1 && ran.text().contains(says), "{content:?}: {}", ran.text());
        let line = format!("allocatable --capacity cpu=4,memory=8Gi {files}");
        let ran = kq(&line).within(folder.path()).run();
        assert!(ran.code == 3 && ran.text().contains("10.conf"), "{content:?}: {}", ran.text());
    }
}

/// What the kubelet's decoder refuses is no configuration, although kq could read it: the start is answered, and what needs the
/// configuration has it missing.
#[test]
fn a_configuration_that_no_kubelet_decodes_is_missing() {
    const HEAD: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    let whole = |text: &str| text.replace("HEAD", HEAD);
    let json =
        "{\"apiVersion\":\"kubelet.config.k8s.io/v1beta1\",\"kind\":\"KubeletConfiguration\",}";
    for (file, drop_in, name, reason) in [
        (json.to_owned(), None, "kubelet.yaml", "invalid character '}'"),
        ("null\n".to_owned(), None, "kubelet.yaml", "Object 'Kind' is missing"),
        (whole("---\n---\nHEAD"), None, "kubelet.yaml", "Object 'Kind' is missing"),
        (whole("%YAML 1.2\n---\nHEAD"), None, "kubelet.yaml", "incompatible YAML document"),
        (whole("HEADmaxPods: !foo 50\n"), None, "kubelet.yaml", "maxPods"),
        (
            whole("HEAD"),
            Some(whole("HEADmaxPods: 5\nmaxPods: 6\n")),
            "10.conf",
            "already set in map",
        ),
        (whole("HEAD"), Some("null\n".to_owned()), "10.conf", "Object 'Kind' is missing"),
    ] {
        let folder = folder_with(&[("kubelet.yaml", &file)]);
        std::fs::create_dir(folder.path().join("d")).expect("a folder");
        if let Some(drop_in) = &drop_in {
            std::fs::write(folder.path().join("d/10.conf"), drop_in).expect("a file");
        }
        let files = "--kubelet-config kubelet.yaml --kubelet-config-dir d";
        let ask = |line: &str| kq(&format!("{line} {files}")).within(folder.path()).run();
        for line in [
            "allocatable --capacity cpu=4,memory=8Gi",
            "cgroup plan --capacity cpu=4,memory=8Gi,pid=32768",
            "gc policy",
        ] {
            let ran = ask(line);
            let says = ran.text().contains(name) && ran.text().contains(reason);
            assert!(ran.code == 3 && says, "{line}: {reason}: {}", ran.text());
            assert!(!ran.text().contains("the last one counts"), "{line}: {}", ran.text());
        }
        let night = repository().join("examples/night/worker-3.json");
        for line in ["doctor", "what-if kubelet-restart"] {
            let ran = ask(&format!("{line} --snapshot {}", night.display()));
            let says = ran.text().contains("exits at its start") && ran.text().contains(reason);
            assert!(ran.code == 1 && says, "{line}: {reason}: {}", ran.text());
        }
        let ran = ask(&format!("what-if disk 95 --snapshot {}", night.display()));
        assert!(ran.stderr.contains("its thresholds are unknown"), "{reason}: {}", ran.text());
    }
}

#[test]
fn a_wrong_value_gets_no_hint_about_another_question() {
    for line in [
        "cgroup plan examples/web.yaml --kubelet-version foo",
        "cgroup shares examples/web.yaml --cpus 0",
        "--color never admit explain examples/web.yaml --no-such-flag",
    ] {
        let ran = kq(line).run();
        assert_eq!(ran.code, 2, "{line}: {}", ran.text());
        assert!(!ran.stderr.contains("hint: kq"), "{line}: {}", ran.text());
    }
    let ran = kq("--snapshot examples/night/worker-3.json doctor").run();
    assert!(ran.text().contains("kq doctor"), "{}", ran.text());
}

#[test]
fn a_limit_below_what_is_in_use_is_no_small_change() {
    let ran = kq(&format!("what-if set systemReserved.memory=6Gi {NODE}")).run();
    assert_eq!(ran.code, 1, "{}", ran.text());
    for part in ["becomes 9.6Gi, and its pods use 9.8Gi", "allocatableMemory.available"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.text());
    }
    let ran = kq(&format!("what-if set systemReserved.memory=1Gi {NODE}")).run();
    assert!(!ran.stdout.contains("limit-below-use"), "{}", ran.text());
}

#[test]
fn a_pressure_that_the_kubelet_ends_is_not_there_at_its_next_start() {
    for change in ["disk 97", "memory-available 80Mi"] {
        let ran = kq(&format!("what-if {change} {NODE}")).run();
        assert!(
            ran.stdout.contains("is evicted") || ran.stdout.contains("evicted under"),
            "{}",
            ran.text()
        );
        assert!(!ran.stdout.contains("until the next start"), "{change}: {}", ran.text());
    }
}

#[test]
fn one_word_sets_several_fields() {
    let one =
        kq(&format!("what-if set systemReserved.cpu=1200m systemReserved.memory=2548Mi {NODE}"))
            .run();
    let two = kq(&format!(
        "what-if set systemReserved.cpu=1200m set systemReserved.memory=2548Mi {NODE}"
    ))
    .run();
    assert_eq!(one.stdout, two.stdout);
    assert_eq!(kq(&format!("what-if reboot maxPods=2 {NODE}")).run().code, 2);
}

/// What the Node object reports above what its configuration leaves is no reservation that kq does not know.
#[test]
fn allocatable_after_a_change_is_that_of_the_configuration() {
    let node = "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n1\"},\"status\":{\"capacity\":{\"cpu\":\"8\",\"memory\":\"32Gi\",\"pods\":\"110\"},\"allocatable\":{\"cpu\":\"8\",\"memory\":\"32Gi\",\"pods\":\"110\"},\"nodeInfo\":{\"kubeletVersion\":\"v1.36.0\"}}}";
    let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nkubeReserved: {cpu: \"1\"}\n";
    let pods = "apiVersion: v1\nkind: Pod\nmetadata: {name: db, namespace: shop, uid: u}\nspec: {nodeName: n1, initContainers: [{name: side, image: i, restartPolicy: Always, resources: {requests: {cpu: 500m}}}], containers: [{name: c, image: i, resources: {requests: {cpu: 1500m}}}]}\nstatus: {phase: Running}\n";
    let folder = folder_with(&[("node.json", node), ("kubelet.yaml", config), ("p.yaml", pods)]);
    let line = "what-if set kubeReserved.cpu=7 --node-file node.json --kubelet-config kubelet.yaml --pods p.yaml --cgroup-version 2 -o json";
    let ran = kq(line).within(folder.path()).run();
    assert_eq!(ran.code, 1, "{}", ran.text());
    let answer: Value = ran.answer();
    assert_eq!(answer["pods"][0]["reason"], "OutOfcpu", "{answer}");
    let line = line.replace("kubeReserved.cpu=7", "kubeReserved.cpu=5");
    let answer: Value = kq(&line).within(folder.path()).run().answer();
    let text = answer.to_string();
    assert!(text.contains("\"requested\":\"2\""), "{text}");
}

#[test]
fn files_of_another_node_are_not_mixed_with_this_machine() {
    let text = std::fs::read_to_string(repository().join("examples/night/worker-3.json"));
    let snapshot: Value = serde_json::from_str(&text.expect("a file")).expect("JSON");
    let with_kind = |mut object: Value, kind: &str| {
        object["apiVersion"] = json!("v1");
        object["kind"] = json!(kind);
        object
    };
    let node = with_kind(snapshot["node"]["found"]["value"].clone(), "Node");
    let pods = snapshot["pods"]["found"]["value"]["pods"].as_array().expect("pods").iter();
    let pods: Vec<Value> = pods.map(|it| with_kind(it["pod"].clone(), "Pod")).collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": pods });
    let folder = folder_with(&[("n.json", node.to_string()), ("p.json", list.to_string())]);
    let ask = |line: &str| kq(line).within(folder.path()).run();
    for command in ["doctor", "gc dry-run", "report -o r.html"] {
        let ran = ask(&format!("{command} --node-file n.json"));
        assert_eq!(ran.code, 2, "{command}: {}", ran.text());
        assert!(ran.stderr.contains("n.json is the Node object of worker-3, and this machine is "));
    }
    for (command, code, said) in [
        ("doctor", 3, "the kubelet's configuration is not known"),
        ("gc dry-run", 3, "the container runtime did not answer: not looked for"),
        ("report -o r.html", 3, "written: r.html"),
        ("cgroup plan", 0, "shop/checkout-6d5f7"),
        ("cgroup shares", 0, "shop/checkout-6d5f7"),
    ] {
        let ran = ask(&format!("{command} --node-file n.json --pods p.json"));
        assert_eq!(ran.code, code, "{command}: {}", ran.text());
        assert!(ran.text().contains(said), "{command}: {}", ran.text());
    }
}

#[test]
fn doctor_takes_the_devices_of_files() {
    let line =
        format!("doctor -o json --checkpoint examples/devices/kubelet_internal_checkpoint {NODE}");
    let answer: Value = kq(&line).run().answer();
    let devices = found(&answer, "devices");
    assert!(devices.iter().any(|it| it.starts_with("w1 of example.com/widget")), "{devices:?}");
}

#[test]
fn thresholds_of_containerfs_are_the_kubelets_own() {
    let set = "evictionHard={\"memory.available\":\"100Mi\",\"nodefs.available\":\"2%\",\"imagefs.available\":\"2%\",\"containerfs.available\":\"40%\"}";
    let ran = kq(&format!("what-if {NODE} set")).arg(set).run();
    assert!(!ran.stdout.contains("Evicted"), "{}", ran.text());
    assert!(ran.stdout.contains("kubelet-start, pods"), "{}", ran.text());
    let doctor: Value = kq(&format!("doctor -o json {NODE} --set")).arg(set).run().answer();
    let [restart] = &found(&doctor, "kubelet-restart")[..] else { panic!("{doctor}") };
    assert!(restart.starts_with("a restarted kubelet admits"), "{restart}");
}

#[test]
fn pods_are_evicted_for_what_is_to_be_reclaimed_beyond_a_threshold() {
    let pods = |line: &str, set: &[&str]| -> Value {
        let asked = kq(&format!("what-if -o json {line} {NODE}"));
        let asked = set.iter().fold(asked, |asked, set| asked.arg("--set").arg(*set));
        asked.run().answer()
    };
    let ended = |answer: &Value, others: bool| -> Vec<String> {
        let all = answer["pods"].as_array().expect("pods").iter();
        let is_it = |it: &&Value| {
            let is_open = it["orElse"].as_array().is_some_and(|it| !it.is_empty());
            it["result"] == "evicted" && is_open == others
        };
        all.filter(is_it).map(|it| it["pod"].as_str().expect("a name").to_owned()).collect()
    };
    for reclaim in ["{\"nodefs.available\":\"5Gi\"}", "{\"imagefs.available\":\"20%\"}"] {
        let answer = pods("disk 95", &[&format!("evictionMinimumReclaim={reclaim}")]);
        let first = ended(&answer, false);
        assert_eq!(first.first().map(String::as_str), Some("batch/report-day"), "{answer}");
    }
    // A soft threshold evicts after its grace period, if it stays crossed.
    let soft = [
        "evictionHard={\"memory.available\":\"50Mi\"}",
        "evictionSoft={\"memory.available\":\"1Gi\"}",
        "evictionSoftGracePeriod={\"memory.available\":\"1m\"}",
    ];
    let answer = pods("memory-available 500Mi", &soft);
    assert_eq!(ended(&answer, true), ["batch/report-day"], "{answer}");
}

/// Returns the example node, changed.
pub(super) fn changed(change: impl FnOnce(&mut Value)) -> tempfile::TempDir {
    let text = std::fs::read_to_string(repository().join("examples/night/worker-3.json"));
    let mut snapshot: Value = serde_json::from_str(&text.expect("a file")).expect("JSON");
    change(&mut snapshot);
    folder_with(&[("s.json", snapshot.to_string())])
}

#[test]
fn one_measurement_of_a_disk_counts_in_every_command() {
    // The stats are from before the last look at the disk.
    let folder = changed(|it| {
        for folder in it["folders"].as_object_mut().expect("folders").values_mut() {
            let disk = &mut folder["filesystem"]["found"]["value"];
            disk["availableBytes"] = json!(10_700_000_000_u64);
            disk["freeBytes"] = json!(10_700_000_000_u64);
        }
        let node = &mut it["statsSummary"]["found"]["value"]["node"];
        node["fs"]["availableBytes"] = json!(10_780_000_000_u64);
        for part in ["imageFs", "containerFs"] {
            node["runtime"][part]["availableBytes"] = json!(10_780_000_000_u64);
        }
    });
    let ask = |line: &str| kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
    for command in ["doctor", "admit explain --kubelet-restart", "what-if kubelet-restart"] {
        let ran = ask(command);
        assert!(ran.stdout.contains("[DiskPressure]"), "{command}: {}", ran.text());
    }
}

#[test]
fn a_checkpoint_that_is_damaged_already_is_forgotten_at_a_restart() {
    let folder = changed(|it| {
        let checkpoint = &mut it["devices"]["checkpoint"]["found"]["value"];
        checkpoint["error"] = json!("checkpoint is corrupted");
        checkpoint["entries"] = json!([]);
    });
    let ran = kq("what-if kubelet-restart --snapshot s.json").within(folder.path()).run();
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("the kubelet forgot the example.com/gpu"), "{}", ran.text());
}

#[test]
fn a_restart_is_judged_by_the_configuration_on_the_disk() {
    let file = repository().join("tests/nodes-v2/36-memory-eviction/before.kq.json.gz");
    let packed = std::process::Command::new("gzip").arg("-dc").arg(file).output();
    let mut snapshot: Value =
        serde_json::from_slice(&packed.expect("gzip").stdout).expect("a snapshot");
    let document = "/kubeletConfigOnDisk/found/value/file/content/document/value";
    snapshot.pointer_mut(document).expect("fields")["maxPods"] = json!(5);
    let ask = |snapshot: &Value, line: &str| {
        let folder = folder_with(&[("s.json", snapshot.to_string())]);
        kq(&format!("{line} --snapshot s.json")).within(folder.path()).run()
    };
    let admitted = ask(&snapshot, "admit explain --kubelet-restart");
    assert_eq!(admitted.code, 1, "{}", admitted.text());
    assert!(admitted.text().contains("OutOfpods"), "{}", admitted.text());
    let doctor: Value = ask(&snapshot, "doctor -o json").answer();
    assert!(found(&doctor, "kubelet-restart").len() > 3, "{doctor}");
    let changed = ask(&snapshot, "what-if kubelet-restart");
    assert!(changed.text().contains("OutOfpods"), "{}", changed.text());
    // A kubelet that does not start admits nothing, and its pods are not judged.
    snapshot.pointer_mut(document).expect("fields")["maxPods"] = json!("x");
    let doctor: Value = ask(&snapshot, "doctor -o json").answer();
    assert_eq!(found(&doctor, "kubelet-restart"), ["not judged: the kubelet does not start"]);
}

/// Returns a question whose threshold of a disk is crossed: 14 of 100 GiB are left.
fn crossed(line: &str, percent: &str) -> super::Ran {
    let hard = format!("evictionHard={{\"nodefs.available\":\"{percent}\"}}");
    kq(&format!("{line} {NODE}")).arg("--set").arg(hard).run()
}

#[test]
fn nobody_is_evicted_first_where_the_reclaim_is_enough() {
    let rank = |percent| -> Value {
        crossed("evict rank --signal nodefs.available -o json", percent).answer()
    };
    let enough = rank("15%");
    assert_eq!(enough["headline"]["code"], "reclaimed", "{enough}");
    assert_eq!(enough["reclaimed"]["sufficiency"], "enough", "{enough}");
    let doctor: Value = crossed("doctor -o json", "15%").answer();
    let finding = doctor["items"].as_array().expect("findings").iter();
    let mut finding = finding.filter(|it| it["id"] == "eviction");
    let told = finding.next().expect("a finding")["leadsTo"].to_string();
    assert!(told.contains("which is enough: no pod is evicted"), "{told}");
    let short = rank("21%");
    let text = short["headline"]["text"].as_str().expect("a sentence");
    assert!(text.starts_with("batch/report-day is evicted first; "), "{text}");
    let short = crossed("gc dry-run --trigger eviction -o json", "21%");
    let text = short.answer::<Value>()["headline"]["text"].to_string();
    let evicted = "the reclaim is not enough, and batch/report-day is evicted";
    assert!(text.contains(evicted), "{text}");
    for (percent, word) in [("15%", "removes images"), ("21%", "frees too little")] {
        let hard = format!("evictionHard={{\"nodefs.available\":\"{percent}\"}}");
        let line = "fleet ask examples/night/worker-3.json -- gc dry-run --trigger eviction --set";
        let fleet = kq(line).arg(hard).run();
        assert!(fleet.stdout.contains(word), "{percent}: {}", fleet.text());
    }
    // A soft threshold waits, and what nobody measured is open.
    let soft = kq(&format!("evict rank --signal nodefs.available -o json {NODE}"))
        .arg("--set")
        .arg("evictionSoft={\"nodefs.available\":\"21%\"}")
        .arg("--set")
        .arg("evictionSoftGracePeriod={\"nodefs.available\":\"90s\"}")
        .run();
    let soft: Value = soft.answer();
    let text = soft["headline"]["text"].as_str().expect("a sentence");
    assert!(text.contains("is evicted first if the threshold stays crossed for 1m30s; "), "{text}");
    let folder = changed(|it| {
        it["runtime"]["found"]["value"]["images"] = json!({"tried": []});
    });
    let ran = kq("evict rank --signal nodefs.available -o json --snapshot s.json")
        .arg("--set")
        .arg("evictionHard={\"nodefs.available\":\"21%\"}")
        .within(folder.path())
        .run();
    assert!(ran.stdout.contains("first if what is reclaimed is not enough; "), "{}", ran.text());
}

#[test]
fn a_measured_pressure_that_the_node_object_does_not_report_is_open() {
    let ran = crossed("admit explain shop/cart-0", "15%");
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.text().contains("the measured nodefs.available is below"), "{}", ran.text());
    assert!(
        ran.stdout.contains("not known whether worker-3 admits it: pressure: "),
        "{}",
        ran.text()
    );
    // A critical pod is admitted under pressure.
    let ran = crossed("admit explain kube-system/kube-proxy-x7k2p", "15%");
    assert_eq!(ran.code, 0, "{}", ran.text());
}

#[test]
fn a_threshold_of_the_images_disk_is_in_the_report() {
    let folder = changed(|_| ());
    let hard = "evictionHard={\"imagefs.available\":\"21%\"}";
    let ran = kq("report -o page.html --snapshot s.json")
        .arg("--set")
        .arg(hard)
        .within(folder.path())
        .run();
    let page = std::fs::read_to_string(folder.path().join("page.html")).expect("a page");
    assert!(page.contains("Order for <code>imagefs.available"), "{}", ran.text());
    assert!(!page.contains("threshold crossed</"), "the state is told");
}

#[test]
fn a_deferred_resize_counts_in_its_class_alone_with_what_it_asks_for() {
    let folder = changed(|it| {
        let pods = it["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
        let cart = pods.iter_mut().find(|it| it["pod"]["metadata"]["name"] == "cart-0");
        let cart = &mut cart.expect("the pod")["pod"];
        cart["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("3");
        let deferred =
            json!({ "type": "PodResizePending", "reason": "Deferred", "status": "True" });
        cart["status"]["conditions"].as_array_mut().expect("conditions").push(deferred);
        it["stateFiles"] = Value::Null;
    });
    let weight = |folder: &tempfile::TempDir| {
        let ran = kq("doctor -o json --snapshot s.json").within(folder.path()).run();
        let answer: Value = ran.answer();
        let mut items = answer["items"].as_array().expect("findings").iter();
        let found = items.find(|it| it["id"] == "cpu-weight").expect("a check");
        found["facts"]["requestedMilliCpu"].clone()
    };
    assert_eq!(weight(&folder), weight(&changed(|_| ())));
    let ran = kq("cgroup plan -o json --snapshot s.json").within(folder.path()).run();
    assert!(ran.stdout.contains("shop/cart-0 counts with the resources"), "{}", ran.text());
    let shares = |folder: &tempfile::TempDir| {
        kq("cgroup shares --planned --snapshot s.json shop/cart-0")
            .within(folder.path())
            .run()
            .stdout
    };
    // Its own weight is of what was allocated; its class has that of what it asks for.
    for folder in [&folder, &changed(|_| ())] {
        assert!(shares(folder).contains("weight 30 of 84"), "{}", shares(folder));
    }
}

#[test]
fn a_file_that_only_an_older_kubelet_reads_is_no_damage() {
    let folder = changed(|it| {
        it["stateFiles"]["files"]["pod_status_manager_state"] = json!({ "read": "{" });
    });
    let ran = kq("doctor -v --snapshot s.json").within(folder.path()).run();
    assert!(!ran.text().contains("pod_status_manager_state"), "{}", ran.text());
    let ran = kq("doctor -v --kubelet-version 1.32 --snapshot s.json")
        .arg("--set")
        .arg("featureGates.InPlacePodVerticalScaling=true")
        .within(folder.path())
        .run();
    assert!(ran.text().contains("pod_status_manager_state"), "{}", ran.text());
}

#[test]
fn a_zero_of_a_flag_is_no_default() {
    let folder = changed(|it| {
        it["kubelet"]["found"]["value"]["flags"] = json!([
            { "name": "max-pods", "value": "0" },
            { "name": "minimum-image-ttl-duration", "value": "0s" },
        ]);
        let config = &mut it["kubeletConfig"]["found"]["value"]["value"];
        let fields = config.as_object_mut().expect("fields");
        fields.remove("maxPods");
        fields.remove("imageMinimumGCAge");
    });
    let ask = |line: &str| kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
    let policy: Value = ask("gc policy -o json").answer();
    let mut items = policy["items"].as_array().expect("fields").iter();
    let age = items.find(|it| it["name"] == "imageMinimumGCAge").expect("the field");
    assert_eq!(age["value"], "0s", "{policy}");
    assert_eq!(age["origin"], "--minimum-image-ttl-duration of the kubelet", "{policy}");
    let allocatable = ask("allocatable");
    let pods = allocatable.stdout.lines().find(|line| line.starts_with("pods")).expect("a row");
    assert_eq!(pods.split_whitespace().nth(1), Some("0"), "{}", allocatable.text());
}

#[test]
fn a_dead_kubelet_starts_with_what_its_files_say_now() {
    let dead = |change: &dyn Fn(&mut Value)| {
        changed(|it| {
            it["kubelet"] = json!({ "found": null, "tried": [{ "source": "/proc", "reason": "no process kubelet" }] });
            change(&mut it["kubeletConfig"]["found"]["value"]["value"]);
        })
    };
    let ask = |folder: &tempfile::TempDir, line: &str| {
        kq(&format!("{line} --snapshot s.json")).within(folder.path()).run()
    };
    // The Node object is of the kubelet before.
    let fewer = dead(&|config| config["maxPods"] = json!(3));
    for line in ["admit explain --kubelet-restart", "what-if kubelet-restart"] {
        let ran = ask(&fewer, line);
        assert_eq!(ran.code, 1, "{line}: {}", ran.text());
        assert!(ran.text().contains("OutOfpods"), "{line}: {}", ran.text());
    }
    let doctor: Value = ask(&fewer, "doctor -o json").answer();
    assert_eq!(found(&doctor, "kubelet-restart").len(), 5, "{doctor}");
    // The tree shows the driver that it ran with.
    let driver = dead(&|config| config["cgroupDriver"] = json!("systemd"));
    let ran = ask(&driver, "what-if kubelet-restart");
    assert!(ran.stdout.contains("drivers-differ"), "{}", ran.text());
}

#[test]
fn what_is_not_known_of_a_start_is_no_comfort() {
    let folder = |change: &dyn Fn(&mut Value)| changed(|it| change(it));
    let ask = |folder: &tempfile::TempDir, line: &str| {
        kq(&format!("{line} --snapshot s.json")).within(folder.path()).run()
    };
    let starts = ["admit explain --kubelet-restart", "what-if kubelet-restart"];
    // Without the configuration, the default thresholds refuse nobody and comfort nobody.
    let unknown = folder(&|it| {
        it["kubeletConfig"] =
            json!({ "found": null, "tried": [{ "source": "/configz", "reason": "refused" }] });
    });
    for line in starts.into_iter().chain(["evict rank"]) {
        let ran = ask(&unknown, line);
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
        assert!(!ran.text().contains("refused: Evicted"), "{line}: {}", ran.text());
    }
    let doctor: Value = ask(&unknown, "doctor -o json").answer();
    assert_eq!(
        found(&doctor, "eviction"),
        ["the thresholds are unknown, because the kubelet's configuration is unknown"]
    );
    // A checkpoint that could not be read.
    let unread = folder(&|it| {
        it["devices"]["checkpoint"] =
            json!({ "found": null, "tried": [{ "source": "/c", "reason": "I/O error" }] });
    });
    let damaged = folder(&|it| {
        it["devices"]["checkpoint"]["found"]["value"]["error"] =
            json!("unexpected end of JSON input");
    });
    for line in starts {
        assert_eq!(ask(&unread, line).code, 3, "{line}");
        let ran = ask(&damaged, line);
        assert_eq!(ran.code, 1, "{line}: {}", ran.text());
        assert!(ran.text().contains("ml/train-0"), "{line}: {}", ran.text());
    }
    let doctor: Value = ask(&damaged, "doctor -o json").answer();
    assert_eq!(found(&doctor, "kubelet-restart").len(), 1, "{doctor}");
}

#[test]
fn what_is_so_already_is_no_effect_of_a_change() {
    let short = changed(|it| {
        let node = &mut it["statsSummary"]["found"]["value"]["node"];
        node["memory"]["availableBytes"] = json!(1_000_000);
    });
    let ask =
        |line: &str| kq(&format!("what-if {line} --snapshot s.json")).within(short.path()).run();
    let ran = ask("label a=b");
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.text().contains("is short without the change too"), "{}", ran.text());
    let ran = ask("memory-available 500Ki");
    assert_eq!(ran.code, 1, "{}", ran.text());
}

#[test]
fn images_that_go_for_their_age_are_a_finding() {
    let ran = kq(&format!(
        "doctor --set imageMaximumGCAge=1h --set imageGCHighThresholdPercent=95 {NODE}"
    ))
    .run();
    assert!(ran.stdout.contains("unused for longer than imageMaximumGCAge"), "{}", ran.text());
    // Without the times of its images, the kubelet may remove fewer.
    let without = changed(|it| it["imageRecords"] = json!({ "found": null, "tried": [] }));
    let ran = kq("gc dry-run -o json --snapshot s.json").within(without.path()).run();
    let answer: Value = ran.answer();
    let text = answer["headline"]["text"].as_str().expect("a sentence");
    assert!(text.starts_with("up to "), "{text}");
}

#[test]
fn a_limit_of_a_pod_comes_before_thresholds() {
    let folder = changed(|it| {
        let pods = it["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
        let pod = pods.iter_mut().find(|it| it["pod"]["metadata"]["name"] == "scratch");
        let resources = &mut pod.expect("the pod")["pod"]["spec"]["containers"][0]["resources"];
        *resources = json!({ "limits": { "ephemeral-storage": "1Mi" } });
    });
    // Also where what is reclaimed is enough for the threshold.
    for hard in ["10%", "15%"] {
        let ran = kq("evict rank --signal nodefs.available -o json --snapshot s.json")
            .arg("--set")
            .arg(format!("evictionHard={{\"nodefs.available\":\"{hard}\"}}"))
            .within(folder.path())
            .run();
        let answer: Value = ran.answer();
        let text = answer["headline"]["text"].as_str().expect("a sentence");
        let first = "batch/scratch is evicted first: it exceeds a limit of its own; ";
        assert!(text.starts_with(first), "{text}");
        assert_eq!(answer["first"]["oneOf"][0]["name"], "scratch", "{answer}");
        assert_eq!(answer["first"]["overOwnLimits"], true, "{answer}");
    }
    let ask = |line: &str| kq(line).within(folder.path()).run();
    let table = ask("evict rank --signal nodefs.available --snapshot s.json");
    let first = "\nFIRST      batch/scratch: above limits of their own\n";
    assert!(table.stdout.contains(first), "{}", table.text());
    let doctor = ask("doctor batch/scratch --snapshot s.json");
    assert!(!doctor.stdout.contains(" of 8 for "), "{}", doctor.text());
    assert!(doctor.stdout.contains("evicted first, before any for"), "{}", doctor.text());
    let none = kq(&format!("evict rank --signal memory.available -o json {NODE}"))
        .arg("--set")
        .arg("evictionHard={\"memory.available\":\"0%\"}")
        .run();
    let none: Value = none.answer();
    assert_eq!(none["headline"]["code"], "no-threshold", "{none}");
}

#[test]
fn a_soft_threshold_waits_while_a_hard_one_is_crossed() {
    let ran = kq(&format!("evict rank -o json {NODE}"))
        .arg("--set")
        .arg("evictionHard={\"nodefs.available\":\"15%\"}")
        .arg("--set")
        .arg("evictionSoft={\"memory.available\":\"15Gi\"}")
        .arg("--set")
        .arg("evictionSoftGracePeriod={\"memory.available\":\"1h\"}")
        .run();
    assert_eq!(ran.answer::<Value>()["signal"], "nodefs.available", "{}", ran.text());
}

#[test]
fn default_thresholds_are_no_answer_about_images() {
    let folder = changed(|it| it["kubeletConfig"] = unanswered());
    let ask = |line: &str| kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
    for line in ["gc dry-run --at-usage 97%", "gc dry-run --trigger eviction --at-usage 97%"] {
        let ran = ask(line);
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
    }
    let ran = ask("what-if disk 95");
    assert!(!ran.stdout.contains("ERROR      image-gc"), "{}", ran.text());
    assert!(ran.stdout.contains("the images that go: the thresholds"), "{}", ran.text());
    assert_eq!(ran.code, 3, "{}", ran.text());
    let fleet = kq("fleet ask s.json -- gc dry-run --at-usage 97%").within(folder.path()).run();
    assert!(fleet.stdout.contains("undecided"), "{}", fleet.text());
}

#[test]
fn a_fact_that_decides_about_no_image_is_not_missing() {
    let folder = changed(|it| it["imageRecords"] = json!({ "found": null, "tried": [] }));
    let line = "gc dry-run --set imageGCHighThresholdPercent=95 -o json --snapshot s.json";
    let answer: Value = kq(line).within(folder.path()).run().answer();
    assert_eq!(answer["headline"]["code"], "nothing", "{answer}");
    assert_eq!(answer["missing"], json!([]), "{answer}");
    let folder = changed(|it| it["runtime"] = unanswered());
    let ran = kq("gc explain --disk --snapshot s.json").within(folder.path()).run();
    assert!(ran.stdout.contains("depends on unknown facts"), "{}", ran.text());
    assert_eq!(ran.code, 3, "{}", ran.text());
}

/// A source that did not answer.
fn unanswered() -> Value {
    json!({"found": null, "tried": [{"source": "x", "reason": "connection refused"}]})
}

#[test]
fn pods_that_the_runtime_has_and_no_list_has_are_missing() {
    let folder = changed(|it| it["pods"]["found"]["value"]["pods"] = json!([]));
    let ran = kq("admit explain")
        .arg(repository().join("examples/critical.yaml").display().to_string())
        .arg("--snapshot")
        .arg("s.json")
        .within(folder.path())
        .run();
    assert_eq!(ran.code, 3, "{}", ran.text());
}

/// Returns the answer about a pod of a file on a node with these others.
fn admitted(version: &str, pod: &str, others: &str) -> super::Ran {
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n" },
        "status": { "capacity": { "cpu": "4", "memory": "8Gi", "pods": "10" },
            "allocatable": { "cpu": "4", "memory": "8Gi", "pods": "10" } } });
    let folder = folder_with(&[
        ("n.json", node.to_string()),
        ("p.yaml", pod.into()),
        ("o.yaml", others.into()),
    ]);
    let line = "admit explain p.yaml --node-file n.json --pods o.yaml --kubelet-version";
    kq(line).arg(version).within(folder.path()).run()
}

#[test]
fn what_a_patch_brought_holds_from_that_patch_on() {
    let pod = |name: &str, more: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: d, uid: u-{name}}}\n\
             spec: {{nodeName: 'n', containers: [{{name: c, image: i}}], {more}}}\n"
        )
    };
    let sidecar = "initContainers: [{name: s, image: i, restartPolicy: Always, ports: [{containerPort: 80, hostPort: 80}]}]";
    let (new, holder) = (pod("new", sidecar), pod("holder", sidecar));
    for (version, code) in [("1.33.5", 0), ("1.33.6", 1), ("1.34.1", 1)] {
        let ran = admitted(version, &new, &holder);
        assert_eq!(ran.code, code, "{version}: {}", ran.text());
    }
    let folder = folder_with(&[(
        "p.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, resources: {limits: {cpu: 1501m}}}]}\n",
    )]);
    for (version, quota) in [("1.33.7", "150100 100000"), ("1.33.8", "151000 100000")] {
        let line = "cgroup plan p.yaml --capacity cpu=8,memory=16Gi --cgroup-driver systemd --kubelet-version";
        let ran = kq(line).arg(version).within(folder.path()).run();
        assert!(ran.stdout.contains(quota), "{version}: {}", ran.text());
    }
}

#[test]
fn a_kernel_with_the_other_cgroups_has_no_values_of_before() {
    let file = repository().join("tests/nodes-v2/22-swap-limited/before.kq.json.gz");
    let packed = std::process::Command::new("gzip").arg("-dc").arg(file).output().expect("gzip");
    let folder = folder_with(&[("s.json", packed.stdout)]);
    let ran = kq("what-if kernel cgroup=v1 set failCgroupV1=false -o json --snapshot s.json")
        .within(folder.path())
        .run();
    let answer: Value = ran.answer();
    let values = answer["values"].as_array().expect("values");
    assert!(!values.is_empty(), "{answer}");
    for value in values {
        assert_eq!(value["before"], Value::Null, "{value}");
        assert!(!["cpu.weight", "memory.max"].contains(&value["file"].as_str().expect("a name")));
    }
}

#[test]
fn a_driver_that_the_kubelet_does_not_ask_for_is_not_reported() {
    let file = repository().join("tests/nodes-v2/22-swap-limited/before.kq.json.gz");
    let packed = std::process::Command::new("gzip").arg("-dc").arg(file).output().expect("gzip");
    let folder = folder_with(&[("s.json", packed.stdout)]);
    let ran = kq("what-if kubelet-version 1.33 feature-gates KubeletCgroupDriverFromCRI=false set cgroupDriver=cgroupfs --snapshot s.json")
        .within(folder.path())
        .run();
    assert!(ran.stdout.contains("drivers-differ"), "{}", ran.text());
    assert!(!ran.stdout.contains("ignores cgroupDriver"), "{}", ran.text());
}

#[test]
fn a_percentage_of_memory_is_of_the_whole_in_every_command() {
    let folder = changed(|it| {
        let config = &mut it["kubeletConfig"]["found"]["value"]["value"];
        config["evictionHard"]["memory.available"] = json!("5%");
    });
    // 5% of 16000Mi are 800Mi.
    for (left, code) in [("700Mi", 1), ("900Mi", 0)] {
        let line = format!("what-if memory-available {left} --snapshot s.json");
        let ran = kq(&line).within(folder.path()).run();
        assert_eq!(ran.code, code, "{left}: {}", ran.text());
        assert_eq!(ran.stdout.contains("threshold of 800Mi"), code == 1, "{left}: {}", ran.text());
    }
}

#[test]
fn the_pod_that_is_evicted_first_has_a_finding() {
    let folder = changed(|it| {
        let config = &mut it["kubeletConfig"]["found"]["value"]["value"];
        config["evictionHard"]["memory.available"] = json!("7Gi");
    });
    let said = "memory.available is below its threshold, and the kubelet evicts this pod first";
    let rank = kq("evict rank --signal memory --snapshot s.json").within(folder.path()).run();
    assert!(rank.stdout.contains("batch/report-day"), "{}", rank.text());
    for (line, code) in
        [("doctor batch/report-day", 1), ("why batch/report-day", 0), ("doctor shop/cart-0", 0)]
    {
        let ran = kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
        assert_eq!(
            ran.stdout.contains(said),
            line.contains("report-day"),
            "{line}: {}",
            ran.text()
        );
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
    }
}

#[test]
fn what_is_unknown_is_no_refusal() {
    let new = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new", "namespace": "shop"},
        "spec": {"securityContext": {"sysctls": SYSCTLS},
                 "containers": [{"name": "c", "image": "i", "resources": RESOURCES}]}}"#;
    let large = r#"{"requests": {"cpu": "100"}}"#;
    let gpu = r#"{"limits": {"example.com/gpu": "1"}}"#;
    let no_devices: fn(&mut Value) = |it| {
        it["devices"]["checkpoint"] = unanswered();
        it["devices"]["podResources"] = unanswered();
    };
    let no_config: fn(&mut Value) = |it| it["kubeletConfig"] = unanswered();
    let no_pressure: fn(&mut Value) = |it| {
        let conditions = &mut it["node"]["found"]["value"]["status"]["conditions"];
        for condition in conditions.as_array_mut().expect("conditions") {
            if condition["type"] != "Ready" {
                condition["status"] = json!("Unknown");
            }
        }
        it["statsSummary"] = super::lookups::not_asked();
    };
    for (resources, change, check) in [
        (gpu, no_devices, "devices"),
        ("{}", no_pressure, "pressure"),
        ("{}", no_config, "sysctls"),
    ] {
        let folder = changed(change);
        let sysctls = match check {
            "sysctls" => r#"[{"name": "net.core.somaxconn", "value": "1"}]"#,
            _ => "[]",
        };
        let new = new.replace("SYSCTLS", sysctls);
        let pod = new.replace("RESOURCES", resources);
        std::fs::write(folder.path().join("new.json"), pod).expect("written");
        for line in ["admit explain new.json", "preempt explain new.json"] {
            let ran = kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
            let said = format!("not known whether worker-3 admits it: {check}: whi");
            let said = if check == "devices" { said } else { said.replace("whi", "whether") };
            assert!(ran.stdout.contains(&said), "{line}: {}", ran.text());
            assert_eq!(ran.code, 3, "{line}: {}", ran.text());
            let fleet = kq(&format!("fleet ask s.json -- {line}")).within(folder.path()).run();
            assert!(fleet.stdout.contains("undecided"), "{line}: {}", fleet.text());
        }
        let json = kq("admit explain new.json -o json --snapshot s.json").within(folder.path());
        let answer: Value = json.run().answer();
        assert_eq!(answer["admitted"], Value::Null, "{answer}");
        let ran = kq("what-if add new.json --snapshot s.json").within(folder.path()).run();
        assert!(ran.stdout.contains("starts or refused"), "{}", ran.text());
        assert!(!ran.stdout.contains("ERROR"), "{}", ran.text());
        assert_eq!(ran.code, 3, "{}", ran.text());
        if check == "pressure" {
            // It is refused under pressure too.
            let pod = new.replace("RESOURCES", large);
            std::fs::write(folder.path().join("new.json"), pod).expect("written");
            for line in ["admit explain new.json", "preempt explain new.json"] {
                let ran = kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
                assert_eq!(ran.code, 1, "{line}: {}", ran.text());
            }
        }
    }
}

#[test]
fn reserved_cpus_that_the_machine_lacks_are_seen_by_their_number() {
    let config = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n\
                  reservedSystemCPUs: ";
    let node = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {
        "capacity": {"cpu": "8", "memory": "8Gi", "pods": "110"},
        "allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"},
        "nodeInfo": {"kubeletVersion": "v1.36.2"}}}"#;
    let pods = r#"{"apiVersion": "v1", "kind": "List", "items": []}"#;
    for (cpus, code) in [("6-7", 3), ("6-9", 1), ("0-9", 1)] {
        let config = format!("{config}\"{cpus}\"\n");
        let folder =
            folder_with(&[("config.yaml", &*config), ("node.json", node), ("pods.json", pods)]);
        let line = "what-if kubelet-restart --kubelet-config config.yaml --node-file node.json \
                    --pods pods.json --cgroup-version 2";
        let ran = kq(line).within(folder.path()).run();
        let said = format!("reserved-cpus: {cpus} is not a subset of online-cpus: 0-7");
        assert_eq!(ran.stdout.contains(&said), code == 1, "{cpus}: {}", ran.text());
        assert_eq!(ran.code == 1, code == 1, "{cpus}: {}", ran.text());
    }
}

#[test]
fn a_pod_in_a_final_phase_ends_at_a_restart() {
    let folder = changed(|it| {
        let all = it["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
        let mut pods = all.iter_mut();
        let scratch = pods.find(|it| it["pod"]["metadata"]["name"] == "scratch").expect("a pod");
        scratch["pod"]["status"]["phase"] = json!("Failed");
    });
    for line in ["admit explain --kubelet-restart", "what-if kubelet-restart -o json"] {
        let ran = kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
        assert!(ran.text().contains("its phase is final"), "{line}: {}", ran.text());
    }
}

#[test]
fn a_warning_of_the_last_start_is_no_news() {
    let folder = changed(|it| {
        let flags = it["kubelet"]["found"]["value"]["flags"].as_array_mut().expect("flags");
        flags.push(json!({"name": "max-pods", "value": "110"}));
    });
    let said = "Flag --max-pods has been deprecated";
    for (line, code) in [("kubelet-restart", 0), ("flags --pods-per-core=9", 1)] {
        let ran = kq(&format!("what-if {line} --snapshot s.json")).within(folder.path()).run();
        assert!(ran.stdout.contains(said), "{line}: {}", ran.text());
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
    }
}

#[test]
fn a_configuration_of_the_node_is_no_usage_error() {
    let folder = changed(|it| {
        let config = &mut it["kubeletConfig"]["found"]["value"]["value"];
        config["enforceNodeAllocatable"] = json!(["pods", "kube-reserved"]);
        config["kubeReservedCgroup"] = json!("/kubelet");
    });
    for line in ["cgroup plan", "cgroup diff", "cgroup shares"] {
        let ran = kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
        assert!(ran.stderr.contains("the kubelet refuses this configuration"), "{}", ran.text());
    }
}

#[test]
fn a_class_counts_the_desired_resources_of_a_pod_that_is_being_resized() {
    let folder = changed(|it| {
        let all = it["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
        let mut pods = all.iter_mut();
        let pod = pods.find(|it| it["pod"]["metadata"]["name"] == "report-day").expect("a pod");
        pod["pod"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("5");
        let status = &mut pod["pod"]["status"];
        let statuses = status["containerStatuses"].as_array_mut().expect("statuses");
        statuses[0]["allocatedResources"] = json!({"cpu": "400m", "memory": "768Mi"});
        let pending = json!({"type": "PodResizePending", "status": "True", "reason": "Infeasible",
            "message": "Node didn't have enough capacity: cpu, requested: 5000, capacity: 3800"});
        match status["conditions"].as_array_mut() {
            Some(conditions) => conditions.push(pending),
            None => status["conditions"] = json!([pending]),
        }
    });
    let weight = |line: &str, list: &str, of: &dyn Fn(&Value) -> Option<String>| {
        let ran = kq(&format!("{line} -o json --snapshot s.json")).within(folder.path()).run();
        let answer: Value = ran.answer();
        let items = answer[list].as_array().expect("a list").clone();
        items.iter().find_map(of).unwrap_or_else(|| panic!("{line}: {}", ran.text()))
    };
    let compared = weight("cgroup diff", "items", &|it| {
        let is_class = it["cgroup"] == "/kubepods/burstable" && it["file"] == "cpu.weight";
        is_class.then(|| it["planned"].as_str().map(str::to_owned)).flatten()
    });
    let text = kq("cgroup plan --snapshot s.json").within(folder.path()).run();
    let row = text.stdout.lines().find(|line| line.contains("burstable")).expect("a row");
    assert!(row.split_whitespace().any(|word| word == compared), "{compared}: {}", text.text());
    // Its own cgroup has what was allocated.
    let own = text.stdout.lines().find(|line| line.contains("batch/report-day")).expect("a row");
    assert!(own.split_whitespace().any(|word| word == "16"), "{}", text.text());
    assert!(
        text.stderr.contains("its own cgroups have the allocated resources"),
        "{}",
        text.text()
    );
}

/// A start counts a deleted pod whose containers are gone until its worker has finished it.
#[test]
fn a_deleted_pod_may_take_the_place_of_others_at_a_start() {
    let folder = changed(|it| {
        let day = "b324183e-d5ca-48f6-8025-de1640f56bd6";
        let pods = it["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
        for pod in pods.iter_mut().filter(|it| it["pod"]["metadata"]["uid"] == day) {
            pod["pod"]["metadata"]["deletionTimestamp"] = json!("2026-11-22T03:00:00Z");
        }
        let runtime = &mut it["runtime"]["found"]["value"];
        let sandboxes = runtime["sandboxes"]["found"]["value"].as_array_mut().expect("sandboxes");
        sandboxes
            .iter_mut()
            .filter(|it| it["uid"] == day)
            .for_each(|it| it["ready"] = json!(false));
        let containers =
            runtime["containers"]["found"]["value"].as_array_mut().expect("containers");
        containers
            .iter_mut()
            .filter(|it| it["podUid"] == day)
            .for_each(|it| it["state"] = json!("exited"));
        it["node"]["found"]["value"]["status"]["allocatable"]["cpu"] = json!("3300m");
    });
    for line in ["admit explain --kubelet-restart", "what-if kubelet-restart"] {
        let ran = kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
        let text = "deleted pods whose containers are gone take a place";
        assert!(ran.stdout.contains(text), "{line}: {}", ran.text());
        assert!(!ran.stdout.contains("batch/report-day"), "{line}: {}", ran.text());
        assert_eq!(ran.code, 1, "{line}: {}", ran.text());
    }
}

/// What pods request is all that is left of a damaged checkpoint.
#[test]
fn a_restart_with_a_damaged_checkpoint_has_the_pods_that_request_devices() {
    let damaged =
        json!({"found": {"source": "c", "value": {"error": "unexpected end"}}, "tried": []});
    let folder = changed(|it| {
        it["devices"]["checkpoint"] = damaged;
        it["devices"]["podResources"] = unanswered();
    });
    let ask = |line: &str| kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
    for line in ["devices plan", "admit explain", "what-if"] {
        let restart = if line == "what-if" { "kubelet-restart" } else { "--kubelet-restart" };
        let ran = ask(&format!("{line} {restart}"));
        assert!(ran.stdout.contains("ml/train-0"), "{line}: {}", ran.text());
        assert!(ran.stdout.contains("forgot the example.com/gpu"), "{line}: {}", ran.text());
        assert_eq!(ran.code, 1, "{line}: {}", ran.text());
    }
}

/// Of a pod that requests no device, no fact about devices is missing.
#[test]
fn a_plan_for_a_pod_without_devices_lacks_none() {
    let folder = changed(|it| {
        it["devices"]["checkpoint"] = unanswered();
        it["devices"]["podResources"] = unanswered();
        it["kubeletConfig"] = unanswered();
    });
    let plain = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n";
    std::fs::write(folder.path().join("p.yaml"), plain).expect("a file");
    let ask = |line: &str| kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
    for (pod, code) in [("p.yaml", 0), ("shop/cart-0", 0), ("ml/train-0", 3)] {
        let ran = ask(&format!("devices plan {pod}"));
        assert_eq!(ran.code, code, "{pod}: {}", ran.text());
        assert!(
            code == 3 || ran.stdout.contains("no container requests devices"),
            "{}",
            ran.text()
        );
    }
}

/// A pod that the start refuses is not evicted as well.
#[test]
fn the_pods_that_a_start_ends_are_not_evicted_first() {
    for threshold in [r#"{"nodefs.available":"20%"}"#, r#"{"memory.available":"15Gi"}"#] {
        let change = format!("evictionHard={threshold}");
        let ran = kq(&format!("what-if -o json {NODE}")).arg("set").arg(change).run();
        let answer: Value = ran.answer();
        let crossed = answer["items"].as_array().expect("findings").iter();
        let crossed: Vec<String> = crossed
            .filter(|it| it["id"] == "eviction" && it["severity"] == "ERROR")
            .map(ToString::to_string)
            .collect();
        assert!(!crossed.is_empty(), "{answer}");
        assert!(crossed.iter().all(|it| !it.contains("batch/report-day")), "{crossed:?}");
    }
}

/// A threshold without its grace period is the first line, and no empty table.
#[test]
fn lint_names_a_threshold_that_is_refused() {
    let folder = changed(|it| {
        let config = &mut it["kubeletConfig"]["found"]["value"]["value"];
        config["evictionSoft"] = json!({"memory.available": "1Gi"});
    });
    let ran = kq("gc lint --snapshot s.json").within(folder.path()).run();
    let first = ran.stdout.lines().nth(1).unwrap_or_default();
    assert!(first.contains("grace period must be specified"), "{}", ran.text());
    assert_eq!(ran.code, 1, "{}", ran.text());
}

/// Where the kubelet did not say how many devices are healthy, both commands lack it.
#[test]
fn devices_that_are_only_recorded_are_missing() {
    let folder = changed(|it| it["devices"]["podResources"] = unanswered());
    for line in ["devices list", "devices capacity"] {
        let ran = kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
    }
}

/// What depends on the configuration is not answered by the defaults.
#[test]
fn an_unknown_configuration_leaves_changes_and_state_files_open() {
    let folder = changed(|it| it["kubeletConfig"] = unanswered());
    for line in ["gc apply --dry-run", "devices verify"] {
        let ran = kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
        assert_eq!(ran.code, 3, "{line}: {}", ran.text());
    }
}

/// A limit that could not be read is no limit that is missing.
#[test]
fn a_limit_that_was_not_read_is_missing() {
    let folder = changed(|it| {
        let tree = it["cgroups"]["found"]["value"]["cgroups"].as_object_mut().expect("cgroups");
        tree.values_mut().for_each(|texts| {
            texts.as_object_mut().expect("files").remove("cpu.max");
        });
    });
    let ran = kq("cgroup throttling --snapshot s.json").within(folder.path()).run();
    assert!(ran.stderr.contains("missing: cpu.max of 8 of 8 rows"), "{}", ran.text());
    assert!(ran.stdout.contains(" ? "), "{}", ran.text());
    assert_eq!(ran.code, 3, "{}", ran.text());
}

/// On several NUMA nodes, a policy that is not known may refuse a pod with devices.
#[test]
fn an_unknown_topology_policy_may_refuse_a_pod_with_devices() {
    let gpu = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "g", "namespace": "d"}, "spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"limits": {"example.com/gpu": "1"}}}]}}"#;
    for (numa_nodes, code) in [(1, 0), (2, 3)] {
        let folder = changed(|it| {
            it["kubeletConfig"] = unanswered();
            it["node"]["found"]["value"]["status"]["allocatable"]["example.com/gpu"] = json!("2");
            if numa_nodes == 2 {
                let texts = &mut it["host"]["texts"];
                texts["/sys/devices/system/node/"] = json!({"read": "node0\nnode1"});
                texts["/sys/devices/system/node/node1/cpulist"] = json!({"read": "\n"});
                texts["/sys/devices/system/node/node1/meminfo"] =
                    json!({"read": "Node 1 MemTotal: 0 kB\n"});
            }
        });
        std::fs::write(folder.path().join("g.json"), gpu).expect("a file");
        let ran = kq("admit explain g.json --snapshot s.json").within(folder.path()).run();
        assert_eq!(ran.code, code, "{numa_nodes}: {}", ran.text());
    }
}

/// The answer of `/configz` is a configuration wherever one is named.
#[test]
fn the_answer_of_configz_is_taken_as_a_change_too() {
    let configz = r#"{"kubeletconfig": {"maxPods": 2}}"#;
    let folder = folder_with(&[("configz.json", configz)]);
    let night = repository().join("examples/night/worker-3.json");
    let line = format!("what-if config configz.json --snapshot {}", night.display());
    let ran = kq(&line).within(folder.path()).run();
    assert!(!ran.text().contains("the kubelet exits"), "{}", ran.text());
    assert!(ran.stdout.contains("allocatable pods: 110 becomes 2"), "{}", ran.text());
}

/// Each answer about a kubelet that kq does not know says by which rules it is computed.
#[test]
fn an_unknown_version_is_said_with_each_answer() {
    let folder = changed(|it| {
        it["kubeletVersion"]["found"]["value"] = json!("v1.99.0");
        it["node"]["found"]["value"]["status"]["nodeInfo"]["kubeletVersion"] = json!("v1.99.0");
    });
    for line in ["why shop/cart-0", "doctor", "doctor shop/cart-0", "evict rank"] {
        let ran = kq(&format!("{line} --snapshot s.json")).within(folder.path()).run();
        assert!(ran.stderr.contains("1.99.0 is computed by those of"), "{line}: {}", ran.text());
    }
}
