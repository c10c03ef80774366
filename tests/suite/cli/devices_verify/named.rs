//! Files that are named, and files that a snapshot has.

use super::{CPU, DEVICES, MEMORY, STATIC, verify};
use crate::cli::{folder_with, kq};
use serde_json::{Value, json};
use std::fs;

/// A pod of the real node that the checkpoint is of, without the other one.
const PODS: &str = r#"{"kind":"List","apiVersion":"v1","items":[
    {"kind":"Pod","apiVersion":"v1",
     "metadata":{"name":"init-reuse","namespace":"default","uid":"772ccb41-0660-49f5-a7de-673fe5b0267b"},
     "spec":{"initContainers":[{"name":"i1"},{"name":"i2"}],"containers":[{"name":"main"}]},
     "status":{"phase":"Running"}}]}"#;

/// Returns the files, and the ids of the findings, of an answer.
fn answer(text: &str) -> (Vec<Value>, Vec<String>) {
    let answer: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let list = |field: &str| answer[field].as_array().expect("a list").clone();
    let id = |it: &Value| format!("{} {}", it["severity"], it["id"]).replace('"', "");
    (list("files"), list("findings").iter().map(id).collect())
}

#[test]
fn what_follows_from_damage_is_no_reason_to_delete_a_pod() {
    let name = "kubelet_internal_checkpoint";
    let text = std::str::from_utf8(DEVICES).expect("text");
    let at = text.find("772ccb41").expect("the pod is there");
    let mut bytes = DEVICES.to_vec();
    bytes[at] ^= 1;
    let (code, file, findings) = verify(name, &bytes, "");
    assert_eq!((code, &file["verdict"]), (1, &json!("DISCARDED")));
    let damage = format!("a bit flipped at offset {at}: it is '6', with '7' the checksum is right");
    assert_eq!(file["damage"]["text"], json!(damage));
    assert!(findings.iter().any(|it| it["id"] == "double"), "{findings:?}");
    for finding in &findings {
        assert_eq!(finding["severity"], "INFO", "{finding}");
        assert_eq!(finding["why"], "may follow from the damage", "{finding}");
    }
    let node = folder_with(&[(name, &bytes)]);
    let ran = kq(&format!("devices verify {name}")).within(&node).run();
    assert!(!ran.text().contains("delete"), "{}", ran.text());
    let said = "note: 2 notes hidden (-o wide)";
    assert!(ran.stderr.contains(said), "{}", ran.text());

    // The same in a file of CPUs.
    let cpus =
        r#"{"policyName":"static","defaultCpuSet":"0-1","entries":{"p":{"c":"1-2"}},"checksum":7}"#;
    let (_, file, findings) = verify("cpu_manager_state", cpus.as_bytes(), "");
    assert_eq!(file["verdict"], "REFUSED");
    let told: Vec<(&Value, &Value)> =
        findings.iter().map(|it| (&it["severity"], &it["id"])).collect();
    assert_eq!(told, [(&json!("INFO"), &json!("shared-cpus"))]);
}

#[test]
fn pods_that_are_given_tell_whose_file_it_is() {
    let name = "kubelet_internal_checkpoint";
    let node = folder_with(&[(name, DEVICES), ("pods.json", PODS.as_bytes())]);
    let ran = kq(&format!("devices verify {name} --pods pods.json -ojson")).within(&node).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    let (_, ids) = answer(&ran.stdout);
    // The one that is not in the list is gone; init containers of the other share.
    assert_eq!(ids, ["INFO stale"]);
    for (line, code, said) in [
        ("--pods none.json", 3, "none.json: no such file"),
        ("--pods kubelet_internal_checkpoint", 2, "kubelet_internal_checkpoint"),
        ("--host-root /", 0, "warning: --host-root is not used"),
    ] {
        let ran = kq(&format!("devices verify {name} {line}")).within(&node).run();
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        assert!(ran.stderr.contains(said), "{line}: {}", ran.text());
    }
}

#[test]
fn a_policy_that_no_kubelet_has_is_refused() {
    for (name, policy) in [("cpu_manager_state", "none"), ("memory_manager_state", "None")] {
        for content in ["{}", "null", r#"{"policyName":"statik"}"#] {
            let node = folder_with(&[(name, content)]);
            let ran = kq(&format!("devices verify {name}")).within(&node).run();
            assert_eq!(ran.code, 1, "{content}: {}", ran.text());
            let of_file = if content.contains("statik") { "statik" } else { "" };
            for said in [
                "REFUSED".to_owned(),
                format!(
                    "configured policy \"{policy}\" differs from state checkpoint policy \"{of_file}\""
                ),
                format!("is {policy}, the default: no kubelet has the policy \"{of_file}\""),
            ] {
                assert!(ran.text().contains(&said), "{said}: {}", ran.text());
            }
        }
    }
    // With the configuration nothing is assumed.
    let node = folder_with(&[("cpu_manager_state", "{}"), ("config.yaml", STATIC)]);
    let line = "devices verify cpu_manager_state --kubelet-config config.yaml";
    let ran = kq(line).within(&node).run();
    assert!(ran.stdout.contains("configured policy \"static\" differs"), "{}", ran.text());
    assert!(!ran.stderr.contains("assumed"), "{}", ran.text());
}

#[test]
fn files_are_told_apart_by_their_paths() {
    let node = folder_with(&[("a/cpu_manager_state", CPU), ("b/cpu_manager_state", &CPU[..40])]);
    let ran = kq("devices verify a/cpu_manager_state b/cpu_manager_state").within(&node).run();
    let line = |path: &str| ran.stdout.lines().find(|line| line.starts_with(path));
    assert!(line("a/cpu_manager_state").is_some_and(|it| it.contains("OK")), "{}", ran.text());
    assert!(line("b/cpu_manager_state").is_some_and(|it| it.contains("cut")), "{}", ran.text());
    assert!(ran.stderr.contains("fix: b/cpu_manager_state: drain"), "{}", ran.text());
    let ran = kq("devices verify /none/there -ojson").within(&node).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    let (files, _) = answer(&ran.stdout);
    assert_eq!((&files[0]["file"], &files[0]["path"]), (&Value::Null, &json!("/none/there")));
    let ran = kq("devices verify /none/there").within(&node).run();
    let told: Vec<&str> = ran.stdout.lines().nth(1).expect("a line").split("  ").collect();
    let told: Vec<&str> = told.iter().map(|it| it.trim()).filter(|it| !it.is_empty()).collect();
    assert_eq!(told, ["/none/there", "-", "-", "-", "UNREADABLE", "no such file or directory"]);
}

#[test]
fn what_is_wrong_is_told_in_full() {
    let node = folder_with(&[("cpu_manager_state", CPU)]);
    let line = "devices verify cpu_manager_state --set cpuManagerPolicy=none";
    let ran = kq(line).within(&node).run();
    assert!(ran.stdout.contains("before restarting Kubelet\n"), "{}", ran.text());
    // The kubelet does not say where it is.
    let broken =
        String::from_utf8_lossy(DEVICES).replacen("\"AllocResp\":\"C", "\"AllocResp\":\"!", 2);
    let (_, file, _) = verify("kubelet_internal_checkpoint", broken.as_bytes(), "");
    assert_eq!(file["kubeletError"], "illegal base64 data at input byte 0");
    let uid = "f15af62b-4c98-4646-8723-56f2d5065452";
    let problem =
        format!("AllocResp of {uid}/c/example.com/widget: illegal base64 data at input byte 0");
    let text = format!("JSON with something else in it than belongs there: {problem}");
    assert_eq!(file["damage"], json!({"code": "type", "problem": problem, "text": text}));
    let broken = String::from_utf8_lossy(DEVICES).replacen(
        "\"ContainerName\":\"i2\"",
        "\"ContainerName\":2",
        1,
    );
    let (_, file, _) = verify("kubelet_internal_checkpoint", broken.as_bytes(), "");
    let problem = file["damage"]["problem"].as_str().expect("a problem");
    assert!(problem.contains("the entry PodDeviceEntries[1] 772ccb41-0660-49f5-a7de-673fe5b0267b/?/example.com/widget: json: cannot unmarshal number"), "{problem}");
}

#[test]
fn a_checkpoint_and_standard_input_are_files_like_others() {
    let node = folder_with(&[("saved.json", DEVICES), ("memory_manager_state", MEMORY)]);
    let ran = kq("devices verify --checkpoint saved.json -ojson").within(&node).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    let (files, _) = answer(&ran.stdout);
    let told = (files.len(), &files[0]["file"], &files[0]["path"]);
    assert_eq!(told, (1, &json!("kubelet_internal_checkpoint"), &json!("saved.json")));
    let ran = kq("devices verify memory_manager_state - -ojson").within(&node).stdin(CPU).run();
    assert_eq!(ran.code, 0, "{}", ran.text());
    let (files, _) = answer(&ran.stdout);
    let told = (&files[1]["file"], &files[1]["path"], &files[1]["verdict"]);
    assert_eq!(told, (&json!("cpu_manager_state"), &json!("standard input"), &json!("OK")));
    for (line, code, said) in [
        ("devices verify - -", 2, "standard input cannot be read 2 times"),
        ("devices verify - --pods -", 2, "standard input cannot be read 2 times"),
        ("devices verify -", 2, "standard input: neither its name nor its content"),
        ("devices verify - --kind cpu-manager", 1, "empty"),
        ("devices verify - --kind cpu_manager_state", 1, "empty"),
        ("devices verify - --kind cpu", 2, "cpu-manager, memory-manager, allocated-pods"),
        ("devices verify - --kind cpu", 2, "cpu_manager_state, memory_manager_state"),
    ] {
        let ran = kq(line).within(&node).stdin("").run();
        assert_eq!(ran.code, code, "{line}: {}", ran.text());
        assert!(ran.text().contains(said), "{line}: {}", ran.text());
    }
}

#[test]
fn the_checkpoint_of_a_driver_is_not_the_kubelets() {
    let own = r#"{"checksum":1,"v1":{"preparedClaims":{"2c1f":{"status":{}}}}}"#;
    let newer = r#"{"checksum":1,"v2":{"checksum":2,"preparedClaims":{}}}"#;
    let node =
        folder_with(&[("plugins/gpu.nvidia.com/checkpoint.json", own), ("saved.json", newer)]);
    for (file, whose) in [
        ("plugins/gpu.nvidia.com/checkpoint.json", "the checkpoint of the driver gpu.nvidia.com,"),
        ("saved.json", "the checkpoint of a DRA driver,"),
    ] {
        let ran = kq(&format!("devices verify {file}")).within(&node).run();
        assert_eq!(ran.code, 2, "{}", ran.text());
        assert!(
            ran.stderr.contains(&format!("it is not the kubelet's: it is {whose}")),
            "{}",
            ran.text()
        );
        assert!(ran.stderr.contains("dra_manager_state"), "{}", ran.text());
    }
}

#[test]
fn what_a_snapshot_was_never_given_is_missing() {
    let verdicts = |ran: &str| -> Vec<String> {
        let (files, _) = answer(ran);
        files.iter().map(|it| it["verdict"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let ran = kq("devices verify --snapshot examples/devices/snapshot.json -ojson").run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    let expected = ["OK", "UNKNOWN", "UNKNOWN", "UNRECORDED", "UNRECORDED", "UNRECORDED"];
    assert_eq!(verdicts(&ran.stdout), expected);
    // Where no kubelet ran, absent files prove nothing: the same from the node and from a snapshot of it.
    let node = folder_with(&[("root/proc/sys/kernel/hostname", "n")]);
    let live = kq("devices verify --host-root root -ojson").within(&node).run();
    assert_eq!(live.code, 3, "{}", live.text());
    let ran = kq("snapshot --host-root root -o node.json").within(&node).run();
    assert!(node.path().join("node.json").exists(), "{}", ran.text());
    let stored = kq("devices verify --snapshot node.json -ojson").within(&node).run();
    assert_eq!(stored.code, 3, "{}", stored.text());
    assert_eq!(verdicts(&live.stdout), ["ABSENT"; 6]);
    assert_eq!(verdicts(&stored.stdout), ["ABSENT"; 6]);
    // Nothing is left to judge.
    let text = fs::read_to_string(node.path().join("node.json")).expect("a snapshot");
    let mut snapshot: Value = serde_json::from_str(&text).expect("JSON");
    snapshot["stateFiles"]["files"] = json!({});
    snapshot["devices"] = Value::Null;
    fs::write(node.path().join("node.json"), snapshot.to_string()).expect("written");
    let ran = kq("devices verify --snapshot node.json").within(&node).run();
    assert_eq!(ran.code, 3, "{}", ran.text());
    assert!(ran.stdout.contains("is not in the snapshot"), "{}", ran.text());
}

#[test]
fn one_that_nobody_recognises_does_not_keep_the_others_from_being_judged() {
    let folder = folder_with(&[
        ("cpu_manager_state", String::from_utf8_lossy(CPU).into_owned()),
        ("notes", "{}".to_owned()),
    ]);
    let run = |line: &str| kq(&format!("devices verify {line}")).within(folder.path()).run();
    let ran = run("notes cpu_manager_state");
    assert_eq!(ran.code, 1, "{}", ran.text());
    assert!(ran.stdout.contains("UNRECOGNISED   neither its name nor"), "{}", ran.text());
    assert!(ran.stdout.contains("OK "), "{}", ran.text());
    for alone in ["notes", "notes ."] {
        let ran = run(alone);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{alone}: {}", ran.text());
        assert!(ran.stderr.contains("set it with --kind"), "{alone}: {}", ran.text());
    }
}

#[test]
fn advice_goes_by_what_can_be_saved() {
    let good = String::from_utf8_lossy(DEVICES).into_owned();
    let folder =
        folder_with(&[("changed", good.replace("w0", "w7")), ("nothing", "{}".to_owned())]);
    let run = |file: &str| {
        let line = format!("devices verify {file} --kind devices");
        kq(&line).within(folder.path()).run()
    };
    let changed = run("changed");
    let says = "fix: changed: a kubelet that runs has it all in memory, and nothing is lost";
    assert!(changed.stderr.contains(says), "{}", changed.text());
    assert!(changed.stderr.contains("stopped: kq devices repair --rebuild"), "{}", changed.text());
    let nothing = run("nothing");
    assert!(
        nothing.stderr.contains("fix: nothing: nothing in it can be saved"),
        "{}",
        nothing.text()
    );
    assert!(!nothing.stderr.contains("kq devices repair"), "{}", nothing.text());
    assert!(!nothing.stdout.contains("1.20 and later"), "{}", nothing.text());
    assert!(nothing.stdout.contains("JSON with nothing in it that"), "{}", nothing.text());
}
