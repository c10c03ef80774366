//! Pods from manifests in YAML or JSON, and from lists.
//!
//! One bad pod does not lose the others, one bad document does not lose the file: what cannot be
//! read becomes a [`Problem`] that names it. Every pod that is returned has passed
//! [`validate`](crate::validation::validate). Pure: bytes in, pods out; the caller reads files,
//! and checks their size first ([`MAX_JSON_BYTES`], [`MAX_YAML_BYTES`]).
//!
//! ```text
//! bytes ── load ── JSON: uniform (one typed pass) ── if that fails: object (item by item) ──> pods
//!            └──── YAML documents ── yaml::read ── JSON text ──────────┘
//! ```

mod api_fields;
mod duplicates;
mod field;
mod kinds;
mod load;
mod object;
mod pod_template;
mod problem;
#[cfg(test)]
mod tests;
mod uniform;
mod unknown;

pub use field::FieldPath;
pub use load::{
    Loaded, LoadedPod, MAX_JSON_BYTES, MAX_YAML_BYTES, Note, NoteKind, Source, Workload, load,
};
pub use problem::{Object, Position, Problem, ProblemKind, Syntax};
