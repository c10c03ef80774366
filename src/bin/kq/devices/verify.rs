//! `kq devices verify`

use crate::exit::{Code, Failure};
use anyhow::anyhow;

/// Check the files in which the kubelet remembers devices, CPUs, memory and pods
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {}

impl Args {
    /// Not there yet.
    pub fn run(self) -> Result<Code, Failure> {
        Err(Failure::usage(anyhow!("kq devices verify is not there yet")))
    }
}
