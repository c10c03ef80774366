//! One line per kind of value, what is refused, and the inverses against the conversions.

use super::*;
use crate::cpu::{milli_cpu_to_quota, milli_cpu_to_shares, systemd_quota};
use kq_facts::weight_formula::WeightFormula;
use proptest::prelude::*;

#[test]
fn values_are_explained() {
    let cases = [
        (
            "weight, linear",
            "cpu.weight",
            "17",
            "linear: shares 422..447 <- requests.cpu 413m..437m",
        ),
        ("weight, quadratic", "cpu.weight", "100", "quadratic: shares 1012..1024 <- "),
        ("weight, only linear", "cpu.weight", "1", "quadratic: shares 2 <- requests.cpu 0m..2m"),
        (
            "weight, the most",
            "cpu.weight",
            "10000",
            "shares 262144 <- requests.cpu 256000m or more",
        ),
        ("weight, idle", "cpu.weight", "0", "linear: impossible"),
        ("a path", "/sys/fs/cgroup/kubepods/cpu.weight", " 39\n", "linear: shares 9"),
        ("shares", "cpu.shares", "256", "shares: requests.cpu 250m"),
        ("shares, skipped", "cpu.shares", "42", "shares: impossible"),
        ("shares, least", "cpu.shares", "2", "requests.cpu 0m..2m"),
        ("quota", "cpu.max", "41700 100000", "cgroupfs: limits.cpu 417m ("),
        ("quota, not of systemd", "cpu.max", "41700 100000", "systemd: impossible"),
        ("quota, rounded", "cpu.max", "2000 100000", "<- limits.cpu 11m..20m ("),
        ("quota, asked", "cpu.max", "2000 100000", "systemd: asked quota 1001us..2000us"),
        ("quota, least", "cpu.max", "1000 100000", "cgroupfs: limits.cpu 1m..10m"),
        ("quota, odd period", "cpu.max", "1 0", "ERR a quota of at least 1000"),
        ("no quota", "cpu.max", "max 100000", "no limit of CPU time"),
        ("quota, v1", "cpu.cfs_quota_us", "1500", "cgroupfs: limits.cpu 15m"),
        ("no quota, v1", "cpu.cfs_quota_us", "-1", "no limit of CPU time"),
        ("period", "cpu.cfs_period_us", "100000", "cpuCFSQuotaPeriod 100000us"),
        ("memory", "memory.max", "1073741824", "at most 1Gi"),
        ("memory, pages", "memory.max", "1073741824", "limits.memory 1073741824..1073745919"),
        ("memory, part of a page", "memory.max", "5000", "it will show 4096"),
        ("memory, decimal", "memory.max", "1000000000", "at most 1G"),
        ("memory, none", "memory.max", "max", "no limit of memory"),
        ("memory, zero", "memory.max", "0", "limit: impossible"),
        ("memory, v1", "memory.limit_in_bytes", "268435456", "at most 256Mi"),
        ("memory, v1 sentinel", "memory.limit_in_bytes", "9223372036854771712", "no limit"),
        ("memory and swap", "memory.memsw.limit_in_bytes", "4096", "no swap"),
        ("min", "memory.min", "0", "no protection"),
        ("low", "memory.low", "1048576", "TieredReservation: requests.memory 1048576"),
        ("high", "memory.high", "1048576", "memoryThrottlingFactor"),
        ("high, none", "memory.high", "max", "no throttling"),
        ("swap", "memory.swap.max", "0", "NoSwap"),
        ("oom group", "memory.oom.group", "1", "killed together"),
        ("pids", "pids.max", "1024", "podPidsLimit 1024"),
        ("pids, none", "pids.max", "max", "podPidsLimit is -1"),
        ("pids, service", "/system.slice/a.service/pids.max", "9830", "TasksMax of the unit"),
        ("pids, no limit", "/system.slice/a.service/pids.max", "max", "TasksMax=infinity"),
        ("pids, slice", "/system.slice/pids.max", "400", "systemReservedCgroup"),
        ("pids, user", "/user.slice/user-0.slice/pids.max", "400", "33% of the smallest"),
        ("huge pages", "hugetlb.2MB.max", "4194304", "4Mi: 2 pages"),
        ("huge pages, none", "hugetlb.1GB.rsvd.max", "0", "every unlisted size"),
        ("huge pages, QoS", "hugetlb.2MB.limit_in_bytes", "4611686018427387904", "unbounded"),
        ("huge pages, v1", "hugetlb.2MB.limit_in_bytes", "9223372036852678656", "no limit"),
        ("oom, guaranteed", "oom_score_adj", "-997", "Guaranteed, or"),
        ("oom, sandbox", "oom_score_adj", "-998", "sandbox"),
        ("oom, daemon", "oom_score_adj", "-999", "daemons"),
        ("oom, best effort", "oom_score_adj", "1000", "BestEffort"),
        ("oom, burstable", "oom_score_adj", "985", "at least 1.5% and below 1.6% of capacity"),
        ("oom, lower bound", "oom_score_adj", "3", "997 or more"),
        ("oom, upper bound", "oom_score_adj", "999", "capacity 0..1 ("),
        ("oom, nobody", "oom_score_adj", "2", "neither kubelet nor runtime"),
        ("CPUs", "cpuset.cpus", "0-3,8", "5 CPUs"),
        ("no CPUs", "cpuset.cpus", "", "the same as the cgroup above"),
        ("min, pods", "memory.min", "4096", "Guaranteed pods, their containers, kubepods"),
        ("min, older", "memory.min", "4096", "1.32 to 1.35: requests.memory 4096..8191 ("),
        ("min, reserved", "memory.min", "4096", "its memory limit: reserved memory 4096..8191 ("),
        ("low, pods", "memory.low", "4096", "all pods but Guaranteed ones (BestEffort pods"),
        ("quota, older systemd", "cpu.max", "41700 100000", "as it was (limits.cpu 417m), and"),
        ("statistics", "memory.current", "1", "ERR memory.current reports usage: it is not"),
        (
            "unknown file",
            "cpu.wait",
            "1",
            "ERR unknown file \"cpu.wait\": expected one of cpu.weight",
        ),
        ("unknown size", "hugetlb.2Mi.max", "1", "ERR unknown file"),
        ("weight too large", "cpu.weight", "10001", "ERR expected a whole number from 1 to 10000"),
        ("not a number", "cpu.shares", "many", "ERR expected a whole number"),
        ("a sign", "cpu.shares", "+256", "ERR expected a whole number"),
        ("nothing", "cpu.max", "", "ERR expected a quota"),
        ("a third word", "cpu.max", "1000 100000 1", "ERR expected a quota"),
        ("max of v1", "memory.limit_in_bytes", "max", "ERR or -1"),
        ("quantity", "memory.max", "1Gi", "ERR a whole number of bytes"),
        ("score too large", "oom_score_adj", "1001", "ERR from -1000 to 1000"),
        ("CPUs out of order", "cpuset.cpus", "3-1", "ERR such as 0-3,8"),
        ("CPUs without end", "cpuset.cpus", "0-", "ERR such as 0-3,8"),
    ];
    for (name, file, value, expected) in cases {
        let text = match explain(file, value) {
            Ok(explanation) => explanation.lines().join("\n"),
            Err(error) => format!("ERR {error}"),
        };
        let (starts, part) = match expected.strip_prefix("ERR ") {
            Some(part) => ("ERR ", part),
            None => ("", expected),
        };
        assert!(text.starts_with(starts) && text.contains(part), "{name}: {text}");
        assert_eq!(starts.is_empty(), !text.starts_with("ERR "), "{name}: {text}");
    }
}

#[test]
fn a_path_leaves_out_what_cannot_be() {
    let id = "0123456789abcdef".repeat(4);
    let guaranteed = format!("/kubepods/podab/{id}");
    let slices = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podab.slice";
    let scope = format!("{slices}/cri-containerd-{id}.scope");
    for (name, cgroup, file, value, level, formulas, note) in [
        (
            "container, weight",
            &*scope,
            "cpu.weight",
            "35",
            "container",
            "linear,quadratic",
            "without that request",
        ),
        ("pod, weight", slices, "cpu.weight", "35", "pod", "linear", "of the whole pod"),
        ("class, weight", "/kubepods/burstable", "cpu.weight", "35", "burstable", "linear", "sum"),
        ("kubepods, weight", "/kubepods", "cpu.weight", "35", "kubepods", "linear", "allocatable"),
        (
            "BestEffort, weight",
            "/kubepods/besteffort/podab",
            "cpu.weight",
            "35",
            "pod",
            "-linear",
            "always gets 2",
        ),
        ("class, shares", "/kubepods/besteffort", "cpu.shares", "2", "besteffort", "shares", "2"),
        ("scope, quota", &scope, "cpu.max", "50000 100000", "container", "systemd", ""),
        ("scope, older", &scope, "cpu.max", "41700 100000", "container", "-systemd", "417m"),
        ("slice, quota", slices, "cpu.max", "50000 100000", "pod", "systemd", ""),
        ("cgroupfs, quota", &guaranteed, "cpu.max", "41700 100000", "container", "cgroupfs", ""),
        ("class, quota", "/kubepods/burstable", "cpu.max", "5000 100000", "burstable", "", "class"),
        (
            "class, none",
            "/kubepods/burstable",
            "cpu.max",
            "max",
            "burstable",
            "nothing was written",
            "gives a QoS class no quota",
        ),
        (
            "Guaranteed, min",
            &guaranteed,
            "memory.min",
            "4096",
            "container",
            "gate MemoryQoS with memoryReservationPolicy TieredReservation,gate MemoryQoS in \
             Kubernetes 1.32 to 1.35",
            "",
        ),
        (
            "Burstable, min",
            &scope,
            "memory.min",
            "4096",
            "container",
            "gate MemoryQoS in Kubernetes 1.32 to 1.35",
            "",
        ),
        ("Guaranteed, low", &guaranteed, "memory.low", "4096", "container", "", "by hand"),
        (
            "Burstable, low",
            slices,
            "memory.low",
            "4096",
            "pod",
            "gate MemoryQoS with memoryReservationPolicy TieredReservation",
            "",
        ),
        (
            "pod, high",
            slices,
            "memory.high",
            "4096",
            "pod",
            "gate MemoryQoS, from Kubernetes 1.37 on, for a pod with a memory limit of its own: request + \
             (limit - request) * memoryThrottlingFactor, cut to whole pages",
            "",
        ),
        ("pod, swap", slices, "memory.swap.max", "4096", "pod", "", "by hand"),
        ("pod, memory", slices, "memory.max", "4096", "pod", "limit", ""),
        (
            "BestEffort, memory",
            "/kubepods/besteffort/podab",
            "memory.max",
            "4096",
            "pod",
            "-limit",
            "no",
        ),
        ("pod, pids", slices, "pids.max", "400", "pod", "podPidsLimit", ""),
        (
            "container, pids",
            &scope,
            "pids.max",
            "400",
            "container",
            "TasksMax of the scope, by default DefaultTasksMax: 15% of the smallest of kernel.pid_max, \
             kernel.threads-max and the pids.max of the root,pids_limit of crio.conf",
            "",
        ),
        (
            "cgroupfs, pids",
            &guaranteed,
            "pids.max",
            "400",
            "container",
            "pids_limit of crio.conf",
            "",
        ),
        ("pod, huge pages", slices, "hugetlb.2MB.max", "2097152", "pod", "sum of the requests", ""),
    ] {
        let explained = explain(&format!("{cgroup}/{file}"), value).expect("a known file");
        let shown: Vec<String> = explained
            .formulas
            .iter()
            .map(|found| format!("{}{}", if found.possible { "" } else { "-" }, found.formula))
            .collect();
        assert_eq!(shown.join(","), formulas, "{name}");
        assert!(explained.notes.join("\n").contains(note), "{name}: {:?}", explained.notes);
        let json = serde_json::to_value(&explained).expect("plain data");
        assert_eq!(json["level"], level, "{name}");
        assert!(explained.lines()[2].starts_with("level: "), "{name}");
    }
    let json = serde_json::to_value(explain("cpu.weight", "35").expect("a weight"));
    assert!(json.expect("plain data").get("level").is_none());
}

#[test]
fn every_known_file_has_an_explanation() {
    for file in known_files() {
        let file = file.replace("SIZE", "2MB");
        let explained = ["1", "1000", "max"].iter().any(|value| explain(&file, value).is_ok());
        assert!(explained, "{file}");
    }
}

#[test]
fn a_row_explains_its_file() {
    let known = CgroupFile::MemorySoftLimit;
    for (value, expected) in [
        ("-1", Some("no limit")),
        ("1048576", Some("1Mi")),
        ("much", None),
        ("max", Some("no limit")),
    ] {
        let file = "memory.soft_limit_in_bytes";
        let question = Question { file, known, value, place: None, unit: None };
        let explained = by_row(&question).ok();
        assert_eq!(explained.as_ref().map(|it| it.meaning.as_str()), expected, "{value}");
        let is_first = explained.is_some_and(|it| !it.formulas.is_empty());
        assert_eq!(is_first, known.row().untouched == Some(value), "{value}");
    }
}

#[test]
fn an_explanation_is_camel_case() {
    let explanation = explain("cpu.weight", "39").expect("a weight");
    let json = serde_json::to_value(&explanation).expect("plain data");
    assert_eq!(json["cgroupVersion"], 2);
    assert_eq!(json["formulas"][0]["formula"], "linear");
    assert_eq!(json["formulas"][0]["from"][1]["source"], "requestsMilliCpu");
}

/// Returns the last range of a formula: the amount that a user writes.
fn last(file: &str, value: &str, formula: &str) -> Origin {
    let explanation = explain(file, value).expect("a value that was written");
    let candidate = explanation.formulas.iter().find(|candidate| candidate.formula == formula);
    *candidate.and_then(|candidate| candidate.from.last()).expect("a value that is possible")
}

proptest! {
    #[test]
    fn a_weight_is_traced_to_its_request(milli_cpu in 0_i64..300_000) {
        for formula in WeightFormula::ALL {
            let weight_of = |milli_cpu| formula.weight(milli_cpu_to_shares(milli_cpu));
            let weight = weight_of(milli_cpu);
            let range = last("cpu.weight", &weight.to_string(), &formula.to_string());
            prop_assert!(range.contains(milli_cpu), "{milli_cpu}: {range}");
            // And no shares outside the range have that weight.
            prop_assert!(range.from == 0 || weight_of(range.from - 1) < weight);
            prop_assert!(range.to.is_none_or(|to| weight_of(to) == weight));
            prop_assert!(range.to.is_none_or(|to| weight_of(to + 1) > weight));
        }
    }

    #[test]
    fn a_quota_is_traced_to_its_limit(
        milli_cpu in 1_i64..300_000,
        period_us in 1000_i64..=1_000_000,
    ) {
        let asked_us = milli_cpu_to_quota(milli_cpu, period_us, true);
        let kept_us = systemd_quota(asked_us, period_us.cast_unsigned());
        for (quota_us, formula) in [(asked_us, "cgroupfs"), (kept_us, "systemd")] {
            // A rounded quota can end below what the kernel takes.
            prop_assume!(quota_us >= 1000);
            let range = last("cpu.max", &format!("{quota_us} {period_us}"), formula);
            prop_assert!(range.contains(milli_cpu), "{milli_cpu}: {range}");
        }
    }

    #[test]
    fn nothing_panics(index in 0..known_files().len(), number in any::<i64>(), text in ".{0,12}") {
        let file = known_files()[index].replace("SIZE", "2MB");
        for value in [number.to_string(), format!("{number} 100000"), text.clone()] {
            if let Ok(explanation) = explain(&file, &value) {
                prop_assert!(!explanation.lines().is_empty());
            }
        }
        let _ = explain(&text, "1");
    }
}
