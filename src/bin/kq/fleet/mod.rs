//! `kq fleet`

mod apply;
mod ask;
mod clean;
mod collect;
mod merge_args;
mod question;
mod rbac;
mod run;
mod run_args;
mod snapshot_args;
mod ssh;
mod what_if;

use crate::captured;
use crate::exit::{Code, Failure};
use crate::write;
use anyhow::anyhow;
use clap::Subcommand;
use kq_core::fleet::Packed;
use kq_io::own_program::run_own;
use kq_node::action::fleet::{MAX_ANSWER_BYTES, Member, SnapshotQuestion, SnapshotWorker};
use question::Question;
use std::ffi::OsString;
use std::iter::once;
use std::time::Duration;

/// The time for an answer in a pod. The kubelet ends the pod earlier.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Ask many nodes the same question, and merge the answers
///
/// Examples:
///
///   kq fleet run --image registry.example/kq:0.1 -- doctor
///   kq fleet ask snapshots/ -- doctor
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::Args>),
    Apply(Box<apply::Args>),
    Collect(Box<collect::Args>),
    Ask(Box<ask::Args>),
    WhatIf(Box<what_if::Args>),
    Clean(Box<clean::Args>),
    Rbac(Box<rbac::Args>),
    #[command(hide = true)]
    Guard(Box<clean::GuardArgs>),
    #[command(hide = true)]
    Answer(AnswerArgs),
    #[command(hide = true)]
    Read(Box<ReadArgs>),
    #[command(hide = true)]
    Work(Box<WorkArgs>),
}

impl Args {
    pub fn run(self) -> Result<Code, Failure> {
        match self.command {
            Command::Run(args) => args.run(),
            Command::Apply(args) => args.run(),
            Command::Collect(args) => args.run(),
            Command::Ask(args) => args.run(),
            Command::WhatIf(args) => args.run(),
            Command::Clean(args) => args.run(),
            Command::Rbac(args) => args.run(),
            Command::Guard(args) => args.run(),
            Command::Answer(args) => args.run(),
            Command::Read(args) => args.run(),
            Command::Work(args) => args.run(),
        }
    }

    /// It reads snapshots itself.
    pub fn reads_snapshots(&self) -> bool {
        matches!(self.command, Command::Work(_))
    }
}

/// Run a command of kq, and write its answer packed and with a checksum, for kq fleet run
#[derive(Debug, clap::Args)]
struct AnswerArgs {
    /// The command, after --
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,
}

impl AnswerArgs {
    /// Runs it. The exit code of the command is a part of what is written.
    fn run(self) -> Result<Code, Failure> {
        let ended = run_own(&self.command, LONGEST, MAX_ANSWER_BYTES)
            .map_err(|error| Failure::missing(anyhow!("kq could not be run: {error}")))?;
        let packed =
            Packed { exit_code: ended.exit_code, output: ended.output, notes: ended.notes };
        write::verbatim(packed.to_lines())?;
        Ok(Code::Answered)
    }
}

/// Read what one node sent, and write what counts of it, for the other commands of kq fleet
#[derive(Debug, clap::Args)]
struct ReadArgs {
    /// What is read, as JSON
    #[arg(value_name = "MEMBER", value_parser = parse_member)]
    member: Member,
}

fn parse_member(text: &str) -> Result<Member, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

impl ReadArgs {
    /// Reads. The exit code of the command is a part of what is written.
    fn run(self) -> Result<Code, Failure> {
        let (reading, answer) = self.member.read()?;
        write::line(&reading)?;
        answer.map_or(Ok(()), |answer| write::escaped_line(&answer))?;
        Ok(Code::Answered)
    }
}

/// Answer a question about one snapshot after another, for kq fleet ask
#[derive(Debug, clap::Args)]
struct WorkArgs {
    /// The question, as JSON
    #[arg(value_name = "QUESTION", value_parser = parse_question)]
    question: SnapshotQuestion,
}

fn parse_question(text: &str) -> Result<SnapshotQuestion, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

impl WorkArgs {
    /// Answers until no question comes. The exit codes of the command are a part of what is written.
    fn run(self) -> Result<Code, Failure> {
        let command = Question::known(self.question.words.clone());
        let mut worker = SnapshotWorker::new(&self.question)?;
        for path in SnapshotWorker::paths()? {
            let (reply, answer) = worker.answer(&path?, |path| {
                captured::run(once("kq".into()).chain(command.about(path)).collect())
            })?;
            write::line(&reply)?;
            write::escaped_line(&answer.unwrap_or_default())?;
            if worker.is_spent() {
                break;
            }
        }
        Ok(Code::Answered)
    }
}
