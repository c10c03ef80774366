//! Image and container garbage collection, the domain of `kq gc`. Pure.

pub mod record;
pub mod storage;
