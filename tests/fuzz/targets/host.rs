//! Whatever the bytes, reading them as any text of a host or as a process ends without a panic, and no
//! word of an unknown flag is kept.
#![cfg_attr(fuzzing, no_main)]

use kq_facts::cgroup_layout::CgroupLayout;
use kq_facts::host::{
    FILES, HUGEPAGES, HostFacts, INIT_MOUNTINFO, NUMA_NODES, SWAP_GROUPS, Text, listing, memory_max,
};
use kq_facts::kubelet_process::{KubeletProcess, NodeFiles, ProcessTexts, recognise};

/// A node each of whose files has this text, and each of whose folders has its lines as names.
struct Everywhere<'t>(&'t str);

impl NodeFiles for Everywhere<'_> {
    fn text(&self, _: &str) -> Option<String> {
        Some(self.0.to_owned())
    }

    fn names(&self, _: &str) -> Option<Vec<String>> {
        Some(self.0.lines().map(str::to_owned).collect())
    }

    fn link(&self, _: &str) -> Option<String> {
        Some(self.0.to_owned())
    }
}

kq_fuzz::fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = CgroupLayout::parse(text);
        host(text);
        for (comm, program) in [("kubelet", "kubelet\0"), ("k3s", "k3s\0server\0")] {
            let stat = "1 (x) S 1 1 1 0 -1 1 1 2 3 4 5 6 7 8 20 0 18 0 1234 9";
            process(comm, &[program.as_bytes(), bytes].concat(), stat, text);
        }
        process("kubelet", b"kubelet\0", text, text);
    }
});

fn host(text: &str) {
    let mut facts = HostFacts::default();
    let folders = [listing(HUGEPAGES), listing(NUMA_NODES)];
    let groups = SWAP_GROUPS.iter().map(|group| memory_max(group));
    let files = FILES.iter().copied().chain([INIT_MOUNTINFO]);
    let mut paths: Vec<String> = files.map(str::to_owned).chain(folders).chain(groups).collect();
    for name in text.lines() {
        paths.push(format!("{HUGEPAGES}/{name}/nr_hugepages"));
        paths.push(format!("{NUMA_NODES}/{name}/cpulist"));
    }
    for path in paths {
        facts.texts.insert(path, Text::Read(text.to_owned()));
    }
    if let Ok(cpus) = facts.cpus() {
        assert_eq!(cpus.to_string().parse(), Ok(cpus));
    }
    for number in
        [facts.memory_bytes(), facts.swap_bytes(), facts.pid_limit()].into_iter().flatten()
    {
        assert!(number >= 0);
    }
    let _ = (facts.hugepages(), facts.numa_nodes(), facts.boot_time(), facts.swap_controller());
    let _ = (facts.kernel_release(), facts.machine_id(), facts.boot_id());
    let _ = (facts.cgroup_layout(), facts.enabled_controllers());
}

fn process(comm: &str, command_line: &[u8], stat: &str, files: &str) {
    let texts = ProcessTexts { pid: 1, comm, command_line, stat, ..ProcessTexts::default() };
    if let Some(process) = recognise(&texts, &Everywhere(files)) {
        let stored = serde_json::to_string(&process).expect("it is stored");
        let again: KubeletProcess = serde_json::from_str(&stored).expect("it comes back");
        assert_eq!(again, process);
        let _ = process.interpreted();
    }
}
