//! `cpu_manager_state`

use super::{judge, places, told};
use crate::verify::{Verification, VerifyContext};
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::cpu_manager::{CpuState, encode};
use serde_json::json;

/// A file of a policy: the shared CPUs, and those of containers.
fn file(policy: &str, default: &str, sets: &[(&str, &str, &str)]) -> Vec<u8> {
    let mut state = CpuState {
        policy_name: policy.to_owned(),
        default_cpu_set: default.parse().expect("CPUs"),
        ..CpuState::default()
    };
    for (pod, container, cpus) in sets {
        let pod = state.containers.entry((*pod).to_owned()).or_default();
        pod.insert((*container).to_owned(), cpus.parse().expect("CPUs"));
    }
    encode(&state).text.into_bytes()
}

fn of(bytes: &[u8], known: &VerifyContext<'_>) -> Verification {
    judge(StateFile::Cpu, bytes, known)
}

#[test]
fn contradictions_count_under_the_static_policy() {
    type Sets = &'static [(&'static str, &'static str, &'static str)];
    let rows: [(&str, Sets, &str); 7] = [
        ("0-3", &[], ""),
        ("0-1", &[("p", "c", "2"), ("q", "c", "3")], ""),
        // An init container leaves its CPUs to those after it.
        ("0-1", &[("p", "i", "2-3"), ("p", "c", "2-3")], ""),
        ("0-1", &[("p", "c", "2"), ("q", "c", "2-3")], "double-cpus"),
        ("0-1", &[("p", "c", "1-3")], "shared-cpus"),
        ("", &[("p", "c", "0-3")], "empty-default"),
        ("0-1", &[("p", "c", "")], "no-cpus"),
    ];
    for (default, sets, id) in rows {
        for (policy, severity) in [("static", "ERROR"), ("none", "WARNING")] {
            let severity = if id == "no-cpus" { "WARNING" } else { severity };
            let verdict = match (policy, id) {
                ("static", "shared-cpus" | "empty-default") => "REFUSED",
                ("static", "double-cpus") => "CONTRADICTS",
                _ => "OK",
            };
            let expected = match id {
                "" => verdict.to_owned(),
                id => format!("{verdict}, {severity} {id}"),
            };
            let answer = of(&file(policy, default, sets), &VerifyContext::default());
            assert_eq!(told(&answer), expected, "{policy} {default} {sets:?}");
        }
    }
    let answer = of(&file("static", "0-1", &[("p", "c", "1-3")]), &VerifyContext::default());
    assert_eq!(places(&answer), ["entries.p.c: 1-3: 1 is in defaultCpuSet 0-1 as well"]);
    let facts = json!({
        "policy": "static", "pod": "p", "container": "c", "cpus": "1-3", "shared": "1",
        "defaultCpuSet": "0-1",
    });
    assert_eq!(json!(answer.findings[0].facts), facts);
}

#[test]
fn the_machine_must_have_the_cpus() {
    let bytes = file("static", "0-1", &[("p", "c", "2")]);
    // The machine, reserved CPUs are left out, whether the kubelet starts.
    for (cpus, strict, expected) in [
        ("0-2", false, "OK"),
        ("0-3", false, "REFUSED, ERROR other-cpus"),
        ("0-3", true, "OK"),
        ("0-1", false, "REFUSED, ERROR other-cpus"),
        ("0-1", true, "REFUSED, ERROR other-cpus"),
    ] {
        let cpus = cpus.parse().expect("CPUs");
        let known = VerifyContext {
            cpus: Some(cpus),
            strict_cpu_reservation: strict,
            ..VerifyContext::default()
        };
        assert_eq!(told(&of(&bytes, &known)), expected);
        let none = file("none", "", &[]);
        assert_eq!(told(&of(&none, &known)), "OK", "nobody looks with another policy");
    }
}

#[test]
fn the_policy_is_the_configured_one_or_one_that_a_kubelet_has() {
    let assumed = "cpuManagerPolicy is the one of the file: the kubelet's configuration is not \
                   known (--kubelet-config FILE)";
    let default = |name: &str| {
        format!(
            "cpuManagerPolicy is none, the default: no kubelet has the policy \"{name}\" of the \
             file, and the kubelet's configuration is not known (--kubelet-config FILE)"
        )
    };
    let sound = file("static", "0-1", &[]);
    let unchecked = br#"{"policyName":"none"}"#;
    type Row<'a> = (&'a [u8], Option<&'a str>, &'a str, Option<String>);
    let rows: [Row<'_>; 7] = [
        (&sound, None, "OK", Some(assumed.to_owned())),
        (&sound, Some("static"), "OK", None),
        (&sound, Some("none"), "REFUSED", None),
        (b"{}", None, "REFUSED", Some(default(""))),
        (b"null", None, "REFUSED", Some(default(""))),
        (&file("other", "0-1", &[]), None, "REFUSED", Some(default("other"))),
        (unchecked, None, "OK, WARNING no-checksum", Some(assumed.to_owned())),
    ];
    for (bytes, cpu_policy, expected, assumption) in rows {
        let answer = of(bytes, &VerifyContext { cpu_policy, ..VerifyContext::default() });
        let name = String::from_utf8_lossy(bytes);
        assert_eq!(told(&answer), expected, "{name}");
        assert_eq!(
            answer.basis.assumptions,
            assumption.into_iter().map(Into::into).collect::<Vec<kq_answer::Assumption>>(),
            "{name}"
        );
    }
}

#[test]
fn nothing_in_a_damaged_file_is_certain() {
    let text = String::from_utf8(file("static", "0-1", &[("p", "c", "2"), ("q", "c", "3")]));
    let damaged = text.expect("text").replace("\"3\"", "\"2\"");
    let answer = of(damaged.as_bytes(), &VerifyContext::default());
    assert_eq!(told(&answer), "REFUSED, INFO double-cpus");
    assert_eq!(answer.findings[0].why.as_deref(), Some("may follow from the damage"));
    assert!(
        answer.findings[0].advice.as_ref().is_some_and(|it| it.starts_with("nothing")),
        "{:?}",
        answer.findings
    );
}
