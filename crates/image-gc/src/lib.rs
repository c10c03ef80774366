//! Image and container garbage collection: what goes, in which order, and why. The domain of `kq gc`.
//! Pure.
//!
//! * [`policy`]: when images go, as a kubelet checks it; [`policy_report`] and [`policy_view`] show it.
//! * [`lint`]: what is unwise in it.
//! * [`loops`]: when the kubelet runs its two garbage collections, and which failures it reports.
//! * [`cycle`]: what its image manager does in one of them.
//! * [`containers`]: dead containers, sandboxes and log folders, which go before images do.
//! * [`explain`]: the story of one image, which [`image_name`] finds; [`disk`]: that of the
//!   disk that images are on.
//! * [`reason`]: why, in facts and sentences; that of containers is in [`containers`].
//! * [`record`], [`knowledge`]: the kubelet's memory of images, as far as it can be known.
//! * [`storage`]: what a removal really frees.

pub mod apply;
pub mod apply_report;
pub mod certainty;
#[cfg(test)]
mod changing_world;
pub mod containers;
pub mod cycle;
pub mod disk;

pub mod explain;
pub mod image_name;
pub mod images;
pub mod knowledge;
pub mod lint;
pub mod loops;
#[cfg(test)]
mod model;
pub mod plan;
pub mod policy;
pub mod policy_report;
pub mod policy_view;
pub mod reason;
pub mod record;
pub mod storage;
pub mod uses;
