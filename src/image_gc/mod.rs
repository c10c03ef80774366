//! Image and container garbage collection: the domain of `kq gc`. Pure.
//!
//! * [`policy`]: when images go, as a kubelet checks it; [`policy_report`] and [`policy_view`] show it.
//! * [`lint`]: what is unwise in it; [`lint_view`] shows that.
//! * [`loops`]: when the kubelet runs its two garbage collections, and which failures it tells.
//! * [`containers`]: dead containers, sandboxes and log folders, which go before images do.

pub mod containers;
pub mod lint;
pub mod lint_view;
pub mod loops;
pub mod policy;
pub mod policy_report;
pub mod policy_view;
