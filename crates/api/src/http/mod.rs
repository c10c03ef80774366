//! A small HTTP/1.1 client for the kubelet and the API server: one request, one connection, one deadline.
//!
//! It follows no redirect, and bounds the size and the time of every response. TLS is rustls
//! with the ring provider, named explicitly: a default provider panics as soon as the tree has two.

pub(crate) mod authorities;
mod error;
mod exchange;
#[cfg(feature = "apiserver")]
pub(crate) mod proxy;
mod target;
pub(crate) mod tls;

#[cfg(feature = "apiserver")]
pub(crate) use error::Redaction;
pub use error::{HttpError, Phase, Refusal};
pub(crate) use exchange::{Deadline, Exchange, MAX_BODY, run};
pub(crate) use target::Target;
pub(crate) use tls::read_token;
#[cfg(feature = "apiserver")]
pub(crate) use tls::{TOKEN_FILE, open_bounded, refuse, token};
