//! `kq snapshot`

use crate::exit::{Code, Failure, note};
use crate::node_args::RootArgs;
use crate::output_format::OutputFormat;
use crate::source_args::{SourceArgs, gather};
use crate::write;
use anyhow::anyhow;
use kq::edge::snapshot_file::write_snapshot;
use kq::facts::devices::DeviceFacts;
use kq::facts::live::missing;
use kq::facts::lookup::Lookup;
use kq::facts::snapshot::{RecordedConfig, Snapshot};
use kq::node::GivenConfig;
use kq::node::{Needs, forget_secrets};
use kq::output::value::json_line;

/// Store all data that kq can read about this node
///
/// With --snapshot FILE, commands answer from the file as they would have on the
/// node. Exceptions need the live node: cgroup rollback, gc record, probe run,
/// and devices plugins, serve, allocate and repair. cgroup apply, gc apply and
/// preempt apply only accept a snapshot with --dry-run.
///
/// A snapshot holds the newest events about the node's pods (20 of each, 2000 in
/// all) if the kubeconfig may list events; the kubelet's own may not.
///
/// A snapshot holds no environment variables and no secrets, and only three of
/// the pods' annotations, all of them the kubelet's.
///
/// Exit code 0: stored; unavailable sources are named. 3: the file cannot be
/// written, or it was stored and no source found a node: no kubelet, no
/// configuration, no pods, no runtime.
///
/// Examples:
///
///   kq snapshot -o node.json.zst
///   kq snapshot | jq .runtime.found.value.version
///   kq cgroup diff --snapshot node.json.zst
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Where to store the snapshot, compressed if the name ends in .zst (default: standard output)
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,

    #[command(flatten)]
    sources: SourceArgs,

    #[command(flatten)]
    root: RootArgs,
}

impl Args {
    /// Gathers and stores.
    pub fn run(self) -> Result<Code, Failure> {
        // Everywhere else -o names a form.
        if let Some(form @ ("json" | "yaml" | "table" | "wide" | "name")) = self.output.as_deref() {
            return Err(Failure::usage(anyhow!("-o {form}: here it names the file to store"))
                .hint("a snapshot is JSON; without -o it is printed")
                .hint(format!("for a file of that name say -o ./{form}")));
        }
        let given = self.root.config.given_config()?;
        let config = given.as_ref().map(|given| &given.config.value);
        let mut snapshot = gather(&self.sources, &self.root, config, Needs::ALL)?;
        if let Some(given) = &given {
            snapshot.kubelet_config = Lookup::found("--kubelet-config", recorded(given));
        }
        match &self.output {
            None => write::value(OutputFormat::Json, &snapshot)?,
            Some(path) => {
                let json = json_line(&snapshot)
                    .map_err(|error| Failure::missing(anyhow!("cannot write it: {error}")))?;
                write_snapshot(path, &json).map_err(Failure::missing)?;
                note("stored", path);
            }
        }
        for reason in missing(&snapshot, given.is_some()) {
            note("missing", &reason);
        }
        if snapshot.cgroups.found.is_none() {
            let reason = snapshot.cgroups.reason();
            note("missing", &format!("the cgroup tree could not be read ({reason})"));
        }
        for reason in devices_missing(&snapshot) {
            note("missing", &reason);
        }
        Ok(Code::Answered.unless(has_no_node(&snapshot)))
    }
}

/// Returns true if a snapshot says nothing about a node, only about the machine.
fn has_no_node(snapshot: &Snapshot) -> bool {
    snapshot.kubelet.found.is_none()
        && snapshot.kubelet_config.found.is_none()
        && snapshot.node.found.is_none()
        && snapshot.pods.found.is_none()
        && snapshot.runtime.found.is_none()
}

/// Returns what a node with a kubelet did not tell of devices.
fn devices_missing(snapshot: &Snapshot) -> Vec<String> {
    let Some(facts) = snapshot.devices.as_ref().filter(|_| snapshot.kubelet.found.is_some()) else {
        return Vec::new();
    };
    let DeviceFacts { checkpoint, pod_resources } = facts;
    let reasons = [
        ("device checkpoint", checkpoint.found.is_some(), checkpoint.reason()),
        ("pod-resources API", pod_resources.found.is_some(), pod_resources.reason()),
    ];
    let missing = reasons.into_iter().filter(|(_, found, _)| !found);
    missing.map(|(what, _, reason)| format!("the {what} is unavailable ({reason})")).collect()
}

/// Returns a configuration that was given as one that was found.
fn recorded(given: &GivenConfig) -> RecordedConfig {
    let origins = given.config.origins.iter();
    let mut value = given.config.value.clone();
    forget_secrets(&mut value);
    RecordedConfig {
        value,
        read_as: given.config.source,
        origins: origins.map(|(field, origin)| (field.clone(), origin.to_string())).collect(),
        notes: given.notes.clone(),
    }
}
