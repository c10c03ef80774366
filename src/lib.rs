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
//! * [`answer`]: what every answer has in common.
//! * [`output`]: tables, JSON, YAML; safe for terminals.
//!
//! The binary in `src/bin/kq/` turns flags into options and answers into output.

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
