//! Reads the command line, and reports one that is invalid.

use crate::cli::Cli;
use crate::exit::{Code, Failure, lines, note};
use crate::guess::{self, Hint};
use crate::short_help::with_short_help;
use crate::write::{self, Color};
use anyhow::anyhow;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};
use kq_output::screen::wrapped;
use kq_output::terminal::{brief, is_unsafe, plain};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

/// Stands for `--snapshot`.
const SNAPSHOT_VARIABLE: &str = "KQ_SNAPSHOT";

/// The name under which kubectl finds a plugin.
const PLUGIN: &str = "kubectl-kq";

/// The parsed command line.
pub struct CommandLine {
    pub cli: Cli,
    /// The snapshot that the environment names, where the command takes it.
    pub snapshot_of_environment: Option<String>,
}

impl CommandLine {
    /// Returns where the snapshot is named; `None`: not by the environment.
    pub fn snapshot_origin(&self) -> Option<String> {
        let path = self.snapshot_of_environment.as_deref()?;
        Some(format!("{path}, named by {SNAPSHOT_VARIABLE}"))
    }

    /// Refuses the variable where a snapshot is stored: the command would store the named snapshot again.
    pub fn check(&self) -> Result<(), Failure> {
        match &self.snapshot_of_environment {
            Some(path) if self.cli.stores_snapshot() => {
                let path = brief(path);
                Err(Failure::usage(anyhow!(
                    "{SNAPSHOT_VARIABLE} names a snapshot, and this command takes a new one: {path}"
                ))
                .hint(format!("to store this node, unset {SNAPSHOT_VARIABLE}"))
                .hint("to store that snapshot again, name it with --snapshot"))
            }
            _ => Ok(()),
        }
    }
}

/// Parses the command line. Help and mistakes end the process.
pub fn parse() -> CommandLine {
    match read(std::env::args_os()) {
        Ok(line) => line,
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => refuse(error),
    }
}

/// Reads a command line and the variable that stands for a flag.
pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<CommandLine, clap::Error> {
    try_read(arguments).map_err(without_value_tip)
}

/// Drops clap's advice to pass an unknown flag as a value: no command of kq takes one.
fn without_value_tip(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        tips.retain(|tip| !tip.to_string().contains("as a value"));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    error
}

fn try_read(arguments: impl IntoIterator<Item = OsString>) -> Result<CommandLine, clap::Error> {
    let arguments = with_message_last(with_kubelet_flags(arguments));
    let command = arguments.get(1).and_then(|name| Cli::definition_with(name.to_str()?));
    match command.map(|command| read_by(command, &arguments)) {
        Some(Ok(line)) => return Ok(line),
        Some(Err(version)) if version.kind() == ErrorKind::DisplayVersion => return Err(version),
        _ => {}
    }
    let asks_all = arguments.iter().any(|it| it == "--help" || it == "help");
    let read = read_by(Cli::command(), &arguments);
    let is_help = |error: &clap::Error| {
        use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand as Missing};
        matches!(error.kind(), DisplayHelp | Missing)
    };
    match read {
        Err(error) if is_help(&error) && !asks_all => {
            read_by(with_short_help(Cli::command()), &arguments)
        }
        read => read,
    }
}

/// Reads a command line by a definition.
fn read_by(command: Command, arguments: &[OsString]) -> Result<CommandLine, clap::Error> {
    let command = match snapshot_variable() {
        Some(_) => with_variable(command),
        None => command,
    };
    let program = arguments.first().map(Path::new).and_then(Path::file_name);
    let command = match program.is_some_and(|name| name == PLUGIN) {
        true => command.bin_name("kubectl kq"),
        false => command,
    };
    let matches = command.try_get_matches_from(arguments)?;
    let cli = Cli::from_arg_matches(&matches)?;
    let is_used = is_from_environment(&matches);
    let snapshot_of_environment = snapshot_variable().filter(|_| is_used);
    Ok(CommandLine { cli, snapshot_of_environment })
}

/// Puts a message that kq explain is given, and that begins as a flag does, behind all flags: no flag has a blank.
fn with_message_last(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_message = |it: &OsString| {
        let text = it.to_string_lossy();
        text.starts_with('-') && text.split('=').next().is_some_and(|flag| flag.contains(' '))
    };
    let asks = arguments.get(1).is_some_and(|command| command == "explain");
    if asks && let Some(at) = arguments.iter().position(is_message) {
        let message = arguments.remove(at);
        if !arguments.iter().any(|it| it == "--") {
            arguments.push("--".into());
        }
        arguments.push(message);
    }
    arguments
}

/// Joins the change `flags` of kq what-if with what follows it, which looks like flags of kq.
fn with_kubelet_flags(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut asks_what_if = false;
    for argument in arguments {
        match joined.last_mut() {
            Some(last) if asks_what_if && last == "flags" => {
                last.push("=");
                last.push(argument);
            }
            _ => {
                asks_what_if |= argument == "what-if";
                joined.push(argument);
            }
        }
    }
    joined
}

/// Returns the snapshot that the environment names; an empty variable is not set.
#[expect(clippy::disallowed_methods, reason = "the environment is read in the binary alone")]
fn snapshot_variable() -> Option<String> {
    std::env::var_os(SNAPSHOT_VARIABLE)
        .filter(|value| !value.is_empty())
        .map(|value| value.to_string_lossy().into_owned())
}

/// Lets the variable stand for the flag, on every command that has it. Help, manual pages and completions are of the
/// definition without it, as they are the same everywhere.
fn with_variable(command: Command) -> Command {
    let is_leaf = !command.has_subcommands();
    let has_flag = command.get_arguments().any(|argument| argument.get_id() == "snapshot");
    let command = match is_leaf && has_flag {
        true => command.mut_arg("snapshot", |flag| flag.env(SNAPSHOT_VARIABLE).hide_env(true)),
        false => command,
    };
    let names: Vec<String> =
        command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_variable))
}

/// Returns true if the environment names the snapshot of a command.
fn is_from_environment(matches: &ArgMatches) -> bool {
    let has_flag = matches.ids().any(|id| id == "snapshot");
    let here = has_flag && matches.value_source("snapshot") == Some(ValueSource::EnvVariable);
    here || matches.subcommand().is_some_and(|(_, inner)| is_from_environment(inner))
}

/// Reports the mistake, and ends the process.
///
/// A script passes names of other people on, and clap shows an argument as it is, with its line ends and what it does
/// to a terminal.
#[expect(clippy::disallowed_methods, reason = "there is nothing left to do, as in clap's own exit")]
fn refuse(error: clap::Error) -> ! {
    write::set_style(Color::default(), false, None);
    let typed: Vec<OsString> = std::env::args_os().collect();
    let shown: Vec<OsString> = typed.iter().map(shown).collect();
    let of_variable = hint_at_variable(&error, &typed);
    let text = error.to_string();
    let mut of_command = None;
    // Without clap's colours, and the sequences of an argument with them.
    let is_one_line = |argument: &OsString| !argument.to_string_lossy().contains('\n');
    let is_safe = !text.contains(|c| c != '\n' && is_unsafe(c));
    if typed == shown {
        of_command = hint_at_command(&error, &typed);
        print(&with_near_names(error, &typed, of_command.is_some()));
    } else if is_safe && typed.iter().all(is_one_line) && brief(&text) == text {
        lines(&text);
    } else {
        // The same mistake in a command line that can be shown.
        match read(shown) {
            Err(same) if same.kind() == error.kind() => print(&same),
            _ => note("error", &brief(text.trim_start_matches("error: "))),
        }
    }
    let of_command = of_command.map(with_sources);
    for hint in of_command.into_iter().chain(of_variable) {
        note("hint", &brief(&hint));
    }
    std::process::exit(Code::Usage as i32)
}

/// Writes clap's report, on a terminal in lines that fit it.
fn print(error: &clap::Error) {
    let screen = write::screen_of_notes();
    let Some(width) = screen.width.map(usize::from) else {
        let _ = error.print();
        return;
    };
    let (plain, coloured) = (error.render().to_string(), error.render().ansi().to_string());
    let fitted = plain.lines().zip(coloured.lines()).flat_map(|(plain, coloured)| {
        let indent = plain.len() - plain.trim_start().len() + 2;
        match wrapped(plain, width, indent) {
            lines if lines.len() > 1 || !screen.colour => lines,
            _ => vec![coloured.to_owned()],
        }
    });
    let text = fitted.collect::<Vec<_>>().join("\n");
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Leaves of clap's suggestions those that are misspelt: it also has what sounds alike.
fn with_near_names(mut error: clap::Error, typed: &[OsString], has_hint: bool) -> clap::Error {
    let typed: Vec<&str> = typed.iter().skip(1).filter_map(|it| it.to_str()).collect();
    let all = Cli::whole();
    let named = Named::of(all, &without_flags(&typed));
    if error.kind() == ErrorKind::InvalidSubcommand {
        error.remove(ContextKind::SuggestedSubcommand);
        let near = named.rest.first().and_then(|word| guess::misspelt(word, named.command));
        if let Some(near) = near.filter(|_| !has_hint) {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near]));
        }
    }
    if error.kind() == ErrorKind::UnknownArgument && (has_hint || !is_near_argument(&error)) {
        // The usage is that of the suggestion.
        if error.remove(ContextKind::SuggestedArg).is_some() {
            error.remove(ContextKind::Usage);
        }
    }
    error
}

/// Returns true if the suggested flag is a misspelling of the typed one.
fn is_near_argument(error: &clap::Error) -> bool {
    let text = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let (typed, suggested) = (text(ContextKind::InvalidArg), text(ContextKind::SuggestedArg));
    let name = |flag: &str| {
        let flag = flag.trim_start_matches('-').split(['=', ' ']).next();
        flag.unwrap_or_default().to_owned()
    };
    let (typed, suggested) = (name(&typed), name(&suggested));
    // The flag of another tool may have more words.
    let mut words = suggested.split('-');
    let is_part = words.all(|word| typed.split('-').any(|it| it == word));
    is_part || guess::near(&typed, &[&*suggested]).is_some()
}

/// Names the command that answers, where the words are those of another tool or of a first try.
fn hint_at_command(error: &clap::Error, typed: &[OsString]) -> Option<Hint> {
    let typed: Vec<&str> = typed.iter().skip(1).filter_map(|it| it.to_str()).collect();
    let words = without_flags(&typed);
    let all = Cli::whole();
    let named = Named::of(all, &words);
    let of_files = || guess::hint_for_files(named.command, &named.names, &named.rest);
    let of_words = || guess::hint(&words, named.names.len(), &named.taken);
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = named.rest.first()?;
            let is_misspelt = guess::misspelt(word, named.command).is_some();
            let of_name = || guess::unknown_name(word).filter(|_| !is_misspelt);
            of_words().or_else(|| guess::reason(word)).or_else(of_files).or_else(of_name)
        }
        ErrorKind::UnknownArgument => {
            let flag = invalid_flag(error);
            let value = flag.as_deref().and_then(|flag| guess::value_of_flag(flag, &typed));
            let rest: Vec<&str> =
                named.rest.iter().copied().filter(|word| Some(*word) != value).collect();
            let words: Vec<&str> =
                words.iter().copied().filter(|word| Some(*word) != value).collect();
            let of_words = || guess::hint(&words, named.names.len(), &named.taken);
            let of_files = || guess::hint_for_files(named.command, &named.names, &rest);
            let of_flag = |line: Option<&str>| {
                let Named { command, names, .. } = &named;
                guess::hint_for_flag(flag.as_deref()?, command, names, &rest, value, line)
            };
            // A file in the wrong place, and a flag of another tool.
            let of_both = || {
                let hint = of_files()?;
                hint.command_line().and_then(|line| of_flag(Some(line))).or(Some(hint))
            };
            let of_flag = || of_flag(None);
            let of_typed = || guess::hint_for_files(all, &[], &typed);
            let of_two = || {
                let Named { command, names, .. } = &named;
                flag.is_none().then(|| guess::hint_for_two_words(command, names, &rest))?
            };
            command_first(&typed).or_else(|| match named.names.as_slice() {
                [] => of_words().or_else(of_typed).or_else(of_flag),
                ["what-if"] => of_flag().or_else(of_words),
                _ if named.command.has_subcommands() => of_flag().or_else(of_words),
                _ => of_words().or_else(of_both).or_else(of_flag).or_else(of_two),
            })
        }
        // A file is in the place of something else, unless a flag has a wrong value.
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => match invalid_flag(error) {
            Some(_) => None,
            None => of_files(),
        },
        ErrorKind::MissingRequiredArgument => {
            of_words().or_else(|| fleet_line(all, &named)).or_else(|| {
                let text = error.to_string();
                let lists = [
                    ("<POD", "`kq cgroup show` lists the pods"),
                    ("<IMAGE|", "`kq gc images` lists the images"),
                ];
                let list = lists.iter().find(|(name, _)| text.contains(name));
                list.map(|(_, hint)| Hint::of(hint))
            })
        }
        _ => None,
    }
}

/// Returns the flag that an error is about.
fn invalid_flag(error: &clap::Error) -> Option<String> {
    let argument = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    argument.filter(|it| it.starts_with('-'))
}

/// Returns the line of a command for many nodes whose `--` is missing.
fn fleet_line(all: &clap::Command, named: &Named<'_, '_>) -> Option<Hint> {
    if named.names.first() != Some(&"fleet") {
        return None;
    }
    let is_command = |word: &&str| all.find_subcommand(word).is_some();
    let at = named.rest.iter().position(is_command).filter(|at| *at > 0)?;
    let (paths, command) = named.rest.split_at(at);
    let (names, paths) = (named.names.join(" "), paths.join(" "));
    Some(Hint::command(format!("kq {names} {paths} -- {}", command.join(" "))))
}

/// Adds a hint to a failure, where a file stands in place of a pod, or the name of a kind of things.
pub fn with_hint(failure: Failure) -> Failure {
    let typed: Vec<String> =
        std::env::args_os().skip(1).filter_map(|it| it.into_string().ok()).collect();
    let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
    let words = without_flags(&typed);
    let all = Cli::whole();
    let named = Named::of(all, &words);
    let places = named.command.get_positionals().filter_map(clap::Arg::get_value_names).flatten();
    let places: Vec<&str> = places.map(|name| name.as_str()).collect();
    let takes = |what: &str| places.iter().any(|name| name.contains(what));
    let is_misplaced = |word: &&str| match guess::FileKind::of(word) {
        Some(guess::FileKind::Snapshot) => !takes("SNAPSHOT") && !takes("PATH"),
        Some(_) => !takes("FILE") && !takes("PATH") && !takes("CHANGE"),
        None => false,
    };
    let hint = match named.rest.iter().find(|word| is_misplaced(word)) {
        Some(_) => guess::hint_for_files(named.command, &named.names, &named.rest),
        None if takes("POD") && failure.is_of_name() => {
            let line = format!("kq {}", words.join(" "));
            guess::of_table(&words, named.names.len(), &[])
                .filter(|it| it.command_line() != Some(&line))
        }
        None => None,
    };
    match hint {
        Some(hint) => failure.hint_first(with_sources(hint)),
        None => failure,
    }
}

/// Returns a hint whose commands are about the node and the pods that the command line names.
pub fn with_sources(hint: Hint) -> String {
    let typed: Vec<String> =
        std::env::args_os().skip(1).filter_map(|it| it.into_string().ok()).collect();
    let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
    guess::with_typed_flags(hint, &typed, Cli::whole()).to_string()
}

/// The command that words begin with.
struct Named<'c, 't> {
    command: &'c Command,
    /// Its words.
    names: Vec<&'t str>,
    /// What follows them.
    rest: Vec<&'t str>,
    /// The commands of its group.
    taken: Vec<&'c str>,
}

impl<'c, 't> Named<'c, 't> {
    fn of(all: &'c Command, words: &[&'t str]) -> Self {
        let (mut command, mut group, mut count) = (all, all, 0);
        while let Some(inner) = words.get(count).and_then(|word| command.find_subcommand(word)) {
            (command, count) = (inner, count + 1);
            group = if inner.has_subcommands() { inner } else { group };
        }
        let taken = group.get_subcommands().map(Command::get_name).collect();
        Self { command, names: words[..count].to_vec(), rest: words[count..].to_vec(), taken }
    }
}

/// Returns the words that are no flags, and no values of flags.
fn without_flags<'t>(typed: &[&'t str]) -> Vec<&'t str> {
    let command = Cli::whole();
    let named = typed.iter().filter(|word| !word.starts_with('-'));
    let below = named.fold(vec![command], |mut path, word| {
        let inner = path.last().and_then(|command| command.find_subcommand(word));
        path.extend(inner);
        path
    });
    // A group has no sources of a node; its commands have.
    let last = below.last().copied().into_iter().flat_map(Command::get_subcommands);
    let with_commands = below.iter().copied().chain(last);
    let flags: Vec<&clap::Arg> = with_commands.flat_map(Command::get_arguments).collect();
    let takes_value = |word: &str| {
        let is_it = |flag: &&&clap::Arg| match word.strip_prefix("--") {
            Some(long) => flag.get_long() == Some(long),
            None => flag.get_short().is_some_and(|short| word.chars().eq(['-', short])),
        };
        // A namespace is none of the words of a command without the flag.
        let is_namespace = matches!(word, "-n" | "--namespace" | "--ns");
        let known = flags.iter().find(is_it);
        known.map_or(is_namespace, |flag| flag.get_action().takes_values())
    };
    let mut words = Vec::new();
    let mut is_value = false;
    for word in typed {
        match (is_value, word.starts_with('-')) {
            (true, _) => is_value = false,
            (false, true) => is_value = takes_value(word),
            (false, false) => words.push(*word),
        }
    }
    words
}

/// Puts a command before the flags that were typed before it.
fn command_first(typed: &[&str]) -> Option<Hint> {
    typed.first().filter(|first| first.starts_with('-'))?;
    let all = Cli::whole();
    let at = typed.iter().position(|word| all.find_subcommand(word).is_some())?;
    let count = Named::of(all, &typed[at..]).names.len();
    let line = [&["kq"], &typed[at..at + count], &typed[..at], &typed[at + count..]].concat();
    // Elsewhere it may be as wrong.
    try_read(line.iter().map(OsString::from)).ok()?;
    Some(Hint::command(line.join(" ")))
}

/// Names the variable, where a flag that was not typed is in the way of another.
fn hint_at_variable(error: &clap::Error, typed: &[OsString]) -> Option<String> {
    let is_flag = |it: &OsString| it.to_string_lossy().starts_with("--snapshot");
    let is_of_variable = error.kind() == ErrorKind::ArgumentConflict
        && error.to_string().contains("--snapshot")
        && !typed.iter().any(is_flag);
    let path = snapshot_variable().filter(|_| is_of_variable)?;
    Some(format!("{SNAPSHOT_VARIABLE} stands for --snapshot here: {path}; unset it"))
}

/// Returns an argument as it is shown.
fn shown(argument: &OsString) -> OsString {
    brief(&plain(argument.to_string_lossy().into_owned())).into_owned().into()
}
