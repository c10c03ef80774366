//! Reads regular files and folders below the node's root, and nothing outside of it.
//!
//! The node's root can be a folder such as `/host`. An absolute symbolic link in it refers to a path
//! below that folder, as on the node; resolved as usual, it would lead into kq's own container.
//! `openat2` resolves links that way since Linux 5.6. Where it is missing or forbidden, kq resolves the
//! links itself. A concurrent rename on the node could misdirect that walk, but it only reads.

use super::ReadError;
use crate::memory;
use crate::place::Last;
use crate::watchdog::reading;
use rustix::fs::{self, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// The largest file that kq reads of a host.
pub const LIMIT: u64 = 16 << 20;

/// The longest line of a file that is read line by line.
const MAX_LINE: u64 = 4096;

/// How many links may lead on, as in the kernel.
pub const MOST_LINKS: usize = 40;

/// Reads a regular file below the node's root. Nothing else is opened, so nothing blocks or has side effects.
/// Fails for anything but a readable regular file of at most `limit` bytes.
pub fn read_beneath(root: &Path, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
    let _reading = reading(path);
    // First without opening it: opening a device can do something.
    expect_kind(&open(root, path, OFlags::PATH)?, FileType::RegularFile)?;
    let file = open(root, path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    expect_kind(&file, FileType::RegularFile)?;
    // There are many processes, each with little text.
    let source = if path.starts_with("/proc/") { "/proc" } else { path };
    let mut content = Vec::new();
    memory::Counting::new(source, File::from(file))
        .take(limit.saturating_add(1))
        .read_to_end(&mut content)
        .map_err(|error| refused(&error))?;
    if content.len() as u64 > limit { Err(ReadError::TooLarge { limit }) } else { Ok(content) }
}

/// Reads the lines of a regular file below the node's root, in bounded memory whatever its size, for as long as the
/// function returns true.
/// Fails for anything but a readable regular file, and for a line of more than 4096 bytes.
pub fn lines_beneath(
    root: &Path,
    path: &str,
    mut take: impl FnMut(&str) -> bool,
) -> Result<(), ReadError> {
    expect_kind(&open(root, path, OFlags::PATH)?, FileType::RegularFile)?;
    let file = open(root, path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    expect_kind(&file, FileType::RegularFile)?;
    let mut lines = BufReader::new(Watched { file: File::from(file), path });
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        match read.map_err(|error| refused(&error))? {
            0 => return Ok(()),
            _ if line.len() as u64 == MAX_LINE && !line.ends_with(b"\n") => {
                let reason = format!("a line of more than {MAX_LINE} bytes");
                return Err(ReadError::System(reason));
            }
            _ if !take(&String::from_utf8_lossy(&line)) => return Ok(()),
            _ => {}
        }
    }
}

/// A file of which each read is watched by itself: a long file is not one that hangs.
struct Watched<'a> {
    file: File,
    path: &'a str,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let _reading = reading(self.path);
        self.file.read(buffer)
    }
}

/// Lists the names in a folder below the node's root, in order. A name that is not UTF-8 is an error,
/// because it could not be opened again.
/// Fails for anything but a readable folder.
pub fn list_beneath(root: &Path, path: &str) -> Result<Vec<String>, ReadError> {
    let _reading = reading(path);
    let folder = open(root, path, OFlags::PATH)?;
    expect_kind(&folder, FileType::Directory)?;
    names_in(&folder, path)
}

/// Lists the names in an open folder, in order; the path is for messages.
pub fn names_in(folder: &OwnedFd, path: &str) -> Result<Vec<String>, ReadError> {
    let _reading = reading(path);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = fs::openat(folder, ".", flags, Mode::empty()).map_err(system)?;
    let mut names = Vec::new();
    for entry in fs::Dir::new(folder).map_err(system)? {
        let entry = entry.map_err(system)?;
        let name = entry.file_name().to_str().map_err(|_| {
            let name = entry.file_name().to_string_lossy().escape_debug().to_string();
            ReadError::System(format!("holds the name \"{name}\", which is not text in UTF-8"))
        })?;
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    memory::received(path, names.iter().map(String::len).sum());
    names.sort();
    Ok(names)
}

/// Returns the target of a symbolic link below the node's root; the last component is not followed.
/// Fails for anything but a link to a UTF-8 path.
pub fn link_beneath(root: &Path, path: &str) -> Result<String, ReadError> {
    let _reading = reading(path);
    let link = open(root, path, OFlags::PATH | OFlags::NOFOLLOW)?;
    let target = fs::readlinkat(&link, "", Vec::new()).map_err(system)?;
    target.into_string().map_err(|_| ReadError::System("not text in UTF-8".to_owned()))
}

/// Opens a folder below the node's root.
pub fn folder_beneath(root: &Path, path: &str) -> Result<OwnedFd, ReadError> {
    let _reading = reading(path);
    expect_kind(&open(root, path, OFlags::PATH)?, FileType::Directory)?;
    open(root, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens a folder below the node's root, without the right to read it.
pub fn open_folder(root: &Path, path: &str) -> Result<OwnedFd, ReadError> {
    open(root, path, OFlags::PATH | OFlags::DIRECTORY)
}

fn kind(file: &OwnedFd) -> Result<FileType, ReadError> {
    Ok(FileType::from_raw_mode(fs::fstat(file).map_err(system)?.st_mode))
}

pub fn expect_kind(file: &OwnedFd, expected: FileType) -> Result<(), ReadError> {
    let found = kind(file)?;
    if found == expected {
        return Ok(());
    }
    Err(ReadError::Kind { found: kind_name(found), expected: kind_name(expected) })
}

pub fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something of an unknown kind",
    }
}

pub fn open(root: &Path, path: &str, flags: OFlags) -> Result<OwnedFd, ReadError> {
    open_path(root, Path::new(path), flags)
}

/// Opens a path that need not be UTF-8.
pub fn open_path(root: &Path, path: &Path, flags: OFlags) -> Result<OwnedFd, ReadError> {
    let _reading = reading(&path.to_string_lossy());
    let flags = flags | OFlags::CLOEXEC;
    if root == Path::new("/") {
        return fs::open(Path::new("/").join(path), flags, Mode::empty()).map_err(system);
    }
    let folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root_folder = fs::open(root, folder, Mode::empty()).map_err(|error| match error {
        Errno::NOENT => ReadError::Absent,
        error => ReadError::System(format!("{}: {}", root.display(), words(error))),
    })?;
    let beneath = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    match fs::openat2(&root_folder, path, flags, Mode::empty(), beneath) {
        // Not known to the kernel, forbidden by a filter of system calls, or disturbed by a rename.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => walk(root, path, flags),
        answer => answer.map_err(system),
    }
}

/// Opens as `openat2` does, by following the links by hand.
fn walk(root: &Path, path: &Path, flags: OFlags) -> Result<OwnedFd, ReadError> {
    let last = if flags.contains(OFlags::NOFOLLOW) { Last::Keep } else { Last::Follow };
    let place = resolve(root, path, last).map_err(system)?;
    fs::open(place, flags | OFlags::NOFOLLOW, Mode::empty()).map_err(system)
}

/// Returns the path at which kq sees a path of the node. Links resolve as on the node: an absolute one
/// starts at the node's root.
pub fn resolve(root: &Path, path: &Path, last: Last) -> Result<PathBuf, Errno> {
    let mut ahead: Vec<OsString> = parts(path);
    let mut place = PathBuf::new();
    let mut links = 0;
    while let Some(part) = ahead.pop() {
        if part == ".." {
            place.pop();
            continue;
        }
        let is_followed = !ahead.is_empty() || last == Last::Follow;
        match fs::readlink(root.join(&place).join(&part), Vec::new()) {
            Ok(target) if is_followed => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::LOOP);
                }
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    place = PathBuf::new();
                }
                ahead.extend(parts(&target));
            }
            // EINVAL: not a link.
            Ok(_) | Err(Errno::INVAL) => place.push(part),
            Err(error) => return Err(error),
        }
    }
    Ok(root.join(place))
}

/// Returns the parts of a path, the last one first.
pub fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    parts.collect()
}

pub fn system(error: Errno) -> ReadError {
    match error {
        Errno::NOENT | Errno::NOTDIR => ReadError::Absent,
        error => ReadError::System(words(error)),
    }
}

fn refused(error: &std::io::Error) -> ReadError {
    ReadError::System(crate::input::plain(error))
}

fn words(error: Errno) -> String {
    crate::input::plain(&error.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn walking_by_hand_agrees_with_the_kernel() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        std::fs::create_dir_all(root.join("etc/deep")).expect("a folder can be made");
        std::fs::write(root.join("inside"), "inside").expect("a file can be written");
        std::fs::write(&outside, "outside").expect("a file can be written");
        for (name, target) in [
            ("etc/absolute", "/inside"),
            ("etc/relative", "../inside"),
            ("etc/escaping", "../../../../outside"),
            ("etc/escaping-absolute", outside.to_str().expect("text")),
            ("etc/folder", "/etc/deep"),
            ("etc/through", "folder/../../inside"),
            ("etc/dangling", "/nothing"),
            ("etc/loop", "loop"),
        ] {
            symlink(target, root.join(name)).expect("a link can be made");
        }
        for (path, expected) in [
            ("/inside", Some("inside")),
            ("/etc/absolute", Some("inside")),
            ("/etc/relative", Some("inside")),
            ("/etc/folder/../absolute", Some("inside")),
            ("/etc/through", Some("inside")),
            ("/../inside", Some("inside")),
            ("/etc/escaping", None),
            ("/etc/escaping-absolute", None),
            ("/../outside", None),
            ("/etc/dangling", None),
            ("/etc/loop", None),
            ("/inside/below", None),
        ] {
            let read = |file: OwnedFd| {
                let mut text = String::new();
                File::from(file).read_to_string(&mut text).expect("it can be read");
                text
            };
            let kernel = open(&root, path, OFlags::RDONLY).map(read);
            let by_hand = walk(&root, Path::new(path), OFlags::RDONLY | OFlags::CLOEXEC).map(read);
            assert_eq!(kernel.as_deref().ok(), expected, "{path}");
            assert_eq!(by_hand, kernel, "{path}");
        }
    }

    #[test]
    fn links_stay_on_the_node() {
        let root = tempfile::tempdir().expect("a temporary folder can be made");
        let root = root.path();
        std::fs::create_dir_all(root.join("run/crio")).expect("a folder can be made");
        std::fs::create_dir_all(root.join("var")).expect("a folder can be made");
        std::fs::write(root.join("run/crio/crio.sock"), "").expect("a file can be written");
        for (link, target) in [
            ("var/run", "/run"),
            ("var/relative", "../run/crio"),
            ("var/above", "../../../../run"),
            ("var/circle", "/var/circle"),
            ("var/nowhere", "/etc/hostname"),
        ] {
            symlink(target, root.join(link)).expect("a link can be made");
        }
        let rows = [
            ("plain", "/run/crio/crio.sock", true),
            ("a link from the root", "/var/run/crio/crio.sock", true),
            ("a relative link", "/var/relative/crio.sock", true),
            ("a link above the root", "/var/above/crio/crio.sock", true),
            ("up again", "/var/../run/./crio/crio.sock", true),
            ("above the root", "/../../run/crio/crio.sock", true),
            ("a circle", "/var/circle", false),
            ("what only kq's own root has", "/var/nowhere", false),
            ("absent", "/run/crio/other.sock", false),
        ];
        for (name, path, is_found) in rows {
            match resolve(root, Path::new(path), Last::Follow) {
                Ok(found) if is_found => {
                    assert_eq!(found, root.join("run/crio/crio.sock"), "{name}");
                }
                other => assert!(!is_found && other.is_err(), "{name}: {other:?}"),
            }
        }
    }
}
