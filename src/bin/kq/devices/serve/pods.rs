//! The pods of a request, each under a name of its own.

use kq::k8s::manifest::{Source, load};
use kq::k8s::pod::Pod;
use std::collections::BTreeMap;

/// Reads the pods, each with what is taken for granted of it. The stand-in knows a pod without a UID by its
/// name: two of one name would have the same devices.
///
/// # Errors
///
/// Fails for what cannot be read, and for a pod that has no name, or that of another.
pub fn pods(file: &str, text: &str) -> Result<Vec<(Pod, Option<String>)>, String> {
    let loaded = load(file, text.as_bytes());
    if let Some(problem) = loaded.problems.first() {
        return Err(problem.to_string());
    }
    let mut places = BTreeMap::new();
    let mut pods = Vec::new();
    for loaded in loaded.pods {
        let metadata = &loaded.pod.metadata;
        let place = place(&loaded.source);
        if metadata.name.is_empty() {
            return Err(format!(
                "{place}: metadata.name: the pod has none, and only an API server makes one of \
                 generateName: give it a name"
            ));
        }
        let name = (metadata.namespace.clone(), metadata.name.clone());
        if let Some(first) = places.insert(name, place.clone()) {
            return Err(format!(
                "{place}: metadata.name: {}/{} is the pod of {first} already: give each its own name",
                metadata.namespace, metadata.name
            ));
        }
        pods.push((loaded.pod, one_of_many(&loaded.source)));
    }
    Ok(pods)
}

fn place(source: &Source) -> String {
    let item = source.item.map_or_else(String::new, |item| format!(", items[{item}]"));
    format!("{}: document {}{item}", source.file, source.document)
}

/// Says that a workload stands for one pod alone.
fn one_of_many(source: &Source) -> Option<String> {
    let one = source.workload.as_ref()?.one_pod()?;
    Some(format!("{one} is admitted"))
}
