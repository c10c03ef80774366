//! The kernel's cgroups: their pods, their values, and their differences from a plan. Pure.
//!
//! * [`place`]: from a path back to the pod and the container.
//! * [`show`]: the tree with names; [`throttling`]: its containers, ranked; [`which`]: one cgroup by process, path or container.
//! * [`diff`]: plan against kernel, value by value, with [`compare`] for what the kernel rounds and
//!   [`motion`] for what comes and goes and [`set_by`] for who wrote a value; [`difference`]: what it finds.
//! * [`repair`]: the steps that bring the kernel to the plan, with [`bandwidth`] for quotas of cgroup v1;
//!   [`apply`]: doing them, and the way back; [`unit_change`]: the part of a step that is systemd's.
//! * [`checks`]: what is wrong with a node's cgroups.

mod absent;
pub mod apply;
pub mod apply_report;
pub mod bandwidth;
pub mod checks;
pub mod compare;
pub mod diff;
pub mod diff_report;
pub mod diff_view;
pub mod difference;
pub mod motion;
pub mod older;
pub mod place;
pub mod pod_stats;
pub mod repair;
pub mod set_by;
pub mod show;
pub mod show_view;
pub mod throttling;
pub mod unit_change;
mod unplanned;
pub mod which;
