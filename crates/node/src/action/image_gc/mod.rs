//! Image garbage collection: removes the images of a plan, records image times, and runs the kubelet's loop.

pub mod apply;
pub mod record;
mod runtime;
pub mod watch;
