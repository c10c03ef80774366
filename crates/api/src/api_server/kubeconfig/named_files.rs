//! The files that a kubeconfig names, of which it may name only some.

use crate::http::{HttpError, TOKEN_FILE, open_bounded, refuse, token};
use kq_io::host::LIMIT;
use kq_io::trust::{Namer, read_trusted};
use std::path::{Path, PathBuf};

/// Which files a kubeconfig may name, and where they are.
#[derive(Clone, Debug, Default)]
pub(in crate::api_server) struct NamedFiles {
    /// The owners of the operator's files that the kubeconfig was read from.
    namers: Vec<Namer>,
    /// The root in which its paths begin, where every file must be trusted; `None`: the operator's own files.
    root: Option<PathBuf>,
}

impl NamedFiles {
    /// Those that a file of the operator may name.
    pub(super) fn of(namer: Namer) -> Self {
        Self { namers: vec![namer], root: None }
    }

    /// Trusted files below a root.
    pub(super) fn beneath(root: &Path) -> Self {
        Self { namers: Vec::new(), root: Some(root.to_owned()) }
    }

    /// Those that both may name.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.namers.extend(other.namers);
        self
    }

    /// Returns where kq finds a path.
    pub(super) fn shown(&self, path: &Path) -> PathBuf {
        match &self.root {
            Some(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
            None => path.to_owned(),
        }
    }

    /// Reads a file that the kubeconfig names.
    pub(super) fn read(&self, what: &'static str, path: &Path) -> Result<Vec<u8>, HttpError> {
        let refuse = |reason| refuse(what, &self.shown(path), reason);
        if let Some(root) = &self.root {
            return read_trusted(root, &path.to_string_lossy(), LIMIT)
                .map_err(|error| refuse(error.to_string()));
        }
        let (file, content) = open_bounded(path).map_err(refuse)?;
        for namer in &self.namers {
            let reason = namer.refuses(&file).map_err(|error| refuse(error.to_string()))?;
            if let Some(reason) = reason {
                return Err(refuse(format!("not trusted: {reason}")));
            }
        }
        Ok(content)
    }

    /// Reads a bearer token.
    pub(in crate::api_server) fn token(&self, path: &Path) -> Result<String, HttpError> {
        token(path, &self.read(TOKEN_FILE, path)?)
    }
}
