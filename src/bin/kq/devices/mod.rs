//! `kq devices`

mod allocate;
mod capacity;
mod list;
mod node_args;
mod plan;
mod plugins;
mod repair;
mod serve;
mod verify;

use crate::exit::{Code, Failure};
use clap::Subcommand;

/// Inspect device allocations and predict what the device manager will do
///
/// The commands show allocations from the kubelet's checkpoint and its
/// pod-resources API, the devices a pod would get, and plugins and their health.
/// They also run a fake kubelet for plugin developers and repair a damaged
/// checkpoint. Read docs/devices.md before you rely on them.
///
/// Examples:
///
///   kq devices list
///   kq devices verify
///   kq devices plan web.yaml
///   kq devices plugins
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(Box<list::Args>),
    Verify(Box<verify::Args>),
    Plan(Box<plan::Args>),
    Capacity(Box<capacity::Args>),
    Plugins(Box<plugins::Args>),
    Serve(Box<serve::Args>),
    Allocate(Box<allocate::Args>),
    Repair(Box<repair::Args>),
}

impl Args {
    /// It is the server of devices.
    pub fn serves(&self) -> bool {
        matches!(self.command, Command::Serve(_))
    }

    /// Runs the command.
    pub fn run(self) -> Result<Code, Failure> {
        match self.command {
            Command::List(args) => args.run(),
            Command::Verify(args) => args.run(),
            Command::Plan(args) => args.run(),
            Command::Capacity(args) => args.run(),
            Command::Plugins(args) => args.run(),
            Command::Serve(args) => args.run(),
            Command::Allocate(args) => args.run(),
            Command::Repair(args) => args.run(),
        }
    }
}
