//! The harness of the command line: runs the real binary and shows its whole output.
//!
//! A run has no environment but a width, no input unless one is given, and the repository as its
//! folder, so that what it prints is the same everywhere. What is printed on both streams and the
//! exit code become one text, which is compared with a snapshot next to the test or in a file;
//! `SNAPSHOTS=overwrite cargo test` writes what is there now.

use snapbox::IntoData;
use snapbox::assert::DEFAULT_ACTION_ENV;
use snapbox::cmd::Command;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A pod that gets no devices: the same refusal from every command
mod admit_devices;
/// `kq admit explain --kubelet-restart`, and what wide says of sums
mod admit_restart;
mod admit_sysctls;
/// `kq cgroup apply` and `rollback`.
mod agreement;
mod apply;
/// What cannot be understood is refused by name, and nothing breaks kq.
mod bad_input;
/// Hostile input ends soon and in little memory.
mod bounds;
/// No work is the product of two lists of a snapshot.
mod bounds_lists;
/// An API server with pods that can be evicted.
#[cfg(feature = "apiserver")]
pub mod cluster;
/// Completion that knows the node.
mod completion;
/// The shape of JSON answers is what programs were promised.
mod contract;
/// The same for preemption on all nodes.
mod contract_all_nodes;
/// The same for answers about a live node.
mod contract_live;
/// The same for admission and preemption.
mod contract_preempt;
/// The same for what is done about it.
mod contract_preempt_apply;
/// `kq devices serve`, `allocate` and `plugins`, where something is in the way
#[cfg(feature = "cri")]
mod devices_allocate;
/// Those who come to a stand-in's sockets, and the sockets of plugins: many, silent, odd.
#[cfg(feature = "cri")]
mod devices_callers;
/// `kq devices capacity`
mod devices_capacity;
/// The same next to hostile listeners.
#[cfg(feature = "cri")]
mod devices_foreign;
/// `kq devices list`
mod devices_list;
/// `kq devices plan`
mod devices_plan;
/// The same with plugins that have preferences
#[cfg(feature = "cri")]
mod devices_preference;
/// `kq devices repair`
#[cfg(feature = "cri")]
mod devices_repair;
/// `kq devices serve`, `allocate` and `plugins`
#[cfg(feature = "cri")]
pub mod devices_serve;
/// What a stand-in keeps, and does not do, when something goes wrong
#[cfg(feature = "cri")]
mod devices_stand_in;
/// `kq devices verify`
mod devices_verify;
/// `kq doctor`
pub mod doctor;
mod doctor_findings;
/// `kq evict rank`: who is ranked, and what of them counts
mod effective_config;
/// The events of the pods in a snapshot.
#[cfg(feature = "apiserver")]
mod events;
mod evict_pods;
/// `kq evict rank`
mod evict_rank;
/// What every command ends with where there is no answer.
mod exit_codes;
/// `kq cgroup explain`
mod explain;
/// `kq explain`
mod explain_message;
/// A node in a temporary folder.
pub mod fake_node;
/// `kq fleet ask`
mod fleet;
/// `kq fleet` through the API server alone, and its manifests.
#[cfg(feature = "apiserver")]
mod fleet_api;
/// `kq fleet apply`: the same change on many nodes.
#[cfg(feature = "apiserver")]
mod fleet_apply;
/// What one node of a fleet sends, and much of it.
#[cfg(feature = "apiserver")]
mod fleet_bombs;
/// What goes wrong around a fleet: its token, its clock, another fleet, endless logs.
#[cfg(feature = "apiserver")]
mod fleet_faults;
/// Pods of a run that was killed.
#[cfg(feature = "apiserver")]
mod fleet_guard;
/// `kq fleet run` and `collect`
#[cfg(feature = "apiserver")]
mod fleet_run;
/// An API server that keeps pods.
#[cfg(feature = "apiserver")]
mod fleet_server;
/// `kq fleet what-if`
mod fleet_what_if;
/// Nothing of the machine shows in answers about files.
mod foreign_machine;
/// `kq gc apply` on runtimes that lie, hang, die and change.
#[cfg(feature = "cri")]
mod gc_apply;
/// `kq gc dry-run`
mod gc_dry_run;
/// `kq gc dry-run --trigger eviction`
mod gc_eviction;
/// `kq gc explain`
mod gc_explain;
/// `kq gc record`
#[cfg(feature = "cri")]
mod gc_record;
/// `kq gc watch`
#[cfg(feature = "cri")]
mod gc_watch;
/// What is generated from the command line is fresh, and every command is documented.
pub mod generate;
/// What people type first.
mod guesses;
/// The habits of kubectl and crictl.
mod habits;
/// A hint names only commands and flags that exist.
mod hints;
/// A run that is met half-way.
#[cfg(any(feature = "apiserver", feature = "cri"))]
pub mod interactive;
mod known_values;
/// What is chosen in a kubeconfig and said over it.
#[cfg(feature = "apiserver")]
mod kubeconfig_choice;
/// The layouts of distributions.
mod layouts;
/// Findings for other programs.
mod lint_exports;
/// Sources that do not answer.
mod live_faults;
/// Facts as a snapshot stores them.
pub mod lookups;
/// A node in a folder.
pub mod made_up_node;
/// Numbers for Prometheus.
mod manager_state;
mod metrics;
/// `kq cgroup diff` and `doctor` where facts are missing or change meanwhile.
mod moving;
mod next_start;
/// `kq cgroup plan`: the flags and files that describe a node.
mod node_args;
/// What is shown of the texts of others.
mod output;
/// Inputs that are pipes: of a shell, and a named one without a writer.
mod pending_resize;
mod pipes;
/// `kq cgroup plan`: what pods get.
mod plan;
/// `kq cgroup plan`: the limits of CPU, memory, swap and huge pages.
mod plan_limits;
/// What is wrong with a pod, in `kq doctor` and `kq why`.
mod pod_trouble;
/// `kq admit explain` and `kq preempt explain`
mod preempt;
/// `kq preempt explain --all-nodes`
mod preempt_all_nodes;
/// `kq preempt apply`
#[cfg(feature = "apiserver")]
mod preempt_apply;
/// The same, where something goes wrong half-way.
#[cfg(feature = "apiserver")]
mod preempt_apply_faults;
/// The same through the API server.
#[cfg(feature = "apiserver")]
mod preempt_cluster;
/// What the kubelet remembers counts.
mod preempt_facts;
/// How long victims get, and how long the kubelet waits for them.
mod preempt_grace;
/// What does not fit together, or is not what it seems.
mod preempt_input;
/// `kq preempt explain` on a node with very many pods.
mod preempt_many;
/// `kq preempt why`
mod preempt_why;
/// `kq probe plan` and `kq probe lint`
mod probe_plan;
/// `kq probe run`
mod probe_run;
/// `kq probe simulate`
mod probe_simulate;
/// The API server behind a proxy.
#[cfg(feature = "apiserver")]
mod proxy;
/// The README's sessions.
mod readme;
/// `kq report`: the file, the answers in it, and what is refused.
mod report;
/// `kq schema`, and the check of every answer
pub mod schema;
/// No secrets of pods and no credentials that kq sent, in whatever kq shows and stores.
mod secrets;
/// Who wrote a value.
mod set_by;
/// `kq cgroup shares`
mod shares;
/// `kq snapshot`
mod snapshot;
/// The texts of others that a snapshot holds, as documented.
#[cfg(feature = "apiserver")]
mod snapshot_contents;
/// The commands on a fake node.
mod sources;
/// A kubelet that does not run is described as its unit would start it.
mod stopped_kubelet;
/// Answers on a terminal: how wide, and in which colours.
pub mod terminal;
/// `kq cgroup throttling`
mod throttling;
/// `kq top`
mod top;
/// `kq version`
mod version;
mod version_137;
mod version_change;
/// The warnings of answers that rest on odd sources.
mod warnings;
/// What a what-if rests on.
mod what_if_facts;
/// Help texts and documents are in plain words, and fit a terminal.
mod why;
mod words;

/// The width of a terminal, as the programs see it.
const WIDTH: &str = "100";

/// No run takes that long, on a busy host either; one that does is stuck.
const PATIENCE: Duration = Duration::from_secs(180);

/// Returns how long a run may take: machines with systemd or the unified hierarchy are emulated.
fn patience() -> Duration {
    match std::env::var_os("KQ_REAL_NODE").is_some_and(|it| it == "systemd" || it == "v2") {
        true => 5 * PATIENCE,
        false => PATIENCE,
    }
}

/// A run of kq that is being prepared.
pub struct Run {
    /// The program and its arguments that start kq; empty: nothing but the test does.
    starter: Vec<String>,
    line: String,
    arguments: Vec<String>,
    stdin: Vec<u8>,
    folder: PathBuf,
    environment: Vec<(&'static str, String)>,
}

/// What a run left behind.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Prepares `kq LINE`; arguments are apart by blanks, and 'quotes' keep one together.
pub fn kq(line: &str) -> Run {
    Run {
        starter: Vec::new(),
        line: line.to_owned(),
        arguments: split(line),
        stdin: Vec::new(),
        folder: repository(),
        environment: Vec::new(),
    }
}

/// Returns the command line of kq as of a program that an interrupt ends: a shell that starts the tests in the background lets
/// them, and what they start, ignore SIGINT.
pub fn kq_with_interrupts() -> std::process::Command {
    let mut command = std::process::Command::new("/usr/bin/env");
    command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_kq")]);
    command
}

/// Returns the root of the repository.
pub fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns a new folder with files in it.
pub fn folder_with<C: AsRef<[u8]>>(files: &[(&str, C)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    for (name, content) in files {
        let path = folder.path().join(name);
        let parent = path.parent().expect("a file is in a folder");
        std::fs::create_dir_all(parent).expect("a folder can be made");
        std::fs::write(path, content).expect("a file can be written");
    }
    folder
}

/// Compares a text with a snapshot, byte for byte.
#[track_caller]
pub fn matches(actual: impl Into<String>, expected: impl IntoData) {
    snapbox::Assert::new()
        .action_env(DEFAULT_ACTION_ENV)
        .normalize_paths(false)
        .eq(actual.into(), expected.raw());
}

impl Run {
    /// Gives it something on standard input.
    pub fn stdin(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.stdin = input.into();
        self
    }

    /// Runs it by another program, whose last arguments are kq and its own.
    #[cfg(feature = "cri")]
    pub fn by(mut self, starter: &[&str]) -> Self {
        self.starter = starter.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    /// Runs it in another folder.
    pub fn within(mut self, folder: impl AsRef<Path>) -> Self {
        self.folder = folder.as_ref().to_owned();
        self
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Adds an argument as it is.
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Runs it.
    #[track_caller]
    pub fn run(self) -> Ran {
        let mut words = self.starter;
        words.push(env!("CARGO_BIN_EXE_kq").to_owned());
        words.extend(self.arguments);
        let output = Command::new(&words[0])
            .args(&words[1..])
            .env_clear()
            .env("COLUMNS", WIDTH)
            .envs(self.environment)
            .current_dir(&self.folder)
            .stdin(self.stdin)
            .timeout(patience())
            .output()
            .unwrap_or_else(|error| panic!("kq {}: {error}", self.line));
        let text = |bytes| String::from_utf8(bytes).expect("kq writes UTF-8");
        let ran = Ran {
            code: output.status.code().unwrap_or_else(|| {
                panic!("kq {} was ended by a signal: {}", self.line, output.status)
            }),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert!(!ran.stderr.contains("panicked"), "kq {}: {}", self.line, ran.stderr);
        schema::check(&ran.stdout, &self.line);
        ran
    }

    /// Runs it and compares its whole output with a snapshot.
    #[track_caller]
    pub fn shows(self, expected: impl IntoData) {
        matches(self.run().text(), expected);
    }

    /// Runs it and returns its answer, which must be JSON without problems.
    #[track_caller]
    pub fn json(self) -> serde_json::Value {
        let line = self.line.clone();
        let ran = self.arg("-ojson").run();
        assert_eq!(ran.code, 0, "kq {line}: {}", ran.stderr);
        ran.answer()
    }
}

impl Ran {
    /// Reads its answer, which must be JSON.
    #[track_caller]
    pub fn answer<T: serde::de::DeserializeOwned>(&self) -> T {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Returns both streams and the exit code as one text.
    pub fn text(&self) -> String {
        let mut text = self.stdout.clone();
        if !self.stderr.is_empty() {
            text.push_str("--- stderr\n");
            text.push_str(&self.stderr);
        }
        text.push_str(&format!("--- exit {}\n", self.code));
        text
    }
}

fn split(line: &str) -> Vec<String> {
    let mut arguments = vec![String::new()];
    let (mut quoted, mut begun) = (false, false);
    for c in line.chars() {
        match c {
            '\'' => (quoted, begun) = (!quoted, true),
            c if c.is_whitespace() && !quoted => {
                if begun {
                    arguments.push(String::new());
                }
                begun = false;
            }
            c => {
                arguments.last_mut().expect("there is one").push(c);
                begun = true;
            }
        }
    }
    if !begun {
        arguments.pop();
    }
    arguments
}

#[test]
fn lines_are_split_like_a_shell_does() {
    for (line, expected) in [
        ("", &[] as &[&str]),
        ("a  b", &["a", "b"]),
        ("a 'b c' ''", &["a", "b c", ""]),
        ("a='b c' ", &["a=b c"]),
    ] {
        assert_eq!(split(line), expected, "{line:?}");
    }
}
