//! Reading and writing single files of the cgroup tree, for a change.
//!
//! A path is opened beneath the hierarchy's mount with `openat2`: no part of it may be a link, lead up
//! or cross into another mount, whatever the tree holds at that moment. Only files that kq knows are
//! opened, and of those only the ones in which something is set are written.

use crate::host::{ReadError, open_folder};
use crate::input::plain;
use crate::watchdog::reading;
use kq_facts::cgroup_file::{CgroupFile, FileUse};
use kq_facts::cgroup_layout::CgroupLayout;
use kq_facts::cgroup_mode::CgroupVersion;
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::{Errno, read, write};
use std::path::{Path, PathBuf};

/// The longest text that is read: no file in which one value is set or counted comes near.
const MAX_TEXT: usize = 1 << 16;

/// The files of a machine's cgroups.
#[derive(Debug)]
pub struct KernelFiles {
    host_root: PathBuf,
    layout: CgroupLayout,
}

impl KernelFiles {
    /// Returns the files of the machine whose root folder is at `host_root`.
    pub fn new(host_root: &Path, layout: &CgroupLayout) -> Self {
        Self { host_root: host_root.to_owned(), layout: layout.clone() }
    }

    /// Returns the text of a file without its line end.
    pub fn read(&self, cgroup: &str, file: &str) -> Result<String, String> {
        let refuse = |why: String| format!("cannot read {cgroup}/{file}: {why}");
        self.read_text(cgroup, file).map_err(refuse)
    }

    /// Returns the text of a file like [`KernelFiles::read`]; `None`: there is no such file.
    pub fn read_if_there(&self, cgroup: &str, file: &str) -> Result<Option<String>, String> {
        match self.read_text(cgroup, file) {
            Ok(text) => Ok(Some(text)),
            // A cgroup can go away after its file was opened.
            Err(why) if [Errno::NOENT, Errno::NODEV].map(reason).contains(&why) => Ok(None),
            Err(why) => Err(format!("cannot read {cgroup}/{file}: {why}")),
        }
    }

    /// Writes a text to a file, at once: the kernel takes each write for a whole value.
    pub fn write(&self, cgroup: &str, file: &str, text: &str) -> Result<(), String> {
        let refuse = |why: String| format!("cannot write {cgroup}/{file}: {why}");
        self.write_text(cgroup, file, text).map_err(refuse)
    }

    fn read_text(&self, cgroup: &str, file: &str) -> Result<String, String> {
        let _reading = reading(cgroup);
        let (mount, _) = self.place(file)?;
        let open = self.open_beneath(mount, cgroup, file, OFlags::RDONLY)?;
        let mut text = Vec::new();
        let mut buffer = [0_u8; 4096];
        loop {
            match read(&open, &mut buffer).map_err(reason)? {
                0 => break,
                count => text.extend_from_slice(&buffer[..count]),
            }
            if text.len() > MAX_TEXT {
                return Err(format!("larger than {MAX_TEXT} bytes, which no value is"));
            }
        }
        let text = String::from_utf8(text).map_err(|_| "not text in UTF-8".to_owned())?;
        Ok(text.trim_end_matches('\n').to_owned())
    }

    fn write_text(&self, cgroup: &str, file: &str, text: &str) -> Result<(), String> {
        let (mount, used_for) = self.place(file)?;
        if used_for != FileUse::Setting {
            return Err("it is not a setting".to_owned());
        }
        let open = self.open_beneath(mount, cgroup, file, OFlags::WRONLY | OFlags::TRUNC)?;
        // The kernel passes over a write of nothing; the end of a line is nothing to it.
        let bytes = if text.is_empty() { "\n" } else { text }.as_bytes();
        match write(&open, bytes).map_err(reason)? {
            count if count == bytes.len() => Ok(()),
            count => Err(format!("{count} of {} bytes were taken", bytes.len())),
        }
    }

    /// Returns where the hierarchy of a file is mounted on the node, and what the file is good for.
    fn place(&self, file: &str) -> Result<(&str, FileUse), String> {
        let absent = || "no hierarchy with this controller is mounted".to_owned();
        let version = self.layout.version().ok_or_else(absent)?;
        let known = CgroupFile::known(version, file)
            .filter(|known| known.row().used_for != FileUse::Processes && !file.contains('/'));
        let known =
            known.ok_or_else(|| format!("cgroup v{} has no such value", u8::from(version)))?;
        let mount = match version {
            CgroupVersion::V2 => self.layout.unified.as_ref(),
            CgroupVersion::V1 => self.layout.controllers.get(known.row().controller),
        };
        let mount = mount.ok_or_else(absent)?;
        Ok((mount, known.row().used_for))
    }

    /// Opens a plain file in a cgroup, and nothing else.
    fn open_beneath(
        &self,
        mount: &str,
        cgroup: &str,
        file: &str,
        flags: OFlags,
    ) -> Result<OwnedFd, String> {
        // The kernel would follow such a part as long as it stays beneath the mount: into another pod.
        if cgroup.split('/').any(|part| part == "..") {
            return Err("a part of the path leads up".to_owned());
        }
        // The mount point itself may be a link: cpu -> cpu,cpuacct.
        let root = open_folder(&self.host_root, mount)
            .map_err(|error| format!("its hierarchy: {}", in_words(error)))?;
        let path = match cgroup.trim_start_matches('/') {
            "" => file.to_owned(),
            cgroup => format!("{cgroup}/{file}"),
        };
        let beneath = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        let open = |flags: OFlags| {
            let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let file = openat2(&root, &path, flags, Mode::empty(), beneath).map_err(reason)?;
            let kind = fstat(&file).map_err(reason)?.st_mode;
            match FileType::from_raw_mode(kind) {
                FileType::RegularFile => Ok(file),
                FileType::Symlink => Err(reason(Errno::LOOP)),
                _ => Err("it is not a regular file".to_owned()),
            }
        };
        // First without opening it for real: opening a device can do something.
        open(OFlags::PATH)?;
        open(flags | OFlags::NONBLOCK | OFlags::NOCTTY)
    }
}

fn in_words(error: ReadError) -> String {
    match error {
        ReadError::Absent => reason(Errno::NOENT),
        error => error.to_string(),
    }
}

fn reason(error: Errno) -> String {
    match error {
        Errno::LOOP => "a part of the path is a link".to_owned(),
        Errno::XDEV => "the path leaves the hierarchy".to_owned(),
        Errno::NOSYS => "the kernel cannot open a file beneath a folder only (openat2)".to_owned(),
        error => plain(&std::io::Error::from(error)),
    }
}
