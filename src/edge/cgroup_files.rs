//! Reading and writing single files of the cgroup tree, for a change.
//!
//! A path is opened beneath the hierarchy's mount with `openat2`: no part of it may be a link, lead up
//! or cross into another mount, whatever the tree holds at that moment.

use crate::edge::input::plain;
use crate::facts::cgroup_layout::CgroupLayout;
use crate::facts::cgroup_mode::CgroupVersion;
use crate::facts::cgroup_tree::known_file;
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2};
use rustix::io::{Errno, read, write};
use std::path::{Path, PathBuf};

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
    ///
    /// # Errors
    ///
    /// Fails with the reason, in words.
    pub fn read(&self, cgroup: &str, file: &str) -> Result<String, String> {
        let open = self.open(cgroup, file, OFlags::RDONLY)?;
        let mut text = Vec::new();
        let mut buffer = [0_u8; 4096];
        loop {
            match read(&open, &mut buffer).map_err(|error| reason("read", cgroup, file, error))? {
                0 => break,
                count => text.extend_from_slice(&buffer[..count]),
            }
        }
        let text = String::from_utf8(text)
            .map_err(|_| format!("cannot read {cgroup}/{file}: it holds no text"))?;
        Ok(text.trim_end_matches('\n').to_owned())
    }

    /// Writes a text to a file, at once: the kernel takes each write for a whole value.
    ///
    /// # Errors
    ///
    /// Fails with the reason, in words.
    pub fn write(&self, cgroup: &str, file: &str, text: &str) -> Result<(), String> {
        let open = self.open(cgroup, file, OFlags::WRONLY | OFlags::TRUNC)?;
        match write(&open, text.as_bytes()) {
            Ok(count) if count == text.len() => Ok(()),
            Ok(count) => Err(format!(
                "cannot write {cgroup}/{file}: {count} of {} bytes were taken",
                text.len()
            )),
            Err(error) => Err(reason("write", cgroup, file, error)),
        }
    }

    fn open(&self, cgroup: &str, file: &str, flags: OFlags) -> Result<OwnedFd, String> {
        let refuse = |error| reason("open", cgroup, file, error);
        let mount = self.mount(file).ok_or_else(|| {
            format!("cannot open {cgroup}/{file}: no hierarchy with this controller is mounted")
        })?;
        // The mount point itself may be a link: cpu -> cpu,cpuacct.
        let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = open(&mount, folder, Mode::empty()).map_err(refuse)?;
        let path = format!("{}/{file}", cgroup.trim_start_matches('/'));
        let beneath = ResolveFlags::BENEATH
            | ResolveFlags::NO_SYMLINKS
            | ResolveFlags::NO_MAGICLINKS
            | ResolveFlags::NO_XDEV;
        let flags = flags | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let open = openat2(&root, path, flags, Mode::empty(), beneath).map_err(refuse)?;
        let kind = FileType::from_raw_mode(fstat(&open).map_err(refuse)?.st_mode);
        if kind != FileType::RegularFile {
            return Err(format!("cannot open {cgroup}/{file}: it is no file"));
        }
        Ok(open)
    }

    /// Returns where the hierarchy of a file is mounted, as kq sees it.
    fn mount(&self, file: &str) -> Option<PathBuf> {
        let version = self.layout.version()?;
        let mount = match version {
            CgroupVersion::V2 => self.layout.unified.as_ref()?,
            CgroupVersion::V1 => {
                let controller = match known_file(version, file) {
                    Some(known) => known.controller,
                    None => file.split('.').next().unwrap_or_default(),
                };
                self.layout.controllers.get(controller)?
            }
        };
        Some(self.host_root.join(mount.trim_start_matches('/')))
    }
}

fn reason(what: &str, cgroup: &str, file: &str, error: Errno) -> String {
    let why = match error {
        Errno::LOOP => "a part of the path is a link".to_owned(),
        Errno::XDEV => "the path leaves the hierarchy".to_owned(),
        error => plain(&std::io::Error::from(error)),
    };
    format!("cannot {what} {cgroup}/{file}: {why}")
}
