//! `kq devices verify`: the kubelet's state files, one by one and compared with each other: format,
//! checksum, damage, contradictions, and their effect on the next start.
//!
//! * `file`: a file, its kind and its findings, and the facts that it is compared with.
//! * `damage`: the kind of damage.
//! * `devices`, `cpu`, `memory`, `pods`, `claims`: each kind of file.
//! * `between`: contradictions between the files and with the pods.
//! * `rule`: the rules.
//! * `report`, `view`: the answer, with the effect on the next start.

mod between;
mod claims;
mod cpu;
mod damage;
mod devices;
mod file;
mod layouts;
mod memory;
mod pods;
mod report;
mod rule;
#[cfg(test)]
mod tests;
pub mod view;

pub use damage::{Damage, FlippedBit, flipped_bit};
pub use file::{Content, StateFileContent, VerifyContext, recognise};
pub use report::{FileVerdict, NextStart, Verdict, Verification};
