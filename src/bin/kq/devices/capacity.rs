//! `kq devices capacity`

use crate::exit::{Code, Failure};
use anyhow::anyhow;

/// Show which devices the node offers, as its status says
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {}

impl Args {
    /// Not there yet.
    pub fn run(self) -> Result<Code, Failure> {
        Err(Failure::usage(anyhow!("kq devices capacity is not there yet")))
    }
}
