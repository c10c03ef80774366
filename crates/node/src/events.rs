//! The events about the pods of the node, from the API server that also listed the pods.

use kq_api::api_server::ApiServer;
use kq_facts::events::{PodEvent, read_events};
use kq_facts::kept_events::{is_of_node, kept};
use kq_facts::lookup::{FailedSource, Lookup};
use kq_facts::snapshot::RecordedPods;
use kq_io::clock::steady;
use std::collections::BTreeSet;
use std::time::Duration;

/// Requests the events in the namespaces of the pods, all within one time limit.
pub(super) fn gather(
    server: &Result<ApiServer, FailedSource>,
    pods: &Lookup<RecordedPods>,
    node: Option<&str>,
    time: Duration,
) -> Lookup<Vec<PodEvent>> {
    let server = match server {
        Ok(server) => server,
        Err(tried) => return Lookup { found: None, tried: vec![tried.clone()] },
    };
    let source = format!("{} events", server.source());
    let Some(pods) = pods.value() else {
        return Lookup::failed(source, "not queried: the pods of the node are unknown");
    };
    let names = pods.pods.iter().map(|loaded| {
        let metadata = &loaded.pod.metadata;
        (metadata.namespace.clone(), metadata.name.clone())
    });
    let names: BTreeSet<(String, String)> = names.collect();
    let namespaces: BTreeSet<&str> =
        names.iter().map(|(namespace, _)| namespace.as_str()).collect();
    let begun = steady();
    let mut found = Vec::new();
    for namespace in namespaces {
        let left = time.saturating_sub(begun.elapsed());
        let pages = match server.events_of_namespace(namespace, left) {
            Ok(pages) => pages,
            Err(error) => return Lookup::failed(source, error.reason()),
        };
        for page in pages {
            match read_events(&page) {
                Ok(events) => {
                    found.extend(events.into_iter().filter(|it| is_of_node(it, &names, node)));
                }
                Err(error) => return Lookup::failed(source, error.to_string()),
            }
        }
    }
    Lookup::found(source, kept(found))
}
