//! Merging answers.

use super::*;
use kq_answer::Severity;
use kq_output::json_path::Template;
use serde_json::{Value, json};

/// Where the number of an answer is.
const PATH: &str = "run.percent";

fn outcome(node: &str, exit_code: u8, answer: Value) -> NodeOutcome {
    let template = Template::parse(PATH).expect("a path");
    let reply = Reply::of_answer(exit_code, &answer, Some(&template));
    NodeOutcome { node: node.to_owned(), group: None, reply, answer: None, disruptions: None }
}

fn failed(node: &str, exit_code: Option<u8>, why: &str) -> NodeOutcome {
    let reply = Reply::Failed { exit_code, why: NoAnswer::Refused(why.to_owned()) };
    NodeOutcome { node: node.to_owned(), group: None, reply, answer: None, disruptions: None }
}

fn checks(findings: &[(&str, &str)]) -> Value {
    let finding = |(severity, id): &(&str, &str)| json!({"severity": severity, "id": id});
    let items: Vec<Value> = findings.iter().map(finding).collect();
    json!({"kind": "NodeChecks", "summary": {}, "items": items})
}

fn ranked(thresholds: &[(&str, &str)]) -> Value {
    let distance = |(code, grace): &(&str, &str)| json!({"code": code, "threshold": {"gracePeriod": grace}, "text": ""});
    let now: Vec<Value> = thresholds.iter().map(distance).collect();
    json!({"kind": "EvictionRank", "now": now, "items": []})
}

fn shown(results: &[NodeResult]) -> Vec<String> {
    results.iter().map(ToString::to_string).collect()
}

#[test]
fn results_of_one_answer() {
    let of = |exit_code, answer| shown(&outcome("n", exit_code, answer).reply.results());
    for (name, exit_code, answer, expected) in [
        ("all is well", 0, checks(&[("OK", "kubelet"), ("INFO", "swap")]), &["OK"] as &[&str]),
        (
            "each rule once, the worst first",
            1,
            checks(&[("WARNING", "disk"), ("ERROR", "devices"), ("ERROR", "devices")]),
            &["ERROR devices", "WARNING disk"],
        ),
        ("an unknown severity is none", 3, checks(&[("BAD", "x")]), &["UNKNOWN facts are missing"]),
        (
            "refused",
            1,
            json!({"kind": "PodAdmission", "admitted": false, "refusals": [{"reason": "OutOfcpu"}]}),
            &["WARNING OutOfcpu"],
        ),
        ("admitted", 0, json!({"kind": "PodAdmission", "admitted": true}), &["admitted"]),
        ("preempts", 0, json!({"kind": "PodPreemption", "result": "preempts"}), &["preempts"]),
        (
            "no kubelet starts",
            1,
            json!({"kind": "PodPreemption", "result": "fits", "startError": "x"}),
            &["WARNING no kubelet"],
        ),
        (
            "no kubelet starts, and admits",
            1,
            json!({"kind": "PodAdmission", "admitted": true, "startError": "x"}),
            &["WARNING no kubelet"],
        ),
        (
            "collects",
            0,
            json!({"kind": "ImageGcPlan", "freed": {"images": 2}, "outcome": {"error": null}}),
            &["removes images"],
        ),
        (
            "collects too little",
            0,
            json!({"kind": "ImageGcPlan", "freed": {"images": 2}, "outcome": {"error": "x"}}),
            &["frees too little"],
        ),
        (
            "a device that is not healthy",
            0,
            json!({"kind": "DeviceList", "items": [{"state": "OK"}, {"state": "UNHEALTHY"}, {"state": "STALE"}]}),
            &["ERROR UNHEALTHY", "WARNING STALE"],
        ),
        ("far from an eviction", 0, ranked(&[("notCrossed", "0s")]), &["evicts nothing"]),
        ("pressure that ends", 0, ranked(&[("reported", "0s")]), &["evicts nothing"]),
        (
            "a pod exceeds a limit of its own",
            0,
            json!({"kind": "EvictionRank", "now": [{"code": "notCrossed"}], "items": [],
                   "before": [{"code": "reclaim"}, {"code": "localStorageLimits", "pods": ["a/b"]}]}),
            &["evicts now"],
        ),
        (
            "a threshold is crossed",
            0,
            ranked(&[("crossed", "1m30s"), ("crossed", "0s")]),
            &["evicts now"],
        ),
        (
            "only a soft one is",
            0,
            ranked(&[("crossed", "1m30s"), ("notCrossed", "0s")]),
            &["evicts after the grace period"],
        ),
        (
            "counted",
            1,
            json!({"kind": "CgroupDiff", "summary": {"MATCH": 7, "DRIFT": 1, "EXTRA": 0}, "items": [{"verdict": "DRIFT"}]}),
            &["WARNING DRIFT"],
        ),
        (
            "a long word",
            0,
            json!({"kind": "PodPreemption", "result": "x".repeat(1_000)}),
            &[&*format!("{}...", "x".repeat(200))],
        ),
        (
            "the first sentence",
            0,
            json!({"kind": "NodeAllocatable", "headline": {"code": "allocatable", "text": "for pods there are 4 of cpu"}}),
            &["for pods there are 4 of cpu"],
        ),
        ("nothing is known of this kind", 0, json!({"kind": "Other"}), &["OK"]),
        ("nor here", 1, json!({"kind": "Other", "items": []}), &["WARNING no"]),
        ("an answer of another shape", 0, json!([1]), &["OK"]),
    ] {
        assert_eq!(of(exit_code, answer), expected, "{name}");
    }
}

#[test]
fn equal_results_share_a_row_and_the_rarest_of_the_worst_are_first() {
    let mut merge = Merge::new(None);
    for (node, found) in [
        ("d", &[][..]),
        ("b", &[("ERROR", "devices"), ("WARNING", "disk")]),
        ("a", &[("ERROR", "devices")]),
        ("c", &[("ERROR", "kubelet")]),
    ] {
        merge.add(&outcome(node, u8::from(!found.is_empty()), checks(found)));
    }
    merge.add(&failed("e", Some(3), "nothing is known"));
    assert_eq!(merge.exit_code(), 1);
    let answer = merge.finish(vec!["doctor".to_owned()], None);
    let rows: Vec<(Severity, &str, usize, String)> = answer
        .items
        .iter()
        .map(|row| (row.result.severity, &*row.result.result, row.count, row.nodes.join(",")))
        .collect();
    assert_eq!(
        rows,
        [
            (Severity::Error, "kubelet", 1, "c".to_owned()),
            (Severity::Error, "devices", 2, "a,b".to_owned()),
            (Severity::Unknown, "no answer: nothing is known", 1, "e".to_owned()),
            (Severity::Warning, "disk", 1, "b".to_owned()),
            (Severity::Ok, "OK", 1, "d".to_owned()),
        ]
    );
    assert_eq!(names(&answer), ["c", "a", "b", "e", "d"]);
    assert_eq!(summary(&answer), "4 of 5 nodes answered, 1 yes, 3 no, 1 incomplete");
    assert_eq!(answer.basis.missing[0].text, "e: nothing is known");
}

#[test]
fn the_worst_exit_code_counts() {
    let code = |codes: &[u8]| {
        let mut merge = Merge::new(None);
        for (at, code) in codes.iter().enumerate() {
            merge.add(&match code {
                2 => failed(&at.to_string(), Some(2), "usage"),
                9 => failed(&at.to_string(), None, "killed"),
                code => outcome(&at.to_string(), *code, json!({"kind": "Other"})),
            });
        }
        merge.exit_code()
    };
    let rows: [(&[u8], u8); 8] = [
        (&[0, 0], 0),
        (&[0, 1, 3], 1),
        (&[0, 3], 3),
        (&[2, 2], 2),
        (&[0, 2], 3),
        (&[1, 2], 1),
        (&[0, 9], 3),
        (&[], 3),
    ];
    for (codes, expected) in rows {
        assert_eq!(code(codes), expected, "{codes:?}");
    }
}

#[test]
fn numbers_of_all_answers() {
    let mut merge = Merge::new(Some(PATH.to_owned()));
    for number in 1..=200 {
        let answer = json!({"kind": "Other", "run": {"percent": number}});
        merge.add(&outcome(&format!("n{number}"), 0, answer));
    }
    merge.add(&outcome("without", 0, json!({"kind": "Other"})));
    merge.add(&outcome("a word", 0, json!({"kind": "Other", "run": {"percent": "NaN"}})));
    let answer = merge.finish(Vec::new(), None);
    let value = answer.value.expect("numbers");
    let percentiles: Vec<(u8, f64)> = value.percentiles.into_iter().collect();
    assert_eq!(
        percentiles,
        [(0, 1.0), (10, 20.0), (50, 100.0), (90, 180.0), (99, 198.0), (100, 200.0)]
    );
    assert_eq!((value.count, &*value.highest[0].node, &*value.lowest[4].node), (200, "n200", "n5"));
    assert_eq!(answer.basis.warnings[0].text, "2 answers have no number at run.percent");
}

#[test]
fn what_changed_since() {
    let merge = |nodes: &[(&str, &[(&str, &str)])]| {
        let mut merge = Merge::new(None);
        nodes.iter().for_each(|(node, found)| merge.add(&outcome(node, 0, checks(found))));
        merge
    };
    let before = merge(&[("a", &[]), ("b", &[("ERROR", "disk")]), ("gone", &[])]);
    let after = merge(&[("a", &[("ERROR", "disk")]), ("b", &[("ERROR", "disk")]), ("new", &[])]);
    let answer = after.finish(Vec::new(), Some(before));
    let changes: Vec<(String, Vec<String>, Vec<String>)> = answer
        .changes
        .into_iter()
        .flatten()
        .map(|change| (change.node, shown(&change.before), shown(&change.after)))
        .collect();
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    assert_eq!(
        changes,
        [
            ("a".to_owned(), texts(&["OK"]), texts(&["ERROR disk"])),
            ("gone".to_owned(), texts(&["OK"]), texts(&[])),
            ("new".to_owned(), texts(&[]), texts(&["OK"])),
        ]
    );
}

#[test]
fn csv_quotes_what_needs_it() {
    assert_eq!(csv(None), "node,group,exitCode,severity,results");
    let formula = failed("=1", Some(2), "x");
    assert_eq!(csv(Some(&formula)), "'=1,,2,UNKNOWN,no answer: x");
    let odd = failed("a,\"b", Some(3), "x\ny");
    assert_eq!(csv(Some(&odd)), "\"a,\"\"b\",,3,UNKNOWN,\"no answer: x\ny\"");
}
