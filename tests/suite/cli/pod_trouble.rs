//! What is wrong with a pod, in `kq doctor` and `kq why`: the example node, changed.

use super::agreement::changed;
use super::{Ran, kq};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Returns a pod of the snapshot.
fn pod<'s>(snapshot: &'s mut Value, name: &str) -> &'s mut Value {
    let pods = snapshot["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
    let pod = pods.iter_mut().find(|it| it["pod"]["metadata"]["name"] == name);
    &mut pod.expect("a pod of the name")["pod"]
}

/// Runs kq about the snapshot in a folder.
fn ask(folder: &TempDir, line: &str) -> Ran {
    kq(&format!("{line} --snapshot s.json")).within(folder.path()).run()
}

/// Returns the findings of an answer that have this ID.
fn findings(ran: &Ran, id: &str) -> Vec<Value> {
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let items = answer["findings"].as_array().or(answer["items"].as_array());
    let items = items.expect("findings").iter();
    items.filter(|it| it["id"] == id).cloned().collect()
}

#[test]
fn an_image_that_is_not_pulled_is_named_with_the_words_of_the_registry() {
    const IMAGE: &str = "registry.example.com/cart:9";
    const WORDS: &str =
        "rpc error: code = NotFound desc = failed to pull and unpack image: not found";
    let back_off = format!("Back-off pulling image \"{IMAGE}\"");
    let event = json!({
        "pod": {"namespace": "shop", "name": "cart-0", "uid": ""}, "container": "cart",
        "related": null, "reason": "Failed", "reporter": "kubelet", "host": "worker-3",
        "message": format!("Failed to pull image \"{IMAGE}\": {WORDS}"),
        "firstAt": "2026-11-22T03:00:00Z", "at": "2026-11-22T03:05:00Z", "count": 4,
    });
    for (reason, message, has_event) in [
        ("ErrImagePull", WORDS.to_owned(), false),
        ("ImagePullBackOff", back_off.clone(), true),
        ("ImagePullBackOff", format!("{back_off}: ErrImagePull: {WORDS}"), false),
    ] {
        let folder = changed(|it| {
            let pod = pod(it, "cart-0");
            pod["status"]["phase"] = json!("Pending");
            let status = &mut pod["status"]["containerStatuses"][0];
            status["containerID"] = json!("");
            status["state"] = json!({"waiting": {"reason": reason, "message": message}});
            if has_event {
                let events = it["events"]["found"]["value"].as_array_mut().expect("events");
                let mut event = event.clone();
                event["pod"]["uid"] = json!("35fd43b3-61e6-44f0-8780-94903fb5892b");
                events.push(event);
            }
        });
        for line in ["doctor shop/cart-0 -o json", "why shop/cart-0 -o json"] {
            let ran = ask(&folder, line);
            let found = findings(&ran, "stuck-pods");
            let [finding] = found
                .iter()
                .filter(|it| it["found"].as_str().is_some_and(|it| it.contains("image")))
                .collect::<Vec<_>>()[..]
            else {
                panic!("{line}: {found:?}")
            };
            let text = |field: &str| finding[field].as_str().unwrap_or_default().to_owned();
            let image = if reason == "ErrImagePull" { String::new() } else { format!(" {IMAGE}") };
            assert_eq!(text("found"), format!("its image{image} cannot be pulled ({reason})"));
            assert!(text("why").contains(WORDS), "{line}: {finding}");
            assert!(text("leadsTo").contains("before each pull"), "{line}: {finding}");
            assert!(text("advice").contains("imagePullSecrets"), "{line}: {finding}");
            assert!(findings(&ran, "restarts").is_empty(), "{line}: {}", ran.text());
        }
        if has_event {
            let ran = ask(&folder, "why shop/cart-0");
            assert!(ran.stdout.contains("Failed by kubelet (4 times)"), "{}", ran.text());
        }
    }
}

#[test]
fn commands_of_a_finding_name_its_pod_and_why_does_not_point_to_itself() {
    let folder = changed(|it| {
        let status = &mut pod(it, "cart-0")["status"]["containerStatuses"][0];
        status["restartCount"] = json!(7);
        status["state"] = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        let status = &mut pod(it, "scratch")["status"]["containerStatuses"][0];
        status["state"] = json!({"waiting": {"reason": "CreateContainerConfigError"}});
    });
    let doctor = ask(&folder, "doctor");
    for line in ["see: kq why shop/cart-0", "see: kubectl describe pod scratch -n batch"] {
        assert!(doctor.stderr.contains(line), "{line}: {}", doctor.text());
    }
    let why = ask(&folder, "why shop/cart-0");
    assert!(!why.text().contains("see: kq why"), "{}", why.text());
    assert!(!why.text().contains(" POD"), "{}", why.text());
}

#[test]
fn an_unknown_check_is_no_explanation_and_no_pass() {
    let folder = changed(|it| {
        // How many devices are healthy decides the state of the pod's device.
        it["devices"]["podResources"] =
            json!({"tried": [{"source": "kubelet.sock", "reason": "refused"}]});
        let events = it["events"]["found"]["value"].as_array_mut().expect("events");
        events.clear();
    });
    let doctor = ask(&folder, "doctor ml/train-0 -o json");
    let answer: Value = serde_json::from_str(&doctor.stdout).expect("JSON");
    let severities: Vec<&Value> =
        answer["findings"].as_array().expect("findings").iter().map(|it| &it["severity"]).collect();
    assert!(severities.contains(&&json!("UNKNOWN")), "{answer}");
    assert_eq!(doctor.code, if severities.contains(&&json!("ERROR")) { 1 } else { 3 }, "{answer}");
    let why = ask(&folder, "why ml/train-0");
    let is_explained = severities.iter().any(|it| **it == "ERROR" || **it == "WARNING");
    assert_eq!(why.code, if is_explained { 0 } else { 3 }, "{}", why.text());
}

#[test]
fn an_oom_kill_below_the_limit_of_the_container_is_one_finding() {
    let folder = changed(|it| {
        let end =
            json!({"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-11-22T03:00:00Z"});
        let status = &mut pod(it, "cart-0")["status"]["containerStatuses"][0];
        status["lastState"] = json!({"waiting": null, "running": null, "terminated": end});
        let cgroups = it["cgroups"]["found"]["value"]["cgroups"].as_object_mut().expect("cgroups");
        let own = cgroups.iter_mut().find(|(path, _)| path.contains("54c76b53fb58"));
        let (_, files) = own.expect("the container's cgroup");
        files["memory.events"] =
            json!("low 0\nhigh 0\nmax 0\noom 0\noom_kill 1\noom_group_kill 0\n");
    });
    let ran = ask(&folder, "doctor shop/cart-0 -o json");
    let found = findings(&ran, "oom-kills");
    let [kill] = &found[..] else { panic!("{found:?}") };
    let text = |field: &str| kill[field].as_str().unwrap_or_default();
    assert!(text("found").contains("last end, at 2026-11-22T03:00:00Z"), "{kill}");
    assert!(text("why").starts_with("the container did not reach its own limit"), "{kill}");
    assert!(text("advice").contains("journalctl -k"), "{kill}");
}

#[test]
fn a_pod_whose_newest_sandbox_is_not_ready_is_stopped() {
    for (policy, ready, expected) in [
        ("Always", false, Some("starts them again in a new sandbox")),
        ("Never", false, Some("does not start them again")),
        ("Always", true, None),
    ] {
        let folder = changed(|it| {
            pod(it, "cart-0")["spec"]["restartPolicy"] = json!(policy);
            let sandboxes = &mut it["runtime"]["found"]["value"]["sandboxes"]["found"]["value"];
            let sandboxes = sandboxes.as_array_mut().expect("sandboxes");
            let own = sandboxes.iter_mut().find(|it| it["name"] == "cart-0").expect("its sandbox");
            // An older one that is not ready decides nothing.
            let mut older = own.clone();
            older["id"] = json!("older");
            older["ready"] = json!(!ready);
            older["createdAt"] = json!(1);
            own["ready"] = json!(ready);
            sandboxes.push(older);
        });
        let ran = ask(&folder, "doctor shop/cart-0 -o json");
        let found = findings(&ran, "stuck-pods");
        assert_eq!(found.len(), usize::from(expected.is_some()), "{policy}: {}", ran.text());
        let leads_to = |it: &Value| it["leadsTo"].as_str().unwrap_or_default().to_owned();
        assert!(
            found.iter().all(|it| leads_to(it).contains(expected.unwrap_or_default())),
            "{found:?}"
        );
    }
}

#[test]
fn a_pressure_that_outlasts_its_threshold_evicts_no_pod() {
    let report = |it: &mut Value| {
        let conditions = &mut it["node"]["found"]["value"]["status"]["conditions"];
        let conditions = conditions.as_array_mut().expect("conditions");
        conditions.retain(|it| it["type"] != "DiskPressure");
        conditions.push(json!({"type": "DiskPressure", "status": "True"}));
    };
    let over = changed(report);
    let ran = ask(&over, "doctor");
    assert!(ran.stdout.contains("DiskPressure is still True"), "{}", ran.text());
    for words in ["for 5m0s (evictionPressureTransitionPeriod)", "no pod is evicted for it now"] {
        assert!(ran.stderr.contains(words), "{words}: {}", ran.text());
    }
    let crossed = ask(&over, "doctor --set evictionHard={\"nodefs.available\":\"50%\"}");
    assert!(crossed.stdout.contains("DiskPressure True"), "{}", crossed.text());
    assert!(!crossed.stdout.contains("still True"), "{}", crossed.text());
}

#[test]
fn thresholds_of_a_refused_configuration_wait_for_its_correction() {
    let tried =
        json!({"found": null, "tried": [{"source": "/proc", "reason": "no process kubelet"}]});
    for (field, advice) in [
        ("kubeletConfig", "let kq reach the kubelet's API"),
        ("kubelet", "correct what kubelet-start names"),
    ] {
        let folder = changed(|it| {
            let config = &mut it["kubeletConfig"]["found"]["value"]["value"];
            config["featureGates"] = json!({"NoSuchGate": true});
            it[field] = tried.clone();
        });
        let ran = ask(&folder, "doctor -o json");
        let found = findings(&ran, "eviction");
        let [thresholds] = &found[..] else { panic!("{}", ran.text()) };
        let sentence = "the thresholds are unknown, because the kubelet's configuration is unknown";
        assert_eq!(thresholds["found"], sentence, "{thresholds}");
        let text = thresholds["advice"].as_str().expect("an advice");
        assert!(text.starts_with(advice), "{field}: {thresholds}");
    }
}

#[test]
fn what_is_left_of_an_ended_pod_is_no_trouble_of_it() {
    for keeps_containers in [true, false] {
        let folder = changed(|it| {
            let status = &mut pod(it, "train-0")["status"];
            status["phase"] = json!("Failed");
            status["reason"] = json!("UnexpectedAdmissionError");
            let uid = pod(it, "train-0")["metadata"]["uid"].clone();
            let runtime = &mut it["runtime"]["found"]["value"];
            if !keeps_containers {
                let list = &mut runtime["containers"]["found"]["value"];
                list.as_array_mut().expect("containers").retain(|it| it["podUid"] != uid);
                let list = &mut runtime["sandboxes"]["found"]["value"];
                list.as_array_mut().expect("sandboxes").retain(|it| it["uid"] != uid);
            }
        });
        let ran = ask(&folder, "doctor ml/train-0");
        assert_eq!(ran.code, 0, "{}", ran.text());
        for words in ["the container keeps the device", "raise its memory limit", "cgroup-values"] {
            assert!(!ran.text().contains(words), "{words}: {}", ran.text());
        }
        let words = "when a pod next requests devices";
        let frees = ran.stderr.contains("a pod next requests devices");
        assert!(frees, "{words}: {}", ran.text());
    }
}

#[test]
fn a_word_that_is_no_pod_leads_to_its_command() {
    let folder = changed(|_| ());
    for (line, hint) in [
        ("doctor worker-3", "hint: kq doctor checks the node"),
        ("doctor certificates", "hint: kq doctor has its result"),
        ("doctor disk", "hint: kq doctor --snapshot s.json checks the disk"),
        ("why kubelet", "hint: kq doctor has its result"),
        ("why shop checkout-6d5f7", "hint: kq why shop/checkout-6d5f7 --snapshot s.json"),
        ("doctor shop checkout-6d5f7", "hint: kq doctor shop/checkout-6d5f7 --snapshot s.json"),
        ("why ml/train-0 -c train", "hint: kq why ml/train-0 --snapshot s.json, which is about"),
        ("inspecti shop/train", "hint: kq gc explain shop/train --snapshot s.json"),
        ("preempt explain FILE --static", "--static: there is no file FILE"),
        ("preempt explain shop/cart-0 --static", "shop/cart-0 is already a pod of the node"),
        ("gc explain train", "shop.example/train:cuda-11, shop.example/train:cuda-12"),
    ] {
        let ran = ask(&folder, line);
        assert_eq!(ran.code, if line == "why kubelet" { 3 } else { 2 }, "{line}: {}", ran.text());
        assert!(ran.stderr.contains(hint), "{line}: {}", ran.text());
    }
    for line in ["doctor --severity error", "doctor --check certificates"] {
        let ran = ask(&folder, line);
        assert!(!ran.stderr.contains("similar argument"), "{line}: {}", ran.text());
    }
    let ran = kq("doctor --watch --interval 5").run();
    assert!(ran.stderr.contains("such as 5s"), "{}", ran.text());
    assert_eq!(ask(&folder, "evict rank --signal nodefs").code, 0);
}

#[test]
fn pods_that_were_not_read_are_unknown_not_absent() {
    let folder = changed(|it| {
        let tried = [json!({"source": "https://10.0.0.1:6443", "reason": "connection refused"})];
        it["pods"] = json!({"found": null, "tried": tried});
    });
    let ran = ask(&folder, "doctor shop/cart-1");
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stderr.contains("the pods of this node are unknown"), "{}", ran.text());
    assert!(!ran.stderr.contains("no pod shop/cart-1"), "{}", ran.text());
}

#[test]
fn two_pods_of_one_name_are_told_apart_by_uid() {
    let folder = changed(|it| {
        let mut second = pod(it, "cart-0").clone();
        second["metadata"]["uid"] = json!("35fd43b3-61e6-44f0-8780-000000000002");
        let pods = it["pods"]["found"]["value"]["pods"].as_array_mut().expect("pods");
        let mut loaded = pods[0].clone();
        loaded["pod"] = second;
        pods.push(loaded);
    });
    for line in ["preempt why shop/cart-0", "doctor shop/cart-0"] {
        let ran = ask(&folder, line);
        assert_eq!(ran.code, 2, "{line}: {}", ran.text());
        let uids = "use the UID: 35fd43b3-61e6-44f0-8780-94903fb5892b, 35fd43b3-61e6-44f0-8780-000000000002";
        assert!(ran.stderr.contains(uids), "{line}: {}", ran.text());
    }
}

#[test]
fn a_signal_without_a_threshold_evicts_no_pod() {
    let ran = kq("evict rank --signal pid.available --snapshot examples/night/worker-3.json").run();
    assert!(!ran.stdout.contains("BEFORE"), "{}", ran.text());
    assert!(ran.stdout.contains("FIRST      none; with a threshold ml/train-0"), "{}", ran.text());
    let list = kq("devices list -o json --snapshot examples/devices/snapshot.json").run();
    let answer: Value = serde_json::from_str(&list.stdout).expect("JSON");
    assert!(!answer.to_string().contains("of 0 in use"), "{answer}");
}

#[test]
fn sentences_count_and_name_a_thing_once() {
    let folder = changed(|it| {
        it["devices"]["podResources"]["found"]["value"]["allocatable"]["found"]["value"]["devices"] =
            json!([]);
    });
    let ran = ask(&folder, "doctor -v");
    for line in [
        "source: kubelet: process 871\n",
        "source: device checkpoint: 1 entry from",
        "source: pod resources: 1 pod from",
        "no device of the resource is healthy",
    ] {
        assert!(ran.text().contains(line), "{line}: {}", ran.text());
    }
    // It asks the machine that it runs on.
    assert!(!ran.text().contains("kq devices plugins"), "{}", ran.text());
    let empty = changed(|it| {
        it["pods"]["found"]["value"]["pods"] = json!([]);
        let runtime = &mut it["runtime"]["found"]["value"];
        for list in ["containers", "sandboxes"] {
            runtime[list]["found"]["value"] = json!([]);
        }
    });
    let ran = ask(&empty, "admit explain --kubelet-restart -o json");
    assert!(ran.stdout.contains("there are no pods"), "{}", ran.text());
    assert!(!ran.stdout.contains("all 0 pods"), "{}", ran.text());
}
