//! Folders of snapshots, one file for each node.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// More files than nodes in any cluster.
const MAX_FILES: usize = 100_000;

/// How names of snapshots end.
const ENDINGS: [&str; 2] = [".json", ".json.zst"];

/// A snapshot and the node that it is of, after its file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeFile {
    /// The name of the file without its ending.
    pub node: String,
    /// The file.
    pub path: PathBuf,
}

/// Why a folder gives no snapshots.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotFolderError {
    /// It cannot be read.
    #[error("{}", path.display())]
    Read {
        /// The folder or file.
        path: PathBuf,
        /// The error.
        #[source]
        error: io::Error,
    },
    /// It has none.
    #[error("{} has no file that ends in .json or .json.zst", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// It has too many.
    #[error("{} has more than {MAX_FILES} files", path.display())]
    Many {
        /// The folder.
        path: PathBuf,
    },
    /// Two files are of one node.
    #[error("{} and {}: two snapshots of node {node}", first.display(), second.display())]
    Twice {
        node: String,
        /// One file.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
}

/// Returns the snapshots that files and folders hold, in the order of their nodes. Folders in folders are left out.
///
/// # Errors
///
/// Fails for what cannot be read, for a folder without snapshots, and where two files are of one node.
pub fn node_files(paths: &[PathBuf]) -> Result<Vec<NodeFile>, SnapshotFolderError> {
    let mut files = Vec::new();
    for path in paths {
        let read = |error| SnapshotFolderError::Read { path: path.clone(), error };
        match fs::metadata(path).map_err(read)?.is_dir() {
            true => files.extend(of_folder(path)?),
            false => files.push(NodeFile { node: node_of(path), path: path.clone() }),
        }
    }
    files.sort_unstable();
    let mut pairs = files.iter().zip(files.iter().skip(1));
    match pairs.find(|(first, second)| first.node == second.node) {
        None => Ok(files),
        Some((first, second)) => Err(SnapshotFolderError::Twice {
            node: first.node.clone(),
            first: first.path.clone(),
            second: second.path.clone(),
        }),
    }
}

fn of_folder(folder: &Path) -> Result<Vec<NodeFile>, SnapshotFolderError> {
    let read = |error| SnapshotFolderError::Read { path: folder.to_owned(), error };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(read)? {
        let entry = entry.map_err(read)?;
        let name = entry.file_name();
        let is_snapshot = ENDINGS.iter().any(|ending| name.to_string_lossy().ends_with(ending));
        if is_snapshot && !entry.file_type().map_err(read)?.is_dir() {
            let path = entry.path();
            files.push(NodeFile { node: node_of(&path), path });
        }
        if files.len() > MAX_FILES {
            return Err(SnapshotFolderError::Many { path: folder.to_owned() });
        }
    }
    match files.is_empty() {
        true => Err(SnapshotFolderError::Empty { path: folder.to_owned() }),
        false => Ok(files),
    }
}

/// Returns the name of a file without its ending.
fn node_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = ENDINGS.iter().rev().find_map(|ending| name.strip_suffix(ending));
    ending.unwrap_or(&name).to_owned()
}
