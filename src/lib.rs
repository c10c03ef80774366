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
//! * [`k8s`]: what Kubernetes objects mean: quantities, pods, QoS, resource totals, manifests. Pure.
//! * [`facts`]: what is known about a node, and where from. Pure.
//! * [`edge`]: the only folder that reads or writes the world.
//! * [`node`]: one node, gathered live, from files or from a snapshot.
//! * [`admission`], [`cgroup`], [`device`], [`eviction`], [`image_gc`], [`preemption`], [`mod@probe`]: domains: one
//!   folder per question. Pure; they do not import each other, but for `preemption`, which builds on `admission`.
//! * [`question`]: whole questions about a node, the only code that joins domains.
//! * [`answer`]: what every answer has in common.
//! * [`output`]: tables, JSON, YAML; safe for terminals.
//!
//! The binary in `src/bin/kq/` turns flags into options and answers into output. Another program asks the same
//! questions:
//!
//! ```
//! use kq::image_gc::plan::Trigger;
//! use kq::node::{KubeletNode, KubeletOptions, NodeSpec};
//! use kq::question::image_gc::{ImageGcOptions, image_gc_needs, image_gc_plan};
//!
//! let snapshot = Some("examples/images/snapshot.json".to_owned());
//! let spec = NodeSpec { snapshot, ..NodeSpec::default() };
//! let needs = image_gc_needs(Trigger::Periodic);
//! let node = KubeletNode::gather(&spec, &KubeletOptions::default(), needs)?;
//! let answer = image_gc_plan(&node, &ImageGcOptions::new(Trigger::Periodic))?;
//! let removed = answer.plan.items.iter().filter(|image| image.verdict.is_removal());
//! assert_eq!(removed.count(), 6);
//! # Ok::<(), kq::answer::Failure>(())
//! ```

pub mod admission;
pub mod answer;
pub mod cgroup;
pub mod device;
pub mod edge;
pub mod eviction;
pub mod facts;
pub mod image_gc;
pub mod k8s;
pub mod node;
pub mod output;
pub mod preemption;
pub mod probe;
pub mod question;
mod schema;
