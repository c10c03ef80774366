//! Commands in containers: requests and verdicts (`pkg/probe/exec/exec.go`, `newExecInContainer`
//! of `pkg/kubelet/prober/prober.go`, `ExecSync` of the kubelet's CRI client).
//!
//! Pinned by `probe_exec.jsonl`.

mod expand;
mod verdict;

pub use expand::{Expanded, ExpansionNote, MAX_COMMAND_BYTES, expand};
pub use verdict::{ExecReply, ExecRequest, MAX_RUNTIME_MESSAGE_BYTES, exec_attempt};
