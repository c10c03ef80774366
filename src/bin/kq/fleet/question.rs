//! The command that is asked of every node: which commands can be, and how its answer is read.

use crate::cli::Cli;
use crate::exit::Failure;
use anyhow::anyhow;
use clap::{ArgMatches, CommandFactory};
use kq::fleet::{NoAnswer, Reply};
use kq::output::terminal::brief;
use serde_json::Value;
use std::ffi::OsString;
use std::path::Path;

/// Commands that change something, or wait for what is still to come: no question about a stored node.
const NO_QUESTIONS: [&str; 9] =
    ["fleet", "apply", "rollback", "repair", "record", "watch", "run", "serve", "snapshot"];

/// A question: a command of kq with its arguments, without a node and an output format.
#[derive(Clone, Debug)]
pub struct Question(Vec<OsString>);

impl Question {
    /// Reads a command.
    ///
    /// # Errors
    ///
    /// Fails for what is no command about a stored node, and for a mistake in its arguments.
    pub fn parse(words: Vec<OsString>) -> Result<Self, Failure> {
        let question = Self(words);
        // As it will be for each node: the mistakes of the command line are the same for all of them.
        let typed = question.arguments(Path::new("node.json"));
        let line = std::iter::once("kq".into()).chain(typed);
        let matches = Cli::command().try_get_matches_from(line).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            let reason = brief(first.trim_start_matches("error: ")).into_owned();
            Failure::usage(anyhow!("{}: {reason}", question.shown()))
                .hint("--snapshot and -o are set for each node; what follows -- is the rest of the command")
        })?;
        let (names, leaf) = leaf(&matches);
        let name = names.join(" ");
        if names.iter().any(|name| NO_QUESTIONS.contains(&name.as_str())) {
            return Err(Failure::usage(anyhow!("kq {name} is no question about a stored node"))
                .hint("commands that read and have --snapshot can be asked, such as doctor"));
        }
        if is_watched(leaf) {
            return Err(Failure::usage(anyhow!(
                "kq {name} --watch: a stored node does not change"
            )));
        }
        Ok(question)
    }

    /// Returns the arguments for a node.
    pub fn arguments(&self, snapshot: &Path) -> Vec<OsString> {
        let mut arguments = self.0.clone();
        let mut flag = OsString::from("--snapshot=");
        flag.push(snapshot);
        arguments.extend([flag, "--output=json".into()]);
        arguments
    }

    /// Returns the words as they were typed.
    pub fn words(&self) -> Vec<String> {
        self.0.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    fn shown(&self) -> String {
        format!("kq {}", self.words().join(" "))
    }
}

/// Walks down to the command that runs.
fn leaf(matches: &ArgMatches) -> (Vec<String>, &ArgMatches) {
    let (mut names, mut here) = (Vec::new(), matches);
    while let Some((name, inner)) = here.subcommand() {
        names.push(name.to_owned());
        here = inner;
    }
    (names, here)
}

fn is_watched(leaf: &ArgMatches) -> bool {
    let has_flag = leaf.ids().any(|id| id == "watch");
    has_flag && leaf.get_flag("watch")
}

/// Reads what a run of kq about a snapshot wrote.
pub fn reply(snapshot: &Path, exit_code: Option<u8>, output: &[u8], notes: &str) -> Reply {
    let failed = |why| Reply::Failed { exit_code, why };
    match (exit_code, serde_json::from_slice::<Value>(output)) {
        (Some(code @ (0 | 1 | 3)), Ok(answer)) if answer.get("kind").is_some() => {
            Reply::Answered { exit_code: code, answer }
        }
        (Some(0), Ok(_)) => failed(NoAnswer::NoJson("it has no kind".to_owned())),
        (Some(0), Err(error)) => failed(NoAnswer::NoJson(error.to_string())),
        (None, _) => failed(NoAnswer::NotRun("a signal ended it".to_owned())),
        (Some(_), _) => {
            let of_kq = |line: &str| {
                ["kq: ", "error: "].iter().find_map(|it| line.strip_prefix(it).map(str::to_owned))
            };
            let reason = notes.lines().find_map(of_kq);
            let reason = reason.unwrap_or_else(|| "it ended without an answer".to_owned());
            // The same reason is the same result, whatever the file is called.
            let reason = reason.replace(&*snapshot.to_string_lossy(), "the snapshot");
            failed(NoAnswer::Refused(brief(&reason).into_owned()))
        }
    }
}
