//! A command line taken apart as Go's `pflag` does (`parseArgs` in `flag.go`), with what it refuses.

use super::known::{FlagState, KnownFlag, known_flag};
use super::values::value_error;
use kq_k8s::go_text::quote;
use kq_k8s::version::KubeletVersion;

/// An argument of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A flag that some version has, with its value.
    Flag {
        /// With dashes between its words.
        name: String,
        value: String,
        /// It is written with one dash.
        is_short: bool,
    },
    /// A flag that no version has, as it is written; `inline`: its value stands in the same argument.
    Unknown { name: String, inline: bool },
    /// A flag without its value: `--max-pods`, `'v' in -v`.
    NeedsValue(String),
    /// An argument that is neither flag nor word, such as `--=x`.
    BadSyntax(String),
    /// A short flag that no version has, with the letters that follow it.
    Shorthand { letter: char, letters: String },
    /// A word that is not a flag.
    Word(String),
}

/// Takes arguments apart, the program's name left out. An unknown flag takes no further argument.
pub fn scan(arguments: &[String]) -> Vec<Argument> {
    let mut found = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.strip_prefix('-') {
            None | Some("") => found.push(Argument::Word(argument.clone())),
            Some("-") => {
                found.extend(rest.cloned().map(Argument::Word));
                break;
            }
            Some(after) => match after.strip_prefix('-') {
                Some(long) => found.push(long_flag(argument, long, &mut rest)),
                None => short_flags(after, &mut rest, &mut found),
            },
        }
    }
    found
}

fn long_flag(argument: &str, long: &str, rest: &mut std::slice::Iter<'_, String>) -> Argument {
    if long.starts_with(['-', '=']) {
        return Argument::BadSyntax(argument.to_owned());
    }
    let (written, inline) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (long, None),
    };
    // The kubelet takes both spellings (`WordSepNormalizeFunc` of `component-base`).
    let name = written.replace('_', "-");
    let Some(known) = known_flag(&name) else {
        return Argument::Unknown { name: written.to_owned(), inline: inline.is_some() };
    };
    let value = inline
        .or_else(|| known.is_switch().then(|| "true".to_owned()))
        .or_else(|| rest.next().cloned());
    match value {
        Some(value) => Argument::Flag { name, value, is_short: false },
        None => Argument::NeedsValue(format!("--{written}")),
    }
}

fn short_flags(
    mut letters: &str,
    rest: &mut std::slice::Iter<'_, String>,
    found: &mut Vec<Argument>,
) {
    while let Some(letter) = letters.chars().next() {
        let after = letters.get(letter.len_utf8()..).unwrap_or_default();
        let flag = |name: &str, value: &str| Argument::Flag {
            name: name.to_owned(),
            value: value.to_owned(),
            is_short: true,
        };
        match letter {
            'v' | 'h' if after.len() > 1 && after.starts_with('=') => {
                let name = if letter == 'v' { "v" } else { "help" };
                return found.push(flag(name, after.get(1..).unwrap_or_default()));
            }
            'h' => {
                found.push(flag("help", "true"));
                letters = after;
            }
            'v' if !after.is_empty() => return found.push(flag("v", after)),
            'v' => {
                return found.push(match rest.next() {
                    Some(value) => flag("v", value),
                    None => Argument::NeedsValue(format!("'v' in -{letters}")),
                });
            }
            letter => {
                let letters = letters.to_owned();
                return found.push(Argument::Shorthand { letter, letters });
            }
        }
    }
}

/// The result of parsing a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedLine {
    /// The flags that were set before the end or the error, in their order.
    pub flags: Vec<(String, String)>,
    /// The words that are not flags.
    pub words: Vec<String>,
    /// The messages about deprecated flags, one for each use.
    pub printed: Vec<String>,
    /// Why parsing ends, in the kubelet's words.
    pub error: Option<String>,
}

/// Parses a command line as a version of the kubelet does, up to the first error.
pub fn parse(arguments: &[String], version: KubeletVersion) -> ParsedLine {
    let mut line = ParsedLine::default();
    for argument in scan(arguments) {
        let (name, value) = match argument {
            Argument::Flag { name, value, .. } => (name, value),
            Argument::Word(word) => {
                line.words.push(word);
                continue;
            }
            other => {
                line.error = syntax_error(&other);
                return line;
            }
        };
        let known = known_flag(&name);
        let Some((known, state)) = known.and_then(|known| Some((known, known.state(version)?)))
        else {
            line.error = Some(format!("unknown flag: --{name}"));
            return line;
        };
        if let Some(reason) = value_error(&name, known.value_type, &value, version) {
            line.error = Some(invalid_argument(&name, &value, &reason));
            return line;
        }
        if let FlagState::Deprecated(message) = state {
            line.printed.push(format!("Flag --{name} has been deprecated, {message}"));
        }
        line.flags.push((name, value));
    }
    line
}

/// Returns the words about an argument that is not a flag with its value.
pub fn syntax_error(argument: &Argument) -> Option<String> {
    Some(match argument {
        Argument::Flag { .. } | Argument::Word(_) => return None,
        Argument::Unknown { name, .. } => format!("unknown flag: --{name}"),
        Argument::NeedsValue(flag) => format!("flag needs an argument: {flag}"),
        Argument::BadSyntax(argument) => format!("bad flag syntax: {argument}"),
        Argument::Shorthand { letter, letters } => {
            let quoted = quote(&letter.to_string());
            let letter = quoted.trim_matches('"').replace('\'', "\\'");
            format!("unknown shorthand flag: '{letter}' in -{letters}")
        }
    })
}

/// Returns the words about a value that a flag cannot take.
pub fn invalid_argument(name: &str, value: &str, reason: &str) -> String {
    let flag = match name {
        "v" => "-v, --v".to_owned(),
        "help" => "-h, --help".to_owned(),
        name => format!("--{name}"),
    };
    format!("invalid argument {} for \"{flag}\" flag: {reason}", quote(value))
}

/// Returns true if a word may be shown: it begins with the name of a flag, or is a truth value, so that it is not a
/// secret of another program.
pub(super) fn is_harmless(word: &str) -> bool {
    let name = word.trim_start_matches('-').split('=').next().unwrap_or_default();
    let is_flag = known_flag(&name.replace('_', "-")).is_some_and(|it: KnownFlag| {
        !it.value_type.is_empty() && !name.contains("url") && !name.starts_with("storage-driver")
    });
    is_flag || matches!(word, "true" | "false")
}
