//! The command line of kq: gather facts, ask the library, write the answer.

mod admit;
mod allocatable;
mod captured;
mod cgroup;
mod cli;
mod complete;
mod devices;
mod doctor;
mod evict;
mod exit;
mod explain;
mod fleet;
mod gc;
mod guess;
mod kubeconfig_args;
mod man;
mod node_args;
mod output_format;
mod plan_digest;
mod pod_args;
mod preempt;
mod probe;
mod progress;
mod report;
mod schema;
mod short_help;
mod snapshot;
mod source_args;
mod top;
mod usage;
mod version;
mod version_args;
mod what_if;
mod why;
mod write;

use exit::{Code, Failure};
use std::process::ExitCode;

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything is sent: also a completion reads names from servers.
    kq_output::credentials::watch();
    if complete::run() {
        return ExitCode::SUCCESS;
    }
    let line = usage::parse();
    if line.cli.reads_node()
        && let Some(code) = exit::supervised()
    {
        return code;
    }
    exit::watch_memory();
    // A plugin may ask the person at the terminal.
    kq_io::credential_plugin::run_within(|run| progress::suspended(run));
    exit::watch_reads();
    let code = answer(line).unwrap_or_else(|failure| exit::report(&failure));
    exit::ending(code).into()
}

fn answer(line: usage::CommandLine) -> Result<Code, Failure> {
    line.check()?;
    if let Some(origin) = line.snapshot_origin() {
        exit::note("snapshot", &origin);
    }
    line.cli.run().map_err(usage::with_hint)
}
