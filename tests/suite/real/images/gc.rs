//! `kq gc dry-run`, `apply` and `images` on real containerds: what is predicted goes, and nothing else.

use super::node::text;
use super::{ImageNode, UserState, on_each};
use crate::cli::{Ran, kq};
use kq_linux::cri::v1;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The file system's own overhead.
const OWN: u64 = 128 << 10;

/// The kubelet has been up for long enough for every image.
const LONG_UP: &str = "--kubelet-start 1h --set imageMinimumGCAge=10m";

/// The pods with what has become of them.
const PODS: &[(&str, &str)] =
    &[("serving", "Running"), ("done", "Succeeded"), ("starting", "Pending")];

/// The kubelet's configuration on these nodes.
const CONFIG: &str =
    r#"{"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}"#;

impl ImageNode {
    /// Returns the arguments of `kq LINE` on this node, with pods of which each has a phase.
    pub fn arguments(&self, line: &str, pods: &[(&str, &str)]) -> Vec<String> {
        let (config, list) = (self.folder.join("kubelet.json"), self.folder.join("pods.json"));
        std::fs::write(&config, CONFIG).expect("a file can be written");
        let pod = |(name, phase): &(&str, &str)| {
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": "gc", "uid": format!("uid-of-{name}")},
                "spec": {"containers": [{"name": name, "image": name}]},
                "status": {"phase": phase},
            })
        };
        let items: Vec<Value> = pods.iter().map(pod).collect();
        let items = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        std::fs::write(&list, items).expect("a file can be written");
        let mut arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        option("--runtime-endpoint", self.endpoint());
        option("--kubelet-config", text(&config));
        option("--pods", text(&list));
        option("--kubelet-version", "1.36".to_owned());
        option("--timeout", "30s".to_owned());
        arguments
    }
}

#[test]
fn what_is_predicted_goes_and_nothing_else() {
    on_each(|node| {
        let running = node.run("serving", "localhost/kq/web:stable", UserState::Running);
        let ended = node.run("done", &node.made("app-2").id, UserState::Exited);
        node.run("starting", "localhost/kq/db:1", UserState::Created);
        users_and_pins_are_listed(node);
        node.fill(90);
        nothing_goes_that_is_too_young(node);
        space_is_freed_as_predicted(node);
        what_is_to_be_kept_is_and_no_more_go_than_allowed(node);
        under_pressure_containers_go_before_their_images(node, &ended.container);
        let state = node.container_status(&running.container).state;
        assert_eq!(state, v1::ContainerState::ContainerRunning as i32);
    });
}

fn run(node: &ImageNode, line: &str) -> Ran {
    let arguments = node.arguments("", PODS).into_iter();
    arguments.fold(kq(line), |run, argument| run.arg(argument)).run()
}

fn parsed(ran: &Ran) -> Value {
    ran.answer()
}

/// Returns the ids that a plan removes, in its order.
fn predicted(plan: &Value) -> Vec<String> {
    let items = plan["items"].as_array().expect("a plan has items").iter();
    let goes = |item: &&Value| item["verdict"].as_str().is_some_and(|it| it.starts_with("removed"));
    items.filter(goes).map(|item| item["id"].as_str().expect("an id").to_owned()).collect()
}

/// Returns the ids that were removed, in their order, and fails where anything else became of one.
#[track_caller]
fn removed(report: &Value) -> Vec<String> {
    let items = report["items"].as_array().expect("a report has items").iter();
    let id = |item: &Value| {
        assert_eq!(item["result"], "removed", "{item}");
        item["id"].as_str().expect("an id").to_owned()
    };
    items.map(id).collect()
}

/// Fails unless the runtime lists what it listed before, but for what was removed.
#[track_caller]
fn only_these_went(node: &ImageNode, before: &BTreeMap<String, v1::Image>, gone: &[String]) {
    let gone: BTreeSet<&String> = gone.iter().collect();
    let as_listed = |image: &v1::Image| {
        let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<String>>();
        (sorted(&image.repo_tags), sorted(&image.repo_digests), image.size, image.pinned)
    };
    let expected: BTreeMap<_, _> = before
        .iter()
        .filter(|(id, _)| !gone.contains(id))
        .map(|(id, image)| (id.clone(), as_listed(image)))
        .collect();
    let listed = node.images();
    let listed: BTreeMap<_, _> =
        listed.iter().map(|(id, image)| (id.clone(), as_listed(image))).collect();
    assert_eq!(listed, expected);
}

fn users_and_pins_are_listed(node: &ImageNode) {
    let list = parsed(&run(node, "gc images -o json"));
    let items = list["items"].as_array().expect("there are images");
    assert_eq!(items.len(), node.images().len());
    let of = |name: &str| {
        let id = &node.made(name).id;
        items.iter().find(|item| item["id"] == **id).expect("it is listed")
    };
    for (image, container, state) in [
        ("two-tags", "serving", "running"),
        ("app-2", "done", "exited"),
        ("db", "starting", "created"),
    ] {
        let used_by = &of(image)["usedBy"];
        assert_eq!(used_by.as_array().map(Vec::len), Some(1), "{image}: {used_by}");
        assert_eq!(used_by[0]["container"], container, "{image}");
        assert_eq!(used_by[0]["state"], state, "{image}");
    }
    assert_eq!(of("two-tags")["tags"].as_array().map(Vec::len), Some(2));
    assert_eq!(of("tiny")["usedBy"], Value::Array(Vec::new()));
    assert_eq!(of("pinned")["pinned"], node.can_pin());
}

fn nothing_goes_that_is_too_young(node: &ImageNode) {
    let before = node.images();
    let line = "gc apply --allow-unsure --yes --kubelet-start 30s --set imageMinimumGCAge=10m";
    let ran = run(node, line);
    assert_eq!(ran.code, 1, "space is wanted, and nothing can go: {}", ran.text());
    assert!(ran.stdout.ends_with("nothing to remove\n"), "{}", ran.text());
    only_these_went(node, &before, &[]);
}

fn space_is_freed_as_predicted(node: &ImageNode) {
    let before = node.images();
    let plan = parsed(&run(node, &format!("gc dry-run {LONG_UP} -o json")));
    let goes = predicted(&plan);
    assert!(goes.len() > 2, "{plan}");
    for name in ["two-tags", "app-2", "db"] {
        assert!(!goes.contains(&node.made(name).id), "{name} is in use");
    }
    assert!(!(node.can_pin() && goes.contains(&node.made("pinned").id)), "it is pinned");
    let disk = node.disk();
    assert_eq!(plan["run"]["usage"]["percent"], disk.usage_percent());
    let ran = run(node, &format!("gc apply --allow-unsure --yes {LONG_UP} -o json"));
    let after = node.disk();
    assert_eq!(ran.code, 0, "{}", ran.text());
    let report = parsed(&ran);
    assert_eq!(removed(&report), goes);
    only_these_went(node, &before, &goes);
    let names = node.ctr(&["images", "ls", "-q"]);
    for name in goes.iter().filter_map(|id| before.get(id)).flat_map(|image| &image.repo_tags) {
        assert!(!names.lines().any(|line| line == name), "{name} is still there");
    }
    for id in &goes {
        assert!(!names.lines().any(|line| line == id), "{id} is still there");
    }
    assert_eq!(report["countedBytes"], plan["freed"]["countedBytes"]);

    let real = plan["freed"]["realBytes"].as_u64().expect("a containerd tells");
    let measured = after.available_bytes - disk.available_bytes;
    let told = report["measuredBytes"].as_u64().expect("the disk can be asked");
    println!(
        "{:?}: {} images, counted {}, real {real}, measured {measured}, told {told}",
        node.version,
        goes.len(),
        plan["freed"]["countedBytes"]
    );
    assert!(real.abs_diff(measured) < OWN, "said {real}, measured {measured}");
    assert!(told.abs_diff(measured) < OWN, "told {told}, measured {measured}");

    let again = parsed(&run(node, &format!("gc dry-run {LONG_UP} -o json")));
    assert_eq!(again["run"]["wantsSpace"], false, "{again}");
    assert_eq!(predicted(&again), Vec::<String>::new());
    let ran = run(node, &format!("gc apply --allow-unsure --yes {LONG_UP}"));
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.ends_with("nothing to remove\n"), "{}", ran.text());
}

fn what_is_to_be_kept_is_and_no_more_go_than_allowed(node: &ImageNode) {
    let before = node.images();
    let line = format!("--at-usage 99% {LONG_UP}");
    let goes = predicted(&parsed(&run(node, &format!("gc dry-run {line} -o json"))));
    let [first, second, ..] = &goes[..] else { panic!("{goes:?}") };
    let keep = before[first].repo_tags.first().unwrap_or(first);
    let ran = run(
        node,
        &format!("gc apply --allow-unsure --yes {line} --max 1 --keep '^{keep}$' -o json"),
    );
    assert_eq!(ran.code, 1, "less than was wanted: {}", ran.text());
    assert_eq!(removed(&parsed(&ran)), std::slice::from_ref(second));
    only_these_went(node, &before, std::slice::from_ref(second));
}

fn under_pressure_containers_go_before_their_images(node: &ImageNode, ended: &str) {
    let before = node.images();
    let line = format!("--trigger eviction --at-usage 100% {LONG_UP}");
    let plan = parsed(&run(node, &format!("gc dry-run {line} -o json")));
    let goes = predicted(&plan);
    assert!(goes.contains(&node.made("app-2").id), "only a dead container uses it: {plan}");
    let ran = run(node, &format!("gc apply --allow-unsure --yes {line} -o json"));
    assert_eq!(ran.code, 0, "{}", ran.text());
    let report = parsed(&ran);
    assert_eq!(removed(&report), goes);
    let containers = report["containers"].as_array().expect("containers went").iter();
    let containers: Vec<_> = containers.map(|it| (&it["id"], &it["result"])).collect();
    assert_eq!(containers, [(&Value::from(ended), &Value::from("removed"))]);
    only_these_went(node, &before, &goes);
    let left = node.images();
    let mut kept = vec!["two-tags", "db"];
    kept.extend(node.can_pin().then_some("pinned"));
    assert!(kept.iter().all(|name| left.contains_key(&node.made(name).id)));
    let pause = usize::from(node.can_pin());
    assert_eq!(left.len(), kept.len() + pause, "{left:#?}");
}
