//! `kq cgroup show`, `which`, `diff`, `apply` and `rollback` on pods that really run.

use super::values::PODS;
use super::{AMPLE, Runc, Running, is_guest, node};
use crate::cli::{Ran, Run, kq};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn drift_is_named_repaired_and_taken_back() {
    let Some(node) = node() else { return };
    let running = node.run_pods(PODS, Runc::System);
    everything_matches(&running);
    let container = running.container("burstable", "one-cpu");
    let file = if is_v2(&running) { "cpu.weight" } else { "cpu.shares" };
    let read = || node.cgroups.read(&container.cgroup, file).expect("it can be read");
    let planned = read();
    node.cgroups.write(&container.cgroup, file, "77");
    let ran = live(&running, "cgroup diff -o json").run();
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(differing(&ran), [(container.cgroup.clone(), file.to_owned(), "DRIFT".to_owned())]);

    let ran = live(&running, "cgroup apply --dry-run").run();
    assert_eq!((ran.code, read().as_str()), (0, "77"), "{}", ran.stderr);
    let ran = live(&running, "cgroup apply").run();
    assert_eq!((ran.code, read().as_str()), (4, "77"), "nobody can be asked: {}", ran.stderr);

    let folder = tempfile::tempdir().expect("a folder can be made");
    let way_back = folder.path().join("before.json");
    let ran =
        live(&running, "cgroup apply --yes").arg("--rollback-file").arg(text(&way_back)).run();
    assert_eq!((ran.code, read()), (0, planned), "{}{}", ran.stdout, ran.stderr);
    everything_matches(&running);

    let ran = sources(&running, "cgroup rollback --yes").arg(text(&way_back)).run();
    assert_eq!((ran.code, read().as_str()), (0, "77"), "{}{}", ran.stdout, ran.stderr);
    let ran = sources(&running, "cgroup rollback --yes").arg(text(&way_back)).run();
    assert_eq!((ran.code, read().as_str()), (0, "77"), "again: {}{}", ran.stdout, ran.stderr);
}

#[test]
fn pods_that_come_and_go_are_no_drift() {
    if is_guest() {
        // An emulated machine takes longer to remove a pod than kq waits for its second look.
        return;
    }
    let Some(node) = node() else { return };
    let running = node.run_pods(PODS, Runc::System);
    everything_matches(&running);
    let (node, is_over, made) = (&*node, AtomicBool::new(false), AtomicUsize::new(0));
    let wrong = thread::scope(|scope| {
        let pods = scope.spawn(|| {
            let mut slow = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let number = made.load(Ordering::Relaxed);
                let uid = format!("22222222-0000-4000-8000-{number:012}");
                let pod = format!(
                    "metadata: {{name: moving-{number}, namespace: real, uid: {uid}}}\n\
                     spec: {{containers: [{{name: one}}]}}"
                );
                let begun = Instant::now();
                drop(Running::beside(node, &pod));
                if begun.elapsed() > SLOW {
                    slow.push(uid);
                }
                made.fetch_add(1, Ordering::Relaxed);
            }
            slow
        });
        let over = Over(&is_over);
        let mut wrong = Vec::new();
        let mut look = 0;
        // On a busy machine a pod takes longer than several looks.
        while look < LOOKS || made.load(Ordering::Relaxed) < PODS_THAT_MOVE && !pods.is_finished() {
            let ran = live(&running, "cgroup diff -o json").run();
            let drift = differing(&ran).into_iter();
            wrong.extend(
                drift
                    .filter(|(.., verdict)| ["DRIFT", "MISSING", "EXTRA"].contains(&&**verdict))
                    .map(|found| format!("look {look}: {found:?}")),
            );
            if look % 4 == 0 {
                let ran = live(&running, "doctor -o json").run();
                let report: Value = ran.answer();
                let checks = report["items"].as_array().expect("checks").iter();
                let named =
                    checks.filter(|it| it["id"] == "orphaned-pods" || it["id"] == "cgroup-values");
                wrong.extend(named.filter(|it| it["severity"] == "ERROR").map(Value::to_string));
            }
            look += 1;
        }
        drop(over);
        let slow = pods.join().expect("pods come and go");
        wrong.retain(|found| !slow.iter().any(|uid| found.contains(uid)));
        wrong
    });
    assert_eq!(wrong, Vec::<String>::new());
    everything_matches(&running);
    // A remaining drift is still reported.
    let container = running.container("burstable", "one-cpu");
    let file = if is_v2(&running) { "cpu.weight" } else { "cpu.shares" };
    node.cgroups.write(&container.cgroup, file, "77");
    let orphan =
        format!("{}/kubepods/besteffort/pod33333333-0000-4000-8000-000000000001", node.root);
    node.cgroups.create(&orphan);
    let ran = live(&running, "cgroup diff -o json").run();
    let expected = [
        (container.cgroup.clone(), file.to_owned(), "DRIFT".to_owned()),
        (orphan, String::new(), "EXTRA".to_owned()),
    ];
    assert_eq!(differing(&ran), expected, "{}", ran.stderr);
}

/// Signals at its end, in any case, that no more pods are needed.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The number of readings of a node on which pods come and go.
const LOOKS: usize = 12;

/// A pod that takes longer to come and go is between two states in more than one of kq's looks, which are half a second
/// apart: its cgroup without a sandbox is what kq says it is.
const SLOW: Duration = Duration::from_secs(1);

/// How many pods come and go at least.
const PODS_THAT_MOVE: usize = 4;

/// Every value of every pod, class and of the node is as planned.
#[track_caller]
fn everything_matches(running: &Running<'_>) {
    let ran = live(running, "cgroup diff -o json").run();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(differing(&ran), [], "{}", ran.stdout);
}

fn is_v2(running: &Running<'_>) -> bool {
    running.node.cgroups.version == kq_cgroup::files::CgroupVersion::V2
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Prepares a command that knows the pods as well; there is no kubelet here to ask for them.
fn live(running: &Running<'_>, line: &str) -> Run {
    let run = sources(running, line).arg("--pods").arg(text(&running.file()));
    run.arg("--kubelet-version").arg("1.36")
}

/// Prepares a command that finds out everything but what a kubelet says.
fn sources(running: &Running<'_>, line: &str) -> Run {
    let node = running.node;
    kq(line)
        .arg("--kubelet-config")
        .arg(text(&node.folder.join("kubelet.yaml")))
        .arg("--runtime-endpoint")
        .arg(format!("unix://{}", node.socket.display()))
        .arg(AMPLE)
}

/// Returns cgroup, file and verdict of all that is not as planned.
fn differing(ran: &Ran) -> Vec<(String, String, String)> {
    let report: Value = ran.answer();
    let items = report["items"].as_array().expect("a comparison has items").iter();
    assert!(items.len() > 30, "{} items", items.len());
    let text = |item: &Value, field: &str| item[field].as_str().unwrap_or_default().to_owned();
    items
        .map(|item| (text(item, "cgroup"), text(item, "file"), text(item, "verdict")))
        .filter(|(.., verdict)| !matches!(verdict.as_str(), "MATCH" | "ROUNDED"))
        .collect()
}
