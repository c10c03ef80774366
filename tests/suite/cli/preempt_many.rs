//! `kq preempt explain` on a node with far more pods than any has: the time grows with the pods, not with
//! their square.

use super::{folder_with, kq};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

const COUNT: usize = 100_000;

/// Returns a list of pods of which no two need be alike: every third has no status, every seventh a class
/// that only its cluster knows.
fn pods(differ: bool) -> (String, usize) {
    let mut pods = String::from(r#"{"apiVersion":"v1","kind":"List","items":["#);
    let mut cpu_of_all = 0;
    for number in 0..COUNT {
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

/// Asks for a part of the CPUs that all pods have, and returns how many lines the answer has.
fn victims(differ: bool, part: usize) -> usize {
    let (pods, cpu) = pods(differ);
    let list = format!(r#"{{"cpu":"{cpu}m","memory":"100Ti","pods":"{}"}}"#, COUNT + 1);
    let node = format!(
        r#"{{"kind":"Node","metadata":{{"name":"n"}},"status":{{"capacity":{list},"allocatable":{list}}}}}"#
    );
    let new = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"new"}},"spec":{{"priority":2000000000,"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{}m"}}}}}}]}}}}"#,
        cpu / part
    );
    let folder = folder_with(&[("pods.json", pods), ("node.json", node), ("new.json", new)]);
    let start = Instant::now();
    let line = "preempt explain new.json --pods pods.json --node-file node.json";
    let ran = kq(line).within(folder.path()).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("is killed") || ran.stdout.contains("pods are killed"));
    assert!(start.elapsed() < Duration::from_secs(50), "{:?}", start.elapsed());
    ran.stdout.lines().count()
}

#[test]
fn a_hundred_thousand_pods_of_all_sizes_take_a_moment() {
    let lines = victims(true, 2);
    assert!((20_000..40_000).contains(&lines), "{lines}");
}

#[test]
fn a_hundred_thousand_equal_pods_take_a_moment() {
    let lines = victims(false, 2);
    assert!((50_000..50_010).contains(&lines), "{lines}");
}
