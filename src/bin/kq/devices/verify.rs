//! `kq devices verify`

use crate::exit::{Code, Failure, note, tell, warn};
use crate::node_args::KubeletNodeArgs;
use crate::output_format::{OutputFormat, formats};
use crate::source_args::{SourceArgs, refuse_input_twice};
use anyhow::anyhow;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use kq_core::question::devices::verify::{KUBELET_FOLDER, state_files, verify_files};
use kq_core::question::start::kubelet_start;
use kq_facts::checkpoint::{LARGEST, StateFile};
use kq_facts::fact_key::FactKey;
use kq_facts::input_name::shown;
use kq_facts::needs::Needs;
use kq_io::host::read_beneath;
use kq_io::input::read_input_within;
use kq_managers::verify::{Content, StateFileContent, recognise, view};
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
/// read or is not in the snapshot, or the kubelet's reaction to it is unknown, as
/// where the machine or its version is.
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
#[command(group(clap::ArgGroup::new("named").multiple(true)))]
pub struct Args {
    /// A state file (can be repeated); - reads standard input (default: the node's state files)
    #[arg(value_name = "FILE", group = "named")]
    files: Vec<String>,

    /// A state file, as kubectl names files (can be repeated)
    #[arg(short, long, value_name = "FILE", group = "named")]
    filename: Vec<String>,

    /// The kind of the named files, whatever their names: a keyword or the kubelet's file name
    #[arg(long, requires = "named", value_parser = kinds())]
    kind: Option<StateFile>,

    /// A device manager checkpoint: a FILE, whatever its name
    #[arg(long, value_name = "FILE", help_heading = "Data sources")]
    checkpoint: Option<String>,

    /// Output format
    #[arg(short, long, value_name = "FORMAT", default_value = "table", value_parser = formats())]
    output: OutputFormat,

    #[command(flatten)]
    kubelet: KubeletNodeArgs,
}

impl Args {
    /// Reads, looks and shows.
    pub fn run(mut self) -> Result<Code, Failure> {
        self.files.append(&mut self.filename);
        let is_stored = self.kubelet.sources.snapshot.is_some();
        let is_of_node = self.files.is_empty() && self.checkpoint.is_none();
        let files = self.files.iter().chain(&self.checkpoint).chain(&self.kubelet.sources.pods);
        refuse_input_twice(files, "--checkpoint and --pods")?;
        if is_stored && !self.files.is_empty() {
            return Err(Failure::usage(anyhow!("FILE and --snapshot cannot both be judged"))
                .hint("ask twice: once with --snapshot, and once with FILE and --pods"));
        }
        if !is_of_node && !is_stored {
            self.tell_unused();
        }
        let needs = Needs { files: !is_of_node, ..Needs::DEVICES.without(&[FactKey::Node]) };
        let needs = needs.with_if(is_of_node, &[FactKey::Node, FactKey::ConfigOnDisk]);
        let node = self.kubelet.gather(needs)?;
        let root = Path::new(&node.snapshot.host_root.path);
        let read = |path: &str| read_beneath(root, path, LARGEST);
        let files = match is_of_node {
            true => state_files(&node, (!is_stored).then_some(&read))?,
            false => self.named()?,
        };
        let start = is_of_node.then(|| kubelet_start(&node));
        let answer = verify_files(&node, &files, start.as_ref());
        if let Some(file) = answer.none_judged() {
            return Err(Failure::usage(anyhow!("{}: {}", file.path, file.derivation.join("; "))));
        }
        self.output.write(&answer, view::table, view::wide)?;
        if self.output.is_for_people() {
            tell(&answer.basis);
        }
        if self.output == OutputFormat::Table {
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

    /// Warns about node flags that have no effect with files.
    fn tell_unused(&self) {
        self.kubelet.sources.choose_notes();
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

fn read_named(name: &str, kind: Option<StateFile>) -> Result<StateFileContent<'static>, Failure> {
    let content = match read_input_within(name, LARGEST) {
        Ok(bytes) => Content::Bytes(Cow::Owned(bytes)),
        // It was asked for by name, so that it is not fine when it is not there.
        Err(error) => Content::Unreadable(error.reason()),
    };
    let (by_name, folder) = match name {
        "-" => (None, KUBELET_FOLDER.to_owned()),
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
