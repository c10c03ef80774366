//! The commands.

use crate::exit::{Code, Failure};
use crate::screen::{self, Color};
use crate::{
    admit, cgroup, devices, doctor, evict, fleet, gc, generate, man, preempt, probe, report,
    schema, snapshot, version, what_if,
};
use clap::{Parser, Subcommand};
use kq::output::order::Order;
use kq::output::table::hide_headings;

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

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Cgroup(Box<cgroup::Args>),
    Gc(gc::Args),
    Evict(evict::Args),
    Devices(devices::Args),
    Probe(probe::Args),
    Admit(admit::Args),
    Preempt(preempt::Args),
    WhatIf(Box<what_if::Args>),
    Doctor(Box<doctor::Args>),
    Report(Box<report::Args>),
    Fleet(fleet::Args),
    Snapshot(Box<snapshot::Args>),
    Schema(schema::Args),
    Version(Box<version::Args>),
    Completion(generate::CompletionArgs),
    #[command(hide = true)]
    Man(man::ManArgs),
}

impl Cli {
    /// It is the command that takes a snapshot.
    pub fn stores_snapshot(&self) -> bool {
        matches!(self.command, Command::Snapshot(_))
    }

    pub fn run(self) -> Result<Code, Failure> {
        if self.no_headers {
            hide_headings();
        }
        if let Some(order) = self.sort_by {
            order.set();
        }
        screen::set(self.color);
        match self.command {
            Command::Cgroup(args) => args.run(),
            Command::Gc(args) => args.run(),
            Command::Evict(args) => args.run(),
            Command::Devices(args) => args.run(),
            Command::Probe(args) => args.run(),
            Command::Admit(args) => args.run(),
            Command::Preempt(args) => args.run(),
            Command::WhatIf(args) => args.run(),
            Command::Doctor(args) => args.run(),
            Command::Report(args) => args.run(),
            Command::Fleet(args) => args.run(),
            Command::Snapshot(args) => args.run(),
            Command::Schema(args) => args.run(),
            Command::Version(args) => args.run(),
            Command::Completion(args) => args.run(),
            Command::Man(args) => args.run(),
        }
    }
}
