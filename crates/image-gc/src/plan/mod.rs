//! What image garbage collection would do: which images go, in which order, why, and how sure that is.

mod because;
mod build;
mod item;
mod report;
mod view;

pub use build::{Inputs, Reclaim, plan};
pub use item::{Places, PlannedImage, Ties, Verdict};
pub use report::{Freed, ImageGcPlan, Outcome, Run, Trigger};
pub(super) use view::tied;
pub use view::{names, short, size, summary, table, wide};
