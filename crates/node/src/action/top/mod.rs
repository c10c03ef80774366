//! The sources of the live view: the node itself, a stored node, a recording.

mod source;

pub use source::{Gather, LiveSource, Next, Source, rest_after};
