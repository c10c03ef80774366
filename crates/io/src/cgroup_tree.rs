//! Reading the cgroup tree.
//!
//! Each folder is opened in the one above it and never through a link, so that nothing outside the
//! mounted hierarchies can be read. The tree changes while it is read: a cgroup that is gone before
//! all of it was read is left out.
//!
//! Of the time, nearly all is the kernel's. So each folder is opened and listed once at most (that of a
//! container is not: which files it can have is known), each text is read at once where the
//! kernel gives it at once, and the cgroups are put in order at the end: a walk meets them nearly in order, which
//! costs less than to search the place of each.

use crate::host::{ReadError, folder_beneath};
use crate::memory;
use crate::watchdog::reading;
use kq_facts::cgroup_file::{CgroupFile, FileUse, v1_controllers};
use kq_facts::cgroup_layout::CgroupLayout;
use kq_facts::cgroup_mode::CgroupVersion;
use kq_facts::cgroup_name::CRUN_SUBGROUP;
use kq_facts::cgroup_tree::{CgroupPath, CgroupTexts, CgroupTree, LEVELS};
use kq_facts::lookup::FailedSource;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, RawDir, SeekFrom, fstat, openat, seek};
use rustix::io::{Errno, read};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::path::Path;
use std::sync::Arc;

pub use kq_facts::cgroup_tree::TreeNeeds;

/// No cgroup that is meant to be used is deeper.
const DEEPEST: usize = 32;

/// The largest text that is kept: half a million processes.
const MAX_TEXT: usize = 4 << 20;

/// Reads the tree of a machine whose root folder is at `host_root`.
///
/// Also reads the settings of the root cgroup and of those right below it, which compete with
/// kubepods.
pub fn read_tree(host_root: &Path, layout: &CgroupLayout, needs: &TreeNeeds) -> CgroupTree {
    let mut found = Found::default();
    let mut buffers = Buffers::default();
    for hierarchy in hierarchies(layout) {
        let hierarchy = &hierarchy;
        // Files that are named after sizes of huge pages have the names of the cgroup above.
        let wanted = CgroupFile::ALL.iter().filter(|file| {
            !file.has_size() && is_wanted(needs, hierarchy, **file, Detail::Container)
        });
        let names = wanted.filter_map(|file| CString::new(file.name_on(hierarchy.version)?).ok());
        let mut names: Vec<CString> = names.collect();
        names.sort();
        let names = names.as_slice();
        let walk = Walk { hierarchy, names, needs, found: &mut found, buffers: &mut buffers };
        walk.from(host_root);
    }
    let mut tree = CgroupTree {
        layout: layout.clone(),
        cgroups: Arc::new(merged(found.cgroups)),
        problems: found.problems,
        ..CgroupTree::default()
    };
    if needs.processes {
        read_scores(host_root, needs, &mut tree);
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

#[derive(Default)]
struct Found {
    /// A cgroup of v1 is here once per hierarchy.
    cgroups: Vec<(CgroupPath, Texts)>,
    problems: Vec<FailedSource>,
}

impl Found {
    fn add(&mut self, path: &CgroupPath, texts: Texts) {
        let length: usize = texts.iter().map(|(name, text)| name.len() + text.len()).sum();
        memory::received("the cgroup tree", path.as_str().len() + length);
        self.cgroups.push((path.clone(), texts));
    }
}

type Texts = Vec<(String, String)>;

/// Puts the cgroups in order, with the files of all hierarchies in each.
fn merged(mut cgroups: Vec<(CgroupPath, Texts)>) -> BTreeMap<CgroupPath, CgroupTexts> {
    cgroups.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut once: Vec<(CgroupPath, Texts)> = Vec::with_capacity(cgroups.len());
    for (path, texts) in cgroups {
        match once.last_mut() {
            Some((last, all)) if *last == path => all.extend(texts),
            _ => once.push((path, texts)),
        }
    }
    once.into_iter().map(|(path, texts)| (path, CgroupTexts(texts.into_iter().collect()))).collect()
}

/// Memory that is used for one folder or file after the other.
struct Buffers {
    listing: Vec<u8>,
    text: Vec<u8>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self { listing: Vec::with_capacity(1 << 15), text: vec![0; 1 << 13] }
    }
}

struct Walk<'a> {
    hierarchy: &'a Hierarchy<'a>,
    /// The files that are wanted of every container.
    names: &'a [CString],
    needs: &'a TreeNeeds,
    found: &'a mut Found,
    buffers: &'a mut Buffers,
}

/// What a folder holds.
#[derive(Default)]
struct Listed {
    /// The cgroups in it, in order.
    children: Vec<String>,
    /// The files that limit huge pages.
    hugepages: Vec<CString>,
}

/// What is read of one cgroup.
#[derive(Clone, Copy, PartialEq)]
enum Detail {
    /// All files.
    Full,
    /// The same without statistics.
    Container,
    /// What is used of the whole machine.
    Root,
    /// The settings only.
    Settings,
    /// The settings and the processes.
    Subgroup,
    /// The processes only.
    Processes,
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

impl Walk<'_> {
    fn from(mut self, host_root: &Path) {
        // The mount point itself may be a link: cpu -> cpu,cpuacct.
        let root = match folder_beneath(host_root, self.hierarchy.mount) {
            Ok(root) => root,
            Err(error) => {
                let reason = match error {
                    ReadError::Absent => reason(Errno::NOENT),
                    error => error.to_string(),
                };
                return self.problem(self.hierarchy.mount.to_owned(), reason);
            }
        };
        let top = CgroupPath::root();
        for child in self.read(root.as_fd(), &top, Detail::Root).children {
            let path = top.child(&child);
            if self.needs.roots.contains(&path) {
                continue;
            }
            match openat(&root, child.as_str(), FOLDER, Mode::empty()) {
                Ok(folder) => {
                    self.read(folder.as_fd(), &path, Detail::Settings);
                }
                Err(error) => self.not_opened(&path, error),
            }
        }
        // What is right below the root was read.
        for beside in self.needs.beside.iter().filter(|beside| beside.depth() > 1) {
            if let Some(folder) = self.descend(root.as_fd(), beside) {
                self.read(folder.as_fd(), beside, Detail::Settings);
            }
        }
        for wanted in &self.needs.roots {
            if let Some(folder) = self.descend(root.as_fd(), wanted) {
                self.walk(folder, wanted, 0, &[]);
            }
        }
    }

    /// Opens a cgroup part by part.
    fn descend(&mut self, root: BorrowedFd<'_>, path: &CgroupPath) -> Option<OwnedFd> {
        let mut folder = openat(root, ".", FOLDER, Mode::empty()).ok()?;
        for part in path.as_str().split('/').filter(|part| !part.is_empty()) {
            folder = match openat(&folder, part, FOLDER, Mode::empty()) {
                Ok(folder) => folder,
                Err(error) => {
                    self.not_opened(path, error);
                    return None;
                }
            };
        }
        Some(folder)
    }

    /// `hugepages` are the files of the cgroup above that are named after sizes of huge pages.
    fn walk(&mut self, folder: OwnedFd, path: &CgroupPath, level: usize, hugepages: &[CString]) {
        let detail = match level {
            LEVELS => Detail::Container,
            level if level < LEVELS => Detail::Full,
            level if level == LEVELS + 1 && path.name() == CRUN_SUBGROUP => Detail::Subgroup,
            _ => Detail::Processes,
        };
        if level == LEVELS && !(self.needs.processes && self.hierarchy.processes) {
            // Nothing below is needed: opening the files costs less than listing them first.
            return self.read_known(folder.as_fd(), path, hugepages);
        }
        let Listed { children, hugepages } = self.read(folder.as_fd(), path, detail);
        if children.is_empty() {
            return;
        }
        if level >= DEEPEST {
            let why = format!("deeper than {DEEPEST} levels, which kq does not read");
            return self.problem(self.place(path, &children[0]), why);
        }
        for child in children {
            let below = path.child(&child);
            match openat(&folder, child.as_str(), FOLDER, Mode::empty()) {
                Ok(folder) => self.walk(folder, &below, level + 1, &hugepages),
                Err(error) => self.not_opened(&below, error),
            }
        }
    }

    /// Reads the files of one cgroup, as far as they are there.
    fn read_known(&mut self, folder: BorrowedFd<'_>, path: &CgroupPath, hugepages: &[CString]) {
        let _reading = reading(path.as_str());
        let names = self.names;
        let mut texts = Vec::with_capacity(names.len() + hugepages.len());
        let mut gone = false;
        for name in names.iter().chain(hugepages) {
            let shown = name.to_string_lossy();
            match read_regular(folder, name, &mut self.buffers.text) {
                Ok(Some(text)) => texts.push((shown.into_owned(), text)),
                Ok(None) => {}
                Err(Errno::NOENT | Errno::NODEV) => gone = true,
                Err(error) => self.problem(self.place(path, &shown), reason(error)),
            }
        }
        if !(gone && self.is_removed(folder)) {
            self.found.add(path, texts);
        }
    }

    /// Reads the files of one cgroup and returns the names of the cgroups in it, in order.
    fn read(&mut self, folder: BorrowedFd<'_>, path: &CgroupPath, detail: Detail) -> Listed {
        let _reading = reading(path.as_str());
        let mut children = Vec::new();
        let mut hugepages = Vec::new();
        let mut texts = Vec::new();
        let mut problems = Vec::new();
        let mut gone = false;
        let Buffers { listing, text } = &mut *self.buffers;
        let mut entries = RawDir::new(folder, listing.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                // The cgroup went away while it was listed.
                Err(Errno::NOENT | Errno::NODEV) => return Listed::default(),
                Err(error) => {
                    problems.push((String::new(), reason(error)));
                    break;
                }
            };
            match entry.file_type() {
                FileType::Directory if !matches!(entry.file_name().to_bytes(), b"." | b"..") => {
                    match entry.file_name().to_str() {
                        Ok(name) => children.push(name.to_owned()),
                        Err(_) => {
                            let shown = entry.file_name().to_string_lossy().into_owned();
                            problems.push((shown, NO_TEXT.to_owned()));
                        }
                    }
                }
                FileType::RegularFile => {
                    // No file that kq knows has another name.
                    let Ok(name) = entry.file_name().to_str() else { continue };
                    let known = CgroupFile::known(self.hierarchy.version, name);
                    let Some(file) = known else { continue };
                    if !is_wanted(self.needs, self.hierarchy, file, detail) {
                        continue;
                    }
                    if file.has_size() {
                        hugepages.push(entry.file_name().to_owned());
                    }
                    match read_text(folder, entry.file_name(), text) {
                        Ok(text) => texts.push((name.to_owned(), text)),
                        Err(Errno::NOENT | Errno::NODEV) => gone = true,
                        Err(error) => problems.push((name.to_owned(), reason(error))),
                    }
                }
                _ => {}
            }
        }
        if gone && self.is_removed(folder) {
            return Listed::default();
        }
        for (name, why) in problems {
            self.problem(self.place(path, &name), why);
        }
        children.sort_unstable();
        self.found.add(path, texts);
        Listed { children, hugepages }
    }

    /// Returns true if a folder that is open was removed: nothing can be listed in it then.
    fn is_removed(&mut self, folder: BorrowedFd<'_>) -> bool {
        let listing = self.buffers.listing.spare_capacity_mut();
        seek(folder, SeekFrom::Start(0)).is_err()
            || matches!(RawDir::new(folder, listing).next(), Some(Err(_)))
    }

    fn place(&self, path: &CgroupPath, name: &str) -> String {
        let at = match name {
            "" => path.clone(),
            name => path.child(name),
        };
        format!("{}{}", self.hierarchy.mount, at.as_str())
    }

    fn not_opened(&mut self, path: &CgroupPath, error: Errno) {
        // What is not there, or not any more, is no problem.
        if !matches!(error, Errno::NOENT | Errno::NODEV) {
            self.problem(self.place(path, ""), reason(error));
        }
    }

    fn problem(&mut self, source: String, reason: String) {
        self.found.problems.push(FailedSource { source, reason });
    }
}

fn is_wanted(
    needs: &TreeNeeds,
    hierarchy: &Hierarchy<'_>,
    file: CgroupFile,
    detail: Detail,
) -> bool {
    match file.row().used_for {
        FileUse::OfProcess => false,
        FileUse::Processes => {
            needs.processes
                && hierarchy.processes
                && !matches!(detail, Detail::Settings | Detail::Root)
        }
        FileUse::Population => detail == Detail::Settings,
        // Of the root only what says how much memory is used: the kernel counts it for the whole machine.
        FileUse::Usage if detail == Detail::Root => {
            needs.statistics && file == CgroupFile::MemoryCurrent
        }
        FileUse::Usage if !needs.usage || !matches!(detail, Detail::Full | Detail::Container) => {
            false
        }
        FileUse::Statistics => needs.statistics && matches!(detail, Detail::Full | Detail::Root),
        FileUse::Setting if detail == Detail::Processes => false,
        FileUse::Usage | FileUse::Setting => {
            let here = hierarchy.controllers.as_ref();
            here.is_none_or(|controllers| controllers.contains(&file.row().controller))
        }
    }
}

/// Reads a whole file of the kernel that was not listed: `None` when it is something else.
fn read_regular(
    folder: BorrowedFd<'_>,
    name: &CStr,
    buffer: &mut Vec<u8>,
) -> Result<Option<String>, Errno> {
    let file = match openat(folder, name, FILE, Mode::empty()) {
        // A link, or a socket.
        Err(Errno::LOOP | Errno::NXIO) => return Ok(None),
        opened => opened?,
    };
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => read_open(&file, name, buffer).map(Some),
        _ => Ok(None),
    }
}

/// Reads a whole file of the kernel. The buffer grows with the largest.
fn read_text(folder: BorrowedFd<'_>, name: &CStr, buffer: &mut Vec<u8>) -> Result<String, Errno> {
    read_open(&openat(folder, name, FILE, Mode::empty())?, name, buffer)
}

/// Reads all that is in a file. The kernel gives each text at once, as far as there is room; only the
/// list of processes comes in pieces, and its end has to be asked for.
fn read_open(file: &OwnedFd, name: &CStr, buffer: &mut Vec<u8>) -> Result<String, Errno> {
    let in_pieces = name == c"cgroup.procs";
    let mut length = 0;
    loop {
        if length == buffer.len() {
            if length > MAX_TEXT {
                return Err(Errno::FBIG);
            }
            buffer.resize(length * 2, 0);
        }
        let room = buffer.len() - length;
        match read(file, &mut buffer[length..])? {
            0 => break,
            count => {
                length += count;
                if count < room && !in_pieces {
                    break;
                }
            }
        }
    }
    match std::str::from_utf8(&buffer[..length]) {
        Ok(_) if length > MAX_TEXT => Err(Errno::FBIG),
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(Errno::ILSEQ),
    }
}

/// Reads how the kernel ranks the processes of the containers when memory runs out.
fn read_scores(host_root: &Path, needs: &TreeNeeds, tree: &mut CgroupTree) {
    let mut pids: Vec<i32> = Vec::new();
    for root in &needs.roots {
        let inside = tree.within(root).filter(|(path, _)| path.depth() > root.depth() + 1);
        pids.extend(inside.flat_map(|(_, texts)| texts.pids()));
    }
    if pids.is_empty() {
        return;
    }
    let problem = |source: &str, reason| FailedSource { source: source.to_owned(), reason };
    let proc = match folder_beneath(host_root, "/proc") {
        Ok(proc) => proc,
        Err(error) => return tree.problems.push(problem("/proc", error.to_string())),
    };
    let mut buffer = Buffers::default().text;
    for pid in pids {
        let _reading = reading("/proc/PID/oom_score_adj");
        let score = openat(&proc, pid.to_string(), FOLDER, Mode::empty())
            .and_then(|folder| read_text(folder.as_fd(), c"oom_score_adj", &mut buffer));
        match score {
            Ok(text) => {
                tree.oom_score_adj.insert(pid, text.trim_end().to_owned());
            }
            // A process that has ended has no score.
            Err(Errno::NOENT | Errno::SRCH) => {}
            Err(error) => {
                tree.problems.push(problem(&format!("/proc/{pid}/oom_score_adj"), reason(error)));
            }
        }
    }
}

/// Of a file or a name.
const NO_TEXT: &str = "not text in UTF-8";

/// Returns what the system said, in words.
fn reason(error: Errno) -> String {
    match error {
        Errno::ILSEQ => NO_TEXT.to_owned(),
        Errno::FBIG => format!("larger than {MAX_TEXT} bytes, which kq does not read"),
        Errno::LOOP => "a link, expected a folder or file".to_owned(),
        error => super::input::plain(&std::io::Error::from(error)),
    }
}
