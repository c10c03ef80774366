//! Every command, about every recorded node, in every format.
//!
//! A command that cannot answer about a node, or not from a snapshot, is here with its error. An error that is the same
//! in another format than the table has no file of its own. `SNAPSHOTS=overwrite cargo test` accepts what changed.

use crate::cli::generate::visible_commands;
use crate::cli::{Ran, folder_with, kq, matches, repository};
use crate::{devices, images, nodes, preemption};
use kq_facts::lookup::Lookup;
use kq_facts::snapshot::{API_VERSION, KIND, PodSource, RecordedPods, Snapshot};
use kq_k8s::manifest::load;
use serde_json::Value;
use snapbox::Data;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A command and its arguments. CONTAINER, POD and NEW are those of the recording: the beginning of a container's
/// id, a pod, and the file of a pod that is to come.
pub const LINES: &[(&str, &str)] = &[
    ("cgroup plan", ""),
    ("cgroup shares", ""),
    ("cgroup explain", "cpu.weight 40"),
    ("cgroup show", ""),
    ("cgroup throttling", ""),
    ("cgroup diff", ""),
    ("cgroup apply", "--dry-run"),
    ("cgroup rollback", "rollback.json"),
    ("cgroup which", "--container CONTAINER"),
    ("gc dry-run", ""),
    ("gc explain", "node.test/bulk-03:v1"),
    ("gc apply", ""),
    ("gc images", ""),
    ("gc lint", ""),
    ("gc policy", ""),
    ("gc record", ""),
    ("gc watch", "--passes 1"),
    ("evict rank", "--signal memory"),
    ("devices list", ""),
    ("devices verify", ""),
    ("devices plan", "NEW"),
    ("devices capacity", ""),
    ("devices plugins", ""),
    ("devices serve", ""),
    ("devices allocate", "NEW"),
    ("devices repair", "--remove-stale"),
    ("probe run", "POD"),
    ("probe plan", "NEW"),
    ("probe simulate", "trace.yaml"),
    ("probe lint", ""),
    ("admit explain", "NEW"),
    ("allocatable", ""),
    ("preempt explain", "NEW"),
    ("preempt apply", "NEW"),
    ("preempt why", "POD"),
    ("preempt lint", ""),
    ("what-if", "kubelet-restart"),
    ("doctor", ""),
    ("why", "POD"),
    ("explain", ""),
    ("report", ""),
    ("top", "--plain"),
    ("fleet run", "-- doctor"),
    ("fleet apply", "-- gc apply"),
    ("fleet collect", ""),
    ("fleet ask", "snapshot.json -- cgroup diff"),
    ("fleet what-if", "snapshot.json -- set maxPods=2"),
    ("fleet clean", ""),
    ("fleet rbac", "run"),
    ("snapshot", ""),
    ("schema", ""),
    ("version", ""),
    ("completion", "bash"),
];

const FORMATS: &[&str] = &["table", "wide", "json", "yaml", "name"];

/// A pod that is to come where the recording has none.
const NEW: &str = "
apiVersion: v1
kind: Pod
metadata: {name: new, namespace: shop, uid: 7e9b3c1a-0000-4000-8000-000000000001}
spec:
  priority: 2000000000
  containers:
  - name: app
    image: node.test/app:1
    resources: {requests: {cpu: 100m, memory: 64Mi}}
    livenessProbe: {httpGet: {path: /healthz, port: 8080}}
";

/// A further line: the name of its golden file, the line, and the formats; the empty one is no `-o`.
type More<'m> = (&'m str, &'m str, &'m [&'m str]);

/// A recorded node at a moment.
struct Recording {
    /// The folder of its golden files.
    golden: PathBuf,
    /// The name of a moment, among those of one folder.
    moment: Option<&'static str>,
    /// The files that commands read; `snapshot.json` is one of them.
    files: Vec<(&'static str, String)>,
    container: String,
    pod: &'static str,
    new: &'static str,
    more: Vec<More<'static>>,
}

impl Recording {
    fn new(folder: &Path, snapshot: String) -> Self {
        Self {
            golden: folder.join("golden"),
            moment: None,
            files: vec![("snapshot.json", snapshot), ("new.yaml", NEW.to_owned())],
            container: "0123456789ab".to_owned(),
            pod: "shop/web",
            new: "new.yaml",
            more: Vec::new(),
        }
    }

    /// Returns the commands, each with its line.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let line = |(command, arguments): &(&'static str, &str)| {
            let arguments = arguments
                .replace("CONTAINER", &self.container)
                .replace("POD", self.pod)
                .replace("NEW", self.new);
            // A fleet names its snapshots itself.
            let snapshot =
                if command.starts_with("fleet ") { "" } else { "--snapshot snapshot.json" };
            (*command, format!("{command} {arguments} {snapshot}"))
        };
        LINES.iter().map(line).collect()
    }

    /// Runs every line, and returns the names of the golden files.
    fn compare(&self) -> BTreeSet<String> {
        let folder = folder_with(&self.files);
        let ask =
            |line: &str, format: &str| kq(&in_format(line, format)).within(folder.path()).run();
        let mut compared = BTreeSet::new();
        let mut compare = |name: &str, moment: Option<&str>, format: &str, ran: &Ran| {
            let parts = [Some(name), moment, Some(format).filter(|format| !format.is_empty())];
            let parts: Vec<&str> = parts.into_iter().flatten().collect();
            let file = format!("{}.txt", parts.join("."));
            matches(ran.text(), Data::read_from(&self.golden.join(&file), None));
            compared.insert(file);
        };
        for (command, line) in self.lines() {
            let name = command.replace(' ', "-");
            let known = formats(command);
            for unknown in FORMATS.iter().filter(|it| !known.is_empty() && !known.contains(it)) {
                let ran = ask(&line, unknown);
                let is_refused = ran.code == 2 && ran.stderr.starts_with("error: ");
                assert!(is_refused && ran.stdout.is_empty(), "{line}: {}", ran.text());
            }
            let mut table = None;
            for format in if known.is_empty() { &[""] } else { known.as_slice() } {
                let mut ran = ask(&line, format);
                match command {
                    "snapshot" => self.shorten(&mut ran),
                    "report" => ran.stdout = contents(&ran.stdout),
                    _ => {}
                }
                if ran.stdout.is_empty() && table.as_ref() == Some(&ran.text()) {
                    continue;
                }
                compare(&name, self.moment, format, &ran);
                table.get_or_insert_with(|| ran.text());
            }
        }
        for (name, line, formats) in &self.more {
            for format in *formats {
                compare(name, None, format, &ask(line, format));
            }
        }
        compared
    }

    /// Keeps of a snapshot of a snapshot what differs.
    fn shorten(&self, ran: &mut Ran) {
        let given: Value = serde_json::from_str(&self.files[0].1).expect("a snapshot");
        let taken: Value = ran.answer();
        let fields = given.as_object().expect("fields").keys();
        let fields: BTreeSet<&String> =
            fields.chain(taken.as_object().expect("fields").keys()).collect();
        let differ: Vec<_> = fields.into_iter().filter(|it| given[*it] != taken[*it]).collect();
        ran.stdout = format!("the snapshot that was given, but for {differ:?}\n");
    }
}

/// Keeps the contents of a page: its sections, each with its state. Browsers look at whole pages (`report`).
fn contents(page: &str) -> String {
    let nav = page.split_once("<nav").and_then(|(_, rest)| rest.split_once("</nav>"));
    let entries = nav.map(|(nav, _)| nav.split("</a>")).into_iter().flatten();
    let entry = |entry: &str| {
        let (title, state) = entry
            .rsplit_once("\">")?
            .0
            .rsplit_once("<span")?
            .0
            .rsplit_once('>')
            .zip(entry.rsplit_once("\">"))?;
        Some(format!("{}: {}\n", title.1, state.1.trim_end_matches("</span>")))
    };
    entries.filter_map(entry).collect()
}

/// Returns a line with a format, before a command that is an argument; the empty format is no `-o`.
fn in_format(line: &str, format: &str) -> String {
    match (line.split_once(" -- "), format) {
        (_, "") => line.to_owned(),
        (Some((start, command)), format) => format!("{start} -o{format} -- {command}"),
        (None, format) => format!("{line} -o{format}"),
    }
}

/// Returns the formats that `-o` of a command names.
fn formats(command: &str) -> Vec<&'static str> {
    let help = kq(&format!("{command} --help")).run().stdout;
    let has = |format: &str| help.contains(&format!("- {format}:"));
    FORMATS.iter().copied().filter(|format| has(format)).collect()
}

/// Compares all recordings of a kind; a golden file that none of them has is a mistake.
fn compare(recordings: &[Recording]) {
    let mut compared = BTreeSet::new();
    for recording in recordings {
        let names = recording.compare();
        compared.extend(names.into_iter().map(|name| recording.golden.join(name)));
    }
    let folders: BTreeSet<&PathBuf> = recordings.iter().map(|it| &it.golden).collect();
    let files = folders.into_iter().flat_map(|folder| {
        let entries = std::fs::read_dir(folder).expect("golden files");
        entries.map(|entry| entry.expect("an entry").path())
    });
    let stale: Vec<PathBuf> = files.filter(|file| !compared.contains(file)).collect();
    assert!(stale.is_empty(), "no command writes {stale:?}");
}

#[test]
fn every_command_is_asked() {
    let asked: Vec<&str> = LINES.iter().map(|(command, _)| *command).collect();
    assert_eq!(asked, visible_commands());
}

#[test]
fn nodes_answer_as_they_did() {
    compare(&nodes());
}

#[test]
fn collections_of_images_answer_as_they_did() {
    compare(&collections_of_images());
}

#[test]
fn moments_with_devices_answer_as_they_did() {
    compare(&moments_with_devices());
}

#[test]
fn preemptions_answer_as_they_did() {
    compare(&preemptions());
}

/// The commands that the node with systemd is asked, in one format: its answers are long.
const OF_SYSTEMD: &[&str] = &[
    "allocatable",
    "cgroup diff",
    "cgroup plan",
    "cgroup shares",
    "cgroup show",
    "doctor",
    "admit explain --kubelet-restart",
    "evict rank --signal memory",
    "gc dry-run",
    "devices list",
    "probe lint",
    "what-if kubelet-restart",
    "what-if reboot",
];

#[test]
fn a_node_with_systemd_and_cgroup_v2_answers_as_it_did() {
    let (folder, node) = crate::nodes_v2::base();
    let files = folder_with(&[("node.json", node)]);
    for line in OF_SYSTEMD {
        let ran = kq(&format!("{line} --snapshot node.json")).within(files.path()).run();
        let file = format!("{}.txt", line.replace(" --", "-").replace(' ', "-"));
        matches(ran.text(), Data::read_from(&folder.join("golden").join(file), None));
    }
}

/// A node of each kind: its files, and the lines of the commands that answer people, with each of their formats.
pub fn one_of_each_kind() -> Vec<(tempfile::TempDir, Vec<String>)> {
    let kinds = [nodes(), collections_of_images(), moments_with_devices(), preemptions()];
    let session = |recordings: Vec<Recording>| {
        let recording = recordings.into_iter().next().expect("a recording of every kind");
        let asked = recording.lines().into_iter().flat_map(|(command, line)| {
            let formats = formats(command).into_iter().filter(|it| matches!(*it, "table" | "wide"));
            formats.map(move |format| in_format(&line, format)).collect::<Vec<_>>()
        });
        (folder_with(&recording.files), asked.collect())
    };
    kinds.into_iter().map(session).collect()
}

/// Returns the snapshots of all recorded nodes and moments, each with its name.
pub fn snapshots() -> Vec<(String, String)> {
    let all = [nodes(), collections_of_images(), moments_with_devices(), preemptions()];
    let snapshot = |recording: Recording| {
        let folder = recording.golden.parent().expect("the folder of the recording");
        let name = format!("{} {}", folder.display(), recording.moment.unwrap_or_default());
        (name, recording.files[0].1.clone())
    };
    all.into_iter().flatten().map(snapshot).collect()
}

fn nodes() -> Vec<Recording> {
    let recording = |node: &PathBuf| {
        let file = |name| std::fs::read_to_string(node.join(name)).expect("a recorded file");
        let line = |command: &str| format!("{command} pods.json {}", file("args"));
        Recording {
            container: nodes::first_container(node),
            pod: "default/done",
            more: vec![
                ("cgroup-plan-of-files", line("cgroup plan").leak(), FORMATS),
                ("cgroup-shares-of-files", line("cgroup shares").leak(), FORMATS),
            ],
            ..Recording::new(node, nodes::stored::stored(node))
        }
        .with(nodes::FILES.iter().map(|name| (*name, file(*name))))
    };
    nodes::recorded().iter().map(recording).collect()
}

fn collections_of_images() -> Vec<Recording> {
    use images::stored::{PASSES, folder, records, snapshot};
    let pass = |(moment, before, _): (&'static str, &str, &str)| Recording {
        moment: Some(moment),
        ..Recording::new(&folder(), snapshot(before, None))
    };
    let mut recordings: Vec<Recording> = PASSES.into_iter().map(pass).collect();
    let with_records = snapshot(PASSES[1].1, Some(records(&images::LOOKS)));
    recordings[0].files.push(("records.json", with_records));
    recordings[0].more = images::MORE.to_vec();
    recordings
}

fn moments_with_devices() -> Vec<Recording> {
    use devices::stored::{MOMENTS, folder, stored, text};
    let pod = std::fs::read_to_string(repository().join("examples/devices/pod.yaml"));
    let pod = pod.expect("the example is there");
    let moment = |moment: &str| {
        let checkpoint = "kubelet_internal_checkpoint";
        Recording {
            pod: "default/one",
            new: "train.yaml",
            more: devices::MORE.to_vec(),
            ..Recording::new(&folder(moment), stored(moment))
        }
        .with([("train.yaml", pod.clone()), (checkpoint, text(moment, checkpoint))])
    };
    MOMENTS.map(moment).into()
}

fn preemptions() -> Vec<Recording> {
    let recording = |name: &str| {
        let folder = preemption::folder(name);
        let file = |name| std::fs::read_to_string(folder.join(name)).expect("a recorded file");
        let pods = load("the API server", file("pods-before.json").as_bytes()).pods;
        let pods = RecordedPods {
            source: PodSource::ApiServer,
            pods,
            with_labels: true,
            ..RecordedPods::default()
        };
        let node = serde_json::from_str(&file("node.json")).expect("a node");
        let snapshot = Snapshot {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            taken_at: "2026-11-20T11:25:06Z".to_owned(),
            node: Lookup::found("the API server", node),
            pods: Lookup::found("the API server", pods),
            ..Snapshot::default()
        };
        let snapshot = serde_json::to_string(&snapshot).expect("a snapshot");
        let files = ["pods-before.json", "node.json", "preemptor.json"];
        Recording {
            pod: "default/be-1",
            new: "preemptor.json",
            more: preemption::MORE.to_vec(),
            ..Recording::new(&folder, snapshot)
        }
        .with(files.map(|name| (name, file(name))))
    };
    preemption::RECORDINGS.map(recording).into()
}

impl Recording {
    fn with(mut self, files: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.files.extend(files);
        self
    }
}
