//! Finds and deletes the pods that outlived their run.

use super::GuardOptions;
use crate::answer::Failure;
use crate::edge::api_server::ApiServer;
use crate::edge::clock::moment;
use crate::facts::timestamp::Timestamp;
use crate::fleet::{FleetPod, MANAGED_BY, MANAGED_BY_LABEL, fleet_pods};
use crate::node::NodeSpec;
use anyhow::anyhow;
use std::path::PathBuf;
use std::time::Duration;

/// The pods to delete.
#[derive(Clone, Debug)]
pub struct CleanOptions {
    pub namespace: String,
    /// All pods of this run; `None`: those of any run that outlived their deadline.
    pub run: Option<String>,
    pub kubeconfig: Option<PathBuf>,
    pub context: Option<String>,
    /// The time limit of the list, and of each deletion.
    pub timeout: Duration,
}

/// The pods that will be deleted.
pub struct CleanPlan {
    server: ApiServer,
    namespace: String,
    /// Ordered by run and name.
    pub pods: Vec<FleetPod>,
    /// How many others there are: those of living runs.
    pub others: usize,
    now: Timestamp,
}

impl CleanPlan {
    /// Lists the pods of all runs, and chooses among them.
    ///
    /// # Errors
    ///
    /// Fails unless all pods are known.
    pub fn prepare(options: &CleanOptions) -> Result<Self, Failure> {
        let spec = NodeSpec {
            kubeconfig: options.kubeconfig.clone(),
            context: options.context.clone(),
            timeout: options.timeout,
            ..NodeSpec::default()
        };
        let server = spec.connect()?;
        let all = list(&server, &options.namespace, options.timeout);
        let all =
            all.map_err(|reason| Failure::missing(anyhow!("the pods of fleets: {reason}")))?;
        let now = moment();
        let is_chosen = |pod: &FleetPod| match &options.run {
            Some(run) => pod.run == *run,
            None => pod.has_outlived(now),
        };
        let (mut pods, others): (Vec<FleetPod>, Vec<FleetPod>) =
            all.into_iter().partition(is_chosen);
        pods.sort_by(|a, b| (&a.run, &a.name).cmp(&(&b.run, &b.name)));
        let namespace = options.namespace.clone();
        Ok(Self { server, namespace, pods, others: others.len(), now })
    }

    /// Describes each pod in a line.
    pub fn lines(&self) -> Vec<String> {
        let namespace = &self.namespace;
        let line = |pod: &FleetPod| {
            let FleetPod { name, node, phase, .. } = pod;
            let age = pod.age_seconds(self.now);
            format!("delete pod {namespace}/{name} on {node}: {phase}, created {age}s ago")
        };
        self.pods.iter().map(line).collect()
    }

    /// Deletes the pods by their UIDs, and passes each with the result to `take`.
    pub fn apply(&self, mut take: impl FnMut(&FleetPod, Result<(), String>)) {
        for pod in &self.pods {
            let deleted = self.server.delete_pod(&self.namespace, &pod.name, &pod.uid);
            take(pod, deleted.map_err(|error| error.reason()));
        }
    }
}

/// Returns the pods of all runs in a namespace.
pub(super) fn list(
    server: &ApiServer,
    namespace: &str,
    timeout: Duration,
) -> Result<Vec<FleetPod>, String> {
    let pages = server.pods_with_label(namespace, MANAGED_BY_LABEL, MANAGED_BY, timeout);
    let pages = pages.map_err(|error| error.reason())?;
    let pods: Result<Vec<_>, String> = pages.iter().map(|page| fleet_pods(page)).collect();
    Ok(pods?.into_iter().flatten().collect())
}

/// Returns how many pods of earlier runs outlived their deadline.
pub(super) fn outlived(
    server: &ApiServer,
    of: &GuardOptions,
    timeout: Duration,
) -> Result<usize, String> {
    let now = moment();
    let pods = list(server, &of.namespace, timeout)?;
    Ok(pods.iter().filter(|pod| pod.run != of.run && pod.has_outlived(now)).count())
}
