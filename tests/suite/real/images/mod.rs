//! Real images: containerds of three versions with images that were made on the spot.
//!
//! [`on_each`] runs a test on a node of its own with each version. A node has its images on a small file
//! system of its own, and containers can be made of any of them; nothing of it is left in the end.

use super::{exclusively, is_guest, must_be_root, skip};
use std::thread;

pub use catalogue::PINNED;
pub use containerd::Containerd;
pub use node::ImageNode;
pub use users::{User, UserState};

/// An archive of images, without a registry.
mod archive;
/// The images.
mod catalogue;
/// The versions of containerd.
mod containerd;
/// How full the file system of the images is.
mod disk;
/// `kq gc` removes exactly the announced images.
mod gc;
/// The runtime lists what was made.
mod listed;
/// A node with images.
mod node;
/// The runtime's process dies and comes again.
mod process;
/// `kq gc apply` while images come into use.
mod races;
/// What becomes of an image that is to be removed.
mod removed;
/// Containers made of images.
mod users;
/// Images as volumes.
mod volumes;

/// Runs a test with each version of containerd that can be had, at the same time, each with a new node
/// in a thread that has the name of the version.
pub fn on_each(test: impl Fn(&mut ImageNode) + Sync) {
    // Emulated, it would take too long; and there is no other containerd.
    if is_guest() {
        return;
    }
    if let Err(reason) = must_be_root().and_then(|()| exclusively()) {
        return skip(&reason);
    }
    let catalogue = match node::catalogue() {
        Ok(catalogue) => catalogue,
        Err(reason) => return skip(&reason),
    };
    let mut nodes = Vec::new();
    for containerd in Containerd::ALL {
        match containerd.programs() {
            Ok(programs) => nodes.push((containerd, programs)),
            Err(reason) => skip(&format!("{containerd:?}: {reason}")),
        }
    }
    let test = &test;
    thread::scope(|scope| {
        for (containerd, programs) in nodes {
            let run = move || test(&mut ImageNode::start(programs, catalogue));
            let thread = thread::Builder::new().name(format!("{containerd:?}"));
            thread.spawn_scoped(scope, run).expect("a thread can be started");
        }
    });
}
