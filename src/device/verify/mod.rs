//! `kq devices verify`: the files in which the kubelet remembers things, one by one and against each
//! other: their format, their checksum, what is damaged and how, what contradicts itself, and what the
//! kubelet does with them at its next start.
//!
//! * `file`: a file, and what is known beside it.
//! * `damage`: in which way bytes are not what the kubelet wrote; `recognise`: whose content they are.
//! * `devices`, `cpu`, `memory`, `pods`, `claims`: each kind of file.
//! * `between`: the files against each other and the pods.
//! * `rule`: what can be found; `next_start`: what the kubelet does with a file.
//! * `finding`, `report`, `view`: the answer.

mod between;
mod claims;
mod cpu;
mod damage;
mod devices;
mod file;
mod finding;
mod memory;
mod next_start;
mod pods;
mod recognise;
mod report;
mod rule;
#[cfg(test)]
mod tests;
pub mod view;

pub use damage::Damage;
pub use file::{Content, StateFileContent, VerifyContext};
pub use next_start::NextStart;
pub use recognise::recognise;
pub use report::{FileVerdict, Verdict, Verification};
