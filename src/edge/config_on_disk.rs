//! The input of the kubelet's next start.

use super::host::{LIMIT, ReadError};
use super::kubelet_files::document;
use super::kubelet_process::stopped_kubelet;
use super::trust::{files_trusted, read_trusted};
use crate::facts::config_on_disk::{ConfigContent, ConfigOnDisk, ConfigText};
use crate::facts::kubelet_config::drop_in_order;
use crate::facts::kubelet_process::KubeletProcess;
use crate::facts::lookup::{FailedSource, Lookup, Sourced};
use std::path::Path;

/// Reads the command line of the kubelet's unit, or else of the running kubelet, and the files that
/// it names. A file that could not be read is recorded with the reason.
pub fn read_config_on_disk(root: &Path, running: Option<&KubeletProcess>) -> Lookup<ConfigOnDisk> {
    let (source, process) = match (stopped_kubelet(root), running) {
        (Some(unit), _) => (unit.source, unit.process),
        (None, Some(process)) => (format!("/proc/{}/cmdline", process.pid), process.clone()),
        (None, None) => {
            return Lookup::failed("the kubelet's unit", "not found, and no kubelet runs");
        }
    };
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
    };
    Lookup { found: Some(Sourced { source, value }), tried }
}

fn read(root: &Path, path: String) -> ConfigText {
    let content = match read_trusted(root, &path, LIMIT) {
        Err(ReadError::Absent) => ConfigContent::Absent,
        Err(error) => ConfigContent::Unreadable(error.to_string()),
        Ok(bytes) => config_content(&path, bytes),
    };
    ConfigText { path, content }
}

/// Reads a configuration file.
pub fn config_content(path: &str, bytes: Vec<u8>) -> ConfigContent {
    if bytes.is_empty() {
        return ConfigContent::Empty;
    }
    let text = String::from_utf8(bytes.clone()).ok();
    match document(path, bytes, &mut Vec::new()) {
        Ok(value) => ConfigContent::Document { value, text },
        Err(error) => ConfigContent::Unreadable(error.to_string()),
    }
}
