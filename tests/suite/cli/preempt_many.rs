//! `kq preempt explain` on a node with far more pods than any has: up to a stated number they are searched in a
//! moment; more are refused.

use super::{Ran, folder_with, kq};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// As many as are searched.
const COUNT: usize = kq_admission::preemption::MOST_PODS;

/// Returns a list of pods of which no two need be alike: every third has no status, every seventh a class
/// that only its cluster knows.
fn pods(count: usize, differ: bool) -> (String, usize) {
    let mut pods = String::from(r#"{"apiVersion":"v1","kind":"List","items":["#);
    let mut cpu_of_all = 0;
    for number in 0..count {
        let (cpu, memory) = match differ {
            true => (1 + number * 7919 % 997, 1 + number * 104_729 % 99_991),
            false => (1, 1),
        };
        cpu_of_all += cpu;
        let class = match number % 7 {
            0 => r#""priorityClassName":"gold""#,
            _ => r#""priority":0"#,
        };
        let status = if number % 3 == 0 { "" } else { r#","status":{"phase":"Running"}"# };
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(
            pods,
            r#"{comma}{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p{number}","uid":"u{number}"}},"spec":{{"nodeName":"n",{class},"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{cpu}m","memory":"{memory}Ki"}}}}}}]}}{status}}}"#
        );
    }
    (pods + "]}", cpu_of_all)
}

/// Asks for half of the CPUs that all pods have.
fn explain(count: usize, differ: bool) -> Ran {
    let (pods, cpu) = pods(count, differ);
    let list = format!(r#"{{"cpu":"{cpu}m","memory":"100Ti","pods":"{}"}}"#, count + 1);
    let node = format!(
        r#"{{"kind":"Node","metadata":{{"name":"n"}},"status":{{"capacity":{list},"allocatable":{list}}}}}"#
    );
    let new = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"new"}},"spec":{{"priority":2000000000,"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{}m"}}}}}}]}}}}"#,
        cpu / 2
    );
    let folder = folder_with(&[("pods.json", pods), ("node.json", node), ("new.json", new)]);
    let line = "preempt explain new.json --pods pods.json --node-file node.json";
    kq(line).within(folder.path()).run()
}

/// Returns how many lines the answer has.
fn victims(differ: bool) -> usize {
    let start = Instant::now();
    let ran = explain(COUNT, differ);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("is killed") || ran.stdout.contains("pods are killed"));
    assert!(start.elapsed() < Duration::from_secs(50), "{:?}", start.elapsed());
    ran.stdout.lines().count()
}

#[test]
fn ten_thousand_pods_of_all_sizes_take_a_moment() {
    let lines = victims(true);
    assert!((COUNT / 5..COUNT / 5 * 2).contains(&lines), "{lines}");
}

#[test]
fn ten_thousand_equal_pods_take_a_moment() {
    let lines = victims(false);
    assert!((COUNT / 2..COUNT / 2 + 10).contains(&lines), "{lines}");
}

#[test]
fn more_pods_are_refused_with_their_number_and_the_limit() {
    let start = Instant::now();
    let ran = explain(100_000, true);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert_eq!(
        ran.stderr,
        "kq: 100000 pods on one node: kq searches for victims among at most 10000\n\
         hint: a kubelet runs a few hundred pods; give those of one node: --pods FILE\n"
    );
    assert_eq!(ran.stdout, "");
    assert!(start.elapsed() < Duration::from_secs(50), "{:?}", start.elapsed());
}
