//! Contradictions between the files, and with the pods of the node.

use super::file::{Findings, StateFileContent, VerifyContext};
use super::report::{Examined, Held};
use super::rule::StateFileRule;
use kq_answer::Finding;
use kq_facts::checkpoint::StateFile;
use kq_facts::checkpoint::pod_allocation::PodAllocations;
use kq_facts::node_pods::Standing;

/// Compares what the files hold.
pub(super) fn between(
    files: &[StateFileContent<'_>],
    examined: &[Examined],
    known: &VerifyContext<'_>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for (file, examined) in files.iter().zip(examined) {
        let mut findings = Findings::of(&file.path);
        let pods: Vec<&String> = match &examined.held {
            Held::Nothing => Vec::new(),
            Held::Pods(pods) => pods.iter().collect(),
            Held::Resources(pods) => pods.keys().collect(),
        };
        if let Some(kind) = file.file {
            stale(kind, &pods, known, &mut findings);
        }
        found.extend(findings.into_vec());
    }
    found.extend(resizes(files, examined));
    found
}

/// Finds what belongs to pods that are gone.
fn stale(
    file: StateFile,
    uids: &[&String],
    known: &VerifyContext<'_>,
    findings: &mut Findings<'_>,
) {
    let Some(pods) = known.pods else { return };
    for uid in uids {
        let (Standing::Gone(why) | Standing::Ended(why)) = pods.standing(uid) else { continue };
        findings.add(format!("pod {uid}"), &StateFileRule::Stale { file, pod: uid, why });
    }
}

/// Finds pods whose granted resources are not those in effect.
fn resizes(files: &[StateFileContent<'_>], examined: &[Examined]) -> Vec<Finding> {
    let of = |kind: StateFile| {
        let both = files.iter().zip(examined).find(|(file, _)| file.file == Some(kind))?;
        match &both.1.held {
            Held::Resources(pods) => Some((both.0, pods)),
            _ => None,
        }
    };
    let (Some((file, allocated)), Some((_, actuated))) =
        (of(StateFile::AllocatedPods), of(StateFile::ActuatedPods))
    else {
        return Vec::new();
    };
    let mut findings = Findings::of(&file.path);
    for place in differing(allocated, actuated) {
        findings.add(place, &StateFileRule::Resize);
    }
    findings.into_vec()
}

/// Returns where both name a container or pod, and other resources.
fn differing(allocated: &PodAllocations, actuated: &PodAllocations) -> Vec<String> {
    let mut places = Vec::new();
    for (uid, pod) in allocated {
        let Some(other) = actuated.get(uid) else { continue };
        for (name, resources) in &pod.container_resources {
            if other.container_resources.get(name).is_some_and(|other| other != resources) {
                places.push(format!("entries.{uid}.ContainerResources.{name}"));
            }
        }
        let levels = (&pod.pod_level_resources, &other.pod_level_resources);
        if let (Some(own), Some(other)) = levels
            && own != other
        {
            places.push(format!("entries.{uid}.PodLevelResources"));
        }
    }
    places
}
