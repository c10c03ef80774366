//! kq answers, on one Kubernetes node, the questions that only the kubelet could answer.
//!
//! Every answer is made the same way: facts are gathered, a pure computation decides and keeps its
//! reasons, the result is shown.
//!
//! ```text
//! edge ──> node ──> facts ──> domain (cgroup, eviction, ...) ──> output
//!                     └── k8s ──┘
//! ```
//!
//! The public API is:
//!
//! * [`node`]: one node, gathered live, from files or from a snapshot.
//! * [`question`]: whole questions about a node, with their answers. The only code that joins domains.
//! * [`answer`]: what every answer has in common: basis, findings, certainty, failures; JSON documents and schemas.
//! * [`Quantity`]: an amount as Kubernetes writes it.
//!
//! The other modules are internal, public only for the binary, the tests and the benchmarks:
//!
//! * `k8s`: what Kubernetes objects mean: quantities, pods, QoS, resource totals, manifests. Pure.
//! * `facts`: what is known about a node, and where from. Pure.
//! * `admission`, `cgroup`, `device`, `eviction`, `image_gc`, `kubelet_start`, `preemption`, `probe`: domains: one folder per question.
//!   Pure; they do not import each other, but for `preemption`, which builds on `admission`.
//! * `top`: the live view of a node: frames, trends, keys, drawing. Pure.
//! * `action`: whole changes: a plan, executed step by step and reported.
//! * `edge`: the only folder that reads or writes the world.
//! * `output`: tables, JSON, YAML; safe for terminals.
//! * `report`: the answers about nodes as one HTML page.
//!
//! The binary in `src/bin/kq/` turns flags into options and answers into output. Another program asks the same
//! questions:
//!
//! ```
//! use kq::node::{KubeletOptions, NodeSpec, gather_node};
//! use kq::question::image_gc::{ImageGcOptions, Trigger, image_gc_needs, image_gc_plan};
//!
//! let snapshot = Some("examples/images/snapshot.json".to_owned());
//! let spec = NodeSpec { snapshot, ..NodeSpec::default() };
//! let needs = image_gc_needs(Trigger::Periodic);
//! let node = gather_node(&spec, &KubeletOptions::default(), needs)?;
//! let answer = image_gc_plan(&node, &ImageGcOptions::new(Trigger::Periodic))?;
//! let removed = answer.plan.items.iter().filter(|image| image.verdict.is_removal());
//! assert_eq!(removed.count(), 6);
//! # Ok::<(), kq::answer::Failure>(())
//! ```

#![warn(missing_docs)]

pub use kq_answer as answer;
pub mod node;
#[cfg(test)]
#[path = "../tests/support/objects.rs"]
#[expect(dead_code, reason = "some of it is for the suite")]
mod objects;
pub use kq_core::question;

pub use kq_k8s::quantity::Quantity;

// What the binary, the tests and the benchmarks use besides. It changes from version to version.
#[doc(hidden)]
pub mod action;
