//! The report of a removal, as a value and as lines.

use crate::apply::{Removal, Removals, Removed};
use crate::cycle::Usage;
use crate::plan::{short, size};
use kq_answer::{Basis, answer};
use kq_facts::timestamp::Timestamp;
use serde::Serialize;

/// A removal of images as a value.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageGcApply {
    /// When it was planned.
    pub planned_at: Timestamp,
    /// It was only planned.
    pub dry_run: bool,
    /// The SHA-256 of the plan: what is removed, in order. `--plan-digest` applies this plan and no other.
    pub plan_digest: String,
    /// The bytes to free, as the kubelet counts; null: everything on the list.
    pub target_bytes: Option<i64>,
    /// The sizes of what was removed, as the kubelet counts.
    pub counted_bytes: i64,
    /// The bytes freed on the image file system; null: unknown.
    pub measured_bytes: Option<i64>,
    /// The image file system before.
    pub before: Option<Usage>,
    /// The image file system afterwards.
    pub after: Option<Usage>,
    /// Why it ended before the end of the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// Dead containers and sandboxes, which went first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub containers: Vec<ContainerResult>,
    /// The images in order.
    pub items: Vec<ImageResult>,
    /// The basis of the answer.
    #[serde(flatten)]
    pub basis: Basis,
}

answer!("ImageGcApply", ImageGcApply);

/// The result for an image.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageResult {
    /// The image.
    #[serde(flatten)]
    pub removal: Removal,
    /// The result; `None`: it was only planned.
    #[serde(flatten)]
    pub result: Option<Removed>,
}

/// The result for a container or a sandbox.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerResult {
    /// `container` or `sandbox`
    pub what: &'static str,
    /// The runtime's id of it.
    pub id: String,
    /// The name of the container, else the UID of the pod.
    pub name: String,
    /// The result; `None`: it was only planned.
    #[serde(flatten)]
    pub result: Option<Removed>,
}

impl ImageGcApply {
    /// Puts the list and the results together.
    pub fn new(
        planned_at: Timestamp,
        plan_digest: String,
        list: &[Removal],
        target_bytes: Option<i64>,
        done: Option<&Removals>,
    ) -> Self {
        let result = |index: usize| done.and_then(|done| done.results.get(index)).cloned();
        let items = list.iter().enumerate().map(|(index, removal)| ImageResult {
            removal: removal.clone(),
            result: result(index),
        });
        Self {
            planned_at,
            dry_run: done.is_none(),
            plan_digest,
            target_bytes,
            counted_bytes: done.map_or(0, |done| done.counted_bytes),
            measured_bytes: None,
            before: None,
            after: None,
            stopped: done.and_then(|done| done.stopped.clone()),
            containers: Vec::new(),
            items: items.collect(),
            basis: Basis::default(),
        }
    }

    /// Returns the first thing that could not be done, in words.
    pub fn failure(&self) -> Option<String> {
        let images = self.items.iter().map(|item| (item.removal.name.as_str(), &item.result));
        let containers = self.containers.iter().map(|item| (item.name.as_str(), &item.result));
        let failed = containers.chain(images).find_map(|(name, result)| match result {
            Some(Removed::Failed { reason } | Removed::Unreadable { reason }) => {
                Some(format!("{name}: {reason}"))
            }
            _ => None,
        });
        self.stopped.clone().or(failed)
    }

    /// Returns true if less was freed than the target, as the kubelet counts. Images that another program removed in
    /// between count as freed.
    pub fn is_short(&self) -> bool {
        let is_free =
            |item: &&ImageResult| matches!(item.result, Some(Removed::Removed | Removed::Gone));
        let freed = self.items.iter().filter(is_free);
        let for_space = freed.filter(|item| item.removal.for_space);
        let freed = for_space.fold(0_i64, |sum, i| sum.saturating_add(i.removal.size_bytes));
        !self.dry_run && self.target_bytes.is_some_and(|target| freed < target)
    }

    /// Adds how full the file system was before and afterwards.
    pub fn measured(&mut self, before: Option<Usage>, after: Option<Usage>) {
        let freed = before.zip(after);
        self.measured_bytes = freed
            .map(|(before, after)| after.available_bytes.saturating_sub(before.available_bytes));
        (self.before, self.after) = (before, after);
    }
}

/// Returns the line about one image: `removed NAME ID SIZE`.
pub fn result_line(index: usize, total: usize, removal: &Removal, result: &Removed) -> String {
    let place = format!("{}/{total}", index + 1);
    let image = format!("{} {}", removal.name, short(&removal.id));
    let with = |word: &str, reason: &str| format!("{place} {word} {image}: {reason}");
    match result {
        Removed::Removed => format!("{place} removed {image} {}", size(removal.size_bytes)),
        Removed::Gone => with("gone", "it was removed already"),
        Removed::Kept { reason } => with("kept", reason),
        Removed::Unreadable { reason } => {
            with("kept", &format!("its users could not be read: {reason}"))
        }
        Removed::Failed { reason } => with("failed", reason),
        Removed::Left => with("left", "its turn did not come"),
    }
}

/// Returns the line about one container or sandbox: `removed container NAME ID`.
pub fn container_line(result: &ContainerResult) -> String {
    let ContainerResult { what, id, name, result } = result;
    let id: String = id.chars().take(13).collect();
    let (word, reason) = match result {
        None | Some(Removed::Left) => ("left", None),
        Some(Removed::Removed) => ("removed", None),
        Some(Removed::Gone) => ("gone", None),
        Some(Removed::Kept { reason } | Removed::Unreadable { reason }) => ("kept", Some(reason)),
        Some(Removed::Failed { reason }) => ("failed", Some(reason)),
    };
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{word} {what} {name} {id}{reason}")
}

/// Returns how it ended in one line.
pub fn summary_line(report: &ImageGcApply) -> String {
    let count = |is_it: fn(&Removed) -> bool| {
        report.items.iter().filter_map(|item| item.result.as_ref()).filter(|r| is_it(r)).count()
    };
    let usage = match (report.before, report.after, report.measured_bytes) {
        (Some(before), Some(after), Some(measured)) => format!(
            "; usage {}% before, {}% after: {} more available",
            before.percent,
            after.percent,
            size(measured)
        ),
        _ => "; the usage of the image file system could not be read".to_owned(),
    };
    format!(
        "{} removed, {} kept, {} failed, {} left: {} as the kubelet counts{usage}",
        count(|result| matches!(result, Removed::Removed)),
        count(|r| matches!(r, Removed::Kept { .. } | Removed::Unreadable { .. } | Removed::Gone)),
        count(|result| matches!(result, Removed::Failed { .. })),
        count(|result| matches!(result, Removed::Left)),
        size(report.counted_bytes),
    )
}
