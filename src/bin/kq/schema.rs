//! `kq schema`

use crate::exit::{Code, Failure};
use crate::write;
use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use kq_core::question::kinds::KIND_NAMES;
use miniz_oxide::inflate::decompress_to_vec;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

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
    #[arg(value_parser = PossibleValuesParser::new(KIND_NAMES),
        hide_possible_values = true)]
    kind: Option<String>,
}

/// The files of `docs/schema` as one JSON object, by kind.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.deflate"));

impl Args {
    /// Prints the schema, or the kinds.
    pub fn run(self) -> Result<Code, Failure> {
        let Some(name) = self.kind else {
            write::lines(KIND_NAMES.iter().map(|kind| (*kind).to_owned()))?;
            return Ok(Code::Answered);
        };
        let schemas = decompress_to_vec(PACKED).map_err(|error| anyhow!("{error}"));
        let schemas = schemas.map_err(Failure::missing)?;
        let schemas: BTreeMap<&str, &RawValue> =
            serde_json::from_slice(&schemas).map_err(Failure::missing)?;
        let schema = schemas.get(name.as_str());
        let schema =
            schema.ok_or_else(|| Failure::usage(anyhow!("{name} is not a kind of answer")))?;
        write::verbatim(schema.get().lines().map(str::to_owned))?;
        Ok(Code::Answered)
    }
}
