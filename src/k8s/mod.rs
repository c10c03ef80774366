//! What Kubernetes objects mean, independent of any node: pure, shared by every domain.

pub mod quantity;
