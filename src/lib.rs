//! kq answers, on one Kubernetes node, the questions that only the kubelet could answer.
//!
//! Every answer is made the same way: facts are gathered, a pure computation decides and keeps its
//! reasons, the result is shown.
//!
//! ```text
//! bytes ──> Snapshot ──> node ──> question ──> answer ──> table, JSON, HTML, metrics
//! ```
//!
//! The public API is:
//!
//! * [`node`]: one node, gathered live, from files or from a snapshot.
//! * [`question`]: whole questions about a node, with their answers. The only code that joins domains.
//! * [`answer`]: what every answer has in common: basis, findings, certainty, failures; JSON documents and schemas.
//! * [`Quantity`]: an amount as Kubernetes writes it.
//!
//! The crates below `crates/` are its parts; they change from version to version. The binary in `src/bin/kq/` turns flags
//! into options and answers into output. Another program asks the same questions:
//!
//! ```
//! use kq::node::{Overrides, NodeSpec, gather_node};
//! use kq::question::doctor::{doctor, node_checks_needs};
//! use kq::question::image_gc::{ImageGcOptions, Trigger, image_gc_needs, image_gc_plan};
//!
//! let snapshot = Some("examples/night/worker-3.json".to_owned());
//! let spec = NodeSpec { snapshot, ..NodeSpec::default() };
//! let node = gather_node(&spec, Overrides::default(), node_checks_needs())?;
//! let checks = doctor(node, true)?;
//! assert!(checks.items[0].found.starts_with("cpu.max is 20000"));
//!
//! let node = gather_node(&spec, Overrides::default(), image_gc_needs(Trigger::Periodic))?;
//! let answer = image_gc_plan(&node, &ImageGcOptions::new(Trigger::Periodic))?;
//! let removed = answer.plan.items.iter().filter(|image| image.verdict.is_removal());
//! assert_eq!(removed.count(), 1);
//! # Ok::<(), kq::answer::Failure>(())
//! ```

pub use kq_answer as answer;
pub use kq_core::question;
pub use kq_k8s::quantity::Quantity;
pub use kq_node as node;
