//! Probes on the wire: connections, TLS, gRPC and commands in containers, each within its time and with
//! bounded memory. Requests and verdicts are decided in [`kq_probe`].

mod as_go;
pub mod dial;
pub mod grpc;
pub mod http;
pub mod run;
mod scanned;
