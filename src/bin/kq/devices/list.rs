//! `kq devices list`

use crate::exit::{Code, Failure};
use anyhow::anyhow;

/// Show which container has which device, and in what state
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {}

impl Args {
    /// Not there yet.
    pub fn run(self) -> Result<Code, Failure> {
        Err(Failure::usage(anyhow!("kq devices list is not there yet")))
    }
}
