//! Files that are named where a command takes none, and the flag that takes them.

use super::Hint;
use clap::Command;
use kq_io::open::open_input;
use std::io::Read;
use std::path::Path;

/// What a file is to kq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Snapshot,
    Pods,
    Node,
    Events,
    Config,
    Log,
    /// It does not exist, or is nothing that kq knows.
    Other,
}

/// The most bytes that are read to know what a file is.
const FIRST: u64 = 4096;

impl FileKind {
    /// Returns what a word names; `None`: it does not look like a file.
    pub fn of(word: &str) -> Option<Self> {
        let path = Path::new(word);
        let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        let is_named = matches!(
            ending,
            "json" | "yaml" | "yml" | "zst" | "gz" | "html" | "log" | "txt" | "jsonl"
        );
        if !path.is_file() {
            return (is_named || word == "-").then_some(Self::Other);
        }
        let mut first = Vec::new();
        let read = open_input(path).and_then(|file| file.take(FIRST).read_to_end(&mut first));
        match (read, ending) {
            (_, "zst" | "gz") => Some(Self::Snapshot),
            (Ok(_), _) => Some(Self::of_text(&String::from_utf8_lossy(&first))),
            (Err(_), _) => Some(Self::Other),
        }
    }

    /// Returns what a text begins.
    fn of_text(text: &str) -> Self {
        if text.contains("<!-- kq report -->") {
            return Self::Snapshot;
        }
        let kind = text.lines().find_map(|line| {
            let line = line.trim_start_matches([' ', '\t', '{', '-', '"']);
            let value =
                line.strip_prefix("kind")?.trim_start_matches(['"', ' ']).strip_prefix(':')?;
            Some(value.trim_matches([' ', '"', ',', '}']))
        });
        let has = |name: &str| text.contains(&format!("\"kind\":\"{name}"));
        match kind {
            Some("NodeSnapshot") => Self::Snapshot,
            Some("Node" | "NodeList") => Self::Node,
            Some("Event" | "EventList") => Self::Events,
            Some("KubeletConfiguration") => Self::Config,
            Some(_) => Self::Pods,
            None if has("NodeSnapshot") => Self::Snapshot,
            None if has("Pod") || has("List") => Self::Pods,
            None if has("Node") => Self::Node,
            None if has("Event") => Self::Events,
            None if text.trim_start().starts_with(['{', '[', '<']) => Self::Other,
            None => Self::Log,
        }
    }

    /// Returns the flag that takes the file.
    fn flag(self) -> &'static str {
        match self {
            Self::Pods => "pods",
            Self::Node => "node-file",
            Self::Events => "events",
            Self::Config => "kubelet-config",
            Self::Log => "kubelet-log",
            Self::Snapshot | Self::Other => "snapshot",
        }
    }

    /// Returns what answers about the file alone.
    fn alone(self, file: &str) -> Hint {
        let hint = match self {
            Self::Snapshot | Self::Other => "kq doctor FILE",
            Self::Pods => "`kq admit explain FILE`, or `kq cgroup plan FILE`",
            Self::Node => "kq allocatable --node-file FILE",
            Self::Events => "kq why POD --events FILE",
            Self::Config => "kq what-if config FILE",
            Self::Log => "kq explain -f FILE",
        };
        Hint::of(hint).put("FILE", file)
    }
}

/// Returns the command line that takes the file among the words of a command; `None`: there is no such file, or no flag for it.
/// `names`: the words of the command, `words`: what follows them, without flags.
pub fn hint_for_files(command: &Command, names: &[&str], words: &[&str]) -> Option<Hint> {
    let (file, kind) = words.iter().find_map(|word| Some((*word, FileKind::of(word)?)))?;
    if names.is_empty() {
        return Path::new(file).is_file().then(|| kind.alone(file));
    }
    if !Path::new(file).is_file() {
        let places = command.get_positionals().filter_map(clap::Arg::get_value_names).flatten();
        let takes_pods = places.into_iter().all(|name| name == "POD");
        return (file != "-" && takes_pods)
            .then(|| Hint::text(format!("there is no file {file} here")));
    }
    if names == ["explain"] {
        return Some(kind.alone(file));
    }
    // It is where it belongs, and something else is wrong.
    let mut places = command.get_positionals().filter_map(clap::Arg::get_value_names).flatten();
    if !matches!(kind, FileKind::Snapshot) && places.any(|name| name.contains("FILE")) {
        return None;
    }
    let flag = kind.flag();
    let mut line = vec!["kq"];
    line.extend(names);
    line.extend(words.iter().filter(|word| **word != file));
    let has = |flag: &str| command.get_arguments().any(|it| it.get_long() == Some(flag));
    // A pod has to be named.
    let pod = command
        .get_positionals()
        .find(|it| it.is_required_set())
        .filter(|_| words.len() < 2)
        .and_then(|it| it.get_value_names()?.first())
        .map(ToString::to_string);
    line.extend(pod.as_deref());
    has(flag).then(|| Hint::command(format!("{} --{flag} {file}", line.join(" "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_their_beginning() {
        for (text, expected) in [
            ("{\n \"apiVersion\": \"kq/v1\",\n \"kind\": \"NodeSnapshot\",", FileKind::Snapshot),
            ("{\"apiVersion\":\"kq/v1\",\"kind\":\"NodeSnapshot\",", FileKind::Snapshot),
            ("apiVersion: v1\nkind: Pod\nmetadata: {}", FileKind::Pods),
            ("apiVersion: apps/v1\nkind: Deployment\n", FileKind::Pods),
            (
                "{\"apiVersion\": \"v1\", \"items\": [\n {\n  \"kind\": \"Event\",\n",
                FileKind::Events,
            ),
            ("kind: KubeletConfiguration", FileKind::Config),
            ("{\n\"kind\": \"Node\"\n}", FileKind::Node),
            ("<!-- kq report --><html>", FileKind::Snapshot),
            ("Nov 22 03:07:41 n1 kubelet[1]: E1122 kubelet.go:1] \"x\"", FileKind::Log),
            ("{\"node\": {}}", FileKind::Other),
        ] {
            assert_eq!(FileKind::of_text(text), expected, "{text}");
        }
    }
}
