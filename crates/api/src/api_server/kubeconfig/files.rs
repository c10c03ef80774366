//! Where kubeconfigs are, and their text: one file, or the files of `KUBECONFIG` merged as kubectl merges them.

use super::named_files::NamedFiles;
use super::{NoPrograms, Source};
use crate::api_server::plugin::owner_hint;
use crate::api_server::{ApiError, KubeconfigPlace};
use crate::http::open_bounded;
use kq_facts::limits::MAX_KUBECONFIG_BYTES;
use kq_io::host::LIMIT;
use kq_io::memory;
use kq_io::trust::{Namer, read_trusted};
use kq_k8s::yaml::{self, YamlError};
use kube::config::Kubeconfig;
use std::env;
use std::io;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

impl Source {
    /// Reads the kubeconfig of a place; `None`: kubectl's places have none.
    pub(super) fn find(place: KubeconfigPlace<'_>) -> Result<Option<Self>, ApiError> {
        match place {
            KubeconfigPlace::Named(path) => Self::read(path).map(Some),
            KubeconfigPlace::Home(path) => Self::trusted(Path::new("/"), path, None).map(Some),
            KubeconfigPlace::OfNode { root, path } => {
                let reason = "it is a file of the node, and kq runs no program that a node names";
                let hint = "name your own kubeconfig with --kubeconfig";
                let no_programs = NoPrograms { reason: reason.to_owned(), hint };
                Self::trusted(root, path, Some(no_programs)).map(Some)
            }
            KubeconfigPlace::Usual => customary(),
        }
    }

    /// Reads a file that the operator named.
    fn read(path: &Path) -> Result<Self, ApiError> {
        let shown = path.display().to_string();
        let refuse = |reason| ApiError::Kubeconfig { path: shown.clone(), reason };
        let (file, content) = open_bounded(path).map_err(refuse)?;
        let namer = Namer::of(&file, path).map_err(|error| refuse(error.to_string()))?;
        let config = parse(path, &shown, content)?;
        let no_programs = namer.refuses_programs();
        let no_programs = no_programs.map(|reason| NoPrograms { reason, hint: owner_hint() });
        Ok(Self { path: shown, config, files: NamedFiles::of(namer), no_programs })
    }

    /// Reads a file that must be trusted; paths in it begin at the same root.
    fn trusted(root: &Path, path: &str, no_programs: Option<NoPrograms>) -> Result<Self, ApiError> {
        let files = NamedFiles::beneath(root);
        let shown = files.shown(Path::new(path)).display().to_string();
        let content = read_trusted(root, path, LIMIT).map_err(|error| ApiError::Kubeconfig {
            path: shown.clone(),
            reason: error.to_string(),
        })?;
        let config = parse(Path::new(path), &shown, content)?;
        Ok(Self { path: shown, config, files, no_programs })
    }

    /// Adds another file of `KUBECONFIG`: what this one has already counts.
    fn merge(self, next: Self) -> Result<Self, ApiError> {
        let path = format!("{}:{}", self.path, next.path);
        let merged = self.config.merge(next.config);
        let config = merged.map_err(|error| ApiError::Kubeconfig {
            path: path.clone(),
            reason: error.to_string(),
        })?;
        // The current context of one file is used with the servers and users of all.
        let no_programs = self.no_programs.or(next.no_programs);
        Ok(Self { path, config, files: self.files.and(next.files), no_programs })
    }
}

/// Reads the files of `KUBECONFIG`, or `~/.kube/config`; missing ones are skipped.
fn customary() -> Result<Option<Source>, ApiError> {
    let listed: Vec<PathBuf> = match env::var_os("KUBECONFIG").filter(|list| !list.is_empty()) {
        Some(list) => env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect(),
        None => env::home_dir().into_iter().map(|home| home.join(".kube/config")).collect(),
    };
    let mut merged: Option<Source> = None;
    for path in listed {
        let is_missing = matches!(std::fs::metadata(&path),
            Err(error) if error.kind() == io::ErrorKind::NotFound);
        if is_missing {
            continue;
        }
        let next = Source::read(&path)?;
        merged = Some(match merged {
            None => next,
            Some(before) => before.merge(next)?,
        });
    }
    Ok(merged)
}

/// Reads YAML as a kubeconfig; relative paths in it are relative to its folder.
fn parse(path: &Path, shown: &str, content: Vec<u8>) -> Result<Kubeconfig, ApiError> {
    let refuse = |reason| ApiError::Kubeconfig { path: shown.to_owned(), reason };
    if content.len() as u64 > MAX_KUBECONFIG_BYTES {
        let reason = format!("has more than {MAX_KUBECONFIG_BYTES} bytes, which kq does not read");
        return Err(refuse(reason));
    }
    let text = String::from_utf8(content).map_err(|_| refuse("not text in UTF-8".to_owned()))?;
    memory::received(shown, text.len());
    // kube also reads the expansion of anchors; this reader rejects them.
    for document in yaml::documents(text.trim_start_matches('\u{feff}')) {
        let read = yaml::read(document.text);
        read.map_err(|error| refuse(syntax(&error, document.lines_before)))?;
    }
    let mut config = Kubeconfig::from_yaml(&text).map_err(|error| match error {
        // serde's error quotes lines of the file, which can be secret.
        kube::config::KubeconfigError::Parse(_) => {
            refuse("it does not have the fields of a kubeconfig".to_owned())
        }
        error => refuse(error.to_string()),
    })?;
    // An empty one is not set, and leaves it to the next file.
    config.current_context = config.current_context.filter(|name| !name.is_empty());
    let folder = path.parent().unwrap_or(Path::new(""));
    for file in paths_in(&mut config) {
        // An absolute path replaces the folder.
        *file = folder.join(&*file).to_string_lossy().into_owned();
    }
    Ok(config)
}

/// Returns the paths in a kubeconfig (`GetClusterFileReferences`, `GetAuthInfoFileReferences` of
/// `tools/clientcmd/loader.go`). A command without a separator is no path, but a name.
fn paths_in(config: &mut Kubeconfig) -> Vec<&mut String> {
    let clusters = config.clusters.iter_mut().filter_map(|named| named.cluster.as_mut());
    let mut files: Vec<&mut Option<String>> =
        clusters.map(|cluster| &mut cluster.certificate_authority).collect();
    let mut commands: Vec<&mut Option<String>> = Vec::new();
    for user in config.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut()) {
        files.extend([&mut user.client_certificate, &mut user.client_key, &mut user.token_file]);
        commands.extend(user.exec.as_mut().map(|exec| &mut exec.command));
    }
    let files = files.into_iter().flatten().filter(|file| !file.is_empty());
    let commands = commands.into_iter().flatten();
    files.chain(commands.filter(|command| command.contains(MAIN_SEPARATOR))).collect()
}

/// Returns where a file stops being YAML, without quoting it.
fn syntax(error: &YamlError, lines_before: u64) -> String {
    match error {
        YamlError::Syntax { line, column, .. } => {
            format!("line {}, column {column}: not YAML", lines_before + line)
        }
        YamlError::TooLarge { .. } => error.to_string(),
    }
}
