//! `kq devices allocate`

use crate::exit::{Code, Failure};
use anyhow::anyhow;

/// Have a kubelet's stand-in allocate devices to a pod
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {}

impl Args {
    /// Not there yet.
    pub fn run(self) -> Result<Code, Failure> {
        Err(Failure::usage(anyhow!("kq devices allocate is not there yet")))
    }
}
