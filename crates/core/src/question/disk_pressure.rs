//! The disk pressure on the node, for plans of what it causes.

use super::measured::stats;
use kq_answer::Failure;
use kq_eviction::{
    AssumedSpace, DiskFacts, FreedBytes, NodeDisks, Pressure, PressureInput, Reclaimed, node_disks,
    pressure,
};
use kq_facts::kubelet_config::EvictionThreshold;
use kq_facts::live::incomplete;
use kq_facts::node::Node;
use kq_image_gc::containers::{ContainerGcPlan, Step};
use kq_image_gc::cycle::ImageFs;
use kq_image_gc::plan::ImageGcPlan;
use kq_image_gc::storage::freed_at_most;
use kq_k8s::pod::Pod;
use std::collections::BTreeMap;

/// The facts that decide about disk pressure.
pub struct PressureFacts<'a> {
    node: &'a Node,
    thresholds: Vec<EvictionThreshold>,
    disks: NodeDisks,
    pods: Vec<&'a Pod>,
}

impl<'a> PressureFacts<'a> {
    /// Reads the facts from the node; `assumed` replaces the numbers of the image file system.
    ///
    /// # Errors
    ///
    /// Fails on thresholds with which the kubelet would not start.
    pub fn of(node: &'a Node, assumed: Option<ImageFs>) -> Result<Self, Failure> {
        let config = node.config();
        let thresholds = node.eviction_thresholds()?;
        let runtime = node.snapshot.runtime.value();
        let assumed = assumed.and_then(|fs| {
            Some(AssumedSpace { capacity_bytes: fs.capacity?, available_bytes: fs.available? })
        });
        let disks = node_disks(DiskFacts {
            folders: &node.snapshot.folders,
            runtime: runtime.and_then(|runtime| runtime.image_filesystems.value()),
            endpoint: &config.container_runtime_endpoint,
            feature_gates: &config.feature_gates,
            rules: &node.kubelet.rules,
            summary: stats(node).map(|found| &found.value),
            assumed,
        });
        Ok(Self { node, thresholds, disks, pods: node.pods() })
    }

    /// Returns the plan of the eviction manager, with the effect of the reclaim if it is known.
    pub fn pressure(&self, reclaimed: Option<Reclaimed>) -> Pressure {
        let snapshot = &self.node.snapshot;
        let is_measured = stats(self.node)
            .is_some_and(|found| !found.value.is_of_machine || found.value.node.memory.is_some());
        let unknown = incomplete(&snapshot.pods, &self.pods, snapshot.runtime.value());
        pressure(&PressureInput {
            config: self.node.config(),
            thresholds: &self.thresholds,
            rules: self.node.kubelet.rules,
            disks: &self.disks,
            stats_unknown: (!is_measured).then(|| snapshot.stats_summary.reason()),
            pods: unknown.map_or(Ok(&self.pods), |it| Err(it.text)),
            reclaimed,
        })
    }

    /// Returns the bytes that a plan frees, within the known bounds.
    pub fn reclaimed(&self, plan: &ImageGcPlan) -> Reclaimed {
        let containers = match &plan.containers {
            Some(containers) => self.layers(containers),
            None => Some(0),
        };
        let freed = &plan.freed;
        // If the removed images are uncertain, the real bytes are those of the likely ones.
        let is_least = freed.counted_bytes == freed.at_least_bytes;
        // Dead containers keep the layers of their images in use.
        let steps = plan.containers.iter().flat_map(|containers| &containers.steps);
        let frees_layers = steps.into_iter().any(|step| matches!(step, Step::Container(_)));
        let is_most = freed.counted_bytes == freed.at_most_bytes;
        let at_most = if frees_layers { self.freed_at_most(plan) } else { freed.real_bytes };
        Reclaimed {
            images: FreedBytes {
                at_least: freed.real_bytes.filter(|_| is_least).unwrap_or(0),
                at_most: at_most.filter(|_| is_most),
            },
            images_counted_bytes: u64::try_from(freed.counted_bytes).unwrap_or(0),
            containers: FreedBytes::of(containers),
        }
    }

    /// Returns the bytes that the images of a plan free once no dead container uses their layers.
    fn freed_at_most(&self, plan: &ImageGcPlan) -> Option<u64> {
        let storage = self.node.snapshot.runtime.value()?.image_storage.value()?;
        let removed = plan.items.iter().filter(|item| item.verdict.is_removal());
        Some(freed_at_most(storage, removed.map(|item| item.id.as_str())))
    }

    /// Returns the bytes of the writable layers of the removed containers; `None`: some are unknown.
    fn layers(&self, plan: &ContainerGcPlan) -> Option<u64> {
        let known = self.node.snapshot.runtime.value().map(|runtime| &runtime.writable_layers);
        let known: BTreeMap<&str, u64> = known
            .and_then(|known| known.value())
            .into_iter()
            .flatten()
            .filter_map(|layer| Some((layer.id.as_str(), layer.used_bytes?)))
            .collect();
        let gone = plan.steps.iter().filter_map(|step| match step {
            Step::Container(step) => Some(known.get(step.id.as_str()).copied()),
            Step::Sandbox(_) | Step::LogDirectory(_) => None,
        });
        gone.sum::<Option<u64>>()
    }
}
