//! `kq schema`

use crate::exit::{Code, Failure};
use crate::write;
use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use kq_core::question::kinds::KIND_NAMES;
use kq_output::value::write_json;
use miniz_oxide::inflate::decompress_to_vec;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

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

/// The files of `docs/schema` as one JSON object, by name.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.deflate"));

/// The file with the definitions that several kinds share, without its extension.
const SHARED: &str = "definitions";

impl Args {
    /// Prints the schema, or the kinds.
    pub fn run(self) -> Result<Code, Failure> {
        let Some(name) = self.kind else {
            write::lines(KIND_NAMES.iter().map(|kind| (*kind).to_owned()))?;
            return Ok(Code::Answered);
        };
        let files = decompress_to_vec(PACKED).map_err(|error| anyhow!("{error}"));
        let files: BTreeMap<String, Value> =
            serde_json::from_slice(&files.map_err(Failure::missing)?).map_err(Failure::missing)?;
        let schema = whole(&files, &name);
        let schema =
            schema.ok_or_else(|| Failure::usage(anyhow!("{name} is not a kind of answer")))?;
        let mut text = Vec::new();
        write_json(&mut text, &schema).map_err(Failure::missing)?;
        write::verbatim(String::from_utf8_lossy(&text).lines().map(str::to_owned))?;
        Ok(Code::Answered)
    }
}

/// Returns the schema of a kind with all definitions that it needs; `None`: there is no such kind.
fn whole(files: &BTreeMap<String, Value>, kind: &str) -> Option<Value> {
    let mut schema = files.get(kind)?.clone();
    let shared = files.get(SHARED)?.get("$defs")?;
    let mut wanted = BTreeSet::new();
    refer_to_own(&mut schema, &mut wanted);
    while let Some(name) = wanted.pop_first() {
        let own = schema.as_object_mut()?.entry("$defs").or_insert_with(|| json!({}));
        let own = own.as_object_mut()?;
        if let (false, Some(definition)) = (own.contains_key(&name), shared.get(&name)) {
            let mut definition = definition.clone();
            refer_to_own(&mut definition, &mut wanted);
            own.insert(name, definition);
        }
    }
    Some(schema)
}

/// Turns references to the shared file into references to the document's own definitions, and collects their names.
fn refer_to_own(schema: &mut Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get_mut("$ref")
                && let Some((_, name)) = target.split_once("#/$defs/")
            {
                names.insert(name.to_owned());
                *target = format!("#/$defs/{name}");
            }
            fields.values_mut().for_each(|value| refer_to_own(value, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| refer_to_own(item, names)),
        _ => {}
    }
}
