//! Removes images, containers and sandboxes through the container runtime of the node.

use kq_answer::Failure;
use kq_facts::filesystems::FolderRole;
use kq_facts::node::Node;
use kq_facts::runtime::{ContainerState, ContainerStatus};
use kq_image_gc::apply::{ImagePresence, ImageRuntime, Removed, UNREADABLE_AT_MOST};
use kq_image_gc::apply_report::ContainerResult;
use kq_image_gc::containers::{ContainerGcPlan, ContainerStep, SandboxStep, Step};
use kq_image_gc::cycle::{ImageFs, Usage};
use kq_image_gc::uses::state_text;
use kq_io::host::read_filesystem;
use kq_linux::cri::{CriSession, RuntimeNeeds, StatusNeeds};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

pub(super) struct NodeRuntime {
    session: CriSession,
}

impl NodeRuntime {
    /// Talks to the runtime that the facts are from.
    pub(super) fn connect(node: &Node, timeout: Duration) -> Result<Self, Failure> {
        let root = Path::new(&node.snapshot.host_root.path);
        let session = CriSession::connect(&node.runtime()?.endpoint, root, timeout)
            .map_err(Failure::missing)?;
        Ok(Self { session })
    }

    /// Removes dead containers and sandboxes in the kubelet's order. Reads each again before, and
    /// passes each result on at once. Logs stay: a runtime does not know them. Also returns why it ended
    /// early.
    pub(super) fn remove_containers(
        &self,
        plan: &ContainerGcPlan,
        mut tell: impl FnMut(&ContainerResult),
    ) -> (Vec<ContainerResult>, Option<String>) {
        let mut results = Vec::new();
        let mut stopped = None;
        let mut unreadable = 0;
        for step in &plan.steps {
            let (what, id, name) = match step {
                Step::Container(step) => ("container", &step.id, &step.name),
                Step::Sandbox(step) => ("sandbox", &step.id, &step.pod_uid),
                Step::LogDirectory(_) => continue,
            };
            let result = match step {
                _ if stopped.is_some() => Removed::Left,
                _ if id.is_empty() => Removed::Kept { reason: "it has no id".to_owned() },
                Step::Container(step) => self.remove_container(step),
                Step::Sandbox(step) => self.remove_sandbox(step),
                Step::LogDirectory(_) => continue,
            };
            unreadable = match &result {
                Removed::Unreadable { .. } => unreadable + 1,
                _ => 0,
            };
            if let Removed::Unreadable { reason } = &result
                && unreadable >= UNREADABLE_AT_MOST
            {
                stopped = Some(reason.clone());
            }
            let result =
                ContainerResult { what, id: id.clone(), name: name.clone(), result: Some(result) };
            tell(&result);
            results.push(result);
        }
        (results, stopped)
    }

    fn remove_container(&self, step: &ContainerStep) -> Removed {
        let state = match self.session.container_state(&step.id) {
            Ok(Some(state)) => state,
            Ok(None) => return Removed::Gone,
            Err(reason) => return Removed::Unreadable { reason },
        };
        if state != step.state {
            let (was, is) = (state_text(step.state), state_text(state));
            return Removed::Kept { reason: format!("it was {was}, and is {is}") };
        }
        if state == ContainerState::Unknown {
            // It may run, and the time that its pod has to end is not known here.
            let reason = "its state is unknown, so it may have to be stopped first".to_owned();
            return Removed::Kept { reason };
        }
        done(self.session.remove_container(&step.id))
    }

    fn remove_sandbox(&self, step: &SandboxStep) -> Removed {
        let needs = RuntimeNeeds { sandboxes: true, containers: true, ..RuntimeNeeds::default() };
        let facts = match self.session.read(needs) {
            Ok(facts) => facts,
            Err(error) => return Removed::Unreadable { reason: error.to_string() },
        };
        let (Some(sandboxes), Some(containers)) =
            (facts.sandboxes.value(), facts.containers.value())
        else {
            let reason = format!("{}; {}", facts.sandboxes.reason(), facts.containers.reason());
            return Removed::Unreadable { reason };
        };
        let Some(sandbox) = sandboxes.iter().find(|sandbox| sandbox.id == step.id) else {
            return Removed::Gone;
        };
        if sandbox.ready {
            return Removed::Kept { reason: "it runs now".to_owned() };
        }
        if containers.iter().any(|container| container.sandbox_id == step.id) {
            return Removed::Kept { reason: "it has containers".to_owned() };
        }
        if let Err(reason) = self.session.stop_sandbox(&step.id) {
            return Removed::Failed { reason: format!("it could not be stopped: {reason}") };
        }
        done(self.session.remove_sandbox(&step.id))
    }
}

fn done(result: Result<(), String>) -> Removed {
    result.map_or_else(|reason| Removed::Failed { reason }, |()| Removed::Removed)
}

impl ImageRuntime for NodeRuntime {
    fn read(&self, id: &str) -> Result<ImagePresence, String> {
        let presence = self.presence(id)?;
        // A container that was removed after it was listed has no status any more; that says nothing of
        // the next list.
        match presence.statuses.iter().any(|status| status.error.is_some()) {
            true => self.presence(id),
            false => Ok(presence),
        }
    }

    fn remove(&self, id: &str) -> Result<(), String> {
        self.session.remove_image(id)
    }
}

impl NodeRuntime {
    fn presence(&self, id: &str) -> Result<ImagePresence, String> {
        let image = self.session.image(id)?;
        // After the image: a container that was created in between is seen.
        let needs = RuntimeNeeds {
            containers: true,
            container_statuses: StatusNeeds::ImageVolumes,
            ..RuntimeNeeds::default()
        };
        let mut facts = self.session.read(needs).map_err(|error| error.to_string())?;
        let Some(containers) = facts.containers.found.take() else {
            return Err(facts.containers.reason());
        };
        let mut statuses = match facts.container_statuses.found.take() {
            Some(found) => found.value,
            None if facts.version.has_image_volumes() == Some(false) => {
                return Ok(ImagePresence {
                    image,
                    containers: containers.value.into_inner(),
                    statuses: Vec::new(),
                });
            }
            None => return Err(facts.container_statuses.reason()),
        };
        // Asking for many statuses takes a while, in which containers come.
        let needs = RuntimeNeeds { containers: true, ..RuntimeNeeds::default() };
        let mut facts = self.session.read(needs).map_err(|error| error.to_string())?;
        let Some(containers) = facts.containers.found.take() else {
            return Err(facts.containers.reason());
        };
        let asked: BTreeSet<String> = statuses.iter().map(|status| status.id.clone()).collect();
        let came = containers.value.iter().filter(|container| !asked.contains(&container.id));
        statuses.extend(came.map(|container| ContainerStatus {
            id: container.id.clone(),
            error: Some(format!("container {} came while kq looked", container.name)),
            ..ContainerStatus::default()
        }));
        Ok(ImagePresence { image, containers: containers.value.into_inner(), statuses })
    }
}

/// Returns how full the image file system of a node is now.
pub(super) fn usage_now(node: &Node) -> Option<Usage> {
    let folder = node.snapshot.folders.get(&FolderRole::Images)?;
    let mounts = node.snapshot.host.mounts().unwrap_or_default();
    let root = Path::new(&node.snapshot.host_root.path);
    let found = read_filesystem(root, &folder.path, &mounts).ok()?;
    ImageFs { capacity: Some(found.capacity_bytes), available: Some(found.available_bytes) }.usage()
}
