//! Whether the kubelet starts.

use super::state::NodeState;
use crate::kubelet_start::{StartFinding, StartWrite};
use crate::question::start::{KubeletStart, writes_before_end};
use crate::what_if::{Effect, WhatIfRule};
use kq_answer::{Basis, Missing, MissingFact, Subject};
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::cpu_manager::CpuRefusal;
use kq_facts::checkpoint::memory_manager::MemoryRefusal;
use kq_facts::found_node::asks_runtime_for_driver;
use kq_facts::host::Text;
use kq_facts::kubelet_config::Source;
use kq_facts::kubelet_process::DEFAULT_ROOT_DIR;
use kq_facts::node::Node;
use kq_facts::runtime::RuntimeVersion;
use kq_k8s::version::KubeletVersion;

/// A start of the kubelet after changes.
#[derive(Default)]
pub struct Start {
    /// Whether it starts; `None`: a fact that decides is not known.
    pub starts: Option<bool>,
    /// The messages it logs.
    pub findings: Vec<Effect>,
    /// What it writes into cgroups before a problem ends it.
    pub writes: Vec<StartWrite>,
}

/// Simulates the start of the kubelet.
pub fn start(before: &NodeState, after: &mut NodeState, reboots: bool, basis: &mut Basis) -> Start {
    if !after.knows_files() && !after.has_assumed_config {
        basis.assume(match after.read_as() {
            Some(Source::Configz) => {
                "the kubelet starts with the configuration that it runs with".to_owned()
            }
            _ => "the kubelet starts with this configuration".to_owned(),
        });
    }
    let mut examination = after.start();
    if let (Some(new), Some(old)) = (&after.new_config, &after.on_disk.file) {
        examination.name_file(&old.path, new);
    }
    take_driver(before, after, basis);
    if after.has_assumed_config {
        let with_defaults = match examination.first() {
            Some(problem) => format!("the kubelet exits: {}", problem.text),
            None => "it starts".to_owned(),
        };
        let reason = format!(
            "the configuration is unknown (--kubelet-config FILE); with the defaults, {with_defaults}"
        );
        let rule = WhatIfRule::KubeletStart(StartFinding::Unknown { reason, text: None });
        let findings = vec![Effect::new(Subject::Node, rule)];
        return Start { findings, ..Start::default() };
    }
    let writes = writes_before_end(&after.snapshot, &after.overrides, &examination);
    let version = after.snapshot.version_of(&after.overrides).unwrap_or(KubeletVersion::ASSUMED);
    let logged = match before.snapshot.kubelet.found {
        Some(_) if !examination.warnings.is_empty() => before.examined().warnings,
        _ => Vec::new(),
    };
    let mut start = KubeletStart::of(&examination, version, &logged);
    start.doubt_version(&after.snapshot, &after.overrides);
    if reboots && let Ok(node) = after.node() {
        start.doubt_boot(&node);
    }
    let skipped = start.not_examined.iter().map(|it| format!("{} ({})", it.what, it.fact));
    let skipped: Vec<String> = skipped.collect();
    if !skipped.is_empty() {
        basis.assume(format!(
            "the start does not fail on what was not checked, as a fact is missing: {}",
            skipped.join("; ")
        ));
    }
    start.add_writes(&writes);
    if start.starts == Some(true) {
        if let Some(reason) = after.unread.first() {
            start.doubt(reason.clone());
        } else if let Some(unknown) = state_change(before, after) {
            start.starts = None;
            start.findings.push((unknown, None));
        } else {
            start.doubt_new_checks(&before.examined());
        }
    }
    let findings = start.findings.into_iter().map(|(finding, source): (StartFinding, _)| {
        let effect = Effect::new(Subject::Node, WhatIfRule::KubeletStart(finding));
        source.into_iter().fold(effect, Effect::from)
    });
    Start { starts: start.starts, findings: findings.collect(), writes }
}

/// Gives a kubelet the cgroup driver of its runtime, which is what it was, where nothing but the version of the runtime says that
/// it reports its own (`getCgroupDriverFromCRI`, `cmd/kubelet/app/server.go`, read in 1.36.2).
pub(super) fn take_driver(before: &NodeState, after: &mut NodeState, basis: &mut Basis) {
    let runtime = after.snapshot.runtime.value();
    // What it was asked, it answered or refused.
    if runtime.is_some_and(|runtime| !runtime.cgroup_driver.was_not_queried()) {
        return;
    }
    let (Ok(old), Ok(new)) = (before.node(), after.node()) else { return };
    let (Ok(was), Ok(is)) = (old.settings(), new.settings()) else { return };
    let asks = asks_runtime_for_driver(&after.config(), new.kubelet.version);
    if was.cgroup_driver == is.cgroup_driver || !asks {
        return;
    }
    let reported = after.snapshot.node.value().map(|node| &node.status.node_info);
    let version = match runtime {
        Some(runtime) => Some(runtime.version.clone()),
        None => reported.and_then(|it| RuntimeVersion::of_node(&it.container_runtime_version)),
    };
    let tells = version.as_ref().and_then(RuntimeVersion::tells_driver);
    match tells {
        Some(true) => {
            after.put_cgroup_driver(was.cgroup_driver);
            basis.assume(
                "the driver of the runtime counts (RuntimeConfig, since containerd 2.0 and CRI-O 1.28), and not \
                 cgroupDriver in the configuration"
                    .to_owned(),
            );
        }
        Some(false) => {}
        None if after.snapshot.runtime.has_failed() || version.is_none() => {
            let why = match after.snapshot.runtime.has_failed() {
                true => "it did not answer",
                false => "its version is not known",
            };
            let text = format!(
                "whether cgroupDriver counts: the driver that the container runtime reports goes before it, and {why}"
            );
            basis.lack(Missing::new(MissingFact::CgroupDriver, text));
        }
        None => basis.assume(
            "the runtime does not report its cgroup driver, as containerd before 2.0: cgroupDriver in the \
             configuration counts"
                .to_owned(),
        ),
    }
}

/// Returns how the start ends where a manager has another policy or other reservations than before, and its state file, which is
/// not known, is the one that the kubelet wrote before.
fn state_change(before: &NodeState, after: &NodeState) -> Option<StartFinding> {
    let files = after.snapshot.state_files.as_ref();
    let is_unknown = |file: StateFile| {
        !matches!(
            files.and_then(|files| files.get(file.name())),
            Some(Text::Read(_) | Text::Absent)
        )
    };
    if ![StateFile::Cpu, StateFile::Memory].into_iter().any(is_unknown) {
        return None;
    }
    let folder = files.map_or(DEFAULT_ROOT_DIR, |files| files.folder.as_str());
    let (before, after) = (before.node().ok()?, after.node().ok()?);
    let (found, configured) = (before.config(), after.config());
    let ends = |file: StateFile, manager: &str, refusal: String| StartFinding::Unknown {
        reason: format!("{} is not known: the kubelet ends on that of another policy", file.name()),
        text: Some(format!("start {manager} manager error: {}", file.refusal(&refusal, folder))),
    };
    if is_unknown(StateFile::Cpu) && found.cpu_manager_policy != configured.cpu_manager_policy {
        let refusal = CpuRefusal::Policy {
            configured: configured.cpu_manager_policy.clone(),
            found: found.cpu_manager_policy.clone(),
        };
        return Some(ends(StateFile::Cpu, "cpu", refusal.to_string()));
    }
    if is_unknown(StateFile::Memory)
        && found.memory_manager_policy != configured.memory_manager_policy
    {
        let refusal = MemoryRefusal::Policy {
            configured: configured.memory_manager_policy.clone(),
            found: found.memory_manager_policy.clone(),
        };
        return Some(ends(StateFile::Memory, "memory", refusal.to_string()));
    }
    let options = |node: &Node| {
        let options = &node.config().cpu_manager_policy_options;
        options.get("strict-cpu-reservation").is_some_and(|value| value == "true")
    };
    let reserved = |node: &Node| {
        let (config, cpu) = (node.config(), "cpu");
        let amounts = [&config.kube_reserved, &config.system_reserved];
        (config.reserved_system_cpus.clone(), amounts.map(|it| it.get(cpu).cloned()))
    };
    let others = |manager, file: StateFile| {
        let reason = format!(
            "{} is not known: a kubelet whose static {manager} manager finds other reservations in it exits",
            file.name()
        );
        Some(StartFinding::Unknown { reason, text: None })
    };
    let is_other = options(&before) != options(&after) || reserved(&before) != reserved(&after);
    if is_unknown(StateFile::Cpu) && configured.cpu_manager_policy == "static" && is_other {
        return others("CPU", StateFile::Cpu);
    }
    let memory = |node: &Node| node.kubelet.given.reserved_memory.clone().unwrap_or_default();
    if is_unknown(StateFile::Memory)
        && configured.memory_manager_policy == "Static"
        && memory(&before) != memory(&after)
    {
        return others("memory", StateFile::Memory);
    }
    None
}
