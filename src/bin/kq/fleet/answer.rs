//! `kq fleet answer`: what the pod of a fleet runs on its node.

use crate::exit::{Code, Failure};
use crate::write;
use anyhow::anyhow;
use kq::edge::own_program::run_own;
use kq::fleet::Packed;
use std::ffi::OsString;
use std::time::Duration;

use super::question::MAX_ANSWER_BYTES;

/// The kubelet ends the pod before.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Run a command of kq, and write its answer packed and with a checksum, for kq fleet run
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The command, after --
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,
}

impl Args {
    /// Runs it. The exit code of the command is a part of what is written.
    pub fn run(self) -> Result<Code, Failure> {
        let ended = run_own(&self.command, LONGEST, MAX_ANSWER_BYTES)
            .map_err(|error| Failure::missing(anyhow!("kq could not be run: {error}")))?;
        let packed =
            Packed { exit_code: ended.exit_code, output: ended.output, notes: ended.notes };
        write::verbatim(packed.to_lines())?;
        Ok(Code::Answered)
    }
}
