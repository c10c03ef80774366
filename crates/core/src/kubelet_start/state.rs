//! The state files that a start reads: those of the CPU manager, the memory manager, dynamic resource allocation
//! and the pods' resources.

use super::{Stage, Start, StartExamination, StartRule, cpus};
use kq_answer::Certainty;
use kq_facts::checkpoint::cpu_manager::{self, CpuRefusal, CpuState};
use kq_facts::checkpoint::layout::KnownLayouts;
use kq_facts::checkpoint::memory_manager::{self, MemoryRefusal};
use kq_facts::checkpoint::{StateFile, dra as claims, pod_allocation};
use kq_facts::host::Text;
use kq_facts::kubelet_config::ValidationError;
use kq_facts::state_files::state_path;
use kq_k8s::cpuset::CpuSet;
use kq_k8s::kubelet_rules::KubeletRules;
use kq_k8s::pod::ResourceName;
use kq_managers::cpu_manager::{StartError, StateError};
use kq_managers::memory_manager::{KnownMemory, MemoryJudgement};

/// Returns the text of a file, if it exists and was read.
fn text<'f>(start: &Start<'f>, found: &mut StartExamination, file: StateFile) -> Option<&'f str> {
    if start.removes(file) {
        return None;
    }
    let files = start.facts.state_files;
    match files.and_then(|files| files.get(file.name())) {
        Some(Text::Read(text)) => Some(text),
        Some(Text::Absent) => None,
        Some(Text::Unreadable(reason)) => {
            found.unreadable.push(format!("{} could not be read ({reason})", file.name()));
            None
        }
        None => {
            let what = match file {
                StateFile::Cpu => "an invalid cpu_manager_state",
                StateFile::Memory => "an invalid memory_manager_state",
                StateFile::Dra => "an invalid dra_manager_state",
                _ => "an invalid allocated_pods_state or actuated_pods_state",
            };
            found.skip(what, "the state files in the kubelet's folder");
            None
        }
    }
}

fn path(folder: &str, file: StateFile) -> String {
    state_path(folder, file.name())
}

/// Checks `dra_manager_state`, when the manager is created.
pub(super) fn dra(start: &Start<'_>, found: &mut StartExamination) {
    let file = StateFile::Dra;
    if !file.is_read_at_start(start.read.gates) {
        return;
    }
    let Some(text) = text(start, found, file) else { return };
    if let Err(refusal) = claims::load(text.as_bytes()).outcome {
        let step = refusal.step();
        let error = match start.facts.version().creates_resource_claim_cache() {
            true => format!("create ResourceClaim cache: {step}: {refusal}"),
            false => {
                format!("failed to create claimInfo cache: error calling {step}: {refusal}")
            }
        };
        let path = path(start.folder(), file);
        found.stop(Stage::Run, StartRule::StateFile { file, path, error, panics: false });
    }
}

/// Checks the allocated and the actuated resources of the pods, when the kubelet is created.
pub(super) fn pods(start: &Start<'_>, found: &mut StartExamination) {
    let Start { facts, read, .. } = start;
    let folder = start.folder();
    // 1.32 has one file for both.
    let file = StateFile::PodStatus;
    if file.is_read_at_start(read.gates)
        && let Some(text) = text(start, found, file)
        && let Err(refusal) = pod_allocation::load_v1_32(text.as_bytes()).outcome
    {
        panics(found, Stage::Create, folder, file, &file.refusal(&refusal.to_string(), folder));
    }
    if !StateFile::AllocatedPods.is_read_at_start(read.gates) {
        return;
    }
    // `NewMainKubelet` makes the allocation manager before the one of the runtime, which has the actuated resources since 1.35.
    let file = StateFile::AllocatedPods;
    if let Some(text) = text(start, found, file)
        && let Err(refusal) = pod_allocation::load(text.as_bytes()).outcome
    {
        panics(found, Stage::Create, folder, file, &file.refusal(&refusal.to_string(), folder));
    }
    let file = StateFile::ActuatedPods;
    if let Some(text) = text(start, found, file)
        && let Err(refusal) = pod_allocation::load(text.as_bytes()).outcome
    {
        let refusal = file.refusal(&refusal.to_string(), folder);
        match facts.version().always_stores_pods() {
            true => {
                let error = format!("failed to initialize actuated state checkpoint: {refusal}");
                let path = path(folder, file);
                found
                    .stop(Stage::Create, StartRule::StateFile { file, path, error, panics: false });
            }
            false => panics(found, Stage::Create, folder, file, &refusal),
        }
    }
}

fn panics(found: &mut StartExamination, stage: Stage, folder: &str, file: StateFile, error: &str) {
    let (path, error) = (path(folder, file), error.to_owned());
    found.stop(stage, StartRule::StateFile { file, path, error, panics: true });
}

fn stop(
    found: &mut StartExamination,
    folder: &str,
    file: StateFile,
    error: String,
    certainty: Certainty,
) {
    let path = path(folder, file);
    let rule = StartRule::StateFile { file, path, error, panics: false };
    found.stop(Stage::ContainerManager, (rule, certainty));
}

/// `cpu_manager_state`, when the CPU manager starts.
pub(super) fn cpu(start: &Start<'_>, found: &mut StartExamination) {
    let file = StateFile::Cpu;
    let Some(text) = text(start, found, file) else { return };
    // Why a manager cannot be made was said when it was.
    let refusal = match cpus::create(start).unwrap_or_default() {
        Some(manager) => {
            if !manager.knows_reserved {
                let reservation = start.reservation.as_ref();
                let reserved = reservation.and_then(|list| list.get(&ResourceName::Cpu));
                let what = "reserved CPUs that a container has";
                found.skip_of(what, "the cores of the machine", reserved.map(ToString::to_string));
            }
            manager.refusal(text.as_bytes(), start.folder())
        }
        // A manager that cannot be made reads its file nevertheless, once that is fixed.
        None => {
            let policy = start.read.effective.cpu_manager_policy.as_str();
            let layouts = KnownLayouts::of(&KubeletRules { gates: start.read.gates });
            let loaded = cpu_manager::load(text.as_bytes(), layouts, Some(policy), None).outcome;
            let folder = start.folder().to_owned();
            match loaded {
                Err(refusal) => Some(StartError::File { refusal: Box::new(refusal), folder }),
                Ok(state) => other_cpus(&state, start).map(StartError::State),
            }
        }
    };
    match refusal {
        None => {}
        Some(StartError::File { refusal, .. }) if *refusal == CpuRefusal::ContainersNotKnown => {
            let reason =
                "has the first layout, and the containers of the runtime that it names are unknown";
            found.unreadable.push(format!("{} {reason}", file.name()));
        }
        Some(error) => {
            let error = format!("start cpu manager error: {error}");
            stop(found, start.folder(), file, error, Certainty::Certain);
        }
    }
}

/// Returns that a state contradicts itself, or has other CPUs than the machine, whatever is reserved of them.
fn other_cpus(state: &CpuState, start: &Start<'_>) -> Option<StateError> {
    let options = start.read.given.cpu_manager_policy_options.as_ref();
    let leaves_out = options.is_some_and(|options| options.contains_key("strict-cpu-reservation"));
    let is_static = start.read.effective.cpu_manager_policy == "static";
    if !is_static || leaves_out || state.default_cpu_set.is_empty() {
        return None;
    }
    let of_pods = state.pods.iter().flat_map(|pods| pods.values());
    let sets = state.containers.values().flat_map(|containers| containers.values()).chain(of_pods);
    let known: CpuSet = sets.chain([&state.default_cpu_set]).flat_map(CpuSet::iter).collect();
    let default = &state.default_cpu_set;
    for (pod, containers) in &state.containers {
        if let Some((container, cpus)) = containers.iter().find(|(_, cpus)| cpus.overlaps(default))
        {
            let (pod, container) = (pod.clone(), container.clone());
            let (cpus, default) = (cpus.clone(), default.clone());
            return Some(StateError::Overlap { pod, container, cpus, default });
        }
    }
    let available = start.machine.cpus.clone()?;
    (known != available).then_some(StateError::OtherCpus { available, known })
}

/// `memory_manager_state`, when the memory manager starts.
pub(super) fn memory(start: &Start<'_>, found: &mut StartExamination) {
    let file = StateFile::Memory;
    let Some(text) = text(start, found, file) else { return };
    let policy = start.read.effective.memory_manager_policy.as_str();
    let layouts = KnownLayouts::of(&KubeletRules { gates: start.read.gates });
    let loaded = memory_manager::load(text.as_bytes(), layouts, Some(policy)).outcome;
    let (error, certainty) = match loaded {
        Ok(state) if policy == "Static" => {
            let known = known_memory(start, found);
            if !known.has_machine() {
                found.skip("a memory_manager_state of another machine", "the machine's NUMA nodes");
            }
            let MemoryJudgement { result, depends_on_order } = known.judge(&state);
            let certainty = if depends_on_order { Certainty::Possible } else { Certainty::Certain };
            match result {
                // Which allocation is the last decides, and another start may find another one.
                Ok(()) if depends_on_order => (Some(DIFFERS.to_owned()), certainty),
                Ok(()) => (None, certainty),
                Err(error) => match error.panic_text() {
                    Some(text) => {
                        return panics(found, Stage::ContainerManager, start.folder(), file, text);
                    }
                    None => (Some(error.to_string()), certainty),
                },
            }
        }
        Ok(_) => (None, Certainty::Certain),
        Err(refusal @ MemoryRefusal::Panic { .. }) => {
            let stage = Stage::ContainerManager;
            return panics(found, stage, start.folder(), file, &refusal.to_string());
        }
        Err(refusal) => {
            (Some(file.refusal(&refusal.to_string(), start.folder())), Certainty::Certain)
        }
    };
    if let Some(error) = error {
        let error = format!("start memory manager error: {error}");
        stop(found, start.folder(), file, error, certainty);
    }
}

/// The kubelet's words for a state that is not the expected one.
const DIFFERS: &str = "[memorymanager] the expected machine state is different from the real one";

/// Collects what the static policy compares its state with.
fn known_memory(start: &Start<'_>, found: &StartExamination) -> KnownMemory {
    let is_of_reserved = |error: &ValidationError| {
        use ValidationError::*;
        matches!(
            error,
            ReservedMemoryType { .. } | ReservedMemoryZero { .. } | ReservedMemoryTwice { .. }
        )
    };
    let is_refused = found.problems.iter().any(|it| match &it.rule {
        StartRule::Setting { field, .. } => field == "reservedMemory",
        StartRule::Invalid { errors } => errors.iter().any(is_of_reserved),
        _ => false,
    });
    KnownMemory {
        numa_memory: start.machine.numa_memory.clone(),
        huge_pages: start.machine.numa_huge_pages.clone(),
        // Of a value that is refused, it is not known what replaces it.
        reserved_memory: (!is_refused)
            .then(|| start.read.given.reserved_memory.clone().unwrap_or_default()),
    }
}
