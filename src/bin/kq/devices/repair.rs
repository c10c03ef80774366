//! `kq devices repair`

use crate::exit::{Code, Failure};
use anyhow::anyhow;

/// Mend the device checkpoint of a kubelet that is stopped
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {}

impl Args {
    /// Not there yet.
    pub fn run(self) -> Result<Code, Failure> {
        Err(Failure::usage(anyhow!("kq devices repair is not there yet")))
    }
}
