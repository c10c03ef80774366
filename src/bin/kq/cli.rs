//! The commands.

use crate::exit::{Code, Failure};
use crate::write::{self, Color};
use crate::{
    admit, allocatable, cgroup, devices, doctor, evict, explain, fleet, gc, man, preempt, probe,
    report, schema, snapshot, top, version, what_if, why,
};
use clap::{Args, CommandFactory, Parser, Subcommand};
use kq_output::order::Order;
use std::sync::OnceLock;

/// Predict and explain what the kubelet on a node will do
///
/// kq covers cgroup values, image garbage collection, eviction, devices, probes, admission and
/// preemption. Each answer lists the facts used, their sources and the assumptions made. Answers go
/// to standard output. Notes, assumptions and warnings go to standard error, and with -o json or
/// yaml also into the answer.
///
/// Exit codes: 0 answered, 1 answered "no", 2 usage or input error, 3 data unavailable, 4 change
/// refused, 5 partially applied.
#[derive(Debug, Parser)]
#[command(name = "kq", bin_name = "kq", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    common: CommonArgs,

    #[command(subcommand)]
    command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
struct CommonArgs {
    /// Leave the headings of tables out
    #[arg(long, global = true, help_heading = "Output")]
    no_headers: bool,

    /// Order the rows of tables by this column, such as SIZE; -COLUMN reverses. Unknown values come
    /// last. In a tree, rows stay below the one that they belong to
    #[arg(long, value_name = "COLUMN", global = true, help_heading = "Output",
          allow_hyphen_values = true, value_parser = Order::parse)]
    sort_by: Option<Order>,

    /// When to colour words in tables and notes. auto: on a terminal, unless NO_COLOR is set or TERM
    /// is dumb
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, global = true)]
    color: Color,
}

#[derive(Debug, Subcommand)]
enum Command {
    Cgroup(Box<cgroup::Args>),
    Gc(gc::Args),
    Evict(evict::Args),
    Devices(devices::Args),
    Probe(probe::Args),
    Admit(admit::Args),
    Allocatable(Box<allocatable::Args>),
    Preempt(preempt::Args),
    WhatIf(Box<what_if::Args>),
    Doctor(Box<doctor::Args>),
    Why(Box<why::Args>),
    Explain(Box<explain::Args>),
    Report(Box<report::Args>),
    Top(Box<top::Args>),
    Fleet(fleet::Args),
    Snapshot(Box<snapshot::Args>),
    Schema(schema::Args),
    Version(Box<version::Args>),
    Completion(man::CompletionArgs),
    #[command(hide = true)]
    Man(man::ManArgs),
}

/// Returns the definition of a command with this name.
type Definition = fn(&'static str) -> clap::Command;

/// The commands that are defined without the others. The definition of all of them takes a tenth of the memory and a
/// fifth of the time of a short answer.
const ALONE: &[(&str, Definition)] = &[
    ("cgroup", define::<cgroup::Args>),
    ("gc", define::<gc::Args>),
    ("evict", define::<evict::Args>),
    ("devices", define::<devices::Args>),
    ("probe", define::<probe::Args>),
    ("admit", define::<admit::Args>),
    ("allocatable", define::<allocatable::Args>),
    ("preempt", define::<preempt::Args>),
    ("what-if", define::<what_if::Args>),
    ("doctor", define::<doctor::Args>),
    ("why", define::<why::Args>),
    ("explain", define::<explain::Args>),
    ("fleet", define::<fleet::Args>),
    ("snapshot", define::<snapshot::Args>),
    ("version", define::<version::Args>),
];

fn define<A: Args>(name: &'static str) -> clap::Command {
    A::augment_args(clap::Command::new(name))
}

impl Cli {
    /// Returns the definition with one of the commands alone. `None`: it is not among [`ALONE`].
    ///
    /// It is only good for a command line without mistakes: help and suggestions are of the whole definition.
    pub fn definition_with(command: &str) -> Option<clap::Command> {
        if matches!(command, "--version" | "-V") {
            return Some(clap::Command::new("kq").version(env!("CARGO_PKG_VERSION")));
        }
        let (name, define) = ALONE.iter().find(|(name, _)| *name == command)?;
        Some(CommonArgs::augment_args(clap::Command::new("kq")).subcommand(define(name)))
    }

    /// Returns the whole definition, for what is said of a command line with a mistake. It is made once.
    pub fn whole() -> &'static clap::Command {
        static WHOLE: OnceLock<clap::Command> = OnceLock::new();
        WHOLE.get_or_init(Self::command)
    }

    /// It is the command that takes a snapshot.
    pub fn stores_snapshot(&self) -> bool {
        matches!(self.command, Command::Snapshot(_))
    }

    /// It may read files of a node, or of whoever names them. A server of devices runs for days, and a command about a fleet
    /// starts kq for what it reads.
    pub fn reads_node(&self) -> bool {
        match &self.command {
            Command::Devices(args) => !args.serves(),
            Command::Fleet(args) => args.reads_snapshots(),
            Command::Schema(_) | Command::Completion(_) | Command::Man(_) => false,
            _ => true,
        }
    }

    pub fn run(self) -> Result<Code, Failure> {
        // A view that redraws its screen cuts lines itself.
        let CommonArgs { color, no_headers, sort_by, .. } = self.common;
        write::set_style(color, no_headers, sort_by);
        match self.command {
            Command::Cgroup(args) => args.run(),
            Command::Gc(args) => args.run(),
            Command::Evict(args) => args.run(),
            Command::Devices(args) => args.run(),
            Command::Probe(args) => args.run(),
            Command::Admit(args) => args.run(),
            Command::Allocatable(args) => args.run(),
            Command::Preempt(args) => args.run(),
            Command::WhatIf(args) => args.run(),
            Command::Doctor(args) => args.run(),
            Command::Why(args) => args.run(),
            Command::Explain(args) => args.run(),
            Command::Report(args) => args.run(),
            Command::Top(args) => args.run(),
            Command::Fleet(args) => args.run(),
            Command::Snapshot(args) => args.run(),
            Command::Schema(args) => args.run(),
            Command::Version(args) => args.run(),
            Command::Completion(args) => args.run(),
            Command::Man(args) => args.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the arguments and the commands of a definition, and of all within it.
    fn names(command: &clap::Command) -> Vec<String> {
        let arguments = command.get_arguments().map(|argument| format!("{argument:?}"));
        let inner = command.get_subcommands().flat_map(names);
        arguments.chain([command.get_name().to_owned()]).chain(inner).collect()
    }

    #[test]
    fn a_command_alone_is_defined_as_among_all() {
        let all = Cli::command();
        let mut defined = 0;
        for command in all.get_subcommands() {
            let Some(alone) = Cli::definition_with(command.get_name()) else { continue };
            let common: Vec<_> = all.get_arguments().map(|it| format!("{it:?}")).collect();
            let own: Vec<_> = alone.get_arguments().map(|it| format!("{it:?}")).collect();
            assert_eq!(own, common);
            let inner: Vec<_> = alone.get_subcommands().map(names).collect();
            assert_eq!(inner, [names(command)]);
            defined += 1;
        }
        assert!(defined >= 12, "{defined}");
    }
}
