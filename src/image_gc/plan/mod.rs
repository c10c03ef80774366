//! What image garbage collection would do: which images go, in which order, why, and how sure that is.

mod build;
mod item;
mod reasons;
mod report;
mod ties;
mod view;

pub use build::{Inputs, Reclaim, plan};
pub use item::{PlannedImage, Verdict};
pub use reasons::{ago, usage_text};
pub use report::{Freed, ImageGcPlan, Outcome, Run, Trigger};
pub use ties::{Places, Ties};
pub(super) use view::tied;
pub use view::{names, short, size, summary, table, wide};
