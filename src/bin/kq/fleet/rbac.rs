//! `kq fleet rbac`

use super::question::Question;
use crate::exit::{Code, Failure};
use crate::output_format::OutputFormat;
use crate::write;
use anyhow::anyhow;
use clap::ValueEnum;
use kq_core::fleet::{FleetUse, RbacOptions};
use kq_k8s::validation::{is_namespace_name, is_pod_name};
use serde_json::json;
use std::ffi::OsString;

/// Print the RBAC manifests of a service account that may run a command of kq fleet
///
/// The manifests are a ServiceAccount, a ClusterRole for what is read of all
/// namespaces, a Role for the pods of kq in the namespace, and their bindings. They
/// have the rights that the requests of the command need, and no others. The pods
/// of a run have no token, so the command after -- adds no rights; it is checked as
/// kq fleet run checks it.
///
/// Nothing is sent to the API server.
///
/// Exit code 0: printed.
///
/// Examples:
///
///   kq fleet rbac run | kubectl apply -f -
///   kq fleet rbac run --api-only -- preempt explain dns.yaml
///   kq fleet rbac clean -n kube-system -o json
///   kq fleet rbac what-if --name kq-rollout
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The command of kq fleet
    #[arg(value_name = "FLEET-COMMAND")]
    fleet_command: FleetCommand,

    /// The command that the nodes are asked, after --
    #[arg(value_name = "COMMAND", last = true)]
    command: Vec<OsString>,

    /// The rights of run and collect with --api-only
    #[arg(long)]
    api_only: bool,

    /// The rights of apply with --cordon
    #[arg(long)]
    cordon: bool,

    /// The namespace of the account and of the pods
    #[arg(short, long, value_name = "NAMESPACE", default_value = "kube-system")]
    namespace: String,

    /// The name of the account, of the roles and of the bindings
    #[arg(long, value_name = "NAME", default_value = "kq-fleet")]
    name: String,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml")]
    output: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FleetCommand {
    /// kq fleet run
    Run,
    /// kq fleet apply
    Apply,
    /// kq fleet collect
    Collect,
    /// kq fleet clean
    Clean,
    /// kq fleet what-if: the PodDisruptionBudgets
    WhatIf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A document for each object
    Yaml,
    /// A List of the objects
    Json,
}

impl Args {
    /// Prints the manifests.
    pub fn run(self) -> Result<Code, Failure> {
        if self.cordon && self.fleet_command != FleetCommand::Apply {
            return Err(Failure::usage(anyhow!("--cordon: only kq fleet apply cordons nodes")));
        }
        let uses = match (self.fleet_command, self.api_only) {
            (FleetCommand::Apply, false) => FleetUse::Apply { cordon: self.cordon },
            (FleetCommand::Apply, true) => {
                let invalid = anyhow!("--api-only: a change needs a pod on each node");
                return Err(Failure::usage(invalid));
            }
            (FleetCommand::Run | FleetCommand::Collect, true) => FleetUse::ApiOnly,
            (FleetCommand::Run | FleetCommand::Collect, false) => FleetUse::Pods,
            (FleetCommand::Clean, false) => FleetUse::Clean,
            (FleetCommand::Clean, true) => {
                let invalid = anyhow!("--api-only: clean deletes pods, so it needs rights on them");
                return Err(Failure::usage(invalid));
            }
            (FleetCommand::WhatIf, false) => FleetUse::Rollout,
            (FleetCommand::WhatIf, true) => {
                let invalid = anyhow!("--api-only: what-if reads snapshots and asks no node");
                return Err(Failure::usage(invalid));
            }
        };
        if !self.command.is_empty() {
            match (self.fleet_command, self.api_only) {
                (FleetCommand::Run, true) => Question::of_snapshots(self.command)?,
                (FleetCommand::Run, false) => Question::of_nodes(self.command)?,
                (FleetCommand::Apply, _) => Question::of_change(self.command)?.0,
                _ => {
                    let extra = anyhow!("only kq fleet run and apply have a command after --");
                    return Err(Failure::usage(extra));
                }
            };
        }
        for (flag, name, is_valid) in [
            ("--namespace", &self.namespace, is_namespace_name(&self.namespace)),
            ("--name", &self.name, is_pod_name(&self.name)),
        ] {
            if !is_valid {
                return Err(Failure::usage(anyhow!("{flag} {name:?}: not a valid name")));
            }
        }
        let manifests = RbacOptions { name: self.name, namespace: self.namespace }.manifests(uses);
        match self.output {
            Format::Json => {
                let list = json!({"apiVersion": "v1", "kind": "List", "items": manifests});
                write::value(OutputFormat::Json, &list)?;
            }
            Format::Yaml => {
                for manifest in manifests {
                    write::verbatim(["---".to_owned()])?;
                    write::value(OutputFormat::Yaml, &manifest)?;
                }
            }
        }
        Ok(Code::Answered)
    }
}
