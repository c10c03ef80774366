//! Whole questions about a node: the only crate that joins the domains. Pure.

pub mod explain;
pub mod fleet;
pub mod kubelet_start;
pub mod question;
pub mod top;
pub mod what_if;
