//! What image garbage collection would do: which images go, in which order, why, and how sure that is.

mod build;
mod item;
mod reasons;
mod report;
mod view;

pub use build::{Inputs, Reclaim, plan};
pub use item::{PlannedImage, Verdict};
pub use reasons::{ago, usage_text};
pub use report::{Basis, Freed, ImageGcPlan, Outcome, Run, Trigger};
pub use view::{names, short, size, summary, table, wide};
