//! HTTP probes.

mod body;
mod buffer;
mod fields;
mod quoted;
mod response;
mod verdict;

pub use buffer::End;
pub use response::{Head, Progress, ResponseError, ResponseReader};
pub use verdict::{body_failed, verdict};
