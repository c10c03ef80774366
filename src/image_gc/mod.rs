//! Image and container garbage collection: what goes, in which order, and why. The domain of `kq gc`.

pub mod cycle;
pub mod policy;
