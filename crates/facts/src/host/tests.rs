//! Each text: good, garbage, absent, unreadable, not read.

use super::*;

fn facts(texts: &[(&str, &str)]) -> HostFacts {
    let texts =
        texts.iter().map(|(path, text)| ((*path).to_owned(), Text::Read((*text).to_owned())));
    HostFacts { texts: texts.collect(), page_size: Some(4096) }
}

/// Every fact, as text.
fn answers(facts: &HostFacts) -> Vec<(&'static str, Result<String, HostFactError>)> {
    vec![
        ("cpus", facts.cpus().map(|cpus| cpus.to_string())),
        ("memory", facts.memory_bytes().map(|bytes| bytes.to_string())),
        ("swap", facts.swap_bytes().map(|bytes| bytes.to_string())),
        ("hugepages", facts.hugepages().map(|pages| format!("{pages:?}"))),
        ("pids", facts.pid_limit().map(|pids| pids.to_string())),
        ("numa", facts.numa_nodes().map(|nodes| format!("{nodes:?}"))),
        ("kernel", facts.kernel_release().map(str::to_owned)),
        ("machine", facts.machine_id().map(str::to_owned)),
        ("boot", facts.boot_id().map(str::to_owned)),
        ("time", facts.boot_time().map(|time| time.to_string())),
        ("layout", facts.cgroup_layout().map(|layout| format!("{layout:?}"))),
        ("controllers", facts.enabled_controllers().map(|names| format!("{names:?}"))),
        ("swap controller", facts.swap_controller().map(|is| is.to_string())),
    ]
}

#[test]
fn single_texts_are_read() {
    let meminfo = "MemTotal:       24684084 kB\nMemFree: 1 kB\nSwapTotal:       0 kB\n";
    for (name, what, texts, expected) in [
        ("cpus", "cpus", &[(CPUS_ONLINE, "0-3,7\n")] as &[_], Some("0-3,7")),
        ("no cpus", "cpus", &[(CPUS_ONLINE, "\n")], None),
        ("cpus backwards", "cpus", &[(CPUS_ONLINE, "3-0\n")], None),
        ("cpus twice", "cpus", &[(CPUS_ONLINE, "0-3,0-3")], None),
        ("cpus without end", "cpus", &[(CPUS_ONLINE, "0-99999999")], None),
        ("memory", "memory", &[(MEMINFO, meminfo)], Some("25276502016")),
        ("no swap is an answer", "swap", &[(MEMINFO, meminfo)], Some("0")),
        ("swap is not said", "swap", &[(MEMINFO, "MemTotal: 1 kB\n")], None),
        ("memory in another unit", "memory", &[(MEMINFO, "MemTotal: 1 MB\n")], None),
        ("negative memory", "memory", &[(MEMINFO, "MemTotal: -1 kB\n")], None),
        ("memory too large", "memory", &[(MEMINFO, "MemTotal: 9223372036854775807 kB\n")], None),
        ("pids", "pids", &[(PID_MAX, "32768\n"), (THREADS_MAX, "192730\n")], Some("32768")),
        ("threads", "pids", &[(PID_MAX, "4194304\n"), (THREADS_MAX, "99\n")], Some("99")),
        ("one is not known", "pids", &[(PID_MAX, "32768\n")], None),
        ("kernel", "kernel", &[(KERNEL_RELEASE, "6.1.0-18-amd64\n")], Some("6.1.0-18-amd64")),
        ("two words", "kernel", &[(KERNEL_RELEASE, "6.1 x")], None),
        ("machine", "machine", &[(MACHINE_ID, "0a1b\n")], Some("0a1b")),
        ("machine of dbus", "machine", &[(DBUS_MACHINE_ID, "0a1b\n")], Some("0a1b")),
        ("empty machine id", "machine", &[(MACHINE_ID, "\n"), (DBUS_MACHINE_ID, "1")], None),
        ("boot time", "time", &[(PROC_STAT, "cpu 1 2\nbtime 1700000000\n")], Some("1700000000")),
        (
            "controllers v2",
            "controllers",
            &[(CGROUP_CONTROLLERS, "cpu memory\n")],
            Some(r#"{"cpu", "memory"}"#),
        ),
    ] {
        let answer = answers(&facts(texts)).into_iter().find(|(fact, _)| *fact == what);
        let answer = answer.expect("it is asked").1;
        assert_eq!(answer.as_deref().ok(), expected, "{name}: {answer:?}");
    }
}

#[test]
fn pids_are_counted_by_the_file_that_is_there() {
    let mut facts = facts(&[(PID_MAX, "32768\n")]);
    facts.texts.insert(THREADS_MAX.to_owned(), Text::Absent);
    assert_eq!(facts.pid_limit(), Ok(32768));
    facts.texts.insert(THREADS_MAX.to_owned(), Text::Unreadable("permission denied".to_owned()));
    assert_eq!(
        facts.pid_limit().expect_err("one is not known").to_string(),
        "/proc/sys/kernel/threads-max: permission denied"
    );
}

#[test]
fn folders_are_read() {
    let facts = facts(&[
        ("/sys/kernel/mm/hugepages/", "hugepages-1048576kB\nhugepages-2048kB\nhugepages-64kB"),
        ("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "1\n"),
        ("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512\n"),
        ("/sys/kernel/mm/hugepages/hugepages-64kB/nr_hugepages", "0\n"),
        ("/sys/devices/system/node/", "has_cpu\nnode10\nnode2\nonline"),
        ("/sys/devices/system/node/node10/cpulist", "\n"),
        ("/sys/devices/system/node/node10/meminfo", "Node 10 MemTotal:       2 kB\n"),
        ("/sys/devices/system/node/node2/cpulist", "0,2\n"),
        ("/sys/devices/system/node/node2/meminfo", "Node 2 MemTotal:       1 kB\n"),
    ]);
    let pages = facts.hugepages().expect("pages");
    let gi = 1 << 30;
    let expected = [("1Gi", gi), ("2Mi", gi), ("64Ki", 0)];
    assert_eq!(pages, expected.map(|(name, bytes)| (name.to_owned(), bytes)).into());
    let nodes = facts.numa_nodes().expect("nodes");
    let shown: Vec<_> =
        nodes.iter().map(|node| (node.id, node.cpus.to_string(), node.memory_bytes)).collect();
    assert_eq!(shown, [(2, "0,2".to_owned(), 1024), (10, String::new(), 2048)]);
}

#[test]
fn cpus_have_their_places() {
    let cpu = |cpu: i64, core: &str, socket: &str, cache: &str, shared: &str| {
        let path = |file: &str| format!("/sys/devices/system/cpu/cpu{cpu}/{file}");
        [
            (path("topology/core_id"), format!("{core}\n")),
            (path("topology/physical_package_id"), format!("{socket}\n")),
            (path("cache/index3/level"), "3\n".to_owned()),
            (path("cache/index3/id"), format!("{cache}\n")),
            (path("cache/index3/shared_cpu_list"), format!("{shared}\n")),
        ]
    };
    let node = |id: i64, cpus: &str, distances: &str| {
        let path = |file: &str| format!("/sys/devices/system/node/node{id}/{file}");
        [
            (path("cpulist"), format!("{cpus}\n")),
            (path("meminfo"), format!("Node {id} MemTotal:       2 kB\n")),
            (path("distance"), format!("{distances}\n")),
        ]
    };
    let texts = [
        cpu(0, "0", "0", "0", "0,4").to_vec(),
        cpu(1, "8", "0", "1", "1,5").to_vec(),
        cpu(4, "0", "0", "0", "0,4").to_vec(),
        cpu(5, "8", "0", "1", "1,5").to_vec(),
        // The same core number on another socket, and a cache of the whole node.
        cpu(2, "0", "1", "7", "2").to_vec(),
        node(0, "0-1,4-5", "10 21").to_vec(),
        node(1, "2", "21 10").to_vec(),
        vec![
            ("/sys/devices/system/cpu/online".to_owned(), "0-2,4-5\n".to_owned()),
            ("/sys/devices/system/node/".to_owned(), "node0\nnode1".to_owned()),
        ],
    ];
    let texts = texts.into_iter().flatten().map(|(path, text)| (path, Text::Read(text)));
    let mut facts = HostFacts { texts: texts.collect(), ..HostFacts::default() };
    let places = facts.cpu_places().expect("places");
    let shown: Vec<_> = places
        .iter()
        .map(|it| (it.cpu, it.core, it.socket, it.numa_node, it.uncore_cache))
        .collect();
    let expected = [
        (0, 0, 0, 0, Some(0)),
        (1, 1, 0, 0, Some(1)),
        (2, 2, 1, 1, None),
        (4, 0, 0, 0, Some(0)),
        (5, 1, 0, 0, Some(1)),
    ];
    assert_eq!(shown, expected);
    let distances = [(0, Some(vec![10, 21])), (1, Some(vec![21, 10]))];
    assert_eq!(facts.numa_distances(), Ok(distances.into()));
    facts.texts.insert("/sys/devices/system/cpu/cpu2/topology/core_id".to_owned(), Text::Absent);
    assert_eq!(facts.cpu_places().expect("places").len(), 4, "cadvisor leaves it out");
    facts.texts.remove("/sys/devices/system/cpu/cpu1/topology/core_id");
    assert!(facts.cpu_places().is_err(), "an older recording does not have it");
}

#[test]
fn swap_is_limited_where_its_file_exists() {
    let v1 = "41 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    let v2 = "41 31 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    let everything_absent = || {
        let mut paths: Vec<String> = vec![MEMSW_LIMIT.to_owned()];
        paths.extend(SWAP_GROUPS.iter().flat_map(|group| [swap_max(group), memory_max(group)]));
        paths.into_iter().map(|path| (path, Text::Absent))
    };
    let (slice, most) = (swap_max("kubepods.slice"), memory_max("system.slice"));
    let controllers = (CGROUP_CONTROLLERS, "cpu memory");
    for (name, texts, expected) in [
        ("v1 with", vec![(INIT_MOUNTINFO, v1), (MEMSW_LIMIT, "1")], Some(true)),
        ("v1 without", vec![(INIT_MOUNTINFO, v1)], Some(false)),
        ("v2 with", vec![(INIT_MOUNTINFO, v2), controllers, (&*slice, "max")], Some(true)),
        ("v2 without", vec![(INIT_MOUNTINFO, v2), controllers, (&*most, "max")], Some(false)),
        ("v2, nobody to ask", vec![(INIT_MOUNTINFO, v2), controllers], None),
        ("v2, no memory", vec![(INIT_MOUNTINFO, v2), (CGROUP_CONTROLLERS, "cpu")], Some(false)),
        ("own mounts", vec![(OWN_MOUNTINFO, v1), (MEMSW_LIMIT, "1")], Some(true)),
    ] {
        let mut all = HostFacts { texts: everything_absent().collect(), page_size: None };
        all.texts.extend(facts(&texts).texts);
        assert_eq!(all.swap_controller().ok(), expected, "{name}");
    }
}

#[test]
fn v1_controllers_are_those_that_are_on() {
    let header = "#subsys_name\thierarchy\tnum_cgroups\tenabled\n";
    for (name, lines, expected) in [
        ("good", "cpuset\t3\t1\t1\nmemory\t0\t1\t0\n", Some("cpuset")),
        ("bad", "cpuset\t3\t1\n", None),
    ] {
        let mut facts = facts(&[(PROC_CGROUPS, &format!("{header}{lines}"))]);
        facts.texts.insert(CGROUP_CONTROLLERS.to_owned(), Text::Absent);
        let names = facts.enabled_controllers().ok();
        let names = names.map(|names| names.into_iter().collect::<Vec<_>>().join(" "));
        assert_eq!(names.as_deref(), expected, "{name}");
    }
}

#[test]
fn what_is_not_known_is_never_a_number() {
    for (name, text, word) in [
        ("absent", Some(Text::Absent), "no such file"),
        ("unreadable", Some(Text::Unreadable("permission denied".to_owned())), "permission denied"),
        ("not read", None, "was not read"),
        ("garbage", Some(Text::Read("\u{1}garbage, \u{1b}[31m".to_owned())), "garbage"),
    ] {
        let mut facts = HostFacts::default();
        let folders = [listing(HUGEPAGES), listing(NUMA_NODES)];
        let files = FILES.iter().map(|path| (*path).to_owned());
        for path in files.chain([INIT_MOUNTINFO.to_owned()]).chain(folders) {
            if let Some(text) = &text {
                facts.texts.insert(path, text.clone());
            }
        }
        for (fact, answer) in answers(&facts) {
            // A kernel without huge pages has none; what has other names in a folder has no nodes; and
            // any words can be those of controllers.
            let is_answer = matches!(
                (name, fact),
                ("absent", "hugepages") | ("garbage", "hugepages" | "numa" | "controllers")
            );
            match answer {
                Ok(_) => assert!(is_answer, "{name}: {fact} was answered"),
                Err(error) => assert!(error.to_string().contains(word), "{name}: {fact}: {error}"),
            }
        }
    }
}

#[test]
fn facts_are_stored_and_come_back() {
    let mut facts = facts(&[(CPUS_ONLINE, "absent")]);
    facts.texts.insert(MEMINFO.to_owned(), Text::Absent);
    facts.texts.insert(PID_MAX.to_owned(), Text::Unreadable("absent".to_owned()));
    let json = serde_json::to_value(&facts).expect("it is stored");
    let texts = serde_json::json!({
        CPUS_ONLINE: { "read": "absent" },
        MEMINFO: "absent",
        PID_MAX: { "unreadable": "absent" },
    });
    assert_eq!(json, serde_json::json!({ "texts": texts, "pageSize": 4096 }));
    assert_eq!(serde_json::from_value::<HostFacts>(json).expect("it comes back"), facts);
}
