//! `kq devices plugins`

use crate::exit::{Code, Failure};
use anyhow::anyhow;

/// Show the device plugins, and whether the kubelet is connected to them
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {}

impl Args {
    /// Not there yet.
    pub fn run(self) -> Result<Code, Failure> {
        Err(Failure::usage(anyhow!("kq devices plugins is not there yet")))
    }
}
