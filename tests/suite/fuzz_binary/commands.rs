//! The commands and their flags, as `kq COMMAND -h` lists them: a new one is driven without being named here.

use std::path::Path;
use std::process::Command;

/// A command that answers something.
#[derive(Clone, Debug)]
pub struct Driven {
    /// As it is typed: `cgroup`, `plan`.
    pub words: Vec<String>,
    /// What follows without a flag: `<POD|FILE>`, `[FILE]...`.
    pub positionals: Vec<Positional>,
    /// The flags.
    pub flags: Vec<Flag>,
}

/// An argument without a flag.
#[derive(Clone, Debug)]
pub struct Positional {
    /// What it is: `POD|FILE`.
    pub name: String,
    /// It can be left out.
    pub is_optional: bool,
    /// There can be several.
    pub is_repeated: bool,
}

/// A flag.
#[derive(Clone, Debug)]
pub struct Flag {
    /// `--output`
    pub long: String,
    /// What its value is: `FILE`; `None`: it has none.
    pub value: Option<String>,
    /// The command does nothing without it.
    pub is_required: bool,
    /// The values that it can have, where they are few.
    pub possible: Vec<String>,
}

impl Driven {
    /// Returns a flag.
    pub fn flag(&self, long: &str) -> Option<&Flag> {
        self.flags.iter().find(|flag| flag.long == long)
    }
}

/// Lists all commands of a program.
pub fn commands(program: &Path) -> Vec<Driven> {
    let mut found = Vec::new();
    collect(program, &[], &mut found);
    found
}

fn collect(program: &Path, words: &[String], found: &mut Vec<Driven>) {
    let output = Command::new(program)
        .args(words)
        .arg("--help")
        .env_clear()
        .env("COLUMNS", "100")
        .output()
        .expect("the program can be run");
    let help = String::from_utf8(output.stdout).expect("a help is text");
    let listed: Vec<&str> = section(&help, "Commands:")
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    if listed.is_empty() {
        found.push(read(words, &help));
    }
    for name in listed {
        let words: Vec<String> = words.iter().cloned().chain([name.to_owned()]).collect();
        collect(program, &words, found);
    }
}

/// Returns the indented lines below a heading.
fn section<'h>(help: &'h str, heading: &str) -> impl Iterator<Item = &'h str> {
    let lines = help.lines().skip_while(move |line| *line != heading).skip(1);
    lines.take_while(|line| line.starts_with(' ') || line.is_empty())
}

fn read(words: &[String], help: &str) -> Driven {
    let usage = help.lines().find(|line| line.starts_with("Usage: ")).unwrap_or_default();
    let arguments = section(help, "Arguments:")
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = arguments.filter_map(|line| line.trim_start().split("  ").next());
    // The arguments after `--` are another program's command line.
    let positionals = names.filter(|name| !name.contains("COMMAND")).map(|name| Positional {
        name: name.trim_matches(['<', '>', '[', ']', '.']).to_owned(),
        is_optional: name.starts_with('['),
        is_repeated: name.ends_with("..."),
    });
    // A flag and its help, each in one text.
    let mut entries: Vec<String> = Vec::new();
    for line in help.lines() {
        let said = line.trim_start();
        let is_flag = line.starts_with(' ')
            && line.len() - said.len() <= 6
            && (said.starts_with("--") || said.starts_with('-') && said.contains("--"));
        if is_flag {
            entries.push(said.to_owned());
        } else if let Some(last) = entries.last_mut().filter(|_| line.starts_with("        ")) {
            last.push(' ');
            last.push_str(said);
        }
    }
    let flags = entries.iter().filter_map(|entry| {
        let begin = entry.find("--")?;
        let rest = &entry[begin..];
        let end = rest.find([' ', ',']).unwrap_or(rest.len());
        let (long, rest) = rest.split_at(end);
        let value = rest.trim_start().strip_prefix('<').and_then(|it| it.split_once('>'));
        let possible =
            entry.split_once("[possible values: ").and_then(|(_, it)| it.split_once(']'));
        let possible = possible.map(|(all, _)| all.split(", ").map(str::to_owned).collect());
        // Those with an explanation have a line each.
        let explained = entry.split_once("Possible values: ").map(|(_, all)| {
            let names = all.split("- ").filter_map(|it| it.split_once(':'));
            names.map(|(name, _)| name.trim().to_owned()).filter(|it| !it.contains(' ')).collect()
        });
        let possible = possible.or(explained);
        Some(Flag {
            long: long.to_owned(),
            value: value.map(|(name, _)| name.to_owned()),
            is_required: usage.contains(&format!(" {long} ")),
            possible: possible.unwrap_or_default(),
        })
    });
    Driven {
        words: words.to_vec(),
        positionals: positionals.collect(),
        // Colours are escape sequences of kq's own, and any other would be a finding.
        flags: flags
            .filter(|flag| !matches!(flag.long.as_str(), "--help" | "--version" | "--color"))
            .collect(),
    }
}

#[test]
fn the_help_is_understood() {
    let all = commands(Path::new(env!("CARGO_BIN_EXE_kq")));
    let typed: Vec<String> = all.iter().map(|driven| driven.words.join(" ")).collect();
    assert_eq!(typed, crate::cli::generate::visible_commands());
    let plan = all.iter().find(|driven| driven.words == ["probe", "plan"]).expect("it is there");
    assert_eq!(plan.positionals.len(), 1);
    assert_eq!(plan.positionals[0].name, "POD|FILE");
    let output = plan.flag("--output").expect("a flag");
    assert!(output.possible.iter().any(|form| form == "json"), "{output:?}");
    let snapshot = plan.flag("--snapshot").expect("a flag");
    assert_eq!(snapshot.value.as_deref(), Some("FILE"));
    let shares =
        all.iter().find(|driven| driven.words == ["cgroup", "shares"]).expect("it is there");
    assert!(shares.positionals.iter().any(|it| it.is_repeated), "{:?}", shares.positionals);
}
