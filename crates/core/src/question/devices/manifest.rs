//! The pods of a manifest that a plan allocates devices to.

use anyhow::anyhow;
use kq_answer::{Basis, Failure, Missing, MissingFact, WarningCode};
use kq_k8s::manifest::{Loaded, LoadedPod, Problem, load};
use kq_managers::plan::PodToPlan;
use std::collections::BTreeMap;

/// Refuses a file that contains a pod twice. Pods of two workloads with the same name get distinct names.
fn refuse_twice(file: &str, loaded: &Loaded) -> Result<(), Failure> {
    let mut seen: BTreeMap<_, &LoadedPod> = BTreeMap::new();
    for pod in loaded.pods.iter().filter(|pod| !pod.pod.metadata.name.is_empty()) {
        let metadata = &pod.pod.metadata;
        let kind = pod.source.workload.as_ref().map(|workload| &workload.kind);
        if let Some(first) = seen.insert((kind, &metadata.namespace, &metadata.name), pod) {
            return Err(Failure::usage(anyhow!(
                "{file}: pod {}/{} occurs twice: {} and {}",
                metadata.namespace,
                metadata.name,
                place(first),
                place(pod)
            ))
            .hint("pod names are unique in a namespace; rename one of the pods"));
        }
    }
    Ok(())
}

/// Returns the place of a pod in its file.
fn place(pod: &LoadedPod) -> String {
    let document = pod.source.document;
    match pod.source.item {
        None => format!("document {document}"),
        Some(item) => format!("items[{item}] of document {document}"),
    }
}

/// Parses the pods of a manifest; a pod without a UID gets one.
///
/// # Errors
///
/// Fails for a file without valid pods, and for one that contains a pod twice.
pub fn manifest_pods(
    file: &str,
    content: &[u8],
    basis: &mut Basis,
) -> Result<Vec<PodToPlan>, Failure> {
    let loaded = load(file, content);
    if loaded.pods.is_empty() {
        if let Some(problem) = loaded.problems.first() {
            return Err(Failure::usage(anyhow!("{problem}")));
        }
        return Err(Failure::usage(anyhow!("{}: no pods", file))
            .hint("a Pod, a list of pods, or a workload with a pod template is expected"));
    }
    refuse_twice(file, &loaded)?;
    basis.warn_all(WarningCode::PodManifest.each(&loaded.notes));
    let unread = |problem: &Problem| Missing::new(MissingFact::UnreadPod, problem.to_string());
    basis.lack_all(loaded.problems.iter().map(unread));
    let one = loaded.pods.iter().filter_map(|pod| pod.source.workload.as_ref()?.one_pod());
    let assumed =
        one.map(|one| format!("{one} is planned; every other on this node needs as much"));
    basis.assume_all(assumed);
    let pods = loaded.pods.into_iter().enumerate().map(|(at, loaded)| {
        let mut pod = loaded.pod.into_inner();
        if pod.metadata.uid.is_empty() {
            pod.metadata.uid = format!("kq-{}", at + 1);
        }
        PodToPlan { pod, source: file.to_owned() }
    });
    Ok(pods.collect())
}
