//! What image garbage collection would do: which images go, in which order, why, and how sure that is.

mod because;
mod build;
mod inputs;
mod item;
mod report;
mod ties;
mod view;

pub use build::plan;
pub use inputs::{Inputs, Reclaim};
pub use item::{PlannedImage, Verdict};
pub use report::{Freed, ImageGcPlan, Outcome, Run, Trigger};
pub use ties::{Places, Ties};
pub(super) use view::tied;
pub use view::{names, short, size, summary, table, wide};
