//! What is generated from the command line is fresh, and every command is documented.

use super::{kq, repository};
use snapbox::str;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

/// How to regenerate the files.
const AGAIN: &str = "run scripts/generate.sh and commit what changed";

/// The completions: shell and file.
const COMPLETIONS: &[(&str, &str)] = &[("bash", "kq.bash"), ("zsh", "_kq"), ("fish", "kq.fish")];

/// Returns the commands that answer something, as they are typed, in the order of the help.
pub fn visible_commands() -> Vec<String> {
    // Dozens of processes tell; many tests ask.
    static FOUND: OnceLock<Vec<String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let mut found = Vec::new();
        collect("", &mut found);
        assert!(!found.is_empty(), "kq --help lists no commands");
        found
    });
    found.clone()
}

fn collect(command: &str, found: &mut Vec<String>) {
    let help = help_of(command);
    let listed: Vec<&str> = section(&help, "Commands:")
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    if listed.is_empty() {
        found.push(command.to_owned());
    }
    for name in listed {
        collect(format!("{command} {name}").trim_start(), found);
    }
}

fn help_of(command: &str) -> String {
    let ran = kq(&format!("{command} --help")).run();
    assert_eq!(ran.code, 0, "kq {command} --help: {}", ran.stderr);
    ran.stdout
}

/// Returns the indented lines below a heading.
fn section<'h>(help: &'h str, heading: &str) -> impl Iterator<Item = &'h str> {
    help.lines()
        .skip_while(move |line| *line != heading)
        .skip(1)
        .take_while(|line| line.starts_with(' '))
}

#[test]
fn every_command_has_an_example() {
    for command in visible_commands() {
        let help = help_of(&command);
        let shown = format!("  kq {command}");
        assert!(help.contains("\nExamples:\n"), "kq {command}: no examples");
        assert!(help.contains(&shown), "kq {command}: none of itself");
    }
}

#[test]
fn every_example_is_a_command_line() {
    for command in visible_commands() {
        let help = help_of(&command);
        let (about, _) = help.split_once("\nUsage: ").expect("a help has a usage");
        let indented = about.lines().filter(|line| line.starts_with("  "));
        let lines = indented.map(str::trim_start);
        let examples = lines.filter_map(|line| {
            let at = line.find("kq ").filter(|at| is_command(&line[..*at]))?;
            let line = line[at + 3..].split(['>', '|']).next()?;
            Some(line.replace('"', "'"))
        });
        for example in examples {
            // What is wrong with the arguments comes before the help; nothing is done. What follows -- is
            // another program's command line.
            let example = example.split(" -- ").next().unwrap_or_default();
            let ran = kq(example).arg("--help").run();
            assert_eq!(ran.code, 0, "kq {example}: {}", ran.stderr);
        }
    }
}

/// Returns true if what follows is typed, at the start of a line or after a pipe.
fn is_command(before: &str) -> bool {
    matches!(before.trim_end(), "" | "$") || before.trim_end().ends_with('|')
}

#[test]
fn the_example_in_the_help_is_a_real_answer() {
    let help = help_of("cgroup plan");
    let mut lines = help
        .lines()
        .skip_while(|line| !line.starts_with("  $ kq "))
        .map(|line| line.strip_prefix("  ").unwrap_or(line));
    let line = lines.next().expect("the help shows a run");
    let shown: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let real = kq(line.trim_start_matches("$ kq ")).run().stdout;
    // The blanks between the columns are narrower there.
    let cells = |line: &str| -> Vec<String> {
        let cells = line.split("  ").map(str::trim);
        cells.filter(|cell| !cell.is_empty() && *cell != "...").map(str::to_owned).collect()
    };
    assert_eq!(shown.len(), real.lines().count(), "{real}");
    for (shown, real) in shown.into_iter().zip(real.lines()) {
        let (shown, real) = (cells(shown), cells(real));
        assert_eq!(shown, real[..shown.len()]);
    }
}

#[test]
fn every_flag_has_help() {
    for command in visible_commands() {
        let help = help_of(&command);
        let (_, usage) = help.split_once("\nUsage: ").expect("a help has a usage");
        let mut lines = usage.lines().peekable();
        let mut flags = 0;
        while let Some(line) = lines.next() {
            let flag = line.trim_start();
            let is_flag = flag.starts_with("--") || flag.starts_with('-') && flag.contains(", --");
            if is_flag && line.len() - flag.len() <= 6 {
                flags += 1;
                let said = lines.peek().is_some_and(|next| next.starts_with("          "));
                assert!(said, "kq {command}: {flag} has no help");
            }
        }
        assert!(flags >= 2, "kq {command} --help lists no flags");
    }
}

#[test]
fn completions_are_fresh() {
    for (shell, file) in COMPLETIONS {
        let ran = kq(&format!("completion {shell}")).run();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let path = repository().join("completions").join(file);
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == ran.stdout, "completions/{file} is old: {AGAIN}");
    }
}

#[test]
fn hidden_commands_are_not_offered() {
    for (_, file) in COMPLETIONS {
        let path = repository().join("completions").join(file);
        let script = std::fs::read_to_string(&path).expect("a script");
        assert!(!script.contains("Write the man pages"), "completions/{file} offers kq man");
        assert!(!script.contains("kq,man)"), "completions/{file} offers kq man");
    }
}

#[test]
fn bash_understands_its_completions() {
    let file = repository().join("completions/kq.bash");
    let checked = Command::new("bash").arg("-n").arg(&file).output();
    let checked = checked.expect("bash can be run");
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success() && said.is_empty(), "{said}");
}

#[test]
fn bash_offers_what_there_is() {
    let file = repository().join("completions/kq.bash");
    for (words, expected) in [
        (&["kq", "c"][..], "cgroup"),
        (&["kq", "cgroup", "p"], "plan"),
        (&["kq", "cgroup", "plan", "--capa"], "--capacity"),
        (&["kq", "cgroup", "plan", "--output", "ya"], "yaml"),
        (&["kq", "completion", "f"], "fish"),
    ] {
        let script = format!(
            "source '{}'; COMP_WORDS=({}); COMP_CWORD={}; _kq kq '{}' '{}'; echo \"${{COMPREPLY[*]}}\"",
            file.display(),
            words.join(" "),
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2],
        );
        let offered = Command::new("bash").arg("-c").arg(&script).output();
        let offered = offered.expect("bash can be run");
        let offered = String::from_utf8_lossy(&offered.stdout);
        let mut offered = offered.split_whitespace();
        assert!(offered.any(|word| word == expected), "{words:?}");
    }
}

#[test]
fn man_pages_are_fresh() {
    let made = tempfile::tempdir().expect("a temporary folder can be made");
    let ran = kq("man").arg(made.path().display().to_string()).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let (made, kept) = (pages(made.path()), pages(&repository().join("man")));
    let names = |pages: &BTreeMap<String, String>| pages.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&kept), names(&made), "man/ is old: {AGAIN}");
    for (name, page) in made {
        assert!(kept[&name] == page, "man/{name} is old: {AGAIN}");
    }
}

#[test]
fn every_command_has_a_man_page_that_says_something() {
    let pages = pages(&repository().join("man"));
    for command in visible_commands() {
        let name = format!("kq-{}.1", command.replace(' ', "-"));
        let page = pages.get(&name).unwrap_or_else(|| panic!("no man/{name}"));
        assert!(page.contains("Examples:"), "man/{name} has no examples");
    }
    for (name, page) in pages {
        for part in [
            ".TH ",
            ".SH NAME\n",
            ".SH SYNOPSIS\n",
            ".SH DESCRIPTION\n",
            ".SH \"EXIT STATUS\"\n",
            ".SH ENVIRONMENT\n",
            ".SH \"SEE ALSO\"\n",
        ] {
            assert!(page.contains(part), "man/{name}: no {part}");
        }
    }
}

fn pages(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    entries
        .map(|entry| {
            let path = entry.expect("an entry can be read").path();
            let name = path.file_name().expect("a file has a name");
            let page = std::fs::read_to_string(&path).expect("a page is text");
            (name.to_string_lossy().into_owned(), page)
        })
        .collect()
}

#[test]
fn man_pages_need_a_folder() {
    kq("man no/such/folder").shows(str![[r#"
--- stderr
kq: No such file or directory (os error 2)
--- exit 3

"#]]);
}

#[test]
fn help_and_version() {
    kq("--help").shows(str![[r#"
Predict and explain what the kubelet on a node will do

kq covers cgroup values, image garbage collection, eviction, devices, probes, admission and
preemption. Each answer lists the facts used, their sources and the assumptions made. Answers go to
standard output. Notes, assumptions and warnings go to standard error, and with -o json or yaml also
into the answer.

Exit codes: 0 answered, 1 answered "no", 2 usage or input error, 3 data unavailable, 4 change
refused, 5 partially applied.

Usage: kq [OPTIONS] <COMMAND>

Commands:
  cgroup       Plan, explain and check cgroup values
  gc           Predict, explain and run image garbage collection
  evict        Show the order in which the kubelet would evict pods
  devices      Inspect device allocations and predict what the device manager will do
  probe        Run container probes as the kubelet does, and explain the consequences
  admit        Check whether the kubelet would admit a pod
  allocatable  Show what a node has for pods: its capacity less the reservations
  preempt      Show which pods the kubelet would preempt for a critical pod, or evict them
  what-if      Show what a change would do to the node, before it is made
  doctor       Check the whole node, or show one pod on one page
  why          Show what ended, refused, killed, throttled or delayed a pod
  explain      Explain a message of the kubelet: which rule spoke, and what its numbers are
  report       Write one page about a node, with pictures of the answers
  top          Watch the pods of this node in the terminal
  fleet        Ask many nodes the same question, and merge the answers
  snapshot     Store all data that kq can read about this node
  schema       Print the JSON Schema of a kind of answer
  version      Show the versions of kq, the kubelet and the runtime, and the rules in use
  completion   Print the completion script of a shell
  help         Print this message or the help of the given subcommand(s)

Options:
      --color <WHEN>
          When to colour words in tables and notes. auto: on a terminal, unless NO_COLOR is set or
          TERM is dumb
          
          [default: auto]
          [possible values: auto, always, never]

  -h, --help
          Print help (see a summary with '-h')

  -V, --version
          Print version

Output:
      --no-headers
          Leave the headings of tables out

      --sort-by <COLUMN>
          Order the rows of tables by this column, such as SIZE; -COLUMN reverses. Unknown values
          come last. In a tree, rows stay below the one that they belong to
--- exit 0

"#]]);
    kq("--version").shows(str![[r#"
kq 0.1.0
--- exit 0

"#]]);
}

#[test]
fn a_command_line_that_is_none() {
    kq("").shows(str![[r#"
--- stderr
Predict and explain what the kubelet on a node will do
Usage: kq COMMAND [OPTIONS]
What is wrong:
  doctor       Check the whole node, or show one pod on one page
  why          Show what ended, refused, killed, throttled or delayed a pod
  explain      Explain a message of the kubelet: which rule spoke, and what its numbers are
  top          Watch the pods of this node in the terminal
  report       Write one page about a node, with pictures of the answers
What the kubelet will do:
  what-if      Show what a change would do to the node, before it is made
  evict        Show the order in which the kubelet would evict pods
  gc           Predict, explain and run image garbage collection
  preempt      Show which pods the kubelet would preempt for a critical pod, or evict them
  admit        Check whether the kubelet would admit a pod
  probe        Run container probes as the kubelet does, and explain the consequences
What a node has, and should have:
  cgroup       Plan, explain and check cgroup values
  devices      Inspect device allocations and predict what the device manager will do
  allocatable  Show what a node has for pods: its capacity less the reservations
Many nodes, other machines:
  fleet        Ask many nodes the same question, and merge the answers
  snapshot     Store all data that kq can read about this node
Also: schema, version, completion, help. kq COMMAND -h: its flags; --help: all of them
--- exit 2

"#]]);
    kq("cgroup").shows(str![[r#"
--- stderr
Plan, explain and check cgroup values

Usage: kq cgroup <COMMAND>

Commands:
  plan        Show every cgroup value that pods get on a node, with its arithmetic
  shares      Show the CPU time of each container when every container is busy
  explain     Explain the meaning and the possible origin of a value in a cgroup file
  show        Show the cgroups of this node with the names of pods and containers
  throttling  Rank the containers of this node by CPU throttling
  diff        Compare the plan with the kernel's cgroup values
  apply       Write the planned values where the kernel differs
  rollback    Restore the values that kq cgroup apply changed
  which       Find the pod and container of a process, a cgroup or a container ID
  help        Print this message or the help of the given subcommand(s)

Options:
  -h, --help     Print help
  -V, --version  Print version
--- exit 2

"#]]);
    kq("cgroup paln").shows(str![[r#"
--- stderr
error: unrecognized subcommand 'paln'

  tip: a similar subcommand exists: 'plan'

Usage: kq cgroup [OPTIONS] <COMMAND>

For more information, try '--help'.
--- exit 2

"#]]);
    kq("cgroup plan --capcity cpu=3").shows(str![[r#"
--- stderr
error: unexpected argument '--capcity' found

  tip: a similar argument exists: '--capacity'

Usage: kq cgroup plan --capacity <RESOURCES> [FILE|POD]...

For more information, try '--help'.
--- exit 2

"#]]);
    kq("cgroup plan -o xml").shows(str![[r#"
--- stderr
error: invalid value 'xml' for '--output <FORMAT>'
  [possible values: table, wide, json, yaml, name, jsonpath=, custom-columns=]

  tip: a similar value exists: 'yaml'

For more information, try '--help'.
--- exit 2

"#]]);
    kq("completion powershell").shows(str![[r#"
--- stderr
error: invalid value 'powershell' for '<SHELL>'
  [possible values: bash, zsh, fish]

For more information, try '--help'.
--- exit 2

"#]]);
    kq("cgroup plan --runtime runc=1.1 --runtime-weight-formula linear").shows(str![[r#"
--- stderr
error: the argument '--runtime <NAME=VERSION>' cannot be used with '--runtime-weight-formula <FORMULA>'

Usage: kq cgroup plan --runtime <NAME=VERSION> [FILE|POD]...

For more information, try '--help'.
--- exit 2

"#]]);
}
