//! `kq devices verify`: the kubelet's state files, one by one and compared with each other: format,
//! checksum, damage, contradictions, and their effect on the next start.
//!
//! * `file`: a file, its kind and its findings, and the facts that it is compared with.
//! * `damage`: the kind of damage.
//! * `devices`, `cpu`, `memory`, `pods`, `claims`: each kind of file.
//! * `between`: contradictions between the files and with the pods.
//! * `rule`: the rules; `next_start`: the effect on the next start.
//! * `report`, `view`: the answer.

mod between;
mod claims;
mod cpu;
mod damage;
mod devices;
mod file;
mod memory;
mod next_start;
mod pods;
mod report;
mod rule;
#[cfg(test)]
mod tests;
pub mod view;

pub use damage::Damage;
pub use file::{Content, StateFileContent, VerifyContext, recognise};
pub use next_start::NextStart;
pub use report::{FileVerdict, Verdict, Verification};
