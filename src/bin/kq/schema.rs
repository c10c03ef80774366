//! `kq schema`

use crate::exit::{Code, Failure};
use crate::write;
use anyhow::anyhow;
use kq_core::question::kinds::KIND_NAMES;
use kq_k8s::nearest::nearest;
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
///   kq schema gc dry-run
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The kind of answer, or the command that gives it
    #[arg(value_name = "KIND|COMMAND", num_args = 0..=2)]
    kind: Vec<String>,
}

/// The kinds of the answers of commands.
const COMMANDS: &[(&str, &str)] = &[
    ("admit explain", "PodAdmission"),
    ("allocatable", "NodeAllocatable"),
    ("cgroup apply", "CgroupApply"),
    ("cgroup diff", "CgroupDiff"),
    ("cgroup explain", "CgroupExplanation"),
    ("cgroup plan", "CgroupPlan"),
    ("cgroup shares", "CpuShares"),
    ("cgroup show", "CgroupUsage"),
    ("cgroup throttling", "ThrottlingRanking"),
    ("cgroup which", "CgroupOwner"),
    ("devices allocate", "DeviceAllocation"),
    ("devices capacity", "DeviceCapacity"),
    ("devices list", "DeviceList"),
    ("devices plan", "DevicePlan"),
    ("devices plugins", "DevicePlugins"),
    ("devices repair", "DeviceRepair"),
    ("devices verify", "DeviceStateVerification"),
    ("doctor", "NodeChecks"),
    ("evict rank", "EvictionRank"),
    ("fleet apply", "FleetApply"),
    ("fleet ask", "FleetAnswer"),
    ("fleet run", "FleetAnswer"),
    ("fleet what-if", "FleetWhatIf"),
    ("gc apply", "ImageGcApply"),
    ("gc dry-run", "ImageGcPlan"),
    ("gc explain", "ImageExplanation"),
    ("gc images", "ImageList"),
    ("gc lint", "GcLint"),
    ("gc policy", "GcPolicy"),
    ("gc watch", "ImageGcPass"),
    ("preempt apply", "PreemptionApply"),
    ("preempt explain", "PodPreemption"),
    ("preempt lint", "PreemptionLint"),
    ("preempt why", "PreemptionCause"),
    ("probe lint", "ProbeLint"),
    ("probe plan", "ProbePlan"),
    ("probe run", "ProbeRun"),
    ("probe simulate", "ProbeSimulation"),
    ("version", "Version"),
    ("what-if", "WhatIf"),
    ("why", "PodWhy"),
];

/// Refuses what is neither a kind nor a command.
fn no_such_kind(name: &str) -> Failure {
    let failure =
        Failure::usage(anyhow!("{name} is not a kind of answer, and no command that gives one"));
    let known = KIND_NAMES.iter().copied().chain(COMMANDS.iter().map(|(command, _)| *command));
    match nearest(name, known) {
        Some(meant) => failure.hint(format!("did you mean {meant}?")),
        None => failure.hint("kq schema lists the kinds"),
    }
}

/// The files of `docs/schema` as one JSON object, by name.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.deflate"));

/// The file with the definitions that several kinds share, without its extension.
const SHARED: &str = "definitions";

impl Args {
    /// Prints the schema, or the kinds.
    pub fn run(self) -> Result<Code, Failure> {
        if self.kind.is_empty() {
            write::lines(KIND_NAMES.iter().map(|kind| (*kind).to_owned()))?;
            return Ok(Code::Answered);
        }
        let asked = self.kind.join(" ");
        let of_command = COMMANDS.iter().find(|(command, _)| *command == asked);
        let name = of_command.map_or(asked, |(_, kind)| (*kind).to_owned());
        let files = decompress_to_vec(PACKED).map_err(|error| anyhow!("{error}"));
        let files: BTreeMap<String, Value> =
            serde_json::from_slice(&files.map_err(Failure::missing)?).map_err(Failure::missing)?;
        let schema = whole(&files, &name);
        let schema = schema.ok_or_else(|| no_such_kind(&name))?;
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
