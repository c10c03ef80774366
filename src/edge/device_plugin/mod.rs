//! Device plugins over the device plugin API, on unix sockets: as the kubelet talks to them.

#[cfg(feature = "cri")]
#[rustfmt::skip]
#[allow(missing_docs, clippy::all, reason = "generated from v1beta1.proto, where the words are")]
pub mod v1beta1;

#[cfg(feature = "cri")]
#[rustfmt::skip]
#[allow(missing_docs, clippy::all, reason = "generated from pluginregistration.proto")]
pub mod pluginregistration;
