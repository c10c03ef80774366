//! A report: the answers about nodes as one HTML page, for readers who look and for links in incident reviews.
//!
//! In: the answers to questions, each with the command that gives it or with the reason why there is none. Out: one page that
//! loads nothing and runs nothing but its own script. There is no computation but layout: what a picture shows is in the
//! documents of the answers, which the page embeds. Pure.

mod answers;
mod cpu;
mod devices;
mod disk;
mod drawn;
mod eviction;
mod facts;
mod findings;
mod icicle;
mod images;
mod mark;
mod memory;
mod page;
mod preemption;
mod probes;
mod restart;
mod scale;
mod section;
mod text;
mod tree;
mod treemap;
mod what_if;

pub use answers::{Answered, NoAnswer, NodeAnswers, Reply, names};
pub use drawn::{Cgroup, CpuTime, Devices};
pub use page::{Page, PagePart};
