//! The pods of a manifest that devices are for.

use crate::exit::Failure;
use anyhow::anyhow;
use kq::answer::Basis;
use kq::device::plan::PodToPlan;
use kq::edge::input::{read_input, shown};
use kq::k8s::manifest::{Loaded, LoadedPod, Note, load};
use std::collections::BTreeMap;

/// Refuses a file in which a pod is twice. Pods of two workloads of one name get names of their own.
fn refuse_twice(file: &str, loaded: &Loaded) -> Result<(), Failure> {
    let mut seen: BTreeMap<_, &LoadedPod> = BTreeMap::new();
    for pod in loaded.pods.iter().filter(|pod| !pod.pod.metadata.name.is_empty()) {
        let metadata = &pod.pod.metadata;
        let kind = pod.source.workload.as_ref().map(|workload| &workload.kind);
        if let Some(first) = seen.insert((kind, &metadata.namespace, &metadata.name), pod) {
            return Err(Failure::usage(anyhow!(
                "{file}: pod {}/{} is there twice: {} and {}",
                metadata.namespace,
                metadata.name,
                place(first),
                place(pod)
            ))
            .hint("there is one pod of a name in a namespace; name one of them otherwise"));
        }
    }
    Ok(())
}

/// Says where in its file a pod is.
fn place(pod: &LoadedPod) -> String {
    let document = pod.source.document;
    match pod.source.item {
        None => format!("document {document}"),
        Some(item) => format!("items[{item}] of document {document}"),
    }
}

/// Reads the pods of a file; those without a UID get one.
pub fn pods_of_file(file: &str, basis: &mut Basis) -> Result<Vec<PodToPlan>, Failure> {
    let content = read_input(file).map_err(Failure::missing)?;
    let loaded = load(shown(file), &content);
    if loaded.pods.is_empty() {
        if let Some(problem) = loaded.problems.first() {
            return Err(Failure::usage(anyhow!("{problem}")));
        }
        return Err(Failure::usage(anyhow!("{}: no pods", shown(file)))
            .hint("a Pod, a list of pods, or a workload with a pod template is expected"));
    }
    refuse_twice(shown(file), &loaded)?;
    basis.warn_all(loaded.notes.iter().map(Note::to_string));
    basis.lack_all(loaded.problems.iter().map(ToString::to_string));
    let one = loaded.pods.iter().filter_map(|pod| pod.source.workload.as_ref()?.one_pod());
    let assumed =
        one.map(|one| format!("{one} is planned; every other on this node needs as much"));
    basis.assume_all(assumed);
    let pods = loaded.pods.into_iter().enumerate().map(|(at, loaded)| {
        let mut pod = loaded.pod;
        if pod.metadata.uid.is_empty() {
            pod.metadata.uid = format!("kq-{}", at + 1);
        }
        PodToPlan { pod, source: shown(file).to_owned() }
    });
    Ok(pods.collect())
}
