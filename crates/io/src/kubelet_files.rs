//! Reads the kubelet's configuration, its drop-ins, Node objects and lists of them from files, and the input of the
//! kubelet's next start.

use super::kubelet_process::{StoppedKubelet, stopped_kubelet};
use crate::host::{LIMIT, ReadError};
use crate::input::{InputError, plain, read_input};
use crate::trust::{files_trusted, is_folder, read_trusted};
use kq_answer::origin::Origin;
use kq_answer::warning::{Warning, WarningCode};
use kq_facts::config_on_disk::{ConfigContent, ConfigOnDisk, ConfigText};
use kq_facts::describe::{ConfigSource, DescribeError};
use kq_facts::input_name::shown;
use kq_facts::kubelet_config::{
    MergeError, Source, carried, drop_in_order, merge_over, resolve_paths, write_out_empty,
};
use kq_facts::kubelet_process::KubeletProcess;
use kq_facts::lookup::{FailedSource, Lookup, Sourced};
use kq_facts::node_list::{ListedNode, read_node_list};
use kq_facts::node_object::NodeObject;
use kq_facts::overrides::GivenConfig;
use kq_k8s::go_yaml::text_of_utf16;
use kq_k8s::yaml::{self, Document, YamlError};
use serde_json::Value;
use serde_path_to_error::Segment;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

/// Why a file of the kubelet cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KubeletFileError {
    /// It could not be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// It could not be read on the node.
    #[error("cannot read {path}: {reason}")]
    Host {
        /// The file.
        path: String,
        reason: String,
    },
    /// A folder could not be read.
    #[error("cannot read folder {path}: {}", plain(error))]
    Folder {
        /// The folder.
        path: String,
        /// The system's error.
        error: io::Error,
    },
    #[error("{path}: not text in UTF-8, which a YAML or JSON file is")]
    NotText {
        /// The file.
        path: String,
    },
    #[error(
        "{path}: UTF-16 without a byte order mark, which the kubelet does not read: save it as UTF-8"
    )]
    Utf16 {
        /// The file.
        path: String,
    },
    /// It is neither YAML nor JSON.
    #[error("{path}: {message}")]
    Syntax {
        /// The file.
        path: String,
        /// The error, with line and column.
        message: String,
    },
    /// It does not contain exactly one object.
    #[error("{path}: holds {count} documents, expected one")]
    Documents {
        /// The file.
        path: String,
        /// The number of documents.
        count: usize,
    },
    /// The kubelet's decoder refuses it.
    #[error("{path}: {error}")]
    Undecoded {
        path: String,
        /// The kubelet's error.
        error: String,
    },
    /// A drop-in cannot be merged.
    #[error("{folder}")]
    Merge {
        folder: String,
        #[source]
        error: MergeError,
    },
    #[error("{path}: {message}")]
    NoNode {
        /// The file.
        path: String,
        /// The error.
        message: String,
    },
}

/// Reads a kubelet's configuration and its drop-ins, which the operator names; irregularities become notes.
/// Fails if it cannot be read; the fields are validated later, when the version is known.
pub fn read_kubelet_config(
    file: Option<&str>,
    folder: Option<&str>,
) -> Result<GivenConfig, KubeletFileError> {
    let mut given = GivenConfig::default();
    let mut on_disk = ConfigOnDisk::default();
    let notes = &mut given.notes;
    given.config = read_files(&Files::Named, file, folder, notes, Some(&mut on_disk))?;
    given.on_disk = (given.config.source != Some(Source::Configz)).then_some(on_disk);
    Ok(given)
}

/// Reads a kubelet's configuration like [`read_kubelet_config`], from the node whose root folder is at
/// `root`; the paths are those on the node. A process named them, so the files must be trusted.
pub fn read_kubelet_config_beneath(
    root: &Path,
    file: Option<&str>,
    folder: Option<&str>,
    notes: &mut Vec<String>,
) -> Result<ConfigSource, KubeletFileError> {
    read_files(&Files::Beneath(root), file, folder, notes, None)
}

/// Where files are.
enum Files<'a> {
    /// The operator named the path.
    Named,
    /// On a node.
    Beneath(&'a Path),
}

impl Files<'_> {
    fn is_folder(&self, path: &str) -> bool {
        match self {
            Self::Named => Path::new(path).is_dir(),
            Self::Beneath(root) => is_folder(root, path),
        }
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, KubeletFileError> {
        match self {
            Self::Named => Ok(read_input(path)?),
            Self::Beneath(root) => read_trusted(root, path, LIMIT).map_err(|error| {
                KubeletFileError::Host { path: path.to_owned(), reason: error.to_string() }
            }),
        }
    }

    /// Returns the files in a folder and its subfolders.
    fn list(&self, folder: &str) -> Result<Vec<String>, KubeletFileError> {
        match self {
            Self::Named => {
                // As `files_trusted` has it.
                if !folder.ends_with('/') && Path::new(folder).is_symlink() {
                    return Ok(vec![folder.to_owned()]);
                }
                let mut paths = Vec::new();
                collect_files(Path::new(folder), &mut paths)
                    .map_err(|error| KubeletFileError::Folder { path: folder.to_owned(), error })?;
                Ok(paths)
            }
            Self::Beneath(root) => files_trusted(root, folder).map_err(|error| {
                KubeletFileError::Host { path: folder.to_owned(), reason: error.to_string() }
            }),
        }
    }
}

fn read_files(
    files: &Files<'_>,
    file: Option<&str>,
    folder: Option<&str>,
    notes: &mut Vec<String>,
    mut on_disk: Option<&mut ConfigOnDisk>,
) -> Result<ConfigSource, KubeletFileError> {
    let mut config = ConfigSource::default();
    if let Some(file) = file {
        let bytes = files.read(file)?;
        let (mut value, mut content) = match first_document(file, bytes.clone(), notes) {
            Err(error) if matches!(files, Files::Named) => {
                let content = content_of(&bytes);
                if !matches!(content, ConfigContent::Broken(_) | ConfigContent::Empty) {
                    return Err(error);
                }
                config.refused = Some(DescribeError::Undecoded(error.to_string()));
                (Value::Object(serde_json::Map::new()), content)
            }
            read => read?,
        };
        config.source = Some(Source::File);
        if value.get("kubeletconfig").is_some_and(Value::is_object) {
            // The answer of `/configz`.
            value = value["kubeletconfig"].take();
            write_out_empty(&mut value);
            config.source = Some(Source::Configz);
            content = ConfigContent::document(value.clone());
        }
        if let Some(error) = content.refusal(false) {
            let error = undecoded(file, &error);
            if matches!(files, Files::Beneath(_)) {
                return Err(error);
            }
            // What the kubelet makes of the operator's files is answered.
            config.refused.get_or_insert_with(|| DescribeError::Undecoded(error.to_string()));
            if value.is_null() {
                value = Value::Object(serde_json::Map::new());
            }
        }
        // A file that was given may be a copy from elsewhere.
        if matches!(files, Files::Beneath(_)) {
            resolve_paths(&mut value, file.rsplit_once('/').map_or("", |(folder, _)| folder));
        }
        set_origins(&mut config, &value, file);
        config.value = value.into();
        if let Some(on_disk) = &mut on_disk {
            on_disk.file = Some(ConfigText { path: file.to_owned(), content });
        }
    }
    if let Some(folder) = folder {
        let drop_ins = add_drop_ins(files, &mut config, folder, notes)?;
        if let Some(on_disk) = on_disk {
            on_disk.drop_ins = drop_ins;
        }
    }
    Ok(config)
}

/// Merges the drop-ins of a folder, and returns them.
fn add_drop_ins(
    files: &Files<'_>,
    config: &mut ConfigSource,
    folder: &str,
    notes: &mut Vec<String>,
) -> Result<Vec<ConfigText>, KubeletFileError> {
    let paths = files.list(folder)?;
    let found = drop_in_order(paths.iter().map(String::as_str));
    for path in &found.skipped {
        notes.push(format!("{path}: ignored, drop-ins end in .conf"));
    }
    let (mut drop_ins, mut texts) = (Vec::new(), Vec::new());
    for path in found.read {
        if files.is_folder(&path) {
            texts.push(ConfigText { path, content: ConfigContent::Folder });
            continue;
        }
        let bytes = files.read(&path)?;
        let mut of_file = Vec::new();
        let read = first_document(&path, bytes.clone(), &mut of_file).and_then(|read| {
            match read.1.refusal(true) {
                Some(error) => Err(undecoded(&path, &error)),
                None => Ok(read),
            }
        });
        let (value, content) = match read {
            Ok(read) => {
                notes.extend(of_file);
                read
            }
            // What the kubelet makes of the operator's files is answered.
            Err(error) if matches!(files, Files::Named) => {
                config.refused.get_or_insert_with(|| DescribeError::DropIns(error.to_string()));
                texts.push(ConfigText { path, content: content_of(&bytes) });
                continue;
            }
            Err(error) => return Err(error),
        };
        set_origins(config, &value, &path);
        texts.push(ConfigText { path: path.clone(), content });
        drop_ins.push((path, value));
    }
    let base = match Arc::unwrap_or_clone(std::mem::take(&mut config.value)) {
        Value::Null => Value::Object(serde_json::Map::new()),
        value => value,
    };
    // A process that names no file has none; what the operator names may be a part.
    let has_file = config.source.is_some() || matches!(files, Files::Named);
    let merged = merge_over(base.clone(), drop_ins, has_file, serde_json::Map::new());
    config.value = match merged {
        Ok(merged) => merged,
        Err(error) if matches!(files, Files::Named) => {
            config.refused.get_or_insert_with(|| DescribeError::DropIns(error.to_string()));
            base
        }
        Err(error) => return Err(KubeletFileError::Merge { folder: folder.to_owned(), error }),
    }
    .into();
    Ok(texts)
}

/// Returns the error of a file that the kubelet's decoder refuses, in one line.
fn undecoded(path: &str, error: &str) -> KubeletFileError {
    let error = error.split_whitespace().collect::<Vec<_>>().join(" ");
    KubeletFileError::Undecoded { path: shown(path).to_owned(), error }
}

/// Records which file last set each field.
fn set_origins(config: &mut ConfigSource, value: &Value, path: &str) {
    for (field, value) in value.as_object().into_iter().flatten() {
        if value.is_null() {
            config.origins.remove(field);
        } else {
            config.origins.insert(field.clone(), Origin::Source(shown(path).to_owned()));
        }
    }
}

fn collect_files(folder: &Path, paths: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        // A linked folder is a file to the kubelet, which it cannot read.
        if entry.file_type()?.is_dir() {
            collect_files(&path, paths)?;
        } else {
            paths.push(path.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

/// Reads a Node object: `kubectl get node NAME -o json`, or a list of one.
/// Fails if it cannot be read or is not a Node.
pub fn read_node_object(
    path: &str,
    warnings: &mut Vec<Warning>,
) -> Result<NodeObject, KubeletFileError> {
    let mut value = node_document(path, read_input(path)?, warnings)?;
    let no_node =
        |message: String| KubeletFileError::NoNode { path: shown(path).to_owned(), message };
    let list_of = value.get("kind").and_then(Value::as_str).and_then(|it| it.strip_suffix("List"));
    let list_of = list_of.unwrap_or_default().to_owned();
    if let Some(items) = value.get_mut("items").and_then(Value::as_array_mut) {
        let kind = items.first().and_then(|item| item.get("kind")).and_then(Value::as_str);
        let kind = kind.unwrap_or(&list_of).to_owned();
        let expected = "expected one Node, as from kubectl get node NAME -o json";
        if !matches!(&*kind, "" | "Node") {
            let count = items.len();
            return Err(no_node(format!("a list of {count} of kind {kind:?}, {expected}")));
        }
        if items.len() != 1 {
            return Err(no_node(format!("a list of {} nodes, {expected}", items.len())));
        }
        value = items.remove(0);
    }
    match value.get("kind").and_then(Value::as_str) {
        Some("Node") => {}
        Some(kind) => return Err(no_node(format!("kind {kind:?}, expected Node"))),
        None => return Err(no_node("kind is not set, expected Node".to_owned())),
    }
    serde_path_to_error::deserialize(&value).map_err(|error| {
        let at = error.path().iter().try_fold(&value, |value, segment| match segment {
            Segment::Map { key } => value.get(key),
            Segment::Seq { index } => value.get(index),
            _ => None,
        });
        let (path, inner) = (error.path(), error.inner());
        // A quantity's error does not repeat the quantity.
        no_node(match at {
            Some(Value::String(text)) if !inner.to_string().contains(text.as_str()) => {
                format!("{path}: {text:?}: {inner}")
            }
            _ => format!("{path}: {inner}"),
        })
    })
}

/// Returns the first document of a configuration, the kubelet reads no other, with the values that the kubelet's decoder gives it,
/// and the contents of the file. A file that the kubelet does not decode has the values that kq reads.
fn first_document(
    path: &str,
    content: Vec<u8>,
    notes: &mut Vec<String>,
) -> Result<(Value, ConfigContent), KubeletFileError> {
    if text_of_utf16(&content).is_some() {
        notes.push(format!("{}: in UTF-16, which the kubelet reads as well", shown(path)));
    }
    let mut text = text_in(path, content)?;
    if let Some(config) = carried(&text) {
        notes.push(config.note(shown(path)));
        text = text_in(path, config.text)?;
    }
    let documents = documents_of(&text);
    let Some(first) = documents.first() else {
        return Err(KubeletFileError::Documents { path: shown(path).to_owned(), count: 0 });
    };
    let count = documents.len();
    if count > 1 {
        let name = shown(path);
        notes.push(format!("{name}: holds {count} documents; the kubelet reads the first alone"));
    }
    let (value, duplicate) = read_document(path, first)?;
    notes.extend(duplicate.map(|duplicate| duplicate.text));
    let content = ConfigContent::of(text.as_bytes());
    let value = match &content {
        ConfigContent::Document { value, .. } => Value::clone(value),
        _ => value,
    };
    Ok((value, content))
}

/// Returns the contents of a file, or of the configuration that its object carries.
fn content_of(bytes: &[u8]) -> ConfigContent {
    match std::str::from_utf8(bytes).ok().and_then(carried) {
        Some(config) => ConfigContent::of(&config.text),
        None => ConfigContent::of(bytes),
    }
}

/// Returns the one document of a file with nodes.
fn node_document(
    path: &str,
    content: Vec<u8>,
    warnings: &mut Vec<Warning>,
) -> Result<Value, KubeletFileError> {
    let (value, duplicate) = one_document(path, content)?;
    warnings.extend(duplicate);
    Ok(value)
}

/// Returns the one document of a file, and the key that it has twice.
fn one_document(
    path: &str,
    content: Vec<u8>,
) -> Result<(Value, Option<Warning>), KubeletFileError> {
    let text = text_in(path, content)?;
    match documents_of(&text).as_slice() {
        [document] => read_document(path, document),
        documents => {
            let count = documents.len();
            Err(KubeletFileError::Documents { path: shown(path).to_owned(), count })
        }
    }
}

fn text_in(path: &str, content: Vec<u8>) -> Result<String, KubeletFileError> {
    if let Some(text) = text_of_utf16(&content) {
        return Ok(text);
    }
    let path = || shown(path).to_owned();
    // The zero bytes of UTF-16 are those of ASCII.
    if matches!(content.as_slice(), [0, 1..=u8::MAX, ..] | [1..=u8::MAX, 0, ..]) {
        return Err(KubeletFileError::Utf16 { path: path() });
    }
    String::from_utf8(content).map_err(|_| KubeletFileError::NotText { path: path() })
}

/// Returns the documents of a text that hold something.
fn documents_of(text: &str) -> Vec<Document<'_>> {
    yaml::documents(text).into_iter().filter(|document| !document.is_empty()).collect()
}

/// Reads a document of a file, and the key that it has twice.
fn read_document(
    path: &str,
    document: &Document<'_>,
) -> Result<(Value, Option<Warning>), KubeletFileError> {
    let name = || shown(path).to_owned();
    let read = yaml::read(document.body()).map_err(|error| KubeletFileError::Syntax {
        path: name(),
        message: located(error, document.lines_before),
    })?;
    let warning = read.duplicate.map(|duplicate| {
        let key = duplicate.key.unwrap_or_default();
        let text = format!(
            "{}: line {}: key {key:?} came before; the last one counts",
            name(),
            duplicate.line + document.lines_before
        );
        Warning::new(WarningCode::DuplicateKey, text).about(key)
    });
    Ok((read.value, warning))
}

/// Returns the words of an error with the line in the file.
fn located(error: YamlError, lines_before: u64) -> String {
    match error {
        YamlError::Syntax { line, column, message } => {
            format!("line {}, column {column}: {message}", line + lines_before)
        }
        too_large @ YamlError::TooLarge { .. } => too_large.to_string(),
    }
}

/// Reads a list of nodes, or a single one.
/// Fails if it cannot be read or is not a list of nodes. A single unreadable node of the list
/// is not a failure.
pub fn read_node_list_file(
    path: &str,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<ListedNode>, KubeletFileError> {
    let content = read_input(path)?;
    let no_nodes =
        |message: String| KubeletFileError::NoNode { path: shown(path).to_owned(), message };
    let is_json = content.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let json = match is_json {
        true => content,
        false => {
            let value = node_document(path, content, warnings)?;
            serde_json::to_vec(&value).map_err(|error| no_nodes(error.to_string()))?
        }
    };
    read_node_list(&json).map_err(no_nodes)
}

/// Reads the command line of the kubelet's unit, or else of the running kubelet, and the files that
/// it names. A file that could not be read is recorded with the reason.
pub fn read_config_on_disk(root: &Path, running: Option<&KubeletProcess>) -> Lookup<ConfigOnDisk> {
    let unit = match (stopped_kubelet(root), running) {
        (Some(unit), _) => unit,
        (None, Some(process)) => StoppedKubelet {
            source: format!("/proc/{}/cmdline", process.pid),
            process: process.clone(),
            masked_by: None,
            removes: Vec::new(),
            is_unit_assumed: false,
        },
        (None, None) => {
            return Lookup::failed("the kubelet's unit", "not found, and no kubelet runs");
        }
    };
    let StoppedKubelet { source, process, masked_by, removes, is_unit_assumed } = unit;
    let flags = process.interpreted();
    let mut tried = Vec::new();
    let folder = flags.config_dir.as_deref();
    let paths = match folder.map(|folder| files_trusted(root, folder)) {
        Some(Err(error)) => {
            let source = folder.unwrap_or_default().to_owned();
            tried.push(FailedSource { source, reason: error.to_string() });
            Vec::new()
        }
        Some(Ok(paths)) => drop_in_order(paths.iter().map(String::as_str)).read,
        None => Vec::new(),
    };
    let value = ConfigOnDisk {
        process: Some(process),
        file: flags.config.map(|path| read(root, path)),
        drop_ins: paths.into_iter().map(|path| read(root, path)).collect(),
        masked_by,
        removes,
        is_unit_assumed,
    };
    Lookup { found: Some(Sourced { source, value }), tried }
}

fn read(root: &Path, path: String) -> ConfigText {
    let content = match read_trusted(root, &path, LIMIT) {
        Err(ReadError::Absent) => ConfigContent::Absent,
        Err(ReadError::Kind { .. }) if is_folder(root, &path) => ConfigContent::Folder,
        Err(error) => ConfigContent::Unreadable(error.to_string()),
        Ok(bytes) => ConfigContent::of(&bytes),
    };
    ConfigText { path, content }
}
