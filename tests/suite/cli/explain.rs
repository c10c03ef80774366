//! `kq cgroup explain`

use super::{kq, matches};
use kq_cgroup::explain::known_files;
use snapbox::str;

/// A value for each file that can be explained.
const VALUES: &[(&str, &[&str])] = &[
    ("cpu.weight", &["1", "35", "100", "10000", "0"]),
    ("cpu.max", &["max 100000", "'41700 100000'", "'50000 100000'"]),
    ("cpu.shares", &["2", "1024", "262144"]),
    ("cpu.cfs_quota_us", &["-1", "1000", "50000"]),
    ("cpu.cfs_period_us", &["100000", "10000"]),
    ("cpuset.cpus", &["0-3,7", "''"]),
    ("cpuset.mems", &["0"]),
    ("memory.max", &["max", "134217728", "0"]),
    ("memory.min", &["0", "67108864"]),
    ("memory.low", &["67108864"]),
    ("memory.high", &["max", "127344640"]),
    ("memory.swap.max", &["0", "1048576", "max"]),
    ("memory.oom.group", &["0", "1"]),
    ("memory.limit_in_bytes", &["9223372036854771712", "134217728"]),
    ("memory.memsw.limit_in_bytes", &["134217728"]),
    ("pids.max", &["max", "400"]),
    ("hugetlb.SIZE.max", &["2097152"]),
    ("hugetlb.SIZE.rsvd.max", &["2097152"]),
    ("hugetlb.SIZE.limit_in_bytes", &["4611686018427387904"]),
    ("hugetlb.SIZE.rsvd.limit_in_bytes", &["0"]),
    ("oom_score_adj", &["-999", "-997", "2", "985", "1000"]),
];

#[test]
fn every_known_file_is_explained() {
    let files: Vec<&str> = VALUES.iter().map(|(file, _)| *file).collect();
    assert_eq!(files, known_files());
    let mut shown = String::new();
    for (file, values) in VALUES {
        for value in *values {
            let file = file.replace("SIZE", "2MB");
            let line = if value.starts_with('\'') || !value.contains(' ') {
                format!("cgroup explain {file} {value}")
            } else {
                format!("cgroup explain {file} '{value}'")
            };
            let ran = kq(&line).run();
            assert_eq!(ran.code, 0, "kq {line}: {}", ran.stderr);
            shown.push_str(&format!("$ kq {line}\n{}\n", ran.stdout));
        }
    }
    matches(shown, snapbox::file!["snapshots/explain.txt"]);
}

#[test]
fn bad_values_say_what_is_expected() {
    let mut shown = String::new();
    for line in [
        "cpu.wieght 17",
        "cpu.weigth 17",
        "/sys/fs/cgroup/kubepods/memory.mx 1",
        "hugetlb.2MB.mx 1",
        "cpu.stat 1",
        "memory.current 1",
        "memory.events 1",
        "cpu.pressure 1",
        "cpu.weight ''",
        "cpu.weight 10001",
        "cpu.weight -1",
        "cpu.weight 1.5",
        "cpu.weight 99999999999999999999999999",
        "cpu.weight max",
        "cpu.max 5",
        "cpu.max 'max max'",
        "cpu.max '100 0'",
        "cpu.max '1 2 3'",
        "cpu.shares 1",
        "cpu.shares 262145",
        "cpu.cfs_quota_us -2",
        "cpu.cfs_quota_us max",
        "cpu.cfs_period_us 0",
        "cpuset.cpus 3-1",
        "cpuset.cpus a",
        "memory.max -1",
        "memory.max 1Gi",
        "memory.max NaN",
        "memory.max 18446744073709551616",
        "memory.oom.group 2",
        "pids.max 0x10",
        "hugetlb..max 1",
        "hugetlb.SIZE.max 1",
        "hugetlb.3XB.max 1",
        "hugetlb.2MB.min 1",
        "oom_score_adj 1001",
        "oom_score_adj -1001",
        "memory.stat 1",
        "'' 1",
        "/ 1",
        "'cpu.weight\u{1b}[2J' 1",
        "cpu.weight '\u{1b}[2J'",
    ] {
        let ran = kq(&format!("cgroup explain {line}")).run();
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{line}: {}", ran.stderr);
        assert!(!ran.stderr.contains('\u{1b}'), "{line}");
        shown.push_str(&format!("$ kq cgroup explain {}\n{}\n", line.escape_debug(), ran.stderr));
    }
    matches(shown, snapbox::file!["snapshots/explain-bad.txt"]);
}

#[test]
fn a_path_names_the_file_too() {
    kq("cgroup explain /sys/fs/cgroup/kubepods/memory.max 1073741824").shows(str![[r#"
memory.max 1073741824: at most 1Gi (1073741824 bytes)
memory.max: the most memory in use; at the limit the kernel reclaims, then kills
level: kubepods
the machine's memory less kubeReserved and systemReserved (kubelet)
note: the eviction threshold is not taken off
--- exit 0

"#]]);
    kq("cgroup explain ' cpu.weight' ' 17 '").shows(str![[r#"
--- stderr
kq: unknown file " cpu.weight": expected one of cpu.weight, cpu.max, cpu.shares, cpu.cfs_quota_us, cpu.cfs_period_us, cpuset.cpus, cpuset.mems, memory.max, memory.min, memory.low, memory.high, memory.swap.max, memory.oom.group, memory.limit_in_bytes, memory.memsw.limit_in_bytes, pids.max, hugetlb.SIZE.max, hugetlb.SIZE.rsvd.max, hugetlb.SIZE.limit_in_bytes, hugetlb.SIZE.rsvd.limit_in_bytes, oom_score_adj
hint: did you mean cpu.weight?
--- exit 2

"#]]);
}

#[test]
fn formats_hold_the_same() {
    kq("cgroup explain cpu.weight 35 -o json").shows(str![[r#"
{
  "apiVersion": "kq/v2",
  "kind": "CgroupExplanation",
  "file": "cpu.weight",
  "value": "35",
  "cgroupVersion": 2,
  "purpose": "share of CPU time against its siblings, when the CPUs are busy; no limit when they are not",
  "meaning": "35 parts of the sum of its busy siblings' weights",
  "formulas": [
    {
      "writer": "kubelet for kubepods, QoS classes and pods; runc up to 1.3.1, crun before 1.23 and youki before 0.5.7 for containers",
      "formula": "linear",
      "possible": true,
      "from": [
        {
          "source": "shares",
          "from": 894,
          "to": 919
        },
        {
          "source": "requestsMilliCpu",
          "from": 874,
          "to": 898
        }
      ]
    },
    {
      "writer": "runc from 1.3.2, crun from 1.23 and youki from 0.5.7 on, for containers",
      "formula": "quadratic",
      "possible": true,
      "from": [
        {
          "source": "shares",
          "from": 256,
          "to": 264
        },
        {
          "source": "requestsMilliCpu",
          "from": 250,
          "to": 258
        }
      ]
    }
  ],
  "notes": [
    "shares come from requests.cpu; a container without that request gets them from limits.cpu, a pod from its overhead too, kubepods from the node's allocatable CPUs, and an enforced systemReservedCgroup or kubeReservedCgroup from its reservation"
  ],
  "facts": {},
  "assumptions": [],
  "missing": [],
  "warnings": []
}
--- exit 0

"#]]);
    let ran = kq("cgroup explain cpu.weight 35 -o name").run();
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("have no names: expected table, wide, json, yaml"),
        "{}",
        ran.stderr
    );
    let [table, wide] =
        ["table", "wide"].map(|it| kq(&format!("cgroup explain cpu.weight 35 -o {it}")).run());
    assert_eq!(table.text(), wide.text(), "there is nothing to widen");
    let json = kq("cgroup explain cpu.weight 35").json();
    let yaml = kq("cgroup explain cpu.weight 35 -o yaml").run().stdout;
    let read = kq_k8s::yaml::read(&yaml).expect("kq reads its own YAML");
    assert_eq!(read.value, json);
}

#[test]
fn a_path_tells_who_writes_there() {
    let pod =
        "/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podab.slice";
    let mut shown = String::new();
    for (file, value) in [
        ("cri-containerd-01ef.scope/cpu.weight", "35"),
        ("cri-containerd-01ef.scope/cpu.max", "41700 100000"),
        ("cri-containerd-01ef.scope/memory.min", "67108864"),
        ("cpu.weight", "35"),
        ("cpu.max", "50000 100000"),
        ("memory.low", "67108864"),
        ("../cpu.max", "50000 100000"),
    ] {
        let line = format!("cgroup explain {pod}/{file} '{value}'");
        let ran = kq(&line).run();
        assert_eq!(ran.code, 0, "kq {line}: {}", ran.stderr);
        shown.push_str(&format!("$ kq {line}\n{}\n", ran.stdout));
    }
    for line in [
        "/kubepods/burstable/cpu.max '50000 100000'",
        "/kubepods/burstable/cpu.max 'max 100000'",
        "/kubepods/besteffort/cpu.weight 1",
        "/kubepods/cpu.weight 157",
    ] {
        let ran = kq(&format!("cgroup explain {line}")).run();
        assert_eq!(ran.code, 0, "kq {line}: {}", ran.stderr);
        shown.push_str(&format!("$ kq cgroup explain {line}\n{}\n", ran.stdout));
    }
    matches(shown, snapbox::file!["snapshots/explain-path.txt"]);
}

#[test]
fn the_help_shows_a_real_run() {
    let help = kq("cgroup explain --help").run().stdout;
    let ran = kq("cgroup explain kubepods/burstable/cpu.max 'max 100000'").run();
    for line in ran.stdout.lines() {
        assert!(help.contains(line), "{line}: {help}");
    }
}
