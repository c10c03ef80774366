//! `kq devices`

mod allocate;
mod capacity;
mod given;
mod list;
mod manifest;
mod node;
mod plan;
mod plugins;
mod preference;
mod repair;
mod serve;
mod stopped;
pub mod topology;
mod unknown_pod;
mod verify;

use crate::exit::{Code, Failure};
use clap::Subcommand;

/// Tell who has which device, and what the kubelet's device manager would do next
///
/// Allocations from the kubelet's checkpoint and its pod-resources API, what a pod would get, plugins
/// and their health, a stand-in for the kubelet for those who write a plugin, and repair on request.
/// What an operator must know before relying on it is in docs/devices.md.
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
