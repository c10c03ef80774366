//! A made-up runtime whose images and containers come and go between one call and the next.
//!
//! It does as real ones do: it refuses no removal, and takes note of those that should never have been
//! asked for.

use kq_linux::cri::v1;
use std::sync::{Arc, Mutex, MutexGuard};
use tonic::Status;

/// What there is at a moment.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub images: Vec<v1::Image>,
    pub containers: Vec<v1::Container>,
    /// By container; those without one are not found.
    pub statuses: Vec<v1::ContainerStatus>,
    /// What `ImageStatus` says that an image's id is; else what it is.
    pub other_id: Option<String>,
    /// What was removed, in order.
    pub removed: Vec<String>,
    /// What was removed while it was in use or pinned, or has no name.
    pub wrong: Vec<String>,
}

/// What happens right before a call is answered; it can refuse the call.
type Turn = dyn Fn(&mut World, &str) -> Option<Status> + Send + Sync;

/// A world and what happens in it.
#[derive(Clone)]
pub struct Changing {
    world: Arc<Mutex<World>>,
    turn: Arc<Turn>,
}

impl Changing {
    /// Begins with a world, in which something happens before each call: `RemoveImage sha256:a`.
    pub fn new(
        world: World,
        turn: impl Fn(&mut World, &str) -> Option<Status> + Send + Sync + 'static,
    ) -> Self {
        Self { world: Arc::new(Mutex::new(world)), turn: Arc::new(turn) }
    }

    /// Returns the world as it is now.
    pub fn now(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("no test panics with it")
    }

    /// Lets happen what happens before a call.
    pub fn turn(&self, call: &str) -> Option<Status> {
        (self.turn)(&mut self.now(), call)
    }

    pub fn images(&self) -> v1::ListImagesResponse {
        v1::ListImagesResponse { images: self.now().images.clone() }
    }

    pub fn containers(&self) -> v1::ListContainersResponse {
        v1::ListContainersResponse { containers: self.now().containers.clone() }
    }

    pub fn container_status(&self, id: &str) -> Result<v1::ContainerStatusResponse, Status> {
        let world = self.now();
        let status = world.statuses.iter().find(|status| status.id == id).cloned();
        let status = status.ok_or_else(|| Status::not_found(format!("no container {id:?}")))?;
        Ok(v1::ContainerStatusResponse { status: Some(status), ..Default::default() })
    }

    pub fn image_status(&self, id: &str) -> v1::ImageStatusResponse {
        let world = self.now();
        let mut image = world.images.iter().find(|image| image.id == id).cloned();
        if let (Some(image), Some(other)) = (&mut image, &world.other_id) {
            image.id.clone_from(other);
        }
        v1::ImageStatusResponse { image, ..Default::default() }
    }

    pub fn remove_image(&self, id: &str) {
        let mut world = self.now();
        let is_pinned = world.images.iter().any(|image| image.id == id && image.pinned);
        let uses = |it: &v1::Container| it.image_ref == id || it.image_id == id;
        if id.is_empty() || is_pinned || world.containers.iter().any(uses) {
            world.wrong.push(id.to_owned());
        }
        let before = world.images.len();
        world.images.retain(|image| image.id != id);
        // The call is idempotent (`RemoveImage` in the CRI): of two at a time, one removes.
        if world.images.len() < before {
            world.removed.push(id.to_owned());
        }
    }
}
