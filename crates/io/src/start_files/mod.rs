//! Reads the files that a start of the kubelet reads next to its configuration. Processes and files of the node name them, so
//! each must be trusted. Nothing of them is kept but what [`kq_facts::start_files`] has fields for.

mod kubelet_user;
mod pem;

use crate::host::{LIMIT, ReadError, is_running, link_beneath, read_beneath};
use crate::trust::{TrustedProgram, kind_trusted, list_trusted, read_trusted};
use kq_facts::start_files::{
    CredentialProviders, FileUse, KERNEL_SETTINGS, Kubeconfig, StartFile, StartFiles,
};
use kq_k8s::yaml;
use pem::{embedded_pem, read_pem};
use rustix::fs::FileType;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// No more files of plugins are read from one folder, and no more of their programs are looked for.
const MOST_PLUGINS: usize = 200;

/// Reads the named files, and those that kubeconfigs and the configuration of plugins name.
pub fn read_start_files(root: &Path, named: &BTreeMap<String, FileUse>) -> StartFiles {
    let disk = Disk { root, is_copy: !is_running(root) };
    let mut files = BTreeMap::new();
    for (path, wanted) in named {
        let file = disk.look(path, *wanted);
        if let StartFile::Kubeconfig(kubeconfig) = &file {
            for path in kubeconfig.files() {
                files.insert(path.to_owned(), disk.look(path, FileUse::Pem));
            }
        }
        if *wanted == FileUse::Providers && file == StartFile::Folder {
            for path in disk.documents(path) {
                let file = disk.look(&path, FileUse::Providers);
                files.insert(path, file);
            }
        }
        files.insert(path.clone(), file);
    }
    let folders = named.iter().filter(|(_, wanted)| **wanted == FileUse::Programs);
    let programs: Vec<String> = folders
        .flat_map(|(folder, _)| plugins(&files).map(move |name| format!("{folder}/{name}")))
        .take(MOST_PLUGINS)
        .collect();
    for path in programs {
        let file = disk.program(&path);
        files.insert(path, file);
    }
    StartFiles {
        files,
        kernel_settings: if disk.is_copy { BTreeMap::new() } else { disk.kernel_settings() },
        kubelet_user: kubelet_user::read(root, disk.is_copy),
    }
}

/// Returns the names of the plugins; one with a slash is no name.
fn plugins(files: &BTreeMap<String, StartFile>) -> impl Iterator<Item = &str> {
    let read = files.values().filter_map(|file| match file {
        StartFile::Providers(providers) => Some(&providers.providers),
        _ => None,
    });
    read.flatten().map(|it| it.name.as_str()).filter(|it| !it.contains('/') && !it.is_empty())
}

/// The root folder of a node.
struct Disk<'a> {
    root: &'a Path,
    /// A copy of a node's files, which may lack some.
    is_copy: bool,
}

impl Disk<'_> {
    fn look(&self, path: &str, wanted: FileUse) -> StartFile {
        if wanted == FileUse::Socket && self.is_copy {
            return StartFile::Unreadable("a copy of a node's files has no sockets".to_owned());
        }
        let is_link = link_beneath(self.root, path).is_ok();
        let present = StartFile::Present { is_link, is_program: false };
        match kind_trusted(self.root, path) {
            // What the link leads to is not there; the link is.
            Err(ReadError::Absent) if is_link && wanted == FileUse::Existence => present,
            Err(error) => self.unread(path, error),
            Ok(FileType::Directory) => StartFile::Folder,
            Ok(FileType::Socket) => StartFile::Socket,
            Ok(_) if matches!(wanted, FileUse::Existence | FileUse::Socket | FileUse::Programs) => {
                present
            }
            Ok(_) => match read_trusted(self.root, path, LIMIT) {
                Err(error) => self.unread(path, error),
                Ok(bytes) => match wanted {
                    FileUse::Kubeconfig => {
                        StartFile::Kubeconfig(Box::new(kubeconfig(path, &bytes)))
                    }
                    FileUse::Providers => StartFile::Providers(providers(&bytes)),
                    _ => StartFile::Pem(read_pem(&bytes)),
                },
            },
        }
    }

    fn unread(&self, path: &str, error: ReadError) -> StartFile {
        if error != ReadError::Absent {
            return StartFile::Unreadable(error.to_string());
        }
        let folder = path.rsplit_once('/').map_or("/", |(folder, _)| folder);
        let has_folder = || folder.is_empty() || kind_trusted(self.root, folder).is_ok();
        match self.is_copy && !has_folder() {
            true => StartFile::Unreadable("the copy does not have its folder".to_owned()),
            false => StartFile::Absent,
        }
    }

    /// Returns the documents of a folder that the kubelet reads, in its order.
    fn documents(&self, folder: &str) -> Vec<String> {
        let names = list_trusted(self.root, folder).unwrap_or_default();
        let read = |name: &String| {
            let extension = name.rsplit_once('.').map(|(_, extension)| extension);
            matches!(extension, Some("json" | "yaml" | "yml"))
        };
        let folder = folder.trim_end_matches('/');
        let paths = names.into_iter().filter(read).map(|name| format!("{folder}/{name}"));
        paths.take(MOST_PLUGINS).collect()
    }

    fn program(&self, path: &str) -> StartFile {
        let is_link = link_beneath(self.root, path).is_ok();
        match kind_trusted(self.root, path) {
            Err(error) => self.unread(path, error),
            Ok(FileType::Directory) => StartFile::Folder,
            Ok(_) => match TrustedProgram::find(self.root, path) {
                Err(ReadError::Untrusted(reason)) => StartFile::Unreadable(reason),
                found => StartFile::Present { is_link, is_program: found.is_ok() },
            },
        }
    }

    fn kernel_settings(&self) -> BTreeMap<String, i64> {
        let read = |name: &str| {
            let bytes = read_beneath(self.root, &format!("/proc/sys/{name}"), LIMIT).ok()?;
            String::from_utf8(bytes).ok()?.trim().parse().ok()
        };
        let settings = KERNEL_SETTINGS.iter();
        settings.filter_map(|(name, _)| Some(((*name).to_owned(), read(name)?))).collect()
    }
}

fn document(bytes: &[u8]) -> Result<Value, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not text in UTF-8".to_owned())?;
    yaml::read(text).map(|read| read.value).map_err(|error| error.to_string())
}

/// Reads a kubeconfig (`LoadFromFile` in `client-go/tools/clientcmd/loader.go`).
fn kubeconfig(path: &str, bytes: &[u8]) -> Kubeconfig {
    if bytes.is_empty() {
        return Kubeconfig::of(&Value::Null, "/", embedded_pem);
    }
    let folder = path.rsplit_once('/').map_or("/", |(folder, _)| folder);
    let failed = |error: String| Kubeconfig { error: Some(error), ..Kubeconfig::default() };
    let value = match document(bytes) {
        Ok(value) => value,
        Err(error) => return failed(error),
    };
    let said = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (said("kind"), said("apiVersion"));
    if !matches!(kind, "" | "Config") || !matches!(version, "" | "v1") {
        return failed(format!("no kind {kind:?} is registered for version {version:?}"));
    }
    Kubeconfig::of(&value, folder, embedded_pem)
}

fn providers(bytes: &[u8]) -> CredentialProviders {
    match document(bytes) {
        Ok(value) => CredentialProviders::of(&value),
        Err(error) => CredentialProviders { error: Some(error), providers: Vec::new() },
    }
}

#[cfg(test)]
mod tests;
