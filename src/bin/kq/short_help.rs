//! `-h` on one screen: the commands by task, the flags that a command has of its own.

use clap::{Arg, Command};

/// The commands by task, as a reader looks for them.
const TASKS: &[(&str, &[&str])] = &[
    ("What is wrong", &["doctor", "why", "explain", "top", "report"]),
    ("What the kubelet will do", &["what-if", "evict", "gc", "preempt", "admit", "probe"]),
    ("What a node has, and should have", &["cgroup", "devices", "allocatable"]),
    ("Many nodes, other machines", &["fleet", "snapshot"]),
];

/// The commands about kq itself.
const OTHERS: &[&str] = &["schema", "version", "completion", "help"];

/// Returns the definition with a help for one screen. It is for `-h` alone: `--help` has everything.
pub fn with_short_help(command: Command) -> Command {
    let template = "{about}\n{usage-heading} kq COMMAND [OPTIONS]\n{before-help}";
    let tasks = by_task(&command);
    short(command, "kq").help_template(template).before_help(tasks)
}

/// Returns the commands with what each does.
fn by_task(command: &Command) -> String {
    let mut text = String::new();
    for (task, names) in TASKS {
        text.push_str(&format!("{task}:\n"));
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {name:<12} {about}\n"));
        }
    }
    text + &format!("Also: {}. kq COMMAND -h: its flags; --help: all of them\n", OTHERS.join(", "))
}

/// Shortens the help of a command and of those below it: the flags that it has of its own, each in a line.
fn short(command: Command, path: &str) -> Command {
    // Flags under a heading say where facts come from, what the node is, or are for special cases.
    let is_special = |it: &Arg| it.get_help_heading().is_some();
    let has_more = command.get_arguments().any(is_special);
    let command = command.mut_args(|argument| {
        let hides = is_special(&argument)
            || argument.is_global_set()
            || matches!(argument.get_id().as_str(), "help" | "version");
        let help = argument.get_help().map(|it| first_clause(&it.to_string())).unwrap_or_default();
        let takes_value = argument.get_action().takes_values();
        argument.hide_possible_values(takes_value).hide(hides).help(help)
    });
    let names: Vec<String> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(name, |it| short(it, &path))
    });
    let more = "examples, exit codes, where facts come from and what the node is";
    match has_more {
        true => command.after_help(format!("{path} --help: {more}")),
        false => command,
    }
}

/// Returns what a text says first.
fn first_clause(text: &str) -> String {
    const SHORT: usize = 48;
    let ends = [" (", "; ", ". ", ", ", ": "];
    let ends =
        ends.iter().filter_map(|end| text.match_indices(end).map(|(at, _)| at).find(|at| *at > 16));
    match ends.min() {
        Some(end) if text.len() > SHORT => text[..end].to_owned(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    #[test]
    fn every_command_has_a_task() {
        let all = Cli::command();
        let mut shown: Vec<&str> =
            TASKS.iter().flat_map(|(_, names)| *names).chain(OTHERS).copied().collect();
        let mut known: Vec<&str> = all
            .get_subcommands()
            .filter(|it| !it.is_hide_set())
            .map(Command::get_name)
            .chain(["help"])
            .collect();
        shown.sort_unstable();
        known.sort_unstable();
        assert_eq!(shown, known);
    }

    #[test]
    fn short_help_is_one_screen() {
        fn check(command: &mut Command, path: &str, long: &mut Vec<String>) {
            let lines = command.render_help().to_string().lines().count();
            if lines > 24 {
                long.push(format!("{path}: {lines}"));
            }
            // The command `help` has the names of all.
            for below in command.get_subcommands_mut().filter(|it| it.get_name() != "help") {
                let path = format!("{path} {}", below.get_name());
                check(below, &path, long);
            }
        }
        let mut command = with_short_help(Cli::command());
        command.build();
        let mut long = Vec::new();
        check(&mut command, "kq", &mut long);
        assert!(long.is_empty(), "{}", long.join("\n"));
    }
}
