//! Reads the texts of the node's kernel, and the kubelet's files, below the node's root.
//!
//! Nothing is parsed here; see [`kq_facts::host`].

mod beneath;
mod root;
mod usage;

pub use beneath::resolve;
pub use beneath::{LIMIT, lines_beneath, link_beneath, list_beneath, read_beneath};
pub use beneath::{
    MOST_LINKS, expect_kind, folder_beneath, kind_name, names_in, open, open_folder, open_path,
    parts, system,
};
pub use root::proc_of;
pub use root::{has_process, host_root, is_running};
pub use usage::{read_filesystem, read_usage};

use crate::trust::{kind_trusted, list_trusted, read_trusted};
use kq_facts::host::{
    CPU_FILES, CPUS, FILES, HUGEPAGES, HostFacts, INIT_MOUNTINFO, MOST_CPUS, NUMA_NODES,
    OWN_MOUNTINFO, SWAP_GROUPS, Text, listing, memory_max, numa_huge_pages, swap_max,
};
pub use kq_facts::read_error::ReadError;
use kq_facts::state_files::{STATE_FILES, StateFiles};
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads the texts of the node's kernel and its files. It does not fail: an unreadable file is recorded with
/// its reason.
pub fn read_host(root: &Path) -> HostFacts {
    let mut texts = BTreeMap::new();
    let mut paths: Vec<String> = FILES.iter().map(|path| (*path).to_owned()).collect();
    // Below another root, kq's own mounts are not those of the node.
    let mountinfo = if root == Path::new("/") { OWN_MOUNTINFO } else { INIT_MOUNTINFO };
    paths.push(mountinfo.to_owned());
    paths.extend(SWAP_GROUPS.iter().flat_map(|group| [swap_max(group), memory_max(group)]));
    let mut folders = vec![
        (NUMA_NODES.to_owned(), "node", &["cpulist", "distance", "meminfo"] as &[&str]),
        (HUGEPAGES.to_owned(), "hugepages-", &["nr_hugepages"]),
    ];
    let numa_nodes = list_beneath(root, NUMA_NODES).unwrap_or_default();
    let is_node = |name: &&String| {
        name.strip_prefix("node").is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    folders.extend(
        numa_nodes
            .iter()
            .filter(is_node)
            .map(|name| (numa_huge_pages(name), "hugepages-", &["nr_hugepages"] as &[&str])),
    );
    for (folder, prefix, files) in folders {
        let names = list_beneath(root, &folder);
        for name in names.iter().flatten().filter(|name| name.starts_with(prefix)) {
            paths.extend(files.iter().map(|file| format!("{folder}/{name}/{file}")));
        }
        let text = names.map_or_else(unread, |names| Text::Read(names.join("\n")));
        texts.insert(listing(&folder), text);
    }
    let cpus = list_beneath(root, CPUS).unwrap_or_default();
    let is_cpu = |name: &&String| {
        name.strip_prefix("cpu")
            .is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
    };
    for cpu in cpus.iter().filter(is_cpu).take(MOST_CPUS) {
        paths.extend(CPU_FILES.iter().map(|file| format!("{CPUS}/{cpu}/{file}")));
    }
    for path in paths {
        let text = read_text(root, &path);
        texts.insert(path, text);
    }
    HostFacts { texts, page_size: i64::try_from(rustix::param::page_size()).ok() }
}

/// Reads the kubelet's state files, below its folder. A process named the folder, so the files must be trusted.
pub fn read_state_files(root: &Path, kubelet_root_dir: &str) -> StateFiles {
    let mut state = StateFiles { folder: kubelet_root_dir.to_owned(), ..StateFiles::default() };
    for name in STATE_FILES {
        let text = match read_trusted(root, &state.path(name), LIMIT) {
            Ok(bytes) => text_of(bytes),
            Err(error) => unread(error),
        };
        state.files.insert(name.to_owned(), text);
    }
    state
}

/// Reads the manifests of static pods: a file, or the files of a folder in order, without those that
/// begin with a dot. Entries that are not files, and untrusted files, are returned with the reason. A missing path has no
/// manifests. (`listConfig` and `extractFromDir` in `pkg/kubelet/config/file.go` of Kubernetes.)
pub fn read_static_manifests(root: &Path, folder: &str) -> Vec<(String, Result<Vec<u8>, String>)> {
    let folder = match folder.trim_end_matches('/') {
        "" if folder.is_empty() => return Vec::new(),
        "" => "/",
        trimmed => trimmed,
    };
    let read = |path: &str| read_trusted(root, path, LIMIT).map_err(|error| error.to_string());
    match kind_trusted(root, folder) {
        Err(ReadError::Absent) => Vec::new(),
        Err(error) => vec![(folder.to_owned(), Err(error.to_string()))],
        Ok(FileType::Directory) => {
            let names = match list_trusted(root, folder) {
                Ok(names) => names,
                Err(error) => return vec![(folder.to_owned(), Err(error.to_string()))],
            };
            let paths = names.into_iter().filter(|name| !name.starts_with('.'));
            let paths = paths.map(|name| format!("{}/{name}", folder.trim_end_matches('/')));
            paths.map(|path| (path.clone(), read(&path))).collect()
        }
        Ok(_) => vec![(folder.to_owned(), read(folder))],
    }
}

/// Reads a file as text.
pub(super) fn read_text(root: &Path, path: &str) -> Text {
    match read_beneath(root, path, LIMIT) {
        Ok(bytes) => text_of(bytes),
        Err(error) => unread(error),
    }
}

fn text_of(bytes: Vec<u8>) -> Text {
    match String::from_utf8(bytes) {
        Ok(text) => Text::Read(text),
        Err(_) => Text::Unreadable("not text in UTF-8".to_owned()),
    }
}

fn unread(error: ReadError) -> Text {
    match error {
        ReadError::Absent => Text::Absent,
        error => Text::Unreadable(error.to_string()),
    }
}
