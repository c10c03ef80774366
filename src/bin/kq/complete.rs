//! Completion that knows the node: shells run kq with `COMPLETE` set, and kq writes the candidates for the last word.
//!
//! Pods, containers, images, resources and devices come from the snapshot on the command line or in `KQ_SNAPSHOT`, else
//! from this node, within [`DEADLINE`]. Completion never fails loudly: where nothing is known there are no candidates.
//!
//! Shells put a candidate into the command line as it is, where `$(...)` would run at the next Enter, and bash expands
//! `*` before. So a candidate has only characters that mean nothing to any of the shells ([`is_plain`]); other names,
//! file names among them, are not offered.

use crate::cli::Cli;
use clap::builder::ValueHint;
use clap::{Arg, Command, CommandFactory};
use clap_complete::CompleteEnv;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{Bash, EnvCompleter, Fish, Shells, Zsh};
use kq_facts::cgroup_file::CgroupFile;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::fact_key::FactKey::{
    Containers, DeviceCheckpoint, Images, PodNames, PodResources, Sandboxes,
};
use kq_facts::needs::Needs;
use kq_facts::snapshot::Snapshot;
use kq_facts::snapshot_names::{container_ids, containers, devices, images, pods};
use kq_node::NodeSpec;
use kq_output::credentials::redact;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long the node may take; a longer pause would be felt.
const DEADLINE: Duration = Duration::from_millis(300);
/// How long a snapshot may take.
const SNAPSHOT_DEADLINE: Duration = Duration::from_secs(2);
/// So many candidates are offered at most.
const MOST: usize = 1000;
/// The longest candidate: an image with a digest.
const LONGEST: usize = 512;

/// Writes the candidates or the registration script if `COMPLETE` is set. Returns true if it is.
pub fn run() -> bool {
    const SHELLS: Shells<'_> = Shells(&[&Plain(&Bash), &Plain(&Fish), &Plain(&Zsh)]);
    let folder = std::env::current_dir().ok();
    let completion = CompleteEnv::with_factory(|| with_completers(Cli::command())).shells(SHELLS);
    // An unknown shell or a closed pipe: no output can be read.
    completion.try_complete(std::env::args_os(), folder.as_deref()).unwrap_or(true)
}

/// A shell to which only candidates are written that mean nothing to it.
struct Plain<'s>(&'s dyn EnvCompleter);

impl EnvCompleter for Plain<'_> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn is(&self, name: &str) -> bool {
        self.0.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        self.0.write_registration(var, name, bin, completer, buf)
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        buf: &mut dyn Write,
    ) -> io::Result<()> {
        let mut written = Vec::new();
        self.0.write_complete(command, words, folder, &mut written)?;
        let written = String::from_utf8_lossy(&written);
        // Bash reads candidates apart by a vertical tab, the others by lines; fish and zsh read the help after them.
        let (apart, help) = match self.name() {
            "bash" => ('\u{b}', None),
            "fish" => ('\n', Some('\t')),
            _ => ('\n', Some(':')),
        };
        let value = |line: &str| match help {
            None => line.to_owned(),
            Some(mark) => before(line, mark),
        };
        let lines = written.split(apart).filter(|line| is_plain(&value(line)));
        let lines: Vec<&str> = lines.take(MOST).collect();
        buf.write_all(lines.join(&apart.to_string()).as_bytes())
    }
}

/// Returns what stands before a mark that is not escaped, without the escapes.
fn before(line: &str, mark: char) -> String {
    let mut value = String::new();
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' if mark == ':' => value.extend(characters.next()),
            character if character == mark => break,
            character => value.push(character),
        }
    }
    value
}

/// Returns true for text that no shell expands, splits or runs, and no terminal obeys.
fn is_plain(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/:@+=,".contains(c);
    !text.is_empty() && text.len() <= LONGEST && text.chars().all(is_plain)
}

/// Adds completers to the arguments that name something of the node, and hints to those that name files.
fn with_completers(command: Command) -> Command {
    let is_explain = command.get_name() == "explain";
    let command = command.mut_args(|argument| with_completer(argument, is_explain));
    command.mut_subcommands(with_completers)
}

fn with_completer(argument: Arg, is_explain: bool) -> Arg {
    let names = argument.get_value_names().unwrap_or_default();
    let name = names.first().map(|name| name.as_str().to_owned()).unwrap_or_default();
    let id = argument.get_id().as_str().to_owned();
    let values = match (id.as_str(), name.as_str()) {
        ("container", "ID") => Values::ContainerIds,
        ("container", _) => Values::Containers,
        ("namespace", _) => Values::Namespaces,
        (_, "POD") | ("without", _) => Values::Pods,
        (_, "FILE|POD" | "POD|FILE") => Values::PodsAndFiles,
        (_, "IMAGE") => Values::Images,
        (_, "RESOURCE") => Values::Resources,
        ("unhealthy", _) => Values::Devices,
        ("file", _) if is_explain => Values::CgroupFiles,
        (_, "FILE") => return argument.value_hint(ValueHint::FilePath),
        (_, "DIR") => return argument.value_hint(ValueHint::DirPath),
        _ => return argument,
    };
    argument.add(ArgValueCompleter::new(values))
}

/// What an argument names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    Pods,
    PodsAndFiles,
    Namespaces,
    Containers,
    ContainerIds,
    Images,
    Resources,
    Devices,
    CgroupFiles,
}

impl ValueCompleter for Values {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let mut candidates = Vec::new();
        if let Some(start) = current.to_str() {
            let words: Vec<OsString> = words().collect();
            let mut names = self.names(&words);
            // A name that repeats a credential is not one that a user types.
            names.retain(|name| matches!(redact(name), Cow::Borrowed(_)));
            candidates.extend(starting(&names, start).into_iter().map(CompletionCandidate::new));
        }
        if *self == Self::PodsAndFiles {
            candidates.extend(PathCompleter::file().complete(current));
        }
        candidates
    }
}

impl Values {
    /// Returns the facts that know the names.
    fn needs(self) -> Option<Needs> {
        Some(match self {
            Self::Pods | Self::PodsAndFiles | Self::Namespaces => {
                Needs::of(&[PodNames, Sandboxes, Containers])
            }
            Self::Containers | Self::ContainerIds => Needs::of(&[PodNames, Sandboxes, Containers]),
            Self::Images => Needs::of(&[Images]),
            Self::Resources | Self::Devices => Needs::of(&[DeviceCheckpoint, PodResources]),
            Self::CgroupFiles => return None,
        })
    }

    /// Returns all names.
    fn names(self, words: &[OsString]) -> BTreeSet<String> {
        let Some(needs) = self.needs() else {
            let files = CgroupFile::ALL.iter();
            let names = files
                .flat_map(|file| [CgroupVersion::V2, CgroupVersion::V1].map(|it| file.name_on(it)));
            return names.flatten().map(str::to_owned).collect();
        };
        let Some(node) = gather(sources(words), needs) else { return BTreeSet::new() };
        match self {
            Self::Pods | Self::PodsAndFiles => {
                pods(&node).map(|(namespace, name)| format!("{namespace}/{name}")).collect()
            }
            Self::Namespaces => pods(&node).map(|(namespace, _)| namespace).collect(),
            Self::Containers => containers(&node, |namespace, name| {
                words.iter().any(|word| *word == *format!("{namespace}/{name}") || word == name)
            }),
            Self::ContainerIds => container_ids(&node),
            Self::Images => images(&node),
            Self::Resources => devices(&node).map(|(resource, _)| resource).collect(),
            Self::Devices => devices(&node).map(|(_, device)| device).collect(),
            Self::CgroupFiles => BTreeSet::new(),
        }
    }
}

/// Returns the names that begin like the word; where none does, the names of pods without their namespaces.
fn starting(names: &BTreeSet<String>, start: &str) -> Vec<String> {
    let plain = || names.iter().filter(|name| is_plain(name) && !name.starts_with('-'));
    let found: Vec<String> =
        plain().filter(|it| it.starts_with(start)).take(MOST).cloned().collect();
    if !found.is_empty() || start.contains('/') {
        return found;
    }
    let bare = plain().filter_map(|name| Some(name.split_once('/')?.1));
    let bare: BTreeSet<&str> = bare.filter(|name| name.starts_with(start)).collect();
    bare.into_iter().take(MOST).map(str::to_owned).collect()
}

/// Returns the words of the command line that is completed.
fn words() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip_while(|word| word != "--").skip(2)
}

/// Returns the sources that the words name, else the node on which kq runs.
fn sources(words: &[OsString]) -> NodeSpec {
    let snapshot = value_of(words, "--snapshot").or_else(snapshot_of_environment);
    NodeSpec {
        snapshot: snapshot.filter(|file| file != "-"),
        host_root: value_of(words, "--host-root").map(PathBuf::from),
        runtime_endpoint: value_of(words, "--runtime-endpoint"),
        timeout: DEADLINE,
        ..NodeSpec::default()
    }
}

#[expect(clippy::disallowed_methods, reason = "the environment is read here, once")]
fn snapshot_of_environment() -> Option<String> {
    std::env::var("KQ_SNAPSHOT").ok().filter(|file| !file.is_empty())
}

/// Returns the value of a flag: `--flag VALUE`, `--flag=VALUE`, or the three words that bash makes of that.
fn value_of(words: &[OsString], flag: &str) -> Option<String> {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let value = words.iter().enumerate().find_map(|(at, word)| {
        let rest = word.strip_prefix(flag)?;
        match rest.strip_prefix('=') {
            Some(value) => Some(value),
            None if !rest.is_empty() => None,
            None => match (words.get(at + 1)?, words.get(at + 2)) {
                (&"=", value) => value.copied(),
                (value, _) => Some(value),
            },
        }
    })?;
    // The shell has expanded nothing yet.
    let value = value.trim_matches(['"', '\'']);
    Some(match value.strip_prefix("~/").zip(home()) {
        Some((below, home)) => home.join(below).to_string_lossy().into_owned(),
        None => value.to_owned(),
    })
}

#[expect(clippy::disallowed_methods, reason = "a shell expands ~ by it")]
fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from)
}

/// Gathers facts; what takes too long is given up.
fn gather(spec: NodeSpec, needs: Needs) -> Option<Box<Snapshot>> {
    let deadline = if spec.snapshot.is_some() { SNAPSHOT_DEADLINE } else { DEADLINE };
    kq_io::credential_plugin::turn_off();
    let (sender, gathered) = mpsc::channel();
    thread::spawn(move || sender.send(kq_node::gather(&spec, None, needs).ok().map(Box::new)));
    gathered.recv_timeout(deadline).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_expand_or_run_is_no_candidate() {
        for (text, expected) in [
            ("shop/web-7d4b9", true),
            ("registry.test:5000/app@sha256:0a", true),
            ("GPU-4404041a,x=1", true),
            ("", false),
            ("$(reboot)", false),
            ("`reboot`", false),
            ("a;b", false),
            ("a b", false),
            ("a\nb", false),
            ("*", false),
            ("~root", false),
            ("\u{1b}[2J", false),
            ("a\u{202e}b", false),
        ] {
            assert_eq!(is_plain(text), expected, "{text:?}");
        }
    }

    #[test]
    fn names_begin_like_the_word() {
        let names = ["shop/web", "shop/db", "kube-system/web", "-x", "$(x)"];
        let names: BTreeSet<String> = names.map(str::to_owned).into();
        for (start, expected) in [
            ("sh", &["shop/db", "shop/web"][..]),
            ("web", &["web"]),
            ("shop/w", &["shop/web"]),
            ("-", &[]),
            ("$", &[]),
        ] {
            assert_eq!(starting(&names, start), expected, "{start}");
        }
    }

    #[test]
    fn flags_are_found_in_the_words() {
        let words = |line: &str| -> Vec<OsString> { line.split(' ').map(Into::into).collect() };
        for (line, expected) in [
            ("probe run --snapshot a.json", Some("a.json")),
            ("probe run --snapshot=a.json x", Some("a.json")),
            ("probe run --snapshot = a.json x", Some("a.json")),
            ("probe run --snapshot 'a.json' x", Some("a.json")),
            ("probe run --snapshots a.json", None),
            ("probe run --snapshot", None),
        ] {
            assert_eq!(value_of(&words(line), "--snapshot").as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn an_escaped_mark_is_a_part_of_the_value() {
        assert_eq!(before("a\\:b:help", ':'), "a:b");
        assert_eq!(before("a:b\thelp", '\t'), "a:b");
    }
}
