//! A memory limit that a resize lowers, beside what the kernel and the kubelet count as in use.

use crate::cli::{Ran, folder_with, kq, repository};
use serde_json::{Value, json};
use std::fs;

const POD: &str = "/kubepods/burstable/pod53840580-5c35-41ae-83ae-ae6cef7fce0d";
const CONTAINER: &str = "63b37402b1d0791584764e802b6eaba127b2a03c57c7e0dada395e1a4808d739";

/// Asks for another memory limit of a pod whose container uses 712 MiB.
fn asked(limit: &str, flags: &str, edit: impl FnOnce(&mut Value)) -> Ran {
    let text = fs::read_to_string(repository().join("examples/night/worker-3.json"));
    let mut node = serde_json::from_str(&text.expect("an example")).expect("JSON");
    edit(&mut node);
    let folder = folder_with(&[("node.json", node.to_string())]);
    let line =
        format!("what-if resize checkout-6d5f7 memory-limit={limit} --snapshot node.json {flags}");
    kq(&line).within(folder.path()).run()
}

fn tree(node: &mut Value) -> &mut Value {
    &mut node["cgroups"]["found"]["value"]["cgroups"]
}

#[test]
fn a_limit_is_compared_with_what_is_in_use() {
    let pod_uses = |bytes: u64| {
        move |node: &mut Value| tree(node)[POD]["memory.current"] = format!("{bytes}\n").into()
    };
    let nothing_known = |node: &mut Value| {
        let container = format!("{POD}/{CONTAINER}");
        tree(node)[&container].as_object_mut().expect("files").remove("memory.current");
        let pods = &mut node["statsSummary"]["found"]["value"]["pods"];
        pods[2]["memory"] = Value::Null;
    };
    let reported = |node: &mut Value| {
        let stats = &mut node["statsSummary"]["found"]["value"]["pods"][2];
        stats["memory"]["usageBytes"] = json!(790_000_000);
    };
    let restarting = |node: &mut Value| {
        let pod = &mut node["pods"]["found"]["value"]["pods"][2]["pod"];
        pod["spec"]["containers"][0]["resizePolicy"] =
            json!([{"resourceName": "memory", "restartPolicy": "RestartContainer"}]);
    };
    let message = |pod: u64, of_container: bool| {
        let pod_text =
            format!("attempting to set pod memory limit (734003200) below current usage ({pod})");
        let container = format!(
            "attempting to set container \"checkout\" memory limit (734003200) below current usage ({pod})"
        );
        match of_container {
            true => format!("cannot decrease memory limits: [{pod_text}, {container}]"),
            false => format!("cannot decrease memory limits: {pod_text}"),
        }
    };
    let unknown = "whether the memory in use is below the new limit".to_owned();
    let written = "at resize".to_owned();
    for (name, ran, code, expected) in [
        ("both above", asked("700Mi", "", pod_uses(760_000_000)), 1, message(760_000_000, true)),
        (
            "the pod alone above",
            asked("700Mi", "", |node| {
                pod_uses(740_000_000)(node);
                let container = format!("{POD}/{CONTAINER}");
                tree(node)[&container]["memory.current"] = "700000000\n".into();
            }),
            1,
            message(740_000_000, false),
        ),
        ("below", asked("800Mi", "", pod_uses(760_000_000)), 0, written.clone()),
        ("the kubelet's number", asked("800Mi", "", reported), 0, written.clone()),
        ("the container's alone", asked("800Mi", "", |_| {}), 0, "assumed: the memory in use of shop/checkout-6d5f7 is that of its containers".to_owned()),
        ("the container's alone, above", asked("700Mi", "", |_| {}), 1, message(746_586_112, true)),
        ("nothing", asked("700Mi", "", nothing_known), 1, unknown),
        ("it restarts first", asked("700Mi", "", restarting), 1, "checkout restarts".to_owned()),
        (
            "1.32",
            asked(
                "700Mi",
                "--kubelet-version 1.32 --feature-gates InPlacePodVerticalScaling=true",
                pod_uses(760_000_000),
            ),
            1,
            "aborting attempt to set pod memory limit less than current memory usage for pod checkout-6d5f7"
                .to_owned(),
        ),
    ] {
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.code, code, "{name}: {said}");
        assert!(said.contains(&expected), "{name}: {said}");
        assert_eq!(said.contains("at resize"), code == 0 || !said.contains("no file is written:"), "{name}: {said}");
    }
}
