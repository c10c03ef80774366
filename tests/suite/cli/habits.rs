//! The habits of kubectl and crictl: each row of `docs/kubectl-users.md` runs.

use super::{Ran, folder_with, kq, repository};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

/// The names of pods on the recorded node, with their namespaces.
const NODE: &str = "examples/night/worker-3.json";

#[test]
fn every_row_of_the_document_is_answered() {
    let text = std::fs::read_to_string(repository().join("docs/kubectl-users.md"))
        .expect("the document is there");
    let mut snapshot = "";
    let mut rows = 0;
    for line in text.lines() {
        if let Some(named) = line.strip_prefix("    export KQ_SNAPSHOT=") {
            snapshot = named;
        }
        let cells: Vec<&str> = line.split("` | `").collect();
        let [habit, command] = cells.as_slice() else { continue };
        assert!(habit.starts_with("| `kubectl ") || habit.starts_with("| `crictl "), "{line}");
        let command = command.strip_suffix("` |").and_then(|it| it.strip_prefix("kq "));
        let command = command.unwrap_or_else(|| panic!("{line}"));
        let ran = kq(command).env("KQ_SNAPSHOT", snapshot).run();
        assert!(ran.code != 2 && !ran.stdout.is_empty(), "kq {command}: {}", ran.text());
        let said = format!("snapshot: {snapshot}, named by KQ_SNAPSHOT");
        assert!(ran.stderr.starts_with(&said), "kq {command}: {}", ran.stderr);
        rows += 1;
    }
    assert!(rows >= 20, "{rows}");
}

#[test]
fn labels_select_pods() {
    let labelled = |line: &str, selector: &str| {
        kq(line).arg("-l").arg(selector).env("KQ_SNAPSHOT", NODE).run()
    };
    let rank = "evict rank --signal memory -o jsonpath={.items[*].name}";
    for (selector, expected) in [
        ("app=cart", "cart-0"),
        ("app in (cart,checkout),tier!=front", "cart-0"),
        ("app=report", "report-day report-week"),
        ("!app,!k8s-app", "scratch"),
    ] {
        let ran = labelled(rank, selector);
        let mut names: Vec<&str> = ran.stdout.split(' ').collect();
        names.sort_unstable();
        assert_eq!(names.join(" "), expected, "{selector}: {}", ran.stderr);
    }
    for line in ["cgroup show", "cgroup plan", "cgroup diff", "cgroup shares", "devices list"] {
        let ran = labelled(&format!("{line} -o json"), "app=train");
        let has = |pod| ran.stdout.contains(pod);
        assert!(has("train-0") && !has("cart-0"), "kq {line}: {}", ran.text());
    }
    for (line, selector, expected) in [
        ("cgroup show", "app=none", "no pod on this node is known to have the labels app=none"),
        ("cgroup show -n ml", "app=cart", "no pod in namespace ml is known"),
        ("cgroup show shop/cart-0", "app=cart", "pod shop/cart-0 is named"),
        ("devices list train-0", "app=train", "pod train-0 is named"),
        ("probe lint cart-0", "app=cart", "cart-0 is named"),
        ("cgroup diff", "app near (a)", "\"app near (a)\": expected KEY=VALUE"),
        ("preempt lint", "", "expected KEY=VALUE"),
    ] {
        let ran = labelled(line, selector);
        assert!(ran.code == 2 && ran.stderr.contains(expected), "kq {line}: {}", ran.text());
    }
}

#[test]
fn unknown_labels_are_missing_facts() {
    let text = std::fs::read_to_string(repository().join(NODE)).expect("the snapshot is there");
    let whole: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let (mut earlier, mut partly) = (whole.clone(), whole);
    earlier["pods"]["found"]["value"]["withLabels"] = false.into();
    // Only the runtime, the cgroups and the measurements have cart-0.
    let pods = partly["pods"]["found"]["value"]["pods"].as_array_mut().expect("a list");
    pods.retain(|it| it["pod"]["metadata"]["name"] != "cart-0");
    let folder = folder_with(&[
        ("earlier.json", earlier.to_string()),
        ("partly.json", partly.to_string()),
        ("pods.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: cart}}, spec: {containers: [{name: a}]}}\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: b}, spec: {template: {metadata: {labels: {app: b}}, spec: {containers: [{name: c}]}}}}".to_owned()),
    ]);
    let ask = |line: &str, snapshot: &str| {
        kq(&format!("{line} --snapshot {snapshot}")).within(folder.path()).run()
    };
    for line in ["cgroup show", "evict rank --signal memory", "cgroup diff", "preempt lint"] {
        let ran = ask(&format!("{line} -l app=cart"), "earlier.json");
        let expected = "pods, whose labels are unknown: ";
        assert!(ran.code == 3 && ran.stderr.contains(expected), "kq {line}: {}", ran.text());
    }
    // A pod without a specification has no rank, and the ranking says so itself.
    let missing = "missing: --selector leaves out shop/cart-0: its labels are unknown (--pods)";
    for (line, expected) in [
        ("cgroup show", missing),
        ("cgroup diff", missing),
        ("cgroup shares", missing),
        ("devices list", missing),
        ("preempt lint", missing),
        ("probe lint", missing),
        ("evict rank --signal memory", "missing: the specifications of shop/cart-0 are not known"),
    ] {
        let app = if line.starts_with("devices") { "train" } else { "checkout" };
        let ran = ask(&format!("{line} -l app={app}"), "partly.json");
        let is_partial = ran.code == 3 || (line == "cgroup diff" && ran.code == 1);
        assert!(is_partial && ran.stderr.contains(expected), "kq {line}: {}", ran.text());
    }
    // Pods of workloads have no names yet.
    for (app, others) in [("cart", "default/b"), ("b", "default/a")] {
        let ran = kq(&format!("cgroup plan -f pods.yaml -l app={app} --capacity cpu=1,memory=1Gi"))
            .within(folder.path())
            .run();
        let is_shown = ran.stdout.contains("default/") && !ran.stdout.contains(others);
        assert!(ran.code == 0 && is_shown, "{app}: {}", ran.text());
    }
}

fn on_node(line: &str) -> Ran {
    kq(line).env("KQ_SNAPSHOT", NODE).run()
}

#[test]
fn a_namespace_is_of_names_and_lists() {
    let shop = on_node("cgroup show -n shop -o json").stdout;
    assert!(shop.contains("cart-0") && !shop.contains("scratch"), "{shop}");
    assert_eq!(
        on_node("cgroup show cart-0 -n shop").stdout,
        on_node("cgroup show shop/cart-0").stdout
    );
    for (line, expected) in [
        ("cgroup show cart-0 -n batch", "no pod batch/cart-0 on this node"),
        ("cgroup show -n other", "no pod in namespace other on this node"),
        ("cgroup diff shop/cart-0 -n batch", "are two namespaces"),
        ("cgroup show cart-0 -n shop -A", "cannot be used with"),
        ("admit explain -f examples/night/dns.yaml -n shop", "name their own"),
        ("devices plan cart-1 -n shop", "no pod shop/cart-1"),
        ("probe plan cart-1 -n shop", "did you mean shop/cart-0?"),
        ("cgroup show card-0", "did you mean shop/cart-0?"),
    ] {
        let ran = on_node(line);
        assert!(ran.code == 2 && ran.stderr.contains(expected), "kq {line}: {}", ran.text());
    }
}

#[test]
fn the_environment_names_the_snapshot() {
    let by_flag = kq(&format!("cgroup show --snapshot {NODE}")).run();
    assert_eq!(on_node("cgroup show").stdout, by_flag.stdout);
    // The flag wins, and then the variable is not spoken of.
    let both = kq("cgroup show").env("KQ_SNAPSHOT", "none.json").arg("--snapshot").arg(NODE).run();
    assert_eq!(both.text(), by_flag.text());
    let empty = kq("schema").env("KQ_SNAPSHOT", "").run();
    assert_eq!((empty.code, empty.stderr.as_str()), (0, ""));
    for line in ["cgroup show --host-root /x", "cgroup show -w", "gc images -r unix:///x.sock"] {
        let ran = on_node(line);
        let hint = format!("hint: KQ_SNAPSHOT stands for --snapshot here: {NODE}; unset it\n");
        assert!(ran.code == 2 && ran.stderr.ends_with(&hint), "kq {line}: {}", ran.text());
    }
    let missing = kq("gc images").env("KQ_SNAPSHOT", "none.json").run();
    assert!(missing.stderr.contains("none.json, named by KQ_SNAPSHOT"), "{}", missing.stderr);
}

#[test]
fn a_new_snapshot_is_not_the_named_one() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("new.json");
    let store = |flags: &str| on_node(&format!("snapshot -o {} {flags}", file.display()));
    let ran = store("");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert_eq!(
        ran.stderr,
        format!(
            "kq: KQ_SNAPSHOT names a snapshot, and this command takes a new one: {NODE}\n\
             hint: to store this node, unset KQ_SNAPSHOT\n\
             hint: to store that snapshot again, name it with --snapshot\n"
        )
    );
    assert!(!file.exists());
    // The flag is the most recent input.
    let ran = store(&format!("--snapshot {NODE}"));
    assert_eq!((ran.code, file.exists()), (0, true), "{}", ran.text());
    assert!(!ran.stderr.contains("KQ_SNAPSHOT"), "{}", ran.stderr);
}

#[test]
fn formats_are_those_of_kubectl() {
    let rank = "evict rank --signal memory -n shop";
    let names = on_node(&format!("{rank} -o name")).stdout;
    assert!(names.lines().all(|line| line.starts_with("pod/")), "{names}");
    let paths = on_node(&format!("{rank} -o jsonpath={{.items[*].name}}")).stdout;
    let listed: Vec<&str> = names.lines().filter_map(|line| line.strip_prefix("pod/")).collect();
    assert_eq!(paths.split(' ').collect::<Vec<_>>(), listed);
    let columns = on_node(&format!("{rank} -o custom-columns=NAME:.name --no-headers")).stdout;
    assert_eq!(columns.lines().collect::<Vec<_>>(), listed);
    for (format, expected) in [
        ("name", "the rows of this answer have no names"),
        ("jsonpath={.items", "{ without }"),
        ("custom-columns=NAME", "expected HEADING:PATH"),
    ] {
        let ran = on_node(&format!("gc policy -o {format}"));
        assert!(ran.code == 2 && ran.stderr.contains(expected), "{format}: {}", ran.text());
    }
}

#[test]
fn tables_are_sorted_by_a_column() {
    let column = |line: &str, at: usize| -> Vec<String> {
        let ran = on_node(&format!("{line} --no-headers"));
        assert!(ran.code == 0 || ran.code == 3, "kq {line}: {}", ran.text());
        let cells = ran.stdout.lines().filter_map(|row| row.split("   ").nth(at));
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let rank = "evict rank --signal memory -o custom-columns=NAME:.name,PRIORITY:.priority";
    let by_name = column(&format!("{rank} --sort-by name"), 0);
    assert!(by_name.len() > 5 && by_name.is_sorted(), "{by_name:?}");
    let mut reversed = column(&format!("{rank} --sort-by -NAME"), 0);
    reversed.reverse();
    assert_eq!(reversed, by_name);
    // Siblings of a tree are sorted, whatever they are below.
    let tree = |order: &str| column(&format!("cgroup show -n batch --sort-by {order}"), 0);
    let (up, down) = (tree("CGROUP"), tree("-CGROUP"));
    assert_eq!(up.len(), down.len());
    assert_ne!(up, down);
    for (line, expected) in [
        ("cgroup show --sort-by MEMRY", "did you mean MEMORY?"),
        ("evict rank --signal memory --sort-by colour", "RANK, POD, PRIORITY"),
        ("cgroup plan --sort-by QOS", "an order of their own"),
        ("evict rank --signal memory --sort-by POD -o json", "orders tables"),
        ("evict rank --signal memory --sort-by POD -o name", "orders tables"),
        ("evict rank --signal memory --sort-by -", "expected the heading of a column"),
    ] {
        let ran = on_node(line);
        assert!(ran.code == 2 && ran.stdout.is_empty(), "kq {line}: {}", ran.text());
        assert!(ran.stderr.contains(expected), "kq {line}: {}", ran.text());
    }
}

#[test]
fn findings_have_names() {
    let named = on_node("preempt lint -o name");
    let lines: Vec<&str> = named.stdout.lines().collect();
    assert!(lines.iter().all(|it| it.starts_with("pod/")), "{}", named.text());
    let doctor = on_node("doctor -o name").stdout;
    assert!(doctor.lines().any(|it| it.starts_with("pod/shop/")), "{doctor}");
    let ran = on_node("doctor shop/cart-0 -o name");
    assert!(ran.stdout.lines().all(|it| it.contains('/') || it == "node"), "{}", ran.text());
    let none = on_node("probe lint -n kube-system -l k8s-app=kube-proxy -o name");
    assert!(!none.stdout.contains("nothing found"), "{}", none.text());
}

#[test]
fn a_watch_asks_again() {
    for line in ["evict rank --signal memory", "devices list", "gc images", "gc dry-run", "doctor"]
    {
        let refused = kq(&format!("{line} -w --snapshot {NODE}")).run();
        let expected = "cannot be used with";
        assert!(refused.code == 2 && refused.stderr.contains(expected), "{}", refused.text());
        let short = kq(&format!("{line} -w --interval 1ms --host-root /nonexistent")).run();
        assert!(short.code == 2 && short.stderr.contains("at least 100ms"), "{}", short.text());
    }
}

#[test]
fn a_watch_follows_the_files_until_it_is_interrupted() {
    let stats = r#"{"node": {"nodeName": "n", "memory": {"availableBytes": 100, "workingSetBytes": 5}}, "pods": [
        {"podRef": {"name": "NAME", "namespace": "default", "uid": "u"}, "memory": {"workingSetBytes": 5}}]}"#;
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: NAME, uid: u}, spec: {containers: [{name: c}]}}";
    let named = |text: &str, name: &str| text.replace("NAME", name);
    let folder =
        folder_with(&[("stats.json", named(stats, "first")), ("pods.yaml", named(pod, "first"))]);
    let mut watch = super::kq_with_interrupts()
        .args(
            "evict rank --signal memory --pods pods.yaml --stats stats.json --no-headers"
                .split(' '),
        )
        .args("-o custom-columns=NAME:.name -w --interval 100ms --host-root .".split(' '))
        .env_clear()
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("kq can be run");
    let mut lines = BufReader::new(watch.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().expect("another answer").expect("a line");
    assert_eq!([next(), next()], ["first", "first"]);
    for (file, text) in [("stats.json", stats), ("pods.yaml", pod)] {
        let new = folder.path().join("new");
        std::fs::write(&new, named(text, "second")).expect("a file can be written");
        std::fs::rename(new, folder.path().join(file)).expect("a file can be replaced");
    }
    let changed = (0..100).map(|_| next()).any(|name| name == "second");
    assert!(changed, "the new answer never came");
    let id = watch.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().is_ok_and(|it| it.success()));
    assert_eq!(watch.wait().expect("it ends").signal(), Some(2));
}

#[test]
fn mistyped_names_get_the_near_ones() {
    for (line, snapshot, expected) in [
        ("probe plan cart-0 -c crt", NODE, "did you mean cart?"),
        (
            "devices plan -f examples/devices/pod.yaml --unhealthy gg10",
            "examples/devices/snapshot.json",
            "did you mean g10?",
        ),
        (
            "devices plan -f examples/devices/pod.yaml --unhealthy example.com/gadgt=g10",
            "examples/devices/snapshot.json",
            "did you mean example.com/gadget=g10?",
        ),
        (
            "gc explain node.test/bluk-07:v1",
            "examples/images/snapshot.json",
            "node.test/bulk-07:v1",
        ),
        ("cgroup explain memory.mx 1", NODE, "did you mean memory.max?"),
    ] {
        let ran = kq(line).env("KQ_SNAPSHOT", snapshot).run();
        assert!(ran.code == 2 && ran.stderr.contains(expected), "kq {line}: {}", ran.text());
    }
}

#[test]
fn an_unknown_flag_is_no_value() {
    for line in ["gc images -n shop", "gc policy -l app=web", "schema -x"] {
        let ran = kq(line).run();
        assert!(ran.code == 2 && !ran.stderr.contains("as a value"), "kq {line}: {}", ran.text());
    }
}
