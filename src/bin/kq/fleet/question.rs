//! The command that runs for each node, and which commands can.

use crate::cli::Cli;
use crate::exit::Failure;
use anyhow::anyhow;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory};
use kq_node::action::fleet::ChangeCommand;
use kq_output::terminal::brief;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Commands that change something, store something, or wait for what is still to come.
const NO_QUESTIONS: [&str; 9] =
    ["fleet", "apply", "rollback", "repair", "record", "watch", "run", "serve", "snapshot"];

/// A question: a command of kq with its arguments, without a node and an output format.
#[derive(Clone, Debug)]
pub struct Question(Vec<OsString>);

impl Question {
    /// Reads a command about stored nodes, or about the facts that the API server has of nodes.
    /// Fails for what is no command about a stored node, for a mistake in its arguments, and for a file that is standard
    /// input.
    pub fn of_snapshots(words: Vec<OsString>) -> Result<Self, Failure> {
        let is_input = |word: &OsString| word == "-" || word.to_string_lossy().ends_with("=-");
        if let Some(word) = words.iter().find(|word| is_input(word)) {
            let error = anyhow!("{}: standard input cannot be read for each node", word.display());
            return Err(Failure::usage(error).hint("name a file"));
        }
        let question = Self(words);
        question.check(question.about(Path::new("node.json")), "--snapshot and -o are")?;
        Ok(question)
    }

    /// Reads a command that runs on nodes.
    /// Fails for what is no command about a node, for a mistake in its arguments, and for a file of this machine.
    pub fn of_nodes(words: Vec<OsString>) -> Result<Self, Failure> {
        let question = Self(words);
        let names = question.check(question.there(), "-o is")?;
        if !reads_a_node(&names) {
            return Err(question.is_none());
        }
        question.check_files()?;
        Ok(question)
    }

    /// Reads a command that changes nodes.
    /// Fails for another command, for a mistake in its arguments, and for a file of this machine.
    pub fn of_change(words: Vec<OsString>) -> Result<(Self, ChangeCommand), Failure> {
        let question = Self(words);
        let names: Vec<String> = question.words().into_iter().take(2).collect();
        let writes_files = match names.join(" ").as_str() {
            "gc apply" => false,
            "cgroup apply" => true,
            "devices repair" => {
                let refused =
                    anyhow!("devices repair needs a stopped kubelet, which starts no pod");
                return Err(Failure::usage(refused).hint("run it on the node itself"));
            }
            _ => {
                let refused = anyhow!("{}: not a change of kq fleet apply", question.shown());
                return Err(Failure::usage(refused)
                    .hint("gc apply and cgroup apply change nodes; kq fleet run reads them"));
            }
        };
        let flags = ["--dry-run", "--output=json", "--plan-digest=sha256:0"].map(OsString::from);
        let typed = question.with(flags);
        let matches = question.parse(typed, "--dry-run, --yes, --plan-digest and -o are")?;
        let (_, leaf) = leaf(&matches);
        question.check_files()?;
        let path = writes_files.then(|| leaf.get_one::<PathBuf>("rollback_file")).flatten();
        let is_elsewhere = leaf.value_source("host_root") == Some(ValueSource::CommandLine);
        if let Some(path) = path.filter(|path| !path.starts_with("/host/") && !is_elsewhere) {
            let inside = anyhow!("--rollback-file {}: not a file of the node", path.display());
            return Err(Failure::usage(inside).hint("in a pod, the files of the node are in /host"));
        }
        let names_rollback_file = path.is_some();
        let words = question.words();
        Ok((question, ChangeCommand { words, writes_files, names_rollback_file }))
    }

    /// Refuses mistakes: as it will be for each node, they are the same for all of them. Returns the names of the command.
    fn check(&self, typed: Vec<OsString>, set: &str) -> Result<Vec<String>, Failure> {
        let matches = self.parse(typed, set)?;
        let (names, leaf) = leaf(&matches);
        if names.iter().any(|name| NO_QUESTIONS.contains(&name.as_str())) {
            return Err(self.is_none());
        }
        if is_watched(leaf) {
            return Err(Failure::usage(anyhow!("{}: it does not end", self.shown()))
                .hint("leave --watch out"));
        }
        Ok(names)
    }

    /// Refuses a file of this machine.
    fn check_files(&self) -> Result<(), Failure> {
        match self.0.iter().find(|word| is_file(word)) {
            None => Ok(()),
            Some(file) => {
                let file = file.display();
                let error = anyhow!("{file}: a file of this machine, which the nodes do not have");
                Err(Failure::usage(error).hint(
                    "kq fleet collect stores the nodes, and kq fleet ask takes files of this machine",
                ))
            }
        }
    }

    /// Parses the command as the binary does.
    fn parse(&self, typed: Vec<OsString>, set: &str) -> Result<ArgMatches, Failure> {
        // What follows it is no flag, and so would be about another node.
        if self.0.iter().any(|word| word == "--") {
            return Err(Failure::usage(anyhow!("{}: a second --", self.shown()))
                .hint("leave it out: names of pods do not begin with -"));
        }
        let line = std::iter::once("kq".into()).chain(typed);
        Cli::command().try_get_matches_from(line).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            let reason = brief(first.trim_start_matches("error: ")).into_owned();
            Failure::usage(anyhow!("{}: {reason}", self.shown())).hint(format!(
                "{set} set for each node; what follows -- is the rest of the command"
            ))
        })
    }

    fn is_none(&self) -> Failure {
        Failure::usage(anyhow!("{} cannot be asked of many nodes", self.shown()))
            .hint("commands that read a node and end can, such as doctor")
    }

    /// Returns the arguments about a snapshot.
    pub fn about(&self, snapshot: &Path) -> Vec<OsString> {
        let mut flag = OsString::from("--snapshot=");
        flag.push(snapshot);
        self.with([flag, "--output=json".into()])
    }

    /// Returns the arguments on the node itself.
    pub fn there(&self) -> Vec<OsString> {
        self.with(["--output=json".into()])
    }

    fn with(&self, flags: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
        self.0.iter().cloned().chain(flags).collect()
    }

    /// Returns a command that was read before.
    pub fn known(words: Vec<OsString>) -> Self {
        Self(words)
    }

    /// Returns the words as they were typed.
    pub fn typed(&self) -> &[OsString] {
        &self.0
    }

    /// Returns the words as text.
    pub fn words(&self) -> Vec<String> {
        self.0.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    fn shown(&self) -> String {
        format!("kq {}", self.words().join(" "))
    }
}

/// Returns true if a word is the path of an existing file.
fn is_file(word: &OsString) -> bool {
    let text = word.to_string_lossy();
    let path = text.rsplit_once('=').map_or(&*text, |(_, value)| value);
    let looks_like_one = path.contains('/') || path.contains('.');
    looks_like_one && Path::new(path).is_file()
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

/// Returns true if a command finds the facts of the node that it runs on.
fn reads_a_node(names: &[String]) -> bool {
    let mut names = names.iter();
    let leaf = names.try_fold(Cli::whole(), |command, name| command.find_subcommand(name));
    leaf.is_some_and(|leaf| leaf.get_arguments().any(|argument| argument.get_id() == "host_root"))
}

fn is_watched(leaf: &ArgMatches) -> bool {
    let has_flag = leaf.ids().any(|id| id == "watch");
    has_flag && leaf.get_flag("watch")
}
