//! A place where kq writes: a name in an open folder.
//!
//! A path is resolved component by component, each folder opened in its parent, so that a concurrent rename cannot
//! redirect it. A symbolic link is followed only where no untrusted user can have planted it: in a folder
//! that belongs to root or kq's user and that no other user can write to, or as a link of these two with one name. That is
//! stricter than `fs.protected_symlinks` of the kernel, and independent of that setting. (systemd's `chase()`
//! with `CHASE_SAFE` likewise rejects a step from an untrusted user's file to another user's.)

use crate::host::{ReadError, kind_name};
use crate::input::plain;
use rustix::fs::{
    self, AtFlags, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, fstat, fstatfs, openat,
    readlinkat, statat,
};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// How many links may lead on, as in the kernel.
const MOST_LINKS: usize = 40;

/// A folder on the way.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A name in a folder.
#[derive(Debug)]
pub struct Place {
    /// Open for reading, so that it can be synced.
    pub folder: OwnedFd,
    pub name: OsString,
    /// A link in `/proc` to an open file, such as `/dev/stdout`, which has no path.
    pub is_open_file: bool,
}

/// How to treat a link at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    Follow,
    /// Uses its name.
    Keep,
}

impl Place {
    /// Finds the place of a path that a person named.
    pub fn find(path: &Path, last: Last) -> Result<Self, ReadError> {
        let open = |path: &str| fs::open(path, FOLDER, Mode::empty()).map_err(system);
        let here = if path.is_absolute() { open("/")? } else { open(".")? };
        let mut walk = Walk::new(open("/")?, here, path, false);
        loop {
            let name = walk.left.pop_front();
            if let Some(name) = name.as_ref().filter(|_| !walk.left.is_empty()) {
                walk.enter(name)?;
                continue;
            }
            let name = name.filter(|name| name != "..");
            let name = name.ok_or_else(|| ReadError::System("it is not a file name".to_owned()))?;
            let link = match walk.open(&name) {
                Ok((link, stat)) if last == Last::Follow && is(&stat, FileType::Symlink) => link,
                Ok(_) | Err(ReadError::Absent) => return walk.place(name, false),
                Err(error) => return Err(error),
            };
            if is_of_kernel(&link)? {
                return walk.place(name, true);
            }
            walk.enter(&name)?;
        }
    }

    /// Returns what exists there; `None`: nothing.
    pub fn stat(&self) -> Result<Option<Stat>, Errno> {
        let flags = if self.is_open_file { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
        match statat(&self.folder, &self.name, flags) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Rejects what an untrusted user may have planted.
    pub fn check_owner(&self, found: &Stat) -> Result<(), ReadError> {
        let folder = fstat(&self.folder).map_err(system)?;
        match self.is_open_file || is_trusted(&folder, found) {
            true => Ok(()),
            false => Err(planted(found, &self.name)),
        }
    }
}

/// Opens a folder below the node's root for writing in it.
pub fn folder_to_write(root: &Path, path: impl AsRef<Path>) -> Result<OwnedFd, ReadError> {
    let open = || {
        fs::open(root, FOLDER, Mode::empty()).map_err(|error| match error {
            Errno::NOENT => ReadError::Absent,
            error => ReadError::System(format!("{}: {}", root.display(), plain(&error.into()))),
        })
    };
    let mut walk = Walk::new(open()?, open()?, path.as_ref(), root != Path::new("/"));
    while let Some(name) = walk.left.pop_front() {
        walk.enter(&name)?;
    }
    walk.reopen()
}

/// A path that is walked.
struct Walk {
    /// Where absolute links begin, and `..` ends.
    top: OwnedFd,
    here: OwnedFd,
    left: VecDeque<OsString>,
    links: usize,
    /// Nothing leads out of the top: it is the root of another node.
    is_beneath: bool,
}

impl Walk {
    fn new(top: OwnedFd, here: OwnedFd, path: &Path, is_beneath: bool) -> Self {
        let mut walk = Self { top, here, left: VecDeque::new(), links: 0, is_beneath };
        walk.prepend(path);
        walk
    }

    fn prepend(&mut self, path: &Path) {
        for part in path.components().rev() {
            match part {
                Component::Normal(name) => self.left.push_front(name.to_owned()),
                Component::ParentDir => self.left.push_front("..".into()),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
    }

    /// Opens an entry without reading it, which could block or have side effects.
    fn open(&self, name: &OsStr) -> Result<(OwnedFd, Stat), ReadError> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = openat(&self.here, name, flags, Mode::empty()).map_err(system)?;
        let stat = fstat(&found).map_err(system)?;
        Ok((found, stat))
    }

    /// Enters a folder, or prepends a link's target to the remaining path.
    fn enter(&mut self, name: &OsStr) -> Result<(), ReadError> {
        if name == ".." {
            let (here, top) = (fstat(&self.here), fstat(&self.top));
            let (here, top) = (here.map_err(system)?, top.map_err(system)?);
            if (here.st_dev, here.st_ino) != (top.st_dev, top.st_ino) {
                self.here = openat(&self.here, "..", FOLDER, Mode::empty()).map_err(system)?;
            }
            return Ok(());
        }
        let (found, stat) = self.open(name)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => self.here = found,
            FileType::Symlink => self.follow(name, &found, &stat)?,
            kind => {
                return Err(ReadError::Kind { found: kind_name(kind), expected: "a folder" });
            }
        }
        Ok(())
    }

    fn follow(&mut self, name: &OsStr, link: &OwnedFd, stat: &Stat) -> Result<(), ReadError> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(system(Errno::LOOP));
        }
        if !is_trusted(&fstat(&self.here).map_err(system)?, stat) {
            return Err(planted(stat, name));
        }
        if is_of_kernel(link)? && !self.is_beneath {
            self.here = openat(&self.here, name, FOLDER, Mode::empty()).map_err(system)?;
            return Ok(());
        }
        let target = readlinkat(link, "", Vec::new()).map_err(system)?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        if target.is_absolute() {
            self.here = openat(&self.top, ".", FOLDER, Mode::empty()).map_err(system)?;
        }
        self.prepend(&target);
        Ok(())
    }

    fn reopen(&self) -> Result<OwnedFd, ReadError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(&self.here, ".", flags, Mode::empty()).map_err(system)
    }

    fn place(&self, name: OsString, is_open_file: bool) -> Result<Place, ReadError> {
        Ok(Place { folder: self.reopen()?, name, is_open_file })
    }
}

/// Returns true if no untrusted user can have planted the entry, by its folder or its type and owner.
fn is_trusted(folder: &Stat, found: &Stat) -> bool {
    let others = Mode::WGRP | Mode::WOTH;
    let is_closed = !Mode::from_raw_mode(folder.st_mode).intersects(others);
    (is_own(folder) && is_closed) || (is_own(found) && found.st_nlink == 1)
}

/// Returns true for an entry of root or kq's user.
pub fn is_own(stat: &Stat) -> bool {
    stat.st_uid == 0 || stat.st_uid == geteuid().as_raw()
}

fn planted(found: &Stat, name: &OsStr) -> ReadError {
    let kind = kind_name(FileType::from_raw_mode(found.st_mode));
    let name = name.to_string_lossy();
    let why = match is_own(found) {
        true => "has a second link, in a folder that others can write to".to_owned(),
        false => format!("belongs to user {}", found.st_uid),
    };
    ReadError::System(format!("{name:?} is {kind} that {why}: kq does not write there"))
}

fn is(stat: &Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(stat.st_mode) == kind
}

/// Returns true for a file of `/proc`, whose links lead to open files and not to paths.
fn is_of_kernel(file: &OwnedFd) -> Result<bool, ReadError> {
    Ok(fstatfs(file).map_err(system)?.f_type == PROC_SUPER_MAGIC)
}

pub(crate) fn system(error: Errno) -> ReadError {
    match error {
        Errno::NOENT => ReadError::Absent,
        error => ReadError::System(plain(&error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, create_dir_all, write};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn shown(place: Result<Place, ReadError>) -> String {
        match place {
            Ok(place) => {
                let folder = fstat(&place.folder).expect("it is open");
                format!("{}/{}", folder.st_ino, place.name.to_string_lossy())
            }
            Err(error) => error.to_string(),
        }
    }

    fn inode(path: &Path) -> u64 {
        fs::stat(path).expect("it is there").st_ino
    }

    #[test]
    fn links_of_ones_own_lead_on() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let at = |name: &str| folder.path().join(name);
        create_dir_all(at("a/b")).expect("a folder can be made");
        for (target, link) in [("a/b", "short"), ("../a", "a/up"), ("loop", "loop")] {
            symlink(target, at(link)).expect("a link can be made");
        }
        symlink(at("a/b/new"), at("file")).expect("a link can be made");
        write(at("plain"), "").expect("a file can be written");
        let (top, a, b) = (inode(folder.path()), inode(&at("a")), inode(&at("a/b")));
        let rows = [
            ("new", Last::Follow, format!("{top}/new")),
            ("short/x", Last::Follow, format!("{b}/x")),
            ("a/up/up/x", Last::Follow, format!("{a}/x")),
            ("a/b/../x", Last::Follow, format!("{a}/x")),
            ("file", Last::Follow, format!("{b}/new")),
            ("file", Last::Keep, format!("{top}/file")),
            ("loop", Last::Follow, "too many levels of symbolic links".to_owned()),
            ("loop", Last::Keep, format!("{top}/loop")),
            ("gone/x", Last::Follow, "no such file".to_owned()),
            ("plain/x", Last::Follow, "a file, expected a folder".to_owned()),
            ("a/..", Last::Follow, "it is not a file name".to_owned()),
        ];
        for (path, last, expected) in rows {
            let found = shown(Place::find(&at(path), last));
            assert!(found.starts_with(&expected), "{path}: {found}, expected {expected}");
        }
    }

    #[test]
    fn nothing_leads_out_of_a_node() {
        let root = tempfile::tempdir().expect("a temporary folder can be made");
        let at = |name: &str| root.path().join(name);
        create_dir_all(at("var/lib")).expect("a folder can be made");
        symlink("/var/lib", at("absolute")).expect("a link can be made");
        symlink("../../../..", at("var/out")).expect("a link can be made");
        for (path, expected) in [
            ("/", Ok(inode(root.path()))),
            ("/absolute", Ok(inode(&at("var/lib")))),
            ("/var/out/var", Ok(inode(&at("var")))),
            ("/../var", Ok(inode(&at("var")))),
            ("/gone", Err(ReadError::Absent)),
        ] {
            let found = folder_to_write(root.path(), path);
            let found = found.map(|folder| fstat(&folder).expect("it is open").st_ino);
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_macros, reason = "a test says why it did nothing")]
    fn links_of_strangers_lead_nowhere() {
        if !geteuid().is_root() {
            eprintln!("skipped: only root can give files away");
            return;
        }
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let at = |name: &str| folder.path().join(name);
        let mode = |path: &Path, mode| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path, permissions).expect("a mode can be set");
        };
        create_dir(at("target")).expect("a folder can be made");
        for (name, owner, permissions, link_owner) in [
            ("sticky", 0, 0o1777, 65534),
            ("open", 0, 0o777, 65534),
            ("stranger", 65534, 0o755, 65534),
            ("own-link", 0, 0o1777, 0),
            ("closed", 0, 0o755, 65534),
            ("linked", 0, 0o1777, 0),
        ] {
            let place = at(name);
            create_dir(&place).expect("a folder can be made");
            symlink(at("target"), place.join("link")).expect("a link can be made");
            std::os::unix::fs::lchown(place.join("link"), Some(link_owner), None).expect("given");
            if name == "linked" {
                std::fs::hard_link(place.join("link"), place.join("second")).expect("a name");
            }
            chown(&place, Some(owner), None).expect("given");
            mode(&place, permissions);
            let is_followed = matches!(name, "own-link" | "closed");
            for path in ["link/x", "link"] {
                let found = Place::find(&place.join(path), Last::Follow);
                assert_eq!(found.is_ok(), is_followed, "{name}/{path}: {found:?}");
            }
            let found = folder_to_write(Path::new("/"), place.join("link"));
            assert_eq!(found.is_ok(), is_followed, "{name}: {found:?}");
        }
    }
}
