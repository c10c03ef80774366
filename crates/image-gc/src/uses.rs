//! The users of images: the containers of the runtime, as the kubelet reads them.
//!
//! It takes what a container calls its image for an id (`toKubeContainer` in
//! `pkg/kubelet/kuberuntime/helpers.go`): `image_id`, which younger runtimes fill in, else `image_ref`.
//! A container that calls its image anything else does not keep it.

use crate::cycle::{ImageUser, Keys, ListedImage, image_key, images_in_use};
use crate::cycle::{KeyMap, StrMap, StrSet};
use kq_answer::warning::{Warning, WarningCode};
use kq_facts::runtime::{Container, ContainerState, ContainerStatus, Image, RuntimeFacts};
use kq_facts::timestamp::Timestamp;
use kq_facts::workloads::Workloads;
use kq_k8s::feature_gates::Gate;
use kq_k8s::kubelet_rules::KubeletRules;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A container that uses an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Use {
    /// `NAMESPACE/NAME` of the pod, else its UID.
    pub pod: String,
    /// The name of the container.
    pub container: String,
    /// The runtime's id of it.
    pub container_id: String,
    /// What the container does; one that has ended keeps its image as well.
    pub state: ContainerState,
    /// The image is mounted into it as a volume.
    pub is_volume: bool,
    /// When the container was created.
    pub created_at: Timestamp,
    /// When it ended, where that was queried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
}

/// The uses of all images.
#[derive(Clone, Debug, Default)]
pub struct Uses {
    /// The containers as the kubelet's detection takes them.
    pub users: Vec<ImageUser>,
    /// The containers by the key of the image; running ones first.
    pub by_key: KeyMap<Vec<Use>>,
    /// Containers that name no image of the list, and so keep none.
    pub astray: Vec<Warning>,
    /// Image volumes may be mounted, and the runtime did not list them.
    pub volumes_unknown: Option<String>,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.is_volume { ", as a volume" } else { "" };
        write!(f, "{}/{} ({}{how})", self.pod, self.container, state_text(self.state))
    }
}

/// Returns a state as a word.
pub fn state_text(state: ContainerState) -> &'static str {
    match state {
        ContainerState::Created => "created",
        ContainerState::Running => "running",
        ContainerState::Exited => "exited",
        ContainerState::Unknown => "state unknown",
    }
}

/// Returns the images as the kubelet's detection takes them.
pub fn listed(images: &[Image]) -> Vec<ListedImage> {
    let listed = |image: &Image| ListedImage {
        id: image.id.as_str().into(),
        runtime_handler: image.runtime_handler.clone(),
        // The kubelet takes the 64 bits as a number with a sign.
        size: image.size as i64,
        pinned: image.pinned,
    };
    images.iter().map(listed).collect()
}

/// Returns the class of runtime under which an image is recorded: records distinguish images as the
/// kubelet does.
pub fn recorded_handler(image: &Image, rules: KubeletRules) -> &str {
    match rules.gates.enabled(Gate::RuntimeClassInImageCriApi) {
        true => &image.runtime_handler,
        false => "",
    }
}

impl Uses {
    /// Collects the uses, but for the containers that are left out.
    pub fn of(
        runtime: &RuntimeFacts,
        workloads: &Workloads,
        rules: KubeletRules,
        without: &BTreeSet<&str>,
    ) -> Self {
        let mut uses = Self::default();
        let images: &[Image] = runtime.images.value().map(AsRef::as_ref).unwrap_or_default();
        let listed: StrSet<'_> = images.iter().map(|image| image.id.as_str()).collect();
        let statuses: StrMap<'_, &ContainerStatus> = runtime
            .container_statuses
            .value()
            .into_iter()
            .flatten()
            .map(|status| (status.id.as_str(), status))
            .collect();
        let looks_for_volumes = rules.gates.enabled(Gate::ImageVolume);
        if looks_for_volumes
            && runtime.version.has_image_volumes() != Some(false)
            && runtime.container_statuses.found.is_none()
        {
            uses.volumes_unknown = Some(runtime.container_statuses.reason());
        }
        let containers = runtime.containers.value().into_iter().flatten();
        for container in containers.filter(|container| !without.contains(container.id.as_str())) {
            let status = statuses.get(container.id.as_str()).copied();
            uses.add(container, status, workloads, rules, &listed);
        }
        for uses in uses.by_key.values_mut() {
            uses.sort_by(|a, b| {
                let rank = |one: &Use| one.state != ContainerState::Running;
                (rank(a), &a.pod, &a.container).cmp(&(rank(b), &b.pod, &b.container))
            });
        }
        uses
    }

    /// Returns the keys of all images in use, in the way of the kubelet.
    /// Fails as the kubelet's detection does.
    pub fn in_use(&self, images: &[ListedImage], rules: KubeletRules) -> Result<Keys, String> {
        images_in_use(images, &self.users, rules)
    }

    /// Returns the containers that use an image.
    pub fn of_key(&self, key: &str) -> &[Use] {
        self.by_key.get(key).map_or(&[], Vec::as_slice)
    }

    fn add(
        &mut self,
        container: &Container,
        status: Option<&ContainerStatus>,
        workloads: &Workloads,
        rules: KubeletRules,
        listed: &StrSet<'_>,
    ) {
        let pod = workloads.pod(&container.pod_uid);
        let used = Use {
            pod: pod.map_or_else(
                || container.pod_uid.clone(),
                |pod| format!("{}/{}", pod.namespace, pod.name),
            ),
            container: container.name.clone(),
            container_id: container.id.clone(),
            state: container.state,
            is_volume: false,
            created_at: Timestamp(container.created_at),
            finished_at: status.and_then(|status| status.finished_at).map(Timestamp),
        };
        let user = ImageUser {
            image_id: container.image_id.as_ref().unwrap_or(&container.image_ref).as_str().into(),
            runtime_handler: container.image_runtime_handler.clone(),
            volumes: status
                .iter()
                .flat_map(|status| &status.image_volumes)
                .map(|id| id.as_str().into())
                .collect(),
            status_error: status.and_then(|status| status.error.clone()),
        };
        if !listed.contains(&*user.image_id) {
            let container = format!("{}/{}", used.pod, used.container);
            let text = format!(
                "container {container} calls its image {:?}, which is the id of none: the kubelet does not \
                 see that it is used",
                user.image_id
            );
            self.astray.push(Warning::new(WarningCode::UnknownImage, text).about(container));
        }
        if rules.gates.enabled(Gate::ImageVolume) {
            for volume in user.volumes.iter().filter(|id| listed.contains(&***id)) {
                let used = Use { is_volume: true, ..used.clone() };
                self.by_key.entry(Arc::clone(volume)).or_default().push(used);
            }
        }
        let key = image_key(Arc::clone(&user.image_id), &user.runtime_handler, rules);
        self.by_key.entry(key).or_default().push(used);
        self.users.push(user);
    }
}
