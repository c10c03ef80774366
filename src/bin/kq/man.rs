//! The man pages and completion scripts, generated from the definition of the command line and from the tables below.

use crate::cli::Cli;
use crate::exit::{Code, Failure};
use About::{Arguments, Every};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use kq_io::replace::replace_public;
use std::fmt::Write as _;
use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The exit codes: `docs/exit-codes.md` has the same table.
const EXIT_STATUS: &[(Code, &str)] = &[
    (Code::Answered, "Answered, from all the facts that the answer needs."),
    (Code::No, "Answered \"no\": a difference, a failed check, a refusal by the kubelet."),
    (
        Code::Usage,
        "A mistake in the command line or in a file: an unknown flag, a manifest that cannot be parsed, a pod, \
         container or image that the node does not have. Nothing was written to standard output.",
    ),
    (
        Code::Missing,
        "Facts are missing: there is no answer, or the answer covers only what is known. Standard error names each \
         missing fact and the flag that supplies it.",
    ),
    (
        Code::Refused,
        "A change was refused. Nothing was changed; the plan may have been shown. `--dry-run` ends with 4 wherever \
         the change itself would be refused.",
    ),
    (
        Code::Stopped,
        "A change was applied partially. The report lists what was done and how to undo it.",
    ),
];

/// Which commands an entry is about.
enum About {
    /// All of them.
    Every,
    /// Those that have one of these arguments.
    Arguments(&'static [&'static str]),
    /// The command itself, by its words.
    Command(&'static str),
}

/// A name, its meaning, and the commands that it concerns.
struct Entry {
    name: &'static str,
    meaning: &'static str,
    about: About,
}

const fn entry(name: &'static str, about: About, meaning: &'static str) -> Entry {
    Entry { name, meaning, about }
}

/// The variables of the environment.
const ENVIRONMENT: &[Entry] = &[
    entry(
        "KQ_SNAPSHOT",
        Arguments(&["snapshot"]),
        "The snapshot file that stands for --snapshot where neither it nor another source is given.",
    ),
    entry(
        "KUBECONFIG",
        Arguments(&["kubeconfig"]),
        "The kubeconfig files for the API server, separated by colons; --kubeconfig wins.",
    ),
    entry(
        "HTTPS_PROXY",
        Arguments(&["kubeconfig"]),
        "The proxy for the API server, as for kubectl; proxy-url in the kubeconfig wins.",
    ),
    entry(
        "NO_PROXY",
        Arguments(&["kubeconfig"]),
        "The hosts, domains and networks without a proxy, separated by commas.",
    ),
    entry(
        "CONTAINER_RUNTIME_ENDPOINT",
        Arguments(&["runtime_endpoint"]),
        "The socket of the container runtime; --runtime-endpoint wins.",
    ),
    entry(
        "CRI_CONFIG_FILE",
        Arguments(&["runtime_endpoint"]),
        "The configuration of crictl, which names the socket of the container runtime (default: /etc/crictl.yaml).",
    ),
    entry("NO_COLOR", Every, "If set and not empty, no colors are written."),
    entry("CLICOLOR", Every, "If 0, no colors are written."),
    entry(
        "CLICOLOR_FORCE",
        Every,
        "If set and not 0, colors are written even if the output is not a terminal. NO_COLOR wins.",
    ),
];

/// The files that are read where no flag names others, and those that are written.
const FILES: &[Entry] = &[
    entry(
        "/var/lib/kubelet/config.yaml",
        Arguments(&["kubelet_config"]),
        "The kubelet's configuration, if no kubelet process names another file.",
    ),
    entry(
        "/etc/kubernetes/kubelet.conf",
        Arguments(&["kubeconfig"]),
        "The kubelet's kubeconfig, if no kubelet process names another file.",
    ),
    entry(
        "~/.kube/config",
        Arguments(&["kubeconfig"]),
        "The user's kubeconfig, if the node's kubelet has none.",
    ),
    entry(
        "/etc/kubernetes/manifests/",
        Arguments(&["pods_from"]),
        "The manifests of static pods; the kubelet's configuration (staticPodPath) names the directory.",
    ),
    entry(
        "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint",
        Arguments(&["checkpoint", "snapshot"]),
        "The device manager's checkpoint.",
    ),
    entry(
        "/var/lib/kubelet/cpu_manager_state, memory_manager_state, dra_manager_state, allocated_pods_state",
        Arguments(&["snapshot"]),
        "Other checkpoints of the kubelet.",
    ),
    entry(
        "/var/lib/kubelet/pod-resources/kubelet.sock",
        Arguments(&["snapshot"]),
        "The kubelet's pod-resources API.",
    ),
    entry(
        "/etc/crictl.yaml",
        Arguments(&["runtime_endpoint"]),
        "The configuration of crictl: the socket of the container runtime.",
    ),
    entry(
        "/run/containerd/containerd.sock, /run/crio/crio.sock",
        Arguments(&["runtime_endpoint"]),
        "The usual sockets of container runtimes.",
    ),
    entry(
        "/sys/fs/cgroup/, /proc/",
        Arguments(&["host_root"]),
        "Cgroups, processes, mounts and the capacity of the machine.",
    ),
    entry(
        "/var/lib/kq/image-records.json",
        Arguments(&["records"]),
        "The records of images: written by kq gc record, read by the other commands of kq gc.",
    ),
    entry(
        "./kq-rollback-TIME.json",
        About::Command("cgroup apply"),
        "The rollback file: the values before the change, for kq cgroup rollback.",
    ),
    entry(
        "/var/lib/kubelet/kubelet_internal_checkpoint.kq-TIME",
        About::Command("devices repair"),
        "The old checkpoint.",
    ),
];

/// Pages of others, by the first word of the command.
const ELSEWHERE: &[(&str, &str)] = &[("cgroup", "cgroups(7)")];

/// Write the man pages into a directory
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// The directory; it must exist
    folder: PathBuf,
}

impl ManArgs {
    /// Writes one page for every command.
    pub fn run(self) -> Result<Code, Failure> {
        let mut root = Cli::command().disable_help_subcommand(true);
        root.build();
        let pages = Pages { root: &root, folder: &self.folder };
        pages.write(&root, &[]).map_err(Failure::missing)?;
        Ok(Code::Answered)
    }
}

/// The pages of a command line.
struct Pages<'p> {
    root: &'p Command,
    folder: &'p Path,
}

impl Pages<'_> {
    /// Writes the page of a command, and of those below it. `words` are those of the command, without `kq`.
    fn write(&self, command: &Command, words: &[&str]) -> io::Result<()> {
        let name = page_name(words);
        let page = self.page(command, words)?;
        replace_public(&self.folder.join(format!("{name}.1")), page.as_bytes())
            .map_err(|error| error.error)?;
        for below in visible(command) {
            self.write(below, &[words, &[below.get_name()]].concat())?;
        }
        Ok(())
    }

    fn page(&self, command: &Command, words: &[&str]) -> io::Result<String> {
        let source = concat!("kq ", env!("CARGO_PKG_VERSION"));
        // Of a flag that -h leaves out, the page would have no text.
        let whole = command.clone().mut_args(|argument| argument.hide_short_help(false));
        let man = clap_mangen::Man::new(whole).title(page_name(words)).source(source);
        let mut page = Vec::new();
        man.render(&mut page)?;
        let mut page = with_literal_examples(&String::from_utf8_lossy(&page));
        page.push_str(&section("EXIT STATUS", exit_status(command)));
        page.push_str(&section("ENVIRONMENT", entries(ENVIRONMENT, command, words)));
        page.push_str(&section("FILES", entries(FILES, command, words)));
        let _ = write!(page, ".SH \"SEE ALSO\"\n{}\n", escaped(&self.see_also(command, words)));
        Ok(page)
    }

    /// Returns the pages of the parent, sibling and child commands.
    fn see_also(&self, command: &Command, words: &[&str]) -> String {
        let mut pages: Vec<String> = Vec::new();
        let mut add = |words: &[&str]| pages.push(format!("{}(1)", page_name(words)));
        if let Some((name, above)) = words.split_last() {
            (0..words.len()).for_each(|length| add(&words[..length]));
            let group = above.iter().try_fold(self.root, |group, word| group.find_subcommand(word));
            let beside = group.into_iter().filter(|_| !above.is_empty()).flat_map(visible);
            for it in beside.filter(|it| it.get_name() != *name) {
                add(&[above, &[it.get_name()]].concat());
            }
        }
        visible(command).for_each(|below| add(&[words, &[below.get_name()]].concat()));
        let elsewhere = ELSEWHERE.iter().filter(|(word, _)| words.first() == Some(word));
        pages.extend(elsewhere.map(|(_, page)| (*page).to_owned()));
        pages.join(", ")
    }
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

fn page_name(words: &[&str]) -> String {
    [&["kq"], words].concat().join("-")
}

/// Returns the exit codes of a command: its own words for them, and the general meaning of the others.
fn exit_status(command: &Command) -> Vec<(String, String)> {
    let about = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let own = own_exit_codes(&about);
    // Only what is confirmed can be refused or end part-way.
    let changes =
        command.has_subcommands() || command.get_arguments().any(|it| it.get_id() == "yes");
    let applies = |code: Code| changes || !matches!(code, Code::Refused | Code::Stopped);
    let general = EXIT_STATUS.iter().filter(|(code, _)| applies(*code));
    let general = general.map(|(code, meaning)| (*code as u8, (*meaning).to_owned()));
    let mut codes: Vec<(u8, String)> =
        general.filter(|(code, _)| own.iter().all(|(own, _)| own != code)).collect();
    codes.extend(own);
    codes.sort_by_key(|(code, _)| *code);
    codes.into_iter().map(|(code, meaning)| (code.to_string(), meaning)).collect()
}

/// Reads `Exit code 0: no warnings. 1: a setting ... 3: no warnings, and ...`, a paragraph of a help text.
fn own_exit_codes(about: &str) -> Vec<(u8, String)> {
    let paragraph = about.split("\n\n").find_map(|it| it.strip_prefix("Exit code "));
    let mut codes: Vec<(u8, String)> = Vec::new();
    for word in paragraph.unwrap_or_default().split_whitespace() {
        match (word.strip_suffix(':').and_then(|code| code.parse().ok()), codes.last_mut()) {
            (Some(code), _) => codes.push((code, String::new())),
            (None, Some((_, meaning))) => {
                let blank = if meaning.is_empty() { "" } else { " " };
                let _ = write!(meaning, "{blank}{word}");
            }
            (None, None) => {}
        }
    }
    for (_, meaning) in &mut codes {
        if let Some(first) = meaning.get(..1) {
            meaning.replace_range(..1, &first.to_uppercase());
        }
    }
    codes
}

/// Returns the entries about a command or about one below it.
fn entries(table: &[Entry], command: &Command, words: &[&str]) -> Vec<(String, String)> {
    let concerned = table.iter().filter(|entry| concerns(&entry.about, command, words));
    concerned.map(|entry| (entry.name.to_owned(), entry.meaning.to_owned())).collect()
}

fn concerns(about: &About, command: &Command, words: &[&str]) -> bool {
    let is_itself = match about {
        Every => true,
        Arguments(ids) => command.get_arguments().any(|it| ids.contains(&it.get_id().as_str())),
        About::Command(name) => words.join(" ") == *name,
    };
    is_itself
        || visible(command)
            .any(|below| concerns(about, below, &[words, &[below.get_name()]].concat()))
}

/// Returns a section of tagged paragraphs; nothing where there are none.
fn section(heading: &str, tagged: Vec<(String, String)>) -> String {
    let mut text = String::new();
    for (tag, meaning) in tagged {
        let _ = write!(text, ".TP\n\\fB{}\\fR\n{}\n", escaped(&tag), escaped(&meaning));
    }
    match heading {
        _ if text.is_empty() => text,
        one if !one.contains(' ') => format!(".SH {one}\n{text}"),
        several => format!(".SH \"{several}\"\n{text}"),
    }
}

/// Returns text as roff shows it: no requests, no escapes, hyphens that can be copied.
fn escaped(text: &str) -> String {
    let text =
        text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}

/// Keeps the lines of examples, which are indented, as they are: a man page would fill them.
fn with_literal_examples(page: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut literal = false;
    for line in page.lines() {
        let indented = line.starts_with("  ");
        if indented != literal {
            lines.push(if indented { ".nf" } else { ".fi" });
            literal = indented;
        }
        lines.push(line);
    }
    if literal {
        lines.push(".fi");
    }
    lines.join("\n") + "\n"
}

/// Print the completion script of a shell
///
/// Examples:
///
///   kq completion bash > /etc/bash_completion.d/kq
///   kq completion zsh > "${fpath[1]}/_kq"
///   kq completion fish > ~/.config/fish/completions/kq.fish
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct CompletionArgs {
    #[arg(value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

impl CompletionArgs {
    /// Writes the completions.
    pub fn run(self) -> Result<Code, Failure> {
        let shell = match self.shell.as_str() {
            "bash" => Shell::Bash,
            "zsh" => Shell::Zsh,
            _ => Shell::Fish,
        };
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut offered(Cli::command()), "kq", &mut script);
        std::io::stdout().lock().write_all(&script).map_err(Failure::missing)?;
        Ok(Code::Answered)
    }
}

/// Returns the command line without its hidden commands, which scripts would offer.
fn offered(command: Command) -> Command {
    let shown = command.get_subcommands().filter(|below| !below.is_hide_set()).cloned();
    Command::new("kq").version(env!("CARGO_PKG_VERSION")).propagate_version(true).subcommands(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_the_document() {
        let document = include_str!("../../../docs/exit-codes.md");
        for (code, meaning) in EXIT_STATUS {
            let row = format!("| {} | {meaning}", *code as u8);
            assert!(document.contains(&row), "docs/exit-codes.md: no {row:?}");
        }
    }

    #[test]
    fn every_entry_concerns_a_command() {
        let mut root = Cli::command();
        root.build();
        for entry in ENVIRONMENT.iter().chain(FILES) {
            assert!(
                concerns(&entry.about, &root, &[]),
                "no command is concerned by {}",
                entry.name
            );
        }
    }

    #[test]
    fn a_paragraph_of_exit_codes_is_read() {
        let about =
            "Do it\n\nExit code 0: done. 1: not,\nas 2 of 3 are left. 3: unknown.\n\nExamples:";
        let expected = [(0, "Done."), (1, "Not, as 2 of 3 are left."), (3, "Unknown.")];
        assert_eq!(own_exit_codes(about), expected.map(|(code, text)| (code, text.to_owned())));
        assert_eq!(own_exit_codes("Exit codes: 0 answered, 1 answered \"no\""), []);
    }

    #[test]
    fn text_is_never_a_request_of_roff() {
        assert_eq!(escaped("./kq-x"), "\\&./kq\\-x");
        assert_eq!(escaped(r"'a\b"), r"\(aqa\eb");
    }
}
