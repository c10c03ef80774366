//! The flags that were typed, put into the commands of a hint: they name the node and the pods that the hint is about.

use super::Hint;
use clap::{Arg, Command};
use kq_output::shell::quoted;

/// The flags that say which node and which pods are meant, and in which form an answer is written.
const CARRIED: &[&str] = &[
    "snapshot",
    "live",
    "host-root",
    "namespace",
    "selector",
    "pods",
    "pods-from",
    "events",
    "kubelet-log",
    "node-file",
    "node-name",
    "kubeconfig",
    "context",
    "kubelet-url",
    "kubelet-config",
    "kubelet-version",
    "runtime-endpoint",
    "stats",
    "output",
];

/// A flag as it was typed.
struct Typed<'t> {
    /// Its name without the dashes: `snapshot`, or a letter.
    name: &'t str,
    /// The words of the command line that it takes.
    words: Vec<&'t str>,
}

/// Returns a hint whose command lines have the flags that were typed, where they take them.
pub fn with_typed_flags(hint: Hint, typed: &[&str], all: &Command) -> Hint {
    let flags = flags(typed, all);
    let is_stored = flags.iter().any(|flag| flag.name == "snapshot");
    // A snapshot cannot be changed.
    let hint = if is_stored { hint.until(|line| changes(line, all)) } else { hint };
    hint.with_lines(|line| command_line(line, &flags, all))
}

/// Returns true for a command that changes the node.
fn changes(line: &str, all: &Command) -> bool {
    let words: Vec<&str> = line.split(' ').collect();
    matches!(command_of(&words, all).0.get_name(), "apply" | "repair")
}

/// Returns the command of a line, and the number of the words that name it, kq among them.
fn command_of<'c>(words: &[&str], all: &'c Command) -> (&'c Command, usize) {
    let (mut command, mut named) = (all, 1);
    while let Some(inner) = words.get(named).and_then(|word| command.find_subcommand(word)) {
        (command, named) = (inner, named + 1);
    }
    (command, named)
}

/// Returns a command line with the flags.
fn command_line(text: &str, flags: &[Typed<'_>], all: &Command) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let (command, named) = command_of(&words, all);
    if flags.is_empty() || named == 1 || command.has_subcommands() {
        return text.to_owned();
    }
    // The question of many nodes stands behind.
    let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let mut line: Vec<String> = words[..end].iter().map(ToString::to_string).collect();
    for flag in flags {
        let Some(known) = argument(command, flag.name) else {
            // A pod is named with its namespace where there is no flag for it.
            if let ("n" | "namespace", Some(namespace)) = (flag.name, flag.words.last()) {
                qualify(&mut line[named..], namespace);
            }
            continue;
        };
        let is_there = |word: &&str| {
            let name = word.split('=').next().unwrap_or_default();
            spelt(name).is_some_and(|name| argument(command, name).is_some_and(|it| it == known))
        };
        // A file may stand there without its flag.
        let value = flag.words.get(1);
        let has_value = || words[named..end].iter().any(|word| Some(word) == value);
        if !has_value() && !words[..end].iter().any(is_there) {
            line.extend(flag.words.iter().map(|word| quoted(word)));
        }
    }
    line.extend(words[end..].iter().map(ToString::to_string));
    line.join(" ")
}

/// Puts the namespace before the name of a pod, which is the last word of a change.
fn qualify(words: &mut [String], namespace: &str) {
    if let Some(pod) = words.last_mut()
        && super::stands_for("POD", pod).is_some()
        && !pod.contains('/')
    {
        *pod = format!("{namespace}/{pod}");
    }
}

/// Returns the flags of a command line that are carried.
fn flags<'t>(typed: &[&'t str], all: &Command) -> Vec<Typed<'t>> {
    let mut found = Vec::new();
    let mut words = typed.iter().copied().take_while(|word| *word != "--").peekable();
    while let Some(word) = words.next() {
        let Some(name) = word.split('=').next().and_then(spelt) else { continue };
        let Some(known) = argument_below(all, name) else { continue };
        if !known.get_long().is_some_and(|long| CARRIED.contains(&long)) {
            continue;
        }
        let takes = known.get_action().takes_values() && !word.contains('=');
        let value = words.next_if(|next| takes && !next.starts_with('-'));
        if takes && value.is_none() {
            continue;
        }
        found.push(Typed { name, words: std::iter::once(word).chain(value).collect() });
    }
    found
}

/// Returns the name in a word that is a flag.
fn spelt(word: &str) -> Option<&str> {
    match word.strip_prefix("--") {
        Some(long) => Some(long).filter(|it| it.len() > 1),
        None => word.strip_prefix('-').filter(|it| it.len() == 1),
    }
}

/// Returns the flag of a command, by its name or its letter.
fn argument<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    command.get_arguments().find(|it| match name.len() {
        1 => it.get_short().is_some_and(|short| name.starts_with(short)),
        _ => it.get_long() == Some(name),
    })
}

/// Returns the flag of any command.
fn argument_below<'c>(all: &'c Command, name: &str) -> Option<&'c Arg> {
    argument(all, name)
        .or_else(|| all.get_subcommands().find_map(|command| argument_below(command, name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn commands_of_a_hint_get_the_flags_that_they_take() {
        let all = crate::cli::Cli::command();
        for (hint, typed, expected) in [
            ("kq gc images", "images --snapshot w.json", "kq gc images --snapshot w.json"),
            (
                "`kq top`, and `kq doctor cart-0`",
                "stats cart-0 --snapshot=w.json -n shop",
                "kq top --snapshot=w.json, and kq doctor cart-0 --snapshot=w.json -n shop",
            ),
            (
                "`kq cgroup show` lists the pods",
                "ls --host-root /host",
                "kq cgroup show --host-root /host lists the pods",
            ),
            (
                "kq doctor --snapshot w.json",
                "--snapshot w.json doctr",
                "kq doctor --snapshot w.json",
            ),
            ("kq what-if remove cart-0", "rm cart-0 -n shop", "kq what-if remove shop/cart-0"),
            ("kq gc images", "images --snapshot 'a", "kq gc images --snapshot ''\\''a'"),
            ("kq fleet ask FILE -- doctor", "x --snapshot w.json", "kq fleet ask FILE -- doctor"),
            ("kq doctor w.json", "--snapshot w.json", "kq doctor w.json"),
            (
                "kubectl shows that; kq answers about one node",
                "x -n a",
                "kubectl shows that; kq answers about one node",
            ),
            ("kq gc images", "images --snapshot", "kq gc images"),
            (
                "`kq gc dry-run` lists them, `kq gc apply` removes them",
                "gc now --snapshot w.json",
                "kq gc dry-run --snapshot w.json lists them",
            ),
            (
                "`kq devices verify`, then `kq devices repair`",
                "devices fix --snapshot w.json",
                "kq devices verify --snapshot w.json",
            ),
            (
                "`kq gc dry-run` lists them, `kq gc apply` removes them",
                "gc now --host-root /host",
                "kq gc dry-run --host-root /host lists them, kq gc apply --host-root /host removes them",
            ),
        ] {
            let typed: Vec<&str> = typed.split(' ').collect();
            let found = with_typed_flags(Hint::of(hint), &typed, &all);
            assert_eq!(found.to_string(), expected, "{typed:?}");
        }
    }
}
