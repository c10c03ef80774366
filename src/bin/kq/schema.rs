//! `kq schema`

use crate::exit::{Code, Failure};
use crate::output_format::OutputFormat;
use crate::write;
use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use kq::question::kinds::KINDS;

/// Print the JSON Schema of a kind of answer
///
/// Without a kind, the command lists the kinds. An answer names its kind in the
/// field kind, and the version of the contract in apiVersion.
///
/// Examples:
///
///   kq schema
///   kq schema ImageGcPlan > image-gc-plan.schema.json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The kind of answer
    #[arg(value_parser = PossibleValuesParser::new(KINDS.iter().map(|kind| kind.name)),
        hide_possible_values = true)]
    kind: Option<String>,
}

impl Args {
    /// Prints the schema, or the kinds.
    pub fn run(self) -> Result<Code, Failure> {
        let Some(name) = self.kind else {
            write::lines(KINDS.iter().map(|kind| kind.name.to_owned()))?;
            return Ok(Code::Answered);
        };
        let kind = KINDS.iter().find(|kind| kind.name == name);
        let kind = kind.ok_or_else(|| Failure::usage(anyhow!("{name} is not a kind of answer")))?;
        write::value(OutputFormat::Json, &(kind.schema)())?;
        Ok(Code::Answered)
    }
}
