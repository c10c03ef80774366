//! `kq devices verify`

use crate::exit::{Code, Failure, note, tell, warn};
use crate::form::Form;
use crate::kubelet_node::{KubeletNode, KubeletNodeArgs};
use crate::source_args::SourceArgs;
use anyhow::anyhow;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use kq::device::pods::NodePods;
use kq::device::verify::{Content, StateFileContent, Verification, VerifyContext, recognise, view};
use kq::edge::host::{ReadError, read_beneath};
use kq::edge::input::{read_input_within, shown};
use kq::facts::checkpoint::cpu_manager::KnownContainers;
use kq::facts::checkpoint::{LARGEST, StateFile};
use kq::facts::host::Text;
use kq::facts::snapshot::Snapshot;
use kq::k8s::feature_gates::Gate;
use kq::node::Needs;
use std::borrow::Cow;
use std::path::Path;

/// Check the kubelet's state files for devices, CPUs, memory and pods
///
/// For each file the answer shows its layout, its recomputed checksum, the kind
/// of damage, contradictions within the file and with the machine or the pods,
/// and the kubelet's reaction at its next start, with the kubelet's message.
/// Kinds of damage are truncation, a flipped bit, a manual edit, zeros after a
/// power failure, another file's content and an old layout. With an invalid
/// device checkpoint the kubelet starts as if there were none; with any other
/// invalid file it does not start. An absent file is valid.
///
/// Without FILE, kq checks the files of this node, or of a snapshot. A snapshot
/// holds the device checkpoint without the plugins' answers; files that it lacks
/// are reported as unrecorded. For a FILE, kq does not read the node. It takes
/// the file's kind from --kind, from its name, or from its content; --pods
/// supplies the pods of the node. The policies for CPU and memory files come from
/// the kubelet's configuration; if that is unknown, kq assumes the policies named
/// in the files.
///
/// Byte offsets start at 0. If bytes of a file are damaged, a contradiction may
/// follow from the damage: kq then reports it as a note, which is not a reason to
/// delete a pod.
///
/// Files are checked as kubelets 1.33 to 1.36 read them, pod_status_manager_state
/// as 1.32 does.
///
/// Exit code 0: no error; there may be warnings and notes. 1: the kubelet rejects
/// a file, a file has an error, or a file of several is of an unknown kind. 2: no
/// file could be checked, because their kind is unknown. 3: a file could not be
/// read, the kubelet's reaction to it is unknown, or a snapshot has none of the
/// files.
///
/// Examples:
///
///   kq devices verify
///   kq devices verify -o wide
///   kq devices verify --snapshot node.json.zst
///   kq devices verify cpu_manager_state --kubelet-config config.yaml
///   kq devices verify saved.json --kind memory-manager
///   kq devices verify --checkpoint kubelet_internal_checkpoint --pods pods.json
///   ssh node cat /var/lib/kubelet/cpu_manager_state | kq devices verify -
///   kq devices verify -o json | jq '.files[] | select(.verdict != "OK") | .file'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// A state file (can be repeated); - reads standard input (default: the node's state files)
    #[arg(value_name = "FILE")]
    files: Vec<String>,

    /// The kind of the named files, whatever their names: a keyword or the kubelet's file name
    #[arg(long, requires = "files", value_parser = kinds())]
    kind: Option<StateFile>,

    /// A device manager checkpoint: a FILE, whatever its name
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    checkpoint: Option<String>,

    /// Output format
    #[arg(short, long, value_enum, default_value = "table")]
    output: Form,

    #[command(flatten)]
    kubelet: KubeletNodeArgs,
}

impl Args {
    /// Reads, looks and shows.
    pub fn run(self) -> Result<Code, Failure> {
        let is_stored = self.kubelet.sources.snapshot.is_some();
        let is_of_node = self.files.is_empty() && self.checkpoint.is_none();
        self.check_standard_input()?;
        if is_stored && !self.files.is_empty() {
            return Err(Failure::usage(anyhow!("FILE and --snapshot cannot both be judged"))
                .hint("ask twice: once with --snapshot, and once with FILE and --pods"));
        }
        if !is_of_node && !is_stored {
            self.tell_unused();
        }
        let needs = Needs { node: false, files: !is_of_node, ..Needs::DEVICES };
        let node = self.kubelet.gather(needs)?;
        let files = match is_of_node {
            true => of_node(&node, is_stored)?,
            false => self.named()?,
        };
        let pods = NodePods::of(&node.snapshot);
        let known = known(&node, &pods, is_of_node);
        let mut answer = Verification::of(&files, &known);
        if let Some(file) = answer.none_judged() {
            return Err(Failure::usage(anyhow!("{}: {}", file.path, file.derivation.join("; "))));
        }
        if is_of_node {
            answer.basis.warn_all(node.notes.iter().cloned());
        }
        self.output.write(&answer, view::table, view::wide)?;
        if self.output.is_for_people() {
            tell(&answer.basis);
        }
        if self.output == Form::Table {
            view::advice(&answer).iter().for_each(|text| note("fix", text));
            view::notes(&answer).iter().for_each(|text| note("note", text));
        }
        // Absent files are sound where a kubelet runs that has not written any; elsewhere they are unknown.
        let has_no_kubelet = is_of_node && node.snapshot.kubelet.found.is_none();
        let is_incomplete = !answer.is_complete() || (has_no_kubelet && answer.all_absent());
        Ok(match answer.is_wrong() {
            true => Code::No,
            false => Code::Answered.unless(is_incomplete),
        })
    }

    /// Reads the files that are named.
    fn named(&self) -> Result<Vec<StateFileContent<'static>>, Failure> {
        let checkpoint = self.checkpoint.iter().map(|name| (name, Some(StateFile::Devices)));
        let files = self.files.iter().map(|name| (name, self.kind));
        checkpoint.chain(files).map(|(name, kind)| read_named(name, kind)).collect()
    }

    /// Refuses to read standard input twice: the second time it is empty.
    fn check_standard_input(&self) -> Result<(), Failure> {
        let files = self.files.iter().chain(&self.checkpoint).chain(&self.kubelet.sources.pods);
        match files.filter(|file| *file == "-").count() {
            0 | 1 => Ok(()),
            times => Err(Failure::usage(anyhow!("standard input cannot be read {times} times"))
                .hint("only one of FILE, --checkpoint and --pods can be -")),
        }
    }

    /// Says which flag of a node is of no use with files.
    fn tell_unused(&self) {
        let of_node = SourceArgs { pods: Vec::new(), ..self.kubelet.sources.clone() };
        if let Some(flag) = of_node.first_given() {
            warn(&format!("{flag} is not used: files that are named are judged without the node"));
        }
    }
}

/// Takes either name of each kind of file.
fn kinds() -> impl TypedValueParser<Value = StateFile> {
    let words = StateFile::ALL.map(StateFile::short);
    PossibleValuesParser::new(words.into_iter().chain(StateFile::ALL.map(StateFile::name))).map(
        |given| {
            let is_given = |file: &StateFile| file.short() == given || file.name() == given;
            StateFile::ALL.into_iter().find(is_given).expect("these are the possible values")
        },
    )
}

/// The kubelet's folder where nobody says which it is.
const FOLDER: &str = "/var/lib/kubelet";

fn read_named(name: &str, kind: Option<StateFile>) -> Result<StateFileContent<'static>, Failure> {
    let content = match read_input_within(name, LARGEST) {
        Ok(bytes) => Content::Bytes(Cow::Owned(bytes)),
        // It was asked for by name, so that it is not fine when it is not there.
        Err(error) => Content::Unreadable(error.reason()),
    };
    let (by_name, folder) = match name {
        "-" => (None, FOLDER.to_owned()),
        _ => {
            let path = std::path::absolute(name).map_err(Failure::missing)?;
            let folder = path.parent().unwrap_or(Path::new("/")).display().to_string();
            (of_name(&path), folder)
        }
    };
    let of_content = || match &content {
        Content::Bytes(bytes) => recognise(bytes),
        _ => None,
    };
    let file = kind.or(by_name).or_else(of_content);
    let path = shown(name).to_owned();
    Ok(StateFileContent { file, path, folder, content })
}

fn of_name(path: &Path) -> Option<StateFile> {
    let name = path.file_name()?.to_str()?;
    // Whoever copies a file gives it an ending.
    StateFile::named(name).or_else(|| StateFile::named(path.file_stem()?.to_str()?))
}

/// Collects the files of a node. A live node's are read again, byte for byte: what is not text cannot be
/// stored, and what is wrong with it can be told.
fn of_node(node: &KubeletNode, is_stored: bool) -> Result<Vec<StateFileContent<'_>>, Failure> {
    let snapshot = &node.snapshot;
    if snapshot.state_files.is_none() && snapshot.devices.is_none() {
        return Err(Failure::missing(anyhow!("the snapshot has no files of the kubelet"))
            .hint("take a new one with kq snapshot"));
    }
    let stored = snapshot.state_files.as_ref();
    let folder = stored.map_or(FOLDER, |state| state.folder.as_str());
    let root = Path::new(&snapshot.host_root.path);
    let beneath = |name: &str| format!("{}/{name}", folder.trim_end_matches('/'));
    let mut files = Vec::new();
    for file in StateFile::ALL {
        let path = match file {
            StateFile::Devices => beneath("device-plugins/kubelet_internal_checkpoint"),
            file => beneath(file.name()),
        };
        let content = match is_stored {
            false => of_bytes(read_beneath(root, &path, LARGEST)),
            true if file == StateFile::Devices => stored_devices(snapshot),
            true => match stored.and_then(|state| state.get(file.name())) {
                Some(Text::Read(text)) => Content::Bytes(Cow::Borrowed(text.as_bytes())),
                Some(Text::Absent) => Content::Absent,
                Some(Text::Unreadable(reason)) => Content::Unreadable(reason.clone()),
                None => Content::Unrecorded,
            },
        };
        // Of both ways to remember pods, a kubelet has one.
        let is_other = match file {
            StateFile::PodStatus => !is_1_32(node),
            StateFile::AllocatedPods | StateFile::ActuatedPods => is_1_32(node),
            _ => false,
        };
        if !is_other || matches!(content, Content::Bytes(_)) {
            let folder = folder.to_owned();
            files.push(StateFileContent { file: Some(file), path, folder, content });
        }
    }
    Ok(files)
}

fn of_bytes(read: Result<Vec<u8>, ReadError>) -> Content<'static> {
    match read {
        Ok(bytes) => Content::Bytes(Cow::Owned(bytes)),
        Err(ReadError::Absent) => Content::Absent,
        Err(error) => Content::Unreadable(error.to_string()),
    }
}

fn stored_devices(snapshot: &Snapshot) -> Content<'_> {
    let Some(devices) = &snapshot.devices else {
        return Content::Unrecorded;
    };
    match devices.checkpoint.value() {
        Some(fact) => Content::Stored(fact),
        None if devices.checkpoint.was_not_queried() => Content::Unrecorded,
        // A file in a folder that is not there is not there either.
        None if devices.has_no_folder() => Content::Absent,
        None => Content::Unreadable(devices.checkpoint.reason()),
    }
}

fn is_1_32(node: &KubeletNode) -> bool {
    (node.kubelet.version.major, node.kubelet.version.minor) <= (1, 32)
}

/// Collects what is known beside the files.
fn known<'n>(node: &'n KubeletNode, pods: &'n NodePods<'n>, is_of_node: bool) -> VerifyContext<'n> {
    let config = &node.kubelet.config;
    let says = |field: &str| node.knows_config || node.kubelet.origins.contains_key(field);
    // With the option, reserved CPUs are in no set.
    let options = node.kubelet.given.cpu_manager_policy_options.as_ref();
    let strict = options.and_then(|options| options.get("strict-cpu-reservation"));
    let strict = strict.is_some_and(|on| on != "false") || !node.knows_config;
    let containers = node.snapshot.runtime.value().and_then(|runtime| {
        let containers = runtime.containers.value()?.iter();
        let known = containers.map(|it| (it.id.clone(), (it.pod_uid.clone(), it.name.clone())));
        Some(known.collect::<KnownContainers>())
    });
    VerifyContext {
        cpu_policy: says("cpuManagerPolicy").then_some(config.cpu_manager_policy.as_str()),
        strict_cpu_reservation: strict,
        memory_policy: says("memoryManagerPolicy").then_some(config.memory_manager_policy.as_str()),
        pod_level: node.kubelet.rules.gates.enabled(Gate::PodLevelResourceManagers),
        is_1_32: is_1_32(node),
        containers,
        cpus: node.snapshot.host.cpus().ok().filter(|_| is_of_node),
        pods: Some(pods),
    }
}
