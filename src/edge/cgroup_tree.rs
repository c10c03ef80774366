//! Reading the cgroup tree.
//!
//! Each folder is opened in the one above it and never through a link, so that nothing outside the
//! mounted hierarchies can be read. The tree changes while it is read: what is gone is left out.

use crate::facts::cgroup_layout::CgroupLayout;
use crate::facts::cgroup_mode::CgroupVersion;
use crate::facts::cgroup_tree::{
    CgroupPath, CgroupTexts, CgroupTree, FileUse, KnownFile, LEVELS, known_file, v1_controllers,
};
use crate::facts::sought::Tried;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Dir, FileType, Mode, OFlags, open, openat};
use rustix::io::{Errno, read};
use std::collections::BTreeMap;
use std::path::Path;

/// What to read of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeWants {
    /// The cgroups that are read with all that is in them; one that is not there is left out.
    pub roots: Vec<CgroupPath>,
    /// What the kernel counts, not only what is set.
    pub usage: bool,
    /// The processes, and `oom_score_adj` of those in containers.
    pub processes: bool,
}

/// No cgroup that is meant to be used is deeper.
const DEEPEST: usize = 32;

/// The largest text that is kept: half a million processes.
const MAX_TEXT: usize = 4 << 20;

/// Reads the tree of a machine whose root folder is at `host_root`.
///
/// Also reads the settings of the root cgroup and of those right below it, beside which kubepods has
/// to compete.
pub fn read_tree(host_root: &Path, layout: &CgroupLayout, wants: &TreeWants) -> CgroupTree {
    let mut tree = CgroupTree { layout: layout.clone(), ..CgroupTree::default() };
    for hierarchy in hierarchies(layout) {
        let mount = host_root.join(hierarchy.mount.trim_start_matches('/'));
        let walk = Walk { hierarchy: &hierarchy, wants, tree: &mut tree };
        walk.from(&mount);
    }
    if wants.processes {
        read_scores(host_root, wants, &mut tree);
    }
    tree
}

/// One mounted hierarchy and the controllers whose files are read there.
struct Hierarchy<'l> {
    mount: &'l str,
    version: CgroupVersion,
    /// `None`: all.
    controllers: Option<Vec<&'static str>>,
    /// The processes are the same in each hierarchy of v1; they are read in one.
    processes: bool,
}

/// Returns each mounted hierarchy that has to be read.
fn hierarchies(layout: &CgroupLayout) -> Vec<Hierarchy<'_>> {
    match (layout.version(), &layout.unified) {
        (Some(CgroupVersion::V2), Some(mount)) => {
            let version = CgroupVersion::V2;
            vec![Hierarchy { mount, version, controllers: None, processes: true }]
        }
        (Some(CgroupVersion::V1), _) => {
            let mut mounts: BTreeMap<&str, Vec<&'static str>> = BTreeMap::new();
            for controller in v1_controllers() {
                if let Some(mount) = layout.controllers.get(controller) {
                    mounts.entry(mount).or_default().push(controller);
                }
            }
            let with_processes = ["memory", "cpu", "pids"]
                .into_iter()
                .find_map(|name| layout.controllers.get(name).map(String::as_str));
            let hierarchies = mounts.into_iter().map(|(mount, controllers)| Hierarchy {
                mount,
                version: CgroupVersion::V1,
                controllers: Some(controllers),
                processes: with_processes == Some(mount),
            });
            hierarchies.collect()
        }
        _ => Vec::new(),
    }
}

struct Walk<'a> {
    hierarchy: &'a Hierarchy<'a>,
    wants: &'a TreeWants,
    tree: &'a mut CgroupTree,
}

/// What is read of one cgroup.
#[derive(Clone, Copy, PartialEq)]
enum Detail {
    /// All that is wanted.
    Full,
    /// The settings only.
    Settings,
    /// The processes only.
    Processes,
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

impl Walk<'_> {
    fn from(mut self, mount: &Path) {
        // The mount point itself may be a link: cpu -> cpu,cpuacct.
        let root = match open(mount, FOLDER.difference(OFlags::NOFOLLOW), Mode::empty()) {
            Ok(root) => root,
            Err(error) => return self.problem(self.hierarchy.mount.to_owned(), error),
        };
        let top = CgroupPath::root();
        for child in self.read(root.as_fd(), &top, Detail::Settings) {
            let path = top.child(&child);
            if self.wants.roots.contains(&path) {
                continue;
            }
            if let Ok(folder) = openat(&root, child.as_str(), FOLDER, Mode::empty()) {
                self.read(folder.as_fd(), &path, Detail::Settings);
            }
        }
        for wanted in self.wants.roots.clone() {
            if let Some(folder) = self.descend(root.as_fd(), &wanted) {
                self.walk(folder, &wanted, 0);
            }
        }
    }

    /// Opens a cgroup part by part.
    fn descend(&mut self, root: BorrowedFd<'_>, path: &CgroupPath) -> Option<OwnedFd> {
        let mut folder = openat(root, ".", FOLDER, Mode::empty()).ok()?;
        for part in path.as_str().split('/').filter(|part| !part.is_empty()) {
            folder = match openat(&folder, part, FOLDER, Mode::empty()) {
                Ok(folder) => folder,
                Err(Errno::NOENT) => return None,
                Err(error) => {
                    self.problem(format!("{}{}", self.hierarchy.mount, path.as_str()), error);
                    return None;
                }
            };
        }
        Some(folder)
    }

    fn walk(&mut self, folder: OwnedFd, path: &CgroupPath, level: usize) {
        let detail = if level <= LEVELS { Detail::Full } else { Detail::Processes };
        let deeper = level < LEVELS || (self.wants.processes && self.hierarchy.processes);
        let children = self.read(folder.as_fd(), path, detail);
        if !deeper || level >= DEEPEST {
            return;
        }
        for child in children {
            match openat(&folder, child.as_str(), FOLDER, Mode::empty()) {
                Ok(below) => self.walk(below, &path.child(&child), level + 1),
                Err(Errno::NOENT) => {}
                Err(error) => {
                    let place = format!("{}{}/{child}", self.hierarchy.mount, path.as_str());
                    self.problem(place, error);
                }
            }
        }
    }

    /// Reads the files of one cgroup and returns the names of the cgroups in it.
    fn read(&mut self, folder: BorrowedFd<'_>, path: &CgroupPath, detail: Detail) -> Vec<String> {
        let mut children = Vec::new();
        let mut texts = Vec::new();
        let place = |name: &str| format!("{}{}/{name}", self.hierarchy.mount, path.as_str());
        let mut problems = Vec::new();
        let listing = match Dir::read_from(folder) {
            Ok(listing) => listing,
            Err(error) => {
                self.problem(place(""), error);
                return children;
            }
        };
        for entry in listing {
            let entry = match entry {
                Ok(entry) => entry,
                // The cgroup went away while it was listed.
                Err(_) => return Vec::new(),
            };
            let Ok(name) = entry.file_name().to_str() else { continue };
            match entry.file_type() {
                FileType::Directory if !matches!(name, "." | "..") => {
                    children.push(name.to_owned())
                }
                FileType::RegularFile => {
                    let Some(file) = known_file(self.hierarchy.version, name) else { continue };
                    if !self.is_wanted(file, detail) {
                        continue;
                    }
                    match read_text(folder, name) {
                        Ok(text) => texts.push((name.to_owned(), text)),
                        Err(Errno::NOENT | Errno::NODEV) => {}
                        Err(error) => problems.push((place(name), error)),
                    }
                }
                _ => {}
            }
        }
        for (place, error) in problems {
            self.problem(place, error);
        }
        children.sort_unstable();
        let here: &mut CgroupTexts = self.tree.cgroups.entry(path.clone()).or_default();
        here.0.extend(texts);
        children
    }

    fn is_wanted(&self, file: KnownFile, detail: Detail) -> bool {
        let here = self.hierarchy.controllers.as_ref();
        match file.used_for {
            FileUse::Processes => {
                self.wants.processes && self.hierarchy.processes && detail != Detail::Settings
            }
            FileUse::Usage if !self.wants.usage || detail != Detail::Full => false,
            FileUse::Setting if detail == Detail::Processes => false,
            FileUse::Usage | FileUse::Setting => {
                here.is_none_or(|controllers| controllers.contains(&file.controller))
            }
        }
    }

    fn problem(&mut self, source: String, error: Errno) {
        self.tree.problems.push(Tried { source, reason: reason(error) });
    }
}

/// Reads a whole file of the kernel.
fn read_text(folder: BorrowedFd<'_>, name: &str) -> Result<String, Errno> {
    let file = openat(folder, name, FILE, Mode::empty())?;
    // Nearly every text is shorter; a page is what the kernel gives at once.
    let mut buffer = [0_u8; 4096];
    let mut bytes = Vec::new();
    loop {
        match read(&file, &mut buffer)? {
            0 => break,
            count if bytes.len() + count > MAX_TEXT => return Err(Errno::FBIG),
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
    String::from_utf8(bytes).map_err(|_| Errno::ILSEQ)
}

/// Reads how the kernel ranks the processes of the containers when memory runs out.
fn read_scores(host_root: &Path, wants: &TreeWants, tree: &mut CgroupTree) {
    let proc = host_root.join("proc");
    let Ok(proc) = open(&proc, FOLDER, Mode::empty()) else { return };
    for root in &wants.roots {
        let pids: Vec<i32> = tree
            .within(root)
            .filter(|(path, _)| path.depth() > root.depth() + 1)
            .flat_map(|(_, texts)| texts.pids())
            .collect();
        for pid in pids {
            let file = format!("{pid}/oom_score_adj");
            // A process that has ended has no score.
            if let Ok(text) = read_text(proc.as_fd(), &file) {
                tree.oom_score_adj.insert(pid, text.trim_end().to_owned());
            }
        }
    }
}

/// Returns what the system said, in words.
fn reason(error: Errno) -> String {
    super::input::plain(&std::io::Error::from(error))
}
