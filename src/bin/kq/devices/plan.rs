//! `kq devices plan`

use crate::exit::{Code, Failure};
use anyhow::anyhow;

/// Show which devices a pod would get now, or the kubelet's error
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {}

impl Args {
    /// Not there yet.
    pub fn run(self) -> Result<Code, Failure> {
        Err(Failure::usage(anyhow!("kq devices plan is not there yet")))
    }
}
