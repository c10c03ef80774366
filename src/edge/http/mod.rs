//! A small HTTP/1.1 client: one GET, one connection, one deadline over all of it.
//!
//! The kubelet and the API server are asked through it. It follows no redirect, uses no proxy and
//! never lets an answer or a wait grow without a bound. TLS is rustls with the ring provider, named
//! explicitly: a default provider is a panic as soon as two of them are in the tree.

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
