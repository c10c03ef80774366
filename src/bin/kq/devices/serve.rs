//! `kq devices serve`

use crate::exit::{Code, Failure};
use anyhow::anyhow;

/// Stand in for the kubelet's side, for a plugin that is being written
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {}

impl Args {
    /// Not there yet.
    pub fn run(self) -> Result<Code, Failure> {
        Err(Failure::usage(anyhow!("kq devices serve is not there yet")))
    }
}
