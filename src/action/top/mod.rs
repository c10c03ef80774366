//! The sources of the live view: the node itself, a stored node, a recording.

mod live;
mod source;

pub use live::{Gather, LiveSource};
pub use source::{Next, Source, rest_after};
