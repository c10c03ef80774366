//! A small HTTP/1.1 client for the kubelet and the API server: one request, one connection, one deadline.
//!
//! It follows no redirect, uses no proxy, and bounds the size and the time of every response. TLS is rustls
//! with the ring provider, named explicitly: a default provider panics as soon as the tree has two.

pub(crate) mod authorities;
mod deadline;
mod error;
mod exchange;
mod redaction;
mod secret_file;
mod target;
pub(crate) mod tls;

pub(crate) use deadline::{Deadline, run};
pub use error::{HttpError, Phase, Refusal};
pub(crate) use exchange::{Exchange, MAX_BODY};
#[cfg(feature = "apiserver")]
pub(crate) use redaction::Redaction;
pub(crate) use secret_file::read_token;
#[cfg(feature = "apiserver")]
pub(crate) use secret_file::{TOKEN_FILE, open_bounded, refuse, token};
pub(crate) use target::Target;
