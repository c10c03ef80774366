//! What people type before they know the commands, and the command that answers.

mod carried;
mod file;
mod hint;
mod table;

pub use carried::with_typed_flags;
pub use file::{FileKind, hint_for_files};
pub use hint::Hint;

use clap::Command;
use kq_core::explain::explain_message;
use kq_core::what_if::parse;
use kq_facts::settings::settings_of;
use kq_k8s::nearest::nearest;
use table::{FLAGS, GUESSES, KINDS, Means};

/// Programs and words that people put before what they know.
const BEFORE: &[&str] = &[
    "kq",
    "kubectl",
    "oc",
    "crictl",
    "docker",
    "podman",
    "nerdctl",
    "systemctl",
    "help",
    "please",
];

/// Returns the hint for words that are no command; flags are left out of `words`. `named`: the number of words that are a
/// command's, `taken`: the commands of a group, which are no names.
pub fn hint(words: &[&str], named: usize, taken: &[&str]) -> Option<Hint> {
    let (first, rest) = words.split_first()?;
    if BEFORE.contains(first) && !rest.is_empty() {
        let of_rest = hint(rest, 0, taken);
        if let Some(found) = of_rest.or_else(|| is_command(rest).then(|| line(rest))) {
            return Some(found);
        }
    }
    // A change behind a word that asks for a plan.
    if is_of_kind("<plan>", first) && !is_command(words) && is_change(rest) {
        return Some(what_if(rest));
    }
    if *first == "what" && rest.first() == Some(&"if") {
        return Some(what_if(&rest[1..]));
    }
    if let Some(found) = of_table(words, named, taken) {
        return Some(found);
    }
    match *first {
        "whatif" | "what_if" => Some(what_if(rest)),
        _ => None,
    }
    .or_else(|| of_commands(words))
    .or_else(|| change(words))
}

/// Returns the hint for a flag that a command does not have. `names`: the words of the command, `rest`: what follows them.
/// `value`: the word behind the flag, `with_file`: the command line that takes a file that is among the words.
pub fn hint_for_flag(
    flag: &str,
    command: &Command,
    names: &[&str],
    rest: &[&str],
    value: Option<&str>,
    with_file: Option<&str>,
) -> Option<Hint> {
    let flag = flag.split('=').next().unwrap_or_default();
    let bare = flag.trim_start_matches('-');
    // A word of the command, written as a flag.
    if names == ["what-if"]
        || command.has_subcommands() && flag.starts_with("--") && !names.is_empty()
    {
        let words = [names, &[bare], rest].concat();
        let found = of_table(&words, names.len(), &[bare]).or_else(|| change(&words[1..]));
        if found.is_some() || names == ["what-if"] && !rest.is_empty() {
            return found;
        }
    }
    let has = |command: &Command| {
        let letter = bare.chars().next().filter(|_| bare.len() == 1 && !flag.starts_with("--"));
        command.get_arguments().any(|it| match letter {
            Some(letter) => it.get_short() == Some(letter),
            None => it.get_long() == Some(bare),
        })
    };
    let holders: Vec<&str> =
        command.get_subcommands().filter(|it| has(it)).map(Command::get_name).collect();
    if !holders.is_empty() && !names.is_empty() {
        let is_are = if holders.len() == 1 { "has" } else { "have" };
        let (names, holders) = (names.join(" "), holders.join(", "));
        return Some(Hint::text(format!("kq {names} {holders} {is_are} {flag}")));
    }
    let has_long = |long: &str| command.get_arguments().any(|it| it.get_long() == Some(long));
    let has_letter =
        |letter: char| command.get_arguments().any(|it| it.get_short() == Some(letter));
    // The letter of the flag that is meant: it is put behind all that was typed.
    let letter = |means: &Means| match means {
        Means::Flag(flag) => flag.strip_prefix('-')?.chars().next().filter(|it| *it != '-'),
        _ => None,
    };
    let (_, means) = FLAGS.iter().find(|(flags, means)| {
        flags.split(' ').any(|it| it == flag) && letter(means).is_none_or(has_letter)
    })?;
    let is_letter = letter(means).is_some();
    let takes_pod = command.get_positionals().next().is_some();
    let (hint, fits) = match means {
        Means::Flag(flag) => {
            let long = flag.split(' ').next().and_then(|it| it.strip_prefix("--"));
            (Hint::of(&format!("LINE {flag}")), long.is_none_or(has_long))
        }
        Means::Pod => (Hint::of("`LINE`: a pod is named without a flag"), takes_pod),
        Means::Containers => {
            (Hint::sentence("`LINE`, which is about all containers of the pod"), takes_pod)
        }
        Means::Sentence(text, needed) => {
            (Hint::sentence(text), needed.iter().all(|it| has_long(it)))
        }
    };
    let hint = value.into_iter().fold(hint, |hint, value| hint.put("VALUE", value));
    // The file is named with another flag than that of the hint.
    if let Some(line) = with_file {
        return (is_letter && fits).then(|| hint.put("LINE", line));
    }
    let keeps_rest = is_letter || matches!(means, Means::Pod | Means::Containers);
    let rest = if keeps_rest { rest } else { &[] };
    let line = std::iter::once("kq").chain(names.iter().copied()).chain(rest.iter().copied());
    fits.then(|| hint.put("LINE", &line.collect::<Vec<_>>().join(" ")))
}

/// Returns the word behind a flag, where the flag is another tool's and takes one.
pub fn value_of_flag<'t>(flag: &str, typed: &[&'t str]) -> Option<&'t str> {
    let takes = |(flags, means): &(&str, Means)| {
        let takes_one = match means {
            Means::Flag(it) => it.ends_with(" VALUE"),
            Means::Containers => true,
            _ => false,
        };
        takes_one && flags.split(' ').any(|it| it == flag)
    };
    FLAGS.iter().find(|row| takes(row))?;
    let at = typed.iter().position(|word| *word == flag)?;
    typed.get(at + 1).copied().filter(|word| !word.starts_with('-'))
}

/// Returns the hint for one word that is none of kq's: the name of a pod.
pub fn unknown_name(word: &str) -> Option<Hint> {
    // Words of other tools have hyphens too.
    let is_made_up = |word: &str| word.contains('/') || word.contains(|c: char| c.is_ascii_digit());
    let is_name =
        word.contains(['/', '-']) && is_made_up(word) && stands_for("POD", word).is_some();
    is_name.then(|| Hint::of("`kq doctor POD`, or `kq why POD`").put("POD", word))
}

/// Returns the hint for a pod whose namespace and name are two words. `names`: the words of the command, `rest`: what follows
/// them.
pub fn hint_for_two_words(command: &Command, names: &[&str], rest: &[&str]) -> Option<Hint> {
    let [namespace, name] = rest else { return None };
    let mut places = command.get_positionals();
    let place = places.next()?.get_value_names()?.first()?;
    let is_part = |word: &str| !word.contains('/') && stands_for("POD", word).is_some();
    let is_pod = place.split('|').next() == Some("POD") && is_part(namespace) && is_part(name);
    is_pod.then(|| line(&[names, &[&format!("{namespace}/{name}")]].concat()))
}

/// Returns the hint for the reason of a status.
pub fn reason(word: &str) -> Option<Hint> {
    let is_explained = explain_message(word).is_ok_and(|it| it.is_explained);
    let hint = || Hint::of("`kq explain REASON` says what it is; `kq why POD` says why");
    is_explained.then(|| hint().put("REASON", word))
}

/// Returns the hint of the table with the most of the words, and with one more than those that are a command's.
pub fn of_table(words: &[&str], named: usize, taken: &[&str]) -> Option<Hint> {
    let matching = GUESSES.iter().enumerate().filter_map(|(at, (pattern, hint))| {
        let (weight, found) = fill(pattern, words, hint, taken)?;
        (pattern.split(' ').count() > named).then_some((weight, at, found))
    });
    matching.max_by_key(|(weight, at, _)| (*weight, *at)).map(|(.., found)| with_entries(found))
}

/// Sets the entries of a field one by one.
fn with_entries(hint: Hint) -> Hint {
    let set = hint.command_line().and_then(|line| line.strip_prefix("kq what-if set "));
    let setting = set.and_then(|it| it.split_once('='));
    let entries = setting.and_then(|(field, value)| settings_of(field, value));
    match entries {
        Some(entries) => Hint::command(format!("kq what-if set {}", entries.join(" set "))),
        None => hint,
    }
}

/// Puts `what-if` before words, or the hint for both.
fn what_if(rest: &[&str]) -> Hint {
    let words: Vec<&str> = std::iter::once("what-if").chain(rest.iter().copied()).collect();
    of_table(&words, 1, &[]).unwrap_or_else(|| line(&words))
}

/// Returns the command line of words.
fn line(words: &[&str]) -> Hint {
    Hint::command(format!("kq {}", words.join(" ")))
}

fn is_command(words: &[&str]) -> bool {
    words.first().is_some_and(|first| crate::cli::Cli::whole().find_subcommand(first).is_some())
}

/// Returns the command whose words were joined, turned round or left without their group.
fn of_commands(words: &[&str]) -> Option<Hint> {
    let all = crate::cli::Cli::whole();
    let below = |group: &str, name: &str| {
        let group = all.find_subcommand(group)?;
        let found = group.find_subcommand(name)?;
        Some(format!("kq {} {}", group.get_name(), found.get_name()))
    };
    let (first, rest) = words.split_first()?;
    if let Some((group, name)) = first.split_once('-')
        && let Some(command) = below(group, name)
    {
        return Some(Hint::command(command));
    }
    if let Some(command) = rest.first().and_then(|group| below(group, first)) {
        return Some(Hint::command(command));
    }
    let holders: Vec<String> = all
        .get_subcommands()
        .filter(|group| group.get_name() != "help" && *first != "help")
        .filter_map(|group| below(group.get_name(), first))
        .collect();
    (!is_command(words) && !holders.is_empty()).then(|| Hint::commands(holders))
}

/// Returns true for words that `kq what-if` takes.
fn is_change(words: &[&str]) -> bool {
    let owned: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
    !words.is_empty() && parse(&owned).is_ok()
}

/// Returns the question of what a change does, for a change without it.
fn change(words: &[&str]) -> Option<Hint> {
    let (first, rest) = words.split_first()?;
    if is_change(words) && !is_command(words) {
        return Some(line(&[&["what-if"], words].concat()));
    }
    KINDS
        .iter()
        .any(|(kind, all)| *kind == "plan" && all.split(' ').any(|it| it == *first))
        .then(|| of_table(&[&["what-if"], rest].concat(), 1, &[]))?
}

/// Returns the command that a word is a misspelling of.
pub fn misspelt(word: &str, within: &Command) -> Option<String> {
    let names: Vec<&str> = within.get_subcommands().map(Command::get_name).collect();
    near(word, &names).map(str::to_owned)
}

/// Returns the name that is meant by a word with letters that differ, change places or are missing at the end.
pub fn near<'n>(word: &str, names: &[&'n str]) -> Option<&'n str> {
    let letters = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let begins_alike = |name: &&&str| word.get(..4).is_some_and(|start| name.starts_with(start));
    let is_turned = |name: &&&str| letters(name) == letters(word);
    nearest(word, names.iter().copied())
        .or_else(|| names.iter().find(is_turned).copied())
        .or_else(|| names.iter().find(begins_alike).copied())
}

/// Puts the words into the hint, with the weight of what fits; `None`: they do not begin like the pattern.
fn fill(pattern: &str, words: &[&str], hint: &str, taken: &[&str]) -> Option<(usize, Hint)> {
    let pattern: Vec<&str> = pattern.split(' ').collect();
    if words.len() < pattern.len() {
        return None;
    }
    let (mut hint, mut weight) = (Hint::of(hint), 0);
    for (pattern, word) in pattern.iter().zip(words) {
        weight += match pattern.split_once('=') {
            _ if pattern == word => 8,
            // A field of that name, with any value.
            Some((field, value)) if !is_placeholder(field) => {
                let given = word.split_once('=').filter(|(name, _)| *name == field)?.1;
                hint = hint.put(value, given);
                7
            }
            _ if is_placeholder(pattern) => {
                let weight = stands_for(pattern, word)?;
                // A misspelt command is no name.
                if near(word, taken).is_some() {
                    return None;
                }
                // Any patch release.
                let word = match *pattern {
                    "VERSION" => word.trim_end_matches(".x"),
                    _ => word,
                };
                hint = hint.put(pattern, word);
                weight
            }
            _ => is_of_kind(pattern, word).then_some(6)?,
        };
    }
    Some((weight, hint))
}

/// Returns true for a word of the kind in a pattern.
fn is_of_kind(pattern: &str, word: &str) -> bool {
    let Some(name) = pattern.strip_prefix('<').and_then(|it| it.strip_suffix('>')) else {
        return false;
    };
    KINDS.iter().any(|(kind, words)| *kind == name && words.split(' ').any(|it| it == word))
}

fn is_placeholder(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '=')
}

/// Returns the weight of a word in place of a placeholder; `None`: it does not look like one.
fn stands_for(placeholder: &str, word: &str) -> Option<usize> {
    let pair = word.split_once('=').filter(|(name, _)| !name.is_empty());
    let is_lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let has_digit_first = word.starts_with(|c: char| c.is_ascii_digit());
    let is_version = || {
        let minor = word.trim_start_matches('v').strip_prefix("1.");
        minor.is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()))
    };
    let is_noun = |name: &str| {
        // A pod may well be called web.
        let kinds = KINDS.iter().filter(|(kind, _)| *kind != "page");
        kinds.flat_map(|(_, words)| words.split(' ')).any(|it| it == name)
    };
    let fits = match placeholder {
        "POD" => {
            word.len() > 1
                && !has_digit_first
                && !is_noun(word.split('.').next().unwrap_or_default())
                && FileKind::of(word).is_none()
                && word.matches('/').count() < 2
                && word.starts_with(is_lower)
                && word.chars().all(|c| is_lower(c) || "-./".contains(c))
        }
        "OBJECT" => word.split_once('.').is_some_and(|(noun, _)| is_noun(noun)),
        "SNAPSHOT" | "SNAPSHOT2" => {
            return (FileKind::of(word)? == FileKind::Snapshot).then_some(5);
        }
        "CONFIG" => return (FileKind::of(word)? == FileKind::Config).then_some(5),
        "SIGNAL" => {
            let ends = [".available", ".inodesFree"];
            return ends.iter().any(|it| word.ends_with(it)).then_some(5);
        }
        "REASON" => return reason(word).map(|_| 5),
        "FILE" => FileKind::of(word).is_some_and(|kind| kind != FileKind::Snapshot),
        "VERSION" => return is_version().then_some(5),
        "AMOUNT" => has_digit_first,
        "PERCENT" => word.trim_end_matches('%').parse::<u8>().is_ok(),
        "FIELD" => {
            word.starts_with(is_lower)
                && word.contains(|c: char| c.is_uppercase() || c == '.')
                && !word.contains(['=', ':'])
        }
        "RESOURCE" => word.contains('/') && word.contains('.'),
        "FLAG=VALUE" => {
            let is_flag = |name: &str| name.contains('-') && !name.contains('.');
            return pair.filter(|(name, _)| is_flag(name)).map(|_| 3);
        }
        "GATE=BOOL" => {
            let is_gate = |(name, value): &(&str, &str)| {
                name.starts_with(char::is_uppercase) && matches!(*value, "true" | "false")
            };
            return pair.filter(is_gate).map(|_| 4);
        }
        "SIGNAL=AMOUNT" => {
            let is_signal =
                |name: &str| name.ends_with(".available") || name.ends_with(".inodesFree");
            return pair.filter(|(name, _)| is_signal(name)).map(|_| 4);
        }
        _ if placeholder.contains('=') => return pair.map(|_| 2),
        // Any word at all.
        _ => return Some(1),
    };
    fits.then_some(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_in_guesses_are_known() {
        for (pattern, hint) in GUESSES {
            for word in pattern.split(' ').filter(|word| word.starts_with('<')) {
                let name = word.trim_matches(['<', '>']);
                assert!(KINDS.iter().any(|(kind, _)| *kind == name), "{pattern}");
            }
            assert!(!hint.contains('<'), "{pattern}: {hint}");
        }
    }

    #[test]
    fn the_command_lines_of_hints_are_commands() {
        let all = crate::cli::Cli::whole();
        let of_flags = FLAGS.iter().filter_map(|(_, means)| match means {
            Means::Sentence(text, _) => Some(Hint::sentence(text)),
            _ => None,
        });
        for hint in GUESSES.iter().map(|(_, hint)| Hint::of(hint)).chain(of_flags) {
            for line in hint.lines().into_iter().filter(|it| !it.starts_with("LINE")) {
                let mut words = line.split(' ').skip(1);
                let first = words.next().expect("a word");
                let known = all.find_subcommand(first);
                assert!(known.is_some() || first.starts_with("--"), "{hint}: {line}");
                if let (Some(group), Some(name)) = (known, words.next())
                    && group.has_subcommands()
                {
                    assert!(group.find_subcommand(name).is_some(), "{hint}: {line}");
                }
            }
        }
    }

    #[test]
    fn each_guess_is_reached() {
        let mut seen = std::collections::BTreeSet::new();
        for (pattern, _) in GUESSES {
            assert!(seen.insert(pattern), "{pattern} is there twice");
        }
    }

    #[test]
    fn words_look_like_what_they_stand_for() {
        for (placeholder, word, expected) in [
            ("POD", "shop/cart-0", true),
            ("POD", "cart", true),
            ("POD", "pods", false),
            ("POD", "a/b/c", false),
            ("POD", "1.37", false),
            ("POD", "node.json", false),
            ("POD", "--pod", false),
            ("SIGNAL", "nodefs.available", true),
            ("SIGNAL", "pods.spec", false),
            ("REASON", "OOMKilled", true),
            ("REASON", "cart-0", false),
            ("FILE", "node.json", true),
            ("FILE", "cart-0", false),
            ("VERSION", "v1.37.2", true),
            ("VERSION", "2.0", false),
            ("FIELD=VALUE", "maxPods=5", true),
            ("FLAG=VALUE", "max-pods=5", true),
            ("FLAG=VALUE", "maxPods=5", false),
            ("GATE=BOOL", "MemoryQoS=true", true),
            ("GATE=BOOL", "maxPods=5", false),
            ("OBJECT", "pods.spec", true),
            ("OBJECT", "web.v2", false),
        ] {
            assert_eq!(stands_for(placeholder, word).is_some(), expected, "{placeholder} {word}");
        }
    }

    #[test]
    fn the_nearest_hint_is_taken() {
        for (words, expected) in [
            ("describe pod shop/web", "kq doctor shop/web"),
            ("kubectl get pods", "kq cgroup show"),
            ("probe test cart-0", "kq probe run cart-0"),
            ("gc now", "kq gc dry-run lists them, kq gc apply removes them"),
            ("what-if maxPods=50", "kq what-if set maxPods=50"),
            ("what-if imagefs.available=5Gi", "kq what-if set evictionHard.imagefs.available=5Gi"),
            ("whatif restart", "kq what-if kubelet-restart"),
            ("what if reboot", "kq what-if reboot"),
            ("simulate set maxPods=50", "kq what-if set maxPods=50"),
            ("set maxPods 50", "kq what-if set maxPods=50"),
            ("what-if restart cart-0", "kq what-if remove cart-0"),
            ("what-if restart containerd", "kq what-if runtime-restart"),
            ("what-if maxPods=5 podsPerCore=1", "kq what-if set maxPods=5 set podsPerCore=1"),
            ("upgrade to 1.37.x", "kq what-if kubelet-version 1.37"),
            ("gc why nginx", "kq gc explain nginx"),
            ("memory pressure", "kq evict rank --signal memory"),
            ("kubelet-version 1.37", "kq what-if kubelet-version 1.37"),
            ("probe-plan", "kq probe plan"),
            ("watch gc", "kq gc watch"),
            ("throttling", "kq cgroup throttling"),
            ("policy", "kq gc policy"),
            ("delete pod cart-0", "kq what-if remove cart-0"),
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            let found = hint(&words, 0, &[]).map(|it| it.to_string());
            assert_eq!(found.as_deref(), Some(expected), "{words:?}");
        }
    }
}
